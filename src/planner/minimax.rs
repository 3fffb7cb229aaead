//! The convex programme behind worst-case objectives and targets, solved with a certificate.
//!
//! `minimise Σ_A C_A/u_A  subject to  Σ_A g_rA u_A ≤ 1 for every row r,  u > 0`
//!
//! With `u_A = σ_A²`, a row for every kind of table cell and `C_A` the price of component A, its value `K`
//! answers both questions: at budget ρ the least worst variance is `K/(2ρ)`, and the least budget that keeps
//! every variance below its target (rows divided by the targets) is `K/2`.
//!
//! With another [`Power`] the value is `Σ C/u^p`. Laplace noise has `u = b²` and `p = ½`, since the variance is the square of what is
//! paid for; and where precision is bought row by row, as for an agency's own queries, `u = 1/b` and `p = 2`. What follows is
//! said of `p = 1`; the others have `pC/u^{p+1}` for `C/u²`, and `(Σ (C v^p)^{1/(p+1)})^{p+1} / (Σλ)^p` for the bound (Hölder).
//!
//! **Certificate.** For any weights `λ ≥ 0` on the rows, with `v = Gᵀλ`, every feasible u has
//! `Σ C/u ≥ (Σ √(C v))² / Σλ`: by Cauchy–Schwarz `(Σ √(C v))² ≤ Σ C/u · Σ v u` and `Σ v u = λᵀG u ≤ Σλ`. So a
//! plan u and weights λ prove together how far from optimal u can be at most; nobody has to trust the solver.
//!
//! **Solver.** Rows and components that no permutation could tell apart are merged first (colour refinement;
//! averaging over a class keeps a solution feasible and, `C/u` being convex, makes it no worse). The rest is a
//! primal–dual interior-point method on the Karush–Kuhn–Tucker conditions `C/u² = Gᵀλ`, `Gu + s = 1`, `λs = μ`. Each
//! step solves one symmetric system, over rows or over components, whichever are fewer. Where even those are too
//! many, multiplicative updates of λ approach the same optimum, and the certificate says how closely.
//! Only `+ − × ÷ √` and `libm`: the same plan on every machine.

use crate::numeric::dense::Normal;
use rustc_hash::FxHashMap;

/// A system this large is still factored; beyond it, multiplicative updates.
const MOST_DENSE: usize = 1500;
/// The relative gap at which the solver is content.
const GOAL: f64 = 1e-9;
const MOST_STEPS: usize = 120;
const MOST_UPDATES: usize = 20_000;

/// The `p` of `Σ C/u^p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Power {
    /// ½.
    Root,
    /// 1.
    #[default]
    Plain,
    /// 2.
    Square,
}

impl Power {
    /// `p`.
    fn exponent(self) -> f64 {
        match self {
            Power::Root => 0.5,
            Power::Plain => 1.0,
            Power::Square => 2.0,
        }
    }

    /// `x^p`.
    pub(crate) fn raise(self, x: f64) -> f64 {
        match self {
            Power::Root => x.sqrt(),
            Power::Plain => x,
            Power::Square => x * x,
        }
    }

    /// `x^{1/p}`.
    pub(crate) fn lower(self, x: f64) -> f64 {
        match self {
            Power::Root => x * x,
            Power::Plain => x,
            Power::Square => x.sqrt(),
        }
    }

    /// `x^{1/(p+1)}`.
    pub(crate) fn share(self, x: f64) -> f64 {
        match self {
            Power::Root => {
                let root = libm::cbrt(x);
                root * root
            }
            Power::Plain => x.sqrt(),
            Power::Square => libm::cbrt(x),
        }
    }
}

/// The programme.
#[derive(Debug, Clone, Default)]
pub(crate) struct Minimax {
    /// `C_A`, all positive.
    pub price: Vec<f64>,
    /// For each row the components it depends on and `g_rA > 0`. Every component is in some row.
    pub rows: Vec<Vec<(u32, f64)>>,
    /// What is paid for `u`.
    pub power: Power,
}

/// A solution and the proof of its quality.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// A feasible point, with at least one row tight.
    pub u: Vec<f64>,
    /// The rows' weights in the certificate, summing to one.
    pub lambda: Vec<f64>,
    /// `Σ C/u^p`.
    pub value: f64,
    /// No feasible point has a smaller value than this.
    pub bound: f64,
}

