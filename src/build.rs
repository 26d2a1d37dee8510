//! Tells the program which commit it was built from.

use std::path::Path;
use std::process::Command;

fn main() {
    for path in [".git/HEAD", ".git/refs/heads", "src/build.rs"] {
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // A source archive has no repository: the program then says "unknown" instead of guessing.
    let commit = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    println!("cargo::rustc-env=TAPVEIL_COMMIT={commit}");
}
