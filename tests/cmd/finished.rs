//! `export --finish` on random specs with exact tables and cells declared empty: what is finished is whole, not negative, exact where the release is, empty where
//! it must be, and, with `consistent`, the same wherever two tables meet.

use crate::margins;
use margins::numeric::dice::Dice;
use std::collections::BTreeMap;
use std::path::Path;

/// A cell: its label in each column of a table.
type Cells = BTreeMap<Vec<(String, String)>, i64>;

fn run(folder: &Path, words: &[&str]) -> (bool, String) {
    let out = margins(folder).args(words).output().unwrap();
    let text = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Of each exported table its finished cells.
fn read(folder: &Path) -> Vec<(String, Cells)> {
    let mut tables: Vec<(String, Cells)> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "csv") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
        let head = lines.next().unwrap();
        let keys = head.iter().position(|h| *h == "estimate").unwrap();
        assert_eq!(head.last(), Some(&"finished_biased"));
        let cells = lines.map(|l| {
            let key =
                head[..keys].iter().zip(&l).map(|(h, l)| ((*h).to_string(), (*l).to_string())).collect();
            (key, l.last().unwrap().parse().unwrap())
        });
        tables.push((path.file_stem().unwrap().to_string_lossy().into_owned(), cells.collect()));
    }
    tables.sort();
    tables
}

/// The sums of a table over all columns but these; `b.half` is told from `b`.
fn rolled(cells: &Cells, columns: &[&str]) -> Option<Cells> {
    let mut out = Cells::new();
    for (key, n) in cells {
        let find = |column: &&str| {
            key.iter().find(|(c, _)| c == column).cloned().or_else(|| {
                let (_, b) = key.iter().find(|(c, _)| *column == "b.half" && c == "b")?;
                Some(("b.half".into(), if b < &"2".to_string() { "lo" } else { "hi" }.into()))
            })
        };
        *out.entry(columns.iter().map(find).collect::<Option<Vec<_>>>()?).or_default() += n;
    }
    Some(out)
}

/// Which tables are exact, trial by trial.
const EXACT: [&[&[&str]]; 8] = [
    &[&["a"]],
    &[&["a", "c"]],
    &[&["a"], &["b.half"], &["c"]],
    &[&["a", "b.half"], &["c"]],
    &[],
    &[&["b"], &["a", "c"]],
    &[&[]],
    &[&["a", "b"], &["b", "c"]],
];

const COLUMNS: [&str; 4] = ["a", "b", "b.half", "c"];

#[test]
fn finished_tables_keep_what_is_known() {
    let mut dice = Dice::new(2026);
    let (mut exact_tables, mut zeros, mut narrow) = (0, 0, 0);
    for trial in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let sizes = [2 + dice.below(2), 4, 2 + dice.below(3)];
        // Nobody has a = 0 and b below 2, or b = 3 and c = 1.
        let holes = trial % 3 != 0;
        let mut rows = Vec::new();
        while rows.len() < 40 {
            let row = sizes.map(|n| dice.below(n));
            if !(holes && ((row[0] == 0 && row[1] < 2) || (row[1] == 3 && row[2] == 1))) {
                rows.push(row);
            }
        }
        let data: String = rows.iter().map(|[a, b, c]| format!("{a},{b},{c}\n")).collect();
        std::fs::write(folder.join("data.csv"), format!("a,b,c\n{data}")).unwrap();
        let mut spec = String::from(
            "name = \"f\"\ntitle = \"t\"\ndemo = true\n[data]\npath = \"data.csv\"\n[privacy]\nunit = \"row\"\nneighbours = \"add-remove\"\nrho = \"1/5\"\n",
        );
        for (name, n) in ["a", "b", "c"].into_iter().zip(sizes) {
            let labels: Vec<String> = (0..n).map(|i| format!("\"{i}\"")).collect();
            spec += &format!("[[dimension]]\nname = \"{name}\"\ncategories = [{}]\n", labels.join(", "));
            if name == "b" {
                spec +=
                    "levels = [{ name = \"half\", map = { lo = [\"0\", \"1\"], hi = [\"2\", \"3\"] } }]\n";
            }
        }
        spec += "[[table]]\nevery = 2\n[[table]]\nof = [\"a\", \"b.half\"]\n";
        let exact = EXACT[trial];
        for of in exact {
            spec += &format!("[[table]]\nof = {of:?}\nexact = true\nreason = \"known\"\n");
        }
        if holes {
            spec += "[[zero]]\nwhere = \"a = '0' AND b = '0'\"\n[[zero]]\nwhere = \"a = '0' AND b = '1'\"\n[[zero]]\nwhere = \"b = '3' AND c = '1'\"\n";
        }
        std::fs::write(folder.join("f.toml"), spec).unwrap();
        let seed = trial.to_string();
        let (made, text) = run(folder, &["release", "f.toml", "--insecure-seed", &seed]);
        assert!(made, "{text}");
        for how in ["consistent", "nonnegative-integral"] {
            let words =
                ["export", "out/f.margins", "--all", "--format", "csv", "--finish", how, "--out", how];
            let (made, text) = run(folder, &words);
            assert!(made, "{trial} {how} {text}");
            let tables = read(&folder.join(how));
            assert!(tables.len() >= 4);
            let mut seen: BTreeMap<&[&str], Cells> = BTreeMap::new();
            let truth: Cells = rows.iter().fold(Cells::new(), |mut all, row| {
                let key = ["a", "b", "c"]
                    .into_iter()
                    .zip(row)
                    .map(|(c, v)| (c.to_string(), v.to_string()))
                    .collect();
                *all.entry(key).or_default() += 1;
                all
            });
            for (name, cells) in &tables {
                assert!(cells.values().all(|n| *n >= 0), "{name}");
                for columns in subsets() {
                    let Some(own) = rolled(cells, columns) else { continue };
                    if exact.iter().any(|e| {
                        columns.iter().all(|c| e.contains(c) || (*c == "b.half" && e.contains(&"b")))
                    }) {
                        let mut known = own.clone();
                        known.values_mut().for_each(|n| *n = 0);
                        known.extend(rolled(&truth, columns).unwrap());
                        assert_eq!(own, known, "{trial} {how} {name} {columns:?}");
                        exact_tables += 1;
                    }
                    if how == "consistent" {
                        let other = seen.entry(columns).or_insert_with(|| own.clone());
                        assert_eq!(*other, own, "{trial} {name} {columns:?}");
                        narrow += 1;
                    }
                    for (key, n) in own.iter().filter(|_| holes) {
                        let is = |c: &str, v: &str| key.iter().any(|(k, l)| k == c && l == v);
                        let low = is("b", "0") || is("b", "1") || is("b.half", "lo");
                        if (is("a", "0") && low) || (is("b", "3") && is("c", "1")) {
                            assert_eq!(*n, 0, "{trial} {how} {name} {key:?}");
                            zeros += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(exact_tables > 50 && zeros > 40 && narrow > 50, "{exact_tables} {zeros} {narrow}");
}

/// Columns that tables may share: `b` and its level never together.
fn subsets() -> Vec<&'static [&'static str]> {
    const ALL: [&[&str]; 12] = [
        &[],
        &["a"],
        &["b"],
        &["b.half"],
        &["c"],
        &["a", "b"],
        &["a", "b.half"],
        &["a", "c"],
        &["b", "c"],
        &["b.half", "c"],
        &["a", "b", "c"],
        &["a", "b.half", "c"],
    ];
    assert!(ALL.iter().all(|s| s.iter().all(|c| COLUMNS.contains(c))));
    ALL.to_vec()
}
