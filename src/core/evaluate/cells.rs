//! A table of counts, sparse and in order, and how far two of them are apart.

use super::journeys::Code;

/// Cells above zero with their counts, by key.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Cells(Vec<(Code, f64)>);

impl Cells {
    /// Adds up what is given for each key; what is not above zero is left out.
    pub(super) fn new(mut parts: Vec<(Code, f64)>) -> Self {
        parts.sort_by_key(|part| part.0);
        let mut cells: Vec<(Code, f64)> = Vec::new();
        for same in parts.chunk_by(|a, b| a.0 == b.0) {
            let sum: f64 = same.iter().map(|part| part.1).sum();
            if sum > 0.0 {
                cells.push((same[0].0, sum));
            }
        }
        Self(cells)
    }

    pub(super) fn get(&self, key: Code) -> f64 {
        self.0.binary_search_by_key(&key, |cell| cell.0).map_or(0.0, |at| self.0[at].1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Code, f64)> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn total(&self) -> f64 {
        self.0.iter().map(|cell| cell.1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same summed by a class of keys.
    pub(super) fn by(&self, class: impl Fn(Code) -> Code) -> Self {
        Self::new(self.iter().map(|(key, count)| (class(key), count)).collect())
    }

    /// Every key of either, with both counts.
    pub(super) fn joined<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (Code, f64, f64)> + 'a {
        let (mut ours, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        std::iter::from_fn(move || match (ours.peek(), theirs.peek()) {
            (None, None) => None,
            (Some(&&(a, x)), Some(&&(b, y))) if a == b => {
                ours.next();
                theirs.next();
                Some((a, x, y))
            }
            (Some(&&(a, x)), other) if other.is_none_or(|cell| a < cell.0) => {
                ours.next();
                Some((a, x, 0.0))
            }
            _ => theirs.next().map(|&(b, y)| (b, 0.0, y)),
        })
    }

    /// Σ|said − true|/Σ true.
    pub(super) fn error(&self, said: &Self) -> Option<f64> {
        let off: f64 = self.joined(said).map(|(_, a, b)| (a - b).abs()).sum();
        let total = self.total();
        (total > 0.0).then_some(off / total)
    }

    /// The median of |said − true|/true over true cells of at least this size.
    pub(super) fn median_error(&self, said: &Self, least: f64) -> Option<f64> {
        let mut errors: Vec<f64> = self
            .joined(said)
            .filter(|(_, truth, _)| *truth >= least)
            .map(|(_, truth, said)| (truth - said).abs() / truth)
            .collect();
        errors.sort_unstable_by(f64::total_cmp);
        let middle = errors.len() / 2;
        match errors.len() {
            0 => None,
            n if n % 2 == 1 => Some(errors[middle]),
            _ => Some((errors[middle - 1] + errors[middle]) / 2.0),
        }
    }

    /// The share of true cells of at least this size that are not said at all.
    pub(super) fn dropped(&self, said: &Self, least: f64) -> Option<f64> {
        let (mut large, mut missing) = (0_u64, 0_u64);
        for (_, truth, said) in self.joined(said).filter(|cell| cell.1 > 0.0 && cell.1 >= least) {
            large += 1;
            missing += u64::from(said <= 0.0 && truth > 0.0);
        }
        (large > 0).then(|| missing as f64 / large as f64)
    }

    /// The share of said cells whose truth is nothing.
    pub(super) fn spurious(&self, said: &Self) -> Option<f64> {
        let made_up = self.joined(said).filter(|&(_, truth, said)| truth <= 0.0 && said > 0.0);
        let made_up = made_up.count();
        (!said.is_empty()).then(|| made_up as f64 / said.0.len() as f64)
    }

    /// Jensen–Shannon distance, the root of the divergence to base 2: 0 for the same shares, 1 for nothing in common.
    pub(super) fn divergence(&self, said: &Self) -> Option<f64> {
        let (ours, theirs) = (self.total(), said.total());
        if ours <= 0.0 || theirs <= 0.0 {
            return None;
        }
        let term = |p: f64, middle: f64| if p > 0.0 { 0.5 * p * (p / middle).log2() } else { 0.0 };
        let sum: f64 = self
            .joined(said)
            .map(|(_, a, b)| {
                let (p, q) = (a / ours, b / theirs);
                term(p, (p + q) / 2.0) + term(q, (p + q) / 2.0)
            })
            .sum();
        Some(sum.clamp(0.0, 1.0).sqrt())
    }

    /// The keys of the largest cells, the largest first; among equals the lower key.
    pub(super) fn largest(&self, n: usize) -> Vec<Code> {
        let mut cells: Vec<&(Code, f64)> = self.0.iter().collect();
        cells.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        cells.truncate(n);
        cells.into_iter().map(|cell| cell.0).collect()
    }
}
