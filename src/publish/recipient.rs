//! README.md: what a recipient must know, in words. From the release's public facts and the settings only.

use crate::engine::{ExpectedError, Release};
use crate::model::PathKind;

use super::Settings;
use super::words::{in_words, not_protected, title, windows_note};

/// The text.
pub(super) fn readme(release: &Release, settings: &Settings) -> String {
    let window = release.window();
    let (path_form, slots_form) = match release.input() {
        PathKind::Timed => {
            ("a path is `station@slot>station@slot`, a slot is written as its beginning", "")
        }
        PathKind::Untimed => {
            ("a path is `station>station`, without times", "; null: no times here")
        }
    };
    let sentences = not_protected(release, settings);
    let (counts, about) = match release.cost().is_differential() {
        true => ("noisy counts", "about `count`"),
        false => ("exact counts of what suppression left", "`count`"),
    };
    format!(
        include_str!("recipient.md"),
        title = title(settings),
        start = window.start_label(),
        end = window.end_label(),
        zone = window.zone_name(),
        id = release.id().as_str(),
        feed = settings.feed,
        terms = terms(settings),
        guarantee = in_words(release.guarantee()),
        closing = settings.closing,
        not_protected = sentences.iter().map(|s| format!("- {s}\n")).collect::<String>().trim_end(),
        windows_note = windows_note(settings),
        path_form = path_form,
        slots_form = slots_form,
        counts = counts,
        about = about,
        conclusions = conclusions(release),
    )
}

/// What not to conclude, one sentence a line.
fn conclusions(release: &Release) -> String {
    match release.expected_error() {
        Some(error) => format!(
            include_str!("recipient_noisy.md"),
            deviation =
                format_args!("{:.1}", error.get(ExpectedError::DEVIATION).unwrap_or_default()),
            likely = error.get(ExpectedError::LIKELY_KEPT).unwrap_or_default(),
        ),
        None => include_str!("recipient_suppressed.md").to_owned(),
    }
}

fn terms(settings: &Settings) -> String {
    let licence = match settings.licence.trim() {
        "" => "No licence was given: ask before you pass it on.".to_owned(),
        licence => format!("Licence: {licence}."),
    };
    match settings.contact.trim() {
        "" => licence,
        contact => format!("{licence} Contact: {contact}"),
    }
}
