//! dptd-2022: Figures 3 to 6, with DPTD as published and as it keeps ε.

use serde_json::{Value, json};

use super::data::Wish;
use super::exhibit::{Cell, Exhibit, Wanted};
use super::runner::Runner;
use crate::city::{Error, Preset};

const EPSILONS: [&str; 4] = ["0.1", "0.5", "1.0", "2.0"];
const LENGTHS: [u32; 3] = [6, 8, 10];
const DISTANCES: [Wanted; 3] =
    [Wanted::Figure("rmse.km"), Wanted::Figure("rmse.matched"), Wanted::Rows];
const QUERIES: [Wanted; 3] = [
    Wanted::Figure("range"),
    Wanted::Figure("queries.sets.drawn.2"),
    Wanted::Figure("queries.doublets.drawn.2"),
];
const PATTERNS: [Wanted; 1] = [Wanted::Figure("patterns.support")];

/// DPTD twice, the paper's competitors that are here, and ours.
fn engines(length: u32) -> [(&'static str, &'static str, Value); 6] {
    let published = json!({ "height": length, "variant": "published", "allow_unsound": true });
    [
        ("DPTD, no guarantee", "dptd", published),
        ("DPTD, sound", "dptd", json!({ "height": length, "max_nodes": 300_000 })),
        (
            "Prefix",
            "simple",
            json!({ "height": length, "input": "sequences", "max_nodes": 300_000 }),
        ),
        ("n-gram", "ngram", json!({ "longest": 5, "input": "sequences" })),
        ("safepath", "safepath", json!({ "height": length, "allocation": "even" })),
        ("weave", "weave", json!({})),
    ]
}

pub(super) fn exhibits(runner: &Runner<'_>) -> Result<Vec<Exhibit>, Error> {
    let mut distances = Exhibit::new(
        "Figure 3",
        "RMSE by length, ε and algorithm (T-Drive: here the preset taxis, 400 cells, lengths cut to 6, 8, 10)",
        &["length", "ε", "algorithm", "RMSE, km", "trips with a partner", "rows", "paper"],
        "The paper prints no number: RMSE falls with ε and rises with length. Ours is a distance to the nearest \
         published trip of the same length: an algorithm that publishes no long trip has none, and read without the \
         share of trips that have a partner the figure flatters whoever publishes a lot. Data are a grid of cells and \
         not coordinates, all traces and not 1,000 of them. DPTD as published has no guarantee, whatever ε it is given: \
         its structure alone tells neighbours apart; the sound one keeps ε.",
    );
    let mut queries = Exhibit::new(
        "Figure 5",
        "average relative error of range queries, and of count queries, by ε (length 10)",
        &["ε", "algorithm", "range", "2 stations drawn", "2 doublets drawn", "paper"],
        "The paper prints no number: errors fall with ε. An algorithm without times has no error of doublets. DPNG \
         is not here.",
    );
    let mut patterns = Exhibit::new(
        "Figure 6",
        "average relative error of the support of the top 20 patterns, by length and ε",
        &["length", "ε", "algorithm", "error", "paper"],
        "The paper prints no number: errors fall with ε and are larger at length 10 than at 8. It counts patterns on a \
         grid of 6 × 6 cells, ours are patterns of the 400 cells; 1 means that none of them is there at all.",
    );
    for length in LENGTHS {
        let data = runner.data(Wish::of(Preset::Taxis).exactly(length))?;
        for epsilon in EPSILONS {
            for (name, engine, keys) in engines(length) {
                let tried = runner.noisy(&data, engine, epsilon, &keys);
                let labels = || vec![length.into(), epsilon.into(), name.into()];
                distances.run(labels(), &tried, &DISTANCES, &[""]);
                if length == 10 {
                    queries.run(labels().split_off(1), &tried, &QUERIES, &[""]);
                }
                if length > 6 {
                    patterns.run(labels(), &tried, &PATTERNS, &[""]);
                }
            }
        }
        if length == 10 {
            let labels = vec![Cell::Nothing, "nothing".into()];
            queries.run(labels, &runner.nothing(&data), &QUERIES, &[""]);
        }
    }
    queries.refused.clear();
    patterns.refused.clear();
    let geolife = Exhibit::missing(
        "Figure 4",
        "RMSE with Geolife",
        "Not repeated: there is no preset like Geolife, and the paper prints no number.",
    );
    Ok(vec![distances, geolife, queries, patterns])
}
