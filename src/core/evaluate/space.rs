//! Figures over coordinates: range queries and the RMSE of dptd-2022.

use rand_chacha::ChaCha8Rng;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::Score;
use super::journeys::{Code, Journeys};
use super::queries::{below, generator};
use crate::model::{Station, Stations};

/// Rectangles that are asked, as in the paper.
const RECTANGLES: usize = 500;
/// Counts below this share of the window are taken for it, as in the paper.
const RANGE_BOUND: f64 = 0.01;
/// Raw trips whose nearest released one is looked for.
const SAMPLE: u64 = 1_000;
const KM_PER_DEGREE: f64 = 111.195;

/// Stations on a plane, in kilometres.
#[derive(Clone, Debug)]
pub(super) struct Space {
    points: Vec<(f64, f64)>,
    /// By rectangle: which stations lie in it.
    pub(super) rectangles: Vec<Vec<bool>>,
    seed: u64,
}

impl Space {
    /// `None` unless every station has coordinates.
    pub(super) fn new(stations: &Stations, seed: u64) -> Option<Self> {
        let at = |station: &Station| {
            Some((station.lat.parse::<f64>().ok()?, station.lon.parse::<f64>().ok()?))
        };
        let degrees: Vec<(f64, f64)> = stations.iter().map(at).collect::<Option<_>>()?;
        let middle = degrees.iter().map(|at| at.0).sum::<f64>() / degrees.len() as f64;
        let shrink = middle.to_radians().cos();
        let point = |&(lat, lon): &(f64, f64)| (lon * shrink * KM_PER_DEGREE, lat * KM_PER_DEGREE);
        let points: Vec<(f64, f64)> = degrees.iter().map(point).collect();
        let mut rng = generator(seed, 1_000);
        let rectangles = (0..RECTANGLES).map(|_| rectangle(&points, &mut rng)).collect();
        Some(Self { points, rectangles, seed })
    }

    pub(super) fn score(&self, raw: &Journeys, made: &Journeys, score: &mut Score) {
        let bound = raw.total() as f64 * RANGE_BOUND;
        let ask = |journeys: &Journeys| -> Vec<f64> {
            self.rectangles.par_iter().map(|inside| through(journeys, inside)).collect()
        };
        let error = |(a, b): (&f64, &f64)| (a - b).abs() / a.max(bound);
        let sum: f64 = ask(raw).iter().zip(&ask(made)).map(error).sum();
        score.set("range", (bound > 0.0).then_some(sum / RECTANGLES as f64));
        let (off, matched) = self.nearest(raw, made);
        score.set("rmse.km", off);
        score.set("rmse.matched", matched);
    }

    /// Eq. 11 and 12: mean distance of a raw trip to the nearest released one of the same length, over a sample; and
    /// the share of the sample that has one.
    fn nearest(&self, raw: &Journeys, made: &Journeys) -> (Option<f64>, Option<f64>) {
        if raw.total() == 0 || made.total() == 0 {
            return (None, None);
        }
        let longest = made.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
        let mut by_length: Vec<Vec<&[Code]>> = vec![Vec::new(); longest + 1];
        made.iter().for_each(|(path, _)| by_length[path.len()].push(path));
        let upto = raw.running_counts();
        let mut rng = generator(self.seed, 1_001);
        let sample: Vec<&[Code]> =
            (0..SAMPLE).map(|_| raw.of_card(&upto, below(&mut rng, raw.total()))).collect();
        let found: Vec<Option<f64>> = sample
            .par_iter()
            .map(|trip| {
                let like = by_length.get(trip.len())?.iter();
                like.map(|other| self.distance(trip, other)).reduce(f64::min)
            })
            .collect();
        let matched: Vec<f64> = found.iter().flatten().copied().collect();
        let mean = matched.iter().sum::<f64>() / matched.len().max(1) as f64;
        let share = matched.len() as f64 / sample.len() as f64;
        ((!matched.is_empty()).then_some(mean), Some(share))
    }

    fn distance(&self, one: &[Code], other: &[Code]) -> f64 {
        let apart = |(&a, &b): (&Code, &Code)| {
            let ((ax, ay), (bx, by)) = (self.points[a as usize], self.points[b as usize]);
            ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
        };
        one.iter().zip(other).map(apart).sum::<f64>() / one.len() as f64
    }
}

/// Which stations lie in a rectangle between two random corners of the map.
fn rectangle(points: &[(f64, f64)], rng: &mut ChaCha8Rng) -> Vec<bool> {
    let mut side = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let low = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let mut end = || low + (high - low) * (below(rng, 1 << 32) as f64 / 4_294_967_296.0);
        let (a, b) = (end(), end());
        (a.min(b), a.max(b))
    };
    let (west, east) = side(&|at| at.0);
    let (south, north) = side(&|at| at.1);
    let is_inside = |&(x, y): &(f64, f64)| west <= x && x <= east && south <= y && y <= north;
    points.iter().map(is_inside).collect()
}

/// Cards that pass a rectangle.
fn through(journeys: &Journeys, inside: &[bool]) -> f64 {
    let passes = |path: &[Code]| path.iter().any(|&station| inside[station as usize]);
    journeys.iter().filter(|(path, _)| passes(path)).map(|(_, count)| count as f64).sum()
}
