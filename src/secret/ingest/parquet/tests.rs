//! Parquet against the same rows as text, and files made to harm.
#![allow(clippy::unwrap_used)]

use super::super::memory::Memory;
use super::super::tests::{codes, column, in_order, labels, lenient, spec, with_unit};
use super::super::{Origin, Piped, Rows, files_of, read};
use super::*;
use crate::cube::{Cuboid, NoValue, Quantity, Weighing};
use crate::numeric::tries::tries;
use crate::plan::Table;
use crate::secret::ingest::Means;
use crate::spec::{AmountSpec, Coding, Format, Spec};
use ::parquet::basic::{GzipLevel, ZstdLevel};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96, Int96Type,
};
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// Writes the next column of a row group; nulls only where the schema says `optional`.
fn put<T: DataType>(group: &mut Group<'_>, cells: &[Option<T::T>]) {
    let mut writer = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = cells.iter().map(|cell| cell.is_some().into()).collect();
    let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
    writer.close().unwrap();
}

fn write(
    path: &Path,
    schema: &str,
    properties: WriterPropertiesBuilder,
    groups: usize,
    mut fill: impl FnMut(usize, &mut Group<'_>),
) {
    let schema = Arc::new(parse_message_type(&format!("message rows {{ {schema} }}")).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for at in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        fill(at, &mut group);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

const SCHEMA: &str = "optional binary who (UTF8); optional binary sex (UTF8); required binary raw; \
    optional int32 age; optional int32 big (UINT_32); required int64 year; optional int64 huge (INTEGER(64,false)); \
    optional int64 code; optional double pay; optional float rate; optional boolean flag; optional binary unread (JSON);";

/// Row `i` of the example, the same as text and in Parquet's types.
fn value(i: usize, column: usize) -> Option<usize> {
    let hash = (i * 12 + column).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    (!hash.is_multiple_of(5)).then_some(hash / 5)
}
fn sex(i: usize) -> Option<&'static str> {
    value(i, 1).map(|v| ["a", "é", "", "alien"][v % 4])
}
fn pay(i: usize) -> Option<f64> {
    value(i, 8).map(|v| [0.1, 20.0, 1e-7, 1e22, -0.0, f64::NAN, f64::INFINITY, 999.999][v % 8])
}
fn rate(i: usize) -> Option<f32> {
    value(i, 9).map(|v| [0.1, 0.3, 1.0, 1e10][v % 4])
}
fn big(i: usize) -> Option<u32> {
    value(i, 4).map(|v| u32::MAX - (v % 3) as u32)
}
fn huge(i: usize) -> Option<u64> {
    value(i, 6).map(|v| u64::MAX - (v % 3) as u64)
}

fn fill(rows: std::ops::Range<usize>, group: &mut Group<'_>) {
    let rows = || rows.clone();
    let text = |text: String| ByteArray::from(text.into_bytes());
    put::<ByteArrayType>(group, &rows().map(|i| Some(text(format!("unit {}", i % 97)))).collect::<Vec<_>>());
    put::<ByteArrayType>(group, &rows().map(|i| sex(i).map(|s| text(s.into()))).collect::<Vec<_>>());
    put::<ByteArrayType>(group, &rows().map(|i| Some(text(format!("r{}", i % 3)))).collect::<Vec<_>>());
    put::<Int32Type>(group, &rows().map(|i| value(i, 3).map(|v| (v % 120) as i32)).collect::<Vec<_>>());
    put::<Int32Type>(group, &rows().map(|i| big(i).map(u32::cast_signed)).collect::<Vec<_>>());
    put::<Int64Type>(group, &rows().map(|i| Some(1900 + (i % 90) as i64)).collect::<Vec<_>>());
    put::<Int64Type>(group, &rows().map(|i| huge(i).map(u64::cast_signed)).collect::<Vec<_>>());
    put::<Int64Type>(group, &rows().map(|i| value(i, 7).map(|v| -((v % 4) as i64))).collect::<Vec<_>>());
    put::<DoubleType>(group, &rows().map(pay).collect::<Vec<_>>());
    put::<FloatType>(group, &rows().map(rate).collect::<Vec<_>>());
    put::<BoolType>(group, &rows().map(|i| value(i, 10).map(|v| v % 2 == 0)).collect::<Vec<_>>());
    put::<ByteArrayType>(group, &rows().map(|_| None).collect::<Vec<_>>());
}

fn as_csv(rows: usize) -> String {
    let mut csv = "who,sex,raw,age,big,year,huge,code,pay,rate,flag,unread\n".to_string();
    fn show(value: Option<impl ToString>) -> String {
        value.map_or(String::new(), |v| v.to_string())
    }
    for i in 0..rows {
        let line = [
            format!("unit {}", i % 97),
            show(sex(i)),
            format!("r{}", i % 3),
            show(value(i, 3).map(|v| v % 120)),
            show(big(i)),
            (1900 + i % 90).to_string(),
            show(huge(i)),
            show(value(i, 7).map(|v| if v % 4 == 0 { "0".into() } else { format!("-{}", v % 4) })),
            show(pay(i)),
            show(rate(i)),
            show(value(i, 10).map(|v| v % 2 == 0)),
        ];
        csv += &(line.join(",") + ",\n");
    }
    csv
}

fn example() -> Spec {
    let strict =
        [labels("raw", &["r0", "r1", "r2"]), column("year", 90, Coding::Range { lo: 1900, hi: 1989 })];
    let top = i64::from(u32::MAX);
    let lenient_ones = [
        labels("sex", &["a", "é", "b"]),
        column("age", 100, Coding::Range { lo: 0, hi: 99 }),
        column("big", 2, Coding::Range { lo: top - 1, hi: top }),
        labels("huge", &["18446744073709551615", "18446744073709551614"]),
        labels("code", &["0", "-1", "-3"]),
        column("pay", 4, Coding::Bins { edges: vec![0.0, 0.1, 20.0, 999.999, 1e22] }),
        column("rate", 300, Coding::Bins { edges: (0..=300).map(|e| f64::from(e) / 100.0).collect() }),
        labels("flag", &["true"]),
    ];
    spec(strict.into_iter().chain(lenient_ones.map(lenient)))
}

#[test]
fn equals_the_same_csv() {
    const ROWS: usize = 10_000;
    let dir = TempDir::new().unwrap();
    let (csv, parquet) = (dir.path().join("rows.csv"), dir.path().join("rows.parquet"));
    std::fs::write(&csv, as_csv(ROWS)).unwrap();
    for spec in [example(), with_unit(example(), "who", 3)] {
        let expected = in_order(&spec, codes(&read(&spec, &csv, &Means::default()).unwrap()));
        assert!(expected.len() == ROWS || expected.len() == 97 * 3);
        let new = WriterProperties::builder;
        let variants = [
            (1, new()),
            (
                3,
                new()
                    .set_dictionary_enabled(false)
                    .set_data_page_row_count_limit(100)
                    .set_write_batch_size(64),
            ),
            (3, new().set_compression(Compression::SNAPPY).set_writer_version(WriterVersion::PARQUET_2_0)),
            (
                7,
                new()
                    .set_compression(Compression::GZIP(GzipLevel::default()))
                    .set_dictionary_enabled(false)
                    .set_writer_version(WriterVersion::PARQUET_2_0),
            ),
            (2, new().set_compression(Compression::ZSTD(ZstdLevel::default()))),
            (2, new().set_compression(Compression::LZ4_RAW)),
        ];
        for (groups, properties) in variants {
            let cut = |at: usize| at * ROWS / groups;
            write(&parquet, SCHEMA, properties, groups, |at, group| fill(cut(at)..cut(at + 1), group));
            assert_eq!(in_order(&spec, codes(&read(&spec, &parquet, &Means::default()).unwrap())), expected);
        }
    }
}

/// One long value among many short ones is refused by its page's header where memory is limited, before it is unpacked; so are long ones in
/// many columns. A draft needs no limit for that.
#[test]
fn long_values_among_short_ones() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("long.parquet");
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let schema = names.map(|name| format!("required binary {name} (UTF8);")).concat();
    let made = |version: WriterVersion, rows: usize, long: usize, columns: usize| {
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .set_data_page_row_count_limit(1000)
            .set_write_batch_size(500);
        write(&path, &schema, properties, 1, |_, group| {
            for at in 0..names.len() {
                let mut cells = vec![Some(ByteArray::from("s")); rows];
                if at < columns {
                    cells[rows / 2] = Some("s".repeat(long).as_str().into());
                }
                put::<ByteArrayType>(group, &cells);
            }
        });
        assert!(std::fs::metadata(&path).unwrap().len() < 1 << 20, "it is small on the disk");
    };
    let spec = spec(names.map(|name| lenient(labels(name, &["s"]))));
    let refused = |limit: u64| {
        let means = Means { memory: Memory::at_most(limit), ..Means::default() };
        read(&spec, &path, &means).err().map(|e| e.to_string())
    };
    let long = "the Parquet file has values that are too long for the limit of memory";
    let wide = "the Parquet file has long values in more columns than the limit of memory has room for on so many threads";
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        // A hundred bytes a value, on average.
        made(version, 100_000, 10 << 20, 1);
        assert_eq!(refused(60 << 20).as_deref(), Some(long));
        assert_eq!(refused(400 << 20), None);
        made(version, 100_000, 2, 8);
        assert_eq!(refused(60 << 20), None);
        made(version, 1000, 10 << 20, 8);
        assert_eq!(refused(100 << 20).as_deref(), Some(wide));
        assert_eq!(refused(rayon::current_num_threads() as u64 * (140 << 20)), None);
    }
    made(WriterVersion::PARQUET_1_0, 1000, 70 << 20, 1);
    let [file] = &files_of(None, Origin::from(&path)).unwrap()[..] else { panic!() };
    let drafted = all::all(file, Ok::<_, IngestError>, |_, _| ());
    let endless = "the Parquet file has values that are too long to draft a spec of";
    assert_eq!(drafted.unwrap_err().to_string(), endless);
}

