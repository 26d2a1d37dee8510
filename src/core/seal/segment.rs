//! The wire form of what is sealed: the one file that uses bincode (decision 0003).
//!
//! The form is fixed: little-endian integers of fixed width, a version in front. The canonical batch is written
//! for its MAC only. A *segment* travels through the topic `segments`: a part of a window's taps, or the marker that a
//! partition has finished a window. Segments hold trajectories, so they are encrypted with a key of their window;
//! who reads the topic learns how much there is of which window, and nothing else.
#![cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, reason = "numbers here come from outside")
)]

use std::fmt;
use std::io::{BufWriter, Write};

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::model::{Digest, Mac, Window, WindowId};
use crate::passenger::{CardKey, Stamp, Trajectories};
use crate::secret::Secret;

/// The forms below. A batch or a segment whose taps have no kinds is written in version 1, whatever wrote it; one whose
/// taps say entry and exit needs version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    Plain = 1,
    WithKinds = 2,
}

impl Version {
    fn of(has_kinds: bool) -> Self {
        if has_kinds { Self::WithKinds } else { Self::Plain }
    }

    /// What the first bytes of its segments are.
    fn magic(self) -> &'static [u8; 4] {
        match self {
            Self::Plain => b"tvp1",
            Self::WithKinds => b"tvp2",
        }
    }
}

const FORM: Configuration<LittleEndian, Fixint> =
    bincode::config::standard().with_little_endian().with_fixed_int_encoding();
/// The same for bytes that somebody else may have written: a length that lies takes no more memory than a segment has.
const READ: Configuration<LittleEndian, Fixint, Limit<PLAIN_MOST>> =
    FORM.with_limit::<PLAIN_MOST>();
/// More than any segment holds.
const PLAIN_MOST: usize = 64 << 20;

/// The MAC of the canonical plaintext, computed while it is written: the batch is never held twice.
pub(super) fn batch_mac(secret: &Secret, window: &Window, trajectories: &Trajectories) -> Mac {
    let mut out = BufWriter::with_capacity(1 << 16, secret.batch_mac(window.id()));
    write_plaintext(&mut out, window, trajectories);
    let Ok(writer) = out.into_inner() else { unreachable!("hashing cannot fail") };
    writer.finish()
}

fn write_plaintext(out: &mut impl Write, window: &Window, trajectories: &Trajectories) {
    let version = Version::of(trajectories.has_kinds());
    let header =
        (version as u16, window.id().number(), window.n_slots(), trajectories.len() as u64);
    put(out, header);
    for (ix, (card, doublets)) in trajectories.iter().enumerate() {
        put(out, (card.halves(), doublets.len() as u32));
        for doublet in doublets {
            put(out, (doublet.station.0, doublet.slot));
        }
        for kind in trajectories.kinds(ix) {
            put(out, kind.map_or(0_u8, |kind| (kind as u8).saturating_add(1)));
        }
    }
}

fn put(out: &mut impl Write, value: impl bincode::Encode) {
    bincode::encode_into_std_write(value, out, FORM).expect("writing to memory cannot fail");
}

/// What a segment begins with in every version; the version follows.
const FAMILY: &[u8] = b"tvp";
const MAGIC_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const HEADER_BYTES: usize = MAGIC_BYTES + size_of::<i64>() + NONCE_BYTES;
/// Taps in one segment: 24 bytes each, so that a segment stays below half of a broker's usual limit of 1 MiB.
const TAPS_MAX: usize = 20_000;

/// A random number that is used once. Two segments of one window must never share one.
pub type Nonce = [u8; NONCE_BYTES];

