//! Files of rows: what is read, and a corpus of what is refused.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sprs::TriMat;

fn said(found: Result<Coefficients, Vec<Wrong>>) -> String {
    let one = |w: Wrong| w.line.map_or(w.what.clone(), |line| format!("{line}: {}", w.what));
    found.unwrap_err().into_iter().map(one).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_line_is_a_query() {
    let rows = csv("1, 0,-1\r\n\r\n+2,0,0\n0,2147483647,-2147483648", 3).unwrap();
    assert_eq!(rows, [vec![(0, 1), (2, -1)], vec![(0, 2)], vec![(1, i32::MAX), (2, i32::MIN)]]);
    assert_eq!(csv("7", 1).unwrap(), [[(0, 7)]]);
}

#[test]
fn broken_csv_files_are_refused() {
    for (text, cells, why) in [
        ("", 2, "it holds no query"),
        ("\n  \n", 2, "it holds no query"),
        ("1,1\n1\n", 2, "2: 1 factors where the table has 2 cells, one column for each"),
        ("1,1,1\n", 2, "1: 3 factors where the table has 2 cells, one column for each"),
        ("1,1,\n", 2, "1: 3 factors where the table has 2 cells, one column for each"),
        ("a,b\n1,1\n", 2, "1: column 1 is not a number; the file has no header, its first line is a query"),
        ("1,1\nb,1\n", 2, "2: column 1 is not a number"),
        ("1,\n", 2, "1: column 2 is no number"),
        (
            "1,0.5\n",
            2,
            "1: column 2 is not a whole number between -2147483648 and 2147483647; multiply the row until all \
             its factors are",
        ),
        ("1,1\n0,0\n", 2, "2: a query of nothing: all its factors are zero"),
        ("1;1\n", 1, "1: column 1 is not a number; the file has no header, its first line is a query"),
        ("nan,inf\n", 2, "1: column 1 is not a number; the file has no header, its first line is a query"),
        ("1,1\n1,1\n\"1\",1\n", 2, "3: column 1 is not a number"),
    ] {
        assert_eq!(said(csv(text, cells)), why, "{text:?}");
    }
    assert!(said(csv("1,2147483648", 2)).starts_with("1: column 2 is not a whole number"));
    assert!(said(csv("1e0,1", 2)).starts_with("1: column 1 is not a whole number"));
    // Not more than anybody reads.
    assert_eq!(csv(&"x,1\n".repeat(99), 2).unwrap_err().len(), SHOWN);
}

#[test]
fn broken_matrix_market_files_are_refused() {
    let head = "%%MatrixMarket matrix coordinate integer general\n";
    let body = |rest: &str| format!("{head}{rest}");
    for (text, why) in [
        (
            String::new(),
            "1: not a Matrix Market header: expected `%%MatrixMarket matrix coordinate integer general`",
        ),
        (
            "1 1 1".into(),
            "1: not a Matrix Market header: expected `%%MatrixMarket matrix coordinate integer general`",
        ),
        (
            "%%MatrixMarket matrix array real general\n1 2\n1\n1\n".into(),
            "1: a Matrix Market array; only `coordinate` is read, or write a CSV file",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n".into(),
            "1: a matrix of `complex` numbers; expected integer, real or pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n".into(),
            "1: a `symmetric` matrix; queries are a `general` one",
        ),
        (body("% only a comment\n"), "no line of sizes: rows, columns, entries"),
        (body("2 2\n"), "2: expected three whole numbers: rows, columns, entries"),
        (body("-1 2 1\n"), "2: expected three whole numbers: rows, columns, entries"),
        (body("1 3 1\n1 1 1\n"), "2: 3 columns where the table has 2 cells, one column for each"),
        (body("70000 2 1\n1 1 1\n"), "2: more than 65536 queries"),
        (body("1 2 99999999999\n1 1 1\n"), "2: more than 16777216 factors that are not zero"),
        (body("0 2 0\n"), "it holds no query"),
        (body("1 2 2\n1 1 1\n"), "1 entries where its line of sizes says 2"),
        (body("1 2 1\n1 1 1\n1 2 1\n"), "2 entries where its line of sizes says 1"),
        (body("1 2 2\n1 1 1\n1 1 2\n"), "4: entry 1 1 is there twice"),
        (body("2 2 1\n1 1 1\n"), "row 2 is a query of nothing"),
        (body("1 2 1\n1 1 0\n"), "row 1 is a query of nothing"),
        (body("1 2 1\n0 1 1\n"), "3: row 0 of a matrix of 1; both are counted from one"),
        (body("1 2 1\n1 3 1\n"), "3: column 3 of a matrix of 2; both are counted from one"),
        (body("1 2 1\nx 1 1\n"), "3: the row is not a whole number"),
        (body("1 2 1\n1 1\n"), "3: expected a row, a column and a factor"),
        (body("1 2 1\n1 1 x\n"), "3: its factor is not a number"),
        (
            "%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 1 1\n".into(),
            "3: expected a row and a column",
        ),
    ] {
        assert_eq!(said(matrix_market(&text, 2)), why, "{text:?}");
    }
    let half = "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 1 0.5\n";
    assert!(said(matrix_market(half, 2)).starts_with("3: its factor is not a whole number"));
    let large = body("1 2 1\n1 1 2147483648\n");
    assert!(said(matrix_market(&large, 2)).starts_with("3: its factor is not a whole number"));
}

#[test]
fn matrix_market_in_all_its_forms() {
    let wanted = [vec![(0, 1), (2, 1)], vec![(1, 1)]];
    for text in [
        "%%MatrixMarket matrix coordinate integer general\n% a comment\n\n2 3 3\n1 3 1\n2 2 1\n1 1 1\n",
        "%%MatrixMarket MATRIX Coordinate Real General\r\n2 3 4\r\n1 1 1.0\r\n1 3 1e0\r\n1 2 0\r\n2 2 +1\r\n",
        "%%MatrixMarket matrix coordinate pattern general\n  2 3   3\n\t1 1\n1 3\n2 2",
    ] {
        assert_eq!(matrix_market(text, 3).unwrap(), wanted, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// What another library writes is read as it was meant.
    #[test]
    fn files_of_another_library(factors in prop::collection::vec(prop::collection::vec(-9i32..9, 4), 1..6)) {
        let mut matrix = TriMat::new((factors.len(), 4));
        let mut wanted: Coefficients = Vec::new();
        for (r, row) in factors.iter().enumerate() {
            let sparse: Vec<(u32, i32)> =
                (0..4u32).zip(row.iter().copied()).filter(|(_, f)| *f != 0).collect();
            sparse.iter().for_each(|&(c, f)| matrix.add_triplet(r, c as usize, f));
            wanted.push(sparse);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.mtx");
        sprs::io::write_matrix_market(&path, &matrix).unwrap();
        let read = matrix_market(&std::fs::read_to_string(&path).unwrap(), 4);
        if wanted.iter().any(Vec::is_empty) {
            prop_assert!(said(read).contains("a query of nothing"));
        } else {
            prop_assert_eq!(read.unwrap(), wanted);
        }
    }

    #[test]
    fn garbage_is_refused_or_read(text in "[-+0-9a-e%., \n]{0,60}", cells in 1usize..5) {
        let _ = csv(&text, cells);
        let _ = matrix_market(&text, cells);
        let _ = matrix_market(&format!("%%MatrixMarket matrix coordinate integer general\n{text}"), cells);
    }
}
