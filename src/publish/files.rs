//! A release as a directory: written aside, made durable, then renamed into place.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::ReleaseId;
use crate::protocol::OutRecord;

use super::catalog::{CATALOG, CATALOG_MOST_BYTES, Followed};
use super::contents::NAMES;
use super::dcat::{DCAT, Page};
use super::disk::{self, Open, Written};
use super::manifest::{MANIFEST, MANIFEST_MOST_BYTES, Manifest};
use super::rendered::Rendered;
use super::signature::{SIGNATURE, SIGNATURE_MOST_BYTES};
use super::{Error, Sink, Standing, catalog};

/// How what is not finished yet is called at its end.
const PARTIAL: &str = ".partial";

/// Writes releases into a directory, one directory each, and keeps their catalog.
pub struct Files {
    out: PathBuf,
    open: Open,
    followed: Followed,
    page: Page,
}

impl Files {
    /// Touches nothing yet.
    pub fn new(out: &Path) -> Self {
        Self::through(disk::on_disk(), out)
    }

    /// Writes every file through `open`.
    pub(super) fn through(open: Open, out: &Path) -> Self {
        Self { out: out.to_owned(), open, followed: Followed::default(), page: Page::default() }
    }

    /// Whether the same release stands there already. Anything else there is an error.
    fn occupant(&self, name: &str, id: &ReleaseId) -> Result<Occupant, Error> {
        let target = self.out.join(name);
        let foreign = |what: String| Error::Foreign { path: target.display().to_string(), what };
        bring_back(&target, &old_of(&self.out, name))?;
        match fs::symlink_metadata(&target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Occupant::Nothing),
            Err(error) => return Err(Error::io("look at", &target)(error)),
            Ok(there) if !there.is_dir() => return Err(foreign("is not a directory".to_owned())),
            Ok(_) => {}
        }
        let manifest = disk::read(&target.join(MANIFEST), MANIFEST_MOST_BYTES)
            .map_err(|error| foreign(format!("holds no release ({MANIFEST}: {error})")))?;
        let found = Manifest::read(&manifest).map_err(|error| {
            foreign(format!("holds no release of this format ({MANIFEST} {error})"))
        })?;
        let found = found.package.privacy.release_id;
        match found == id.as_str() {
            true => Ok(Occupant::SameRelease { manifest }),
            false => Err(Error::Occupied {
                path: target.display().to_string(),
                found,
                wanted: id.as_str().to_owned(),
            }),
        }
    }

    /// Writes all files into `dir`, durably.
    fn write_all(&self, rendered: &Rendered, dir: &Path) -> Result<(), Error> {
        for file in &rendered.files {
            self.file(dir, file.name, &file.bytes)?;
        }
        self.file(dir, MANIFEST, &rendered.manifest)?;
        self.file(dir, SIGNATURE, &rendered.signature)?;
        disk::sync_dir(dir).map_err(Error::io("write", dir))
    }

    fn file(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<Written, Error> {
        let path = dir.join(name);
        disk::write(&self.open, &path, |out| out.write_all(bytes))
            .map_err(Error::io("write", &path))
    }

    /// Puts the finished directory in its place. The old one, if any, goes only when the new one is in.
    fn move_in(&self, aside: &Aside, occupied: bool) -> Result<(), Error> {
        let target = &aside.target;
        if occupied {
            refuse_strangers(target)?;
            fs::rename(target, &aside.old).map_err(Error::io("replace", target))?;
        }
        if let Err(error) = fs::rename(&aside.partial, target) {
            if occupied {
                // Best effort: the release that stood there is better than none.
                fs::rename(&aside.old, target).ok();
            }
            return Err(Error::io("write", target)(error));
        }
        disk::sync_dir(&self.out).map_err(Error::io("write", &self.out))
    }

    /// What dead runs left of a catalog: the plain name of earlier programs, and whatever is older than an hour.
    /// Housekeeping: it may fail.
    fn clear_old_partials(&self) {
        const OLD: Duration = Duration::from_secs(3_600);
        let Ok(entries) = self.out.read_dir() else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_partial =
                |name: &str| name.starts_with(".catalog.json") && name.ends_with(PARTIAL);
            if !name.to_str().is_some_and(is_partial) {
                continue;
            }
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            if name == ".catalog.json.partial" || age().is_some_and(|age| age > OLD) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Several feeds may write into one directory at the same time: each looks again after it wrote, until the catalog
    /// says what the directories say. So whoever writes last has seen everything.
    pub(super) fn write_catalog(&mut self) -> Result<(), Error> {
        const LOOKS: usize = 1_000;
        self.clear_old_partials();
        let mut written = None;
        for _ in 0..LOOKS {
            let catalog = self.followed.scan(&self.out).map_err(Error::io("list", &self.out))?;
            if written.as_ref() == Some(&catalog) {
                break;
            }
            self.replace(CATALOG, &catalog.text())?;
            let page = self.page.text(&catalog);
            self.replace(DCAT, &page)?;
            written = Some(catalog);
        }
        Ok(())
    }

    /// Replaces a file beside the releases, unless it says the same.
    fn replace(&self, name: &str, text: &[u8]) -> Result<(), Error> {
        let target = self.out.join(name);
        if disk::read(&target, CATALOG_MOST_BYTES).is_ok_and(|there| there == text) {
            return Ok(());
        }
        let failed = Error::io("write", &target);
        let partial = match self.write_aside(name, text) {
            Ok(partial) => partial,
            Err(error) => return Err(failed(error)),
        };
        match fs::rename(&partial, &target).and_then(|()| disk::sync_dir(&self.out)) {
            Ok(()) => Ok(()),
            Err(error) => {
                remove_file_if_there(&partial).ok();
                Err(failed(error))
            }
        }
    }

    /// Writes a file under a name that nobody else has; gives the name. A process number would not do: two containers
    /// that share a directory have the same.
    fn write_aside(&self, name: &str, text: &[u8]) -> io::Result<PathBuf> {
        const MOST: usize = 1_000;
        for n in 0..MOST {
            let partial = self.out.join(format!(".{name}.{n}{PARTIAL}"));
            match disk::write(&self.open, &partial, |out| out.write_all(text)) {
                Ok(_) => return Ok(partial),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    remove_file_if_there(&partial).ok();
                    return Err(error);
                }
            }
        }
        Err(io::Error::other(format!("{MOST} unfinished files of others are in the way")))
    }
}