/// What travels from ingest to release.
#[derive(Clone, PartialEq, Eq)]
pub enum Segment {
    /// Some taps of a window.
    Taps {
        window: WindowId,
        /// The partition of `taps` they came from.
        partition: u32,
        /// The taps; behind the trust boundary.
        stamps: Vec<Stamp>,
    },
    /// A partition has finished a window; nothing more of it will come.
    Finished {
        window: WindowId,
        partition: u32,
        /// How many partitions `taps` had after the window's deadline.
        n_partitions: u32,
    },
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taps { window, partition, .. } => write!(f, "Taps({window:?}, {partition}, ***)"),
            Self::Finished { window, partition, n_partitions } => {
                write!(f, "Finished({window:?}, {partition} of {n_partitions})")
            }
        }
    }
}

/// Why a segment cannot be opened. Each stops the work: a lost segment is lost taps.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SegmentError {
    /// Not one of ours.
    #[error("it is not a segment of this version of tapveil")]
    NotASegment,
    /// Of another version.
    #[error(
        "it has version {found}; this program knows versions 1 and 2: use the tapveil that wrote it, or a newer one"
    )]
    OtherVersion {
        /// The version in the segment.
        found: String,
    },
    /// Does not decrypt.
    #[error(
        "it was sealed with another secret than secret.file, or was changed; bring the right secret back"
    )]
    OtherSecret,
    /// Of another feed.
    #[error("it belongs to the feed {found:?}, not to feed.id = {expected:?}")]
    OtherFeed {
        /// The feed in the segment.
        found: String,
        /// Ours.
        expected: String,
    },
    /// Made with other stations or windows.
    #[error(
        "it was made with another station list or other windows than the configuration has now"
    )]
    OtherLayout,
}

/// Packs and opens the segments of one feed.
#[derive(Clone, Debug)]
pub struct SegmentCodec {
    secret: Secret,
    feed: String,
    /// Digest of what the numbers in a segment refer to: the station list and the calendar.
    layout: Digest,
}

type Contents = (u16, String, [u8; 32], u32, u32, Vec<u8>);

impl SegmentCodec {
    /// For this feed, whose stations and windows have this digest.
    pub fn new(secret: Secret, feed: String, layout: Digest) -> Self {
        Self { secret, feed, layout }
    }

    /// Taps in parts that each fit one segment.
    pub fn parts(stamps: &[Stamp]) -> impl Iterator<Item = &[Stamp]> {
        stamps.chunks(TAPS_MAX)
    }

    /// A segment of one part of a window's taps.
    ///
    /// # Panics
    /// If there are more than fit: see [`Self::parts`].
    pub fn taps(&self, window: WindowId, partition: u32, part: &[Stamp], nonce: &Nonce) -> Vec<u8> {
        assert!(part.len() <= TAPS_MAX, "S-6: a segment stays below the broker's limit");
        let version = Version::of(part.iter().any(|stamp| stamp.kind().is_some()));
        let mut plain = Vec::with_capacity(part.len().saturating_mul(24));
        for stamp in part {
            let station = match version {
                Version::Plain => stamp.station().0,
                Version::WithKinds => stamp.station_and_kind(),
            };
            put(&mut plain, (stamp.card.halves(), stamp.offset_millis, station));
        }
        self.seal(version, window, (partition, 0), &plain, nonce)
    }

    /// The marker that a partition has finished a window.
    pub fn finished(
        &self,
        window: WindowId,
        partition: u32,
        n_partitions: u32,
        nonce: &Nonce,
    ) -> Vec<u8> {
        assert!(n_partitions > 0, "S-6: a topic has at least one partition");
        self.seal(Version::Plain, window, (partition, n_partitions), &[], nonce)
    }

    fn seal(
        &self,
        version: Version,
        window: WindowId,
        (partition, count): (u32, u32),
        plain: &[u8],
        nonce: &Nonce,
    ) -> Vec<u8> {
        let packed = snap::raw::Encoder::new()
            .compress_vec(plain)
            .expect("far below snappy's limit of 4 GiB");
        let contents: Contents =
            (version as u16, self.feed.clone(), *self.layout.bytes(), partition, count, packed);
        let contents =
            bincode::encode_to_vec(contents, FORM).expect("writing to memory cannot fail");
        self.encrypt(version, window, &contents, nonce)
    }