impl Solution {
    /// How far the value is from the optimum at most, relative to the bound.
    pub(crate) fn gap(&self) -> f64 {
        (self.value / self.bound - 1.0).max(0.0)
    }
}

impl Minimax {
    /// Solves the programme.
    pub(crate) fn solve(&self) -> Solution {
        let (small, row_class, column_class) = self.reduce();
        let point = small.interior();
        let sizes = |classes: &[u32], n: usize| {
            let mut sizes = vec![0.0f64; n];
            classes.iter().for_each(|&c| sizes[c as usize] += 1.0);
            sizes
        };
        let per_row = sizes(&row_class, small.rows.len());
        let u: Vec<f64> = column_class.iter().map(|&c| point.0[c as usize]).collect();
        let lambda = row_class.iter().map(|&r| point.1[r as usize] / per_row[r as usize]).collect();
        self.certify(u, lambda)
    }

    /// Makes `u` feasible and tight, and computes both values on the whole programme.
    pub(crate) fn certify(&self, mut u: Vec<f64>, mut lambda: Vec<f64>) -> Solution {
        let worst = self.rows.iter().map(|r| image(r, &u)).fold(0.0, f64::max);
        u.iter_mut().for_each(|u| *u /= worst);
        let sum: f64 = lambda.iter().sum();
        lambda.iter_mut().for_each(|l| *l /= sum);
        let value = self.cost(&u);
        let v = self.transpose(&lambda);
        let p = self.power;
        let root: f64 = self.price.iter().zip(&v).map(|(c, v)| p.share(c * p.raise(*v))).sum();
        let bound = root * p.raise(root);
        Solution { u, lambda, value, bound }
    }

    fn cost(&self, u: &[f64]) -> f64 {
        self.price.iter().zip(u).map(|(c, u)| c / self.power.raise(*u)).sum()
    }

    /// The `u` at which the value falls by `v` for a unit of each `u_A`.
    fn point(&self, v: &[f64]) -> Vec<f64> {
        let p = self.power;
        self.price.iter().zip(v).map(|(c, v)| p.share(p.exponent() * c / v)).collect()
    }

    /// `Gᵀλ`.
    fn transpose(&self, lambda: &[f64]) -> Vec<f64> {
        let mut v = vec![0.0; self.price.len()];
        for (row, l) in self.rows.iter().zip(lambda) {
            row.iter().for_each(|&(a, g)| v[a as usize] += l * g);
        }
        v
    }

    /// Merges rows and columns by colour refinement. Returns the smaller programme and the class of each row and
    /// column. In it a column stands for all of its class: prices are summed, and so are gains within a row.
    fn reduce(&self) -> (Minimax, Vec<u32>, Vec<u32>) {
        let mut columns = classes(self.price.iter().map(|&c| vec![(0, key(c))]));
        let mut rows = vec![0u32; self.rows.len()];
        let (mut known, mut before) = (0, usize::MAX);
        while known != before {
            before = known;
            rows = classes(self.rows.iter().map(|row| {
                let mut seen: Vec<_> = row.iter().map(|&(a, g)| (columns[a as usize], key(g))).collect();
                seen.sort_unstable();
                seen
            }));
            let mut of_column: Vec<Vec<(u32, u64)>> = columns.iter().map(|&c| vec![(c, u64::MAX)]).collect();
            for (row, &class) in self.rows.iter().zip(&rows) {
                row.iter().for_each(|&(a, g)| of_column[a as usize].push((class, key(g))));
            }
            of_column.iter_mut().for_each(|c| c.sort_unstable());
            columns = classes(of_column.into_iter());
            known = count(&rows) + count(&columns);
        }
        let mut small = Minimax {
            price: vec![0.0; count(&columns)],
            rows: vec![Vec::new(); count(&rows)],
            power: self.power,
        };
        self.price.iter().zip(&columns).for_each(|(p, &c)| small.price[c as usize] += p);
        for (row, &class) in self.rows.iter().zip(&rows) {
            let into = &mut small.rows[class as usize];
            if into.is_empty() {
                let mut sums: Vec<(u32, f64)> = Vec::with_capacity(row.len());
                let mut parts: Vec<_> = row.iter().map(|&(a, g)| (columns[a as usize], g)).collect();
                parts.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
                for (c, g) in parts {
                    match sums.last_mut() {
                        Some((last, sum)) if *last == c => *sum += g,
                        _ => sums.push((c, g)),
                    }
                }
                *into = sums;
            }
        }
        (small, rows, columns)
    }

