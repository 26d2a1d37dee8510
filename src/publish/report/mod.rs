//! report.html: one page for a planner, made from the release's own files. No script, nothing fetched.

mod flows;
mod map;
mod plots;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use map::map;
pub use plots::{heat_map, heat_map_like};

use super::view::{Estimate, View};

/// Flows of the table.
const FLOWS: usize = 20;
/// The colours and sizes of every page of ours.
pub const STYLE: &str = include_str!("style.css");

/// The words of a report that do not come from its numbers.
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) start: &'a str,
    pub(super) end: &'a str,
    pub(super) zone: &'a str,
    pub(super) guarantee: &'a str,
    pub(super) error: &'a str,
    pub(super) cautions: &'a [String],
    pub(super) made: &'a [String],
}

/// The whole page.
pub(super) fn page(frame: &Frame<'_>, view: &View) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (frame.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (frame.title) }
                p { (frame.start) " to " (frame.end) " (" (frame.zone) ")" }
                (sections(view))
                h2 { "How exact the numbers are" }
                p { (frame.error) }
                ul { @for sentence in frame.made { li { (sentence) } } }
                h2 { "What is promised to passengers" }
                p { (frame.guarantee) }
                h2 { "What not to conclude" }
                ul {
                    @for caution in frame.cautions { li { (caution) } }
                    li { "Numbers of different windows belong to different passengers: nobody can be followed." }
                }
            }
        }
    }
    .into_string()
}

/// What the release shows: answers first, then pictures, then tables.
pub fn sections(view: &View) -> Markup {
    html! {
        h2 { "At a glance" }
        (answers(view))
        @if view.n_rows == 0 && view.heat.is_empty() {
            p { "No number was strong enough to be shown under this guarantee." }
        } @else {
            h2 { "Stations and flows" }
            div.wide { (map(view)) }
            h2 { "Stations by time" }
            p.soft { "The busiest stations. Darker is more; the number of each cell is its title." }
            div.wide { (heat_map(view)) }
            @if !view.slots.is_empty() {
                h2 { "All stations by time" }
                div.wide { (plots::by_slot(view)) }
            }
            @if !view.flows.is_empty() {
                h2 { "Strongest flows" }
                (flows(view))
            }
            @if let Some(graph) = &view.flowgraph {
                h2 { "Flowgraph" }
                (flows::picture(view, graph))
            }
            h2 { "Taps per card" }
            div.wide { (plots::lengths(view)) }
        }
    }
}

fn flows(view: &View) -> Markup {
    html! {
        p.soft { "Trips of the whole window. The range holds the true number about 95 times of 100, or more." }
        div.wide { table {
            thead { tr { th { "From" } th { "To" } th.n { "Trips" } th.n { "Range" } } }
            tbody { @for flow in view.flows.iter().take(FLOWS) { tr {
                td { (view.stops[flow.from].name) } td { (view.stops[flow.to].name) }
                td.n { (grouped(flow.trips.value)) } td.n { (range(&flow.trips)) }
            } } }
        } }
    }
}

/// Five questions that planners ask first.
fn answers(view: &View) -> Markup {
    let cards: u64 = view.lengths.values().map(|cards| cards.value).sum();
    let taps: u64 = view.lengths.iter().map(|(taps, cards)| taps.saturating_mul(cards.value)).sum();
    let busiest =
        view.heat.iter().map(|(stop, row)| (row.iter().map(|cell| cell.value).sum::<u64>(), *stop));
    let busiest = busiest.max_by_key(|(sum, stop)| (*sum, std::cmp::Reverse(*stop)));
    html! {
        div.wide { table { tbody {
            tr { th { "Cards that travelled" } td { "about " (grouped(cards)) } }
            tr { th { "Taps per card" } td { @if cards > 0 { (format!("{:.2}", taps as f64 / cards as f64)) } @else { "–" } } }
            tr { th { "Busiest station" } td { @if let Some((sum, stop)) = busiest {
                (view.stops[stop].name) ", " (grouped(sum)) @if view.slots.is_empty() { " visits" } @else { " taps" }
            } @else { "–" } } }
            tr { th { "Busiest hour of the day" } td { (peak(view).unwrap_or_else(|| "–".to_owned())) } }
            tr { th { "Strongest flow" } td { @if let Some(flow) = view.flows.first() {
                (view.stops[flow.from].name) " → " (view.stops[flow.to].name) ", " (grouped(flow.trips.value)) " trips"
            } @else { "–" } } }
        } } }
    }
}

/// The hour of the day with most taps, over all days of the window.
fn peak(view: &View) -> Option<String> {
    let mut hours = std::collections::BTreeMap::<&str, u64>::new();
    for (slot, sum) in view.slots.iter().zip(view.by_slot()) {
        *hours.entry(slot.get(11..13)?).or_default() += sum;
    }
    let (hour, sum) =
        hours.into_iter().max_by_key(|(hour, sum)| (*sum, std::cmp::Reverse(*hour)))?;
    (sum > 0).then(|| format!("{hour}:00, {} taps", grouped(sum)))
}

/// "1 to 5", or a dash where the release states no range.
fn range(estimate: &Estimate) -> String {
    estimate
        .range
        .map_or("–".to_owned(), |(low, high)| format!("{} to {}", grouped(low), grouped(high)))
}

/// 1234567 as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
