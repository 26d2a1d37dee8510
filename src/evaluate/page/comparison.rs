//! The page of a comparison: the choice an agency has to make, as curves and tables.

use maud::{Markup, html};
use tapveil_core::evaluate::Group;

use super::{given_away, number, private_page, table};
use crate::evaluate::{CHOSEN_BY, Judged, Summary};
use crate::model::MicroEpsilon;

const WIDE: f64 = 520.0;
const TALL: f64 = 220.0;
const LEFT: f64 = 40.0;
/// Room for the names at the ends of the lines.
const RIGHT: f64 = 130.0;

/// The whole page; `leak` says what choosing by it costs.
pub fn comparison_page(judged: &[Judged], lines: &[Summary], leak: &str) -> String {
    private_page(
        "engines side by side",
        html! {
            h1 { "Which engine, and how much privacy?" }
            p { "Careful: " (leak) "." }
            (choices(lines))
            @for window in judged { (section(window)) }
        },
    )
}

/// Every choice in one line: what it is worth, and what it costs a card that travels in every window.
fn choices(lines: &[Summary]) -> Markup {
    let epsilon = |one: Option<MicroEpsilon>| one.map_or("-".to_owned(), |one| one.to_string());
    html! {
        h2 { "Every choice in one line" }
        p { "Means over all windows of a length. Errors: 0 is exact, 1 is as wrong as publishing nothing. ε in all is \
             what a card spends that travels in every window." }
        div.wide { table {
            thead { tr {
                th { "" } th { "Window" } th.n { "Windows" } th.n { "ε each" } th.n { "ε in all" }
                @for (_, words) in CHOSEN_BY { th.n { (words) } }
            } }
            tbody { @for line in lines { tr {
                td { (line.name) } td { (line.window) } td.n { (line.n_windows) }
                td.n { (epsilon(line.epsilon)) } td.n { (epsilon(line.spent())) }
                @for (id, _) in CHOSEN_BY { td.n { (number(line.score.get(id))) } }
            } } }
        } }
    }
}

fn section(judged: &Judged) -> Markup {
    let window = judged.judge.window();
    html! {
        h2 { (window.start_label()) " to " (window.end_label()) }
        p { "A smaller ε protects every card more and makes every number less exact. Publishing nothing has an error \
             of 1: a line above it is worse than an empty file." }
        div.pair {
            @for (id, words) in [
                ("stations_by_slot.error", "Cards by station and time"),
                ("od.error", "Trips from where to where"),
            ] {
                figure { figcaption { (words) } div.wide { (curve(judged, id)) } }
            }
        }
        h2 { "Questions a planner asks" }
        p { "Right answers, or how far an answer is off; the best of each row is bold." }
        (table(judged, &[Group::Planner]))
        (given_away(judged))
        details { summary { "All figures" }
            @for group in Group::ALL { @if group != Group::Planner { h2 { (group.in_words()) } (table(judged, &[group])) } }
        }
    }
}

/// The figures of one engine by ε.
struct Line<'a> {
    name: &'a str,
    points: Vec<(MicroEpsilon, f64)>,
}

fn lines<'a>(judged: &'a Judged, id: &str) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for column in &judged.columns {
        let (Some(epsilon), Some(value)) = (column.epsilon, column.score.get(id)) else { continue };
        match lines.iter_mut().find(|line| line.name == column.name) {
            Some(line) => line.points.push((epsilon, value)),
            None => lines.push(Line { name: &column.name, points: vec![(epsilon, value)] }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by_key(|point| point.0));
    lines
}

/// Error by ε, one line an engine; errors above 1.2 are drawn at the top.
fn curve(judged: &Judged, id: &str) -> Markup {
    const MOST: f64 = 1.2;
    let lines = lines(judged, id);
    let mut epsilons: Vec<MicroEpsilon> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    epsilons.sort_unstable();
    epsilons.dedup();
    let step = (WIDE - LEFT - RIGHT) / (epsilons.len().max(2) - 1) as f64;
    let x = |epsilon: MicroEpsilon| {
        LEFT + step * epsilons.iter().position(|&one| one == epsilon).unwrap_or(0) as f64
    };
    let y = |value: f64| 8.0 + (TALL - 30.0) * (1.0 - value.min(MOST) / MOST);
    let path = |line: &Line<'_>| {
        let point =
            |(epsilon, value): &(MicroEpsilon, f64)| format!("{:.1},{:.1}", x(*epsilon), y(*value));
        line.points.iter().map(point).collect::<Vec<_>>().join(" ")
    };
    html! {
        svg viewBox=(format!("0 0 {WIDE} {TALL}")) width=(WIDE) role="img" aria-label="Error by epsilon" {
            @for level in [0.0, 0.5, 1.0] {
                line.grid x1=(LEFT) x2=(WIDE - RIGHT) y1=(format!("{:.1}", y(level))) y2=(format!("{:.1}", y(level))) {}
                text x=(LEFT - 6.0) y=(format!("{:.1}", y(level) + 4.0)) text-anchor="end" { (level) }
            }
            @for &epsilon in &epsilons {
                text x=(format!("{:.1}", x(epsilon))) y=(TALL - 4.0) text-anchor="middle" { "ε " (epsilon.to_string()) }
            }
            @for line in &lines {
                polyline.curve points=(path(line)) {}
                @for (epsilon, value) in &line.points {
                    circle cx=(format!("{:.1}", x(*epsilon))) cy=(format!("{:.1}", y(*value))) r="3.5" {
                        title { (line.name) " at ε " (epsilon.to_string()) ": " (format!("{value:.3}")) }
                    }
                }
            }
            @for (at, name) in ends(&lines, &y) {
                text x=(WIDE - RIGHT + 8.0) y=(format!("{:.1}", at + 4.0)) { (name) }
            }
        }
    }
}

/// Where the names stand: at the ends of their lines, apart from each other.
fn ends<'a>(lines: &[Line<'a>], y: &dyn Fn(f64) -> f64) -> Vec<(f64, &'a str)> {
    let mut ends: Vec<(f64, &str)> =
        lines.iter().filter_map(|line| Some((y(line.points.last()?.1), line.name))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    for at in 1..ends.len() {
        ends[at].0 = ends[at].0.max(ends[at - 1].0 + 13.0);
    }
    ends
}
