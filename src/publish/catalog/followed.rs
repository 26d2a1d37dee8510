//! A directory of releases, followed: what was read of a manifest is kept until the manifest is touched. Thousands of
//! releases then cost a look at their files' times, not a reading.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::super::manifest::MANIFEST;
use super::{Catalog, Entry, directories};

/// Size and time of a manifest.
type Touched = (u64, SystemTime);

/// What is known of a directory. One for each directory.
#[derive(Debug, Default)]
pub struct Followed(Mutex<BTreeMap<String, (Touched, Entry)>>);

impl Followed {
    /// What the directories say now.
    pub(in crate::publish) fn scan(&self, out: &Path) -> io::Result<Catalog> {
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        for name in directories(out)? {
            let touched = touched(&out.join(&name).join(MANIFEST));
            let kept = before.remove(&name).filter(|(kept, _)| Some(*kept) == touched);
            let entry = kept.map(|(_, entry)| entry).or_else(|| Entry::of(out, &name));
            if let (Some(touched), Some(entry)) = (touched, entry) {
                now.insert(name, (touched, entry));
            }
        }
        *before = now;
        Ok(Catalog::new(before.values().map(|(_, entry)| entry.clone()).collect()))
    }
}

fn touched(manifest: &Path) -> Option<Touched> {
    let facts = fs::metadata(manifest).ok()?;
    Some((facts.len(), facts.modified().ok()?))
}
