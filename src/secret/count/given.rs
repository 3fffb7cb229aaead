//! Tables that somebody else counted, where the data lives: read, and held against each other and against the domain.
//!
//! The file is the answer to the statement that `margins plan --sql` prints: a row for each cell of each table, with a column for each level that any
//! table has, empty where a table has it not; the number of rows `n`; `impossible`, how many of them are in cells that were declared empty;
//! `cut`, how many units had more rows than count; for each amount what [`amount_columns`] names; and `spec`, a number that stands for the spec it was made from. It is as private as the rows.
//!
//! What is checked: the spec says of rows the same as the one that the statement was made from; every cell is in the domain and given once; every table has the same number of rows; tables agree wherever they overlap;
//! no row is outside the domain or where none can be; sums and squares are such as so many rows within the bounds can have. What cannot be checked is that the statement was run on all rows, once.

use super::addend::Totals;
use super::cover::{largest, size};
use super::data::{Data, Form, Tables, roll_up};
use super::{Addend, CountError, Counts, MAX_CELLS};
use crate::cube::{Cube, Cuboid, Level, NoValue, Quantity, Weighing};
use crate::secret::ingest::{self, IngestError, Number};
use crate::spec::{AmountSpec, Coding, Column, Spec, Taken, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// The columns beside those of levels.
pub(crate) const COUNT: &str = "n";
/// Rows in cells that are declared to be empty.
pub(crate) const IMPOSSIBLE: &str = "impossible";
/// Units with more rows than count.
pub(crate) const CUT: &str = "cut";

/// Rows without a place in a dimension that no counted table has: [`untold`].
pub(crate) const OUTSIDE: &str = "outside";

/// Where rows of a unit are bounded: those that belong to nobody, or of which it is not known whether they count.
pub(crate) const ASTRAY: &str = "astray";

/// Of which spec they are: [`fingerprint`].
pub(crate) const SPEC: &str = "spec";

/// Why counted tables are refused. Without a count.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] IngestError),
    /// A row has no place.
    #[error("row {row} of the counts: {what}")]
    Row {
        /// Which, from 1.
        row: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Rows outside a domain.
    #[error(
        "there are rows whose {0} is outside the domain, and the dimension has no `missing` or `other` for them; or the column is of a type that \
         the spec does not mean"
    )]
    Outside(String),
    /// Rows where there can be none.
    #[error("there are rows in cells that the spec declares impossible (`[[zero]]`)")]
    Impossible,
    /// Rows with a value that is none.
    #[error(
        "there are rows whose {0} is empty, though `missing` does not say what they count as, or is NaN or infinite; or the column is of another type than whole numbers, \
         DECIMAL and DOUBLE, or of DOUBLE where the bounds have many digits, which the statement does not read exactly"
    )]
    Unread(String),
    /// Rows of which nobody knows whether they count.
    #[error(
        "there are rows without a unit or without a place by `order`, or units of which more rows have the same place by `order` than count: \
         name a further column there, so that no two rows of a unit are alike; or a column of `order` is \
         of a type for other things than whole numbers, days and times"
    )]
    Astray,
    /// Rows of units, and no order.
    #[error(
        "the spec names no `order` for the rows of a unit, so no counts are of the rows that it means: see `margins plan --sql`"
    )]
    NoOrder,
    /// The statement was made from other words than those of the spec.
    #[error(
        "the counts are those of another spec: since the statement was made, the domain, `missing`, `other`, a [[zero]], an amount, a column's name, the unit or the tables that \
         the plan needs were changed, or its version of margins was another. Print it again (`margins plan --sql`), and count again"
    )]
    Edited,
    /// The whole is missing.
    #[error("the row of the total is missing: these are not the counts of this plan, or not all of them")]
    NoTotal,
    /// Two tables of different data.
    #[error("the tables {0} and {1} do not agree: they were not counted from the same rows")]
    Disagree(String, String),
    /// A table of other data than the total.
    #[error(
        "the table {0} has not as many rows as there are in all, or not as many units with more of them: it is not whole, or was counted from \
         other rows"
    )]
    NotWhole(String),
    /// Too many, or too large.
    #[error("the plan needs more tables, or larger ones, than one statement counts")]
    TooLarge,
    /// A table that cannot be put together.
    #[error(transparent)]
    Count(#[from] CountError),
}