impl Sink for Files {
    /// Leaves nothing behind.
    fn preflight(&mut self, id: &ReleaseId) -> Result<(), Error> {
        self.occupant(id.directory(), id)?;
        let aside = Aside::new(&self.out, id.directory())?;
        let probe = aside.partial.join(MANIFEST);
        disk::write(&self.open, &probe, |file| file.write_all(b"{}\n"))
            .map_err(Error::io("write", &probe))?;
        Ok(())
    }

    /// Puts the directory in place, now.
    fn publish(&mut self, rendered: &Rendered) -> Result<Vec<OutRecord>, Error> {
        let occupant = self.occupant(&rendered.name, &rendered.id)?;
        let aside = Aside::new(&self.out, &rendered.name)?;
        self.write_all(rendered, &aside.partial)?;
        match occupant {
            Occupant::Nothing => self.move_in(&aside, false)?,
            Occupant::SameRelease { manifest: there } => {
                if there != rendered.manifest || !holds(&aside.target, rendered) {
                    self.move_in(&aside, true)?;
                }
            }
        }
        drop(aside);
        self.write_catalog()?;
        Ok(Vec::new())
    }

    fn standing(&mut self) -> Result<Vec<Standing>, Error> {
        // Another feed may take the directory away again between a look at it and its list.
        match catalog::standing(&self.out) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed.map_err(Error::io("list", &self.out)),
        }
    }
}

/// What stands where a release is to go.
enum Occupant {
    Nothing,
    SameRelease { manifest: Vec<u8> },
}

/// Whether a directory's files hold what was written.
fn holds(target: &Path, rendered: &Rendered) -> bool {
    let signature = disk::read(&target.join(SIGNATURE), SIGNATURE_MOST_BYTES);
    signature.is_ok_and(|there| there == rendered.signature)
        && rendered.files.iter().all(|file| {
            disk::measure(&target.join(file.name), file.written.bytes)
                .is_ok_and(|there| there == file.written)
        })
}

/// Somebody's notes in a release's directory must not vanish with it.
fn refuse_strangers(target: &Path) -> Result<(), Error> {
    for entry in target.read_dir().map_err(Error::io("list", target))? {
        let name = entry.map_err(Error::io("list", target))?.file_name();
        let is_ours = name == MANIFEST || name == SIGNATURE;
        if !is_ours && !NAMES.iter().any(|&ours| name == ours) {
            return Err(Error::Foreign {
                path: target.join(name).display().to_string(),
                what: "is no part of the release that must be replaced".to_owned(),
            });
        }
    }
    Ok(())
}

fn old_of(out: &Path, name: &str) -> PathBuf {
    out.join(format!(".{name}.old"))
}

/// A run that died while it replaced a release has left the old one aside; it is better than none.
fn bring_back(target: &Path, old: &Path) -> Result<(), Error> {
    match !target.exists() && old.exists() {
        true => fs::rename(old, target).map_err(Error::io("bring back", target)),
        false => Ok(()),
    }
}

/// Where a release is written before it is in place. Whatever happens, nothing of it stays behind.
struct Aside {
    target: PathBuf,
    partial: PathBuf,
    old: PathBuf,
    /// Directories that were made for it, outermost first.
    made: Vec<PathBuf>,
}

impl Aside {
    /// Who releases into the same directory at the same time may make it first, or take it away again while it is
    /// empty: then once more.
    fn new(out: &Path, name: &str) -> Result<Self, Error> {
        const TRIES: usize = 1_000;
        let mut n_tried = 0;
        loop {
            n_tried += 1;
            let mut aside = Self {
                target: out.join(name),
                partial: out.join(format!(".{name}{PARTIAL}")),
                old: old_of(out, name),
                made: Vec::new(),
            };
            match aside.make(out) {
                Ok(()) => return Ok(aside),
                Err(Error::Io { error, .. })
                    if error.kind() == io::ErrorKind::NotFound && n_tried < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the directory of releases and the one aside.
    fn make(&mut self, out: &Path) -> Result<(), Error> {
        let missing: Vec<&Path> = out
            .ancestors()
            .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
            .collect();
        for dir in missing.into_iter().rev() {
            match fs::create_dir(dir) {
                Ok(()) => self.made.push(dir.to_owned()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::io("create", dir)(error)),
            }
            let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
            disk::sync_dir(above.unwrap_or(Path::new("."))).map_err(Error::io("create", dir))?;
        }
        // An earlier run may have died here.
        for left in [&self.partial, &self.old] {
            remove_dir_if_there(left).map_err(Error::io("remove", left))?;
        }
        fs::create_dir(&self.partial).map_err(Error::io("write", &self.partial))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Best effort on the way out: the error that leads here is the one to tell.
        remove_dir_if_there(&self.partial).ok();
        if self.target.exists() {
            remove_dir_if_there(&self.old).ok();
        }
        for dir in self.made.iter().rev() {
            // Succeeds on an empty directory only.
            fs::remove_dir(dir).ok();
        }
    }
}

fn remove_dir_if_there(dir: &Path) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(dir))
}

fn remove_file_if_there(file: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(file))
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
