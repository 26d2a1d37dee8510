//! The auditor: it tries to break what the engines promise, and breaks engines on purpose to show that it can.
//!
//! In → out: nothing but the program itself → a [`Report`], engine by engine and mutant by mutant.
//! Promises: A-1 nothing an audit makes can be published: it holds audit permits only, and gets
//!   [`AuditOutput`](crate::engine::AuditOutput); A-2 the same program gives the same report: seeds are fixed; A-3 a true
//!   engine is called broken with probability below 10⁻⁶ over all questions of one audit together.
//! Refuses: nothing.
//! Why: a proof can be wrong, and code can differ from it. The recorded audit checks the proof's own claim, answer
//!   by answer, in exact fractions; the statistical one looks at released rows alone and knows no proof.

mod bounds;
mod mechanism;
mod mutants;
mod recorded;
mod stage;
mod statistical;

use mechanism::{Form, Instance, Mechanism};
use mutants::Mutant;
use recorded::Recorded;
use statistical::Sampling;

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
    /// Levels of the tree.
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
    /// Levels of the tree.
    pub height: u32,
    /// What it claims.
    pub epsilon: MicroEpsilon,
    /// What it surely spends, from released rows alone.
    pub lower_bound: f64,
    /// Releases of each of the two windows behind that.
    pub samples: u64,
    /// What the recorded audit found, if anything.
    pub breach: Option<String>,
}

impl MutantFinding {
    /// Whether the released rows alone give it away.
    pub fn caught_by_statistics(&self) -> bool {
        self.lower_bound > epsilon(self.epsilon)
    }

    /// Whether both audits, each by itself, catch it.
    pub fn is_caught(&self) -> bool {
        self.caught_by_statistics() && self.breach.is_some()
    }
}

/// Everything that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// True engines.
    pub engines: Vec<EngineFinding>,
    /// Engines broken on purpose.
    pub mutants: Vec<MutantFinding>,
}

impl Report {
    /// Whether every engine holds and every mutant is caught.
    pub fn is_sound(&self) -> bool {
        self.engines.iter().all(EngineFinding::holds)
            && self.mutants.iter().all(MutantFinding::is_caught)
    }
}

/// The engines that can be audited, by their names in the configuration.
pub fn engine_names() -> Vec<&'static str> {
    let mut names: Vec<_> = Form::ALL.iter().map(|form| form.name()).collect();
    names.dedup();
    names
}

/// Every form of the engines of this name, or of all of them.
fn forms(engine: Option<&str>) -> impl Iterator<Item = Form> {
    Form::ALL.iter().copied().filter(move |form| engine.is_none_or(|name| form.name() == name))
}

/// How many times an audit tells its progress.
pub fn n_steps(engine: Option<&str>) -> usize {
    forms(engine).count() + Mutant::all().len()
}

/// Audits the engines of this name, or all of them, and every mutant: an auditor that misses one proves nothing.
pub fn audit(engine: Option<&str>, effort: Effort, progress: &dyn Fn(&str)) -> Report {
    let mutants = Mutant::all();
    let sampling = Sampling::new(effort, Form::ALL.len() * Instance::ALL.len() + mutants.len());
    let mut report = Report { engines: Vec::new(), mutants: Vec::new() };
    for form in forms(engine) {
        progress(&format!("{} over {}", form.name(), mechanism::in_words(form.input())));
        let recorded = recorded::audit_form(form, effort.pairs);
        for instance in Instance::ALL {
            report.engines.push(EngineFinding {
                engine: form.name(),
                input: form.input(),
                height: instance.height,
                epsilon: instance.epsilon,
                lower_bound: mechanism::with_tiny(form, *instance, &sampling),
                samples: effort.samples,
                pairs: effort.pairs,
                breach: recorded.breach.clone(),
            });
        }
    }
    for mutant in &mutants {
        progress(mutant.in_words());
        let Recorded { breach } = recorded::audit(mutant, effort.pairs);
        report.mutants.push(MutantFinding {
            mutant: mutant.in_words(),
            height: mutant.instance().height,
            epsilon: mutant.epsilon(),
            lower_bound: sampling.lower_bound(mutant),
            samples: effort.samples,
            breach,
        });
    }
    report
}

/// ε as a float, to be compared with an estimate.
fn epsilon(micro: MicroEpsilon) -> f64 {
    micro.micro() as f64 / 1e6
}

#[cfg(test)]
mod tests;
