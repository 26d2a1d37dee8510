//! Exponential and logarithm from sums, products and quotients alone: the same bits on every machine, which the
//! system's mathematical library does not promise. Post-processing only; no budget or noise comes here.

const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e^x; 0 far below zero, capped far above.
pub(in crate::engine::weave) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    let x = x.min(700.0);
    let halvings = (x / std::f64::consts::LN_2).round();
    let rest = (x - halvings * LN_2_HIGH) - halvings * LN_2_LOW;
    let mut sum = 1.0;
    for n in (1..=12).rev() {
        sum = 1.0 + sum * rest / f64::from(n);
    }
    // 2^halvings, from its exponent.
    let exponent = (1_023 + halvings as i64).unsigned_abs();
    sum * f64::from_bits(exponent << 52)
}

/// The natural logarithm of a positive number.
pub(in crate::engine::weave) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i64 - 1_023;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | 1_023 << 52);
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    for n in (0..16).rev() {
        sum = sum * square + 1.0 / f64::from(2 * n + 1);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * ratio * sum
}

/// A step of half an octave: numbers of one class differ by at most a factor of √2.
pub(in crate::engine::weave) fn half_octave(x: f64) -> u64 {
    x.to_bits() >> 51
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_and_ln_agree_with_the_library_to_twelve_digits() {
        for n in -2_000..2_000 {
            let x = f64::from(n) / 37.0;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-12, "{x}");
            let y = x.exp();
            assert!((ln(y) - y.ln()).abs() < 1e-12 * (1.0 + y.ln().abs()), "{y}");
        }
        assert_eq!(exp(-1_000.0), 0.0);
    }
}
