//! A guarantee for people: in a sentence, what it does not cover, and what counts are under it.

use super::Guarantee;

impl Guarantee {
    /// Whether noise protects every single card.
    pub fn is_differential(&self) -> bool {
        matches!(self, Self::Differential { .. })
    }

    /// What the counts are, after "paths of passengers …".
    pub fn counts(&self) -> &'static str {
        match self {
            Self::Differential { .. } => "with noisy counts that protect every single card",
            Self::Lk { .. } | Self::Projection { .. } => {
                "with exact counts, after everything was suppressed that would single somebody out"
            }
            Self::Nothing { .. } => "with a promise to nobody",
        }
    }

    /// What it does not cover, one clause each.
    pub fn not_protected(&self) -> &'static [&'static str] {
        match self {
            Self::Differential { .. } => &[
                "what many passengers do together: the release is meant to show that",
                "a person with several cards as one: each card is protected by itself",
                "a card over several windows as if in one: the epsilons of the windows it travels in add up",
                "anything against somebody who has the secret that the noise was drawn with",
            ],
            Self::Lk { .. } => &[
                "a card over several windows: releases of different windows together can tell more than each alone, \
                 and nothing bounds how much more",
                "what all trajectories that share the known doublets have in common besides: they may even be the same",
                "against somebody who knows more than L doublets of a card, or that a card is not in the data",
                "a person with several cards as one: each card is protected by itself",
            ],
            Self::Projection { .. } => &[
                "a card over several windows: releases of different windows together can tell more than each alone, \
                 and nothing bounds how much more",
                "against an adversary who saw nothing of a trajectory, or who compares with its own unsuppressed log",
                "against adversaries who put together what they saw, or who know more than their own stations",
                "a person with several cards as one: each card is protected by itself",
            ],
            Self::Nothing { .. } => {
                &["anybody, in any window: the configuration asked for no protection"]
            }
        }
    }

    /// The guarantee in a few sentences.
    pub fn in_words(&self) -> String {
        match self {
            Self::Differential { epsilon_micro, unit, neighbouring } => format!(
                "Differential privacy with ε = {epsilon_micro}. The unit is {unit}; neighbouring means \
                 {neighbouring}. So whatever somebody concludes from this release, it would have come out \
                 nearly as likely had any one such unit not been there: no probability differs by more than \
                 the factor e^{epsilon_micro}. This holds against everybody who does not have the secret that \
                 the noise was drawn with, whatever else they know.",
            ),
            Self::Lk { l, k, unit, .. } => format!(
                "LK-privacy with L = {l} and K = {k}; this is not differential privacy. The unit is {unit}. Whoever \
                 knows up to {l} doublets (stations with their slots) of a card, in their order, finds none or at \
                 least {k} trajectories here that contain them: the card's own cannot be told from the others by \
                 what is known. `tapveil verify .` checks this from the files alone.",
            ),
            Self::Projection { breach, adversaries, unit, .. } => format!(
                "No adversary infers a foreign place with a probability above {breach}; this is not differential \
                 privacy. The unit is {unit}. There are {} adversaries, each with its own stations (listed in \
                 datapackage.json). Among all trajectories here that pass one of its stations and look the same to \
                 it, no place of others occurs in a greater share than {breach}. Trajectories that pass none of its stations \
                 are not covered: it sees nothing of them, and may read off here what they have in common. `tapveil verify .` checks this from the files alone.",
                adversaries.len(),
            ),
            Self::Nothing { why, .. } => format!("Nothing. {why}"),
        }
    }
}
