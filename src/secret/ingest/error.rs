//! What can be wrong with a data file, said without a single value of it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a file could not be read as the spec's rows.
///
/// No variant can hold a cell's value. Names are those of the spec, and nothing is taken from the file: not even its header, because the
/// first row of a file without one is data. The underlying errors of the CSV and Parquet libraries are not kept,
/// because their texts are not ours to vouch for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IngestError {
    /// The file cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why, in the operating system's words.
        error: io::ErrorKind,
    },
    /// The file is none.
    #[error("cannot read {}: it is a pipe or a device, and data is read from regular files only", path.display())]
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// The file cannot be read on.
    #[error("cannot read on after {after}: {}", broken(*error))]
    Read {
        /// The last row that was read.
        after: Place,
        /// Why: the operating system's reason, or that of whoever unpacks the file.
        error: io::ErrorKind,
    },
    /// A record that does not end.
    #[error(
        "{after}: the record is longer than {}: a quote that is never closed, or no text at all",
        bytes(*longest)
    )]
    Long {
        /// The row.
        after: Place,
        /// How long it may be.
        longest: usize,
    },
    /// Whoever waits for it asked it to stop.
    #[error("interrupted")]
    Stopped,
    /// The file is another one than a moment ago.
    #[error("the data was changed while it was read")]
    Changed,
    /// A folder or pattern that cannot be used.
    #[error("the data's path {0}")]
    Folder(&'static str),
    /// One of several files.
    #[error("{name} (file {number} of {of}): {error}")]
    InFile {
        /// The file's own name.
        name: String,
        /// Which one, from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// What is wrong with it.
        error: Box<IngestError>,
    },
    /// Counted tables with other columns than those that were asked for.
    #[error(
        "the number of columns is {found}, but these tables have {expected}: they are no answer to the statement that `margins plan --sql` prints for this spec"
    )]
    Columns {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// In counted tables something that is no whole number.
    #[error("row {row}: a cell is no whole number")]
    Number {
        /// Which row, from 1.
        row: u64,
    },
    /// The file has no header row.
    #[error("the file is empty: it has no header row")]
    NoHeader,
    /// There is nothing at all where the rows should be.
    #[error(
        "the file is empty: it has no bytes, so it is most likely not the one that was meant (data that is known to have no rows is a \
         file of one empty line)"
    )]
    NoBytes,
    /// A column of the spec is not in the file.
    #[error(
        "the data has no column \"{column}\" among its {columns}{} (a file without a header row needs `columns` in \
         the spec)",
        hint(*spelt)
    )]
    NoColumn {
        /// The column's name in the spec.
        column: String,
        /// How many columns the file has.
        columns: usize,
        /// Where the header has a name that differs only in its case, spaces or a letter: which column, from 1.
        spelt: Option<usize>,
    },
    /// A column of the spec is in the file if that is split at another character.
    #[error(
        "the data has no column \"{column}\" where it is split at {}, but has it where it is split at {}: say \
         `delimiter = {}` in [data]",
        shown(*split), shown(*better), shown(*better)
    )]
    Delimiter {
        /// The column's name in the spec.
        column: String,
        /// Where the spec splits.
        split: u8,
        /// Where the header should be split.
        better: u8,
    },
    /// A column of the spec is not in a header that is not written as the spec says.
    #[error(
        "the data has no column \"{column}\", and its header row is not {encoding}: say `encoding = \"latin-1\"` or \
         \"windows-1252\" in [data] if it is one of them"
    )]
    HeaderEncoding {
        /// The column's name in the spec.
        column: String,
        /// How the spec says that the file is written.
        encoding: &'static str,
    },
    /// A column of the spec is not in a header that is UTF-8.
    #[error(
        "the data has no column \"{column}\", and its header row is UTF-8, not {encoding}: leave out `encoding` in [data]"
    )]
    HeaderUtf8 {
        /// The column's name in the spec.
        column: String,
        /// How the spec says that the file is written.
        encoding: &'static str,
    },
    /// A file that is no delimited text.
    #[error("the data file {0}")]
    Foreign(&'static str),
    /// A column of the spec is twice in the file.
    #[error("the data has more than one column \"{column}\"")]
    TwoColumns {
        /// The column's name.
        column: String,
    },
    /// A column of the spec is in the file and said by its folders, too.
    #[error(
        "the column \"{column}\" is in the file, and the names of its folders say it, too: which of them holds is not known, so leave it out of \
         one of them"
    )]
    KeyTwice {
        /// The column's name.
        column: String,
    },
    /// A row has too few or too many cells.
    #[error("{place}: the number of cells is {found}, that of columns {expected}")]
    Ragged {
        /// Which row.
        place: Place,
        /// How many columns there are.
        expected: usize,
        /// How many cells the row has.
        found: usize,
    },
    /// A quoted cell goes on to the end of the file, with all rows that may be in it.
    #[error("{place}: a quote is opened and never closed: what follows may be rows")]
    Unclosed {
        /// Which row.
        place: Place,
    },
    /// A cell cannot be coded.
    #[error("{place}, column \"{column}\": {fault}")]
    Cell {
        /// Which row.
        place: Place,
        /// Which column.
        column: String,
        /// What is wrong.
        fault: Fault,
    },
    /// Rows where there can be none.
    #[error("there are rows where {condition}, which the spec declares impossible (`[[zero]]`)")]
    Zero {
        /// The spec's condition.
        condition: String,
    },
    /// A column's type does not fit the dimension.
    #[error("column \"{column}\" is {found}, but it is to be read as {wanted}")]
    ColumnType {
        /// Which column.
        column: String,
        /// What the file holds.
        found: &'static str,
        /// What the spec wants.
        wanted: &'static str,
    },
    /// A Parquet file that cannot be decoded.
    #[error("the Parquet file {0}")]
    Parquet(&'static str),
    /// A file taken for Parquet because the rows of the spec are, though its name does not say so and it is none.
    #[error(
        "cannot read {}: its name ends neither in .csv nor in .parquet, so it was taken for Parquet like the rows of the spec, and it is none",
        path.display()
    )]
    Unnamed {
        /// Which.
        path: PathBuf,
    },
    /// Rows whose order among those of their unit is not known.
    #[error(
        "there are units of which more rows have the same place by `order` than count: name a further column there, so that no two rows of \
         a unit are alike"
    )]
    Tied,
    /// Numbers and times in one column.
    #[error("a column of `order` holds both whole numbers and days or times: they have no order together")]
    MixedOrder,
    /// Rows that cannot be put aside.
    #[error(
        "rows that do not fit the memory cannot be put aside in a temporary file: {0} (it is in the folder that TMPDIR names; a higher \
         limit of memory lets more be held)"
    )]
    Spill(io::ErrorKind),
    /// Standard input that cannot be put aside, which all of it must be.
    #[error(
        "what comes through standard input cannot be put aside in a temporary file: {0} (it is in the folder that TMPDIR names, which needs room for all of it; rows \
         in a file need none)"
    )]
    Put(io::ErrorKind),
    /// No key for what is put aside.
    #[error("the operating system has no randomness")]
    NoEntropy,
    /// Units with too many rows that count.
    #[error("the rows of some units that count do not fit the memory: raise its limit, or lower `max_rows`")]
    Memory,
    /// Less memory than it may take.
    #[error(
        "the tables are too large to be counted while rows are read, and the rows together may take {} MB, more than the limit of {} MB",
        needs.div_ceil(1_000_000), limit / 1_000_000
    )]
    Little {
        /// What they may take.
        needs: u64,
        /// What they may.
        limit: u64,
    },
    /// Parquet was left out of this build.
    #[error("this build cannot read Parquet (cargo feature `parquet`)")]
    NoParquet,
    /// A coding that does not fit its dimension: a fault of the spec, not of the data.
    #[error("dimension \"{dimension}\": {what}")]
    Coding {
        /// Which dimension.
        dimension: String,
        /// What does not fit.
        what: &'static str,
    },
}