/// The tables that must be counted, so that all of `wanted` follow from them; the total is always one.
pub(crate) fn needed(wanted: &[&Cuboid]) -> Option<Vec<Cuboid>> {
    let mut tables = largest(wanted)?;
    if !tables.iter().any(|table| table.is_total()) {
        tables.push(Cuboid::default());
    }
    Some(tables)
}

/// What a level's column is called: dimensions and levels are numbered in the order of the spec.
pub(crate) fn column(level: Level) -> String {
    format!("d{}_{}", level.dimension + 1, level.level)
}

/// What is told of an amount in a cell, numbered from 1: how many rows have a value, how many may not count, the steps above the least value added up, and
/// perhaps their squares, and how many values were below the least and above the largest.
pub(crate) fn amount_columns(number: usize, amount: &AmountSpec) -> Vec<String> {
    let moved = amount.clamping.is_some();
    let names = [
        Some("valued"),
        Some("unread"),
        Some("steps"),
        amount.square.then_some("squares"),
        moved.then_some("below"),
        moved.then_some("above"),
    ];
    names.into_iter().flatten().map(|name| format!("{name}{number}")).collect()
}

/// All levels of some tables, each once.
pub(crate) fn levels(tables: &[Cuboid]) -> Vec<Level> {
    let all: BTreeSet<(usize, usize)> =
        tables.iter().flat_map(|table| table.iter().map(|l| (l.dimension, l.level))).collect();
    all.into_iter().map(|(dimension, level)| Level::new(dimension, level)).collect()
}

/// The dimensions of which no counted table tells anything, not even whether a row has a place in them.
pub(crate) fn untold(cube: &Cube, levels: &[Level]) -> Vec<usize> {
    (0..cube.dimensions.len()).filter(|d| levels.iter().all(|level| level.dimension != *d)).collect()
}

