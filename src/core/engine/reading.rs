//! How recipients should read a release: an engine's own words for the README, the report and the data package.

use super::ExpectedError;

/// Words about the rows of a release. From parameters only, never from data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What a row of paths.csv says, as a sentence.
    pub row: &'static str,
    /// What one count is.
    pub count: &'static str,
    /// How exact the numbers are.
    pub error: String,
    /// What not to conclude, one sentence each.
    pub cautions: Vec<String>,
}

impl Reading {
    /// Rows that were counted and got noise.
    pub fn noisy(error: &ExpectedError) -> Self {
        let deviation = error.get(ExpectedError::DEVIATION).unwrap_or_default();
        let likely = error.get(ExpectedError::LIKELY_KEPT).unwrap_or_default();
        Self {
            row: "About `count` passengers made this trip.",
            count: "Passengers, noisy; at least 1",
            error: format!(
                "The noise on one path has a standard deviation of about {deviation:.1}. A path with fewer than \
                 {likely} passengers is more likely missing than not: counts added up over many paths come out too low."
            ),
            cautions: vec![
                format!(
                    "A small count is mostly noise. The noise on one path has a standard deviation of about \
                     {deviation:.1}; compare counts only where they differ by several times that, or add many rows up \
                     first."
                ),
                format!(
                    "A path that is not listed is not a path with no passengers. Rare paths are left out on purpose: \
                     one with fewer than {likely} passengers is more likely missing than not."
                ),
                "A listed path need not have happened. Noise makes some up, most of them with small counts.".to_owned(),
            ],
        }
    }

    /// Rows that suppression left, with exact counts.
    pub fn suppressed() -> Self {
        Self {
            row: "`count` passengers made this trip, as far as suppression left it.",
            count: "Passengers whose trips look like this after suppression; at least 1",
            error: "Counts are exact counts of what suppression left. Every count is at most as many as travelled, and \
                    paths have gaps."
                .to_owned(),
            cautions: [
                "A count is what suppression left, not what happened: trips that would have singled somebody out lost \
                 stations, and may look like shorter trips here.",
                "A path that is not listed is not a path with no passengers. If no path is listed at all, nothing could \
                 be shown under the promise above, or nobody travelled: the files do not tell which.",
                "This release beside one of another window can tell more than both alone; nothing bounds how much.",
            ]
            .map(str::to_owned)
            .into(),
        }
    }
}
