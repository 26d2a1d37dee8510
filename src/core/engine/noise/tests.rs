//! The noise against its exact distribution. Every statistical test states its error rate: seeds are fixed,
//! so a test that passes once passes always; α says how unlucky the seed would have to be.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::Distribution;

use super::*;

mod oracle;

/// Standard normal quantile of 1 − 10⁻⁶: a true sampler fails one seed in a million.
const Z: f64 = 4.753;

fn rng(seed: u8) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::from_seed([seed; 32])
}

/// The noisy count of one occupied node.
fn occupied(noise: &mut impl Noise, class: &NodeClass, count: u64) -> Option<u64> {
    let mut noisy = None;
    noise.ask(class, 1, &[Occupied { index: 0, count }], &mut |_, kept| noisy = Some(kept));
    noisy
}

/// Pearson's statistic against its critical value (Wilson and Hilferty's approximation).
fn assert_fits(observed: &[f64], expected: &[f64], what: &str) {
    assert!(expected.iter().all(|&e| e >= 5.0), "{what}: cells are pooled until each expects five");
    let statistic: f64 = observed.iter().zip(expected).map(|(o, e)| (o - e).powi(2) / e).sum();
    let freedom = (observed.len() - 1) as f64;
    let part = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - part + Z * part.sqrt()).powi(3);
    assert!(statistic < critical, "{what}: chi-square {statistic:.1}, critical {critical:.1}");
}

/// Compares draws with probabilities; the tail beyond the last cell that expects five is one cell.
fn assert_distribution(draws: &[u64], probability: impl Fn(u64) -> f64, what: &str) {
    let n = draws.len() as f64;
    let cells = (0..).take_while(|&cell| probability(cell) * n >= 10.0).last().unwrap_or(0) + 1;
    let mut observed = vec![0.0; usize::try_from(cells).unwrap() + 1];
    for &draw in draws {
        observed[usize::try_from(draw.min(cells)).unwrap()] += 1.0;
    }
    let mut expected: Vec<f64> = (0..cells).map(|cell| probability(cell) * n).collect();
    expected.push(n - expected.iter().sum::<f64>());
    if expected[expected.len() - 1] < 5.0 {
        let (tail, rest) = (expected.pop().unwrap(), observed.pop().unwrap());
        *expected.last_mut().unwrap() += tail;
        *observed.last_mut().unwrap() += rest;
    }
    assert_fits(&observed, &expected, what);
}

#[test]
fn geometric_has_its_exact_distribution_at_three_scales() {
    for (num, den) in [(1, 1), (24, 1), (7, 3)] {
        let scale = Scale::new(num, den).unwrap();
        let mut rng = rng(1);
        let geometric = Geometric::new(scale);
        let draws: Vec<u64> = (0..1_000_000).map(|_| geometric.draw(&mut rng)).collect();
        let a = (-(den as f64) / num as f64).exp();
        assert_distribution(
            &draws,
            |y| (1.0 - a) * a.powf(y as f64),
            &format!("scale {num}/{den}"),
        );
    }
}

/// Holds N-2.
#[test]
fn discrete_laplace_has_its_exact_distribution_at_three_scales() {
    for (num, den) in [(1, 1), (24, 1), (1, 3)] {
        let scale = Scale::new(num, den).unwrap();
        let mut rng = rng(2);
        let noise = DiscreteLaplace::new(scale);
        let mut negative = 0.0;
        let n = 1_000_000;
        let sizes: Vec<u64> = (0..n)
            .map(|_| {
                let draw = noise.draw(&mut rng);
                negative += f64::from(u8::from(draw < 0));
                draw.unsigned_abs()
            })
            .collect();
        let a = (-(den as f64) / num as f64).exp();
        let size =
            |x: u64| (1.0 - a) / (1.0 + a) * a.powf(x as f64) * if x == 0 { 1.0 } else { 2.0 };
        assert_distribution(&sizes, size, &format!("scale {num}/{den}"));
        let below = a / (1.0 + a);
        let sigma = (f64::from(n) * below * (1.0 - below)).sqrt();
        assert!((negative - f64::from(n) * below).abs() < Z * sigma, "signs at scale {num}/{den}");
    }
}

