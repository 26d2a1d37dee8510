//! The flowgraph as nested bars: a column for each doublet of a path, a bar for each prefix, as high as its share.

use maud::{Markup, html};

use super::super::flowgraph::{Flowgraph, Node};
use super::super::view::View;
use super::grouped;

/// Doublets of a path that are drawn, from the first on.
const COLUMNS: usize = 4;
const WIDE: u64 = 190;
const HIGH: u64 = 480;
/// A lower bar is left out, and its place stays empty.
const LOWEST: u64 = 3;
/// A lower bar has no label beside its title.
const LABELLED: u64 = 12;

/// One bar.
struct Bar<'a> {
    node: &'a Node,
    column: u64,
    top: u64,
    high: u64,
}

/// The strongest prefixes of a release.
pub(super) fn picture(view: &View, graph: &Flowgraph) -> Markup {
    let bars = bars(graph);
    html! {
        p.soft {
            "Where cards begin, and where those who came so far go on. A bar is as high as its share of all cards; what is \
             too low to be drawn is left blank, and so is who ends there. All of it is in flowgraph.csv."
        }
        div.wide {
            svg.flowgraph viewBox=(format!("0 0 {} {HIGH}", WIDE * COLUMNS as u64)) width=(WIDE * COLUMNS as u64) role="img"
                aria-label=(format!("Flowgraph: the {} strongest of {} prefixes", bars.len(), graph.nodes.len())) {
                @for bar in &bars {
                    @let (station, percent) = (name(view, bar.node), percent(graph.transition(bar.node)));
                    rect x=(bar.column * WIDE) y=(bar.top) width=(WIDE - 2) height=((bar.high - 1).max(1))
                        fill-opacity=(if bar.column % 2 == 0 { "0.30" } else { "0.20" }) {
                        title {
                            (station) ", " (bar.node.slot) ": " (grouped(bar.node.cards)) " cards, " (percent)
                            " of those who came so far; " (self::percent(Flowgraph::termination(bar.node))) " of them end here"
                        }
                    }
                    @if bar.high >= LABELLED {
                        text x=(bar.column * WIDE + 4) y=(bar.top + bar.high / 2 + 4) {
                            (shortened(station)) " " (clock(&bar.node.slot)) " " (percent)
                        }
                    }
                }
            }
        }
    }
}

/// Bars from the top: in every column the strongest first, each beside its parent.
fn bars(graph: &Flowgraph) -> Vec<Bar<'_>> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len() + 1];
    for (node, at) in graph.nodes.iter().zip(1..) {
        below[node.parent].push(at);
    }
    let mut bars = Vec::new();
    // Node, column, top; a share of the height is a share of all cards.
    let mut open = vec![(0, 0, 0)];
    while let Some((parent, column, mut top)) = open.pop() {
        let mut children = std::mem::take(&mut below[parent]);
        children.sort_by_key(|&at| (std::cmp::Reverse(graph.nodes[at - 1].cards), at));
        for at in children {
            let node = &graph.nodes[at - 1];
            let high = scaled(node.cards, graph.cards);
            if high < LOWEST {
                break;
            }
            bars.push(Bar { node, column, top, high });
            if column + 1 < COLUMNS as u64 {
                open.push((at, column + 1, top));
            }
            top += high;
        }
    }
    bars
}

fn scaled(cards: u64, all: u64) -> u64 {
    let high = u128::from(cards) * u128::from(HIGH) / u128::from(all.max(1));
    u64::try_from(high).unwrap_or(HIGH)
}

fn name<'a>(view: &'a View, node: &'a Node) -> &'a str {
    let stop = view.stops.iter().find(|stop| stop.id == node.station);
    stop.map_or(&node.station, |stop| &stop.name)
}

fn percent(millionths: u64) -> String {
    format!("{} %", (millionths + 5_000) / 10_000)
}

/// The time of day of a slot's label.
fn clock(slot: &str) -> &str {
    slot.get(11..16).unwrap_or("")
}

fn shortened(name: &str) -> String {
    const LETTERS: usize = 16;
    match name.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
