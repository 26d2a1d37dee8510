//! The pages. They work without JavaScript, on a phone, by keyboard and read aloud.

use maud::{DOCTYPE, Markup, html};

use super::windows::{self, Line, Next};
use super::{Facts, Shown};
use crate::metrics::Snapshot;
use crate::model::MicroEpsilon;
use crate::publish::catalog;

/// Releases on the first page.
const LATEST: usize = 5;

/// A page with its frame.
pub(super) fn framed(facts: &Facts, title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · tapveil" }
                link rel="stylesheet" href="/style.css";
                link rel="icon" href="data:,";
            }
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    strong { "tapveil" }
                    span.soft { "feed " (facts.feed) }
                    nav aria-label="Pages" {
                        a href="/" { "Overview" } " · "
                        a href="/windows" { "Windows" } " · "
                        a href="/releases" { "Releases" } " · "
                        a href="/budget" { "Budget" } " · "
                        a href="/statement" { "Statement" }
                    }
                }
                main id="content" { h1 { (title) } (content) }
            }
        }
    }
}

pub(super) fn not_found(shown: &Shown) -> Markup {
    framed(
        &shown.facts,
        "Not here",
        &html! { p { "There is no such page. " a href="/" { "Overview" } } },
    )
}

/// Health, budget at a glance, the latest releases.
pub(super) fn overview(
    shown: &Shown,
    found: &[catalog::ReleaseSummary],
    is_operator: bool,
) -> Markup {
    let facts = &shown.facts;
    let is_ready = shown.health.is_ready(shown.ingests, shown.releases);
    let health = match ((shown.is_draining)(), is_ready) {
        (true, _) => "draining: committing what was read, then ending",
        (false, false) => "starting: waiting for Kafka and for partitions",
        (false, true) => "ready",
    };
    let known = shown.status.snapshot();
    framed(
        facts,
        &facts.title,
        &html! {
            @if let Some(note) = facts.note { p.operator { (note) } }
            @if is_operator { (unusable(&known)) (progress(&known)) }
        p { "The service is " span.state { (health) } "." }
            p { "Engine " (facts.engine.0) ". " (spent_sentence(facts, &known)) }
            h2 { "Latest releases" }
            (release_table(facts, &found[..found.len().min(LATEST)]))
            @if found.len() > LATEST { p { a href="/releases" { "All " (found.len()) " releases" } } }
        },
    )
}

/// How far ingest is from the end of the log: for the operator only.
fn progress(known: &Snapshot) -> Markup {
    let Some((lag, rate)) = known.progress else { return html! {} };
    html! {
        p.operator {
            "Operators only: " (lag) " records to the end of the log, " (format!("{rate:.0}")) " read a second"
            @if rate >= 1.0 { ", about " (format!("{:.0}", lag as f64 / rate / 60.0)) " min to go" }
            "."
        }
    }
}

/// How the raw feed is: for the operator only.
fn unusable(known: &Snapshot) -> Markup {
    html! {
        @if let Some(warning) = &known.unusable { p.operator role="alert" { "For operators only: " (warning) "." } }
    }
}

fn spent_sentence(facts: &Facts, known: &Snapshot) -> String {
    let spent = known.spent();
    match facts.lifetime {
        _ if facts.price == MicroEpsilon::default() => {
            "It costs no privacy budget (ε): it promises no differential privacy.".to_owned()
        }
        Some(cap) => format!("Of the privacy budget ε = {cap}, {spent} is spent."),
        None => format!("ε = {spent} is spent so far; no lifetime cap is set."),
    }
}

/// Where every window is. For the operator: it shows how far the feed is.
pub(super) fn windows(shown: &Shown) -> Markup {
    let (facts, known) = (&shown.facts, shown.status.snapshot());
    let now = facts.clock.now();
    let lines = windows::lines(facts, now, &known, &shown.board.windows());
    let closing = match facts.closes_after {
        Some(after) => format!(
            "Taps of a window count until {} after its end, by the broker's clock.",
            words(after.as_secs())
        ),
        None => "Windows close as the taps' own times pass on (watermark).".to_owned(),
    };
    framed(
        facts,
        "Windows",
        &html! {
            p.operator { "For operators only: this page shows how far the raw feed is." }
            (unusable(&known))
            p { (closing) }
            (next_release(windows::next(facts, now, &known)))
            p { "Watermark (latest tap read): " (known.watermark.map_or("none yet".to_owned(), |at| at.to_string())) }
            @if lines.is_empty() { p { "No window yet: the release worker has not opened the ledger." } }
            @else { div.wide { table {
                thead { tr {
                    th { "From" } th { "To" } th { "State" } th { "Note" } th { "Closes in" } th { "Release due" }
                    th { "Partitions done" } th.n { "Taps" }
                } }
                tbody { @for line in &lines { (window_row(line)) } }
            } } }
        },
    )
}

