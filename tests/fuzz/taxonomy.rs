//! Taxonomies that somebody wrote: tables and outlines.

use tapveil::model::{OwnTaxonomy, Taxonomy};

use crate::driver::{corpus, fuzz};

#[test]
fn a_taxonomy_has_every_leaf_once_and_says_the_same_as_a_table_or_is_refused() {
    let leaves = ["a", "b", "c", "d", "e"].map(str::to_owned);
    fuzz("taxonomy", &corpus("taxonomy"), |input| {
        let own = OwnTaxonomy::read(&String::from_utf8_lossy(&input.bytes));
        let Ok(ways) = own.ways("station", &leaves) else { return };
        assert_eq!(ways.len(), leaves.len());
        for (leaf, way) in leaves.iter().zip(&ways) {
            assert!(way.len() <= OwnTaxonomy::DEEPEST, "{way:?}");
            assert!(!way.contains(leaf), "{leaf} is above itself: {way:?}");
        }
        assert_eq!(Taxonomy::grouped(&ways).unwrap().n_leaves(), 5);
        let again = OwnTaxonomy::read(&table(&leaves, &ways));
        assert_eq!(again.ways("station", &leaves).unwrap(), ways);
        assert_eq!(again.digest(), own.digest());
    });
}

/// What the ways down say, as a table.
fn table(leaves: &[String], ways: &[Vec<String>]) -> String {
    let mut rows: Vec<[&str; 2]> = Vec::new();
    for (leaf, way) in leaves.iter().zip(ways) {
        let mut above = "";
        for id in way.iter().chain([leaf]) {
            if !rows.iter().any(|[known, _]| known == id) {
                rows.push([id, above]);
            }
            above = id;
        }
    }
    let mut written = csv::Writer::from_writer(Vec::new());
    written.write_record(["id", "parent"]).unwrap();
    rows.iter().for_each(|row| written.write_record(row).unwrap());
    String::from_utf8(written.into_inner().unwrap()).unwrap()
}
