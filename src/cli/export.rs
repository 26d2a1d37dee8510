//! `tapveil export`: releases, rebuilt from their topic alone, as a recipient could.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::failure::{one_line, say};
use super::sending::connected;
use super::{ConfigArgument, Failure};
use crate::engine::Registry;
use crate::kafka::ledger::AGAIN;
use crate::kafka::{HEADER, Received, read_committed};
use crate::publish::topic::{Gathering, RecordKind, TopicRecord, is_release_id};
use crate::publish::{write_exported_catalog, write_rebuilt};

/// Releases without their end that are held at a time.
const OPEN_MOST: usize = 16;
const INCOMPLETE: &str = "it is incomplete: its end is missing";
const NO_MANIFEST: &str = "it does not begin with its manifest";

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// Where the releases go, one directory per window
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Give up after so many seconds without a record
    #[arg(long, value_name = "SECS", default_value_t = 60)]
    timeout: u64,
    /// Releases whose manifests list more MiB than this, all that are open together, are refused unread
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_mib: u64,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (_, kafka) = connected(&arguments.config.config, registry)?;
    let most_bytes = arguments.max_mib.saturating_mul(1 << 20);
    let mut exporter = Exporter { out: &arguments.out, most_bytes, ..Exporter::default() };
    let timeout = Duration::from_secs(arguments.timeout.max(1));
    read_committed(&kafka, &kafka.topics.releases, HEADER, timeout, &mut |record| {
        exporter.take(record);
    })?;
    exporter.finish(&kafka.topics.releases)
}

/// Gathers records by release and writes each release as soon as its end is in, so that memory holds one.
struct Exporter<'a> {
    out: &'a Path,
    /// What all releases without their end may become together.
    most_bytes: u64,
    /// Releases without their end; `None` for one that was refused, whose other records are passed over.
    open: BTreeMap<String, Option<Gathering>>,
    absent: BTreeSet<String>,
    n_good: u64,
    n_bad: u64,
    /// Good ones of which the topic holds two files only.
    n_bare: u64,
    /// Records of a kind that a newer program may have added.
    n_unknown: u64,
    /// What stopped the writing; nothing more is written after it.
    failure: Option<Failure>,
}

impl Default for Exporter<'_> {
    fn default() -> Self {
        Self {
            out: Path::new(""),
            most_bytes: u64::MAX,
            open: BTreeMap::new(),
            absent: BTreeSet::new(),
            n_good: 0,
            n_bad: 0,
            n_bare: 0,
            n_unknown: 0,
            failure: None,
        }
    }
}

