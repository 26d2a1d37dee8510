//! The examples of the library run and say what they promise. `cargo test` builds them beside this binary.

use std::path::PathBuf;
use std::process::Command;

use crate::contract::data;
use crate::support::Run;

fn example(name: &str, arguments: &[&str]) -> Run {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    let hint = "cargo test builds examples; with --test it alone run cargo build --examples first";
    let output = Command::new(&path).args(arguments).output();
    Run::of(output.unwrap_or_else(|error| panic!("{}: {error}; {hint}", path.display())))
}

#[test]
fn noise_draws_and_says_how_much_passes() {
    let said = example("noise", &[]).code(0).out;
    assert!(
        said.contains("1000 passengers are told as ") && said.contains("of 1,000 empty paths"),
        "{said}"
    );
}

#[test]
fn an_engine_drafts_a_made_up_day() {
    let said = example("engine", &[]).code(0).out;
    assert!(said.contains("synthetic cards") && said.contains("4 taps: "), "{said}");
}

#[test]
fn verify_tells_good_from_bad() {
    let dir = data("release/v2/lk").display().to_string();
    let said = example("verify", &[&dir]).code(0).out;
    assert!(said.contains("0 problems"), "{said}");
    example("verify", &["/nowhere"]).code(2);
}

#[test]
fn the_bill_of_materials_lists_every_package_of_the_lock_file() {
    let said = example("sbom", &[]).code(0).json();
    assert_eq!(said["bomFormat"], "CycloneDX");
    let components = said["components"].as_array().unwrap();
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
    let locked = lock.matches("[[package]]").count();
    // The package itself is the subject, not a component.
    assert_eq!(components.len() + 1, locked);
    let bincode = components.iter().find(|one| one["name"] == "bincode").unwrap();
    assert_eq!(
        (bincode["version"].as_str(), bincode["purl"].as_str()),
        (Some("2.0.1"), Some("pkg:cargo/bincode@2.0.1"))
    );
    assert!(
        bincode["licenses"][0]["expression"]
            .as_str()
            .is_some_and(|licence| licence.contains("MIT"))
    );
}