/// The walk against what it replaces: a draw for every single cell.
#[test]
fn the_walk_over_empties_equals_a_draw_per_cell() {
    for (num, den, threshold) in [(2, 1, 1), (3, 1, 9), (24, 1, 68), (5, 2, 4)] {
        let scale = Scale::new(num, den).unwrap();
        let class = NodeClass::new(scale, threshold);
        let (cells, rounds) = (50_u64, 20_000);
        let (mut walker, mut drawer) = (KeyedNoise(rng(3)), rng(4));
        let (mut walked, mut drawn) = (vec![0.0; cells as usize], vec![0.0; cells as usize]);
        let (mut walked_sizes, mut n_drawn) = (Vec::new(), 0_u64);
        for _ in 0..rounds {
            walker.ask(&class, cells, &[], &mut |ordinal, noisy| {
                walked[ordinal as usize] += 1.0;
                walked_sizes.push(noisy - threshold);
            });
            for cell in &mut drawn {
                if class.noisy(0, &mut drawer).is_some() {
                    *cell += 1.0;
                    n_drawn += 1;
                }
            }
        }
        let what = format!("scale {num}/{den}, threshold {threshold}");
        let p = class.empty_passes();
        let expected = vec![f64::from(rounds) * p; cells as usize];
        assert_fits(&walked, &expected, &format!("{what}: hits by cell"));
        assert_fits(&drawn, &expected, &format!("{what}: draws by cell"));
        let a = (-(den as f64) / num as f64).exp();
        assert_distribution(&walked_sizes, |y| (1.0 - a) * a.powf(y as f64), &what);
        let (walked, drawn) = (walked_sizes.len() as f64, n_drawn as f64);
        assert!(
            (walked - drawn).abs() < Z * (walked + drawn).sqrt(),
            "{what}: {walked} and {drawn} hits"
        );
    }
}

/// The number of hits in one walk is binomial; the reference is another library's sampler.
#[test]
fn the_number_of_hits_is_binomial() {
    let class = NodeClass::new(Scale::new(2, 1).unwrap(), 4);
    let (cells, rounds) = (30, 100_000);
    let mut noise = KeyedNoise(rng(5));
    let mut hits = vec![0.0_f64; 31];
    let mut reference = vec![0.0_f64; 31];
    let binomial = rand_distr::Binomial::new(cells, class.empty_passes()).unwrap();
    let mut other = rng(6);
    for _ in 0..rounds {
        let mut n = 0;
        noise.ask(&class, cells, &[], &mut |_, _| n += 1);
        hits[n] += 1.0;
        reference[binomial.sample(&mut other) as usize] += 1.0;
    }
    // Two samples of equal size: Σ (a − b)²/(a + b) is chi-square over the cells that anybody hit.
    let pairs = || hits.iter().zip(&reference).filter(|&(&a, &b)| a + b >= 20.0);
    let statistic: f64 = pairs().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
    let freedom = pairs().count() as f64;
    let part = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - part + Z * part.sqrt()).powi(3);
    assert!(statistic < critical, "chi-square {statistic:.1}, critical {critical:.1}");
}

/// Where floating point fails (n = 2⁵³, p = 1.6·10⁻¹⁶: a mean of 1.44), the walk does not.
#[test]
fn a_tiny_probability_over_many_cells_has_the_right_mean() {
    // p = a^θ/(1+a) with a = 1/e: θ = 36 gives e^−36/(1 + 1/e) = 1.696·10⁻¹⁶.
    let class = NodeClass::new(Scale::new(1, 1).unwrap(), 36);
    let (cells, rounds) = (1_u64 << 53, 20_000);
    let mut noise = KeyedNoise(rng(7));
    let mut hits = 0.0;
    for _ in 0..rounds {
        noise.ask(&class, cells, &[], &mut |_, _| hits += 1.0);
    }
    let mean = (-36_f64).exp() / (1.0 + (-1_f64).exp()) * cells as f64;
    let sigma = (mean / f64::from(rounds)).sqrt();
    let seen = hits / f64::from(rounds);
    assert!((seen - mean).abs() < Z * sigma, "mean {seen:.4}, expected {mean:.4}");
}

#[test]
fn the_ends_of_the_range_neither_panic_nor_hang() {
    let mut noise = KeyedNoise(rng(8));
    for (num, den) in [(1, 1_000_000), (1_000_000, 1), (Scale::MAX, 1), (1, Scale::MAX)] {
        for threshold in [1, 2, u64::MAX / 2, u64::MAX] {
            let class = NodeClass::new(Scale::new(num, den).unwrap(), threshold);
            let kept = occupied(&mut noise, &class, 5);
            assert!(kept.is_none_or(|noisy| noisy >= threshold));
            noise.ask(&class, 100, &[], &mut |ordinal, noisy| {
                assert!(ordinal < 100 && noisy >= threshold);
            });
        }
    }
    assert_eq!(
        occupied(&mut noise, &NodeClass::new(Scale::new(1, 1_000_000).unwrap(), 1), 7),
        Some(7)
    );
}

