//! What finished tables must be whatever their estimates: 0 in the cells declared empty, and in sum what is published exactly.
//!
//! Tables published exactly are margins of the finished cells. One of them parts the cells into groups with known totals, and any whole numbers
//! with these totals will do. Two are a transportation problem: rows and columns with known sums, some cells closed. Its flows are whole, and the
//! method of augmenting paths finds one unless there is none (Ford & Fulkerson 1956). More are taken one after the other, each against the table of
//! all before it; that finds whole numbers for tables that a running order joins (those of a decomposable model) where no cell is closed, and may
//! miss them elsewhere, for in general the question is an integer programme.

use std::collections::HashMap;
use std::fmt;

/// A table that finished cells add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// Of each cell the place in it.
    pub place: Vec<u32>,
    /// What the cells of each place add up to.
    pub counts: Vec<u64>,
}

/// What the cells of a table must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Which cells may be other than 0.
    pub open: Vec<bool>,
    /// What they add up to: the total at least.
    pub fixed: Vec<Fixed>,
}

/// Why there are no whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// An estimate is no number, or beyond 2^53.
    TooLarge,
    /// There are none.
    Contradiction,
    /// None were found that agree with so many exact tables at once.
    NotFound(usize),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfinished::TooLarge => f.write_str("these estimates are too large to be finished"),
            Unfinished::Contradiction => f.write_str(
                "these tables cannot be finished: no whole numbers of 0 and more add up to the tables published exactly and are 0 in the cells \
                 declared empty",
            ),
            Unfinished::NotFound(tables) => write!(
                f,
                "these tables were not finished: no whole numbers were found that add up to all {tables} tables published exactly at once; there \
                 may be some"
            ),
        }
    }
}

impl std::error::Error for Unfinished {}

/// The most steps that the search for a flow may take.
const WORK: usize = 300_000_000;
/// The most orders in which tables are tried.
const ORDERS: usize = 24;

/// The cells of each group, and what they add up to.
pub(super) type Groups = Vec<(Vec<u32>, u64)>;

impl Bounds {
    /// Cells of which all are open, with this total.
    #[cfg(test)]
    pub(crate) fn total(cells: usize, total: u64) -> Bounds {
        Bounds { open: vec![true; cells], fixed: vec![Fixed { place: vec![0; cells], counts: vec![total] }] }
    }

    /// Whether they speak of so many cells.
    pub(super) fn fit(&self, cells: usize) -> bool {
        let fixed =
            |f: &Fixed| f.place.len() == cells && f.place.iter().all(|&p| (p as usize) < f.counts.len());
        self.open.len() == cells && !self.fixed.is_empty() && self.fixed.iter().all(fixed)
    }

    /// Groups of open cells, each with a total, such that all fixed tables are met whatever is in the cells of a group as long as it adds up to the total.
    /// `near` is not negative: totals are near to its sums.
    pub(super) fn groups(&self, near: &[f64]) -> Result<Groups, Unfinished> {
        let sums = self.fixed.iter().map(|f| f.counts.iter().try_fold(0u64, |n, &c| n.checked_add(c)));
        let sums: Vec<Option<u64>> = sums.collect();
        if sums.iter().any(|s| *s != sums[0] || s.is_none()) {
            return Err(Unfinished::Contradiction);
        }
        let mut left = WORK;
        let found =
            orders(self.fixed.len()).into_iter().find_map(|order| self.along(&order, near, &mut left));
        let few = self.fixed.len() <= 2 && left > 0;
        let none = if few { Unfinished::Contradiction } else { Unfinished::NotFound(self.fixed.len()) };
        let joined = found.ok_or(none)?;
        let mut groups: Groups = joined.counts.iter().map(|&total| (Vec::new(), total)).collect();
        let open = (0u32..).zip(&joined.place).zip(&self.open).filter(|(_, open)| **open);
        open.for_each(|((cell, &group), _)| groups[group as usize].0.push(cell));
        // Rows of a flow add up, so what is left over is a total without a cell to hold it.
        if groups.iter().any(|(cells, total)| cells.is_empty() && *total > 0) {
            return Err(Unfinished::Contradiction);
        }
        groups.retain(|(cells, _)| !cells.is_empty());
        Ok(groups)
    }

    /// All fixed tables as one, met in this order.
    fn along(&self, order: &[usize], near: &[f64], left: &mut usize) -> Option<Fixed> {
        let mut tables = order.iter().map(|&i| &self.fixed[i]);
        let first = tables.next()?.clone();
        tables.try_fold(first, |joined, next| self.join(&joined, next, near, left))
    }

