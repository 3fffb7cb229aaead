//! What records are to have, from one release or several of the same people: its tables with their errors, and what is never drawn.
//!
//! The tables are those that were asked for, with all tables of one and two of their dimensions: those follow from them, and are known better
//! than the sums of cells one by one. Several releases' estimates of one table are combined by precision.

use super::RecordsError;
use super::shape::{Attribute, Closed, Column, Shape, Target};
use super::tree::{Tree, with_lower};
use crate::answer::{Answers, Evaluator, Several};
use crate::cube::{Cube, Cuboid, Level};
use crate::plan::Plan;
use crate::recover::zeros::Lumped;
use crate::recover::{RecoverError, Recovery, Source};
use crate::release::values::Values;
use crate::watch::Watch;
use std::collections::BTreeSet;

/// The most cells that all tables may have together: each takes twelve bytes, and four more while an attribute is drawn. A browser has less room.
const MOST_CELLS: u64 = if cfg!(target_family = "wasm") { 1 << 24 } else { 1 << 27 };
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
    /// The tree below whose level nothing of it is in the shape.
    pub tree: Option<Tree>,
}

/// Reads a release, or several; of a tree that is parted no level below the one from which it is.
pub(super) fn wanted(of: &Several, watch: &Watch) -> Result<Wanted, RecordsError> {
    let releases = of.releases();
    let cube = releases.first().ok_or(RecordsError::Nothing)?.cube();
    if !of.periods().is_empty() {
        return Err(RecordsError::Periods);
    }
    if releases.iter().any(|r| r.cube() != cube) {
        return Err(RecordsError::Cubes);
    }
    let (asked, untold) = asked(releases)?;
    let untold = untold.iter().map(|c| cube.describe(c)).collect();
    let tree = Tree::of(releases, &asked)?;
    let cuboids = with_lower(&tree.map_or_else(|| asked.clone(), |tree| tree.above(&asked)));
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
    let mut told = Vec::with_capacity(cuboids.len());
    for cuboid in cuboids {
        if watch.is_stopped() {
            return Err(RecordsError::Stopped);
        }
        let columns = at(&levels, &cuboid);
        if let Some(table) = target(releases, &cuboid, columns, asked.contains(&cuboid))? {
            shape.tables.push(table);
            told.push(cuboid);
        }
        stage.advance(1);
    }
    for (r, cuboid) in
        releases.iter().flat_map(|r| r.evaluator().recovery().zeros().iter().map(move |z| (r, &z.cuboid)))
    {
        let new = closed(r.evaluator().recovery(), &levels, cuboid);
        // Several releases may declare different cells of one table.
        match shape.closed.iter_mut().find(|c| c.columns == new.columns) {
            Some(known) => known.cells.iter_mut().zip(&new.cells).for_each(|(known, new)| *known |= new),
            None => shape.closed.push(new),
        }
    }
    shape.total = total(&shape);
    Ok(Wanted { shape, levels, cuboids: told, untold, tree })
}

/// The tables that were asked for: those that any of the releases tells cell by cell, and the others.
pub(super) fn asked(releases: &[Answers]) -> Result<(BTreeSet<Cuboid>, BTreeSet<Cuboid>), RecordsError> {
    let recoveries = || releases.iter().map(|r| r.evaluator().recovery());
    let mut all: BTreeSet<&Cuboid> = BTreeSet::new();
    for plan in recoveries().map(Recovery::plan) {
        all.extend(plan.rows().workload.iter().map(|t| &t.cuboid).chain(&plan.exact));
    }
    let (mut told, mut untold) = (BTreeSet::new(), BTreeSet::new());
    for cuboid in all {
        let mut each = recoveries().map(|of| determined(of, cuboid));
        let known = each.try_fold(false, |known, this| Ok::<_, RecordsError>(known || this?))?;
        if known {
            told.insert(cuboid.clone())
        } else {
            untold.insert(cuboid.clone())
        };
    }
    Ok((told, untold))
}

