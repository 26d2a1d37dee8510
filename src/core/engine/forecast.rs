//! What an engine can say before there is any data: shares of the budget, errors to expect, warnings.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The cards of a window of which nothing is known.
pub const USUAL_CARDS: u64 = 100_000;

/// One class of questions with its share of the budget and what follows from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShareFact {
    /// Which questions.
    pub class: String,
    /// Share of the release's ε, an exact fraction.
    pub share: String,
    /// Scale of the noise, an exact fraction.
    pub scale: String,
    /// Smallest noisy count that is kept.
    pub threshold: u64,
}

/// One number about the error to expect.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its name in the manifest.
    pub name: &'static str,
    /// The number; a float, for words only.
    pub value: f64,
    /// What it is, for people.
    pub about: &'static str,
}

/// What error to expect, from the parameters alone.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExpectedError {
    /// Every number that the engine can give.
    pub figures: Vec<Figure>,
}

impl ExpectedError {
    /// Standard deviation of the noise on one count.
    pub const DEVIATION: &str = "count_standard_deviation";
    /// A path with fewer passengers is more likely missing than not.
    pub const LIKELY_KEPT: &str = "smallest_count_likely_kept";

    /// The number of this name, if the engine gives one.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

impl Serialize for ExpectedError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.figures.len()))?;
        for Figure { name, value, .. } in &self.figures {
            // A count is written as a whole number.
            match value.fract() == 0.0 && (0.0..9e15).contains(value) {
                true => map.serialize_entry(name, &(*value as u64))?,
                false => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

/// What an engine's configuration means before there is any data; for words and tables.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Forecast {
    /// What the shares are about, e.g. "every class of tree nodes on a path".
    pub shares_of: &'static str,
    /// Every class of questions with its share of the budget; empty for engines without one.
    pub shares: Vec<ShareFact>,
    /// What error to expect.
    pub expected_error: Option<ExpectedError>,
    /// What is allowed but probably not meant, in sentences.
    pub warnings: Vec<String>,
}
