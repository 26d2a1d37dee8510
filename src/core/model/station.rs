//! The public station list: the universe of places, never read off the data.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::Digest;

/// A station's place in the list ordered by id, so that comparing two of these compares their ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StationIx(pub u32);

/// One station, as the agency publishes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Station {
    /// The id taps carry.
    pub id: String,
    /// For people; may be empty.
    pub name: String,
    /// Latitude as written; may be empty.
    pub lat: String,
    /// Longitude as written; may be empty.
    pub lon: String,
    /// The line or zone it belongs to; may be empty.
    pub line: String,
}

/// All stations of a feed. Not empty, ids unique and printable.
#[derive(Clone, Debug)]
pub struct Stations {
    by_id: Vec<Station>,
    as_listed: Vec<StationIx>,
    /// A fast hash: ids come from the public list, so nobody can choose them to collide.
    index: FxHashMap<String, StationIx>,
}

impl Stations {
    /// Most stations a feed may have; keeps every product of counts inside 64 bits.
    pub const MAX: usize = 1_000_000;

    /// Checks a list; gives all complaints at once.
    pub fn new(listed: Vec<Station>) -> Result<Self, Vec<String>> {
        let complaints = complaints_about(&listed);
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let mut order: Vec<usize> = (0..listed.len()).collect();
        order.sort_by(|&a, &b| listed[a].id.cmp(&listed[b].id));
        let mut as_listed = vec![StationIx(0); listed.len()];
        for (ix, &place) in order.iter().enumerate() {
            as_listed[place] = StationIx(u32::try_from(ix).expect("at most a million stations"));
        }
        let by_id: Vec<Station> = order.into_iter().map(|place| listed[place].clone()).collect();
        let index = (0..).zip(&by_id).map(|(ix, s)| (s.id.clone(), StationIx(ix))).collect();
        Ok(Self { by_id, as_listed, index })
    }

    /// Reads CSV with a header; `id` is required, `name,lat,lon,line` are taken if there.
    pub fn from_csv(text: &[u8]) -> Result<Self, Vec<String>> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
        let headers =
            reader.headers().map_err(|error| vec![format!("no header: {error}")])?.clone();
        let column = |name: &str| {
            headers.iter().position(|h| h.trim().trim_start_matches('\u{feff}') == name)
        };
        let Some(id) = column("id") else {
            return Err(vec!["the header has no column id".to_owned()]);
        };
        let [name, lat, lon, line] = ["name", "lat", "lon", "line"].map(column);
        let mut listed = Vec::new();
        for (row, record) in reader.records().enumerate() {
            let record = record.map_err(|error| vec![format!("row {}: {error}", row + 2)])?;
            let field = |ix: Option<usize>| ix.and_then(|ix| record.get(ix)).unwrap_or("").trim();
            listed.push(Station {
                id: field(Some(id)).to_owned(),
                name: field(name).to_owned(),
                lat: field(lat).to_owned(),
                lon: field(lon).to_owned(),
                line: field(line).to_owned(),
            });
        }
        Self::new(listed)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.by_id.len()).expect("at most a million stations")
    }

    /// Never true; a list without stations cannot be built.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The station with this id.
    pub fn find(&self, id: &str) -> Option<StationIx> {
        self.index.get(id).copied()
    }

    /// The station at this place.
    pub fn get(&self, ix: StationIx) -> &Station {
        &self.by_id[ix.0 as usize]
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Station> {
        self.by_id.iter()
    }

    /// All of them in the order of the list: neighbours on a line are usually neighbours there.
    pub fn as_listed(&self) -> &[StationIx] {
        &self.as_listed
    }

    /// A digest of everything a release can show or depend on, including the listed order.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for &ix in &self.as_listed {
            let Station { id, name, lat, lon, line } = self.get(ix);
            for field in [id, name, lat, lon, line] {
                text.push_str(&format!("{}:{field}", field.len()));
            }
            text.push('\n');
        }
        Digest::of(text.as_bytes())
    }
}

