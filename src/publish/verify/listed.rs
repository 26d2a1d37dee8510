//! One release: its manifest, and whether its files are the ones that the manifest lists.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::contents::required;
use super::super::disk;
use super::super::manifest::{FileEntry, MANIFEST, MANIFEST_MOST_BYTES, Manifest, Package};
use super::super::signature::{self, SIGNATURE, SIGNATURE_MOST_BYTES};
use super::{Checked, Problem, content, is_plain, name_of, said_twice};

/// Checks a release's directory. One whose manifest lists more than `most_bytes` is not read.
pub(super) fn check(dir: &Path, most_bytes: u64) -> Checked {
    let mut checked =
        Checked { name: name_of(dir), id: None, signed_by: None, problems: Vec::new() };
    let Some(package) = check_manifest(dir, &mut checked.problems) else { return checked };
    checked.id = Some(package.privacy.release_id.clone());
    checked.signed_by.clone_from(&package.privacy.signed_by);
    let sizes = package.privacy.files.iter().map(|file| file.bytes);
    if sizes.fold(0, u64::saturating_add) > most_bytes {
        let most = most_bytes >> 20;
        let what = format!("lists more than {most} MiB; --max-mib allows a larger release");
        checked.problems.push(Problem::new(MANIFEST, what));
        return checked;
    }
    // Format 1 said less, and not always the same.
    if package.privacy.format > 1 {
        said_twice::check(dir, &package.privacy, &mut checked.problems);
    }
    let intact = check_files(dir, &package, &mut checked.problems);
    check_unlisted(dir, &package, &mut checked.problems);
    check_resources(&package, &mut checked.problems);
    // What a changed file says is not worth reading: the change is reported already.
    content::check(dir, &package, &intact, &mut checked.problems);
    checked
}

fn check_manifest(dir: &Path, problems: &mut Vec<Problem>) -> Option<Package> {
    let mut complain = |what: String| problems.push(Problem::new(MANIFEST, what));
    let text = match disk::read(&dir.join(MANIFEST), MANIFEST_MOST_BYTES) {
        Ok(text) => text,
        Err(error) => {
            complain(format!("cannot be read: {error}"));
            return None;
        }
    };
    let manifest = match Manifest::read(&text) {
        Ok(manifest) => manifest,
        Err(error) => {
            complain(error.to_string());
            return None;
        }
    };
    if !manifest.is_canonical {
        complain("is not in canonical form".to_owned());
    }
    if !manifest.has_own_digest {
        complain("was changed: manifest_sha256 does not fit".to_owned());
    }
    check_signature(dir, &text, manifest.package.privacy.signed_by.as_deref(), problems);
    Some(manifest.package)
}

/// A release that says who signed it must have a signature that fits; one of an earlier program has none.
fn check_signature(
    dir: &Path,
    manifest: &[u8],
    signed_by: Option<&str>,
    problems: &mut Vec<Problem>,
) {
    let there = disk::read(&dir.join(SIGNATURE), SIGNATURE_MOST_BYTES);
    let fault = match (signed_by, there) {
        (None, Err(_)) => None,
        (None, Ok(_)) => Some("is there, but the manifest names no key".to_owned()),
        (Some(_), Err(error)) => Some(format!("cannot be read: {error}")),
        (Some(key), Ok(line)) => signature::fault(&line, manifest, key),
    };
    problems.extend(fault.map(|what| Problem::new(SIGNATURE, what)));
}

/// Compares every listed file with its entry; gives the names of those that fit.
fn check_files(dir: &Path, package: &Package, problems: &mut Vec<Problem>) -> BTreeSet<String> {
    let mut intact = BTreeSet::new();
    let listed = &package.privacy.files;
    for entry in listed {
        match difference(dir, entry) {
            Some((file, what)) => problems.push(Problem::new(file, what)),
            None if !intact.insert(entry.name.clone()) => {
                problems.push(Problem::new(MANIFEST, format!("lists {} twice", entry.name)));
            }
            None => {}
        }
    }
    for &name in required(package.privacy.format) {
        if !listed.iter().any(|entry| entry.name == name) {
            problems.push(Problem::new(MANIFEST, format!("does not list {name}")));
        }
    }
    intact
}

/// How a file differs from its entry, and which file to blame for it.
fn difference<'a>(dir: &Path, entry: &'a FileEntry) -> Option<(&'a str, String)> {
    let name = entry.name.as_str();
    if !is_plain(name) || name == MANIFEST {
        return Some((MANIFEST, format!("lists {name:?}, which is no name of a file beside it")));
    }
    let path = dir.join(name);
    let length = match disk::open_plain(&path).and_then(|file| file.metadata()) {
        Ok(metadata) => metadata.len(),
        Err(error) => return Some((name, format!("cannot be read: {error}"))),
    };
    if length != entry.bytes {
        return Some((name, format!("has {length} bytes, not {}", entry.bytes)));
    }
    match disk::measure(&path, entry.bytes) {
        Err(error) => Some((name, format!("cannot be read: {error}"))),
        Ok(there) if there.sha256.to_string() != entry.sha256 => {
            Some((name, format!("was changed: its SHA-256 is {}", there.sha256)))
        }
        Ok(_) => None,
    }
}

fn check_unlisted(dir: &Path, package: &Package, problems: &mut Vec<Problem>) {
    let entries = match dir.read_dir() {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(Problem::new(".", format!("cannot be listed: {error}")));
            return;
        }
    };
    let mut names: Vec<String> = entries.flatten().map(|entry| name_of(&entry.path())).collect();
    names.sort();
    for name in names {
        let is_listed = name == MANIFEST || name == SIGNATURE;
        if !is_listed && !package.privacy.files.iter().any(|entry| entry.name == name) {
            problems.push(Problem::new(&name, "is no part of the release"));
        }
    }
}

/// The data package names lengths and digests a second time, for its own tools; both must agree.
fn check_resources(package: &Package, problems: &mut Vec<Problem>) {
    for resource in &package.resources {
        let agrees = package.privacy.files.iter().any(|entry| {
            entry.name == resource.path
                && entry.bytes == resource.bytes
                && format!("sha256:{}", entry.sha256) == resource.hash
        });
        if !agrees {
            let what = format!("says two things about {}", resource.path);
            problems.push(Problem::new(MANIFEST, what));
        }
    }
}
