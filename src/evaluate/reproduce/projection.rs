//! projection-support-tree-2020: Figures 2 and 3.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::json;

use super::data::{Data, Wish};
use super::exhibit::{Cell, Exhibit, Wanted};
use super::runner::Runner;
use crate::city::{Error, Preset};
use crate::engine::Row;
use crate::engine::projection::{Projection, Settings, Study};
use crate::model::{PathKind, Portion, StationIx};

/// The paper's.
const ADVERSARIES: usize = 5;
const KEPT: [Wanted; 3] =
    [Wanted::Figure("kept.doublets"), Wanted::Figure("kept.ploss"), Wanted::Seconds];
/// Threats of more trajectories are not searched for by scanning: that takes minutes.
const MOST_SCANNED: u64 = 7_000;

pub(super) fn exhibits(runner: &Runner<'_>) -> Result<Vec<Exhibit>, Error> {
    Ok(vec![threats(runner)?, suppression(runner)?, same(runner)?])
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Cell) {
    let start = Instant::now();
    let done = work();
    (done, Cell::Seconds(start.elapsed().as_secs_f64()))
}

/// Every fifth place belongs to the same shop.
fn owners(data: &Data) -> BTreeMap<String, Vec<String>> {
    let mut owned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, station) in data.stations.iter().enumerate() {
        owned.entry(format!("shop {}", number % ADVERSARIES)).or_default().push(station.id.clone());
    }
    owned
}

/// 100 places of five owners, lengths 4 to 7, P_br = 0.5.
fn study(runner: &Runner<'_>, cards: u64) -> Result<(Data, Projection), Error> {
    let data = runner.data(Wish { cards: Some(cards), ..Wish::of(Preset::Random100) })?;
    let owned = |ids: Vec<String>| ids.iter().filter_map(|id| data.stations.find(id)).collect();
    let adversaries = owners(&data).into_iter().map(|(name, ids)| (name, owned(ids))).collect();
    let settings = Settings {
        breach: Portion::parse("0.5").expect("a half is a portion"),
        input: PathKind::Untimed,
        adversaries,
        method: crate::engine::projection::Method::Tree,
        max_work: 50_000_000,
        stations: data.stations.clone(),
    };
    let engine = Projection::new(settings).expect("owners share no place");
    Ok((data, engine))
}

/// How many different places are left.
fn places(rows: &[Row]) -> u64 {
    let different: BTreeSet<StationIx> =
        rows.iter().flat_map(|row| row.path.iter().map(|at| at.station)).collect();
    different.len() as u64
}

/// Figures 2a and 2b.
fn threats(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figures 2a and 2b",
        "building the tree, and finding threats with it and by scanning (P_br = 0.5, five adversaries)",
        &[
            "trajectories",
            "problems",
            "seconds, tree built",
            "paper",
            "seconds, threats",
            "paper",
            "seconds, scanning",
            "paper",
        ],
        "The paper's data is BMS-POS, which is not here: ours are its random trajectories (lengths 4 to 7, 100 places). \
         It prints bounds at 7,000 and 10,000. Ours are faster in all three, in another language on another machine; \
         that the tree beats scanning by far holds.",
    );
    for of_paper in [1_000, 3_000, 7_000, 10_000] {
        let cards = runner.cards(of_paper);
        let (data, engine) = study(runner, cards)?;
        runner.say(&format!("threats of {cards} trajectories"));
        let (study, built) = timed(|| Study::new(&engine, &data.sealed));
        let (found, with_tree) = timed(|| study.threats());
        let scanned = match cards <= MOST_SCANNED {
            true => timed(|| study.threats_by_scanning()).1,
            false => Cell::Nothing,
        };
        let printed = match of_paper {
            7_000 => ["", "< 1", "almost 450"],
            10_000 => ["< 10", "", ""],
            _ => ["", "", ""],
        };
        exhibit.push(vec![
            cards.into(),
            found.into(),
            built,
            printed[0].into(),
            with_tree,
            printed[1].into(),
            scanned,
            printed[2].into(),
        ]);
    }
    Ok(exhibit)
}

/// Figures 2c and 3.
fn suppression(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figures 2c and 3",
        "global suppression by the number of trajectories (random trajectories, P_br = 0.5)",
        &["trajectories", "problems before", "places kept", "ploss", "seconds", "paper"],
        "The paper prints no number. More is kept of more trajectories, because more of them share a projection.",
    );
    for of_paper in [300, 1_000, 3_000, 10_000] {
        let cards = runner.cards(of_paper);
        let (data, engine) = study(runner, cards)?;
        let study = Study::new(&engine, &data.sealed);
        let keys = json!({ "breach": "0.5", "input": "sequences", "adversaries": owners(&data) });
        let tried = runner.suppressing(&data, "projection", &keys);
        exhibit.run(vec![cards.into(), study.threats().into()], &tried, &KEPT, &[""]);
    }
    Ok(exhibit)
}

/// Figure 2d.
fn same(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figure 2d",
        "different places left by the tree and by the algorithm that scans",
        &[
            "trajectories",
            "tree",
            "scanning",
            "seconds, tree",
            "seconds, scanning",
            "the same rows",
        ],
        "As in the paper both give the same; ours give the same rows, not only as many places. The update that the \
         paper prints would not: it leaves longer projections of others as they were.",
    );
    for of_paper in [20, 40, 60] {
        let cards = runner.cards(of_paper);
        let (data, engine) = study(runner, cards)?;
        runner.say(&format!("{cards} trajectories, by scanning"));
        let study = Study::new(&engine, &data.sealed);
        let (with_tree, fast) = timed(|| study.suppressed());
        let (scanned, slow) = timed(|| study.suppressed_by_scanning());
        exhibit.push(vec![
            cards.into(),
            places(&with_tree).into(),
            places(&scanned).into(),
            fast,
            slow,
            if with_tree == scanned { "yes" } else { "no" }.into(),
        ]);
    }
    Ok(exhibit)
}
