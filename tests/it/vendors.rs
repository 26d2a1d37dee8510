//! Feeds of vendors: other names, other values, packed files. Nothing but configuration.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::support::{City, Run, assert_same_tree, program, run, skipped};

/// A fresh feed with this text in the place of `[feed]` and `[stations]`.
struct Feed(tempfile::TempDir);

impl Feed {
    fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let feed = Self(dir);
        run(["init", feed.path("feed").to_str().unwrap()]).code(0);
        let starter = fs::read_to_string(feed.config()).unwrap();
        let kept: Vec<&str> = starter
            .split_inclusive("\n\n")
            .filter(|part| !part.contains("[feed]") && !part.contains("[stations]"))
            .collect();
        fs::write(feed.config(), format!("{}\n{text}", kept.concat())).unwrap();
        feed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("feed/tapveil.toml")
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn sample(&self, file: &Path) -> Run {
        let mut command = program();
        command.args(["check", "--json", "-c"]).arg(self.config()).arg("--sample").arg(file);
        Run::of(command.output().unwrap())
    }

    fn sanitize(&self, taps: &[&Path], out: &str) -> Run {
        let mut command = program();
        command.args(["sanitize", "--json", "-c"]).arg(self.config());
        command.arg("--out").arg(self.path(out)).arg("--taps").args(taps);
        Run::of(command.output().unwrap())
    }
}

/// What the configuration of a metro of Shenzhen says, whatever its records look like.
fn shenzhen(format: &str, stations: &Path, columns: &str) -> String {
    format!(
        r#"
[feed]
format = "{format}"
time_zone = "Asia/Shanghai"
fields = {{ card = "card_no", time = "deal_date" }}
keep = {{ deal_type = ["地铁入站", "地铁出站"] }}
kind = {{ field = "deal_type", entry = ["地铁入站"], exit = ["地铁出站"] }}
aliases = "../aliases.csv"
station_suffixes = ["站"]

[stations]
file = {stations:?}
{columns}
"#
    )
}

const ALIASES: &str = "alias,station\n深圳大学,深大\n马鞍山,马安山\n?I岭,孖岭\n";
const COLUMNS: &str = "columns = [\"line_no\", \"line\", \"order\", \"id\", \"code\"]";
const BY_LINE: &str = "1,一号线,1,罗湖,0101\n1,一号线,2,世界之窗,0102\n2,二号线,1,世界之窗,0201\n1,一号线,3,深大,0103\n\
                       3,三号线,1,马安山,0301\n3,三号线,2,孖岭,0302\n";

/// Records of the form of Shenzhen's, made up.
const ROWS: &str = "card_no,deal_date,deal_type,deal_money,station\n\
    A,2018-09-01 11:17:31,地铁入站,0,罗湖站\n\
    A,2018-09-01 11:40:00,地铁出站,380,深圳大学\n\
    B,2018-09-01 11:17:55,地铁出站,380,世界之窗\n\
    C,2018-09-01 09:33:50,巴士,160,M506\n\
    D,2018-09-01 10:20:05,地铁入站,0,马鞍山站\n\
    E,2018-09-01 10:20:06,地铁入站,0,\n";

