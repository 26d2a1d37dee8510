//! The wire form of a sealed batch: the one file that uses bincode (decision 0003).
//!
//! The form is fixed: version, window, slots, then every card with its doublets, in canonical order,
//! little-endian integers of fixed width. Two batches with the same bytes are the same batch.

use std::io::{BufWriter, Write};

use bincode::config::{Configuration, Fixint, LittleEndian};

use crate::model::{Mac, Window};
use crate::passenger::Trajectories;
use crate::secret::Secret;

/// Changes with the form below; an old batch then has another MAC.
const VERSION: u16 = 1;

const FORM: Configuration<LittleEndian, Fixint> =
    bincode::config::standard().with_little_endian().with_fixed_int_encoding();

/// The MAC of the canonical plaintext, computed while it is written: the batch is never held twice.
pub(super) fn batch_mac(secret: &Secret, window: &Window, trajectories: &Trajectories) -> Mac {
    let mut out = BufWriter::with_capacity(1 << 16, secret.batch_mac(window.id()));
    write_plaintext(&mut out, window, trajectories);
    let Ok(writer) = out.into_inner() else { unreachable!("hashing cannot fail") };
    writer.finish()
}

fn write_plaintext(out: &mut impl Write, window: &Window, trajectories: &Trajectories) {
    let header = (VERSION, window.id().number(), window.n_slots(), trajectories.len() as u64);
    put(out, header);
    for (card, doublets) in trajectories.iter() {
        put(out, (card.halves(), doublets.len() as u32));
        for doublet in doublets {
            put(out, (doublet.station.0, doublet.slot));
        }
    }
}

fn put(out: &mut impl Write, value: impl bincode::Encode) {
    bincode::encode_into_std_write(value, out, FORM).expect("writing to a hasher cannot fail");
}
