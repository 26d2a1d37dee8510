//! One release: what it promises, what it shows, and its files. Public numbers only.

use maud::{Markup, html};
use serde_json::Value;

use super::pages::framed;
use super::{Shown, plots};
use crate::publish::shelf::Opened;

const FLOWS: usize = 15;

pub(super) fn page(shown: &Shown, name: &str, opened: &Opened) -> Markup {
    let privacy = &opened.manifest["privacy"];
    let window = &privacy["window"];
    framed(
        &shown.facts,
        &opened.title,
        &html! {
            p { (text(&window["start"])) " to " (text(&window["end"])) " (" (text(&window["time_zone"])) ")" }
            @if opened.problems.is_empty() {
                p { "Checked just now: hashes, manifest and rows fit together." }
                (content(name, opened, privacy))
            } @else {
                p.bad role="alert" { "This release was changed after it was published. Nothing of it is shown or handed out." }
                ul { @for problem in &opened.problems { li { (problem) } } }
            }
        },
    )
}

fn content(name: &str, opened: &Opened, privacy: &Value) -> Markup {
    let picture = &opened.picture;
    html! {
        h2 { "What it promises" }
        p { (in_words(&privacy["guarantee"])) }
        (members(&privacy["guarantee"]))
        h2 { "What it shows" }
        p { (picture.n_rows) " paths that stand for " (picture.n_trips) " passengers, counted from the release." }
        @if picture.n_rows == 0 {
            p { "No path was strong enough to be shown under this guarantee." }
        } @else {
            h2 { "Stations by time of day" }
            div.wide { (plots::heat_map(picture)) }
            h2 { "Strongest flows" }
            div.wide { table {
                thead { tr { th { "From" } th { "To" } th.n { "Passengers" } } }
                tbody { @for (from, to, count) in picture.flows.iter().take(FLOWS) {
                    tr { td { (from) } td { (to) } td.n { (count) } }
                } }
            } }
            h2 { "Stations per path" }
            div.wide { (plots::lengths(picture)) }
        }
        h2 { "Files" }
        table {
            thead { tr { th { "File" } th.n { "Bytes" } } }
            tbody { @for (file, bytes) in &opened.files {
                tr { td { a href=(format!("/releases/{name}/{file}")) download=(file) { (file) } } td.n { (bytes) } }
            } }
        }
        h2 { "Engine" }
        p { (text(&privacy["engine"]["name"])) ", revision " (text(&privacy["engine"]["version"])) }
        (members(&privacy["engine"]["parameters"]))
        details {
            summary { "The whole manifest" }
            pre { (serde_json::to_string_pretty(&opened.manifest).unwrap_or_default()) }
        }
    }
}

/// The guarantee in a sentence.
fn in_words(guarantee: &Value) -> String {
    let model = text(&guarantee["model"]);
    match guarantee["epsilon_micro"].as_u64() {
        Some(micro) => format!(
            "Differential privacy: whether any one passenger's card was in the data or not, nothing in this release is more than \
             e^{} times as likely. Holds against everybody without the secret.",
            crate::model::MicroEpsilon::new(micro)
        ),
        None if model == "none" => "None: this release protects nobody.".to_owned(),
        None => format!(
            "{model}: a promise about what can be read off this release alone. It is not differential privacy."
        ),
    }
}

fn members(value: &Value) -> Markup {
    let empty = serde_json::Map::new();
    let members = value.as_object().unwrap_or(&empty);
    html! {
        @if !members.is_empty() {
            div.wide { table { tbody { @for (name, value) in members {
                tr { th { (name) } td { (text(value)) } }
            } } } }
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
