//! One tree of precisions: what every node's precision says of every level, and how that changes with the way each path's budget is shared.
//!
//! A node keeps the part `s` of the budget that comes down to it and passes the rest to each of its children, so that what lies on any path adds up
//! to one. With precisions `w`: `α_v = w_v + β_v`, `β_v = 1/Σ ω_c` over its children, `ω = 1/α`, shares `u_c = ω_c/Σω`. A noise of variance `ω` at node `a` of
//! level `ℓ` adds `(Π u)²·ω_a(1 − u_a)` to each node below it: `V_kℓ` is the sum of that over all of level `k`, found with the sums `Q_k(a)` of the squared
//! shares below `a`. Derivatives come from the same passes in reverse.
//!
//! Nodes are those of a lumped axis: each stands for some siblings under every node its parent stands for. What is asked of a level may weigh each of its nodes by itself, in several
//! ways ([`Asked`]): then `Q` starts from those weights.

use crate::cube::Axis;

/// The levels of a tree, total first, and what is asked of them.
#[derive(Clone)]
pub(crate) struct Tree {
    levels: Vec<Level>,
    asked: Vec<Asked>,
}

/// The nodes of a level, each with its weight.
#[derive(Clone)]
struct Asked {
    level: usize,
    weights: Vec<f64>,
}

#[derive(Clone)]
struct Level {
    /// For each node its parent in the level above; for total itself.
    parent: Vec<u32>,
    /// For each node, how many there are under each real parent, and in all.
    copies: Vec<f64>,
    count: Vec<f64>,
    /// Whether it has siblings.
    single: Vec<bool>,
}

/// What the precisions come to.
pub(crate) struct Passes {
    budget: Vec<Vec<f64>>,
    keeps: Vec<Vec<f64>>,
    /// `α`.
    pub alpha: Vec<Vec<f64>>,
    /// `β`; none of the finest level.
    beta: Vec<Vec<f64>>,
    omega: Vec<Vec<f64>>,
    share: Vec<Vec<f64>>,
    /// `Q_k(a)`, by what is asked and the level of `a`.
    below: Vec<Vec<Vec<f64>>>,
    /// `V_kℓ`, by what is asked.
    pub gains: Vec<Vec<f64>>,
}

impl Passes {
    /// What a path spends above a node's children, of one.
    pub(crate) fn left(&self, level: usize, node: usize) -> f64 {
        let below = self.budget[level][node] * (1.0 - self.keeps[level][node]);
        (below - self.beta[level][node]).max(0.0)
    }

    /// `β`: what the tree below a node says of its total.
    pub(crate) fn below(&self, level: usize, node: usize) -> f64 {
        self.beta.get(level).map_or(0.0, |own| own[node])
    }

    /// How much of its budget a node keeps.
    pub(crate) fn keeps(&self, level: usize, node: usize) -> f64 {
        self.keeps[level][node]
    }

    /// `α_v − β` of its parent.
    pub(crate) fn price(&self, tree: &Tree, level: usize, node: usize) -> f64 {
        let above = if level == 0 { 0.0 } else { self.beta[level - 1][tree.parent(level, node)] };
        (self.alpha[level][node] - above).max(0.0)
    }
}

impl Tree {
    /// Of a lumped axis.
    pub(crate) fn new(axis: &Axis) -> Tree {
        let level = |rung: &crate::cube::Rung| Level {
            parent: if rung.parent.is_empty() { vec![0] } else { rung.parent.to_vec() },
            copies: rung.copies.iter().map(|&c| f64::from(c)).collect(),
            count: rung.multiplicity.iter().map(|&m| m as f64).collect(),
            single: rung.parent.iter().map(|&p| rung.siblings[p as usize] == 1).collect(),
        };
        let alike =
            |(level, rung): (usize, &crate::cube::Rung)| Asked { level, weights: vec![1.0; rung.len()] };
        Tree {
            levels: axis.rungs.iter().map(level).collect(),
            asked: axis.rungs.iter().enumerate().map(alike).collect(),
        }
    }

    /// The same without the levels that are finer than this one. What was asked of those has no `V`.
    pub(crate) fn down_to(&self, level: usize) -> Tree {
        Tree { levels: self.levels[..=level].to_vec(), asked: self.asked.clone() }
    }

    /// The number of what is asked of a level with a weight for each node. Without, it is that of the level.
    pub(crate) fn ask(&mut self, level: usize, weights: Vec<f64>) -> usize {
        self.asked.push(Asked { level, weights });
        self.asked.len() - 1
    }

