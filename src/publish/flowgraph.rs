//! flowgraph.csv and flowgraph.json: the passenger flowgraph of a release of `lk`, added up from its own paths.
//!
//! A node is a prefix of paths. What it says follows from paths.csv alone, so it promises what the paths promise, and
//! whoever has the paths can check it.

use std::io::{self, Write};

use serde_json::{Number, Value, json};

use super::paths::{AT, NEXT, csv_into};

/// The flowgraph as a table.
pub(super) const FLOWGRAPH_CSV: &str = "flowgraph.csv";
/// The same for programs that read JSON.
pub(super) const FLOWGRAPH_JSON: &str = "flowgraph.json";

const HEADER: [&str; 7] =
    ["node", "parent", "station", "slot", "cards", "transition", "termination"];

/// The engine whose releases have a flowgraph, and the first revision of it that writes one.
pub(super) const ENGINE: (&str, u32) = ("lk", 2);

/// One prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The node one doublet before, from 1 on; 0 where paths begin.
    pub parent: usize,
    pub station: String,
    /// The slot's beginning.
    pub slot: String,
    /// Cards whose path begins so.
    pub cards: u64,
    /// Cards whose path is so and no longer.
    pub ends: u64,
}

/// All prefixes: each after its parent, siblings in the order of station and slot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flowgraph {
    pub nodes: Vec<Node>,
    /// Cards of the release.
    pub cards: u64,
}

impl Flowgraph {
    /// Adds up the rows of paths.csv; `None` if they cannot be read.
    pub(super) fn of(paths: &[u8]) -> Option<Self> {
        let records: Vec<csv::StringRecord> =
            csv::Reader::from_reader(paths).into_records().collect::<Result<_, _>>().ok()?;
        let mut rows: Vec<(Vec<&str>, u64)> = Vec::with_capacity(records.len());
        for record in &records {
            rows.push((record.get(1)?.split(NEXT).collect(), record.get(0)?.parse().ok()?));
        }
        // A text of paths is not in the order of their doublets: "a@1" < "a@10" < "a@1>b".
        rows.sort_unstable();
        let mut graph = Self::default();
        let mut way: Vec<usize> = Vec::new();
        let mut before: &[&str] = &[];
        for (path, count) in &rows {
            let shared = path.iter().zip(before).take_while(|(a, b)| a == b).count();
            way.truncate(shared);
            for step in &path[shared..] {
                let (station, slot) = step.split_once(AT).unwrap_or((step, ""));
                graph.nodes.push(Node {
                    parent: way.last().copied().unwrap_or(0),
                    station: station.to_owned(),
                    slot: slot.to_owned(),
                    cards: 0,
                    ends: 0,
                });
                way.push(graph.nodes.len());
            }
            for &node in &way {
                graph.nodes[node - 1].cards = graph.nodes[node - 1].cards.checked_add(*count)?;
            }
            graph.nodes[way.last()? - 1].ends += count;
            graph.cards = graph.cards.checked_add(*count)?;
            before = path;
        }
        Some(graph)
    }

    /// Of those who came to a node's parent, the part that went on to it, in millionths.
    pub fn transition(&self, node: &Node) -> u64 {
        let came = node.parent.checked_sub(1).map_or(self.cards, |above| self.nodes[above].cards);
        millionths(node.cards, came)
    }

    /// Of those who came to a node, the part that ended there, in millionths.
    pub fn termination(node: &Node) -> u64 {
        millionths(node.ends, node.cards)
    }

    pub(super) fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        let mut csv = csv_into(out);
        csv.write_record(HEADER)?;
        for (node, at) in self.nodes.iter().zip(1_usize..) {
            csv.write_record([
                &at.to_string(),
                &node.parent.to_string(),
                &node.station,
                &node.slot,
                &node.cards.to_string(),
                &decimal(self.transition(node)),
                &decimal(Self::termination(node)),
            ])?;
        }
        csv.flush()
    }

    pub(super) fn to_json(&self) -> Value {
        let number = |millionths: u64| -> Option<Number> { decimal(millionths).parse().ok() };
        let node = |(node, at): (&Node, usize)| {
            json!({
                "node": at, "parent": node.parent, "station": node.station, "slot": node.slot, "cards": node.cards,
                "transition": number(self.transition(node)), "termination": number(Self::termination(node)),
            })
        };
        let nodes: Vec<Value> = self.nodes.iter().zip(1..).map(node).collect();
        json!({ "cards": self.cards, "nodes": nodes })
    }
}

/// A part of a whole in millionths, rounded to the nearest.
fn millionths(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    u64::try_from((part * 2_000_000 + whole) / (whole * 2)).unwrap_or(u64::MAX)
}

/// Millionths as a decimal with six places.
fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &str = "count,path\n3,a@1\n2,a@10\n5,a@1>b@2\n2,a@1>b@2>c@3\n";

    #[test]
    fn a_flowgraph_adds_up_its_paths() {
        let graph = Flowgraph::of(PATHS.as_bytes()).unwrap();
        let mut text = Vec::new();
        graph.write_csv(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "node,parent,station,slot,cards,transition,termination\n\
             1,0,a,1,10,0.833333,0.300000\n\
             2,1,b,2,7,0.700000,0.714286\n\
             3,2,c,3,2,0.285714,1.000000\n\
             4,0,a,10,2,0.166667,1.000000\n"
        );
        assert_eq!(graph.to_json()["nodes"][1]["termination"], json!(0.714_286));
        assert_eq!(graph.to_json()["cards"], 12);
    }

    #[test]
    fn a_release_without_rows_has_a_flowgraph_without_nodes() {
        let graph = Flowgraph::of(b"count,path\n").unwrap();
        assert_eq!(graph, Flowgraph::default());
        assert!(Flowgraph::of(b"count,path\nmany,a@1\n").is_none());
    }
}
