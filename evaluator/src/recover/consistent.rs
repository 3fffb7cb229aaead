//! Whole numbers for all tables of a release at once: made of one list of non-negative whole cells, so that every two tables agree wherever they meet.
//!
//! **Biased**, as every finishing step: it is for programs that insist on counts, never stored, and never what an interval is about.
//!
//! The cells are those of the coarsest cuboid that every table rolls up from. First each table is moved to the nearest non-negative one with the common
//! total. Then cells are fitted to the tables by iterative proportional fitting (Deming & Stephan 1940; in the limit of agreeing tables the cells of
//! largest entropy), rounded so that every run of cells in their order is right to less than one, and improved: single units are taken from one cell and given to
//! another as long as that brings the tables nearer to their estimates, in least squares. It is a search, not the optimum: the nearest consistent integer
//! tables are an integer programme.

use super::finish::nearest_nonnegative;

/// A table: its estimates, and for each of the common cells which of the table's it is in.
#[derive(Debug, Clone)]
pub struct Rolled {
    /// The estimates.
    pub estimates: Vec<f64>,
    /// Of each common cell the place in them.
    pub place: Vec<u32>,
}

/// The most common cells times tables.
pub const MOST: usize = 1 << 25;
/// How often all tables are fitted.
const SWEEPS: usize = 60;
/// What the search for better units may cost, in looked-up cells.
const WORK: usize = 300_000_000;

/// The common cells. `None` when an estimate is not finite, or there is none, or they are too large for whole numbers.
pub fn consistent(cells: usize, tables: &[Rolled]) -> Option<Vec<u64>> {
    let first = tables.first()?;
    let total = libm::round(first.estimates.iter().sum::<f64>()).max(0.0);
    let fits = tables.iter().all(|t| t.place.len() == cells && t.estimates.iter().all(|y| y.is_finite()));
    if cells == 0 || !fits || total > 9e15 {
        return None;
    }
    let targets: Vec<Vec<f64>> = tables.iter().map(|t| nearest_nonnegative(&t.estimates, total)).collect();
    let mut x = vec![total / cells as f64; cells];
    for _ in 0..SWEEPS {
        for (table, target) in tables.iter().zip(&targets) {
            fit(&mut x, table, target);
        }
    }
    let mut counts = rounded(&x, total);
    improve(&mut counts, tables);
    Some(counts)
}

/// The table of common cells.
pub fn rolled_up(counts: &[u64], table: &Rolled) -> Vec<u64> {
    let mut out = vec![0; table.estimates.len()];
    counts.iter().zip(&table.place).for_each(|(c, &p)| out[p as usize] += c);
    out
}

/// Makes the cells add up to the table, in proportion. Where all cells of an entry are 0 they stay so.
fn fit(x: &mut [f64], table: &Rolled, target: &[f64]) {
    let mut sums = vec![0.0; target.len()];
    x.iter().zip(&table.place).for_each(|(x, &p)| sums[p as usize] += x);
    let factors: Vec<f64> =
        sums.iter().zip(target).map(|(s, t)| if *s > 0.0 { t / s } else { 0.0 }).collect();
    x.iter_mut().zip(&table.place).for_each(|(x, &p)| *x *= factors[p as usize]);
}

/// Whole numbers of which every run of cells adds up to less than one more or less.
fn rounded(x: &[f64], total: f64) -> Vec<u64> {
    let sum: f64 = x.iter().sum();
    let scale = if sum > 0.0 { total / sum } else { 0.0 };
    let (mut so_far, mut given) = (0.0, 0.0);
    let mut out: Vec<u64> = x
        .iter()
        .map(|x| {
            so_far += x * scale;
            let upto = libm::round(so_far).min(total);
            let own = upto - given;
            given = upto;
            own as u64
        })
        .collect();
    // Where nothing could be fitted the last cell takes what is left.
    if let Some(last) = out.last_mut() {
        *last += (total - given) as u64;
    }
    out
}

