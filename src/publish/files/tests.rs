use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::fixture;
use crate::model::{Digest, ErrorKind, PathKind};

use super::super::disk::{Output, on_disk};
use super::super::tests::{
    Publisher, published, relative, release, rows, settings, stations, window,
};
use super::super::verify::verify;
use super::*;

#[test]
fn publishing_again_touches_nothing() {
    let (out, dir) = published(&release());
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let before = (inode(&dir), inode(&out.path().join("catalog.json")));
    Publisher::new(out.path(), settings(&stations())).publish(&release()).unwrap();
    assert_eq!((inode(&dir), inode(&out.path().join("catalog.json"))), before);
    assert_eq!(relative(out.path()).len(), 10);
}

#[test]
fn the_same_release_with_other_words_replaces_the_old_one() {
    let (out, dir) = published(&release());
    fs::write(dir.join("README.md"), "scribbled").unwrap();
    let mut other = settings(&stations());
    other.title = "Another title".to_owned();
    Publisher::new(out.path(), other).publish(&release()).unwrap();
    assert!(fs::read_to_string(dir.join("README.md")).unwrap().contains("Another title"));
    assert!(verify(out.path()).unwrap().is_sound());
    assert_eq!(relative(out.path()).len(), 10);
}

#[test]
fn a_damaged_release_is_made_whole_again() {
    let (out, dir) = published(&release());
    let whole = relative(out.path());
    fs::write(dir.join("paths.csv"), "count,path\n").unwrap();
    fs::remove_file(dir.join("report.html")).unwrap();
    Publisher::new(out.path(), settings(&stations())).publish(&release()).unwrap();
    assert_eq!(relative(out.path()), whole);
}

#[test]
fn somebodys_notes_in_a_release_are_never_deleted() {
    let (out, dir) = published(&release());
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    fs::write(dir.join("README.md"), "scribbled").unwrap();
    let error = Publisher::new(out.path(), settings(&stations())).publish(&release()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
    assert_eq!(relative(out.path()).len(), 11);
}

#[test]
fn another_release_under_the_same_name_is_refused_before_and_after_payment() {
    let (out, _) = published(&release());
    let before = relative(out.path());
    let other =
        fixture::release(&window(), &stations(), Digest::of(b"other"), PathKind::Timed, rows());
    let mut files = Publisher::new(out.path(), settings(&stations()));
    assert!(files.preflight(release().id()).is_ok());
    for error in [files.preflight(other.id()).unwrap_err(), files.publish(&other).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Config);
        let text = error.to_string();
        assert!(
            text.contains(release().id().as_str()) && text.contains(other.id().as_str()),
            "{text}"
        );
        assert!(text.contains("--out"), "{text}");
    }
    assert_eq!(relative(out.path()), before);
}

#[test]
fn something_else_under_the_name_is_refused_and_kept() {
    let out = tempfile::tempdir().unwrap();
    let target = out.path().join(window().name());
    fs::create_dir(&target).unwrap();
    fs::write(target.join("thesis.tex"), "years of work").unwrap();
    let mut files = Publisher::new(out.path(), settings(&stations()));
    assert_eq!(files.preflight(release().id()).unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(files.publish(&release()).unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(relative(out.path()).len(), 1);
}

#[test]
fn preflight_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("a/b");
    let id = release().id().clone();
    Publisher::new(&out, settings(&stations())).preflight(&id).unwrap();
    assert_eq!(home.path().read_dir().unwrap().count(), 0);
}

#[test]
fn an_out_that_cannot_be_made_is_the_outside_worlds_fault() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    let mut files = Publisher::new(&home.path().join("file/out"), settings(&stations()));
    for error in
        [files.preflight(release().id()).unwrap_err(), files.publish(&release()).unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::External, "{error}");
        assert!(error.to_string().contains("file/out"), "{error}");
    }
}

