//! The components below a workload, and how much each one's noise adds to each table.

use crate::cube::{Axis, Cube, Cuboid, Frame};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// A workload's components, indexed. The order is that of first need, so it depends on the spec alone.
pub struct Closure {
    /// All components below the workload's tables.
    pub components: Vec<Cuboid>,
    /// For each table the indices of its components, in the order of [`Frame::below`].
    pub tables: Vec<Vec<u32>>,
    index: FxHashMap<Cuboid, u32>,
    gains: Vec<AxisGains>,
}

/// For one axis: how a level-`ℓ` cell depends on each coarser rung's component.
struct AxisGains {
    /// `mean[r][j]`: the mean over nodes of rung r of `‖P_j Upᵀ e‖²`.
    mean: Vec<Vec<f64>>,
    /// The distinct kinds of nodes of rung r: their norms, each once.
    kinds: Vec<Vec<Vec<f64>>>,
    /// The rungs that hold something.
    live: Vec<bool>,
    /// From level to rung.
    rung_of: Vec<usize>,
}

impl AxisGains {
    fn new(axis: &Axis, levels: usize) -> AxisGains {
        // Nodes of one orbit have the same norms, so a lumped axis shows every kind.
        let (lumped, _) = axis.lump(0, &[0]);
        let mut mean = Vec::new();
        let mut kinds = Vec::new();
        for r in 0..axis.rungs.len() {
            let norms = lumped.cell_norms(r);
            let total = lumped.rungs[r].real_len() as f64;
            let mut average = vec![0.0; r + 1];
            for (n, &m) in norms.iter().zip(&lumped.rungs[r].multiplicity) {
                average.iter_mut().zip(n).for_each(|(a, v)| *a += m as f64 * v);
            }
            average.iter_mut().for_each(|a| *a /= total);
            mean.push(average);
            kinds.push(norms);
        }
        let live = axis.rungs.iter().map(|r| !r.adds_nothing()).collect();
        let mut rung_of = vec![0; levels];
        for (r, rung) in axis.rungs.iter().enumerate() {
            rung_of[rung.level] = r;
        }
        AxisGains { mean, kinds, live, rung_of }
    }
}

/// The mean and the largest cell variance of one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Averaged over the table's cells.
    pub mean: f64,
    /// Of the worst cell.
    pub max: f64,
}

impl Closure {
    /// The closure of some tables.
    pub fn new<'a>(cube: &Cube, frame: &Frame, tables: impl IntoIterator<Item = &'a Cuboid>) -> Closure {
        let mut closure = Closure {
            components: Vec::new(),
            tables: Vec::new(),
            index: FxHashMap::default(),
            gains: frame
                .axes
                .iter()
                .zip(&cube.dimensions)
                .map(|(axis, d)| AxisGains::new(axis, d.levels.len()))
                .collect(),
        };
        for table in tables {
            let ids = frame
                .below(table)
                .into_iter()
                .map(|a| {
                    let next = closure.components.len() as u32;
                    *closure.index.entry(a).or_insert_with_key(|a| {
                        closure.components.push(a.clone());
                        next
                    })
                })
                .collect();
            closure.tables.push(ids);
        }
        closure
    }

    /// The index of a component.
    pub fn find(&self, component: &Cuboid) -> Option<usize> {
        self.index.get(component).map(|&i| i as usize)
    }

    /// Calls `visit(component index, mean gain)` for each component of table number `t`, where the table's mean
    /// cell variance is `Σ σ_A² · gain`.
    pub fn mean_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(usize, f64)) {
        let mut gains: Gains = smallvec![1.0];
        for (d, l) in cuboid.iter() {
            let axis = &self.gains[d];
            let row = &axis.mean[axis.rung_of[l]];
            gains = product(&gains, row, &axis.live);
        }
        for (&id, gain) in self.tables[t].iter().zip(gains) {
            visit(id as usize, gain);
        }
    }

    /// Calls `visit(component indices, gains)` for each kind of cell of table number `t`: a cell of that kind has
    /// variance `Σ σ_A² · gain`.
    pub fn kind_gains(&self, t: usize, cuboid: &Cuboid, mut visit: impl FnMut(&[u32], &[f64])) {
        let mut kinds: SmallVec<[Gains; 1]> = smallvec![smallvec![1.0]];
        for (d, l) in cuboid.iter() {
            let axis = &self.gains[d];
            let rows = &axis.kinds[axis.rung_of[l]];
            kinds =
                kinds.iter().flat_map(|k| rows.iter().map(move |row| product(k, row, &axis.live))).collect();
        }
        kinds.iter().for_each(|gains| visit(&self.tables[t], gains));
    }

    /// Mean and largest cell variance of table `t` when component A has variance `sigma2[A]` and components
    /// are independent.
    pub fn spread(&self, t: usize, cuboid: &Cuboid, sigma2: &[f64]) -> Spread {
        let mut mean = 0.0;
        self.mean_gains(t, cuboid, |id, gain| mean += sigma2[id] * gain);
        let (mut kinds, mut max) = (0, 0.0f64);
        self.kind_gains(t, cuboid, |ids, gains| {
            kinds += 1;
            max = max.max(ids.iter().zip(gains).map(|(&id, g)| sigma2[id as usize] * g).sum());
        });
        Spread { mean, max: if kinds == 1 { mean } else { max } }
    }
}

/// One number for each component below a table of up to four dimensions, without an allocation.
type Gains = SmallVec<[f64; 16]>;

/// All products of an outer vector with one axis's row, in the order of [`Frame::below`].
fn product(outer: &[f64], row: &[f64], live: &[bool]) -> Gains {
    outer
        .iter()
        .flat_map(|&o| row.iter().zip(live).filter(|&(_, &live)| live).map(move |(&g, _)| o * g))
        .collect()
}
