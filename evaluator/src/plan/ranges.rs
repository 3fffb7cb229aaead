//! What is asked of a table: its cells, or sums of neighbouring ones.
//!
//! A workload asks `⊗ W_d` of a table: for each dimension some intervals of its nodes, in the order in which the level lists them
//! (numbers, codes and categories alike), and of several dimensions all products of these. Only `G = WᵀW` of each dimension enters the
//! total variance, and of all prefixes and ranges it has a closed form: none is ever listed for that.

use crate::cube::Cuboid;
use serde::{Deserialize, Serialize};

/// The most nodes of a level that all ranges are asked of.
pub const MOST_RANGES: usize = 2048;
/// The most nodes of a level that all prefixes are asked of.
pub const MOST_PREFIXES: usize = 1 << 16;
/// The most intervals of a list.
pub const MOST_INTERVALS: usize = 4096;

/// What is asked of the nodes of one dimension of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranges {
    /// Each node.
    #[default]
    Cells,
    /// The first `k` nodes, for every `k`: distribution functions, medians, quantiles.
    Prefixes,
    /// All nodes from one to another, for every two.
    #[serde(rename = "ranges")]
    All,
    /// All nodes together.
    Total,
    /// Just these: first node and last node, both included.
    Intervals(Vec<(u32, u32)>),
}

impl Ranges {
    /// How many queries that is of `nodes` nodes.
    pub fn queries(&self, nodes: u64) -> f64 {
        let n = nodes as f64;
        match self {
            Ranges::Cells | Ranges::Prefixes => n,
            Ranges::All => n * (n + 1.0) / 2.0,
            Ranges::Total => 1.0,
            Ranges::Intervals(list) => list.len() as f64,
        }
    }

    /// The queries, each by its first and its last node.
    pub fn intervals(&self, nodes: u32) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
        match self {
            Ranges::Cells => Box::new((0..nodes).map(|i| (i, i))),
            Ranges::Prefixes => Box::new((0..nodes).map(|i| (0, i))),
            Ranges::All => Box::new((0..nodes).flat_map(move |i| (i..nodes).map(move |j| (i, j)))),
            Ranges::Total => Box::new((nodes > 0).then(|| (0, nodes - 1)).into_iter()),
            Ranges::Intervals(list) => Box::new(list.iter().copied()),
        }
    }

    /// Whether an interval of so many nodes is one of the queries.
    pub(crate) fn holds(&self, nodes: u32, (first, last): (u32, u32)) -> bool {
        match self {
            Ranges::Cells => first == last,
            Ranges::Prefixes => first == 0,
            Ranges::All => true,
            Ranges::Total => first == 0 && last + 1 == nodes,
            Ranges::Intervals(list) => list.contains(&(first, last)),
        }
    }

    /// `G = WᵀW` at two nodes: how many of the queries hold both.
    pub fn gram(&self, nodes: u32, a: u32, b: u32) -> f64 {
        let (low, high) = (a.min(b), a.max(b));
        match self {
            Ranges::Cells => f64::from(u8::from(a == b)),
            Ranges::Prefixes => f64::from(nodes - high),
            Ranges::All => f64::from(low + 1) * f64::from(nodes - high),
            Ranges::Total => 1.0,
            Ranges::Intervals(list) => list.iter().filter(|&&(i, j)| i <= low && high <= j).count() as f64,
        }
    }

    /// `vᵀ G v`: the sum of the squares of all queries' answers where these of the `nodes` (ascending) have these values, all others
    /// nothing. In as many steps as there are members, for each interval of a list.
    pub fn squares(&self, nodes: u32, members: &[(u32, f64)]) -> f64 {
        let (mut before, mut total) = (0.0, 0.0);
        match self {
            Ranges::Cells => total = members.iter().map(|(_, v)| v * v).sum(),
            Ranges::Total => total = members.iter().map(|(_, v)| v).sum::<f64>().powi(2),
            // G_ij is the product of a factor of the earlier node and one of the later: each node with those before it.
            Ranges::Prefixes | Ranges::All => {
                for &(i, v) in members {
                    let own = if *self == Ranges::All { f64::from(i + 1) * v } else { v };
                    total += f64::from(nodes - i) * v * (own + 2.0 * before);
                    before += own;
                }
            }
            Ranges::Intervals(list) => {
                for (first, last) in list {
                    let inside = members.iter().filter(|(i, _)| (first..=last).contains(&i));
                    total += inside.map(|(_, v)| v).sum::<f64>().powi(2);
                }
            }
        }
        total
    }

    /// How many of the queries hold a node, on average over the nodes: the trace of `G` by their number.
    pub fn held(&self, nodes: u64) -> f64 {
        let n = nodes as f64;
        match self {
            Ranges::Cells | Ranges::Total => 1.0,
            Ranges::Prefixes => (n + 1.0) / 2.0,
            Ranges::All => (n + 1.0) * (n + 2.0) / 6.0,
            Ranges::Intervals(list) => list.iter().map(|&(i, j)| f64::from(j - i) + 1.0).sum::<f64>() / n,
        }
    }

    /// What is wrong with it for a level of so many nodes.
    pub(crate) fn check(&self, nodes: usize) -> Result<(), &'static str> {
        let list = match self {
            Ranges::Cells | Ranges::Total => return Ok(()),
            Ranges::Prefixes if nodes <= MOST_PREFIXES => return Ok(()),
            Ranges::All if nodes <= MOST_RANGES => return Ok(()),
            Ranges::Prefixes | Ranges::All => return Err("prefixes or ranges are asked of too many nodes"),
            Ranges::Intervals(list) => list,
        };
        if list.is_empty() || list.len() > MOST_INTERVALS {
            return Err("a list of intervals is empty or too long");
        }
        if list.iter().any(|&(i, j)| i > j || j as usize >= nodes) {
            return Err("an interval of nodes does not exist");
        }
        Ok(())
    }

    /// The word for it in specs; of a list what people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Ranges::Cells => "cells",
            Ranges::Prefixes => "prefixes",
            Ranges::All => "ranges",
            Ranges::Total => "total",
            Ranges::Intervals(_) => "intervals",
        }
    }
}

