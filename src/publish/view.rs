//! What a release shows, read off its own files: for the report and for the console. Public numbers only.

use std::collections::BTreeMap;

use super::flowgraph::{FLOWGRAPH_CSV, Flowgraph};
use super::paths::{AT, NEXT};
use super::tables::{LENGTHS_CSV, OD_CSV, STATIONS_CSV};

/// A number, and where the truth lies 95 times of 100, if the release says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Estimate {
    /// The best guess.
    pub value: u64,
    /// From and to.
    pub range: Option<(u64, u64)>,
}

impl Estimate {
    /// Adds another. Ends are added, too: the range of a sum is at most as wide as that.
    fn add(&mut self, other: Self) {
        self.value = self.value.saturating_add(other.value);
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.saturating_add(c), b.saturating_add(d))),
            _ => None,
        };
    }
}

/// A station of the list.
#[derive(Clone, PartialEq, Debug)]
pub struct Stop {
    pub id: String,
    /// Its name, or its id where it has none.
    pub name: String,
    /// Latitude and longitude, where both are given.
    pub at: Option<(f64, f64)>,
}

/// Trips from a station to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// From: an index of [`View::stops`].
    pub from: usize,
    /// To: an index of [`View::stops`].
    pub to: usize,
    pub trips: Estimate,
}

/// Everything that a page about a release draws.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// The stations, by id.
    pub stops: Vec<Stop>,
    /// Rows of paths.csv.
    pub n_rows: u64,
    /// Passengers they stand for.
    pub n_trips: u64,
    /// Beginnings of slots in order; empty for a release without times.
    pub slots: Vec<String>,
    /// For each station with a number above zero: one number a slot (one in all without times).
    pub heat: BTreeMap<usize, Vec<Estimate>>,
    /// Flows of the whole window, the strongest first.
    pub flows: Vec<Flow>,
    /// Cards by number of taps.
    pub lengths: BTreeMap<u64, Estimate>,
    /// Where cards go on, of a release that has a flowgraph.
    pub flowgraph: Option<Flowgraph>,
}