    /// How many ways of asking there are.
    pub(crate) fn ways(&self) -> usize {
        self.asked.len()
    }

    /// Of which level.
    pub(crate) fn level_of(&self, asked: usize) -> usize {
        self.asked[asked].level
    }

    /// The number of the finest level.
    pub(crate) fn finest(&self) -> usize {
        self.levels.len() - 1
    }

    /// How many nodes a level has.
    pub(crate) fn nodes(&self, level: usize) -> usize {
        self.levels[level].parent.len()
    }

    pub(crate) fn parent(&self, level: usize, node: usize) -> usize {
        self.levels[level].parent[node] as usize
    }

    pub(crate) fn is_single(&self, level: usize, node: usize) -> bool {
        self.levels[level].single.get(node).copied().unwrap_or(true)
    }

    /// How many real siblings each real parent has of a node's kind.
    pub(crate) fn copies(&self, level: usize, node: usize) -> f64 {
        self.levels[level].copies[node]
    }

    /// How many parts of budgets there are to be chosen: one for each node that has children.
    pub(crate) fn free(&self) -> usize {
        self.levels[..self.finest()].iter().map(|l| l.parent.len()).sum()
    }

    /// Where every level gets the same: `s = 1/(1 + e^-θ)`.
    pub(crate) fn even(&self) -> Vec<f64> {
        let finest = self.finest();
        (0..finest).flat_map(|l| vec![-libm::log((finest - l) as f64); self.nodes(l)]).collect()
    }

