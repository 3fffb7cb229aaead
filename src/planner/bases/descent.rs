//! Which mechanism each ordered dimension gets: descent on the closed form of all tables together.
//!
//! At the best budgets the weighted total variance is `T²/(2ρ)` with `T = Σ_A √(p_A v_A)`, `v_A = Σ_B w_B Π_i g_{B,i}(A_i)`: prices and gains are products
//! over dimensions. In one dimension `T` is concave in the gains, so it is below its tangent, whose slopes say how much the
//! dimension's total and its components matter: `T ≤ const + Σ_k,j D_kj p_j g_kj` over demands `k` and components `j`. Making the tangent
//! small makes `T` small (majorise and minimise).
//!
//! Where all demands matter alike for the total, `x = uᵀGu`, and for the component, `y = p tr(G KKᵀ)`, the tangent is `c x + y`, and the family
//! `G + t·11ᵀ` has all its best points: its optimum makes `(√(x+t) + √y)²` small, whose slopes are in the ratio `√y : √(x+t)`, so
//! `t = y/c² − x`. (In `T` the total's slope is never the larger one, so `t ≥ 0` is enough.) Several demands are mixed by their slopes. Dimension after
//! dimension, until nothing changes; a step that does not lower `T` is not taken.

use super::optimum::{Family, Optimum};
use super::split::{Matrix, Split};
use crate::plan::{Asks, Ranges, Table};

/// The relative progress of a round at which the descent ends.
const PROGRESS: f64 = 1e-7;
const MOST_ROUNDS: usize = 12;
/// Cells that nobody asks for get this part of what the others get, so that every answer stays possible.
const RIDGE: f64 = 1e-6;

/// Something that some tables ask of one dimension.
pub(crate) struct Demand {
    /// The rung.
    pub rung: usize,
    /// What is asked of it.
    pub asked: Ranges,
    /// Its questions' Gram matrix where they do not matter alike.
    pub gram: Option<Matrix>,
}

/// A dimension that gets bases.
pub(crate) struct Dimension {
    /// Its number.
    pub number: usize,
    /// Each rung's parents, the coarsest first; those of total left out.
    pub parents: Vec<Vec<u32>>,
    /// What is asked of it.
    pub demands: Vec<Demand>,
}

/// A row over the components along one dimension of a table.
pub(crate) enum Row {
    /// Whatever bases there are.
    Fixed(Vec<f64>),
    /// By the mechanism of a dimension: its place among those that get one, and the number of the demand or, in a tree, the level.
    Of(usize, usize),
}

/// One table: its weight, its components, and along each of its dimensions the gains.
pub(crate) struct Asker {
    /// The weight of each of its queries.
    pub weight: f64,
    /// Its components' numbers, in the order of the product of its rows.
    pub components: Vec<u32>,
    /// A row for each dimension.
    pub rows: Vec<Row>,
}

/// The closed form.
pub(crate) struct Problem {
    /// The dimensions that get bases.
    pub dimensions: Vec<Dimension>,
    /// The tables.
    pub tables: Vec<Asker>,
    /// For each component its price without the dimensions that get bases; zero where it is known without noise.
    pub price: Vec<f64>,
    /// For each component the rung of each dimension that gets bases.
    pub rungs: Vec<Vec<usize>>,
}

/// What was chosen for one dimension.
pub(crate) struct Chosen {
    /// The mechanism, and the proof that it is the best for its Gram matrix.
    pub best: Optimum,
    /// What it tells of each level.
    pub split: Split,
    /// For each demand the gain of every component.
    gains: Vec<Vec<f64>>,
    prices: Vec<f64>,
}

/// `G` of a demand, over its own rung and over the finest.
struct Grams {
    own: Vec<Matrix>,
    finest: Vec<Matrix>,
}

impl Grams {
    fn of(dimension: &Dimension) -> Grams {
        let top = dimension.parents.len();
        let one = |d: &Demand| {
            d.gram.clone().unwrap_or_else(|| gram(&d.asked, dimension.parents[d.rung - 1].len()))
        };
        let own: Vec<Matrix> = dimension.demands.iter().map(one).collect();
        let lifted = |(demand, own): (&Demand, &Matrix)| {
            let mut up: Vec<usize> = (0..dimension.parents[top - 1].len()).collect();
            for parent in dimension.parents[demand.rung..].iter().rev() {
                up.iter_mut().for_each(|node| *node = parent[*node] as usize);
            }
            up.iter().map(|&a| up.iter().map(|&b| own[a][b]).collect()).collect()
        };
        let finest = dimension.demands.iter().zip(&own).map(lifted).collect();
        Grams { own, finest }
    }

