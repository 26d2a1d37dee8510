use std::num::NonZeroU32;

use super::super::tests::{rows, said, terms};
use super::*;
use crate::engine::fixture::{Echo, paths, sealed};
use crate::engine::{Engine, Row};
use crate::model::{Doublet, MicroEpsilon};

/// Four cards: two travel alike, two alone.
const CITY: [&str; 4] = ["a1 b2 c3", "a1 b2 c3", "a1 b5 d6", "e1 f2 e9"];

fn nothing_promised() -> Guarantee {
    Guarantee::Nothing { dp: false, why: "a test".to_owned() }
}

fn risk_of(rows: Vec<Row>) -> Risk {
    let judge = Judge::new(&sealed(&paths(&CITY)), terms(3));
    judge.risk(&said(rows), &nothing_promised())
}

#[test]
fn a_raw_release_gives_away_what_the_raw_window_does() {
    let risk = risk_of(rows(&paths(&CITY), 1));
    for shares in risk.unique.iter().chain(&risk.linked) {
        assert_eq!(shares.before, shares.after, "{shares:?}");
    }
    // Three doublets are a whole trip: two of four cards are alone with theirs.
    let alone = risk.unique[2].before.unwrap();
    assert!((alone - 0.5).abs() < 0.05, "{alone}");
    assert_eq!(risk.unique[3].before, None, "no card has four taps");
    // Two doublets name the trip of everybody here: whoever knows them has the whole.
    assert_eq!(risk.linked[1].before, Some(1.0));
    assert_eq!(risk.guessed.before, Some(1.0));
    assert_eq!(risk.guessed.after, risk.guessed.before);
    assert!(risk.guessed.without.unwrap() < 1.0);
}

#[test]
fn nothing_gives_nothing_away() {
    let risk = risk_of(Vec::new());
    assert!(risk.unique.iter().chain(&risk.linked).all(|shares| shares.after.is_none()));
    assert_eq!((risk.guessed.after, risk.rare.after), (None, None));
}

#[test]
fn rare_sequences_are_counted_by_hand() {
    // Singles: a1 ×3, b2 ×2, c3 ×2, b5, d6, e1, f2, e9; pairs: a1b2 ×2, a1c3 ×2, b2c3 ×2 and six that are alone.
    let risk = risk_of(rows(&paths(&CITY), 1));
    assert_eq!(risk.rare.before, Some(1.0), "five of four cards share nothing");
    let judge = Judge::new(&sealed(&paths(&CITY)), terms(3));
    let lk = Guarantee::Lk { l: 2, k: 2, dp: false, unit: String::new() };
    let risk = judge.risk(&said(rows(&paths(&CITY[..2]), 1)), &lk);
    assert_eq!(risk.rare, Rare { k: 2, before: share(11.0, 17), after: Some(0.0) });
    assert_eq!(risk.promise, Some(Promise { before: false, after: true }));
}

#[test]
fn a_foreign_place_that_an_adversary_infers_is_found() {
    let judge = Judge::new(&sealed(&paths(&CITY)), terms(3));
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    let promise = Guarantee::Projection {
        breach: "0.5".to_owned(),
        adversaries: [("one".to_owned(), owned(&["a"])), ("two".to_owned(), owned(&["b"]))].into(),
        dp: false,
        unit: String::new(),
    };
    // Whoever sees a1 knows that two of three go to b2; nobody infers anything from single taps.
    let risk = judge.risk(&said(rows(&paths(&["a1", "b2"]), 1)), &promise);
    assert_eq!(risk.promise, Some(Promise { before: false, after: true }));
}

fn attacked(engine: &dyn Engine) -> Membership {
    let window = sealed(&[]).window().clone();
    let attack = Attack {
        n_cards: 30,
        n_targets: 2,
        n_shadows: 20,
        n_stations: 6,
        max_length: NonZeroU32::new(8),
        seed: 1,
    };
    super::attack(engine, &window, &attack, &|_| {}).unwrap()
}

#[test]
fn an_engine_that_shows_its_input_is_told_apart_always() {
    let found = attacked(&Plain { hears: true });
    assert!(found.auc > 0.99 && found.advantage > 0.95, "{found:?}");
    assert!(found.auc > found.auc_bound.unwrap(), "no engine of this epsilon could do that");
    assert_eq!(found.n_tested, 40);
}

/// An engine that says what it is given, or the same whatever it is given. It claims ε = 1 for both.
#[derive(Debug)]
struct Plain {
    hears: bool,
}

impl Engine for Plain {
    fn describe(&self) -> crate::engine::EngineDescription {
        Echo { price: MicroEpsilon::new(1) }.describe()
    }

    fn forecast(&self, _: u32, _: u64) -> crate::engine::Forecast {
        crate::engine::Forecast::default()
    }

    fn price(&self) -> crate::model::Cost {
        crate::engine::fixture::price(MicroEpsilon::new(1_000_000))
    }

    fn check_window(&self, _: &crate::model::Window) -> Result<(), crate::engine::Error> {
        Ok(())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::differential(MicroEpsilon::new(1_000_000), NonZeroU32::MIN)
    }

    fn draft(
        &self,
        window: &crate::seal::SealedWindow,
        _: &crate::secret::NoiseKey,
    ) -> Result<crate::engine::Draft, crate::engine::Error> {
        let key = crate::secret::NoiseKey::for_test(1);
        let mut draft = Echo { price: MicroEpsilon::new(1) }.draft(window, &key)?;
        if !self.hears {
            let station = crate::model::StationIx(0);
            draft.rows = vec![Row { path: vec![Doublet { station, slot: 0 }], count: 7 }];
        }
        Ok(draft)
    }
}

#[test]
fn an_engine_that_hears_nothing_is_guessed_at_and_the_bound_stands_beside_it() {
    let found = attacked(&Plain { hears: false });
    assert_eq!((found.auc, found.advantage), (0.5, 0.0));
    assert!(found.low < 0.5 && found.high > 0.5, "{found:?}");
    // e/(1 + e), and tanh(1/2).
    assert_eq!((found.auc_bound, found.advantage_bound), (Some(0.731059), Some(0.462117)));
}
