//! One window judged: the raw taps read as `sanitize` reads them, the baselines, and every release.

use std::num::NonZeroU64;

use tapveil_core::evaluate::risk::Risk;
use tapveil_core::evaluate::{Judge, Score, Terms};

use super::{Error, Published};
use crate::config::Settings;
use crate::engine::{Legs, Tables};
use crate::guarantee::Guarantee;
use crate::ingest::{Harvest, Taps, read_file};
use crate::metrics::Board;
use crate::model::{MicroEpsilon, WindowId};
use crate::seal::SealedWindow;

/// Noise of the plain tables is drawn with so many seeds; figures are means.
const SEEDS: NonZeroU64 = NonZeroU64::new(3).expect("three is not zero");
/// ε of the plain tables where no release has one.
const USUAL: MicroEpsilon = MicroEpsilon::new(1_000_000);

/// What is asked of every window.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub seed: u64,
    /// Queries of each kind and length.
    pub n_queries: u32,
}

/// One column of the table.
#[derive(Debug)]
pub struct Column {
    /// `nothing`, `histogram`, or the engine.
    pub name: String,
    /// ε, where there is one.
    pub epsilon: Option<MicroEpsilon>,
    /// The release; `None` for a baseline.
    pub release: Option<Published>,
    pub score: Score,
    pub risk: Option<Risk>,
}

/// One window with everything that was said about it. Private.
#[derive(Debug)]
pub struct Judged {
    pub judge: Judge,
    /// The truth as tables. Private.
    pub exact: Tables,
    pub columns: Vec<Column>,
}

/// Judges releases by window. `tell` hears what is being done.
pub fn judge(
    settings: &Settings,
    taps: &Taps,
    releases: Vec<Published>,
    asked: Asked,
    board: &Board,
    tell: &dyn Fn(&str),
) -> Result<Vec<Judged>, Error> {
    let mut by_window: Vec<(WindowId, Vec<Published>)> = Vec::new();
    for release in releases {
        let id = release.window.id();
        match by_window.iter_mut().find(|(known, _)| *known == id) {
            Some((_, list)) => list.push(release),
            None => by_window.push((id, vec![release])),
        }
    }
    by_window.sort_by_key(|(id, _)| *id);
    let Harvest { mut open, .. } = read_file(taps, &ingest(settings), &settings.gate(None), board)?;
    let mut judged = Vec::new();
    for (id, releases) in by_window {
        let Some(window) = releases.first().map(|release| release.window.clone()) else { continue };
        let stamps = open.take(id);
        if stamps.is_empty() {
            let taps = taps.to_string();
            return Err(Error::NoTaps { taps, window: window.name() });
        }
        tell(&format!("window {window}: the truth"));
        let sealed = SealedWindow::freeze(window, stamps, settings.max_length, &settings.secret);
        let judge = Judge::new(&sealed, terms(settings, asked));
        judged.push(columns(judge, releases, tell));
    }
    Ok(judged)
}

/// As `sanitize` reads, and with the kinds of taps where legs go from entry to exit: whatever the engine keeps, the
/// truth needs them.
pub(super) fn ingest(settings: &Settings) -> crate::ingest::Settings {
    let mut ingest = settings.ingest();
    ingest.keeps_kinds |= settings.trips.from == Legs::Kinds;
    ingest
}

pub(super) fn terms(settings: &Settings, asked: Asked) -> Terms {
    Terms {
        stations: settings.stations.clone(),
        legs: settings.trips.from,
        longest_secs: settings.trips.longest_secs,
        max_length: settings.max_length,
        seed: asked.seed,
        n_queries: asked.n_queries,
    }
}

/// An empty release, and plain tables of every ε.
pub(super) fn baselines(judge: &Judge, mut epsilons: Vec<MicroEpsilon>) -> Vec<Column> {
    let baseline = |name: &str, epsilon: Option<MicroEpsilon>, score: Score| Column {
        name: name.to_owned(),
        epsilon,
        release: None,
        score,
        risk: None,
    };
    epsilons.sort_unstable();
    epsilons.dedup();
    if epsilons.is_empty() {
        epsilons.push(USUAL);
    }
    let mut columns = vec![baseline("nothing", None, judge.nothing())];
    columns.extend(
        epsilons
            .into_iter()
            .map(|epsilon| baseline("histogram", Some(epsilon), judge.histogram(epsilon, SEEDS))),
    );
    columns
}

fn columns(judge: Judge, releases: Vec<Published>, tell: &dyn Fn(&str)) -> Judged {
    tell("nothing, and plain tables of the same epsilon");
    let mut columns = baselines(&judge, releases.iter().filter_map(epsilon_of).collect());
    for release in releases {
        tell(&format!("{} in {}", release.engine, release.path.display()));
        let epsilon = epsilon_of(&release);
        let is_like = |column: &&Column| {
            let engine = column.release.as_ref().map(|other| other.engine.as_str());
            engine == Some(release.engine.as_str()) && column.epsilon == epsilon
        };
        let name = match columns.iter().filter(is_like).count() {
            0 => release.engine.clone(),
            n => format!("{} ({})", release.engine, n + 1),
        };
        columns.push(Column {
            name,
            epsilon,
            score: judge.release(&release.said),
            risk: Some(judge.risk(&release.said, &release.guarantee)),
            release: Some(release),
        });
    }
    Judged { exact: judge.exact_tables(), judge, columns }
}

fn epsilon_of(release: &Published) -> Option<MicroEpsilon> {
    match release.guarantee {
        Guarantee::Differential { epsilon_micro, .. } => Some(epsilon_micro),
        _ => None,
    }
}
