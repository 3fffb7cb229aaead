//! A basis in whole numbers of what one level of a dimension adds to the next coarser one, and its inverse.
//!
//! A level of `n` nodes below `m` coarser ones is measured by a matrix `R` of `n − m` whole rows. Together with the roll-up `Π` to the
//! coarser level it is square, and with `[Π; R]⁻¹ = [U, K]` a vector over the nodes is `x = U Πx + K R x`: what the coarser level
//! knows, and what these rows add. The differences to a group's mean are the case `U = Πᵀ/c`; any other invertible `R` has
//! its own `U` and `K`, so that nothing hangs on how `R` was found. (See docs/methods/bases.md.)
//!
//! `U` and `K` are computed in doubles. How far `[U, K][Π; R]` is from the identity is computed too, with a bound for all roundings on the
//! way ([`Inverse::residual`]): an answer is off by no more than that times the number of units, whatever the data.

use crate::cube::Integer;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The most nodes of a level that is measured by a basis: its inverse takes the third power of it.
pub const MAX_NODES: usize = 1024;
/// The largest entry.
pub const MAX_ENTRY: i32 = 1 << 20;
/// The largest residual of an inverse that answers are computed with.
pub(crate) const MAX_RESIDUAL: f64 = 1e-7;

/// The rows `R` of one level.
#[derive(Debug, Clone)]
pub struct Basis {
    /// For each node the coarser one it is below.
    parent: Vec<u32>,
    /// How many coarser nodes there are.
    coarser: usize,
    /// Row by row.
    entries: Vec<i32>,
    inverse: OnceLock<Option<Arc<Inverse>>>,
    products: OnceLock<(i128, i128)>,
    gap: Option<f64>,
}

impl PartialEq for Basis {
    fn eq(&self, other: &Basis) -> bool {
        self.parent == other.parent && self.entries == other.entries
    }
}

impl Eq for Basis {}

impl Hash for Basis {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parent.hash(state);
        self.entries.hash(state);
    }
}

impl Basis {
    /// Rows over nodes below these parents, row by row. The error says what is wrong with their number or size; whether they have an
    /// inverse is found when that is asked for.
    pub fn new(parent: Vec<u32>, entries: Vec<i32>) -> Result<Basis, &'static str> {
        let coarser = parent.iter().max().map_or(0, |&p| p as usize + 1);
        let n = parent.len();
        if n > MAX_NODES {
            return Err("a basis has more nodes than any may have");
        }
        if coarser >= n {
            return Err("a basis has no rows");
        }
        if entries.len() != n * (n - coarser) {
            return Err("a basis has another number of entries than its level needs");
        }
        if entries.iter().any(|e| e.unsigned_abs() > MAX_ENTRY.unsigned_abs()) {
            return Err("an entry of a basis is larger than any may be");
        }
        Ok(Basis { parent, coarser, entries, inverse: OnceLock::new(), products: OnceLock::new(), gap: None })
    }

    /// The same, found within a relative gap of the best for what was asked of its dimension: for planners, not kept in a release.
    pub fn found_within(mut self, gap: f64) -> Basis {
        self.gap = Some(gap);
        self
    }

    /// How close to the best it was found.
    pub fn gap(&self) -> Option<f64> {
        self.gap
    }

    /// For each node the coarser one it is below.
    pub(crate) fn parent(&self) -> &[u32] {
        &self.parent
    }

    /// How many nodes it is over.
    pub fn nodes(&self) -> usize {
        self.parent.len()
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.nodes() - self.coarser
    }

    /// All entries, row by row.
    pub(crate) fn entries(&self) -> &[i32] {
        &self.entries
    }

    /// A row.
    pub fn row(&self, i: usize) -> &[i32] {
        &self.entries[i * self.nodes()..][..self.nodes()]
    }

    /// The largest squared length of a column: how far a unit moves the rows. At most `2^10 · 2^40`.
    pub fn norm(&self) -> u128 {
        self.norms().into_iter().max().unwrap_or(0)
    }

    /// The squared length of every column.
    pub(crate) fn norms(&self) -> Vec<u128> {
        let mut norms = vec![0u128; self.nodes()];
        for row in self.entries.chunks_exact(self.nodes()) {
            norms.iter_mut().zip(row).for_each(|(n, &e)| *n += u128::from(e.unsigned_abs()).pow(2));
        }
        norms
    }

    /// The largest entry, without its sign.
    pub(crate) fn largest(&self) -> u128 {
        self.entries.iter().map(|e| u128::from(e.unsigned_abs())).max().unwrap_or(0)
    }

    /// The least and the largest scalar product of the columns of two different nodes.
    pub(crate) fn products(&self) -> (i128, i128) {
        *self.products.get_or_init(|| self.all_products())
    }

    fn all_products(&self) -> (i128, i128) {
        let n = self.nodes();
        let mut sums = vec![0i64; n * n];
        for row in self.entries.chunks_exact(n) {
            for (i, &a) in row.iter().enumerate().filter(|(_, a)| **a != 0) {
                // At most 2^10 · 2^40.
                sums[i * n..][..i].iter_mut().zip(row).for_each(|(s, &b)| *s += i64::from(a) * i64::from(b));
            }
        }
        let pairs = (1..n).flat_map(|i| sums[i * n..][..i].iter().copied());
        pairs.fold((i128::MAX, i128::MIN), |(low, high), v| (low.min(v.into()), high.max(v.into())))
    }

    /// `R v` along one axis of a table: `inner` numbers beside each other for every node. `None` on overflow.
    pub(crate) fn apply<T: Integer>(&self, table: &[T], inner: usize) -> Option<Vec<T>> {
        let n = self.nodes();
        let mut out = Vec::with_capacity(table.len() / n * self.rows());
        for block in table.chunks_exact(n * inner) {
            for row in self.entries.chunks_exact(n) {
                let start = out.len();
                out.resize(start + inner, T::from(0));
                let sums = &mut out[start..];
                for (&e, line) in row.iter().zip(block.chunks_exact(inner)).filter(|(e, _)| **e != 0) {
                    for (sum, v) in sums.iter_mut().zip(line) {
                        *sum = sum.plus(v.times(e.into())?)?;
                    }
                }
            }
        }
        Some(out)
    }

    /// The same of doubles.
    pub(crate) fn apply_floats(&self, table: &[f64], inner: usize) -> Vec<f64> {
        let n = self.nodes();
        let mut out = Vec::with_capacity(table.len() / n * self.rows());
        for block in table.chunks_exact(n * inner) {
            for row in self.entries.chunks_exact(n) {
                let start = out.len();
                out.resize(start + inner, 0.0);
                for (&e, line) in row.iter().zip(block.chunks_exact(inner)).filter(|(e, _)| **e != 0) {
                    out[start..].iter_mut().zip(line).for_each(|(s, v)| *s += f64::from(e) * v);
                }
            }
        }
        out
    }

    /// `[Π; R]⁻¹`, computed once. `None` where the rows and the coarser nodes do not determine the nodes, or so badly that doubles cannot
    /// tell.
    pub fn inverse(&self) -> Option<&Arc<Inverse>> {
        self.inverse.get_or_init(|| Inverse::of(self).map(Arc::new)).as_ref()
    }
}