/// Who drafts a spec is told of a packing that this build does not know as who makes a release is. No such file can be written here: one says of itself that it
/// is packed by Brotli.
#[test]
fn unknown_packings_are_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    write(&path, "required binary x (UTF8);", WriterProperties::builder(), 1, |_, group| {
        put::<ByteArrayType>(group, &[Some("a".into())]);
    });
    let mut bytes = std::fs::read(&path).unwrap();
    // In the description of the column: a list of one name, `x`, and behind it the packing, which is none.
    let plain = b"\x19\x18\x01x\x15\x00";
    let at = bytes.windows(plain.len()).rposition(|part| part == plain).unwrap();
    bytes[at + plain.len() - 1] = 8;
    std::fs::write(&path, bytes).unwrap();
    let unknown = "the Parquet file is compressed with LZO or Brotli, which this build does not know";
    let [file] = &files_of(None, Origin::from(&path)).unwrap()[..] else { panic!() };
    let drafted = all::all(file, Ok::<_, IngestError>, |_, _| ());
    assert_eq!(drafted.unwrap_err().to_string(), unknown);
    bad(&spec([labels("x", &["a"])]), &path, unknown);
}

/// One text column `x` and one whole-number column `n`, two row groups of two rows.
fn small(path: &Path) {
    write(
        path,
        "optional binary x (UTF8); optional int32 n;",
        WriterProperties::builder(),
        2,
        |at, group| {
            let text = if at == 0 { "a" } else { "MARS" };
            put::<ByteArrayType>(group, &[Some("a".into()), Some(text.into())]);
            put::<Int32Type>(group, &[Some(1), None]);
        },
    );
}