impl Exporter<'_> {
    fn take(&mut self, record: Received) {
        let Received { partition, offset, key, header, payload } = record;
        let at = format!("{partition}:{offset}");
        let id = match String::from_utf8(key) {
            Ok(id) if is_release_id(&id) => id,
            // What others wrote must not reach a terminal or a path as it is.
            odd => {
                let key = odd.unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into());
                let start: String = key.chars().take(60).collect();
                let what = format!("its key {start:?} is not the id of a release");
                return self.complain(&format!("the record at {at}"), &what);
            }
        };
        let (Some(header), Some(payload)) = (header, payload) else {
            return self.complain(&id, &format!("the record at {at} is no part of a release"));
        };
        let Some(kind) = RecordKind::from_name(&header) else {
            self.n_unknown += u64::from(header != AGAIN.as_bytes());
            return;
        };
        match kind {
            RecordKind::Manifest => self.begin(id, payload),
            RecordKind::End => self.end(&id, &payload),
            RecordKind::Paths | RecordKind::File => self.add(id, &TopicRecord { kind, payload }),
        }
    }

    fn begin(&mut self, id: String, manifest: Vec<u8>) {
        if let Some(Some(_)) = self.open.remove(&id) {
            self.complain(&id, INCOMPLETE);
        }
        let begun = match Gathering::begin(manifest) {
            Ok(begun) if begun.id() == id => Ok(begun),
            Ok(other) => Err(format!("its manifest is that of {}", other.id())),
            Err(error) => Err(error.to_string()),
        };
        let begun = begun.and_then(|begun| self.refuse_too_large(begun));
        let begun = begun.map_err(|what| self.complain(&id, &what)).ok();
        // Releases come one after the other, each in a transaction of its own: many that are open are nobody's.
        while self.open.len() >= OPEN_MOST {
            if let Some((first, Some(_))) = self.open.pop_first() {
                self.complain(&first, INCOMPLETE);
            }
        }
        self.open.insert(id, begun);
    }

    /// Memory holds what the manifests of open releases list, and no more than was allowed.
    fn refuse_too_large(&self, begun: Gathering) -> Result<Gathering, String> {
        let open = self.open.values().flatten().map(Gathering::most_bytes_of_all);
        let all = open.fold(begun.most_bytes_of_all(), u64::saturating_add);
        match all <= self.most_bytes {
            true => Ok(begun),
            false => Err(format!(
                "with what else is open its manifest lists more than {} MiB; --max-mib allows more",
                self.most_bytes >> 20
            )),
        }
    }

    fn add(&mut self, id: String, record: &TopicRecord) {
        let wrong = match self.open.get_mut(&id) {
            Some(Some(release)) => release.take(record).err().map(|error| error.to_string()),
            Some(None) => None,
            None => Some(NO_MANIFEST.to_owned()),
        };
        if let Some(what) = wrong {
            self.complain(&id, &what);
            self.open.insert(id, None);
        }
    }

    fn end(&mut self, id: &str, end: &[u8]) {
        let release = match self.open.remove(id) {
            Some(Some(release)) if self.failure.is_none() => release,
            Some(_) => return,
            None => return self.complain(id, NO_MANIFEST),
        };
        let release = match release.end(end) {
            Ok(release) => release,
            Err(error) => return self.complain(id, &error.to_string()),
        };
        match write_rebuilt(self.out, &release) {
            Ok(place) => {
                say(&format!("good  {id}  {}", place.display()));
                self.n_good += 1;
                self.n_bare += u64::from(!release.absent.is_empty());
                self.absent.extend(release.absent);
            }
            Err(error) => self.failure = Some(error.into()),
        }
    }

    fn complain(&mut self, id: &str, what: &str) {
        say(&format!("BAD   {}: {}", one_line(id), one_line(what)));
        self.n_bad += 1;
    }

    fn finish(mut self, topic: &str) -> Result<ExitCode, Failure> {
        for (id, release) in std::mem::take(&mut self.open) {
            if release.is_some() {
                self.complain(&id, INCOMPLETE);
            }
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if self.n_good > 0 {
            write_exported_catalog(self.out)?;
        }
        say(&format!(
            "{} releases from the topic {topic}, {} of them bad",
            self.n_good + self.n_bad,
            self.n_bad
        ));
        if self.n_bare > 0 {
            let absent: Vec<String> =
                self.absent.iter().map(|name| name.escape_debug().to_string()).collect();
            say(&format!(
                "{} of them are from an earlier tapveil, which sent no files: they have datapackage.json and paths.csv, \
                 checked against the digest in it; the topic does not hold {}, which `tapveil verify` would miss",
                self.n_bare,
                absent.join(", ")
            ));
        }
        if self.n_unknown > 0 {
            say(&format!(
                "{} records are of a kind that this program does not know and were passed over; a newer tapveil may have \
                 written them",
                self.n_unknown
            ));
        }
        Ok(ExitCode::from(u8::from(self.n_bad > 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever follows such a manifest is passed over.
    #[test]
    fn a_release_that_would_take_more_than_is_allowed_is_refused_at_its_manifest() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/release/v2/lk");
        let window = golden.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let window = window.into_iter().find(|path| path.is_dir()).unwrap();
        let manifest = std::fs::read(window.join("datapackage.json")).unwrap();
        let id = Gathering::begin(manifest.clone()).unwrap().id().to_owned();
        let begun = |most_bytes| {
            let mut exporter = Exporter { most_bytes, ..Exporter::default() };
            exporter.begin(id.clone(), manifest.clone());
            (exporter.n_bad, exporter.open[&id].is_some())
        };
        assert_eq!(begun(1 << 30), (0, true));
        assert_eq!(begun(100), (1, false));
    }
}
