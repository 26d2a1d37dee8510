//! The files of a feed, in a directory or in a zip file.

use std::fs::{self, File};
use std::io::{Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::Error;
use super::table::Table;

/// A file that unpacks to more is no timetable.
const FILE_MOST_BYTES: u64 = 4 << 30;

/// A feed that was opened.
pub struct Archive {
    name: String,
    place: Place,
}

enum Place {
    Directory(PathBuf),
    Zip { files: ZipArchive<Box<dyn ReadSeek>>, folder: String },
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

impl Archive {
    /// Opens a zip file or a directory.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let refuse = |what: String| Error::Open { feed: name.clone(), what };
        if path.is_dir() {
            return Ok(Self { name, place: Place::Directory(path.to_owned()) });
        }
        let file = File::open(path).map_err(|error| refuse(error.to_string()))?;
        Self::zip(&name, Box::new(file))
    }

    /// A zip file in memory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Error> {
        Self::zip(name, Box::new(Cursor::new(bytes)))
    }

    fn zip(name: &str, bytes: Box<dyn ReadSeek>) -> Result<Self, Error> {
        let files = ZipArchive::new(bytes).map_err(|error| Error::Open {
            feed: name.to_owned(),
            what: format!("it is neither a directory nor a whole zip file ({error}); get it again"),
        })?;
        // Some feeds are packed with the folder that they were in.
        let folder = |file: &str| file.strip_suffix("stops.txt").map(str::to_owned);
        let folders = files.file_names().filter_map(|file| folder(file.ok()?.as_ref()));
        let folder = folders.min_by_key(String::len).unwrap_or_default();
        Ok(Self { name: name.to_owned(), place: Place::Zip { files, folder } })
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A file that must be there.
    pub(super) fn required(&mut self, file: &'static str) -> Result<Table, Error> {
        let found = self.optional(file)?;
        found.ok_or_else(|| Error::MissingFile { feed: self.name.clone(), file })
    }

    /// A file that may be missing.
    pub(super) fn optional(&mut self, file: &str) -> Result<Option<Table>, Error> {
        let failed =
            |what: String| Error::Table { feed: self.name.clone(), file: file.to_owned(), what };
        let bytes = match &mut self.place {
            Place::Directory(dir) => match fs::read(dir.join(file)) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(format!("cannot be read: {error}"))),
            },
            Place::Zip { files, folder } => match files.by_name(&format!("{folder}{file}")) {
                Ok(mut packed) => unpacked(&mut packed).map_err(failed)?,
                Err(ZipError::FileNotFound) => return Ok(None),
                Err(error) => {
                    return Err(failed(format!("cannot be unpacked: {error}; get it again")));
                }
            },
        };
        Table::new(bytes).map(Some).map_err(failed)
    }
}

fn unpacked(packed: &mut impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = packed.take(FILE_MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be unpacked: {error}; get it again"))?;
    match bytes.len() as u64 > FILE_MOST_BYTES {
        true => Err("unpacks to more than 4 GiB, which is no timetable".to_owned()),
        false => Ok(bytes),
    }
}
