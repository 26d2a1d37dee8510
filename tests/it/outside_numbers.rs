//! The rule about numbers from outside, held to the files that `.github/CONTRIBUTING.md` lists.

use std::fs;
use std::path::Path;

#[test]
fn readers_of_outside_numbers_deny_plain_arithmetic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(".github/CONTRIBUTING.md")).unwrap();
    let (_, rule) = text.split_once("- Numbers that come from outside").unwrap();
    let rule = rule.split_once("\n- ").unwrap().0;
    let listed: Vec<&str> = rule.split('`').filter(|part| part.ends_with(".rs")).collect();
    for must in ["segment.rs", "metadata.rs", "journal.rs", "record.rs", "read.rs", "verify/mod.rs"]
    {
        assert!(
            listed.iter().any(|file| file.ends_with(must)),
            "{must} reads numbers from outside"
        );
    }
    for file in listed {
        let text = fs::read_to_string(root.join("src").join(file)).unwrap();
        let top: Vec<&str> = text.lines().take_while(|line| !line.starts_with("use ")).collect();
        assert!(
            top.iter().any(|line| line.contains("deny(clippy::arithmetic_side_effects")),
            "{file} does not deny plain arithmetic"
        );
    }
}
