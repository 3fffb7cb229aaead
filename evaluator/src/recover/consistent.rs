//! Whole numbers for all tables of a release at once: made of one list of non-negative whole cells, so that every two tables agree wherever they meet.
//!
//! **Biased**, as every finishing step: it is for programs that insist on counts, never stored, and never what an interval is about.
//!
//! The cells are those of the coarsest cuboid that every table rolls up from and that tells apart what is declared empty. First each table is moved to the nearest
//! non-negative one within its [bounds](super::bounds): the total, tables published exactly, zeros. Then cells are fitted to the tables by iterative proportional fitting
//! (Deming & Stephan 1940; in the limit of agreeing tables the cells of largest entropy), parted into groups whose totals meet what is exact, rounded so that every run of
//! cells in a group is right to less than one, and improved: within a group, single units are taken from one cell and given to another as long as that brings the tables
//! nearer to their estimates, in least squares. It is a search, not the optimum: the nearest consistent integer tables are an integer programme.

use super::bounds::{Bounds, Fixed, Unfinished};
use super::finish::nearest_within;

/// A table: its estimates, for each of the common cells which of the table's it is in, and what its own cells must be.
#[derive(Debug, Clone)]
pub struct Rolled {
    /// The estimates.
    pub estimates: Vec<f64>,
    /// Of each common cell the place in them.
    pub place: Vec<u32>,
    /// What its cells must be.
    pub bounds: Bounds,
}

impl Rolled {
    fn rolled_up(&self, counts: &[u64]) -> Vec<u64> {
        rolled_up(counts, &self.place, self.estimates.len())
    }
}

/// How often all tables are fitted.
const SWEEPS: usize = 60;
/// What the search for better units may cost, in looked-up cells.
const WORK: usize = 300_000_000;

/// The common cells, within these bounds.
pub fn consistent(tables: &[Rolled], bounds: &Bounds) -> Result<Vec<u64>, Unfinished> {
    let cells = bounds.open.len();
    let fits = |t: &Rolled| {
        t.place.len() == cells && t.estimates.iter().all(|y| y.is_finite()) && t.bounds.fit(t.estimates.len())
    };
    let total = bounds.fixed.first().map_or(0.0, |f| f.counts.iter().map(|c| *c as f64).sum::<f64>());
    if cells == 0 || !bounds.fit(cells) || !tables.iter().all(fits) || total > 9e15 {
        return Err(Unfinished::TooLarge);
    }
    let targets: Vec<Vec<f64>> = tables.iter().map(|t| nearest_within(&t.estimates, &t.bounds)).collect();
    let all = bounds.open.iter().filter(|o| **o).count().max(1) as f64;
    let mut x: Vec<f64> = bounds.open.iter().map(|&open| if open { total / all } else { 0.0 }).collect();
    let exact: Vec<Vec<f64>> =
        bounds.fixed.iter().map(|f| f.counts.iter().map(|c| *c as f64).collect()).collect();
    let known = |f: &Fixed| f.counts.len() > 1;
    for _ in 0..SWEEPS {
        for (table, target) in tables.iter().zip(&targets) {
            fit(&mut x, &table.place, target);
        }
        // What is exact comes last, so that it is met best.
        bounds
            .fixed
            .iter()
            .zip(&exact)
            .filter(|(f, _)| known(f))
            .for_each(|(f, to)| fit(&mut x, &f.place, to));
    }
    let groups = bounds.groups(&x)?;
    let mut counts = vec![0; cells];
    for (cells, total) in &groups {
        let own: Vec<f64> = cells.iter().map(|&c| x[c as usize]).collect();
        cells.iter().zip(rounded(&own, *total as f64)).for_each(|(&c, n)| counts[c as usize] = n);
    }
    improve(&mut counts, tables, groups.iter().map(|(cells, _)| &cells[..]));
    Ok(counts)
}

/// Common cells as a table of so many, given the place of each in it.
pub fn rolled_up(counts: &[u64], place: &[u32], cells: usize) -> Vec<u64> {
    let mut out = vec![0; cells];
    counts.iter().zip(place).for_each(|(c, &p)| out[p as usize] += c);
    out
}

/// Makes the cells add up to the table, in proportion. Where all cells of an entry are 0 they stay so.
fn fit(x: &mut [f64], place: &[u32], target: &[f64]) {
    let mut sums = vec![0.0; target.len()];
    x.iter().zip(place).for_each(|(x, &p)| sums[p as usize] += x);
    let factors: Vec<f64> =
        sums.iter().zip(target).map(|(s, t)| if *s > 0.0 { t / s } else { 0.0 }).collect();
    x.iter_mut().zip(place).for_each(|(x, &p)| *x *= factors[p as usize]);
}

/// Whole numbers with this total of which every run of cells adds up to less than one more or less.
fn rounded(x: &[f64], total: f64) -> Vec<u64> {
    let sum: f64 = x.iter().sum();
    // Where nothing could be fitted all cells are alike.
    let (each, sum) = if sum > 0.0 { (0.0, sum) } else { (1.0, x.len() as f64) };
    let (mut so_far, mut given) = (0.0, 0.0);
    let mut out: Vec<u64> = x
        .iter()
        .map(|x| {
            so_far += (x + each) * (total / sum);
            let upto = libm::round(so_far).min(total);
            let own = upto - given;
            given = upto;
            own as u64
        })
        .collect();
    // What rounding of the sums may have left.
    if let Some(last) = out.last_mut() {
        *last += (total - given) as u64;
    }
    out
}

