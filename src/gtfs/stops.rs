//! `stops.txt`: stops, and the stations that they are parts of.

use std::collections::HashMap;

use super::archive::Archive;
use super::{Error, shown};

/// One row.
pub(super) struct Stop {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) lat: String,
    pub(super) lon: String,
    /// The coordinates as numbers, if both are there.
    pub(super) place: Option<(f64, f64)>,
    parent: Option<usize>,
    /// 0 a stop or platform, 1 a station, 2 an entrance, 3 a node, 4 a boarding area.
    kind: u8,
}

/// All rows, and where each climbs to.
pub(super) struct Stops {
    rows: Vec<Stop>,
    index: HashMap<String, usize>,
    tops: Vec<usize>,
    n_parts: Vec<u32>,
}

impl Stops {
    pub(super) fn read(archive: &mut Archive) -> Result<Self, Error> {
        const FILE: &str = "stops.txt";
        let table = archive.required(FILE)?;
        let failed = |what: String| Error::Table {
            feed: archive.name().to_owned(),
            file: FILE.to_owned(),
            what,
        };
        let (mut rows, mut index, mut parents, mut twice) =
            (Vec::new(), HashMap::new(), Vec::new(), Vec::new());
        let columns =
            ["stop_id", "stop_name", "stop_lat", "stop_lon", "parent_station", "location_type"];
        let read = table.rows(columns, 1, |[id, name, lat, lon, parent, kind]| {
            if index.insert(id.to_owned(), rows.len()).is_some() {
                twice.push(id.to_owned());
            }
            let degrees = |text: &str, most: f64| {
                text.parse::<f64>().ok().filter(|degrees| degrees.abs() <= most)
            };
            let place = degrees(lat, 90.0).zip(degrees(lon, 180.0));
            let written =
                |text: &str| if place.is_some() { text.to_owned() } else { String::new() };
            parents.push(parent.to_owned());
            rows.push(Stop {
                id: id.to_owned(),
                name: name.to_owned(),
                lat: written(lat),
                lon: written(lon),
                place,
                parent: None,
                kind: kind.parse().unwrap_or(0),
            });
        });
        read.map_err(failed)?;
        if let Some(id) = twice.first() {
            return Err(failed(format!("the stop {id:?} is there twice")));
        }
        let mut unknown = Vec::new();
        for (row, parent) in rows.iter_mut().zip(&parents).filter(|(_, parent)| !parent.is_empty())
        {
            row.parent = index.get(parent).copied();
            if row.parent.is_none() {
                unknown.push(parent.as_str());
            }
        }
        if !unknown.is_empty() {
            return Err(failed(format!(
                "parent_station names stops that are not there: {}",
                shown(&unknown)
            )));
        }
        Self::climbed(rows, index, archive.name())
    }

    fn climbed(rows: Vec<Stop>, index: HashMap<String, usize>, feed: &str) -> Result<Self, Error> {
        let mut stops = Self {
            tops: Vec::with_capacity(rows.len()),
            n_parts: vec![0; rows.len()],
            rows,
            index,
        };
        for at in 0..stops.rows.len() {
            let (mut top, mut way) = (at, vec![at]);
            while let Some(parent) = stops.rows[top].parent {
                if way.contains(&parent) {
                    let circle = way.iter().chain([&parent]).map(|&at| stops.rows[at].id.clone());
                    return Err(Error::Circle { feed: feed.to_owned(), circle: circle.collect() });
                }
                way.push(parent);
                top = parent;
            }
            stops.tops.push(top);
            stops.n_parts[top] += u32::from(top != at);
        }
        Ok(stops)
    }

    /// Stops that are part of nothing: stations, and stops of their own. An entrance or a node is neither.
    pub(super) fn tops(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len())
            .filter(|&at| self.tops[at] == at && matches!(self.rows[at].kind, 0 | 1))
    }

    pub(super) fn at(&self, at: usize) -> &Stop {
        &self.rows[at]
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn has_parts(&self, at: usize) -> bool {
        self.n_parts[at] > 0 || self.rows[at].kind == 1
    }

    /// The station of the stop with this id.
    pub(super) fn top_of(&self, id: &str) -> Option<usize> {
        self.index.get(id).map(|&at| self.tops[at])
    }

    /// Every part of these stations with its station.
    pub(super) fn parts_of(&self, chosen: &[usize]) -> Vec<(String, String)> {
        let mut is_chosen = vec![false; self.rows.len()];
        chosen.iter().for_each(|&at| is_chosen[at] = true);
        let is_part = |at: &usize| self.tops[*at] != *at && is_chosen[self.tops[*at]];
        let pair = |at: usize| (self.rows[at].id.clone(), self.rows[self.tops[at]].id.clone());
        (0..self.rows.len()).filter(is_part).map(pair).collect()
    }
}
