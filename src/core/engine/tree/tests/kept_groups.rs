//! Groups that stay in the inference.

use super::*;
use crate::engine::Row;

proptest! {
    /// Groups of every second level: the same as a tree in which they are nodes like any other. What the subtrees of a
    /// level have is the sum of their rows, there and here.
    #[test]
    fn groups_that_are_kept_are_fitted_like_nodes_between_levels(levels in random_levels()) {
        let mut tree = Tree::default();
        for pair in levels.chunks(2) {
            let kept = |g: &Node| KeptGroup { parent: g.parent, above: None, noisy: g.noisy };
            tree.groups.push(pair[0].iter().map(kept).collect());
            let nodes = pair.get(1).map_or(&[][..], Vec::as_slice);
            let node = |node: &Node| {
                let group = node.parent as usize;
                Node { parent: pair[0][group].parent, group: Some(GroupIx::new(group)), ..*node }
            };
            tree.levels.push(nodes.iter().map(node).collect());
        }
        let below = |rows: Vec<Row>, each: usize| {
            let mut below: BTreeMap<usize, u64> = BTreeMap::new();
            for row in rows {
                for level in 1..=row.path.len() / each {
                    *below.entry(level).or_default() += row.count;
                }
            }
            below
        };
        let found = below(tree.rows(Consistency::TwoPhaseWithGroups), 1);
        prop_assert_eq!(found, below(rows(&levels, Consistency::TwoPhase), 2));
    }

    #[test]
    fn a_tree_without_groups_is_the_same_under_both_inferences(levels in random_levels()) {
        let without = rows(&levels, Consistency::TwoPhase);
        let tree = Tree { groups: vec![Vec::new(); levels.len()], levels };
        prop_assert_eq!(tree.rows(Consistency::TwoPhaseWithGroups), without);
    }
}

/// A group of 10 above stations of 14 and 4: the first path is pooled to 12, the second stays, so the group's mean is
/// 11; 12 and 4 under 11 are 9.5 and 1.5. Without the group both stations stay as they are.
#[test]
fn a_group_that_is_kept_lowers_its_stations() {
    let node = |station, noisy| Node {
        parent: 0,
        doublet: Doublet { station: StationIx(station), slot: 0 },
        noisy,
        group: Some(GroupIx::new(0)),
    };
    let kept = |noisy| KeptGroup { parent: 0, above: None, noisy };
    let tree =
        Tree { levels: vec![vec![node(0, 14), node(1, 4)]], groups: vec![vec![kept(10), kept(7)]] };
    let counts =
        |consistency| tree.rows(consistency).iter().map(|row| row.count).collect::<Vec<_>>();
    assert_eq!(counts(Consistency::TwoPhaseWithGroups), [10, 1]);
    assert_eq!(counts(Consistency::TwoPhase), [14, 4]);
}