/// What is asked of one table of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asks {
    /// Products: what is asked of these of its dimensions (ascending, none of them just its cells), and the cells of the others.
    Product(Vec<(u16, Ranges)>),
    /// The rows of this SELECT. Its table is the coarsest that tells them.
    Query(String),
}

impl Default for Asks {
    fn default() -> Asks {
        Asks::CELLS
    }
}

impl Asks {
    /// Every cell.
    pub const CELLS: Asks = Asks::Product(Vec::new());

    /// Products, in the one form they have: what asks for cells of a dimension does not name it.
    pub fn product(mut of: Vec<(u16, Ranges)>) -> Asks {
        of.retain(|(_, asked)| *asked != Ranges::Cells);
        of.sort_by_key(|(d, _)| *d);
        of.dedup_by_key(|(d, _)| *d);
        Asks::Product(of)
    }

    /// Whether just every cell is asked for.
    pub fn is_cells(&self) -> bool {
        *self == Asks::CELLS
    }

    /// What is asked of a dimension of a product; `None` for its cells.
    pub fn of(&self, dimension: usize) -> Option<&Ranges> {
        let Asks::Product(of) = self else { return None };
        of.iter().find(|(d, _)| usize::from(*d) == dimension).map(|(_, asked)| asked)
    }

    /// How many of the queries hold a cell, on average over the cells of a table whose dimensions have these numbers of nodes: one of cells.
    pub fn held(&self, cuboid: &Cuboid, nodes: impl Fn(usize, usize) -> u64) -> f64 {
        let Asks::Product(of) = self else { return 1.0 };
        let one =
            |(d, asked): &(u16, Ranges)| asked.held(nodes(usize::from(*d), cuboid.level(usize::from(*d))));
        of.iter().map(one).product()
    }

