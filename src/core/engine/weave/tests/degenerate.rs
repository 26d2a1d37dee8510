use std::sync::Arc;

use super::*;
use crate::engine::fixture::{sealed, unbooked};
use crate::engine::weave::{Settings, Weave};
use crate::engine::{Engine, Release};
use crate::model::{PathKind, Station, Stations};

fn stations(n: usize) -> Arc<Stations> {
    let station = |n| Station { id: format!("s{n:06}"), ..Station::default() };
    Arc::new(Stations::new((0..n).map(station).collect()).unwrap())
}

fn settings(n_stations: usize, micro: u64) -> Settings {
    Settings {
        epsilon: MicroEpsilon::new(micro),
        favour: Favour::Balanced,
        legs: Legs::Next,
        longest_secs: None,
        input: PathKind::Timed,
        max_length: NonZeroU32::new(12).unwrap(),
        stations: stations(n_stations),
        threads: NonZeroUsize::new(2).unwrap(),
    }
}

/// A release of a day of minutes.
fn release(settings: Settings, paths: &[Vec<(u32, u32)>]) -> Release {
    let engine = Weave::new(settings, 1_440).unwrap();
    let doublets = |path: &Vec<(u32, u32)>| {
        path.iter().map(|&(station, slot)| Doublet { station: StationIx(station), slot }).collect()
    };
    let window = sealed(&paths.iter().map(doublets).collect::<Vec<_>>());
    engine.check_window(window.window()).unwrap();
    let permit = unbooked(&engine, &window);
    engine.sanitize(&window, permit, &NoiseKey::for_test(4)).unwrap()
}

fn is_valid(release: &Release, n_stations: u32) {
    for row in release.rows() {
        assert!(row.count > 0 && !row.path.is_empty() && row.path.len() <= 12);
        assert!(
            row.path.iter().all(|doublet| doublet.station.0 < n_stations && doublet.slot < 1_440)
        );
        assert!(row.path.is_sorted_by_key(|doublet| doublet.slot));
    }
    let tables = release.tables().unwrap();
    assert!(tables.stations.iter().all(|cell| cell.taps.low <= cell.taps.high));
}

#[test]
fn odd_windows_give_valid_releases_and_never_a_panic() {
    let same = vec![vec![(1, 400), (2, 410), (2, 1_000), (1, 1_010)]; 500];
    let short: Vec<Vec<(u32, u32)>> = (0..500).map(|n| vec![(n % 3, n)]).collect();
    for (what, n_stations, micro, paths) in [
        ("no card", 3, 1_000_000, vec![]),
        ("one card", 3, 1_000_000, vec![vec![(1, 7)]]),
        ("one station", 1, 1_000_000, vec![vec![(0, 7), (0, 9)]; 300]),
        ("all the same", 3, 1_000_000, same.clone()),
        ("one tap each", 3, 1_000_000, short),
        ("a hundredth", 3, 10_000, same.clone()),
        ("twenty", 3, 20_000_000, same),
    ] {
        println!("{what}");
        is_valid(&release(settings(n_stations, micro), &paths), n_stations as u32);
    }
}

/// Every rule of legs and every favour, on windows of one slot, one station and one card.
#[test]
fn the_smallest_windows_give_releases_under_every_setting() {
    for (stations, slots, n_cards) in [(1, 1, 1), (3, 1, 40), (1, 24, 40), (3, 24, 0)] {
        for favour in [Favour::Balanced, Favour::Stations, Favour::Od, Favour::Trips] {
            for (legs, longest) in
                [(Legs::Next, Some(0)), (Legs::Pairs, Some(2)), (Legs::Next, None)]
            {
                println!("{stations} stations, {slots} slots, {n_cards} cards, {favour}, {legs}");
                let longest = longest.filter(|&longest| longest + 1 < slots);
                let base = terms(stations, slots, slots, 1_000_000);
                let terms = Terms { favour, legs, longest, ..base };
                let paths = vec![vec![(0, 0), (stations - 1, slots - 1)]; n_cards];
                let key = NoiseKey::for_test(9);
                let (window, tables) = woven(&measure(&cards(&paths), terms, &key, ONE), &key, ONE);
                assert!(window.len() >= 1);
                assert_eq!(tables.stations.len() as u64, terms.shape.n_doublets());
            }
        }
    }
}

/// A window of 300 cards says in its manifest that there is no more to say.
#[test]
fn a_small_window_says_what_it_cannot_say() {
    let paths: Vec<Vec<(u32, u32)>> = (0..300).map(|n| vec![(n % 5, n), (n % 3, n + 30)]).collect();
    let engine = Weave::new(settings(5, 1_000_000), 1_440).unwrap();
    let doublets = |path: &Vec<(u32, u32)>| {
        path.iter().map(|&(station, slot)| Doublet { station: StationIx(station), slot }).collect()
    };
    let window = sealed(&paths.iter().map(doublets).collect::<Vec<_>>());
    let said = engine.draft(&window, &NoiseKey::for_test(4)).unwrap().post_processing.join("; ");
    assert!(said.contains("too few cards for stations by slots"), "{said}");
    assert!(said.contains("too few cards for flows"), "{said}");
}

#[test]
fn sequences_have_no_times_in_their_release() {
    let paths = vec![vec![(0, 3), (1, 800), (0, 1_200)]; 3_000];
    let release = release(Settings { input: PathKind::Untimed, ..settings(4, 1_000_000) }, &paths);
    assert!(release.rows().iter().flat_map(|row| &row.path).all(|doublet| doublet.slot == 0));
    let total: u64 = release.rows().iter().map(|row| row.count).sum();
    assert!(total.abs_diff(3_000) < 1_500, "{total}");
}

#[test]
fn what_does_not_fit_is_a_complaint_before_anything_is_booked() {
    let complaints = Weave::new(settings(100_000, 1_000_000), 1_440).unwrap_err();
    assert!(complaints[0].1.contains("doublets"), "{complaints:?}");
    let complaints = Weave::new(settings(3, 999), 24).unwrap_err();
    assert!(complaints[0].0.contains("engine.epsilon"), "{complaints:?}");
    let long = Settings { max_length: NonZeroU32::new(65).unwrap(), ..settings(3, 1_000_000) };
    assert!(Weave::new(long, 24).unwrap_err()[0].0.contains("max_length"));
}

/// The price and the configuration are all that `check` has; it must say every table with its share.
#[test]
fn a_forecast_names_every_table_with_its_share() {
    let engine = Weave::new(settings(30, 1_000_000), 24).unwrap();
    let forecast = engine.forecast(24, crate::engine::USUAL_CARDS);
    assert!(
        forecast.shares.len() >= 10
            && forecast.shares.iter().any(|share| share.class.contains("origin"))
    );
}

/// A thousand stations and a week of hours: coarser tables by the same rule, none larger than memory.
#[test]
fn large_universes_are_asked_coarsely() {
    let lengths = vec![0, 1_000_000 * i64::from(UNIT)];
    let plan = plan(terms(1_000, 168, 24, 1_000_000), 1_000_000, &lengths);
    let asked = Name::ALL.into_iter().filter(|&name| plan.asks(name) && name != Name::Loops);
    let cells: u64 = asked.map(|name| plan.table(name).n_cells()).sum();
    assert!(cells < 20_000_000, "{cells} cells");
    let plan = super::plan(terms(10_000, 168, 24, 1_000_000), 1_000_000, &lengths);
    assert!(!plan.asks(Name::Pairs) && plan.asks(Name::Occupancy));
}
