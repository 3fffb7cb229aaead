//! Whole factors of the nodes of one level, for groups of unequal size: how finely each node's count is measured.
//!
//! A node's count is multiplied by its factor `c_v` before the noise, which is the same for all. So within a group of siblings a parent's value is
//! shared in proportion to `ω_v = 1/c_v²` and not evenly: `u_v = ω_v/Σω`. With `c_v = M·a_v`, `M` the greatest common divisor of a group's factors,
//! only `(a_v t_v − a_f t_f)/gcd` is published for each node but the first, `f`, of its group: it does not see the vector `k_v = L/a_v`, `L` the least common
//! multiple, which is all that the parent's value adds to the integers.
//!
//! **Guarantee.** A unit in node `j` moves the integers by `c_j e_j`, which the contrasts cannot tell from `c_j e_j − h k`, `h` any whole number:
//! its squared length is at most `c_j² − 2hML + h²Σk²` ([`NodeWeights::norms`]), computed exactly. **Proof.** The contrasts of `k` are
//! `(a_v L/a_v − a_f L/a_f)/gcd = 0`. With the best real `h` it is `c_j² − 1/Σω`, the least that any mechanism of these shares costs.

use crate::cube::{Axis, Integer, Members, Rung};
use crate::exact::gcd;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// The largest factor.
pub const MAX_FACTOR: u32 = 1 << 24;
/// The largest least common multiple of a group's factors over their greatest common divisor.
const MAX_MULTIPLE: u128 = 1 << 32;

/// The factors of one level's nodes.
#[derive(Debug, Clone)]
pub struct NodeWeights {
    /// For each node the coarser one it is below.
    parent: Vec<u32>,
    factors: Vec<u32>,
    /// The first node of each group.
    first: Vec<u32>,
    norms: Vec<u64>,
    told: OnceLock<Told>,
}

/// What only who publishes a level or reads it needs: most questions are about other levels, or about a slice of this one.
#[derive(Debug, Clone)]
struct Told {
    /// For each node its own and the first node's coefficient in the contrast.
    contrasts: Vec<(u32, u32)>,
    /// `u`.
    shares: Vec<f64>,
}

impl PartialEq for NodeWeights {
    fn eq(&self, other: &NodeWeights) -> bool {
        // Blocks share them: most often they are the same in memory.
        std::ptr::eq(self, other) || (self.factors == other.factors && self.parent == other.parent)
    }
}

impl Eq for NodeWeights {}

impl Hash for NodeWeights {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.factors.hash(state);
    }
}

/// What the factors of one group come to.
struct Group {
    /// Their greatest common divisor.
    divisor: u128,
    /// `L`, and the sum of the squares of `k`.
    multiple: u128,
    squares: u128,
}

impl Group {
    fn of(factors: &[u32]) -> Option<Group> {
        // Neighbours are mostly alike.
        let runs = || factors.chunk_by(|a, b| a == b).map(|run| (u128::from(run[0]), run.len() as u128));
        let divisor = runs().fold(0, |d, (c, _)| gcd(d, c));
        let mut multiple = 1u128;
        for (c, _) in runs() {
            let a = c.checked_div(divisor)?;
            multiple = multiple / gcd(multiple, a) * a;
            if multiple > MAX_MULTIPLE {
                return None;
            }
        }
        let square = |c: u128| (multiple / (c / divisor)) * (multiple / (c / divisor));
        let squares = runs().map(|(c, nodes)| square(c) * nodes).sum();
        Some(Group { divisor, multiple, squares })
    }

    /// The least `‖c e − h k‖²`. The best real `h` is the same for all nodes, and the whole number next to it is the best of those.
    fn norm(&self, factor: u32) -> Option<u64> {
        let shift = self.divisor * self.multiple;
        let h = (shift + self.squares / 2) / self.squares;
        let own = u128::from(factor).pow(2).checked_add(h.checked_mul(h)?.checked_mul(self.squares)?)?;
        own.checked_sub(2u128.checked_mul(h)?.checked_mul(shift)?)?.try_into().ok()
    }
}

