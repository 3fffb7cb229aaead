//! All axes of a plan, and what can be done to a table over them: split it into components, build it
//! from components, roll it up.
//!
//! Tables are dense vectors, the last dimension fastest. A **component** is named by the cuboid whose
//! levels pick one `W` in each dimension; it is the part of that cuboid's table that no coarser table knows.

use super::{Axis, Cube, Cuboid, Level, Rung};
use std::ops::Mul;

/// The axes of all dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// One a dimension.
    pub axes: Vec<Axis>,
}

impl Frame {
    /// The frame of a cube with the given levels in use (for each dimension ascending, 0 first).
    pub fn new(cube: &Cube, levels: &[Vec<u8>]) -> Frame {
        let axes = cube
            .dimensions
            .iter()
            .zip(levels)
            .map(|(d, used)| Axis::new(d, &used.iter().map(|&l| usize::from(l)).collect::<Vec<_>>()))
            .collect();
        Frame { axes }
    }

    /// The levels in use by a set of cuboids.
    pub fn levels_of<'a>(cube: &Cube, cuboids: impl IntoIterator<Item = &'a Cuboid>) -> Vec<Vec<u8>> {
        let mut used: Vec<Vec<bool>> = cube.dimensions.iter().map(|d| vec![false; d.levels.len()]).collect();
        for cuboid in cuboids {
            for at in cuboid.iter() {
                used[at.dimension][at.level] = true;
            }
        }
        used.iter()
            .map(|levels| (0..levels.len()).filter(|&l| l == 0 || levels[l]).map(|l| l as u8).collect())
            .collect()
    }

    /// The rung of one dimension of a cuboid.
    ///
    /// # Panics
    /// When the level is not in use: cuboids are checked when a plan is made or read.
    pub fn rung(&self, level: Level) -> &Rung {
        &self.axes[level.dimension].rungs[self.position(level)]
    }

    fn position(&self, at: Level) -> usize {
        self.axes[at.dimension].rung(at.level).expect("a cuboid of this frame uses levels in use")
    }

    /// The coarsest cuboid of levels in use whose cells tell those of this one: itself, where its levels are in use. `None` where one of them is finer than all that are.
    pub fn telling(&self, cuboid: &Cuboid) -> Option<Cuboid> {
        let level = |at: Level| {
            let level = self.axes.get(at.dimension)?.level_for(at.level)?;
            Some(Level::new(at.dimension, level))
        };
        cuboid.iter().map(level).collect::<Option<Vec<_>>>().map(Cuboid::new)
    }

    /// The rungs of one dimension from total up to a level.
    fn up_to(&self, level: Level) -> &[Rung] {
        &self.axes[level.dimension].rungs[..=self.position(level)]
    }

    /// The number of nodes in each listed dimension (after lumping).
    pub(crate) fn shape(&self, cuboid: &Cuboid) -> Vec<usize> {
        cuboid.iter().map(|level| self.rung(level).len()).collect()
    }

    /// The number of cells (after lumping).
    pub fn len(&self, cuboid: &Cuboid) -> usize {
        self.shape(cuboid).iter().product()
    }

    /// For each cell, how many real cells it stands for.
    pub fn multiplicity(&self, cuboid: &Cuboid) -> Vec<u64> {
        self.products(cuboid, 1, |at| self.rung(at).multiplicity.clone())
    }

    /// For each cell how often its value is there in the sum of what it stands for: see [`Axis::times`].
    pub(crate) fn times(&self, cuboid: &Cuboid) -> Vec<f64> {
        self.products(cuboid, 1.0, |at| {
            let axis = &self.axes[at.dimension];
            axis.times(axis.rung(at.level).unwrap_or(0))
        })
    }

    /// For each cell the product of what its nodes have.
    fn products<T: Copy + Mul<Output = T>>(
        &self,
        cuboid: &Cuboid,
        one: T,
        of: impl Fn(Level) -> Vec<T>,
    ) -> Vec<T> {
        cuboid.iter().fold(vec![one], |outer, at| {
            let own = of(at);
            outer.iter().flat_map(|&o| own.iter().map(move |&n| o * n)).collect()
        })
    }

    /// The number of real cells, as a float (for weights; it may be large).
    pub fn cells(&self, cuboid: &Cuboid) -> f64 {
        cuboid.iter().map(|level| self.rung(level).real_len() as f64).product()
    }

    /// All components at or below a cuboid, coarser before finer; those that hold nothing (no group with
    /// two siblings) left out.
    pub fn below(&self, cuboid: &Cuboid) -> Vec<Cuboid> {
        cuboid.iter().fold(vec![Cuboid::total()], |prefixes, at| {
            let rungs = self.up_to(at);
            let mut out = Vec::with_capacity(prefixes.len() * rungs.len());
            for prefix in &prefixes {
                let live = rungs.iter().filter(|r| !r.adds_nothing());
                out.extend(live.map(|r| prefix.and_then(Level::new(at.dimension, r.level))));
            }
            out
        })
    }

    /// How many numbers [`Frame::decompose`] makes of a table, in all components together. As a float: it may be large.
    pub fn spread(&self, cuboid: &Cuboid) -> f64 {
        let of_axis = |level: Level| -> f64 {
            let rungs = self.up_to(level).iter();
            rungs.filter(|r| !r.adds_nothing()).map(|r| r.len() as f64).sum()
        };
        cuboid.iter().map(of_axis).product()
    }

    /// Whether least squares over these tables decouples: see [`Axis::is_balanced`].
    pub fn is_balanced(&self) -> bool {
        self.axes.iter().all(Axis::is_balanced)
    }

    /// Splits a vector over a cuboid's table into its part in every component below:
    /// `q_A = P_A (q pushed to table A)`. Calls `emit` once for each component of [`Frame::below`].
    pub fn decompose(&self, cuboid: &Cuboid, table: Vec<f64>, emit: &mut dyn FnMut(Cuboid, Vec<f64>)) {
        let levels: Vec<_> = cuboid.iter().collect();
        self.decompose_from(&levels, 0, 1, &mut Vec::new(), table, emit);
    }

    fn decompose_from(
        &self,
        levels: &[Level],
        i: usize,
        outer: usize,
        prefix: &mut Vec<Level>,
        mut table: Vec<f64>,
        emit: &mut dyn FnMut(Cuboid, Vec<f64>),
    ) {
        let Some(&at) = levels.get(i) else {
            return emit(Cuboid::new(prefix.iter().copied()), table);
        };
        for (r, rung) in self.up_to(at).iter().enumerate().rev() {
            let n = rung.len();
            let inner = table.len() / (outer * n);
            let coarser = (r > 0).then(|| push(&table, inner, rung));
            if !rung.adds_nothing() {
                if let Some(mean) = &coarser {
                    take_off(&mut table, mean, inner, rung);
                }
                prefix.push(Level::new(at.dimension, rung.level));
                self.decompose_from(levels, i + 1, outer * n, prefix, table, emit);
                prefix.pop();
            }
            match coarser {
                Some(mean) => table = mean,
                None => break,
            }
        }
    }

    /// Builds a cuboid's table from its components: `Σ_{A ≤ B} Up r_A`. `component` is asked once for
    /// each component of [`Frame::below`] and returns `None` for one that is zero.
    pub fn rebuild<E>(
        &self,
        cuboid: &Cuboid,
        component: &mut dyn FnMut(&Cuboid) -> Result<Option<Vec<f64>>, E>,
    ) -> Result<Vec<f64>, E> {
        let levels: Vec<_> = cuboid.iter().collect();
        let built = self.rebuild_from(&levels, 0, 1, &mut Vec::new(), component)?;
        Ok(built.unwrap_or_else(|| vec![0.0; self.len(cuboid)]))
    }

    fn rebuild_from<E>(
        &self,
        levels: &[Level],
        i: usize,
        outer: usize,
        prefix: &mut Vec<Level>,
        component: &mut dyn FnMut(&Cuboid) -> Result<Option<Vec<f64>>, E>,
    ) -> Result<Option<Vec<f64>>, E> {
        let Some(&at) = levels.get(i) else {
            return component(&Cuboid::new(prefix.iter().copied()));
        };
        let mut built: Option<Vec<f64>> = None;
        for rung in self.up_to(at) {
            let part = if rung.adds_nothing() {
                None
            } else {
                prefix.push(Level::new(at.dimension, rung.level));
                let part = self.rebuild_from(levels, i + 1, outer * rung.len(), prefix, component)?;
                prefix.pop();
                part
            };
            built = match (built, part) {
                (Some(coarse), part) if rung.level > 0 => {
                    let mut fine = part.unwrap_or_else(|| {
                        let below = rung.siblings.len();
                        vec![0.0; coarse.len() / below * rung.len()]
                    });
                    let inner = fine.len() / (outer * rung.len());
                    add_spread(&mut fine, &coarse, inner, rung);
                    Some(fine)
                }
                (_, part) => part,
            };
        }
        Ok(built)
    }

    /// Rolls a table up to a coarser cuboid by summing. Only for frames that are not lumped.
    pub fn roll_up(&self, from: &Cuboid, to: &Cuboid, mut table: Vec<f64>) -> Vec<f64> {
        let mut inner = 1;
        for at in from.iter().rev() {
            let (rungs, stop) = (self.up_to(at), self.position(to.at(at.dimension)));
            for rung in rungs[stop + 1..].iter().rev() {
                table = sum(&table, inner, rung);
            }
            inner *= rungs[stop].len();
        }
        table
    }

    /// Repeats a vector over a coarse table for every finer cell below: the query that sums those cells.
    pub fn pull_back(&self, from: &Cuboid, to: &Cuboid, mut table: Vec<f64>) -> Vec<f64> {
        let mut inner = 1;
        for at in to.iter().rev() {
            let (rungs, start) = (self.up_to(at), self.position(from.at(at.dimension)));
            for rung in &rungs[start + 1..] {
                table = repeat(&table, inner, rung);
            }
            inner *= self.rung(at).len();
        }
        table
    }
}