/// Why a file cannot be read on. Where it is the operating system's reason, these are its words; of those who unpack a file only the kind is known, which says
/// little by itself.
fn broken(error: io::ErrorKind) -> String {
    match error {
        io::ErrorKind::UnexpectedEof => "the file is cut off".into(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            "the file is damaged, or not packed as its name says (.gz, .zst)".into()
        }
        error => error.to_string(),
    }
}

fn bytes(n: usize) -> String {
    if n.is_multiple_of(1 << 20) { format!("{} MiB", n >> 20) } else { format!("{n} bytes") }
}

fn hint(spelt: Option<usize>) -> String {
    spelt.map_or(String::new(), |at| format!("; column {at} is spelt nearly so"))
}

/// A delimiter as it stands in a spec.
fn shown(delimiter: u8) -> String {
    format!("{:?}", char::from(delimiter).to_string())
}

/// Where a row is: its number, counting data rows from 1, and in text files also its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The data row, from 1; 0 is the header.
    pub row: u64,
    /// The line of the file, from 1, where the row begins.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.row, self.line) {
            (0, _) => write!(f, "the header row"),
            (row, Some(line)) => write!(f, "row {row} (line {line})"),
            (row, None) => write!(f, "row {row}"),
        }
    }
}

/// What is wrong with a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing there.
    #[error("the cell is empty, and the dimension has no `missing`")]
    Empty,
    /// A value that no category, number or bin covers.
    #[error("the value is outside the domain, and the dimension has no `other`")]
    Outside,
    /// Not a sign and digits.
    #[error("the value is not a whole number, and the dimension has no `other`")]
    NotWhole,
    /// Not a finite decimal number.
    #[error("the value is not a number, and the dimension has no `other`")]
    NotNumber,
    /// Not a finite decimal number where one is added up.
    #[error("the value is not a number")]
    NotAmount,
    /// A number that cannot be multiplied exactly.
    #[error("the value has more than 38 digits, and products are exact")]
    LongFactor,
    /// Nothing where a number is added up.
    #[error(
        "the cell is empty; `missing` of its [[amount]] or of [weights] says what else may be done than stop"
    )]
    NoAmount,
    /// No day of the calendar.
    #[error("the value is not a date (year-month-day), and the dimension has no `other`")]
    NotDate,
    /// No day of the calendar, written as the dimension says.
    #[error("the value is not a day as `format` says, and the dimension has no `other`")]
    NotOfFormat,
    /// A time with an offset from UTC: a mistake of how days are written, whatever other values there may be.
    #[error(
        "the value is a time with an offset from UTC such as +02:00, so which day it means is not known: write the day, or the time without an offset"
    )]
    Offset,
    /// Bytes that are no text.
    #[error("the cell is not valid UTF-8")]
    NotUtf8,
    /// Bytes that are no characters of the encoding that the spec names.
    #[error("the cell holds bytes that are no characters in {0}, the `encoding` of the spec")]
    NotEncoded(&'static str),
    /// Text of another encoding.
    #[error("the cell is UTF-8 text, not {0}, the `encoding` of the spec")]
    IsUtf8(&'static str),
    /// A row that stands nowhere among those of its unit.
    #[error("the cell is neither a whole number nor a day or a time, so it orders no rows")]
    NoOrder,
    /// A row that belongs to nobody.
    #[error("the cell is empty, so the row belongs to no unit of privacy")]
    NoUnit,
}
