//! Noise, as estimates see it.

use super::real::exp;

/// Noise of a value that is the sum of so many cells.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::weave) struct Blur {
    /// The scale of one cell's noise, in cards.
    pub(in crate::engine::weave) scale: f64,
    /// How many cells were added up.
    pub(in crate::engine::weave) cells: f64,
}

impl Blur {
    pub(in crate::engine::weave) fn variance(self) -> f64 {
        2.0 * self.scale * self.scale * self.cells
    }

    pub(in crate::engine::weave) fn deviation(self) -> f64 {
        self.variance().sqrt()
    }

    /// The same noise on the sum of `cells` cells.
    pub(in crate::engine::weave) fn over(self, cells: usize) -> Self {
        Self { cells: cells as f64, ..self }
    }

    /// How likely a distance from the truth is, up to a factor that is the same for all.
    pub(super) fn likelihood(self, distance: f64) -> f64 {
        if self.cells <= 1.0 {
            exp(-distance.abs() / self.scale)
        } else {
            exp(-distance * distance / (2.0 * self.variance()))
        }
    }

    /// How likely one cell that holds `value` stays below a threshold.
    pub(super) fn below(self, threshold: f64, value: f64) -> f64 {
        let tail = 0.5 * exp(-(threshold - value).abs() / self.scale);
        if threshold >= value { 1.0 - tail } else { tail }
    }
}
