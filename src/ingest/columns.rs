//! A Parquet file of taps. Columns have the names of fields; what they hold becomes text, as if somebody had written a
//! record: the rest of the way is the same.

use std::borrow::Cow;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::Offset;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::file::Gathered;
use super::format::{MissingColumns, Wanted};
use super::input::Origin;
use super::{Decoder, Error, Settings};
use crate::metrics::Board;
use crate::passenger::Picked;
use crate::window::Gate;

/// Rows that are turned into text together.
const ROWS: usize = 1 << 14;

/// Text of a column's rows; `None` where nothing stands.
type Texts = Vec<Option<String>>;

/// Reads a whole file, its groups of rows on all cores.
pub(super) fn read(
    path: &Path,
    origin: &Origin,
    settings: &Settings,
    gate: &Gate,
    board: &Board,
) -> Result<Vec<Gathered>, Error> {
    let bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
    let n_groups = Table::open(path, origin, settings)?.reader.num_row_groups();
    let one = |group: usize| {
        // Each group through a file of its own: one file has one place where it is read.
        let table = Table::open(path, origin, settings)?;
        let (mut decoder, mut gathered) = (Decoder::new(settings.clone()), Gathered::default());
        table.each(group, origin, settings, &mut |picked| {
            gathered.take(decoder.take(picked), gate);
            true
        })?;
        gathered.tell(board);
        board.read(bytes / n_groups as u64);
        Ok(gathered)
    };
    (0..n_groups).into_par_iter().map(one).collect()
}

/// Every row in its order, until `look` has seen enough.
pub(super) fn look(
    path: &Path,
    origin: &Origin,
    settings: &Settings,
    look: &mut dyn FnMut(&mut Picked<'_>) -> bool,
) -> Result<(), Error> {
    let table = Table::open(path, origin, settings)?;
    for group in 0..table.reader.num_row_groups() {
        if !table.each(group, origin, settings, look)? {
            break;
        }
    }
    Ok(())
}

/// A file with the places of the wanted columns.
struct Table {
    reader: SerializedFileReader<File>,
    wanted: Wanted,
    /// Of each wanted name.
    places: Vec<Option<usize>>,
}

impl Table {
    fn open(path: &Path, origin: &Origin, settings: &Settings) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| origin.failed(error))?;
        let damaged = |error| damaged(origin, error);
        let reader = tried(|| SerializedFileReader::new(file)).map_err(damaged)?;
        let wanted = Wanted::new(settings.format.mapping());
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let place = |name: &String| {
            let way = name.strip_prefix('/').map_or(name.clone(), |way| way.replace('/', "."));
            let is_it = |column: &ColumnDescriptor| {
                column.path().string() == way && column.max_rep_level() == 0
            };
            (0..schema.num_columns()).find(|&place| is_it(&schema.column(place)))
        };
        let places: Vec<Option<usize>> = wanted.names.iter().map(place).collect();
        let required = || (0..places.len()).filter(|index| !wanted.is_optional(*index));
        let named = |index: usize| wanted.names[index].clone();
        let missing: Vec<String> =
            required().filter(|index| places[*index].is_none()).map(named).collect();
        if !missing.is_empty() {
            let columns = MissingColumns {
                wanted: required().map(named).collect(),
                missing,
                remedy: "set feed.fields to the names that the file uses (a column is no list)",
            };
            return Err(Error::Header { path: origin.name.clone(), columns });
        }
        Ok(Self { reader, wanted, places })
    }

    /// Every row of a group; false if `look` has seen enough.
    fn each(
        &self,
        group: usize,
        origin: &Origin,
        settings: &Settings,
        look: &mut dyn FnMut(&mut Picked<'_>) -> bool,
    ) -> Result<bool, Error> {
        let damaged = |error| damaged(origin, error);
        let group = tried(|| self.reader.get_row_group(group)).map_err(damaged)?;
        let mut columns: Vec<Option<Column>> = Vec::new();
        for place in &self.places {
            let column =
                place.map(|place| tried(|| Column::open(group.as_ref(), place))).transpose();
            columns.push(column.map_err(damaged)?);
        }
        loop {
            let mut texts: Vec<Texts> = Vec::new();
            for column in &mut columns {
                let read = column.as_mut().map(|column| tried(|| column.next())).transpose();
                texts.push(read.map_err(damaged)?.unwrap_or_default());
            }
            // The first three columns are always there; all of a group have the same length.
            let n_rows = texts[0].len();
            if n_rows == 0 {
                return Ok(true);
            }
            for row in 0..n_rows {
                let mut values: Vec<Option<Cow<'_, str>>> = texts
                    .iter()
                    .map(|texts| texts.get(row)?.as_deref().map(str::trim).map(Cow::Borrowed))
                    .collect();
                let mut picked = self.wanted.picked(&mut values);
                settings.format.clean(&mut picked);
                if !look(&mut picked) {
                    return Ok(false);
                }
            }
        }
    }
}

