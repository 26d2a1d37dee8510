//! Rows of a CSV file with a known header, with a bound on the length of a line.

use std::fs::File;
use std::io::{self, Read};

/// The longest line that is read; months of taps of one card take a tenth of it.
const LINE_MOST_BYTES: usize = 16 << 20;

/// Records of a CSV file with a known header; says where it stands when it complains.
pub(super) struct Records {
    csv: csv::Reader<ShortLines>,
    record: csv::StringRecord,
    row: u64,
}

impl Records {
    pub(super) fn new(file: File, header: &[&str]) -> Result<Self, String> {
        let csv = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(ShortLines { file, since_line_feed: 0 });
        let mut records = Self { csv, record: csv::StringRecord::new(), row: 0 };
        match records.advance()? && records.fields() == header {
            true => Ok(records),
            false => Err(format!("does not begin with {}", header.join(","))),
        }
    }

    pub(super) fn advance(&mut self) -> Result<bool, String> {
        self.row = self.row.saturating_add(1);
        let read = self.csv.read_record(&mut self.record);
        read.map_err(|error| format!("row {}: {error}", self.row))
    }

    pub(super) fn fields(&self) -> Vec<&str> {
        self.record.iter().collect()
    }

    pub(super) fn complaint(&self, what: &str) -> String {
        format!("row {}: {what}", self.row)
    }
}

/// No field of ours holds a line feed, so a reader never has to hold more than a line.
struct ShortLines {
    file: File,
    since_line_feed: usize,
}

impl Read for ShortLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.since_line_feed = match memchr::memrchr(b'\n', &buffer[..n]) {
            Some(at) => n.saturating_sub(at).saturating_sub(1),
            None => self.since_line_feed.saturating_add(n),
        };
        match self.since_line_feed <= LINE_MOST_BYTES {
            true => Ok(n),
            false => {
                Err(io::Error::other(format!("a line is longer than {LINE_MOST_BYTES} bytes")))
            }
        }
    }
}
