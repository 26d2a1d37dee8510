//! One release: what it promises, what it shows, and its files. Public numbers only.

use maud::{Markup, html};
use serde_json::Value;

use super::Shown;
use super::pages::framed;
use crate::publish::catalog::Opened;
use crate::publish::report;

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
    let view = &opened.view;
    html! {
        h2 { "What it promises" }
        p { (opened.guarantee) }
        p { (view.n_rows) " paths that stand for " (view.n_trips) " passengers, counted from the release." }
        (report::sections(view))
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
        h2 { "The guarantee, member by member" }
        (members(&privacy["guarantee"]))
        details {
            summary { "The whole manifest" }
            pre { (serde_json::to_string_pretty(&opened.manifest).unwrap_or_default()) }
        }
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
