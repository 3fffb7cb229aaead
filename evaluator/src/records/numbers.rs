//! Numbers of records whose sums in some tables are the ones asked for: whole numbers from 0 to a largest one.
//!
//! Records whose cells agree in all these tables have one law, [`Spread`], with `s = Σ_t λ_t(cell)`: of all ways to spread numbers with these sums the one of
//! largest entropy. λ is found table by table (Newton's step on each cell's sum, at most a doubling of s), and every record draws a number of its law.
//!
//! What chance leaves of each sum is then shared out among the records of its cell. With `r_t` what a record's cell lacks and `w_t = 1/s_t²`, the distance `Σ_t w_t ‖r_t‖²` is
//! least where the record alone moves by `Σ_t w_t r_t / Σ_t w_t`. In the first passes it takes only its part, `Σ_t w_t r_t / Σ_t w_t m_t` with `m_t` how many records of the cell are
//! still to come, rounded by chance; in the last ones all of it, rounded to the nearest, and then pairs of records exchange what is best, so that every move lowers the distance.

use super::CHUNK;
use super::random::{Purpose, Stream};
use super::shape::{Nodes, Shape};
use super::spread::Spread;
use crate::watch::Watch;
use rustc_hash::FxHashMap;

/// A table of sums that records are to have.
#[derive(Debug, Clone)]
pub(super) struct Aim {
    /// Its columns.
    pub columns: Vec<usize>,
    /// What the numbers in each cell are to add up to.
    pub sums: Vec<f64>,
    /// The standard error of a cell.
    pub error: f64,
}

/// Sweeps over the tables; fewer where all sums are met.
const SWEEPS: usize = 48;
/// Passes over the records: in the first ones each takes its part of what is lacking.
const PASSES: usize = 48;
const SHARING: usize = 8;

/// The numbers of those records that have one (0 of the others), for a place of random numbers.
pub(super) struct Drawing<'a> {
    pub shape: &'a Shape,
    pub nodes: &'a Nodes,
    /// Whether a record has a number.
    pub has: &'a [bool],
    /// The largest number.
    pub reach: u32,
    pub seed: u64,
    pub place: u64,
}

