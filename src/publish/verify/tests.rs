use std::sync::LazyLock;

use proptest::prelude::*;

use crate::engine::fixture;
use crate::model::{Digest, ErrorKind, PathKind};

use super::super::contents::{NAMES, PATHS_CSV};
use super::super::manifest::{Manifest, Package};
use super::super::signature;
use super::super::tests::{
    Publisher, measured, published, relative, release, row, sequences, settings, stations, window,
};
use super::*;

const ALL: [&str; 11] = [
    "datapackage.json",
    "paths.csv",
    "paths.parquet",
    "stations.csv",
    "od.csv",
    "lengths.csv",
    "locations.csv",
    "locations.geojson",
    "flows.geojson",
    "report.html",
    "README.md",
];

/// A copy of one published release: hundreds of cases need not wait for the disk each time.
fn copied() -> (tempfile::TempDir, PathBuf) {
    static MADE: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
        let (out, _) = published(&measured());
        relative(out.path())
    });
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join(window().name());
    fs::create_dir(&dir).unwrap();
    for (path, bytes) in MADE.iter() {
        fs::write(out.path().join(path), bytes).unwrap();
    }
    (out, dir)
}

/// Makes the manifest fit whatever the files hold now, as a careful forger would.
fn reseal(dir: &Path, change: impl FnOnce(&mut Package)) {
    let mut package = Manifest::read(&fs::read(dir.join(MANIFEST)).unwrap()).unwrap().package;
    for entry in &mut package.privacy.files {
        let bytes = fs::read(dir.join(&entry.name)).unwrap();
        entry.bytes = bytes.len() as u64;
        entry.sha256 = Digest::of(&bytes).to_string();
        for resource in package.resources.iter_mut().filter(|it| it.path == entry.name) {
            resource.bytes = entry.bytes;
            resource.hash = format!("sha256:{}", entry.sha256);
        }
    }
    change(&mut package);
    package.privacy.manifest_sha256 = package.digest();
    fs::write(dir.join(MANIFEST), package.text()).unwrap();
    if package.privacy.signed_by.is_some() {
        let signer = settings(&stations()).signer;
        fs::write(dir.join(SIGNATURE), signature::line(&signer, &package.text())).unwrap();
    }
    let out = dir.parent().unwrap();
    fs::write(out.join(CATALOG), Catalog::scan(out).unwrap().text()).unwrap();
}

fn problems(dir: &Path) -> Vec<(String, String)> {
    let report = verify(dir).unwrap();
    let pair = |(_, problem): (_, &Problem)| (problem.file.clone(), problem.what.clone());
    report.problems().map(pair).collect()
}

fn blamed(dir: &Path, file: &str, what: &str) -> bool {
    let found = problems(dir);
    let fits = found.iter().any(|(name, text)| name == file && text.contains(what));
    assert!(fits, "{file} {what}: {found:?}");
    fits
}

#[test]
fn what_was_published_is_sound() {
    let empty =
        fixture::release(&window(), &stations(), Digest::of(b"c"), PathKind::Timed, Vec::new());
    for release in [release(), measured(), sequences(), empty] {
        let (out, dir) = published(&release);
        for place in [out.path(), &dir] {
            let report = verify(place).unwrap();
            assert!(report.is_sound() && report.notes.is_empty(), "{report:?}");
            assert_eq!(report.releases[0].id.as_deref(), Some(release.id().as_str()));
            assert_eq!(report.releases[0].name, window().name());
        }
    }
}

#[test]
fn a_release_that_lists_more_than_is_allowed_is_not_read() {
    let (_out, dir) = published(&release());
    let options = |most_bytes| Options { most_bytes, ..Options::default() };
    assert!(verify_with(&dir, &options(1 << 20)).unwrap().is_sound());
    let report = verify_with(&dir, &options(100)).unwrap();
    let [problem] = report.releases[0].problems.as_slice() else { panic!("{report:?}") };
    assert!(problem.file == MANIFEST && problem.what.contains("--max-mib"), "{problem:?}");
}