    /// Primal–dual interior point; returns `(u, λ)`, which need not be exact: see [`Minimax::certify`].
    fn interior(&self) -> (Vec<f64>, Vec<f64>) {
        let (rows, columns) = (self.rows.len(), self.price.len());
        let dense = rows.min(columns) <= MOST_DENSE;
        let mut lambda = self.updates(vec![1.0; rows], if dense { 30 } else { MOST_UPDATES });
        let mut u = self.point(&self.transpose(&lambda));
        if !dense {
            return (u, lambda);
        }
        // Strictly inside: every row has a tenth of slack; λ scaled to fit C/u² = Gᵀλ.
        let worst = 1.1 * self.rows.iter().map(|r| image(r, &u)).fold(0.0, f64::max);
        u.iter_mut().for_each(|u| *u /= worst);
        let total: f64 = lambda.iter().sum();
        let stretch = worst * self.power.raise(worst);
        lambda.iter_mut().for_each(|l| *l = (*l * stretch).max(1e-6 * total * stretch / rows as f64));
        let mut slack: Vec<f64> = self.rows.iter().map(|r| 1.0 - image(r, &u)).collect();
        let mut best = self.certify(u.clone(), lambda.clone());
        for _ in 0..MOST_STEPS {
            if best.gap() < GOAL {
                break;
            }
            let complement: f64 = lambda.iter().zip(&slack).map(|(l, s)| l * s).sum::<f64>() / rows as f64;
            let Some(direction) = self.newton(&u, &lambda, &slack, 0.0) else { break };
            // Mehrotra: the plain step tells how much centring is needed.
            let step = direction.longest(&u, &lambda, &slack);
            let after: f64 = (0..rows)
                .map(|r| (lambda[r] + step * direction.lambda[r]) * (slack[r] + step * direction.slack[r]))
                .sum::<f64>()
                / rows as f64;
            let ratio = (after / complement).clamp(1e-4, 1.0);
            let mu = (ratio * ratio * ratio).max(1e-3) * complement;
            let Some(direction) = self.newton(&u, &lambda, &slack, mu) else { break };
            let step = 0.95 * direction.longest(&u, &lambda, &slack);
            add(&mut u, step, &direction.u);
            add(&mut lambda, step, &direction.lambda);
            add(&mut slack, step, &direction.slack);
            let now = self.certify(u.clone(), lambda.clone());
            if now.gap() < best.gap() {
                best = now;
            } else if mu < 1e-16 {
                break;
            }
        }
        (best.u, best.lambda)
    }

    /// The Newton direction of the perturbed conditions.
    fn newton(&self, u: &[f64], lambda: &[f64], slack: &[f64], mu: f64) -> Option<Direction> {
        let v = self.transpose(lambda);
        // H du + Gᵀ dλ = C/u² − Gᵀλ;  G du + ds = 0;  s dλ + λ ds = μ − λ s.
        let p = self.power;
        let slope = |c: f64, u: f64| p.exponent() * c / (u * p.raise(u));
        let h: Vec<f64> =
            self.price.iter().zip(u).map(|(&c, &u)| (p.exponent() + 1.0) * slope(c, u) / u).collect();
        let dual: Vec<f64> = self.price.iter().zip(u).zip(&v).map(|((&c, &u), v)| slope(c, u) - v).collect();
        let rows = self.rows.len();
        let (du, dl);
        if rows <= u.len() {
            // (G H⁻¹ Gᵀ + s/λ) dλ = G H⁻¹ dual + (μ − λs)/λ … in rows.
            let mut of_column: Vec<Vec<(u32, f64)>> = vec![Vec::new(); u.len()];
            for (r, row) in self.rows.iter().enumerate() {
                row.iter().for_each(|&(a, g)| of_column[a as usize].push((r as u32, g)));
            }
            let mut m = Normal::zero(rows);
            for (column, h) in of_column.iter().zip(&h) {
                m.add_outer(column, 1.0 / h);
            }
            (0..rows).for_each(|r| m.add_outer(&[(r as u32, 1.0)], slack[r] / lambda[r]));
            let scaled: Vec<f64> = dual.iter().zip(&h).map(|(d, h)| d / h).collect();
            let right = (0..rows)
                .map(|r| image(&self.rows[r], &scaled) + (mu - lambda[r] * slack[r]) / lambda[r])
                .collect();
            dl = m.solve(right)?;
            let back = self.transpose(&dl);
            du = dual.iter().zip(&back).zip(&h).map(|((d, b), h)| (d - b) / h).collect::<Vec<_>>();
        } else {
            // (H + Gᵀ (λ/s) G) du = dual − Gᵀ (μ − λs)/s … in columns.
            let n = u.len();
            let mut m = Normal::zero(n);
            for (r, row) in self.rows.iter().enumerate() {
                m.add_outer(row, lambda[r] / slack[r]);
            }
            (0..n).for_each(|a| m.add_outer(&[(a as u32, 1.0)], h[a]));
            let rest: Vec<f64> = (0..rows).map(|r| (mu - lambda[r] * slack[r]) / slack[r]).collect();
            let mut right = self.transpose(&rest);
            right.iter_mut().zip(&dual).for_each(|(r, d)| *r = d - *r);
            du = m.solve(right)?;
            dl = (0..rows).map(|r| rest[r] + lambda[r] / slack[r] * image(&self.rows[r], &du)).collect();
        }
        let ds: Vec<f64> = self.rows.iter().map(|row| -image(row, &du)).collect();
        Some(Direction { u: du, lambda: dl, slack: ds })
    }