    /// Two tables as one that both roll up from: whole numbers for every pair of a row of the one and a column of the other that have a cell in common.
    fn join(&self, rows: &Fixed, columns: &Fixed, near: &[f64], left: &mut usize) -> Option<Fixed> {
        let mut arcs: Vec<Arc> = Vec::new();
        let mut ids = HashMap::new();
        let cells = rows.place.iter().zip(&columns.place).zip(self.open.iter().zip(near));
        let place = cells.map(|((&row, &column), (&open, near))| {
            let id = *ids.entry((row, column)).or_insert_with(|| {
                arcs.push(Arc {
                    row: row as usize,
                    column: column as usize,
                    open: false,
                    near: 0.0,
                    units: 0,
                });
                arcs.len() - 1
            });
            arcs[id].open |= open;
            arcs[id].near += if open { *near } else { 0.0 };
            id as u32
        });
        let place = place.collect();
        flow(&mut arcs, &rows.counts, &columns.counts, left)?;
        Some(Fixed { place, counts: arcs.into_iter().map(|a| a.units).collect() })
    }
}

/// Orders of so many things: all of a few.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for i in 0..n {
        let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            let at = (0..=order.len()).rev();
            at.map(|k| [&order[..k], &[i], &order[k..]].concat()).collect()
        };
        let grown: Vec<Vec<usize>> = all.iter().flat_map(longer).collect();
        all = grown.into_iter().take(ORDERS).collect();
    }
    all
}

/// What rows and columns have in common.
struct Arc {
    row: usize,
    column: usize,
    open: bool,
    near: f64,
    units: u64,
}

/// Whole units on the open arcs, near to what they should be, that add up to these rows and columns. `None` where there are none, or nothing is left to look for them.
fn flow(arcs: &mut [Arc], rows: &[u64], columns: &[u64], left: &mut usize) -> Option<()> {
    let (mut rows, mut columns) = (rows.to_vec(), columns.to_vec());
    let mut give = |arc: &mut Arc, units: u64| {
        let units = units.min(rows[arc.row]).min(columns[arc.column]);
        arc.units += units;
        rows[arc.row] -= units;
        columns[arc.column] -= units;
    };
    // What every arc has in whole, then one more for those that miss it by least.
    arcs.iter_mut().filter(|a| a.open).for_each(|a| give(a, libm::floor(a.near + 1e-9) as u64));
    let mut order: Vec<usize> = (0..arcs.len()).filter(|&i| arcs[i].open).collect();
    let rest = |a: &Arc| a.near - a.units as f64;
    order.sort_by(|&i, &k| rest(&arcs[k]).total_cmp(&rest(&arcs[i])).then(i.cmp(&k)));
    order.iter().for_each(|&i| {
        if rest(&arcs[i]) > 1e-9 {
            give(&mut arcs[i], 1);
        }
    });
    // Arcs of each row and column, the one that misses most first.
    let mut of_row = vec![Vec::new(); rows.len()];
    let mut of_column = vec![Vec::new(); columns.len()];
    for &i in &order {
        of_row[arcs[i].row].push(i);
        of_column[arcs[i].column].push(i);
    }
    for start in 0..rows.len() {
        while rows[start] > 0 {
            let path = augmenting(start, arcs, &of_row, &of_column, &columns, left)?;
            let end = arcs[*path.last()?].column;
            let back = path.iter().skip(1).step_by(2).map(|&i| arcs[i].units);
            let units = back.fold(rows[start].min(columns[end]), u64::min);
            for (k, &i) in path.iter().enumerate() {
                if k % 2 == 0 { arcs[i].units += units } else { arcs[i].units -= units }
            }
            rows[start] -= units;
            columns[end] -= units;
        }
    }
    columns.iter().all(|c| *c == 0).then_some(())
}