    /// What is wrong with it for a table whose dimensions have these numbers of nodes. Queries are read where a cube is at hand.
    pub(crate) fn check(
        &self,
        cuboid: &Cuboid,
        nodes: impl Fn(usize, usize) -> usize,
    ) -> Result<(), &'static str> {
        let Asks::Product(of) = self else { return Ok(()) };
        if !of.windows(2).all(|w| w[0].0 < w[1].0) {
            return Err("what is asked of a table does not name its dimensions in ascending order");
        }
        for (d, asked) in of {
            let (d, level) = (usize::from(*d), cuboid.level(usize::from(*d)));
            if level == 0 || *asked == Ranges::Cells {
                return Err(
                    "what is asked of a table names a dimension that it does not have, or just its cells",
                );
            }
            asked.check(nodes(d, level))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any(n: u32) -> impl Strategy<Value = Ranges> {
        let pair = (0..n, 0..n).prop_map(|(a, b)| (a.min(b), a.max(b)));
        prop_oneof![
            Just(Ranges::Cells),
            Just(Ranges::Prefixes),
            Just(Ranges::All),
            Just(Ranges::Total),
            prop::collection::vec(pair, 1..6).prop_map(Ranges::Intervals),
        ]
    }

    proptest! {
        /// Closed forms against the list of all queries.
        #[test]
        fn forms_are_those_of_the_list(
            (n, asked, values) in (1u32..12).prop_flat_map(|n| (Just(n), any(n), prop::collection::vec(-3.0..3.0f64, n as usize)))
        ) {
            let list: Vec<(u32, u32)> = asked.intervals(n).collect();
            prop_assert_eq!(list.len() as f64, asked.queries(n.into()));
            prop_assert!(asked.check(n as usize).is_ok());
            let held: u32 = list.iter().map(|(i, j)| j - i + 1).sum();
            prop_assert!((asked.held(n.into()) - f64::from(held) / f64::from(n)).abs() < 1e-9);
            for a in 0..n {
                for b in a..n {
                    prop_assert_eq!(asked.holds(n, (a, b)), list.contains(&(a, b)));
                }
                for b in 0..n {
                    let both = list.iter().filter(|(i, j)| (*i..=*j).contains(&a) && (*i..=*j).contains(&b)).count();
                    prop_assert_eq!(asked.gram(n, a, b), both as f64);
                }
            }
            let squares: f64 = list.iter().map(|&(i, j)| values[i as usize..=j as usize].iter().sum::<f64>().powi(2))
                .sum();
            let members: Vec<(u32, f64)> = (0..n).zip(values.iter().copied()).collect();
            prop_assert!((asked.squares(n, &members) - squares).abs() <= 1e-9 * (1.0 + squares));
        }
    }

    #[test]
    fn what_is_refused() {
        assert!(
            Ranges::Intervals(vec![(0, 3)]).check(3).is_err()
                && Ranges::Intervals(vec![(2, 1)]).check(3).is_err()
        );
        assert!(Ranges::Intervals(Vec::new()).check(3).is_err() && Ranges::All.check(1).is_ok());
        let table = Cuboid::new(vec![(0, 1), (2, 1)]);
        let check = |of: Vec<(u16, Ranges)>| Asks::Product(of).check(&table, |_, _| 4);
        assert!(check(vec![(0, Ranges::All), (2, Ranges::Total)]).is_ok());
        for wrong in [
            vec![(2, Ranges::All), (0, Ranges::Total)],
            vec![(1, Ranges::All)],
            vec![(0, Ranges::Cells)],
            vec![(0, Ranges::Intervals(vec![(0, 4)]))],
            vec![(0, Ranges::All), (0, Ranges::All)],
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(Asks::product(vec![(1, Ranges::Cells)]).is_cells());
        assert_eq!(Asks::product(vec![(2, Ranges::Total), (0, Ranges::All)]).of(2), Some(&Ranges::Total));
    }
}