/// A disk with room for so many bytes; then it is full, as a real one says it.
struct Small {
    file: Box<dyn Output>,
    room: Arc<AtomicU64>,
}

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let take = |room: u64| room.checked_sub(bytes.len() as u64);
        match self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(_) => self.file.write_all(bytes).map(|()| bytes.len()),
            Err(_) => Err(io::Error::from_raw_os_error(28)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for Small {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

fn disk_with_room(bytes: u64) -> Open {
    let (disk, room) = (on_disk(), Arc::new(AtomicU64::new(bytes)));
    Box::new(move |path| Ok(Box::new(Small { file: disk(path)?, room: room.clone() })))
}

/// Holds P-2.
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let home = tempfile::tempdir().unwrap();
    let (mut room, mut n_failures) = (0, 0);
    loop {
        let out = home.path().join("deep/out");
        let mut files = Publisher::through(disk_with_room(room), &out, settings(&stations()));
        match files.publish(&release()) {
            Ok(_) => break,
            Err(error) => {
                n_failures += 1;
                assert_eq!(error.kind(), ErrorKind::External);
                assert!(error.to_string().contains("No space left"), "{error}");
                if error.to_string().contains("catalog.json") {
                    // The release is whole and in place; only the list of releases, or the portals' page, is not.
                    assert!(verify(&out).unwrap().is_sound());
                    let has_list = error.to_string().contains("catalog.jsonld");
                    assert_eq!(relative(&out).len(), 8 + usize::from(has_list));
                    fs::remove_dir_all(home.path().join("deep")).unwrap();
                }
                assert_eq!(home.path().read_dir().unwrap().count(), 0, "room for {room} bytes");
            }
        }
        room += 197;
    }
    assert!(n_failures > 50, "{n_failures}");
}

#[test]
fn a_full_disk_keeps_the_release_that_was_there() {
    let (out, _) = published(&release());
    let before = relative(out.path());
    let mut other = settings(&stations());
    other.title = "Another title".to_owned();
    let mut files = Publisher::through(disk_with_room(3_000), out.path(), other);
    assert_eq!(files.publish(&release()).unwrap_err().kind(), ErrorKind::External);
    assert_eq!(relative(out.path()), before);
}

#[test]
fn what_dead_runs_left_is_cleared_away() {
    let (out, dir) = published(&release());
    let whole = relative(out.path());
    let (partial, old) = (
        out.path().join(".20151109T0400_20151110T0400.partial"),
        out.path().join(".20151109T0400_20151110T0400.old"),
    );
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("paths.csv"), "count,pa").unwrap();
    fs::write(out.path().join(".catalog.json.partial"), "{").unwrap();
    // The run died between the two renames.
    fs::rename(&dir, &old).unwrap();
    let mut files = Publisher::through(disk_with_room(100), out.path(), settings(&stations()));
    assert!(files.publish(&release()).is_err());
    assert!(dir.join("paths.csv").exists(), "the old release is back though the new one failed");
    fs::remove_file(out.path().join("catalog.json")).unwrap();
    Publisher::new(out.path(), settings(&stations())).publish(&release()).unwrap();
    assert_eq!(relative(out.path()), whole);
}

/// Directories of releases are made and taken away again by several feeds at once.
#[test]
fn many_at_once_make_one_directory_and_one_catalog() {
    const ROUNDS: usize = 50;
    for _ in 0..ROUNDS {
        let shared = tempfile::tempdir().unwrap();
        let out = shared.path().join("not/there/yet");
        let looks = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for n in 0..4 {
                let (out, looks) = (out.clone(), &looks);
                scope.spawn(move || {
                    looks.wait();
                    let name = format!("2015110{n}T0400_2015110{n}T1000");
                    for _ in 0..5 {
                        drop(Aside::new(&out, &name).unwrap());
                    }
                    let aside = Aside::new(&out, &name).unwrap();
                    fs::write(aside.partial.join(MANIFEST), "{}").unwrap();
                    let mut files = Files::new(&out);
                    files.move_in(&aside, false).unwrap();
                    drop(aside);
                    files.write_catalog().unwrap();
                });
            }
        });
        let catalog = fs::read(out.join(CATALOG)).unwrap();
        let (catalog, _) = super::super::catalog::Catalog::read(&catalog).unwrap();
        assert_eq!(catalog.releases.len(), 4);
        let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.filter(|name| name.to_string_lossy().starts_with('.')).count(), 0);
    }
}

/// It may be there for the moment of a look, and gone before it is listed.
#[test]
fn a_directory_that_others_make_and_take_away_holds_no_release_and_is_no_failure() {
    const LOOKS: usize = 20_000;
    let shared = tempfile::tempdir().unwrap();
    let out = shared.path().join("out");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                fs::create_dir(&out).unwrap();
                fs::remove_dir(&out).unwrap();
            }
        });
        let mut files = Files::new(&out);
        let looked: Vec<_> = (0..LOOKS).map(|_| files.standing()).collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(looked.into_iter().all(|found| found.is_ok_and(|found| found.is_empty())));
    });
}