struct Column {
    reader: ColumnReader,
    about: std::sync::Arc<ColumnDescriptor>,
}

impl Column {
    fn open(group: &dyn RowGroupReader, place: usize) -> Result<Self, ParquetError> {
        let about = group.metadata().column(place).column_descr_ptr();
        Ok(Self { reader: group.get_column_reader(place)?, about })
    }

    fn next(&mut self) -> Result<Texts, ParquetError> {
        let (about, deepest) = (&self.about, self.about.max_def_level());
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                texts(reader, deepest, |flag| Some(flag.to_string()))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                texts(reader, deepest, |number| is_whole(about).then(|| number.to_string()))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                texts(reader, deepest, |number| match instant(about, *number) {
                    Some(time) => time,
                    None => is_whole(about).then(|| number.to_string()),
                })
            }
            // Nanoseconds since 1970: what Spark wrote before there were timestamps.
            ColumnReader::Int96ColumnReader(reader) => texts(reader, deepest, |time| {
                Timestamp::from_nanosecond(time.to_nanos().into()).ok().map(|time| time.to_string())
            }),
            ColumnReader::FloatColumnReader(reader) => {
                texts(reader, deepest, |number| Some(number.to_string()))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                texts(reader, deepest, |number| Some(number.to_string()))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                texts(reader, deepest, |bytes| bytes.as_utf8().ok().map(str::to_owned))
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                texts(reader, deepest, |bytes| bytes.as_utf8().ok().map(str::to_owned))
            }
        }
    }
}

/// Whether a number means itself: a decimal or a date does not.
fn is_whole(about: &ColumnDescriptor) -> bool {
    !matches!(
        about.logical_type_ref(),
        Some(LogicalType::Decimal(_) | LogicalType::Date | LogicalType::Time(_))
    ) && !matches!(about.converted_type(), ConvertedType::DECIMAL | ConvertedType::DATE)
}

/// The text of a timestamp; `None` if the column holds none, `Some(None)` if there is no such time.
fn instant(about: &ColumnDescriptor, number: i64) -> Option<Option<String>> {
    let (unit, is_utc) = match (about.logical_type_ref(), about.converted_type()) {
        (Some(LogicalType::Timestamp(kind)), _) => (kind.unit, kind.is_adjusted_to_u_t_c),
        (None, ConvertedType::TIMESTAMP_MILLIS) => (TimeUnit::MILLIS, true),
        (None, ConvertedType::TIMESTAMP_MICROS) => (TimeUnit::MICROS, true),
        _ => return None,
    };
    let instant = match unit {
        TimeUnit::MILLIS => Timestamp::from_millisecond(number),
        TimeUnit::MICROS => Timestamp::from_microsecond(number),
        TimeUnit::NANOS => Timestamp::from_nanosecond(number.into()),
    };
    // A time that is not adjusted to UTC is a local one, counted as if it were UTC.
    let text = |instant: Timestamp| match is_utc {
        true => instant.to_string(),
        false => Offset::UTC.to_datetime(instant).to_string(),
    };
    Some(instant.ok().map(text))
}

fn texts<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    deepest: i16,
    text: impl Fn(&T::T) -> Option<String>,
) -> Result<Texts, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (n_rows, ..) = reader.read_records(ROWS, Some(&mut levels), None, &mut values)?;
    if deepest == 0 {
        return Ok(values.iter().map(text).collect());
    }
    let mut values = values.iter();
    let value = |level: &i16| if *level == deepest { values.next().and_then(&text) } else { None };
    Ok(levels.iter().take(n_rows).map(value).collect())
}

/// The reader is not ours: a crafted file may make it panic, which must not end the work.
fn tried<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("the reader gave up".to_owned())))
}

fn damaged(origin: &Origin, error: ParquetError) -> Error {
    let (path, error) = (origin.name.clone(), std::io::Error::other(error));
    Error::Damaged { path, packing: "Parquet", error }
}
