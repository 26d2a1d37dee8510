//! One digit of a geometric number, drawn by inverting its staircase of probabilities, exactly.
//!
//! Line S of PROOF.md: a digit is below or at j with probability F(j). A uniform real falls onto one step of
//! that staircase. One 64-bit word of the uniform decides unless it falls into a sliver around a step's edge
//! that the table is not known to; then edges and uniform are computed to more bits, until they decide.

use num_bigint::BigUint;
use num_traits::One;
use rand_chacha::rand_core::Rng;

use super::real::{Interval, exp_minus};

/// A table's edge is at most so many units of 2⁻⁶⁴ below the true edge.
const SLIVER: u64 = 2;

/// The distribution of one digit: P(j) is proportional to r^j with r = e^(−num/den), over all j or the first
/// `n_sides`.
#[derive(Clone, Debug)]
pub(super) struct Staircase {
    pub(super) num: BigUint,
    pub(super) den: BigUint,
    pub(super) n_sides: Option<u64>,
}

impl Staircase {
    /// Guard bits that pay for dividing by 1 − r^n, which is at least 2⁻⁶³, and for a thousand products.
    const GUARD: u64 = 160;

    /// F(j) = (1 − r^(j+1))/(1 − r^n) as an interval of `bits` bits.
    fn edge(&self, j: u64, bits: u64) -> Interval {
        let power = exp_minus(&(&self.num * (j + 1)), &self.den, bits + Self::GUARD);
        self.edge_from(j, &power, &self.whole(bits), bits)
    }

    /// 1 − r^n, the weight of all sides, with guard bits.
    fn whole(&self, bits: u64) -> Interval {
        let one = BigUint::one() << (bits + Self::GUARD);
        let Some(n) = self.n_sides else { return Interval { low: one.clone(), high: one } };
        let last = exp_minus(&(&self.num * n), &self.den, bits + Self::GUARD);
        Interval { low: &one - last.high, high: one - last.low }
    }

    fn edge_from(&self, j: u64, power: &Interval, whole: &Interval, bits: u64) -> Interval {
        let unit = BigUint::one() << bits;
        if self.n_sides.is_some_and(|n| j + 1 >= n) {
            return Interval { low: unit.clone(), high: unit };
        }
        let one = BigUint::one() << (bits + Self::GUARD);
        let low = ((&one - &power.high) << bits) / &whole.high;
        let high = ((one - &power.low) << bits) / &whole.low + 1_u32;
        Interval { low, high: high.min(unit) }
    }

    /// Edges to 64 bits, from the first to the last side, or until they cannot be told from 1.
    fn table(&self) -> Vec<u64> {
        const BITS: u64 = 64;
        let (whole, guard) = (self.whole(BITS), BITS + Self::GUARD);
        let step = exp_minus(&self.num, &self.den, guard);
        let mut power = step.clone();
        let mut table = Vec::new();
        loop {
            let j = table.len() as u64;
            let Interval { low, high } = self.edge_from(j, &power, &whole, BITS);
            assert!(high <= &low + SLIVER, "N-2: an edge is known to {SLIVER} units");
            // An edge at 1 does not fit a word; the largest word leaves the last unit to `decide`.
            let low = u64::try_from(low).unwrap_or(u64::MAX);
            table.push(low);
            if low >= u64::MAX - SLIVER || self.n_sides == Some(j + 1) {
                return table;
            }
            power.low = (&power.low * &step.low) >> guard;
            power.high = ((&power.high * &step.high) >> guard) + 1_u32;
        }
    }
}

/// A digit with its table.
#[derive(Clone, Debug)]
pub(super) struct Digit {
    stairs: Staircase,
    edges: Box<[u64]>,
    /// Where to begin to look, by the uniform's first eight bits.
    guide: Box<[u32; 256]>,
}

impl Digit {
    pub(super) fn new(stairs: Staircase) -> Self {
        let edges = stairs.table().into_boxed_slice();
        let mut guide = Box::new([0; 256]);
        for (first, index) in (0_u64..).zip(guide.iter_mut()) {
            let before = edges.partition_point(|&edge| edge <= first << 56);
            *index = u32::try_from(before).expect("a table of at most a few thousand edges");
        }
        Self { stairs, edges, guide }
    }