#[test]
fn a_vendors_rows_and_messages_need_configuration_only() {
    for format in ["csv", "json"] {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("by_line.csv");
        fs::write(&list, BY_LINE).unwrap();
        let feed = Feed::new(&shenzhen(format, &list, COLUMNS));
        feed.put("aliases.csv", ALIASES);
        let text = match format {
            "csv" => ROWS.to_owned(),
            _ => ROWS.lines().skip(1).map(as_message).collect(),
        };
        let taps = feed.put("taps", &text);
        let sampled = feed.sample(&taps).code(1).json();
        crate::contract::fits("cli-sample-1.json", &sampled);
        assert_eq!(sampled["private"], true);
        let records = sampled["records"].as_array().unwrap();
        let of = |at: usize, what: &str| {
            records[at]["tap"][what].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(
            [of(0, "station"), of(1, "station"), of(2, "station")],
            ["罗湖", "深大", "世界之窗"]
        );
        assert_eq!([of(0, "kind"), of(1, "kind"), of(4, "station")], ["entry", "exit", "马安山"]);
        assert_eq!(of(0, "time"), "2018-09-01T11:17:31+08:00");
        assert_eq!(records[3]["reject"], "filtered");
        assert_eq!(records[5]["reject"], "missing_field");
        let said = sampled.to_string();
        assert!(
            !said.contains("\"A\"") && !said.contains("card"),
            "a sample never shows a card: {said}"
        );
    }
}

fn as_message(row: &str) -> String {
    let fields: Vec<&str> = row.split(',').collect();
    let station = if fields[4].is_empty() {
        String::new()
    } else {
        format!(",\"station\":\"{}\"", fields[4])
    };
    let [card, time, kind, money] = [fields[0], fields[1], fields[2], fields[3]];
    format!(
        "{{\"card_no\":\"{card}\",\"deal_date\":\"{time}\",\"deal_type\":\"{kind}\",\"deal_money\":\"{money}\"{station}}}\n"
    )
}

/// The city's own files, where they are at hand: of 5,100 records, those without a station cannot be used, and no
/// other.
#[test]
fn both_files_of_shenzhen_need_configuration_only() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = [beside, PathBuf::from("/work/shared/data")]
        .into_iter()
        .map(|data| data.join("shenzhen"))
        .find(|dir| dir.join("fare_rows.csv").is_file());
    let Some(data) = found else {
        skipped("the fare rows of Shenzhen are not here (../shared/data/shenzhen)");
        return;
    };
    for (format, name, taps, missing) in
        [("csv", "fare_rows.csv", 2_437, 209), ("json", "fare_messages.jsonl", 88, 2)]
    {
        let feed = Feed::new(&shenzhen(format, &data.join("stations_by_line.csv"), COLUMNS));
        feed.put("aliases.csv", ALIASES);
        let done = feed.sanitize(&[&data.join(name)], "out").code(0).json();
        let counts = &done["operator_only"];
        assert_eq!(counts["taps"], taps, "{counts}");
        assert_eq!(counts["rejects"]["missing_field"], missing, "{counts}");
        assert_eq!(counts["rejects"]["unknown_station"], 0, "{counts}");
        run(["verify", feed.path("out").to_str().unwrap()]).code(0);
    }
}

#[test]
fn nested_fields_tables_of_values_and_layouts_are_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("stations.csv");
    fs::write(&list, "stop_id,stop_name,stop_lat,stop_lon\ns1,One,1,2\ns2,Two,3,4\n").unwrap();
    let feed = Feed::new(&format!(
        r#"
[feed]
time_zone = "America/Toronto"
fields = {{ card = "/payload/card/id", station = "/payload/gate", time = "/at" }}
keep = {{ "/payload/direction" = ["in", "out"] }}
kind = {{ field = "/payload/direction", entry = ["in"], exit = ["out"] }}
values = {{ "/payload/direction" = {{ "1" = "in", "2" = "out" }}, "/payload/gate" = {{ "G7" = "s1" }} }}
time_layouts = ["%d/%m/%Y %H:%M", "%Y%m%d%H%M%S"]

[stations]
file = {list:?}
"#
    ));
    let taps = feed.put(
        "taps.jsonl",
        r#"{"payload":{"card":{"id":"x1"},"gate":"G7","direction":1},"at":"31/01/2026 07:00"}
{"payload":{"card":{"id":"x1"},"gate":"s2","direction":"2"},"at":"20260131073000"}
{"payload":{"card":{"id":"x1"},"gate":"s2","direction":"3"},"at":"2026-01-31T08:00:00-05:00"}
{"payload":null,"at":"20260131073000"}
{"payload":{"card":{"id":"4111 1111 1111 1111"},"gate":"s2","direction":"out"},"at":"20260131073000"}
"#,
    );
    let sampled = feed.sample(&taps).code(1).json();
    let records = &sampled["records"];
    assert_eq!(records[0]["tap"]["station"], "s1");
    assert_eq!(records[0]["tap"]["time"], "2026-01-31T07:00:00-05:00");
    assert_eq!(records[1]["tap"]["kind"], "exit");
    assert_eq!(records[1]["tap"]["time"], "2026-01-31T07:30:00-05:00");
    assert_eq!(records[2]["reject"], "filtered");
    assert_eq!(records[3]["reject"], "missing_field");
    assert_eq!(records[4]["reject"], "payment_number");
    let text = fs::read_to_string(feed.config()).unwrap();
    fs::write(feed.config(), text.replace("[feed]\n", "[feed]\ncard_is_token = true\n")).unwrap();
    let sampled = feed.sample(&taps).code(1).json();
    assert_eq!(sampled["records"][4]["tap"]["station"], "s2", "a token may look like anything");
}

