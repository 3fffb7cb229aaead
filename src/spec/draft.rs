//! A first draft of a spec from a data file.
//!
//! This is the one tool that shows data values, and it does so on purpose: it is run by people who may
//! see the data, to write the lists of categories that they then confirm and publish. Its output is as
//! private as the data until somebody has read it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Component, Path};

/// A column with more different values than this is left for people to decide.
const MOST_VALUES: usize = 200;

/// Why no draft could be made. Names rows and columns, never values.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Not the format this reads.
    #[error(
        "{0} is a Parquet file: drafts are made from CSV; write a few thousand rows as CSV and draft from those"
    )]
    Parquet(String),
    /// Not well-formed.
    #[error("{path}, line {line}: {reason}")]
    Malformed {
        /// The file.
        path: String,
        /// The line in it.
        line: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// No column can become a dimension.
    #[error("{0} has no column with values that could be listed: nothing to draft")]
    Nothing(String),
}

/// Drafts a spec for a CSV file with a header; `folder` is where the spec will be put, so that the
/// draft can name the data relative to it.
///
/// **The draft contains values of the data**: the categories of every text column and the range of every
/// column of whole numbers. Each such list is marked `confirm`, because it becomes public with the spec.
pub fn draft(data: &Path, folder: &Path) -> Result<String, DraftError> {
    let path = data.display().to_string();
    if data.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")) {
        return Err(DraftError::Parquet(path));
    }
    let failed = |source| DraftError::Read { path: path.clone(), source };
    // A pipe would be waited for.
    let file = crate::files::open(data).map_err(failed)?;
    let (columns, delimiter) = survey(file, &path)?;
    if columns.iter().all(|c| c.domain().is_err()) {
        return Err(DraftError::Nothing(path));
    }
    Ok(write(&columns, delimiter, data, folder))
}

/// What is known about a column when all rows have been seen.
struct Survey {
    name: String,
    /// The different values, one more than may be listed at most.
    values: BTreeSet<String>,
    /// Smallest and largest, as long as all values are whole numbers.
    whole: Option<(i64, i64)>,
    /// All values are numbers.
    numbers: bool,
    empty: bool,
}

impl Survey {
    fn see(&mut self, value: &str) {
        // A cell of blanks looks empty to people; it cannot be a label.
        if value.trim().is_empty() {
            self.empty = true;
            return;
        }
        // 007 and +7 are spellings, not numbers.
        let whole = value.parse::<i64>().ok().filter(|n| n.to_string() == value);
        self.whole = match (whole, self.whole) {
            (Some(n), _) if self.values.is_empty() => Some((n, n)),
            (Some(n), Some((lo, hi))) => Some((lo.min(n), hi.max(n))),
            _ => None,
        };
        self.numbers &= value.parse::<f64>().is_ok_and(f64::is_finite);
        if self.values.len() <= MOST_VALUES {
            self.values.insert(value.to_owned());
        }
    }

    /// The line that declares the domain, or why there is none.
    fn domain(&self) -> Result<String, &'static str> {
        let listed = |values: Vec<String>| format!("categories = [{}]", values.join(", "));
        const EXACT: i64 = 1 << 53;
        match self.whole {
            _ if self.values.is_empty() => Err("every cell is empty"),
            Some((lo, hi)) if hi.saturating_sub(lo) < MOST_VALUES as i64 && lo >= -EXACT && hi <= EXACT => {
                Ok(format!("range = [{lo}, {hi}]"))
            }
            Some(_) if self.values.len() <= MOST_VALUES => {
                let mut values: Vec<i64> = self.values.iter().filter_map(|v| v.parse().ok()).collect();
                values.sort_unstable();
                Ok(listed(values.into_iter().map(|n| format!("\"{n}\"")).collect()))
            }
            _ if self.values.len() <= MOST_VALUES => {
                Ok(listed(self.values.iter().map(|v| quoted(v)).collect()))
            }
            _ if self.numbers => {
                Err("too many different numbers: give it a `range` of whole numbers or `bins`")
            }
            _ => Err("too many different values: leave it out, or list its categories"),
        }
    }
}

