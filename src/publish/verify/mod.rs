//! Verify checks releases on disk, from what lies there alone.
//!
//! In → out: a directory with releases, or one release → a [`Report`].
//! Promises: a changed byte in any file is reported with that file's name; rows that break a promise of suppression
//!   are found; garbage is a problem, never a panic; nothing is written.
//! Refuses: a directory without any release.
//! Why: recipients have no other way to know that what they hold is what was published.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

mod content;
mod format_1;
mod listed;
mod promise;
mod said_twice;
mod records;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::catalog::{CATALOG, CATALOG_MOST_BYTES, Catalog};
use super::dcat::{DCAT, dcat, named};
use super::manifest::MANIFEST;
use super::signature::SIGNATURE;
use super::{Error, disk};

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Every release, by name.
    pub releases: Vec<Checked>,
    /// What is wrong with catalog.json.
    pub catalog: Vec<Problem>,
    /// What is worth knowing, but not wrong.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems().next().is_none()
    }

    /// Every problem with the name of its release; the catalog's have none.
    pub fn problems(&self) -> impl Iterator<Item = (Option<&str>, &Problem)> {
        let of_releases = self.releases.iter().flat_map(|checked| {
            checked.problems.iter().map(|problem| (Some(checked.name.as_str()), problem))
        });
        of_releases.chain(self.catalog.iter().map(|problem| (None, problem)))
    }
}

/// One release and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Its directory's name.
    pub name: String,
    /// Its id, if the manifest could be read.
    pub id: Option<String>,
    /// The key that signed it; `None`: nobody did.
    pub signed_by: Option<String>,
    /// Empty if it is sound.
    pub problems: Vec<Problem>,
}

/// Something wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    pub file: String,
    /// What is wrong, in words that follow the file's name.
    pub what: String,
}

impl Problem {
    fn new(file: &str, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), what: what.into() }
    }
}

/// What a release must be beyond its own words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    /// Every release must be signed with this key: the one that the agency hands out.
    pub key: Option<&'a str>,
    /// A release whose manifest lists more is not read.
    pub most_bytes: u64,
}

impl Default for Options<'_> {
    /// Any key, and 16 GiB.
    fn default() -> Self {
        Self { key: None, most_bytes: 16 << 30 }
    }
}

/// Checks one release, or all releases of a directory with their catalog.
pub fn verify(dir: &Path) -> Result<Report, Error> {
    verify_with(dir, &Options::default())
}

/// The same, and what these options ask for.
pub fn verify_with(dir: &Path, options: &Options<'_>) -> Result<Report, Error> {
    // `.` has no name of its own; what is not there holds no release.
    let real = fs::canonicalize(dir)
        .ok()
        .filter(|real| real.is_dir())
        .ok_or_else(|| Error::NoRelease { path: dir.display().to_string() })?;
    let mut report = match is_release(&real) {
        true => verify_one(&real, options)?,
        false => verify_all(&real, dir, options)?,
    };
    let Some(key) = options.key else { return Ok(report) };
    for checked in &mut report.releases {
        let what = match checked.signed_by.as_deref() {
            Some(signer) if signer == key => continue,
            Some(signer) => format!("is by another key than --key: {signer}"),
            None => "is missing: nobody signed this release".to_owned(),
        };
        checked.problems.push(Problem::new(SIGNATURE, what));
    }
    Ok(report)
}

fn verify_one(dir: &Path, options: &Options<'_>) -> Result<Report, Error> {
    let checked = listed::check(dir, options.most_bytes);
    let mut report = Report { releases: vec![checked], ..Report::default() };
    if let Some(out) = dir.parent().filter(|out| is_there(&out.join(CATALOG))) {
        let named = check_catalog(out, &mut report);
        note_missing(&named, &mut report);
    }
    Ok(report)
}

fn verify_all(out: &Path, as_given: &Path, options: &Options<'_>) -> Result<Report, Error> {
    let mut report = Report::default();
    for dir in directories(out, &mut report.notes)? {
        let mut checked = listed::check(&dir, options.most_bytes);
        if let Some(id) = &checked.id
            && id.rsplit_once('-').is_none_or(|(window, _)| window != checked.name)
        {
            let what = format!("is release {id}, which belongs in a directory of its own name");
            checked.problems.push(Problem::new(MANIFEST, what));
        }
        report.releases.push(checked);
    }
    if is_there(&out.join(CATALOG)) {
        let named = check_catalog(out, &mut report);
        note_missing(&named, &mut report);
    } else if report.releases.is_empty() {
        return Err(Error::NoRelease { path: as_given.display().to_string() });
    } else {
        report.notes.push(format!("{CATALOG} is not there; the next release writes it"));
    }
    Ok(report)
}