#[track_caller]
fn bad(spec: &Spec, path: &Path, expected: &str) {
    let error = read(spec, path, &Means::default()).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains("MARS"), "{error:?}");
}

#[test]
fn errors() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    small(&path);
    let strict = "and the dimension has no";
    let x = || labels("x", &["a"]);
    let n = || column("n", 2, Coding::Range { lo: 0, hi: 1 });
    bad(
        &spec([x()]),
        &path,
        &format!("row 4, column \"x\": the value is outside the domain, {strict} `other`"),
    );
    bad(&spec([n()]), &path, &format!("row 2, column \"n\": the cell is empty, {strict} `missing`"));
    let unit = with_unit(spec([lenient(x())]), "n", 1);
    bad(&unit, &path, "row 2, column \"n\": the cell is empty, so the row belongs to no unit of privacy");
    let (mut dimension, column_x) = x();
    dimension.name = "y".into();
    let absent = || crate::spec::Column { column: "nn".into(), ..column_x.clone() };
    bad(
        &spec([(dimension, absent())]),
        &path,
        "the data has no column \"nn\" among its 2 (a file without a header row needs \
        `columns` in the spec)",
    );

    let bytes = std::fs::read(&path).unwrap();
    let unreadable =
        "the Parquet file has no readable footer: it is cut short, encrypted, or not Parquet at all";
    for junk in [&b""[..], b"MARS", b"x,n\nMARS,1\n", &bytes[..bytes.len() - 1], &bytes[..bytes.len() / 2]] {
        std::fs::write(&path, junk).unwrap();
        bad(&spec([x()]), &path, unreadable);
    }
    // What is something else is told by its beginning, for releases and for drafts.
    let json = "the data file is JSON, not delimited text: write it as CSV or Parquet: duckdb -c \"COPY (FROM 'FILE') TO 'rows.parquet'\"";
    std::fs::write(&path, b"[{\"x\": \"MARS\", \"n\": 1}]\n").unwrap();
    bad(&spec([x()]), &path, json);
    let [file] = &files_of(None, Origin::from(&path)).unwrap()[..] else { panic!() };
    let drafted = all::all(file, Ok::<_, IngestError>, |_, _| ());
    assert_eq!(drafted.unwrap_err().to_string(), json);
}

