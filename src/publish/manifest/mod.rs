//! datapackage.json as a value: a Frictionless data package whose `privacy` object is the manifest.
//!
//! It has one canonical text: its members in their order, indented by two, a line feed at the end. The
//! member `manifest_sha256` is the digest of that text with the member itself empty. `src/CONTRACT.md` has the rules
//! of its versions.

mod read;

pub(super) use read::Manifest;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::guarantee::Guarantee;
use crate::model::{Digest, PathKind};

/// The manifest's file.
pub(super) const MANIFEST: &str = "datapackage.json";
/// Far more than any manifest; a longer one is refused unread.
pub(super) const MANIFEST_MOST_BYTES: u64 = 16 << 20;
/// The format that this program writes. It reads every one from 1 on.
pub(super) const FORMAT: u32 = 2;

/// The whole of datapackage.json. Members that this version does not know are passed over.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Package {
    pub(super) profile: String,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) licenses: Vec<Licence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) contributors: Vec<Contributor>,
    pub(super) resources: Vec<Resource>,
    pub(super) privacy: Privacy,
}

impl Package {
    /// The canonical text.
    pub(super) fn text(&self) -> Vec<u8> {
        canonical(self)
    }

    /// The digest of the canonical text without the digest.
    pub(super) fn digest(&self) -> String {
        let mut bare = self.clone();
        bare.privacy.manifest_sha256 = String::new();
        Digest::of(&bare.text()).to_string()
    }
}

/// Indented, members in their own order, a line feed at the end.
pub(super) fn canonical(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data with text keys");
    text.push(b'\n');
    text
}

/// The members of anything that serializes as an object, in its own order.
pub(super) fn members(facts: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(facts) {
        Ok(Value::Object(members)) => members,
        _ => unreachable!("facts serialize as an object"),
    }
}

/// Under which terms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Licence {
    pub(super) name: String,
    pub(super) title: String,
}

/// Whom to ask.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Contributor {
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) email: Option<String>,
    pub(super) role: String,
}

/// One file with data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Resource {
    pub(super) profile: String,
    pub(super) name: String,
    pub(super) path: String,
    pub(super) description: String,
    pub(super) format: String,
    pub(super) mediatype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) encoding: Option<String>,
    pub(super) bytes: u64,
    pub(super) hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Schema>,
}

/// What the columns are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema {
    pub(super) fields: Vec<Field>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) primary_key: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) foreign_keys: Vec<ForeignKey>,
}

/// One column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) r#type: String,
    pub(super) description: String,
}

/// A column whose values stand in another table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct ForeignKey {
    pub(super) fields: String,
    pub(super) reference: Reference,
}

/// Where they stand.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Reference {
    pub(super) resource: String,
    pub(super) fields: String,
}

/// The manifest proper: how the release was made and what it promises.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Privacy {
    /// The form of this object and of the release's files. Format 1 had no such member.
    pub(super) format: u32,
    pub(super) release_id: String,
    /// 0, or absent, for the window's first release.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) revision: u32,
    pub(super) feed: String,
    /// Names the feed among all others. Absent before ledgers had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) feed_key: Option<String>,
    pub(super) window: WindowFacts,
    pub(super) windows_protected: bool,
    pub(super) windows_note: String,
    pub(super) input: PathKind,
    pub(super) engine: EngineEntry,
    pub(super) guarantee: GuaranteeEntry,
    pub(super) budget: Budget,
    /// Where the ledger stood when the release was paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ledger: Option<LedgerMark>,
    pub(super) shares: Vec<Map<String, Value>>,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) universe: Universe,
    pub(super) post_processing: Vec<String>,
    pub(super) expected_error: Map<String, Value>,
    pub(super) code: Code,
    pub(super) config_sha256: String,
    pub(super) files: Vec<FileEntry>,
    /// The key that signs; absent: nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signed_by: Option<String>,
    pub(super) manifest_sha256: String,
}

/// The window, in words that machines read too.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct WindowFacts {
    pub(super) start: String,
    pub(super) end: String,
    pub(super) time_zone: String,
    /// An ISO 8601 duration.
    pub(super) slot: String,
}

/// Which engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct EngineEntry {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) parameters: Map<String, Value>,
}

/// The promise: a short tag with its numbers, and sentences for people.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct GuaranteeEntry {
    #[serde(flatten)]
    pub(super) promise: Guarantee,
    /// Empty in format 1.
    #[serde(default)]
    pub(super) statement: String,
    pub(super) relative_to: String,
    pub(super) not_protected: Vec<String>,
}

fn is_first(revision: &u32) -> bool {
    *revision == 0
}

/// A record of the ledger: a ledger that does not have it is an older copy, or another one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct LedgerMark {
    /// Its number.
    pub(super) record: u64,
    /// Its MAC, which follows from every record up to it.
    pub(super) mac: String,
}

/// Caps in micro-ε; `horizon` in windows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Budget {
    pub(super) spent_micro: u64,
    /// What all releases of this window cost together, this one included. Absent in older manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) window_total_micro: Option<u64>,
    pub(super) horizon: Option<u32>,
    pub(super) cap: Option<u64>,
    pub(super) lifetime: Option<u64>,
    pub(super) rule: Option<String>,
}

/// The smallest noisy count that is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Threshold {
    pub(super) class: String,
    pub(super) threshold: u64,
}

/// The universe that the engine looked at.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Universe {
    pub(super) stations_sha256: String,
    pub(super) taxonomy_sha256: String,
    pub(super) slots: u32,
}

/// Which program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Code {
    pub(super) version: String,
    pub(super) commit: String,
}

/// One file of the release.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) bytes: u64,
}
