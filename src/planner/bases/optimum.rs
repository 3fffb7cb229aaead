//! The most precise way to ask one dimension under Gaussian noise: what matrix mechanism is best for a Gram matrix `G` of queries.
//!
//! A mechanism of precision `X` (what `RᵀR` is for rows `R` with unit noise) tells the queries with total variance `tr(G X⁻¹)` and
//! costs what its largest diagonal entry is. The dual of making `tr(G X⁻¹)` small with `X ⪰ 0`, `diag X ≤ 1` is to make `(tr (Λ^½GΛ^½)^½)²`
//! large over weights `λ` of the cells that add up to one. A `λ` gives the point `X = Λ^{-½}(Λ^½GΛ^½)^½Λ^{-½}`, and
//! `tr (Λ^½GΛ^½)^½ = Σ λ_j X_jj =: τ`; then `X / max X_jj` costs one and has the value `τ · max X_jj`, while no mechanism
//! has less than `τ²`. So every step brings its own certificate: the gap is `max X_jj / τ − 1`. Steps are `λ_j ← λ_j X_jj`, sped up
//! by Anderson's mixing of the last few in `ln λ`.
//!
//! `G = G₀ + t·11ᵀ` is what is asked when the total matters beside the queries. Prefixes and ranges have a `G₀` whose
//! inverse `T` has three diagonals. Then `X = 2/π ∫ (T − c vvᵀ + s²Λ)⁻¹ ds` with `v = T1`, and with `s = e^x` the trapezoidal rule takes some
//! hundred systems of three diagonals for all digits: no dense matrix is touched before the end. (Li, Miklau, Hay, McGregor & Rastogi, *The
//! matrix mechanism*, VLDB Journal 2015; the dual is that of Edmonds, Nikolov & Ullman, STOC 2020, for the Frobenius norm.)
//!
//! Any other `G` is decomposed, over *kinds* of cells: exchanging two cells that are in just the same queries changes nothing, so the best `λ` and `X` do not tell them apart. What is the
//! same for all cells of a kind is one dimension of the eigenvalue problem, and all differences within a kind have the eigenvalue `λ·(G_ii − G_ij)`. Lists of intervals tell
//! few kinds apart, however many cells there are.

use crate::numeric::cholesky::dot;
use crate::numeric::dense::eigen;

/// The relative gap at which the search ends.
const GAP: f64 = 2e-8;
/// The most rounds; about twenty are usual.
const MOST_ROUNDS: usize = 2000;
/// How many past rounds are mixed.
const MEMORY: usize = 8;

/// A mechanism for one dimension, and how close to the best it is.
#[derive(Clone)]
pub(crate) struct Optimum {
    /// The precision `X`, its largest diagonal entry one.
    pub x: Vec<Vec<f64>>,
    /// The cells' weights `λ`, adding up to one.
    pub weights: Vec<f64>,
    /// `tr(G X⁻¹)`.
    pub value: f64,
    /// No mechanism of this cost has less.
    pub bound: f64,
}

impl Optimum {
    /// The relative gap between the value and the least there is.
    pub(crate) fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

/// All `G₀ + t·11ᵀ`.
pub(crate) struct Family {
    kinds: Kinds,
    tridiagonal: Option<Tridiagonal>,
}

/// Cells that `G` does not tell apart.
struct Kinds {
    /// Each cell's kind.
    of: Vec<usize>,
    /// How many cells each has.
    sizes: Vec<f64>,
    /// `G_ij` of two cells of these kinds.
    gram: Vec<Vec<f64>>,
    /// `G_ii` less `G_ij` of two cells of a kind; nothing of a cell that is alone.
    apart: Vec<f64>,
}

/// So little of the largest entry is a rounding error.
const ROUNDING: f64 = 1e-13;

impl Kinds {
    /// Each cell by itself.
    fn alone(gram: Vec<Vec<f64>>) -> Kinds {
        let n = gram.len();
        Kinds { of: (0..n).collect(), sizes: vec![1.0; n], gram, apart: vec![0.0; n] }
    }

