//! The linear programme behind consistency in L1 and L∞.
//!
//! Given how far the measured tables lie from some consistent ones (the residuals of least squares, so that the
//! numbers are of the size of the noise), find the consistent change of all tables that comes nearest to them:
//!
//! `minimise ‖e − F x‖₁` or `‖e − F x‖_∞`
//!
//! **The unknowns.** Components have no sparse basis of their own, but their *tables* do: let `x_A(a)` be the cell of
//! table `A` for nodes `a` none of which is the first of its siblings. Those of all components below a table
//! decide it, by "the first child is the parent less the other children" in every dimension; there are as many as the
//! component has contrasts, so they are a basis. A cell without a first child is one unknown, a cell with
//! first children is a signed sum, and `F` has only entries 0 and ±1, about `Π (2n_i − 1)` of them for a table of
//! `Π n_i` cells.
//!
//! **The programme.** L1 has a bound `u_i` for each cell, L∞ one `u` for all; minimise their sum with
//! `−u ≤ e − F x ≤ u`. Solved by an interior-point method, which among several optima comes to rest near the
//! centre of them all: one point, the same every time.

use super::norm::Norm;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolution, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};
use margins::cube::{Cuboid, Frame, Level};
use margins::plan::Seen;
use std::collections::HashMap;

/// The most cells or coefficients of all measured tables together.
pub(super) const MOST_CELLS: usize = 40_000;
/// The most entries of `F`.
const MOST_ENTRIES: f64 = 1e6;
/// How far from optimal a solution may be, relative to the distance.
const TOLERANCE: f64 = 1e-6;

/// One unknown of one dimension in a cell: the rung it belongs to, its place among that rung's unknowns, its sign.
#[derive(Clone, Copy)]
struct Entry {
    rung: usize,
    slot: usize,
    sign: f64,
}

/// Where the unknowns of a component stand.
#[derive(Clone)]
struct Place {
    offset: usize,
    strides: Vec<usize>,
}

/// A table that was measured: by its cells, or by its Walsh coefficients.
pub(super) struct Measured<'a> {
    pub table: &'a Cuboid,
    pub seen: Seen,
}

impl Measured<'_> {
    /// What of a table is measured.
    pub(super) fn of(&self, frame: &Frame, table: Vec<f64>) -> Vec<f64> {
        match self.seen {
            Seen::Cells => table,
            Seen::Walsh => frame.walsh_weights(self.table, table),
        }
    }
}

/// A measured table's part of `F`.
struct Rows {
    /// For each dimension of the table the entries of each node.
    nodes: Vec<Vec<Vec<Entry>>>,
    /// How many rungs each dimension has, and for each combination of them the component; `None` where it is fixed.
    rungs: Vec<usize>,
    places: Vec<Option<Place>>,
}

impl Rows {
    fn new(frame: &Frame, cuboid: &Cuboid, offsets: &HashMap<Cuboid, usize>) -> Rows {
        let rung = |at: Level| frame.axes[at.dimension].rung(at.level).unwrap_or(0);
        let tops: Vec<usize> = cuboid.iter().map(rung).collect();
        let nodes = cuboid.iter().zip(&tops).map(|(at, &top)| entries(frame, at.dimension, top)).collect();
        let rungs: Vec<usize> = tops.iter().map(|top| top + 1).collect();
        let mut places = vec![None; rungs.iter().product()];
        for (code, place) in places.iter_mut().enumerate() {
            // For each dimension how many rungs up from total.
            let (mut rest, mut steps) = (code, Vec::new());
            for (at, &n) in cuboid.iter().zip(&rungs).rev() {
                steps.push((at.dimension, rest % n));
                rest /= n;
            }
            steps.reverse();
            let component = Cuboid::new(steps.iter().map(|&(d, r)| (d, frame.axes[d].rungs[r].level)));
            let mut strides = vec![0; cuboid.len()];
            let mut stride = 1;
            for (i, &(d, r)) in steps.iter().enumerate().rev().filter(|(_, (_, r))| *r > 0) {
                strides[i] = stride;
                let rung = &frame.axes[d].rungs[r];
                stride *= rung.len() - rung.siblings.len();
            }
            *place = offsets.get(&component).map(|&offset| Place { offset, strides });
        }
        Rows { nodes, rungs, places }
    }

    /// How many entries the rows of its cells have at most.
    fn size(&self) -> f64 {
        self.nodes.iter().map(|n| n.iter().map(Vec::len).sum::<usize>() as f64).product()
    }

    /// All entries of what was measured: row, unknown, factor.
    fn measured(&self, frame: &Frame, own: &Measured) -> Vec<(usize, usize, f64)> {
        let mut entries = Vec::new();
        self.each(&mut |row, column, sign| entries.push((row, column, sign)));
        if own.seen == Seen::Cells {
            return entries;
        }
        // An unknown is a signed sum of cells; of that the coefficients.
        entries.sort_unstable_by_key(|e| e.1);
        let column = |cells: &[(usize, usize, f64)]| {
            let mut table = vec![0.0; frame.len(own.table)];
            cells.iter().for_each(|&(row, _, sign)| table[row] += sign);
            let column = cells.first().map_or(0, |e| e.1);
            let all = own.of(frame, table).into_iter().enumerate().filter(|(_, v)| *v != 0.0);
            all.map(|(row, v)| (row, column, v)).collect::<Vec<_>>()
        };
        entries.chunk_by(|a, b| a.1 == b.1).flat_map(column).collect()
    }

