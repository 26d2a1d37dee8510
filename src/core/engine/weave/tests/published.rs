use super::*;

/// Of the published station counts at ε = 1 about 95 of 100 intervals hold the truth. `cargo bench --bench weave --
/// --coverage 200` counts more of them, and those of legs and lengths.
#[test]
fn intervals_hold_the_truth_about_as_often_as_they_say() {
    let paths = city(30_000, 10, 24, 8);
    let mut truth = std::collections::BTreeMap::new();
    for path in &paths {
        let distinct: std::collections::BTreeSet<_> = path.iter().collect();
        distinct.into_iter().for_each(|doublet| *truth.entry(*doublet).or_insert(0_u64) += 1);
    }
    let (mut held, mut all) = (0, 0);
    for seed in 0..6 {
        println!("seed {seed}");
        let key = NoiseKey::for_test(seed);
        let (_, tables) =
            woven(&measure(&cards(&paths), terms(10, 24, 24, 1_000_000), &key, ONE), &key, ONE);
        for cell in &tables.stations {
            let true_count = truth.get(&(cell.station.0, cell.slot)).copied().unwrap_or(0);
            held += u32::from((cell.taps.low..=cell.taps.high).contains(&true_count));
            all += 1;
        }
    }
    let share = f64::from(held) / f64::from(all);
    // 1,440 intervals: three standard deviations of a binomial at 0.95 are 0.017.
    assert!((0.91..=0.995).contains(&share), "{share}");
}

/// With little noise the synthetic window's own tables are the true ones, nearly.
#[test]
fn a_woven_window_agrees_with_what_was_measured() {
    let paths = city(20_000, 8, 24, 9);
    let key = NoiseKey::for_test(1);
    let terms = terms(8, 24, 24, 10_000_000);
    let (window, tables) = woven(&measure(&cards(&paths), terms, &key, ONE), &key, ONE);
    assert!(window.len().abs_diff(20_000) < 200, "{}", window.len());
    let mut gap = vec![0_i64; 8 * 24];
    for path in &paths {
        let mut codes: Vec<usize> = path.iter().map(|d| (d.0 * 24 + d.1) as usize).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().for_each(|code| gap[code] += 1);
    }
    let taps: i64 = gap.iter().sum();
    let mut published = gap.clone();
    for cell in &tables.stations {
        published[(cell.station.0 * 24 + cell.slot) as usize] -= cell.taps.value as i64;
    }
    for codes in window.iter() {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().for_each(|code| gap[code as usize] -= 1);
    }
    let off = |gap: &[i64]| gap.iter().map(|gap| gap.abs()).sum::<i64>() as f64 / taps as f64;
    assert!(off(&gap) < 0.06 && off(&published) < 0.03, "{} {}", off(&gap), off(&published));
}

/// 300 cards: totals by station and by hour are sensible, and flows are not even asked.
#[test]
fn a_small_window_has_sensible_totals_by_station_and_hour() {
    let paths = city(300, 6, 24, 10);
    let mut truth = [vec![0_i64; 6], vec![0; 24]];
    for path in &paths {
        let distinct: std::collections::BTreeSet<_> = path.iter().collect();
        for doublet in distinct {
            truth[0][doublet.0 as usize] += 1;
            truth[1][doublet.1 as usize] += 1;
        }
    }
    let taps: i64 = truth[0].iter().sum();
    let mut off = [0, 0];
    for seed in 0..5 {
        println!("seed {seed}");
        let key = NoiseKey::for_test(seed);
        let answers = measure(&cards(&paths), terms(6, 24, 24, 1_000_000), &key, ONE);
        let (_, tables) = woven(&answers, &key, ONE);
        assert!(tables.od.is_empty() && !answers.plan.asks(Name::Pairs));
        let mut gap = truth.clone();
        for cell in &tables.stations {
            gap[0][cell.station.0 as usize] -= cell.taps.value as i64;
            gap[1][cell.slot as usize] -= cell.taps.value as i64;
        }
        for (off, gap) in off.iter_mut().zip(&gap) {
            *off += gap.iter().map(|gap| gap.abs()).sum::<i64>();
        }
    }
    let error = off.map(|off| off as f64 / (5 * taps) as f64);
    assert!(error[0] < 0.35 && error[1] < 0.6, "{error:?}");
}

/// Legs of one pair of stations are short, those of another long: with a limit only the short ones are published.
#[test]
fn a_leg_that_takes_too_long_is_not_published() {
    let short = vec![(0, 6), (1, 7)];
    let long = vec![(2, 6), (3, 16)];
    let paths: Vec<_> = std::iter::repeat_n([short, long], 4_000).flatten().collect();
    let key = NoiseKey::for_test(5);
    let count = |longest: Option<u32>, from: u32, to: u32| -> u64 {
        let terms = Terms { longest, ..terms(5, 24, 24, 4_000_000) };
        let (_, tables) = woven(&measure(&cards(&paths), terms, &key, ONE), &key, ONE);
        let of_pair = |leg: &&crate::engine::LegCount| (leg.origin.0, leg.dest.0) == (from, to);
        tables.od.iter().filter(of_pair).map(|leg| leg.trips.value).sum()
    };
    let all = [count(None, 0, 1), count(None, 2, 3)];
    assert!(all.iter().all(|legs| legs.abs_diff(4_000) < 400), "{all:?}");
    let limited = [count(Some(3), 0, 1), count(Some(3), 2, 3)];
    assert!(limited[0].abs_diff(4_000) < 400 && limited[1] < 100, "{limited:?}");
}

