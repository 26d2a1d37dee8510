//! A figure or a table of a paper: ours beside what the paper prints.

use std::fmt::Write;

use serde::ser::{Serialize, Serializer};

use super::runner::Tried;

/// What stands in one cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// A label, or a number as a paper prints it.
    Text(String),
    /// An error, a share or a similarity.
    Figure(f64),
    /// A whole number, or the mean of some.
    Count(f64),
    /// On this machine.
    Seconds(f64),
    /// It was refused, it cannot say this, or the paper prints no number.
    Nothing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(text.to_owned()) }
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Count(number as f64)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Count(f64::from(number))
    }
}

impl Cell {
    fn in_words(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Figure(value) => format!("{value:.4}"),
            Self::Count(value) if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count(value) => format!("{value:.1}"),
            Self::Seconds(value) if *value < 10.0 => format!("{value:.3}"),
            Self::Seconds(value) => format!("{value:.1}"),
            Self::Nothing => "–".to_owned(),
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Figure(value) | Self::Count(value) | Self::Seconds(value) => {
                serializer.serialize_f64(*value)
            }
            Self::Nothing => serializer.serialize_none(),
        }
    }
}

/// What is taken from a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// A metric of the judge that is an error, a share or a similarity.
    Figure(&'static str),
    /// A metric of the judge that counts.
    Count(&'static str),
    /// The engine alone.
    Seconds,
    /// Different trips that it says.
    Rows,
}

/// One figure or table.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Exhibit {
    /// What the paper calls it.
    pub item: &'static str,
    /// What it shows, and under which settings.
    pub title: &'static str,
    pub columns: Vec<&'static str>,
    /// None where it cannot be repeated.
    pub rows: Vec<Vec<Cell>>,
    /// Runs that the program refused, with its reason.
    pub refused: Vec<String>,
    /// Where ours and the paper's differ and why, or why it cannot be repeated.
    pub note: &'static str,
}

impl Exhibit {
    pub(super) fn new(
        item: &'static str,
        title: &'static str,
        columns: &[&'static str],
        note: &'static str,
    ) -> Self {
        let (rows, refused) = (Vec::new(), Vec::new());
        Self { item, title, columns: columns.to_vec(), rows, refused, note }
    }

    /// One that cannot be repeated.
    pub(super) fn missing(item: &'static str, title: &'static str, note: &'static str) -> Self {
        Self::new(item, title, &[], note)
    }

    /// One row as it is.
    pub(super) fn push(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.item);
        self.rows.push(cells);
    }

    /// One row of a run: labels, what is wanted of it, what the paper prints.
    pub(super) fn run(
        &mut self,
        labels: Vec<Cell>,
        tried: &Tried,
        wanted: &[Wanted],
        printed: &[&str],
    ) {
        if let Some(reason) = tried.refusal() {
            let labels: Vec<String> = labels.iter().map(Cell::in_words).collect();
            self.refused.push(format!("{}: {reason}", labels.join(", ")));
        }
        let mut cells = labels;
        cells.extend(wanted.iter().map(|&wanted| tried.cell(wanted)));
        cells.extend(printed.iter().map(|&text| Cell::from(text)));
        self.push(cells);
    }

    /// As markdown.
    pub fn as_markdown(&self) -> String {
        let mut text = format!("### {}: {}\n\n", self.item, self.title);
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        if !self.rows.is_empty() {
            text += &line(self.columns.iter().map(|&name| name.to_owned()).collect());
            text += &line(self.columns.iter().map(|_| "---".to_owned()).collect());
            for row in &self.rows {
                text += &line(row.iter().map(Cell::in_words).collect());
            }
            text.push('\n');
        }
        text += &wrapped(self.note);
        if !self.refused.is_empty() {
            text.push('\n');
        }
        for refused in &self.refused {
            let item = wrapped(&format!("- Refused: {refused}"));
            write!(text, "{}", item.trim_end().replace('\n', "\n  ")).ok();
            text.push('\n');
        }
        text
    }
}

/// Prose in lines that fit a page.
pub(super) fn wrapped(prose: &str) -> String {
    const WIDTH: usize = 116;
    let mut text = String::new();
    let mut width = 0;
    for word in prose.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
    text
}
