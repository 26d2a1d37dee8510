//! Taxonomies: public trees over a universe of places or slots, even or uneven.
//!
//! A taxonomy has one root of depth 0 that stands for the whole universe and is never counted. Below it
//! are general nodes of depth 1, 2, … and the leaves. Leaves are numbered by *rank*: every node covers a
//! stretch of ranks, so "how many of these lie under that node" is a question about a sorted list.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use super::Digest;

/// A general node's number inside its taxonomy; 0 is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIx(u32);

/// One child of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Child {
    /// A group that is split further.
    General(NodeIx),
    /// One element of the universe, by rank.
    Leaf(u32),
}

/// Why a taxonomy cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TaxonomyError {
    /// Nothing to put in it.
    #[error("a taxonomy needs at least one leaf")]
    Empty,
    /// A group that splits into one group is no split.
    #[error("a taxonomy's fanout must be at least 2")]
    Fanout,
}

#[derive(Clone, Debug)]
struct Node {
    /// For people; empty where groups have none.
    name: String,
    depth: u32,
    ranks: Range<u32>,
    /// `None`: every rank is a leaf right below. Spares a list of a hundred thousand leaves.
    children: Option<Vec<Child>>,
}

/// A tree over `0..n_leaves`.
#[derive(Clone, Debug)]
pub struct Taxonomy {
    nodes: Vec<Node>,
    /// Which element stands at a rank, and the way back; `None`: each stands at its own number.
    order: Option<(Vec<u32>, Vec<u32>)>,
}

impl Taxonomy {
    /// The root of every taxonomy.
    pub const ROOT: NodeIx = NodeIx(0);

    /// No general nodes: every leaf hangs from the root.
    pub fn flat(n_leaves: u32) -> Result<Self, TaxonomyError> {
        if n_leaves == 0 {
            return Err(TaxonomyError::Empty);
        }
        let root = Node { name: String::new(), depth: 0, ranks: 0..n_leaves, children: None };
        Ok(Self { nodes: vec![root], order: None })
    }

    /// Splits into `fanout` groups of nearly equal size, `height` times; a group of one is a leaf.
    pub fn balanced(n_leaves: u32, fanout: u32, height: u32) -> Result<Self, TaxonomyError> {
        let mut taxonomy = Self::flat(n_leaves)?;
        if fanout < 2 {
            return Err(TaxonomyError::Fanout);
        }
        let mut next = 0;
        while next < taxonomy.nodes.len() {
            let Node { depth, ranks, .. } = taxonomy.nodes[next].clone();
            // Groups of one are leaves, so a node whose parts would all be single keeps its leaves as they are.
            if depth < height && u32::try_from(ranks.len()).is_ok_and(|n| n > fanout) {
                let children = taxonomy.split(depth, &ranks, fanout);
                taxonomy.nodes[next].children = Some(children);
            }
            next += 1;
        }
        Ok(taxonomy)
    }

    fn split(&mut self, depth: u32, ranks: &Range<u32>, fanout: u32) -> Vec<Child> {
        let (n, parts) = (u64::from(ranks.end - ranks.start), u64::from(fanout));
        let cut = |part: u64| ranks.start + u32::try_from(n * part / parts).expect("at most n");
        (0..parts)
            .map(|part| (cut(part), cut(part + 1)))
            .map(|(from, to)| match to - from {
                1 => Child::Leaf(from),
                _ => Child::General(self.push(String::new(), depth + 1, from..to)),
            })
            .collect()
    }

    /// Groups leaves by the names on their way down, outermost first. A leaf with an empty way hangs from
    /// the root; ways of different lengths make an uneven tree. Groups stand in the order of their names.
    pub fn grouped(ways: &[Vec<String>]) -> Result<Self, TaxonomyError> {
        let n_leaves = u32::try_from(ways.len()).map_err(|_| TaxonomyError::Empty)?;
        let mut elements: Vec<u32> = (0..n_leaves).collect();
        elements.sort_by(|&one, &other| in_order(&ways[one as usize], &ways[other as usize]));
        let way = |rank: u32| ways[elements[rank as usize] as usize].as_slice();
        let mut taxonomy = Self::flat(n_leaves)?;
        taxonomy.nest(Self::ROOT, &way);
        Ok(taxonomy.ordered_as(elements))
    }

