use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value as Avro;
use apache_avro::writer::datum::GenericDatumWriter;
use apache_avro::{Codec, DeflateSettings, Schema as Theirs, Writer};
use proptest::prelude::*;

use super::super::tests::built_for;
use super::super::{KeepRule, KindRule};
use super::*;

/// What a vendor's schema is like: wanted fields among others, in unions, enums and nested records.
const SCHEMA: &str = r#"{
  "type": "record", "name": "Tap", "namespace": "vendor.fares", "fields": [
    { "name": "version", "type": "int" },
    { "name": "tags", "type": { "type": "array", "items": ["null", "string"] } },
    { "name": "card", "type": { "type": "record", "name": "Card", "fields": [
        { "name": "id", "type": ["null", "string"] },
        { "name": "balance", "type": { "type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2 } } ] } },
    { "name": "extra", "type": { "type": "map", "values": { "type": "array", "items": "long" } } },
    { "name": "at", "type": { "type": "long", "logicalType": "timestamp-millis" } },
    { "name": "gate", "type": ["null", { "type": "record", "name": "Gate", "fields": [
        { "name": "serial", "type": { "type": "fixed", "name": "Serial", "size": 4 } },
        { "name": "station", "type": "string" } ] }] },
    { "name": "direction", "type": { "type": "enum", "name": "Direction", "symbols": ["IN", "OUT", "OTHER"] } },
    { "name": "previous", "type": ["null", "Tap"] },
    { "name": "fare", "type": "double" },
    { "name": "peak", "type": "boolean" } ]
}"#;

fn mapping() -> Mapping {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Mapping {
        kind: Some(KindRule {
            field: "direction".to_owned(),
            entry: words(&["IN"]),
            exit: words(&["OUT"]),
        }),
        keep: vec![KeepRule { field: "peak".to_owned(), values: words(&["true"]) }],
        ..Mapping::of_fields("/card/id", "/gate/station", "at")
    }
}

fn of_schema(schema: &str, mapping: Mapping) -> Arc<dyn Format> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tap.avsc");
    std::fs::write(&path, schema).unwrap();
    let feed = json!({ "avro": { "schema": path } }).to_string();
    built_for("avro", &feed, mapping).unwrap()
}

/// A value of the schema.
#[derive(Clone, Debug)]
struct Made {
    card: Option<String>,
    station: Option<String>,
    millis: i64,
    direction: usize,
    peak: bool,
    tags: Vec<Option<String>>,
    extra: Vec<(String, Vec<i64>)>,
    depth: u8,
}

impl Made {
    fn value(&self) -> Avro {
        let text = |text: &Option<String>| match text {
            None => Avro::Union(0, Box::new(Avro::Null)),
            Some(text) => Avro::Union(1, Box::new(Avro::String(text.clone()))),
        };
        let record = |fields: Vec<(&str, Avro)>| {
            Avro::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        };
        let gate = match &self.station {
            None => Avro::Union(0, Box::new(Avro::Null)),
            Some(station) => Avro::Union(
                1,
                Box::new(record(vec![
                    ("serial", Avro::Fixed(4, vec![1, 2, 3, 4])),
                    ("station", Avro::String(station.clone())),
                ])),
            ),
        };
        let previous = match self.depth {
            0 => Avro::Union(0, Box::new(Avro::Null)),
            depth => Avro::Union(1, Box::new(Self { depth: depth - 1, ..self.clone() }.value())),
        };
        let extra = self.extra.iter().map(|(key, list)| {
            (key.clone(), Avro::Array(list.iter().map(|number| Avro::Long(*number)).collect()))
        });
        let symbol = ["IN", "OUT", "OTHER"][self.direction];
        record(vec![
            ("version", Avro::Int(7)),
            ("tags", Avro::Array(self.tags.iter().map(text).collect())),
            (
                "card",
                record(vec![
                    ("id", text(&self.card)),
                    ("balance", Avro::Decimal(vec![1, 2].into())),
                ]),
            ),
            ("extra", Avro::Map(extra.collect())),
            ("at", Avro::TimestampMillis(self.millis)),
            ("gate", gate),
            ("direction", Avro::Enum(u32::try_from(self.direction).unwrap(), symbol.to_owned())),
            ("previous", previous),
            ("fare", Avro::Double(2.75)),
            ("peak", Avro::Boolean(self.peak)),
        ])
    }

    fn message(&self) -> Vec<u8> {
        let schema = Theirs::parse_str(SCHEMA).unwrap();
        let writer = GenericDatumWriter::builder(&schema).build().unwrap();
        [vec![0, 0, 0, 0, 9], writer.write_value_to_vec(self.value()).unwrap()].concat()
    }
}

fn made() -> impl Strategy<Value = Made> {
    let text = || proptest::option::of("[a-zé]{0,8}");
    (
        (text(), text(), -4_000_000_000_000_i64..4_000_000_000_000, 0..3_usize, any::<bool>()),
        prop::collection::vec(text(), 0..4),
        prop::collection::vec(("[a-z]{1,4}", prop::collection::vec(any::<i64>(), 0..4)), 0..3),
        0..3_u8,
    )
        .prop_map(|((card, station, millis, direction, peak), tags, extra, depth)| Made {
            card,
            station,
            millis,
            direction,
            peak,
            tags,
            extra,
            depth,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What the library writes, we read: the wanted fields, and not a byte more.
    #[test]
    fn the_library_agrees_on_every_wanted_field(made in made()) {
        let format = of_schema(SCHEMA, mapping());
        let message = made.message();
        let picked = format.pick(&message).unwrap();
        prop_assert_eq!(&*picked.card, made.card.as_deref().unwrap_or("").trim());
        prop_assert_eq!(&*picked.station, made.station.as_deref().unwrap_or("").trim());
        prop_assert_eq!(picked.kind.as_deref(), Some(["IN", "OUT", "OTHER"][made.direction]));
        prop_assert_eq!(picked.filter_values[0].as_deref(), Some(if made.peak { "true" } else { "false" }));
        let mut reader = crate::ingest::time::TimeReader::new(None);
        let instant = reader.read(&picked.time).unwrap();
        prop_assert_eq!(instant.as_millisecond(), made.millis, "{}", picked.time);
    }

    /// A message that is cut, lengthened or changed is read or refused, never a panic and never half a record.
    #[test]
    fn broken_messages_are_rejects(made in made(), cut in any::<prop::sample::Index>(), flip in any::<u8>()) {
        let format = of_schema(SCHEMA, mapping());
        let message = made.message();
        let at = cut.index(message.len());
        prop_assert!(format.pick(&message[..at]).is_err());
        prop_assert_eq!(format.pick(&[&message[..], b"x"].concat()).err(), Some(Reject::Malformed));
        let mut changed = message.clone();
        changed[at] ^= flip;
        drop(format.pick(&changed));
    }

    /// What we write with a vendor's schema, the library reads as the same record.
    #[test]
    fn the_library_reads_what_we_write(card in "[a-z]{1,9}", station in "[a-z]{1,9}", secs in 0..4_000_000_000_i64) {
        let format = of_schema(SCHEMA, mapping());
        let time = jiff::Timestamp::from_second(secs).unwrap().to_string();
        let message = format.encode(&format.mapping().sample(&card, &station, &time));
        prop_assert_eq!(&message[..5], &[0, 0, 0, 0, 1]);
        let schema = Theirs::parse_str(SCHEMA).unwrap();
        let value = GenericDatumReader::builder(&schema).build().unwrap().read_value(&mut &message[5..]).unwrap();
        let Avro::Record(fields) = value else { return Err(TestCaseError::fail("no record")) };
        let at = fields.iter().find(|(name, _)| name == "at").unwrap();
        prop_assert_eq!(&at.1, &Avro::TimestampMillis(secs * 1_000));
        let picked = format.pick(&message).unwrap();
        prop_assert_eq!((&*picked.card, &*picked.station), (card.as_str(), station.as_str()));
    }
}

/// Bytes of the specification's own example: a record of the long 27 and the string "foo".
#[test]
fn the_specifications_example_is_read() {
    let schema = r#"{"type":"record","name":"test","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]}"#;
    let format = of_schema(schema, Mapping::of_fields("b", "b", "a"));
    let picked = format.pick(&[0, 0, 0, 0, 1, 0x36, 0x06, 0x66, 0x6f, 0x6f]).unwrap();
    assert_eq!((&*picked.card, &*picked.station, &*picked.time), ("foo", "foo", "27"));
}

#[test]
fn values_that_cannot_be_kept_exactly_are_no_ids() {
    let schema = |kind: &str| {
        format!(r#"{{"type":"record","name":"t","fields":[{{"name":"card","type":{kind}}}]}}"#)
    };
    for (kind, bytes, expected) in [
        ("\"double\"", vec![0; 8], Err(Reject::Malformed)),
        ("\"boolean\"", vec![1], Err(Reject::Malformed)),
        ("{\"type\":\"array\",\"items\":\"int\"}", vec![0], Err(Reject::Malformed)),
        ("\"bytes\"", vec![4, 0xff, 0x0a], Ok("ff0a")),
        ("{\"type\":\"fixed\",\"name\":\"uid\",\"size\":2}", vec![0, 0xab], Ok("00ab")),
        ("\"int\"", vec![1], Ok("-1")),
        ("\"string\"", vec![2, 0xff], Err(Reject::NotUtf8)),
        ("\"null\"", vec![], Ok("")),
    ] {
        let format = of_schema(&schema(kind), Mapping::of_fields("card", "station", "time"));
        let message = [vec![0, 0, 0, 0, 1], bytes].concat();
        let card = format.pick(&message).map(|picked| picked.card.into_owned());
        assert_eq!(card, expected.map(str::to_owned), "{kind}");
    }
    let format = of_schema(&schema("\"string\""), Mapping::of_fields("card", "station", "time"));
    assert_eq!(format.pick(b"").err(), Some(Reject::Empty));
    assert_eq!(format.pick(b"{\"card\":1}").err(), Some(Reject::Malformed));
    assert_eq!(format.pick(&vec![0; RECORD_BYTES_MAX + 1]).err(), Some(Reject::TooLong));
    // A list of a thousand million nothings.
    let list =
        of_schema(&schema(r#"{"type":"array","items":"null"}"#), Mapping::of_fields("x", "y", "z"));
    let bomb = [0, 0, 0, 0, 1, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0];
    assert!(list.pick(&bomb).is_ok(), "counted at once");
}

#[test]
fn schemas_that_cannot_be_read_are_complaints() {
    for (schema, words) in [
        ("{", "not JSON"),
        (r#"{"type":"record","name":"t"}"#, "has no fields"),
        (
            r#"{"type":"record","name":"t","fields":[{"name":"a","type":"other"}]}"#,
            "\"other\" is not known",
        ),
        (r#"{"type":"fixed","name":"t"}"#, "has no size"),
        (
            r#"["null",{"type":"enum","name":"e","symbols":["A"]},{"type":"enum","name":"e","symbols":["A"]}]"#,
            "twice",
        ),
        ("7", "no type"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, schema).unwrap();
        let feed = json!({ "avro": { "schema": path } }).to_string();
        let complaints = built_for("avro", &feed, mapping()).unwrap_err();
        assert!(
            complaints[0].starts_with("feed.avro.schema: ") && complaints[0].contains(words),
            "{complaints:?}"
        );
    }
    for (feed, key) in [
        (r#"{"avro":{"schema":"nowhere.avsc"}}"#, "feed.avro.schema"),
        (r#"{"avro":{"registry":"registry:8081"}}"#, "feed.avro.registry"),
        (r#"{"avro":{"registry_user":"me"}}"#, "feed.avro.registry"),
        (r#"{"avro":{"registry":"http://r","registry_user":"me"}}"#, "feed.avro.registry_user"),
        (
            r#"{"avro":{"registry":"http://r","registry_user":"me","registry_password_file":"nowhere"}}"#,
            "feed.avro.registry_password_file",
        ),
    ] {
        let complaints = built_for("avro", feed, mapping()).unwrap_err();
        assert!(complaints[0].starts_with(&format!("{key}: ")), "{feed}: {complaints:?}");
    }
}

/// Containers of the library, plain and packed.
#[test]
fn containers_are_read_with_their_own_schema() {
    let schema = Theirs::parse_str(SCHEMA).unwrap();
    let one = |card: &str| Made {
        card: Some(card.to_owned()),
        station: Some("s".to_owned()),
        millis: 1_447_074_000_000,
        direction: 0,
        peak: true,
        tags: vec![None],
        extra: Vec::new(),
        depth: 1,
    };
    for codec in [Codec::Null, Codec::Deflate(DeflateSettings::default())] {
        let mut writer = Writer::with_codec(&schema, Vec::new(), codec).unwrap();
        for number in 0..3 {
            writer.append_value(one(&format!("c{number}")).value()).unwrap();
            writer.flush().unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let mut cards = Vec::new();
        let read = crate::ingest::container::tests_look(bytes.clone(), &mapping(), &mut |picked| {
            cards.push(picked.card.to_string());
            true
        });
        read.unwrap();
        assert_eq!(cards, ["c0", "c1", "c2"]);
        let cut = crate::ingest::container::tests_look(
            bytes[..bytes.len() - 3].to_vec(),
            &mapping(),
            &mut |_| true,
        );
        assert!(cut.unwrap_err().to_string().contains("is damaged: as Avro"));
    }
}

#[cfg(feature = "kafka")]
mod registry;
