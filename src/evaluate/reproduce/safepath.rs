//! safepath-2018: Table 2, Figures 3 to 8 with Table 3.

use serde_json::{Value, json};

use super::data::Wish;
use super::exhibit::{Cell, Exhibit, Wanted};
use super::runner::Runner;
use crate::city::{Error, Preset};

const CITIES: [(&str, Preset); 2] = [("Metro", Preset::Metro), ("Bus", Preset::Bus)];
const PAIRS: [Wanted; 2] =
    [Wanted::Figure("queries.doublets.uniform.2"), Wanted::Figure("queries.doublets.drawn.2")];

pub(super) fn exhibits(runner: &Runner<'_>) -> Result<Vec<Exhibit>, Error> {
    let mut all = vec![sub_datasets(runner)?];
    all.extend(taxonomies(runner)?);
    all.push(heights(runner)?);
    all.push(seqpt(runner)?);
    all.push(ngram(runner)?);
    Ok(all)
}

fn keys(height: u32, threshold: &str, taxonomy: (u32, u32)) -> Value {
    let (fanout, levels) = taxonomy;
    let shape = json!({ "fanout": fanout, "height": levels });
    let taxonomy = json!({ "locations": shape, "times": shape });
    json!({ "height": height, "threshold": threshold, "taxonomy": taxonomy })
}

/// What the paper takes unless it says otherwise.
const USUAL: (u32, u32) = (2, 6);

/// Table 2 is its last two rows.
fn sub_datasets(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Tables 2 and 3, Figure 8",
        "the data sets, and runtime by |T| and |D| (h = 12, ε = 1, taxonomies 2 × 6, θ as printed)",
        &[
            "data",
            "\\|T\\|",
            "\\|L\\|",
            "cards",
            "paper",
            "mean length",
            "paper",
            "longest",
            "paper",
            "seconds",
            "paper",
            "error, 1 drawn doublet",
            "nothing",
        ],
        "Cards, lengths and errors are of the synthetic city, which is calibrated to the last row of each data set. The \
         paper prints the seconds of the full sets alone, of a whole program on a Core 2 Duo; ours are the \
         engine's. With |T| = 35 the paper's split of the budget leaves the leaves less than nothing at taxonomy \
         height 6, so it cannot have been run as it is described.",
    );
    let printed = [
        (35, ["263303", "1.58", "16", ""], ["304238", "1.96", "21", ""]),
        (70, ["485049", "2.28", "35", ""], ["508283", "3.12", "44", ""]),
        (105, ["606917", "2.81", "51", ""], ["618238", "3.98", "70", ""]),
        (140, ["766419", "3.11", "73", ""], ["722786", "4.46", "106", ""]),
        (168, ["847668", "3.22", "90", "15"], ["773296", "4.69", "121", "27"]),
    ];
    for (city, preset) in CITIES {
        for (slots, metro, bus) in printed {
            let data = runner.data(Wish { slots: Some(slots), ..Wish::of(preset).cut(26) })?;
            let [cards, mean, longest, seconds] = if city == "Metro" { metro } else { bus };
            let tried = runner.noisy(&data, "safepath", "1.0", &keys(12, "level-noise", USUAL));
            let labels = vec![
                city.into(),
                slots.into(),
                data.n_stations().into(),
                data.sealed.n_cards().into(),
                cards.into(),
                Cell::Figure(data.mean_length()),
                mean.into(),
                data.longest.into(),
                longest.into(),
            ];
            let single = Wanted::Figure("queries.doublets.drawn.1");
            exhibit.run(labels, &tried, &[Wanted::Seconds], &[seconds]);
            let row = exhibit.rows.last_mut().expect("it was pushed above");
            row.extend([tried.cell(single), runner.nothing(&data).cell(single)]);
        }
    }
    Ok(exhibit)
}

/// Figures 3 and 4 come from the same runs.
fn taxonomies(runner: &Runner<'_>) -> Result<[Exhibit; 2], Error> {
    let mut errors = Exhibit::new(
        "Figure 3",
        "average relative error by taxonomy height and children (|q| = h = 2, ε = 1, θ as printed)",
        &["data", "children", "taxonomy height", "error, uniform", "error, drawn", "paper"],
        "The paper prints no number of this figure, only that the error falls with height and changes little from 6 on. \
         Uniform queries of length 2 have nearly all a true answer of zero: publishing nothing scores as well (last \
         row of each), so the figure says little; queries drawn from the data say more.",
    );
    let mut times = Exhibit::new(
        "Figure 4",
        "runtime by taxonomy height and children (h = 2, ε = 1, θ as printed)",
        &["data", "children", "taxonomy height", "seconds", "rows"],
        "The paper prints no number: runtime falls with height for few children and is largest at 6 children and height \
         9. Here a height whose groups would take more than the budget is refused, and a tree stops where groups are \
         as small as the fan-out, so 6 children and height 9 is no higher than 3 or 4 and costs nothing extra.",
    );
    for (city, preset) in CITIES {
        let data = runner.data(Wish::of(preset).cut(26))?;
        for children in [2, 6] {
            for height in [1, 3, 6, 9] {
                let keys = keys(2, "level-noise", (children, height));
                let tried = runner.noisy(&data, "safepath", "1.0", &keys);
                let labels = || vec![city.into(), children.into(), height.into()];
                errors.run(labels(), &tried, &PAIRS, &[""]);
                times.run(labels(), &tried, &[Wanted::Seconds, Wanted::Rows], &[]);
            }
        }
        let labels = vec![city.into(), "nothing".into(), Cell::Nothing];
        errors.run(labels, &runner.nothing(&data), &PAIRS, &[""]);
    }
    times.refused.clear();
    Ok([errors, times])
}