/// Directories that are releases, by name. Says what else lies there.
fn directories(out: &Path, notes: &mut Vec<String>) -> Result<Vec<PathBuf>, Error> {
    let mut releases = Vec::new();
    for entry in out.read_dir().map_err(Error::io("list", out))? {
        let path = entry.map_err(Error::io("list", out))?.path();
        let name = name_of(&path);
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|there| there.is_dir());
        if name.starts_with('.') {
            if name.ends_with(".partial") || name.ends_with(".old") {
                notes.push(format!("{name} was left behind by a run that died; it is no release"));
            }
        } else if is_dir && is_release(&path) {
            releases.push(path);
        } else if name != CATALOG && name != DCAT {
            notes.push(format!("{name} is no release and was not looked at"));
        }
    }
    releases.sort();
    notes.sort();
    Ok(releases)
}

/// Checks catalog.json against the directories it names; gives those names.
fn check_catalog(out: &Path, report: &mut Report) -> BTreeSet<String> {
    let problems = &mut report.catalog;
    let text = match disk::read(&out.join(CATALOG), CATALOG_MOST_BYTES) {
        Ok(text) => text,
        Err(error) => {
            problems.push(Problem::new(CATALOG, format!("cannot be read: {error}")));
            return BTreeSet::new();
        }
    };
    let (catalog, is_canonical) = match Catalog::read(&text) {
        Ok(catalog) => catalog,
        Err(what) => {
            problems.push(Problem::new(CATALOG, what));
            return BTreeSet::new();
        }
    };
    let names = catalog.releases.iter().map(|entry| entry.name.as_str());
    let found = Catalog::of(out, names.filter(|name| is_plain(name)));
    for entry in &catalog.releases {
        let name = &entry.name;
        if !is_plain(name) || !is_there(&out.join(name)) {
            problems.push(Problem::new(CATALOG, format!("lists {name:?}, which is not there")));
        } else if !found.releases.contains(entry) {
            let what = format!("says something else about {name} than its {MANIFEST}");
            problems.push(Problem::new(CATALOG, what));
        }
    }
    let is_ordered = catalog.releases.is_sorted_by(|a, b| a.name < b.name);
    if problems.is_empty() && !(is_canonical && is_ordered) {
        problems.push(Problem::new(CATALOG, "is not in the form it is written in"));
    }
    check_page(out, &catalog, report);
    catalog.releases.into_iter().map(|entry| entry.name).collect()
}

/// Checks the portals' page, where there is one, against the directories that it lists. A run may die before it writes
/// the page: one that lists fewer is worth a note.
fn check_page(out: &Path, catalog: &Catalog, report: &mut Report) {
    let page = match disk::read(&out.join(DCAT), CATALOG_MOST_BYTES) {
        Ok(page) => page,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            return report.catalog.push(Problem::new(DCAT, format!("cannot be read: {error}")));
        }
    };
    if page == dcat(catalog) {
        return;
    }
    let names = named(&page).unwrap_or_default();
    let plain = names.iter().map(String::as_str).filter(|name| is_plain(name));
    match dcat(&Catalog::of(out, plain)) == page {
        true => report
            .notes
            .push(format!("{DCAT} lists other releases than {CATALOG}; the next one writes both")),
        false => {
            report.catalog.push(Problem::new(DCAT, "says something else than the releases do"))
        }
    }
}

/// A run may die after its release is in place and before the catalog is: worth a note, not a problem.
fn note_missing(named: &BTreeSet<String>, report: &mut Report) {
    for checked in report.releases.iter().filter(|checked| !named.contains(&checked.name)) {
        report.notes.push(format!("{} is not in {CATALOG} yet", checked.name));
    }
}

/// Whether a directory is, or should be, a release: by its manifest or by its name.
fn is_release(dir: &Path) -> bool {
    is_there(&dir.join(MANIFEST)) || looks_like_a_window(&name_of(dir))
}

fn looks_like_a_window(name: &str) -> bool {
    let is_moment = |text: &str| {
        text.len() == 13
            && text.bytes().enumerate().all(|(place, byte)| match place {
                8 => byte == b'T',
                _ => byte.is_ascii_digit(),
            })
    };
    let (plain, revision) = name.split_once("_r").unwrap_or((name, "0"));
    plain.split_once('_').is_some_and(|(start, end)| is_moment(start) && is_moment(end))
        && revision.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name can only mean an entry right here.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
