//! Every metric: what it is called, what it says in words, and which way is better.

use super::planner::{PAIRS, Planner};
use super::queries::{Family, Form, Length, Origin, Questions};

/// Which metrics belong together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Planner,
    Tables,
    Intervals,
    Queries,
    Patterns,
    Trips,
    Kept,
}

impl Group {
    /// In the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Planner,
        Self::Tables,
        Self::Intervals,
        Self::Queries,
        Self::Patterns,
        Self::Trips,
        Self::Kept,
    ];

    /// The heading.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Planner => "Questions a planner asks",
            Self::Tables => "Tables",
            Self::Intervals => "Stated 95 % intervals: how often they hold the truth",
            Self::Queries => "Count queries: average relative error",
            Self::Patterns => "Frequent sequences of stations",
            Self::Trips => "Trips",
            Self::Kept => "What is kept (engines that suppress)",
        }
    }
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    /// As near to 1 as it can be.
    One,
    /// As near to 0.95 as it can be.
    Stated,
}

/// One metric.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Metric {
    /// Its name for machines.
    pub id: String,
    pub group: Group,
    pub better: Better,
    /// What it says.
    pub words: String,
}

/// All of them, in the order in which they are shown.
pub(super) fn catalogue(questions: &Questions, planner: &Planner) -> Vec<Metric> {
    let mut all = Vec::new();
    let mut add = |id: &str, group: Group, better: Better, words: String| {
        all.push(Metric { id: id.to_owned(), group, better, words });
    };
    use Better::{Higher, Lower, One, Stated};
    let (hours, pairs) = (planner.n_hours(), planner.n_pairs());
    let words = format!("busiest station by time of day, right of {hours}");
    add("planner.busiest", Group::Planner, Higher, words);
    add("planner.peak", Group::Planner, Lower, "busiest time of day, hours off".to_owned());
    let words = format!("the {PAIRS} strongest flows, right of {pairs}");
    add("planner.pairs", Group::Planner, Higher, words);
    let words = "mean taps per card, relative error".to_owned();
    add("planner.mean_taps", Group::Planner, Lower, words);
    let words = "weekday over weekend, relative error".to_owned();
    add("planner.weekdays", Group::Planner, Lower, words);
    tables(&mut add);
    for file in ["stations", "od", "lengths"] {
        add(&format!("coverage.{file}"), Group::Intervals, Stated, format!("{file}.csv"));
    }
    for family in &questions.families {
        add(&family.id(), Group::Queries, Lower, in_words(family, questions.height));
    }
    for k in [100, 200, 300] {
        let words = |what: &str| format!("top {k}: {what}");
        let id = |what: &str| format!("patterns.{k}.{what}");
        add(&id("true_positives"), Group::Patterns, Higher, words("true positives"));
        add(&id("false_positives"), Group::Patterns, Lower, words("false positives"));
        add(&id("false_drops"), Group::Patterns, Lower, words("false drops"));
    }
    let words = "support of the top 20, relative error".to_owned();
    add("patterns.support", Group::Patterns, Lower, words);
    for (id, better, words) in [
        ("flowgraph.phi", One, "flowgraph similarity"),
        ("rmse.km", Lower, "distance to the nearest published trip of the same length, km"),
        ("rmse.matched", Higher, "trips that have one"),
        ("range", Lower, "trips through a random rectangle, relative error"),
        ("trips.returning", Lower, "share of cards that return, difference"),
        ("trips.travel_times.jsd", Lower, "duration of legs: Jensen-Shannon distance"),
    ] {
        add(id, Group::Trips, better, words.to_owned());
    }
    for (id, better, words) in [
        ("kept.doublets", One, "doublets, published over true"),
        ("kept.distinct", Higher, "different doublets that are still there"),
        ("kept.ploss", Lower, "pairs of doublets of one trip that are lost (ploss)"),
    ] {
        add(id, Group::Kept, better, words.to_owned());
    }
    all
}

/// Errors of every table.
fn tables(add: &mut dyn FnMut(&str, Group, Better, String)) {
    use Better::Lower;
    for (name, about) in [
        ("stations_by_slot", "stations by slot"),
        ("od", "legs by origin and destination"),
        ("od_by_quarter", "legs by quarter of the day"),
    ] {
        for (figure, what) in [
            ("error", "sum of errors over sum of truth"),
            ("median", "median relative error, cells of 100 or more"),
            ("dropped", "true cells of at least s that are missing"),
            ("spurious", "published cells whose truth is 0"),
            ("jsd", "Jensen-Shannon distance"),
        ] {
            add(&format!("{name}.{figure}"), Group::Tables, Lower, format!("{about}: {what}"));
        }
    }
    for (name, about) in [
        ("stations", "cards by station"),
        ("lengths", "cards by number of taps"),
        ("first", "cards by first doublet"),
    ] {
        let words = format!("{about}: sum of errors over sum of truth");
        add(&format!("{name}.error"), Group::Tables, Lower, words);
        let words = format!("{about}: Jensen-Shannon distance");
        add(&format!("{name}.jsd"), Group::Tables, Lower, words);
    }
}

fn in_words(family: &Family, height: u64) -> String {
    let form = match family.form {
        Form::Doublets => "doublets in order",
        Form::Stations => "stations in any order",
    };
    let origin = match family.origin {
        Origin::Uniform => "from the universe",
        Origin::Drawn => "from the data",
    };
    match family.length {
        Length::Exactly(n) => format!("{n} {form}, {origin}"),
        Length::Quarters(n) => format!("1 to {} {form}, {origin}", (n * height / 4).max(1)),
    }
}
