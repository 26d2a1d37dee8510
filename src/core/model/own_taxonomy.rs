//! A taxonomy that somebody wrote: `id,parent` rows, or indented text. Any shape, even or not.
//!
//! The text knows names only. Which of them are leaves is said by the universe: stations by id, slots by number.

use std::collections::{BTreeMap, BTreeSet};

use super::Digest;

/// Names with their parents, and everything that is wrong with them: nothing comes out of a text with faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnTaxonomy {
    entries: BTreeMap<String, Entry>,
    faults: Vec<Fault>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    line: u64,
    parent: Option<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Fault {
    line: u64,
    what: String,
}

impl Fault {
    fn new(line: u64, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl OwnTaxonomy {
    /// Most groups above one another: every one of them is paid for.
    pub const DEEPEST: usize = 64;

    /// Most complaints that are said one by one.
    const SAID: usize = 20;

    /// Reads CSV with the columns `id` and `parent`, or lines of which each is below the nearest one before it that is
    /// indented less.
    pub fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let mut faults = Vec::new();
        let rows = match columns(text) {
            Some(columns) => table(text, columns, &mut faults),
            None => outline(text, &mut faults),
        };
        if rows.is_empty() && faults.is_empty() {
            faults.push(Fault::new(1, "the file is empty: it names no group and no leaf"));
        }
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        for Row { line, id, parent } in rows {
            if id.is_empty() {
                faults.push(Fault::new(line, "the id is empty"));
            } else if id.chars().any(char::is_control) {
                faults.push(Fault::new(line, format!("{id:?} has characters that cannot be seen")));
            } else if let Some(first) = entries.get(&id) {
                let what = format!("{id:?} stands here twice: first in line {}", first.line);
                faults.push(Fault::new(line, what));
            } else {
                entries.insert(id, Entry { line, parent });
            }
        }
        let mut own = Self { entries, faults };
        let more = own.orphaned().chain(own.ill_founded()).collect::<Vec<_>>();
        own.faults.extend(more);
        own
    }

    /// Parents that have no line.
    fn orphaned(&self) -> impl Iterator<Item = Fault> {
        self.entries.iter().filter_map(|(id, Entry { line, parent })| {
            let parent = parent.as_ref().filter(|parent| !self.entries.contains_key(*parent))?;
            let what = format!("{id:?} is an orphan: its parent {parent:?} has no line of its own");
            Some(Fault::new(*line, what))
        })
    }

    /// Every loop once, and the name that is below too many groups.
    fn ill_founded(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        // How many groups are above a name.
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for id in self.entries.keys() {
            let (mut way, mut on_way) = (Vec::new(), BTreeSet::new());
            let mut next = Some(id.as_str());
            while let Some(at) = next.filter(|at| !known.contains_key(at) && on_way.insert(*at)) {
                way.push(at);
                next = self.parent(at);
            }
            let met_again = next.filter(|at| on_way.contains(at));
            faults.extend(met_again.map(|at| self.said_loop(&way, at)));
            let top = next.and_then(|at| known.get(at)).map_or(0, |above| above + 1);
            for (below, at) in way.into_iter().rev().enumerate() {
                // What leads into a loop has no depth.
                known.insert(at, if met_again.is_some() { 0 } else { top + below });
            }
        }
        let deepest = known.into_iter().max_by_key(|(_, above)| *above);
        if let Some((id, above)) = deepest.filter(|(_, above)| *above > Self::DEEPEST) {
            let most = Self::DEEPEST;
            let what =
                format!("{id:?} is below {above} groups; more than {most} cannot be paid for");
            faults.push(Fault::new(self.entries[id].line, what));
        }
        faults
    }

    /// The way from a name that was met again back to it.
    fn said_loop(&self, way: &[&str], met: &str) -> Fault {
        let start = way.iter().position(|at| *at == met).unwrap_or(0);
        let shown: Vec<&str> = way[start..].iter().take(8).copied().collect();
        let more = if way.len() - start > shown.len() { " < …" } else { "" };
        let line = shown.iter().map(|at| self.entries[*at].line).min().unwrap_or(1);
        Fault::new(line, format!("it goes in a circle: {}{more} < {met}", shown.join(" < ")))
    }

    fn parent(&self, id: &str) -> Option<&str> {
        let parent = self.entries.get(id)?.parent.as_deref()?;
        self.entries.contains_key(parent).then_some(parent)
    }

    /// The groups on the way down to each of these leaves, outermost first. All complaints at once, with their lines:
    /// what is wrong with the text, a leaf that is missing, one that has something below it, a name that is neither a
    /// leaf nor above one. `leaf` says what a leaf is.
    pub fn ways(&self, leaf: &str, leaves: &[String]) -> Result<Vec<Vec<String>>, Vec<String>> {
        let mut faults = self.faults.clone();
        let known: BTreeSet<&str> = leaves.iter().map(String::as_str).collect();
        let mut first_below: BTreeMap<&str, u64> = BTreeMap::new();
        for Entry { line, parent } in self.entries.values() {
            if let Some(parent) = parent {
                let first = first_below.entry(parent).or_insert(*line);
                *first = (*first).min(*line);
            }
        }
        for (id, Entry { line, .. }) in &self.entries {
            match (known.contains(id.as_str()), first_below.get(id.as_str())) {
                (true, Some(below)) => faults.push(Fault::new(
                    *line,
                    format!("{id:?} is both a {leaf} and a group: line {below} is below it"),
                )),
                (false, None) => {
                    let table = "; a table begins with the line id,parent";
                    let hint = if id.contains(',') { table } else { "" };
                    let what = format!("{id:?} is neither a {leaf} nor a group of any{hint}");
                    faults.push(Fault::new(*line, what));
                }
                (true, None) | (false, Some(_)) => {}
            }
        }
        faults.sort();
        let missing: Vec<&str> = leaves
            .iter()
            .map(String::as_str)
            .filter(|leaf| !self.entries.contains_key(*leaf))
            .collect();
        match faults.is_empty() && missing.is_empty() {
            true => Ok(leaves.iter().map(|leaf| self.way(leaf)).collect()),
            false => Err(said(&faults, leaf, &missing)),
        }
    }

    fn way(&self, leaf: &str) -> Vec<String> {
        let above = std::iter::successors(self.parent(leaf), |at| self.parent(at));
        let mut way: Vec<String> = above.map(str::to_owned).collect();
        way.reverse();
        way
    }

    /// A digest of what the text says: the same for a table and an outline that say the same.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for (id, Entry { parent, .. }) in &self.entries {
            let parent = parent.as_deref().unwrap_or_default();
            text.push_str(&format!("{}:{id}{}:{parent}\n", id.len(), parent.len()));
        }
        Digest::of(text.as_bytes())
    }
}

