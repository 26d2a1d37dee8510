//! From a release and the settings to its manifest. Nothing here looks at the rows.

use jiff::SignedDuration;

use crate::engine::Release;

use super::contents::{Content, TableFacts};
use super::manifest::{
    Budget, Code, Contributor, EngineEntry, FORMAT, FileEntry, GuaranteeEntry, LedgerMark, Licence,
    Package, Privacy, Resource, Threshold, Universe, WindowFacts, members,
};
use super::{Settings, words};

/// The manifest of a release with these files.
pub(super) fn package(release: &Release, settings: &Settings, files: &[Content]) -> Package {
    let mut package = Package {
        profile: "data-package".to_owned(),
        name: release.id().as_str().to_lowercase(),
        title: words::title(settings),
        description: format!(
            "Paths of public transport passengers from {} to {}, {}. The guarantee stands in the member \
             privacy and, in words, in README.md.",
            release.window().start_label(),
            release.window().end_label(),
            release.guarantee().counts(),
        ),
        licenses: licences(&settings.licence),
        contributors: contributors(&settings.contact),
        resources: files
            .iter()
            .filter_map(|file| Some(resource(file, file.table.as_ref()?)))
            .collect(),
        privacy: privacy(release, settings, files),
    };
    package.privacy.manifest_sha256 = package.digest();
    package
}

fn privacy(release: &Release, settings: &Settings, files: &[Content]) -> Privacy {
    let window = release.window();
    let engine = release.engine();
    let budget = &settings.budget;
    let entry = |file: &Content| FileEntry {
        name: file.name.to_owned(),
        sha256: file.written.sha256.to_string(),
        bytes: file.written.bytes,
    };
    let parameter = |(name, value): &(String, String)| (name.clone(), value.as_str().into());
    Privacy {
        format: FORMAT,
        release_id: release.id().as_str().to_owned(),
        revision: release.reservation().revision,
        feed: settings.feed.clone(),
        feed_key: Some(release.reservation().feed_key.to_string()),
        window: WindowFacts {
            start: window.start_label(),
            end: window.end_label(),
            time_zone: window.zone_name().to_owned(),
            slot: SignedDuration::from_secs(window.slot_secs()).to_string(),
        },
        windows_protected: settings.windows_protected,
        windows_note: words::windows_note(settings).to_owned(),
        input: release.input(),
        engine: EngineEntry {
            name: engine.name.to_owned(),
            version: engine.version,
            parameters: engine.parameters.iter().map(parameter).collect(),
        },
        guarantee: GuaranteeEntry {
            promise: release.guarantee().clone(),
            statement: release.guarantee().in_words(),
            relative_to: settings.closing.clone(),
            not_protected: words::not_protected(release, settings),
        },
        budget: Budget {
            spent_micro: release.cost().epsilon().micro(),
            window_total_micro: Some(release.reservation().window_total.micro()),
            horizon: budget.horizon_windows,
            cap: budget.horizon_cap.map(|cap| cap.micro()),
            lifetime: budget.lifetime_cap.map(|cap| cap.micro()),
            rule: budget.rule.clone(),
        },
        ledger: Some(LedgerMark {
            record: release.reservation().sequence,
            mac: release.reservation().head.to_string(),
        }),
        shares: release.shares().iter().map(members).collect(),
        thresholds: release
            .shares()
            .iter()
            .map(|share| Threshold { class: share.class.clone(), threshold: share.threshold })
            .collect(),
        universe: Universe {
            stations_sha256: release.universe().stations_sha256.to_string(),
            taxonomy_sha256: release.universe().taxonomy_sha256.to_string(),
            slots: release.universe().slots,
        },
        post_processing: release.post_processing().to_vec(),
        expected_error: release.expected_error().map(members).unwrap_or_default(),
        code: Code { version: settings.version.to_owned(), commit: settings.commit.to_owned() },
        config_sha256: release.configuration().to_string(),
        files: files.iter().map(entry).collect(),
        signed_by: Some(settings.signer.public_key()),
        manifest_sha256: String::new(),
    }
}

fn licences(licence: &str) -> Vec<Licence> {
    let title = licence.trim();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
    match title {
        "" => Vec::new(),
        _ => vec![Licence { name: title.chars().map(plain).collect(), title: title.to_owned() }],
    }
}

fn contributors(contact: &str) -> Vec<Contributor> {
    let title = contact.trim();
    let is_address = title.contains('@') && !title.contains(char::is_whitespace);
    match title {
        "" => Vec::new(),
        _ => vec![Contributor {
            title: title.to_owned(),
            email: is_address.then(|| title.to_owned()),
            role: "publisher".to_owned(),
        }],
    }
}

/// A table of the data package. Files that are no tables stand in `privacy.files` alone.
fn resource(file: &Content, table: &TableFacts) -> Resource {
    Resource {
        profile: "tabular-data-resource".to_owned(),
        name: file.name.trim_end_matches(".csv").to_owned(),
        path: file.name.to_owned(),
        description: table.about.to_owned(),
        format: "csv".to_owned(),
        mediatype: "text/csv".to_owned(),
        encoding: Some("utf-8".to_owned()),
        bytes: file.written.bytes,
        hash: format!("sha256:{}", file.written.sha256),
        schema: Some(table.schema.clone()),
    }
}
