//! Ledgers.

use std::fs;

use tapveil::ledger::read_book;
use tapveil::secret::Secret;

use crate::driver::{corpus, fuzz, root};

#[test]
fn a_ledger_is_refused_or_the_beginning_of_the_true_one() {
    let hex = fs::read_to_string(root().join("tests/data/ledger/v1.secret.hex")).unwrap();
    let key: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
    let key = Secret::from_bytes(&key).unwrap().ledger_key();
    let lines = |text: &[u8]| -> Vec<Vec<u8>> {
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec);
        lines.filter(|line| !line.is_empty()).collect()
    };
    let mut n_accepted = 0_u64;
    fuzz("ledger", &corpus("ledger"), |input| {
        let found = lines(&input.bytes);
        if read_book(&key, &found).is_ok() {
            n_accepted += 1;
            assert!(lines(input.whole).starts_with(&found), "a forged ledger was accepted");
        }
    });
    assert!(n_accepted > 0, "the true one is accepted");
}