#[test]
fn types_must_fit() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    let schema = "required double f; required boolean b; required int32 d (DATE); required int64 t (TIMESTAMP_MILLIS); \
        required binary j (JSON); required int32 p (DECIMAL(5,2)); required fixed_len_byte_array(2) l; \
        required group g { required int32 h; } repeated int32 r; required fixed_len_byte_array(2) h (FLOAT16); \
        required int32 c (TIME_MILLIS); required int96 o; required fixed_len_byte_array(16) u (UUID); \
        required fixed_len_byte_array(12) i (INTERVAL); required binary s (BSON); required fixed_len_byte_array(20) w (DECIMAL(45,2));";
    write(&path, schema, WriterProperties::builder(), 1, |_, group| {
        put::<DoubleType>(group, &[Some(1.0)]);
        put::<BoolType>(group, &[Some(true)]);
        put::<Int32Type>(group, &[Some(1)]);
        put::<Int64Type>(group, &[Some(1)]);
        put::<ByteArrayType>(group, &[Some("1".into())]);
        put::<Int32Type>(group, &[Some(1)]);
        put::<FixedLenByteArrayType>(group, &[Some(ByteArray::from("11").into())]);
        put::<Int32Type>(group, &[Some(1)]);
        let mut writer = group.next_column().unwrap().unwrap();
        writer.typed::<Int32Type>().write_batch(&[1], Some(&[1]), Some(&[0])).unwrap();
        writer.close().unwrap();
        let bytes = |n| [Some(ByteArray::from(vec![0; n]).into())];
        put::<FixedLenByteArrayType>(group, &bytes(2));
        put::<Int32Type>(group, &[Some(1)]);
        put::<Int96Type>(group, &[Some(Int96::from(vec![1, 2, 3]))]);
        put::<FixedLenByteArrayType>(group, &bytes(16));
        put::<FixedLenByteArrayType>(group, &bytes(12));
        put::<ByteArrayType>(group, &[Some("1".into())]);
        put::<FixedLenByteArrayType>(group, &bytes(20));
    });
    let label = Coding::Labels([("1".into(), 0)].into());
    let range = Coding::Range { lo: 1, hi: 1 };
    let bins = Coding::Bins { edges: vec![0.0, 9.0] };
    let dates = Coding::Dates { first: 0, last: 0 };
    for (name, coding, found, wanted) in [
        ("f", &label, "fractions", "labels"),
        ("f", &dates, "fractions", "dates"),
        ("b", &range, "true or false", "whole numbers"),
        ("b", &bins, "true or false", "numbers"),
        ("d", &range, "dates", "whole numbers"),
        ("d", &label, "dates", "labels"),
        ("d", &bins, "dates", "numbers"),
        ("t", &bins, "days with a time (TIMESTAMP)", "numbers"),
        ("t", &dates, "days with a time (TIMESTAMP)", "dates"),
        ("t", &label, "days with a time (TIMESTAMP)", "labels"),
        ("j", &label, "JSON", "labels"),
        ("p", &dates, "decimals", "dates"),
        ("l", &label, "raw bytes of a fixed length", "labels"),
        ("h", &bins, "fractions of two bytes (FLOAT16)", "numbers"),
        ("c", &label, "times of day (TIME)", "labels"),
        ("o", &label, "days with a time, as INT96", "labels"),
        ("u", &label, "UUIDs", "labels"),
        ("i", &label, "lengths of time (INTERVAL)", "labels"),
        ("s", &label, "BSON", "labels"),
        ("w", &bins, "decimals of more than 38 digits (DECIMAL)", "numbers"),
        ("g", &label, "nested", "labels"),
        ("r", &range, "nested", "whole numbers"),
    ] {
        // Even where there is a node for everything else: a whole column of `other` is a mistake.
        let spec = spec([lenient(column(name, 1, coding.clone()))]);
        bad(&spec, &path, &format!("column \"{name}\" is {found}, but it is to be read as {wanted}"));
    }
    let mut day = column("t", 1, dates);
    day.1.taken.time = true;
    assert_eq!(codes(&read(&spec([day]), &path, &Means::default()).unwrap()), [[0]]);
    // Typed numbers are not written in any language; what is beyond the ends counts there, what stands for no value does not.
    let mut said = spec([lenient(column("f", 1, bins.clone())), lenient(column("b", 1, label.clone()))]);
    said.columns[0].taken.clamp = true;
    let data = said.data.as_mut().unwrap();
    data.csv.numbers = crate::spec::Digits { decimal: b',', thousands: Some('.') };
    data.blanks.empty = vec!["true".into()];
    assert_eq!(codes(&read(&said, &path, &Means::default()).unwrap()), [[0, 1]]);
    for coding in [bins, range] {
        let rows: Rows = read(&spec([column("f", 1, coding.clone())]), &path, &Means::default()).unwrap();
        assert_eq!(codes(&rows), [[0]], "1.0 is a number, and a whole one");
        // So it is no value where that number stands for none.
        for empty in ["1", "1.0", "10e-1"] {
            let mut said = spec([lenient(column("f", 1, coding.clone()))]);
            said.data.as_mut().unwrap().blanks.empty = vec![empty.into()];
            assert_eq!(codes(&read(&said, &path, &Means::default()).unwrap()), [[1]], "{empty}");
        }
    }
}

/// Days as Parquet has them, in every encoding, are the same as in text.
#[test]
fn dates() {
    let days: Vec<Option<i32>> = (0..5000)
        .map(|i| (i % 7 != 0).then_some(19_700 + (i * 37) % 200))
        .chain([None, Some(i32::MAX), Some(i32::MIN)])
        .collect();
    let lo = 19_710;
    let (dir, spec) = (
        TempDir::new().unwrap(),
        spec([
            lenient(column("d", 150, Coding::Dates { first: lo, last: lo + 149 })),
            lenient(labels("x", &["a"])),
        ]),
    );
    let path = dir.path().join("rows.parquet");
    let schema = "optional int32 d (DATE); required binary x (UTF8);";
    let expected: Vec<Vec<u32>> = days
        .iter()
        .map(|day| match day {
            None => vec![150, 0],
            Some(day) => {
                vec![u32::try_from(i64::from(*day) - lo).ok().filter(|d| *d < 150).unwrap_or(151), 0]
            }
        })
        .collect();
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        for dictionary in [true, false] {
            let properties = WriterProperties::builder()
                .set_dictionary_enabled(dictionary)
                .set_column_encoding(ColumnPath::from("d"), encoding);
            write(&path, schema, properties, 1, |_, group| {
                put::<Int32Type>(group, &days);
                put::<ByteArrayType>(group, &vec![Some(ByteArray::from("a")); days.len()]);
            });
            assert_eq!(codes(&read(&spec, &path, &Means::default()).unwrap()), expected);
        }
    }
    // Neither dates as whole numbers, nor whole numbers as dates.
    let number = self::spec([column("d", 1, Coding::Range { lo: 19_700, hi: 19_700 })]);
    bad(&number, &path, "column \"d\" is dates, but it is to be read as whole numbers");
    write(&path, "required int32 d;", WriterProperties::builder(), 1, |_, group| {
        put::<Int32Type>(group, &[Some(19_720)])
    });
    bad(
        &self::spec([column("d", 1, Coding::Dates { first: 0, last: 0 })]),
        &path,
        "column \"d\" is whole numbers, but it is to be read as dates",
    );
}

