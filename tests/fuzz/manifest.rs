//! Manifests and tables of a release, as `verify` reads them.

use std::fs;

use tapveil::publish::verify::verify;

use crate::driver::{folder, fuzz, root};

/// The golden releases are the corpus.
#[test]
fn a_release_that_was_changed_is_a_problem() {
    let golden = root().join("tests/data/release/v2");
    let mut corpus = Vec::new();
    let out = tempfile::tempdir().unwrap();
    for engine in ["weave", "lk", "sequences", "projection"] {
        let windows = fs::read_dir(golden.join(engine)).unwrap().map(|entry| entry.unwrap().path());
        let window = windows.into_iter().find(|path| path.is_dir()).unwrap();
        let place = out.path().join(engine).join(window.file_name().unwrap());
        fs::create_dir_all(&place).unwrap();
        for (name, bytes) in folder(&window) {
            fs::write(place.join(&name), &bytes).unwrap();
            let path = format!("{engine}/{}/{name}", window.file_name().unwrap().to_str().unwrap());
            corpus.push((path, bytes));
        }
    }
    fuzz("manifest", &corpus, |input| {
        let path = out.path().join(input.name);
        fs::write(&path, &input.bytes).unwrap();
        let release = out.path().join(input.name.split('/').next().unwrap());
        let is_sound = verify(&release).is_ok_and(|verified| verified.is_sound());
        fs::write(&path, input.whole).unwrap();
        let is_true = input.bytes == input.whole;
        // Pages for people are not what a release says.
        let is_page = input.name.ends_with(".html") || input.name.ends_with(".md");
        assert!(!is_true || is_sound, "{}: the true one is good", input.name);
        assert!(is_true || is_page || !is_sound, "{} was changed and is called good", input.name);
    });
}