/// Many pairs, few cards a pair, little ε: a table of flows that says anything is nearer to the truth than an empty
/// one.
/// The mean of five seeds.
#[test]
fn a_sparse_table_of_flows_is_not_farther_off_than_an_empty_one() {
    let paths = city(4_000, 40, 24, 12);
    let mut truth = std::collections::BTreeMap::new();
    for path in &paths {
        path.windows(2).for_each(|step| *truth.entry((step[0].0, step[1].0)).or_insert(0_i64) += 1);
    }
    let legs: i64 = truth.values().sum();
    let mut off = 0;
    for seed in 0..5 {
        println!("seed {seed}");
        let key = NoiseKey::for_test(seed);
        let terms = terms(40, 24, 24, 500_000);
        let (_, tables) = woven(&measure(&cards(&paths), terms, &key, ONE), &key, ONE);
        let mut gaps = truth.clone();
        for leg in &tables.od {
            *gaps.entry((leg.origin.0, leg.dest.0)).or_insert(0) -= leg.trips.value as i64;
        }
        off += gaps.values().map(|gap| gap.abs()).sum::<i64>();
    }
    let error = off as f64 / (5 * legs) as f64;
    assert!(error <= 1.0, "{error}");
}

/// A value lies in its interval, sums by period are whole, and nothing is negative by type.
#[test]
fn published_tables_are_consistent() {
    let paths = city(20_000, 8, 24, 13);
    let key = NoiseKey::for_test(6);
    let (window, tables) =
        woven(&measure(&cards(&paths), terms(8, 24, 24, 1_000_000), &key, ONE), &key, ONE);
    let holds = |one: crate::engine::Interval| one.low <= one.value && one.value <= one.high;
    assert!(tables.stations.iter().all(|cell| holds(cell.taps)));
    assert!(tables.od.iter().all(|leg| holds(leg.trips) && leg.trips.value > 0));
    assert!(tables.lengths.iter().all(|length| holds(length.cards)));
    let cards: u64 = tables.lengths.iter().map(|length| length.cards.value).sum();
    assert!(cards.abs_diff(window.len() as u64) <= tables.lengths.len() as u64, "{cards}");
}

/// Where taps say entry and exit, legs go from entry to exit, whatever their number: after an exit that was forgotten
/// too, and in a feed in which most taps have no exit at all.
#[test]
fn legs_are_made_of_kinds_where_taps_do_not_come_in_pairs() {
    let (entry, exit) = (Some(TapKind::Entry), Some(TapKind::Exit));
    // Entry at 0 forgotten to be closed; entry at 1, exit at 2; and, in the second city, two more entries.
    let forgot = vec![(0, 6), (1, 8), (2, 9)];
    let open = vec![(0, 6), (1, 8), (2, 9), (3, 15), (4, 17)];
    for (name, path, kinds) in [
        ("forgot", forgot, [entry, entry, exit, None, None]),
        ("open", open, [entry, entry, exit, entry, entry]),
    ] {
        let whole = vec![(0, 7), (3, 8)];
        let in_pairs: Vec<_> = std::iter::repeat_n(whole, 6_000).collect();
        let others: Vec<_> = std::iter::repeat_n(path, 4_000).collect();
        let mut all = cards_with(&others, |at| kinds[at]);
        cards_with(&in_pairs, |at| [entry, exit][at]).iter().enumerate().for_each(
            |(ix, (_, path))| {
                let card = crate::passenger::CardKey::from_halves([ix as u64, u64::MAX]);
                all.push(card, path.iter().copied().zip([entry, exit]));
            },
        );
        let key = NoiseKey::for_test(8);
        let terms = Terms { legs: Legs::Kinds, longest: Some(3), ..terms(5, 24, 24, 4_000_000) };
        let answers = measure(&all, terms, &key, ONE);
        let (window, tables) = woven(&answers, &key, ONE);
        let count = |from: u32, to: u32| -> u64 {
            let of_pair = |leg: &&crate::engine::LegCount| (leg.origin.0, leg.dest.0) == (from, to);
            tables.od.iter().filter(of_pair).map(|leg| leg.trips.value).sum()
        };
        let legs = [count(1, 2), count(0, 3), count(0, 1), count(2, 3), count(3, 4)];
        assert!(legs[0].abs_diff(4_000) < 500 && legs[1].abs_diff(6_000) < 600, "{name}: {legs:?}");
        assert!(legs[2..].iter().all(|&others| others < 150), "{name}: {legs:?}");
        let steps = |from, to| {
            let step = |pair: &[u32]| pair[0] / 24 == from && pair[1] / 24 == to;
            window
                .iter()
                .map(|codes| codes.windows(2).filter(|pair| step(pair)).count())
                .sum::<usize>()
        };
        let woven = [steps(0, 1), steps(1, 2), steps(0, 3)];
        let wanted = [4_000, 4_000, 6_000];
        let near = woven.iter().zip(wanted).all(|(steps, wanted)| steps.abs_diff(wanted) < 1_200);
        assert!(near, "{name}: synthetic trips go the same ways: {woven:?}");
    }
}
