//! A clerk for tests of ledgers: books requests with the chain, and hands each line to whoever keeps it. Compiled for
//! tests only (feature `fixture`); in the program the protocol does this, effect by effect.

use super::{Book, Chain, ChainFault, Outcome, Refusal, Request, Reservation, Settings, Step};
use crate::model::Digest;
use crate::secret::LedgerKey;

/// A chain of records with the caps it is held to.
pub struct Clerk {
    chain: Chain,
    settings: Settings,
}

impl Clerk {
    /// Reads a ledger's records.
    pub fn new(key: &LedgerKey, lines: &[Vec<u8>], settings: Settings) -> Result<Self, ChainFault> {
        Ok(Self { chain: Chain::read_all(key.clone(), lines)?, settings })
    }

    /// What was booked so far.
    pub fn book(&self) -> &Book {
        self.chain.book()
    }

    /// Why a request would be refused.
    pub fn refusal(&self, request: &Request) -> Option<Refusal> {
        self.chain.refusal(request, &self.settings)
    }

    /// Books a request; `keep` makes its line durable.
    pub fn reserve<E: From<ChainFault>>(
        &mut self,
        request: &Request,
        keep: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<Outcome, E> {
        match self.chain.request(request, &self.settings) {
            Step::Decided(outcome) => Ok(outcome),
            Step::Write(line) => {
                keep(line.payload())?;
                Ok(self.chain.granted(line)?)
            }
        }
    }

    /// Settles a reservation; `keep` makes its line durable.
    pub fn settle<E: From<ChainFault>>(
        &mut self,
        reservation: &Reservation,
        release: &Digest,
        keep: impl FnOnce(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(line) = self.chain.settlement(reservation, release)? else { return Ok(()) };
        keep(line.payload())?;
        Ok(self.chain.written(line)?)
    }
}
