//! A release that was rebuilt from its topic, as the directory that [`Files`] would have written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::contents::PATHS_CSV;
use super::manifest::MANIFEST;
use super::topic::Rebuilt;
use super::{Error, Files, disk};

/// Writes every file that the topic holds below `out`, all or none; the same release again changes nothing. A directory
/// that holds some of them and nothing else is made whole: an earlier program exported fewer.
pub fn write_rebuilt(out: &Path, release: &Rebuilt) -> Result<PathBuf, Error> {
    let place = out.join(&release.window);
    let own = [(MANIFEST, &release.manifest), (PATHS_CSV, &release.paths_csv)];
    let others = release.files.iter().map(|(name, bytes)| (*name, bytes));
    let files: Vec<(&str, &Vec<u8>)> = others.chain(own).collect();
    if place.exists() && is_whole(&place, &files, release)? {
        return Ok(place);
    }
    let partial = out.join(format!(".{}.partial", release.window));
    let old = out.join(format!(".{}.old", release.window));
    fs::create_dir_all(out).map_err(Error::io("create", out))?;
    for left in [&partial, &old].into_iter().filter(|left| left.exists()) {
        // An earlier export died here.
        fs::remove_dir_all(left).map_err(Error::io("remove", left))?;
    }
    fs::create_dir(&partial).map_err(Error::io("create", &partial))?;
    let written = files.iter().try_for_each(|(name, bytes)| {
        let path = partial.join(name);
        disk::write(&disk::on_disk(), &path, |file| file.write_all(bytes))
            .map(drop)
            .map_err(Error::io("write", &path))
    });
    let moved = written
        .and_then(|()| disk::sync_dir(&partial).map_err(Error::io("write", &partial)))
        .and_then(|()| match place.exists() {
            true => fs::rename(&place, &old).map_err(Error::io("replace", &place)),
            false => Ok(()),
        })
        .and_then(|()| fs::rename(&partial, &place).map_err(Error::io("write", &place)))
        .and_then(|()| disk::sync_dir(out).map_err(Error::io("write", out)));
    // Best effort on the way out: the error that leads here is the one to tell.
    fs::remove_dir_all(&partial).ok();
    match place.exists() {
        true => fs::remove_dir_all(&old).ok(),
        false => fs::rename(&old, &place).ok(),
    };
    moved.map(|()| place)
}

/// Writes catalog.json beside the releases that were exported.
pub fn write_exported_catalog(out: &Path) -> Result<(), Error> {
    Files::new(out).write_catalog()
}

/// Whether a directory holds all files of a release. One that is to be replaced must hold nothing else: what somebody
/// put there would vanish with it.
fn is_whole(place: &Path, files: &[(&str, &Vec<u8>)], release: &Rebuilt) -> Result<bool, Error> {
    let foreign = || Error::Foreign {
        path: place.display().to_string(),
        what: format!("holds something else than release {}", release.id),
    };
    let is_same = |(name, bytes): &&(&str, &Vec<u8>)| {
        disk::read(&place.join(name), bytes.len() as u64).is_ok_and(|there| there == **bytes)
    };
    let n_same = files.iter().filter(is_same).count();
    if n_same == files.len() {
        return Ok(true);
    }
    let n_there = place.read_dir().map_err(|_| foreign())?.count();
    match n_there == n_same {
        true => Ok(false),
        false => Err(foreign()),
    }
}
