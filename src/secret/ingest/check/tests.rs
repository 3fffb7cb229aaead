//! What is told, against looking at every cell.
#![allow(clippy::unwrap_used)]

use super::super::tests::{column, labels, lenient, spec, with_unit};
use super::*;
use crate::cube::{Cuboid, Frame};
use crate::numeric::tries::tries;
use crate::recover::zeros::Zero;
use crate::secret::ingest::Means;
use crate::spec::Coding;
use proptest::prelude::*;
use tempfile::TempDir;

fn of(spec: &Spec, text: &[u8]) -> Result<Report, IngestError> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    std::fs::write(&path, text).unwrap();
    check(spec, &path, &Means::default())
}

/// Every problem: its column, in how many rows, where first.
fn problems(report: &Report) -> Vec<(Option<&str>, u64, &str)> {
    report.problems.iter().map(|p| (p.column.as_deref(), p.rows, &*p.first)).collect()
}

#[test]
fn everything_at_once() {
    let spec = spec([
        labels("sex", &["a", "b"]),
        column("age", 9, Coding::Range { lo: 1, hi: 9 }),
        lenient(labels("x", &["y"])),
    ]);
    let text = "sex,age,x\na,1,y\nMARS,77,\nb,x,y\n,,\na,2\nMARS,3,z\nb,9,y\n";
    let report = of(&spec, text.as_bytes()).unwrap();
    assert_eq!((report.rows, report.unusable, report.passed()), (7, 5, false));
    assert_eq!(
        problems(&report),
        [
            (None, 1, "row 5 (line 6)"),
            (Some("sex"), 2, "row 2 (line 3)"),
            (Some("sex"), 1, "row 4 (line 5)"),
            (Some("age"), 1, "row 2 (line 3)"),
            (Some("age"), 1, "row 3 (line 4)"),
            (Some("age"), 1, "row 4 (line 5)"),
        ]
    );
    // Of the rows that can be used.
    assert_eq!(report.taken, []);
    let said: String = report.problems.iter().map(|p| p.what.clone() + &p.first).collect();
    assert!(!said.contains("MARS") && !said.contains("77"), "{said}");
    let fine = of(&spec, b"sex,age,x\na,1,\nb,2,q\nb,3,q\n").unwrap();
    assert!(fine.passed());
    assert_eq!(fine.taken, [("x".into(), "missing".into(), 1), ("x".into(), "other".into(), 2)]);
}

#[test]
fn columns_that_are_not_there() {
    let own = || spec([labels("sex", &["a"]), labels("Age", &["1"]), labels("x", &["y"])]);
    let report = of(&with_unit(own(), "who", 1), b"sex,age,x\na,1,y\na,1,z\n").unwrap();
    assert_eq!(report.columns.len(), 2, "{:?}", report.columns);
    assert!(
        report.columns[0].contains("no column \"Age\"") && report.columns[1].contains("no column \"who\"")
    );
    // The others are looked at all the same.
    assert_eq!(problems(&report), [(Some("x"), 1, "row 2 (line 3)")]);
    assert_eq!(report.cut, None);
    let cut = of(&with_unit(own(), "who", 1), b"sex,Age,x,who\na,1,y,u\na,1,y,u\na,1,y,v\na,1,y,\n").unwrap();
    assert_eq!((cut.cut, problems(&cut)), (Some(1), vec![(Some("who"), 1, "row 4 (line 5)")]));
    assert!(matches!(of(&own(), b"PAR1"), Err(IngestError::Foreign(_))));
    assert!(matches!(of(&own(), b""), Err(IngestError::NoHeader)));
}

#[test]
fn impossible_rows_are_counted() {
    let mut spec = spec([labels("sex", &["a", "b"]), labels("x", &["y", "z"])]);
    let all = Cuboid::new([(0, 1), (1, 1)]);
    let frame = Frame::new(&spec.cube, &Frame::levels_of(&spec.cube, [&all]));
    spec.zeros = vec![Zero::new(&spec.cube, &frame, "sex = 'sex0' AND x = 'x1'").unwrap()];
    let report = of(&spec, b"sex,x\na,z\na,y\nb,z\na,z\n").unwrap();
    assert_eq!(
        (report.impossible.clone(), report.passed()),
        (vec![("sex = 'sex0' AND x = 'x1'".into(), 2)], false)
    );
}