/// |q| = h/3, up to the longest queries that the judge asks.
fn heights(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figure 5",
        "average relative error by tree height and ε (taxonomies 2 × 6, |q| = h/3, at most 4)",
        &["data", "ε", "h", "θ", "rows", "error, uniform", "error, drawn", "paper"],
        "The paper says below 1 % on both sets, for uniform queries. Ours are below 1 % too, and so is publishing \
         nothing: a sequence of two to eight random doublets hardly ever occurs. On queries drawn from the data the \
         tree of the paper is little better than nothing at every h, because the noise of a general node is far above \
         its own threshold (erratum 3 of the engine's proof).",
    );
    let lengths = |h: u32| match h {
        6 => PAIRS,
        _ => [
            Wanted::Figure("queries.doublets.uniform.4"),
            Wanted::Figure("queries.doublets.drawn.4"),
        ],
    };
    for (city, preset) in CITIES {
        let data = runner.data(Wish::of(preset).cut(26))?;
        for epsilon in ["0.5", "1.25"] {
            for h in [6, 12, 18, 26] {
                for rule in ["level-noise", "own-noise"] {
                    let tried = runner.noisy(&data, "safepath", epsilon, &keys(h, rule, USUAL));
                    let labels = vec![city.into(), epsilon.into(), h.into(), rule.into()];
                    let [uniform, drawn] = lengths(h);
                    exhibit.run(labels, &tried, &[Wanted::Rows, uniform, drawn], &["< 0.01"]);
                }
            }
        }
        for h in [6, 12] {
            let labels = vec![city.into(), "nothing".into(), h.into(), Cell::Nothing];
            let [uniform, drawn] = lengths(h);
            let nothing = runner.nothing(&data);
            exhibit.run(labels, &nothing, &[Wanted::Rows, uniform, drawn], &[""]);
        }
    }
    Ok(exhibit)
}

/// Twenty stops, 24 hours.
fn seqpt(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figure 6",
        "SafePath, SeqPT and LK-anonymity on the reduced Bus (20 × 24, ε = 1, non-empty queries of length 2)",
        &["engine", "h", "rows", "error, drawn", "seconds", "paper, seconds"],
        "The paper prints the seconds at h = 5 alone and finds the errors comparable; in a small city SafePath's own \
         thresholds let little through, and its error is that of nothing. SeqPT takes no 2400 seconds here because empty nodes are drawn all \
         at once and not one by one. With taxonomies of height 6 over 20 stops and 24 hours the paper's split is \
         negative, so ours have height 3; LK-anonymity answers best because it adds no noise, and it promises less.",
    );
    let data = runner.data(Wish::of(Preset::Bus20).cut(8))?;
    let wanted = [Wanted::Rows, Wanted::Figure("queries.doublets.drawn.2"), Wanted::Seconds];
    for h in 2..=5_u32 {
        let tried = runner.noisy(&data, "safepath", "1.0", &keys(h, "own-noise", (2, 3)));
        let printed = if h == 5 { "1" } else { "" };
        exhibit.run(vec!["safepath".into(), h.into()], &tried, &wanted, &[printed]);
    }
    for h in 2..=5_u32 {
        let keys = json!({ "height": h });
        let tried = runner.noisy(&data, "seqpt", "1.0", &keys);
        let printed = if h == 5 { "2400" } else { "" };
        exhibit.run(vec!["seqpt".into(), h.into()], &tried, &wanted, &[printed]);
    }
    let tried = runner.suppressing(&data, "lk", &json!({ "l": 2, "k": 5 }));
    exhibit.run(vec!["lk, L = 2, K = 5".into(), Cell::Nothing], &tried, &wanted, &[""]);
    let labels = vec!["nothing".into(), Cell::Nothing];
    exhibit.run(labels, &runner.nothing(&data), &wanted, &[""]);
    Ok(exhibit)
}

/// Metro, every doublet a location of its own.
fn ngram(runner: &Runner<'_>) -> Result<Exhibit, Error> {
    let mut exhibit = Exhibit::new(
        "Figure 7",
        "SafePath and N-gram on Metro (every doublet a location of its own, ε = 1, h and n from 3 to 7)",
        &["engine", "h or n", "rows", "error, uniform", "error, drawn", "seconds", "paper"],
        "The paper prints minutes for N-gram, an end without memory at n = 3, and similar errors for queries of length \
         2. Ours ends in seconds at every n, because what is empty is never visited; the errors are similar here, too, \
         and near those of publishing nothing.",
    );
    let data = runner.data(Wish::of(Preset::Metro).cut(12))?;
    let [uniform, drawn] = PAIRS;
    let wanted = [Wanted::Rows, uniform, drawn, Wanted::Seconds];
    for h in 3..=7_u32 {
        let tried = runner.noisy(&data, "safepath", "1.0", &keys(h, "level-noise", USUAL));
        exhibit.run(vec!["safepath".into(), h.into()], &tried, &wanted, &[""]);
    }
    for n in 3..=7_u32 {
        let keys = json!({ "longest": n, "input": "doublets" });
        let tried = runner.noisy(&data, "ngram", "1.0", &keys);
        let printed = if n == 3 { "out of memory" } else { "several minutes" };
        exhibit.run(vec!["ngram".into(), n.into()], &tried, &wanted, &[printed]);
    }
    exhibit.run(vec!["nothing".into(), Cell::Nothing], &runner.nothing(&data), &wanted, &[""]);
    Ok(exhibit)
}