/// The same taps in every packing, in pieces and through a pipe: the same release, paid once.
#[test]
fn packed_files_pieces_and_pipes_give_the_same_release() {
    let city = City::new();
    city.sanitize("plain", &[]).code(0);
    let text = fs::read(city.path("taps.csv")).unwrap();
    fs::write(city.path("taps.gz"), gzip(&text)).unwrap();
    let half = text[..text.len() / 2].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let header = text.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    let second = [header, &text[half..]].concat();
    // Two members, as `cat a.gz b.gz` makes them; two frames of zstd with one between that has no data.
    fs::write(city.path("two.gz"), [gzip(&text[..half]), gzip(&text[half..])].concat()).unwrap();
    let between = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let frames = [zstd(&text[..half]), between.to_vec(), zstd(&text[half..])].concat();
    fs::write(city.path("taps.zst"), frames).unwrap();
    fs::write(city.path("a.csv"), &text[..half]).unwrap();
    fs::write(city.path("b.zst"), zstd(&second)).unwrap();
    write_parquet(&text, &city.path("taps.parquet"));
    let spent = city.spent_micro();
    for (name, files) in [
        ("gz", vec!["taps.gz"]),
        ("two", vec!["two.gz"]),
        ("zst", vec!["taps.zst"]),
        ("pieces", vec!["b.zst", "a.csv"]),
        ("parquet", vec!["taps.parquet"]),
    ] {
        let mut command = program();
        command.args(["sanitize", "--config"]).arg(city.config()).arg("--out").arg(city.path(name));
        command.arg("--taps").args(files.iter().map(|file| city.path(file)));
        Run::of(command.output().unwrap()).code(0);
        assert_same_tree(&city.path("plain"), &city.path(name));
    }
    let mut piped = program();
    piped.args(["sanitize", "--taps", "-", "--config"]).arg(city.config());
    let mut piped = piped
        .arg("--out")
        .arg(city.path("piped"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(&gzip(&text)).unwrap();
    Run::of(piped.wait_with_output().unwrap()).code(0);
    assert_same_tree(&city.path("plain"), &city.path("piped"));
    assert_eq!(city.spent_micro(), spent, "nothing was paid twice");
}

#[test]
fn damaged_files_are_refused_whole() {
    let city = City::generated(300);
    let text = fs::read(city.path("taps.csv")).unwrap();
    let (gz, zst) = (gzip(&text), zstd(&text));
    write_parquet(&text, &city.path("whole.parquet"));
    let columns = fs::read(city.path("whole.parquet")).unwrap();
    let mut flipped = zst.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    for (name, bytes, words) in [
        ("cut.gz", &gz[..gz.len() - 9], "as gzip it cannot be read"),
        ("short.gz", &gz[..5], "as gzip it cannot be read"),
        ("cut.zst", &zst[..zst.len() - 20], "as zstd it cannot be read"),
        ("flipped.zst", &flipped, "as zstd it cannot be read"),
        ("cut.parquet", &columns[..columns.len() / 2], "as Parquet it cannot be read"),
    ] {
        fs::write(city.path(name), bytes).unwrap();
        let run = city.sanitize_file(name, "out", &[]).code(1);
        assert!(
            run.err.contains(words) && run.err.contains("copy it again"),
            "{name}: {}",
            run.err
        );
        assert!(!city.path("out").exists() && city.spent_micro() == 0, "{name}");
    }
    let dry = city.sanitize_file("cut.gz", "out", &["--dry-run"]);
    assert_eq!(dry.code, 1, "{}", dry.err);
    let mut twice = program();
    twice.args(["sanitize", "--dry-run", "--taps", "-", "--config"]).arg(city.config());
    let twice = Run::of(twice.stdin(Stdio::null()).output().unwrap()).code(2);
    assert!(twice.err.contains("name a file"), "{}", twice.err);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The taps as three columns of text, in groups of rows, packed with gzip.
fn write_parquet(csv: &[u8], path: &Path) {
    let schema = "message taps { required binary card (STRING); optional binary station (STRING); required binary time (STRING); }";
    let properties =
        WriterProperties::builder().set_compression(Compression::GZIP(Default::default())).build();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(
        file,
        Arc::new(parse_message_type(schema).unwrap()),
        Arc::new(properties),
    )
    .unwrap();
    let mut reader = csv::Reader::from_reader(csv);
    let header = reader.headers().unwrap().clone();
    let places =
        ["card", "station", "time"].map(|name| header.iter().position(|one| one == name).unwrap());
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for group in records.chunks(1_000) {
        let mut rows = writer.next_row_group().unwrap();
        for (number, place) in places.into_iter().enumerate() {
            let values: Vec<ByteArray> =
                group.iter().map(|record| ByteArray::from(&record[place])).collect();
            let levels = vec![1; values.len()];
            let mut column = rows.next_column().unwrap().unwrap();
            let levels = (number == 1).then_some(levels.as_slice());
            column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap();
            column.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
}