/// `U` and `K`.
#[derive(Debug, Clone)]
pub struct Inverse {
    nodes: usize,
    coarser: usize,
    /// For each node its row of `[U, K]`.
    both: Vec<f64>,
    residual: f64,
}

impl Inverse {
    fn of(basis: &Basis) -> Option<Inverse> {
        let (n, m) = (basis.nodes(), basis.coarser);
        let mut square = vec![vec![0.0; n]; n];
        for (node, &p) in basis.parent.iter().enumerate() {
            square[p as usize][node] = 1.0;
        }
        for i in 0..n - m {
            square[m + i].iter_mut().zip(basis.row(i)).for_each(|(s, &e)| *s = f64::from(e));
        }
        let both: Vec<f64> = inverted(square)?.into_iter().flatten().collect();
        let residual = residual(basis, &both);
        (residual <= MAX_RESIDUAL).then_some(Inverse { nodes: n, coarser: m, both, residual })
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many coarser ones.
    pub(crate) fn coarser(&self) -> usize {
        self.coarser
    }

    /// How many rows the basis has.
    pub(crate) fn rows(&self) -> usize {
        self.nodes - self.coarser
    }

    /// A node's share of what each coarser node has.
    pub(crate) fn spread(&self, node: usize) -> &[f64] {
        &self.both[node * self.nodes..][..self.coarser]
    }

    /// A node's factors of the rows.
    pub fn recover(&self, node: usize) -> &[f64] {
        &self.both[node * self.nodes + self.coarser..][..self.rows()]
    }

    /// Certainly no less than `max_c Σ_b |([U, K][Π; R] − I)_bc|`.
    pub(crate) fn residual(&self) -> f64 {
        self.residual
    }

    /// `Uᵀ q` or `Kᵀ q` along one axis: from weights of nodes to weights of coarser nodes, or of rows.
    pub fn pull(&self, table: &[f64], inner: usize, of: Part) -> Vec<f64> {
        let width = self.width(of);
        let mut out = vec![0.0; table.len() / self.nodes * width];
        for (block, out) in table.chunks_exact(self.nodes * inner).zip(out.chunks_exact_mut(width * inner)) {
            for (node, line) in block.chunks_exact(inner).enumerate() {
                if line.iter().all(|v| *v == 0.0) {
                    continue;
                }
                for (&f, out) in self.factors(node, of).iter().zip(out.chunks_exact_mut(inner)) {
                    out.iter_mut().zip(line).for_each(|(o, v)| *o += f * v);
                }
            }
        }
        out
    }

    /// `U c` or `K y` along one axis: from values of coarser nodes, or of rows, to those of nodes. Adds to `out`.
    pub(crate) fn push(&self, values: &[f64], inner: usize, of: Part, out: &mut [f64]) {
        let width = self.width(of);
        for (values, out) in values.chunks_exact(width * inner).zip(out.chunks_exact_mut(self.nodes * inner))
        {
            for (node, out) in out.chunks_exact_mut(inner).enumerate() {
                for (&f, line) in self.factors(node, of).iter().zip(values.chunks_exact(inner)) {
                    out.iter_mut().zip(line).for_each(|(o, v)| *o += f * v);
                }
            }
        }
    }

    fn width(&self, of: Part) -> usize {
        match of {
            Part::Coarser => self.coarser,
            Part::Rows => self.rows(),
        }
    }

    fn factors(&self, node: usize, of: Part) -> &[f64] {
        match of {
            Part::Coarser => self.spread(node),
            Part::Rows => self.recover(node),
        }
    }
}

/// Which part of the inverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `U`.
    Coarser,
    /// `K`.
    Rows,
}

