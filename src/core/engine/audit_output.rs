//! What an auditor gets from an engine: rows, and no way to publish them.

use super::Row;
use crate::ledger::AuditPermit;

/// The outcome of an audit run. No sink accepts it, and nothing turns it into a [`Release`](super::Release).
///
/// ```compile_fail
/// fn publish(output: tapveil_core::engine::AuditOutput) -> tapveil_core::engine::Release {
///     output.into()
/// }
/// ```
#[derive(Debug)]
pub struct AuditOutput {
    rows: Vec<Row>,
}

impl AuditOutput {
    /// Uses the permit up. The rows are put in the order a release would have.
    pub(crate) fn new(permit: AuditPermit, mut rows: Vec<Row>) -> Self {
        permit.redeem();
        rows.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self { rows }
    }

    /// Paths with counts, as a release would have them.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}
