//! A bill of materials (CycloneDX 1.5) of this program, from what `cargo` knows of the lock file.
//!
//! `cargo run --example sbom > sbom.json`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::process::Command;

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--locked",
            "--all-features",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo lists packages")?;
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        packages.iter().partition(|package| package["name"] == env!("CARGO_PKG_NAME"));
    let components: Vec<Value> = others.into_iter().map(component).collect();
    let subject = own.first().map(|package| component(package));
    println!(
        "{:#}",
        json!({
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": { "component": subject }, "components": components,
        })
    );
    Ok(())
}

fn component(package: &Value) -> Value {
    let text = |member: &str| package[member].as_str().unwrap_or_default().to_owned();
    let purl = format!("pkg:cargo/{}@{}", text("name"), text("version"));
    let mut component = json!({
        "type": "library", "bom-ref": purl, "name": text("name"), "version": text("version"), "purl": purl,
    });
    if let Some(licence) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    component
}