    fn new(gram: Vec<Vec<f64>>) -> Kinds {
        let near = ROUNDING * (0..gram.len()).map(|i| gram[i][i]).fold(0.0, f64::max);
        let same = |a: f64, b: f64| (a - b).abs() <= near;
        let alike = |i: usize, j: usize| {
            let others = || (0..gram.len()).filter(|&k| k != i && k != j);
            same(gram[i][i], gram[j][j]) && others().all(|k| same(gram[i][k], gram[j][k]))
        };
        // The first two cells of each.
        let mut first: Vec<(usize, Option<usize>)> = Vec::new();
        let (mut of, mut sizes): (Vec<usize>, Vec<f64>) = Default::default();
        for i in 0..gram.len() {
            let kind = first.iter().position(|(rep, _)| alike(i, *rep)).unwrap_or_else(|| {
                first.push((i, None));
                sizes.push(0.0);
                first.len() - 1
            });
            if first[kind].0 != i {
                first[kind].1.get_or_insert(i);
            }
            sizes[kind] += 1.0;
            of.push(kind);
        }
        if first.len() == gram.len() {
            return Kinds::alone(gram);
        }
        let entry = |a: &(usize, Option<usize>), b: &(usize, Option<usize>)| match a.1 {
            Some(second) if a.0 == b.0 => gram[a.0][second],
            _ => gram[a.0][b.0],
        };
        let apart = first.iter().map(|a| (gram[a.0][a.0] - entry(a, a)).max(0.0)).collect();
        let gram = first.iter().map(|a| first.iter().map(|b| entry(a, b)).collect()).collect();
        Kinds { of, sizes, gram, apart }
    }

    /// Weights of cells as those of kinds.
    fn means(&self, weights: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.sizes.len()];
        self.of.iter().zip(weights).for_each(|(&kind, w)| sums[kind] += w);
        sums.iter().zip(&self.sizes).map(|(s, n)| s / n).collect()
    }
}

/// A symmetric matrix of three diagonals.
struct Tridiagonal {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    /// The diagonal of its inverse.
    gram: Vec<f64>,
}

impl Family {
    /// Of a Gram matrix with a positive diagonal.
    pub(crate) fn new(gram: Vec<Vec<f64>>) -> Family {
        match Tridiagonal::inverse_of(&gram) {
            None => Family { kinds: Kinds::new(gram), tridiagonal: None },
            tridiagonal => Family { kinds: Kinds::alone(gram), tridiagonal },
        }
    }

    /// About how many steps on one number a round takes.
    pub(crate) fn work(&self) -> f64 {
        let n = self.kinds.sizes.len() as f64;
        if self.tridiagonal.is_some() { 2000.0 * n } else { 10.0 * n * n * n }
    }

    /// The best mechanism for `G₀ + t·11ᵀ`, from some weights on. `None` when the numbers are beyond what can be computed with.
    pub(crate) fn best(&self, t: f64, start: Option<&[f64]>) -> Option<Optimum> {
        self.search(t, start, MOST_ROUNDS)
    }

    /// The same for `G₀` after so many rounds: near the best, and bounded all the same.
    pub(crate) fn nearly(&self, start: Option<&[f64]>, rounds: usize) -> Option<Optimum> {
        self.search(0.0, start, rounds)
    }

    /// The mechanism of weights so many plain rounds from those, without what speeds a search up: where `G` changes a little from one time to the next, that would
    /// lead astray.
    pub(crate) fn onwards(&self, start: Option<&[f64]>, rounds: usize) -> Option<Optimum> {
        let Kinds { sizes, .. } = &self.kinds;
        let mut log = self.start(0.0, start);
        for _ in 0..rounds {
            let weights = normed(&mut log, sizes);
            let diagonal = self.diagonal(0.0, &weights)?;
            log.iter_mut().zip(&diagonal).for_each(|(l, x)| *l += Mixing::RELAX * libm::log(*x));
        }
        let weights = normed(&mut log, sizes);
        weights.iter().all(|w| w.is_finite()).then(|| self.at(0.0, weights))?
    }