    /// Sums of `Σ copies · value` over the children of each node of the level above.
    fn sums(&self, level: usize, of: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; self.nodes(level - 1)];
        let own = &self.levels[level];
        for (node, (&p, copies)) in own.parent.iter().zip(&own.copies).enumerate() {
            out[p as usize] += copies * of(node);
        }
        out
    }

    pub(crate) fn passes(&self, theta: &[f64]) -> Passes {
        let finest = self.finest();
        let (mut budget, mut keeps) = (vec![vec![1.0]], Vec::new());
        let mut at = 0;
        for l in 0..finest {
            let own = &theta[at..at + self.nodes(l)];
            at += own.len();
            let kept: Vec<f64> = own.iter().map(|t| 1.0 / (1.0 + libm::exp(-t))).collect();
            let passed: Vec<f64> = budget[l].iter().zip(&kept).map(|(b, s)| b * (1.0 - s)).collect();
            budget.push(self.levels[l + 1].parent.iter().map(|&p| passed[p as usize]).collect());
            keeps.push(kept);
        }
        keeps.push(vec![1.0; self.nodes(finest)]);
        let product = |(b, s): (&Vec<f64>, &Vec<f64>)| b.iter().zip(s).map(|(b, s)| b * s).collect();
        let precisions: Vec<Vec<f64>> = budget.iter().zip(&keeps).map(product).collect();
        Passes { budget, keeps, ..self.of_precisions(&precisions) }
    }

    /// Of any precisions of nodes.
    pub(crate) fn of_precisions(&self, precisions: &[Vec<f64>]) -> Passes {
        let finest = self.finest();
        let mut alpha = vec![precisions[finest].clone()];
        let mut beta = Vec::new();
        for l in (0..finest).rev() {
            let finer = &alpha[alpha.len() - 1];
            let own: Vec<f64> = self.sums(l + 1, |c| 1.0 / finer[c]).iter().map(|s| 1.0 / s).collect();
            alpha.push(precisions[l].iter().zip(&own).map(|(w, beta)| w + beta).collect());
            beta.push(own);
        }
        alpha.reverse();
        beta.reverse();
        let omega: Vec<Vec<f64>> = alpha.iter().map(|a| a.iter().map(|v| 1.0 / v).collect()).collect();
        let mut share = vec![vec![0.0]];
        for l in 1..=finest {
            let of = |(&p, w): (&u32, &f64)| w * beta[l - 1][p as usize];
            share.push(self.levels[l].parent.iter().zip(&omega[l]).map(of).collect());
        }
        let below: Vec<Vec<Vec<f64>>> = (0..self.asked.len()).map(|k| self.below(k, &share)).collect();
        let gain = |(below, asked): (&Vec<Vec<f64>>, &Asked)| {
            let mut row = self.row(below, &omega, &share);
            row.resize(asked.level + 1, 0.0);
            row
        };
        let gains = below.iter().zip(&self.asked).map(gain).collect();
        let (budget, keeps) = (Vec::new(), Vec::new());
        Passes { budget, keeps, alpha, beta, omega, share, below, gains }
    }

    /// `Q_k`, by level; none of what is asked of levels that are finer than all there are.
    fn below(&self, k: usize, share: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let asked = &self.asked[k];
        if asked.level > self.finest() {
            return Vec::new();
        }
        let mut below = vec![asked.weights.clone()];
        for l in (1..=asked.level).rev() {
            let (finer, u) = (&below[below.len() - 1], &share[l]);
            below.push(self.sums(l, |c| u[c] * u[c] * finer[c]));
        }
        below.reverse();
        below
    }

    /// `V_k`, by level.
    fn row(&self, below: &[Vec<f64>], omega: &[Vec<f64>], share: &[Vec<f64>]) -> Vec<f64> {
        let gain = |(l, q): (usize, &Vec<f64>)| -> f64 {
            let count = &self.levels[l].count;
            (0..q.len()).map(|a| count[a] * q[a] * omega[l][a] * (1.0 - share[l][a])).sum()
        };
        below.iter().enumerate().map(gain).collect()
    }

    /// `V` of any variances of nodes.
    pub(crate) fn gains(&self, omega: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut share = vec![vec![0.0]];
        for l in 1..self.levels.len() {
            let sums = self.sums(l, |c| omega[l][c]);
            let of = |(&p, w): (&u32, &f64)| w / sums[p as usize];
            share.push(self.levels[l].parent.iter().zip(&omega[l]).map(of).collect());
        }
        (0..self.asked.len()).map(|k| self.row(&self.below(k, &share), omega, &share)).collect()
    }

    /// The sum of the variances of all nodes, by a weight for each way of asking, and what a unit of precision of each node takes off it: `Σ_q c_q Cov(v, q)²`,
    /// the others by the level where their way to `v` turns.
    pub(crate) fn worth(&self, passes: &Passes, weights: &[f64]) -> (f64, Vec<Vec<f64>>) {
        let below = |l: usize, a: usize| -> f64 {
            let all = passes.below.iter().zip(weights);
            all.filter_map(|(below, weight)| Some(weight * below.get(l)?[a])).sum()
        };
        let asked = |l: usize, a: usize| -> f64 {
            let own = self.asked.iter().zip(weights).filter(|(asked, _)| asked.level == l);
            own.map(|(asked, weight)| weight * asked.weights[a]).sum()
        };
        let mut variance: Vec<Vec<f64>> = vec![passes.omega[0].clone()];
        for l in 1..=self.finest() {
            let of = |v: usize| {
                let u = passes.share[l][v];
                u * u * variance[l - 1][self.parent(l, v)] + passes.omega[l][v] * (1.0 - u)
            };
            let own = (0..self.nodes(l)).map(of).collect();
            variance.push(own);
        }
        let (mut sum, mut out) = (0.0, Vec::new());
        for (l, variances) in variance.iter().enumerate() {
            let count = &self.levels[l].count;
            let each = variances.iter().zip(count).enumerate();
            sum += each.map(|(v, (variance, n))| variance * n * asked(l, v)).sum::<f64>();
            let of = |v: usize| {
                let mut worth = variances[v] * variances[v] * below(l, v);
                let (mut at, mut share) = (v, 1.0);
                for m in (0..l).rev() {
                    let (own, u) = (share, passes.share[m + 1][at]);
                    share *= u;
                    let p = self.parent(m + 1, at);
                    let above = share * variance[m][p];
                    let turned = above - own * passes.omega[m + 1][at];
                    let others = (below(m, p) - asked(m, p) - u * u * below(m + 1, at)).max(0.0);
                    worth += above * above * asked(m, p) + turned * turned * others;
                    at = p;
                }
                worth
            };
            out.push((0..variances.len()).map(of).collect());
        }
        (sum, out)
    }

    /// Parts of budgets nearer to the best: each node's by what its own precision and those below it are worth, as if all else stayed.
    pub(crate) fn nearer(&self, passes: &Passes, worth: &[Vec<f64>]) -> Vec<f64> {
        let finest = self.finest();
        let spent = |l: usize, v: usize| worth[l][v] * passes.budget[l][v] * passes.keeps[l][v];
        let mut within: Vec<f64> = (0..self.nodes(finest)).map(|v| spent(finest, v)).collect();
        let mut out: Vec<Vec<f64>> = Vec::new();
        for l in (0..finest).rev() {
            let below = self.sums(l + 1, |c| within[c]);
            let of = |v: usize| {
                let s = passes.keeps[l][v];
                let (own, other) = (worth[l][v] * passes.budget[l][v], below[v] / (1.0 - s));
                let theta = libm::log(s / (1.0 - s)) + (0.5 * libm::log(own / other)).clamp(-2.0, 2.0);
                if theta.is_finite() { theta.clamp(-30.0, 30.0) } else { 0.0 }
            };
            out.push((0..below.len()).map(of).collect());
            within = below.into_iter().enumerate().map(|(v, b)| b + spent(l, v)).collect();
        }
        out.into_iter().rev().flatten().collect()
    }

    /// The most that `Σ worth · w` may come to, if what lies on each path adds up to one: a node takes all that is left, or its children do.
    pub(crate) fn most(&self, worth: &[Vec<f64>]) -> f64 {
        let finest = self.finest();
        let mut below = worth[finest].clone();
        for l in (0..finest).rev() {
            let passed = self.sums(l + 1, |c| below[c]);
            below = passed.into_iter().zip(&worth[l]).map(|(p, own)| p.max(*own)).collect();
        }
        below[0]
    }

    /// How `Σ slope_kℓ V_kℓ` changes with the nodes' precisions.
    pub(crate) fn by_precision(&self, passes: &Passes, slope: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let finest = self.finest();
        let zero = || (0..=finest).map(|l| vec![0.0; self.nodes(l)]).collect::<Vec<Vec<f64>>>();
        let (mut by_omega, mut by_share) = (zero(), zero());
        for (slope, below) in slope.iter().zip(&passes.below) {
            let mut above: Vec<f64> = Vec::new();
            for l in 0..below.len() {
                let (level, omega, u) = (&self.levels[l], &passes.omega[l], &passes.share[l]);
                let mut own = vec![0.0; self.nodes(l)];
                for a in 0..own.len() {
                    let q = below[l][a];
                    let by_own = slope[l] * level.count[a] * q;
                    by_omega[l][a] += by_own * (1.0 - u[a]);
                    by_share[l][a] -= by_own * omega[a];
                    own[a] = slope[l] * level.count[a] * omega[a] * (1.0 - u[a]);
                    if l > 0 {
                        let from = above[level.parent[a] as usize] * level.copies[a];
                        by_share[l][a] += from * 2.0 * u[a] * q;
                        own[a] += from * u[a] * u[a];
                    }
                }
                above = own;
            }
        }
        // From shares to ω, and from those up the tree to precisions.
        let mut by_precision: Vec<f64> = Vec::new();
        let mut all = Vec::new();
        for l in 0..=finest {
            if l > 0 {
                let (parent, beta) = (&self.levels[l].parent, &passes.beta[l - 1]);
                let mut by_sum = vec![0.0; beta.len()];
                for (a, &p) in parent.iter().enumerate() {
                    by_sum[p as usize] -=
                        by_share[l][a] * passes.omega[l][a] * beta[p as usize] * beta[p as usize];
                }
                for (p, sum) in by_sum.iter_mut().enumerate() {
                    *sum -= by_precision[p] * beta[p] * beta[p];
                }
                for (a, &p) in parent.iter().enumerate() {
                    let p = p as usize;
                    by_omega[l][a] += by_share[l][a] * beta[p] + self.levels[l].copies[a] * by_sum[p];
                }
            }
            by_precision = by_omega[l].iter().zip(&passes.omega[l]).map(|(d, w)| -d * w * w).collect();
            all.push(by_precision.clone());
        }
        all
    }

    /// How it changes with the parts of the budgets.
    pub(crate) fn slopes(&self, passes: &Passes, slope: &[Vec<f64>]) -> Vec<f64> {
        let (finest, all) = (self.finest(), self.by_precision(passes, slope));
        let mut by_budget = all[finest].clone();
        let mut out: Vec<Vec<f64>> = Vec::new();
        for l in (0..finest).rev() {
            let mut below = vec![0.0; self.nodes(l)];
            for (&p, d) in self.levels[l + 1].parent.iter().zip(&by_budget) {
                below[p as usize] += d;
            }
            let (s, b) = (&passes.keeps[l], &passes.budget[l]);
            let of = |v: usize| (all[l][v] - below[v]) * b[v] * s[v] * (1.0 - s[v]);
            out.push((0..b.len()).map(of).collect());
            by_budget = (0..b.len()).map(|v| all[l][v] * s[v] + below[v] * (1.0 - s[v])).collect();
        }
        out.into_iter().rev().flatten().collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension};

    /// A tree with the parents of each level.
    pub(crate) fn axis(parents: &[Vec<u32>]) -> Axis {
        let level = |parent: &Vec<u32>| Categories {
            name: format!("l{}", parent.len()),
            labels: (0..parent.len()).map(|i| i.to_string()).collect(),
            parent: parent.clone(),
            bounds: Vec::new(),
        };
        let mut levels = vec![Categories::total()];
        levels.extend(parents.iter().map(level));
        let mut dimension = Dimension::plain("d", vec!["0".into()]);
        dimension.levels = levels;
        Axis::new(&dimension, &(0..=parents.len()).collect::<Vec<_>>())
    }

    /// Variances by dense inverses: sums of leaves observed with precisions `w`, every estimate from all observations together.
    #[test]
    fn agrees_with_dense_least_squares() {
        let whole = axis(&[vec![0, 0, 0], vec![0, 0, 1, 2, 2, 2], vec![0, 0, 0, 1, 2, 3, 3, 4, 5, 5]]);
        let (lumped, _) = whole.lump(0, &[0]);
        let (tree, real) = (Tree::new(&lumped), Tree::new(&whole));
        let theta = real.even();
        let passes = real.passes(&theta);
        assert!(lumped.rungs[3].len() < whole.rungs[3].len());
        let small = tree.passes(&tree.even());
        let leaves = 10;
        let up: Vec<Vec<usize>> = (0..leaves)
            .map(|j| {
                let mut at = vec![j];
                for l in (1..=3).rev() {
                    at.push(real.parent(l, at[at.len() - 1]));
                }
                at.reverse();
                at
            })
            .collect();
        let mut x = nalgebra::DMatrix::<f64>::zeros(leaves, leaves);
        for a in 0..leaves {
            for b in 0..leaves {
                for l in 0..=3 {
                    if up[a][l] == up[b][l] {
                        let v = up[a][l];
                        x[(a, b)] += passes.budget[l][v] * passes.keeps[l][v];
                    }
                }
            }
            let spent: f64 = (0..=3).map(|l| passes.price(&real, l, up[a][l])).sum();
            assert!((spent - 1.0).abs() < 1e-12 && (x[(a, a)] - 1.0).abs() < 1e-12);
        }
        let inverse = x.try_inverse().unwrap();
        for k in 0..=3 {
            let variance = |v: usize| -> f64 {
                let own = |j: &usize| up[*j][k] == v;
                (0..leaves)
                    .filter(own)
                    .flat_map(|a| (0..leaves).filter(own).map(move |b| (a, b)))
                    .map(|at| inverse[at])
                    .sum()
            };
            let dense: f64 = (0..real.nodes(k)).map(variance).sum();
            for own in [&passes, &small] {
                let got: f64 = own.gains[k].iter().sum();
                assert!((got / dense - 1.0).abs() < 1e-12, "{k}: {got} {dense}");
            }
        }
    }

    /// Against differences.
    #[test]
    fn slopes() {
        let tree = Tree::new(
            &axis(&[vec![0, 0, 0], vec![0, 1, 1, 2, 2, 2], vec![0, 0, 0, 1, 2, 3, 3, 4, 5, 5]])
                .lump(0, &[0])
                .0,
        );
        let theta: Vec<f64> =
            tree.even().iter().enumerate().map(|(i, t)| t + 0.3 * (i as f64).sin()).collect();
        let slope: Vec<Vec<f64>> =
            (0..4).map(|k| (0..=k).map(|l| 1.0 + (k * 3 + l) as f64 * 0.2).collect()).collect();
        let value = |theta: &[f64]| -> f64 {
            let gains = tree.passes(theta).gains;
            gains.iter().zip(&slope).flat_map(|(g, s)| g.iter().zip(s)).map(|(g, s)| g * s).sum()
        };
        let got = tree.slopes(&tree.passes(&theta), &slope);
        for (i, got) in got.iter().enumerate() {
            let moved = |by: f64| {
                let mut other = theta.clone();
                other[i] += by;
                value(&other)
            };
            let want = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{i}: {got} {want}");
        }
    }
}