/// The mean of each group of siblings.
pub fn push(table: &[f64], inner: usize, rung: &Rung) -> Vec<f64> {
    let (n, below) = (rung.len(), rung.siblings.len());
    let outer = table.len() / (n * inner);
    let mut out = vec![0.0; outer * below * inner];
    for (rows, means) in table.chunks_exact(n * inner).zip(out.chunks_exact_mut(below * inner)) {
        for (k, row) in rows.chunks_exact(inner).enumerate() {
            let p = rung.parent[k] as usize;
            let copies = f64::from(rung.copies[k]);
            for (m, v) in means[p * inner..(p + 1) * inner].iter_mut().zip(row) {
                *m += copies * v;
            }
        }
        for (p, row) in means.chunks_exact_mut(inner).enumerate() {
            let share = 1.0 / f64::from(rung.siblings[p]);
            row.iter_mut().for_each(|m| *m *= share);
        }
    }
    out
}

/// Subtracts its group's mean from every node.
pub fn take_off(table: &mut [f64], mean: &[f64], inner: usize, rung: &Rung) {
    let (n, below) = (rung.len(), rung.siblings.len());
    for (rows, means) in table.chunks_exact_mut(n * inner).zip(mean.chunks_exact(below * inner)) {
        for (k, row) in rows.chunks_exact_mut(inner).enumerate() {
            let p = rung.parent[k] as usize;
            for (v, m) in row.iter_mut().zip(&means[p * inner..(p + 1) * inner]) {
                *v -= m;
            }
        }
    }
}

