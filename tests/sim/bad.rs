//! Records that no correct worker writes: the protocol stops in words, releases nothing wrong and never panics.

use tapveil_core::ledger::{Genesis, opening};
use tapveil_core::model::{Digest, WindowId};
use tapveil_core::seal::SegmentCodec;
use tapveil_core::secret::Secret;

use crate::broker::{Broker, Fate, LogName};
use crate::check;
use crate::schedule::Run;
use crate::world::{World, instant};

/// What is wrong with the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// A segment that is cut short.
    Truncated,
    /// Bytes that are no segment.
    Noise,
    /// A segment of a version that does not exist.
    Version,
    /// A segment of another feed.
    Feed,
    /// A segment made with another station list or calendar.
    Layout,
    /// A segment sealed with another secret.
    Secret,
    /// A marker of a window before the first.
    Window,
    /// A marker of a partition that its own count does not have.
    Partition,
    /// A marker of a window beyond all calendars.
    Never,
    /// A second opening record in the ledger.
    Ledger,
    /// Bytes in the ledger.
    LedgerNoise,
}

impl Wrong {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Truncated,
        Self::Noise,
        Self::Version,
        Self::Feed,
        Self::Layout,
        Self::Secret,
        Self::Window,
        Self::Partition,
        Self::Never,
        Self::Ledger,
        Self::LedgerNoise,
    ];
}

/// A bad record on its way into a log.
#[derive(Clone, Copy, Debug)]
pub struct Bad {
    wrong: Wrong,
    /// Where it lies, once it is there.
    offset: Option<i64>,
}

impl Bad {
    /// One record with this fault.
    pub fn new(wrong: Wrong) -> Self {
        Self { wrong, offset: None }
    }

    pub(crate) fn inject(&mut self, world: &World, broker: &mut Broker) {
        // A ledger must be there before something can be wrong in it.
        if self.offset.is_some() || broker.end_of(LogName::Ledger, false) == 0 {
            return;
        }
        let (log, bytes) = record(self.wrong, world);
        self.offset = Some(broker.end_of(log, true));
        let now = broker.now;
        broker.write(log, &bytes, now);
    }

    /// The run must have stopped in words, with nothing wrong in what is there.
    pub(crate) fn judge(self, run: &Run, verdict: Result<(), String>) -> Result<(), String> {
        check::so_far(run)?;
        let said = match verdict {
            // A bad record of the ledger behind the last look at it is found by the next who looks.
            Ok(()) if matches!(self.wrong, Wrong::Ledger | Wrong::LedgerNoise) => return Ok(()),
            // Behind everything that a window needed, it may lie unread when the range is done.
            Ok(()) if self.is_last(run) => return Ok(()),
            Ok(()) => return Err("nobody noticed the bad record".to_owned()),
            Err(said) => said,
        };
        let is_named = said.contains("stopped: ") || said.contains("broken at record");
        match is_named {
            true => Ok(()),
            false => Err(format!("the bad record led to: {said}")),
        }
    }
}

impl Bad {
    fn is_last(self, run: &Run) -> bool {
        let segments = run.broker.all(LogName::Segments);
        let committed = segments.filter(|(_, _, fate)| *fate == Fate::Committed);
        let last = committed.map(|(offset, _, _)| offset).max();
        self.offset >= last
    }
}

fn record(wrong: Wrong, world: &World) -> (LogName, Vec<u8>) {
    let first = world.windows.start;
    let marker = |codec: &SegmentCodec, window: i64, partition| {
        codec.finished(WindowId::new(window), partition, 3, &[9; 24])
    };
    let good = || marker(&world.codec(), first, 0);
    let other = |secret: u8, feed: &str, layout: &[u8]| {
        let secret = Secret::from_bytes(&[secret; 32]).expect("32 bytes");
        marker(&SegmentCodec::new(secret, feed.to_owned(), Digest::of(layout)), first, 0)
    };
    let segment = match wrong {
        Wrong::Truncated => good()[..30].to_vec(),
        Wrong::Noise => b"not a segment at all, but long enough to be one of them".to_vec(),
        Wrong::Version => [b"tvp9", &good()[4..]].concat(),
        Wrong::Feed => other(7, "another feed", b"layout"),
        Wrong::Layout => other(7, "feed", b"another layout"),
        Wrong::Secret => other(8, "feed", b"layout"),
        Wrong::Window => marker(&world.codec(), first - 1, 0),
        Wrong::Partition => marker(&world.codec(), first, 3),
        Wrong::Never => marker(&world.codec(), i64::MAX, 0),
        Wrong::Ledger => {
            let line = opening(&world.secret.ledger_key(), Genesis::new(instant(0)));
            return (LogName::Ledger, line);
        }
        Wrong::LedgerNoise => return (LogName::Ledger, b"{}".to_vec()),
    };
    (LogName::Segments, segment)
}