    /// Logarithms of weights of kinds to start from.
    fn start(&self, t: f64, start: Option<&[f64]>) -> Vec<f64> {
        let Kinds { sizes, gram, apart, .. } = &self.kinds;
        match start {
            Some(weights) => self.kinds.means(weights).into_iter().map(libm::log).collect(),
            // Each cell as if it were alone.
            None => (0..sizes.len()).map(|j| 0.5 * libm::log(gram[j][j] + apart[j] + t)).collect(),
        }
    }

    fn search(&self, t: f64, start: Option<&[f64]>, rounds: usize) -> Option<Optimum> {
        let Kinds { sizes, .. } = &self.kinds;
        let mut log = self.start(t, start);
        let mut mixing = Mixing::default();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for _ in 0..rounds {
            let weights = normed(&mut log, sizes);
            let diagonal = self.diagonal(t, &weights)?;
            let tau: f64 = weights.iter().zip(&diagonal).zip(sizes).map(|((w, x), n)| n * w * x).sum();
            let largest = diagonal.iter().copied().fold(0.0, f64::max);
            if !(tau > 0.0 && largest.is_finite()) {
                return None;
            }
            let gap = largest / tau - 1.0;
            let step: Vec<f64> = diagonal.iter().map(|x| libm::log(x / tau)).collect();
            match &best {
                // A mixture that leads astray is forgotten.
                Some((least, at)) if gap > 4.0 * least => {
                    log = at.clone();
                    mixing = Mixing::default();
                    let weights = normed(&mut log, sizes);
                    let diagonal = self.diagonal(t, &weights)?;
                    // Let the plain round be the best known from now on, so that this ends.
                    log.iter_mut().zip(&diagonal).for_each(|(l, x)| *l += libm::log(*x));
                    best = None;
                    continue;
                }
                Some((least, _)) if gap >= *least => {}
                _ => best = Some((gap, log.clone())),
            }
            if gap <= GAP {
                break;
            }
            log = mixing.next(&log, &step);
        }
        let weights = normed(&mut best?.1, sizes);
        self.at(t, weights)
    }

    /// The mechanism of these weights of kinds.
    fn at(&self, t: f64, weights: Vec<f64>) -> Option<Optimum> {
        let mut x = match &self.tridiagonal {
            Some(inverse) => inverse.full(t, &weights),
            None => self.root(t, &weights)?.full(),
        };
        let weights: Vec<f64> = self.kinds.of.iter().map(|&kind| weights[kind]).collect();
        let tau: f64 = weights.iter().enumerate().map(|(j, w)| w * x[j][j]).sum();
        let largest = x.iter().enumerate().map(|(j, row)| row[j]).fold(0.0, f64::max);
        x.iter_mut().flatten().for_each(|v| *v /= largest);
        Some(Optimum { x, weights, value: tau * largest, bound: tau * tau })
    }

    /// The diagonal of `X`.
    fn diagonal(&self, t: f64, weights: &[f64]) -> Option<Vec<f64>> {
        match &self.tridiagonal {
            Some(inverse) => Some(inverse.diagonal(t, weights)),
            None => Some(self.root(t, weights)?.diagonal()),
        }
    }

    /// `Λ^½GΛ^½`, decomposed: what is the same for all cells of a kind, and the differences within kinds.
    fn root(&self, t: f64, weights: &[f64]) -> Option<Root<'_>> {
        let Kinds { sizes, gram, apart, .. } = &self.kinds;
        let roots: Vec<f64> = weights.iter().zip(sizes).map(|(w, n)| (n * w).sqrt()).collect();
        let row =
            |(row, ri): (&Vec<f64>, &f64)| row.iter().zip(&roots).map(|(g, rj)| (g + t) * ri * rj).collect();
        let mut m: Vec<Vec<f64>> = gram.iter().zip(&roots).map(row).collect();
        m.iter_mut().enumerate().for_each(|(i, row)| row[i] += apart[i] * weights[i]);
        let found = eigen(&m)?;
        let values = found.values.iter().map(|v| v.max(0.0).sqrt()).collect();
        let within = apart.iter().zip(weights).map(|(a, w)| (a / w).sqrt()).collect();
        Some(Root { kinds: &self.kinds, values, vectors: found.vectors, roots, within })
    }
}

