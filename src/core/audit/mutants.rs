//! Engines broken on purpose, made from the engines' own parts. Each leaks in a way somebody once published or
//! nearly did; an auditor that does not see them is blind.

use std::sync::Mutex;

use num_rational::Ratio;

use super::broken_noise::{Exceeding, Floating, Omitting, Shared};
use super::mechanism::{Instance, Mechanism, NoiseOf, permit};
use super::stage::{Card, Stage};
use crate::engine::AuditOutput;
use crate::engine::noise::{Borrowed, Noise, NoiseSource};
use crate::engine::tree::{
    ByPlace, Cell, ChildNode, Children, Consistency, Growth, Item, PricedTaxonomy, Splitter,
    SubLevel, Tree, grow, walk,
};
use crate::ledger::AuditLedger;
use crate::model::{Cost, Doublet, MicroEpsilon, StationIx};
use crate::seal::SealedWindow;
use crate::secret::NoiseKey;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    /// Noise too small by one level.
    Scale,
    /// Every level spends all of ε.
    Undivided,
    /// A card has two trajectories.
    TwoPerCard,
    /// Only what occurs is asked about.
    EmptiesOmitted,
    /// An empty node must exceed the threshold that an occupied one need only reach.
    GreaterForEmpties,
    /// The window is released twice with different noise.
    ReNoised,
    /// The stations are those that occur.
    UniverseFromData,
    /// One tap more of every card counts than was paid for.
    OneTapMore,
    /// Whether a tap is late is decided by the newest tap of anybody.
    LateByOthers,
    /// All nodes of a level share one stream.
    SharedStream,
    /// Floating-point noise.
    FloatNoise,
    /// Spends so many hundredths of what it claims.
    Spends(u16),
}

/// A broken engine: one flat set of doublets under every node, like `seqpt`, and one thing wrong with it.
pub(super) struct Mutant {
    wrong: Wrong,
    instance: Instance,
    stage: Stage,
    ledger: Mutex<AuditLedger>,
}

impl Mutant {
    /// All of them, each with the instance it shows in.
    pub(super) fn all() -> [Self; 8] {
        [
            Self::new(Wrong::Scale, Instance::new(2, 2_000_000)),
            Self::new(Wrong::Undivided, Instance::new(3, 1_000_000)),
            Self::new(Wrong::TwoPerCard, Instance::new(2, 2_000_000)),
            Self::new(Wrong::EmptiesOmitted, Instance::new(1, 1_000_000)),
            Self::new(Wrong::GreaterForEmpties, Instance::new(1, 1_000_000)),
            Self::new(Wrong::ReNoised, Instance::new(1, 1_000_000)),
            Self::new(Wrong::UniverseFromData, Instance::new(1, 1_000_000)),
            Self::new(Wrong::OneTapMore, Instance::new(1, 1_000_000)),
        ]
    }

    /// Those that only whole releases of a window with other cards give away.
    pub(super) fn seen_whole() -> [Self; 3] {
        [
            Self::new(Wrong::SharedStream, Instance::new(2, 1_000_000)),
            Self::new(Wrong::FloatNoise, Instance::new(1, 1_000_000)),
            Self::new(Wrong::LateByOthers, Instance::new(1, 1_000_000)),
        ]
    }

    /// One that spends so many hundredths of ε = 1.
    pub(super) fn spends(hundredths: u16) -> Self {
        Self::new(Wrong::Spends(hundredths), Instance::new(1, 1_000_000))
    }

    fn new(wrong: Wrong, instance: Instance) -> Self {
        let taps = instance.height + u32::from(wrong == Wrong::OneTapMore);
        let n_slots = 1 + u32::from(wrong == Wrong::LateByOthers);
        let stage = Stage::new(2, n_slots, taps.try_into().expect("a height of at least 1"));
        Self { wrong, instance, stage, ledger: Mutex::default() }
    }

    pub(super) fn in_words(&self) -> &'static str {
        match self.wrong {
            Wrong::Scale => "scale times (h-1)/h",
            Wrong::Undivided => "epsilon of every level not divided",
            Wrong::TwoPerCard => "two trajectories per card",
            Wrong::EmptiesOmitted => "empty candidates omitted",
            Wrong::GreaterForEmpties => "> instead of >= for empty candidates",
            Wrong::ReNoised => "window released again with new noise",
            Wrong::UniverseFromData => "stations read off the data",
            Wrong::OneTapMore => "one tap more counts than is paid for",
            Wrong::LateByOthers => "late taps judged by the taps of others",
            Wrong::SharedStream => "one stream of noise for a level",
            Wrong::FloatNoise => "floating-point noise to its last bit",
            Wrong::Spends(_) => "more than it claims",
        }
    }

    pub(super) fn instance(&self) -> Instance {
        self.instance
    }

    /// The budget of a level, right or wrong.
    fn level_epsilon(&self) -> Ratio<u128> {
        let params = self.instance.params(&self.stage);
        let height = u128::from(self.instance.height);
        match self.wrong {
            Wrong::Scale => params.level_epsilon() * Ratio::new(height, height - 1),
            Wrong::Undivided => params.whole_epsilon(),
            Wrong::Spends(hundredths) => {
                params.level_epsilon() * Ratio::new(hundredths.into(), 100)
            }
            _ => params.level_epsilon(),
        }
    }

    fn grown<S: NoiseSource>(&self, ready: &Ready, source: &S) -> AuditOutput {
        let params = self.instance.params(&self.stage);
        let growth = Growth { height: self.stage.max_length.get(), max_nodes: params.max_nodes };
        let Ready { window, places, present } = ready;
        let n_slots = Some(window.window().n_slots());
        let level = ByPlace { places, n_slots, keeps_groups: false };
        let trajectories = window.trajectories();
        let tree = match (self.wrong, present) {
            (Wrong::UniverseFromData, Some(present)) => {
                grow(trajectories, &FromData { level, present }, growth, source)
            }
            // Nobody was anywhere, so there is no station to ask about.
            (Wrong::UniverseFromData, None) => Tree::default(),
            (Wrong::EmptiesOmitted, _) => grow(trajectories, &level, growth, &Omitting(source)),
            (Wrong::GreaterForEmpties, _) => grow(trajectories, &level, growth, &Exceeding(source)),
            (Wrong::SharedStream, _) => grow(trajectories, &level, growth, &Shared(source)),
            _ => grow(trajectories, &level, growth, source),
        };
        let permit = permit(&self.ledger, window, Cost::differential(self.instance.epsilon));
        AuditOutput::new(permit, tree.rows(Consistency::TopDown))
    }
}

