//! Weights of their own for kinds of components: over one tree, those that are asked for beside the same of its levels.
//!
//! Every kind has a tree of precisions down to the finest level that it reaches, and all of them share the budget of each path: at a node what comes down is split into what every kind keeps
//! and what is passed on to all children. Of a kind's components that are alike in their level the prices are shared as ever, so that each level of each kind costs what its tree says. The total
//! is `Σ` over kinds and levels of `(Σ_A √(v_A p_A))²`. Where a component has one weight for all levels, all precisions are best alike within its kind, and the problem is
//! convex; descent starts where all kinds have the weights that are best for them together.

use super::descent::Problem;
use super::paths::{Passes, Tree};
use crate::planner::downhill::downhill;

/// What descent finds.
pub(crate) struct Solved {
    /// For each kind its tree, what its precisions come to, and what a unit of each `V` adds to the total.
    pub kinds: Vec<(Tree, Passes, Vec<Vec<f64>>)>,
    /// What is passed on at each node.
    passed: Vec<Vec<f64>>,
    /// The total.
    pub total: f64,
    /// That of the shared weights.
    pub before: f64,
}

impl Solved {
    /// What a path spends above a node's children, of one.
    pub(crate) fn left(&self, level: usize, node: usize) -> f64 {
        let told: f64 = self.kinds.iter().map(|(_, passes, _)| passes.below(level, node)).sum();
        self.passed.get(level).map_or(0.0, |passed| (passed[node] - told).max(0.0))
    }
}

/// The kinds of a problem with one tree.
struct Kinds<'a> {
    problem: &'a Problem,
    /// Down to the level that each reaches.
    trees: Vec<Tree>,
    /// The components' prices; zero for those of other kinds.
    prices: Vec<Vec<f64>>,
    classes: (Vec<usize>, usize),
    finest: usize,
}

/// How the paths' budgets are shared.
struct Split {
    /// For each node what every kind that is there keeps, and what is passed on; one after the other.
    parts: Vec<f64>,
    /// For each level and node what comes down.
    comes: Vec<Vec<f64>>,
    passed: Vec<Vec<f64>>,
    /// By kind, level and node.
    precisions: Vec<Vec<Vec<f64>>>,
}

