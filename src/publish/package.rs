//! From a release and the settings to its manifest. Nothing here looks at the rows.

use jiff::SignedDuration;

use crate::engine::Release;

use super::disk::Written;
use super::manifest::{
    Budget, Code, Contributor, EngineEntry, FILES, Field, FileEntry, ForeignKey, Licence, Package,
    Privacy, Reference, Resource, Schema, Threshold, WindowFacts,
};
use super::members::Members;
use super::{Settings, words};

/// The manifest of a release whose other files were written so, in the order of [`FILES`].
pub(super) fn package(release: &Release, settings: &Settings, written: &[Written; 5]) -> Package {
    let (paths, table, od, locations) = (&written[0], &written[1], &written[2], &written[3]);
    let count = ["count", "integer", words::count(release)];
    let mut package = Package {
        profile: "data-package".to_owned(),
        name: release.id().as_str().to_lowercase(),
        title: words::title(settings),
        description: format!(
            "Paths of public transport passengers from {} to {}, {}. The guarantee stands in the member \
             privacy and, in words, in README.md.",
            release.window().start_label(),
            release.window().end_label(),
            words::counts(release),
        ),
        licenses: licences(&settings.licence),
        contributors: contributors(&settings.contact),
        resources: vec![
            paths_csv(paths, count),
            paths_parquet(table, count),
            od_csv(od),
            locations_csv(locations),
        ],
        privacy: privacy(release, settings, written),
    };
    package.privacy.manifest_sha256 = package.digest();
    package
}

fn privacy(release: &Release, settings: &Settings, written: &[Written; 5]) -> Privacy {
    let window = release.window();
    let engine = release.engine();
    let budget = &settings.budget;
    let entry = |(name, file): (&&str, &Written)| FileEntry {
        name: (*name).to_owned(),
        sha256: file.sha256.to_string(),
        bytes: file.bytes,
    };
    Privacy {
        release_id: release.id().as_str().to_owned(),
        feed: settings.feed.clone(),
        window: WindowFacts {
            start: window.start_label(),
            end: window.end_label(),
            time_zone: window.zone_name().to_owned(),
            slot: SignedDuration::from_secs(window.slot_secs()).to_string(),
        },
        windows_protected: settings.windows_protected,
        windows_note: words::windows_note(settings).to_owned(),
        input: release.input().into(),
        engine: EngineEntry {
            name: engine.name.to_owned(),
            version: engine.version,
            parameters: Members::of_texts(&engine.parameters),
        },
        guarantee: Members::of(release.guarantee())
            .with("relative_to", settings.closing.as_str())
            .with("not_protected", words::not_protected(release, settings)),
        budget: Budget {
            spent_micro: release.cost().epsilon().micro(),
            horizon: budget.horizon_windows,
            cap: budget.horizon_cap.map(|cap| cap.micro()),
            lifetime: budget.lifetime_cap.map(|cap| cap.micro()),
            rule: budget.rule.clone(),
        },
        shares: release.shares().iter().map(Members::of).collect(),
        thresholds: release
            .shares()
            .iter()
            .map(|share| Threshold { class: share.class.clone(), threshold: share.threshold })
            .collect(),
        universe: Members::of(release.universe()),
        post_processing: release.post_processing().to_vec(),
        expected_error: release.expected_error().map(Members::of).unwrap_or_default(),
        code: Code { version: settings.version.to_owned(), commit: settings.commit.to_owned() },
        config_sha256: release.configuration().to_string(),
        files: FILES.iter().zip(written).map(entry).collect(),
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

fn paths_csv(file: &Written, count: [&str; 3]) -> Resource {
    let path = "station@slot>station@slot, in order; a slot is its beginning with the offset from UTC; \
                without @slot where times were left out";
    let fields = schema(&[count, ["path", "string", path]], &["path"]);
    csv_resource("paths", "Paths with counts, ordered by path", file, fields)
}

fn paths_parquet(file: &Written, count: [&str; 3]) -> Resource {
    let fields = [
        count,
        ["stations", "array", "Station ids, in order"],
        ["slots", "array", "Beginnings of slots, UTC, in milliseconds; null without times"],
    ];
    Resource {
        profile: "data-resource".to_owned(),
        name: "paths-parquet".to_owned(),
        path: "paths.parquet".to_owned(),
        description: "The rows of paths.csv with lists and times".to_owned(),
        format: "parquet".to_owned(),
        mediatype: "application/vnd.apache.parquet".to_owned(),
        encoding: None,
        bytes: file.bytes,
        hash: format!("sha256:{}", file.sha256),
        schema: schema(&fields, &[]),
    }
}

fn od_csv(file: &Written) -> Resource {
    let fields = [
        ["origin", "string", "First station of the paths"],
        ["dest", "string", "Last station of the paths"],
        ["count", "integer", "Sum of the counts of paths with at least two stations"],
    ];
    let mut schema = schema(&fields, &["origin", "dest"]);
    schema.foreign_keys = ["origin", "dest"]
        .map(|field| ForeignKey {
            fields: field.to_owned(),
            reference: Reference { resource: "locations".to_owned(), fields: "id".to_owned() },
        })
        .to_vec();
    csv_resource("od", "Flows from first to last station", file, schema)
}

fn locations_csv(file: &Written) -> Resource {
    let fields = [
        ["id", "string", "Station id"],
        ["name", "string", "Name, if the agency gives one"],
        ["lat", "number", "Latitude in degrees"],
        ["lon", "number", "Longitude in degrees"],
    ];
    let about = "Every station of the feed, whether a path visits it or not";
    csv_resource("locations", about, file, schema(&fields, &["id"]))
}

fn csv_resource(name: &str, about: &str, file: &Written, schema: Schema) -> Resource {
    Resource {
        profile: "tabular-data-resource".to_owned(),
        name: name.to_owned(),
        path: format!("{name}.csv"),
        description: about.to_owned(),
        format: "csv".to_owned(),
        mediatype: "text/csv".to_owned(),
        encoding: Some("utf-8".to_owned()),
        bytes: file.bytes,
        hash: format!("sha256:{}", file.sha256),
        schema,
    }
}

fn schema(fields: &[[&str; 3]], key: &[&str]) -> Schema {
    let field = |[name, r#type, about]: &[&str; 3]| Field {
        name: (*name).to_owned(),
        r#type: (*r#type).to_owned(),
        description: (*about).to_owned(),
    };
    Schema {
        fields: fields.iter().map(field).collect(),
        primary_key: key.iter().map(|&name| name.to_owned()).collect(),
        foreign_keys: Vec::new(),
    }
}