/// Reads the whole file once.
fn survey(mut file: std::fs::File, path: &str) -> Result<(Vec<Survey>, u8), DraftError> {
    let mut start = Vec::new();
    let failed = |source| DraftError::Read { path: path.to_owned(), source };
    (&mut file).take(64 * 1024).read_to_end(&mut start).map_err(failed)?;
    let first_line = start.split(|&b| b == b'\n').next().unwrap_or(&[]);
    let occurs = |b: u8| first_line.iter().filter(|&&c| c == b).count();
    // `max_by_key` takes the last of equals: a comma, when nothing separates anything.
    let delimiter = [b'|', b'\t', b';', b','].into_iter().max_by_key(|&b| occurs(b)).unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(start.chain(file));

    let malformed = |line: u64, reason| DraftError::Malformed { path: path.to_owned(), line, reason };
    let explain = |e: csv::Error| {
        let line = e.position().map_or(1, |p| p.line());
        match e.into_kind() {
            csv::ErrorKind::Io(source) => failed(source),
            csv::ErrorKind::Utf8 { .. } => malformed(line, "not UTF-8 text"),
            csv::ErrorKind::UnequalLengths { .. } => malformed(line, "not as many values as in the header"),
            _ => malformed(line, "not CSV"),
        }
    };
    let mut columns: Vec<Survey> = Vec::new();
    for name in reader.headers().map_err(explain)? {
        if name.trim().is_empty() {
            return Err(malformed(1, "a column has no name"));
        }
        if columns.iter().any(|c| c.name == name) {
            return Err(malformed(1, "two columns have the same name"));
        }
        columns.push(Survey {
            name: name.to_owned(),
            values: BTreeSet::new(),
            whole: None,
            numbers: true,
            empty: false,
        });
    }
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(explain)? {
        for (column, value) in columns.iter_mut().zip(&record) {
            column.see(value);
        }
    }
    Ok((columns, delimiter))
}

fn write(columns: &[Survey], delimiter: u8, data: &Path, folder: &Path) -> String {
    let stem = data.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let name: String = name.trim_matches('-').chars().take(100).collect();
    let name = if name.is_empty() { "release" } else { &name };
    let mut out = format!(
        "# A draft, made from the data: it holds values of the data, and all of it will be public.\n\
         # Read every line marked `confirm` before you show this file to anybody, change what nobody may know, and write\n\
         # `confirmed = true` below it. There is no release before that.\n\
         name  = \"{name}\"\n\
         title = {}\n\n\
         [data]\n\
         path = {}                  # relative to this file\n",
        quoted(&format!("Tables from {}", if stem.is_empty() { "the data" } else { stem })),
        quoted(&relative(data, folder)),
    );
    if data.extension().is_none_or(|e| !e.eq_ignore_ascii_case("csv")) {
        out.push_str("format = \"csv\"\n");
    }
    if delimiter != b',' {
        let _ = writeln!(out, "delimiter = {}", quoted(&char::from(delimiter).to_string()));
    }
    out.push_str(
        "\n[privacy]\n\
         # Whom the guarantee protects. \"row\" is right if every row is another person. If people can have\n\
         # several rows: unit = { column = \"person_id\", max_rows = 3 }\n\
         unit = \"row\"\n\
         # How much may be learned about one unit: half of it means more noise. \"1/2\" is a common middle.\n\
         # Or `epsilon = 1` for pure differential privacy.\n\
         rho = \"1/2\"\n",
    );
    let mut used = 0usize;
    for column in columns {
        let named = unambiguous(&column.name, columns);
        let mut name = quoted(&named);
        if named != column.name {
            let _ = write!(name, "\ncolumn = {}", quoted(&column.name));
        }
        match column.domain() {
            Ok(domain) => {
                used += 1;
                let _ = write!(
                    out,
                    "\n[[dimension]]\nname = {name}\n{domain}  # confirm: this list will be public\nconfirmed = false\n"
                );
                if column.empty {
                    out.push_str("missing = \"unknown\"  # for empty cells\n");
                }
            }
            Err(why) => {
                let name = quoted(&column.name).replace(['\n', '\r'], " ");
                let _ = write!(out, "\n# {why}\n# [[dimension]]\n# name = {name}\n");
            }
        }
    }
    out.push_str(
        "\n# Every table of up to so many dimensions, the total included. More tables, more noise in each.\n",
    );
    let _ = write!(out, "[[table]]\nup_to = {}\n", used.min(2));
    out.push_str("\n[strategy]\nmeasure = \"auto\"\nbudgets = \"optimal\"\n");
    out
}

