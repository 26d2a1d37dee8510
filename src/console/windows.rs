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
    /// When its release can be expected; none for one that has gone its way.
    pub(super) due: Option<String>,
    /// Why it is withheld.
    pub(super) reason: Option<String>,
}

/// The release that comes next.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Next {
    pub(super) window: String,
    /// When it can be expected.
    pub(super) due: String,
    /// Until then.
    pub(super) due_in_seconds: i64,
    /// For how long it is overdue; 0 where the taps' own progress closes windows.
    pub(super) overdue_seconds: i64,
}

/// The release that comes next; none before the ledger is open, and after the last of a range.
pub(super) fn next(facts: &Facts, now: Timestamp, known: &Snapshot) -> Option<Next> {
    let window = known.next(&facts.calendar).filter(|window| facts.exists(window.id()))?;
    let due = facts.expected(&window);
    let late = now.duration_since(due).as_secs().max(0);
    Some(Next {
        window: window.name(),
        due: label(facts, due),
        due_in_seconds: due.duration_since(now).as_secs().max(0),
        overdue_seconds: if facts.closes_after.is_some() { late } else { 0 },
    })
}

fn label(facts: &Facts, at: Timestamp) -> String {
    at.to_zoned(facts.calendar.zone().clone()).strftime("%Y-%m-%dT%H:%M%:z").to_string()
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
        due: (!matches!(state, State::Released | State::Withheld))
            .then(|| label(facts, facts.expected(window))),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::metrics::{Booked, Gathered};
    use crate::model::{Calendar, MicroEpsilon, Schedule};

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

    #[test]
    fn the_next_release_is_shown_with_its_time_and_how_late_it_is() {
        let zone = TimeZone::get("America/Toronto").unwrap();
        let calendar = Calendar::new(zone, 86_400, 0, 3_600).unwrap();
        let six = Some(jiff::civil::Time::constant(6, 0, 0, 0));
        let schedule = Schedule { at: six, after_days: 1, ..Schedule::default() };
        let facts = Facts { schedule, ..Facts::for_test(calendar.clone()) };
        let window = calendar.window_at(at("2026-10-30T12:00:00-04:00")).unwrap();
        let known = Snapshot { first: Some(window.id()), ..Snapshot::default() };
        let shown = next(&facts, at("2026-11-01T05:59:00-05:00"), &known).unwrap();
        assert_eq!(
            (shown.window.as_str(), shown.due.as_str()),
            ("20261030T0000_20261031T0000", "2026-11-01T06:00-05:00")
        );
        assert_eq!((shown.due_in_seconds, shown.overdue_seconds), (60, 0));
        let late = next(&facts, at("2026-11-01T07:00:00-05:00"), &known).unwrap();
        assert_eq!((late.due_in_seconds, late.overdue_seconds), (0, 3_600));
        let backfill = Facts { closes_after: None, ..Facts::for_test(calendar) };
        let late = next(&backfill, at("2026-11-01T07:00:00-05:00"), &known).unwrap();
        assert_eq!(late.overdue_seconds, 0, "the taps' own times decide");
        let done = Facts { range: Some((window.id(), window.id())), ..backfill };
        assert_eq!(next(&done, at("2026-11-01T07:00:00-05:00"), &known), None);
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
