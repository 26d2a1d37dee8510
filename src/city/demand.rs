//! From where to where: few pairs of stations take most of the demand, and the rest falls off by rank.

use rand_chacha::ChaCha8Rng;

use super::choice::{Choice, below, luck};
use super::network::Network;
use super::preset::{Layout, Statistics};

/// Destinations that are usual from a station.
const USUAL: usize = 24;

/// How many outings of a hundred go somewhere else.
const ELSEWHERE_PERCENT: u32 = 2;

/// Where one goes from every station.
#[derive(Debug, Clone)]
pub(super) struct Flows {
    /// By origin: destinations by rank.
    usual: Vec<Vec<u32>>,
    /// Which rank: the first is the most likely.
    ranks: Choice,
    anywhere: Choice,
}

impl Flows {
    /// Destinations that are popular, near or on the same line come first, and each pair has a luck of its own.
    pub(super) fn new(network: &Network, statistics: &Statistics, rng: &mut ChaCha8Rng) -> Flows {
        let popular: Vec<f64> = network.attraction(1.5, rng);
        // A line of the network attracts as much more as it takes for the asked share to stay on it.
        let stay = f64::from(statistics.same_line_percent) / 100.0;
        let usual = (0..network.len())
            .map(|origin| {
                let line = network.line_of(origin);
                let mut likes: Vec<(f64, u32)> = (0..network.len())
                    .filter(|&place| place != origin)
                    .map(|place| {
                        let kept = if line.contains(&place) { 1.0 + 8.0 * stay } else { 1.0 };
                        let far = 1.0 + network.apart(origin, place) / 100.0;
                        (popular[place as usize] * kept * luck(rng) / far, place)
                    })
                    .collect();
                likes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                likes.into_iter().take(USUAL).map(|like| like.1).collect::<Vec<u32>>()
            })
            .collect();
        // Zipf's law with exponent 3/2, and 2 where there are many stops: products and square roots are the same on
        // every machine.
        let weight = |rank: f64| match statistics.layout {
            Layout::Streets => 1.0 / (rank * rank),
            Layout::Radial | Layout::Grid => 1.0 / (rank * rank.sqrt()),
        };
        let weights: Vec<f64> = (1..=USUAL).map(|rank| weight(rank as f64)).collect();
        Flows { usual, ranks: Choice::new(&weights), anywhere: Choice::new(&popular) }
    }

    /// A station other than where the way begins.
    pub(super) fn destination(&self, origin: u32, rng: &mut ChaCha8Rng) -> u32 {
        let usual = &self.usual[origin as usize];
        if below(100, rng) < ELSEWHERE_PERCENT {
            let place = self.anywhere.draw(rng) as u32;
            if place != origin {
                return place;
            }
        }
        usual[self.ranks.draw(rng) % usual.len()]
    }
}
