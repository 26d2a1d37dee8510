//! How places and slots are grouped: public shapes from configuration.

use std::fmt;
use std::sync::Arc;

use super::BudgetError;
use crate::model::{OwnTaxonomy, StationIx, Stations, Taxonomy};

/// How places are grouped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Places {
    /// Not at all.
    Flat,
    /// By line; stations without one hang from the root.
    Lines,
    /// In halves, thirds … of the list.
    Balanced(Shape),
    /// In halves, thirds … of the map, always across its longer side.
    Near(Shape),
    /// As somebody wrote it.
    Own(Arc<OwnTaxonomy>),
}

/// How slots are grouped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Times {
    /// Not at all.
    Flat,
    /// In halves, thirds … of the window.
    Balanced(Shape),
    /// As somebody wrote it, over the numbers of slots.
    Own(Arc<OwnTaxonomy>),
}

/// A balanced taxonomy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Into how many parts a group is split; at least 2.
    pub fanout: u32,
    /// How many times; at most.
    pub height: u32,
}

impl Places {
    /// The height a user asked for, if any.
    pub fn height(&self) -> Option<u32> {
        match self {
            Self::Balanced(shape) | Self::Near(shape) => Some(shape.height),
            Self::Flat | Self::Lines | Self::Own(_) => None,
        }
    }

    /// What to say where the stations are too few for the height that was asked for.
    pub fn lowered(&self, stations: &Stations) -> Option<String> {
        let n = stations.len();
        too_high("taxonomy.locations", self.height()?, &self.taxonomy(stations).ok()?, n)
    }

    /// The groups of these stations. All complaints at once, in words.
    pub fn taxonomy(&self, stations: &Stations) -> Result<Taxonomy, Vec<String>> {
        let taxonomy = match self {
            Self::Flat => Taxonomy::flat(stations.len()),
            Self::Lines => {
                let way = |line: &str| if line.is_empty() { vec![] } else { vec![line.to_owned()] };
                let ways: Vec<_> = stations.iter().map(|station| way(&station.line)).collect();
                Taxonomy::grouped(&ways)
            }
            Self::Balanced(Shape { fanout, height }) => {
                let listed = stations.as_listed().iter().map(|station| station.0).collect();
                Taxonomy::balanced(stations.len(), *fanout, *height)
                    .map(|taxonomy| taxonomy.ordered_as(listed))
            }
            Self::Near(Shape { fanout, height }) => {
                let at =
                    stations.on_a_plane().map_err(|lost| vec![without_place(stations, &lost)])?;
                let mut near: Vec<u32> = (0..stations.len()).collect();
                split_map(&mut near, &at, *fanout, *height);
                Taxonomy::balanced(stations.len(), *fanout, *height)
                    .map(|taxonomy| taxonomy.ordered_as(near))
            }
            Self::Own(own) => {
                let ids: Vec<String> = stations.iter().map(|station| station.id.clone()).collect();
                Taxonomy::grouped(&own.ways("station", &ids)?)
            }
        };
        taxonomy.map_err(|error| vec![error.to_string()])
    }

    /// The name of a leaf of the taxonomy of these stations.
    pub fn leaf_name(stations: &Stations) -> impl Fn(u32) -> String {
        |leaf| stations.get(StationIx(leaf)).id.clone()
    }
}

impl Times {
    /// The height a user asked for, if any.
    pub fn height(&self) -> Option<u32> {
        match self {
            Self::Balanced(shape) => Some(shape.height),
            Self::Flat | Self::Own(_) => None,
        }
    }

    /// What to say where the slots are too few for the height that was asked for.
    pub fn lowered(&self, n_slots: u32) -> Option<String> {
        let taxonomy = self.taxonomy(n_slots, n_slots).ok()?;
        too_high("taxonomy.times", self.height()?, &taxonomy, n_slots)
    }

