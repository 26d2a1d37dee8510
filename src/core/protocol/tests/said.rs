//! What a worker and its errors say about themselves: the console, USR1 and the exit code follow from it.

use super::*;
use crate::engine;

#[test]
fn a_release_that_fails_its_own_check_is_told_from_every_other_failure() {
    let window = || "W".to_owned();
    let promise = engine::Error::Promise("too few".to_owned());
    let work = engine::Error::Work { window: window(), what: "mining".to_owned(), max_work: 1 };
    for failed in [
        Error::Engine(promise),
        Error::Render("rows".to_owned()),
        Error::Changed { window: window() },
    ] {
        assert!(failed.is_failed_check(), "{failed}");
    }
    for other in [
        // Its kind is another.
        Error::Engine(work),
        // As broken, and no release was made.
        Error::LedgerShortened { found: 1, expected: 2 },
    ] {
        assert!(!other.is_failed_check(), "{other}");
    }
}

#[test]
fn every_error_says_whose_fault_it_is() {
    let gone = ledger::ChainFault::OtherSecret;
    let text = || "text".to_owned();
    for (error, kind) in [
        (Error::PositionsExpired, ErrorKind::Config),
        (Error::ForeignMetadata { partition: 0, text: text() }, ErrorKind::Config),
        (Error::UnsignedMetadata { partition: 0 }, ErrorKind::Config),
        (Error::OtherFeed { found: text(), expected: text() }, ErrorKind::Config),
        (Error::NoFirstWindow, ErrorKind::Config),
        (Error::Ledger(gone), ErrorKind::Config),
        (Error::NoLowOffset(1), ErrorKind::External),
        (Error::NoPartitions, ErrorKind::External),
        (Error::WrongSegment { offset: 1, what: text() }, ErrorKind::Broken),
        (Error::ForgedMetadata { partition: 0 }, ErrorKind::Broken),
        (Error::LedgerShortened { found: 0, expected: 1 }, ErrorKind::Broken),
    ] {
        assert_eq!(error.kind(), kind, "{error}");
    }
}

/// An answer that nobody asked for is named; what is in it may point at a person and is not.
#[test]
fn an_answer_out_of_turn_is_named_without_its_contents() {
    let (mut worker, read) = file_worker(None);
    read.unwrap();
    let error = worker.step(ReleaseEvent::Cleared).err().unwrap();
    let Error::OutOfTurn { phase, event } = &error else { panic!("{error}") };
    assert_eq!((phase.as_str(), event.as_str()), ("Resting", "Cleared"));
    assert_eq!(error.kind(), ErrorKind::Broken);
}

#[test]
fn a_worker_rests_until_a_window_is_complete_and_shows_what_it_gathers() {
    let standing_by = Releaser::of_segments(plan());
    assert!(standing_by.is_resting() && standing_by.pending().is_none());
    let mut worker = active();
    assert!(worker.is_resting() && worker.pending().is_some());
    polled(&mut worker, 3, codec().taps(window().id(), 0, &stamps(0), &[1; 24])).unwrap();
    assert_eq!(worker.pending().unwrap().gathered().count(), 1);
    assert!(worker.is_resting(), "its marker is not there yet");
    polled(&mut worker, 4, codec().finished(window().id(), 0, 1, &[2; 24])).unwrap();
    let wanted = worker.step(ReleaseEvent::Tick(now())).unwrap();
    assert!(!wanted.is_empty() && !worker.is_resting());
    let (of_file, _) = file_worker(None);
    assert!(of_file.is_resting() && of_file.pending().is_none());
}
