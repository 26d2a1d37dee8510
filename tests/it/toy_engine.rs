//! An engine that the program does not have is added to the registry, and nothing else: `check`, statement, manifest
//! and audit know it.

use std::fs;
use std::process::ExitCode;

use serde_json::Value;
use tapveil::audit::{self, Effort};
use tapveil::cli;
use tapveil::config::{self, Statement};
use tapveil::engine::Registry;
use tapveil::engine::fixture::toy;
use tapveil::publish::verify::verify;

use crate::support::City;

fn registry() -> Registry {
    Registry::standard().with(toy::REGISTRATION)
}

/// A city whose configuration names the toy.
fn city() -> City {
    let city = City::generated(3_000);
    let text = fs::read_to_string(city.config()).unwrap();
    let (before, rest) = text.split_once("[engine]").unwrap();
    let (_, after) = rest.split_once("[budget]").unwrap();
    fs::write(city.config(), format!("{before}{}\n[budget]{after}", toy::REGISTRATION.demo))
        .unwrap();
    city
}

#[track_caller]
fn succeeds(arguments: &[&str]) {
    let all = std::iter::once(&"tapveil").chain(arguments).map(std::ffi::OsString::from);
    let code = cli::run(all, &registry());
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS), "{arguments:?}");
}

#[test]
fn an_engine_that_is_only_registered_is_known_everywhere() {
    let city = city();
    let config = city.config().display().to_string();
    let settings = config::load_with(&city.config(), &registry()).unwrap();
    assert_eq!(settings.engine.describe().name, "headcount");
    succeeds(&["check", "-c", &config]);

    let statement = Statement::of(&settings).text;
    assert!(statement.contains("Engine headcount, revision 1"), "{statement}");
    assert!(statement.contains("least = 5"), "{statement}");

    let out = city.path("toy");
    let (taps, to) = (city.path("taps.csv").display().to_string(), out.display().to_string());
    succeeds(&["sanitize", "--taps", &taps, "--config", &config, "--out", &to, "--json"]);
    let report = verify(&out).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let manifest = fs::read(out.join(&report.releases[0].name).join("datapackage.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["privacy"]["engine"]["name"], "headcount");
    assert_eq!(manifest["privacy"]["engine"]["parameters"]["least"], "5");
    assert_eq!(manifest["privacy"]["guarantee"]["epsilon_micro"], 1_000_000);

    assert!(audit::engine_names(&registry()).contains(&"headcount"));
    // Few samples: whether every mutant is caught is the core's own test.
    let found =
        audit::audit(&registry(), Some("headcount"), Effort { samples: 5_000, pairs: 60 }, &|_| {});
    assert!(!found.engines.is_empty() && found.engines.iter().all(|one| one.engine == "headcount"));
    assert!(found.engines.iter().all(|one| one.holds()), "{:?}", found.engines);
}

#[test]
fn its_keys_are_declared_once_and_checked_with_the_others() {
    let city = city();
    city.edit("least = 5", "leest = 5");
    let error = config::load_with(&city.config(), &registry()).unwrap_err().to_string();
    assert!(
        error.contains("engine.headcount.leest: unknown key; did you mean engine.headcount.least?"),
        "{error}"
    );
    let defaults = config::default_text(&registry());
    assert!(
        defaults.contains("[engine.headcount]") && defaults.contains("least = 5"),
        "{defaults}"
    );
    assert!(
        config::schema(&registry())["properties"]["engine"]["properties"]["headcount"].is_object()
    );
    let unknown = config::load(&city.config()).unwrap_err().to_string();
    assert!(unknown.contains("\"headcount\" is not an engine"), "{unknown}");
}