impl NodeWeights {
    /// Factors of nodes below these parents. The error says what is wrong with them.
    pub fn new(parent: Vec<u32>, factors: Vec<u32>) -> Result<NodeWeights, &'static str> {
        if parent.len() != factors.len() || factors.is_empty() {
            return Err("a level has another number of factors than nodes");
        }
        if factors.iter().any(|&c| c == 0 || c > MAX_FACTOR) {
            return Err("a factor of a node is out of range");
        }
        let groups = parent.iter().max().map_or(0, |&p| p as usize + 1);
        let members = Members::new(&parent, groups);
        let (mut first, mut norms) = (vec![0; groups], vec![0; parent.len()]);
        let mut own = Vec::new();
        for (p, first) in first.iter_mut().enumerate() {
            let nodes = members.of(p as u32);
            let Some(&reference) = nodes.first() else { continue };
            *first = reference;
            own.clear();
            own.extend(nodes.iter().map(|&v| factors[v as usize]));
            // Nothing is told of it: any other number would be a message that nobody looks for.
            if matches!(own[..], [c] if c != 1) {
                return Err("the factor of a node without siblings is not 1");
            }
            let group = Group::of(&own).ok_or("the factors of a group have too large a common multiple")?;
            let (mut last, mut norm) = (0, 0);
            for (&node, &c) in nodes.iter().zip(&own) {
                if c != last {
                    (last, norm) = (c, group.norm(c).ok_or("the factors of a group do not fit")?);
                }
                norms[node as usize] = norm;
            }
        }
        Ok(NodeWeights { parent, factors, first, norms, told: OnceLock::new() })
    }

    fn told(&self) -> &Told {
        self.told.get_or_init(|| {
            let mut total = vec![0.0; self.first.len()];
            self.groups().for_each(|(p, c)| total[p] += omega(c));
            let contrast = |(p, c): (usize, u32)| {
                let first = self.factors[self.first[p] as usize];
                let divisor = gcd(c.into(), first.into()) as u32;
                (c / divisor, first / divisor)
            };
            Told {
                contrasts: self.groups().map(contrast).collect(),
                shares: self.groups().map(|(p, c)| omega(c) / total[p]).collect(),
            }
        })
    }

    /// For each node its group and its factor.
    fn groups(&self) -> impl Iterator<Item = (usize, u32)> {
        self.parent.iter().zip(&self.factors).map(|(&p, &c)| (p as usize, c))
    }

    /// Those of some nodes, which are whole groups, below these parents.
    pub(crate) fn slice(&self, nodes: &[u32], parent: Vec<u32>) -> NodeWeights {
        let groups = parent.iter().max().map_or(0, |&p| p as usize + 1);
        let mut first = vec![u32::MAX; groups];
        for (node, &p) in parent.iter().enumerate() {
            let first = &mut first[p as usize];
            *first = (*first).min(node as u32);
        }
        let of = |node: &u32| *node as usize;
        NodeWeights {
            parent,
            factors: nodes.iter().map(|n| self.factors[of(n)]).collect(),
            first,
            norms: nodes.iter().map(|n| self.norms[of(n)]).collect(),
            told: OnceLock::new(),
        }
    }

    /// For each node the coarser one it is below.
    pub fn parent(&self) -> &[u32] {
        &self.parent
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.parent.len()
    }

    /// How many numbers are published along this dimension.
    pub(crate) fn rows(&self) -> usize {
        self.nodes() - self.first.len()
    }

    /// `c`, for each node.
    pub fn factors(&self) -> &[u32] {
        &self.factors
    }

    /// For each node the squared length of the shortest vector by which a unit there moves the integers.
    pub fn norms(&self) -> &[u64] {
        &self.norms
    }

    /// The largest of them.
    pub(crate) fn norm(&self) -> u64 {
        self.norms.iter().copied().max().unwrap_or(0)
    }

    /// What the scaled counts are at most multiplied by on the way to what is published, and the noise.
    pub(crate) fn largest(&self) -> (u128, u128) {
        let mut most = (1, 1);
        for (node, &(own, other)) in self.told().contrasts.iter().enumerate() {
            let first = self.factors[self.first[self.parent[node] as usize] as usize];
            let counts =
                (u128::from(own) * u128::from(self.factors[node])).max(u128::from(other) * u128::from(first));
            most = (counts.max(most.0), (u128::from(own) + u128::from(other)).max(most.1));
        }
        most
    }

    /// `c v` along one axis, `inner` numbers beside each other for every node. `None` on overflow.
    pub(crate) fn apply<T: Integer>(&self, mut table: Vec<T>, inner: usize) -> Option<Vec<T>> {
        for rows in table.chunks_exact_mut(self.nodes() * inner) {
            for (row, &c) in rows.chunks_exact_mut(inner).zip(&self.factors) {
                for v in row {
                    *v = v.times(c.into())?;
                }
            }
        }
        Some(table)
    }

    /// The contrasts along one axis. `None` on overflow.
    pub(crate) fn take<T: Integer>(&self, inner: usize, table: &[T]) -> Option<Vec<T>> {
        let mut out = Vec::with_capacity(table.len() / self.nodes() * self.rows());
        for rows in table.chunks_exact(self.nodes() * inner) {
            for (node, first, (own, other)) in self.published() {
                let (row, base) = (&rows[node * inner..][..inner], &rows[first * inner..][..inner]);
                for i in 0..inner {
                    let scaled = row[i].times(own.into())?;
                    out.push(scaled.less(base[i].times(other.into())?)?);
                }
            }
        }
        Some(out)
    }

    /// The nodes but the first of each group, with that one and the coefficients of the contrast.
    fn published(&self) -> impl Iterator<Item = (usize, usize, (u32, u32))> {
        let of = |(node, (&p, &c)): (usize, (&u32, &(u32, u32)))| (node, self.first[p as usize] as usize, c);
        self.parent
            .iter()
            .zip(&self.told().contrasts)
            .enumerate()
            .map(of)
            .filter(|(node, first, _)| node != first)
    }

    /// What the contrasts say of the counts: those of every node, less its share of the sum of its group.
    pub(crate) fn give_back(&self, inner: usize, contrasts: &[f64]) -> Vec<f64> {
        let (n, kept) = (self.nodes(), self.rows());
        let outer = contrasts.len() / (kept * inner).max(1);
        let mut out = vec![0.0; outer * n * inner];
        for (rows, full) in contrasts.chunks_exact((kept * inner).max(1)).zip(out.chunks_exact_mut(n * inner))
        {
            for ((node, _, (own, _)), row) in self.published().zip(rows.chunks_exact(inner)) {
                let scale = 1.0 / (f64::from(own) * f64::from(self.factors[node]));
                full[node * inner..][..inner].iter_mut().zip(row).for_each(|(v, r)| *v = r * scale);
            }
        }
        self.leave_own(&mut out, inner);
        out
    }

    /// Takes off every node its share of the sum of its group.
    pub(crate) fn leave_own(&self, table: &mut [f64], inner: usize) {
        let shares = &self.told().shares;
        let mut sums = vec![0.0; self.first.len() * inner];
        for rows in table.chunks_exact_mut(self.nodes() * inner) {
            sums.fill(0.0);
            for (row, &p) in rows.chunks_exact(inner).zip(&self.parent) {
                sums[p as usize * inner..][..inner].iter_mut().zip(row).for_each(|(s, v)| *s += v);
            }
            for (node, row) in rows.chunks_exact_mut(inner).enumerate() {
                let sum = &sums[self.parent[node] as usize * inner..][..inner];
                row.iter_mut().zip(sum).for_each(|(v, s)| *v -= shares[node] * s);
            }
        }
    }

    /// For each node of a rung, on which nodes may be lumped, its factor and the share that each of those it stands for has of its parent.
    fn over<'a>(&'a self, rung: &'a Rung) -> Vec<(f64, f64)> {
        let factor = |i: usize| self.factors.get(rung.node(i)).copied().unwrap_or(1);
        let mut total = vec![0.0; rung.siblings.len()];
        for i in 0..rung.len() {
            total[rung.parent[i] as usize] += f64::from(rung.copies[i]) * omega(factor(i));
        }
        let of = |i: usize| (f64::from(factor(i)), omega(factor(i)) / total[rung.parent[i] as usize]);
        (0..rung.len()).map(of).collect()
    }

    /// A query of a level along one axis: what it is of the coarser level, and its coefficients of this level's noises.
    pub(crate) fn pull(&self, rung: &Rung, inner: usize, mut table: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        let over = self.over(rung);
        let (n, below) = (rung.len(), rung.siblings.len());
        let mut coarser = vec![0.0; table.len() / n * below];
        for (rows, means) in table.chunks_exact_mut(n * inner).zip(coarser.chunks_exact_mut(below * inner)) {
            let place = |k: usize| rung.parent[k] as usize * inner..(rung.parent[k] as usize + 1) * inner;
            for (k, row) in rows.chunks_exact(inner).enumerate() {
                let part = over[k].1 * f64::from(rung.copies[k]);
                means[place(k)].iter_mut().zip(row).for_each(|(m, v)| *m += part * v);
            }
            for (k, row) in rows.chunks_exact_mut(inner).enumerate() {
                let scale = 1.0 / over[k].0;
                for (v, m) in row.iter_mut().zip(&means[place(k)]) {
                    let own = *v - m;
                    // Where a query does not tell siblings apart what is left is rounding.
                    *v = if own.abs() <= 1e-12 * m.abs() { 0.0 } else { own * scale };
                }
            }
        }
        (coarser, table)
    }

    /// Adds to every node its share of its parent's value.
    pub(crate) fn add_spread(&self, fine: &mut [f64], coarse: &[f64], inner: usize, rung: &Rung) {
        let over = self.over(rung);
        let (n, below) = (rung.len(), rung.siblings.len());
        for (rows, shares) in fine.chunks_exact_mut(n * inner).zip(coarse.chunks_exact(below * inner)) {
            for (k, row) in rows.chunks_exact_mut(inner).enumerate() {
                let parent = &shares[rung.parent[k] as usize * inner..][..inner];
                row.iter_mut().zip(parent).for_each(|(v, s)| *v += over[k].1 * s);
            }
        }
    }

    /// Divides every node's number by its factor.
    pub(crate) fn divide(&self, table: &mut [f64], inner: usize, rung: &Rung) {
        let over = self.over(rung);
        for rows in table.chunks_exact_mut(rung.len() * inner) {
            for (row, (factor, _)) in rows.chunks_exact_mut(inner).zip(&over) {
                row.iter_mut().for_each(|v| *v /= factor);
            }
        }
    }
}