    /// All entries: row (cell of the table), unknown, ±1.
    fn each(&self, put: &mut dyn FnMut(usize, usize, f64)) {
        self.cells(0, 0, &mut Vec::new(), put);
    }

    fn cells<'s>(
        &'s self,
        i: usize,
        row: usize,
        chosen: &mut Vec<&'s [Entry]>,
        put: &mut dyn FnMut(usize, usize, f64),
    ) {
        let Some(nodes) = self.nodes.get(i) else {
            return self
                .products(chosen, 0, &mut Vec::new(), 1.0, &mut |column, sign| put(row, column, sign));
        };
        for (node, entries) in nodes.iter().enumerate() {
            chosen.push(entries);
            self.cells(i + 1, row * nodes.len() + node, chosen, put);
            chosen.pop();
        }
    }

    fn products(
        &self,
        chosen: &[&[Entry]],
        code: usize,
        slots: &mut Vec<usize>,
        sign: f64,
        put: &mut dyn FnMut(usize, f64),
    ) {
        let Some(entries) = chosen.get(slots.len()) else {
            if let Some(place) = &self.places[code] {
                let at: usize = slots.iter().zip(&place.strides).map(|(s, t)| s * t).sum();
                put(place.offset + at, sign);
            }
            return;
        };
        let rungs = self.rungs[slots.len()];
        for e in entries.iter() {
            slots.push(e.slot);
            self.products(chosen, code * rungs + e.rung, slots, sign * e.sign, put);
            slots.pop();
        }
    }

    /// `F x` on this table.
    fn image(&self, x: &[f64], cells: usize) -> Vec<f64> {
        let mut out = vec![0.0; cells];
        self.each(&mut |row, column, sign| out[row] += sign * x[column]);
        out
    }
}

/// For each node of a rung the unknowns that make it up: itself, or its parent less its siblings.
fn entries(frame: &Frame, d: usize, top: usize) -> Vec<Vec<Entry>> {
    let mut coarser = vec![vec![Entry { rung: 0, slot: 0, sign: 1.0 }]];
    for r in 1..=top {
        let rung = &frame.axes[d].rungs[r];
        let mut first: Vec<Option<usize>> = vec![None; rung.siblings.len()];
        let mut finer: Vec<Vec<Entry>> = Vec::with_capacity(rung.len());
        let mut slot = 0;
        for (node, &p) in rung.parent.iter().enumerate() {
            match first[p as usize] {
                None => {
                    first[p as usize] = Some(node);
                    finer.push(coarser[p as usize].clone());
                }
                Some(eldest) => {
                    finer[eldest].push(Entry { rung: r, slot, sign: -1.0 });
                    finer.push(vec![Entry { rung: r, slot, sign: 1.0 }]);
                    slot += 1;
                }
            }
        }
        coarser = finer;
    }
    coarser
}

/// The consistent change of `tables` nearest to `residuals`, for each table on its cells. Components that are not `free`
/// stay as they are, and so do cells that are `empty` (of each table, or of none).
pub(super) fn nearest(
    frame: &Frame,
    tables: &[Measured],
    free: &dyn Fn(&Cuboid) -> bool,
    empty: &[Vec<bool>],
    residuals: &[Vec<f64>],
    norm: Norm,
) -> Result<Vec<Vec<f64>>, String> {
    let scale = residuals.iter().flatten().fold(0.0f64, |m, e| m.max(e.abs()));
    // What agrees already, but for rounding, stays as it is.
    if scale < 1e-9 {
        return Ok(tables.iter().map(|t| vec![0.0; frame.len(t.table)]).collect());
    }
    let mut components: Vec<Cuboid> =
        tables.iter().flat_map(|t| frame.below(t.table)).filter(|a| free(a)).collect();
    components.sort_unstable();
    components.dedup();
    let mut offsets = HashMap::new();
    let mut unknowns = 0;
    for a in components {
        let size = frame.contrasts(&a);
        offsets.insert(a, unknowns);
        unknowns += size;
    }
    let rows: Vec<Rows> = tables.iter().map(|t| Rows::new(frame, t.table, &offsets)).collect();
    // Of coefficients all that are below, each of as many cells as it has.
    let size = |(rows, own, e): (&Rows, &Measured, &Vec<f64>)| match own.seen {
        Seen::Cells => rows.size(),
        Seen::Walsh => e.len() as f64 * frame.len(own.table) as f64,
    };
    let entries: f64 = rows.iter().zip(tables).zip(residuals).map(|((r, t), e)| size((r, t, e))).sum();
    if entries > MOST_ENTRIES {
        return Err(format!(
            "its linear programme would have {entries:.1e} entries; the most is {MOST_ENTRIES:.0e}"
        ));
    }
    let failed = |why: &dyn std::fmt::Display| format!("its linear programme was not solved: {why}");
    let all: Vec<_> = rows.iter().zip(tables).map(|(r, own)| r.measured(frame, own)).collect();
    let programme = Programme::new(&all, unknowns, empty, residuals, scale, norm);
    let solution = programme.solve().map_err(|e| failed(&e))?;
    let image = |x: &[f64]| -> Vec<Vec<f64>> {
        let x: Vec<f64> = x.iter().take(unknowns).map(|x| x * scale).collect();
        rows.iter().zip(tables).map(|(r, own)| r.image(&x, frame.len(own.table))).collect()
    };
    let change = image(&solution.x);
    // What was reached, in true units, against what the solver's dual proves to be the least.
    let seen: Vec<Vec<f64>> = tables.iter().zip(change).map(|(own, c)| own.of(frame, c)).collect();
    let reached = norm.distance(&seen, residuals);
    let proved = solution.obj_val_dual * scale;
    let sound = matches!(
        solution.status,
        SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress
    );
    if !(sound && (reached - proved).abs() <= TOLERANCE * (scale + reached)) {
        return Err(failed(&solution.status));
    }
    // No more digits than the solution has; whole multiples of a small unit stay consistent.
    let unit = libm::exp2(-24.0) / scale;
    let rounded: Vec<f64> = solution.x.iter().map(|x| (x / unit).round() * unit).collect();
    Ok(image(&rounded))
}

