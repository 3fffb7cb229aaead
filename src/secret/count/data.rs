//! What the tables of a plan are counted from: the rows, or the few tables that hold all that are needed.

use super::cover::{cover, holds, needed, size};
use super::slice::{self, Pairs, Shares, Starts};
use super::tally::{Layouts, Tally};
use super::{Addend, CountError, Counter, Counts};
use crate::cube::{Cube, Cuboid};
use crate::secret::ingest::{self, IngestError, Means, Memory, Origin, Rows, Settings};
use crate::spec::Spec;

/// Private data, ready to be counted. Nothing outside `secret` can look inside, not even at the number of rows.
pub struct Data {
    pub(super) form: Form,
}

pub(super) enum Form {
    /// With where those of each node are, once they are in order.
    Rows(Rows, Option<Starts>),
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
        Data { form: Form::Rows(rows, None) }
    }
}

impl Data {
    /// Reads the rows and counts what is needed for the tables `wanted` of `cube`, whose finest levels are the spec's.
    ///
    /// Whether rows are kept or tables are, every table that is asked for is the same.
    pub(crate) fn read(
        spec: &Spec,
        cube: &Cube,
        wanted: &[&Cuboid],
        from: Origin<'_>,
        means: &Means,
    ) -> Result<Data, IngestError> {
        Data::read_with(spec, cube, wanted, from, means, Settings::default())
    }

    pub(in crate::secret) fn read_with<'o>(
        spec: &Spec,
        cube: &Cube,
        wanted: &[&Cuboid],
        from: impl Into<Origin<'o>>,
        means: &Means,
        settings: Settings,
    ) -> Result<Data, IngestError> {
        let from = from.into();
        let added = Addend::all(spec, cube.dimensions.len());
        let tables = cover(cube, wanted, added.len(), settings.threads, means.memory);
        let plan = tables.and_then(|tables| Some((Layouts::new(cube, &tables, &added)?, tables)));
        let Some((layouts, tables)) = plan else {
            return Ok(ingest::read_with(spec, from, means, settings)?.into());
        };
        let seen = ingest::each(spec, from, means, settings, &|| Tally::new(&layouts))?;
        let (rows, counts, mut sums) = Tally::together(&layouts, seen.takers);
        let beside = added.into_iter().rev().map(|addend| (addend, sums.pop().unwrap_or_default())).collect();
        let tables = tables.into_iter().zip(counts).collect();
        Ok(Data { form: Form::Tables(Tables::new((rows, seen.cut), tables, beside)) })
    }

    /// The bytes that reading and counting take at least, whatever the rows are: known from the plan alone. Rows add up to `added` things beside
    /// their number, and so many cells are measured at once.
    pub(crate) fn memory(
        cube: &Cube,
        wanted: &[&Cuboid],
        (added, largest): (usize, u64),
        threads: usize,
        memory: Memory,
    ) -> u64 {
        // Their counts, and what is made of them.
        let measured = largest.saturating_mul(2 * size_of::<i64>() as u64);
        let counted = needed(cube, wanted, added, threads, memory).unwrap_or(0);
        ingest::least_memory(threads).saturating_add(counted).saturating_add(measured)
    }

    /// How many rows count.
    pub(in crate::secret) fn rows(&self) -> u64 {
        match &self.form {
            Form::Rows(rows, _) => rows.len() as u64,
            Form::Tables(tables) => tables.rows,
        }
    }

    /// How many units had more rows than count. It leaves with noise only.
    pub(in crate::secret) fn cut(&self) -> u64 {
        match &self.form {
            Form::Rows(rows, _) => rows.cut(),
            Form::Tables(tables) => tables.cut,
        }
    }

    /// The rows themselves, where they were kept.
    pub(crate) fn into_rows(self) -> Option<Rows> {
        match self.form {
            Form::Rows(rows, _) => Some(rows),
            Form::Tables(_) => None,
        }
    }

    /// Brings rows in the order of a dimension's nodes, for slices of tables along it.
    pub(in crate::secret) fn sort_by(&mut self, dimension: usize) -> Result<(), CountError> {
        match &mut self.form {
            Form::Rows(rows, starts) if starts.as_ref().is_none_or(|s| s.dimension != dimension) => {
                *starts = Some(Starts::sort(rows, dimension).ok_or(CountError::Axis(dimension))?);
            }
            Form::Rows(..) | Form::Tables(_) => {}
        }
        Ok(())
    }

    /// Whoever counts tables of it. Each thread has its own.
    pub(in crate::secret) fn counter(&self) -> Tabulator<'_> {
        match &self.form {
            Form::Rows(rows, starts) => Tabulator::Rows(Counter::new(rows), rows, starts.as_ref()),
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
    Rows(Counter<'d>, &'d Rows, Option<&'d Starts>),
    Tables(&'d Tables),
}

impl Tabulator<'_> {
    /// The table of a cuboid, dimensions ascending, the last one fastest.
    pub(crate) fn cuboid(&mut self, cube: &Cube, cuboid: &Cuboid) -> Result<Counts, CountError> {
        match self {
            Tabulator::Rows(counter, ..) => counter.cuboid(cube, cuboid),
            Tabulator::Tables(tables) => tables.cuboid(cube, cuboid),
        }
    }
}

impl Tabulator<'_> {
    /// One slice of the table of a cuboid, of rows that are [in order](Data::sort_by).
    pub(crate) fn slice(
        &mut self,
        cube: &Cube,
        cuboid: &Cuboid,
        of: (&Shares, usize),
    ) -> Result<Counts, CountError> {
        match self {
            Tabulator::Rows(_, rows, starts) => {
                slice::of_rows(rows, starts.ok_or(CountError::NotCounted)?, (cube, cuboid), of)
            }
            Tabulator::Tables(tables) => {
                let (table, counts) =
                    tables.tables.get(tables.smallest(cube, cuboid)?).ok_or(CountError::NotCounted)?;
                slice::of_table(cube, cuboid, (table, counts), of)
            }
        }
    }

    /// What the rows add up to in each cell of a cuboid.
    pub(crate) fn added(
        &mut self,
        cube: &Cube,
        cuboid: &Cuboid,
        addend: Addend,
    ) -> Result<Counts, CountError> {
        match self {
            Tabulator::Rows(counter, ..) => counter.added(cube, cuboid, addend),
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
    let mut rolled = Counts::zero(size(cube, cuboid).ok_or(CountError::TooManyCells)?);
    let (mut from, mut to) = (counts.cells().len(), rolled.cells().len());
    let mut axes: Vec<Pairs> = Vec::with_capacity(table.len());
    for level in table.iter() {
        let dimension = cube.dimensions.get(level.dimension).ok_or(CountError::NotCounted)?;
        let nodes = dimension.levels.get(level.level).map_or(0, |l| l.len());
        from /= nodes.max(1);
        axes.push(match cuboid.iter().find(|l| l.dimension == level.dimension) {
            None => (0..nodes).map(|node| (node * from, 0)).collect(),
            Some(kept) => {
                to /= kept.of(cube).len().max(1);
                let up = dimension.ancestors(level.level, kept.level);
                up.iter().enumerate().map(|(node, &up)| (node * from, up as usize * to)).collect()
            }
        });
    }
    slice::add(&axes, (0, 0), counts.cells(), rolled.cells_mut());
    Ok(rolled)
}
