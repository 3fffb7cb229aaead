//! What records are to have, from one release or several of the same people: its tables with their errors, and what is never drawn.
//!
//! The tables are those that were asked for, with all tables of one and two of their dimensions: those follow from them, and are known better
//! than the sums of cells one by one. Several releases' estimates of one table are combined by precision.

use super::RecordsError;
use super::shape::{Attribute, Closed, Column, Shape, Target};
use crate::answer::{Answers, Several};
use crate::cube::{Cube, Cuboid, Level};
use crate::recover::RecoverError;
use crate::recover::zeros::Lumped;
use crate::watch::Watch;
use std::collections::BTreeSet;

/// The most cells that all tables may have together: each takes twelve bytes, and four more while an attribute is drawn.
const MOST_CELLS: u64 = 1 << 27;
/// Of a table of more dimensions than this, no pairs are looked at.
const WIDE: usize = 8;
/// Kinds of cells whose errors are averaged; of more the largest error is taken.
const KINDS: usize = 256;

/// What a release says, for records.
pub(super) struct Wanted {
    pub shape: Shape,
    /// The level of each of the shape's columns.
    pub levels: Vec<Level>,
    /// The cuboid of each of the shape's tables.
    pub cuboids: Vec<Cuboid>,
    /// Tables that were asked for and are not told cell by cell.
    pub untold: Vec<String>,
}

/// Reads a release, or several.
pub(super) fn wanted(of: &Several, watch: &Watch) -> Result<Wanted, RecordsError> {
    let releases = of.releases();
    let cube = releases.first().ok_or(RecordsError::Nothing)?.cube();
    if !of.periods().is_empty() {
        return Err(RecordsError::Periods);
    }
    if releases.iter().any(|r| r.cube() != cube) {
        return Err(RecordsError::Cubes);
    }
    let mut asked: BTreeSet<Cuboid> = BTreeSet::new();
    let mut untold = Vec::new();
    for r in releases {
        let plan = r.evaluator().recovery().plan();
        for cuboid in plan.rows().workload.iter().map(|t| &t.cuboid).chain(&plan.exact) {
            match r.evaluator().recovery().check_determined(cuboid) {
                Ok(()) => {
                    asked.insert(cuboid.clone());
                }
                Err(RecoverError::NotDetermined(_) | RecoverError::NotHeld(_)) => {
                    untold.push(cube.describe(cuboid))
                }
                Err(other) => return Err(other.into()),
            }
        }
    }
    let cuboids = with_lower(&asked);
    let cells = cuboids.iter().try_fold(0u64, |n, c| n.checked_add(cube.cells(c)?)).unwrap_or(u64::MAX);
    if cells > MOST_CELLS {
        return Err(RecordsError::Cells { cells, most: MOST_CELLS });
    }
    let zeros: Vec<&Cuboid> =
        releases.iter().flat_map(|r| r.evaluator().recovery().zeros().iter()).map(|z| &z.cuboid).collect();
    let (mut shape, levels) = columns(cube, cuboids.iter().chain(zeros.iter().copied()));
    if shape.attributes.is_empty() {
        return Err(RecordsError::Nothing);
    }
    let stage = watch.stage("recovering", cuboids.len() as u64);
    for cuboid in &cuboids {
        if watch.is_stopped() {
            return Err(RecordsError::Stopped);
        }
        let columns = at(&levels, cuboid);
        shape.tables.push(target(releases, cuboid, columns, asked.contains(cuboid))?);
        stage.advance(1);
    }
    for (r, cuboid) in
        releases.iter().flat_map(|r| r.evaluator().recovery().zeros().iter().map(move |z| (r, &z.cuboid)))
    {
        let recovery = r.evaluator().recovery();
        let mut open = vec![1.0; recovery.frame().len(cuboid)];
        recovery.zeros().clear(cube, &Lumped::whole(recovery.frame()), cuboid, &mut open);
        let columns = at(&levels, cuboid);
        let cells: Vec<bool> = open.into_iter().map(|v| v == 0.0).collect();
        // Several releases may declare different cells of one table.
        match shape.closed.iter_mut().find(|c| c.columns == columns) {
            Some(known) => known.cells.iter_mut().zip(&cells).for_each(|(known, new)| *known |= new),
            None => shape.closed.push(Closed { columns, cells }),
        }
    }
    shape.total = total(&shape);
    Ok(Wanted { shape, levels, cuboids, untold })
}

