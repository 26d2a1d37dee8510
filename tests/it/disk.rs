//! A disk that is full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{City, assert_same_tree, skipped, tree};

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
    city.forget_range();
    // From nothing fits at all to all but the last bytes do.
    for (number, bytes) in [4_096, 12_288, 20_480, 28_672].into_iter().enumerate() {
        let Some(disk) = SmallDisk::mount(&city.path(&format!("disk{number}")), bytes) else {
            skipped("a full disk under the releases (cannot mount one)");
            return;
        };
        let failed = city.sanitize(&format!("disk{number}/out"), &[]).code(3);
        assert_eq!(failed.complaints().len(), 1, "{}", failed.err);
        assert!(tree(&disk.0).is_empty(), "{bytes}: {:?}", tree(&disk.0).keys());
    }
    assert_eq!(city.booked()["entries"][0]["settled"], false, "paid for, not in place yet");
    let done = city.sanitize("out", &[]).code(0);
    assert!(done.out.contains("at no cost"), "{}", done.out);
    assert_eq!(city.spent_micro(), 20_000_000, "a full disk is paid for once");
    city.sanitize("other", &[]).code(0);
    assert_same_tree(&city.path("out"), &city.path("other"));
}
