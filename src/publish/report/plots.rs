//! Plots as SVG: readable without colour (every cell has its number as a title), in the page's own colours.

use maud::{Markup, html};

use super::super::view::{Estimate, View};
use super::{grouped, range};

/// Stations of a heat map at most: the busiest.
const STATIONS: usize = 25;
const CELL: usize = 18;
const NAMES: usize = 150;
/// Letters of a station's name that fit beside its row.
const LETTERS: usize = 24;

/// How many cards were at each of the busiest stations in each slot.
pub fn heat_map(view: &View) -> Markup {
    heat_map_like(view, view)
}

/// The same with the stations and the scale of another view, so that two can be compared.
pub fn heat_map_like(view: &View, like: &View) -> Markup {
    let sum = |row: &[Estimate]| row.iter().map(|cell| cell.value).sum::<u64>();
    let mut busiest: Vec<(usize, &Vec<Estimate>)> =
        like.heat.iter().map(|(stop, row)| (*stop, row)).collect();
    busiest.sort_by_key(|(stop, row)| (std::cmp::Reverse(sum(row)), *stop));
    busiest.truncate(STATIONS);
    let cells = busiest.iter().flat_map(|(_, row)| row.iter());
    let most = cells.map(|cell| cell.value).max().unwrap_or(0).max(1);
    let rows: Vec<(usize, Vec<Estimate>)> = busiest
        .iter()
        .map(|(stop, row)| {
            let nothing = || vec![Estimate::default(); row.len()];
            (*stop, view.heat.get(stop).cloned().unwrap_or_else(nothing))
        })
        .collect();
    let columns = rows.first().map_or(0, |(_, row)| row.len());
    let cell = (720 / columns.max(1)).clamp(4, 3 * CELL);
    let (width, height) = (NAMES + columns * cell, (rows.len() + 1) * CELL);
    let slot = |column: usize| view.slots.get(column).map_or("any time", String::as_str);
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) width=(width) role="img"
            aria-label=(format!("Heat map of {} stations by {columns} slots; darker is more", rows.len())) {
            @for (line, (stop, row)) in rows.iter().enumerate() {
                text x=(NAMES - 6) y=(line * CELL + 13) text-anchor="end" { (shortened(&view.stops[*stop].name)) }
                @for (column, taps) in row.iter().enumerate() {
                    rect x=(NAMES + column * cell) y=(line * CELL) width=(cell - 1) height=(CELL - 1)
                        fill-opacity=(opacity(taps.value, most)) {
                        title { (view.stops[*stop].name) ", " (slot(column)) ": " (grouped(taps.value))
                            @if taps.range.is_some() { " (" (range(taps)) ")" } }
                    }
                }
            }
            (hours(view, columns, cell, height))
        }
    }
}

/// Labels of the time axis: every third hour of a day, or every day of a longer window.
fn hours(view: &View, columns: usize, cell: usize, height: usize) -> Markup {
    let is_long = columns > 48;
    let label = |slot: &str| -> Option<String> {
        let (day, clock) = (slot.get(5..10)?, slot.get(11..16)?);
        let hour: u32 = clock.get(..2)?.parse().ok()?;
        let is_whole = clock.ends_with(":00");
        match is_long {
            true => (is_whole && hour == 12).then(|| day.to_owned()),
            false => (is_whole && hour.is_multiple_of(3)).then(|| clock.to_owned()),
        }
    };
    html! {
        @for (column, slot) in view.slots.iter().enumerate() {
            @if let Some(label) = label(slot) {
                text x=(NAMES + column * cell + cell / 2) y=(height - 4) text-anchor="middle" { (label) }
            }
        }
    }
}

/// All stations together, slot by slot.
pub(super) fn by_slot(view: &View) -> Markup {
    const TALL: usize = 120;
    let sums = view.by_slot();
    let most = sums.iter().max().copied().unwrap_or(0).max(1);
    let cell = (720 / sums.len().max(1)).clamp(4, 3 * CELL);
    let (width, height) = (NAMES + sums.len() * cell, TALL + CELL);
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) width=(width) role="img" aria-label="Taps of all stations by time" {
            text x=(NAMES - 6) y="12" text-anchor="end" { (grouped(most)) }
            text x=(NAMES - 6) y=(TALL) text-anchor="end" { "0" }
            @for (column, (slot, sum)) in view.slots.iter().zip(&sums).enumerate() {
                @let tall = scaled(*sum, most, TALL as u64) as usize;
                rect x=(NAMES + column * cell) y=(TALL - tall) width=(cell - 1) height=(tall) {
                    title { (slot) ": " (grouped(*sum)) }
                }
            }
            (hours(view, sums.len(), cell, height))
        }
    }
}

/// Cards by the number of their taps.
pub(super) fn lengths(view: &View) -> Markup {
    let most = view.lengths.values().map(|cards| cards.value).max().unwrap_or(0).max(1);
    let height = view.lengths.len() * CELL;
    html! {
        svg viewBox=(format!("0 0 560 {height}")) width="560" role="img" aria-label="Cards by number of taps" {
            @for (line, (taps, cards)) in view.lengths.iter().enumerate() {
                @let width = scaled(cards.value, most, 360).max(1);
                text x="24" y=(line * CELL + 13) text-anchor="end" { (taps) }
                rect x="32" y=(line * CELL) width=(width) height=(CELL - 2) {
                    title { (taps) " taps: " (grouped(cards.value)) @if cards.range.is_some() { " (" (range(cards)) ")" } }
                }
                text x=(38 + width) y=(line * CELL + 13) { (grouped(cards.value)) }
            }
        }
    }
}

fn scaled(count: u64, most: u64, full: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(full) / u128::from(most)).unwrap_or(full)
}

/// Between nothing and full; the root keeps small counts visible beside large ones.
fn opacity(count: u64, most: u64) -> String {
    format!("{:.3}", (count as f64 / most as f64).sqrt().min(1.0))
}

fn shortened(name: &str) -> String {
    match name.chars().count() <= LETTERS {
        true => name.to_owned(),
        false => name.chars().take(LETTERS - 1).chain(['…']).collect(),
    }
}