/// A number that stands for all that a spec says of which rows a count in which cell of which table is of: whoever edits it after the statement was made, and before
/// its answer is taken, would have counts of one category taken for another's. Of 48 bits, so that programs which hold numbers as floats keep it.
pub(crate) fn fingerprint(spec: &Spec, cube: &Cube, tables: &[Cuboid]) -> u64 {
    let mut hash = blake3::Hasher::new();
    let mut say = |text: &str| {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    for dimension in &cube.dimensions {
        say(&dimension.name);
        for level in &dimension.levels {
            say(&level.name);
            level.labels.iter().for_each(|label| say(label));
            say(&format!("{:?}", level.parent));
        }
    }
    for Column { column, coding, missing, other, taken } in &spec.columns {
        say(column);
        match coding {
            Coding::Labels(labels) => {
                let sorted: BTreeMap<&String, &u32> = labels.iter().collect();
                say(&format!("{sorted:?}"));
            }
            coding => say(&format!("{coding:?}")),
        }
        say(&format!("{missing:?} {other:?}"));
        if *taken != Taken::default() {
            say(&format!("{taken:?}"));
        }
    }
    if let Some(data) = spec.data.as_ref().filter(|data| !data.blanks.is_plain()) {
        say(&format!("{:?}, and equal numbers", data.blanks));
    }
    spec.zeros.iter().for_each(|zero| say(&zero.condition));
    for AmountSpec { quantity, columns, square, clamping, .. } in spec.summed() {
        let Quantity { low, high, step, places, missing, weighing, .. } = &**quantity;
        columns.iter().for_each(|column| say(column));
        say(&format!("{low} {high} {step} {places} {missing:?} {square}"));
        if clamping.is_some() {
            say("moved");
        }
        // The last of the columns is then a weight as it counts.
        if *weighing == Weighing::Weighted {
            say("weighted");
        }
    }
    match &spec.privacy.unit {
        Unit::Row => say("row"),
        Unit::Column { column, max_rows, order, without: _ } => {
            say(&format!("{column:?} {max_rows} {order:?}"))
        }
    }
    for table in tables {
        let levels: Vec<(usize, usize)> = table.iter().map(|l| (l.dimension, l.level)).collect();
        say(&format!("{levels:?}"));
    }
    let bytes = *hash.finalize().as_bytes();
    bytes.iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Data {
    /// The counts in `path` of the tables that `wanted` follow from.
    pub(crate) fn given(
        spec: &Spec,
        cube: &Cube,
        wanted: &[&Cuboid],
        path: &Path,
    ) -> Result<Data, GivenError> {
        let tables = needed(wanted).ok_or(GivenError::TooLarge)?;
        let levels = levels(&tables);
        let mut names: Vec<String> = levels.iter().map(|level| column(*level)).collect();
        names.extend([COUNT, IMPOSSIBLE, CUT].map(String::from));
        names.extend((1..).zip(spec.summed()).flat_map(|(number, amount)| amount_columns(number, amount)));
        let bounded = match &spec.privacy.unit {
            Unit::Row => false,
            Unit::Column { order, .. } if order.is_empty() => return Err(GivenError::NoOrder),
            Unit::Column { .. } => true,
        };
        names.extend(bounded.then(|| ASTRAY.to_owned()));
        let untold: Vec<String> =
            untold(cube, &levels).iter().map(|&d| cube.dimensions[d].name.clone()).collect();
        names.extend((!untold.is_empty()).then(|| OUTSIDE.to_owned()));
        names.push(SPEC.to_owned());
        let own = i64::try_from(fingerprint(spec, cube, &tables)).ok();
        let mut given = Given::new((spec, cube), &levels, tables)?;
        ingest::numbers(spec, path, &names, &mut |row, cells| match cells.split_last() {
            Some((of, cells)) if *of == own => {
                // Of the last ones, as far as they are there, a release allows none.
                let none = usize::from(bounded) + usize::from(!untold.is_empty());
                let (cells, none) = cells.split_at(cells.len().saturating_sub(none));
                let mut none = none.iter().rev();
                if !untold.is_empty() && none.next() != Some(&Some(0)) {
                    return Err(GivenError::Outside(untold.join(" or ")));
                }
                if bounded && none.next() != Some(&Some(0)) {
                    return Err(GivenError::Astray);
                }
                given.row(row, cells)
            }
            _ => Err(GivenError::Edited),
        })?;
        given.whole()
    }
}

/// Counted tables as their rows come in.
struct Given<'c> {
    cube: &'c Cube,
    levels: &'c [Level],
    /// Which table has exactly these levels.
    of: HashMap<Vec<usize>, usize>,
    tables: Vec<(Cuboid, Counts)>,
    /// What rows add up to beside their number, for each of these tables.
    beside: Vec<(Addend, Vec<Counts>)>,
    amounts: Vec<&'c AmountSpec>,
    seen: Vec<Vec<bool>>,
    /// Of each table, how many units had more rows than count.
    cut: Vec<u64>,
    total: Option<u64>,
}

impl<'c> Given<'c> {
    fn new(
        (spec, cube): (&'c Spec, &'c Cube),
        levels: &'c [Level],
        tables: Vec<Cuboid>,
    ) -> Result<Given<'c>, GivenError> {
        let place = |level: Level| levels.iter().position(|l| *l == level);
        let of = tables.iter().enumerate().map(|(at, table)| (table.iter().filter_map(place).collect(), at));
        let of = of.collect();
        let mut cells = Vec::new();
        for table in &tables {
            cells.push(size(cube, table).filter(|&n| n <= MAX_CELLS).ok_or(GivenError::TooLarge)?);
        }
        let seen = cells.iter().map(|&n| vec![false; n]).collect();
        let cut = vec![0; tables.len()];
        let added = Addend::all(spec, cube.dimensions.len()).into_iter();
        let beside = added.map(|addend| (addend, cells.iter().map(|&n| Counts::zero(n)).collect())).collect();
        let tables = tables.into_iter().zip(cells).map(|(table, n)| (table, Counts::zero(n))).collect();
        let amounts = spec.summed().collect();
        Ok(Given { cube, levels, of, tables, beside, amounts, seen, cut, total: None })
    }

    /// Puts a row into its cell: levels, count, impossible, cut, and what is told of amounts.
    fn row(&mut self, row: u64, cells: &[Option<Number>]) -> Result<(), GivenError> {
        let wrong = |what| GivenError::Row { row, what };
        let (levels, told) = cells.split_at_checked(self.levels.len()).unwrap_or_default();
        let ([count, impossible, cut], told) =
            told.split_first_chunk::<3>().ok_or_else(|| wrong("it has too few columns"))?;
        if impossible.is_some_and(|n| n != 0) {
            return Err(GivenError::Impossible);
        }
        let count = count.and_then(|n| u64::try_from(n).ok()).filter(|&n| n < 1 << 62);
        let count = count.ok_or_else(|| wrong("its n is no number of rows"))?;
        let present: Vec<usize> = (0..levels.len()).filter(|&at| levels[at].is_some()).collect();
        let unknown = || wrong("its columns are those of no table of this plan");
        let table = *self.of.get(&present).ok_or_else(unknown)?;
        let mut cell = 0;
        for at in present {
            let level = self.levels[at];
            let node = levels[at].unwrap_or(0);
            let nodes = level.of(self.cube).len();
            let dimension = || self.cube.dimensions[level.dimension].name.clone();
            let node = usize::try_from(node).map_err(|_| GivenError::Outside(dimension()))?;
            if node >= nodes {
                return Err(wrong("one of its categories is not in the domain"));
            }
            cell = cell * nodes + node;
        }
        let seen = self.seen.get_mut(table).and_then(|seen| seen.get_mut(cell)).ok_or_else(unknown)?;
        if std::mem::replace(seen, true) {
            return Err(wrong("its cell was given before"));
        }
        let (cuboid, counts) = &mut self.tables[table];
        counts.cells_mut()[cell] = count as i64; // below 2^62
        let units = cut.map_or(Ok(0), u64::try_from).ok();
        let cut = units.and_then(|units| self.cut[table].checked_add(units));
        self.cut[table] = cut.ok_or_else(|| wrong("its cut is no number of units"))?;
        if cuboid.is_total() {
            self.total = Some(count);
        }
        self.amounts(told, count, (row, table, cell))
    }

    /// Puts what is told of amounts into a cell of a table.
    fn amounts(
        &mut self,
        mut told: &[Option<Number>],
        count: u64,
        (row, table, cell): (u64, usize, usize),
    ) -> Result<(), GivenError> {
        for (at, amount) in self.amounts.iter().enumerate() {
            let columns = amount_columns(at + 1, amount).len();
            let (own, others) = told.split_at_checked(columns).unwrap_or_default();
            told = others;
            let totals = totals(amount, own, count).map_err(|what| match what {
                None => GivenError::Unread(amount.quantity.name.clone()),
                Some(what) => GivenError::Row { row, what },
            })?;
            let column = self.cube.dimensions.len() + at;
            for (addend, sums) in self.beside.iter_mut().filter(|(addend, _)| addend.column == column) {
                let cell = sums.get_mut(table).and_then(|sums| sums.cells_mut().get_mut(cell));
                let added = addend.of_totals(&totals).ok_or(CountError::Sum)?;
                *cell.ok_or(CountError::NotCounted)? = added;
            }
        }
        Ok(())
    }

    /// Checks that the tables are of the same rows.
    fn whole(self) -> Result<Data, GivenError> {
        let rows = self.total.ok_or(GivenError::NoTotal)?;
        let total = self.tables.iter().position(|(table, _)| table.is_total());
        let cut = total.map_or(0, |at| self.cut[at]);
        for ((table, counts), units) in self.tables.iter().zip(&self.cut) {
            let sum = counts.cells().iter().try_fold(0i64, |sum, &n| sum.checked_add(n));
            if sum.and_then(|sum| u64::try_from(sum).ok()) != Some(rows) || *units != cut {
                return Err(GivenError::NotWhole(self.cube.describe(table)));
            }
        }
        let cube = self.cube;
        let all: Vec<(&Cuboid, &Counts)> =
            self.tables.iter().map(|(table, counts)| (table, counts)).collect();
        agree(cube, &all)?;
        // Times are rounded in each cell, so tables differ in them: what they are beside says whether the sums are the same.
        for (_, sums) in self.beside.iter().filter(|(addend, _)| addend.is_sum()) {
            let all: Vec<(&Cuboid, &Counts)> = self.tables.iter().map(|(table, _)| table).zip(sums).collect();
            agree(cube, &all)?;
        }
        Ok(Data { form: Form::Tables(Tables::new((rows, cut), self.tables, self.beside)) })
    }
}