/// Every release of lk has its flowgraph, and a forger who fits all digests cannot make it say anything else.
#[test]
fn a_flowgraph_is_what_the_paths_add_up_to() {
    use super::super::flowgraph::{FLOWGRAPH_CSV, FLOWGRAPH_JSON, Flowgraph};
    let (_out, dir) = copied();
    let by_lk = |package: &mut Package| {
        package.privacy.engine.name = "lk".to_owned();
        package.privacy.engine.version = 2;
    };
    reseal(&dir, by_lk);
    assert!(blamed(&dir, FLOWGRAPH_CSV, "is missing"));
    reseal(&dir, |package| package.privacy.engine.version = 1);
    assert!(!problems(&dir).iter().any(|(file, _)| file == FLOWGRAPH_CSV), "revision 1 had none");
    let graph = Flowgraph::of(&fs::read(dir.join("paths.csv")).unwrap()).unwrap();
    let mut text = Vec::new();
    graph.write_csv(&mut text).unwrap();
    fs::write(dir.join(FLOWGRAPH_CSV), &text).unwrap();
    fs::write(dir.join(FLOWGRAPH_JSON), format!("{}\n", graph.to_json())).unwrap();
    reseal(&dir, |package| {
        by_lk(package);
        for name in [FLOWGRAPH_CSV, FLOWGRAPH_JSON] {
            let mut entry = package.privacy.files[0].clone();
            entry.name = name.to_owned();
            package.privacy.files.push(entry);
        }
    });
    reseal(&dir, |_| ());
    assert!(!problems(&dir).iter().any(|(file, _)| file.starts_with("flowgraph")));
    for name in [FLOWGRAPH_CSV, FLOWGRAPH_JSON] {
        let before = fs::read_to_string(dir.join(name)).unwrap();
        fs::write(dir.join(name), before.replace("1.000000", "0.900000").replace(":1.0", ":0.9"))
            .unwrap();
        reseal(&dir, |_| ());
        assert!(blamed(&dir, name, "is not what the paths add up to"));
        fs::write(dir.join(name), before).unwrap();
    }
}

proptest! {
    #[test]
    fn a_flipped_bit_is_reported_with_its_files_name(
        file in 0..ALL.len() + 1, at in any::<prop::sample::Index>(), bit in 0..8_u32,
    ) {
        let (out, dir) = copied();
        let path = ALL.get(file).map_or(out.path().join(CATALOG), |name| dir.join(name));
        let mut bytes = fs::read(&path).unwrap();
        let place = at.index(bytes.len());
        bytes[place] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        let name = name_of(&path);
        let found = problems(out.path());
        prop_assert!(found.iter().any(|(file, _)| *file == name), "{name} at {place}: {found:?}");
    }

    #[test]
    fn garbage_is_a_problem_and_never_a_panic(
        file in 0..ALL.len() + 1,
        garbage in prop::collection::vec(any::<u8>(), 0..300),
        sealed in any::<bool>(),
    ) {
        let (out, dir) = copied();
        let path = ALL.get(file).map_or(out.path().join(CATALOG), |name| dir.join(name));
        fs::write(&path, garbage).unwrap();
        let name = name_of(&path);
        if sealed && NAMES.contains(&name.as_str()) {
            reseal(&dir, |_| ());
        }
        // Resealed, what people and map tools read may say anything; everything else has a form.
        let is_free = ["README.md", "report.html", "locations.geojson", "flows.geojson"].contains(&name.as_str());
        let found = problems(out.path());
        prop_assert!(
            (sealed && is_free) || found.iter().any(|(file, _)| *file == name),
            "{name}: {found:?}"
        );
    }

    #[test]
    fn a_damaged_parquet_with_a_fitting_manifest_is_read_without_a_panic(
        at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let (_out, dir) = copied();
        let path = dir.join("paths.parquet");
        let mut bytes = fs::read(&path).unwrap();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        fs::write(&path, bytes).unwrap();
        reseal(&dir, |_| ());
        // The byte may mean nothing (a statistic); the point is that reading comes to an end.
        let found = problems(&dir);
        prop_assert!(found.iter().all(|(file, _)| file == "paths.parquet"), "{found:?}");
    }
}

