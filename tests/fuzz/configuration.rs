//! Configurations.

use std::fs;

use tapveil::config;
use tapveil::engine::Registry;

use crate::driver::{corpus, fuzz, root};

#[test]
fn a_configuration_is_read_or_complained_about() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tapveil.toml");
    let mut corpus = corpus("configuration");
    corpus.push(("default.toml".to_owned(), fs::read(root().join("config/default.toml")).unwrap()));
    fuzz("configuration", &corpus, |input| {
        fs::write(&path, &input.bytes).unwrap();
        let loaded = config::load_with(&path, &Registry::standard());
        assert!(loaded.is_err(), "a configuration without its files cannot be loaded");
    });
}
