//! The measured tables of a release: rows in order, stations and slots that exist, numbers inside their intervals.

use std::fs::File;

use super::super::tables::{
    LENGTHS_CSV, LENGTHS_HEADER, OD_CSV, OD_HEADER, STATIONS_CSV, STATIONS_HEADER,
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
