//! The least squares of the paper's section IV-E (Hay et al. 2010) for any fan-out, in fixed point.
//!
//! Upwards, a node's own noisy count and the sum of its children are averaged by the inverse of their variances. For an
//! even tree of fan-out k and height l this is (k^l − k^(l−1))/(k^l − 1) and (k^(l−1) − 1)/(k^l − 1): the paper prints
//! a plus in the first numerator, with which the weights do not sum to one. Downwards, Eq. 10.

use crate::engine::tree::Node;

/// Digits behind the point, in bits.
const POINT: u32 = 20;
const ONE: i128 = 1 << POINT;

/// What the sum of a node's children says about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sum {
    /// It is the node's count: every child is there. The paper's case.
    Whole,
    /// It is at most the node's count: children below a threshold were dropped, and trips end.
    AtMost,
}

/// Levels with better counts. A node of an even level (the second, the fourth …) is a copy of its parent's count and
/// says nothing of its own.
pub(super) fn fitted(levels: &[Vec<Node>], sum: Sum) -> Vec<Vec<Node>> {
    let mut values: Vec<Vec<(i128, i128)>> = levels
        .iter()
        .map(|nodes| nodes.iter().map(|node| (i128::from(node.noisy) << POINT, ONE)).collect())
        .collect();
    for depth in (0..levels.len().saturating_sub(1)).rev() {
        let mut below = vec![(0, 0, 0_u32); levels[depth].len()];
        for (node, value) in levels[depth + 1].iter().zip(&values[depth + 1]) {
            let of = &mut below[node.parent as usize];
            *of = (of.0 + value.0, of.1 + value.1, of.2 + 1);
        }
        for (value, (children, variance, n)) in values[depth].iter_mut().zip(below) {
            if n > 0 && (sum == Sum::Whole || children > value.0) {
                *value = averaged(*value, (children, variance));
            }
        }
    }
    downwards(levels, &mut values, sum);
    let written = |(node, value): (&Node, &(i128, i128))| {
        let rounded = (value.0.max(0) + ONE / 2) >> POINT;
        Node { noisy: u64::try_from(rounded).unwrap_or(u64::MAX), ..*node }
    };
    levels
        .iter()
        .zip(&values)
        .map(|(nodes, values)| nodes.iter().zip(values).map(written).collect())
        .collect()
}

/// Two estimates of one number with their variances, by the inverse of these.
fn averaged(own: (i128, i128), other: (i128, i128)) -> (i128, i128) {
    let both = own.1 + other.1;
    let value = own.0 + (other.0 - own.0) / both * own.1 + (other.0 - own.0) % both * own.1 / both;
    (value, own.1 * other.1 / both)
}

/// Eq. 10: what a parent has more or less than its children is theirs in equal parts.
fn downwards(levels: &[Vec<Node>], values: &mut [Vec<(i128, i128)>], sum: Sum) {
    for depth in 1..levels.len() {
        let mut below = vec![(0_i128, 0_i128); levels[depth - 1].len()];
        for (node, value) in levels[depth].iter().zip(&values[depth]) {
            let of = &mut below[node.parent as usize];
            *of = (of.0 + value.0, of.1 + 1);
        }
        for (at, node) in levels[depth].iter().enumerate() {
            let (children, n) = below[node.parent as usize];
            let more = values[depth - 1][node.parent as usize].0 - children;
            if sum == Sum::Whole || more < 0 {
                values[depth][at].0 += more / n;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Doublet, StationIx};

    fn level(counts: &[(u32, u64)]) -> Vec<Node> {
        let doublet = |at: u32| Doublet { station: StationIx(at), slot: 0 };
        (0..)
            .zip(counts)
            .map(|(at, &(parent, noisy))| Node { parent, doublet: doublet(at), noisy, group: None })
            .collect()
    }

    fn counts(levels: &[Vec<Node>]) -> Vec<Vec<u64>> {
        levels.iter().map(|nodes| nodes.iter().map(|node| node.noisy).collect()).collect()
    }

    /// k = 2, l = 2: the weights are 2/3 and 1/3; with the printed plus they would sum to 7/3.
    #[test]
    fn an_even_tree_gets_the_weights_of_equation_9_with_a_minus() {
        let tree = [level(&[(0, 30)]), level(&[(0, 30), (0, 30)])];
        // (2·30 + 1·60)/3 = 40, and each child 30 + (40 − 60)/2.
        assert_eq!(counts(&fitted(&tree, Sum::Whole)), [vec![40], vec![20, 20]]);
    }

    #[test]
    fn children_that_sum_to_less_say_nothing_where_some_were_dropped() {
        let tree = [level(&[(0, 30)]), level(&[(0, 10), (0, 5)])];
        assert_eq!(counts(&fitted(&tree, Sum::AtMost)), [vec![30], vec![10, 5]]);
        let more = [level(&[(0, 30)]), level(&[(0, 30), (0, 30)])];
        assert_eq!(counts(&fitted(&more, Sum::AtMost)), [vec![40], vec![20, 20]]);
        assert!(fitted(&[], Sum::Whole).is_empty());
    }

    #[test]
    fn uneven_nodes_are_weighed_by_how_many_are_below() {
        // One child: its sum is as good as the node's own count.
        let tree = [level(&[(0, 10)]), level(&[(0, 20)])];
        assert_eq!(counts(&fitted(&tree, Sum::Whole)), [vec![15], vec![15]]);
    }
}
