//! The page of an evaluation, for a planner who never heard of ε. No script, nothing fetched. Private: it shows raw
//! numbers.

mod comparison;
mod plots;

pub use comparison::comparison_page;

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use tapveil_core::evaluate::risk::{Membership, Risk};
use tapveil_core::evaluate::{Better, Group, Metric};

use super::{Column, Judged};
use crate::engine::Tables;
use crate::model::{Stations, Window};
use crate::publish::report::{STYLE, grouped, heat_map_like, map};
use crate::publish::view::{Estimate, Flow, Stop, View};

/// What this page has beside the style of every page.
const OWN_STYLE: &str = "
.private { background: var(--warm); color: var(--paper); padding: .5rem .75rem; font-weight: 600; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
.pair figure { margin: 0; min-width: 0; }
.pair figcaption { font-weight: 600; }
td.best { font-weight: 600; }
svg .other { fill: var(--warm); }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 2; }
svg .grid { stroke: var(--line); }
";

/// The whole page.
pub fn page(stations: &Stations, judged: &[Judged], membership: Option<&Membership>) -> String {
    private_page(
        "what a release is worth",
        html! {
            h1 { "What a release is worth" }
            @for window in judged { (section(stations, window)) }
            @if let Some(found) = membership { (told_apart(found)) }
        },
    )
}

/// A page that says at its top and at its end that it was made from raw taps.
fn private_page(title: &str, content: Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { "PRIVATE: " (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(OWN_STYLE)) }
            }
            body {
                p.private role="alert" {
                    "PRIVATE. This page was computed from raw taps and shows exact numbers. Never publish it, and never \
                     put it beside a release."
                }
                (content)
                p.private { "PRIVATE: computed from raw taps." }
            }
        }
    }
    .into_string()
}

fn section(stations: &Stations, judged: &Judged) -> Markup {
    let window = judged.judge.window();
    let raw = view(stations, window, &judged.exact);
    let released: Vec<(String, View, Tables)> = judged
        .columns
        .iter()
        .filter_map(|column| {
            let tables = judged.judge.tables_of(&column.release.as_ref()?.said);
            Some((title(column), view(stations, window, &tables), tables))
        })
        .collect();
    html! {
        h2 { (window.start_label()) " to " (window.end_label()) }
        p { (grouped(judged.judge.n_cards())) " cards travelled. Two columns are there for comparison: "
            em { "nothing" } " is publishing an empty file, " em { "histogram" }
            " is what anybody could do with plain noisy tables of the same privacy. ε is the privacy that is given up: a \
             smaller one protects every card more." }
        h2 { "Questions a planner asks" }
        p { "Would you have decided the same with the released numbers?" }
        (table(judged, &[Group::Planner]))
        h2 { "Stations and flows" }
        p { "If both maps look alike, the release shows the same city." }
        (pair(&raw, &released, &|view| map(view)))
        h2 { "Stations by time" }
        p { "The busiest stations on one scale: where the right picture is paler or darker, the release says fewer or \
             more cards than there were." }
        (pair(&raw, &released, &|view| heat_map_like(view, &raw)))
        h2 { "How wrong is a number?" }
        p { "Each bar is the typical error of the cards of a station in a slot, by how many there really were: large \
             numbers can be trusted before small ones." }
        div.pair { @for (name, _, tables) in &released {
            figure { figcaption { (name) } (plots::errors(&plots::by_size(&judged.exact, tables))) }
        } }
        h2 { "Who could be picked out?" }
        p { "How many of a hundred cards are alone with what somebody saw of them, in the raw taps and among the \
             released trips. A trip of a noisy release is nobody's, even if it is alone." }
        div.pair { @for column in &judged.columns { @if let Some(risk) = &column.risk {
            figure { figcaption { (title(column)) } (plots::unique(&risk.unique)) }
        } } }
        (given_away(judged))
        details { summary { "All figures" }
            @for group in Group::ALL { @if group != Group::Planner { h2 { (group.in_words()) } (table(judged, &[group])) } }
        }
    }
}

/// Raw beside every release.
fn pair(raw: &View, released: &[(String, View, Tables)], draw: &dyn Fn(&View) -> Markup) -> Markup {
    html! {
        div.pair {
            figure { figcaption { "Raw" } div.wide { (draw(raw)) } }
            @for (name, view, _) in released {
                figure { figcaption { "Released: " (name) } div.wide { (draw(view)) } }
            }
        }
    }
}

