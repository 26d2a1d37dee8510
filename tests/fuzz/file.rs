//! Files of taps: text, compressed, Avro's containers, Parquet.

use std::fs;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tapveil::ingest::sample;

use crate::driver::{city, corpus, fuzz};

#[test]
fn a_file_of_taps_is_read_or_refused() {
    let (folder, settings) = city();
    let mut corpus = corpus("file");
    let text = corpus.iter().find(|(name, _)| name == "taps.csv").unwrap().1.clone();
    corpus.push((
        "taps.csv.zst".to_owned(),
        compress_to_vec(text.as_slice(), CompressionLevel::Fastest),
    ));
    corpus.push(("taps.parquet".to_owned(), columns()));
    let mut n_read = 0_u64;
    fuzz("file", &corpus, |input| {
        let path = folder.join(input.name);
        fs::write(&path, &input.bytes).unwrap();
        n_read += u64::from(sample(&path.as_path().into(), &settings.ingest(), 100).is_ok());
        fs::remove_file(&path).unwrap();
    });
    assert!(n_read > 0, "some files can be read");
}

fn columns() -> Vec<u8> {
    let schema = "message taps { required binary card (utf8); required binary station (utf8); \
                  required binary time (utf8); }";
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(
        &mut bytes,
        Arc::new(parse_message_type(schema).unwrap()),
        Arc::new(WriterProperties::builder().build()),
    )
    .unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for values in [["c", "d"], ["s", "s"], ["2015-11-09T07:00:00Z", "2015-11-09T08:00:00Z"]] {
        let mut column = rows.next_column().unwrap().unwrap();
        let values = values.map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
    bytes
}
