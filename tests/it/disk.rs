//! A disk that is full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{City, assert_same_tree, run, skipped, tree};

/// A file system of so many bytes, gone when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, bytes: u32) -> Option<Self> {
        fs::create_dir(at).ok()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg(&self.0).output();
        assert!(gone.is_ok_and(|output| output.status.success()), "the small disk stays mounted");
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let city = City::new();
    let mut n_failed = 0;
    // From a disk on which nothing fits, page by page, to one that holds all.
    for pages in (1..=14).map(|step| 2 * step) {
        let name = format!("disk{pages}");
        let Some(disk) = SmallDisk::mount(&city.path(&name), pages * 4_096) else {
            skipped("a full disk under the releases (cannot mount one)");
            return;
        };
        let run = city.sanitize(&format!("{name}/out"), &[]);
        let left = tree(&disk.0);
        let is_aside = |path: &PathBuf| path.to_string_lossy().contains(".partial");
        assert!(!left.keys().any(is_aside), "{pages} pages: {:?}", left.keys());
        if run.code == 3 {
            n_failed += 1;
            assert_eq!(run.complaints().len(), 1, "{}", run.err);
            let settled = &city.booked()["entries"][0]["settled"];
            assert_ne!(*settled, true, "paid for, but not in place with its catalog");
        } else {
            run.code(0);
            assert_eq!(left.len(), 12, "eight files, two directories, the catalog and its page");
        }
        // A catalog that did not fit leaves its release whole; anything before that leaves nothing.
        if !left.is_empty() {
            city.verify(&format!("{name}/out")).code(0);
        }
    }
    assert!((5..14).contains(&n_failed), "{n_failed} of 14 disks were too small");
    let done = city.sanitize("out", &[]).code(0);
    assert!(done.out.contains("at no cost"), "{}", done.out);
    assert_eq!(city.spent_micro(), 20_000_000, "a full disk is paid for once");
    city.sanitize("other", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("other"));
}

/// A secret without its ledger, or half a ledger, used to keep the next try away.
#[test]
fn a_feed_that_does_not_fit_on_the_disk_is_not_made_at_all() {
    let dir = tempfile::tempdir().unwrap();
    // A page for the secret alone, then one for the ledger; the configuration takes one more.
    for pages in 1..=2 {
        let Some(disk) = SmallDisk::mount(&dir.path().join(format!("disk{pages}")), pages * 4_096)
        else {
            skipped("a full disk under a new feed (cannot mount one)");
            return;
        };
        let refused = run(["init", disk.0.to_str().unwrap()]).code(3);
        assert!(refused.err.contains("cannot write"), "{}", refused.err);
        assert!(tree(&disk.0).is_empty(), "{pages} pages: {:?}", tree(&disk.0).keys());
    }
}
