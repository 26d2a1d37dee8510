//! catalog.json: which releases a directory holds. Always what the directories say, never a memory.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::Digest;

use super::disk;
use super::manifest::{MANIFEST, MANIFEST_MOST_BYTES, Package, canonical};

/// The catalog's file.
pub(super) const CATALOG: &str = "catalog.json";
/// A hundred thousand releases take a third of it; a longer one is refused unread.
pub(super) const CATALOG_MOST_BYTES: u64 = 128 << 20;

/// The releases, by name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalog {
    pub(super) releases: Vec<Entry>,
}

/// One release.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) release_id: String,
    pub(super) window: Bounds,
    pub(super) engine: String,
    /// Of its datapackage.json.
    pub(super) sha256: String,
}

/// From when to when.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounds {
    pub(super) start: String,
    pub(super) end: String,
}

impl Catalog {
    /// The canonical text.
    pub(super) fn text(&self) -> Vec<u8> {
        canonical(self)
    }

    /// What the directories say. One whose manifest cannot be read is left out: `verify` names it.
    pub(super) fn scan(out: &Path) -> io::Result<Self> {
        let mut releases: Vec<Entry> =
            directories(out)?.iter().filter_map(|name| Entry::read(out, name)).collect();
        releases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { releases })
    }
}

impl Entry {
    /// The entry of the release in this directory; `None` if its manifest cannot be read.
    pub(super) fn read(out: &Path, name: &str) -> Option<Self> {
        let text = disk::read(&out.join(name).join(MANIFEST), MANIFEST_MOST_BYTES).ok()?;
        let privacy = Package::parse(&text).ok()?.privacy;
        Some(Self {
            name: name.to_owned(),
            release_id: privacy.release_id,
            window: Bounds { start: privacy.window.start, end: privacy.window.end },
            engine: privacy.engine.name,
            sha256: Digest::of(&text).to_string(),
        })
    }
}

/// Names of the directories that may be releases: real ones, not hidden, with a name in Unicode.
fn directories(out: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in out.read_dir()? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
            && entry.file_type()?.is_dir()
        {
            names.push(name);
        }
    }
    Ok(names)
}