/// Everything that is wrong, in the order of the text.
fn said(faults: &[Fault], leaf: &str, missing: &[&str]) -> Vec<String> {
    let first = faults.iter().take(OwnTaxonomy::SAID);
    let mut said: Vec<String> =
        first.map(|Fault { line, what }| format!("line {line}: {what}")).collect();
    if faults.len() > said.len() {
        said.push(format!("and {} more of these", faults.len() - said.len()));
    }
    match missing {
        [] => {}
        [one] => said.push(format!("the {leaf} {one:?} is missing")),
        several => {
            let shown: Vec<&str> = several.iter().take(5).copied().collect();
            let more = if several.len() > shown.len() { ", …" } else { "" };
            let n = several.len();
            said.push(format!("{n} {leaf}s are missing: {}{more}", shown.join(", ")));
        }
    }
    said
}

struct Row {
    line: u64,
    id: String,
    parent: Option<String>,
}

/// Where `id` and `parent` stand, if the first line is the header of a table.
fn columns(text: &str) -> Option<[usize; 2]> {
    let header: Vec<&str> = text.lines().next()?.split(',').map(str::trim).collect();
    let place = |wanted: &str| header.iter().position(|name| *name == wanted);
    place("id").zip(place("parent")).map(<[usize; 2]>::from)
}

fn table(text: &str, columns: [usize; 2], faults: &mut Vec<Fault>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(1, csv::Position::line);
                faults.push(Fault::new(line, error.to_string()));
                continue;
            }
        };
        let line = record.position().map_or(1, csv::Position::line);
        match columns.map(|place| record.get(place).map(str::trim)) {
            [Some(id), Some(parent)] => {
                let parent = (!parent.is_empty()).then(|| parent.to_owned());
                rows.push(Row { line, id: id.to_owned(), parent });
            }
            _ => {
                let what =
                    "has fewer fields than the header: a name without a parent ends in a comma";
                faults.push(Fault::new(line, what));
            }
        }
    }
    rows
}