impl Drawing<'_> {
    /// `None` when it was stopped.
    pub(super) fn draw(&self, aims: &[Aim], watch: &Watch) -> Option<Vec<u32>> {
        let cells: Vec<Vec<u32>> = aims
            .iter()
            .map(|a| self.shape.cells(&a.columns, self.nodes, self.has.len()).map(|c| c as u32).collect())
            .collect();
        let (groups, of) = self.grouped(&cells);
        let s = self.learn(aims, &groups, watch)?;
        let mut numbers = vec![0; self.has.len()];
        for (chunk, numbers) in numbers.chunks_mut(CHUNK).enumerate() {
            let mut stream = Stream::new(self.seed, Purpose::Amount, self.place, chunk as u64);
            for (i, number) in numbers.iter_mut().enumerate() {
                let (uniform, record) = (stream.fine(), chunk * CHUNK + i);
                if self.has[record] {
                    *number = Spread::new(s[of[record] as usize], self.reach).draw(uniform);
                }
            }
        }
        self.settle(aims, &cells, numbers, watch)
    }

    /// Groups of records that no table tells apart, and which of them each record is in.
    fn grouped(&self, cells: &[Vec<u32>]) -> (Groups, Vec<u32>) {
        let mut of = vec![0u32; self.has.len()];
        let mut first: Vec<usize> = self.has.iter().position(|has| *has).into_iter().collect();
        for own in cells {
            let mut known: FxHashMap<(u32, u32), u32> = FxHashMap::default();
            first.clear();
            for (record, of) in of.iter_mut().enumerate().filter(|(record, _)| self.has[*record]) {
                *of = *known.entry((*of, own[record])).or_insert_with(|| {
                    first.push(record);
                    first.len() as u32 - 1
                });
            }
        }
        let mut records = vec![0.0; first.len()];
        of.iter().zip(self.has).filter(|(_, has)| **has).for_each(|(&g, _)| records[g as usize] += 1.0);
        let cells = cells.iter().map(|own| first.iter().map(|&r| own[r]).collect()).collect();
        (Groups { records, cells }, of)
    }

    /// The `s` of each group.
    fn learn(&self, aims: &[Aim], groups: &Groups, watch: &Watch) -> Option<Vec<f64>> {
        let reach = f64::from(self.reach.max(1));
        let mut s = vec![0.0; groups.records.len()];
        for _ in 0..SWEEPS {
            let mut far = false;
            for (aim, cells) in aims.iter().zip(&groups.cells) {
                if watch.is_stopped() {
                    return None;
                }
                // Of each cell the records, what they are expected to add up to, its variance, and how steep their laws are.
                let mut all = vec![[0.0f64; 4]; aim.sums.len()];
                for ((&n, &cell), &s) in groups.records.iter().zip(cells).zip(&s) {
                    let (mean, variance) = Spread::new(s, self.reach).moments();
                    let to = &mut all[cell as usize];
                    let parts = [n, n * mean, n * variance, n * s.abs()];
                    to.iter_mut().zip(parts).for_each(|(to, x)| *to += x);
                }
                let step = |([n, sum, variance, steep], wanted): ([f64; 4], &f64)| {
                    // No law has its mean at an end.
                    let lacks = wanted.clamp(0.5, (n * reach - 0.5).max(0.5)) - sum;
                    far |= n > 0.0 && lacks.abs() > (0.05 * aim.error).max(0.5);
                    let most = (steep / n.max(1.0)).max(1.0);
                    if variance > 0.0 {
                        (lacks * reach / variance).clamp(-most, most)
                    } else {
                        lacks.signum() * most
                    }
                };
                let steps: Vec<f64> = all.into_iter().zip(&aim.sums).map(step).collect();
                for (s, &cell) in s.iter_mut().zip(cells) {
                    *s = (*s + steps[cell as usize]).clamp(-64.0 * reach, 64.0 * reach);
                }
            }
            if !far {
                break;
            }
        }
        Some(s)
    }

    /// Shares out what sums lack.
    fn settle(&self, aims: &[Aim], cells: &[Vec<u32>], numbers: Vec<u32>, watch: &Watch) -> Option<Vec<u32>> {
        let mut order: Vec<u32> = (0..self.has.len() as u32).filter(|&r| self.has[r as usize]).collect();
        let mut lacks: Vec<Vec<f64>> = aims.iter().map(|a| a.sums.clone()).collect();
        let mut in_cell: Vec<Vec<f64>> = aims.iter().map(|a| vec![0.0; a.sums.len()]).collect();
        for ((lacks, in_cell), cells) in lacks.iter_mut().zip(&mut in_cell).zip(cells) {
            for &r in &order {
                lacks[cells[r as usize] as usize] -= f64::from(numbers[r as usize]);
                in_cell[cells[r as usize] as usize] += 1.0;
            }
        }
        let weights = aims.iter().map(|a| 1.0 / a.error.max(1e-3).powi(2)).collect();
        let mut of = Settling { reach: self.reach.into(), weights, cells, lacks, numbers };
        for pass in 0..PASSES {
            if watch.is_stopped() {
                return None;
            }
            let mut stream = Stream::new(self.seed, Purpose::Amount, self.place, (1 << 40) + pass as u64);
            stream.shuffle(&mut order);
            if pass < SHARING {
                of.share(&order, in_cell.clone(), &mut stream);
                continue;
            }
            let alone = order.iter().filter(|&&r| of.alone(r as usize)).count();
            let pairs =
                order.as_chunks::<2>().0.iter().filter(|[a, b]| of.pair(*a as usize, *b as usize)).count();
            if alone + pairs == 0 || of.lacks.iter().flatten().all(|r| r.abs() <= 0.5) {
                break;
            }
        }
        Some(of.numbers)
    }
}

/// Numbers that move to where sums lack less.
struct Settling<'a> {
    reach: i64,
    weights: Vec<f64>,
    cells: &'a [Vec<u32>],
    lacks: Vec<Vec<f64>>,
    numbers: Vec<u32>,
}

impl Settling<'_> {
    /// Each record takes its part of what its cells lack.
    fn share(&mut self, order: &[u32], mut coming: Vec<Vec<f64>>, stream: &mut Stream) {
        for &record in order {
            let record = record as usize;
            let (mut lacking, mut among) = (0.0, 0.0);
            for (t, weight) in self.weights.iter().enumerate() {
                let cell = self.cells[t][record] as usize;
                lacking += weight * self.lacks[t][cell];
                among += weight * coming[t][cell];
                coming[t][cell] -= 1.0;
            }
            // Where there is no table nothing is lacking.
            let by = if among > 0.0 { lacking / among } else { 0.0 };
            self.step(record, (by + stream.fine()).floor() as i64);
        }
    }

    /// One record moves to the best place; whether it did.
    fn alone(&mut self, record: usize) -> bool {
        let (mut lacking, mut all) = (0.0, 0.0);
        for ((weight, lacks), cells) in self.weights.iter().zip(&self.lacks).zip(self.cells) {
            lacking += weight * lacks[cells[record] as usize];
            all += weight;
        }
        self.step(record, nearest(lacking, all))
    }

    /// One record gives to another what is best; whether it did. Cells of both do not notice.
    fn pair(&mut self, one: usize, other: usize) -> bool {
        let (mut lacking, mut all) = (0.0, 0.0);
        for ((weight, lacks), cells) in self.weights.iter().zip(&self.lacks).zip(self.cells) {
            let (a, b) = (cells[one] as usize, cells[other] as usize);
            if a != b {
                lacking += weight * (lacks[a] - lacks[b]);
                all += 2.0 * weight;
            }
        }
        let [a, b] = [one, other].map(|r| i64::from(self.numbers[r]));
        let by = nearest(lacking, all).clamp((-a).max(b - self.reach), b.min(self.reach - a));
        self.step(one, by) && self.step(other, -by)
    }

    /// Adds to a record's number, as far as it goes; whether it became another.
    fn step(&mut self, record: usize, by: i64) -> bool {
        let now = i64::from(self.numbers[record]);
        let then = now.saturating_add(by).clamp(0, self.reach);
        if then != now {
            self.numbers[record] = then as u32;
            let lacks = self.lacks.iter_mut().zip(self.cells);
            lacks.for_each(|(l, c)| l[c[record] as usize] -= (then - now) as f64);
        }
        then != now
    }
}

