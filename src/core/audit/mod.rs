//! The auditor: it tries to break what the engines promise, and breaks engines on purpose to show that it can.
//!
//! In → out: nothing but the program itself → a [`Report`], engine by engine and mutant by mutant.
//! Promises: A-1 nothing an audit makes can be published: it holds audit permits only, and gets
//!   [`AuditOutput`](crate::engine::AuditOutput); A-2 the same program gives the same report: seeds are fixed; A-3 a
//!   true engine is called broken with probability below 10⁻⁶ over all questions of one audit together.
//! Refuses: nothing.
//! Why: a proof can be wrong, and code can differ from it. The recorded audit checks the proof's own claim, answer
//!   by answer, in exact fractions; the statistical one looks at released rows alone and knows no proof.

mod bounds;
mod broken_noise;
mod features;
mod mechanism;
mod mutants;
mod neighbours;
mod pairs;
mod power;
mod recorded;
mod stage;
mod statistical;
mod whole;

pub use pairs::{Keys, Pair, PairFinding};
pub use power::Power;
pub use whole::WholeFinding;

use mechanism::{Broken, Form, Instance, Mechanism};
use mutants::Mutant;
use statistical::Sampling;

use crate::engine::Registry;
use crate::model::{MicroEpsilon, PathKind};

/// All statistical questions of one audit together are wrong about a true engine no more often than this.
pub const ALPHA: f64 = 1e-6;

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Releases of each of two neighbouring windows.
    pub samples: u64,
    /// Neighbouring windows whose every question is compared.
    pub pairs: u64,
}

impl Effort {
    /// What the command does: the numbers that the mutants are known to be caught with.
    pub fn usual() -> Self {
        Self { samples: 100_000, pairs: 400 }
    }
}

/// What was found about one engine in one form.
#[derive(Clone, PartialEq, Debug)]
pub struct EngineFinding {
    /// Its name in the configuration.
    pub engine: &'static str,
    /// What it looked at.
    pub input: PathKind,
    /// Taps that a path can show.
    pub height: u32,
    /// What it promises.
    pub epsilon: MicroEpsilon,
    /// What it surely spends, from released rows alone.
    pub lower_bound: f64,
    /// Releases of each of the two windows behind that.
    pub samples: u64,
    /// Pairs of windows whose questions were compared.
    pub pairs: u64,
    /// What a pair broke, if one did.
    pub breach: Option<String>,
}

impl EngineFinding {
    /// Whether nothing was found against it.
    pub fn holds(&self) -> bool {
        self.breach.is_none() && self.lower_bound <= epsilon(self.epsilon)
    }
}

/// What was found about an engine that was broken on purpose.
#[derive(Clone, PartialEq, Debug)]
pub struct MutantFinding {
    /// What was done to it.
    pub mutant: &'static str,
    /// Taps that a path can show.
    pub height: u32,
    /// What it claims.
    pub epsilon: MicroEpsilon,
    /// What it surely spends, from released rows alone.
    pub lower_bound: f64,
    /// Releases of each of the two windows behind that; 0: rows were not looked at.
    pub samples: u64,
    /// What the recorded audit found, if anything.
    pub breach: Option<String>,
}

impl MutantFinding {
    /// Whether the released rows alone give it away.
    pub fn caught_by_statistics(&self) -> bool {
        self.lower_bound > epsilon(self.epsilon)
    }

    /// Whether released rows were looked at. Those of an engine that publishes estimates hide small faults, so its own
    /// mutants are shown to the recorded audit alone.
    pub fn was_sampled(&self) -> bool {
        self.samples > 0
    }

    /// Whether every audit that looked at it, each by itself, catches it.
    pub fn is_caught(&self) -> bool {
        self.breach.is_some() && (self.caught_by_statistics() || !self.was_sampled())
    }
}

/// Everything that was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// True engines.
    pub engines: Vec<EngineFinding>,
    /// Engines broken on purpose.
    pub mutants: Vec<MutantFinding>,
    /// Two releases side by side.
    pub pairs: Vec<PairFinding>,
    /// Whole releases, of engines as they ship.
    pub whole: Vec<WholeFinding>,
    /// How small a violation the statistical audit finds.
    pub power: Power,
}

