//! Rows as text: the order of paths.csv and its lines.
//!
//! Rows are ordered by the bytes of their written path. No path is written to find that order: every
//! piece of a path gets its rank among all pieces once, together with the sign that follows it (`station@`,
//! `slot>`, or the end). Two such pieces differ before either is over, unless a path ends there, and a
//! path that ends comes first: so comparing ranks compares bytes.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::engine::{Release, Row};
use crate::model::{Doublet, PathKind, Stations, Window};

use super::Error;

/// What separates the doublets of a path.
pub(super) const NEXT: char = '>';
/// What separates a doublet's station from its slot.
pub(super) const AT: char = '@';

/// Holds a release to what every release keeps to, before a byte of it is written.
pub(super) fn check(release: &Release, stations: &Stations) -> Result<(), Error> {
    let broken =
        |what: &str| Error::Rows { id: release.id().as_str().to_owned(), what: what.to_owned() };
    if release.universe().stations_sha256 != stations.digest() {
        return Err(broken("it was made with another station list"));
    }
    let n_slots = release.window().n_slots();
    for row in release.rows() {
        let path = &row.path;
        if path.is_empty() {
            return Err(broken("a path has no stations"));
        }
        if path.iter().any(|at| at.station.0 >= stations.len() || at.slot >= n_slots) {
            return Err(broken("a path leaves the universe of stations and slots"));
        }
        if release.input() == PathKind::Untimed && path.iter().any(|at| at.slot != 0) {
            return Err(broken("a sequence has a time"));
        }
        if !path.is_sorted_by_key(|at| at.slot) {
            return Err(broken("a path goes back in time"));
        }
        if i64::try_from(row.count).is_err() {
            return Err(broken("a count has more than 63 bits"));
        }
    }
    // Rows come ordered by their path, so equal ones are neighbours.
    match release.rows().windows(2).any(|pair| pair[0].path == pair[1].path) {
        true => Err(broken("a path stands there twice")),
        false => Ok(()),
    }
}

/// A release's rows in the order of their text.
pub(super) struct Paths<'a> {
    release: &'a Release,
    stations: &'a Stations,
    /// Labels of the slots that occur, by slot; empty for the others and for sequences.
    labels: Vec<String>,
    order: Vec<u32>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(release: &'a Release, stations: &'a Stations) -> Self {
        let labels = match release.input() {
            PathKind::Timed => labels_of(release.rows(), release.window()),
            PathKind::Untimed => Vec::new(),
        };
        let order = order(release.rows(), &Ranks::new(release.input(), stations, &labels));
        Self { release, stations, labels, order }
    }

    pub(super) fn release(&self) -> &'a Release {
        self.release
    }

    pub(super) fn stations(&self) -> &'a Stations {
        self.stations
    }

    /// The rows, ordered.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.order.iter().map(|&row| &self.release.rows()[row as usize])
    }

    /// Writes paths.csv.
    pub(super) fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(["count", "path"])?;
        let (mut count, mut text) = (String::new(), String::new());
        for row in self.rows() {
            count.clear();
            write!(count, "{}", row.count).expect("a string takes any text");
            text.clear();
            self.spell(&row.path, &mut text);
            csv.write_record([&count, &text])?;
        }
        csv.flush()
    }

    fn spell(&self, path: &[Doublet], text: &mut String) {
        for (position, doublet) in path.iter().enumerate() {
            if position > 0 {
                text.push(NEXT);
            }
            text.push_str(&self.stations.get(doublet.station).id);
            if let Some(label) = self.labels.get(doublet.slot as usize) {
                text.push(AT);
                text.push_str(label);
            }
        }
    }
}

fn labels_of(rows: &[Row], window: &Window) -> Vec<String> {
    let mut labels = vec![String::new(); window.n_slots() as usize];
    for doublet in rows.iter().flat_map(|row| &row.path) {
        let label = &mut labels[doublet.slot as usize];
        if label.is_empty() {
            *label = window.slot_label(doublet.slot);
        }
    }
    labels
}

fn order(rows: &[Row], ranks: &Ranks) -> Vec<u32> {
    let keys = |row: u32| {
        let path = &rows[row as usize].path;
        path.iter().enumerate().map(|(position, at)| ranks.of(at, position + 1 < path.len()))
    };
    let n_rows = u32::try_from(rows.len()).expect("four thousand million rows fit in no memory");
    let mut order: Vec<u32> = (0..n_rows).collect();
    // Stable, because it is quick on rows that stand in order already, as they nearly always do.
    order.sort_by(|&a, &b| keys(a).cmp(keys(b)));
    order
}

/// Ranks of a path's pieces: `[at the end of the path, before another doublet]`.
struct Ranks {
    stations: Vec<[u32; 2]>,
    slots: Vec<[u32; 2]>,
}

impl Ranks {
    fn new(input: PathKind, stations: &Stations, labels: &[String]) -> Self {
        let ids = stations.iter().map(|station| station.id.as_str());
        let stations = match input {
            PathKind::Timed => ranked(ids, [Some(AT), Some(AT)]),
            PathKind::Untimed => ranked(ids, [None, Some(NEXT)]),
        };
        Self { stations, slots: ranked(labels.iter().map(String::as_str), [None, Some(NEXT)]) }
    }

    fn of(&self, doublet: &Doublet, more: bool) -> (u32, u32) {
        let station = self.stations[doublet.station.0 as usize][usize::from(more)];
        let slot = self.slots.get(doublet.slot as usize).map_or(0, |slot| slot[usize::from(more)]);
        (station, slot)
    }
}

/// The rank of every piece with each of the two signs that may follow it, among all of them.
fn ranked<'a>(pieces: impl Iterator<Item = &'a str>, signs: [Option<char>; 2]) -> Vec<[u32; 2]> {
    let spelled: Vec<String> = pieces
        .flat_map(|piece| signs.map(|sign| piece.chars().chain(sign).collect::<String>()))
        .collect();
    let mut order: Vec<usize> = (0..spelled.len()).collect();
    order.sort_by(|&a, &b| spelled[a].cmp(&spelled[b]));
    let mut ranks = vec![[0; 2]; spelled.len() / 2];
    let mut rank = 0;
    for (position, &piece) in order.iter().enumerate() {
        if position > 0 && spelled[piece] != spelled[order[position - 1]] {
            rank += 1;
        }
        ranks[piece / 2][piece % 2] = rank;
    }
    ranks
}

/// Writes locations.csv: every station of the list, by id, whether a path visits it or not.
pub(super) fn write_locations<T: AsRef<str>>(
    out: &mut impl Write,
    stations: impl Iterator<Item = [T; 4]>,
) -> io::Result<()> {
    let mut csv = csv_into(out);
    csv.write_record(["id", "name", "lat", "lon"])?;
    for station in stations {
        csv.write_record(station.each_ref().map(|field| field.as_ref()))?;
    }
    csv.flush()
}

/// The one dialect of all our CSV: commas, LF, quotes where they are needed.
pub(super) fn csv_into<W: Write>(out: W) -> csv::Writer<W> {
    csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out)
}
