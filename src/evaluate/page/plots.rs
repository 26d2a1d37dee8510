//! Bars of this page: errors by true count, and uniqueness before and after.

use std::collections::BTreeMap;

use maud::{Markup, html};
use tapveil_core::evaluate::risk::BeforeAfter;

use crate::engine::Tables;
use crate::publish::report::grouped;

/// Sizes that true counts are put together by.
const SIZES: [(u64, u64); 5] = [(1, 9), (10, 29), (30, 99), (100, 299), (300, u64::MAX)];
const BAR: usize = 22;
const NAMES: usize = 110;
const LONG: f64 = 260.0;

/// Cells of one size: how many there are, and their median relative error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct OfSize {
    from: u64,
    to: u64,
    n: usize,
    median: f64,
}

/// The median relative error of true cells by their size; sizes that do not occur are left out.
pub(super) fn by_size(exact: &Tables, said: &Tables) -> Vec<OfSize> {
    let said: BTreeMap<(u32, u32), u64> =
        said.stations.iter().map(|cell| ((cell.station.0, cell.slot), cell.taps.value)).collect();
    let mut found = Vec::new();
    for (from, to) in SIZES {
        let is_of = |truth: u64| (from..=to).contains(&truth);
        let cells = exact.stations.iter().filter(|cell| is_of(cell.taps.value));
        let mut errors: Vec<f64> = cells
            .map(|cell| {
                let said = said.get(&(cell.station.0, cell.slot)).copied().unwrap_or(0);
                said.abs_diff(cell.taps.value) as f64 / cell.taps.value as f64
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        if let Some(&median) = errors.get(errors.len() / 2) {
            found.push(OfSize { from, to, n: errors.len(), median });
        }
    }
    found
}

/// A bar for each size, full at an error of 100 %.
pub(super) fn errors(sizes: &[OfSize]) -> Markup {
    let height = sizes.len() * BAR;
    html! {
        svg viewBox=(format!("0 0 460 {height}")) width="460" role="img" aria-label="Typical error by true count" {
            @for (line, size) in sizes.iter().enumerate() {
                text x=(NAMES - 6) y=(line * BAR + 15) text-anchor="end" {
                    @if size.to == u64::MAX { (size.from) " or more" } @else { (size.from) " to " (size.to) }
                }
                rect x=(NAMES) y=(line * BAR) height=(BAR - 4)
                    width=(format!("{:.1}", (LONG * size.median.min(1.0)).max(1.0))) {
                    title { (grouped(size.n as u64)) " cells" }
                }
                text x=(format!("{:.1}", NAMES as f64 + LONG * size.median.min(1.0) + 6.0)) y=(line * BAR + 15) {
                    (percent(size.median))
                }
            }
        }
    }
}

/// Two bars for each number of known taps: raw, then released.
pub(super) fn unique(shares: &[BeforeAfter]) -> Markup {
    let height = shares.len() * 2 * BAR;
    let bar = |line: usize, words: String, value: Option<f64>, class: &str| {
        let share = value.unwrap_or(0.0);
        html! {
            text x=(NAMES - 6) y=(line * BAR + 15) text-anchor="end" { (words) }
            rect class=(class) x=(NAMES) y=(line * BAR) height=(BAR - 4)
                width=(format!("{:.1}", (LONG * share).max(1.0))) {}
            text x=(format!("{:.1}", NAMES as f64 + LONG * share + 6.0)) y=(line * BAR + 15) {
                (value.map_or("–".to_owned(), percent))
            }
        }
    };
    html! {
        svg viewBox=(format!("0 0 460 {height}")) width="460" role="img"
            aria-label="Share of cards that are alone with what is known of them" {
            @for (at, one) in shares.iter().enumerate() {
                (bar(2 * at, format!("{} taps, raw", one.known), one.before, "other"))
                (bar(2 * at + 1, "released".to_owned(), one.after, "own"))
            }
        }
    }
}

fn percent(share: f64) -> String {
    match share < 0.1 {
        true => format!("{:.1} %", share * 100.0),
        false => format!("{:.0} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Interval, StationCount};
    use crate::model::StationIx;

    fn tables(cells: &[(u32, u64)]) -> Tables {
        let cell = |&(slot, value): &(u32, u64)| StationCount {
            station: StationIx(0),
            slot,
            taps: Interval { value, low: value, high: value },
        };
        Tables { stations: cells.iter().map(cell).collect(), ..Tables::default() }
    }

    #[test]
    fn errors_are_put_together_by_the_true_count() {
        let exact = tables(&[(0, 5), (1, 8), (2, 2), (3, 400)]);
        let found = by_size(&exact, &tables(&[(0, 5), (1, 12), (3, 300), (9, 77)]));
        let median = |from: u64| found.iter().find(|size| size.from == from).map(|one| one.median);
        assert_eq!((median(1), median(300), median(30)), (Some(0.5), Some(0.25), None));
    }
}
