//! A ledger in memory, for audit runs: an auditor runs engines thousands of times, and nothing of it may leave.
//!
//! Its permits are another type than [`Permit`](super::Permit): no engine makes a release for one, so nothing
//! that an audit produces can reach a sink, by construction.

use super::{Request, Reservation};
use crate::model::MicroEpsilon;

/// The right to run_audited one release. It buys an `AuditOutput`, never a `Release`.
///
/// ```compile_fail
/// fn publish(
///     engine: &dyn tapveil_core::engine::Engine,
///     window: &tapveil_core::seal::SealedWindow,
///     permit: tapveil_core::ledger::AuditPermit,
///     key: &tapveil_core::secret::NoiseKey,
/// ) {
///     engine.sanitize(window, permit, key).unwrap();
/// }
/// ```
#[derive(Debug)]
pub struct AuditPermit {
    reservation: Reservation,
}

impl AuditPermit {
    /// Uses the permit up. For the engines only.
    pub(crate) fn redeem(self) -> Reservation {
        self.reservation
    }
}

/// Books audit runs in memory and forgets them with itself.
#[derive(Debug, Default)]
pub struct AuditLedger {
    booked: Vec<MicroEpsilon>,
}

impl AuditLedger {
    /// Books an audit run; never refuses, because nothing is spent.
    pub fn reserve(&mut self, request: &Request) -> AuditPermit {
        let sequence = self.booked.len() as u64;
        self.booked.push(request.cost.epsilon());
        AuditPermit { reservation: Reservation::unbooked(sequence, request) }
    }

    /// How many audit runs it booked.
    pub fn n_runs(&self) -> usize {
        self.booked.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Calendar, Cost, Digest, Mac};

    /// Holds E-2, A-1.
    #[test]
    fn an_audit_run_is_booked_for_its_window_and_price() {
        let calendar = Calendar::new(jiff::tz::TimeZone::UTC, 86_400, 0, 3_600).unwrap();
        let window = calendar.window_at("2015-11-09T12:00:00Z".parse().unwrap()).unwrap();
        let (batch, price) = (Mac::from_bytes([3; 32]), Cost::differential(MicroEpsilon::new(5)));
        let request = Request::of_nobody(window.clone(), batch, Digest::of(b"test"), price);
        let mut ledger = AuditLedger::default();
        let booked: Vec<_> = (0..3).map(|_| ledger.reserve(&request).redeem()).collect();
        assert_eq!(ledger.n_runs(), 3, "the same again is no repeat here: nothing is spent");
        assert!(booked.iter().all(|reservation| reservation.window == window.id()));
        assert_eq!(booked.iter().map(|r| r.sequence).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