/// Adds to every node its even share of its parent's value.
pub(crate) fn add_spread(fine: &mut [f64], coarse: &[f64], inner: usize, rung: &Rung) {
    let (n, below) = (rung.len(), rung.siblings.len());
    for (rows, shares) in fine.chunks_exact_mut(n * inner).zip(coarse.chunks_exact(below * inner)) {
        for (k, row) in rows.chunks_exact_mut(inner).enumerate() {
            let p = rung.parent[k] as usize;
            let share = rung.share(p);
            for (v, s) in row.iter_mut().zip(&shares[p * inner..(p + 1) * inner]) {
                *v += share * s;
            }
        }
    }
}

/// The sum of each group of siblings.
fn sum(table: &[f64], inner: usize, rung: &Rung) -> Vec<f64> {
    let (n, below) = (rung.len(), rung.siblings.len());
    let outer = table.len() / (n * inner);
    let mut out = vec![0.0; outer * below * inner];
    for (rows, sums) in table.chunks_exact(n * inner).zip(out.chunks_exact_mut(below * inner)) {
        for (k, row) in rows.chunks_exact(inner).enumerate() {
            let p = rung.parent[k] as usize;
            for (s, v) in sums[p * inner..(p + 1) * inner].iter_mut().zip(row) {
                *s += v;
            }
        }
    }
    out
}

/// Every node gets its parent's value.
fn repeat(table: &[f64], inner: usize, rung: &Rung) -> Vec<f64> {
    let below = rung.siblings.len();
    let mut out = Vec::with_capacity(table.len() / below * rung.len());
    for rows in table.chunks_exact(below * inner) {
        for &p in rung.parent.iter() {
            out.extend_from_slice(&rows[p as usize * inner..(p as usize + 1) * inner]);
        }
    }
    out
}