/// Moves single units between cells while that brings the tables nearer to their estimates.
fn improve(counts: &mut [u64], tables: &[Rolled]) {
    // By how much each entry is above its estimate.
    let mut over: Vec<Vec<f64>> = tables
        .iter()
        .map(|t| rolled_up(counts, t).iter().zip(&t.estimates).map(|(c, y)| *c as f64 - y).collect())
        .collect();
    let cost = |over: &[Vec<f64>], cell: usize, by: f64| -> f64 {
        tables.iter().zip(over).map(|(t, over)| 2.0 * by * over[t.place[cell] as usize] + 1.0).sum()
    };
    let change = |over: &mut [Vec<f64>], cell: usize, by: f64| {
        tables.iter().zip(over).for_each(|(t, over)| over[t.place[cell] as usize] += by);
    };
    let each = 2 * counts.len() * tables.len();
    for _ in 0..WORK / each.max(1) {
        let best = |over: &[Vec<f64>], by: f64, may: &dyn Fn(usize) -> bool| {
            let cells = (0..counts.len()).filter(|&c| may(c)).map(|c| (c, cost(over, c, by)));
            cells.reduce(|a, b| if b.1 < a.1 { b } else { a })
        };
        let Some((to, gained)) = best(&over, 1.0, &|_| true) else { return };
        change(&mut over, to, 1.0);
        let from = best(&over, -1.0, &|c| c != to && counts[c] > 0);
        match from.filter(|from| gained + from.1 < -1e-9) {
            Some((from, _)) => {
                change(&mut over, from, -1.0);
                counts[to] += 1;
                counts[from] -= 1;
            }
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    /// A cube of 4 × 3 × 5 cells with all its two-way tables and one that is coarser, noisily counted.
    fn tables(dice: &mut Dice, counts: &[f64], noise: f64) -> Vec<Rolled> {
        let places: [&dyn Fn(usize) -> usize; 4] =
            [&|c| c / 5, &|c| c / 15 * 5 + c % 5, &|c| c % 15, &|c| c / 30];
        places
            .iter()
            .map(|place| {
                let place: Vec<u32> = (0..60).map(|c| place(c) as u32).collect();
                let mut estimates = vec![0.0; *place.iter().max().unwrap() as usize + 1];
                counts.iter().zip(&place).for_each(|(x, &p)| estimates[p as usize] += x);
                // Noise of mean 0 in each table, so that the totals agree.
                let noises: Vec<f64> = estimates.iter().map(|_| noise * (dice.unit() - 0.5)).collect();
                let mean = noises.iter().sum::<f64>() / noises.len() as f64;
                estimates.iter_mut().zip(noises).for_each(|(y, z)| *y += z - mean);
                Rolled { estimates, place }
            })
            .collect()
    }

    #[test]
    fn tables_are_whole_and_near() {
        let mut dice = Dice::new(9);
        for (size, noise) in [(40, 6.0), (3, 20.0), (1000, 50.0)] {
            let counts: Vec<f64> = (0..60).map(|_| dice.below(size) as f64).collect();
            let tables = tables(&mut dice, &counts, noise);
            let found = consistent(60, &tables).unwrap();
            let total = tables[0].estimates.iter().sum::<f64>().round().max(0.0);
            assert_eq!(found.iter().sum::<u64>() as f64, total);
            let far = |of: &dyn Fn(&Rolled) -> Vec<f64>| -> f64 {
                let square = |t: &Rolled| -> f64 {
                    of(t).iter().zip(&t.estimates).map(|(a, b)| (a - b) * (a - b)).sum()
                };
                tables.iter().map(square).sum()
            };
            let own = far(&|t| rolled_up(&found, t).iter().map(|c| *c as f64).collect());
            // No nearer than each table on its own, finished without the others; nearer than the true cells, which are consistent, too.
            let apart = far(&|t| nearest_nonnegative(&t.estimates, total));
            let truth: Vec<u64> = counts.iter().map(|c| *c as u64).collect();
            let other = far(&|t| rolled_up(&truth, t).iter().map(|c| *c as f64).collect());
            assert!(own >= apart - 1e-6 && own <= other + 1e-6, "{size}: {apart} {own} {other}");
        }
    }

    /// Tables without noise that are whole already stay as they are.
    #[test]
    fn counts_stay_as_they_are() {
        let mut dice = Dice::new(10);
        let counts: Vec<f64> = (0..60).map(|_| dice.below(30) as f64).collect();
        let tables = tables(&mut dice, &counts, 0.0);
        let found = consistent(60, &tables).unwrap();
        for t in &tables {
            let far = rolled_up(&found, t)
                .iter()
                .zip(&t.estimates)
                .map(|(a, b)| (*a as f64 - b).abs())
                .fold(0.0, f64::max);
            assert!(far <= 3.0, "{far}");
        }
    }

    #[test]
    fn odd_tables() {
        let one = |estimates: Vec<f64>| Rolled { place: vec![0; 3], estimates };
        assert_eq!(consistent(3, &[one(vec![-5.0])]), Some(vec![0, 0, 0]));
        assert_eq!(consistent(3, &[one(vec![4.2])]).unwrap().iter().sum::<u64>(), 4);
        assert!(consistent(3, &[one(vec![f64::NAN])]).is_none() && consistent(3, &[]).is_none());
        assert!(consistent(2, &[one(vec![1.0])]).is_none());
    }
}
