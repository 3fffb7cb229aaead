//! A first draft of a spec from a data file.
//!
//! This is the one tool that shows data values, and it does so on purpose: it is run by people who may
//! see the data, to write the lists of categories that they then confirm and publish. Its output is as
//! private as the data until somebody has read it.
//!
//! | file | idea |
//! |---|---|
//! | `survey` | what is known of one column |
//! | `numbers`, `days` | bins for numbers, ways to write days |
//! | `marks` | ways to write numbers |
//! | `nested` | which columns lie in others |
//! | `areas` | those that are a tree of areas, as a list in a file of its own |
//! | `text` | rows from delimited text |
//! | `write` | the draft |

mod areas;
mod days;
mod marks;
mod nested;
mod numbers;
mod survey;
mod text;
mod write;

use super::{CsvOptions, Digits};
use nested::Nested;
use std::collections::BTreeSet;
use std::path::Path;
use survey::{Survey, hash};
pub(crate) use text::{Part, line_of_excel};

/// What a file's types say of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Whatever its cells hold.
    Anything,
    /// Fractions, which are no labels.
    Fractions,
    /// Nothing of which a dimension can be made, and why.
    Nothing(&'static str),
}

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
    /// Not a table at all.
    #[error("{path} {what}")]
    Foreign {
        /// The file.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// A column that cannot be named in a spec.
    #[error("{path}: {what}")]
    Names {
        /// The file.
        path: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A line of names, and nothing below it.
    #[error("{0} has no rows: nothing to draft")]
    NoRows(String),
    /// No column can become a dimension.
    #[error("{0} has no column with values that could be listed: nothing to draft. Of the first one: {1}")]
    Nothing(String, &'static str),
}

/// What data is called in an error.
pub(crate) fn called(data: &Path) -> String {
    if super::is_pipe(data) { "standard input".into() } else { data.display().to_string() }
}

/// Whether a draft in this folder says a way to the data: otherwise it has the file's name alone, for the way would name folders that nobody else should know.
pub(crate) fn says_where(data: &Path, folder: &Path) -> bool {
    write::relative(data, folder).is_some()
}

/// Drafts a spec for CSV files with a header, which `data` names; `folder` is where the spec will be put, so that the
/// draft can name the data relative to it.
///
/// **The draft contains values of the data**: the categories of every text column and the range of every
/// column of whole numbers. Each such list is marked `confirm`, because it becomes public with the spec.
///
/// Where `lists` are wanted, areas within areas are drafted as hierarchy files: names in that folder, and their texts.
pub fn draft(
    files: &[Part<'_>],
    data: &Path,
    folder: &Path,
    lists: Option<&mut Vec<(String, String)>>,
) -> Result<String, DraftError> {
    let (drawn, options) = text::read(files)?;
    drawn.draft_of(data, folder, Some(&options), lists)
}

/// So many ways to write nothing but blanks are told.
const BLANKS: usize = 20;

/// What has been seen of a table.
pub struct Drawn {
    columns: Vec<Survey>,
    nested: Nested,
    rows: u64,
    /// For each column where its cell is in a row of the file that is read.
    order: Vec<usize>,
    /// Cells of nothing but blanks, each as it is written.
    blanks: BTreeSet<String>,
    /// The numbers of a row's values: none where a cell is empty, and none of a value that nobody wants to know.
    cells: Vec<Option<Option<u32>>>,
}

impl Drawn {
    /// No rows yet, of columns with these names.
    pub fn new(columns: Vec<(String, Holds)>) -> Result<Drawn, &'static str> {
        Drawn::written(columns, Digits::default())
    }

    /// The same, of numbers that are written so.
    fn written(columns: Vec<(String, Holds)>, digits: Digits) -> Result<Drawn, &'static str> {
        for (at, (name, _)) in columns.iter().enumerate() {
            if name.trim().is_empty() {
                return Err(
                    "a column has no name (pandas writes its index so, unless told index=False): give it one, or leave it out",
                );
            }
            if name.len() > survey::LONGEST {
                return Err("a column's name is longer than 1 000 bytes");
            }
            if columns.iter().take(at).any(|(other, _)| other == name) {
                return Err("two columns have the same name");
            }
        }
        let (nested, order) = (Nested::new(columns.len()), (0..columns.len()).collect());
        let columns = columns.into_iter().map(|(name, holds)| Survey::new(name, holds, digits)).collect();
        Ok(Drawn { columns, nested, rows: 0, order, blanks: BTreeSet::new(), cells: Vec::new() })
    }

    /// Whether another file of the same table has these columns, in whatever order: its rows are next.
    pub(crate) fn has(&mut self, columns: &[(String, Holds)]) -> bool {
        let of =
            |own: &Survey| columns.iter().position(|(name, holds)| own.name == *name && own.holds == *holds);
        let order: Option<Vec<usize>> = self.columns.iter().map(of).collect();
        match order.filter(|order| order.len() == columns.len()) {
            Some(order) => self.order = order,
            None => return false,
        }
        true
    }

    /// One more row; an empty cell is an empty text.
    pub fn row<'c>(&mut self, cells: impl Iterator<Item = &'c str>) {
        self.rows += 1;
        self.cells.clear();
        let cells: Vec<&str> = cells.collect();
        for (at, (column, &from)) in self.columns.iter_mut().zip(&self.order).enumerate() {
            let cell = cells.get(from).copied().unwrap_or("");
            let hash = (!cell.trim().is_empty()).then(|| hash(cell));
            if hash.is_none() && !cell.is_empty() && self.blanks.len() < BLANKS {
                self.blanks.insert(cell.to_owned());
            }
            self.cells.push(hash.map(|hash| self.nested.number(at, hash, cell)));
            column.see(cell, hash);
        }
        self.nested.see(&self.cells);
    }

    /// The texts that stand for no value, as bits.
    fn gaps(&self) -> u8 {
        self.columns.iter().fold(0, |gaps, column| gaps | column.gaps())
    }

    /// How its numbers seem to be written, and whether they may be other numbers as well.
    fn digits(&self) -> (Digits, bool) {
        marks::common(self.columns.iter().map(|column| column.marks))
    }

    /// The draft; `folder` is where it will be put.
    pub fn draft(
        &self,
        data: &Path,
        folder: &Path,
        lists: Option<&mut Vec<(String, String)>>,
    ) -> Result<String, DraftError> {
        self.draft_of(data, folder, None, lists)
    }

    /// The draft for data in a file, which may be CSV written so.
    fn draft_of(
        &self,
        data: &Path,
        folder: &Path,
        csv: Option<&CsvOptions>,
        lists: Option<&mut Vec<(String, String)>>,
    ) -> Result<String, DraftError> {
        if self.rows == 0 {
            return Err(DraftError::NoRows(called(data)));
        }
        let trees = if lists.is_some() { areas::trees(self) } else { Vec::new() };
        let mut why = self.columns.iter().map(|c| c.domain(self.gaps()).err());
        if trees.is_empty()
            && let Some(first) = why.next().flatten()
            && why.all(|why| why.is_some())
        {
            return Err(DraftError::Nothing(called(data), first));
        }
        let name = write::name(data);
        let text = write::write(self, (&name, data), folder, csv, &trees);
        if let Some(lists) = lists {
            lists.extend(trees.iter().map(|tree| (tree.file(self, &name), tree.list(self))));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Coding, load};
    use super::*;
    use proptest::prelude::*;

    fn draft_of(name: &str, bytes: &[u8]) -> Result<(String, super::super::Spec), DraftError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let data = folder.path().join(name);
        let text = draft(&[Part::from(&*data)], &data, folder.path(), None)?;
        let spec = folder.path().join("draft.toml");
        std::fs::write(&spec, &text).unwrap();
        Ok((text, load(&spec).unwrap_or_else(|e| panic!("{e}"))))
    }

    #[test]
    fn columns_become_what_they_hold() {
        let mut data = String::from("age,zip,sex,pay,id,note,year,kids\n");
        for i in 0..300 {
            let (age, zip, sex) = (20 + i % 60, i % 7, if i % 11 == 0 { "" } else { ["M", "F"][i % 2] });
            data += &format!("{age},0{zip},{sex},{i}.5,x{i},,{},{}.0\n", 1000 * (i % 9), i % 4);
        }
        let (text, spec) = draft_of("My people.csv", data.as_bytes()).unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["age", "zip", "sex", "pay", "year", "kids"]);
        assert_eq!(spec.columns[0].coding, Coding::Range { lo: 20, hi: 79 });
        assert_eq!(spec.cube.dimensions[1].levels[1].labels[0], "00", "codes with a leading zero stay text");
        assert_eq!(spec.cube.dimensions[2].levels[1].labels, ["F", "M", "unknown"]);
        assert_eq!(spec.columns[2].missing, Some(2));
        assert!(
            text.contains(
                "bins = [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300]"
            ),
            "{text}"
        );
        assert!(text.contains("# 15 bins: every table with it has 15 times the cells"), "{text}");
        assert_eq!(spec.cube.dimensions[4].levels[1].labels[1], "1000", "numbers in their own order");
        assert_eq!(spec.columns[5].coding, Coding::Range { lo: 0, hi: 3 }, "2.0 is a whole number");
        assert_eq!((&*spec.name, spec.workload.len()), ("my-people", 1 + 6 + 15));
        assert_eq!(text.matches("# confirm:").count(), 6);
        assert_eq!(text.matches("\nconfirmed = false\n").count(), 6);
        let refused = spec.confirmed().unwrap_err().to_string();
        assert!(refused.contains("confirmed = false") && refused.contains("25 mistakes"), "{refused}");
        assert!(!text.contains("x17") && !text.contains("17.5"), "long lists are not shown");
        assert!(text.contains("#? name = \"note\"") && text.contains("every cell is empty"));
    }

    /// More whole numbers than people would list are a range where they lie close, and bins where they do not; a number of somebody stays a list.
    #[test]
    fn whole_numbers_are_no_labels() {
        let mut data = String::from("score,pay,kind,shop_id\n");
        for i in 0..900 {
            data += &format!("{},{},{},{}\n", i % 180 * 2, 1000 + i % 180 * 50, i % 15 * 100, i % 150 * 30);
        }
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert_eq!(spec.columns[0].coding, Coding::Range { lo: 0, hi: 358 }, "{text}");
        assert!(text.contains("name = \"pay\"\nbins = [1000, 1500, "), "{text}");
        assert!(text.contains("categories = [\"0\", \"100\", \"200\", "), "{text}");
        assert!(text.contains("categories = [\"0\", \"30\", \"60\", "), "{text}");
    }

    /// Fractions are no labels, so that what `release` would refuse is not drafted.
    #[test]
    fn fractions_are_numbers() {
        let domain = |holds, cells: &[&str]| {
            let mut drawn = Drawn::new(vec![("x".into(), holds)]).unwrap();
            cells.iter().for_each(|cell| drawn.row([*cell].into_iter()));
            drawn.columns[0].domain(0).map_err(str::to_owned)
        };
        let dear = &["2700.0", "49999.0", "120000.0", "3100.0", "41000.0", ""];
        assert_eq!(
            domain(Holds::Fractions, dear).unwrap(),
            "bins = [0, 10000, 20000, 30000, 40000, 50000, 60000, 70000, 80000, 90000, 100000, 110000, 120000]"
        );
        assert_eq!(domain(Holds::Fractions, &["2.0", "5.0"]).unwrap(), "range = [2, 5]");
        assert_eq!(domain(Holds::Fractions, &["0.5"]).unwrap(), "bins = [0, 1]");
        assert_eq!(domain(Holds::Anything, &["0.5", "1.5"]).unwrap(), "categories = [\"0.5\", \"1.5\"]");
        for strange in [&["NaN"][..], &["inf", "1.5"], &["1e300", "-1.5"], &["1e-300", "0.0"]] {
            assert!(domain(Holds::Fractions, strange).is_err(), "{strange:?}");
        }
    }

    /// Days as they are written, and what R, Python and databases write where there is no value.
    #[test]
    fn ways_of_days_and_gaps() {
        let data = "day,seen,us,either,age,country,pay\n31.03.2024,2024-03-31 23:59:01,1/31/2024,01/02/2024,NA,NA,1.5\n\
            01.04.2024,2024-04-01T00:00:00Z,12/1/2024,02/01/2024,7,DE,NULL\n";
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(text.contains("empty = [\"NA\", \"NULL\"]"), "{text}");
        assert!(text.contains("format = \"DD.MM.YYYY\"\ndates = [\"2024-03-31\", \"2024-04-01\"]"), "{text}");
        assert!(text.contains("time = \"day\"\ndates = [\"2024-03-31\", \"2024-04-01\"]"), "{text}");
        assert!(text.contains("format = \"M/D/YYYY\"\ndates = [\"2024-01-31\", \"2024-12-01\"]"), "{text}");
        assert!(text.contains("whether the month or the day comes first"), "{text}");
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["day", "seen", "us", "age", "country", "pay"]);
        assert_eq!(spec.cube.dimensions[4].levels[1].labels, ["DE", "unknown"]);
        // Of words alone nobody knows which is none.
        let (text, spec) = draft_of("rows.csv", b"country,x\nNA,a\nDE,a\n").unwrap();
        assert!(
            !text.contains("empty =") && spec.cube.dimensions[0].levels[1].labels == ["DE", "NA"],
            "{text}"
        );
    }

    /// Numbers as other languages write them: told by those that are written in no other way.
    #[test]
    fn numbers_of_other_languages() {
        let mut data = String::from("pay;staff;rate;code;kind;share\n");
        for i in 0..300 {
            data += &format!(
                "{}.{:03},5{};{}.{:03};{},{};0{i};a{};{i},5%\n",
                1 + i % 9,
                i,
                i % 10,
                20 + i % 70,
                (i * 37) % 1000,
                i % 30,
                i % 10,
                i % 3
            );
        }
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        let own = spec.data.as_ref().unwrap().csv.numbers;
        assert_eq!((own.decimal, own.thousands), (b',', Some('.')), "{text}");
        let bins = |name: &str| {
            text.split(&format!("name = \"{name}\"\n")).nth(1).unwrap().lines().next().unwrap().to_owned()
        };
        assert!(bins("pay").starts_with("bins = [1000, 1500, "), "{text}");
        assert!(bins("staff").starts_with("bins = [20000, 25000, "), "20.123 is no fraction: {text}");
        assert!(bins("rate").starts_with("bins = [0, 2, 4, "), "{text}");
        assert!(
            text.contains("#? numbers with a sign behind them") && !text.contains("column = \"share\""),
            "{text}"
        );
        assert!(!text.contains("#? Whether a comma"), "{text}");
        // Whole numbers in groups, between the commas of the file itself.
        let (text, spec) = draft_of("rows.csv", b"n,x\n\"1,234\",a\n\"2,345\",b\n\"1,234\",b\n").unwrap();
        let own = spec.data.as_ref().unwrap().csv.numbers;
        assert_eq!((own.decimal, own.thousands), (b'.', Some(',')), "{text}");
        assert!(text.contains("bins = [1200, 1300, ") && text.contains("#? Whether a comma"), "{text}");
        let (text, _) = draft_of("rows.csv", b"n,x\n1.234,a\n20.123,b\n").unwrap();
        assert!(text.contains("#? Whether a point in a number") && !text.contains("\ndecimal"), "{text}");
        let (text, _) = draft_of("rows.csv", b"n,x\n1.234,1.5\n20.123,2\n-5,-1\n").unwrap();
        assert!(!text.contains("#? Whether"), "{text}");
        let (text, _) = draft_of("rows.csv", b"n,x\n-1,a\n20,b\n").unwrap();
        assert!(!text.contains("#? Whether"), "{text}");
        // Where there is one column its commas separate nothing.
        for text in ["preis\n1,5\n2,25\n10,75\n", "preis\r\n\"1,5\"\r\n2,25\r\n10,75\r\n"] {
            let (draft, spec) = draft_of("rows.csv", text.as_bytes()).unwrap();
            let own = &spec.data.as_ref().unwrap().csv;
            assert_eq!((own.delimiter, own.numbers.decimal), (b';', b','), "{draft}");
        }
        let (_, spec) = draft_of("rows.csv", b"sex\nF\nM\n").unwrap();
        assert_eq!(spec.data.as_ref().unwrap().csv.delimiter, b',');
        for (cells, decimal, thousands) in [
            ("1.5\n2.25\n", b'.', None),
            ("1 234,5\n12,5\n", b',', Some(' ')),
            ("1'234.5\n12.5\n", b'.', Some('\'')),
            ("12,5\n1,25\n", b',', None),
            ("1,234\n12.5\n", b'.', Some(',')),
            ("a,b\n1,5\n", b'.', None),
            ("01,5\n1,5\n", b'.', None),
            ("1.2.3\n4.5.6\n", b'.', None),
            ("0,123\n0,456\n", b',', None),
        ] {
            let (_, spec) =
                draft_of("rows.csv", format!("x;y\n{}", cells.replace('\n', ";z\n")).as_bytes()).unwrap();
            let own = spec.data.as_ref().unwrap().csv.numbers;
            assert_eq!((own.decimal, own.thousands), (decimal, thousands), "{cells}");
        }
    }

    /// What `release` would refuse is not drafted: a dimension that is called like the table of all rows, and cells of nothing but blanks as empty ones.
    #[test]
    fn names_and_cells_that_need_another_word() {
        let (text, spec) = draft_of("rows.csv", b"total,x,total-\na, ,1\nb,c,2\nb,   ,2\n").unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["total--", "x", "total-"]);
        assert!(
            text.contains("name = \"total--\"\ncolumn = \"total\"")
                && text.contains("empty = [\" \", \"   \"]"),
            "{text}"
        );
        assert!(spec.columns[1].missing.is_some());
        let none = draft_of("rows.csv", b"sex,age\n").unwrap_err().to_string();
        assert!(none.ends_with("rows.csv has no rows: nothing to draft"), "{none}");
    }

    /// Several files are one table; one with other columns is named.
    #[test]
    fn files_of_one_table() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
        let draft = || {
            let parts: Vec<Part<'_>> = files.iter().map(|file| Part::from(&**file)).collect();
            super::draft(&parts, folder.path(), folder.path(), None)
        };
        std::fs::write(&files[0], "sex,age\nF,1\n").unwrap();
        std::fs::write(&files[1], "sex,age\nM,90\n").unwrap();
        let text = draft().unwrap();
        assert!(text.contains("[\"F\", \"M\"]") && text.contains("range = [1, 90]"), "{text}");
        std::fs::write(&files[1], "age,sex\n91,D\n").unwrap();
        let text = draft().unwrap();
        assert!(text.contains("[\"D\", \"F\"]") && text.contains("range = [1, 91]"), "{text}");
        std::fs::write(&files[1], "sex,income\nM,90\n").unwrap();
        let refused = draft().unwrap_err().to_string();
        assert!(refused.ends_with("b.csv, line 1: its columns are not those of the first file"), "{refused}");
    }

    /// A file without a line of names: its first person is not published as names without a word.
    #[test]
    fn a_first_line_that_is_a_row() {
        for (data, columns) in [
            ("34,F,Bonn\n35,M,Ulm\n36,F,Bonn\n", "columns 1, 2, 3"),
            ("2024-01-31,x\n2024-02-29,y\n", "column 1"),
            ("Bonn,Maria\nUlm,Eva\nBonn,Ida\n", "column 1"),
        ] {
            let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
            let said = format!(
                "#? The first line of the file was taken for the names of its columns, and what stands there looks like a value in {columns}."
            );
            assert!(text.contains(&said), "{text}");
            assert!(spec.confirmed().unwrap_err().to_string().contains("a suggestion"));
        }
        // A title above the names makes one column of all that is below it.
        let title =
            "#? The first line of the file is one name, and each line below it looks like several cells.\n";
        for by in [",", ";", "|"] {
            let data = "Report 2024\nsex;age\nF;1\nM;2\n".replace(';', by);
            let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
            assert!(text.contains(title) && spec.confirmed().is_err(), "{text}");
        }
        for data in ["preis\n1,5\n2,25\n10,75\n", "sex\nF\nM\n", "note\na; b\nc\n"] {
            assert!(!draft_of("rows.csv", data.as_bytes()).unwrap().0.contains(title), "{data}");
        }
        // What cannot be told is asked of every name: all of them are on lines that keep a release from being made.
        let mut data = "Eva Braun,north\n".to_string();
        (0..300).for_each(|i| data += &format!("p{i},{}\n", ["a", "b"][i % 2]));
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        let marked = |name: &str| {
            text.lines().filter(|l| l.contains(name)).all(|l| l.starts_with("#?") || l.starts_with("name = "))
        };
        assert!(marked("Eva Braun") && marked("north") && text.contains("confirm: the name and"), "{text}");
        assert!(spec.confirmed().is_err());
    }

    /// One value of three megabytes makes no draft of three megabytes.
    #[test]
    fn values_that_are_too_long() {
        let data = format!("sex,note\nF,{}\nM,x\n", "a".repeat(3_000_000));
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(text.len() < 5000 && text.contains("longer than 1 000 bytes"), "{}", text.len());
        assert_eq!(spec.cube.dimensions.len(), 1);
        let data = format!("{},b\nF,x\n", "a".repeat(3000));
        assert!(draft_of("rows.csv", data.as_bytes()).is_err());
    }

    #[test]
    fn other_separators_and_endings() {
        let (text, spec) = draft_of("rows.txt", b"a;b\r\n1;x,y\r\n2;z\r\n").unwrap();
        assert!(text.contains("format = \"csv\""));
        assert_eq!(spec.data.unwrap().csv.delimiter, b';');
        assert_eq!(spec.cube.dimensions[1].levels[1].labels, ["x,y", "z"]);
        assert!(draft_of("one.csv", b"a\n1\n").unwrap().0.contains("up_to = 1"));
    }

    /// What no category may be is not drafted as one.
    #[test]
    fn values_with_line_ends() {
        let (text, spec) = draft_of("rows.csv", b"sex,note\nF,\"a\nb\"\nM,x\n").unwrap();
        assert!(text.contains("line ends") && !text.contains("u000A"), "{text}");
        assert_eq!(spec.cube.dimensions.len(), 1);
    }

    #[test]
    fn encodings_and_dates() {
        let (text, spec) =
            draft_of("rows.csv", b"town,day\nM\xe1laga,2024-02-29\nBonn,2024-01-31\n,\n").unwrap();
        assert!(
            text.contains("encoding = \"latin-1\"")
                && text.contains("dates = [\"2024-01-31\", \"2024-02-29\"]"),
            "{text}"
        );
        assert_eq!(spec.cube.dimensions[0].levels[1].labels, ["Bonn", "Málaga", "unknown"]);
        assert_eq!(spec.columns[1].missing, Some(30));
        let (text, _) = draft_of("rows.csv", b"town\n\x80uro\nBonn\n").unwrap();
        assert!(text.contains("encoding = \"windows-1252\"") && text.contains("€uro"));
        let (text, _) = draft_of("rows.csv", b"d,e\n2024-02-30,x\n2024-02-28,y\n").unwrap();
        assert!(!text.contains("dates"));
    }

    /// An empty line is a row of one column, and none of two; the last line's end begins none.
    #[test]
    fn empty_lines() {
        for (text, empty) in [
            ("age\n1\n\n2\n", true),
            ("age\r\n1\r\n2\r\n\r\n", true),
            ("age\r1\r\r2", true),
            ("\n\nage\n1\n2\n", false),
            ("age\r\n1\r\n2\r\n", false),
            ("age\n\"1\"\n\"2\"\n", false),
            ("age\r\n\"1\"\r\n\r\n\"2\"", true),
            ("age,b\n1,1\n\n2,1\n", false),
        ] {
            let (draft, _) = draft_of("rows.csv", text.as_bytes()).unwrap();
            assert_eq!(draft.contains("\nmissing = "), empty, "{text:?} {draft}");
        }
    }

    /// What lies in what, and whose rows they seem to be: as suggestions that keep a release from being made, and that can be taken as they are.
    #[test]
    fn suggestions() {
        let mut data = String::from("person_id,district,region,tract,income\n");
        for i in 0..4000 {
            let district = i * 7 % 20;
            data += &format!(
                "p{},d{district},r{},t{},{}\n",
                i % 1500,
                district / 5,
                20 * (i % 300) + district,
                i * 31 % 3001
            );
        }
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(text.contains("#?   unit = { column = \"person_id\", max_rows = 3 }"), "{text}");
        assert!(!text.contains("{ column = \"income\""), "numbers are nobody's name");
        assert!(text.contains("#?   levels = [{ name = \"region\", map = { \"r0\" = [\"d0\", "), "{text}");
        assert!(
            text.contains("#? Every \"tract\" lies in one \"district\", and that in one \"region\""),
            "{text}"
        );
        let refused = spec.confirmed().unwrap_err().to_string();
        assert!(refused.contains("a suggestion of `margins init`"), "{refused}");
        // Taken, with the dimension that it makes superfluous gone.
        let taken: String = text
            .lines()
            .filter(|l| !l.starts_with("unit =") && !l.starts_with("#? "))
            .map(|l| format!("{l}\n"))
            .collect();
        let own = |start: &str| {
            text.lines().find(|l| l.starts_with(start)).unwrap().trim_start_matches("#?").trim().to_owned()
        };
        let taken = taken
            .replace("\nrho =", &format!("\n{}\nrho =", own("#?   unit")))
            .replace("confirmed = false\n", "")
            .replace("up_to = 2", "up_to = 1")
            .replacen("name = \"district\"\n", &format!("name = \"district\"\n{}\n", own("#?   levels")), 1);
        let (before, after) = taken.split_once("\n[[dimension]]\nname = \"region\"").unwrap();
        let after = after.split_once("\n\n").unwrap().1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken.toml");
        std::fs::write(&path, format!("{before}\n{after}")).unwrap();
        let spec = load(&path).unwrap_or_else(|e| panic!("{e}\n{before}{after}"));
        assert!(spec.confirmed().is_ok());
        let district = spec.cube.dimensions.iter().find(|d| d.name == "district").unwrap();
        assert_eq!(district.levels[1].labels, ["r0", "r1", "r2", "r3"]);
    }

    /// A number too fine to be listed may also be an amount, whose bounds are nobody's but its author's. With them it is a spec.
    #[test]
    fn numbers_may_be_added_up() {
        let mut data = String::from("sex,income,rent\n");
        for i in 0..900 {
            data += &format!(
                "{},{},{}\n",
                ["F", "M"][i % 2],
                1017 + i * 53,
                if i == 7 { 0 } else { 311 + i * 7 }
            );
        }
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(spec.amounts.is_empty() && spec.confirmed().is_err());
        assert!(text.contains("#?   sum = [\"income\", \"rent\"]\n"), "{text}");
        let bounds: Vec<&str> =
            text.lines().filter(|l| l.starts_with("#?   low =") || l.starts_with("#?   high =")).collect();
        assert_eq!(bounds.len(), 4, "{text}");
        // Left open: nothing stands between the sign and the remark.
        let open = |l: &&str| l.split_once('=').is_some_and(|(_, rest)| rest.trim_start().starts_with('#'));
        assert!(bounds.iter().all(open), "{bounds:?}");
        // Taken as it is, under another name of the bins.
        let taken: String = text
            .lines()
            .filter(|l| !l.starts_with("#? ") || l.starts_with("#?   "))
            .map(|l| l.trim_start_matches("#?").trim_start().to_owned() + "\n")
            .collect();
        let taken = taken
            .replace("confirmed = false\n", "")
            .replace("low =  ", "low = 0  ")
            .replace("high = ", "high = 100000 ")
            .replace("step = ", "step = 100 ")
            .replace("[[dimension]]\nname = \"income\"", "[[dimension]]\nname = \"i\"\ncolumn = \"income\"")
            .replace("[[dimension]]\nname = \"rent\"", "[[dimension]]\nname = \"r\"\ncolumn = \"rent\"");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken.toml");
        std::fs::write(&path, &taken).unwrap();
        let spec = load(&path).unwrap_or_else(|e| panic!("{e}\n{taken}"));
        assert!(spec.confirmed().is_ok());
        assert_eq!(spec.amounts.len(), 2);
    }

    /// Areas within areas are one dimension; their list goes into a file, which the draft reads.
    #[test]
    fn areas_have_a_list() {
        let mut data = String::from("block,tract,county,age,seller,brand\n");
        for i in 0..2000 {
            let block = i * 7 % 400;
            let county = if block < 100 { "a, south" } else { "b" };
            data += &format!("{block:05},t{},\"{county}\",{},s{},b{}\n", block / 5, i % 90, i % 12, i % 3);
        }
        data += ",,,1,s0,b0\n";
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("rows.csv"), &data).unwrap();
        let mut lists = Vec::new();
        let text =
            draft(&[Part::from(&*at("rows.csv"))], &at("rows.csv"), folder.path(), Some(&mut lists)).unwrap();
        let [(file, list)] = &lists[..] else { panic!("{lists:?}") };
        assert_eq!(file, "rows-block.csv");
        assert!(list.starts_with("block,tract,county\n00000,t0,\"a, south\"\n00001,t0,"), "{list}");
        assert_eq!(list.lines().count(), 401);
        assert!(text.contains("Every \"block\" lies in one \"tract\", that in one \"county\""), "{text}");
        assert!(text.contains("#? Every \"seller\" lies in one \"brand\""), "12 are short enough: {text}");
        std::fs::write(at(file), list).unwrap();
        std::fs::write(at("draft.toml"), &text).unwrap();
        let spec = load(&at("draft.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["block", "age", "seller", "brand"]);
        let sizes: Vec<usize> = spec.cube.dimensions[0].levels.iter().map(|l| l.len()).collect();
        assert_eq!(sizes, [1, 3, 81, 401], "with those of nowhere");
        assert_eq!(spec.workload.len(), 1 + 4 + 6 + 2);
        assert!(spec.confirmed().is_err());
        // Where no file can be written, nothing but the old suggestions.
        let (text, _) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(!text.contains("hierarchy = \"rows"), "{text}");
    }

    /// Whose rows they are by what repeats, whatever the column is called.
    #[test]
    fn units_by_any_name() {
        let mut data = String::from("holder,drug\n");
        (0..900).for_each(|i| data += &format!("v{},{}\n", i * 7 % 400, i % 3));
        let (text, _) = draft_of("rows.csv", data.as_bytes()).unwrap();
        assert!(text.contains("#?   unit = { column = \"holder\", max_rows = 3 }"), "{text}");
    }

    /// Everybody lives in one place, as every block lies in one: a list of people is drafted as none of areas, whatever they are called.
    #[test]
    fn people_are_no_areas() {
        let draft_of = |header: &str| {
            let mut data = format!("{header},county,sick\n");
            for i in 0..1500 {
                let (who, sick) = (i % 600, i / 600 % 2);
                data += &format!("p{who:04},t{},c{},{sick}\n", who % 40, who % 40 / 10);
            }
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            std::fs::write(at("rows.csv"), &data).unwrap();
            let mut lists = Vec::new();
            let text =
                draft(&[Part::from(&*at("rows.csv"))], &at("rows.csv"), folder.path(), Some(&mut lists))
                    .unwrap();
            lists.iter().for_each(|(name, list)| std::fs::write(at(name), list).unwrap());
            std::fs::write(at("draft.toml"), &text).unwrap();
            assert!(load(&at("draft.toml")).is_ok(), "{text}");
            (text, lists)
        };
        for who in [
            "versichertennr",
            "Personennr",
            "Kundennummer",
            "nhs_number",
            "case_no",
            "caseNo",
            "NIR",
            "patient_district",
            "holder",
        ] {
            let (text, lists) = draft_of(&format!("{who},town"));
            assert!(text.contains(&format!("#?   unit = {{ column = \"{who}\", max_rows = 3 }}")), "{text}");
            let names: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["rows-town.csv"], "{text}");
            assert!(!text.contains("p0001") && !lists[0].1.contains("p0001"), "{text}");
        }
        // Where the name says nothing it may be either.
        let (text, _) = draft_of("holder,town");
        let either = "#? Every \"holder\" lies in one \"town\", and that in one \"county\", as areas do, and people who live there.\n\
            #? If these are no people, a public list of them, a CSV file with the columns \"holder\", \"town\", \"county\", can be one dimension";
        assert!(text.contains(either), "{text}");
        for block in ["block", "block_id", "Baublocknr", "output area", "PLZ"] {
            let (text, lists) = draft_of(&format!("{block},town"));
            assert!(lists.len() == 1 && lists[0].1.contains("p0001"), "{text}");
            assert!(text.contains("areas within areas") && !text.contains("#?   unit"), "{text}");
        }
        // No level is called so.
        assert!(draft_of("block,total").1.is_empty());
    }

    /// Days have levels of these names, so no dimension of days has one of them.
    #[test]
    fn days_that_are_called_like_their_levels() {
        let data = "month,year,quarter,x\n2024-01-01,2024,2024-02-01,a\n2024-03-01,2023,2024-02-02,b\n";
        let (_, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["month-", "year", "quarter-", "x"]);
        let columns: Vec<&str> = spec.columns.iter().map(|c| &*c.column).collect();
        assert_eq!(columns, ["month", "year", "quarter", "x"]);
    }

    /// Against looking at all rows for every two columns.
    #[test]
    fn what_lies_in_what() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let (width, rows) = (2 + draw(3) as usize, 1 + draw(40) as usize);
            let table: Vec<Vec<String>> = (0..rows)
                .map(|_| {
                    let first = draw(6);
                    (0..width)
                        .map(|c| if c > 0 && draw(2) == 0 { first / (1 + c as u64) } else { draw(3) + first })
                        .map(|v| if v == 5 { String::new() } else { v.to_string() })
                        .collect()
                })
                .collect();
            let mut drawn =
                Drawn::new((0..width).map(|c| (format!("c{c}"), Holds::Anything)).collect()).unwrap();
            table.iter().for_each(|row| drawn.row(row.iter().map(String::as_str)));
            for a in 0..width {
                for b in (0..width).filter(|b| *b != a) {
                    let mut map = std::collections::HashMap::new();
                    let full = table.iter().filter(|row| !row[a].is_empty());
                    let lies = full
                        .clone()
                        .all(|row| !row[b].is_empty() && map.entry(&row[a]).or_insert(&row[b]) == &&row[b]);
                    let (fine, coarse) =
                        (map.len(), map.values().collect::<std::collections::HashSet<_>>().len());
                    let expected = lies && coarse > 1 && coarse < fine && full.count() >= 2 * fine;
                    assert_eq!(drawn.nested.lies_in(a, b), expected, "{a} {b} {table:?}");
                }
            }
        }
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
        let both = message("a.csv", b"a,b\n1,2\nsecret\x81,2\n");
        assert!(both.ends_with("line 3: text neither in UTF-8 nor in windows-1252"), "{both}");
        let open =
            "line 3: a quotation mark begins a cell, and none ends it: all lines below would be one cell";
        for text in ["a,b\n\"1\",2\n\"3,4\n5,6\n", "a;b\n1;2\n3;\"4\n5;6\n", "a\n1\n\"2\n3\n"] {
            assert!(message("a.csv", text.as_bytes()).ends_with(open), "{text}");
        }
        assert!(draft_of("a.csv", "\u{feff}\"a\",b\n5\" pipe,\"x \"\"y\"\"\"\nz,\"\"\n".as_bytes()).is_ok());
        assert!(message("a.csv", b"a,a\n1,2\n").contains("the same name"));
        assert!(message("a.csv", b"a,\n1,2\n").contains("no name"));
        assert!(message("a.csv", b"").contains("nothing to draft"));
        assert!(message("a.csv", b"a\n").contains("nothing to draft"));
        // Month or day first?
        let unclear = message("a.csv", b"day\n03/04/2024\n05/06/2024\n");
        assert!(unclear.contains("nothing to draft. Of the first one: "), "{unclear}");
        let wide: String = (0..101).map(|i| format!("c{i},")).collect();
        let row = "1,".repeat(101);
        let wide = format!("{}\n{}\n", wide.trim_end_matches(','), row.trim_end_matches(','));
        assert!(draft_of("a.csv", wide.as_bytes()).unwrap().0.contains("up_to = 1\n"));
        assert!(message("a.csv", b"PAR1").contains("is Parquet"));
        for text in ["sep=;\nsex;age\nF;1\n", "\u{feff}sep=\t\r\nsex\tage\r\n"] {
            let said =
                "a.csv begins with a line `sep=`, which is for Excel and names no columns: remove that line";
            assert!(message("a.csv", text.as_bytes()).ends_with(said), "{text}");
        }
        assert!(message("a.csv", &[b"a,b\n1,\0\n".as_slice(), &[0; 1000]].concat()).contains("no text"));
        assert!(message("a.csv", &vec![b'x'; 10 << 20]).contains("no end"));
        assert!(matches!(
            draft(&[Path::new("/nowhere/x.csv").into()], Path::new("/nowhere"), Path::new(""), None),
            Err(DraftError::Read { .. })
        ));
    }

    #[test]
    fn paths() {
        let at = |p: &str, f: &str| write::relative(Path::new(p), Path::new(f));
        assert_eq!(at("/a/b/c.csv", "/a/b").as_deref(), Some("c.csv"));
        assert_eq!(at("/a/b/c.csv", "/a/d/e").as_deref(), Some("../../b/c.csv"));
        assert_eq!(at("data/c.csv", "").as_deref(), Some("data/c.csv"));
        assert_eq!(at("data/c.csv", "specs").as_deref(), Some("../data/c.csv"));
        assert_eq!(at("/home/ann/c.csv", "/srv/specs"), None, "names of folders stay at home");
        assert_eq!(at("/home/ann/c.csv", "/home/ann/x/../y"), None);
        // Then the draft says what to do about it.
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("rows.csv");
        std::fs::write(&data, "a,b\n1,x\n2,y\n").unwrap();
        let text = draft(&[Part::from(&*data)], &data, &folder.path().join("x/../y"), None).unwrap();
        let line = text.lines().find(|line| line.starts_with("path = ")).unwrap();
        assert!(line.starts_with("path = \"rows.csv\"") && line.ends_with("--data"), "{line}");
    }

    /// A name of two lines is no end of the header, and what separates stands outside quotation marks; dimensions get names that a release may show.
    #[test]
    fn headers_of_several_lines() {
        let data = "\u{feff}\"a;;\nb\",c\td,\"c\nd\"\n1,x,u\n2,y,v\n1,y,u\n";
        let (text, spec) = draft_of("rows.csv", data.as_bytes()).unwrap();
        let names: Vec<&str> = spec.cube.dimensions.iter().map(|d| &*d.name).collect();
        assert_eq!(names, ["a;; b", "c d", "c d-"], "{text}");
        let columns: Vec<&str> = spec.columns.iter().map(|c| &*c.column).collect();
        assert_eq!(columns, ["a;;\nb", "c\td", "c\nd"]);
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
