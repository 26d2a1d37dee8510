//! The figures and result tables of the papers, repeated on synthetic data: one file per paper, one runner.
//!
//! Nothing here is private: cities are made up. Nothing is released and nothing is booked: engines draft with noise
//! of a seed that no release ever has.

mod data;
mod dptd;
mod exhibit;
mod lk;
mod projection;
mod runner;
mod safepath;
mod stm;

pub use exhibit::{Cell, Exhibit};
pub use runner::Scale;

use std::str::FromStr;

use super::Watch;
use crate::city;
use crate::engine::Registry;
use runner::Runner;

/// A paper whose results are repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    Safepath,
    Stm,
    Lk,
    Dptd,
    Projection,
}

/// A name that stands for no paper.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name:?} is no paper that can be repeated; use one of {}, or all", Paper::ALL.map(Paper::name).join(", "))]
pub struct UnknownPaper {
    name: String,
}

impl Paper {
    /// In the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Safepath, Self::Stm, Self::Lk, Self::Dptd, Self::Projection];

    /// The name by which a user asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Safepath => "safepath",
            Self::Stm => "stm",
            Self::Lk => "lk",
            Self::Dptd => "dptd",
            Self::Projection => "projection",
        }
    }

    /// As engines and decisions cite it.
    pub fn cited(self) -> &'static str {
        match self {
            Self::Safepath => "safepath-2018",
            Self::Stm => "stm-hybrid-2012",
            Self::Lk => "lk-flowgraph-2014",
            Self::Dptd => "dptd-2022",
            Self::Projection => "projection-support-tree-2020",
        }
    }

    fn exhibits(self, runner: &Runner<'_>) -> Result<Vec<Exhibit>, city::Error> {
        match self {
            Self::Safepath => safepath::exhibits(runner),
            Self::Stm => stm::exhibits(runner),
            Self::Lk => lk::exhibits(runner),
            Self::Dptd => dptd::exhibits(runner),
            Self::Projection => projection::exhibits(runner),
        }
    }
}

impl FromStr for Paper {
    type Err = UnknownPaper;

    fn from_str(name: &str) -> Result<Self, UnknownPaper> {
        let known = Self::ALL.into_iter().find(|paper| paper.name() == name);
        known.ok_or_else(|| UnknownPaper { name: name.to_owned() })
    }
}

/// Everything that was repeated of one paper.
#[derive(Debug)]
pub struct Reproduced {
    pub paper: Paper,
    pub exhibits: Vec<Exhibit>,
}

/// Repeats papers, in the order in which they are named.
pub fn reproduce(
    papers: &[Paper],
    registry: &Registry,
    scale: Scale,
    watch: &dyn Watch,
) -> Result<Vec<Reproduced>, city::Error> {
    let runner = Runner::new(registry, scale, watch);
    let of = |&paper: &Paper| Ok(Reproduced { paper, exhibits: paper.exhibits(&runner)? });
    papers.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
