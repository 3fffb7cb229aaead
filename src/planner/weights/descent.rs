//! All trees of a plan together: descent on the closed form of its components.
//!
//! Of the components that are alike in the levels of all trees the prices of the others' dimensions are shared out best by `s_A ∝ √(v_A/p_A)`; with every
//! such class spending one, a cell's whole price is the product of its paths' budgets, which is one. So the total is `Σ (Σ_A √(v_A p_A))²` over classes, smooth in
//! all trees' parts of budgets; descent by limited memory from even parts.

use super::paths::{Passes, Tree};
use crate::planner::bases::descent::{Asker, Row};
use crate::planner::downhill::downhill;

/// The closed form.
pub(crate) struct Problem {
    /// Each dimension's tree.
    pub trees: Vec<Tree>,
    /// For each tree the levels that hold something.
    pub live: Vec<Vec<usize>>,
    /// The tables.
    pub tables: Vec<Asker>,
    /// For each component its price along all other dimensions; zero where it is known without noise.
    pub price: Vec<f64>,
    /// For each component its level in each tree.
    pub levels: Vec<Vec<usize>>,
}

const MOST_ROUNDS: usize = 200;
/// The work that a descent may take, in steps on one number.
const MOST_WORK: f64 = (1u64 << 32) as f64;

impl Problem {
    fn passes(&self, theta: &[f64]) -> Vec<Passes> {
        let mut at = 0;
        let own = |tree: &Tree| {
            at += tree.free();
            tree.passes(&theta[at - tree.free()..at])
        };
        self.trees.iter().map(own).collect()
    }

    /// A table's row of a dimension; `None` where it is this tree's.
    fn row<'a>(
        &self,
        row: &'a Row,
        passes: &'a [Passes],
        but: Option<usize>,
    ) -> Option<std::borrow::Cow<'a, [f64]>> {
        match row {
            Row::Fixed(row) => Some(row.into()),
            Row::Of(tree, _) if but == Some(*tree) => None,
            Row::Of(tree, asked) => {
                let live = self.live_of(*tree, *asked);
                Some(live.map(|l| passes[*tree].gains[*asked][l]).collect::<Vec<f64>>().into())
            }
        }
    }

    /// The levels that hold something, down to the one that is asked for.
    fn live_of(&self, tree: usize, asked: usize) -> impl Iterator<Item = usize> {
        let level = self.trees[tree].level_of(asked);
        self.live[tree].iter().copied().filter(move |l| *l <= level)
    }

    /// What each of a table's components adds to it, but for the row of one tree.
    pub(super) fn products(&self, table: &Asker, passes: &[Passes], but: Option<usize>) -> Vec<f64> {
        let mut out = vec![table.weight];
        for row in &table.rows {
            let own = self.row(row, passes, but);
            let width = match (row, &own) {
                (_, Some(own)) => own.len(),
                (Row::Of(tree, asked), None) => self.live_of(*tree, *asked).count(),
                (Row::Fixed(row), None) => row.len(),
            };
            let value = |i: usize| own.as_ref().map_or(1.0, |own| own[i]);
            out = out
                .iter()
                .flat_map(|&o| (0..width).map(move |i| (o, i)))
                .map(|(o, i)| o * value(i))
                .collect();
        }
        out
    }

    /// What a unit of each component's noise adds to the total.
    fn stakes(&self, passes: &[Passes]) -> Vec<f64> {
        let mut out = vec![0.0; self.price.len()];
        for table in &self.tables {
            let products = self.products(table, passes, None);
            table.components.iter().zip(products).for_each(|(&a, v)| out[a as usize] += v);
        }
        out
    }

    /// The number of each component's class.
    pub(super) fn classes(&self) -> (Vec<usize>, usize) {
        let mut known: Vec<&Vec<usize>> = Vec::new();
        let of = |levels| {
            known.iter().position(|k| *k == levels).unwrap_or_else(|| {
                known.push(levels);
                known.len() - 1
            })
        };
        let classes = self.levels.iter().map(of).collect();
        (classes, known.len())
    }

    /// The total, and its slopes.
    fn value(&self, theta: &[f64], classes: &(Vec<usize>, usize)) -> (f64, Vec<f64>) {
        let passes = self.passes(theta);
        let (total, slopes) = self.slopes(&passes, classes, &self.price);
        (total, self.trees.iter().zip(&passes).zip(&slopes).flat_map(|((t, p), s)| t.slopes(p, s)).collect())
    }

    /// The total at these prices, and for each tree what a unit of each `V` adds to it.
    pub(super) fn slopes(
        &self,
        passes: &[Passes],
        classes: &(Vec<usize>, usize),
        price: &[f64],
    ) -> (f64, Vec<Vec<Vec<f64>>>) {
        let stakes = self.stakes(passes);
        let mut roots = vec![0.0; classes.1];
        for ((v, p), &class) in stakes.iter().zip(price).zip(&classes.0) {
            roots[class] += (v * p).sqrt();
        }
        let total: f64 = roots.iter().map(|r| r * r).sum();
        // What a unit of a stake adds.
        let worth = |a: usize| {
            if stakes[a] * price[a] > 0.0 { roots[classes.0[a]] * (price[a] / stakes[a]).sqrt() } else { 0.0 }
        };
        let mut slopes = Vec::with_capacity(self.trees.len());
        for (number, tree) in self.trees.iter().enumerate() {
            let mut slope: Vec<Vec<f64>> =
                (0..tree.ways()).map(|asked| vec![0.0; tree.level_of(asked) + 1]).collect();
            for table in &self.tables {
                let asked = table.rows.iter().find_map(|r| match r {
                    Row::Of(own, asked) if *own == number => Some(*asked),
                    _ => None,
                });
                let Some(asked) = asked else { continue };
                let products = self.products(table, passes, Some(number));
                for (&a, product) in table.components.iter().zip(products) {
                    slope[asked][self.levels[a as usize][number]] += product * worth(a as usize);
                }
            }
            slopes.push(slope);
        }
        (total, slopes)
    }

    /// How many rounds a descent may take, each of so many times the work of one for these trees.
    pub(super) fn rounds(&self, times: f64) -> usize {
        let nodes = |t: &Tree| (0..=t.finest()).map(|l| t.nodes(l) as f64).sum::<f64>() * t.ways() as f64;
        let step: f64 = 16.0 * self.trees.iter().map(nodes).sum::<f64>()
            + 8.0 * self.tables.iter().map(|t| t.components.len() as f64).sum::<f64>();
        ((MOST_WORK / (step * times)) as usize).clamp(8, MOST_ROUNDS)
    }

    /// The best trees that descent finds, each with what a unit of its `V` adds to the total.
    pub(crate) fn solve(&self) -> Vec<(Passes, Vec<Vec<f64>>)> {
        let classes = self.classes();
        let theta: Vec<f64> = self.trees.iter().flat_map(Tree::even).collect();
        let theta = downhill(theta, self.rounds(1.0), |theta| self.value(theta, &classes));
        let passes = self.passes(&theta);
        let (_, slopes) = self.slopes(&passes, &classes, &self.price);
        passes.into_iter().zip(slopes).collect()
    }
}
