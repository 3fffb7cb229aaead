//! Records from tables: a file of synthetic records whose tables are those of a release, as a pure function of the release and a seed.
//!
//! | file | idea |
//! |---|---|
//! | [`targets`] | what the release says, as tables of columns: [`shape`] |
//! | [`fit`] | the order in which it is done |
//! | [`areas`] | areas of large trees, level by level |
//! | [`tree`] | which tables, and from which level of a tree areas are parted |
//! | [`start`] | records drawn attribute by attribute |
//! | [`chain`] | a Gibbs chain that learns: what no table says stays as random as it can be |
//! | [`kinds`] | what is the same for many records is worked out once |
//! | [`exact`] | tables published exactly are met exactly |
//! | [`quench`] | what the chain leaves to chance is taken away |
//! | [`amounts`] | what the release says of sums, and the amounts that records get |
//! | [`numbers`] | numbers with given sums |
//! | [`spread`] | how they lie between those sums |
//! | [`values`] | nodes become labels, numbers and days |
//! | [`tabulate`] | questions counted among records, beside the release's answers |
//! | [`likeness`] | how near records would come to people that everybody may know |
//! | [`report`] | what records say of themselves |
//!
//! Nothing but what is published enters, so records cost no privacy. Two runs with one seed are equal to the last bit, on any machine and any number of threads:
//! every sum is made in one order, random numbers belong to their place ([`random`]), and no function of a platform's library is used.
//!
//! Records are biased: intervals belong to the release. For a cell of a released table the truth lies within the release's interval, so a count of the records misses
//! it by at most the margin and the gap between the two, which is known. Of what the release cannot answer they prove nothing.

mod amounts;
mod areas;
mod chain;
mod exact;
mod exp;
mod fit;
mod kinds;
mod likeness;
mod numbers;
mod quench;
mod random;
mod report;
mod shape;
mod share;
mod spread;
mod start;
mod tabulate;
mod targets;
#[cfg(test)]
mod tests;
mod tree;
mod values;

use crate::answer::{AnswerError, Several};
use crate::cube::Level;
use crate::recover::RecoverError;
use crate::render::csv_field as field;
use crate::watch::Watch;
pub(crate) use report::{Gap, Source};
pub(crate) use shape::Target;
pub(crate) use values::RecordColumn;
pub use {
    likeness::{Likeness, People, seconds},
    report::RecordsReport,
    tabulate::{Read, Tabulated, beside},
    values::Values,
};

/// Records whose random numbers are of one stream.
const CHUNK: usize = 4096;

/// Why there are no records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// Nothing was found that is not declared empty.
    #[error("no record was found that is in no cell declared empty")]
    Closed,
    /// No table.
    #[error("the release has no table that records could be drawn from")]
    Nothing,
    /// Several periods.
    #[error("the releases are of different periods: records are of one")]
    Periods,
    /// Several cubes.
    #[error("the releases have different dimensions or categories: make records of each by itself")]
    Cubes,
    /// Empty cells where areas are parted.
    #[error(
        "there are too many areas to draw records from all at once, and cells are declared empty at levels below {0}, where records are drawn area by area"
    )]
    ClosedAreas(String),
    /// Tables that are too large.
    #[error("the tables have {cells} cells together; records are fitted to at most {most}")]
    Cells {
        /// How many there are.
        cells: u64,
        /// How many there may be.
        most: u64,
    },
    /// Too many records.
    #[error(
        "{rows} records of {attributes} attributes are too many: at most {most}; ask for fewer, and each gets a weight"
    )]
    Rows {
        /// How many were asked for.
        rows: u64,
        /// Of so many attributes.
        attributes: usize,
        /// How many there may be.
        most: u64,
    },
    /// Nobody to stand for.
    #[error("the release's total is {0}: there is nobody for records to stand for")]
    Nobody(f64),
    /// Values that are none.
    #[error("an estimate is not a number")]
    NotFinite,
    /// A text of a file that is no category.
    #[error("`{column}` has `{text}`, which the release does not know")]
    Category {
        /// The column.
        column: String,
        /// What stands in it.
        text: String,
    },
    /// A file of something else.
    #[error("no column of the file tells {0}: it has no records of the release")]
    NoColumn(String),
    /// A group that nothing names.
    #[error("beside records every level of GROUP BY is shown: add {0} to SELECT")]
    Unnamed(String),
    /// A level that records do not have.
    #[error("the records do not tell {0}")]
    Absent(String),
    /// A question that is not counted.
    #[error(
        "of records, counts, sums and their arithmetic are asked by levels: no MEDIAN, QUANTILE or RANK, no CASE in GROUP BY, \
         no sets of groups, and OVER neither with ORDER BY nor by a level above"
    )]
    Question,
    /// The release's own refusal.
    #[error(transparent)]
    Query(Box<crate::answer::QueryError>),
    /// Interrupted.
    #[error("stopped")]
    Stopped,
    /// Recovery.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// Laws of errors.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