    /// `Σ weights · G`, with a ridge where it does not tell every node.
    fn mixed(&self, dimension: &Dimension, weights: &[f64]) -> Matrix {
        let n = self.finest.first().map_or(0, Vec::len);
        let mut sum = vec![vec![0.0; n]; n];
        let top = dimension.parents.len();
        let mut regular = false;
        for ((gram, weight), demand) in self.finest.iter().zip(weights).zip(&dimension.demands) {
            let full = matches!(demand.asked, Ranges::Cells | Ranges::Prefixes | Ranges::All);
            let told = demand.gram.is_none() || demand.asked == Ranges::Prefixes;
            regular |= full && told && demand.rung == top && *weight > 0.0;
            for (row, own) in sum.iter_mut().zip(gram) {
                row.iter_mut().zip(own).for_each(|(s, g)| *s += weight * g);
            }
        }
        if !regular {
            let ridge = RIDGE * (0..n).map(|i| sum[i][i]).sum::<f64>() / n as f64;
            (0..n).for_each(|i| sum[i][i] += ridge);
        }
        sum
    }
}

/// What a table asks of one of its dimensions. `None` where its queries are no products.
pub(crate) fn asked_of(table: &Table, dimension: usize) -> Option<Ranges> {
    match &table.asks {
        Asks::Product(_) => Some(table.asks.of(dimension).cloned().unwrap_or_default()),
        Asks::Query(_) => None,
    }
}

/// `G` of one level.
pub(crate) fn gram(asked: &Ranges, n: usize) -> Matrix {
    let n = n as u32;
    (0..n).map(|a| (0..n).map(|b| asked.gram(n, a, b)).collect()).collect()
}

/// The state of one dimension's search.
struct State {
    grams: Grams,
    t: f64,
    weights: Vec<f64>,
    chosen: Chosen,
}

impl Chosen {
    fn new(
        dimension: &Dimension,
        grams: &Grams,
        weights: &[f64],
        t: f64,
        start: Option<&[f64]>,
    ) -> Option<Chosen> {
        let best = Family::new(grams.mixed(dimension, weights)).best(t, start)?;
        let split = Split::new(&best.x, &dimension.parents)?;
        let gains = dimension.demands.iter().zip(&grams.own).map(|(d, g)| split.gains(d.rung, g)).collect();
        let prices = split.prices();
        Some(Chosen { best, split, gains, prices })
    }
}

impl Problem {
    /// The mechanisms, one for each dimension that gets bases. `None` when some dimension has none that can be computed with.
    pub(crate) fn solve(&self) -> Option<Vec<Chosen>> {
        let mut states = Vec::with_capacity(self.dimensions.len());
        for dimension in &self.dimensions {
            let grams = Grams::of(dimension);
            // At first every demand matters as much as every other.
            let size = |g: &Matrix| (0..g.len()).map(|i| g[i][i]).sum::<f64>().max(1e-300);
            let weights: Vec<f64> = grams.finest.iter().map(|g| 1.0 / size(g)).collect();
            let most = weights.iter().copied().fold(0.0, f64::max);
            let weights: Vec<f64> = weights.iter().map(|w| w / most).collect();
            let chosen = Chosen::new(dimension, &grams, &weights, 0.0, None)?;
            states.push(State { grams, t: 0.0, weights, chosen });
        }
        let mut total = self.total(&states);
        for _ in 0..MOST_ROUNDS {
            let before = total;
            for d in 0..states.len() {
                total = self.improve(&mut states, d, total);
            }
            if !(total < before * (1.0 - PROGRESS)) {
                break;
            }
        }
        Some(states.into_iter().map(|s| s.chosen).collect())
    }

    /// Takes a step along dimension `d`, if one of a few lengths lowers `T`.
    fn improve(&self, states: &mut [State], d: usize, total: f64) -> f64 {
        let (weights, t) = self.wanted(states, d);
        for part in [1.0, 0.5, 0.125] {
            let state = &states[d];
            let between = |a: f64, b: f64| a + part * (b - a);
            let weights: Vec<f64> =
                state.weights.iter().zip(&weights).map(|(a, b)| between(*a, *b)).collect();
            let t = between(state.t, t);
            let start = state.chosen.best.weights.clone();
            let next = Chosen::new(&self.dimensions[d], &state.grams, &weights, t, Some(&start));
            let Some(chosen) = next else { continue };
            let old = std::mem::replace(&mut states[d].chosen, chosen);
            let now = self.total(states);
            if now < total {
                (states[d].weights, states[d].t) = (weights, t);
                return now;
            }
            states[d].chosen = old;
        }
        total
    }

