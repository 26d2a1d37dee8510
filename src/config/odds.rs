//! Words for numbers that officers read: odds for an ε, lengths of time. For words only.

use std::fmt;

use crate::model::{Length, MicroEpsilon};

/// What even odds can become under ε, at most.
pub(super) struct Odds {
    /// Chances in a hundred.
    of_hundred: f64,
}

impl Odds {
    pub(super) fn of(epsilon: MicroEpsilon) -> Self {
        let factor = (epsilon.micro() as f64 / 1e6).exp();
        Self { of_hundred: 100.0 * factor / (1.0 + factor) }
    }
}

impl fmt::Display for Odds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_hundred {
            // Rounded up: the words never promise more than the number.
            chances if chances <= 99.0 => write!(f, "at most {:.0} in 100", chances.ceil()),
            chances if chances < 99.9 => {
                write!(f, "at most {:.1} in 100", (chances * 10.0).ceil() / 10.0)
            }
            _ => f.write_str("nearly certain: at this point the number promises nothing"),
        }
    }
}

/// A length of time in the largest unit that fits evenly.
pub(super) fn days(secs: i64) -> String {
    let units =
        [(604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| secs % unit == 0 && secs >= *unit)
        .unwrap_or((1, "second"));
    match secs / unit {
        1 => format!("1 {name}"),
        n => format!("{n} {name}s"),
    }
}

/// How long windows are, in words.
pub fn window_length(length: Length) -> String {
    match length {
        Length::Seconds(secs) => days(secs),
        Length::Weeks { begin, .. } => format!("{} from {begin:?}", days(length.longest_secs())),
        Length::Month => "1 calendar month".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_are_rounded_against_us() {
        let said = |micro| Odds::of(MicroEpsilon::new(micro)).to_string();
        assert_eq!(said(100_000), "at most 53 in 100");
        assert_eq!(said(1_000_000), "at most 74 in 100");
        assert_eq!(said(5_000_000), "at most 99.4 in 100");
        assert!(said(20_000_000).contains("nearly certain"));
    }

    #[test]
    fn lengths_are_said_in_the_largest_unit_that_fits() {
        let said = [604_800, 86_400, 7_200, 5_400, 1, 0].map(days);
        assert_eq!(said, ["1 week", "1 day", "2 hours", "90 minutes", "1 second", "0 seconds"]);
    }
}