/// Whether a release tells every cell of a table: it may have other tables.
pub(super) fn determined<S: Source>(of: &Recovery<S>, cuboid: &Cuboid) -> Result<bool, RecordsError> {
    // Of levels between those in use the next finer one tells.
    let Some(telling) = of.frame().telling(cuboid).filter(|telling| of.holds(telling)) else {
        return Ok(false);
    };
    match of.check_determined(&telling) {
        Ok(()) => Ok(true),
        Err(RecoverError::NotDetermined(_) | RecoverError::NotHeld(_)) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

/// The cells of a cuboid that are declared empty.
pub(super) fn closed<S: Source>(of: &Recovery<S>, levels: &[Level], cuboid: &Cuboid) -> Closed {
    let mut open = vec![1.0; of.frame().len(cuboid)];
    of.zeros().clear(of.cube(), &Lumped::whole(of.frame()), cuboid, &mut open);
    Closed { columns: at(levels, cuboid), cells: open.into_iter().map(|v| v == 0.0).collect() }
}

/// What all cells of the best known table add up to.
fn total(shape: &Shape) -> f64 {
    let sum = |t: &Target| match &t.exact {
        Some(exact) => exact.iter().sum::<u64>() as f64,
        None => t.estimates.iter().map(|e| f64::from(*e)).sum::<f64>(),
    };
    let spread = |t: &Target| f64::from(t.error).powi(2) * t.estimates.len() as f64;
    shape.tables.iter().min_by(|a, b| spread(a).total_cmp(&spread(b))).map_or(0.0, sum)
}

/// Attributes and columns of all levels of these cuboids.
pub(super) fn columns<'a>(cube: &Cube, cuboids: impl Iterator<Item = &'a Cuboid>) -> (Shape, Vec<Level>) {
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
pub(super) fn at(levels: &[Level], cuboid: &Cuboid) -> Vec<usize> {
    cuboid.iter().filter_map(|level| levels.iter().position(|l| *l == level)).collect()
}

/// A table's estimates, combined by precision where several releases have it; nothing where none does.
fn target(
    releases: &[Answers],
    cuboid: &Cuboid,
    columns: Vec<usize>,
    asked: bool,
) -> Result<Option<Target>, RecordsError> {
    let tellers: Vec<_> = releases.iter().map(Answers::evaluator).collect();
    let Some((estimates, variance)) = together(&tellers, cuboid)? else { return Ok(None) };
    let exact = variance == 0.0;
    if estimates.iter().any(|e| !e.is_finite()) {
        return Err(RecordsError::NotFinite);
    }
    let whole = |e: &f64| if *e > 0.0 { (*e + 0.5) as u64 } else { 0 };
    Ok(Some(Target {
        columns,
        exact: exact.then(|| estimates.iter().map(whole).collect()),
        estimates: estimates.into_iter().map(|e| e as f32).collect(),
        error: single(libm::sqrt(variance)),
        asked,
    }))
}

/// A table as those tell it together that have it, by precision, and the mean variance of its cells; nothing where none does.
pub(super) fn together<S: Source>(
    tellers: &[&Evaluator<S>],
    cuboid: &Cuboid,
) -> Result<Option<(Vec<f64>, f64)>, RecordsError> {
    let mut told = Vec::new();
    for teller in tellers {
        if determined(teller.recovery(), cuboid)? {
            told.push((teller.recovery().table(cuboid)?, variance(teller, cuboid)?));
        }
    }
    Ok(by_precision(told))
}

/// Tellers, each with its share in what they tell together.
pub(super) type Shares<'a> = Vec<(&'a Evaluator<Values>, f64)>;

/// Those that tell a table, each with its share in what they tell together, by precision or the one that is exact, and the mean variance of its cells.
pub(super) fn tellers<'a>(
    releases: &'a [Answers],
    cuboid: &Cuboid,
) -> Result<Option<(Shares<'a>, f64)>, RecordsError> {
    let mut told = Vec::new();
    for teller in releases.iter().map(Answers::evaluator) {
        if determined(teller.recovery(), cuboid)? {
            told.push((teller, variance(teller, cuboid)?));
        }
    }
    if let Some(&(exact, _)) = told.iter().find(|(_, v)| *v == 0.0) {
        return Ok(Some((vec![(exact, 1.0)], 0.0)));
    }
    let precision: f64 = told.iter().map(|(_, v)| 1.0 / v).sum();
    let several = told.len() > 1;
    let share = |v: f64| if several { 1.0 / v / precision } else { 1.0 };
    let shares: Vec<_> = told.into_iter().map(|(teller, v)| (teller, share(v))).collect();
    Ok((!shares.is_empty()).then_some((shares, 1.0 / precision)))
}

/// Estimates of one table, each with the mean variance of its cells, as one: weighted by precision, or the one that is exact.
fn by_precision(mut told: Vec<(Vec<f64>, f64)>) -> Option<(Vec<f64>, f64)> {
    if let Some(at) = told.iter().position(|(_, v)| *v == 0.0) {
        return Some(told.swap_remove(at));
    }
    let precision: f64 = told.iter().map(|(_, v)| 1.0 / v).sum();
    let mut estimates = vec![0.0f64; told.first()?.0.len()];
    for (table, v) in &told {
        let share = if told.len() == 1 { 1.0 } else { 1.0 / v / precision };
        estimates.iter_mut().zip(table).for_each(|(to, e)| *to += share * e);
    }
    Some((estimates, 1.0 / precision))
}

/// The mean of the variances of a table's cells: 0 of those alone that are published exactly.
fn variance<S: Source>(of: &Evaluator<S>, cuboid: &Cuboid) -> Result<f64, RecordsError> {
    let variance = match of.cell_laws(cuboid, KINDS)? {
        Some(kinds) => {
            let cells: f64 = kinds.iter().map(|(n, _)| n).sum();
            kinds.iter().map(|(n, law)| n * law.variance()).sum::<f64>() / cells.max(1.0)
        }
        None => of.worst_cell_law(cuboid)?.variance(),
    };
    let plan = of.recovery().plan();
    let noisy = plan.exact_above(cuboid).is_none() && has_rare_noise(plan);
    Ok(if noisy { variance.max(RARE) } else { variance })
}

/// A variance below this may be that of noise that is practically never there: such a table is not exact, whatever floats make of it.
const RARE: f64 = 1e-200;

fn has_rare_noise(plan: &Plan) -> bool {
    // That of the least scale is the rarest.
    let least = plan.measurements().map(|m| m.scale).min();
    least.is_some_and(|scale| plan.noise.law(scale.to_f64()).variance() < RARE)
}

/// A standard error in single precision: 0 of 0 alone.
pub(super) fn single(error: f64) -> f32 {
    let own = error as f32;
    if error > 0.0 { own.max(f32::MIN_POSITIVE) } else { own }
}
