use proptest::prelude::*;

use super::*;
use crate::engine::Engine;
use crate::engine::tree::Threshold;
use crate::engine::tree::fixture::{Path, brute_force, params, sealed, silent_rows};

proptest! {
    #[test]
    fn without_noise_seqpt_equals_brute_force(
        paths in prop::collection::vec(prop::collection::vec((0_u32..6, 0_u32..24), 1..5), 0..60),
        threshold in 1_u64..4,
    ) {
        let paths: Vec<Path> = paths.into_iter().map(|mut path| { path.sort_by_key(|p| p.1); path }).collect();
        let params = TreeParams { threshold: Threshold::Fixed(threshold), ..params(6) };
        let engine = SeqPt::new(params).unwrap();
        prop_assert_eq!(silent_rows(&engine, &sealed(&paths)), brute_force(&paths, threshold, 4));
    }
}

/// The design's figure: 20 × 24 doublets let about 14 through below every empty node.
#[test]
fn growth_of_seqpt_is_as_computed_by_hand() {
    let growth = SeqPt::new(params(20))
        .unwrap()
        .forecast(24, crate::engine::USUAL_CARDS)
        .expected_error
        .unwrap()
        .get("false_paths_per_empty_path")
        .unwrap();
    assert!((13.0..15.0).contains(&growth), "{growth}");
}