impl Kinds<'_> {
    /// The kinds that are at a level.
    fn at(&self, level: usize) -> Vec<usize> {
        (0..self.trees.len()).filter(|&k| self.trees[k].finest() >= level).collect()
    }

    /// Where every kind has the same precisions, those that are best for all together.
    fn alike(&self, shared: &Passes) -> Vec<f64> {
        let mut out = Vec::new();
        for l in 0..=self.finest {
            let kinds = self.at(l).len();
            for v in 0..self.problem.trees[0].nodes(l) {
                let keeps = shared.keeps(l, v);
                out.extend(vec![libm::log(keeps / kinds as f64).max(-30.0); kinds]);
                out.extend((l < self.finest).then(|| libm::log(1.0 - keeps).max(-30.0)));
            }
        }
        out
    }

    fn split(&self, theta: &[f64]) -> Split {
        let tree = &self.problem.trees[0];
        let (mut parts, mut comes, mut passed) =
            (Vec::with_capacity(theta.len()), vec![vec![1.0]], Vec::new());
        let mut precisions: Vec<Vec<Vec<f64>>> = vec![Vec::new(); self.trees.len()];
        for l in 0..=self.finest {
            let kinds = self.at(l);
            let width = kinds.len() + usize::from(l < self.finest);
            let start = parts.len();
            for own in theta[start..start + width * tree.nodes(l)].chunks_exact(width) {
                let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let raised: Vec<f64> = own.iter().map(|t| libm::exp(t - most)).collect();
                let sum: f64 = raised.iter().sum();
                parts.extend(raised.iter().map(|r| r / sum));
            }
            let of = |part: usize| -> Vec<f64> {
                let own = parts[start..].chunks_exact(width);
                own.zip(&comes[l]).map(|(own, comes)| own[part] * comes).collect()
            };
            kinds.iter().enumerate().for_each(|(part, &k)| precisions[k].push(of(part)));
            if l < self.finest {
                let own = of(kinds.len());
                comes.push((0..tree.nodes(l + 1)).map(|c| own[tree.parent(l + 1, c)]).collect());
                passed.push(own);
            }
        }
        Split { parts, comes, passed, precisions }
    }

    fn passes(&self, split: &Split) -> Vec<Passes> {
        self.trees.iter().zip(&split.precisions).map(|(tree, own)| tree.of_precisions(own)).collect()
    }

    /// The total, and for each kind what a unit of each `V` adds to it.
    fn total(&self, passes: &[Passes]) -> (f64, Vec<Vec<Vec<f64>>>) {
        let (mut total, mut slopes) = (0.0, Vec::new());
        for (own, price) in passes.iter().zip(&self.prices) {
            let (sum, slope) = self.problem.slopes(std::slice::from_ref(own), &self.classes, price);
            total += sum;
            slopes.extend(slope);
        }
        (total, slopes)
    }

    /// The total, and how it changes with the parts of the budgets.
    fn value(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let split = self.split(theta);
        let passes = self.passes(&split);
        let (total, slopes) = self.total(&passes);
        let trees = self.trees.iter().zip(&passes).zip(&slopes);
        let by: Vec<Vec<Vec<f64>>> =
            trees.map(|((tree, own), slope)| tree.by_precision(own, slope)).collect();
        let tree = &self.problem.trees[0];
        let mut out = vec![0.0; theta.len()];
        let (mut end, mut by_passed): (usize, Vec<f64>) = (theta.len(), Vec::new());
        for l in (0..=self.finest).rev() {
            let kinds = self.at(l);
            let width = kinds.len() + usize::from(l < self.finest);
            let start = end - width * tree.nodes(l);
            let mut by_comes = Vec::with_capacity(tree.nodes(l));
            for v in 0..tree.nodes(l) {
                let here = start + v * width..start + (v + 1) * width;
                let parts = &split.parts[here.clone()];
                let by_part = |part: usize| kinds.get(part).map_or_else(|| by_passed[v], |&k| by[k][l][v]);
                let mean: f64 = parts.iter().enumerate().map(|(part, p)| p * by_part(part)).sum();
                for (part, (own, p)) in out[here].iter_mut().zip(parts).enumerate() {
                    *own = p * split.comes[l][v] * (by_part(part) - mean);
                }
                by_comes.push(mean);
            }
            if l > 0 {
                by_passed = vec![0.0; tree.nodes(l - 1)];
                by_comes.iter().enumerate().for_each(|(v, d)| by_passed[tree.parent(l, v)] += d);
            }
            end = start;
        }
        (total, out)
    }
}