/// The whole number nearest to a ratio: half a step would be a step for nothing.
fn nearest(of: f64, to: f64) -> i64 {
    let x = if to > 0.0 { of / to } else { 0.0 };
    (x.signum() * (x.abs() - 0.5).ceil().max(0.0)) as i64
}

/// Records that no table tells apart.
struct Groups {
    /// How many there are.
    records: Vec<f64>,
    /// For each table the cell of each group.
    cells: Vec<Vec<u32>>,
}

#[cfg(test)]
mod tests {
    use super::super::shape::{Attribute, Column};
    use super::*;
    use crate::numeric::dice::Dice;

    /// Records of attributes of so many nodes, with numbers that depend on the first two.
    fn truth(sizes: &[usize], rows: usize, reach: u32, seed: u64) -> (Shape, Nodes, Vec<u32>) {
        let mut dice = Dice::new(seed);
        let column =
            |(attribute, &size): (usize, &usize)| Column { attribute, size, up: (0..size as u32).collect() };
        let shape = Shape {
            attributes: (0..sizes.len()).map(|c| Attribute { columns: vec![c] }).collect(),
            columns: sizes.iter().enumerate().map(column).collect(),
            ..Shape::default()
        };
        let nodes: Nodes = sizes.iter().map(|&n| (0..rows).map(|_| dice.below(n) as u32).collect()).collect();
        let number = |r: usize| {
            let most =
                (nodes[0][r] + 1) as f64 / sizes[0] as f64 * (nodes[1][r] + 1) as f64 / sizes[1] as f64;
            (dice.unit().powi(3) * most * f64::from(reach) + dice.unit()) as u32
        };
        let numbers = (0..rows).map(number).collect();
        (shape, nodes, numbers)
    }

    /// What numbers add up to in each cell.
    fn sums(shape: &Shape, nodes: &Nodes, columns: &[usize], has: &[bool], numbers: &[u32]) -> Vec<f64> {
        let mut out = vec![0.0; shape.sizes(columns).product()];
        let cells = shape.cells(columns, nodes, has.len());
        cells
            .zip(has)
            .zip(numbers)
            .filter(|((_, has), _)| **has)
            .for_each(|((c, _), n)| out[c] += f64::from(*n));
        out
    }

    fn aim(shape: &Shape, nodes: &Nodes, columns: &[usize], has: &[bool], numbers: &[u32]) -> Aim {
        Aim { columns: columns.to_vec(), sums: sums(shape, nodes, columns, has, numbers), error: 3.0 }
    }

