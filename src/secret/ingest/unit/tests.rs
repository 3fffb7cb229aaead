//! Against the definition, in any memory.
#![allow(clippy::unwrap_used)]

use super::super::tests::{codes, column, labels, spec, with_unit};
use super::super::{IngestError, Settings, read_with};
use crate::numeric::tries::tries;
use crate::secret::ingest::Means;
use crate::spec::{Coding, Spec, Unit};
use proptest::prelude::*;
use tempfile::TempDir;

/// Of each unit the first rows by these places, or in the order of the file.
fn by_definition(units: &[String], places: Option<&[i64]>, max_rows: usize) -> (Vec<usize>, u64) {
    let before = |row: usize, other: usize| {
        units[other] == units[row] && places.map_or(other < row, |places| places[other] < places[row])
    };
    let rank = |row: usize| (0..units.len()).filter(|&other| before(row, other)).count();
    let kept = (0..units.len()).filter(|&row| rank(row) < max_rows).collect();
    let mut all: Vec<&String> = units.iter().collect();
    all.sort_unstable();
    let cut = all.chunk_by(|a, b| a == b).filter(|rows| rows.len() > max_rows).count();
    (kept, cut as u64)
}

/// The numbers of the rows that count, in ascending order, and how many units were cut.
fn read(spec: &Spec, text: &str, settings: Settings) -> Result<(Vec<usize>, u64), IngestError> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    let rows = read_with(spec, &path, &Means::default(), settings)?;
    let mut numbers: Vec<usize> = codes(&rows).into_iter().map(|row| row[0] as usize).collect();
    numbers.sort_unstable();
    Ok((numbers, rows.cut()))
}

fn numbered(rows: usize, max_rows: u32, order: &[&str]) -> Spec {
    let number = column("n", rows.max(1), Coding::Range { lo: 0, hi: rows.max(1) as i64 - 1 });
    let mut spec = with_unit(spec([number, labels("x", &["y"])]), "who", max_rows);
    if let Unit::Column { order: own, .. } = &mut spec.privacy.unit {
        *own = order.iter().map(|&c| c.to_owned()).collect();
    }
    spec
}

/// From hardly any memory, where everything is parted down to single units on the disk, to plenty.
const MEMORIES: [usize; 4] = [12_000, 30_000, 200_000, 1 << 30];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// In file order and by a column, for any memory, threads and blocks; and taking out a unit leaves all others as they are.
    #[test]
    fn the_first_rows_of_each_unit(
        units in prop::collection::vec(0u32..40, 0..400),
        by_column in any::<bool>(),
        max_rows in 0u32..5,
        gone in 0u32..40,
        threads in 1usize..4,
        block in 1usize..2000,
    ) {
        // Names of all lengths, some of which share their beginning.
        let name = |unit: u32| format!("{}{unit}", "unit ".repeat(unit as usize % 7));
        let names: Vec<String> = units.iter().map(|&u| name(u)).collect();
        // Distinct and in no order.
        let places: Vec<i64> = (0..units.len() as i64).map(|row| (row * 7919 + 13) % 10_007 - 5000).collect();
        let text = |keep: &dyn Fn(u32) -> bool| {
            let line = |(row, unit): (usize, &u32)| keep(*unit).then(|| format!("{row},y,{},{}\n", names[row], places[row]));
            "n,x,who,at\n".to_owned() + &units.iter().enumerate().filter_map(line).collect::<String>()
        };
        let spec = numbered(units.len(), max_rows, if by_column { &["at"] } else { &[] });
        let expected = by_definition(&names, by_column.then_some(&places), max_rows as usize);
        let others: Vec<usize> = expected.0.iter().copied().filter(|&row| units[row] != gone).collect();
        for memory in MEMORIES {
            let settings = Settings { threads, block, memory };
            let seen = read(&spec, &text(&|_| true), settings);
            prop_assert_eq!(seen.as_ref(), Ok(&expected), "memory {}", memory);
            let without = read(&spec, &text(&|unit| unit != gone), settings).unwrap();
            prop_assert_eq!(&without.0, &others);
            prop_assert!(expected.0.len() - others.len() <= max_rows as usize && expected.1 - without.1 <= 1);
        }
    }
}

