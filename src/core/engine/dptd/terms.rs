//! What is asked with which noise: shares of ε that add up to it, and thresholds from public numbers.

use std::sync::OnceLock;

use num_rational::Ratio;

use super::Settings;
use crate::engine::ShareFact;
use crate::engine::noise::{NodeClass, Scale, TableClass};

/// The questions of one release. Line numbers are those of PROOF.md.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// A1: the histogram of stations and slots.
    pub(super) histogram: TableClass,
    /// A3: moves from odd layers to even ones; none at height 1.
    pub(super) moves: Option<Asked>,
    /// A4: nodes of odd layers.
    pub(super) layers: Asked,
    shares: [(&'static str, Ratio<u128>, Scale); 3],
}

/// Questions of one scale; the threshold follows from how many candidates there are.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    scale: Scale,
    fixed: Option<u64>,
    /// By the number of bits of the number of candidates; each is made when it is first needed.
    classes: Vec<OnceLock<NodeClass>>,
}

impl Asked {
    fn new(scale: Scale, fixed: Option<u64>) -> Self {
        Self { scale, fixed, classes: (0..=u64::BITS).map(|_| OnceLock::new()).collect() }
    }

    /// The class for so many candidates.
    pub(super) fn among(&self, n: u64) -> &NodeClass {
        let bits = if self.fixed.is_some() { 0 } else { u64::BITS - n.leading_zeros() };
        let threshold = self.threshold(n);
        self.classes[bits as usize].get_or_init(|| NodeClass::new(self.scale, threshold))
    }

    fn threshold(&self, n: u64) -> u64 {
        self.fixed.unwrap_or_else(|| likely(self.scale, u64::BITS - n.leading_zeros()))
    }
}

/// s·ln 2·bits, rounded up: about half an empty candidate of 2^bits passes.
fn likely(scale: Scale, bits: u32) -> u64 {
    let over = u128::from(scale.num()) * 693_148 * u128::from(bits);
    let under = u128::from(scale.den()) * 1_000_000;
    u64::try_from(over.div_ceil(under)).unwrap_or(u64::MAX).max(1)
}

impl Terms {
    /// `None` if a share is too small for noise to be drawn.
    pub(super) fn new(settings: &Settings) -> Option<Self> {
        let epsilon = Ratio::new(u128::from(settings.epsilon.micro()), 1_000_000);
        let part = |micro: u32| epsilon * Ratio::new(u128::from(micro), 1_000_000);
        let height = u128::from(settings.height.get());
        let n_moves = height / 2;
        let clusters = part(settings.clusters.micro());
        let moves = if n_moves == 0 { Ratio::from(0) } else { part(settings.moves.micro()) };
        let layers = epsilon - clusters - moves;
        let most = u64::from(settings.height.get().min(settings.max_length.get()));
        let histogram = Scale::for_epsilon(clusters / u128::from(most))?;
        let of_layers = Scale::for_epsilon(layers / height.div_ceil(2))?;
        let of_moves = match n_moves {
            0 => None,
            n => Some(Scale::for_epsilon(moves / n)?),
        };
        let fixed = settings.threshold;
        Some(Self {
            histogram: TableClass { scale: histogram, most },
            moves: of_moves.map(|scale| Asked::new(scale, fixed)),
            layers: Asked::new(of_layers, fixed),
            shares: [
                ("histogram of stations and slots", clusters, histogram),
                ("moves to even layers", moves, of_moves.unwrap_or(of_layers)),
                ("nodes of odd layers", layers, of_layers),
            ],
        })
    }

    /// Every share, with the threshold for as many candidates as there can be.
    pub(super) fn facts(&self, settings: &Settings, n_slots: u32) -> Vec<ShareFact> {
        let most = u64::from(settings.stations.len()) * u64::from(n_slots);
        let epsilon = Ratio::new(u128::from(settings.epsilon.micro()), 1_000_000);
        let fact = |(number, (class, share, scale)): (usize, &(&str, Ratio<u128>, Scale))| {
            let threshold = match (number, &self.moves) {
                (0, _) => 0,
                (1, Some(moves)) => moves.threshold(most),
                _ => self.layers.threshold(most),
            };
            ShareFact {
                class: (*class).to_owned(),
                share: (*share / epsilon).to_string(),
                scale: Ratio::new(scale.num(), scale.den()).to_string(),
                threshold,
            }
        };
        let used = self.shares.iter().enumerate().filter(|(_, (_, share, _))| *share.numer() > 0);
        used.map(fact).collect()
    }

    /// The standard deviation of a node's noise; a float, for words.
    pub(super) fn deviation(&self) -> f64 {
        self.layers.scale.approximately() * std::f64::consts::SQRT_2
    }

    /// What all questions about one card cost at most.
    #[cfg(test)]
    pub(super) fn cost(&self, height: u32) -> Ratio<u128> {
        let per = |scale: Scale, n: u128| {
            Ratio::new(n * u128::from(scale.den()), u128::from(scale.num()))
        };
        let height = u128::from(height);
        let moves =
            self.moves.as_ref().map_or(Ratio::from(0), |asked| per(asked.scale, height / 2));
        per(self.histogram.scale, self.histogram.most.into())
            + moves
            + per(self.layers.scale, height.div_ceil(2))
    }
}