/// The least price of `A x` under rows that are at most, then rows that are exactly, what stands to their right.
struct Programme {
    matrix: CscMatrix<f64>,
    price: Vec<f64>,
    right: Vec<f64>,
    at_most: usize,
    exactly: usize,
}

impl Programme {
    /// Two rows a cell: F x − u ≤ e and −F x − u ≤ −e, e in units of `scale`; then F x = 0 where empty.
    fn new(
        rows: &[Vec<(usize, usize, f64)>],
        unknowns: usize,
        empty: &[Vec<bool>],
        residuals: &[Vec<f64>],
        scale: f64,
        norm: Norm,
    ) -> Programme {
        let cells: usize = residuals.iter().map(Vec::len).sum();
        let mut exactly = 0;
        let equality: Vec<Vec<Option<usize>>> = empty
            .iter()
            .map(|mask| {
                let next = |&empty: &bool| {
                    empty.then(|| {
                        exactly += 1;
                        2 * cells + exactly - 1
                    })
                };
                mask.iter().map(next).collect()
            })
            .collect();
        let bounds = if norm == Norm::L1 { cells } else { 1 };
        let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
        let mut put = |row: usize, column: usize, value: f64| {
            i.push(row);
            j.push(column);
            v.push(value);
        };
        let mut start = 0;
        for (t, (r, e)) in rows.iter().zip(residuals).enumerate() {
            for &(row, column, sign) in r {
                put(start + row, column, sign);
                put(cells + start + row, column, -sign);
                if let Some(&Some(equality)) = equality.get(t).and_then(|rows| rows.get(row)) {
                    put(equality, column, sign);
                }
            }
            start += e.len();
        }
        for row in 0..cells {
            let column = unknowns + if norm == Norm::L1 { row } else { 0 };
            put(row, column, -1.0);
            put(cells + row, column, -1.0);
        }
        let n = unknowns + bounds;
        let matrix = CscMatrix::new_from_triplets(2 * cells + exactly, n, i, j, v);
        let e = residuals.iter().flatten().map(|e| e / scale);
        let mut right: Vec<f64> = e.clone().chain(e.map(|e| -e)).collect();
        right.resize(2 * cells + exactly, 0.0);
        let price: Vec<f64> = (0..n).map(|k| if k < unknowns { 0.0 } else { 1.0 }).collect();
        Programme { matrix, price, right, at_most: 2 * cells, exactly }
    }

    fn solve(&self) -> Result<DefaultSolution<f64>, String> {
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(1e-9)
            .tol_gap_rel(1e-9)
            .tol_feas(1e-9)
            .build()
            .map_err(|e| e.to_string())?;
        let cones = [SupportedConeT::NonnegativeConeT(self.at_most), SupportedConeT::ZeroConeT(self.exactly)];
        let n = self.price.len();
        let none = CscMatrix::zeros((n, n));
        let mut solver = DefaultSolver::new(&none, &self.price, &self.matrix, &self.right, &cones, settings)
            .map_err(|e| e.to_string())?;
        solver.solve();
        Ok(solver.solution)
    }
}

/// The components of consistent tables, `r_A = P_A M_A x`, each from the first table that holds it.
pub(super) fn parts_of(
    frame: &Frame,
    tables: &[Measured],
    consistent: &[Vec<f64>],
) -> HashMap<Cuboid, Vec<f64>> {
    let mut parts = HashMap::new();
    for (Measured { table: cuboid, .. }, table) in tables.iter().zip(consistent) {
        for a in frame.below(cuboid) {
            if parts.contains_key(&a) {
                continue;
            }
            frame.decompose(&a, frame.roll_up(cuboid, &a, table.clone()), &mut |b, part| {
                if b == a {
                    parts.insert(b, part);
                }
            });
        }
    }
    parts
}
