//! Against another implementation: the exact sampler of the opendp crate. Its generator cannot be seeded, so
//! these tests draw anew each time; a true sampler fails one run in three hundred thousand.

use std::collections::BTreeMap;

use dashu::rational::RBig;
use opendp::traits::samplers::sample_discrete_laplace;

use super::*;

const DRAWS: usize = 1_000_000;

/// Two samples of equal size: Σ (a − b)²/(a + b) is chi-square over the cells that anybody hit.
fn assert_same_distribution(ours: &[i64], theirs: &[i64], what: &str) {
    let mut cells: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    ours.iter().for_each(|draw| cells.entry(*draw).or_default().0 += 1.0);
    theirs.iter().for_each(|draw| cells.entry(*draw).or_default().1 += 1.0);
    // Neighbouring cells are pooled until they hold twenty draws; what is left over at the end is one more.
    let mut pooled: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (a, b) in cells.into_values() {
        let last = pooled.last_mut().unwrap();
        *last = (last.0 + a, last.1 + b);
        if last.0 + last.1 >= 20.0 {
            pooled.push((0.0, 0.0));
        }
    }
    pooled.retain(|(a, b)| a + b > 0.0);
    let statistic: f64 = pooled.iter().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
    let freedom = (pooled.len() - 1) as f64;
    let part = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - part + Z * part.sqrt()).powi(3);
    assert!(pooled.len() > 2, "{what}: a test with cells");
    assert!(statistic < critical, "{what}: chi-square {statistic:.1}, critical {critical:.1}");
}

#[test]
fn a_million_draws_at_three_scales_are_distributed_as_opendps() {
    let one_scale = |num: u64, den: u64| {
        let noise = DiscreteLaplace::new(Scale::new(num, den).unwrap());
        let mut rng = rng(21);
        let ours: Vec<i64> = (0..DRAWS).map(|_| noise.draw(&mut rng)).collect();
        let scale = RBig::from_parts(num.into(), den.into());
        let draw = || i64::try_from(sample_discrete_laplace(scale.clone()).unwrap()).unwrap();
        let theirs: Vec<i64> = (0..DRAWS).map(|_| draw()).collect();
        assert_same_distribution(&ours, &theirs, &format!("scale {num}/{den}"));
    };
    std::thread::scope(|scope| {
        for (num, den) in [(1, 1), (96, 1), (20, 7)] {
            scope.spawn(move || one_scale(num, den));
        }
    });
}
