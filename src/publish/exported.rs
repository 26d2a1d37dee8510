//! A release that was rebuilt from its topic, as a directory with what the topic holds.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::contents::PATHS_CSV;
use super::manifest::MANIFEST;
use super::topic::Rebuilt;
use super::{Error, disk};

/// Writes datapackage.json and paths.csv below `out`, both or neither; the same release again changes nothing.
pub fn write_rebuilt(out: &Path, release: &Rebuilt) -> Result<PathBuf, Error> {
    let place = out.join(&release.window);
    let files = [(MANIFEST, &release.manifest), (PATHS_CSV, &release.paths_csv)];
    if place.exists() {
        let is_same = |(name, bytes): &(&str, &Vec<u8>)| {
            fs::read(place.join(name)).is_ok_and(|there| there == **bytes)
        };
        return match files.iter().all(is_same) {
            true => Ok(place),
            false => Err(Error::Foreign {
                path: place.display().to_string(),
                what: format!("holds something else than release {}", release.id),
            }),
        };
    }
    let partial = out.join(format!(".{}.partial", release.window));
    fs::create_dir_all(out).map_err(Error::io("create", out))?;
    if partial.exists() {
        // An earlier export died here.
        fs::remove_dir_all(&partial).map_err(Error::io("remove", &partial))?;
    }
    fs::create_dir(&partial).map_err(Error::io("create", &partial))?;
    let written = files.iter().try_for_each(|(name, bytes)| {
        let path = partial.join(name);
        disk::write(&disk::on_disk(), &path, |file| file.write_all(bytes))
            .map(drop)
            .map_err(Error::io("write", &path))
    });
    let moved = written
        .and_then(|()| fs::rename(&partial, &place).map_err(Error::io("write", &place)))
        .and_then(|()| disk::sync_dir(out).map_err(Error::io("write", out)));
    if moved.is_err() {
        // Best effort on the way out: the error that leads here is the one to tell.
        fs::remove_dir_all(&partial).ok();
    }
    moved.map(|()| place)
}
