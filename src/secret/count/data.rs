//! What the tables of a plan are counted from: the rows, or the few tables that hold all that are needed.

use super::cover::{cover, holds, needed, size};
use super::tally::{Layouts, Tally};
use super::{Addend, CountError, Counter, Counts};
use crate::cube::{Cube, Cuboid};
use crate::secret::ingest::{self, IngestError, Means, Memory, Rows, Settings};
use crate::spec::Spec;
use std::path::Path;

/// Private data, ready to be counted. Nothing outside `secret` can look inside, not even at the number of rows.
pub struct Data {
    pub(super) form: Form,
}

pub(super) enum Form {
    Rows(Rows),
    Tables(Tables),
}

/// Counted tables that hold all others.
pub(in crate::secret) struct Tables {
    rows: u64,
    cut: u64,
    /// For each its counts.
    tables: Vec<(Cuboid, Counts)>,
    /// What else the rows add up to, for each of these tables.
    beside: Vec<(Addend, Vec<Counts>)>,
}

impl From<Rows> for Data {
    fn from(rows: Rows) -> Data {
        Data { form: Form::Rows(rows) }
    }
}

impl Data {
    /// Reads the rows of `path` and counts what is needed for the tables `wanted` of `cube`, whose finest levels are the spec's.
    ///
    /// Whether rows are kept or tables are, every table that is asked for is the same.
    pub(crate) fn read(
        spec: &Spec,
        cube: &Cube,
        wanted: &[&Cuboid],
        path: &Path,
        means: &Means,
    ) -> Result<Data, IngestError> {
        Data::read_with(spec, cube, wanted, path, means, Settings::default())
    }

    pub(in crate::secret) fn read_with(
        spec: &Spec,
        cube: &Cube,
        wanted: &[&Cuboid],
        path: &Path,
        means: &Means,
        settings: Settings,
    ) -> Result<Data, IngestError> {
        let added = Addend::all(spec, cube.dimensions.len());
        let tables = cover(cube, wanted, added.len(), settings.threads, means.memory);
        let plan = tables.and_then(|tables| Some((Layouts::new(cube, &tables, &added)?, tables)));
        let Some((layouts, tables)) = plan else {
            return Ok(ingest::read_with(spec, path, means, settings)?.into());
        };
        let seen = ingest::each(spec, path, means, settings, &|| Tally::new(&layouts))?;
        let (rows, counts, mut sums) = Tally::together(seen.takers);
        let beside = added.into_iter().rev().map(|addend| (addend, sums.pop().unwrap_or_default())).collect();
        let tables = tables.into_iter().zip(counts).collect();
        Ok(Data { form: Form::Tables(Tables::new((rows, seen.cut), tables, beside)) })
    }

    /// The bytes that reading and counting take at least, whatever the rows are: known from the plan alone. Rows add up to `added` things beside
    /// their number.
    pub(crate) fn memory(
        cube: &Cube,
        wanted: &[&Cuboid],
        added: usize,
        threads: usize,
        memory: Memory,
    ) -> u64 {
        let largest = wanted.iter().filter_map(|table| size(cube, table)).max().unwrap_or(1) as u64;
        // Counts of the largest table, and what is made of them.
        let measured = largest.saturating_mul(2 * size_of::<i64>() as u64);
        let counted = needed(cube, wanted, added, threads, memory).unwrap_or(0);
        ingest::least_memory(threads).saturating_add(counted).saturating_add(measured)
    }

    /// How many rows count.
    pub(in crate::secret) fn rows(&self) -> u64 {
        match &self.form {
            Form::Rows(rows) => rows.len() as u64,
            Form::Tables(tables) => tables.rows,
        }
    }

    /// How many units had more rows than count. It leaves with noise only.
    pub(in crate::secret) fn cut(&self) -> u64 {
        match &self.form {
            Form::Rows(rows) => rows.cut(),
            Form::Tables(tables) => tables.cut,
        }
    }

    /// The rows themselves, where they were kept.
    pub(crate) fn into_rows(self) -> Option<Rows> {
        match self.form {
            Form::Rows(rows) => Some(rows),
            Form::Tables(_) => None,
        }
    }

    /// Whoever counts tables of it. Each thread has its own.
    pub(in crate::secret) fn counter(&self) -> Tabulator<'_> {
        match &self.form {
            Form::Rows(rows) => Tabulator::Rows(Counter::new(rows)),
            Form::Tables(tables) => Tabulator::Tables(tables),
        }
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Data { <private> }")
    }
}

