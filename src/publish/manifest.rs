//! datapackage.json as a value: a Frictionless data package whose `privacy` object is the manifest.
//!
//! It has one canonical text: these members in this order, indented by two, a line feed at the end. The
//! member `manifest_sha256` is the digest of that text with the member itself empty.

use serde::{Deserialize, Serialize};

use crate::model::{Digest, PathKind};

use super::members::Members;

/// The manifest's file.
pub(super) const MANIFEST: &str = "datapackage.json";
/// Far more than any manifest; a longer one is refused unread.
pub(super) const MANIFEST_MOST_BYTES: u64 = 16 << 20;

/// The other files of a release, in the order the manifest lists them.
pub(super) const FILES: [&str; 5] =
    ["paths.csv", "paths.parquet", "od.csv", "locations.csv", "README.md"];

/// The whole of datapackage.json.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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

    /// Reads a text, canonical or not.
    pub(super) fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }
}

/// Indented, members in their own order, a line feed at the end.
pub(super) fn canonical(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain data with text keys");
    text.push(b'\n');
    text
}

/// Under which terms.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Licence {
    pub(super) name: String,
    pub(super) title: String,
}

/// Whom to ask.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contributor {
    pub(super) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) email: Option<String>,
    pub(super) role: String,
}

/// One file with data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub(super) schema: Schema,
}

/// What the columns are.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Schema {
    pub(super) fields: Vec<Field>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) primary_key: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) foreign_keys: Vec<ForeignKey>,
}

/// One column.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) r#type: String,
    pub(super) description: String,
}

/// A column whose values stand in another table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ForeignKey {
    pub(super) fields: String,
    pub(super) reference: Reference,
}

/// Where they stand.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reference {
    pub(super) resource: String,
    pub(super) fields: String,
}

/// The manifest proper: how the release was made and what it promises.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Privacy {
    pub(super) release_id: String,
    pub(super) feed: String,
    pub(super) window: WindowFacts,
    pub(super) windows_protected: bool,
    pub(super) windows_note: String,
    pub(super) input: PathKindName,
    pub(super) engine: EngineEntry,
    pub(super) guarantee: Members,
    pub(super) budget: Budget,
    pub(super) shares: Vec<Members>,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) universe: Members,
    pub(super) post_processing: Vec<String>,
    pub(super) expected_error: Members,
    pub(super) code: Code,
    pub(super) config_sha256: String,
    pub(super) files: Vec<FileEntry>,
    pub(super) manifest_sha256: String,
}

/// The window, in words that machines read too.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WindowFacts {
    pub(super) start: String,
    pub(super) end: String,
    pub(super) time_zone: String,
    /// An ISO 8601 duration.
    pub(super) slot: String,
}

/// What the paths are made of.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PathKindName {
    Doublets,
    Sequences,
}

impl From<PathKind> for PathKindName {
    fn from(input: PathKind) -> Self {
        match input {
            PathKind::Timed => Self::Doublets,
            PathKind::Untimed => Self::Sequences,
        }
    }
}

impl From<PathKindName> for PathKind {
    fn from(name: PathKindName) -> Self {
        match name {
            PathKindName::Doublets => Self::Timed,
            PathKindName::Sequences => Self::Untimed,
        }
    }
}

/// Which engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EngineEntry {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) parameters: Members,
}

/// Caps in micro-ε; `horizon` in windows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    pub(super) spent_micro: u64,
    pub(super) horizon: Option<u32>,
    pub(super) cap: Option<u64>,
    pub(super) lifetime: Option<u64>,
    pub(super) rule: Option<String>,
}

/// The smallest noisy count that is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Threshold {
    pub(super) class: String,
    pub(super) threshold: u64,
}

/// Which program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    pub(super) version: String,
    pub(super) commit: String,
}

/// One file of the release.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    pub(super) name: String,
    pub(super) sha256: String,
    pub(super) bytes: u64,
}
