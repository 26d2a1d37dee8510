//! Odd windows and odd worlds: a valid release or a complaint before anything is booked.

use std::sync::Arc;

use super::super::{NGram, Settings};
use super::*;
use crate::engine::fixture::{sealed, unbooked};
use crate::engine::{Engine, Release};
use crate::model::{Doublet, PathKind, Station, StationIx, Stations};

fn stations(n: usize) -> Arc<Stations> {
    let station = |n| Station { id: format!("s{n:06}"), ..Station::default() };
    Arc::new(Stations::new((0..n).map(station).collect()).unwrap())
}

fn settings(n_stations: usize, micro: u64, input: PathKind) -> Settings {
    Settings {
        epsilon: MicroEpsilon::new(micro),
        longest: NonZeroU32::new(5).unwrap(),
        max_nodes: 100_000,
        input,
        max_length: NonZeroU32::new(12).unwrap(),
        stations: stations(n_stations),
    }
}

/// A release of a day of minutes.
fn release(settings: Settings, paths: &[Path]) -> Release {
    let engine = NGram::new(settings, 1_440).unwrap();
    let doublets = |path: &Path| {
        path.iter().map(|&(station, slot)| Doublet { station: StationIx(station), slot }).collect()
    };
    let window = sealed(&paths.iter().map(doublets).collect::<Vec<_>>());
    engine.check_window(window.window()).unwrap();
    let permit = unbooked(&engine, &window);
    engine.sanitize(&window, permit, &NoiseKey::for_test(4)).unwrap()
}

fn is_valid(release: &Release, n_stations: u32) {
    assert!(!release.rows().is_empty());
    for row in release.rows() {
        assert!((1..=12).contains(&row.path.len()) && row.count > 0, "{row:?}");
        assert!(row.path.iter().all(|tap| tap.station.0 < n_stations && tap.slot < 1_440));
        assert!(row.path.is_sorted_by_key(|tap| tap.slot), "{row:?}");
    }
    assert!(release.rows().windows(2).all(|two| two[0].path < two[1].path), "each path once");
}

/// Holds E-4.
#[test]
fn odd_windows_give_valid_releases_and_never_a_panic() {
    let windows: [(&str, u32, Vec<Path>); 8] = [
        ("no card", 7, vec![]),
        ("one card", 7, vec![vec![(3, 5), (4, 9)]]),
        ("one station", 1, vec![vec![(0, 1), (0, 2), (0, 3)]; 40]),
        ("one slot", 7, (0..90).map(|n| vec![(n % 7, 3), ((n + 1) % 7, 3)]).collect()),
        ("all the same", 7, vec![vec![(1, 2), (2, 3), (1, 9)]; 500]),
        ("one tap each", 7, (0..200).map(|n| vec![(n % 7, n)]).collect()),
        ("longer than counts", 7, vec![(0..40).map(|n| (n % 7, n)).collect(); 9]),
        ("the last station at the last minute", 7, vec![vec![(6, 1_439); 3]; 60]),
    ];
    for (name, n_stations, paths) in windows {
        for micro in [1_000, 10_000, 1_000_000, 20_000_000] {
            for input in [PathKind::Timed, PathKind::Untimed] {
                println!("{name}, {micro}, {input:?}");
                is_valid(&release(settings(n_stations as usize, micro, input), &paths), n_stations);
            }
        }
    }
}

/// More doublets than memory would hold tables of: those from a threshold on are told.
#[test]
fn a_universe_beyond_memory_is_walked_over() {
    let paths: Vec<Path> = (0..3_000).map(|n| vec![(n % 50, n % 9), (n % 70, 20)]).collect();
    let release = release(settings(40_000, 1_000_000, PathKind::Timed), &paths);
    is_valid(&release, 40_000);
    let n: u64 = release.rows().iter().map(|row| row.count).sum();
    assert!((2_000..4_000).contains(&n), "{n}");
}

#[test]
fn few_n_grams_are_kept_in_a_fixed_order() {
    let paths = city(3_000, 9, 24, 3);
    let few = Settings { max_nodes: 5, ..settings(9, 1_000_000, PathKind::Untimed) };
    is_valid(&release(few, &paths), 9);
    let one = NonZeroU32::MIN;
    let single = Settings { longest: one, ..settings(9, 1_000_000, PathKind::Untimed) };
    is_valid(&release(single, &paths), 9);
}

/// Holds E-4.
#[test]
fn what_does_not_fit_is_a_complaint_before_anything_is_booked() {
    let tiny = NGram::new(settings(3, 999, PathKind::Untimed), 24).unwrap_err();
    assert!(tiny[0].0 == "engine.epsilon" && tiny[0].1.contains("0.001"), "{tiny:?}");
    let long = NonZeroU32::new(1_001).unwrap();
    let long = Settings { max_length: long, ..settings(3, 1_000, PathKind::Untimed) };
    assert_eq!(NGram::new(long, 24).unwrap_err()[0].0, "window.max_length");
    let wide = NGram::new(settings(50_000, 1_000_000, PathKind::Timed), 44_640).unwrap_err();
    assert!(wide[0].0 == "window.slot" && wide[0].1.contains("sequences"), "{wide:?}");
    assert!(NGram::new(settings(50_000, 1_000_000, PathKind::Untimed), 44_640).is_ok());
}