    /// Multiplicative updates: a row above the mean gains weight, one below loses it.
    fn updates(&self, mut lambda: Vec<f64>, most: usize) -> Vec<f64> {
        for step in 0..most {
            let v = self.transpose(&lambda);
            let u = self.point(&v);
            let images: Vec<f64> = self.rows.iter().map(|r| image(r, &u)).collect();
            let total: f64 = lambda.iter().sum();
            let mean: f64 = lambda.iter().zip(&images).map(|(l, g)| l * g).sum::<f64>() / total;
            lambda.iter_mut().zip(&images).for_each(|(l, g)| *l *= g / mean);
            if step % 100 == 99 && self.certify(u, lambda.clone()).gap() < 1e-7 {
                break;
            }
        }
        lambda
    }
}

struct Direction {
    u: Vec<f64>,
    lambda: Vec<f64>,
    slack: Vec<f64>,
}

impl Direction {
    /// The longest step, at most 1, that keeps everything positive.
    fn longest(&self, u: &[f64], lambda: &[f64], slack: &[f64]) -> f64 {
        let bound = |x: &[f64], d: &[f64]| {
            x.iter().zip(d).filter(|(_, d)| **d < 0.0).map(|(x, d)| -x / d).fold(1.0 / 0.95, f64::min)
        };
        bound(u, &self.u).min(bound(lambda, &self.lambda)).min(bound(slack, &self.slack))
    }
}

fn image(row: &[(u32, f64)], u: &[f64]) -> f64 {
    row.iter().map(|&(a, g)| g * u[a as usize]).sum()
}

fn add(x: &mut [f64], step: f64, d: &[f64]) {
    x.iter_mut().zip(d).for_each(|(x, d)| *x += step * d);
}

/// Numbers that differ only by rounding are taken as one; the certificate is computed without this.
fn key(x: f64) -> u64 {
    (x.to_bits() + (1 << 15)) >> 16
}

/// Numbers the distinct descriptions in the order of their first appearance.
fn classes(described: impl Iterator<Item = Vec<(u32, u64)>>) -> Vec<u32> {
    let mut known: FxHashMap<Vec<(u32, u64)>, u32> = FxHashMap::default();
    described
        .map(|d| {
            let next = known.len() as u32;
            *known.entry(d).or_insert(next)
        })
        .collect()
}