/// What all cells of the best known table add up to.
fn total(shape: &Shape) -> f64 {
    let sum = |t: &Target| t.estimates.iter().map(|e| f64::from(*e)).sum::<f64>();
    let spread = |t: &Target| f64::from(t.error).powi(2) * t.estimates.len() as f64;
    shape.tables.iter().min_by(|a, b| spread(a).total_cmp(&spread(b))).map_or(0.0, sum)
}

/// The tables with those of one and two of their dimensions: fewer dimensions first.
fn with_lower(asked: &BTreeSet<Cuboid>) -> Vec<Cuboid> {
    let mut all: BTreeSet<(usize, Cuboid)> = BTreeSet::new();
    let mut add = |c: Cuboid| {
        all.insert((c.len(), c));
    };
    for cuboid in asked {
        let levels: Vec<Level> = cuboid.iter().collect();
        add(cuboid.clone());
        for (i, &a) in levels.iter().enumerate() {
            add(Cuboid::new([a]));
            if levels.len() <= WIDE {
                levels[..i].iter().for_each(|&b| add(Cuboid::new([a, b])));
            }
        }
    }
    all.into_iter().map(|(_, cuboid)| cuboid).collect()
}

/// Attributes and columns of all levels of these cuboids.
fn columns<'a>(cube: &Cube, cuboids: impl Iterator<Item = &'a Cuboid>) -> (Shape, Vec<Level>) {
    let mut levels: Vec<Level> =
        cuboids.flat_map(Cuboid::iter).collect::<BTreeSet<_>>().into_iter().collect();
    // The finest of each dimension comes first.
    levels.sort_by_key(|l| (l.dimension, std::cmp::Reverse(l.level)));
    let mut shape = Shape::default();
    for (c, level) in levels.iter().enumerate() {
        let finest = match shape.attributes.last_mut() {
            Some(last) if levels[last.columns[0]].dimension == level.dimension => {
                last.columns.push(c);
                levels[last.columns[0]]
            }
            _ => {
                shape.attributes.push(Attribute { columns: vec![c] });
                *level
            }
        };
        let up = cube.dimensions[level.dimension].ancestors(finest.level, level.level);
        shape.columns.push(Column { attribute: shape.attributes.len() - 1, size: level.of(cube).len(), up });
    }
    (shape, levels)
}

/// The columns of a cuboid.
fn at(levels: &[Level], cuboid: &Cuboid) -> Vec<usize> {
    cuboid.iter().filter_map(|level| levels.iter().position(|l| *l == level)).collect()
}

/// A table's estimates, combined by precision where several releases have it.
fn target(
    releases: &[Answers],
    cuboid: &Cuboid,
    columns: Vec<usize>,
    asked: bool,
) -> Result<Target, RecordsError> {
    let mut told: Vec<(Vec<f64>, f64)> = Vec::new();
    for r in releases.iter().filter(|r| r.evaluator().recovery().check_determined(cuboid).is_ok()) {
        told.push((r.evaluator().recovery().table(cuboid)?, variance(r, cuboid)?));
    }
    let exact = told.iter().position(|(_, v)| *v == 0.0);
    if let Some(at) = exact {
        told = vec![told.swap_remove(at)];
    }
    let precision: f64 = told.iter().map(|(_, v)| 1.0 / v).sum();
    let mut estimates = vec![0.0f64; told.first().map_or(0, |(e, _)| e.len())];
    for (table, v) in &told {
        let share = if told.len() == 1 { 1.0 } else { 1.0 / v / precision };
        estimates.iter_mut().zip(table).for_each(|(to, e)| *to += share * e);
    }
    if estimates.iter().any(|e| !e.is_finite()) {
        return Err(RecordsError::NotFinite);
    }
    let whole = |e: &f64| if *e > 0.0 { (*e + 0.5) as u64 } else { 0 };
    Ok(Target {
        columns,
        exact: exact.map(|_| estimates.iter().map(whole).collect()),
        estimates: estimates.into_iter().map(|e| e as f32).collect(),
        error: if exact.is_some() { 0.0 } else { libm::sqrt(1.0 / precision) as f32 },
        asked,
    })
}

/// The mean of the variances of a table's cells.
fn variance(release: &Answers, cuboid: &Cuboid) -> Result<f64, RecordsError> {
    if let Some(kinds) = release.evaluator().cell_laws(cuboid, KINDS)? {
        let cells: f64 = kinds.iter().map(|(n, _)| n).sum();
        return Ok(kinds.iter().map(|(n, law)| n * law.variance()).sum::<f64>() / cells.max(1.0));
    }
    Ok(release.evaluator().worst_cell_law(cuboid)?.variance())
}