    /// The same for leaves that keep their order: each rank is its own leaf, as slots must be. Groups whose leaves do
    /// not follow each other are complaints.
    pub fn nested(ways: &[Vec<String>]) -> Result<Self, Vec<String>> {
        let is_torn =
            |name: &String| format!("{name:?} is torn: its leaves do not follow each other");
        let torn: Vec<String> = torn(ways).iter().map(is_torn).collect();
        if !torn.is_empty() {
            return Err(torn);
        }
        let mut taxonomy = Self::flat(u32::try_from(ways.len()).unwrap_or(0))
            .map_err(|error| vec![error.to_string()])?;
        taxonomy.nest(Self::ROOT, &|rank| ways[rank as usize].as_slice());
        Ok(taxonomy)
    }

    /// Splits a node into the runs of ranks whose ways go on with the same name; a rank whose way ends here is a leaf.
    fn nest<'a>(&mut self, at: NodeIx, way: &impl Fn(u32) -> &'a [String]) {
        let Node { depth, ranks, .. } = self.nodes[at.0 as usize].clone();
        let name = |rank: u32| way(rank).get(depth as usize);
        let mut children = Vec::new();
        let mut from = ranks.start;
        while from < ranks.end {
            let Some(group) = name(from) else {
                children.push(Child::Leaf(from));
                from += 1;
                continue;
            };
            let to = (from..ranks.end).find(|&rank| name(rank) != Some(group));
            let to = to.unwrap_or(ranks.end);
            let child = self.push(group.clone(), depth + 1, from..to);
            self.nest(child, way);
            children.push(Child::General(child));
            from = to;
        }
        let all_leaves = children.iter().all(|child| matches!(child, Child::Leaf(_)));
        self.nodes[at.0 as usize].children = (!all_leaves).then_some(children);
    }

    /// Puts other elements at the ranks: `elements[rank]`. For a taxonomy whose ranks are not yet named.
    pub fn ordered_as(mut self, elements: Vec<u32>) -> Self {
        assert!(self.order.is_none(), "a taxonomy is ordered once");
        assert_eq!(elements.len(), self.n_leaves() as usize, "one element for every rank");
        let mut ranks = vec![0; elements.len()];
        for (rank, &element) in (0..).zip(&elements) {
            ranks[element as usize] = rank;
        }
        self.order = Some((elements, ranks));
        self
    }

    fn push(&mut self, name: String, depth: u32, ranks: Range<u32>) -> NodeIx {
        let ix = u32::try_from(self.nodes.len()).expect("fewer nodes than leaves times height");
        self.nodes.push(Node { name, depth, ranks, children: None });
        NodeIx(ix)
    }

    /// The size of the universe.
    pub fn n_leaves(&self) -> u32 {
        self.nodes[0].ranks.end
    }

    /// The depth of the deepest general node; 0 when flat.
    pub fn height(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth).max().unwrap_or(0)
    }

    /// A group's name, for people; empty where groups have none.
    pub fn name(&self, node: NodeIx) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// A node's depth.
    pub fn depth(&self, node: NodeIx) -> u32 {
        self.nodes[node.0 as usize].depth
    }

    /// The ranks a node covers.
    pub fn ranks(&self, node: NodeIx) -> Range<u32> {
        self.nodes[node.0 as usize].ranks.clone()
    }

    /// How many children a node has.
    pub fn n_children(&self, node: NodeIx) -> u32 {
        let node = &self.nodes[node.0 as usize];
        match &node.children {
            None => node.ranks.end - node.ranks.start,
            Some(children) => u32::try_from(children.len()).expect("at most as many as leaves"),
        }
    }

    /// Whether a node has both groups and leaves right below it.
    pub fn is_mixed(&self, node: NodeIx) -> bool {
        self.nodes[node.0 as usize].children.as_ref().is_some_and(|children| {
            let is_leaf = |child: &Child| matches!(child, Child::Leaf(_));
            children.iter().any(is_leaf) && !children.iter().all(is_leaf)
        })
    }

    /// The child with this number, in rank order.
    pub fn child(&self, node: NodeIx, number: u32) -> Child {
        let node = &self.nodes[node.0 as usize];
        match &node.children {
            None => Child::Leaf(node.ranks.start + number),
            Some(children) => children[number as usize].clone(),
        }
    }

    /// The ranks a child covers.
    pub fn child_ranks(&self, child: &Child) -> Range<u32> {
        match child {
            Child::General(node) => self.ranks(*node),
            Child::Leaf(rank) => *rank..rank + 1,
        }
    }

    /// The number of the child that covers a rank under this node.
    pub fn child_over(&self, node: NodeIx, rank: u32) -> u32 {
        let node = &self.nodes[node.0 as usize];
        assert!(node.ranks.contains(&rank), "the rank lies under the node");
        match &node.children {
            None => rank - node.ranks.start,
            Some(children) => {
                let past = children.partition_point(|c| self.child_ranks(c).start <= rank);
                u32::try_from(past - 1).expect("the first child starts at the node's first rank")
            }
        }
    }

    /// All general nodes with the root.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIx> + use<> {
        (0..u32::try_from(self.nodes.len()).expect("fits")).map(NodeIx)
    }

    /// The element at a rank.
    pub fn element(&self, rank: u32) -> u32 {
        self.order.as_ref().map_or(rank, |(elements, _)| elements[rank as usize])
    }

    /// The rank of an element.
    pub fn rank(&self, element: u32) -> u32 {
        self.order.as_ref().map_or(element, |(_, ranks)| ranks[element as usize])
    }

    /// A digest of the whole shape and order.
    pub fn digest(&self) -> Digest {
        let mut text = format!("leaves {}\n", self.n_leaves());
        for node in &self.nodes {
            text.push_str(&format!("{} {:?}\n", node.depth, node.ranks));
        }
        for rank in 0..self.n_leaves() {
            text.push_str(&format!("{} ", self.element(rank)));
        }
        Digest::of(text.as_bytes())
    }
}