/// Decimals, however they are stored and encoded, are their exact text: with all digits behind the point, and whole where there are none.
#[test]
fn decimals() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    let schema = "optional int32 a (DECIMAL(5,2)); optional int64 b (DECIMAL(18,3)); \
        optional fixed_len_byte_array(16) c (DECIMAL(38,2)); optional binary d (DECIMAL(38,0)); \
        optional int64 e (DECIMAL(18,0)); optional fixed_len_byte_array(3) f (DECIMAL(6,6));";
    let unscaled: Vec<Option<i64>> =
        [Some(0), Some(5), Some(-5), Some(1250), Some(-1250), Some(99_999), None, Some(-99_999)]
            .into_iter()
            .cycle()
            .take(400)
            .collect();
    let be = |n: i64, len: usize| i128::from(n).to_be_bytes()[16 - len..].to_vec();
    // As short as it can be.
    let short = |n: i64| be(n, (1..16).find(|&len| types::unscaled(&be(n, len)) == Some(n.into())).unwrap());
    let texts = |values: [&str; 7]| labels_of(&values);
    let columns = [
        ("a", texts(["0.00", "0.05", "-0.05", "12.50", "-12.50", "999.99", "-999.99"])),
        ("b", texts(["0.000", "0.005", "-0.005", "1.250", "-1.250", "99.999", "-99.999"])),
        ("c", texts(["0.00", "0.05", "-0.05", "12.50", "-12.50", "999.99", "-999.99"])),
        ("d", texts(["0", "5", "-5", "1250", "-1250", "99999", "-99999"])),
        ("e", texts(["0", "5", "-5", "1250", "-1250", "99999", "-99999"])),
        ("f", texts(["0.000000", "0.000005", "-0.000005", "0.001250", "-0.001250", "0.099999", "-0.099999"])),
    ];
    let named = spec(columns.map(|(name, coding)| missing(column(name, 7, coding))));
    let expected: Vec<Vec<u32>> = (0..400).map(|i| vec![[0, 1, 2, 3, 4, 5, 7, 6][i % 8]; 6]).collect();
    // Digits as numbers: in bins all of them, in ranges those without digits behind the point.
    let bins = || Coding::Bins { edges: vec![-1e5, 0.0, 1e-5, 0.06, 100_000.0] };
    let range = || Coding::Range { lo: -5, hi: 5 };
    let numbers = spec([
        lenient(column("a", 4, bins())),
        lenient(column("c", 4, bins())),
        lenient(column("f", 4, bins())),
        lenient(column("d", 11, range())),
        lenient(column("e", 11, range())),
    ]);
    let as_numbers = [
        [1, 1, 1, 5, 5],
        [2, 2, 1, 10, 10],
        [0, 0, 0, 0, 0],
        [3, 3, 2, 12, 12],
        [0, 0, 0, 12, 12],
        [3, 3, 3, 12, 12],
        [4, 4, 4, 11, 11],
        [0, 0, 0, 12, 12],
    ];
    let as_numbers: Vec<Vec<u32>> = (0..400).map(|i| as_numbers[i % 8].to_vec()).collect();
    for (dictionary, version) in [
        (true, WriterVersion::PARQUET_1_0),
        (false, WriterVersion::PARQUET_1_0),
        (false, WriterVersion::PARQUET_2_0),
    ] {
        let properties =
            WriterProperties::builder().set_dictionary_enabled(dictionary).set_writer_version(version);
        write(&path, schema, properties, 2, |at, group| {
            let rows = &unscaled[at * 200..(at + 1) * 200];
            let fixed = |len| -> Vec<_> {
                rows.iter().map(|v| v.map(|n| ByteArray::from(be(n, len)).into())).collect()
            };
            put::<Int32Type>(group, &rows.iter().map(|v| v.map(|n| n as i32)).collect::<Vec<_>>());
            put::<Int64Type>(group, rows);
            put::<FixedLenByteArrayType>(group, &fixed(16));
            put::<ByteArrayType>(
                group,
                &rows.iter().map(|v| v.map(|n| ByteArray::from(short(n)))).collect::<Vec<_>>(),
            );
            put::<Int64Type>(group, rows);
            put::<FixedLenByteArrayType>(group, &fixed(3));
        });
        assert_eq!(codes(&read(&named, &path, &Means::default()).unwrap()), expected);
        assert_eq!(codes(&read(&numbers, &path, &Means::default()).unwrap()), as_numbers);
        // A person's number, and which row is first.
        let unit = with_unit(
            spec([missing(column("d", 7, labels_of(&["0", "5", "-5", "1250", "-1250", "99999", "-99999"])))]),
            "e",
            400,
        );
        let error = read(&unit, &path, &Means::default()).unwrap_err().to_string();
        assert!(error.starts_with("row 7, column \"e\": the cell is empty"), "{error}");
    }
    // More bytes than 128 bits have, which say the sign again or another number.
    let wide = |above: u8, n: i128| [vec![above; 4], n.to_be_bytes().to_vec()].concat();
    assert_eq!(types::unscaled(&wide(0, i128::MAX)), Some(i128::MAX));
    assert_eq!(types::unscaled(&wide(0xff, i128::MIN)), Some(i128::MIN));
    assert_eq!(types::unscaled(&wide(0, -1)), None);
    assert_eq!(types::unscaled(&wide(1, 1)), None);
    assert_eq!(types::unscaled(&[]), None);
}

fn labels_of(texts: &[&str]) -> Coding {
    Coding::Labels(texts.iter().zip(0..).map(|(text, node)| ((*text).to_owned(), node)).collect())
}