/// The best trees that descent finds for these kinds of components, from the weights that are best where all have the same. `reach` is the finest level of each kind; one of them is the tree's.
pub(crate) fn solve(problem: &Problem, kind_of: &[usize], reach: &[usize], shared: &Passes) -> Solved {
    let price = |kind: usize| {
        let own = problem.price.iter().zip(kind_of);
        own.map(|(p, &k)| if k == kind { *p } else { 0.0 }).collect::<Vec<f64>>()
    };
    let kinds = Kinds {
        problem,
        trees: reach.iter().map(|&level| problem.trees[0].down_to(level)).collect(),
        prices: (0..reach.len()).map(price).collect(),
        classes: problem.classes(),
        finest: problem.trees[0].finest(),
    };
    let (before, _) = problem.slopes(std::slice::from_ref(shared), &kinds.classes, &problem.price);
    let rounds = problem.rounds(reach.len() as f64);
    let split = kinds.split(&downhill(kinds.alike(shared), rounds, |theta| kinds.value(theta)));
    let passes = kinds.passes(&split);
    let (total, slopes) = kinds.total(&passes);
    let all = kinds.trees.into_iter().zip(passes).zip(slopes);
    Solved {
        kinds: all.map(|((tree, passes), slope)| (tree, passes, slope)).collect(),
        passed: split.passed,
        total,
        before,
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::tests::axis;
    use super::*;
    use crate::planner::bases::descent::{Asker, Row};

    /// Beside a tree of three levels two dimensions of two and three categories: the coarsest level is asked for with both, the next with the first, the finest alone. Components
    /// are numbered by level, then by what they have beside it.
    fn problem() -> Problem {
        let parents = [vec![0, 0, 0], vec![0, 0, 1, 2, 2, 2], vec![0, 0, 0, 1, 2, 3, 3, 4, 5, 5]];
        let rows = [vec![0.5, 1.0], vec![1.0 / 3.0, 2.0]];
        let table = |k: usize, beside: usize| {
            let choices = [vec![0], vec![0, 2], vec![0, 1, 2, 3]][beside].clone();
            let components = (0..=k).flat_map(|l| choices.iter().map(move |b| (4 * l + b) as u32)).collect();
            let fixed = rows[..beside].iter().map(|row| Row::Fixed(row.clone()));
            Asker { weight: 1.0, components, rows: [Row::Of(0, k)].into_iter().chain(fixed).collect() }
        };
        let prices = [1.0, 2.0 / 3.0, 0.5, 1.0 / 3.0];
        Problem {
            trees: vec![Tree::new(&axis(&parents).lump(0, &[0]).0)],
            live: vec![vec![0, 1, 2, 3]],
            tables: vec![table(1, 2), table(2, 1), table(3, 0)],
            price: (0..16).map(|i| prices[i % 4]).collect(),
            levels: (0..16).map(|i| vec![i / 4]).collect(),
        }
    }

    const KIND_OF: [usize; 4] = [2, 0, 1, 0];

    /// Another program, by another parametrisation, with weights for each component (`benches/own_weights.py`): 76.4541 where all have the same, 75.8956 where not.
    #[test]
    fn as_another_program_finds() {
        let problem = problem();
        let shared = problem.solve().pop().unwrap().0;
        let kind_of: Vec<usize> = (0..16).map(|i| KIND_OF[i % 4]).collect();
        let own = solve(&problem, &kind_of, &[1, 2, 3], &shared);
        assert!((own.before / 76.4541 - 1.0).abs() < 1e-5, "{}", own.before);
        assert!((own.total / 75.8956 - 1.0).abs() < 1e-5, "{}", own.total);
        // One kind has the weights that all have.
        let one = solve(&problem, &[0; 16], &[3], &shared);
        assert!((one.total / one.before - 1.0).abs() < 1e-5, "{} {}", one.total, one.before);
    }

    /// Against differences; and every path spends one.
    #[test]
    fn slopes() {
        let problem = problem();
        let shared = problem.trees[0].passes(&problem.trees[0].even());
        let trees: Vec<Tree> = (1..4).map(|l| problem.trees[0].down_to(l)).collect();
        let price =
            |kind| (0..16).map(|i| if KIND_OF[i % 4] == kind { problem.price[i] } else { 0.0 }).collect();
        let prices = (0..3).map(price).collect();
        let kinds = Kinds { problem: &problem, trees, prices, classes: problem.classes(), finest: 3 };
        let alike = kinds.alike(&shared).into_iter().enumerate();
        let theta: Vec<f64> = alike.map(|(i, t)| t + 0.4 * (i as f64).sin()).collect();
        let (_, got) = kinds.value(&theta);
        for (i, got) in got.iter().enumerate() {
            let moved = |by: f64| {
                let mut other = theta.clone();
                other[i] += by;
                kinds.value(&other).0
            };
            let want = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{i}: {got} {want}");
        }
        let split = kinds.split(&theta);
        for mut v in 0..kinds.problem.trees[0].nodes(3) {
            let mut spent = 0.0;
            for l in (0..4).rev() {
                spent += split.precisions.iter().filter_map(|own| Some(own.get(l)?[v])).sum::<f64>();
                v = kinds.problem.trees[0].parent(l, v);
            }
            assert!((spent - 1.0).abs() < 1e-12, "{spent}");
        }
    }
}