/// `Λ^{-½} (Σ values v vᵀ) Λ^{-½}` over kinds, and what differences within each have.
struct Root<'a> {
    kinds: &'a Kinds,
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    roots: Vec<f64>,
    within: Vec<f64>,
}

impl Root<'_> {
    fn diagonal(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.roots.len()];
        for (v, size) in self.vectors.iter().zip(&self.values) {
            sum.iter_mut().zip(v).for_each(|(s, v)| *s += size * v * v);
        }
        let own = sum.iter().zip(&self.roots).map(|(s, r)| s / (r * r));
        own.zip(self.within.iter().zip(&self.kinds.sizes))
            .map(|(x, (w, n))| x + w * (1.0 - 1.0 / n))
            .collect()
    }

    fn full(&self) -> Vec<Vec<f64>> {
        let over = self.over_kinds();
        let of = &self.kinds.of;
        if over.len() == of.len() {
            return over;
        }
        let entry = |i: usize, j: usize| {
            let (a, b) = (of[i], of[j]);
            let all = if a == b { self.within[a] / self.kinds.sizes[a] } else { 0.0 };
            over[a][b] - all + if i == j { self.within[a] } else { 0.0 }
        };
        (0..of.len()).map(|i| (0..of.len()).map(|j| entry(i, j)).collect()).collect()
    }

    fn over_kinds(&self) -> Vec<Vec<f64>> {
        let n = self.roots.len();
        let mut sum = vec![vec![0.0; n]; n];
        for (v, size) in self.vectors.iter().zip(&self.values) {
            for (row, vi) in sum.iter_mut().zip(v) {
                let times = size * vi;
                row.iter_mut().zip(v).for_each(|(s, v)| *s += times * v);
            }
        }
        for (row, ri) in sum.iter_mut().zip(&self.roots) {
            row.iter_mut().zip(&self.roots).for_each(|(s, rj)| *s /= ri * rj);
        }
        sum
    }
}