    /// The weights of demands and the `t` that the tangent asks for.
    fn wanted(&self, states: &[State], d: usize) -> (Vec<f64>, f64) {
        let slopes = self.slopes(states, d);
        let (state, dimension) = (&states[d], &self.dimensions[d]);
        let own: Vec<f64> = slopes.iter().zip(&dimension.demands).map(|(s, demand)| s[demand.rung]).collect();
        let most = own.iter().copied().fold(0.0, f64::max);
        if !(most > 0.0) {
            return (state.weights.clone(), state.t);
        }
        let weights: Vec<f64> = own.iter().map(|w| w / most).collect();
        // With slopes of the components for all: x and y, and how much the total matters beside them.
        let (mut x, mut wanted, mut y) = (0.0, 0.0, 0.0);
        for (k, gains) in state.chosen.gains.iter().enumerate() {
            x += weights[k] * gains[0];
            wanted += slopes[k][0] / most * gains[0];
            y += gains[1..]
                .iter()
                .zip(&slopes[k][1..])
                .zip(&state.chosen.prices[1..])
                .map(|((g, s), p)| g * s / most * p)
                .sum::<f64>();
        }
        let c = wanted / x;
        let t = (y / (c * c) - x).max(0.0);
        (weights, if t.is_finite() { t.min(1e6 * x) } else { state.t })
    }

    fn row<'a>(states: &'a [State], row: &'a Row) -> &'a [f64] {
        match row {
            Row::Fixed(row) => row,
            Row::Of(d, demand) => &states[*d].chosen.gains[*demand],
        }
    }

    fn priced(&self, states: &[State], a: usize) -> f64 {
        let own = self.rungs[a].iter().zip(states).map(|(&r, s)| s.chosen.prices[r]);
        self.price[a] * own.product::<f64>()
    }

    /// `v_A`.
    fn stakes(&self, states: &[State]) -> Vec<f64> {
        let mut v = vec![0.0; self.price.len()];
        for table in &self.tables {
            let rows = table.rows.iter().map(|r| Self::row(states, r));
            for (&a, g) in table.components.iter().zip(products(table.weight, rows)) {
                v[a as usize] += g;
            }
        }
        v
    }

    /// `T`.
    fn total(&self, states: &[State]) -> f64 {
        let v = self.stakes(states);
        v.iter().enumerate().map(|(a, v)| (self.priced(states, a) * v).sqrt()).sum()
    }

    /// For each demand of dimension `d` and each component along it, `∂T` by its gain, but for the dimension's own price.
    fn slopes(&self, states: &[State], d: usize) -> Vec<Vec<f64>> {
        let v = self.stakes(states);
        let steep: Vec<f64> = (0..v.len())
            .map(|a| {
                let price = states[d].chosen.prices[self.rungs[a][d]];
                let p = self.priced(states, a);
                // √p/(2√v), of which √(own price) is taken out once more: the tangent has it as a factor of the gain.
                if v[a] > 0.0 && price > 0.0 { 0.5 * (p / v[a]).sqrt() / price } else { 0.0 }
            })
            .collect();
        let rungs = self.dimensions[d].parents.len() + 1;
        let mut out = vec![vec![0.0; rungs]; self.dimensions[d].demands.len()];
        for table in &self.tables {
            let Some(demand) = table.rows.iter().find_map(|r| match r {
                Row::Of(own, demand) if *own == d => Some(*demand),
                _ => None,
            }) else {
                continue;
            };
            let ones = vec![1.0; states[d].chosen.gains[demand].len()];
            let rows = table.rows.iter().map(|r| match r {
                Row::Of(own, _) if *own == d => ones.as_slice(),
                r => Self::row(states, r),
            });
            for (&a, g) in table.components.iter().zip(products(table.weight, rows)) {
                out[demand][self.rungs[a as usize][d]] += steep[a as usize] * g;
            }
        }
        out
    }
}

/// All products of one entry of each row, the last row's fastest.
fn products<'a>(weight: f64, rows: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    rows.fold(vec![weight], |outer, row| {
        outer.iter().flat_map(|&o| row.iter().map(move |&g| o * g)).collect()
    })
}
