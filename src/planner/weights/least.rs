//! What no precisions of the nodes of one tree come below, where all tables have the same other dimensions.
//!
//! Let every choice `a` of the others' components have precisions `w_a` of its own, at the price `p_a`. The total is `Σ_a C_a F(w_a)`, `F = Σ_k c_k Σ_v Var(v)` over the nodes of
//! every level `k`, and `Σ_a p_a Σ_{v on a path} w_va ≤ 1`. As `F` is convex and of degree −1, all share one `w` at best, and the total is `(Σ_a √(C_a p_a))² F(w)`. A convex function is
//! nowhere below its tangents: from any `w` it is at least `2F − M`, `M` the most that `Σ_v g_v w'_v` comes to, `g` the slopes downwards ([`Tree::worth`]). Of all
//! multiples of `w` the best has `F²/M`. A path's budget is best spent at one node, so that one pass upwards finds `M` ([`Tree::most`]). Any `w` proves a bound; from that of the
//! plan on, small groups are brought nearer to the best, too ([`Tree::nearer`]): to the total they matter little, to `M` like all others.

use super::descent::Problem;
use super::paths::{Passes, Tree};
use crate::planner::bases::descent::Row;

/// Rounds, as far as the most work goes, in steps on one number.
const ROUNDS: usize = 40;
const MOST_WORK: usize = 1 << 27;
/// The relative distance to the least at which they end.
const CLOSE: f64 = 5e-4;

/// The least total of a problem with one tree, of which all nodes' values are asked for; `others` numbers the choices of the others' components. `None` where
/// choices are asked for in different proportions of levels, or of weights of their nodes.
pub(crate) fn least(problem: &Problem, others: &[usize], found: &Passes) -> Option<f64> {
    let [tree] = &problem.trees[..] else { return None };
    let mut choices = vec![(0.0, vec![0.0; tree.ways()]); others.iter().max().map_or(0, |most| most + 1)];
    for table in &problem.tables {
        let of_tree = |row: &Row| if let Row::Of(_, asked) = row { Some(*asked) } else { None };
        let asked = table.rows.iter().find_map(of_tree).unwrap_or(0);
        for (&a, stake) in table.components.iter().zip(problem.products(table, &[], Some(0))) {
            let a = a as usize;
            // Once for each choice.
            if problem.levels[a][0] == 0 {
                choices[others[a]].0 = problem.price[a];
                choices[others[a]].1[asked] += stake;
            }
        }
    }
    let all: Vec<f64> = choices.iter().map(|c| c.1.iter().sum()).collect();
    let proportions = |at: usize| -> Vec<f64> { choices[at].1.iter().map(|s| s / all[at]).collect() };
    let mut shape: Option<Vec<f64>> = None;
    let mut root = 0.0;
    for (at, (price, _)) in choices.iter().enumerate().filter(|(at, _)| all[*at] > 0.0) {
        root += (price * all[at]).sqrt();
        let first = shape.get_or_insert_with(|| proportions(at));
        if proportions(at).iter().zip(&*first).any(|(a, b)| (a - b).abs() > 1e-9) {
            return None;
        }
    }
    let bound = root * root * of_one(tree, &shape?, found);
    (bound > 0.0 && bound.is_finite()).then_some(bound)
}

fn of_one(tree: &Tree, weights: &[f64], found: &Passes) -> f64 {
    let levels = tree.finest() + 1;
    let nodes: usize = (0..levels).map(|l| tree.nodes(l)).sum();
    let rounds = (MOST_WORK / (nodes * levels * weights.len()).max(1)).min(ROUNDS);
    let mut best = 0.0f64;
    let (mut least, mut worth) = tree.worth(found, weights);
    let mut theta = tree.nearer(found, &worth);
    for _ in 0..rounds {
        best = best.max(least * least / tree.most(&worth));
        if best > least * (1.0 - CLOSE) {
            break;
        }
        let passes = tree.passes(&theta);
        (least, worth) = tree.worth(&passes, weights);
        theta = tree.nearer(&passes, &worth);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::paths::tests::axis;
    use super::*;
    use crate::numeric::dice::Dice;
    use crate::planner::bases::descent::Asker;

    /// Of one choice the best tree meets its bound; no other is below, nor are any two beside each other.
    #[test]
    fn nothing_is_below() {
        let whole = axis(&[vec![0, 0, 0], vec![0, 0, 1, 2, 2, 2], vec![0, 0, 0, 1, 2, 3, 3, 4, 5, 5]]);
        let tree = Tree::new(&whole.lump(0, &[0]).0);
        let mut dice = Dice::new(8);
        let stakes = [vec![0.5, 0.25, 0.0, 0.1], vec![1.0, 0.5, 0.0, 0.2]];
        let prices = [0.5, 1.0];
        let component = |a: usize, l: usize| (4 * a + l) as u32;
        let table = |a: usize, k: usize| Asker {
            weight: stakes[a][k],
            components: (0..=k).map(|l| component(a, l)).collect(),
            rows: vec![Row::Of(0, k)],
        };
        let both = |choices: &[usize]| Problem {
            trees: vec![tree.clone()],
            live: vec![vec![0, 1, 2, 3]],
            tables: choices
                .iter()
                .flat_map(|&a| (0..4).map(move |k| (a, k)))
                .map(|(a, k)| table(a, k))
                .collect(),
            price: (0..8).map(|i| prices[i / 4]).collect(),
            levels: (0..8).map(|i| vec![i % 4]).collect(),
        };
        let others: Vec<usize> = (0..8).map(|i| i / 4).collect();
        let value = |passes: &Passes, a: usize| -> f64 {
            passes.gains.iter().zip(&stakes[a]).map(|(g, s)| s * g.iter().sum::<f64>()).sum()
        };
        let one = both(&[1]);
        let solved = one.solve().pop().unwrap().0;
        let alone = least(&one, &others, &solved).unwrap();
        assert!((value(&solved, 1) / alone - 1.0).abs() < 1e-3);
        let two = both(&[0, 1]);
        let solved = two.solve().pop().unwrap().0;
        let bound = least(&two, &others, &solved).unwrap();
        let mut nearest = f64::INFINITY;
        for _ in 0..2000 {
            let mut any = || -> Passes {
                let theta: Vec<f64> = tree.even().iter().map(|t| t + 3.0 * dice.unit() - 1.5).collect();
                tree.passes(&theta)
            };
            let (a, b) = (any(), any());
            assert!(value(&b, 1) >= alone * (1.0 - 1e-9));
            let root: f64 = (value(&a, 0) * prices[0]).sqrt() + (value(&b, 1) * prices[1]).sqrt();
            nearest = nearest.min(root * root);
            assert!(root * root >= bound * (1.0 - 1e-9));
        }
        assert!(nearest < 1.3 * bound, "{nearest} {bound}");
        let root = (value(&solved, 0) * prices[0]).sqrt() + (value(&solved, 1) * prices[1]).sqrt();
        assert!((root * root / bound - 1.0).abs() < 1e-3);
    }
}
