//! A test's engine: it releases the rows it is given, so that other rooms can be tested with a release. Compiled for
//! tests only (feature `fixture`): no program can reach it.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use crate::ledger::{Permit, Request, Reservation};
use crate::model::{
    Calendar, Cost, Digest, Doublet, MicroEpsilon, PathKind, StationIx, Stations, Window, WindowId,
};
use crate::passenger::{CardKey, Tap};
use crate::seal::SealedWindow;
use crate::secret::{NoiseKey, Secret};
use crate::window::OpenWindows;

use super::{
    Draft, Engine, EngineDescription, Error, ExpectedError, Figure, Forecast, Guarantee, Reading,
    Release, Row, ShareFact, Tables, UniverseFacts,
};

/// The engine. It promises nothing, whatever its manifest says.
#[derive(Debug)]
pub struct Fixture {
    /// What it releases.
    pub rows: Vec<Row>,
    /// What the rows are.
    pub input: PathKind,
    /// Digest of the station list.
    pub stations_sha256: Digest,
    /// Tables beside the rows.
    pub tables: Option<Tables>,
}

impl Engine for Fixture {
    fn describe(&self) -> EngineDescription {
        EngineDescription {
            name: "fixture",
            version: 1,
            parameters: vec![
                ("height".to_owned(), "4".to_owned()),
                ("allocation".to_owned(), "even".to_owned()),
            ],
        }
    }

    fn forecast(&self, _: u32) -> Forecast {
        Forecast::default()
    }

    fn price(&self) -> Cost {
        Cost::differential(MicroEpsilon::new(1_000_000))
    }

    fn check_window(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Differential {
            epsilon_micro: MicroEpsilon::new(1_000_000),
            unit: "one card's whole trajectory in one window".to_owned(),
            neighbouring: "one card added or removed".to_owned(),
        }
    }

    fn draft(&self, window: &SealedWindow, _: &NoiseKey) -> Result<Draft, Error> {
        let share = |class: &str, share: &str, threshold| ShareFact {
            class: class.to_owned(),
            share: share.to_owned(),
            scale: "3/2".to_owned(),
            threshold,
        };
        let error = ExpectedError {
            figures: [
                (ExpectedError::DEVIATION, 0.1 + 0.2),
                (ExpectedError::LIKELY_KEPT, 5.0),
                ("tiny", 1e-7 / 3.0),
            ]
            .map(|(name, value)| Figure { name, value, about: "a test" })
            .to_vec(),
        };
        Ok(Draft {
            rows: self.rows.clone(),
            input: self.input,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: vec![share("general", "1/3", 4), share("leaf", "2/3", 3)],
            universe: UniverseFacts {
                stations_sha256: self.stations_sha256,
                taxonomy_sha256: Digest::of(b"taxonomy"),
                slots: window.window().n_slots(),
            },
            post_processing: vec!["consistency".to_owned()],
            reading: Reading::noisy(&error),
            expected_error: Some(error),
            tables: self.tables.clone(),
        })
    }
}

/// An engine that releases what it is given, with a number of its key in every count: whoever loses a tap, or draws with
/// another key, releases something else. It protects nobody.
#[derive(Debug)]
pub struct Echo {
    /// What a release costs.
    pub price: MicroEpsilon,
}

impl Engine for Echo {
    fn describe(&self) -> EngineDescription {
        EngineDescription { name: "echo", version: 1, parameters: Vec::new() }
    }

    fn forecast(&self, _: u32) -> Forecast {
        Forecast::default()
    }

    fn price(&self) -> Cost {
        Cost::differential(self.price)
    }

    fn check_window(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Nothing { dp: false, why: "a test".to_owned() }
    }

    fn draft(&self, window: &SealedWindow, key: &NoiseKey) -> Result<Draft, Error> {
        let number = u64::from(key.bytes()[0]) + 1;
        let mut counts: BTreeMap<&[Doublet], u64> = BTreeMap::new();
        for (_, path) in window.trajectories().iter() {
            *counts.entry(path).or_insert(number) += 1;
        }
        let rows = counts.into_iter().map(|(path, count)| Row { path: path.to_vec(), count });
        Ok(Draft {
            rows: rows.collect(),
            input: PathKind::Timed,
            guarantee: self.guarantee(),
            engine: self.describe(),
            shares: Vec::new(),
            universe: UniverseFacts {
                stations_sha256: Digest::of(b"stations"),
                taxonomy_sha256: Digest::of(b"taxonomy"),
                slots: window.window().n_slots(),
            },
            post_processing: Vec::new(),
            expected_error: None,
            tables: None,
            reading: Reading::suppressed(),
        })
    }
}

