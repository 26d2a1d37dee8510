//! The releases of a directory as a reader sees them. Public numbers only, and every look checks what lies
//! there: a file that was changed is said, not shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::Value;

use super::super::contents::NAMES;
use super::super::disk;
use super::super::manifest::{MANIFEST, MANIFEST_MOST_BYTES, Manifest};
use super::super::verify::verify;
use super::super::view::View;
use super::{Entry, Followed};

/// The largest file that is handed out.
const FILE_MOST_BYTES: u64 = 1 << 30;

/// One release of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReleaseSummary {
    /// Its directory.
    pub name: String,
    /// Its id; its directory's name where the manifest cannot be read.
    pub id: String,
    /// The window's beginning.
    pub start: String,
    /// The window's end.
    pub end: String,
    pub engine: String,
    /// Why its manifest cannot be read.
    pub unreadable: Option<String>,
}

impl ReleaseSummary {
    fn of(entry: Entry) -> Self {
        let (start, end) =
            entry.window.map(|window| (window.start, window.end)).unwrap_or_default();
        Self {
            id: entry.release_id.unwrap_or_else(|| entry.name.clone()),
            name: entry.name,
            start,
            end,
            engine: entry.engine.unwrap_or_default(),
            unreadable: entry.unreadable,
        }
    }
}

impl Followed {
    /// The releases of a directory, the newest window first; none if the directory is not there yet.
    pub fn list(&self, dir: &Path) -> Vec<ReleaseSummary> {
        let found = self.scan(dir).map_or(Vec::new(), |catalog| catalog.releases);
        let mut found: Vec<ReleaseSummary> = found.into_iter().map(ReleaseSummary::of).collect();
        found.sort_by(|a, b| b.start.cmp(&a.start).then(b.name.cmp(&a.name)));
        found
    }

    fn find(&self, dir: &Path, name: &str) -> Option<ReleaseSummary> {
        self.list(dir).into_iter().find(|one| one.name == name || one.id == name)
    }

    /// Opens a release that [`Self::list`] named; `None` if there is none of this name, or its manifest cannot be read.
    pub fn open(&self, dir: &Path, name: &str) -> Option<Opened> {
        open(&dir.join(self.find(dir, name)?.name))
    }

    /// A file of a release. Only names that releases have are looked for, so no name leads anywhere else.
    pub fn file(&self, dir: &Path, name: &str, file: &str) -> Option<Vec<u8>> {
        let here = dir.join(self.find(dir, name)?.name);
        let known = NAMES.iter().copied().chain([MANIFEST]).find(|known| *known == file)?;
        disk::read(&here.join(known), FILE_MOST_BYTES).ok()
    }

    /// What changes when a release is touched: sizes and times of its files.
    pub fn fingerprint(&self, dir: &Path, name: &str) -> Option<Vec<(u64, SystemTime)>> {
        let here = dir.join(self.find(dir, name)?.name);
        let facts = |file: &str| {
            let facts = fs::symlink_metadata(here.join(file)).ok()?;
            Some((facts.len(), facts.modified().ok()?))
        };
        Some(NAMES.iter().copied().chain([MANIFEST]).filter_map(facts).collect())
    }
}

/// A release that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its title.
    pub title: String,
    /// The manifest, whole.
    pub manifest: Value,
    /// The guarantee in words.
    pub guarantee: String,
    /// Its files with their sizes, the manifest first.
    pub files: Vec<(String, u64)>,
    /// What is wrong with it; then nothing of it is shown.
    pub problems: Vec<String>,
    /// What it shows, if nothing is wrong.
    pub view: View,
}

fn open(here: &Path) -> Option<Opened> {
    let text = disk::read(&here.join(MANIFEST), MANIFEST_MOST_BYTES).ok()?;
    let package = Manifest::read(&text).ok()?.package;
    let problems = match verify(here) {
        Ok(report) => report
            .releases
            .iter()
            .flat_map(|one| &one.problems)
            .map(|problem| format!("{} {}", problem.file, problem.what))
            .collect(),
        Err(error) => vec![error.to_string()],
    };
    let listed = package.privacy.files.iter().map(|file| (file.name.clone(), file.bytes));
    let files: Vec<(String, u64)> =
        std::iter::once((MANIFEST.to_owned(), text.len() as u64)).chain(listed).collect();
    let view = match problems.is_empty() {
        true => view(here, package.privacy.format, &files).unwrap_or_default(),
        false => View::default(),
    };
    let manifest = serde_json::from_slice(&text).ok()?;
    let guarantee = package.privacy.guarantee.promise.in_words();
    Some(Opened { title: package.title, manifest, guarantee, files, problems, view })
}

/// What the files of a release show. In format 1 od.csv went from the first to the last station of a window: no flows.
fn view(here: &Path, format: u32, files: &[(String, u64)]) -> Option<View> {
    let is_drawn = |name: &str| name.ends_with(".csv") && (format > 1 || name != "od.csv");
    let mut read: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for (name, _) in files.iter().filter(|(name, _)| is_drawn(name)) {
        read.insert(name, disk::read(&here.join(name), FILE_MOST_BYTES).ok()?);
    }
    View::read(|name| read.get(name).map(Vec::as_slice))
}