    fn encrypt(
        &self,
        version: Version,
        window: WindowId,
        contents: &[u8],
        nonce: &Nonce,
    ) -> Vec<u8> {
        let mut segment = Vec::with_capacity(contents.len().saturating_add(HEADER_BYTES + 16));
        segment.extend_from_slice(version.magic());
        segment.extend_from_slice(&window.number().to_le_bytes());
        let cipher = XChaCha20Poly1305::new(&self.secret.segment_key(window).into());
        let payload = Payload { msg: contents, aad: &segment };
        let sealed = cipher.encrypt(&XNonce::from(*nonce), payload);
        let sealed = sealed.expect("only messages beyond 256 GiB cannot be encrypted");
        segment.extend_from_slice(nonce);
        segment.extend_from_slice(&sealed);
        segment
    }

    /// Opens a segment and checks that it is ours.
    pub fn open(&self, bytes: &[u8]) -> Result<Segment, SegmentError> {
        let (header, sealed) =
            bytes.split_at_checked(HEADER_BYTES).ok_or(SegmentError::NotASegment)?;
        let (public, nonce) = header.split_at(HEADER_BYTES - NONCE_BYTES);
        let nonce: Nonce = nonce.try_into().expect("split off with this length");
        let (magic, number) = public.split_at(MAGIC_BYTES);
        let known = [Version::Plain, Version::WithKinds];
        let Some(version) = known.into_iter().find(|version| magic == version.magic()) else {
            let Some(other) = magic.strip_prefix(FAMILY) else {
                return Err(SegmentError::NotASegment);
            };
            let found = String::from_utf8_lossy(other).escape_debug().to_string();
            return Err(SegmentError::OtherVersion { found });
        };
        let window = WindowId::new(i64::from_le_bytes(number.try_into().expect("eight bytes")));
        let cipher = XChaCha20Poly1305::new(&self.secret.segment_key(window).into());
        let contents = cipher
            .decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: public })
            .map_err(|_| SegmentError::OtherSecret)?;
        let ((inner, feed, layout, partition, n_partitions, packed), _): (Contents, usize) =
            bincode::decode_from_slice(&contents, READ).map_err(|_| SegmentError::NotASegment)?;
        if inner != version as u16 {
            return Err(SegmentError::OtherVersion { found: inner.to_string() });
        }
        if feed != self.feed {
            return Err(SegmentError::OtherFeed { found: feed, expected: self.feed.clone() });
        }
        if layout != *self.layout.bytes() {
            return Err(SegmentError::OtherLayout);
        }
        if n_partitions > 0 {
            return Ok(Segment::Finished { window, partition, n_partitions });
        }
        let length = snap::raw::decompress_len(&packed).map_err(|_| SegmentError::NotASegment)?;
        if length > PLAIN_MOST {
            return Err(SegmentError::NotASegment);
        }
        let plain = snap::raw::Decoder::new()
            .decompress_vec(&packed)
            .map_err(|_| SegmentError::NotASegment)?;
        Ok(Segment::Taps { window, partition, stamps: stamps(&plain, version)? })
    }
}

fn stamps(mut plain: &[u8], version: Version) -> Result<Vec<Stamp>, SegmentError> {
    let mut stamps = Vec::with_capacity(plain.len() / 24);
    while !plain.is_empty() {
        let ((halves, offset_millis, station), used): (([u64; 2], u32, u32), usize) =
            bincode::decode_from_slice(plain, READ).map_err(|_| SegmentError::NotASegment)?;
        let card = CardKey::from_halves(halves);
        let station_and_kind = match version {
            Version::Plain => station.checked_shl(2).filter(|shifted| shifted >> 2 == station),
            Version::WithKinds => Some(station),
        };
        let stamp = station_and_kind.and_then(|both| Stamp::from_parts(card, offset_millis, both));
        stamps.push(stamp.ok_or(SegmentError::NotASegment)?);
        plain = &plain[used..];
    }
    Ok(stamps)
}

#[cfg(test)]
mod tests;