/// Moves single units between the cells of a group while that brings the tables nearer to their estimates.
fn improve<'a>(counts: &mut [u64], tables: &[Rolled], groups: impl Iterator<Item = &'a [u32]>) {
    // By how much each entry is above its estimate.
    let mut over: Vec<Vec<f64>> = tables
        .iter()
        .map(|t| t.rolled_up(counts).iter().zip(&t.estimates).map(|(c, y)| *c as f64 - y).collect())
        .collect();
    let cost = |over: &[Vec<f64>], cell: usize, by: f64| -> f64 {
        tables.iter().zip(over).map(|(t, over)| 2.0 * by * over[t.place[cell] as usize] + 1.0).sum()
    };
    let change = |over: &mut [Vec<f64>], cell: usize, by: f64| {
        tables.iter().zip(over).for_each(|(t, over)| over[t.place[cell] as usize] += by);
    };
    let groups: Vec<&[u32]> = groups.filter(|g| g.len() > 1).collect();
    let mut work = WORK;
    // Groups share entries, so what one has moved may move another.
    let mut moved = true;
    while moved {
        moved = false;
        for group in &groups {
            let each = 2 * group.len() * tables.len().max(1);
            let best = |over: &[Vec<f64>], by: f64, may: &dyn Fn(usize) -> bool| {
                let cells = group.iter().map(|&c| c as usize).filter(|&c| may(c));
                cells.map(|c| (c, cost(over, c, by))).reduce(|a, b| if b.1 < a.1 { b } else { a })
            };
            loop {
                let Some(left) = work.checked_sub(each) else { return };
                work = left;
                let Some((to, gained)) = best(&over, 1.0, &|_| true) else { break };
                change(&mut over, to, 1.0);
                let from = best(&over, -1.0, &|c| c != to && counts[c] > 0);
                let Some((from, _)) = from.filter(|from| gained + from.1 < -1e-9) else {
                    change(&mut over, to, -1.0);
                    break;
                };
                change(&mut over, from, -1.0);
                counts[to] += 1;
                counts[from] -= 1;
                moved = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;
    use crate::recover::finish::{nearest_nonnegative, total};

    fn own_total(tables: &[Rolled]) -> u64 {
        total(&tables[0].estimates).unwrap()
    }

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
                let bounds = Bounds::total(estimates.len(), total(&estimates).unwrap_or_default());
                Rolled { estimates, place, bounds }
            })
            .collect()
    }

    #[test]
    fn tables_are_whole_and_near() {
        let mut dice = Dice::new(9);
        for (size, noise) in [(40, 6.0), (3, 20.0), (1000, 50.0)] {
            let counts: Vec<f64> = (0..60).map(|_| dice.below(size) as f64).collect();
            let tables = tables(&mut dice, &counts, noise);
            let found = consistent(&tables, &Bounds::total(60, own_total(&tables))).unwrap();
            let total = tables[0].estimates.iter().sum::<f64>().round().max(0.0);
            assert_eq!(found.iter().sum::<u64>() as f64, total);
            let far = |of: &dyn Fn(&Rolled) -> Vec<f64>| -> f64 {
                let square = |t: &Rolled| -> f64 {
                    of(t).iter().zip(&t.estimates).map(|(a, b)| (a - b) * (a - b)).sum()
                };
                tables.iter().map(square).sum()
            };
            let own = far(&|t| t.rolled_up(&found).iter().map(|c| *c as f64).collect());
            // No nearer than each table on its own, finished without the others; nearer than the true cells, which are consistent, too.
            let apart = far(&|t| nearest_nonnegative(&t.estimates, total));
            let truth: Vec<u64> = counts.iter().map(|c| *c as u64).collect();
            let other = far(&|t| t.rolled_up(&truth).iter().map(|c| *c as f64).collect());
            assert!(own >= apart - 1e-6 && own <= other + 1e-6, "{size}: {apart} {own} {other}");
        }
    }

    /// Tables without noise that are whole already stay as they are.
    #[test]
    fn counts_stay_as_they_are() {
        let mut dice = Dice::new(10);
        let counts: Vec<f64> = (0..60).map(|_| dice.below(30) as f64).collect();
        let tables = tables(&mut dice, &counts, 0.0);
        let found = consistent(&tables, &Bounds::total(60, own_total(&tables))).unwrap();
        for t in &tables {
            let far = t
                .rolled_up(&found)
                .iter()
                .zip(&t.estimates)
                .map(|(a, b)| (*a as f64 - b).abs())
                .fold(0.0, f64::max);
            assert!(far <= 3.0, "{far}");
        }
    }

    #[test]
    fn odd_tables() {
        let one = |estimate: f64, cells: usize| {
            let sum = total(&[estimate]).unwrap_or_default();
            let table =
                Rolled { place: vec![0; 3], estimates: vec![estimate], bounds: Bounds::total(1, sum) };
            consistent(&[table], &Bounds::total(cells, sum))
        };
        assert_eq!(one(-5.0, 3), Ok(vec![0, 0, 0]));
        assert_eq!(one(4.2, 3).unwrap().iter().sum::<u64>(), 4);
        assert!(one(f64::NAN, 3).is_err() && one(1.0, 2).is_err());
    }
}