/// A release takes its time: the alert of deploy/prometheus waits, too.
const LATE_SECS: i64 = 900;

fn next_release(next: Option<Next>) -> Markup {
    html! {
        @if let Some(next) = next {
            @if next.overdue_seconds > LATE_SECS {
                p.operator role="alert" {
                    "The release of " (next.window) " was due " (next.due) ": it is overdue for "
                    (words(next.overdue_seconds)) "."
                }
            } @else {
                p {
                    "Next release: " (next.window) ", due " (next.due)
                    @if next.due_in_seconds > 0 { ", in " (words(next.due_in_seconds)) } "."
                }
            }
        }
    }
}

fn window_row(line: &Line) -> Markup {
    html! {
        tr {
            td { (line.start) } td { (line.end) } td { span.state { (line.state.name()) } }
            td { @if let Some(reason) = &line.reason { (reason) } }
            td { @if let Some(secs) = line.closes_in_seconds { (words(secs)) } }
            td { @if let Some(due) = &line.due { (due) } }
            td { @if let Some((n, of)) = line.finished { (n) " of " (of) } }
            td.n { @if let Some(taps) = line.taps { (taps) } }
        }
    }
}

pub(super) fn releases(shown: &Shown, found: &[catalog::ReleaseSummary]) -> Markup {
    framed(&shown.facts, "Releases", &release_table(&shown.facts, found))
}

fn release_table(facts: &Facts, found: &[catalog::ReleaseSummary]) -> Markup {
    html! {
        @if facts.release_dir.is_none() {
            p { "Releases go to the topic only. Set " code { "release.dir" } " to see them here, too." }
        } @else if found.is_empty() {
            p { "None yet." }
        } @else { div.wide { table {
            thead { tr { th { "Window" } th { "To" } th { "Engine" } th { "Release" } } }
            tbody { @for one in found { tr {
                td { (one.start) } td { (one.end) } td { (one.engine) }
                td {
                    @if let Some(why) = &one.unreadable { (one.name) ": " (why) }
                    @else { a href=(format!("/releases/{}", one.name)) { (one.id) } }
                }
            } } }
        } } }
    }
}

/// What was spent, what is left, and what each release cost.
pub(super) fn budget(shown: &Shown) -> Markup {
    let (facts, known) = (&shown.facts, shown.status.snapshot());
    let spent = known.spent();
    framed(
        facts,
        "Budget",
        &html! {
            p { (spent_sentence(facts, &known)) }
            table { tbody {
                tr { th { "Spent over the feed's life" } td.n { "ε = " (spent) } }
                tr { th { "One release costs" } td.n { "ε = " (facts.price) } }
                @if let Some(cap) = facts.lifetime {
                    tr { th { "Lifetime cap" } td.n { "ε = " (cap) } }
                    tr { th { "Left" } td.n { "ε = " (MicroEpsilon::new(cap.micro().saturating_sub(spent.micro()))) } }
                    @if facts.price > MicroEpsilon::default() {
                        tr { th { "Enough for so many more releases" } td.n { (cap.micro().saturating_sub(spent.micro()) / facts.price.micro()) } }
                    }
                }
                @if let Some((windows, cap)) = facts.horizon {
                    tr { th { "Cap over any " (windows) " windows in a row" } td.n { "ε = " (cap) } }
                }
            } }
            h2 { "Per release" }
            @if known.booked.is_empty() { p { "Nothing is booked, or this process is no release worker." } }
            @else { div.wide { table {
                thead { tr { th { "From" } th { "To" } th.n { "ε" } th { "State" } } }
                tbody { @for one in known.booked.iter().rev().take(500) { tr {
                    td { (one.start) } td { (one.end) } td.n { (one.price) }
                    td { @if one.is_settled { "released" } @else { "reserved" } }
                } } }
            } } }
        },
    )
}

/// The privacy officer's page.
pub(super) fn statement(shown: &Shown) -> Markup {
    framed(&shown.facts, "Privacy statement", &html! { pre { (shown.facts.statement) } })
}

/// Seconds in words.
fn words(secs: i64) -> String {
    match secs {
        ..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", secs / 60),
        7_200..172_800 => format!("{} h", secs / 3_600),
        _ => format!("{} days", secs / 86_400),
    }
}
