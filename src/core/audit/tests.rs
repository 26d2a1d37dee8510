//! The auditor against engines that are true and engines that are not.

use super::*;
use crate::engine::fixture::with_threads;

/// With the numbers the command uses. Seeds are fixed: what passes once passes always.
#[test]
fn every_true_engine_passes_and_every_mutant_is_caught_by_both_audits() {
    let report = audit(&Registry::standard(), None, Effort::usual(), &|_| {});
    assert_eq!((report.engines.len(), report.mutants.len()), (18, 7));
    for engine in &report.engines {
        println!("{engine:?}");
        assert!(engine.holds(), "{engine:?}");
        // An auditor that sees nothing passes everything: at h = 2 it must come near the truth.
        if engine.height == 2 {
            assert!(engine.lower_bound > 1.3, "{engine:?}");
        }
    }
    for mutant in &report.mutants {
        println!("{mutant:?}");
        assert!(mutant.caught_by_statistics(), "{mutant:?}");
        assert!(mutant.breach.is_some(), "{mutant:?}");
    }
    assert!(report.is_sound());
}

#[test]
fn the_number_of_threads_does_not_show_in_a_report() {
    let few = Effort { samples: 2_000, pairs: 8 };
    let report = |threads| {
        with_threads(threads, || audit(&Registry::standard(), Some("seqpt"), few, &|_| {}))
    };
    let one = report(1);
    assert!([2, 7].iter().all(|&n| report(n) == one));
}

#[test]
fn a_finding_above_the_claim_is_no_holding_engine() {
    let mut report =
        audit(&Registry::standard(), Some("simple"), Effort { samples: 500, pairs: 4 }, &|_| {});
    assert!(report.engines.iter().all(EngineFinding::holds));
    report.engines[0].lower_bound = 2.01;
    assert!(!report.engines[0].holds() && !report.is_sound());
    report.engines[0].lower_bound = 0.0;
    report.engines[0].breach = Some("another question".to_owned());
    assert!(!report.engines[0].holds());
}

#[test]
fn the_names_are_those_of_the_configuration() {
    assert_eq!(engine_names(&Registry::standard()), ["safepath", "hybrid", "simple", "seqpt"]);
}
