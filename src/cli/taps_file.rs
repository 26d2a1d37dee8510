//! A file of taps, read record by record for sending. What stays is the text; nobody is decoded here.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use super::Failure;
use crate::ingest::format::{Below, Format, recognized};

/// Longest line that is held; a longer one is cut there and will be a reject.
const LINE_MOST: u64 = 1 << 20;

/// One record: its key, if asked for, and the message to send.
pub(super) struct Record {
    pub(super) card: Option<String>,
    pub(super) message: Vec<u8>,
    /// Bytes of the file that it took.
    pub(super) bytes: u64,
}

/// Reads the records of a file as messages of a feed.
pub(super) struct TapsFile {
    lines: BufReader<File>,
    name: String,
    /// How the file is written.
    theirs: Arc<dyn Format>,
    /// How messages are written.
    ours: Arc<dyn Format>,
    /// Whether a line of the file is a message as it is.
    is_like_messages: bool,
    keyed: bool,
}

impl TapsFile {
    /// Opens a file in the feed's format, or in another one that has the feed's fields.
    pub(super) fn open(path: &Path, ours: Arc<dyn Format>, keyed: bool) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|error| Failure::usage(format!("cannot open {name}: {error}")))?;
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let first = lines.fill_buf().map_err(|error| unreadable(&name, &error))?;
        let is_ours = ours.recognizes(first);
        let theirs = match is_ours {
            true => Some(ours.clone()),
            false => recognized(first, ours.mapping()),
        };
        // A file that nobody recognizes is for the feed's own format to complain about.
        let theirs = theirs.unwrap_or_else(|| ours.clone());
        let has_header = theirs.has_header(first);
        let is_like_messages = is_ours && !has_header;
        let mut taps = Self { lines, name, theirs, ours, is_like_messages, keyed };
        if has_header {
            let Below { format, is_like_messages } = taps.below_header()?;
            taps.theirs = format;
            taps.is_like_messages = is_ours && is_like_messages;
        }
        Ok(taps)
    }

    fn below_header(&mut self) -> Result<Below, Failure> {
        let header = self.line()?.unwrap_or_default();
        self.theirs
            .below(&String::from_utf8_lossy(&header))
            .map_err(|columns| Failure::usage(format!("{}, line 1: {columns}", self.name)))
    }

    /// The next record that is not an empty line.
    pub(super) fn next(&mut self) -> Result<Option<Record>, Failure> {
        let mut bytes = 0;
        loop {
            let Some(line) = self.line()? else { return Ok(None) };
            bytes += line.len() as u64 + 1;
            if !line.trim_ascii().is_empty() {
                let (card, message) = self.message(line);
                return Ok(Some(Record { card, message, bytes }));
            }
        }
    }

    /// A record that cannot be read is sent as it is: that it is a reject is for the reader to count.
    fn message(&self, line: Vec<u8>) -> (Option<String>, Vec<u8>) {
        if self.is_like_messages && !self.keyed {
            return (None, line);
        }
        let Ok(picked) = self.theirs.pick(&line) else { return (None, line) };
        let card = (self.keyed && !picked.card.is_empty()).then(|| picked.card.to_string());
        match self.is_like_messages {
            true => (card, line),
            false => (card, self.ours.encode(&picked)),
        }
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
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

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::external(format!("reading {name} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::format::{Mapping, find};

    fn open(text: &str, format: &str, keyed: bool) -> Result<TapsFile, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taps");
        std::fs::write(&path, text).unwrap();
        let mapping = Mapping::of_fields("card", "stop", "time");
        TapsFile::open(&path, find(format).unwrap().with_defaults(mapping).unwrap(), keyed)
    }

    fn play(text: &str, format: &str, keyed: bool) -> Vec<(Option<String>, String)> {
        let mut taps = open(text, format, keyed).ok().unwrap();
        let mut all = Vec::new();
        while let Some(record) = taps.next().ok().unwrap() {
            all.push((record.card, String::from_utf8(record.message).unwrap()));
        }
        all
    }

    #[test]
    fn csv_becomes_what_the_feed_expects() {
        let text = "time,stop,card\r\n10:00,\"s,1\",c1\r\n\r\n11:00,s2,\"c\"\"2\"\n";
        let json = play(text, "json", true);
        assert_eq!(json[0].1, r#"{"card":"c1","stop":"s,1","time":"10:00"}"#);
        assert_eq!(
            json[1],
            (Some("c\"2".into()), r#"{"card":"c\"2","stop":"s2","time":"11:00"}"#.into())
        );
        let csv = play(text, "csv", false);
        assert_eq!(csv[0], (None, "c1,\"s,1\",10:00".into()));
    }

    #[test]
    fn json_becomes_csv_for_a_feed_of_csv() {
        let csv = play("{\"time\":\"10:00\",\"card\":7,\"stop\":\"s,1\"}\nno json\n", "csv", true);
        assert_eq!(csv[0], (Some("7".into()), "7,\"s,1\",10:00".into()));
        assert_eq!(csv[1], (None, "no json".into()));
    }

    #[test]
    fn lines_in_the_right_order_go_as_they_are() {
        let csv = play("card,stop,time,more\nc1,s1,10:00,x\nonly one field\n", "csv", false);
        assert_eq!(csv[0].1, "c1,s1,10:00,x");
        assert_eq!(csv[1].1, "only one field");
        let json = play("{\"card\": 7, \"x\": 1}\n", "json", true);
        assert_eq!(json[0], (Some("7".into()), "{\"card\": 7, \"x\": 1}".into()));
    }

    /// A file without a header begins with a card: the complaint must not show it.
    #[test]
    fn a_complaint_about_a_header_never_shows_the_file() {
        for format in ["csv", "json", "tides"] {
            let failure = open("4711,central,2015-11-09T07:00:00Z\n", format, false).err().unwrap();
            let said = format!("{failure:?}");
            let wanted = match format {
                "tides" => "token_id, stop_id, event_timestamp",
                _ => "card, stop, time",
            };
            assert!(said.contains("line 1") && said.contains(wanted), "{said}");
            assert!(!said.contains("4711") && !said.contains("central"), "{said}");
        }
    }
}