/// With one further node, for what is missing.
fn missing(
    (mut dimension, mut column): (crate::cube::Dimension, crate::spec::Column),
) -> (crate::cube::Dimension, crate::spec::Column) {
    column.missing = Some(dimension.levels[1].len() as u32);
    dimension.levels[1].labels.push("missing".into());
    dimension.levels[1].parent.push(0);
    (dimension, column)
}

/// Of a column of the null type every cell is empty, whatever the dimension is; one that has values after all is damaged.
#[test]
fn nothing_at_all() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    let schema = "required binary x (UTF8); optional int32 n (UNKNOWN);";
    let write = |value: Option<i32>, dictionary| {
        write(
            &path,
            schema,
            WriterProperties::builder().set_dictionary_enabled(dictionary),
            1,
            |_, group| {
                put::<ByteArrayType>(group, &[Some("a".into()), Some("a".into())]);
                put::<Int32Type>(group, &[None, value]);
            },
        );
    };
    let codings = [
        labels_of(&["0"]),
        Coding::Range { lo: 0, hi: 0 },
        Coding::Bins { edges: vec![0.0, 1.0] },
        Coding::Dates { first: 0, last: 0 },
    ];
    for coding in codings {
        let spec = || column("n", 1, coding.clone());
        for dictionary in [true, false] {
            write(None, dictionary);
            assert_eq!(
                codes(&read(&self::spec([missing(spec())]), &path, &Means::default()).unwrap()),
                [[1], [1]]
            );
            bad(
                &self::spec([spec()]),
                &path,
                "row 1, column \"n\": the cell is empty, and the dimension has no `missing`",
            );
            write(Some(0), dictionary);
            let error = read(&self::spec([missing(spec())]), &path, &Means::default()).unwrap_err();
            assert_eq!(error, IngestError::Parquet(BROKEN));
        }
    }
}

/// Whatever byte is damaged, reading ends with rows or an error, and no error shows a value.
#[test]
fn damaged_files() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    small(&path);
    let spec = spec([lenient(labels("x", &["a"])), lenient(column("n", 2, Coding::Range { lo: 0, hi: 1 }))]);
    assert_eq!(codes(&read(&spec, &path, &Means::default()).unwrap()), [[0, 1], [0, 2], [0, 1], [2, 2]]);
    let bytes = std::fs::read(&path).unwrap();
    let mut refused = 0;
    let tried = bytes.len() / tries(5, 1);
    for at in (0..bytes.len()).step_by(tries(5, 1)) {
        for flip in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            std::fs::write(&path, damaged).unwrap();
            if let Err(error) = read(&spec, &path, &Means::default()) {
                refused += 1;
                assert!(!format!("{error} {error:?}").contains("MARS"), "{error:?}");
            }
        }
    }
    assert!(refused > tried / 2, "{refused} of {tried}");
}

/// As pyarrow writes three rows, F, M and F, with the checksum of the page.
const CHECKED: &[u8] =
    b"PAR1\x15\x00\x15*\x15*\x15\x9b\xa9\xf5\xab\x05\x1c\x15\x06\x15\x00\x15\x06\x15\x06\x1c\x00\x00\x00\
\x02\x00\x00\x00\x06\x01\x01\x00\x00\x00F\x01\x00\x00\x00M\x01\x00\x00\x00F\x15\x04\x19,5\x00\x18\
\x06schema\x15\x02\x00\x15\x0c%\x02\x18\x03sex%\x00L\x1c\x00\x00\x00\x16\x06\x19\x1c\x19\x1c&\x00\
\x1c\x15\x0c\x19%\x06\x00\x19\x18\x03sex\x15\x00\x16\x06\x16\\\x16\\&\x08I\x1c\x15\x00\x15\x00\x15\
\x02\x00<\x16\x06\x19\x06\x19&\x00\x06\x00\x00\x00\x16\\\x16\x06&\x08\x16\\\x00( parquet-cpp-arrow v\
ersion 26.0.1\x19\x1c\x1c\x00\x00\x00\x86\x00\x00\x00PAR1";

/// A page that is not what its own checksum says is refused, though it can be decoded.
#[test]
fn checksums() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    let spec = spec([labels("sex", &["F", "M"])]);
    std::fs::write(&path, CHECKED).unwrap();
    assert_eq!(codes(&read(&spec, &path, &Means::default()).unwrap()), [[0], [1], [0]]);
    let mut damaged = CHECKED.to_vec();
    let at = damaged.iter().position(|&b| b == b'M').unwrap();
    damaged[at] = b'F';
    std::fs::write(&path, damaged).unwrap();
    bad(&spec, &path, "the Parquet file cannot be decoded: it is damaged or encrypted");
}

/// An amount with its sum over all rows: the weight from 0 to 10 in whole steps, others in steps of a quarter between -400 and 900.
fn summed(name: &str, columns: &[&str], weighing: Weighing) -> AmountSpec {
    let (low, high, step, places) = match weighing {
        Weighing::Weight => (0, 10, 1, 0),
        _ => (-40_000, 90_000, 25, 2),
    };
    let quantity = Quantity {
        name: name.into(),
        low,
        high,
        step,
        places,
        missing: if weighing == Weighing::Plain { NoValue::Skip } else { NoValue::Zero },
        weighing,
        from: Default::default(),
        unit: None,
        description: None,
    };
    AmountSpec {
        quantity: quantity.into(),
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        tables: vec![Table::new(Cuboid::total(), crate::exact::Rational::ONE)],
        square: false,
        clamping: None,
        unweighted: false,
        targets: Vec::new(),
        exact: Vec::new(),
    }
}