/// The inverse of a square matrix, by rows: Gaussian elimination with row exchanges, passing over zeros. `None` when it is singular.
fn inverted(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let mut b: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()).then(j.cmp(&i)))?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k] == 0.0 {
            return None;
        }
        let ((a_done, a_rest), (b_done, b_rest)) = (a.split_at_mut(k + 1), b.split_at_mut(k + 1));
        for (row, own) in a_rest.iter_mut().zip(b_rest).filter(|(row, _)| row[k] != 0.0) {
            let times = row[k] / a_done[k][k];
            row[k..].iter_mut().zip(&a_done[k][k..]).for_each(|(x, y)| *x -= times * y);
            own.iter_mut().zip(&b_done[k]).for_each(|(x, y)| *x -= times * y);
        }
    }
    for k in (0..n).rev() {
        let (rest, done) = b.split_at_mut(k + 1);
        let own = &mut rest[k];
        for (below, &times) in done.iter().zip(&a[k][k + 1..]).filter(|(_, t)| **t != 0.0) {
            own.iter_mut().zip(below).for_each(|(x, y)| *x -= times * y);
        }
        let by = a[k][k];
        own.iter_mut().for_each(|x| *x /= by);
    }
    b.iter().flatten().all(|v| v.is_finite()).then_some(b)
}

