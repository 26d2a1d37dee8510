//! Cards by number of taps: each cell drawn toward its neighbours of the same parity as far as noise goes.

use super::{Belief, blur, noisy};
use crate::engine::weave::measure::Answers;
use crate::engine::weave::tables::Name;

/// How many cards there are: by their own answer and by the sum of the lengths, each as far as its noise lets it.
pub(super) fn n_cards(answers: &Answers) -> f64 {
    let own = answers.n_cards() as f64;
    let Some((lengths, by_length)) = noisy(answers, Name::Lengths) else { return own };
    let weight = 1.0 / blur(answers, Name::Cards).variance();
    let other = 1.0 / by_length.over(lengths.len()).variance();
    let sum: f64 = lengths.iter().sum();
    let both = (own * weight + sum * other) / (weight + other);
    both.clamp(1.0, f64::from(1 << 26)).round()
}

/// Lengths that add up to all cards.
pub(super) fn lengths(answers: &Answers, n_cards: f64) -> Belief {
    let Some((noisy, blur)) = noisy(answers, Name::Lengths) else {
        return Belief { mean: vec![n_cards], variance: vec![0.0] };
    };
    let variance = blur.variance();
    let mut belief = Belief::default();
    for at in 0..noisy.len() {
        let near = neighbours(at, noisy.len());
        let n = near.len() as f64;
        let prior = near.iter().map(|&other| noisy[other]).sum::<f64>() / n.max(1.0);
        // Neighbours that together may be noise alone say that there is nobody.
        let sigmas = if at < TAIL { 2.0 } else { 3.0 };
        let prior = if n > 0.0 && prior > sigmas * (variance / n).sqrt() { prior } else { 0.0 };
        let spread = prior * if at < TAIL { 1.0 } else { 0.4 };
        let trust = spread * spread / (spread * spread + variance);
        let sure = noisy[at] > 3.5 * variance.sqrt() || at < 4 && noisy[at] > 2.0 * variance.sqrt();
        let mean = if sure { noisy[at] } else { prior + (noisy[at] - prior) * trust };
        belief.mean.push(mean.max(0.0));
        // What was drawn toward its neighbours may yet be what the answer said.
        let drawn = ((noisy[at] - prior) * (noisy[at] - prior) / 2.0).max(0.3 * variance);
        let unsure = variance * trust + (1.0 - trust) * drawn.min(4.0 * variance);
        belief.variance.push(if sure { variance } else { unsure });
    }
    if belief.mean.iter().sum::<f64>() <= 0.0 {
        belief.mean[0] = 1.0;
    }
    belief.scale_to(n_cards);
    belief
}

/// From here on lengths are looked at in stretches.
const TAIL: usize = 12;

/// Lengths that are about as frequent: of the same parity and near, or of the same stretch of long ones.
fn neighbours(at: usize, n: usize) -> Vec<usize> {
    let stretch = |at: usize| match at {
        0..TAIL => 0,
        12..16 => 1,
        16..24 => 2,
        24..40 => 3,
        _ => 4,
    };
    let near = |&other: &usize| {
        let apart = at.abs_diff(other);
        let short = at < TAIL && apart <= 4 && other != at;
        apart % 2 == 0 && (short || at >= TAIL && stretch(other) == stretch(at))
    };
    (0..n).filter(near).collect()
}
