//! The state of each window, from what the workers know and what time it is.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::Facts;
use crate::metrics::{Progress, Snapshot};
use crate::model::{Window, WindowId};

/// Rows shown at most.
const MOST: usize = 50;

/// Where a window is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// Taps of it may still happen.
    Open,
    /// It is over; taps on their way still count.
    Closing,
    /// Complete, and waiting for its release.
    Sealed,
    /// Its release is in place.
    Released,
    /// It goes without a release.
    Withheld,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closing => "closing",
            Self::Sealed => "sealed",
            Self::Released => "released",
            Self::Withheld => "withheld",
        }
    }
}

/// One window.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Line {
    pub(super) window: String,
    pub(super) start: String,
    pub(super) end: String,
    pub(super) state: State,
    /// Until taps stop to count; none where the taps' own progress closes windows.
    pub(super) closes_in_seconds: Option<i64>,
    /// Partitions that have finished it, of how many.
    pub(super) finished: Option<(u32, u32)>,
    /// Taps of it that this process has committed; none where it has not ingested any.
    pub(super) taps: Option<u64>,
    /// Why it is withheld.
    pub(super) reason: Option<String>,
}

/// The windows that matter now, the latest first.
pub(super) fn lines(
    facts: &Facts,
    now: Timestamp,
    known: &Snapshot,
    board: &BTreeMap<WindowId, Progress>,
) -> Vec<Line> {
    let released = known.released();
    let mut ids: Vec<WindowId> = released.iter().copied().collect();
    ids.extend(known.withheld.keys());
    ids.extend(known.gathered.iter().map(|one| one.window));
    ids.extend(board.keys());
    if let Some(first) = known.first {
        ids.push(first);
        let reached = match facts.closes_after {
            Some(_) => facts.calendar.window_at(now).map(|window| window.id()),
            None => known.watermark.and_then(|at| facts.calendar.window_at(at)).map(|w| w.id()),
        };
        ids.extend(reached.filter(|reached| *reached >= first && facts.exists(*reached)));
    }
    ids.sort();
    ids.dedup();
    let windows = ids.into_iter().rev().filter_map(|id| facts.calendar.window(id));
    let taps = |window: &Window| board.get(&window.id()).map(|progress| progress.n_taps);
    let line = |window: Window| Line { taps: taps(&window), ..line(facts, now, known, &window) };
    windows.take(MOST).map(line).collect()
}

fn line(facts: &Facts, now: Timestamp, known: &Snapshot, window: &Window) -> Line {
    let gathered = known.gathered.iter().find(|one| one.window == window.id());
    let finished = gathered.map(|one| (one.n_finished, one.n_partitions)).filter(|(_, of)| *of > 0);
    let reason = known.withheld.get(&window.id()).cloned();
    let is_over = match facts.closes_after {
        Some(_) => now >= window.end(),
        None => known.watermark.is_some_and(|at| at >= window.end()),
    };
    let state = if known.released().contains(&window.id()) {
        State::Released
    } else if reason.is_some() {
        State::Withheld
    } else if finished.is_some_and(|(n, of)| n >= of) {
        State::Sealed
    } else if is_over {
        State::Closing
    } else {
        State::Open
    };
    let until = |after: SignedDuration| (window.end() + after).duration_since(now).as_secs().max(0);
    Line {
        window: window.name(),
        start: window.start_label(),
        end: window.end_label(),
        state,
        closes_in_seconds: facts
            .closes_after
            .filter(|_| matches!(state, State::Open | State::Closing))
            .map(until),
        finished,
        taps: None,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::metrics::{Booked, Gathered};
    use crate::model::{Calendar, MicroEpsilon};

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_window_goes_from_open_to_released() {
        let calendar = Calendar::new(TimeZone::UTC, 60, 0, 60).unwrap();
        let facts = Facts::for_test(calendar.clone());
        let window = calendar.window_at(at("2026-01-01T12:00:00Z")).unwrap();
        let state = |now: &str, known: &Snapshot| {
            let lines = lines(&facts, at(now), known, &BTreeMap::new());
            let line = lines.iter().find(|line| line.window == window.name()).unwrap();
            (line.state, line.closes_in_seconds)
        };
        let mut known = Snapshot { first: Some(window.id()), ..Snapshot::default() };
        assert_eq!(state("2026-01-01T12:00:30Z", &known), (State::Open, Some(40)));
        assert_eq!(state("2026-01-01T12:01:05Z", &known), (State::Closing, Some(5)));
        let gathered = Gathered { window: window.id(), n_finished: 1, n_partitions: 2 };
        known.gathered = vec![gathered];
        assert_eq!(state("2026-01-01T12:01:30Z", &known), (State::Closing, Some(0)));
        known.gathered = vec![Gathered { n_finished: 2, ..gathered }];
        assert_eq!(state("2026-01-01T12:01:30Z", &known), (State::Sealed, None));
        known.withheld.insert(window.id(), "the cap".to_owned());
        assert_eq!(state("2026-01-01T12:01:30Z", &known), (State::Withheld, None));
        known.booked = vec![Booked {
            window: window.id(),
            start: window.start(),
            end: window.end(),
            price: MicroEpsilon::new(1),
            is_settled: true,
        }];
        assert_eq!(state("2026-01-01T12:01:30Z", &known), (State::Released, None));
    }

    /// An ingest worker knows no ledger; the board alone tells what it gathers.
    #[test]
    fn a_window_on_the_board_is_shown_with_its_taps() {
        let calendar = Calendar::new(TimeZone::UTC, 60, 0, 60).unwrap();
        let facts = Facts::for_test(calendar.clone());
        let window = calendar.window_at(at("2026-01-01T12:00:00Z")).unwrap();
        let progress = Progress { n_taps: 7, n_partitions: 2, n_finished: 1 };
        let board = BTreeMap::from([(window.id(), progress)]);
        let lines = lines(&facts, at("2026-01-01T12:00:30Z"), &Snapshot::default(), &board);
        assert_eq!(lines.len(), 1);
        assert_eq!((lines[0].window.clone(), lines[0].taps), (window.name(), Some(7)));
        assert_eq!(lines[0].state, State::Open);
    }
}
