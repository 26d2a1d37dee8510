//! What becomes of an event: numbers, the console's state, a line of the log.

use super::event::{Event, Weight};
use crate::metrics::{Board, Metrics, Status};
use crate::model::Counts;
use crate::protocol::FlushedWindow;

/// Who is told: the metrics, the console, the log.
#[derive(Clone, Copy)]
pub struct Observers<'a> {
    /// Every number.
    pub metrics: &'a Metrics,
    /// What the console shows.
    pub status: &'a Status,
    /// How far each window is.
    pub board: &'a Board,
    /// One line for every event that is not silent.
    pub log: &'a (dyn Fn(&Event) + Sync),
}

impl Observers<'_> {
    /// Something happened: the only place from which a metric, the console's state or the log changes.
    pub fn tell(&self, event: &Event) {
        let (metrics, status, board) = (self.metrics, self.status, self.board);
        match event {
            Event::Ingested { counts, windows } => self.ingested(counts, windows),
            Event::Flushed(seconds) => metrics.flushed(*seconds),
            Event::PartitionGone { partition, n_replayed } => {
                metrics.partition_gone(*partition);
                board.forget_partition(*partition);
                metrics.windows_filling(board.n_filling());
                metrics.replayed(*n_replayed);
            }
            Event::PartitionAt { partition, lag, arrived_secs } => {
                metrics.partition(*partition, *lag, *arrived_secs);
            }
            Event::Progress { lag, rate, .. } => {
                let left = *lag as f64;
                metrics.progress(*rate, if *rate > 0.0 { left / rate } else { 0.0 });
                status.progress((*lag > 0).then_some((*lag, *rate)));
            }
            Event::Client(name, numbers) => metrics.kafka(name, numbers),
            Event::Watermark(greatest) => status.watermark(*greatest),
            Event::Holding { windows, n_taps, n_bytes, done_through } => {
                metrics.windows_held(windows.len(), *n_taps, *n_bytes);
                status.gathered(windows.clone(), *done_through);
            }
            Event::NextDue(at) => metrics.next_due(at.map_or(0, |at| at.as_second())),
            Event::Ledger { first, booked, spent, lifetime } => {
                metrics.budget(*spent, *lifetime);
                status.ledger(*first, booked.clone());
            }
            Event::Unusable { .. } => status.unusable(Some(event.to_string())),
            Event::UsableAgain => status.unusable(None),
            Event::Sealed(n_duplicates) => metrics.sealed(*n_duplicates),
            Event::EngineRan { engine, seconds } => metrics.engine_ran(engine, *seconds),
            Event::Released { window, engine, seconds, at, .. } => {
                board.forget_window(window.id());
                metrics.released(engine, *seconds, at.as_second());
            }
            Event::Withheld { window, refusal } => {
                board.forget_window(window.id());
                metrics.withheld(refusal.reason());
                status.withheld(window.id(), &refusal.to_string());
            }
            Event::VerifyFailed => metrics.verify_failed(),
            Event::WaitingForBroker(_)
            | Event::WaitingForLedger
            | Event::Topic(_)
            | Event::MostTapsLate
            | Event::Slower(_)
            | Event::WrittenAgain
            | Event::Doing(_)
            | Event::LedgerUnread(_)
            | Event::Active
            | Event::StandingBy
            | Event::JoiningAgain(_)
            | Event::Held(_)
            | Event::PassedOver(_)
            | Event::LeftUnanswered
            | Event::SegmentsKept(_)
            | Event::HeadNotKept(_)
            | Event::RangeDone => {}
        }
        if event.weight() != Weight::Silent {
            (self.log)(event);
        }
    }

    fn ingested(&self, counts: &Counts, windows: &[FlushedWindow]) {
        self.metrics.ingested(counts);
        for one in windows {
            self.board.add(one.partition, one.window, one.n_taps);
            if one.is_finished {
                self.board.finish(one.partition, one.window);
            }
        }
        self.metrics.windows_filling(self.board.n_filling());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WindowId;

    /// One event writes the counters, the board and the gauge that is read from it.
    #[test]
    fn a_flush_is_on_the_board_until_its_partition_goes() {
        let (metrics, status, board) =
            (Metrics::new("v", "c"), Status::default(), Board::default());
        let log = |event: &Event| panic!("{} is silent", event.name());
        let observers = Observers { metrics: &metrics, status: &status, board: &board, log: &log };
        let flushed = |partition: i32, window: i64, n_taps: u64, is_finished: bool| FlushedWindow {
            partition,
            window: WindowId::new(window),
            n_taps,
            is_finished,
        };
        let windows =
            vec![flushed(0, 7, 3, true), flushed(0, 8, 4, false), flushed(1, 7, 5, false)];
        let mut counts = Counts::default();
        counts.taps = 12;
        observers.tell(&Event::Ingested { counts, windows });
        let seventh = board.windows()[&WindowId::new(7)];
        assert_eq!((seventh.n_taps, seventh.n_partitions, seventh.n_finished), (8, 2, 1));
        let text = metrics.text();
        assert!(text.contains("tapveil_ingest_taps_total 12"), "{text}");
        assert!(text.contains("tapveil_ingest_windows_filling 2"), "{text}");
        observers.tell(&Event::PartitionGone { partition: 1, n_replayed: 0 });
        assert_eq!(board.windows()[&WindowId::new(7)].n_taps, 3);
        assert!(metrics.text().contains("tapveil_ingest_windows_filling 1"));
    }
}
