//! The shelf: the releases of a directory as a reader sees them. Public numbers only, and every look checks what lies
//! there: a file that was changed is said, not shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::catalog::Catalog;
use super::disk;
use super::manifest::{FILES, MANIFEST, MANIFEST_MOST_BYTES, Package};
use super::paths::{AT, NEXT};
use super::verify::verify;

/// The largest file that is handed out.
const FILE_MOST_BYTES: u64 = 1 << 30;

/// One release of the shelf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnShelf {
    /// Its directory.
    pub name: String,
    /// Its id.
    pub id: String,
    /// The window's beginning.
    pub start: String,
    /// The window's end.
    pub end: String,
    /// The engine.
    pub engine: String,
}

/// The releases of a directory, the newest window first; none if the directory is not there yet.
pub fn list(dir: &Path) -> Vec<OnShelf> {
    let mut found = Catalog::scan(dir).map_or(Vec::new(), |catalog| catalog.releases);
    found.sort_by(|a, b| b.window.start.cmp(&a.window.start).then(b.name.cmp(&a.name)));
    let entry = |entry: super::catalog::Entry| OnShelf {
        name: entry.name,
        id: entry.release_id,
        start: entry.window.start,
        end: entry.window.end,
        engine: entry.engine,
    };
    found.into_iter().map(entry).collect()
}

/// A release that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its title.
    pub title: String,
    /// The manifest, whole.
    pub manifest: Value,
    /// Its files with their sizes, the manifest first.
    pub files: Vec<(String, u64)>,
    /// What is wrong with it; then nothing of it is shown.
    pub problems: Vec<String>,
    /// What the rows look like, if nothing is wrong.
    pub picture: Picture,
}

/// What the rows of a release look like, all of it counted from the release.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Picture {
    /// Rows.
    pub n_rows: u64,
    /// Passengers they stand for.
    pub n_trips: u64,
    /// Slots in order; empty for a release without times.
    pub slots: Vec<String>,
    /// For each station, how often it is met in each slot (one column without times).
    pub heat: BTreeMap<String, Vec<u64>>,
    /// From, to, passengers; most first.
    pub flows: Vec<(String, String, u64)>,
    /// Passengers by number of stations.
    pub lengths: BTreeMap<usize, u64>,
}

/// Opens a release that [`list`] named; `None` if there is none of this name.
pub fn open(dir: &Path, name: &str) -> Option<Opened> {
    let here = dir.join(find(dir, name)?.name);
    let text = disk::read(&here.join(MANIFEST), MANIFEST_MOST_BYTES).ok()?;
    let package = Package::parse(&text).ok()?;
    let report = verify(&here);
    let problems = match report {
        Ok(report) => report
            .releases
            .iter()
            .flat_map(|one| &one.problems)
            .map(|problem| format!("{} {}", problem.file, problem.what))
            .collect(),
        Err(error) => vec![error.to_string()],
    };
    let picture = match problems.is_empty() {
        true => picture(&here).unwrap_or_default(),
        false => Picture::default(),
    };
    let listed = package.privacy.files.iter().map(|file| (file.name.clone(), file.bytes));
    let files = std::iter::once((MANIFEST.to_owned(), text.len() as u64)).chain(listed).collect();
    let manifest = serde_json::from_slice(&text).ok()?;
    Some(Opened { title: package.title, manifest, files, problems, picture })
}

/// A file of a release. Only names that every release has are looked for, so no name leads anywhere else.
pub fn file(dir: &Path, name: &str, file: &str) -> Option<Vec<u8>> {
    let here = dir.join(find(dir, name)?.name);
    let known = FILES.iter().copied().chain([MANIFEST]).find(|known| *known == file)?;
    disk::read(&here.join(known), FILE_MOST_BYTES).ok()
}

/// What changes when a release is touched: sizes and times of its files.
pub fn fingerprint(dir: &Path, name: &str) -> Option<Vec<(u64, std::time::SystemTime)>> {
    let here = dir.join(find(dir, name)?.name);
    let facts = |file: &str| {
        let facts = fs::symlink_metadata(here.join(file)).ok()?;
        Some((facts.len(), facts.modified().ok()?))
    };
    FILES.iter().copied().chain([MANIFEST]).map(facts).collect()
}

fn find(dir: &Path, name: &str) -> Option<OnShelf> {
    list(dir).into_iter().find(|one| one.name == name || one.id == name)
}

fn picture(here: &Path) -> Option<Picture> {
    let mut picture = Picture::default();
    let mut met: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut flows: BTreeMap<(String, String), u64> = BTreeMap::new();
    let text = disk::read(&here.join("paths.csv"), FILE_MOST_BYTES).ok()?;
    for row in csv::Reader::from_reader(&*text).into_records() {
        let row = row.ok()?;
        let (count, path) = (row.get(0)?.parse::<u64>().ok()?, row.get(1)?);
        picture.n_rows += 1;
        picture.n_trips = picture.n_trips.saturating_add(count);
        let steps: Vec<(&str, &str)> =
            path.split(NEXT).map(|step| step.split_once(AT).unwrap_or((step, ""))).collect();
        *picture.lengths.entry(steps.len()).or_default() += count;
        for (station, slot) in &steps {
            *met.entry(((*station).to_owned(), (*slot).to_owned())).or_default() += count;
        }
        if let [first, .., last] = &steps[..] {
            *flows.entry((first.0.to_owned(), last.0.to_owned())).or_default() += count;
        }
    }
    let mut slots: Vec<String> = met.keys().map(|(_, slot)| slot.clone()).collect();
    slots.sort();
    slots.dedup();
    for ((station, slot), count) in met {
        let column = slots.binary_search(&slot).ok()?;
        picture.heat.entry(station).or_insert_with(|| vec![0; slots.len()])[column] += count;
    }
    picture.slots = if slots == [""] { Vec::new() } else { slots };
    picture.flows = flows.into_iter().map(|((from, to), n)| (from, to, n)).collect();
    picture.flows.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.cmp(b)));
    Some(picture)
}
