//! How places and slots are grouped: public shapes from configuration.

use std::fmt;

use crate::model::{Stations, Taxonomy};

/// How places are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Not at all.
    Flat,
    /// By line; a station without one stands alone.
    Lines,
    /// In halves, thirds … of the list.
    Balanced(Shape),
}

/// How slots are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// Not at all.
    Flat,
    /// In halves, thirds … of the window.
    Balanced(Shape),
}

/// A balanced taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Parts a group is split into.
    pub fanout: u32,
    /// How often.
    pub height: u32,
}

impl Places {
    /// The height a user asked for, if any.
    pub fn height(self) -> Option<u32> {
        match self {
            Self::Balanced(shape) => Some(shape.height),
            Self::Flat | Self::Lines => None,
        }
    }

    /// What to say where the stations are too few for the height that was asked for.
    pub fn lowered(self, stations: &Stations) -> Option<String> {
        let n = stations.len();
        too_high("taxonomy.locations", self.height()?, &self.taxonomy(stations), n)
    }

    /// The groups of these stations.
    pub fn taxonomy(self, stations: &Stations) -> Taxonomy {
        let taxonomy = match self {
            Self::Flat => Taxonomy::flat(stations.len()),
            Self::Lines => {
                let way = |line: &str| if line.is_empty() { vec![] } else { vec![line.to_owned()] };
                let ways: Vec<_> = stations.iter().map(|station| way(&station.line)).collect();
                Taxonomy::grouped(&ways)
            }
            Self::Balanced(Shape { fanout, height }) => {
                let listed = stations.as_listed().iter().map(|station| station.0).collect();
                Taxonomy::balanced(stations.len(), fanout.max(2), height)
                    .map(|taxonomy| taxonomy.ordered_as(listed))
            }
        };
        taxonomy.expect("a station list is not empty, and the fanout at least 2")
    }
}

impl Times {
    /// The height a user asked for, if any.
    pub fn height(self) -> Option<u32> {
        match self {
            Self::Balanced(shape) => Some(shape.height),
            Self::Flat => None,
        }
    }

    /// What to say where the slots are too few for the height that was asked for.
    pub fn lowered(self, n_slots: u32) -> Option<String> {
        too_high("taxonomy.times", self.height()?, &self.taxonomy(n_slots), n_slots)
    }

    /// The groups of so many slots.
    pub fn taxonomy(self, n_slots: u32) -> Taxonomy {
        let taxonomy = match self {
            Self::Flat => Taxonomy::flat(n_slots),
            Self::Balanced(Shape { fanout, height }) => {
                Taxonomy::balanced(n_slots, fanout.max(2), height)
            }
        };
        taxonomy.expect("a window has at least one slot, and the fanout is at least 2")
    }
}

fn too_high(key: &str, asked: u32, taxonomy: &Taxonomy, n: u32) -> Option<String> {
    let found = taxonomy.height();
    (found < asked)
        .then(|| format!("{key}: {n} leaves cannot be split {asked} times; height {found} is used"))
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fanout {}, height {}", self.fanout, self.height)
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Lines => f.write_str("lines"),
            Self::Balanced(shape) => shape.fmt(f),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Balanced(shape) => shape.fmt(f),
        }
    }
}