fn count(classes: &[u32]) -> usize {
    classes.iter().max().map_or(0, |&m| m as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programme of a cube of plain dimensions with these tables (bit sets of dimensions), docs/methods, "The cube".
    fn cube(sizes: &[u32], tables: &[u32]) -> Minimax {
        let mut components: Vec<u32> = Vec::new();
        let mut rows = Vec::new();
        for &b in tables {
            let mut row = Vec::new();
            for a in (0..1u32 << sizes.len()).filter(|a| a & b == *a) {
                let id = components.iter().position(|&c| c == a).unwrap_or_else(|| {
                    components.push(a);
                    components.len() - 1
                });
                let gain = (0..sizes.len())
                    .filter(|&d| b >> d & 1 == 1)
                    .map(|d| {
                        let n = f64::from(sizes[d]);
                        if a >> d & 1 == 1 { (n - 1.0) / n } else { 1.0 / (n * n) }
                    })
                    .product();
                row.push((id as u32, gain));
            }
            rows.push(row);
        }
        let price = components
            .iter()
            .map(|a| {
                let factor = |d: usize| (f64::from(sizes[d]) - 1.0) / f64::from(sizes[d]);
                (0..sizes.len()).filter(|&d| a >> d & 1 == 1).map(factor).product()
            })
            .collect();
        Minimax { price, rows, power: Power::Plain }
    }

    fn up_to(dims: usize, k: u32) -> Vec<u32> {
        (0..1u32 << dims).filter(|s| s.count_ones() <= k).collect()
    }

    /// The certificate from its definition: primal feasibility and the Cauchy–Schwarz bound.
    fn check(m: &Minimax, s: &Solution) {
        assert!(s.u.iter().all(|&u| u > 0.0) && s.lambda.iter().all(|&l| l >= 0.0));
        for row in &m.rows {
            assert!(row.iter().map(|&(a, g)| g * s.u[a as usize]).sum::<f64>() <= 1.0 + 1e-12);
        }
        let power = m.power.exponent();
        let cost: f64 = m.price.iter().zip(&s.u).map(|(c, u)| c / u.powf(power)).sum();
        assert!((cost / s.value - 1.0).abs() < 1e-12);
        let mut root = 0.0;
        for (a, c) in m.price.iter().enumerate() {
            let v: f64 = m
                .rows
                .iter()
                .zip(&s.lambda)
                .map(|(r, l)| l * r.iter().filter(|&&(i, _)| i as usize == a).map(|&(_, g)| g).sum::<f64>())
                .sum();
            root += (c * v.powf(power)).powf(1.0 / (power + 1.0));
        }
        let bound = root.powf(power + 1.0) / s.lambda.iter().sum::<f64>().powf(power);
        assert!((bound / s.bound - 1.0).abs() < 1e-12);
        assert!(s.gap() < 1e-6, "gap {}", s.gap());
    }

    /// `C/u ≤ t` as a second-order cone, `‖(2√C, u − t)‖ ≤ u + t`, for another solver; and `C/u^p ≤ t` as a power cone,
    /// `t^{1/(p+1)} u^{p/(p+1)} ≥ C^{1/(p+1)}`.
    fn clarabel(m: &Minimax) -> f64 {
        use ::clarabel::algebra::CscMatrix;
        use ::clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SupportedConeT::*};
        let n = m.price.len();
        let (mut i, mut j, mut x, mut b) = (vec![], vec![], vec![], vec![]);
        let mut put = |row: usize, column: usize, value: f64| {
            i.push(row);
            j.push(column);
            x.push(value);
        };
        for (r, row) in m.rows.iter().enumerate() {
            row.iter().for_each(|&(a, g)| put(r, a as usize, g));
            b.push(1.0);
        }
        let mut cones = vec![NonnegativeConeT(m.rows.len())];
        for a in 0..n {
            let r = b.len();
            if m.power != Power::Plain {
                put(r, n + a, -1.0);
                put(r + 1, a, -1.0);
                let part = 1.0 / (m.power.exponent() + 1.0);
                b.extend([0.0, 0.0, m.price[a].powf(part)]);
                cones.push(PowerConeT(part));
                continue;
            }
            put(r, a, -1.0);
            put(r, n + a, -1.0);
            put(r + 2, a, -1.0);
            put(r + 2, n + a, 1.0);
            b.extend([0.0, 2.0 * m.price[a].sqrt(), 0.0]);
            cones.push(SecondOrderConeT(3));
        }
        let matrix = CscMatrix::new_from_triplets(b.len(), 2 * n, i, j, x);
        let zero = CscMatrix::zeros((2 * n, 2 * n));
        let q: Vec<f64> = (0..2 * n).map(|k| if k < n { 0.0 } else { 1.0 }).collect();
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_rel(1e-10)
            .tol_gap_abs(1e-10)
            .tol_feas(1e-10)
            .build()
            .unwrap();
        let mut solver = DefaultSolver::new(&zero, &q, &matrix, &b, &cones, settings).unwrap();
        solver.solve();
        solver.solution.obj_val
    }

    #[test]
    fn agrees_with_a_conic_solver() {
        for (sizes, tables) in [
            (&[2, 3, 5][..], up_to(3, 2)),
            (&[2, 2, 7, 40][..], up_to(4, 3)),
            (&[9, 16, 7, 15, 6, 5, 2, 2][..], up_to(8, 2)),
            (&[3, 4][..], vec![0b11]),
            (&[6, 2, 3][..], vec![0b001, 0b110, 0b111]),
        ] {
            let mut m = cube(sizes, &tables);
            // Different weights on the rows, so that symmetry does not make it easy.
            for (r, row) in m.rows.iter_mut().enumerate() {
                row.iter_mut().for_each(|e| e.1 *= 1.0 + (r % 3) as f64);
            }
            for power in [Power::Plain, Power::Square, Power::Root] {
                m.power = power;
                let s = m.solve();
                check(&m, &s);
                let other = clarabel(&m);
                assert!((s.value / other - 1.0).abs() < 1e-6, "{sizes:?}: {} and {other}", s.value);
            }
        }
    }

    /// Two components, any rows: a fine grid over the boundary finds nothing better, and comes close.
    #[test]
    fn no_point_of_a_grid_is_better() {
        let first = || vec![vec![(0, 1.0)], vec![(0, 0.3), (1, 1.0)]];
        let second = || vec![vec![(0, 1.0), (1, 1.0)], vec![(0, 0.1), (1, 3.0)], vec![(1, 0.5)]];
        let all = [Power::Plain, Power::Square, Power::Root];
        let each = all.into_iter().flat_map(|p| [([1.0, 2.0], first(), p), ([5.0, 0.1], second(), p)]);
        for (price, rows, power) in each {
            let m = Minimax { price: price.to_vec(), rows, power };
            let s = m.solve();
            check(&m, &s);
            let best = (1..200_000)
                .map(|k| {
                    let angle = f64::from(k) / 200_000.0 * std::f64::consts::FRAC_PI_2;
                    let ray = vec![angle.cos(), angle.sin()];
                    m.certify(ray, vec![1.0; m.rows.len()]).value
                })
                .fold(f64::INFINITY, f64::min);
            assert!(s.value <= best * (1.0 + 1e-9) && s.value > best * (1.0 - 1e-6), "{} {best}", s.value);
        }
    }

    /// A plan that is not the best cannot get a certificate that says so.
    #[test]
    fn a_worse_plan_shows_its_gap() {
        let m = cube(&[2, 3, 5], &up_to(3, 2));
        let s = m.solve();
        let mut u = s.u.clone();
        u[0] *= 1.2;
        assert!(m.certify(u, s.lambda.clone()).gap() > 1e-3);
        let uniform = m.certify(s.u.clone(), vec![1.0; m.rows.len()]);
        assert!(uniform.bound < s.bound && uniform.gap() > 1e-3);
    }

    /// Merging what looks alike changes nothing, and without any symmetry to use the solver gets there as well;
    /// so do the plain updates, more slowly.
    #[test]
    fn symmetry_is_only_a_shortcut() {
        let m = cube(&[4; 6], &up_to(6, 2));
        assert_eq!(m.reduce().0.rows.len(), 3);
        let merged = m.solve();
        check(&m, &merged);
        let (u, lambda) = m.interior();
        let whole = m.certify(u, lambda);
        check(&m, &whole);
        assert!((merged.value / whole.value - 1.0).abs() < 1e-6);
        let lambda = m.updates(vec![1.0; m.rows.len()], MOST_UPDATES);
        let slow = m
            .certify(m.price.iter().zip(m.transpose(&lambda)).map(|(c, v)| (c / v).sqrt()).collect(), lambda);
        assert!(slow.gap() < 1e-3 && slow.value >= merged.bound * (1.0 - 1e-12), "{}", slow.gap());
    }

    /// Fourteen attributes, everything up to three-way at ρ = 1/2: the published worst variance is 253.605.
    #[test]
    fn published_worst_variance() {
        let sizes = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2];
        let m = cube(&sizes, &up_to(14, 3));
        assert_eq!(m.rows.len(), 470);
        let s = m.solve();
        check(&m, &s);
        assert!(s.value < 253.6055 && s.value > 253.6, "{}", s.value);
    }
}