impl Tridiagonal {
    /// The inverse of a Gram matrix where that has three diagonals: where `G_ij G_kk = G_ik G_kj` for `i ≤ k ≤ j`.
    fn inverse_of(gram: &[Vec<f64>]) -> Option<Tridiagonal> {
        let n = gram.len();
        let markov = |i: usize, j: usize| {
            let (a, b) = (gram[i][j] * gram[i + 1][i + 1], gram[i][i + 1] * gram[i + 1][j]);
            (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
        };
        if n < 3 || !(0..n - 1).all(|i| (i + 1..n).all(|j| markov(i, j))) {
            return None;
        }
        // A Markov chain: each step between neighbours adds the inverse of their two by two block, less what it repeats.
        let (mut diagonal, mut beside) = (vec![0.0; n], vec![0.0; n - 1]);
        for i in 0..n - 1 {
            let (a, b, c) = (gram[i][i], gram[i][i + 1], gram[i + 1][i + 1]);
            let rest = a * c - b * b;
            if !(rest > 0.0) {
                return None;
            }
            diagonal[i] += c / rest;
            diagonal[i + 1] += a / rest;
            beside[i] = -b / rest;
        }
        (1..n - 1).for_each(|i| diagonal[i] -= 1.0 / gram[i][i]);
        Some(Tridiagonal { diagonal, beside, gram: (0..n).map(|i| gram[i][i]).collect() })
    }

    /// `T 1`, and `c` of `(G₀ + t·11ᵀ)⁻¹ = T − c vvᵀ`.
    fn rank_one(&self, t: f64) -> (Vec<f64>, f64) {
        let n = self.diagonal.len();
        let of = |i: usize| {
            self.diagonal[i]
                + if i > 0 { self.beside[i - 1] } else { 0.0 }
                + if i + 1 < n { self.beside[i] } else { 0.0 }
        };
        let v: Vec<f64> = (0..n).map(of).collect();
        let sum: f64 = v.iter().sum();
        let c = t / (1.0 + t * sum);
        (v, c)
    }

    /// The points `s²` and weights of the trapezoidal rule.
    fn nodes(&self, t: f64, weights: &[f64]) -> Vec<(f64, f64)> {
        const STEP: f64 = 0.36;
        const REACH: f64 = 27.0;
        let n = weights.len();
        let row = |i: usize| {
            let mut sum = self.diagonal[i] / weights[i];
            if i > 0 {
                sum += self.beside[i - 1].abs() / (weights[i] * weights[i - 1]).sqrt();
            }
            if i + 1 < n {
                sum += self.beside[i].abs() / (weights[i] * weights[i + 1]).sqrt();
            }
            sum
        };
        let most = (0..n).map(row).fold(0.0, f64::max);
        // The largest eigenvalue of Λ^½GΛ^½ is below its trace.
        let trace: f64 = (0..n).map(|i| weights[i] * (self.gram[i] + t)).sum();
        let low = -0.5 * libm::log(trace) - REACH;
        let high = 0.5 * libm::log(most) + REACH;
        let count = ((high - low) / STEP).ceil() as usize;
        (0..=count)
            .map(|k| {
                let s = libm::exp(low + STEP * k as f64);
                (s * s, std::f64::consts::FRAC_2_PI * STEP * s)
            })
            .collect()
    }

    /// The pivots of `T + s²Λ` from the first on and from the last on.
    fn pivots(&self, square: f64, weights: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let n = weights.len();
        let own: Vec<f64> = self.diagonal.iter().zip(weights).map(|(t, w)| t + square * w).collect();
        let (mut down, mut up) = (own.clone(), own.clone());
        for i in 1..n {
            down[i] -= self.beside[i - 1] * self.beside[i - 1] / down[i - 1];
        }
        for i in (0..n - 1).rev() {
            up[i] -= self.beside[i] * self.beside[i] / up[i + 1];
        }
        (own, down, up)
    }

    /// `(T + s²Λ)⁻¹ v`.
    fn solve(&self, down: &[f64], v: &[f64]) -> Vec<f64> {
        let mut w = v.to_vec();
        for i in 1..w.len() {
            w[i] -= self.beside[i - 1] / down[i - 1] * w[i - 1];
        }
        for i in (0..w.len()).rev() {
            let after = if i + 1 < w.len() { self.beside[i] * w[i + 1] } else { 0.0 };
            w[i] = (w[i] - after) / down[i];
        }
        w
    }

    /// The diagonal of `X`.
    fn diagonal(&self, t: f64, weights: &[f64]) -> Vec<f64> {
        let (v, c) = self.rank_one(t);
        let mut sum = vec![0.0; weights.len()];
        for (square, share) in self.nodes(t, weights) {
            let (own, down, up) = self.pivots(square, weights);
            for (i, sum) in sum.iter_mut().enumerate() {
                *sum += share / (down[i] + up[i] - own[i]);
            }
            if c > 0.0 {
                let w = self.solve(&down, &v);
                let times = share * c / (1.0 - c * dot(&v, &w));
                sum.iter_mut().zip(&w).for_each(|(s, w)| *s += times * w * w);
            }
        }
        sum
    }

    /// All of `X`.
    fn full(&self, t: f64, weights: &[f64]) -> Vec<Vec<f64>> {
        let n = weights.len();
        let (v, c) = self.rank_one(t);
        let mut sum = vec![vec![0.0; n]; n];
        for (square, share) in self.nodes(t, weights) {
            let (own, down, up) = self.pivots(square, weights);
            // Down each column from the diagonal on, every entry is a multiple of the one above it.
            let ratio: Vec<f64> = (1..n).map(|i| -self.beside[i - 1] / up[i]).collect();
            for j in 0..n {
                let mut entry = share / (down[j] + up[j] - own[j]);
                sum[j][j] += entry;
                for i in j + 1..n {
                    entry *= ratio[i - 1];
                    sum[j][i] += entry;
                }
            }
            if c > 0.0 {
                let w = self.solve(&down, &v);
                let times = share * c / (1.0 - c * dot(&v, &w));
                for (j, row) in sum.iter_mut().enumerate() {
                    row[j..].iter_mut().zip(&w[j..]).for_each(|(s, wi)| *s += times * w[j] * wi);
                }
            }
        }
        for i in 1..n {
            for j in 0..i {
                sum[i][j] = sum[j][i];
            }
        }
        sum
    }
}

/// Weights that add up to one, each so many times, from their logarithms, which are kept in step.
fn normed(log: &mut [f64], sizes: &[f64]) -> Vec<f64> {
    let most = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = log.iter().zip(sizes).map(|(l, n)| n * libm::exp(l - most)).sum();
    let shift = most + libm::log(sum);
    // A cell that nothing asks for loses its weight without end.
    log.iter_mut().for_each(|l| *l = (*l - shift).max(-60.0));
    log.iter().map(|l| libm::exp(*l)).collect()
}

/// Anderson's mixing: the step that the last few would have needed.
#[derive(Default)]
struct Mixing {
    past: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Mixing {
    /// How far a plain step goes: where no query touches two cells the best is twice the round's own.
    const RELAX: f64 = 1.6;

    fn next(&mut self, at: &[f64], step: &[f64]) -> Vec<f64> {
        let plain: Vec<f64> = at.iter().zip(step).map(|(a, s)| a + Self::RELAX * s).collect();
        let k = self.past.len();
        let (mut moved, mut turned) = (Vec::new(), Vec::new());
        for (old_at, old_step) in &self.past {
            moved.push(at.iter().zip(old_at).map(|(a, b)| a - b).collect::<Vec<f64>>());
            turned.push(step.iter().zip(old_step).map(|(a, b)| a - b).collect::<Vec<f64>>());
        }
        self.past.push((at.to_vec(), step.to_vec()));
        if self.past.len() > MEMORY {
            self.past.remove(0);
        }
        let mut normal: Vec<Vec<f64>> =
            turned.iter().map(|a| turned.iter().map(|b| dot(a, b)).collect()).collect();
        (0..k).for_each(|i| normal[i][i] *= 1.0 + 1e-10);
        let right: Vec<f64> = turned.iter().map(|a| dot(a, step)).collect();
        let Some(by) = solve_small(normal, right) else { return plain };
        let mut out = plain;
        for ((m, s), by) in moved.iter().zip(&turned).zip(by) {
            out.iter_mut().zip(m.iter().zip(s)).for_each(|(o, (m, s))| *o -= by * (m + Self::RELAX * s));
        }
        let far = out.iter().zip(at).any(|(o, a)| !((o - a).abs() < 8.0));
        if far { at.iter().zip(step).map(|(a, s)| a + s).collect() } else { out }
    }
}

/// Gaussian elimination of a few equations. `None` where they do not determine the answer.
fn solve_small(mut m: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| m[i][k].abs().total_cmp(&m[j][k].abs()))?;
        m.swap(k, pivot);
        b.swap(k, pivot);
        if !(m[k][k].abs() > 1e-300) {
            return None;
        }
        for i in k + 1..n {
            let times = m[i][k] / m[k][k];
            for j in k..n {
                m[i][j] -= times * m[k][j];
            }
            b[i] -= times * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| m[k][j] * b[j]).sum::<f64>()) / m[k][k];
    }
    b.iter().all(|v| v.is_finite()).then_some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// `WᵀW` of all prefixes: how many hold both cells.
    fn prefixes(n: usize) -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| (n - i.max(j)) as f64).collect()).collect()
    }

    fn ranges(n: usize) -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| ((i.min(j) + 1) * (n - i.max(j))) as f64).collect()).collect()
    }

    /// The figures of docs/methods, and the certificate.
    #[test]
    fn prefixes_at_their_optimum() {
        for (n, rmse) in [(50, 2.02540), (100, 2.23550)] {
            let best = Family::new(prefixes(n)).best(0.0, None).unwrap();
            assert!(best.gap() < 1e-7, "{}", best.gap());
            assert!(
                ((best.value / n as f64).sqrt() - rmse).abs() < 1e-5,
                "{}",
                (best.value / n as f64).sqrt()
            );
        }
    }

    /// The value is that of `X`, and the short way by three diagonals finds what the dense way finds.
    #[test]
    fn by_three_diagonals_as_densely() {
        for (gram, t) in [(prefixes(17), 0.0), (ranges(16), 0.0), (prefixes(12), 7.5), (ranges(23), 40.0)] {
            let n = gram.len();
            let short = Family::new(gram.clone());
            assert!(short.tridiagonal.is_some());
            let dense = Family { kinds: Kinds::alone(gram.clone()), tridiagonal: None };
            let (a, b) = (short.best(t, None).unwrap(), dense.best(t, None).unwrap());
            assert!((a.value / b.value - 1.0).abs() < 1e-7 && a.gap() < 1e-7 && b.gap() < 1e-7);
            for i in 0..n {
                for j in 0..n {
                    assert!((a.x[i][j] - b.x[i][j]).abs() < 1e-4, "{i} {j} {} {}", a.x[i][j], b.x[i][j]);
                }
            }
            let x = nalgebra::DMatrix::from_fn(n, n, |i, j| a.x[i][j]);
            let g = nalgebra::DMatrix::from_fn(n, n, |i, j| gram[i][j] + t);
            let value = (g * x.try_inverse().unwrap()).trace();
            assert!((value / a.value - 1.0).abs() < 1e-9, "{value} {}", a.value);
        }
    }

    /// Cells that no query tells apart as one kind, and each by itself.
    #[test]
    fn by_kinds_as_cell_by_cell() {
        let mut dice = Dice::new(5);
        for ridge in [1e-3, 1e-6] {
            let of = [0, 0, 1, 2, 2, 2, 1, 3, 0, 4, 4, 5];
            let queries: Vec<Vec<f64>> =
                (0..9).map(|_| (0..6).map(|_| f64::from(u8::from(dice.unit() < 0.5))).collect()).collect();
            let entry = |i: usize, j: usize| {
                let both: f64 = queries.iter().map(|q| q[of[i]] * q[of[j]]).sum();
                both + if i == j { ridge } else { 0.0 }
            };
            let gram: Vec<Vec<f64>> = (0..12).map(|i| (0..12).map(|j| entry(i, j)).collect()).collect();
            let family = Family::new(gram.clone());
            assert!(family.tridiagonal.is_none() && family.kinds.sizes.len() <= 6);
            let alone = Family { kinds: Kinds::alone(gram), tridiagonal: None };
            for t in [0.0, 3.0] {
                let (a, b) = (family.best(t, None).unwrap(), alone.best(t, None).unwrap());
                assert!((a.value / b.value - 1.0).abs() < 1e-6, "{} {}", a.value, b.value);
                assert!(a.gap() < 1e-6 && (a.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                let far = |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).any(|(a, b)| (a - b).abs() > 1e-3);
                assert!(!a.x.iter().zip(&b.x).any(far));
                // From weights of cells.
                let again = family.best(t, Some(&a.weights)).unwrap();
                assert!((again.value / a.value - 1.0).abs() < 1e-7);
            }
        }
    }

    /// Random queries, with cells that hardly any query asks for: the certificate holds, and no other point is better.
    #[test]
    fn any_queries() {
        let mut dice = Dice::new(3);
        for n in [1, 2, 5, 14] {
            for _ in 0..6 {
                let rows: Vec<Vec<f64>> = (0..n + 2)
                    .map(|_| (0..n).map(|_| f64::from(u8::from(dice.unit() < 0.4))).collect())
                    .collect();
                let gram: Vec<Vec<f64>> = (0..n)
                    .map(|i| {
                        let at = |j: usize| rows.iter().map(|r| r[i] * r[j]).sum::<f64>();
                        (0..n).map(|j| at(j) + if i == j { 1e-3 } else { 0.0 }).collect()
                    })
                    .collect();
                let best = Family::new(gram.clone()).best(0.0, None).unwrap();
                assert!(best.gap() < 1e-6, "{n} {}", best.gap());
                let g = nalgebra::DMatrix::from_fn(n, n, |i, j| gram[i][j]);
                for _ in 0..20 {
                    let r = nalgebra::DMatrix::from_fn(n, n, |i, j| {
                        dice.unit() - 0.5 + f64::from(u8::from(i == j))
                    });
                    let x = r.transpose() * r;
                    let cost = x.diagonal().max();
                    let Some(inverse) = x.try_inverse() else { continue };
                    assert!((&g * inverse).trace() * cost > best.bound * (1.0 - 1e-9));
                }
            }
        }
    }
}
