//! One file of a feed: CSV with a header, in UTF-8, perhaps with a byte order mark.

use csv::{ByteRecord, Reader, ReaderBuilder};

/// A table whose text was checked.
pub(super) struct Table {
    text: Vec<u8>,
    header: Vec<String>,
}

impl Table {
    pub(super) fn new(mut text: Vec<u8>) -> Result<Self, String> {
        if text.starts_with("\u{feff}".as_bytes()) {
            text.drain(..3);
        }
        if let Err(error) = std::str::from_utf8(&text) {
            let at = error.valid_up_to();
            let line = text[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            return Err(format!(
                "line {line} is not UTF-8 (byte 0x{:02x}), which GTFS demands; it looks like Windows-1252: convert it \
                 (iconv -f WINDOWS-1252 -t UTF-8)",
                text[at]
            ));
        }
        let mut table = Self { text, header: Vec::new() };
        let header = table.reader().byte_headers().map_err(|error| error.to_string())?.clone();
        table.header =
            header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        Ok(table)
    }

    fn reader(&self) -> Reader<&[u8]> {
        ReaderBuilder::new().flexible(true).from_reader(&self.text)
    }

    /// The place of a column that may be missing.
    fn place(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|one| one == name)
    }

    /// Every row: the wanted columns of it, in order. The first `n_required` must be there.
    pub(super) fn rows<const N: usize>(
        &self,
        columns: [&str; N],
        n_required: usize,
        mut take: impl FnMut([&str; N]),
    ) -> Result<(), String> {
        let places = columns.map(|name| self.place(name));
        let is_missing = |(_, place): &(usize, &Option<usize>)| place.is_none();
        if let Some((at, _)) = places.iter().enumerate().take(n_required).find(is_missing) {
            return Err(format!("the header has no column {}", columns[at]));
        }
        let (mut reader, mut record) = (self.reader(), ByteRecord::new());
        while reader.read_byte_record(&mut record).map_err(|error| error.to_string())? {
            let field = |place: Option<usize>| {
                let bytes = place.and_then(|place| record.get(place)).unwrap_or_default();
                // The whole text is UTF-8; a field ends where a character ends.
                std::str::from_utf8(bytes).unwrap_or_default().trim()
            };
            take(places.map(field));
        }
        Ok(())
    }
}
