//! A taxonomy for people: its groups and leaves by name, as structure or as a drawing.

use serde::Serialize;

use super::{Child, NodeIx, Taxonomy};

/// One taxonomy with the names of its groups and leaves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Outline {
    /// The configuration key that it comes from.
    pub key: &'static str,
    /// Groups above one another.
    pub height: u32,
    /// How many groups there are.
    pub groups: usize,
    /// How many leaves there are.
    pub leaves: u32,
    /// What hangs from the root.
    pub below: Vec<Branch>,
}

/// A group with what is below it, or a leaf.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Branch {
    /// A group; its name is empty where groups have none.
    Group {
        /// Its name.
        group: String,
        /// How many leaves it has, however deep.
        leaves: usize,
        /// What is below it.
        below: Vec<Branch>,
    },
    /// A leaf by its name.
    Leaf(String),
}

impl Outline {
    /// A taxonomy whose leaves have these names.
    pub fn new(key: &'static str, taxonomy: &Taxonomy, leaf: &dyn Fn(u32) -> String) -> Self {
        Self {
            key,
            height: taxonomy.height(),
            groups: taxonomy.nodes().count() - 1,
            leaves: taxonomy.n_leaves(),
            below: below(taxonomy, Taxonomy::ROOT, leaf),
        }
    }

    /// A drawing of at most so many lines.
    pub fn drawing(&self, most: usize) -> Vec<String> {
        let mut lines = Vec::new();
        draw(&self.below, "", &mut lines);
        if lines.len() > most {
            let more = lines.len() - most;
            lines.truncate(most);
            lines.push(format!("… {more} more lines; --json has everything"));
        }
        lines
    }
}

fn below(taxonomy: &Taxonomy, node: NodeIx, leaf: &dyn Fn(u32) -> String) -> Vec<Branch> {
    let branch = |number| match taxonomy.child(node, number) {
        Child::Leaf(rank) => Branch::Leaf(leaf(taxonomy.element(rank))),
        Child::General(group) => Branch::Group {
            group: taxonomy.name(group).to_owned(),
            leaves: taxonomy.ranks(group).len(),
            below: below(taxonomy, group, leaf),
        },
    };
    (0..taxonomy.n_children(node)).map(branch).collect()
}

/// Groups one below the other; leaves that stand side by side share a line.
fn draw(branches: &[Branch], indent: &str, lines: &mut Vec<String>) {
    let is_group = |branch: &Branch| matches!(branch, Branch::Group { .. });
    let runs: Vec<&[Branch]> = branches.chunk_by(|a, b| !is_group(a) && !is_group(b)).collect();
    for (at, run) in runs.iter().enumerate() {
        let (fork, bar) =
            if at + 1 == runs.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let Branch::Group { group, leaves, below } = &run[0] else {
            lines.push(format!("{indent}{fork}{}", named(run)));
            continue;
        };
        let group = if group.is_empty() { "group" } else { group };
        if below.iter().any(is_group) {
            lines.push(format!("{indent}{fork}{group} ({leaves})"));
            draw(below, &format!("{indent}{bar}"), lines);
        } else {
            lines.push(format!("{indent}{fork}{group} ({leaves}): {}", named(below)));
        }
    }
}

/// The first few leaves by name.
fn named(leaves: &[Branch]) -> String {
    const SHOWN: usize = 6;
    let name = |branch: &Branch| match branch {
        Branch::Leaf(name) => name.clone(),
        Branch::Group { group, .. } => group.clone(),
    };
    let mut names: Vec<String> = leaves.iter().take(SHOWN).map(name).collect();
    if leaves.len() > SHOWN {
        names.push(format!("… {} more", leaves.len() - SHOWN));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_shows_every_group_below_its_parent_and_has_an_end() {
        let ways: Vec<Vec<String>> = ["north/hill", "north/hill", "north", "", "south", ""]
            .iter()
            .map(|way| way.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect())
            .collect();
        let taxonomy = Taxonomy::grouped(&ways).unwrap();
        let outline = Outline::new("taxonomy.locations", &taxonomy, &|leaf| format!("s{leaf}"));
        assert_eq!(
            outline.drawing(9),
            ["├─ north (3)", "│  ├─ hill (2): s0, s1", "│  └─ s2", "├─ south (1): s4", "└─ s3, s5"]
        );
        assert_eq!(outline.drawing(1)[1], "… 4 more lines; --json has everything");
        assert_eq!(
            serde_json::to_value(&outline).unwrap(),
            serde_json::json!({
                "key": "taxonomy.locations", "height": 2, "groups": 3, "leaves": 6,
                "below": [
                    { "group": "north", "leaves": 3, "below": [
                        { "group": "hill", "leaves": 2, "below": ["s0", "s1"] }, "s2",
                    ] },
                    { "group": "south", "leaves": 1, "below": ["s4"] }, "s3", "s5",
                ],
            })
        );
        let many = Outline::new("k", &Taxonomy::flat(9).unwrap(), &|leaf| leaf.to_string());
        assert_eq!(many.drawing(9), ["└─ 0, 1, 2, 3, 4, 5, … 3 more"]);
    }
}