/// How records are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// How many; without it as many as the release's total says.
    pub rows: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// On how many threads, which changes nothing of the records; 0 for one per core.
    pub threads: usize,
}

/// The most nodes that all records together may have; fewer in a browser, which has one thread and less room.
const MOST_NODES: u64 = if cfg!(target_family = "wasm") { 1 << 24 } else { 1 << 31 };

/// Synthetic records.
#[derive(Debug, Clone)]
pub struct Records {
    columns: Vec<RecordColumn>,
    /// What they say of themselves.
    report: RecordsReport,
}

impl Records {
    /// What they say of themselves.
    pub fn report(&self) -> &RecordsReport {
        &self.report
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.report.records as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.report.records == 0
    }

    /// The columns of their file.
    pub fn columns(&self) -> &[RecordColumn] {
        &self.columns
    }

    /// The name of the column of weights, where records are more or fewer than what they stand for.
    pub fn weight_name(&self) -> Option<String> {
        let taken = |name: &str| self.columns.iter().any(|c| c.name == name);
        let mut name = "weight".to_owned();
        while taken(&name) {
            name.push('_');
        }
        (self.report.weight != 1.0).then_some(name)
    }

    /// As CSV, a record a line, in pieces.
    pub fn csv(&self) -> impl Iterator<Item = String> + '_ {
        let names = self.columns.iter().map(|c| field(&c.name).into_owned());
        let names: Vec<String> = names.chain(self.weight_name()).collect();
        let weight = self.weight_name().map(|_| self.report.weight.to_string());
        let piece = move |from: usize| {
            let mut out = String::new();
            for record in from..(from + CHUNK).min(self.len()) {
                let cells = self.columns.iter().map(|c| field(&c.values.text(record)).into_owned());
                out.push_str(&cells.chain(weight.clone()).collect::<Vec<_>>().join(","));
                out.push_str("\r\n");
            }
            out
        };
        std::iter::once(names.join(",") + "\r\n").chain((0..self.len()).step_by(CHUNK).map(piece))
    }
}

/// Records as nodes.
struct Fitted {
    wanted: targets::Wanted,
    made: fit::Made,
    /// The areas of records in a tree that is parted.
    parted: Option<areas::Parted>,
    rows: usize,
    weight: f64,
    threads: usize,
}

impl Fitted {
    /// Of an attribute the finest level that records have, and the node of each record there.
    fn finest(&mut self, attribute: usize) -> (Level, Vec<u32>) {
        let column = self.wanted.shape.attributes[attribute].columns[0];
        let level = self.wanted.levels[column];
        match self.parted.as_mut().filter(|parted| parted.finest.dimension == level.dimension) {
            Some(parted) => (parted.finest, std::mem::take(&mut parted.areas)),
            None => (level, std::mem::take(&mut self.made.nodes[column])),
        }
    }
}

