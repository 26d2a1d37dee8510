//! The samplers of Canonne, Kamath and Steinke (2020), algorithms 1 and 2, in 64-bit integers.
//!
//! Letters as in PROOF.md: a scale `num/den` has a = e^(−den/num).

use rand_chacha::rand_core::Rng;

use super::Scale;

/// Uniform on `0..n`, exactly: multiply and reject (Lemire 2019). `n` is at least 1.
pub(super) fn uniform_below(rng: &mut impl Rng, n: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(n);
    let mut low = product as u64;
    if low < n {
        let biased = n.wrapping_neg() % n;
        while low < biased {
            product = u128::from(rng.next_u64()) * u128::from(n);
            low = product as u64;
        }
    }
    (product >> 64) as u64
}

/// True with probability e^(−u/t), for 0 ≤ u ≤ t. Line B of PROOF.md.
fn bernoulli_exp(rng: &mut impl Rng, u: u64, t: u64) -> bool {
    let mut k = 1;
    // Continue with probability (u/t)·(1/k); the two factors are drawn apart so that nothing overflows.
    while uniform_below(rng, t) < u && (k == 1 || uniform_below(rng, k) == 0) {
        k += 1;
    }
    k % 2 == 1
}

/// How often e⁻¹ comes up before it fails: P(v) = e^(−v)·(1 − e⁻¹).
fn whole_units(rng: &mut impl Rng) -> u64 {
    let mut v = 0;
    while bernoulli_exp(rng, 1, 1) {
        v += 1;
    }
    v
}

/// Geometric: P(y) = (1 − a)·a^y. Line G of PROOF.md.
pub fn geometric(rng: &mut impl Rng, scale: Scale) -> u64 {
    let t = scale.num();
    let u = loop {
        let u = uniform_below(rng, t);
        if bernoulli_exp(rng, u, t) {
            break u;
        }
    };
    let x = u128::from(u) + u128::from(t) * u128::from(whole_units(rng));
    // Beyond 2⁶⁴ the answer is cut: at most 2^62·v, so this needs v ≥ 4 at the largest scale and changes
    // nothing a caller can see (a gap beyond every candidate, a count beyond every count).
    u64::try_from(x / u128::from(scale.den())).unwrap_or(u64::MAX)
}

/// Discrete Laplace: P(x) = (1 − a)/(1 + a)·a^|x|. Line D of PROOF.md.
pub fn discrete_laplace(rng: &mut impl Rng, scale: Scale) -> i64 {
    loop {
        let negative = rng.next_u64() & 1 == 1;
        let size = i64::try_from(geometric(rng, scale)).unwrap_or(i64::MAX);
        if !negative {
            return size;
        }
        // Zero has one sign only, or it would come twice as often as it should.
        if size != 0 {
            return -size;
        }
    }
}
