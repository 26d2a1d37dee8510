//! A file of taps, read record by record for sending. What stays is the text; nobody is decoded here.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::Failure;
use crate::ingest::{Fields, Format};

/// Longest line that is held; a longer one is cut there and will be a reject.
const LINE_MOST: u64 = 1 << 20;

/// One record: its key, if asked for, and the message to send.
pub(super) struct Record {
    pub(super) card: Option<String>,
    pub(super) message: Vec<u8>,
    /// Bytes of the file that it took.
    pub(super) bytes: u64,
}

/// Reads the records of a file in the configured format.
pub(super) struct TapsFile<'a> {
    lines: BufReader<File>,
    name: String,
    fields: &'a Fields,
    shape: Shape,
    keyed: bool,
}

enum Shape {
    /// JSON lines, sent as they are.
    Json,
    /// Columns card, station, time, and where they stand.
    Csv([usize; 3]),
}

impl<'a> TapsFile<'a> {
    /// Opens a file. CSV is told by its header, whatever the messages are to be.
    pub(super) fn open(
        path: &Path,
        format: Format,
        fields: &'a Fields,
        keyed: bool,
    ) -> Result<(Self, Output), Failure> {
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|error| Failure::usage(format!("cannot open {name}: {error}")))?;
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let first = lines.fill_buf().map_err(|error| unreadable(&name, &error))?;
        let is_json = first.trim_ascii_start().first() == Some(&b'{');
        let mut taps = Self { lines, name, fields, shape: Shape::Json, keyed };
        if !is_json {
            taps.shape = taps.header()?;
        }
        let output = match (format, &taps.shape) {
            (Format::Json, _) => Output::Json,
            (Format::Csv, Shape::Csv(_)) => Output::Csv,
            (Format::Csv, Shape::Json) => {
                return Err(Failure::usage(format!(
                    "{} holds JSON but feed.format is \"csv\"; set it to \"json\"",
                    taps.name
                )));
            }
        };
        Ok((taps, output))
    }

    fn header(&mut self) -> Result<Shape, Failure> {
        let header = self.line()?.unwrap_or_default();
        let header = String::from_utf8_lossy(&header).into_owned();
        let names = split(header.trim_start_matches('\u{feff}').as_bytes()).unwrap_or_default();
        let wanted = [&self.fields.card, &self.fields.station, &self.fields.time];
        let places = wanted.map(|name| names.iter().position(|one| one.trim() == name));
        match places {
            [Some(card), Some(station), Some(time)] => Ok(Shape::Csv([card, station, time])),
            _ => Err(Failure::usage(format!(
                "{} lacks one of the columns {}, {}, {}; its header is {:?} (set feed.fields to the names it uses)",
                self.name,
                wanted[0],
                wanted[1],
                wanted[2],
                header.trim().chars().take(200).collect::<String>()
            ))),
        }
    }

    /// The next record that is not an empty line.
    pub(super) fn next(&mut self, output: Output) -> Result<Option<Record>, Failure> {
        let mut bytes = 0;
        loop {
            let Some(line) = self.line()? else { return Ok(None) };
            bytes += line.len() as u64 + 1;
            if !line.trim_ascii().is_empty() {
                let (card, message) = self.message(line, output);
                return Ok(Some(Record { card, message, bytes }));
            }
        }
    }

    /// A record that cannot be read is sent as it is: that it is a reject is for the reader to count.
    fn message(&self, line: Vec<u8>, output: Output) -> (Option<String>, Vec<u8>) {
        let Shape::Csv(places) = self.shape else {
            let card = self.keyed.then(|| json_card(&line, &self.fields.card)).flatten();
            return (card, line);
        };
        // Most lines have neither quotes nor other columns.
        if matches!(output, Output::Csv) && places == [0, 1, 2] && !self.keyed {
            return (None, line);
        }
        let Some(found) = split(&line) else { return (None, line) };
        let field = |place: usize| found.get(place).map(|field| field.trim());
        let [Some(card), Some(station), Some(time)] = places.map(field) else {
            return (None, line);
        };
        let message = match output {
            Output::Csv if places == [0, 1, 2] => line.clone(),
            Output::Csv => csv_message([card, station, time]),
            Output::Json => json_message(self.fields, [card, station, time]),
        };
        (self.keyed.then(|| card.to_owned()), message)
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        use std::io::Read;
        let mut line = Vec::with_capacity(96);
        let failed = |error| unreadable(&self.name, &error);
        let read =
            self.lines.by_ref().take(LINE_MOST).read_until(b'\n', &mut line).map_err(failed)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 == LINE_MOST {
            self.lines.skip_until(b'\n').map_err(|error| unreadable(&self.name, &error))?;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok((read > 0).then_some(line))
    }
}

