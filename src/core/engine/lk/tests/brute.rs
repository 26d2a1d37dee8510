//! The definitions, word by word: every part of every trajectory, counted one by one.

use std::collections::BTreeSet;

use crate::model::Doublet;

pub(super) fn contains(path: &[Doublet], sequence: &[Doublet]) -> bool {
    match (path, sequence) {
        (_, []) => true,
        ([], _) => false,
        ([first, path @ ..], [wanted, rest @ ..]) => {
            contains(path, if first == wanted { rest } else { sequence })
        }
    }
}

pub(super) fn support(paths: &[Vec<Doublet>], sequence: &[Doublet]) -> usize {
    paths.iter().filter(|path| contains(path, sequence)).count()
}

/// Every part of at most `l` doublets.
pub(super) fn sequences(path: &[Doublet], l: usize) -> BTreeSet<Vec<Doublet>> {
    (1_u32..1 << path.len())
        .filter(|chosen| chosen.count_ones() as usize <= l)
        .map(|chosen| {
            let taken = path.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            taken.map(|(_, doublet)| *doublet).collect()
        })
        .collect()
}

/// Every sequence of at most `l` doublets that occurs and that fewer than `k` share.
pub(super) fn violating(paths: &[Vec<Doublet>], l: u32, k: u32) -> BTreeSet<Vec<Doublet>> {
    let all: BTreeSet<_> = paths.iter().flat_map(|path| sequences(path, l as usize)).collect();
    all.into_iter().filter(|sequence| support(paths, sequence) < k as usize).collect()
}

/// Those that contain no other one.
pub(super) fn minimal(violating: &BTreeSet<Vec<Doublet>>) -> BTreeSet<Vec<Doublet>> {
    let is_minimal = |sequence: &&Vec<Doublet>| {
        !violating.iter().any(|other| other != *sequence && contains(sequence, other))
    };
    violating.iter().filter(is_minimal).cloned().collect()
}

/// A doublet taken from everybody who contains a sequence.
pub(super) fn suppressed(
    paths: &[Vec<Doublet>],
    sequence: &[Doublet],
    item: Doublet,
) -> Vec<Vec<Doublet>> {
    paths
        .iter()
        .map(|path| match contains(path, sequence) {
            true => path.iter().filter(|there| **there != item).copied().collect(),
            false => path.clone(),
        })
        .collect()
}