    /// The groups of so many slots, where a window usually has `usual`. All complaints at once, in words.
    ///
    /// A file names the slots of a usual window by number, from 0 on. In a window that a clock change made longer, the
    /// further slots are with the last one; a shorter window has fewer.
    pub fn taxonomy(&self, n_slots: u32, usual: u32) -> Result<Taxonomy, Vec<String>> {
        let in_words = |error: crate::model::TaxonomyError| vec![error.to_string()];
        match self {
            Self::Flat => Taxonomy::flat(n_slots).map_err(in_words),
            Self::Balanced(Shape { fanout, height }) => {
                Taxonomy::balanced(n_slots, *fanout, *height).map_err(in_words)
            }
            Self::Own(own) => {
                let slots: Vec<String> = (0..usual).map(|slot| slot.to_string()).collect();
                let mut ways = own.ways("slot", &slots)?;
                let last = ways.last().cloned().unwrap_or_default();
                ways.resize(n_slots as usize, last);
                Taxonomy::nested(&ways)
            }
        }
    }
}

fn without_place(stations: &Stations, lost: &[String]) -> String {
    let (n, all) = (lost.len(), stations.len());
    let shown: Vec<&str> = lost.iter().take(5).map(String::as_str).collect();
    let more = if n > shown.len() { ", …" } else { "" };
    let shown = shown.join(", ");
    format!(
        "by = \"coordinates\" needs lat and lon of every station; {n} of {all} have none: {shown}{more}"
    )
}

/// Every complaint about the taxonomy of a key.
pub fn unfit(key: &'static str, complaints: Vec<String>) -> Vec<BudgetError> {
    let unfit = |complaint| BudgetError::Unfit { key, complaint };
    complaints.into_iter().map(unfit).collect()
}

