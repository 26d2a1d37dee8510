//! The same content as the pages, for machines: `/api/v1/…`, read-only.

use axum::Json;
use serde_json::{Value, json};

use super::Shown;
use super::windows;
use crate::publish::catalog;
use crate::publish::view::Flow;

/// The form of every answer; `src/CONTRACT.md` has the rules.
const FORMAT: u32 = 1;

/// Which windows there are and how far each is. For the operator: it tells how far the feed is.
pub(super) fn windows(shown: &Shown) -> Json<Value> {
    let (known, now) = (shown.status.snapshot(), shown.facts.clock.now());
    Json(json!({
        "format": FORMAT,
        "next": windows::next(&shown.facts, now, &known),
        "windows": windows::lines(&shown.facts, now, &known, &shown.board.windows()),
        "watermark": known.watermark.map(|at| at.to_string()),
    }))
}

/// Every release of the directory.
pub(super) fn releases(found: &[catalog::ReleaseSummary]) -> Json<Value> {
    let line = |one: &catalog::ReleaseSummary| {
        json!({
            "id": one.id, "name": one.name, "engine": one.engine,
            "window": { "start": one.start, "end": one.end }, "unreadable": one.unreadable,
        })
    };
    Json(json!({ "format": FORMAT, "releases": found.iter().map(line).collect::<Vec<_>>() }))
}

/// One release with its manifest.
pub(super) fn release(opened: &catalog::Opened) -> Json<Value> {
    let view = &opened.view;
    let flow = |flow: &Flow| {
        json!({
            "origin": view.stops[flow.from].id, "dest": view.stops[flow.to].id, "count": flow.trips.value,
            "low": flow.trips.range.map(|range| range.0), "high": flow.trips.range.map(|range| range.1),
        })
    };
    let lengths: serde_json::Map<String, Value> =
        view.lengths.iter().map(|(taps, cards)| (taps.to_string(), json!(cards.value))).collect();
    Json(json!({
        "format": FORMAT,
        "title": opened.title,
        "is_sound": opened.problems.is_empty(),
        "problems": opened.problems,
        "files": opened.files.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect::<Vec<_>>(),
        "rows": view.n_rows,
        "trips": view.n_trips,
        "top_flows": view.flows.iter().take(20).map(flow).collect::<Vec<_>>(),
        "lengths": lengths,
        "manifest": opened.manifest,
    }))
}

/// What was spent, what is left.
pub(super) fn budget(shown: &Shown) -> Json<Value> {
    let (facts, known) = (&shown.facts, shown.status.snapshot());
    let spent = known.spent();
    let line = |one: &crate::metrics::Booked| {
        json!({
            "window": { "start": one.start.to_string(), "end": one.end.to_string() },
            "epsilon_micro": one.price.micro(), "is_settled": one.is_settled,
        })
    };
    Json(json!({
        "format": FORMAT,
        "spent_micro": spent.micro(),
        "lifetime_micro": facts.lifetime.map(|cap| cap.micro()),
        "left_micro": facts.lifetime.map(|cap| cap.micro().saturating_sub(spent.micro())),
        "price_micro": facts.price.micro(),
        "horizon": facts.horizon.map(|(windows, cap)| json!({ "windows": windows, "cap_micro": cap.micro() })),
        "releases": known.booked.iter().map(line).collect::<Vec<_>>(),
    }))
}
