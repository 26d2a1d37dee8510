//! The same content as the pages, for machines: `/api/v1/…`, read-only.

use axum::Json;
use serde_json::{Value, json};

use super::Shown;
use super::windows;
use crate::publish::shelf;

/// Which windows there are and how far each is. For the operator: it tells how far the feed is.
pub(super) fn windows(shown: &Shown) -> Json<Value> {
    let known = shown.status.snapshot();
    Json(json!({
        "windows": windows::lines(&shown.facts, shown.facts.clock.now(), &known, &shown.board.windows()),
        "watermark": known.watermark.map(|at| at.to_string()),
    }))
}

/// Every release of the directory.
pub(super) fn releases(shown: &Shown) -> Json<Value> {
    let found = shown.facts.release_dir.as_deref().map(shelf::list).unwrap_or_default();
    let line = |one: &shelf::OnShelf| {
        json!({
            "id": one.id, "name": one.name, "engine": one.engine,
            "window": { "start": one.start, "end": one.end },
        })
    };
    Json(json!({ "releases": found.iter().map(line).collect::<Vec<_>>() }))
}

/// One release with its manifest.
pub(super) fn release(opened: &shelf::Opened) -> Json<Value> {
    let picture = &opened.picture;
    let flow = |(from, to, count): &(String, String, u64)| json!({ "origin": from, "dest": to, "count": count });
    Json(json!({
        "title": opened.title,
        "is_sound": opened.problems.is_empty(),
        "problems": opened.problems,
        "files": opened.files.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect::<Vec<_>>(),
        "rows": picture.n_rows,
        "trips": picture.n_trips,
        "top_flows": picture.flows.iter().take(20).map(flow).collect::<Vec<_>>(),
        "lengths": picture.lengths,
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
        "spent_micro": spent.micro(),
        "lifetime_micro": facts.lifetime.map(|cap| cap.micro()),
        "left_micro": facts.lifetime.map(|cap| cap.micro().saturating_sub(spent.micro())),
        "price_micro": facts.price.micro(),
        "horizon": facts.horizon.map(|(windows, cap)| json!({ "windows": windows, "cap_micro": cap.micro() })),
        "releases": known.booked.iter().map(line).collect::<Vec<_>>(),
    }))
}