/// Does something with so many threads: nothing may depend on their number.
pub fn with_threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    pool.expect("a small pool can be made").install(work)
}

/// A price as an engine would ask it, for tests of ledgers.
pub fn price(epsilon: MicroEpsilon) -> Cost {
    Cost::differential(epsilon)
}

/// What a permit was booked for, for tests of ledgers. Uses the permit up.
pub fn redeemed(permit: Permit) -> Reservation {
    permit.redeem()
}

/// A release of these rows, made with a permit that no ledger booked.
pub fn release(
    window: &Window,
    stations: &Stations,
    configuration: Digest,
    input: PathKind,
    rows: Vec<Row>,
) -> Release {
    release_with(window, stations, configuration, input, rows, None)
}

/// The same with tables.
pub fn release_with(
    window: &Window,
    stations: &Stations,
    configuration: Digest,
    input: PathKind,
    rows: Vec<Row>,
    tables: Option<Tables>,
) -> Release {
    let secret = Secret::from_bytes(&[7; 32]).expect("32 bytes");
    let sealed = SealedWindow::freeze(window.clone(), Vec::new(), None, &secret);
    let engine = Fixture { rows, input, stations_sha256: stations.digest(), tables };
    let permit = Permit::unbooked(&Request {
        window: window.clone(),
        batch: *sealed.mac(),
        configuration,
        cost: engine.price(),
    });
    engine
        .sanitize(&sealed, permit, &NoiseKey::for_test(1))
        .expect("the permit is for this release")
}

/// `a1 b2`: a letter is a station by its place in the alphabet, the number behind it a slot.
pub fn paths(texts: &[&str]) -> Vec<Vec<Doublet>> {
    let doublet = |word: &str| Doublet {
        station: StationIx(u32::from(word.as_bytes()[0] - b'a')),
        slot: word[1..].parse().expect("a letter and a number"),
    };
    texts.iter().map(|text| text.split_whitespace().map(doublet).collect()).collect()
}

/// A sealed window with these trajectories, one a card. Slots are minutes; taps of one slot keep their order.
pub fn sealed(paths: &[Vec<Doublet>]) -> SealedWindow {
    let secret = Secret::from_bytes(&[7; 32]).expect("32 bytes");
    let calendar = Calendar::new(TimeZone::UTC, 86_400, 0, 60).expect("minutes divide a day");
    let window = calendar.window(WindowId::new(20)).expect("a day of 1970");
    let mut open = OpenWindows::default();
    for (card, path) in (0_u32..).zip(paths) {
        let card = CardKey::new(&secret.card_key(window.id()), &card.to_le_bytes());
        for (at, doublet) in (0_u32..).zip(path) {
            let offset = doublet.slot * 60_000 + at;
            open.add(Tap::new(window.id(), card, offset, doublet.station));
        }
    }
    let stamps = open.take(window.id());
    SealedWindow::freeze(window, stamps, None, &secret)
}

/// A permit for a release under a configuration, which no ledger booked.
pub fn permit(engine: &dyn Engine, window: &SealedWindow, configuration: Digest) -> Permit {
    Permit::unbooked(&Request {
        window: window.window().clone(),
        batch: *window.mac(),
        configuration,
        cost: engine.price(),
    })
}

/// A permit for an engine's release of a window, which no ledger booked.
pub fn unbooked(engine: &dyn Engine, window: &SealedWindow) -> Permit {
    Permit::unbooked(&Request {
        window: window.window().clone(),
        batch: *window.mac(),
        configuration: Digest::of(b"configuration"),
        cost: engine.price(),
    })
}

/// How many cards a sealed window has, for an engine of a test.
pub fn n_cards(window: &SealedWindow) -> u64 {
    window.trajectories().iter().count() as u64
}
