//! What the active release worker holds, and how parcels come into it.

use std::sync::Arc;

use super::Error;
use crate::kafka::Transactions;
use crate::kafka::ledger::TopicLedger;
use crate::metrics::Gathered;
use crate::model::WindowId;
use crate::seal::{Assembly, Packer, Parcel};

/// What the worker holds while `segments` is its own.
pub(super) struct Active {
    pub(super) transactions: Arc<Transactions>,
    pub(super) ledger: TopicLedger,
    pub(super) assembly: Assembly,
    pub(super) first: WindowId,
    /// Next record to read.
    pub(super) position: i64,
    /// The last window that was released or withheld.
    pub(super) done_through: Option<WindowId>,
    /// Records of `segments` before this are needed no more.
    pub(super) delete_before: Option<i64>,
}

/// Opens a parcel and takes it, if this worker is the active one.
pub(super) fn take(
    packer: &Packer,
    topic: &str,
    active: &mut Option<Active>,
    payload: &[u8],
    offset: i64,
) -> Result<(), Error> {
    let Some(active) = active else { return Ok(()) };
    let parcel = packer.open(payload).map_err(|error| Error::Parcel {
        topic: topic.to_owned(),
        offset,
        error,
    })?;
    active.take(parcel, offset)
}

impl Active {
    pub(super) fn gathered(&self) -> Vec<Gathered> {
        let line =
            |(window, n_finished, n_partitions)| Gathered { window, n_finished, n_partitions };
        self.assembly.gathered().map(line).collect()
    }

    fn take(&mut self, parcel: Parcel, offset: i64) -> Result<(), Error> {
        self.position = offset + 1;
        let (Parcel::Taps { window, .. } | Parcel::Finished { window, .. }) = &parcel;
        let is_done = self.done_through >= Some(*window) || self.ledger.book().is_settled(*window);
        if *window < self.first || is_done {
            return Ok(());
        }
        self.assembly.take(parcel, offset)?;
        Ok(())
    }
}