/// Of each unit so many rows count as in a release: of those beyond them neither strange cells nor impossible rows are counted.
#[test]
fn rows_beyond_the_most_of_a_unit_are_not_counted() {
    let mut spec = spec([lenient(labels("sex", &["a", "b"])), labels("x", &["y", "z"])]);
    let all = Cuboid::new([(0, 1), (1, 1)]);
    let frame = Frame::new(&spec.cube, &Frame::levels_of(&spec.cube, [&all]));
    spec.zeros = vec![Zero::new(&spec.cube, &frame, "sex = 'sex0' AND x = 'x1'").unwrap()];
    let count = |spec: &Spec| {
        let report = of(spec, b"id,sex,x\n1,a,y\n1,a,y\n2,,y\n2,,y\n2,,y\n3,a,z\n3,a,z\n").unwrap();
        let taken: u64 = report.taken.iter().map(|(_, _, rows)| rows).sum();
        (report.rows, taken, report.impossible.iter().map(|(_, rows)| *rows).sum::<u64>(), report.cut)
    };
    assert_eq!(count(&spec), (7, 3, 2, None));
    let of_units = |most| with_unit(spec.clone(), "id", most);
    assert_eq!(count(&of_units(1)), (7, 1, 1, Some(3)));
    assert_eq!(count(&of_units(2)), (7, 2, 2, Some(1)));
    assert_eq!(count(&of_units(3)), (7, 3, 2, Some(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tries(16, 48) as u32))]

    /// From text and from Parquet the same, and as counted cell by cell; a release is refused where this finds something, and only there.
    #[test]
    fn as_cell_by_cell(cells in prop::collection::vec((0usize..6, 0usize..6), 0..200)) {
        let words = ["a", "b", "", "MARS", "7", "\u{e9}"];
        let spec = spec([labels("p", &["a", "b"]), column("q", 9, Coding::Range { lo: 1, hi: 9 })]);
        let mut text = "p,q\n".to_owned();
        cells.iter().for_each(|(p, q)| text += &format!("{},{}\n", words[*p], words[*q]));
        let report = of(&spec, text.as_bytes()).unwrap();
        let bad_p = |p: &usize| *p > 1;
        let bad_q = |q: &usize| *q != 4;
        let rows = |column: &str| report.problems.iter().filter(|x| x.column.as_deref() == Some(column)).map(|x| x.rows).sum::<u64>();
        // A line with nothing but the comma is a row.
        prop_assert_eq!(report.rows, cells.len() as u64);
        prop_assert_eq!(rows("p"), cells.iter().filter(|(p, _)| bad_p(p)).count() as u64);
        prop_assert_eq!(rows("q"), cells.iter().filter(|(_, q)| bad_q(q)).count() as u64);
        prop_assert_eq!(report.unusable, cells.iter().filter(|(p, q)| bad_p(p) || bad_q(q)).count() as u64);
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, &text).unwrap();
        prop_assert_eq!(super::super::read(&spec, &path, &Means::default()).is_ok(), report.passed());
        #[cfg(feature = "parquet")]
        {
            use ::parquet::data_type::{ByteArray, ByteArrayType};
            use ::parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
            let schema = "message rows { optional binary p (UTF8); required binary q (UTF8); }";
            let schema = std::sync::Arc::new(::parquet::schema::parser::parse_message_type(schema).unwrap());
            let path = dir.path().join("rows.parquet");
            let properties = WriterProperties::builder().set_dictionary_enabled(cells.len() % 2 == 0).build();
            let mut writer = SerializedFileWriter::new(std::fs::File::create(&path).unwrap(), schema, properties.into()).unwrap();
            let mut group = writer.next_row_group().unwrap();
            for own in [true, false] {
                let words: Vec<&str> = cells.iter().map(|(p, q)| words[if own { *p } else { *q }]).collect();
                let levels: Vec<i16> = words.iter().map(|word| i16::from(!own || !word.is_empty())).collect();
                let values: Vec<ByteArray> =
                    words.iter().filter(|word| !own || !word.is_empty()).map(|word| ByteArray::from(*word)).collect();
                let mut column = group.next_column().unwrap().unwrap();
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            writer.close().unwrap();
            let same = check(&spec, &path, &Means::default()).unwrap();
            let all = |report: &Report| {
                let mut all: Vec<_> = report.problems.iter().map(|p| (p.column.clone(), p.what.clone(), p.rows)).collect();
                all.sort();
                (report.rows, report.unusable, all)
            };
            prop_assert_eq!(all(&same), all(&report));
        }
    }
}