/// A shortest path from a row to a column that lacks something: an arc to give to, one to take from, one to give to, …
fn augmenting(
    start: usize,
    arcs: &[Arc],
    of_row: &[Vec<usize>],
    of_column: &[Vec<usize>],
    columns: &[u64],
    left: &mut usize,
) -> Option<Vec<usize>> {
    // By which arc a row and a column were reached.
    let (mut to_row, mut to_column) = (vec![None; of_row.len()], vec![None; of_column.len()]);
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(row) = queue.pop_front() {
        *left = left.checked_sub(of_row[row].len()).or_else(|| {
            *left = 0;
            None
        })?;
        for &i in &of_row[row] {
            let column = arcs[i].column;
            if to_column[column].is_some() {
                continue;
            }
            to_column[column] = Some(i);
            if columns[column] > 0 {
                let mut path = vec![i];
                let mut row = row;
                while row != start {
                    let taken: usize = to_row[row]?;
                    let given: usize = to_column[arcs[taken].column]?;
                    path.extend([taken, given]);
                    row = arcs[given].row;
                }
                path.reverse();
                return Some(path);
            }
            for &k in of_column[column].iter().filter(|&&k| arcs[k].units > 0) {
                let next = arcs[k].row;
                if next != start && to_row[next].is_none() {
                    to_row[next] = Some(k);
                    queue.push_back(next);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::dice::Dice;

    fn met(bounds: &Bounds, cells: &[u64]) -> bool {
        let exact = |f: &Fixed| {
            let mut sums = vec![0; f.counts.len()];
            cells.iter().zip(&f.place).for_each(|(c, &p)| sums[p as usize] += c);
            sums == f.counts
        };
        cells.iter().zip(&bounds.open).all(|(c, open)| *open || *c == 0) && bounds.fixed.iter().all(exact)
    }

    /// Whether any whole numbers do, cell by cell.
    fn any(bounds: &Bounds, cells: &mut Vec<u64>) -> bool {
        let at = cells.len();
        if at == bounds.open.len() {
            return met(bounds, cells);
        }
        let most = if bounds.open[at] {
            bounds.fixed.iter().map(|f| f.counts[f.place[at] as usize]).min()
        } else {
            Some(0)
        };
        (0..=most.unwrap_or(0)).any(|n| {
            cells.push(n);
            let found = any(bounds, cells);
            cells.pop();
            found
        })
    }

    /// Rows and columns of three by three, some cells closed, with sums that may or may not be possible: whole numbers are found where there are any.
    #[test]
    fn found_if_there_are_any() {
        let mut dice = Dice::new(3);
        let (mut some, mut none) = (0, 0);
        for _ in 0..300 {
            let open: Vec<bool> = (0..9).map(|_| dice.below(3) > 0).collect();
            // Counts anywhere: where they lie in closed cells their sums may be impossible.
            let truth: Vec<u64> = (0..9)
                .map(|i| if open[i] || dice.below(4) == 0 { dice.below(3) as u64 } else { 0 })
                .collect();
            let fixed = |place: &dyn Fn(usize) -> u32| {
                let place: Vec<u32> = (0..9).map(place).collect();
                let mut counts = vec![0; 3];
                truth.iter().zip(&place).for_each(|(c, &p)| counts[p as usize] += c);
                Fixed { place, counts }
            };
            let bounds = Bounds { open, fixed: vec![fixed(&|i| i as u32 / 3), fixed(&|i| i as u32 % 3)] };
            let estimates: Vec<f64> = truth.iter().map(|c| *c as f64 + 3.0 * (dice.unit() - 0.5)).collect();
            match crate::recover::finish::nonnegative_integral(&estimates, &bounds) {
                Ok(cells) => {
                    assert!(met(&bounds, &cells), "{bounds:?} {cells:?}");
                    some += 1;
                }
                Err(why) => {
                    assert_eq!(why, Unfinished::Contradiction);
                    assert!(!any(&bounds, &mut Vec::new()), "{bounds:?}");
                    none += 1;
                }
            }
        }
        assert!(some > 100 && none > 20, "{some} {none}");
    }

    /// Three tables of one dimension each, without zeros: there are always some.
    #[test]
    fn three_tables_at_once() {
        let mut dice = Dice::new(4);
        for _ in 0..100 {
            let truth: Vec<u64> = (0..60).map(|_| dice.below(9) as u64).collect();
            let fixed = |place: &dyn Fn(usize) -> usize, n: usize| {
                let place: Vec<u32> = (0..60).map(|i| place(i) as u32).collect();
                let mut counts = vec![0; n];
                truth.iter().zip(&place).for_each(|(c, &p)| counts[p as usize] += c);
                Fixed { place, counts }
            };
            let fixed = vec![fixed(&|i| i / 15, 4), fixed(&|i| i / 5 % 3, 3), fixed(&|i| i % 5, 5)];
            let bounds = Bounds { open: vec![true; 60], fixed };
            let estimates: Vec<f64> = truth.iter().map(|c| *c as f64 + 30.0 * (dice.unit() - 0.5)).collect();
            let cells = crate::recover::finish::nonnegative_integral(&estimates, &bounds).unwrap();
            assert!(met(&bounds, &cells), "{cells:?}");
        }
    }
}