/// How messages are to be written.
#[derive(Clone, Copy)]
pub(super) enum Output {
    Json,
    Csv,
}

impl Output {
    /// The form that the configuration's decoder expects.
    pub(super) fn of(format: Format) -> Self {
        match format {
            Format::Json => Self::Json,
            Format::Csv => Self::Csv,
        }
    }

    /// One message of card, station and time.
    pub(super) fn message(self, fields: &Fields, tap: [&str; 3]) -> Vec<u8> {
        match self {
            Self::Json => json_message(fields, tap),
            Self::Csv => csv_message(tap),
        }
    }
}

fn json_message(fields: &Fields, tap: [&str; 3]) -> Vec<u8> {
    let mut message = Vec::with_capacity(96);
    let names = [&fields.card, &fields.station, &fields.time];
    for (place, (name, value)) in names.into_iter().zip(tap).enumerate() {
        message.push(if place == 0 { b'{' } else { b',' });
        for (text, sign) in [(name.as_str(), b':'), (value, b' ')] {
            serde_json::to_writer(&mut message, text).expect("memory takes any text");
            if sign == b':' {
                message.push(sign);
            }
        }
    }
    message.push(b'}');
    message
}

fn csv_message(tap: [&str; 3]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::with_capacity(64));
    writer.write_record(tap).expect("memory takes any text");
    let mut message = writer.into_inner().expect("memory takes any text");
    message.pop();
    message
}

fn split(line: &[u8]) -> Option<Vec<String>> {
    let mut record = csv::StringRecord::new();
    if memchr::memchr(b'"', line).is_none() {
        let text = std::str::from_utf8(line).ok()?;
        return Some(text.split(',').map(str::to_owned).collect());
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    matches!(reader.read_record(&mut record), Ok(true))
        .then(|| record.iter().map(str::to_owned).collect())
}

fn json_card(line: &[u8], name: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line).ok()?;
    match object.get(name)? {
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::external(format!("reading {name} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields { card: "card".into(), station: "stop".into(), time: "time".into() }
    }

    fn play(text: &str, format: Format, keyed: bool) -> Vec<(Option<String>, String)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taps");
        std::fs::write(&path, text).unwrap();
        let fields = fields();
        let (mut taps, output) = TapsFile::open(&path, format, &fields, keyed).unwrap();
        let mut all = Vec::new();
        while let Some(record) = taps.next(output).unwrap() {
            all.push((record.card, String::from_utf8(record.message).unwrap()));
        }
        all
    }

    #[test]
    fn csv_becomes_what_the_feed_expects() {
        let text = "time,stop,card\r\n10:00,\"s,1\",c1\r\n\r\n11:00,s2,\"c\"\"2\"\n";
        let json = play(text, Format::Json, true);
        assert_eq!(json[0].1, r#"{"card":"c1","stop":"s,1","time":"10:00"}"#);
        assert_eq!(
            json[1],
            (Some("c\"2".into()), r#"{"card":"c\"2","stop":"s2","time":"11:00"}"#.into())
        );
        let csv = play(text, Format::Csv, false);
        assert_eq!(csv[0], (None, "c1,\"s,1\",10:00".into()));
    }

    #[test]
    fn lines_in_the_right_order_go_as_they_are() {
        let csv = play("card,stop,time,more\nc1,s1,10:00,x\nonly one field\n", Format::Csv, false);
        assert_eq!(csv[0].1, "c1,s1,10:00,x");
        assert_eq!(csv[1].1, "only one field");
        let json = play("{\"card\": 7, \"x\": 1}\n", Format::Json, true);
        assert_eq!(json[0], (Some("7".into()), "{\"card\": 7, \"x\": 1}".into()));
    }
}
