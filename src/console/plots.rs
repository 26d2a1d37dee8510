//! Plots as SVG: drawn here, readable without colour (every cell has its number as a title), in the page's own colours.

use maud::{Markup, html};

use crate::publish::shelf::Picture;

/// Stations of a heat map at most: the busiest.
const STATIONS: usize = 20;
const CELL: usize = 18;
const NAMES: usize = 110;

/// How often each of the busiest stations is met in each slot.
pub(super) fn heat_map(picture: &Picture) -> Markup {
    let mut stations: Vec<(&String, &Vec<u64>)> = picture.heat.iter().collect();
    stations.sort_by_key(|(name, row)| (std::cmp::Reverse(row.iter().sum::<u64>()), *name));
    stations.truncate(STATIONS);
    let most = stations.iter().flat_map(|(_, row)| row.iter()).max().copied().unwrap_or(0).max(1);
    let columns = stations.first().map_or(0, |(_, row)| row.len());
    let cell = (720 / columns.max(1)).clamp(4, 3 * CELL);
    let (width, height) = (NAMES + columns * cell, (stations.len() + 1) * CELL);
    let slot = |column: usize| picture.slots.get(column).map_or("any time", String::as_str);
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) width=(width) role="img"
            aria-label=(format!("Heat map of {} stations by {} slots; darker is more", stations.len(), columns)) {
            @for (line, (station, row)) in stations.iter().enumerate() {
                text x=(NAMES - 6) y=(line * CELL + 13) text-anchor="end" { (station) }
                @for (column, count) in row.iter().enumerate() {
                    rect x=(NAMES + column * cell) y=(line * CELL) width=(cell - 1) height=(CELL - 1)
                        fill-opacity=(opacity(*count, most)) {
                        title { (station) ", " (slot(column)) ": " (count) }
                    }
                }
            }
            @if let (Some(first), Some(last)) = (picture.slots.first(), picture.slots.last()) {
                text x=(NAMES) y=(height - 4) { (clock(first)) }
                text x=(width) y=(height - 4) text-anchor="end" { (clock(last)) }
            }
        }
    }
}

/// Passengers by the number of stations of their path.
pub(super) fn lengths(picture: &Picture) -> Markup {
    let most = picture.lengths.values().max().copied().unwrap_or(0).max(1);
    let height = picture.lengths.len() * CELL;
    html! {
        svg viewBox=(format!("0 0 480 {height}")) width="480" role="img" aria-label="Histogram of path lengths" {
            @for (line, (length, count)) in picture.lengths.iter().enumerate() {
                text x="24" y=(line * CELL + 13) text-anchor="end" { (length) }
                rect x="32" y=(line * CELL) width=(width(*count, most)) height=(CELL - 2) {
                    title { (length) " stations: " (count) }
                }
                text x=(38 + width(*count, most)) y=(line * CELL + 13) { (count) }
            }
        }
    }
}

/// A bar of at most 360, and never invisible.
fn width(count: u64, most: u64) -> u64 {
    let scaled = u128::from(count) * 360 / u128::from(most);
    u64::try_from(scaled).unwrap_or(360).max(1)
}

/// Between nothing and full; the root keeps small counts visible beside large ones.
fn opacity(count: u64, most: u64) -> String {
    format!("{:.3}", (count as f64 / most as f64).sqrt())
}

/// The time of day of a slot's label.
fn clock(slot: &str) -> &str {
    slot.get(5..16).unwrap_or(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_a_plot_can_be_read() {
        let picture = Picture {
            n_rows: 2,
            n_trips: 7,
            slots: vec!["2015-11-09T04:00-05:00".to_owned(), "2015-11-09T08:00-05:00".to_owned()],
            heat: [("a<b".to_owned(), vec![7, 0]), ("c".to_owned(), vec![0, 4])].into(),
            flows: Vec::new(),
            lengths: [(1, 3), (2, 4)].into(),
        };
        let map = heat_map(&picture).into_string();
        assert!(map.contains("a&lt;b, 2015-11-09T04:00-05:00: 7"), "{map}");
        assert!(map.contains("fill-opacity=\"0.000\""), "{map}");
        let bars = lengths(&picture).into_string();
        assert!(bars.contains("2 stations: 4") && bars.contains("width=\"360\""), "{bars}");
    }

    #[test]
    fn an_empty_release_draws_empty_plots() {
        let map = heat_map(&Picture::default()).into_string();
        assert!(map.contains("0 stations by 0 slots"), "{map}");
        assert!(lengths(&Picture::default()).into_string().contains("viewBox"));
    }
}
