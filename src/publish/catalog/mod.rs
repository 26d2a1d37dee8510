//! catalog.json: which releases a directory holds. Always what the directories say; a manifest that was not touched
//! since it was read need not be read again.
//!
//! No release is left out: one whose manifest cannot be read is listed with the reason.

mod followed;
mod open;

pub use followed::Followed;
pub use open::{Opened, ReleaseSummary};

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::Digest;

use super::manifest::{MANIFEST, MANIFEST_MOST_BYTES, Manifest, canonical};
use super::{Standing, disk};

/// The catalog's file.
pub(super) const CATALOG: &str = "catalog.json";
/// A hundred thousand releases take a third of it; a longer one is refused unread.
pub(super) const CATALOG_MOST_BYTES: u64 = 128 << 20;
/// The format that this program writes. Format 1 had no number and left out what it could not read.
const FORMAT: u32 = 2;

/// The releases, by name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Catalog {
    #[serde(default = "first_format")]
    pub(super) format: u32,
    pub(super) releases: Vec<Entry>,
}

fn first_format() -> u32 {
    1
}

/// One release.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) release_id: Option<String>,
    /// Absent for a window's first release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<u32>,
    /// The latest release of the same window, for every one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) superseded_by: Option<String>,
    /// The key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) window: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) engine: Option<String>,
    /// Of its datapackage.json.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
    /// Why nothing more can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<String>,
}

/// From when to when.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Bounds {
    pub(super) start: String,
    pub(super) end: String,
}

impl Catalog {
    /// Of these releases, by name.
    pub(super) fn new(mut releases: Vec<Entry>) -> Self {
        releases.sort_by(|a, b| a.name.cmp(&b.name));
        supersede(&mut releases);
        Self { format: FORMAT, releases }
    }

    /// The canonical text.
    pub(super) fn text(&self) -> Vec<u8> {
        canonical(self)
    }

    /// Reads a text, and says whether it is the canonical one of its format.
    pub(super) fn read(text: &[u8]) -> Result<(Self, bool), String> {
        let value: Value =
            serde_json::from_slice(text).map_err(|error| format!("is no catalog: {error}"))?;
        let is_canonical = canonical(&value) == text;
        match value.get("format") {
            // Format 1 is closed: it had one member, and nobody adds to it any more.
            None if value.as_object().is_none_or(|all| all.len() == 1) => {}
            None => return Err("is no catalog: it states no format".to_owned()),
            Some(format) if format.as_u64() == Some(u64::from(FORMAT)) => {}
            Some(format) => {
                return Err(format!(
                    "has the format {format}; this program knows the formats 1 to {FORMAT}: read it with a newer tapveil"
                ));
            }
        }
        let catalog =
            serde_json::from_value(value).map_err(|error| format!("is no catalog: {error}"))?;
        Ok((catalog, is_canonical))
    }

    /// What the directories say.
    #[cfg(test)]
    pub(super) fn scan(out: &Path) -> io::Result<Self> {
        Followed::default().scan(out)
    }

    /// What these directories say.
    pub(super) fn of<'a>(out: &Path, names: impl Iterator<Item = &'a str>) -> Self {
        Self::new(names.filter_map(|name| Entry::of(out, name)).collect())
    }
}

/// Every release of a window but the latest says which one that is.
fn supersede(releases: &mut [Entry]) {
    let mut latest: BTreeMap<(String, String), (u32, String)> = BTreeMap::new();
    let bounds = |entry: &Entry| {
        let window = entry.window.as_ref()?;
        Some((window.start.clone(), window.end.clone()))
    };
    for entry in releases.iter() {
        if let (Some(key), Some(id)) = (bounds(entry), &entry.release_id) {
            let revision = entry.revision.unwrap_or(0);
            let known = latest.entry(key).or_insert((revision, id.clone()));
            if known.0 < revision {
                *known = (revision, id.clone());
            }
        }
    }
    for entry in releases {
        let last = bounds(entry).and_then(|key| latest.get(&key));
        entry.superseded_by = last
            .filter(|(revision, _)| entry.revision.unwrap_or(0) < *revision)
            .map(|(_, id)| id.clone());
    }
}

/// Where the ledger stood for every release of a directory that says so.
pub(super) fn standing(out: &Path) -> io::Result<Vec<Standing>> {
    let found = directories(out)?.into_iter().filter_map(|name| {
        let text = disk::read(&out.join(name).join(MANIFEST), MANIFEST_MOST_BYTES).ok()?;
        Standing::of_manifest(&text)
    });
    Ok(found.collect())
}

impl Standing {
    /// What a manifest says about its own payment; `None` if it says nothing.
    pub fn of_manifest(text: &[u8]) -> Option<Self> {
        let privacy = Manifest::read(text).ok()?.package.privacy;
        let mark = privacy.ledger?;
        Some(Self {
            release_id: privacy.release_id,
            feed_key: privacy.feed_key?,
            record: mark.record,
            mac: mark.mac,
        })
    }
}

impl Entry {
    /// The entry of the release in this directory; `None` if it holds no manifest at all.
    pub(super) fn of(out: &Path, name: &str) -> Option<Self> {
        match disk::read(&out.join(name).join(MANIFEST), MANIFEST_MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(Self::unreadable(name, format!("cannot be read: {error}"))),
            Ok(text) => Some(Self::of_text(name, &text)),
        }
    }

    /// The entry of the release that has this manifest.
    pub(super) fn of_text(name: &str, text: &[u8]) -> Self {
        let sha256 = Some(Digest::of(text).to_string());
        let privacy = match Manifest::read(text) {
            Err(error) => return Self { sha256, ..Self::unreadable(name, error.to_string()) },
            Ok(manifest) => manifest.package.privacy,
        };
        Self {
            release_id: Some(privacy.release_id),
            revision: Some(privacy.revision).filter(|revision| *revision > 0),
            signed_by: privacy.signed_by,
            window: Some(Bounds { start: privacy.window.start, end: privacy.window.end }),
            engine: Some(privacy.engine.name),
            sha256,
            ..Self::bare(name)
        }
    }

    fn unreadable(name: &str, why: String) -> Self {
        Self { unreadable: Some(format!("{MANIFEST} {why}")), ..Self::bare(name) }
    }

    fn bare(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            release_id: None,
            revision: None,
            superseded_by: None,
            signed_by: None,
            window: None,
            engine: None,
            sha256: None,
            unreadable: None,
        }
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
