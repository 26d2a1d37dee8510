//! The feed's secret, and every key that is derived from it.
//!
//! In → out: 32 random bytes → keys for card ids, batch MACs, the ledger's chain and a release's noise.
//! Promises: nothing here can be printed or serialized; each use has its own key.
//! Refuses: a secret that is too short (the file's mode is checked where the file is read, in `config`).
//! Why: decision 0002 (noise keyed by content).

use std::fmt;
use std::io::{self, Write};

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::model::{Digest, Mac, WindowId};

/// The bytes a secret file holds.
pub const SECRET_BYTES: usize = 32;

/// The feed's secret. Whoever has it can undo card hashing and noise.
///
/// ```compile_fail
/// let secret = tapveil_core::secret::Secret::from_bytes(&[7; 32]).unwrap();
/// println!("{}", serde_json::to_string(&secret).unwrap());
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// Takes the bytes of a secret file; `None` if there are fewer than 32. More are hashed down to 32.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            0..SECRET_BYTES => None,
            SECRET_BYTES => bytes.try_into().ok().map(Self),
            _ => Some(Self(blake3::derive_key("tapveil 2026 long secret", bytes))),
        }
    }

    /// The key that hides card ids inside one window. Another window has another key, so the same card
    /// cannot be followed from window to window.
    pub fn card_key(&self, window: WindowId) -> CardHasher {
        let mut hasher = self.derive("tapveil 2026 card id in a window");
        hasher.update(&window.number().to_le_bytes());
        CardHasher(*hasher.finalize().as_bytes())
    }

    /// A MAC over a window's canonical batch, computed as it is written.
    pub fn batch_mac(&self, window: WindowId) -> MacWriter {
        let mut hasher = self.derive("tapveil 2026 batch of a window");
        hasher.update(&window.number().to_le_bytes());
        MacWriter(hasher)
    }

    /// The key that a window's segments are encrypted with.
    pub(crate) fn segment_key(&self, window: WindowId) -> [u8; 32] {
        let mut hasher = self.derive("tapveil 2026 parcels of a window");
        hasher.update(&window.number().to_le_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The key of the ledger's chain.
    pub fn ledger_key(&self) -> LedgerKey {
        LedgerKey(*self.derive("tapveil 2026 ledger chain").finalize().as_bytes())
    }

    /// The key of a release's noise: the same window, batch and configuration give the same noise, and
    /// nothing else ever does.
    pub fn noise_key(&self, window: WindowId, batch: &Mac, configuration: &Digest) -> NoiseKey {
        let mut hasher = self.derive("tapveil 2026 noise of a release");
        hasher.update(&window.number().to_le_bytes());
        hasher.update(batch.bytes());
        hasher.update(configuration.bytes());
        NoiseKey(*hasher.finalize().as_bytes())
    }

    /// A keyed hasher for one use; the context keeps uses apart.
    fn derive(&self, context: &str) -> blake3::Hasher {
        let key = blake3::derive_key(context, &self.0);
        blake3::Hasher::new_keyed(&key)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Hashes card ids inside one window.
#[derive(Clone)]
pub struct CardHasher([u8; 32]);

impl CardHasher {
    /// 128 bits that stand for the card: two cards share them with probability below 2⁻⁸⁰ in a window of
    /// sixteen million.
    pub(crate) fn hash(&self, card_id: &[u8]) -> [u64; 2] {
        let hash = blake3::keyed_hash(&self.0, card_id);
        let half = |from: usize| {
            let bytes = hash.as_bytes()[from..from + 8].try_into().expect("eight of 32 bytes");
            u64::from_le_bytes(bytes)
        };
        [half(0), half(8)]
    }
}

/// The key of the ledger's MAC chain.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct LedgerKey([u8; 32]);

impl LedgerKey {
    /// The MAC of a record that follows another.
    pub(crate) fn chain(&self, previous: &Mac, record: &[u8]) -> Mac {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(previous.bytes());
        hasher.update(record);
        Mac::from_bytes(*hasher.finalize().as_bytes())
    }
}

/// The key of one release's noise.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct NoiseKey([u8; 32]);

impl NoiseKey {
    pub(crate) fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// A key for tests and benches that draw noise outside a release.
    pub fn for_test(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(bytes)
    }
}

/// Computes a MAC over what is written to it.
pub struct MacWriter(blake3::Hasher);

impl MacWriter {
    /// The MAC of everything written.
    pub fn finish(self) -> Mac {
        Mac::from_bytes(*self.0.finalize().as_bytes())
    }
}

impl Write for MacWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_use_window_batch_and_configuration() {
        let secret = Secret::from_bytes(&[7; 32]).unwrap();
        let (one, two) = (WindowId::new(1), WindowId::new(2));
        assert_ne!(secret.card_key(one).hash(b"c"), secret.card_key(two).hash(b"c"));
        assert_eq!(secret.card_key(one).hash(b"c"), secret.card_key(one).hash(b"c"));
        let (mac, other) = (Mac::from_bytes([1; 32]), Mac::from_bytes([2; 32]));
        let (config, changed) = (Digest::of(b"a"), Digest::of(b"b"));
        let key = secret.noise_key(one, &mac, &config).bytes();
        assert_ne!(key, secret.noise_key(two, &mac, &config).bytes());
        assert_ne!(key, secret.noise_key(one, &other, &config).bytes());
        assert_ne!(key, secret.noise_key(one, &mac, &changed).bytes());
    }

    #[test]
    fn a_secret_shows_nothing_and_has_32_bytes() {
        let secret = Secret::from_bytes(&[9; 32]).unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert!(Secret::from_bytes(&[9; 31]).is_none());
        assert!(Secret::from_bytes(&[9; 64]).is_some());
    }
}
