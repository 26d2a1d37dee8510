//! The public station list: the universe of places, never read off the data.

use std::collections::{BTreeMap, HashMap};

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
        Self::from_numbered((2..).zip(listed).collect())
    }

    fn from_numbered(rows: Vec<(usize, Station)>) -> Result<Self, Vec<String>> {
        let complaints = complaints_about(&rows);
        if !complaints.is_empty() {
            return Err(complaints);
        }
        let listed: Vec<Station> = rows.into_iter().map(|(_, station)| station).collect();
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

    /// Reads CSV with a header; `id` is required, `name,lat,lon,line` are taken if there. GTFS' own names will do.
    pub fn from_csv(text: &[u8]) -> Result<Self, Vec<String>> {
        Self::from_rows(text, None)
    }

    /// Reads CSV without a header, whose columns are these.
    pub fn from_columns(text: &[u8], columns: &[String]) -> Result<Self, Vec<String>> {
        Self::from_rows(text, Some(columns))
    }

    fn from_rows(text: &[u8], columns: Option<&[String]>) -> Result<Self, Vec<String>> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(columns.is_none())
            .from_reader(text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text));
        let names = match columns {
            Some(columns) => columns.to_vec(),
            None => {
                let header = reader.headers().map_err(|error| vec![format!("no header: {error}")]);
                header?.iter().map(|name| name.trim().to_owned()).collect()
            }
        };
        let places = COLUMNS.map(|[own, gtfs]| {
            let place = |wanted: &str| names.iter().position(|name| name == wanted);
            place(own).or_else(|| place(gtfs))
        });
        if places[0].is_none() {
            let what = "the header has no column id (or stop_id); for a file without a header name its columns in \
                        stations.columns";
            return Err(vec![what.to_owned()]);
        }
        let first_row = if columns.is_none() { 2 } else { 1 };
        let mut rows = Vec::new();
        for (number, record) in (first_row..).zip(reader.records()) {
            let record = record.map_err(|error| vec![format!("row {number}: {error}")])?;
            let field = |place: Option<usize>| {
                place.and_then(|place| record.get(place)).unwrap_or("").trim().to_owned()
            };
            let [id, name, lat, lon, line] = places.map(field);
            rows.push((number, Station { id, name, lat, lon, line }));
        }
        Self::from_numbered(joined_interchanges(rows))
    }

    /// The same stations, which records may also call by these names: `(name, id)`. All complaints at once.
    pub fn with_aliases(mut self, aliases: &[(String, String)]) -> Result<Self, Vec<String>> {
        let mut complaints = Vec::new();
        for (alias, id) in aliases {
            let Some(station) = self.index.get(id).copied() else {
                complaints
                    .push(format!("{alias:?}: the station {id:?} is not in the station list"));
                continue;
            };
            match self.index.insert(alias.clone(), station) {
                Some(other) if other != station => complaints.push(format!(
                    "{alias:?} cannot mean {id:?}: it is the name of {:?} already",
                    self.get(other).id
                )),
                _ => {}
            }
        }
        if complaints.is_empty() { Ok(self) } else { Err(complaints) }
    }

    /// The same stations, which records may also call by a known name with or without one of these endings. A name
    /// that is known already keeps its meaning; one that could mean two stations is a complaint.
    pub fn with_suffixes(mut self, suffixes: &[String]) -> Result<Self, Vec<String>> {
        let mut derived: BTreeMap<String, StationIx> = BTreeMap::new();
        let mut complaints = Vec::new();
        let mut known: Vec<(&String, &StationIx)> = self.index.iter().collect();
        known.sort();
        for (name, &station) in known {
            for suffix in suffixes {
                let shorter = name.strip_suffix(suffix.as_str()).filter(|rest| !rest.is_empty());
                for other in [Some(format!("{name}{suffix}")), shorter.map(str::to_owned)] {
                    let Some(other) = other.filter(|other| !self.index.contains_key(other)) else {
                        continue;
                    };
                    match derived.insert(other.clone(), station) {
                        Some(before) if before != station => complaints.push(format!(
                            "{other:?} could mean {:?} or {:?}",
                            self.get(before).id,
                            self.get(station).id
                        )),
                        _ => {}
                    }
                }
            }
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        self.index.extend(derived);
        Ok(self)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        u32::try_from(self.by_id.len()).expect("at most a million stations")
    }

    /// Never true; a list without stations cannot be built.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The station with this id, or with this other name.
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

    /// A digest of every name that a record may have for a station.
    pub fn names_digest(&self) -> Digest {
        let mut names: Vec<String> = self
            .index
            .iter()
            .map(|(name, ix)| format!("{}:{name}{}\n", name.len(), ix.0))
            .collect();
        names.sort();
        Digest::of(names.concat().as_bytes())
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

/// What each column may be called: here, and in GTFS.
const COLUMNS: [[&str; 2]; 5] = [
    ["id", "stop_id"],
    ["name", "stop_name"],
    ["lat", "stop_lat"],
    ["lon", "stop_lon"],
    ["line", "route_id"],
];

/// A station that is listed on several lines is one station; its main line is the first. A row that says the same
/// twice, or gives the station another name, stays: it is a mistake, and a complaint.
fn joined_interchanges(rows: Vec<(usize, Station)>) -> Vec<(usize, Station)> {
    let mut lines: HashMap<String, (String, Vec<String>)> = HashMap::new();
    let mut is_new = |station: &Station| {
        let Station { id, name, line, .. } = station;
        let Some((known, lines)) = lines.get_mut(id) else {
            lines.insert(id.clone(), (name.clone(), vec![line.clone()]));
            return true;
        };
        let is_another_line = !line.is_empty() && !lines.contains(line) && !lines[0].is_empty();
        lines.push(line.clone());
        !is_another_line || known != name
    };
    rows.into_iter().filter(|(_, station)| is_new(station)).collect()
}

fn complaints_about(listed: &[(usize, Station)]) -> Vec<String> {
    let mut complaints = Vec::new();
    if listed.is_empty() {
        complaints.push("the list has no stations".to_owned());
    }
    if listed.len() > Stations::MAX {
        complaints.push(format!("{} stations, but at most {} fit", listed.len(), Stations::MAX));
    }
    let mut seen = HashMap::new();
    for (row, station) in listed {
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
        assert!(Stations::from_csv(b"id,line\na,1\na,1\n").unwrap_err()[0].contains("row 3"));
        assert!(
            Stations::from_csv(b"id,name,line\na,A,1\na,B,2\n").unwrap_err()[0].contains("row 3")
        );
        assert!(Stations::from_csv(b"id\n").unwrap_err()[0].contains("no stations"));
    }

    #[test]
    fn gtfs_names_and_files_without_a_header_are_read() {
        let gtfs = b"\xef\xbb\xbfstop_id,stop_name,stop_lat,stop_lon\na,A,1,2\n";
        let stations = Stations::from_csv(gtfs).unwrap();
        let Station { id, name, lat, lon, line } = stations.get(StationIx(0));
        assert_eq!([id, name, lat, lon, line], ["a", "A", "1", "2", ""]);
        let columns = ["no", "line", "order", "id", "code"].map(str::to_owned);
        let listed =
            Stations::from_columns("1,L1,1,x,01\n2,L2,7,x,02\n2,L2,8,y,03\n".as_bytes(), &columns);
        let stations = listed.unwrap();
        assert_eq!(stations.len(), 2, "an interchange is one station");
        assert_eq!(stations.get(stations.find("x").unwrap()).line, "L1", "its first line");
        assert!(
            Stations::from_columns(b"1,2\n", &columns[..2]).unwrap_err()[0]
                .contains("no column id")
        );
    }

    #[test]
    fn stations_have_other_names() {
        let listed = || Stations::from_csv("id\n罗湖\n深大\n北站\n".as_bytes()).unwrap();
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(alias, id)| ((*alias).to_owned(), (*id).to_owned())).collect()
        };
        let stations =
            listed().with_aliases(&pairs(&[("深圳大学", "深大"), ("罗湖", "罗湖")])).unwrap();
        let stations = stations.with_suffixes(&["站".to_owned()]).unwrap();
        for (name, id) in [
            ("罗湖站", "罗湖"),
            ("罗湖", "罗湖"),
            ("深圳大学站", "深大"),
            ("北", "北站"),
            ("北站站", "北站"),
        ] {
            assert_eq!(
                stations.find(name).map(|ix| stations.get(ix).id.as_str()),
                Some(id),
                "{name}"
            );
        }
        assert_eq!(stations.find("罗"), None);
        let wrong = listed().with_aliases(&pairs(&[("x", "y"), ("罗湖", "深大")])).unwrap_err();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        let two = Stations::from_csv(b"id\nab\nac\n").unwrap();
        let two = two.with_suffixes(&["b".to_owned(), "c".to_owned()]).unwrap_err();
        assert!(two[0].contains("could mean"), "{two:?}");
    }

    #[test]
    fn the_digest_follows_content_and_order() {
        let one = Stations::from_csv(b"id\na\nb\n").unwrap();
        let other = Stations::from_csv(b"id\nb\na\n").unwrap();
        assert_ne!(one.digest(), other.digest());
        assert_eq!(one.digest(), Stations::from_csv(b"id,name\na,\nb,\n").unwrap().digest());
    }
}