/// Orders stations so that the parts of a balanced taxonomy over them lie side by side on the map. Stations at one
/// place stay in the order of their ids.
fn split_map(stations: &mut [u32], at: &[(i64, i64)], fanout: u32, height: u32) {
    if height == 0 || stations.len() <= fanout as usize {
        return stations.sort_unstable();
    }
    let side = |pick: fn(&(i64, i64)) -> i64| {
        let values = stations.iter().map(|&station| pick(&at[station as usize]));
        values.clone().max().unwrap_or(0) - values.min().unwrap_or(0)
    };
    let north_south = side(|place| place.0) >= side(|place| place.1);
    let along = |&station: &u32| {
        let (north, east) = at[station as usize];
        (if north_south { north } else { east }, station)
    };
    stations.sort_unstable_by_key(along);
    let (n, parts) = (stations.len(), fanout as usize);
    for part in 0..parts {
        split_map(&mut stations[n * part / parts..n * (part + 1) / parts], at, fanout, height - 1);
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
            Self::Near(shape) => write!(f, "{shape}, by coordinates"),
            Self::Own(own) => write!(f, "own, sha256 {}", own.digest()),
        }
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat => f.write_str("flat"),
            Self::Balanced(shape) => shape.fmt(f),
            Self::Own(own) => write!(f, "own, sha256 {}", own.digest()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Outline;

    fn own(text: &str) -> Arc<OwnTaxonomy> {
        Arc::new(OwnTaxonomy::read(text))
    }

    fn drawn(places: &Places, stations: &Stations) -> Vec<String> {
        let taxonomy = places.taxonomy(stations).unwrap();
        Outline::new("k", &taxonomy, &Places::leaf_name(stations)).drawing(99)
    }

    #[test]
    fn stations_are_grouped_as_somebody_wrote() {
        let stations = Stations::from_csv(b"id\na\nb\nc\nd\n").unwrap();
        let places = Places::Own(own("north\n  hill\n    d\n    a\n  b\nc\n"));
        assert_eq!(
            drawn(&places, &stations),
            ["├─ north (3)", "│  ├─ hill (2): a, d", "│  └─ b", "└─ c"]
        );
        let wrong = Places::Own(own("north\n  a\n  b\n  x\nc\n")).taxonomy(&stations).unwrap_err();
        assert_eq!(
            wrong,
            [
                "line 4: \"x\" is neither a station nor a group of any",
                "the station \"d\" is missing"
            ]
        );
    }

    #[test]
    fn slots_are_grouped_in_stretches_and_a_longer_day_goes_with_its_last() {
        let times = Times::Own(own("id,parent\nnight,\nday,\n0,night\n1,\n2,day\n3,day\n"));
        for (n_slots, shown) in [
            (4, ["├─ night (1): 0", "├─ 1", "└─ day (2): 2, 3"]),
            (5, ["├─ night (1): 0", "├─ 1", "└─ day (3): 2, 3, 4"]),
            (3, ["├─ night (1): 0", "├─ 1", "└─ day (1): 2"]),
        ] {
            let taxonomy = times.taxonomy(n_slots, 4).unwrap();
            assert_eq!(Outline::new("k", &taxonomy, &|slot| slot.to_string()).drawing(9), shown);
            assert!((0..n_slots).all(|slot| taxonomy.rank(slot) == slot), "ranks are slots");
        }
        let wrong = |text: &str, n_slots| Times::Own(own(text)).taxonomy(n_slots, n_slots);
        let torn = wrong("id,parent\na,\nb,\n0,a\n1,b\n2,a\n", 3).unwrap_err();
        assert_eq!(torn, ["\"a\" is torn: its leaves do not follow each other"]);
        let beyond = wrong("a\n  0\n  1\n", 1).unwrap_err();
        assert_eq!(beyond, ["line 3: \"1\" is neither a slot nor a group of any"]);
        assert!(wrong("a\n  b\n", 2).unwrap_err()[1].contains("2 slots are missing: 0, 1"));
    }

    #[test]
    fn groups_by_coordinates_lie_together_and_need_coordinates() {
        // Two towns in the list by turns, 0.6° of latitude apart and 1° of longitude wide.
        let rows = "a,60.0,10\nb,60.6,10\nc,60.0,10.5\nd,60.6,10.5\ne,60.0,11\nf,60.6,11\n";
        let stations = Stations::from_csv(format!("id,lat,lon\n{rows}").as_bytes()).unwrap();
        let near = Places::Near(Shape { fanout: 2, height: 1 });
        assert_eq!(
            drawn(&near, &stations),
            ["├─ group (3): a, c, e", "└─ group (3): b, d, f"],
            "a degree of longitude is half as long up there"
        );
        let without = Stations::from_csv(b"id,lat,lon\na,45,-73\nb,,\n").unwrap();
        assert_eq!(
            near.taxonomy(&without).unwrap_err(),
            ["by = \"coordinates\" needs lat and lon of every station; 1 of 2 have none: b"]
        );
        let equal = Stations::from_csv(b"id,lat,lon\nc,1,1\na,1,1\nd,1,1\nb,1,1\n").unwrap();
        assert_eq!(drawn(&near, &equal), ["├─ group (2): a, b", "└─ group (2): c, d"]);
    }

    proptest! {
        /// Groups by coordinates are a function of the stations alone, and of a line of stations each group is a
        /// stretch.
        #[test]
        fn groups_by_coordinates_do_not_depend_on_the_order_of_the_list(
            places in prop::collection::vec((-80_i32..80, -170_i32..170), 1..60),
            fanout in 2_u32..6,
            height in 0_u32..5,
        ) {
            let rows: Vec<String> =
                (0..).zip(&places).map(|(id, (lat, lon))| format!("s{id:03},{lat},{lon}\n")).collect();
            let list = |rows: Vec<String>| {
                Stations::from_csv(format!("id,lat,lon\n{}", rows.concat()).as_bytes()).unwrap()
            };
            let near = Places::Near(Shape { fanout, height });
            let backwards = list(rows.iter().rev().cloned().collect());
            prop_assert_eq!(drawn(&near, &list(rows)), drawn(&near, &backwards));
            let line: Vec<String> =
                (0..).zip(&places).map(|(id, (lat, _))| format!("s{id:03},{lat},0\n")).collect();
            let line = list(line);
            let taxonomy = near.taxonomy(&line).unwrap();
            let lat = |rank: u32| line.on_a_plane().unwrap()[taxonomy.element(rank) as usize].0;
            for group in taxonomy.nodes() {
                let ranks = taxonomy.ranks(group);
                let inside: Vec<i64> = ranks.clone().map(lat).collect();
                let (low, high) = (*inside.iter().min().unwrap(), *inside.iter().max().unwrap());
                let between = (0..taxonomy.n_leaves())
                    .filter(|rank| !ranks.contains(rank))
                    .filter(|&rank| low < lat(rank) && lat(rank) < high);
                prop_assert_eq!(between.count(), 0);
            }
        }
    }
}