fn table(judged: &Judged, groups: &[Group]) -> Markup {
    let is_asked = |metric: &&Metric| {
        groups.contains(&metric.group)
            && judged.columns.iter().any(|column| column.score.get(&metric.id).is_some())
    };
    html! {
        div.wide { table {
            thead { tr { th { "" } @for column in &judged.columns { th.n { (title(column)) } } } }
            tbody { @for metric in judged.judge.metrics().iter().filter(is_asked) {
                @let best = best(judged, metric);
                tr { td { (metric.words) } @for column in &judged.columns {
                    @let value = column.score.get(&metric.id);
                    td.n.best[value.is_some() && value == best] { (number(value)) }
                } }
            } }
        } }
    }
}

/// The best figure of a row, where there is a best.
fn best(judged: &Judged, metric: &Metric) -> Option<f64> {
    let values = judged.columns.iter().filter_map(|column| column.score.get(&metric.id));
    let distance = |value: f64| match metric.better {
        Better::Lower => value,
        Better::Higher => -value,
        Better::One => (value - 1.0).abs(),
        Better::Stated => (value - 0.95).abs(),
    };
    values.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

fn given_away(judged: &Judged) -> Markup {
    let attacked: Vec<(&Column, &Risk)> =
        judged.columns.iter().filter_map(|column| Some((column, column.risk.as_ref()?))).collect();
    let Some((_, first)) = attacked.first() else { return html! {} };
    html! {
        h2 { "What else is given away?" }
        p { "The share of attacks that succeed: on the raw taps, and with a release alone. Naming the busiest station \
             is right " (number(first.guessed.without)) " of the time, with nothing at all." }
        div.wide { table {
            thead { tr { th { "" } th.n { "Raw" } @for (column, _) in &attacked { th.n { (title(column)) } } } }
            tbody {
                @for (at, one) in first.linked.iter().enumerate() { tr {
                    td { "whole trip found from " (one.known) " known taps" } td.n { (number(one.before)) }
                    @for (_, risk) in &attacked { td.n { (number(risk.linked.get(at).and_then(|one| one.after))) } }
                } }
                tr {
                    td { "another station guessed from " (first.guessed.known) " known taps" }
                    td.n { (number(first.guessed.before)) }
                    @for (_, risk) in &attacked { td.n { (number(risk.guessed.after)) } }
                }
            }
        } }
    }
}

fn told_apart(found: &Membership) -> Markup {
    html! {
        h2 { "Can somebody tell that a card was there?" }
        p { "Somebody who knows every other card looks at two releases, one with the card and one without, and says \
             which is which. Guessing is right " strong { "50" } " times of 100; this attack was right "
            strong { (format!("{:.0}", found.auc * 100.0)) } " times ("
            (format!("{:.0} to {:.0}", found.low * 100.0, found.high * 100.0)) ")"
            @if let Some(bound) = found.auc_bound {
                ", and the guarantee allows nobody more than " strong { (format!("{:.0}", bound * 100.0)) }
            }
            ". It was tried on made-up cards." }
    }
}

fn title(column: &Column) -> String {
    match column.epsilon {
        Some(epsilon) => format!("{} (ε = {epsilon})", column.name),
        None => column.name.clone(),
    }
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// Tables as the plots of a report draw them.
fn view(stations: &Stations, window: &Window, tables: &Tables) -> View {
    let degrees = |text: &str| text.trim().parse::<f64>().ok().filter(|d| d.is_finite());
    let stop = |station: &crate::model::Station| Stop {
        id: station.id.clone(),
        name: if station.name.is_empty() { station.id.clone() } else { station.name.clone() },
        at: degrees(&station.lat).zip(degrees(&station.lon)),
    };
    let estimate = |value: u64| Estimate { value, range: None };
    let n_slots = window.n_slots() as usize;
    let mut heat: BTreeMap<usize, Vec<Estimate>> = BTreeMap::new();
    for cell in tables.stations.iter().filter(|cell| cell.taps.value > 0) {
        let row = heat.entry(cell.station.0 as usize);
        let row = row.or_insert_with(|| vec![Estimate::default(); n_slots]);
        row[cell.slot as usize] = estimate(cell.taps.value);
    }
    let mut flows: Vec<Flow> = tables
        .od
        .iter()
        .map(|leg| Flow {
            from: leg.origin.0 as usize,
            to: leg.dest.0 as usize,
            trips: estimate(leg.trips.value),
        })
        .collect();
    flows.sort_by_key(|flow| (std::cmp::Reverse(flow.trips.value), flow.from, flow.to));
    View {
        stops: stations.iter().map(stop).collect(),
        slots: (0..window.n_slots()).map(|slot| window.slot_label(slot)).collect(),
        heat,
        flows,
        ..View::default()
    }
}
