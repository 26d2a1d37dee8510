//! Where releases go: a directory, or an object store.

use std::path::{Path, PathBuf};

use super::{Error, Files, Sink};

/// Stores that this program knows, by the beginning of an address.
const STORES: [&str; 3] = ["s3://", "gs://", "az://"];
const FILE: &str = "file://";

/// Where releases go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    Directory(PathBuf),
    /// The address of an object store, and a prefix in it.
    Store(String),
}

impl Place {
    /// Of an address or a path. A path is one below `base`.
    pub fn new(text: &str, base: &Path) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(FILE) {
            return match path.starts_with('/') {
                true => Ok(Self::Directory(PathBuf::from(path))),
                false => Err(format!(
                    "{text:?} names no directory; write file:///path, or the path alone"
                )),
            };
        }
        if STORES.iter().any(|store| text.starts_with(store)) {
            let bucket = text.split("://").nth(1).and_then(|rest| rest.split('/').next());
            return match bucket.is_some_and(|bucket| !bucket.is_empty()) {
                false => Err(format!("{text:?} names no bucket, like s3://bucket/releases")),
                true if !cfg!(feature = "stores") => Err(format!(
                    "{text:?} is an object store, which needs a build with the feature stores"
                )),
                true => Ok(Self::Store(text.to_owned())),
            };
        }
        match text.split_once("://") {
            Some((scheme, _)) => {
                Err(format!("{scheme}:// is not known; use a path, file://, s3://, gs:// or az://"))
            }
            None => Ok(Self::Directory(base.join(text))),
        }
    }

    /// The directory, if it is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(dir) => Some(dir),
            Self::Store(_) => None,
        }
    }

    /// What puts releases there.
    pub fn sink(&self) -> Result<Box<dyn Sink>, Error> {
        match self {
            Self::Directory(dir) => Ok(Box::new(Files::new(dir))),
            #[cfg(feature = "stores")]
            Self::Store(url) => Ok(Box::new(super::Objects::new(url)?)),
            #[cfg(not(feature = "stores"))]
            Self::Store(url) => Err(Error::Store {
                action: "use",
                place: url.clone(),
                what: "it needs a build with the feature stores".to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_told_apart() {
        let base = Path::new("/feed");
        let dir =
            |text: &str| Place::new(text, base).map(|place| place.directory().map(Path::to_owned));
        assert_eq!(dir("releases"), Ok(Some(PathBuf::from("/feed/releases"))));
        assert_eq!(dir("file:///data/r"), Ok(Some(PathBuf::from("/data/r"))));
        for wrong in ["file://data", "ftp://host/x", "s3://", "s3:///x"] {
            assert!(dir(wrong).is_err(), "{wrong}");
        }
        assert_eq!(dir("s3://bucket/x").is_ok(), cfg!(feature = "stores"));
    }
}
