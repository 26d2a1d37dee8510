//! stm-hybrid-2012: Table 2, Figures 3 to 5, Tables 3 to 5.

use serde_json::{Value, json};

use super::data::{Data, Wish};
use super::exhibit::{Cell, Exhibit, Wanted};
use super::runner::{Runner, Tried};
use crate::city::{Error, Preset};

const CITIES: [(&str, Preset); 2] = [("Metro", Preset::StmMetro), ("Bus", Preset::StmBus)];
const ENGINES: [&str; 2] = ["simple", "hybrid"];
const EPSILONS: [&str; 5] = ["0.5", "0.75", "1.0", "1.25", "1.5"];
const HEIGHTS: [u32; 8] = [6, 8, 10, 12, 14, 16, 18, 20];

/// True positives as printed: by city, by engine.
type Printed = [[&'static str; 2]; 2];

const BY_EPSILON: [Printed; 5] = [
    [["227", "244"], ["194", "215"]],
    [["239", "253"], ["206", "224"]],
    [["241", "257"], ["212", "233"]],
    [["243", "259"], ["216", "238"]],
    [["248", "261"], ["224", "242"]],
];
const BY_HEIGHT: [Printed; 8] = [
    [["234", "241"], ["212", "221"]],
    [["240", "254"], ["217", "232"]],
    [["241", "255"], ["215", "236"]],
    [["241", "257"], ["212", "233"]],
    [["241", "258"], ["212", "233"]],
    [["240", "258"], ["210", "231"]],
    [["240", "255"], ["209", "230"]],
    [["238", "254"], ["206", "228"]],
];
/// By k: 100, 200, 300.
const BY_K: [Printed; 3] = [
    [["99", "100"], ["97", "100"]],
    [["178", "185"], ["168", "177"]],
    [["241", "257"], ["212", "233"]],
];

const POSITIVES: [(u32, Wanted, Wanted); 3] = [
    (100, Wanted::Count("patterns.100.true_positives"), Wanted::Count("patterns.100.false_drops")),
    (200, Wanted::Count("patterns.200.true_positives"), Wanted::Count("patterns.200.false_drops")),
    (300, Wanted::Count("patterns.300.true_positives"), Wanted::Count("patterns.300.false_drops")),
];

/// A tree that noise alone would make larger is refused: it takes minutes and says nothing.
const MOST_NODES: u64 = 300_000;

fn keys(height: u32) -> Value {
    json!({ "height": height, "input": "sequences", "max_nodes": MOST_NODES })
}

pub(super) fn exhibits(runner: &Runner<'_>) -> Result<Vec<Exhibit>, Error> {
    let mut all = Tables::new();
    for (number, (city, preset)) in CITIES.into_iter().enumerate() {
        let data = runner.data(Wish::of(preset).cut(20))?;
        all.describe(city, &data, number);
        for (at, engine) in ENGINES.into_iter().enumerate() {
            for (step, epsilon) in EPSILONS.into_iter().enumerate() {
                let tried = runner.noisy(&data, engine, epsilon, &keys(12));
                all.by_epsilon(city, engine, epsilon, &tried, BY_EPSILON[step][number][at]);
                if epsilon == "1.0" {
                    all.by_k(city, engine, &tried, BY_K.map(|printed| printed[number][at]));
                    all.by_height(city, engine, 12, &tried, BY_HEIGHT[3][number][at]);
                }
            }
            for (step, height) in HEIGHTS.into_iter().enumerate().filter(|(_, h)| *h != 12) {
                let tried = runner.noisy(&data, engine, "1.0", &keys(height));
                all.by_height(city, engine, height, &tried, BY_HEIGHT[step][number][at]);
            }
        }
        all.nothing(city, &runner.nothing(&data));
    }
    let mut exhibits = all.in_order();
    exhibits.push(sizes(runner)?);
    exhibits.push(Exhibit::missing(
        "Figure 5b",
        "runtime by the size of the location universe (Bus, 600,000 records)",
        "Not repeated: the paper takes stops away from its own records, prints no number, and the presets have one \
         universe each; Figure 5a has both.",
    ));
    Ok(exhibits)
}

/// One run goes into several tables.
struct Tables {
    data: Exhibit,
    errors: Exhibit,
    errors_by_height: Exhibit,
    patterns_by_k: Exhibit,
    patterns_by_epsilon: Exhibit,
    patterns_by_height: Exhibit,
}

const SMALL: &str = "Ours are lower: the synthetic cities have fewer patterns that stand out than the paper's data, and \
                     a smaller city has the same noise on smaller counts. Where the city is small Simple finds more \
                     patterns than Hybrid, which publishes few rows; its count queries are far worse. \
                     Simple on Bus is refused: noise alone would fill its tree.";

impl Tables {
    fn new() -> Self {
        let patterns = ["true positives", "false drops", "paper, true positives"];
        let columns = |first: &[&'static str]| [first, &patterns].concat();
        Self {
            data: Exhibit::new(
                "Table 2",
                "the data sets",
                &["data", "", "cards", "\\|L\\|", "longest", "mean length"],
                "Synthetic cities of the printed sizes; the longest of a smaller city is shorter.",
            ),
            errors: Exhibit::new(
                "Figure 3",
                "average relative error by ε and query length (h = 12, sets of uniform stations)",
                &[
                    "data",
                    "engine",
                    "ε",
                    "max \\|Q\\| 3",
                    "6",
                    "9",
                    "12",
                    "drawn, 3",
                    "seconds",
                    "paper, worst of Hybrid",
                ],
                "The paper prints one number: Hybrid stays below 8.2 % at ε = 0.5 and max |Q| = 3. Uniform station \
                 sets are mostly empty; publishing nothing is the row that any figure is read beside. Simple on Bus is \
                 refused.",
            ),
            errors_by_height: Exhibit::new(
                "Figure 4",
                "average relative error by tree height (ε = 1, max |Q| = 6)",
                &["data", "engine", "h", "uniform", "drawn", "seconds", "paper"],
                "The paper prints no number: errors fall, then rise with h, less so for Hybrid. Here errors of \
                 Simple rise with h from the start, and those of Hybrid hardly change.",
            ),
            patterns_by_k: Exhibit::new(
                "Table 3",
                "frequent sequential patterns by k (ε = 1, h = 12); the judge asks for k = 100, 200, 300",
                &columns(&["data", "engine", "k"]),
                SMALL,
            ),
            patterns_by_epsilon: Exhibit::new(
                "Table 4",
                "frequent sequential patterns by ε (h = 12, k = 300)",
                &columns(&["data", "engine", "ε"]),
                SMALL,
            ),
            patterns_by_height: Exhibit::new(
                "Table 5",
                "frequent sequential patterns by tree height (ε = 1, k = 300)",
                &columns(&["data", "engine", "h"]),
                "As in Table 3. The paper's change little with h; ours fall, because every level takes a share of ε.",
            ),
        }
    }

    fn describe(&mut self, city: &'static str, data: &Data, number: usize) {
        self.data.push(vec![
            city.into(),
            "ours".into(),
            data.sealed.n_cards().into(),
            data.n_stations().into(),
            data.longest.into(),
            Cell::Figure(data.mean_length()),
        ]);
        let printed = [["847668", "68", "90", "4.21"], ["778724", "944", "121", "5.67"]][number];
        let mut row = vec![city.into(), "paper".into()];
        row.extend(printed.map(Cell::from));
        self.data.push(row);
    }

    fn by_epsilon(&mut self, city: &str, engine: &str, epsilon: &str, tried: &Tried, right: &str) {
        let labels = || vec![city.into(), engine.into(), epsilon.into()];
        let worst = if (engine, epsilon) == ("hybrid", "0.5") { "< 0.082" } else { "" };
        self.errors.run(labels(), tried, &LENGTHS, &[worst]);
        let [.., (_, positives, drops)] = POSITIVES;
        self.patterns_by_epsilon.run(labels(), tried, &[positives, drops], &[right]);
    }

    fn by_k(&mut self, city: &str, engine: &str, tried: &Tried, right: [&str; 3]) {
        for ((k, positives, drops), right) in POSITIVES.into_iter().zip(right) {
            let labels = vec![city.into(), engine.into(), k.into()];
            self.patterns_by_k.run(labels, tried, &[positives, drops], &[right]);
        }
    }

    fn by_height(&mut self, city: &str, engine: &str, height: u32, tried: &Tried, right: &str) {
        let labels = || vec![city.into(), engine.into(), height.into()];
        self.errors_by_height.run(labels(), tried, &BY_SIX, &[""]);
        let [.., (_, positives, drops)] = POSITIVES;
        self.patterns_by_height.run(labels(), tried, &[positives, drops], &[right]);
    }

    fn nothing(&mut self, city: &str, tried: &Tried) {
        let labels = || vec![city.into(), "nothing".into(), Cell::Nothing];
        self.errors.run(labels(), tried, &LENGTHS, &[""]);
        self.errors_by_height.run(labels(), tried, &BY_SIX, &[""]);
    }

    fn in_order(self) -> Vec<Exhibit> {
        let mut all = vec![
            self.data,
            self.errors,
            self.errors_by_height,
            self.patterns_by_k,
            self.patterns_by_epsilon,
            self.patterns_by_height,
        ];
        // The same runs were refused everywhere: their reasons stand below the figures, once.
        for exhibit in &mut all[3..] {
            exhibit.refused.clear();
        }
        all
    }
}

const LENGTHS: [Wanted; 6] = [
    Wanted::Figure("queries.sets.uniform.h1"),
    Wanted::Figure("queries.sets.uniform.h2"),
    Wanted::Figure("queries.sets.uniform.h3"),
    Wanted::Figure("queries.sets.uniform.h4"),
    Wanted::Figure("queries.sets.drawn.h1"),
    Wanted::Seconds,
];
const BY_SIX: [Wanted; 3] = [
    Wanted::Figure("queries.sets.uniform.h2"),
    Wanted::Figure("queries.sets.drawn.h2"),
    Wanted::Seconds,
];

/// Quarters of the cities.
fn sizes(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figure 5a",
        "runtime by the number of records (h = 20, ε = 1)",
        &["data", "engine", "cards", "seconds", "rows", "paper"],
        "The paper prints less than 22 seconds for everything, on a Core 2 Duo. Ours are the engine's \
         alone; Simple at this height is refused: noise alone would fill its tree.",
    );
    for ((city, preset), of_paper) in CITIES.into_iter().zip([847_668, 778_724]) {
        let all = runner.cards(of_paper);
        for cards in [all / 4, all / 2, all] {
            let wish = Wish { cards: Some(cards.max(1)), ..Wish::of(preset).cut(20) };
            let data = runner.data(wish)?;
            for engine in ENGINES {
                let tried = runner.noisy(&data, engine, "1.0", &keys(20));
                let labels = vec![city.into(), engine.into(), data.sealed.n_cards().into()];
                exhibit.run(labels, &tried, &[Wanted::Seconds, Wanted::Rows], &["< 22"]);
            }
        }
    }
    exhibit.refused.clear();
    Ok(exhibit)
}
