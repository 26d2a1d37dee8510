//! Engines and budgets side by side on the same taps. Nothing is released, nothing is booked: every engine drafts with
//! noise of a seed that no release ever has.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tapveil_core::evaluate::risk::Risk;
use tapveil_core::evaluate::{Judge, Said, Score, trial};

use super::window::{baselines, ingest, terms};
use super::{Asked, Column, Error, Judged};
use crate::config::Settings;
use crate::ingest::{Harvest, Taps, read_file};
use crate::metrics::Board;
use crate::model::{Digest, MicroEpsilon};
use crate::seal::SealedWindow;

/// Noisy engines are tried so often; figures are means.
const SEEDS: u64 = 3;

/// An engine at one ε.
#[derive(Debug)]
pub struct Variant {
    pub engine: String,
    /// `None` for an engine that suppresses.
    pub epsilon: Option<MicroEpsilon>,
    /// The configuration with this engine in it.
    pub settings: Settings,
}

/// Figures that were computed before, by what they were computed from.
#[derive(Clone, Debug)]
pub struct Cache(pub PathBuf);

impl Cache {
    fn path(&self, key: &Digest) -> PathBuf {
        self.0.join(format!("{key}.json"))
    }

    fn find(&self, key: &Digest) -> Option<(Score, Risk)> {
        let found: Value = serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()?;
        let figures = found["figures"].as_object()?;
        let figures: Option<Vec<(String, f64)>> =
            figures.iter().map(|(id, value)| Some((id.clone(), value.as_f64()?))).collect();
        let risk = serde_json::from_value(found["risk"].clone()).ok()?;
        Some((figures?.into_iter().collect(), risk))
    }

    fn keep(&self, key: &Digest, score: &Score, risk: &Risk) -> Result<(), Error> {
        let figures: serde_json::Map<String, Value> =
            score.iter().map(|(id, value)| (id.to_owned(), json!(value))).collect();
        let text = json!({ "private": true, "figures": figures, "risk": risk }).to_string();
        let path = self.path(key);
        let io = |error| Error::Io { what: "write", path: path.display().to_string(), error };
        fs::create_dir_all(&self.0).map_err(io)?;
        // Whole or not at all: a run that is stopped leaves no half of a file behind.
        let partial = path.with_extension("partial");
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(io)
    }
}

/// What one variant is worth over all windows of one length.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Engine or baseline.
    pub name: String,
    pub epsilon: Option<MicroEpsilon>,
    /// `window.length`, as it was asked for.
    pub window: String,
    pub n_windows: usize,
    /// Means over the windows.
    pub score: Score,
}

impl Summary {
    /// What a card that travels in every window spends over all of them.
    pub fn spent(&self) -> Option<MicroEpsilon> {
        let micro = self.epsilon?.micro().checked_mul(self.n_windows as u64)?;
        Some(MicroEpsilon::new(micro))
    }
}

/// The figures that an agency chooses by, each with its words.
pub const CHOSEN_BY: [(&str, &str); 5] = [
    ("stations_by_slot.error", "stations by slot"),
    ("od.error", "origin to destination"),
    ("od.spurious", "flows that are not there"),
    ("queries.doublets.drawn.1", "count query, one doublet"),
    ("planner.pairs", "top 20 pairs that are right"),
];

/// One line for every variant and window length.
pub fn summaries(window: &str, judged: &[Judged]) -> Vec<Summary> {
    let Some(first) = judged.first() else { return Vec::new() };
    let of = |(at, column): (usize, &Column)| {
        let scores: Vec<Score> =
            judged.iter().filter_map(|one| Some(one.columns.get(at)?.score.clone())).collect();
        Summary {
            name: column.name.clone(),
            epsilon: column.epsilon,
            window: window.to_owned(),
            n_windows: judged.len(),
            score: Score::mean(&scores),
        }
    };
    first.columns.iter().enumerate().map(of).collect()
}

/// Who watches a comparison.
pub trait Watch {
    /// This is next.
    fn next(&self, what: &str);
}

/// Judges every variant on every window of a file. The truth is that of `settings`.
pub fn compare(
    settings: &Settings,
    taps: &Taps,
    variants: &[Variant],
    asked: Asked,
    cache: Option<&Cache>,
    watch: &dyn Watch,
) -> Result<Vec<Judged>, Error> {
    let board = Board::default();
    let gate = settings.gate(None);
    let Harvest { mut open, .. } = read_file(taps, &ingest(settings), &gate, &board)?;
    let windows: Vec<_> =
        open.ids().into_iter().filter_map(|id| settings.calendar.window(id)).collect();
    if windows.is_empty() {
        return Err(Error::NoTap { taps: taps.to_string() });
    }
    let mut judged = Vec::new();
    for window in windows {
        let stamps = open.take(window.id());
        let seal = |settings: &Settings| {
            let (window, stamps) = (window.clone(), stamps.clone());
            SealedWindow::freeze(window, stamps, settings.max_length, &settings.secret)
        };
        watch.next(&format!("window {window}: the truth"));
        let sealed = seal(settings);
        let judge = Judge::new(&sealed, terms(settings, asked));
        let epsilons = variants.iter().filter_map(|variant| variant.epsilon).collect();
        let mut columns = baselines(&judge, epsilons);
        for variant in variants {
            watch.next(&in_words(variant));
            let key = Digest::of(
                format!(
                    "1 {} {} {} {} {}",
                    env!("TAPVEIL_COMMIT"),
                    variant.settings.digest,
                    settings.digest,
                    sealed.mac(),
                    json!([asked.seed, asked.n_queries])
                )
                .as_bytes(),
            );
            let known = cache.and_then(|cache| cache.find(&key));
            let (score, risk) = match known {
                Some(known) => known,
                None => {
                    let found = tried(&judge, &seal(&variant.settings), variant, asked.seed)?;
                    if let Some(cache) = cache {
                        cache.keep(&key, &found.0, &found.1)?;
                    }
                    found
                }
            };
            let (name, epsilon) = (variant.engine.clone(), variant.epsilon);
            columns.push(Column { name, epsilon, release: None, score, risk: Some(risk) });
        }
        judged.push(Judged { exact: judge.exact_tables(), judge, columns });
    }
    Ok(judged)
}

/// The mean figures of an engine, and what its first draft gives away.
fn tried(
    judge: &Judge,
    sealed: &SealedWindow,
    variant: &Variant,
    seed: u64,
) -> Result<(Score, Risk), Error> {
    let engine = variant.settings.engine.as_ref();
    engine.check_window(sealed.window())?;
    let n_seeds = if variant.epsilon.is_some() { SEEDS } else { 1 };
    let mut scores = Vec::new();
    let mut risk = None;
    for number in 0..n_seeds {
        let said: Said = trial(engine, sealed, seed, number)?;
        scores.push(judge.release(&said));
        risk = risk.or_else(|| Some(judge.risk(&said, &engine.guarantee())));
    }
    let risk = risk.unwrap_or_else(|| unreachable!("at least one seed"));
    Ok((Score::mean(&scores), risk))
}

fn in_words(variant: &Variant) -> String {
    match variant.epsilon {
        Some(epsilon) => format!("{} at epsilon {epsilon}", variant.engine),
        None => variant.engine.clone(),
    }
}
