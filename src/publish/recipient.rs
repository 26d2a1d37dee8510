//! README.md: what a recipient must know, in words. From the release's public facts and the settings only.

use crate::engine::{Guarantee, Release};
use crate::model::Input;

use super::Settings;
use super::package::{not_protected, title, windows_note};

/// The text.
pub(super) fn readme(release: &Release, settings: &Settings) -> String {
    let (window, error) = (release.window(), release.expected_error());
    let (path_form, slots_form) = match release.input() {
        Input::Doublets => {
            ("a path is `station@slot>station@slot`, a slot is written as its beginning", "")
        }
        Input::Sequences => ("a path is `station>station`, without times", "; null: no times here"),
    };
    let sentences = not_protected(settings);
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
        deviation = format_args!("{:.1}", error.count_standard_deviation),
        likely = error.smallest_count_likely_kept,
    )
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

fn in_words(guarantee: &Guarantee) -> String {
    match guarantee {
        Guarantee::Differential { epsilon_micro, unit, neighbouring } => format!(
            "Differential privacy with ε = {epsilon_micro}. The unit is {unit}; neighbouring means \
             {neighbouring}. So whatever somebody concludes from this release, it would have come out \
             nearly as likely had any one such unit not been there: no probability differs by more than \
             the factor e^{epsilon_micro}. This holds against everybody who does not have the secret that \
             the noise was drawn with, whatever else they know.",
        ),
    }
}