/// So many rows of so many units that parts are parted again, on the disk.
#[test]
fn more_rows_than_fit() {
    let rows = tries(12_000, 60_000);
    let names: Vec<String> = (0..rows).map(|row| format!("person {}", row * 7919 % 9001)).collect();
    let mut text = "n,x,who\n".to_owned();
    (0..rows).for_each(|row| text += &format!("{row},y,{}\n", names[row]));
    let mut seen = std::collections::HashMap::new();
    let kept: Vec<usize> = (0..rows)
        .filter(|&row| {
            let before = seen.entry(&names[row]).or_insert(0);
            *before += 1;
            *before <= 3
        })
        .collect();
    let cut = seen.values().filter(|&&n| n > 3).count() as u64;
    for (threads, memory) in [(1, 100_000), (2, 1 << 20), (8, 1 << 20), (2, 1 << 30)] {
        let settings = Settings { threads, block: 10_000, memory };
        assert_eq!(read(&numbered(rows, 3, &[]), &text, settings), Ok((kept.clone(), cut)));
    }
    // One unit with nearly all rows needs no more memory than its rows that count.
    let text: String =
        (0..rows).map(|row| format!("{row},y,{}\n", if row % 1000 == 7 { "b" } else { "a" })).collect();
    let settings = Settings { threads: 2, block: 10_000, memory: 20_000 };
    let one = read(&numbered(rows, 3, &[]), &format!("n,x,who\n{text}"), settings);
    assert_eq!(one, Ok((vec![0, 1, 2, 7, 1007, 2007], 2)));
    // If all of them count it does not fit, and that is said.
    let all = read(&numbered(rows, 100_000, &[]), &format!("n,x,who\n{text}"), settings);
    assert_eq!(all, Err(IngestError::Memory));
}

#[test]
fn places_must_be_told_apart_where_it_matters() {
    let settings = Settings { threads: 2, block: 10, memory: 1 << 20 };
    let text =
        "n,x,who,day,nr\n0,y,a,2024-01-02,1\n1,y,a,2024-01-01,2\n2,y,a,2024-01-02,0\n3,y,b,2024-01-01,5\n";
    let by = |max_rows, order: &[&str]| read(&numbered(4, max_rows, order), text, settings);
    assert_eq!(by(1, &["day"]), Ok((vec![1, 3], 1)));
    // Whether 0 or 2 counts nobody knows.
    assert_eq!(by(2, &["day"]), Err(IngestError::Tied));
    assert_eq!(by(2, &["day", "nr"]), Ok((vec![1, 2, 3], 1)));
    assert_eq!(by(3, &["day"]), Ok((vec![0, 1, 2, 3], 0)));
    assert_eq!(by(2, &["nr"]), Ok((vec![0, 2, 3], 1)));
    let refused = |text: &str| read(&numbered(4, 1, &["nr"]), text, settings).unwrap_err().to_string();
    assert_eq!(
        refused("n,x,who,nr\n0,y,a,MARS\n"),
        "row 1 (line 2), column \"nr\": the cell is neither a whole number nor a day or a time, so it orders no rows"
    );
    assert!(refused("n,x,who,nr\n0,y,a,\n").contains("it orders no rows"));
    assert!(refused("n,x,who,nr\n0,y,a,1\n1,y,b,2024-01-01\n").contains("both whole numbers and days"));
    assert!(refused("n,x,who\n0,y,a\n").contains("no column \"nr\""));
    assert!(refused("n,x,who,nr\n0,y,,1\n").contains("belongs to no unit"));
}

/// Parquet's own types stand as their text does.
#[cfg(feature = "parquet")]
#[test]
fn places_in_parquet() {
    use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
    use ::parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
    use ::parquet::schema::parser::parse_message_type;
    use std::sync::Arc;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.parquet");
    let schema = "message rows { required int32 n; required binary x (UTF8); required binary who (UTF8); required int32 day (DATE); \
        required int64 ms (TIMESTAMP_MILLIS); required int64 us (TIMESTAMP_MICROS); required int64 nr; required int64 ns (TIMESTAMP(NANOS,false)); }";
    let file = std::fs::File::create(&path).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(parse_message_type(schema).unwrap()), properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let rows = 1000i32;
    let place = |row: i32| i64::from(row * 7919 % 1009) - 500;
    let who = |row: i32| format!("u{}", row % 7);
    macro_rules! put {
        ($kind:ty, $value:expr) => {{
            let mut column = group.next_column().unwrap().unwrap();
            let values: Vec<_> = (0..rows).map($value).collect();
            column.typed::<$kind>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }};
    }
    put!(Int32Type, |row| row);
    put!(ByteArrayType, |_| ByteArray::from("y"));
    put!(ByteArrayType, |row| ByteArray::from(who(row).into_bytes()));
    put!(Int32Type, |row| place(row) as i32);
    put!(Int64Type, place);
    put!(Int64Type, place);
    put!(Int64Type, place);
    put!(Int64Type, place);
    group.close().unwrap();
    writer.close().unwrap();
    let places: Vec<i64> = (0..rows).map(place).collect();
    let names: Vec<String> = (0..rows).map(who).collect();
    let expected = by_definition(&names, Some(&places), 5);
    for column in ["day", "ms", "us", "nr", "ns"] {
        let read =
            read_with(&numbered(1000, 5, &[column]), &path, &Means::default(), Settings::default()).unwrap();
        let mut numbers: Vec<usize> = codes(&read).into_iter().map(|row| row[0] as usize).collect();
        numbers.sort_unstable();
        assert_eq!((numbers, read.cut()), expected, "{column}");
    }
}
