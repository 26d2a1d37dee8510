//! The measured tables of a release: rows in order, stations and slots that exist, numbers inside their intervals.

use std::fs::File;

use super::super::tables::{
    ACTIVITIES_CSV, ACTIVITIES_HEADER, FLOWS_CSV, FLOWS_HEADER, LENGTHS_CSV, LENGTHS_HEADER,
    OD_CSV, OD_HEADER, STATIONS_CSV, STATIONS_HEADER,
};
use super::Problem;
use super::content::{KnownStations, Time};
use super::records::Records;

/// Checks every table that is there; each gets at most one problem, the first.
pub(super) fn check(
    open: impl Fn(&str) -> Option<File>,
    known: &KnownStations,
    time: Option<&Time>,
    problems: &mut Vec<Problem>,
) {
    let known = Known { known, time };
    let mut look = |name: &str, header: &[&str], key: &dyn Fn(&[&str]) -> Result<Key, String>| {
        if let Some(file) = open(name)
            && let Err(what) = rows(file, header, key)
        {
            problems.push(Problem::new(name, what));
        }
    };
    look(STATIONS_CSV, &STATIONS_HEADER, &|fields| {
        Ok((known.station(fields[0])?, 0, known.slot(fields[1])?))
    });
    look(OD_CSV, &OD_HEADER, &|fields| {
        Ok((known.station(fields[0])?, known.station(fields[1])?, known.slot(fields[2])?))
    });
    look(LENGTHS_CSV, &LENGTHS_HEADER, &|fields| Ok((0, 0, number(fields[0])?)));
    let pairs = [
        Again {
            name: FLOWS_CSV,
            header: &FLOWS_HEADER,
            columns: [0, 1, 2, 3],
            of: (OD_CSV, &OD_HEADER, [0, 1, 2, 3]),
            some: true,
        },
        Again {
            name: ACTIVITIES_CSV,
            header: &ACTIVITIES_HEADER,
            columns: [1, 1, 2, 7],
            of: (STATIONS_CSV, &STATIONS_HEADER, [0, 0, 1, 2]),
            some: false,
        },
    ];
    for again in pairs {
        if let (Some(file), Some(first)) = (open(again.name), open(again.of.0))
            && let Err(what) = again.check(file, first)
        {
            problems.push(Problem::new(again.name, what));
        }
    }
}

/// A table that says again what another one says.
struct Again {
    name: &'static str,
    header: &'static [&'static str],
    /// Columns that say the same.
    columns: [usize; 4],
    of: (&'static str, &'static [&'static str], [usize; 4]),
    /// Rows may be left out.
    some: bool,
}

impl Again {
    fn check(&self, file: File, first: File) -> Result<(), String> {
        let (name, header, columns) = self.of;
        let (mut rows, mut firsts) =
            (Records::new(file, self.header)?, Records::new(first, header)?);
        let pick = |fields: &[&str], columns: [usize; 4]| {
            columns.map(|column| fields.get(column).copied().unwrap_or_default().to_owned())
        };
        while rows.advance()? {
            let row = pick(&rows.fields(), self.columns);
            loop {
                if !firsts.advance()? {
                    return Err(rows.complaint(&format!("says something that {name} does not say")));
                }
                if pick(&firsts.fields(), columns) == row {
                    break;
                }
                if !self.some {
                    return Err(rows.complaint(&format!("says something else than {name}")));
                }
            }
        }
        match !self.some && firsts.advance()? {
            true => Err(format!("says less than {name}")),
            false => Ok(()),
        }
    }
}

/// What orders the rows of a table.
type Key = (u32, u32, i64);

struct Known<'a> {
    known: &'a KnownStations,
    time: Option<&'a Time>,
}

impl Known<'_> {
    fn station(&self, id: &str) -> Result<u32, String> {
        self.known.index.get(id).copied().ok_or_else(|| format!("no station {id:?}"))
    }

    fn slot(&self, label: &str) -> Result<i64, String> {
        match (self.time, label) {
            (Some(time), label) => time.slot(label),
            (None, "") => Ok(0),
            (None, _) => Err(format!("{label:?} is a slot, but this release has no times")),
        }
    }
}

/// The last three columns are a number and its interval, the others a key that grows from row to row.
fn rows(
    file: File,
    header: &[&str],
    key: &dyn Fn(&[&str]) -> Result<Key, String>,
) -> Result<(), String> {
    let mut reader = Records::new(file, header)?;
    let mut before: Option<Key> = None;
    while reader.advance()? {
        let fields = reader.fields();
        let checked = (|| {
            if fields.len() != header.len() {
                return Err(format!("has {} fields, not {}", fields.len(), header.len()));
            }
            let [.., value, low, high] = fields[..] else { return Err("is too short".to_owned()) };
            let (value, low, high) = (number(value)?, number(low)?, number(high)?);
            if !(low..=high).contains(&value) {
                return Err(format!("{value} lies outside its interval, {low} to {high}"));
            }
            let key = key(&fields)?;
            match before.is_some_and(|before| before >= key) {
                true => Err("is not above the one before".to_owned()),
                false => Ok(key),
            }
        })();
        before = Some(checked.map_err(|what| reader.complaint(&what))?);
    }
    Ok(())
}

fn number(text: &str) -> Result<i64, String> {
    let is_plain =
        text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = text.parse::<i64>().ok().filter(|_| is_plain);
    number.ok_or_else(|| format!("{text:?} is no whole number"))
}
