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