/// A name for the dimension of a column. `e.e` beside `e` would also be a level of that: then `e-e`.
fn unambiguous(column: &str, columns: &[Survey]) -> String {
    let is_level = columns
        .iter()
        .any(|c| column.strip_prefix(&c.name).and_then(|r| r.strip_prefix('.')) == Some(&c.name));
    if !is_level {
        return column.to_owned();
    }
    let mut name = column.replacen('.', "-", 1);
    while columns.iter().any(|c| c.name == name) {
        name.push('-');
    }
    name
}

/// A TOML string on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `path` as seen from `folder`, with forward slashes. The spec becomes public, so a way that would lead over the root, and name
/// every folder below it, is not written: then it is the file's name alone, and the data has to be put there or given with `--data`.
fn relative(path: &Path, folder: &Path) -> String {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = || path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let (Ok(path), Ok(folder)) = (std::path::absolute(path), std::path::absolute(here)) else {
        return name();
    };
    let (to, from): (Vec<_>, Vec<_>) = (path.components().collect(), folder.components().collect());
    let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let climbs = from.get(common..).unwrap_or(&[]);
    // Another drive, nothing but the root in common, or a climb over `..`, which only the file system can resolve.
    let nothing = !to.iter().take(common).any(|c| matches!(c, Component::Normal(_)));
    if (nothing && !climbs.is_empty()) || climbs.contains(&Component::ParentDir) {
        return name();
    }
    let up = climbs.iter().map(|_| "..".to_owned());
    let down = to.get(common..).unwrap_or(&[]).iter().map(|c| c.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::super::{Coding, load};
    use super::*;
    use proptest::prelude::*;

    fn draft_of(name: &str, bytes: &[u8]) -> Result<(String, super::super::Spec), DraftError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let text = draft(&folder.path().join(name), folder.path())?;
        let spec = folder.path().join("draft.toml");
        std::fs::write(&spec, &text).unwrap();
        Ok((text, load(&spec).unwrap_or_else(|e| panic!("{e}"))))
    }

    #[test]
    fn columns_become_what_they_hold() {
        let mut data = String::from("age,zip,sex,pay,id,note,year\n");
        for i in 0..300 {
            let (age, zip, sex) = (20 + i % 60, i % 7, if i % 11 == 0 { "" } else { ["M", "F"][i % 2] });
            data += &format!("{age},0{zip},{sex},{i}.5,x{i},,{}\n", 1000 * (i % 9));
        }
        let (text, spec) = draft_of("My people.csv", data.as_bytes()).unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["age", "zip", "sex", "year"]);
        assert_eq!(spec.columns[0].coding, Coding::Range { lo: 20, hi: 79 });
        assert_eq!(spec.cube.dimensions[1].levels[1].labels[0], "00", "codes with a leading zero stay text");
        assert_eq!(spec.cube.dimensions[2].levels[1].labels, ["F", "M", "unknown"]);
        assert_eq!(spec.columns[2].missing, Some(2));
        assert_eq!(spec.cube.dimensions[3].levels[1].labels[1], "1000", "numbers in their own order");
        assert_eq!((&*spec.name, spec.workload.len()), ("my-people", 1 + 4 + 6));
        assert_eq!(text.matches("# confirm:").count(), 4);
        assert_eq!(text.matches("\nconfirmed = false\n").count(), 4);
        let refused = spec.confirmed().unwrap_err().to_string();
        assert!(refused.contains("confirmed = false") && refused.contains("4 mistakes"), "{refused}");
        assert!(!text.contains("x17") && !text.contains("17.5"), "long lists are not shown");
        assert!(text.contains("# name = \"note\"") && text.contains("every cell is empty"));
    }

    #[test]
    fn other_separators_and_endings() {
        let (text, spec) = draft_of("rows.txt", b"a;b\r\n1;x,y\r\n2;z\r\n").unwrap();
        assert!(text.contains("format = \"csv\""));
        assert_eq!(spec.data.unwrap().csv.delimiter, b';');
        assert_eq!(spec.cube.dimensions[1].levels[1].labels, ["x,y", "z"]);
        assert!(draft_of("one.csv", b"a\n1\n").unwrap().0.contains("up_to = 1"));
    }

    /// `e.e` is how queries write the finest level of `e`.
    #[test]
    fn columns_that_look_like_levels() {
        let (_, spec) = draft_of("rows.csv", b"e,e.e,e-e,f.f\n1,2,3,4\n5,6,7,8\n").unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["e", "e-e-", "e-e", "f.f"]);
        let columns: Vec<&str> = spec.columns.iter().map(|c| &*c.column).collect();
        assert_eq!(columns, ["e", "e.e", "e-e", "f.f"]);
    }

    #[test]
    fn refusals_show_no_values() {
        let message = |name: &str, bytes: &[u8]| draft_of(name, bytes).unwrap_err().to_string();
        assert!(message("a.csv", b"a,b\nsecret\n").ends_with("line 2: not as many values as in the header"));
        assert!(message("a.csv", b"a,b\n1,2\nsecret\xff,2\n").ends_with("line 3: not UTF-8 text"));
        assert!(message("a.csv", b"a,a\n1,2\n").contains("the same name"));
        assert!(message("a.csv", b"a,\n1,2\n").contains("no name"));
        assert!(message("a.csv", b"").contains("nothing to draft"));
        assert!(message("a.csv", b"a\n").contains("nothing to draft"));
        assert!(message("a.parquet", b"").contains("Parquet"));
        assert!(matches!(draft(Path::new("/nowhere/x.csv"), Path::new("")), Err(DraftError::Read { .. })));
    }

    #[test]
    fn paths() {
        let at = |p: &str, f: &str| relative(Path::new(p), Path::new(f));
        assert_eq!(at("/a/b/c.csv", "/a/b"), "c.csv");
        assert_eq!(at("/a/b/c.csv", "/a/d/e"), "../../b/c.csv");
        assert_eq!(at("data/c.csv", ""), "data/c.csv");
        assert_eq!(at("data/c.csv", "specs"), "../data/c.csv");
        assert_eq!(at("/home/ann/c.csv", "/srv/specs"), "c.csv", "names of folders stay at home");
        assert_eq!(at("/home/ann/c.csv", "/home/ann/x/../y"), "c.csv");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever stands in the cells, a draft that is made can be loaded (`draft_of` does).
        #[test]
        fn drafts_load(cells in prop::collection::vec("[ -~\n\t\u{85}\u{e9}]{0,6}|[0-9]{1,20}|-?[0-9.e]{1,4}", 3..40)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            for row in cells.chunks_exact(3) {
                writer.write_record(row).unwrap();
            }
            let _ = draft_of("t.csv", &writer.into_inner().unwrap());
        }
    }
}
