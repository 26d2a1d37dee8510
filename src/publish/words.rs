//! What a release says about itself in words: from its public facts and the settings, never from the rows.

use crate::engine::{Guarantee, Release};

use super::Settings;

/// The title, or a plain one where the configuration has none.
pub(super) fn title(settings: &Settings) -> String {
    match settings.title.trim() {
        "" => format!("Private release of the feed {}", settings.feed),
        title => title.to_owned(),
    }
}

/// What the counts are, after "paths of passengers …".
pub(super) fn counts(release: &Release) -> &'static str {
    match release.guarantee() {
        Guarantee::Differential { .. } => "with noisy counts that protect every single card",
        Guarantee::Lk { .. } | Guarantee::Projection { .. } => {
            "with exact counts, after everything was suppressed that would single somebody out"
        }
        Guarantee::Nothing { .. } => "with a promise to nobody",
    }
}

/// What one count is.
pub(super) fn count(release: &Release) -> &'static str {
    match release.cost().is_differential() {
        true => "Passengers, noisy; at least 1",
        false => "Passengers whose trips look like this after suppression; at least 1",
    }
}

/// Whether the existence of this window tells something.
pub(super) fn windows_note(settings: &Settings) -> &'static str {
    match settings.windows_protected {
        true => {
            "Which windows have a release was fixed in the configuration: that this one exists, even \
             empty, says nothing about anybody."
        }
        false => {
            "Which windows have a release was read off the data: that this one exists is not protected, \
             because it says that somebody travelled in it."
        }
    }
}

/// What the guarantee does not cover, in sentences.
pub(super) fn not_protected(release: &Release, settings: &Settings) -> Vec<String> {
    let mut sentences = vec!["stations, slots and windows themselves, which are public"];
    sentences.extend(match release.guarantee() {
        Guarantee::Differential { .. } => &[
            "what many passengers do together: the release is meant to show that",
            "a person with several cards as one: each card is protected by itself",
            "a card over several windows as if in one: the epsilons of the windows it travels in add up",
            "anything against somebody who has the secret that the noise was drawn with",
        ][..],
        Guarantee::Lk { .. } => &[
            "a card over several windows: releases of different windows together can tell more than each alone, \
             and nothing bounds how much more",
            "what all trajectories that share the known doublets have in common besides: they may even be the same",
            "against somebody who knows more than L doublets of a card, or that a card is not in the data",
            "a person with several cards as one: each card is protected by itself",
        ],
        Guarantee::Projection { .. } => &[
            "a card over several windows: releases of different windows together can tell more than each alone, \
             and nothing bounds how much more",
            "against an adversary who saw nothing of a trajectory, or who compares with its own unsuppressed log",
            "against adversaries who put together what they saw, or who know more than their own stations",
            "a person with several cards as one: each card is protected by itself",
        ],
        Guarantee::Nothing { .. } => &["anybody, in any window: the configuration asked for no protection"],
    });
    if !settings.windows_protected {
        sentences.push("that this window has a release: it was read off the data");
    }
    sentences.into_iter().map(str::to_owned).collect()
}

/// The guarantee for people.
pub(super) fn in_words(guarantee: &Guarantee) -> String {
    match guarantee {
        Guarantee::Differential { epsilon_micro, unit, neighbouring } => format!(
            "Differential privacy with ε = {epsilon_micro}. The unit is {unit}; neighbouring means \
             {neighbouring}. So whatever somebody concludes from this release, it would have come out \
             nearly as likely had any one such unit not been there: no probability differs by more than \
             the factor e^{epsilon_micro}. This holds against everybody who does not have the secret that \
             the noise was drawn with, whatever else they know.",
        ),
        Guarantee::Lk { l, k, unit, .. } => format!(
            "LK-privacy with L = {l} and K = {k}; this is not differential privacy. The unit is {unit}. Whoever \
             knows up to {l} doublets (stations with their slots) of a card, in their order, finds none or at \
             least {k} trajectories here that contain them: the card's own cannot be told from the others by \
             what is known. `tapveil verify .` checks this from the files alone.",
        ),
        Guarantee::Projection { breach, adversaries, unit, .. } => format!(
            "No adversary infers a foreign place with a probability above {breach}; this is not differential \
             privacy. The unit is {unit}. There are {} adversaries, each with its own stations (listed in \
             datapackage.json). Among all trajectories here that look the same to one of them, no place of others \
             occurs in a greater share than {breach}. `tapveil verify .` checks this from the files alone.",
            adversaries.len(),
        ),
        Guarantee::Nothing { why, .. } => format!("Nothing. {why}"),
    }
}
