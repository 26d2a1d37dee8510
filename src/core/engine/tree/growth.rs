//! How fast a tree of pure noise grows: a property of the configuration. Floats, for words only.

use super::Universe;
use crate::model::{Child, NodeIx, Taxonomy};

/// Cells per empty parent that noise alone lets through one sub-level.
pub fn false_children(universe: Universe<'_>) -> f64 {
    below(universe, Taxonomy::ROOT)
}

fn below(universe: Universe<'_>, node: NodeIx) -> f64 {
    let Universe { taxonomy, classes, width, .. } = universe;
    let depth = taxonomy.depth(node) as usize;
    let leaf = || f64::from(width) * classes.leaf[depth].empty_passes();
    let n_children = taxonomy.n_children(node);
    let one_kind = !taxonomy.is_mixed(node);
    if one_kind && matches!(taxonomy.child(node, 0), Child::Leaf(_)) {
        return f64::from(n_children) * leaf();
    }
    (0..n_children)
        .map(|number| match taxonomy.child(node, number) {
            Child::Leaf(_) => leaf(),
            Child::General(child) => classes.general[depth].empty_passes() * below(universe, child),
        })
        .sum()
}

/// Nodes of a tree of pure noise with this many levels.
pub fn expected_nodes(false_children: f64, height: u32) -> f64 {
    (1..=height).map(|level| false_children.powf(f64::from(level))).sum()
}