/// A bound of `max_c Σ_b |([U, K][Π; R] − I)_bc|`, all roundings included: a sum of `n + 1` products in doubles is within `n + 2` halves of
/// an epsilon of the sum of their absolute values, and the bound's own sums are taken twice as large as that.
fn residual(basis: &Basis, both: &[f64]) -> f64 {
    let (n, m) = (basis.nodes(), basis.coarser);
    let mut worst = 0.0f64;
    for node in 0..n {
        // Column `node` of [Π; R], without its zeros.
        let own = std::iter::once((basis.parent[node] as usize, 1.0));
        let rows =
            (0..n - m).map(|i| (m + i, f64::from(basis.entries[i * n + node]))).filter(|(_, e)| *e != 0.0);
        let column: Vec<(usize, f64)> = own.chain(rows).collect();
        let mut sum = 0.0;
        for (at, row) in both.chunks_exact(n).enumerate() {
            let (mut value, mut size) = (if at == node { -1.0 } else { 0.0 }, 1.0);
            for &(k, e) in &column {
                value += row[k] * e;
                size += (row[k] * e).abs();
            }
            sum += value.abs() + 2.0 * (n as f64 + 4.0) * f64::EPSILON * size;
        }
        worst = worst.max(sum);
    }
    // A number that is none is no bound.
    if worst.is_nan() { f64::INFINITY } else { worst * (1.0 + 1e-6) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    fn any(dice: &mut Dice, parent: Vec<u32>, size: usize) -> Basis {
        let n = parent.len();
        let m = *parent.iter().max().unwrap() as usize + 1;
        let entries = (0..n * (n - m)).map(|_| dice.below(2 * size + 1) as i32 - size as i32).collect();
        Basis::new(parent, entries).unwrap()
    }

    /// Against nalgebra: total alone above, and groups of unequal size.
    #[test]
    fn the_inverse_is_one() {
        let mut dice = Dice::new(8);
        for parent in [vec![0; 2], vec![0; 9], vec![0, 0, 1, 1, 1, 2, 3, 3]] {
            let basis = any(&mut dice, parent.clone(), 300);
            let n = basis.nodes();
            let m = n - basis.rows();
            let square = nalgebra::DMatrix::from_fn(n, n, |i, j| {
                if i < m {
                    f64::from(u8::from(parent[j] as usize == i))
                } else {
                    f64::from(basis.row(i - m)[j])
                }
            });
            let want = square.clone().try_inverse().unwrap();
            let inverse = basis.inverse().unwrap();
            let mut exact = nalgebra::DMatrix::zeros(n, n);
            for node in 0..n {
                let row: Vec<f64> =
                    inverse.spread(node).iter().chain(inverse.recover(node)).copied().collect();
                for (j, v) in row.into_iter().enumerate() {
                    assert!((v - want[(node, j)]).abs() < 1e-12 * want.norm() * n as f64);
                    exact[(node, j)] = v;
                }
            }
            let off = (exact * square - nalgebra::DMatrix::identity(n, n)).abs();
            let worst = off.column_iter().map(|c| c.sum()).fold(0.0, f64::max);
            assert!(
                worst <= inverse.residual() && inverse.residual() < 1e-9,
                "{worst} {}",
                inverse.residual()
            );
            // Along the middle axis of a table of three.
            let x: Vec<f64> = (0..2 * n * 3).map(|_| dice.unit()).collect();
            let coarse = |x: &[f64]| -> Vec<f64> {
                let mut out = vec![0.0; 2 * m * 3];
                for o in 0..2 {
                    for k in 0..n {
                        for i in 0..3 {
                            out[(o * m + parent[k] as usize) * 3 + i] += x[(o * n + k) * 3 + i];
                        }
                    }
                }
                out
            };
            let mut back = vec![0.0; x.len()];
            inverse.push(&coarse(&x), 3, Part::Coarser, &mut back);
            inverse.push(&basis.apply_floats(&x, 3), 3, Part::Rows, &mut back);
            back.iter().zip(&x).for_each(|(a, b)| assert!((a - b).abs() < 1e-9));
            // The transposes: ⟨q, K y⟩ = ⟨Kᵀ q, y⟩.
            let q: Vec<f64> = (0..x.len()).map(|_| dice.unit()).collect();
            for part in [Part::Coarser, Part::Rows] {
                let y: Vec<f64> = (0..6 * inverse.width(part)).map(|_| dice.unit()).collect();
                let mut image = vec![0.0; x.len()];
                inverse.push(&y, 3, part, &mut image);
                let (a, b): (f64, f64) = (
                    image.iter().zip(&q).map(|(a, b)| a * b).sum(),
                    inverse.pull(&q, 3, part).iter().zip(&y).map(|(a, b)| a * b).sum(),
                );
                assert!((a - b).abs() < 1e-9 * a.abs().max(1.0));
            }
        }
    }

    #[test]
    fn broken_bases() {
        let wrong = |parent: Vec<u32>, entries: Vec<i32>| Basis::new(parent, entries).unwrap_err();
        assert!(wrong(vec![0; 3], vec![1; 5]).contains("entries"));
        assert!(wrong(vec![0, 1], vec![]).contains("no rows") && wrong(vec![], vec![]).contains("no rows"));
        assert!(wrong(vec![0; 2], vec![MAX_ENTRY + 1, 0]).contains("larger"));
        assert!(wrong(vec![0; 2], vec![i32::MIN, 0]).contains("larger"));
        assert!(wrong(vec![0; MAX_NODES + 1], vec![]).contains("nodes"));
        // A row of ones says what the total says; two equal rows say the same twice; a row of zeros says nothing.
        for entries in [vec![1, 1, 1, 1, 0, 0], vec![2, 1, 0, 2, 1, 0], vec![1, 0, 0, 0, 0, 0]] {
            assert!(Basis::new(vec![0; 3], entries).unwrap().inverse().is_none());
        }
        // Nearly that, so that doubles cannot tell: refused rather than trusted.
        let big = MAX_ENTRY;
        let near = Basis::new(vec![0; 3], vec![big, big, big - 1, big, big - 1, big]).unwrap();
        assert!(near.inverse().is_some_and(|i| i.residual() < 1e-6));
        assert!(Basis::new(vec![0; 2], vec![5, -7]).unwrap().apply(&[i64::MAX, 1], 1).is_none());
    }

    #[test]
    fn lengths_and_products() {
        let basis = Basis::new(vec![0; 3], vec![3, -4, 0, 1, 1, 1]).unwrap();
        assert_eq!(basis.norms(), [10, 17, 1]);
        assert_eq!((basis.norm(), basis.largest(), basis.products()), (17, 4, (-11, 1)));
        assert_eq!(basis.apply(&[1i64, 10, 100], 1).unwrap(), [-37, 111]);
        assert_eq!(basis.apply(&[1i128, 2, 10, 20, 100, 200], 2).unwrap(), [-37, -74, 111, 222]);
    }
}
