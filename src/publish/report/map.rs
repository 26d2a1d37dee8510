//! A map of stations and flows, drawn from coordinates alone: no tiles, nothing fetched.

use maud::{Markup, html};

use super::super::view::{Flow, View};
use super::grouped;

/// Flows that are drawn: the strongest.
const FLOWS: usize = 60;
/// Names that are written: of the busiest stations.
const NAMES: usize = 12;
const WIDTH: f64 = 760.0;
const MOST_HEIGHT: f64 = 560.0;
const MARGIN: f64 = 40.0;

/// Stations as circles, flows as curves; wider is more.
pub fn map(view: &View) -> Markup {
    let Some(sheet) = Sheet::of(view) else {
        return html! { p { "The station list has no coordinates, so there is no map." } };
    };
    let sums: Vec<u64> = (0..view.stops.len())
        .map(|stop| view.heat.get(&stop).map_or(0, |row| row.iter().map(|cell| cell.value).sum()))
        .collect();
    let most = sums.iter().max().copied().unwrap_or(0).max(1) as f64;
    let mut busiest: Vec<usize> = (0..sums.len()).filter(|&stop| sums[stop] > 0).collect();
    busiest.sort_by_key(|&stop| (std::cmp::Reverse(sums[stop]), stop));
    let drawn: Vec<&Flow> =
        view.flows.iter().filter(|flow| flow.from != flow.to).take(FLOWS).collect();
    let strongest = drawn.first().map_or(1, |flow| flow.trips.value).max(1) as f64;
    html! {
        svg.map viewBox=(format!("0 0 {WIDTH:.0} {:.0}", sheet.height)) width=(format!("{WIDTH:.0}")) role="img"
            aria-label=(format!("Map of {} stations and the {} strongest flows", view.stops.len(), drawn.len())) {
            @for flow in drawn.iter().rev() {
                @if let (Some(a), Some(b)) = (sheet.point(view, flow.from), sheet.point(view, flow.to)) {
                    path.flow d=(curve(a, b))
                        stroke-width=(format!("{:.1}", 0.6 + 6.0 * (flow.trips.value as f64 / strongest).sqrt())) {
                        title { (view.stops[flow.from].name) " → " (view.stops[flow.to].name) ": " (grouped(flow.trips.value)) }
                    }
                }
            }
            @for stop in 0..view.stops.len() {
                @if let Some((x, y)) = sheet.point(view, stop) {
                    circle cx=(format!("{x:.1}")) cy=(format!("{y:.1}"))
                        r=(format!("{:.1}", 1.5 + 7.0 * (sums[stop] as f64 / most).sqrt())) {
                        title { (view.stops[stop].name) ": " (grouped(sums[stop])) }
                    }
                }
            }
            @for (x, y, name) in names(view, &sheet, &busiest) {
                text.name x=(format!("{x:.1}")) y=(format!("{y:.1}")) { (name) }
            }
        }
    }
}

/// Where names are written: of the busiest stations, where no name of a busier one is in the way.
fn names<'a>(view: &'a View, sheet: &Sheet, busiest: &[usize]) -> Vec<(f64, f64, &'a str)> {
    let mut written: Vec<(f64, f64, &str)> = Vec::new();
    for &stop in busiest {
        let Some((x, y)) = sheet.point(view, stop) else { continue };
        let (x, y, name) = (x + 9.0, y + 4.0, view.stops[stop].name.as_str());
        let wide = |name: &str| 7.0 * name.chars().count() as f64;
        let is_free = written.iter().all(|&(other, line, text)| {
            (line - y).abs() > 13.0 || other + wide(text) < x || x + wide(name) < other
        });
        if is_free && written.len() < NAMES {
            written.push((x, y, name));
        }
    }
    written
}

/// A curve that leans to its right: both directions of a pair can be told apart.
fn curve((ax, ay): (f64, f64), (bx, by): (f64, f64)) -> String {
    let (cx, cy) = ((ax + bx) / 2.0 - (by - ay) * 0.12, (ay + by) / 2.0 + (bx - ax) * 0.12);
    format!("M{ax:.1} {ay:.1}Q{cx:.1} {cy:.1} {bx:.1} {by:.1}")
}

/// From degrees to the sheet. A degree of longitude is shorter away from the equator.
struct Sheet {
    west: f64,
    north: f64,
    shrink: f64,
    scale: f64,
    height: f64,
}

impl Sheet {
    fn of(view: &View) -> Option<Self> {
        let points: Vec<(f64, f64)> = view.stops.iter().filter_map(|stop| stop.at).collect();
        let ends = |values: &dyn Fn(&(f64, f64)) -> f64| {
            let low = points.iter().map(values).fold(f64::INFINITY, f64::min);
            let high = points.iter().map(values).fold(f64::NEG_INFINITY, f64::max);
            (low, high)
        };
        let ((south, north), (west, east)) = (ends(&|at| at.0), ends(&|at| at.1));
        if points.is_empty() {
            return None;
        }
        let shrink = ((south + north) / 2.0).to_radians().cos().max(0.05);
        let (wide, high) = (((east - west) * shrink).max(1e-9), (north - south).max(1e-9));
        let room = |size: f64| size - 2.0 * MARGIN;
        let scale = (room(WIDTH) / wide).min(room(MOST_HEIGHT) / high);
        Some(Self { west, north, shrink, scale, height: high * scale + 2.0 * MARGIN })
    }

    fn point(&self, view: &View, stop: usize) -> Option<(f64, f64)> {
        let (lat, lon) = view.stops[stop].at?;
        let x = (lon - self.west) * self.shrink * self.scale + MARGIN;
        let y = (self.north - lat) * self.scale + MARGIN;
        Some((x, y))
    }
}
