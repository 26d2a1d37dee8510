//! The samples of a soak as a picture: one panel for each figure, time from left to right.

use std::fmt::Write as _;

use super::Sample;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 90.0;
const GAP: f64 = 40.0;

/// A figure: its name, and its lines, each with a place in time and a value.
struct Panel {
    name: &'static str,
    lines: Vec<Vec<(f64, f64)>>,
}

pub(super) fn svg(samples: &[Sample]) -> String {
    let workers = |pick: fn(&(u64, u64, u64)) -> f64| -> Vec<Vec<(f64, f64)>> {
        let n = samples.first().map_or(0, |sample| sample.workers.len());
        let line = |at: usize| {
            samples.iter().map(|one| (one.second as f64, pick(&one.workers[at]))).collect()
        };
        (0..n).map(line).collect()
    };
    let whole = |pick: fn(&Sample) -> f64| {
        vec![samples.iter().map(|one| (one.second as f64, pick(one))).collect()]
    };
    let panels = [
        Panel { name: "memory of each worker, MiB", lines: workers(|one| one.1 as f64 / 1024.0) },
        Panel { name: "open descriptors of each worker", lines: workers(|one| one.2 as f64) },
        Panel {
            name: "files of the brokers, MiB",
            lines: whole(|one| one.broker_bytes as f64 / 1_048_576.0),
        },
        Panel {
            name: "files of releases, KiB",
            lines: whole(|one| one.release_bytes as f64 / 1024.0),
        },
        Panel { name: "answers of the consoles", lines: whole(|one| one.n_answers as f64) },
    ];
    let end = samples.last().map_or(1.0, |last| last.second.max(1) as f64);
    let height = panels.len() as f64 * (HEIGHT + GAP) + GAP;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n",
        WIDTH + LEFT + GAP
    );
    for (n, panel) in panels.iter().enumerate() {
        draw(&mut text, panel, GAP + n as f64 * (HEIGHT + GAP), end);
    }
    text.push_str("</svg>\n");
    text
}

fn draw(text: &mut String, panel: &Panel, top: f64, end: f64) {
    let all = panel.lines.iter().flatten().map(|(_, value)| *value);
    let most = all.fold(1.0, f64::max);
    writeln!(text, "<text x=\"{LEFT}\" y=\"{}\">{} (to {end:.0} s)</text>", top - 6.0, panel.name)
        .unwrap();
    writeln!(text, "<text x=\"4\" y=\"{}\">{most:.0}</text>", top + 12.0).unwrap();
    writeln!(text, "<text x=\"4\" y=\"{}\">0</text>", top + HEIGHT).unwrap();
    writeln!(
        text,
        "<rect x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#999\"/>"
    )
    .unwrap();
    for (line, colour) in panel.lines.iter().zip(["#1f77b4", "#d62728", "#2ca02c"]) {
        let point = |(second, value): &(f64, f64)| {
            format!(
                "{:.1},{:.1}",
                LEFT + second / end * WIDTH,
                top + HEIGHT - value / most * HEIGHT
            )
        };
        let points: Vec<String> = line.iter().map(point).collect();
        let points = points.join(" ");
        writeln!(text, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\"/>")
            .unwrap();
    }
}
