//! paths.parquet: the rows of paths.csv with real lists and times, written and read back column by column.
//!
//! The lists have the three levels that every reader knows (`list`, `element`). Settings are fixed, and no
//! time or version of a library is written down, so the same rows give the same bytes.

use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::Type;

use crate::engine::Row;
use crate::model::PathKind;

use super::paths::Paths;

/// Rows of one row group: few enough to hold, enough for readers to skip.
const GROUP_ROWS: usize = 1 << 17;

const SCHEMA: &str = "message paths {
    required int64 count;
    required group stations (LIST) { repeated group list { required binary element (STRING); } }
    optional group slots (LIST) {
        repeated group list { required int64 element (TIMESTAMP(MILLIS,true)); }
    }
}";

fn schema() -> Arc<Type> {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is a constant and tested"))
}

/// Writes paths.parquet.
pub(super) fn write(paths: &Paths, out: &mut (impl Write + Send)) -> io::Result<()> {
    write_groups(paths, out).map_err(into_io)
}

fn write_groups(paths: &Paths, out: &mut (impl Write + Send)) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("tapveil".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(out, schema(), Arc::new(properties))?;
    let ids: Vec<ByteArray> =
        paths.stations().iter().map(|station| station.id.as_str().into()).collect();
    let mut rows = paths.rows();
    loop {
        let group: Vec<&Row> = rows.by_ref().take(GROUP_ROWS).collect();
        if group.is_empty() {
            break;
        }
        write_group(paths, &ids, &group, &mut writer)?;
    }
    writer.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    paths: &Paths,
    ids: &[ByteArray],
    rows: &[&Row],
    writer: &mut SerializedFileWriter<W>,
) -> Result<()> {
    const COLUMNS: &str = "the schema has three columns";
    let mut group = writer.next_row_group()?;
    let doublets = || rows.iter().flat_map(|row| &row.path);
    let begins: Vec<i16> = rows.iter().flat_map(|row| beginnings(row.path.len())).collect();

    let counts: Vec<i64> = rows
        .iter()
        .map(|row| i64::try_from(row.count).expect("counts above 63 bits were refused"))
        .collect();
    let mut column = group.next_column()?.expect(COLUMNS);
    column.typed::<Int64Type>().write_batch(&counts, None, None)?;
    column.close()?;

    let stations: Vec<ByteArray> =
        doublets().map(|doublet| ids[doublet.station.0 as usize].clone()).collect();
    let mut column = group.next_column()?.expect(COLUMNS);
    let present = vec![1; begins.len()];
    column.typed::<ByteArrayType>().write_batch(&stations, Some(&present), Some(&begins))?;
    column.close()?;

    let mut column = group.next_column()?.expect(COLUMNS);
    match paths.release().input() {
        PathKind::Timed => {
            let window = paths.release().window();
            let first = window.start().as_millisecond();
            let slot_millis = window.slot_secs() * 1_000;
            let slots: Vec<i64> =
                doublets().map(|at| first + slot_millis * i64::from(at.slot)).collect();
            let present = vec![2; begins.len()];
            column.typed::<Int64Type>().write_batch(&slots, Some(&present), Some(&begins))?;
        }
        PathKind::Untimed => {
            let (absent, begins) = (vec![0; rows.len()], vec![0; rows.len()]);
            column.typed::<Int64Type>().write_batch(&[], Some(&absent), Some(&begins))?;
        }
    }
    column.close()?;
    group.close()?;
    Ok(())
}

/// Repetition levels of one list: 0 begins it, 1 goes on.
fn beginnings(n: usize) -> impl Iterator<Item = i16> {
    (0..n).map(|position| i16::from(position > 0))
}

fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// Rows as they stand in paths.csv, taken apart.
#[derive(Default)]
pub(super) struct Table {
    pub(super) counts: Vec<i64>,
    /// Where each row's path ends in the two lists below.
    pub(super) ends: Vec<usize>,
    /// Places in the station list.
    pub(super) stations: Vec<u32>,
    /// Beginnings of slots in milliseconds since 1970; empty for sequences.
    pub(super) millis: Vec<i64>,
}

/// Says how a parquet file differs from the rows; `None` if it holds exactly these.
pub(super) fn difference(
    file: File,
    table: &Table,
    ids: &[String],
    input: PathKind,
) -> Option<String> {
    // The reader is not ours: a crafted file may make it panic, which must not end the verification.
    let compared = catch_unwind(AssertUnwindSafe(|| compare(file, table, ids, input)));
    match compared {
        Ok(Ok(difference)) => difference,
        Ok(Err(error)) => Some(format!("cannot be read: {error}")),
        Err(_) => Some("cannot be read: the reader gave up".to_owned()),
    }
}

fn compare(file: File, table: &Table, ids: &[String], input: PathKind) -> Result<Option<String>> {
    let reader = SerializedFileReader::new(file)?;
    let facts = reader.metadata().file_metadata();
    if facts.schema() != schema().as_ref() {
        return Ok(Some("has another schema than releases have".to_owned()));
    }
    let mut first = 0_usize;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let n = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        let past = match first.checked_add(n) {
            Some(past) if past <= table.counts.len() => past,
            _ => return Ok(Some("has more rows than paths.csv".to_owned())),
        };
        if let Some(column) = compare_group(group.as_ref(), table, first..past, ids, input)? {
            return Ok(Some(format!(
                "has another {column} than paths.csv in rows {first}..{past}"
            )));
        }
        first = past;
    }
    let short = first < table.counts.len();
    Ok(short.then(|| "has fewer rows than paths.csv".to_owned()))
}

fn compare_group(
    group: &dyn RowGroupReader,
    table: &Table,
    rows: std::ops::Range<usize>,
    ids: &[String],
    input: PathKind,
) -> Result<Option<&'static str>> {
    let end_of = |row: usize| row.checked_sub(1).map_or(0, |before| table.ends[before]);
    let doublets = end_of(rows.start)..end_of(rows.end);
    let lengths = rows.clone().map(|row| table.ends[row] - end_of(row));
    let begins: Vec<i16> = lengths.flat_map(beginnings).collect();
    let n = rows.len();

    let ColumnReader::Int64ColumnReader(mut column) = group.get_column_reader(0)? else {
        return Ok(Some("count"));
    };
    let mut counts = Vec::new();
    column.read_records(n, None, None, &mut counts)?;
    if counts != table.counts[rows] {
        return Ok(Some("count"));
    }

    let ColumnReader::ByteArrayColumnReader(mut column) = group.get_column_reader(1)? else {
        return Ok(Some("station"));
    };
    let (mut present, mut starts, mut stations) = (Vec::new(), Vec::new(), Vec::<ByteArray>::new());
    column.read_records(n, Some(&mut present), Some(&mut starts), &mut stations)?;
    let expected = table.stations[doublets.clone()].iter().map(|&at| ids[at as usize].as_bytes());
    if starts != begins || !stations.iter().map(ByteArray::data).eq(expected) {
        return Ok(Some("station"));
    }

    let ColumnReader::Int64ColumnReader(mut column) = group.get_column_reader(2)? else {
        return Ok(Some("slot"));
    };
    let (mut present, mut starts, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    column.read_records(n, Some(&mut present), Some(&mut starts), &mut slots)?;
    let same = match input {
        PathKind::Timed => starts == begins && slots == table.millis[doublets],
        PathKind::Untimed => slots.is_empty() && present == vec![0; n],
    };
    Ok((!same).then_some("slot"))
}
