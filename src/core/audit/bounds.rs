//! Clopper and Pearson's bounds (1934) on a probability, from k hits in n throws. Floats: this is statistics about
//! releases, and no released number depends on it.

/// Below the true probability, except with probability `alpha`.
pub(super) fn lower(k: u64, n: u64, alpha: f64) -> f64 {
    if k == 0 {
        return 0.0;
    }
    // The p at which k hits or more have probability alpha: P(X ≥ k) = I_p(k, n − k + 1).
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        match incomplete_beta(k as f64, (n - k + 1) as f64, middle) < alpha {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// Above the true probability, except with probability `alpha`.
pub(super) fn upper(k: u64, n: u64, alpha: f64) -> f64 {
    1.0 - lower(n - k, n, alpha)
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method; Press et al.,
/// Numerical Recipes, 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast on one side of the mean only; the other side is one minus it.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front.exp() * fraction(a, b, x) / a,
        false => 1.0 - front.exp() * fraction(b, a, 1.0 - x) / b,
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut whole = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = whole;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            whole *= c * d;
        }
        if (whole / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    whole
}

/// ln Γ(x) for x ≥ 1/2, by Lanczos' approximation (g = 7, nine terms).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let shifted = x + 7.5;
    let tail: f64 = (1_u32..).zip(&TERMS[1..]).map(|(i, term)| term / (x + f64::from(i))).sum();
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * shifted.ln() - shifted
        + (TERMS[0] + tail).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X ≥ k) for n throws, term by term.
    fn at_least(k: u64, n: u64, p: f64) -> f64 {
        let choose = |i: u64| (1..=i).fold(1.0, |c, j| c * (n - i + j) as f64 / j as f64);
        let power = |base: f64, e: u64| base.powi(i32::try_from(e).unwrap());
        (k..=n).map(|i| choose(i) * power(p, i) * power(1.0 - p, n - i)).sum()
    }

    #[test]
    fn bounds_are_where_the_tails_have_probability_alpha() {
        for (k, n) in [(1, 10), (3, 10), (9, 10), (10, 10), (20, 60), (59, 60)] {
            for alpha in [0.05, 1e-3, 1e-6] {
                let p = lower(k, n, alpha);
                assert!((at_least(k, n, p) / alpha - 1.0).abs() < 1e-6, "{k} of {n} at {alpha}");
                let q = upper(n - k, n, alpha);
                assert!((q - (1.0 - p)).abs() < 1e-12);
            }
        }
    }

    /// Closed forms: no hit in n throws is (1 − p)^n, n hits are p^n.
    #[test]
    fn the_ends_have_closed_forms() {
        let (n, alpha) = (100_000, 1e-9_f64);
        assert_eq!(lower(0, n, alpha), 0.0);
        let none = upper(0, n, alpha);
        assert!((none / -(alpha.powf(1.0 / n as f64) - 1.0) - 1.0).abs() < 1e-6, "{none}");
        assert_eq!(upper(n, n, alpha), 1.0);
        let all = lower(n, n, alpha);
        assert!((all - alpha.powf(1.0 / n as f64)).abs() < 1e-12);
    }
}
