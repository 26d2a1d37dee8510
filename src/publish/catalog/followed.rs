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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    /// A page of the console used to read every manifest again.
    #[test]
    fn a_manifest_is_read_again_only_after_it_was_touched() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/release/v2/lk");
        let out = tempfile::tempdir().unwrap();
        let name = "20151109T0400_20151110T0400";
        fs::create_dir(out.path().join(name)).unwrap();
        let manifest = out.path().join(name).join(MANIFEST);
        let text = fs::read(golden.join(name).join(MANIFEST)).unwrap();
        fs::write(&manifest, &text).unwrap();
        let followed = Followed::default();
        let first = followed.scan(out.path()).unwrap();
        assert!(first.releases.len() == 1 && first.releases[0].unreadable.is_none());

        let moment = fs::metadata(&manifest).unwrap().modified().unwrap();
        let set = |moment| {
            File::options().write(true).open(&manifest).unwrap().set_modified(moment).unwrap();
        };
        // As long as before and of the same time: only who reads it sees that it says nothing any more.
        fs::write(&manifest, vec![b' '; text.len()]).unwrap();
        set(moment);
        assert!(followed.scan(out.path()).unwrap() == first);
        set(moment + Duration::from_secs(1));
        assert!(followed.scan(out.path()).unwrap().releases[0].unreadable.is_some());
        fs::remove_dir_all(out.path().join(name)).unwrap();
        assert!(followed.scan(out.path()).unwrap().releases.is_empty());
    }
}
