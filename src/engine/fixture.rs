//! A test's engine: it releases the rows it is given, so that other rooms can be tested with a release.

use crate::ledger::{Permit, Request};
use crate::model::{Cost, Digest, Input, MicroEpsilon, Stations, Window};
use crate::seal::SealedWindow;
use crate::secret::{NoiseKey, Secret};

use super::{
    Draft, Engine, EngineFacts, Error, ExpectedError, Guarantee, Outlook, Release, Row, ShareFact,
    UniverseFacts,
};

/// The engine. It promises nothing, whatever its manifest says.
#[derive(Debug)]
pub(crate) struct Fixture {
    /// What it releases.
    pub(crate) rows: Vec<Row>,
    /// What the rows are.
    pub(crate) input: Input,
    /// Digest of the station list.
    pub(crate) stations_sha256: Digest,
}

impl Engine for Fixture {
    fn facts(&self) -> EngineFacts {
        EngineFacts {
            name: "fixture",
            version: 1,
            parameters: vec![
                ("height".to_owned(), "4".to_owned()),
                ("allocation".to_owned(), "even".to_owned()),
            ],
        }
    }

    fn outlook(&self, _: u32) -> Outlook {
        Outlook::default()
    }

    fn price(&self) -> Cost {
        Cost::differential(MicroEpsilon::new(1_000_000))
    }

    fn fits(&self, _: &Window) -> Result<(), Error> {
        Ok(())
    }

    fn sanitize(
        &self,
        window: &SealedWindow,
        permit: Permit,
        _: &NoiseKey,
    ) -> Result<Release, Error> {
        let share = |class: &str, share: &str, threshold| ShareFact {
            class: class.to_owned(),
            share: share.to_owned(),
            scale: "3/2".to_owned(),
            threshold,
        };
        let draft = Draft {
            rows: self.rows.clone(),
            input: self.input,
            guarantee: Guarantee::Differential {
                epsilon_micro: MicroEpsilon::new(1_000_000),
                unit: "one card's whole trajectory in one window".to_owned(),
                neighbouring: "one card added or removed".to_owned(),
            },
            engine: self.facts(),
            shares: vec![share("general", "1/3", 4), share("leaf", "2/3", 3)],
            universe: UniverseFacts {
                stations_sha256: self.stations_sha256,
                taxonomy_sha256: Digest::of(b"taxonomy"),
                slots: window.window().n_slots(),
            },
            post_processing: vec!["consistency".to_owned()],
            expected_error: Some(ExpectedError {
                count_standard_deviation: 0.1 + 0.2,
                smallest_count_likely_kept: 5,
                false_children_per_empty_node: 1e-7 / 3.0,
            }),
        };
        Release::new(self, window, permit, draft)
    }
}

/// A release of these rows, made with a permit that no ledger booked.
pub(crate) fn release(
    window: &Window,
    stations: &Stations,
    configuration: Digest,
    input: Input,
    rows: Vec<Row>,
) -> Release {
    let secret = Secret::from_bytes(&[7; 32]).expect("32 bytes");
    let sealed = SealedWindow::freeze(window.clone(), Vec::new(), None, &secret);
    let engine = Fixture { rows, input, stations_sha256: stations.digest() };
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
