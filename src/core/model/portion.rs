//! A part of a whole, as an exact decimal. No float ever holds one.

use std::fmt;

/// A number from 0 to 1, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Portion(u32);

/// Why a text is not a part of a whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PortionError {
    /// Not digits with at most one point.
    #[error("is not a decimal number like \"0.5\"")]
    NotDecimal,
    /// Digits below a millionth.
    #[error("has digits below 0.000001, the smallest unit")]
    TooFine,
    /// Below 0 or above 1.
    #[error("is not between 0 and 1")]
    Outside,
}

impl Portion {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// So many millionths; `None` above the whole.
    pub fn from_micro(micro: u32) -> Option<Self> {
        (micro <= Self::ONE.0).then_some(Self(micro))
    }

    /// The number of millionths.
    pub const fn micro(self) -> u32 {
        self.0
    }

    /// Whether `part` of `whole` is more than this portion, exactly.
    pub fn is_exceeded_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(Self::ONE.0) > u128::from(whole) * u128::from(self.0)
    }

    /// Reads an exact decimal such as `"0.5"`.
    pub fn parse(text: &str) -> Result<Self, PortionError> {
        let text = text.trim();
        if text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Err(PortionError::Outside);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty())
            || !digits_only(whole)
            || !digits_only(fraction)
        {
            return Err(PortionError::NotDecimal);
        }
        let fine = fraction.trim_end_matches('0');
        if fine.len() > 6 {
            return Err(PortionError::TooFine);
        }
        let whole = match whole.trim_start_matches('0') {
            "" => 0,
            "1" => Self::ONE.0,
            _ => return Err(PortionError::Outside),
        };
        let fine: u32 = format!("{fine:0<6}").parse().expect("six decimal digits fit in 32 bits");
        Self::from_micro(whole + fine).ok_or(PortionError::Outside)
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fine) = (self.0 / Self::ONE.0, self.0 % Self::ONE.0);
        let fine = format!("{fine:06}");
        let fine = fine.trim_end_matches('0');
        write!(f, "{whole}.{}", if fine.is_empty() { "0" } else { fine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_exact_millionths_and_read_back() {
        for (text, micro) in [("0.5", 500_000), ("1", 1_000_000), (".2", 200_000), ("0", 0)] {
            let portion = Portion::parse(text).unwrap();
            assert_eq!(portion.micro(), micro, "{text}");
            assert_eq!(Portion::parse(&portion.to_string()), Ok(portion));
        }
        assert_eq!(Portion::parse("0.0000001"), Err(PortionError::TooFine));
        for text in ["-0.1", "1.000001", "2", "10"] {
            assert_eq!(Portion::parse(text), Err(PortionError::Outside), "{text}");
        }
        for text in ["", ".", "a", "1e-1", "0,5", "NaN", "-"] {
            assert_eq!(Portion::parse(text), Err(PortionError::NotDecimal), "{text}");
        }
    }

    #[test]
    fn exactly_the_portion_does_not_exceed_it() {
        let half = Portion::parse("0.5").unwrap();
        assert!(!half.is_exceeded_by(1, 2) && half.is_exceeded_by(2, 3));
        let third = Portion::parse("0.333333").unwrap();
        assert!(third.is_exceeded_by(1, 3) && !third.is_exceeded_by(333_333, 1_000_000));
    }
}