/// Fits records to what is said of their tables.
fn fitted(
    of: &Several,
    wanted: targets::Wanted,
    options: &Options,
    watch: &Watch,
) -> Result<Fitted, RecordsError> {
    let shape = &wanted.shape;
    let whole = whole(shape.total);
    let rows = options.rows.unwrap_or(whole);
    if whole == 0 && rows > 0 {
        return Err(RecordsError::Nobody(shape.total));
    }
    let most = MOST_NODES / shape.columns.len().max(1) as u64;
    if rows > most {
        return Err(RecordsError::Rows { rows, attributes: shape.attributes.len(), most });
    }
    let weight = if rows == whole || rows == 0 { 1.0 } else { shape.total / rows as f64 };
    let rows = rows as usize;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { cores() } else { options.threads };
    let way = chain::Way { seed: options.seed, threads, rows };
    let made = fit::fit(shape, way, watch)?;
    let drawn = areas::Drawn { wanted: &wanted, nodes: &made.nodes, way, weight };
    let parted = wanted.tree.map(|tree| areas::part(tree, of.releases(), &drawn, watch)).transpose()?;
    Ok(Fitted { wanted, made, parted, rows, weight, threads })
}

/// Records of a release, or of several of the same people.
pub fn records(of: &Several, options: &Options, watch: &Watch) -> Result<Records, RecordsError> {
    let mut wanted = targets::wanted(of, watch)?;
    let amounts =
        if wanted.tree.is_some() { amounts::none(of) } else { amounts::told(of, &mut wanted, watch)? };
    let mut fitted = fitted(of, wanted, options, watch)?;
    let Fitted { wanted, made, parted, rows, weight, threads } = &fitted;
    let (shape, nodes, rows, weight, threads) = (&wanted.shape, &made.nodes, *rows, *weight, *threads);
    let gaps = report::gaps(shape, nodes, rows, weight, threads);
    let cube = of.releases()[0].cube();
    let seed = options.seed;
    let mut given =
        amounts.give(&amounts::Receivers { wanted, cube, nodes, rows, weight, seed, threads }, watch)?;
    let gap = |((t, cuboid), (mean, largest)): ((&Target, &crate::cube::Cuboid), (f64, f64))| {
        let (cells, std_error) = (t.estimates.len() as u64, f64::from(t.error));
        t.asked.then(|| Gap { table: cube.describe(cuboid), cells, std_error, mean, largest })
    };
    let source = |a: &crate::answer::Answers| Source {
        name: a.name().into(),
        manifest: blake3::hash(a.release().manifest_bytes()).to_hex().to_string(),
    };
    let first = &of.releases()[0];
    let privacy = &first.release().manifest().privacy;
    let mut report = RecordsReport {
        releases: of.releases().iter().map(source).collect(),
        seed: options.seed,
        records: rows as u64,
        total: shape.total,
        weight,
        unit: privacy.unit.clone(),
        max_rows: privacy.max_rows,
        tables: shape.tables.iter().zip(&wanted.cuboids).zip(gaps).filter_map(gap).collect(),
        sweeps: made.sweeps as u64,
        chains: made.chains,
        in_closed_cells: report::in_closed(shape, nodes, rows),
        untold: wanted.untold.clone(),
        amounts: std::mem::take(&mut given.reports),
        notes: Vec::new(),
    };
    report.tables.extend(parted.iter().flat_map(|parted| parted.gaps.iter().cloned()));
    let attributes = shape.attributes.len();
    let column = |a: usize| {
        let (level, nodes) = fitted.finest(a);
        values::drawn(cube, level, nodes, seed)
    };
    let mut columns: Vec<RecordColumn> = (0..attributes).map(column).collect();
    report.notes = report::notes(&report, cube, &columns);
    report.notes.append(&mut given.notes);
    report.notes.extend(report::untrue(of.releases())?);
    columns.append(&mut given.columns);
    Ok(Records { columns, report })
}

/// As many whole units as a total says.
fn whole(total: f64) -> u64 {
    if total >= 0.5 { (total + 0.5) as u64 } else { 0 }
}