    fn gap(shape: &Shape, nodes: &Nodes, has: &[bool], drawn: &[u32], aim: &Aim) -> f64 {
        let own = sums(shape, nodes, &aim.columns, has, drawn);
        own.iter().zip(&aim.sums).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn sums_of_overlapping_tables_are_met_to_the_step() {
        for (reach, rows, seed) in [(1, 900, 1), (20, 400, 2), (100_000, 700, 3), (1 << 24, 300, 4)] {
            let (shape, nodes, numbers) = truth(&[3, 4, 2, 5], rows, reach, seed);
            let mut dice = Dice::new(seed + 50);
            let has: Vec<bool> = (0..rows).map(|_| dice.below(4) > 0).collect();
            let tables = [vec![], vec![0], vec![1], vec![0, 1], vec![1, 2], vec![2, 3]];
            let aims: Vec<Aim> = tables.iter().map(|t| aim(&shape, &nodes, t, &has, &numbers)).collect();
            let drawing = Drawing { shape: &shape, nodes: &nodes, has: &has, reach, seed, place: 1 };
            let drawn = drawing.draw(&aims, &Watch::default()).unwrap();
            assert!(drawn.iter().zip(&has).all(|(n, has)| *n <= reach && (*has || *n == 0)));
            for aim in &aims {
                let far = gap(&shape, &nodes, &has, &drawn, aim);
                assert!(far <= 1.0, "{:?} of {reach} misses {far} steps", aim.columns);
            }
            let other = Drawing { seed: seed + 1, ..drawing }.draw(&aims, &Watch::default()).unwrap();
            assert!(drawn != other, "another seed, other numbers");
        }
    }

    /// One table: the law of each cell is the geometric one with its mean, found here by halving.
    #[test]
    fn numbers_of_a_cell_are_spread_as_evenly_as_its_mean_allows() {
        let (rows, reach) = (30_000, 40u32);
        let (shape, nodes, _) = truth(&[3, 1], rows, reach, 7);
        let means = [2.5, 20.0, 36.0];
        let has = vec![true; rows];
        let counts = shape.count(&[0], &nodes, rows);
        let sums: Vec<f64> = counts.iter().zip(means).map(|(n, m)| f64::from(*n) * m).collect();
        let aims = [Aim { columns: vec![0], sums, error: 1.0 }];
        let drawing = Drawing { shape: &shape, nodes: &nodes, has: &has, reach, seed: 3, place: 0 };
        let drawn = drawing.draw(&aims, &Watch::default()).unwrap();
        for (cell, mean) in means.into_iter().enumerate() {
            let law = |s: f64| -> Vec<f64> {
                let weights: Vec<f64> = (0..=reach).map(|k| (s * f64::from(k)).exp()).collect();
                let all: f64 = weights.iter().sum();
                weights.iter().map(|w| w / all).collect()
            };
            let of = |law: &[f64]| law.iter().zip(0..).map(|(p, k)| p * f64::from(k)).sum::<f64>();
            let (mut low, mut high) = (-5.0, 5.0);
            for _ in 0..80 {
                let s = (low + high) / 2.0;
                if of(&law(s)) < mean { low = s } else { high = s }
            }
            let (law, n) = (law(low), f64::from(counts[cell]));
            let mut found = vec![0.0; law.len()];
            let own = drawn.iter().zip(&nodes[0]).filter(|(_, node)| **node as usize == cell);
            own.for_each(|(k, _)| found[*k as usize] += 1.0);
            let chi: f64 = found.iter().zip(&law).map(|(f, p)| (f - n * p).powi(2) / (n * p).max(1.0)).sum();
            assert!(chi < 75.0, "{mean}: χ² is {chi} with 40 degrees of freedom");
        }
    }

    #[test]
    fn what_no_numbers_add_up_to_stays_at_the_ends() {
        let (shape, nodes, numbers) = truth(&[3, 4], 600, 50, 9);
        let has = vec![true; 600];
        let mut aims = vec![aim(&shape, &nodes, &[0, 1], &has, &numbers)];
        let counts = shape.count(&[0, 1], &nodes, 600);
        (aims[0].sums[0], aims[0].sums[5]) = (-40.0, f64::from(counts[5]) * 50.0 + 30.0);
        let drawing = Drawing { shape: &shape, nodes: &nodes, has: &has, reach: 50, seed: 1, place: 0 };
        let drawn = drawing.draw(&aims, &Watch::default()).unwrap();
        let own = sums(&shape, &nodes, &[0, 1], &has, &drawn);
        for (cell, (own, want)) in own.iter().zip(&aims[0].sums).enumerate() {
            let most = f64::from(counts[cell]) * 50.0;
            assert!((own - want.clamp(0.0, most)).abs() <= 0.5, "{cell}: {own} for {want}");
        }
        // Nobody, nobody with a value, no table, and no largest number.
        let none = vec![false; 600];
        let empty = Drawing { has: &none, ..drawing };
        assert_eq!(empty.draw(&aims, &Watch::default()).unwrap(), vec![0; 600]);
        let (no_rows, nobody) = (vec![Vec::new(); 2], Vec::new());
        let nobody = Drawing { nodes: &no_rows, has: &nobody, ..empty };
        assert_eq!(nobody.draw(&aims, &Watch::default()).unwrap(), Vec::<u32>::new());
        let free = Drawing { has: &has, ..empty }.draw(&[], &Watch::default()).unwrap();
        assert!(free.iter().all(|n| *n <= 50) && free.iter().sum::<u32>() > 600 * 20);
        let flat = Drawing { has: &has, reach: 0, ..empty };
        assert_eq!(flat.draw(&aims, &Watch::default()).unwrap(), vec![0; 600]);
        let stopped = Watch::default();
        stopped.stop();
        assert!(empty.draw(&aims, &stopped).is_none());
    }
}
