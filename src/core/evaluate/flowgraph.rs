//! Flowgraph similarity φ: Algorithm 4 of lk-flowgraph-2014, its lines 14 and 15 read as γ(d′)/γ(d) and δ(d′)/δ(d).
//! It shares no code with the engine that suppresses by the same measures.

use super::journeys::{Code, Journeys};

/// The weights that `engine.lk.weights` has unless told otherwise: α, β, γ, δ.
const WEIGHTS: [f64; 4] = [0.4, 0.2, 0.2, 0.2];

/// What each doublet means to the prefix tree of all trips: nodes that carry it, their children, ways to a leaf that
/// pass it, trajectories that contain it.
#[derive(Clone, Default)]
pub(super) struct Flowgraph {
    codes: Vec<Code>,
    measures: Vec<[f64; 4]>,
}

impl Flowgraph {
    /// Trips come in lexicographic order, so a node's subtree is one stretch of them.
    pub(super) fn of(journeys: &Journeys) -> Self {
        let mut codes: Vec<Code> =
            journeys.iter().flat_map(|(path, _)| path.iter().copied()).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut measures = vec![[0.0; 4]; codes.len()];
        let number = |code: Code| codes.binary_search(&code).unwrap_or(0);
        let mut before: &[Code] = &[];
        for (trip, (path, count)) in journeys.iter().enumerate() {
            let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
            for at in shared..path.len() {
                measures[number(path[at])][0] += 1.0;
                if at > 0 {
                    measures[number(path[at - 1])][1] += 1.0;
                }
            }
            let goes_on = trip + 1 < journeys.len() && journeys.get(trip + 1).starts_with(path);
            for code in Journeys::distinct(path) {
                let own = &mut measures[number(code)];
                own[2] += if goes_on { 0.0 } else { 1.0 };
                own[3] += count as f64;
            }
            before = path;
        }
        Self { codes, measures }
    }

    /// α, β, γ, δ of a doublet.
    #[cfg(test)]
    pub(super) fn measures(&self, code: Code) -> [f64; 4] {
        self.codes.binary_search(&code).map_or([0.0; 4], |at| self.measures[at])
    }

    /// φ(G, G′): 1 for the same graph; above 1 where the other has more. `None` for a graph without doublets.
    pub(super) fn similarity(&self, other: &Self) -> Option<f64> {
        let mut sums = [0.0; 4];
        let mut childless = 0.0;
        for (code, own) in self.codes.iter().zip(&self.measures) {
            let Ok(at) = other.codes.binary_search(code) else { continue };
            let theirs = &other.measures[at];
            for measure in 0..4 {
                match own[measure] > 0.0 {
                    true => sums[measure] += theirs[measure] / own[measure],
                    false => childless += 1.0,
                }
            }
        }
        let n = self.codes.len() as f64;
        let (mut phi, mut weights) = (0.0, 0.0);
        for measure in 0..4 {
            let of = if measure == 1 { n - childless } else { n };
            // Where no doublet has children, line 19 would divide nothing by nothing: β is left out.
            if of > 0.0 {
                phi += WEIGHTS[measure] * sums[measure] / of;
                weights += WEIGHTS[measure];
            }
        }
        (n > 0.0).then(|| phi / weights)
    }
}
