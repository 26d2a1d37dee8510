//! The feed's secret, and every key that is derived from it.
//!
//! In → out: 32 random bytes → keys for card ids, batch MACs, the ledger's chain and a release's noise.
//! Promises: nothing here can be printed or serialized; each use has its own key.
//! Refuses: a secret that is too short (the file's mode is checked where the file is read, in `config`).
//! Why: decision 0002 (noise keyed by content).

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
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
#[derive(Clone)]
pub struct Secret(Arc<Parts>);

/// What it consists of: in memory once, and overwritten when the last who holds it lets go.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Parts {
    /// What cards are hidden, batches marked, segments sealed and noise drawn with.
    keys: [u8; SECRET_BYTES],
    /// How often `keys` were replaced.
    epoch: u32,
    /// What outlives the keys of an epoch; `None`: it follows from them.
    lasting: Option<Lasting>,
}

/// Keys of the feed that stay when the others are replaced. Nothing of earlier epochs follows from them.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
struct Lasting {
    ledger: [u8; SECRET_BYTES],
    signer: [u8; SECRET_BYTES],
    feed: [u8; 16],
}

/// The first line of a secret that was rotated.
const ROTATED: &str = "tapveil-secret 2";

impl Secret {
    /// Takes the bytes of a secret file; `None` if there are fewer than 32, or it is a rotated one that was changed.
    /// More than 32 are hashed down.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(ROTATED.as_bytes()) {
            return Self::from_rotated(std::str::from_utf8(bytes).ok()?);
        }
        let keys = match bytes.len() {
            0..SECRET_BYTES => return None,
            SECRET_BYTES => bytes.try_into().ok()?,
            _ => blake3::derive_key("tapveil 2026 long secret", bytes),
        };
        Some(Self::of(Parts { keys, epoch: 0, lasting: None }))
    }

    fn of(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    fn from_rotated(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut value =
            |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        value("tapveil-secret").filter(|version| version == "2")?;
        let bytes = |text: String| -> Option<[u8; SECRET_BYTES]> {
            hex::decode(text).ok()?.try_into().ok()
        };
        let epoch = value("epoch")?.parse().ok().filter(|epoch| *epoch > 0)?;
        let keys = bytes(value("keys")?)?;
        let (ledger, signer) = (bytes(value("ledger")?)?, bytes(value("signer")?)?);
        let feed = hex::decode(value("feed")?).ok()?.try_into().ok()?;
        Some(Self::of(Parts { keys, epoch, lasting: Some(Lasting { ledger, signer, feed }) }))
    }

    /// The text of the secret of the next epoch, with these fresh random bytes. What an earlier epoch hid cannot be
    /// undone with it: neither follows from the other. The ledger, the feed's name and the signature stay.
    pub fn rotated(&self, fresh: &[u8; SECRET_BYTES]) -> String {
        let Lasting { ledger, signer, feed } = &self.lasting();
        let epoch = self.0.epoch + 1;
        format!(
            "{ROTATED}\nepoch {epoch}\nkeys {}\nledger {}\nsigner {}\nfeed {}\n",
            hex::encode(fresh),
            hex::encode(ledger),
            hex::encode(signer),
            hex::encode(feed)
        )
    }

    /// How often the keys were replaced.
    pub fn epoch(&self) -> u32 {
        self.0.epoch
    }

    fn lasting(&self) -> Lasting {
        self.0.lasting.clone().unwrap_or_else(|| {
            let feed = *self.derive("tapveil 2026 name of a feed").finalize().as_bytes();
            Lasting {
                ledger: *self.derive("tapveil 2026 ledger chain").finalize().as_bytes(),
                signer: *self.derive("tapveil 2026 signature of releases").finalize().as_bytes(),
                feed: feed[..16].try_into().expect("16 of 32 bytes"),
            }
        })
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
        LedgerKey { bytes: self.lasting().ledger, feed: self.feed_key() }
    }

    /// The key under which committed positions are signed. It stays when noise keys rotate: positions go on.
    pub fn position_key(&self) -> PositionKey {
        PositionKey(blake3::derive_key("tapveil 2026 committed positions", &self.lasting().ledger))
    }

    /// What names this feed among all others. Public: it tells nothing about the secret.
    pub fn feed_key(&self) -> FeedKey {
        FeedKey(hex::encode(self.lasting().feed))
    }

    /// The key of a release's noise: the same window, batch, configuration and revision give the same noise, and
    /// nothing else ever does.
    pub fn noise_key(
        &self,
        window: WindowId,
        batch: &Mac,
        configuration: &Digest,
        revision: u32,
    ) -> NoiseKey {
        let mut hasher = self.derive("tapveil 2026 noise of a release");
        hasher.update(&window.number().to_le_bytes());
        hasher.update(batch.bytes());
        hasher.update(configuration.bytes());
        // Everything before has a fixed length, so a revision cannot pass for a first release.
        if revision > 0 {
            hasher.update(&revision.to_le_bytes());
        }
        NoiseKey(*hasher.finalize().as_bytes())
    }

    /// The key that signs releases.
    pub fn signer(&self) -> Signer {
        Signer(SigningKey::from_bytes(&self.lasting().signer))
    }

    /// A keyed hasher for one use; the context keeps uses apart.
    fn derive(&self, context: &str) -> blake3::Hasher {
        let key = blake3::derive_key(context, &self.0.keys);
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

/// Signs the manifests of one feed (Ed25519). Its public half can be handed to everybody.
#[derive(Clone)]
pub struct Signer(SigningKey);

impl Signer {
    /// The public key, 64 hexadecimal digits.
    pub fn public_key(&self) -> String {
        hex::encode(self.0.verifying_key().to_bytes())
    }

    /// The signature of a manifest's digest, 128 hexadecimal digits.
    pub fn sign(&self, manifest: &Digest) -> String {
        hex::encode(self.0.sign(&signed_text(manifest)).to_bytes())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(***)")
    }
}

/// What is signed: nothing else that anybody signs with such a key looks like it.
fn signed_text(manifest: &Digest) -> Vec<u8> {
    format!("tapveil release manifest {manifest}").into_bytes()
}

/// Whether a public key has signed a manifest's digest. Strict: one signature has one spelling.
pub fn is_signed(public_key: &str, manifest: &Digest, signature: &str) -> bool {
    let is_lower = |text: &str| !text.bytes().any(|byte| byte.is_ascii_uppercase());
    let check = || {
        let key: [u8; 32] = hex::decode(public_key).ok()?.try_into().ok()?;
        let signature_bytes: [u8; 64] = hex::decode(signature).ok()?.try_into().ok()?;
        let key = VerifyingKey::from_bytes(&key).ok()?;
        key.verify_strict(&signed_text(manifest), &Signature::from_bytes(&signature_bytes)).ok()
    };
    is_lower(public_key) && is_lower(signature) && check().is_some()
}

/// What names a feed: 32 hexadecimal digits that follow from its secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedKey(String);

impl FeedKey {
    /// The name of no feed, for audits and tests.
    pub(crate) fn of_nobody() -> Self {
        Self("0".repeat(32))
    }
}

impl fmt::Display for FeedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of the ledger's MAC chain, with the name of the feed that it serves.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct LedgerKey {
    bytes: [u8; 32],
    #[zeroize(skip)]
    feed: FeedKey,
}

impl LedgerKey {
    /// The feed's name.
    pub fn feed_key(&self) -> &FeedKey {
        &self.feed
    }

    /// The MAC of a record that follows another.
    pub(crate) fn chain(&self, previous: &Mac, record: &[u8]) -> Mac {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes);
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

/// Signs what a commit remembers: whoever may commit for a group, only the feed decides what was done.
#[derive(Clone)]
pub struct PositionKey([u8; 32]);

impl PositionKey {
    /// A MAC over a partition's position in a role's group, and what is remembered with it.
    pub fn mac(&self, role: &str, partition: i32, offset: i64, remembered: &str) -> Mac {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(format!("{role} {partition} {offset} {remembered}").as_bytes());
        Mac::from_bytes(*hasher.finalize().as_bytes())
    }
}

impl fmt::Debug for PositionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PositionKey")
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
        let key = secret.noise_key(one, &mac, &config, 0).bytes();
        assert_ne!(key, secret.noise_key(two, &mac, &config, 0).bytes());
        assert_ne!(key, secret.noise_key(one, &other, &config, 0).bytes());
        assert_ne!(key, secret.noise_key(one, &mac, &changed, 0).bytes());
        let revisions = [1, 2].map(|n| secret.noise_key(one, &mac, &config, n).bytes());
        assert!(revisions[0] != key && revisions[1] != key && revisions[0] != revisions[1]);
        assert_ne!(secret.feed_key(), Secret::from_bytes(&[8; 32]).unwrap().feed_key());
    }

    #[test]
    fn a_signature_fits_one_key_one_manifest_and_one_spelling() {
        let signer = Secret::from_bytes(&[7; 32]).unwrap().signer();
        let (key, digest) = (signer.public_key(), Digest::of(b"manifest"));
        let signature = signer.sign(&digest);
        assert!(is_signed(&key, &digest, &signature));
        assert!(!is_signed(&key, &Digest::of(b"another"), &signature));
        let stranger = Secret::from_bytes(&[8; 32]).unwrap().signer();
        assert!(!is_signed(&stranger.public_key(), &digest, &signature));
        assert!(!is_signed(&key, &digest, &signature.to_uppercase()));
        assert!(!is_signed(&key, &digest, &signature[2..]) && !is_signed("", &digest, ""));
        assert_eq!(format!("{signer:?}"), "Signer(***)");
    }

    #[test]
    fn a_rotated_secret_keeps_the_feed_and_forgets_every_other_key() {
        let first = Secret::from_bytes(&[7; 32]).unwrap();
        let (window, mac, config) = (WindowId::new(1), Mac::from_bytes([1; 32]), Digest::of(b"a"));
        let mut before = first.clone();
        for epoch in 1..4_u8 {
            let text = before.rotated(&[epoch; 32]);
            assert!(!text.contains(&hex::encode([7; 32])), "the old keys are gone");
            let next = Secret::from_bytes(text.as_bytes()).unwrap();
            assert_eq!(next.epoch(), u32::from(epoch));
            assert_eq!(next.feed_key(), first.feed_key());
            assert_eq!(next.signer().public_key(), first.signer().public_key());
            let line = |secret: &Secret| secret.ledger_key().chain(&mac, b"record");
            assert_eq!(line(&next), line(&first));
            let noise = |secret: &Secret| secret.noise_key(window, &mac, &config, 0).bytes();
            assert_ne!(noise(&next), noise(&before));
            assert_ne!(next.segment_key(window), before.segment_key(window));
            assert_ne!(next.card_key(window).hash(b"c"), before.card_key(window).hash(b"c"));
            before = next;
        }
        let text = before.rotated(&[9; 32]);
        for broken in [
            text.replace("epoch 4", "epoch 0"),
            text.replace("keys ", "key "),
            text[..60].to_owned(),
        ] {
            assert!(Secret::from_bytes(broken.as_bytes()).is_none(), "{broken}");
        }
    }

    #[test]
    fn a_secret_shows_nothing_and_has_32_bytes() {
        let secret = Secret::from_bytes(&[9; 32]).unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert!(Secret::from_bytes(&[9; 31]).is_none());
        assert!(Secret::from_bytes(&[9; 64]).is_some());
    }
}
