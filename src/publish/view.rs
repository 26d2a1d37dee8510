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

/// By station: one number a column.
type Heat = BTreeMap<usize, Vec<Estimate>>;

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
    pub heat: Heat,
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
        view.flows.sort_by(|a, b| b.trips.value.cmp(&a.trips.value).then(a.cmp_ends(b)));
        Some(view)
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
        let cell = |((stop, slot), value)| (stop, slot, Estimate { value, range: None });
        (self.slots, self.heat) = columns(met.into_iter().map(cell).collect())?;
        Some(())
    }

    fn stations(&mut self, text: &[u8]) -> Option<()> {
        let mut cells: Vec<(usize, String, Estimate)> = Vec::new();
        for row in csv::Reader::from_reader(text).into_records() {
            let row = row.ok()?;
            cells.push((self.stop(row.get(0)?)?, row.get(1)?.to_owned(), estimate(&row, 2)?));
        }
        (self.slots, self.heat) = columns(cells)?;
        self.heat.retain(|_, row| row.iter().any(|cell| cell.value > 0));
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

/// Cells of stations and slots as rows of columns. Pages draw so many columns at most: of finer slots several are put
/// together, under the first one's name, before there is a row of them.
fn columns(cells: Vec<(usize, String, Estimate)>) -> Option<(Vec<String>, Heat)> {
    const COLUMNS: usize = 400;
    let mut slots: Vec<&str> = cells.iter().map(|(_, slot, _)| slot.as_str()).collect();
    slots.sort_unstable();
    slots.dedup();
    let together = slots.len().div_ceil(COLUMNS).max(1);
    let n_columns = slots.len().div_ceil(together);
    let mut rows: BTreeMap<usize, Vec<Cells>> = BTreeMap::new();
    for (stop, slot, one) in &cells {
        let column = slots.binary_search(&slot.as_str()).ok()? / together;
        rows.entry(*stop).or_insert_with(|| vec![Cells::default(); n_columns])[column].add(*one);
    }
    let size = |column: usize| slots.len().min((column + 1) * together) - column * together;
    let row = |cells: Vec<Cells>| (0..).zip(cells).map(|(at, one)| one.of(size(at))).collect();
    let heat = rows.into_iter().map(|(stop, cells)| (stop, row(cells))).collect();
    let names: Vec<String> = slots.iter().step_by(together).map(|&slot| slot.to_owned()).collect();
    Some((if names == [""] { Vec::new() } else { names }, heat))
}

/// Some cells that are drawn as one.
#[derive(Clone, Default)]
struct Cells {
    sum: Option<Estimate>,
    n: usize,
}

impl Cells {
    fn add(&mut self, one: Estimate) {
        self.n += 1;
        match &mut self.sum {
            Some(sum) => sum.add(one),
            None => self.sum = Some(one),
        }
    }

    /// Their sum. It has a range if each of them was told.
    fn of(self, n_cells: usize) -> Estimate {
        let sum = self.sum.unwrap_or_default();
        Estimate { range: sum.range.filter(|_| self.n == n_cells), ..sum }
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
