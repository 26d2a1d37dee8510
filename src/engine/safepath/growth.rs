//! How fast a tree of pure noise grows: a property of the configuration. Floats, for words only.

use crate::engine::tree::Classes;
use crate::model::{Child, NodeIx, Taxonomy};

/// Leaves per empty parent that noise alone lets through one sub-level.
pub fn false_children(taxonomy: &Taxonomy, classes: &Classes) -> f64 {
    below(taxonomy, classes, Taxonomy::ROOT)
}

fn below(taxonomy: &Taxonomy, classes: &Classes, node: NodeIx) -> f64 {
    let depth = taxonomy.depth(node) as usize;
    let leaf = || classes.leaf[depth].empty_passes();
    let n_children = taxonomy.n_children(node);
    let one_kind = !taxonomy.is_mixed(node);
    if one_kind && matches!(taxonomy.child(node, 0), Child::Leaf(_)) {
        return f64::from(n_children) * leaf();
    }
    (0..n_children)
        .map(|number| match taxonomy.child(node, number) {
            Child::Leaf(_) => leaf(),
            Child::General(child) => {
                classes.general[depth].empty_passes() * below(taxonomy, classes, child)
            }
        })
        .sum()
}

/// Nodes of a tree of pure noise with this many levels.
pub fn expected_nodes(false_children: f64, height: u32) -> f64 {
    (1..=height).map(|level| false_children.powf(f64::from(level))).sum()
}