fn complaints_about(listed: &[Station]) -> Vec<String> {
    let mut complaints = Vec::new();
    if listed.is_empty() {
        complaints.push("the list has no stations".to_owned());
    }
    if listed.len() > Stations::MAX {
        complaints.push(format!("{} stations, but at most {} fit", listed.len(), Stations::MAX));
    }
    let mut seen = HashMap::new();
    for (row, station) in listed.iter().enumerate() {
        let row = row + 2;
        let id = &station.id;
        if id.is_empty() {
            complaints.push(format!("row {row}: the id is empty"));
        } else if id.contains(['>', '@']) || id.chars().any(char::is_control) {
            complaints.push(format!(
                "row {row}: the id {id:?} has '>', '@' or a control character, which paths are written with"
            ));
        } else if let Some(first) = seen.insert(id.as_str(), row) {
            complaints.push(format!("row {row}: the id {id:?} stands in row {first} already"));
        }
        for (what, text) in [("id", id), ("name", &station.name), ("line", &station.line)] {
            if text.chars().any(char::is_control) && what != "id" {
                complaints.push(format!("row {row}: the {what} {text:?} has a control character"));
            }
            // Spreadsheets open releases.
            let is_formula = text.starts_with(['=', '+', '-', '@']) && text.parse::<f64>().is_err();
            if is_formula && text.len() > 1 {
                complaints.push(format!(
                    "row {row}: the {what} {text:?} begins like a formula, and spreadsheets would take it for one; write \
                     it otherwise"
                ));
            }
        }
        for (what, value, most) in [("lat", &station.lat, 90.0), ("lon", &station.lon, 180.0)] {
            let fits = value.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most);
            if !value.is_empty() && !fits {
                complaints.push(format!("row {row}: {what} {value:?} is not a number of degrees"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_are_ordered_by_id_and_remember_the_listed_order() {
        let stations = Stations::from_csv(b"id,name,lat,lon,line\nb,B,1,2,x\na,A,,,\n").unwrap();
        assert_eq!(stations.find("a"), Some(StationIx(0)));
        assert_eq!(stations.as_listed(), [StationIx(1), StationIx(0)]);
        assert_eq!(stations.get(StationIx(1)).line, "x");
        assert_eq!(stations.find("c"), None);
    }

    #[test]
    fn names_that_a_terminal_or_a_spreadsheet_would_obey_are_refused() {
        for name in ["=HYPERLINK(1)", "+1+2", "@SUM(A1)", "-cmd", "Bell\u{7}", "two\nlines"] {
            let station =
                Station { id: "a".to_owned(), name: name.to_owned(), ..Station::default() };
            let complaints = Stations::new(vec![station]).unwrap_err();
            assert_eq!(complaints.len(), 1, "{name:?}: {complaints:?}");
        }
        for id in ["-1", "+2.5", "-", "a=b"] {
            let station = Station { id: id.to_owned(), ..Station::default() };
            assert!(Stations::new(vec![station]).is_ok(), "{id:?}");
        }
    }

    #[test]
    fn all_complaints_come_at_once() {
        let text = b"id,lat\na,1\na,2\nb>c,3\n,4\nd,north\n";
        let complaints = Stations::from_csv(text).unwrap_err();
        assert_eq!(complaints.len(), 4, "{complaints:?}");
        assert!(complaints[0].contains("row 3") && complaints[0].contains("row 2"));
        assert!(Stations::from_csv(b"name\nx\n").unwrap_err()[0].contains("no column id"));
        assert!(Stations::from_csv(b"id\n").unwrap_err()[0].contains("no stations"));
    }

    #[test]
    fn the_digest_follows_content_and_order() {
        let one = Stations::from_csv(b"id\na\nb\n").unwrap();
        let other = Stations::from_csv(b"id\nb\na\n").unwrap();
        assert_ne!(one.digest(), other.digest());
        assert_eq!(one.digest(), Stations::from_csv(b"id,name\na,\nb,\n").unwrap().digest());
    }
}