/// Holds N-4.
/// `≥ θ` for both kinds: the share of empties with exactly θ is the share of zeros in a geometric.
#[test]
fn the_threshold_itself_passes_for_occupied_and_for_empty_nodes() {
    let silent = Scale::new(1, 1_000_000).unwrap();
    let mut noise = KeyedNoise(rng(9));
    assert_eq!(occupied(&mut noise, &NodeClass::new(silent, 3), 3), Some(3));
    assert_eq!(occupied(&mut noise, &NodeClass::new(silent, 3), 2), None);
    let class = NodeClass::new(Scale::new(1, 1).unwrap(), 2);
    let mut exactly = 0;
    noise.ask(&class, 10_000, &[], &mut |_, noisy| exactly += usize::from(noisy == 2));
    assert!(exactly > 100, "{exactly} empties stand exactly at the threshold");
}

/// Holds N-5.
#[test]
fn every_node_has_its_own_stream_and_every_key_its_own_noise() {
    let class = NodeClass::new(Scale::new(1_000, 1).unwrap(), 1);
    let draws = |seed, level, index| {
        let mut node = NoiseKey::for_test(seed).node(level, index);
        (0..8).map(|_| occupied(&mut node, &class, 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(draws(1, 2, 3), draws(1, 2, 3));
    for other in [draws(2, 2, 3), draws(1, 3, 3), draws(1, 2, 4)] {
        assert_ne!(draws(1, 2, 3), other);
    }
}

/// From one micro to the largest scale there is: quarters of the scale are passed as often as they should.
#[test]
fn small_and_large_scales_have_their_quantiles() {
    for (num, den) in [(1, 1_000_000), (1, 3), (1_000_000, 1), (1 << 40, 3), (Scale::MAX, 1)] {
        let geometric = Geometric::new(Scale::new(num, den).unwrap());
        let mut rng = rng(10);
        let n = 200_000;
        let draws: Vec<u64> = (0..n).map(|_| geometric.draw(&mut rng)).collect();
        for quarter in 1..12_u64 {
            // P(Y ≥ y) = e^(−y·den/num), at the first whole y from a quarter of the scale on.
            let y = (u128::from(num) * u128::from(quarter)).div_ceil(4 * u128::from(den));
            let p = (-(y as f64) * den as f64 / num as f64).exp();
            let passed = draws.iter().filter(|&&draw| u128::from(draw) >= y).count() as f64;
            let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!(
                (passed - f64::from(n) * p).abs() <= Z * sigma + 1e-6,
                "scale {num}/{den}, from {y} on: {passed} of {n}, expected {:.1}",
                f64::from(n) * p
            );
        }
    }
}

/// Beyond 64 bits a count is cut to the largest one, never dropped: it reached every threshold there is.
#[test]
fn counts_saturate_instead_of_wrapping() {
    let class = NodeClass::new(Scale::new(Scale::MAX, 1).unwrap(), u64::MAX);
    let mut rng = rng(11);
    let kept: Vec<u64> = (0..200).filter_map(|_| class.noisy(u64::MAX, &mut rng)).collect();
    assert!((50..150).contains(&kept.len()), "about half of all noise is not negative");
    assert!(kept.iter().all(|&noisy| noisy == u64::MAX));
}

/// Empties are told by their index among all candidates: never an occupied one, never twice, each equally often.
#[test]
fn empties_stand_between_the_occupied_candidates() {
    let class = NodeClass::new(Scale::new(2, 1).unwrap(), 3);
    let (n, rounds, many) = (30_u64, 40_000, 1 << 40);
    let occupied = [0, 1, 7, 8, 9, 20, 29].map(|index| Occupied { index, count: many });
    let mut noise = KeyedNoise(rng(12));
    let mut hits = vec![0.0; n as usize];
    for _ in 0..rounds {
        let mut told = Vec::new();
        noise.ask(&class, n, &occupied, &mut |index, noisy| {
            let is_occupied = occupied.iter().any(|candidate| candidate.index == index);
            assert_eq!(is_occupied, noisy > many / 2, "index {index} has the count {noisy}");
            told.push(index);
        });
        let n_told = told.len();
        told.sort_unstable();
        told.dedup();
        assert_eq!(told.len(), n_told, "a candidate is told once");
        told.iter().for_each(|&index| hits[index as usize] += 1.0);
    }
    let (full, empty): (Vec<_>, Vec<_>) =
        (0..n).partition(|index| occupied.iter().any(|o| o.index == *index));
    assert!(full.iter().all(|&index| hits[index as usize] == f64::from(rounds)));
    let seen: Vec<f64> = empty.iter().map(|&index| hits[index as usize]).collect();
    let expected = vec![f64::from(rounds) * class.empty_passes(); seen.len()];
    assert_fits(&seen, &expected, "hits by empty index");
}