#[test]
fn rows_are_held_to_what_rows_are() {
    let good = "7,s1@2015-11-09T07:00-06:00\n";
    for (rows, what) in [
        ("0,s1@2015-11-09T07:00-06:00\n", "positive"),
        ("-3,s1@2015-11-09T07:00-06:00\n", "positive"),
        ("07,s1@2015-11-09T07:00-06:00\n", "positive"),
        ("x,s1@2015-11-09T07:00-06:00\n", "positive"),
        ("99999999999999999999,s1@2015-11-09T07:00-06:00\n", "positive"),
        ("7\n", "two fields"),
        ("7,s9@2015-11-09T07:00-06:00\n", "no station"),
        ("7,s1\n", "no slot"),
        ("7,\n", "not above"),
        ("7,s1@2015-11-09T07:00-06:00>\n", "no slot"),
        ("7,s1@2015-11-09T07:00\n", "is no slot"),
        ("7,s1@2015-11-09T7:00-06:00\n", "is no slot"),
        ("7,s1@2015-11-09T07:30-06:00\n", "no slot begins"),
        ("7,s1@2015-11-09T03:00-06:00\n", "outside"),
        ("7,s1@2015-11-10T04:00-06:00\n", "outside"),
        ("7,s1@2015-11-09T08:00-06:00>s1@2015-11-09T07:00-06:00\n", "back in time"),
        ("7,\"s1@2015-11-09T07:00-06:00\"\n", "form"),
        ("7,s1@2015-11-09T07:00-06:00\r\n", "form"),
        (&good.repeat(2), "not above"),
    ] {
        let (_out, dir) = copied();
        fs::write(dir.join("paths.csv"), format!("count,path\n{rows}")).unwrap();
        reseal(&dir, |_| ());
        assert!(blamed(&dir, "paths.csv", what));
    }
}

#[test]
fn the_forms_of_a_release_must_say_the_same() {
    let (_out, dir) = copied();
    let rows = fs::read_to_string(dir.join("paths.csv")).unwrap();
    fs::write(dir.join("paths.csv"), rows.replace("\n12,", "\n13,")).unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, "paths.parquet", "count"));
    fs::write(dir.join("paths.csv"), rows.replacen("T07:00", "T06:00", 1)).unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, "paths.parquet", "slot"));
    fs::write(dir.join("paths.csv"), rows.replacen("s1!@", "s1@", 1)).unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, "paths.parquet", "station"));
    fs::write(dir.join("paths.csv"), "count,path\n").unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, "paths.parquet", "more rows"));
    let more = format!("{rows}1,s1@2015-11-09T08:00-06:00\n");
    fs::write(dir.join("paths.csv"), more).unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, "paths.parquet", "fewer rows"));
}

#[test]
fn a_table_that_breaks_its_form_is_a_problem() {
    for (name, from, to, what) in [
        ("stations.csv", ",15,13,18", ",15,16,18", "outside its interval"),
        ("stations.csv", ",15,13,18", ",015,13,18", "no whole number"),
        ("stations.csv", "Zócalo,2015-11-09T07", "nowhere,2015-11-09T07", "no station"),
        ("stations.csv", "T09:00-06:00,2,", "T07:00-06:00,2,", "not above"),
        ("stations.csv", "station,slot", "slot,station", "does not begin with"),
        ("od.csv", "2015-11-09T04:00", "2015-11-08T04:00", "outside the window"),
        ("od.csv", ",3,1,6", ",3,1", "fields"),
        ("station_activities.csv", ",,,,15", ",,,,14", "something else than stations.csv"),
        (
            "station_activities.csv",
            "2015-11-09,s1!",
            "2015-11-09,s2",
            "something else than stations.csv",
        ),
        ("lengths.csv", "\n2,10", "\n1,10", "not above"),
        ("lengths.csv", "\n2,10", "\n-2,10", "no whole number"),
    ] {
        let (_out, dir) = copied();
        let text = fs::read_to_string(dir.join(name)).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        fs::write(dir.join(name), text.replacen(from, to, 1)).unwrap();
        reseal(&dir, |_| ());
        assert!(blamed(&dir, name, what));
    }
}

#[test]
fn a_manifest_must_be_whole_canonical_and_its_own() {
    let (_out, dir) = copied();
    let text = fs::read_to_string(dir.join(MANIFEST)).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        fs::write(dir.join(MANIFEST), text.replacen(from, to, 1)).unwrap();
    };
    with("\"epsilon_micro\": 1000000", "\"epsilon_micro\": 100000");
    assert!(blamed(&dir, MANIFEST, "manifest_sha256"));
    with("  \"profile\"", " \"profile\"");
    assert!(blamed(&dir, MANIFEST, "canonical"));
    with("\"budget\"", "\"budgets\"");
    assert!(blamed(&dir, MANIFEST, "no manifest"));
    with("\"relative_to\"", "\"relative\"");
    assert!(blamed(&dir, MANIFEST, "missing field `relative_to`"));
    fs::remove_file(dir.join(MANIFEST)).unwrap();
    assert!(blamed(&dir, MANIFEST, "cannot be read"));
}

