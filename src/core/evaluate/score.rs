//! One column of figures: what a source scores, by metric. What it cannot say is not there.

use std::collections::BTreeMap;

/// Figures by the id of their metric.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Score(BTreeMap<String, f64>);

impl Score {
    /// The figure of a metric, if this source has one.
    pub fn get(&self, id: &str) -> Option<f64> {
        self.0.get(id).copied()
    }

    /// Every figure there is.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(id, value)| (id.as_str(), *value))
    }

    /// Notes a figure, rounded to six digits: the last bits of logarithms differ between machines.
    pub(super) fn set(&mut self, id: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.insert(id.to_owned(), rounded(value));
        }
    }

    /// The mean of several, where all of them say something.
    pub fn mean(scores: &[Self]) -> Self {
        let mut mean = Self::default();
        let Some(first) = scores.first() else { return mean };
        for id in first.0.keys() {
            let values: Option<Vec<f64>> = scores.iter().map(|score| score.get(id)).collect();
            mean.set(id, values.map(|values| values.iter().sum::<f64>() / scores.len() as f64));
        }
        mean
    }
}

impl FromIterator<(String, f64)> for Score {
    fn from_iter<T: IntoIterator<Item = (String, f64)>>(figures: T) -> Self {
        Self(figures.into_iter().collect())
    }
}

/// To six digits behind the point.
pub(super) fn rounded(value: f64) -> f64 {
    // Plus zero: minus zero becomes zero.
    (value * 1e6).round() / 1e6 + 0.0
}
