//! What a release costs, in whole micro-ε. No float ever holds a budget.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A privacy budget or a part of one, in millionths of ε.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroEpsilon(u64);

/// Why a text is not a budget.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PriceError {
    /// Not digits with at most one point.
    #[error("is not a decimal number like \"1.0\"")]
    NotDecimal,
    /// Zero.
    #[error("must be greater than zero")]
    Zero,
    /// Below the sign.
    #[error("must be greater than zero, not negative")]
    Negative,
    /// Infinity, NaN.
    #[error("must be a finite number")]
    NotFinite,
    /// Digits below a micro-ε.
    #[error("has digits below one micro-epsilon (0.000001), the smallest unit")]
    TooFine,
    /// Above what the arithmetic is proved for.
    #[error("is greater than {}, the largest budget this program computes with", MicroEpsilon::MAX)]
    TooLarge,
}

impl MicroEpsilon {
    /// The largest budget: 10,000. Far above any meaningful ε, and small enough for exact products.
    pub const MAX: Self = Self(10_000_000_000);

    /// So many millionths.
    pub const fn new(micro: u64) -> Self {
        Self(micro)
    }

    /// The number of millionths.
    pub const fn micro(self) -> u64 {
        self.0
    }

    /// Adds; `None` beyond 64 bits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Reads an exact decimal such as `"1.0"` or `"0.25"`.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix('-') {
            return Err(if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                PriceError::Negative
            } else {
                PriceError::NotFinite
            });
        }
        if matches!(lower.trim_start_matches('+'), "nan" | "inf" | "infinity") {
            return Err(PriceError::NotFinite);
        }
        let (whole, fraction) = lower.split_once('.').unwrap_or((&lower, ""));
        let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty())
            || !digits_only(whole)
            || !digits_only(fraction)
        {
            return Err(PriceError::NotDecimal);
        }
        let fine = fraction.trim_end_matches('0');
        if fine.len() > 6 {
            return Err(PriceError::TooFine);
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > 6 {
            return Err(PriceError::TooLarge);
        }
        let micro: u64 = format!("{whole}{fine:0<6}")
            .parse()
            .expect("at most twelve decimal digits fit in 64 bits");
        match Self(micro) {
            Self(0) => Err(PriceError::Zero),
            large if large > Self::MAX => Err(PriceError::TooLarge),
            good => Ok(good),
        }
    }
}

impl fmt::Display for MicroEpsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fine) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let fine = format!("{fine:06}");
        let fine = fine.trim_end_matches('0');
        write!(f, "{whole}.{}", if fine.is_empty() { "0" } else { fine })
    }
}

/// The price of one release, set by an engine from its configuration alone.
///
/// The fields are private: a cost is made by an engine's `price`, which cannot see data, and read back
/// by the ledger from its own records.
///
/// ```compile_fail
/// let free = tapveil_core::model::Cost { epsilon: tapveil_core::model::MicroEpsilon::new(0) };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    epsilon: Option<MicroEpsilon>,
}

impl Cost {
    /// The price of a differentially private release.
    pub(crate) fn differential(epsilon: MicroEpsilon) -> Self {
        Self { epsilon: Some(epsilon) }
    }

    /// The price of a release that promises no differential privacy: no budget pays for it, and none is left
    /// beside it.
    pub(crate) fn syntactic() -> Self {
        Self { epsilon: None }
    }

    /// Whether the release is differentially private.
    pub fn is_differential(&self) -> bool {
        self.epsilon.is_some()
    }

    /// The budget it takes; zero for a release that promises no differential privacy.
    pub fn epsilon(&self) -> MicroEpsilon {
        self.epsilon.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds N-1.
    #[test]
    fn decimals_become_exact_micro_epsilon() {
        let parse = MicroEpsilon::parse;
        assert_eq!(parse("1.0"), Ok(MicroEpsilon(1_000_000)));
        assert_eq!(parse("0.1"), Ok(MicroEpsilon(100_000)));
        assert_eq!(parse(".5"), Ok(MicroEpsilon(500_000)));
        assert_eq!(parse("0.000001"), Ok(MicroEpsilon(1)));
        assert_eq!(parse("0001.2500000000"), Ok(MicroEpsilon(1_250_000)));
        assert_eq!(parse("10000"), Ok(MicroEpsilon::MAX));
    }

    #[test]
    fn everything_else_is_refused_for_its_own_reason() {
        let parse = |text| MicroEpsilon::parse(text).unwrap_err();
        assert_eq!(parse("0"), PriceError::Zero);
        assert_eq!(parse("0.000000"), PriceError::Zero);
        assert_eq!(parse("-1"), PriceError::Negative);
        assert_eq!(parse("NaN"), PriceError::NotFinite);
        assert_eq!(parse("inf"), PriceError::NotFinite);
        assert_eq!(parse("-inf"), PriceError::NotFinite);
        assert_eq!(parse("0.0000001"), PriceError::TooFine);
        assert_eq!(parse("10000.000001"), PriceError::TooLarge);
        assert_eq!(parse("99999999999999999999"), PriceError::TooLarge);
        assert_eq!(parse("1e3"), PriceError::NotDecimal);
        assert_eq!(parse(""), PriceError::NotDecimal);
        assert_eq!(parse("."), PriceError::NotDecimal);
        assert_eq!(parse("1.2.3"), PriceError::NotDecimal);
    }

    #[test]
    fn display_reads_back_as_itself() {
        for micro in [1, 10, 999_999, 1_000_000, 1_250_000, 10_000_000_000] {
            let price = MicroEpsilon(micro);
            assert_eq!(MicroEpsilon::parse(&price.to_string()), Ok(price));
        }
    }
}
