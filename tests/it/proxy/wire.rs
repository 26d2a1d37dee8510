//! The few words of Kafka's protocol that the proxy understands.

use std::collections::BTreeSet;
use std::io::{self, Read};

/// What the client takes for a reason to abort, and to try again.
const GROUP_AUTHORIZATION_FAILED: i16 = 30;

/// How a transaction is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Abort,
    Commit,
}

/// What a client asks for, as far as it matters here. Each names its transactional id.
#[derive(Debug)]
pub(crate) enum Request {
    Produce { name: String },
    AddPartitions { name: String, partitions: BTreeSet<(String, i32)> },
    AddOffsets { name: String },
    EndTxn { name: String, epoch: i16, end: End },
    Other,
}

/// Reads one message, its length before it.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let n = usize::try_from(i32::from_be_bytes(length)).map_err(io::Error::other)?;
    let mut frame = vec![0; 4 + n];
    frame[..4].copy_from_slice(&length);
    from.read_exact(&mut frame[4..])?;
    Ok(frame)
}

/// What connects a request (whose number comes after its kind and version) with its answer.
pub(crate) fn number_of_request(frame: &[u8]) -> i32 {
    i32::from_be_bytes(frame[8..12].try_into().unwrap())
}

/// The same of an answer.
pub(crate) fn number_of_answer(frame: &[u8]) -> i32 {
    i32::from_be_bytes(frame[4..8].try_into().unwrap())
}

/// Makes a refusal of the answer to an `AddOffsetsToTxn` (version 0), if it is a yes.
pub(crate) fn refuse(answer: &mut [u8]) -> bool {
    let is_yes = answer[12..14] == [0, 0];
    if is_yes {
        answer[12..14].copy_from_slice(&GROUP_AUTHORIZATION_FAILED.to_be_bytes());
    }
    is_yes
}

/// The error in the answer to an `EndTxn` (version 1), by Kafka's name.
pub(crate) fn verdict(answer: &[u8]) -> String {
    match i16::from_be_bytes(answer[12..14].try_into().unwrap()) {
        0 => "NONE".to_owned(),
        47 => "INVALID_PRODUCER_EPOCH".to_owned(),
        48 => "INVALID_TXN_STATE".to_owned(),
        51 => "CONCURRENT_TRANSACTIONS".to_owned(),
        90 => "PRODUCER_FENCED".to_owned(),
        other => format!("error {other}"),
    }
}

/// How an address stands in an answer: the host's letters, then the port in four bytes.
pub(crate) fn in_an_answer(address: &str) -> Vec<u8> {
    let (host, port) = address.rsplit_once(':').unwrap();
    let port: i32 = port.parse().unwrap();
    [host.as_bytes(), &port.to_be_bytes()].concat()
}

/// A yes to an `AddPartitionsToTxn` (versions 0 to 2).
pub(crate) fn partitions_added(number: i32, partitions: &BTreeSet<(String, i32)>) -> Vec<u8> {
    let mut body = [number.to_be_bytes(), 0_i32.to_be_bytes()].concat();
    body.extend(i32::try_from(partitions.len()).unwrap().to_be_bytes());
    for (topic, partition) in partitions {
        body.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
        body.extend(topic.as_bytes());
        body.extend(1_i32.to_be_bytes());
        body.extend(partition.to_be_bytes());
        body.extend(0_i16.to_be_bytes());
    }
    framed(&body)
}

/// A yes to an `AddOffsetsToTxn` or an `EndTxn` (versions 0 to 2).
pub(crate) fn plain_yes(number: i32) -> Vec<u8> {
    answered(number, 0)
}

/// A no to an `AddOffsetsToTxn` after which the transaction must be aborted: `GROUP_AUTHORIZATION_FAILED`.
pub(crate) fn refused(number: i32) -> Vec<u8> {
    answered(number, 30)
}

fn answered(number: i32, error: i16) -> Vec<u8> {
    framed(&[&number.to_be_bytes()[..], &0_i32.to_be_bytes(), &error.to_be_bytes()].concat())
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&i32::try_from(body.len()).unwrap().to_be_bytes()[..], body].concat()
}

/// Understands a request; what is cut short or too new is `Other`.
pub(crate) fn understand(frame: &[u8]) -> Request {
    let mut words = Words(&frame[4..]);
    read_request(&mut words).unwrap_or(Request::Other)
}

fn read_request(words: &mut Words<'_>) -> Option<Request> {
    let (kind, version) = (words.i16()?, words.i16()?);
    words.i32()?;
    words.string()?;
    match (kind, version) {
        (0, 3..=8) => Some(Request::Produce { name: words.string()? }),
        (0, 9..) => {
            words.no_tags()?;
            Some(Request::Produce { name: words.compact_string()? })
        }
        (24, 0..=2) => {
            let name = words.string()?;
            words.take(8 + 2)?;
            Some(Request::AddPartitions { name, partitions: words.partitions()? })
        }
        (25, 0..=2) => Some(Request::AddOffsets { name: words.string()? }),
        (26, 0..=2) => {
            let name = words.string()?;
            words.take(8)?;
            let epoch = words.i16()?;
            let end = if words.take(1)?[0] == 0 { End::Abort } else { End::Commit };
            Some(Request::EndTxn { name, epoch, end })
        }
        _ => Some(Request::Other),
    }
}

/// What is left of a message.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn i16(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Empty for a string that is missing, too: nobody has an empty transactional id.
    fn string(&mut self) -> Option<String> {
        let n = usize::try_from(self.i16()?).unwrap_or(0);
        String::from_utf8(self.take(n)?.to_vec()).ok()
    }

    /// Its length is a varint, one too great.
    fn compact_string(&mut self) -> Option<String> {
        let (mut n, mut shift) = (0_usize, 0);
        loop {
            let byte = self.take(1)?[0];
            n |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        String::from_utf8(self.take(n.saturating_sub(1))?.to_vec()).ok()
    }

    fn no_tags(&mut self) -> Option<()> {
        (self.take(1)?[0] == 0).then_some(())
    }

    fn partitions(&mut self) -> Option<BTreeSet<(String, i32)>> {
        let mut found = BTreeSet::new();
        for _ in 0..self.i32()? {
            let topic = self.string()?;
            for _ in 0..self.i32()? {
                found.insert((topic.clone(), self.i32()?));
            }
        }
        Some(found)
    }
}