/// Counts many tables of the same data.
pub(in crate::secret) enum Tabulator<'d> {
    Rows(Counter<'d>),
    Tables(&'d Tables),
}

impl Tabulator<'_> {
    /// The table of a cuboid, dimensions ascending, the last one fastest.
    pub(crate) fn cuboid(&mut self, cube: &Cube, cuboid: &Cuboid) -> Result<Counts, CountError> {
        match self {
            Tabulator::Rows(counter) => counter.cuboid(cube, cuboid),
            Tabulator::Tables(tables) => tables.cuboid(cube, cuboid),
        }
    }
}

impl Tabulator<'_> {
    /// What the rows add up to in each cell of a cuboid.
    pub(crate) fn added(
        &mut self,
        cube: &Cube,
        cuboid: &Cuboid,
        addend: Addend,
    ) -> Result<Counts, CountError> {
        match self {
            Tabulator::Rows(counter) => counter.added(cube, cuboid, addend),
            Tabulator::Tables(tables) => tables.added(cube, cuboid, addend),
        }
    }
}

impl Tables {
    /// Tables as they were counted, and for each addend its sums in each.
    pub(super) fn new(
        (rows, cut): (u64, u64),
        tables: Vec<(Cuboid, Counts)>,
        beside: Vec<(Addend, Vec<Counts>)>,
    ) -> Tables {
        Tables { rows, cut, tables, beside }
    }

    /// Rolls up the smallest table that holds it.
    fn cuboid(&self, cube: &Cube, cuboid: &Cuboid) -> Result<Counts, CountError> {
        let (table, counts) = self.tables.get(self.smallest(cube, cuboid)?).ok_or(CountError::NotCounted)?;
        roll_up(cube, table, counts, cuboid)
    }

    /// The same of what else the rows add up to.
    fn added(&self, cube: &Cube, cuboid: &Cuboid, addend: Addend) -> Result<Counts, CountError> {
        let (_, sums) = self.beside.iter().find(|(own, _)| *own == addend).ok_or(CountError::NotCounted)?;
        let at = self.smallest(cube, cuboid)?;
        let (table, _) = self.tables.get(at).ok_or(CountError::NotCounted)?;
        roll_up(cube, table, sums.get(at).ok_or(CountError::NotCounted)?, cuboid)
    }

    /// Which table that holds it is the smallest.
    fn smallest(&self, cube: &Cube, cuboid: &Cuboid) -> Result<usize, CountError> {
        let holding = self.tables.iter().enumerate().filter(|(_, (table, _))| holds(table, cuboid));
        let smallest = holding.min_by_key(|(_, (table, _))| size(cube, table));
        smallest.map(|(at, _)| at).ok_or(CountError::NotCounted)
    }
}

/// What a table says of a cuboid that it holds.
pub(super) fn roll_up(
    cube: &Cube,
    table: &Cuboid,
    counts: &Counts,
    cuboid: &Cuboid,
) -> Result<Counts, CountError> {
    let cells = size(cube, cuboid).ok_or(CountError::TooManyCells)?;
    // For each cell of the table the cell it is in.
    let mut at = vec![0usize];
    for level in table.iter() {
        let dimension = cube.dimensions.get(level.dimension).ok_or(CountError::NotCounted)?;
        let kept = cuboid.iter().find(|l| l.dimension == level.dimension);
        let nodes = dimension.levels.get(level.level).map_or(0, |l| l.len());
        let up = kept
            .map(|kept| (dimension.ancestors(level.level, kept.level), dimension.levels[kept.level].len()));
        at = at
            .iter()
            .flat_map(|&outer| {
                let up = &up;
                (0..nodes).map(move |node| match up {
                    Some((up, nodes)) => outer * nodes + up.get(node).map_or(0, |&n| n as usize),
                    None => outer,
                })
            })
            .collect();
    }
    let mut rolled = Counts::zero(cells);
    let out = rolled.cells_mut();
    for (&at, &count) in at.iter().zip(counts.cells()) {
        let cell = out.get_mut(at).ok_or(CountError::NotCounted)?;
        // All rows together fit: see `has_room` in `measure`.
        *cell = cell.wrapping_add(count);
    }
    Ok(rolled)
}