    /// Draws it.
    #[inline]
    pub(super) fn draw(&self, rng: &mut impl Rng) -> u64 {
        let word = rng.next_u64();
        let mut index = self.guide[(word >> 56) as usize] as usize;
        while let Some(&edge) = self.edges.get(index) {
            if word < edge {
                // Below this edge for sure; above the one before for sure unless it is very near.
                if index == 0 || word - self.edges[index - 1] >= SLIVER {
                    return index as u64;
                }
                break;
            }
            index += 1;
        }
        self.decide(rng, word)
    }

    /// The rare rest of a draw: more bits of the uniform against more bits of the edges.
    #[cold]
    fn decide(&self, rng: &mut impl Rng, word: u64) -> u64 {
        let surely_above = |&edge: &u64| u128::from(edge) + u128::from(SLIVER) <= u128::from(word);
        let mut j = self.edges.partition_point(surely_above) as u64;
        let mut uniform = BigUint::from(word);
        let mut bits = 64;
        loop {
            uniform = (uniform << 64) + BigUint::from(rng.next_u64());
            bits += 64;
            // The uniform lies in [uniform, uniform + 1) units of the last bit.
            loop {
                let Interval { low, high } = self.stairs.edge(j, bits);
                if uniform < low {
                    return j;
                }
                if uniform < high {
                    break;
                }
                j += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{SeedableRng, TryRng};

    use super::*;

    fn stairs(num: u64, den: u64, n_sides: Option<u64>) -> Staircase {
        Staircase { num: num.into(), den: den.into(), n_sides }
    }

    /// A generator whose first word is chosen, so that a draw falls where it hardly ever does.
    struct From(u64, ChaCha20Rng);

    impl TryRng for From {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.1.try_next_u32()
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            let next = self.1.try_next_u64()?;
            Ok(std::mem::replace(&mut self.0, next))
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            self.1.try_fill_bytes(bytes)
        }
    }

    /// A word that lies on an edge goes to one of its two sides, and each word beside it to its own.
    #[test]
    fn words_near_an_edge_are_decided_by_more_bits() {
        for (num, den, n_sides) in [(1, 3, None), (1, 96, Some(256)), (1, 1 << 62, Some(256))] {
            let digit = Digit::new(stairs(num, den, n_sides));
            for j in [0, 1, 20] {
                let edge = digit.edges[j];
                let at = |word| digit.draw(&mut From(word, ChaCha20Rng::from_seed([1; 32])));
                assert_eq!(at(edge - 1), j as u64);
                assert!([j as u64, j as u64 + 1].contains(&at(edge)));
                assert_eq!(at(edge + SLIVER), j as u64 + 1);
            }
        }
    }

    /// The last word there is: beyond every edge of the table, and still some digit.
    #[test]
    fn the_far_end_of_an_endless_staircase_is_reached() {
        let digit = Digit::new(stairs(1, 2, None));
        let drawn = digit.draw(&mut From(u64::MAX, ChaCha20Rng::from_seed([2; 32])));
        // e^(−y/2) is about 2⁻⁶⁴ at y = 88.7.
        assert!((85..400).contains(&drawn), "{drawn}");
        let bounded = Digit::new(stairs(1, 2, Some(7)));
        assert_eq!(bounded.draw(&mut From(u64::MAX, ChaCha20Rng::from_seed([2; 32]))), 6);
    }

    /// The table by products against each edge by itself.
    #[test]
    fn a_table_agrees_with_its_edges_one_by_one() {
        for (num, den, n_sides) in [(1, 1, None), (3, 7, None), (1, 1 << 40, Some(256))] {
            let stairs = stairs(num, den, n_sides);
            for (j, &edge) in (0..).zip(&stairs.table()) {
                let Interval { low, high } = stairs.edge(j, 64);
                assert!(BigUint::from(edge) <= high && low <= BigUint::from(edge) + SLIVER, "{j}");
            }
        }
    }
}