/// The variance of a node's count, where the noise's is one.
fn omega(factor: u32) -> f64 {
    let c = f64::from(factor);
    1.0 / (c * c)
}

/// For each node of rung `r` and every rung `j <= r` what the noises of component `j`, of variance one, add to the variance of its count: the
/// square of the shares on the way, times `ω(1 − u)`. `of` has the factors of each rung above total; even shares where there are none.
pub fn cell_norms<'a>(axis: &Axis, r: usize, of: impl Fn(usize) -> Option<&'a NodeWeights>) -> Vec<Vec<f64>> {
    let mut norms = vec![vec![1.0]];
    for (j, rung) in axis.rungs.iter().enumerate().take(r + 1).skip(1) {
        let own = of(j);
        let next = (0..rung.len()).map(|node| {
            let p = rung.parent[node] as usize;
            let even = 1.0 / f64::from(rung.siblings[p]);
            let (omega, u) = own.map_or((1.0, even), |w| (omega(w.factors[node]), w.told().shares[node]));
            let mut out: Vec<f64> = norms[p].iter().map(|v| v * u * u).collect();
            out.push(omega * (1.0 - u));
            out
        });
        norms = next.collect();
    }
    norms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights() -> NodeWeights {
        NodeWeights::new(vec![0, 0, 0, 1, 2, 2], vec![12, 18, 24, 1, 5, 5]).unwrap()
    }

    /// The shortest vector by search over all multiples of what the contrasts do not see.
    #[test]
    fn prices_are_the_least_there_are() {
        let weights = weights();
        // 12, 18, 24 are 6 times 2, 3, 4, whose multiple is 12.
        let kernels: [&[(usize, i64)]; 3] = [&[(0, 6), (1, 4), (2, 3)], &[(3, 1)], &[(4, 1), (5, 1)]];
        for kernel in kernels {
            for &(j, _) in kernel {
                let length = |h: i64| -> i64 {
                    let at = |v: usize| if v == j { i64::from(weights.factors[j]) } else { 0 };
                    kernel.iter().map(|&(v, k)| (at(v) - h * k).pow(2)).sum()
                };
                let least = (-30..30).map(length).min().unwrap();
                assert_eq!(weights.norms[j], u64::try_from(least).unwrap(), "{j}");
            }
            // And the contrasts see nothing of it.
            let mut table = vec![0i64; 6];
            kernel.iter().for_each(|&(v, k)| table[v] = k);
            assert!(weights.take(1, &table).unwrap().iter().all(|v| *v == 0));
        }
        assert_eq!(weights.norms[3], 0, "a single child tells nothing");
        assert_eq!(weights.rows(), 3);
    }

    /// Counts less their shares of their groups' sums come back; and a query's coefficients are those of what comes back.
    #[test]
    fn contrasts_and_back() {
        let weights = weights();
        let counts: Vec<i64> = (0..12).map(|v| v * v % 11).collect();
        let scaled = weights.apply(counts.clone(), 2).unwrap();
        let published = weights.take(2, &scaled).unwrap();
        let back = weights.give_back(2, &published.iter().map(|v| *v as f64).collect::<Vec<_>>());
        for node in 0..6 {
            for i in 0..2 {
                let p = weights.parent[node];
                let group = (0..6).filter(|&v| weights.parent[v] == p);
                let sum: i64 = group.map(|v| counts[v * 2 + i]).sum();
                let want = counts[node * 2 + i] as f64 - weights.told().shares[node] * sum as f64;
                assert!((back[node * 2 + i] - want).abs() < 1e-12);
            }
        }
        let rung = Rung::new(1, weights.parent.clone(), vec![1; 6], vec![1; 6], vec![3, 1, 2]);
        let query = vec![1.0, 0.0, 2.0, 3.0, 4.0, 4.0];
        let (coarser, own) = weights.pull(&rung, 1, query.clone());
        let direct: f64 = query.iter().zip(back.chunks(2)).map(|(q, b)| q * b[0]).sum();
        let told: f64 = own.iter().zip(scaled.chunks(2)).map(|(q, t)| q * t[0] as f64).sum();
        assert!((direct - told).abs() < 1e-12);
        assert_eq!(own[3..], [0.0; 3], "nobody is told apart there");
        let shared: f64 = query[..3].iter().zip(&weights.told().shares).map(|(q, u)| q * u).sum();
        assert!((coarser[0] - shared).abs() < 1e-15 && coarser[1..] == [3.0, 4.0]);
    }

    #[test]
    fn what_is_refused() {
        let refused = |parent: Vec<u32>, factors: Vec<u32>| NodeWeights::new(parent, factors).unwrap_err();
        assert!(refused(vec![0, 0], vec![1]).contains("number"));
        assert!(refused(vec![0, 0], vec![1, 0]).contains("range"));
        assert!(refused(vec![0, 0], vec![1, MAX_FACTOR + 1]).contains("range"));
        assert!(refused(vec![0, 1, 1], vec![2, 3, 4]).contains("without siblings"));
        let primes = vec![10007, 10009, 10037, 10039];
        assert!(refused(vec![0; 4], primes).contains("multiple"));
        assert!(weights().apply(vec![i64::MAX; 6], 1).is_none());
        assert!(weights().take(1, &[i64::MAX; 6]).is_none());
    }
}