/// What is told of an amount in a cell of so many rows. Every value is between no step and the reach, and those that were moved are at the ends, so that much
/// can be checked; `Err(None)` says that there are values that may not count.
fn totals(amount: &AmountSpec, told: &[Option<Number>], rows: u64) -> Result<Totals, Option<&'static str>> {
    let [valued, unread, steps, more @ ..] = told else { return Err(Some("it has too few columns")) };
    if *unread != Some(0) {
        return Err(None);
    }
    let valued = valued.filter(|&n| u64::try_from(n).is_ok_and(|n| n <= rows));
    let valued = valued.ok_or(Some("it has another number of values than rows could have"))?;
    if amount.quantity.missing != NoValue::Skip && u64::try_from(valued) != Ok(rows) {
        return Err(Some("it has another number of values than rows"));
    }
    let reach = i128::from(amount.quantity.steps());
    let within = |n: &i128| (0..=reach * i128::from(valued)).contains(n);
    let steps = steps.filter(|&n| within(&n.into()));
    let steps = steps.ok_or(Some("its steps are not those of so many values within the bounds"))?;
    let (squares, moved) = more.split_at_checked(usize::from(amount.square)).unwrap_or_default();
    let possible = |of: i128| {
        let (steps, valued) = (i128::from(steps), i128::from(valued));
        // Of whole numbers a square has the parity; and Cauchy's inequality.
        (steps..=reach * steps).contains(&of) && (of - steps) % 2 == 0 && steps * steps <= of * valued
    };
    let squares = squares.first().map_or(Some(0), |of| of.filter(|&n| possible(n.into())));
    let squares = squares.ok_or(Some("its squares are not those of such values"))?;
    let moved = match moved {
        [] => Some([0, 0]),
        [below, above, ..] => below.zip(*above).map(|(below, above)| [below, above]),
        [_] => None,
    };
    let ends = |&[below, above]: &[i64; 2]| {
        let [below, above, valued, steps] = [below, above, valued, steps].map(i128::from);
        below >= 0 && above >= 0 && (reach * above..=reach * (valued - below)).contains(&steps)
    };
    let moved =
        moved.filter(ends).ok_or(Some("more of its values were moved to an end than it can have there"))?;
    Ok(Totals { valued, steps, squares, moved })
}

/// Every two tables are the same where they overlap: each is held against the first that was rolled up so.
fn agree(cube: &Cube, tables: &[(&Cuboid, &Counts)]) -> Result<(), GivenError> {
    let mut first: HashMap<Cuboid, (&Cuboid, Counts)> = HashMap::new();
    for (at, (table, counts)) in tables.iter().enumerate() {
        let others = tables.iter().enumerate().filter(|(other, _)| *other != at);
        let meets: BTreeSet<Cuboid> = others.map(|(_, (other, _))| meet(table, other)).collect();
        for common in meets {
            let rolled = roll_up(cube, table, counts, &common)?;
            match first.get(&common) {
                Some((before, counts)) if counts.cells() != rolled.cells() => {
                    return Err(GivenError::Disagree(cube.describe(before), cube.describe(table)));
                }
                Some(_) => {}
                None => drop(first.insert(common, (table, rolled))),
            }
        }
    }
    Ok(())
}

/// The largest table that both hold.
fn meet(a: &Cuboid, b: &Cuboid) -> Cuboid {
    let common = a.iter().filter_map(|x| {
        let y = b.iter().find(|y| y.dimension == x.dimension)?;
        Some((x.dimension, x.level.min(y.level)))
    });
    Cuboid::new(common)
}
