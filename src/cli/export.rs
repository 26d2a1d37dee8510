//! `tapveil export`: releases, rebuilt from their topic alone, as a recipient could.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::failure::say;
use super::sending::connected;
use super::{ConfigArgument, Failure};
use crate::engine::Registry;
use crate::kafka::HEADER;
use crate::kafka::{Received, read_committed};
use crate::publish::topic::{RecordKind, TopicRecord, rebuild};
use crate::publish::write_rebuilt;

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
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let (_, kafka) = connected(&arguments.config.config, registry)?;
    let mut exporter = Exporter { out: &arguments.out, ..Exporter::default() };
    let timeout = Duration::from_secs(arguments.timeout.max(1));
    read_committed(&kafka, &kafka.topics.releases, HEADER, timeout, &mut |record| {
        exporter.take(record);
    })?;
    exporter.finish(&kafka.topics.releases)
}

/// Gathers records by release and writes each release as soon as its end is in, so that memory holds one.
struct Exporter<'a> {
    out: &'a Path,
    open: BTreeMap<String, Vec<TopicRecord>>,
    absent: Vec<String>,
    n_good: u64,
    n_bad: u64,
    /// What stopped the writing; nothing more is written after it.
    failure: Option<Failure>,
}

impl Default for Exporter<'_> {
    fn default() -> Self {
        Self {
            out: Path::new(""),
            open: BTreeMap::new(),
            absent: Vec::new(),
            n_good: 0,
            n_bad: 0,
            failure: None,
        }
    }
}

impl Exporter<'_> {
    fn take(&mut self, record: Received) {
        let Received { partition, offset, key, header, payload } = record;
        let id = String::from_utf8_lossy(&key).into_owned();
        let kind = header.as_deref().and_then(RecordKind::from_name);
        let (Some(kind), Some(payload), false) = (kind, payload, id.is_empty()) else {
            let what = format!("the record at {partition}:{offset} is no part of a release");
            return self.complain(&id, &what);
        };
        self.open.entry(id.clone()).or_default().push(TopicRecord { kind, payload });
        if kind == RecordKind::End
            && let Some(records) = self.open.remove(&id)
        {
            self.close(&id, &records);
        }
    }

    fn close(&mut self, id: &str, records: &[TopicRecord]) {
        if self.failure.is_some() {
            return;
        }
        match rebuild(records) {
            Err(error) => self.complain(id, &error.to_string()),
            Ok(release) if release.id != id => {
                self.complain(id, &format!("its manifest is that of {}", release.id));
            }
            Ok(release) => match write_rebuilt(self.out, &release) {
                Ok(place) => {
                    say(&format!("good  {id}  {}", place.display()));
                    self.n_good += 1;
                    self.absent = release.absent;
                }
                Err(error) => self.failure = Some(error.into()),
            },
        }
    }

    fn complain(&mut self, id: &str, what: &str) {
        say(&format!("BAD   {id}: {what}"));
        self.n_bad += 1;
    }

    fn finish(mut self, topic: &str) -> Result<ExitCode, Failure> {
        for id in std::mem::take(&mut self.open).into_keys() {
            self.complain(&id, "it is incomplete: its end is missing");
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        say(&format!(
            "{} releases from the topic {topic}, {} of them bad",
            self.n_good + self.n_bad,
            self.n_bad
        ));
        if !self.absent.is_empty() {
            say(&format!(
                "each has datapackage.json and paths.csv, checked against the digest in it; the topic does not hold {}, which \
                 `tapveil verify` would miss",
                self.absent.join(", ")
            ));
        }
        Ok(ExitCode::from(u8::from(self.n_bad > 0)))
    }
}