/// Products of columns of every type of number are those of the same cells as text.
#[test]
fn products_as_in_text() {
    let mut with = spec([labels("sex", &["a", "b"])]);
    with.amounts = [
        summed("p", &["whole", "money"], Weighing::Plain),
        summed("q", &["fraction", "money"], Weighing::Plain),
        summed("r", &["fraction", "fraction", "whole"], Weighing::Plain),
        summed("s", &["whole"], Weighing::Plain),
        summed("t", &["money", "fraction"], Weighing::Weighted),
        summed("w", &["fraction"], Weighing::Weight),
    ]
    .into();
    let folder = TempDir::new().unwrap();
    let (csv, parquet) = (folder.path().join("rows.csv"), folder.path().join("rows.parquet"));
    let of = |i: usize, k: usize| value(i, k).filter(|_| i % 9 != k);
    let whole = |i: usize| of(i, 3).map(|v| (v % 90) as i64 - 30);
    let money = |i: usize| of(i, 4).map(|v| (v % 4000) as i64 - 700);
    let fraction = |i: usize| of(i, 5).map(|v| [0.1, 2.5, 1e-7, 12.345, -0.0, 0.3][v % 6]);
    let rows = 3000;
    let mut text = "sex,whole,money,fraction\n".to_owned();
    for i in 0..rows {
        let show = |cell: Option<String>| cell.unwrap_or_default();
        let cents =
            |v: i64| format!("{}{}.{:02}", if v < 0 { "-" } else { "" }, v.abs() / 100, v.abs() % 100);
        text += &format!(
            "{},{},{},{}\n",
            ["a", "b"][i % 2],
            show(whole(i).map(|v| v.to_string())),
            show(money(i).map(cents)),
            show(fraction(i).map(|v| format!("{v:e}")))
        );
    }
    std::fs::write(&csv, text).unwrap();
    let schema = "required binary sex (UTF8); optional int64 whole; optional int64 money (DECIMAL(18,2)); optional double fraction;";
    for dictionary in [true, false] {
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary);
        write(&parquet, schema, properties, 1, |_, group| {
            let sex = |i: usize| Some(ByteArray::from(["a", "b"][i % 2]));
            put::<ByteArrayType>(group, &(0..rows).map(sex).collect::<Vec<_>>());
            put::<Int64Type>(group, &(0..rows).map(whole).collect::<Vec<_>>());
            put::<Int64Type>(group, &(0..rows).map(money).collect::<Vec<_>>());
            put::<DoubleType>(group, &(0..rows).map(fraction).collect::<Vec<_>>());
        });
        let [a, b] = [&csv, &parquet].map(|path| codes(&read(&with, path, &Means::default()).unwrap()));
        assert_eq!(a, b);
        // Of rows that lack a factor there is no value; the others have many.
        let absent = 90_000 / 25 + 40_000 / 25 + 1;
        assert!(a.iter().any(|row| row[1] == absent) && a.iter().any(|row| row[1] != absent));
        // The weight, from 0 to 10 and in whole steps, multiplies as it counts.
        for (i, row) in a.iter().enumerate() {
            let weight = of(i, 5).map_or(0, |v| [0, 2, 0, 10, 0, 0][v % 6]);
            let product = (money(i).unwrap_or(0) * weight).clamp(-40_000, 90_000);
            assert_eq!(i64::from(row[6]), weight);
            assert_eq!(i64::from(row[5]), (2 * (product + 40_000) + 25) / 50, "{i}");
        }
    }
    // What is wrong with a factor is said of its own column.
    std::fs::write(&csv, "sex,whole,money,fraction\na,1,x,3\n").unwrap();
    let wrong = read(&with, &csv, &Means::default()).unwrap_err().to_string();
    assert!(wrong.contains("column \"money\"") && wrong.contains("not a number"), "{wrong}");
}

