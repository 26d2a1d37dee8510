use super::*;
use crate::model::StationIx;

/// `a1 b2`: a letter is a station, the number behind it a slot.
fn path(text: &str) -> Vec<Doublet> {
    text.split_whitespace()
        .map(|word| Doublet {
            station: StationIx(u32::from(word.as_bytes()[0] - b'a')),
            slot: word[1..].parse().unwrap(),
        })
        .collect()
}

fn check_lk(paths: &[(&str, u64)], l: u32, k: u64) -> Result<(), Breach> {
    let paths: Vec<_> = paths.iter().map(|(text, count)| (path(text), *count)).collect();
    let trips: Vec<Trip<'_>> =
        paths.iter().map(|(path, count)| Trip { path, count: *count }).collect();
    lk(&trips, l, k)
}

fn check_projection(paths: &[&str], owner: &[Option<u32>], breach: &str) -> Result<(), Breach> {
    let paths: Vec<_> = paths.iter().map(|text| path(text)).collect();
    let trips: Vec<Trip<'_>> = paths.iter().map(|path| Trip { path, count: 1 }).collect();
    projection(&trips, owner, Portion::parse(breach).unwrap())
}

/// Holds Q-2.
#[test]
fn a_sequence_that_too_few_share_is_found_at_every_length() {
    let rare = |length, support, k| Err(Breach::Rare { length, support, k });
    assert_eq!(check_lk(&[("a1", 3), ("b2", 1)], 1, 2), rare(1, 1, 2));
    let pairs = [("a1 b2", 1), ("a1 c3", 5), ("b2 c3", 5), ("a1 b2 c3", 5)];
    assert_eq!(check_lk(&pairs, 2, 7), rare(2, 6, 7));
    assert_eq!(check_lk(&pairs, 1, 7), Ok(()));
    let longer = [("a1 b2 c3 d4", 2), ("a1 b2 d4", 9), ("a1 c3 d4", 9), ("b2 c3 d4", 9)];
    assert_eq!(check_lk(&longer, 3, 5), rare(3, 2, 5));
    assert_eq!(check_lk(&longer, 2, 5), Ok(()));
    assert_eq!(check_lk(&longer, 9, 5), rare(4, 2, 5), "whole trajectories");
    assert_eq!(check_lk(&[], 3, 9), Ok(()), "nothing reveals nothing");
}

#[test]
fn order_and_repetition_count_within_a_slot() {
    assert_eq!(check_lk(&[("a1 b1", 4), ("b1 a1", 1)], 1, 5), Ok(()));
    assert!(check_lk(&[("a1 b1 c2", 4), ("b1 a1 c2", 1)], 2, 5).is_err());
    assert!(check_lk(&[("a1 a1 b2", 1), ("a1 b2 c3", 4)], 2, 2).is_err(), "a1 a1 is known once");
    assert!(check_lk(&[("a1 a1 b2", 2), ("a1 b2 b2", 4)], 2, 2).is_ok());
}

#[test]
fn a_place_that_follows_from_what_an_adversary_saw_is_found() {
    let owner = [Some(0), Some(1), Some(2)];
    let found = check_projection(&["a0 b0", "a0 b0", "a0 c0"], &owner, "0.5");
    let breach = Portion::parse("0.5").unwrap();
    let expected = Breach::Inferred { adversary: 0, support: 3, holders: 2, breach };
    assert_eq!(found, Err(expected));
    assert_eq!(check_projection(&["a0", "b0", "c0"], &owner, "0.5"), Ok(()));
    assert!(check_projection(&["a0 c0", "a0"], &[Some(0)], "0.4").is_err(), "nobody's place too");
}

#[test]
fn a_station_is_inferred_even_if_no_single_doublet_is() {
    let owner = [Some(0), Some(1), Some(2)];
    let paths = ["b1 c2", "b1 c3"];
    assert!(check_projection(&paths, &owner, "0.5").is_err());
    assert!(check_projection(&["b1 c2", "b1 a3"], &owner, "0.5").is_err(), "c2 tells b1");
}

/// What L = 20 of 40 doublets tell has a hundred thousand million forms; a row that stands for K needs none of them.
#[test]
fn long_rows_are_checked_in_no_time_and_endless_work_is_given_up() {
    let long: String = (0..40).map(|at| format!("a{at} ")).collect();
    assert_eq!(check_lk(&[(&long, 50)], 20, 3), Ok(()));
    // Three alike, each below K: every one of those forms is shared, and has to be looked at.
    let path = path(&long);
    let trips = [Trip { path: &path, count: 1 }; 3];
    let given_up = lk::lk_within(&trips, 20, 2, 1_000_000);
    assert_eq!(given_up, Err(Breach::TooMuchWork { most: 1_000_000 }));
}