impl Report {
    /// Whether every engine holds and every mutant is caught.
    pub fn is_sound(&self) -> bool {
        self.engines.iter().all(EngineFinding::holds)
            && self.mutants.iter().all(MutantFinding::is_caught)
            && self.pairs.iter().all(PairFinding::is_as_it_should_be)
            && self.whole.iter().all(WholeFinding::is_as_it_should_be)
            && self.power.smallest_found.is_some()
    }
}

/// The engines of a registry that can be audited, by their names in the configuration.
pub fn engine_names(registry: &Registry) -> Vec<&'static str> {
    registry.iter().filter(|engine| engine.audit.is_some()).map(|engine| engine.name).collect()
}

/// Every form of the engines of this name, or of all of them.
fn forms<'a>(registry: &'a Registry, engine: Option<&str>) -> Vec<Form<'a>> {
    let wanted = |form: &Form<'_>| engine.is_none_or(|name| form.engine.name == name);
    Form::all(registry).into_iter().filter(wanted).collect()
}

/// How many times an audit tells its progress.
pub fn n_steps(registry: &Registry, engine: Option<&str>) -> usize {
    let broken = Broken::all(&Form::all(registry)).len();
    forms(registry, engine).len()
        + Mutant::all().len()
        + broken
        + whole::n_steps(registry, engine)
        + 2
}

/// Audits the engines of this name, or all of them, and every mutant: an auditor that misses one proves nothing.
pub fn audit(
    registry: &Registry,
    engine: Option<&str>,
    effort: Effort,
    progress: &dyn Fn(&str),
) -> Report {
    let mutants = Mutant::all();
    let n_forms = Form::all(registry).len();
    let n_mechanisms = n_forms * Instance::ALL.len() + mutants.len() + power::SPENT.len();
    let sampling = Sampling::new(n_mechanisms);
    let mut report = Report::default();
    for form in forms(registry, engine) {
        progress(&format!("{} over {}", form.engine.name, in_words(form.form.kind)));
        let pairs = effort.pairs.div_ceil(form.form.compared_less);
        let breach =
            recorded::audit_form(form, pairs).or_else(|| recorded::audit_unbroken(form, pairs));
        let samples = effort.samples.div_ceil(form.form.sampled_less);
        for instance in Instance::ALL {
            let stage = form.tiny_stage(instance.height);
            let audit_instance = instance.audit_instance(&stage);
            let engine = form.build(stage, instance.epsilon, &audit_instance);
            report.engines.push(EngineFinding {
                engine: form.engine.name,
                input: form.form.kind,
                height: instance.height,
                epsilon: instance.epsilon,
                lower_bound: sampling.lower_bound(&engine, samples),
                samples,
                pairs,
                breach: breach.clone(),
            });
        }
    }
    for mutant in &mutants {
        progress(mutant.in_words());
        report.mutants.push(MutantFinding {
            mutant: mutant.in_words(),
            height: mutant.instance().height,
            epsilon: mutant.epsilon(),
            lower_bound: sampling.lower_bound(mutant, effort.samples),
            samples: effort.samples,
            breach: recorded::audit(mutant, effort.pairs),
        });
    }
    for broken in &Broken::all(&Form::all(registry)) {
        progress(broken.form.about);
        report.mutants.push(MutantFinding {
            mutant: broken.form.about,
            height: Broken::LENGTH.get(),
            epsilon: broken.epsilon(),
            lower_bound: 0.0,
            samples: 0,
            breach: recorded::audit(broken, effort.pairs),
        });
    }
    progress("two releases side by side");
    let trees = Form::all(registry).into_iter().find(|form| form.engine.name == PAIRED);
    report.pairs = trees.map_or(Vec::new(), |form| pairs::audit(form, effort.samples / 5));
    report.whole = whole::audit(registry, engine, effort.samples / 25, progress);
    progress("how small a violation is found");
    report.power = power::measured(&sampling, effort.samples);
    report
}

/// The engine whose releases are laid side by side: its rows are counts, and tell most.
const PAIRED: &str = "seqpt";

fn in_words(kind: PathKind) -> &'static str {
    match kind {
        PathKind::Timed => "doublets",
        PathKind::Untimed => "sequences",
    }
}

/// ε as a float, to be compared with an estimate.
fn epsilon(micro: MicroEpsilon) -> f64 {
    micro.micro() as f64 / 1e6
}

#[cfg(test)]
mod tests;