impl View {
    /// Reads the files of a release; `None` if one cannot be read.
    pub fn read<'a>(file: impl Fn(&str) -> Option<&'a [u8]>) -> Option<Self> {
        let mut view = Self { stops: stops(file("locations.csv")?)?, ..Self::default() };
        view.paths(file("paths.csv")?)?;
        if let Some(table) = file(STATIONS_CSV) {
            view.stations(table)?;
        }
        if let Some(table) = file(OD_CSV) {
            view.od(table)?;
        }
        if let Some(table) = file(LENGTHS_CSV) {
            view.lengths(table)?;
        }
        if file(FLOWGRAPH_CSV).is_some() {
            view.flowgraph = Some(Flowgraph::of(file("paths.csv")?)?);
        }
        view.coarsen();
        view.flows.sort_by(|a, b| b.trips.value.cmp(&a.trips.value).then(a.cmp_ends(b)));
        Some(view)
    }

    /// Pages draw so many columns at most: of finer slots several are put together, under the first one's name.
    fn coarsen(&mut self) {
        const COLUMNS: usize = 400;
        let together = self.slots.len().div_ceil(COLUMNS);
        if together <= 1 {
            return;
        }
        self.slots = self.slots.iter().step_by(together).cloned().collect();
        for row in self.heat.values_mut() {
            let merged = row.chunks(together).map(|cells| {
                let mut sum = cells[0];
                cells[1..].iter().for_each(|cell| sum.add(*cell));
                sum
            });
            *row = merged.collect();
        }
    }

    /// The station of this id.
    fn stop(&self, id: &str) -> Option<usize> {
        self.stops.binary_search_by(|stop| stop.id.as_str().cmp(id)).ok()
    }

    /// Everything that paths alone tell. A release with tables replaces what it measured.
    fn paths(&mut self, text: &[u8]) -> Option<()> {
        let mut met: BTreeMap<(usize, String), u64> = BTreeMap::new();
        for row in csv::Reader::from_reader(text).into_records() {
            let row = row.ok()?;
            let (count, path) = (row.get(0)?.parse::<u64>().ok()?, row.get(1)?);
            self.n_rows += 1;
            self.n_trips = self.n_trips.saturating_add(count);
            let mut n_steps = 0;
            for step in path.split(NEXT) {
                let (station, slot) = step.split_once(AT).unwrap_or((step, ""));
                let seen = met.entry((self.stop(station)?, slot.to_owned())).or_default();
                *seen = seen.saturating_add(count);
                n_steps += 1;
            }
            let one = Estimate { value: count, range: None };
            self.lengths.entry(n_steps).or_default().add(one);
        }
        let slots: std::collections::BTreeSet<&String> = met.keys().map(|(_, slot)| slot).collect();
        let slots: Vec<String> = slots.into_iter().cloned().collect();
        for ((stop, slot), value) in &met {
            let column = slots.binary_search(slot).ok()?;
            let row =
                self.heat.entry(*stop).or_insert_with(|| vec![Estimate::default(); slots.len()]);
            row[column] = Estimate { value: *value, range: None };
        }
        self.slots = if slots == [""] { Vec::new() } else { slots };
        Some(())
    }

    fn stations(&mut self, text: &[u8]) -> Option<()> {
        self.heat.clear();
        let mut cells: Vec<(usize, String, Estimate)> = Vec::new();
        for row in csv::Reader::from_reader(text).into_records() {
            let row = row.ok()?;
            cells.push((self.stop(row.get(0)?)?, row.get(1)?.to_owned(), estimate(&row, 2)?));
        }
        let mut slots: Vec<String> = cells.iter().map(|(_, slot, _)| slot.clone()).collect();
        slots.sort_unstable();
        slots.dedup();
        for (stop, slot, taps) in cells {
            let column = slots.binary_search(&slot).ok()?;
            let row =
                self.heat.entry(stop).or_insert_with(|| vec![Estimate::default(); slots.len()]);
            row[column] = taps;
        }
        self.heat.retain(|_, row| row.iter().any(|cell| cell.value > 0));
        self.slots = if slots == [""] { Vec::new() } else { slots };
        Some(())
    }

    fn od(&mut self, text: &[u8]) -> Option<()> {
        let mut flows: BTreeMap<(usize, usize), Estimate> = BTreeMap::new();
        for row in csv::Reader::from_reader(text).into_records() {
            let row = row.ok()?;
            let ends = (self.stop(row.get(0)?)?, self.stop(row.get(1)?)?);
            let trips = estimate(&row, 3)?;
            flows.entry(ends).and_modify(|sum| sum.add(trips)).or_insert(trips);
        }
        self.flows =
            flows.into_iter().map(|((from, to), trips)| Flow { from, to, trips }).collect();
        Some(())
    }

    fn lengths(&mut self, text: &[u8]) -> Option<()> {
        self.lengths.clear();
        for row in csv::Reader::from_reader(text).into_records() {
            let row = row.ok()?;
            self.lengths.insert(row.get(0)?.parse().ok()?, estimate(&row, 1)?);
        }
        Some(())
    }

    /// The number of all stations together in each slot.
    pub fn by_slot(&self) -> Vec<u64> {
        let mut sums = vec![0_u64; self.slots.len()];
        for row in self.heat.values() {
            for (sum, cell) in sums.iter_mut().zip(row) {
                *sum = sum.saturating_add(cell.value);
            }
        }
        sums
    }
}

impl Flow {
    fn cmp_ends(&self, other: &Self) -> std::cmp::Ordering {
        (self.from, self.to).cmp(&(other.from, other.to))
    }
}

fn stops(text: &[u8]) -> Option<Vec<Stop>> {
    let mut stops = Vec::new();
    for row in csv::Reader::from_reader(text).into_records() {
        let row = row.ok()?;
        let (id, name) = (row.get(0)?.to_owned(), row.get(1)?.trim());
        let degrees =
            |field: usize| row.get(field)?.trim().parse::<f64>().ok().filter(|d| d.is_finite());
        let name = if name.is_empty() { id.clone() } else { name.to_owned() };
        stops.push(Stop { name, at: degrees(2).zip(degrees(3)), id });
    }
    Some(stops)
}

/// Three columns in a row: value, low, high.
fn estimate(row: &csv::StringRecord, first: usize) -> Option<Estimate> {
    let number = |field: usize| row.get(field)?.parse::<u64>().ok();
    let range = Some((number(first + 1)?, number(first + 2)?));
    Some(Estimate { value: number(first)?, range })
}
