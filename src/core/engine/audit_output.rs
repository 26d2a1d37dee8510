//! What an auditor gets from an engine: rows and tables, and no way to publish them.

use super::{Row, Tables};
use crate::ledger::AuditPermit;

/// Everything that an engine would publish of a window, before any permit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorded {
    /// Paths with counts.
    pub rows: Vec<Row>,
    /// Tables, from engines that publish them.
    pub tables: Option<Tables>,
}

impl From<Vec<Row>> for Recorded {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, tables: None }
    }
}

/// The outcome of an audit run. No sink accepts it, and nothing turns it into a [`Release`](super::Release).
///
/// ```compile_fail
/// fn publish(output: tapveil_core::engine::AuditOutput) -> tapveil_core::engine::Release {
///     output.into()
/// }
/// ```
#[derive(Debug)]
pub struct AuditOutput {
    recorded: Recorded,
}

impl AuditOutput {
    /// Uses the permit up. The rows are put in the order a release would have.
    pub(crate) fn new(permit: AuditPermit, recorded: impl Into<Recorded>) -> Self {
        permit.redeem();
        let mut recorded = recorded.into();
        recorded.rows.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self { recorded }
    }

    /// Paths with counts, as a release would have them.
    pub fn rows(&self) -> &[Row] {
        &self.recorded.rows
    }

    /// Tables, as a release would have them.
    pub fn tables(&self) -> Option<&Tables> {
        self.recorded.tables.as_ref()
    }
}