/// Amounts of every type that numbers are stored as, with dictionaries and without: as their texts, whatever needs no text on the way.
#[test]
fn amounts_as_in_text() {
    const COLUMNS: [&str; 9] = ["i", "l", "u", "d32", "d64", "short", "long", "double", "single"];
    let mut with = spec([labels("sex", &["a", "b"])]);
    with.amounts = COLUMNS.map(|name| summed(name, &[name], Weighing::Plain)).into();
    let folder = TempDir::new().unwrap();
    let (csv, parquet) = (folder.path().join("rows.csv"), folder.path().join("rows.parquet"));
    let rows = 9000usize;
    let wide = |i: usize| [i64::MAX, i64::MIN, 37, -38, 12, 13][i % 6].wrapping_add((i * i) as i64 % 90_000);
    let narrow = |i: usize| (wide(i) % 10_000_000) as i32;
    let float = |i: usize| [0.125, -0.0, 1e-7, 12.345, 1e300, 899.99, -400.125, 5e-324, 1.5][i % 9];
    let float = |i: usize| float(i) + (i * i % 700) as f64;
    // Beyond 64 bits, too.
    let long = |i: usize| i128::from(wide(i)) * [1, 1_000_000_000_000][i / 100 % 2];
    let be = |n: i128, len: usize| ByteArray::from(n.to_be_bytes()[16 - len..].to_vec());
    let point = |n: i128, places: usize| {
        let digits = format!("{:0width$}", n.unsigned_abs(), width = places + 1);
        let (whole, behind) = digits.split_at(digits.len() - places);
        format!("{}{whole}.{behind}", if n < 0 { "-" } else { "" })
    };
    for (nullable, dictionary) in [(false, true), (false, false), (true, true), (true, false)] {
        let there = |i: usize| !nullable || i % 7 != 3;
        let mut text = format!("sex,{}\n", COLUMNS.join(","));
        for i in 0..rows {
            let cells = [
                narrow(i).to_string(),
                wide(i).to_string(),
                wide(i).cast_unsigned().to_string(),
                point(narrow(i).into(), 3),
                point(wide(i).into(), 2),
                point(narrow(i).into(), 1),
                point(long(i), 10),
                format!("{:e}", float(i)),
                format!("{:e}", (float(i) % 1e30) as f32),
            ];
            let cells = cells.map(|cell| if there(i) { cell } else { String::new() });
            text += &format!("{},{}\n", ["a", "b"][i % 2], cells.join(","));
        }
        std::fs::write(&csv, text).unwrap();
        let kind = if nullable { "optional" } else { "required" };
        let schema = [
            "int32 i",
            "int64 l",
            "int64 u (INTEGER(64,false))",
            "int32 d32 (DECIMAL(9,3))",
            "int64 d64 (DECIMAL(18,2))",
            "fixed_len_byte_array(5) short (DECIMAL(11,1))",
            "fixed_len_byte_array(16) long (DECIMAL(38,10))",
            "double double",
            "float single",
        ];
        let schema: String = schema.iter().map(|column| format!("{kind} {column}; ")).collect();
        let schema = format!("required binary sex (UTF8); {schema}");
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary);
        write(&parquet, &schema, properties, 1, |_, group| {
            fn each<T>(
                rows: usize,
                there: &dyn Fn(usize) -> bool,
                of: impl Fn(usize) -> T,
            ) -> Vec<Option<T>> {
                (0..rows).map(|i| there(i).then(|| of(i))).collect()
            }
            let sex = |i: usize| Some(ByteArray::from(["a", "b"][i % 2]));
            put::<ByteArrayType>(group, &(0..rows).map(sex).collect::<Vec<_>>());
            put::<Int32Type>(group, &each(rows, &there, narrow));
            put::<Int64Type>(group, &each(rows, &there, wide));
            put::<Int64Type>(group, &each(rows, &there, wide));
            put::<Int32Type>(group, &each(rows, &there, narrow));
            put::<Int64Type>(group, &each(rows, &there, wide));
            put::<FixedLenByteArrayType>(group, &each(rows, &there, |i| be(narrow(i).into(), 5).into()));
            put::<FixedLenByteArrayType>(group, &each(rows, &there, |i| be(long(i), 16).into()));
            put::<DoubleType>(group, &each(rows, &there, float));
            put::<FloatType>(group, &each(rows, &there, |i| (float(i) % 1e30) as f32));
        });
        let [a, b] = [&csv, &parquet].map(|path| codes(&read(&with, path, &Means::default()).unwrap()));
        assert_eq!(a.len(), rows);
        for (row, (a, b)) in a.iter().zip(&b).enumerate() {
            assert_eq!(a, b, "{row}, {nullable}, {dictionary}");
        }
    }
}

/// Folders and pipes, as of text.
#[test]
fn folders_and_pipes() {
    let dir = TempDir::new().unwrap();
    let mut text = String::new();
    for (folder, year) in [("year=2022", "2022"), ("year=__HIVE_DEFAULT_PARTITION__", "")] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
        let schema = "required binary sex (UTF8);";
        write(
            &dir.path().join(folder).join("0.parquet"),
            schema,
            WriterProperties::builder(),
            3,
            |at, group| {
                let sex = if at == 1 { "F" } else { "M" };
                put::<ByteArrayType>(group, &vec![Some(ByteArray::from(sex)); 5000]);
                text += &format!("{sex},{year}\n").repeat(5000);
            },
        );
    }
    let path = dir.path().join(".rows.csv");
    std::fs::write(&path, format!("sex,year\n{text}")).unwrap();
    let year = || lenient(column("year", 1, Coding::Range { lo: 2022, hi: 2022 }));
    let plain = spec([year(), labels("sex", &["F", "M"])]);
    let of_text = || spec([lenient(labels("sex", &["F"])), year()]);
    for spec in [plain, with_unit(of_text(), "sex", 3)] {
        let (found, expected) = (
            read(&spec, dir.path(), &Means::default()).unwrap(),
            read(&spec, &path, &Means::default()).unwrap(),
        );
        assert_eq!(in_order(&spec, codes(&found)), in_order(&spec, codes(&expected)));
    }
    let missing = with_unit(of_text(), "year", 3);
    let told = read(&missing, dir.path(), &Means::default()).unwrap_err().to_string();
    assert!(told.starts_with("0.parquet (file 2 of 2): row 1, column \"year\": the cell is empty"), "{told}");
    let bytes = std::fs::read(dir.path().join("year=2022/0.parquet")).unwrap();
    let piped = Piped::new(std::io::Cursor::new(bytes), Format::Parquet);
    let sexes = spec([labels("sex", &["F", "M"])]);
    assert_eq!(read(&sexes, Origin::Piped(&piped), &Means::default()).unwrap().len(), 15_000);
    let broken = Piped::new(std::io::Cursor::new(b"PAR1".to_vec()), Format::Parquet);
    assert!(read(&sexes, Origin::Piped(&broken), &Means::default()).is_err());
}