fn outline(text: &str, faults: &mut Vec<Fault>) -> Vec<Row> {
    let mut rows = Vec::new();
    // Indent and name of every line that is open.
    let mut open: Vec<(usize, String)> = Vec::new();
    let (mut has_tabs, mut has_spaces) = (false, false);
    for (line, written) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let name = written.trim_start_matches([' ', '\t']);
        let indent = written.len() - name.len();
        has_tabs |= written[..indent].contains('\t');
        has_spaces |= written[..indent].contains(' ');
        if has_tabs && has_spaces && indent > 0 {
            let what = "is indented with tabs where others are with spaces; use one of them";
            faults.push(Fault::new(line, what));
            (has_tabs, has_spaces) = (false, false);
        }
        let is_open = |(before, _): &(usize, String)| *before < indent;
        while open.last().is_some_and(|last| !is_open(last)) {
            open.pop();
        }
        let id = name.trim().to_owned();
        rows.push(Row { line, id: id.clone(), parent: open.last().map(|(_, name)| name.clone()) });
        open.push((indent, id));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(names: &str) -> Vec<String> {
        names.split(' ').map(str::to_owned).collect()
    }

    fn complaints(text: &str, names: &str) -> Vec<String> {
        OwnTaxonomy::read(text).ways("station", &leaves(names)).unwrap_err()
    }

    #[test]
    fn a_table_and_an_outline_say_the_same() {
        let table = "parent,name,id\n,The city,city\ncity,,north\nnorth,,a\nnorth,,b\ncity,,c\n";
        let outline = "\u{feff}city\n  c\n  north\n\n     b\n     a\n";
        let [table, outline] = [table, outline].map(OwnTaxonomy::read);
        let ways = table.ways("station", &leaves("a b c")).unwrap();
        assert_eq!(ways, outline.ways("station", &leaves("a b c")).unwrap());
        assert_eq!(ways, [leaves("city north"), leaves("city north"), leaves("city")]);
        assert_eq!(table.digest(), outline.digest());
        let other = OwnTaxonomy::read("city\n  c\n  north\n    b\na\n");
        assert_ne!(table.digest(), other.digest());
    }

    #[test]
    fn a_loop_an_orphan_a_name_twice_and_a_leaf_that_is_missing_are_said_at_once_with_their_lines()
    {
        let text = "id,parent\nx,y\ny,z\n\nz,x\na,north\na,\nb,c\nc,\nd\nlost,\n";
        assert_eq!(
            complaints(text, "a b c d e"),
            [
                "line 2: it goes in a circle: x < y < z < x",
                "line 6: \"a\" is an orphan: its parent \"north\" has no line of its own",
                "line 7: \"a\" stands here twice: first in line 6",
                "line 9: \"c\" is both a station and a group: line 8 is below it",
                "line 10: has fewer fields than the header: a name without a parent ends in a comma",
                "line 11: \"lost\" is neither a station nor a group of any",
                "2 stations are missing: d, e",
            ]
        );
    }

    #[test]
    fn files_that_are_no_taxonomy_are_refused_in_words() {
        for (text, words) in [
            ("", "line 1: the file is empty"),
            ("\n  \n", "line 1: the file is empty"),
            ("id,parent\n", "line 1: the file is empty"),
            ("id,parent\na,a\n", "line 2: it goes in a circle: a < a"),
            ("id,parent\n ,\na,\n", "line 2: the id is empty"),
            ("north\n\ta\nsouth\n  b\n", "line 4: is indented with tabs where others are"),
            ("a\u{7}\n", "line 1: \"a\\u{7}\" has characters that cannot be seen"),
            ("a,north\n", "a table begins with the line id,parent"),
            ("id,parent\n\"a,\nb,\n", "has fewer fields"),
        ] {
            let said = complaints(text, "a").join("; ");
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }

    #[test]
    fn depth_and_complaints_have_an_end() {
        let chain =
            |n: usize| (0..n).map(|i| format!("{}g{i}\n", " ".repeat(i))).collect::<String>();
        let below = |n: usize| format!("{}{}a\n", chain(n), " ".repeat(n));
        let deepest = OwnTaxonomy::read(&below(64)).ways("station", &leaves("a")).unwrap();
        assert_eq!(deepest[0].len(), 64);
        assert_eq!(
            complaints(&below(65), "a"),
            ["line 66: \"a\" is below 65 groups; more than 64 cannot be paid for"]
        );
        let ring: String = (0..50_000).map(|i| format!("{i},{}\n", (i + 1) % 50_000)).collect();
        let said = complaints(&format!("id,parent\n{ring}"), "a");
        assert!(said[0].contains("it goes in a circle"), "{said:?}");
        let strange: String = (0..500).map(|i| format!("s{i}\n")).collect();
        let said = complaints(&strange, "a b");
        assert_eq!(said.len(), 22);
        assert_eq!(said[20..], ["and 480 more of these", "2 stations are missing: a, b"]);
    }
}