/// A sealed window with the priced candidates of a level.
pub(super) struct Ready {
    window: SealedWindow,
    places: PricedTaxonomy,
    /// The stations that occur, if any do.
    present: Option<Present>,
}

impl Mechanism for Mutant {
    type Ready = Ready;

    fn epsilon(&self) -> MicroEpsilon {
        self.instance.epsilon
    }

    fn stage(&self) -> &Stage {
        &self.stage
    }

    fn window<'r>(&self, ready: &'r Ready) -> &'r SealedWindow {
        &ready.window
    }

    fn ready(&self, cards: &[Card]) -> Ready {
        let window = match self.wrong {
            Wrong::TwoPerCard => self.stage.seal_as(cards, &[0, 1]),
            Wrong::LateByOthers => self.stage.seal(&without_late(cards)),
            _ => self.stage.seal(cards),
        };
        let places = self.priced_flat(self.stage.stations.len());
        let present = Present::new(&window, |n_present| self.priced_flat(n_present));
        Ready { window, places, present }
    }

    fn released(&self, ready: &Ready, key: &dyn Fn(u64) -> NoiseKey) -> Vec<AuditOutput> {
        let grown = |key: &NoiseKey| match self.wrong {
            Wrong::FloatNoise => self.grown(ready, &Floating(key)),
            _ => self.grown(ready, key),
        };
        (0..self.n_releases()).map(|n| grown(&key(n))).collect()
    }

    fn recorded(&self, ready: &Ready, noise: NoiseOf<'_, '_>) -> Option<Vec<AuditOutput>> {
        if self.wrong == Wrong::FloatNoise {
            return None;
        }
        let take = |n| self.grown(ready, &Borrowed(&*noise(n)));
        Some((0..self.n_releases()).map(take).collect())
    }
}

impl Mutant {
    fn n_releases(&self) -> u64 {
        if self.wrong == Wrong::ReNoised { 2 } else { 1 }
    }

    /// So many stations without groups, at this mutant's price.
    fn priced_flat(&self, n_stations: u32) -> PricedTaxonomy {
        let params = self.instance.params(&self.stage);
        let sub_level =
            SubLevel { key: "audit", leaves_are: "doublets", epsilon: self.level_epsilon() };
        PricedTaxonomy::flat(&params, sub_level, n_stations).expect("shares of a small tree fit")
    }
}

/// What is left when every tap in an earlier slot than the newest tap of all is late.
fn without_late(cards: &[Card]) -> Vec<Card> {
    let newest = cards.iter().flatten().map(|tap| tap.1).max();
    let in_time = |card: &Card| card.iter().copied().filter(|tap| Some(tap.1) == newest).collect();
    cards.iter().map(in_time).collect()
}

/// The stations that occur in a window, priced as if they were all there are.
struct Present {
    stations: Vec<u32>,
    places: PricedTaxonomy,
}

impl Present {
    fn new(window: &SealedWindow, priced: impl Fn(u32) -> PricedTaxonomy) -> Option<Self> {
        let doublets = window.trajectories().doublets();
        let mut stations: Vec<u32> = doublets.iter().map(|doublet| doublet.station.0).collect();
        stations.sort_unstable();
        stations.dedup();
        let n_present = u32::try_from(stations.len()).expect("at most all stations");
        (n_present > 0).then(|| Self { stations, places: priced(n_present) })
    }
}

/// Asks about present stations only.
struct FromData<'a> {
    level: ByPlace<'a>,
    present: &'a Present,
}

impl Splitter for FromData<'_> {
    fn rank(&self, next: Doublet) -> (u32, u32) {
        let rank = self.present.stations.binary_search(&next.station.0);
        let rank = rank.expect("every station of the window is present");
        (u32::try_from(rank).expect("at most all stations"), next.slot)
    }

    fn split(
        &self,
        items: &mut [Item],
        min_slot: u32,
        noise: &mut impl Noise,
        children: &mut Children,
    ) {
        items.sort_unstable();
        let width = self.level.n_slots.map_or(1, |n_slots| n_slots - min_slot);
        let cell = |item: &Item| Cell { rank: item.rank, within: item.slot - min_slot };
        let at = |index: usize| u32::try_from(index).expect("as many as cards");
        walk(self.present.places.universe(0, width), items, cell, noise, &mut |found| {
            let station = StationIx(self.present.stations[found.cell.rank as usize]);
            children.nodes.push(ChildNode {
                doublet: Doublet { station, slot: min_slot + found.cell.within },
                noisy: found.noisy,
                from: at(found.items.start),
                to: at(found.items.end),
                group: None,
            });
        });
    }
}