/// Groups by name, then leaves without a further group.
fn in_order(one: &[String], other: &[String]) -> Ordering {
    let differs = one.iter().zip(other).map(|(a, b)| a.cmp(b)).find(|order| order.is_ne());
    differs.unwrap_or(other.len().cmp(&one.len()))
}

/// Groups that end and begin again. Two groups of one name below different parents are two.
fn torn(ways: &[Vec<String>]) -> Vec<String> {
    let mut closed: BTreeSet<&[String]> = BTreeSet::new();
    let mut torn = BTreeSet::new();
    let mut before: &[String] = &[];
    for way in ways {
        let common = before.iter().zip(way).take_while(|(a, b)| a == b).count();
        closed.extend((common..before.len()).map(|end| &before[..=end]));
        let opened = (common..way.len()).map(|end| &way[..=end]);
        torn.extend(opened.filter(|group| closed.contains(group)).filter_map(<[String]>::last));
        before = way;
    }
    torn.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Walks the whole tree and checks that children tile their parent and every rank is one leaf.
    fn check(taxonomy: &Taxonomy) {
        let mut leaves = vec![0; taxonomy.n_leaves() as usize];
        for node in taxonomy.nodes() {
            let mut next = taxonomy.ranks(node).start;
            for number in 0..taxonomy.n_children(node) {
                let child = taxonomy.child(node, number);
                let ranks = taxonomy.child_ranks(&child);
                assert_eq!(ranks.start, next, "children stand side by side");
                assert!(ranks.start < ranks.end, "no child is empty");
                for rank in ranks.clone() {
                    assert_eq!(taxonomy.child_over(node, rank), number);
                }
                match child {
                    Child::General(below) => {
                        assert_eq!(taxonomy.depth(below), taxonomy.depth(node) + 1);
                    }
                    Child::Leaf(rank) => leaves[rank as usize] += 1,
                }
                next = ranks.end;
            }
            assert_eq!(next, taxonomy.ranks(node).end, "children cover their parent");
        }
        assert!(leaves.iter().all(|&n| n == 1), "every rank is a leaf once");
        for rank in 0..taxonomy.n_leaves() {
            assert_eq!(taxonomy.rank(taxonomy.element(rank)), rank);
        }
    }

    proptest! {
        #[test]
        fn balanced_trees_tile_their_universe(n in 1_u32..300, fanout in 2_u32..8, height in 0_u32..7) {
            let taxonomy = Taxonomy::balanced(n, fanout, height).unwrap();
            check(&taxonomy);
            prop_assert!(taxonomy.height() <= height);
        }

        #[test]
        fn grouped_trees_tile_their_universe(
            ways in prop::collection::vec(prop::collection::vec("[abc]", 0..4), 1..40),
        ) {
            check(&Taxonomy::grouped(&ways).unwrap());
            let mut in_order = ways;
            in_order.sort();
            check(&Taxonomy::nested(&in_order).unwrap());
        }
    }

    #[test]
    fn sixty_eight_stations_halved_three_times_make_eight_groups() {
        let taxonomy = Taxonomy::balanced(68, 2, 3).unwrap();
        let deepest = taxonomy.nodes().filter(|&node| taxonomy.depth(node) == 3).count();
        assert_eq!((taxonomy.height(), deepest), (3, 8));
    }

    #[test]
    fn a_station_without_a_line_hangs_from_the_root() {
        let ways =
            [vec!["red".to_owned()], vec![], vec!["blue".to_owned()], vec!["red".to_owned()]];
        let taxonomy = Taxonomy::grouped(&ways).unwrap();
        let order: Vec<u32> = (0..4).map(|rank| taxonomy.element(rank)).collect();
        assert_eq!(order, [2, 0, 3, 1]);
        assert_eq!(taxonomy.child(Taxonomy::ROOT, 2), Child::Leaf(3));
    }

    #[test]
    fn leaves_that_keep_their_order_are_nested_in_stretches_and_torn_groups_are_named() {
        let ways = |text: &str| -> Vec<Vec<String>> {
            let way = |way: &str| -> Vec<String> {
                way.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
            };
            text.split(' ').map(way).collect()
        };
        let taxonomy = Taxonomy::nested(&ways("night / day/am day/am day day/pm night2")).unwrap();
        check(&taxonomy);
        assert!((0..7).all(|rank| taxonomy.element(rank) == rank));
        let names: Vec<&str> = taxonomy.nodes().map(|node| taxonomy.name(node)).collect();
        assert_eq!(names, ["", "night", "day", "am", "pm", "night2"]);
        assert_eq!(taxonomy.child(Taxonomy::ROOT, 1), Child::Leaf(1), "a leaf among groups");
        let torn = Taxonomy::nested(&ways("a b a/x b a/x")).unwrap_err();
        let named: Vec<&str> = torn.iter().map(|what| &what[..3]).collect();
        assert_eq!(named, ["\"a\"", "\"b\"", "\"x\""]);
        assert_eq!(Taxonomy::nested(&[]).unwrap_err(), ["a taxonomy needs at least one leaf"]);
    }

    #[test]
    fn nothing_and_a_fanout_of_one_are_refused() {
        assert_eq!(Taxonomy::flat(0).unwrap_err(), TaxonomyError::Empty);
        assert_eq!(Taxonomy::balanced(8, 1, 2).unwrap_err(), TaxonomyError::Fanout);
    }
}