#[test]
fn only_names_of_files_right_here_may_be_listed() {
    for name in ["../secret", "/etc/hostname", "a/b", ".", "..", "", "datapackage.json", ".hidden"]
    {
        let (_out, dir) = copied();
        reseal(&dir, |package| {
            let files = &mut package.privacy.files;
            files.iter_mut().find(|file| file.name == "README.md").unwrap().name = name.to_owned();
        });
        assert!(blamed(&dir, MANIFEST, "no name of a file"));
        assert!(blamed(&dir, MANIFEST, "does not list README.md"));
    }
}

#[test]
fn missing_and_additional_files_are_problems() {
    let (_out, dir) = copied();
    fs::write(dir.join("more.csv"), "a").unwrap();
    fs::remove_file(dir.join("od.csv")).unwrap();
    std::os::unix::fs::symlink("paths.csv", dir.join("link")).unwrap();
    assert!(blamed(&dir, "more.csv", "no part"));
    assert!(blamed(&dir, "link", "no part"));
    assert!(blamed(&dir, "od.csv", "cannot be read"));
}

#[test]
fn a_catalog_lists_what_is_there() {
    let (out, dir) = copied();
    let catalog = out.path().join(CATALOG);
    let text = fs::read_to_string(&catalog).unwrap();
    fs::write(&catalog, text.replace("fixture", "safepath")).unwrap();
    assert!(blamed(out.path(), CATALOG, "says something else"));
    assert!(blamed(&dir, CATALOG, "says something else"));
    fs::write(&catalog, text.replace("  ", " ")).unwrap();
    assert!(blamed(out.path(), CATALOG, "form"));
    fs::write(&catalog, text.replace("\"20151109T0400_20151110T0400\"", "\"../x\"")).unwrap();
    assert!(blamed(out.path(), CATALOG, "not there"));
    fs::write(&catalog, &text).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    assert!(blamed(out.path(), CATALOG, "not there"));
}

#[test]
fn a_release_not_yet_in_the_catalog_and_leftovers_are_only_notes() {
    let (out, dir) = copied();
    fs::write(out.path().join(CATALOG), Catalog::new(Vec::new()).text()).unwrap();
    fs::create_dir(out.path().join(".20151110T0400_20151111T0400.partial")).unwrap();
    fs::write(out.path().join("notes.txt"), "mine").unwrap();
    let report = verify(out.path()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(report.notes.len(), 4, "{report:?}");
    assert_eq!(verify(&dir).unwrap().notes.len(), 2);
    fs::remove_file(out.path().join(CATALOG)).unwrap();
    assert!(verify(out.path()).unwrap().is_sound());
}

#[test]
fn a_release_under_another_name_is_a_problem_among_others() {
    let (out, dir) = copied();
    let copy = out.path().join("copy");
    fs::rename(&dir, &copy).unwrap();
    fs::remove_file(out.path().join(CATALOG)).unwrap();
    assert!(blamed(out.path(), MANIFEST, "its own name"));
    assert!(verify(&copy).unwrap().is_sound(), "alone it may be called anything");
}

#[test]
fn releases_of_several_windows_share_a_catalog() {
    let (out, _) = copied();
    let next = super::super::tests::window_of("America/Mexico_City", "2015-11-10T12:00:00-06:00");
    let rows = vec![row(2, &[(1, 1)])];
    let second = fixture::release(&next, &stations(), Digest::of(b"c"), PathKind::Timed, rows);
    Publisher::new(out.path(), settings(&stations())).publish(&second).unwrap();
    let report = verify(out.path()).unwrap();
    assert!(report.is_sound() && report.notes.is_empty(), "{report:?}");
    assert_eq!(report.releases.len(), 2);
}

#[test]
fn a_place_without_any_release_is_bad_usage() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("file"), "").unwrap();
    for place in [out.path().to_owned(), out.path().join("nowhere"), out.path().join("file")] {
        let error = verify(&place).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains("no release in"), "{error}");
    }
}

#[test]
fn counts_beyond_all_people_are_a_problem_and_no_panic() {
    let (_out, dir) = copied();
    let text = fs::read_to_string(dir.join(PATHS_CSV)).unwrap();
    let grown = |line: &str| {
        let (_, path) = line.split_once(',').unwrap();
        format!("{},{path}\n", i64::MAX)
    };
    let rows: String = text.lines().skip(1).map(grown).collect();
    assert!(rows.lines().count() > 1);
    fs::write(dir.join(PATHS_CSV), format!("count,path\n{rows}")).unwrap();
    reseal(&dir, |_| ());
    assert!(blamed(&dir, PATHS_CSV, "more passengers than there can be"));
}
