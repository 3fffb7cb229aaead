//! Questions about a level between those in use, as questions about the next finer one that is in use.
//!
//! A group of neighbouring categories is an interval of them, and neighbouring groups together are one, too. Where that is so of all that is asked, no level but the
//! finest need be in use: what was asked stays what it is, to the reader as well, and the plan is made for lists of intervals.

use super::planned::Planned;
use super::request::Request;
use crate::cube::{Cube, Cuboid, Frame};
use crate::plan::{Asks, MOST_INTERVALS, Plan, Ranges, Table};
use std::borrow::Cow;

/// The most steps of going through a list for every two nodes.
const MOST_STEPS: usize = 1 << 28;

/// The table as levels in use tell it, with the same questions. `None` where one of those is no interval there, where the list is long, or where no level in use tells them.
pub(super) fn told(cube: &Cube, levels: &[Vec<u8>], table: &Table) -> Option<Table> {
    let (mut pairs, mut asks) = (Vec::new(), Vec::new());
    for (d, l) in table.cuboid.pairs() {
        let level = levels.get(d)?.iter().map(|&used| usize::from(used)).find(|&used| used >= l)?;
        pairs.push((d, level));
        if matches!(table.asks, Asks::Product(_)) {
            let asked = table.asks.of(d).cloned().unwrap_or_default();
            let lifted = if level == l {
                asked
            } else {
                lifted(&asked, &cube.dimensions.get(d)?.ancestors(level, l))?
            };
            asks.push((u16::try_from(d).ok()?, lifted));
        }
    }
    let asks = match &table.asks {
        Asks::Product(_) => Asks::product(asks),
        // Its rows are sums of cells of any finer table.
        Asks::Query(_) => table.asks.clone(),
    };
    Some(Table { cuboid: Cuboid::new(pairs), weight: table.weight, asks })
}

/// What is asked of nodes as intervals of finer ones, of which `up` says where they are.
fn lifted(asked: &Ranges, up: &[u32]) -> Option<Ranges> {
    let nodes = up.iter().max().map_or(0, |&last| last + 1);
    let queries = asked.queries(nodes.into());
    if *asked == Ranges::Total {
        return Some(Ranges::Total);
    }
    if queries > MOST_INTERVALS as f64 || queries * (up.len() * up.len()) as f64 > MOST_STEPS as f64 {
        return None;
    }
    // Of each node the first and the last of the finer ones below, and how many there are.
    let mut ends = vec![(u32::MAX, 0u32, 0u32); nodes as usize];
    for (at, &node) in (0u32..).zip(up) {
        let (first, last, count) = &mut ends[node as usize];
        (*first, *last, *count) = ((*first).min(at), at, *count + 1);
    }
    let one = |(first, last): (u32, u32)| {
        let all = &ends[first as usize..=last as usize];
        let low = all.iter().map(|e| e.0).min()?;
        let high = all.iter().map(|e| e.1).max()?;
        let count: u32 = all.iter().map(|e| e.2).sum();
        (high - low + 1 == count).then_some((low, high))
    };
    asked.intervals(nodes).map(one).collect::<Option<Vec<_>>>().map(Ranges::Intervals)
}

impl Request {
    /// The same questions where just these levels are in use.
    pub(super) fn at(&self, levels: &[Vec<u8>]) -> Option<Request> {
        let workload = self.workload.iter().map(|t| told(&self.cube, levels, t)).collect::<Option<_>>()?;
        Some(Request { workload, ..self.clone() })
    }

    /// The questions of a plan's request as its levels tell them.
    pub(super) fn told_by(&self, plan: &Plan) -> Cow<'_, Request> {
        let used = |d: usize, l: usize| {
            plan.levels.get(d).is_some_and(|own| own.iter().any(|&u| usize::from(u) == l))
        };
        // Halves of halves are levels of another cube, all of them in use.
        if plan.measure.refines(&self.workload)
            || self.workload.iter().all(|t| t.cuboid.pairs().all(|(d, l)| used(d, l)))
        {
            return Cow::Borrowed(self);
        }
        self.at(&plan.levels).map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// For each dimension the levels of `dimensions` that are in use, but of these just the finest. `None` where that changes nothing, or where something else speaks of a level
    /// that would go.
    pub(super) fn finest_of(&self, dimensions: &[usize]) -> Option<Vec<Vec<u8>>> {
        let tables = self.workload.iter().map(|t| &t.cuboid);
        let mut levels = Frame::levels_of(&self.cube, tables);
        let mut less = false;
        for &d in dimensions {
            let [total, .., finest] = *levels.get(d)?.as_slice() else { continue };
            let fixed = self.exact.iter().chain(&self.beside).map(|c| c.level(d));
            if levels[d].len() > 2 && fixed.into_iter().all(|l| l == 0 || l == usize::from(finest)) {
                (levels[d], less) = (vec![total, finest], true);
            }
        }
        less.then_some(levels)
    }
}

impl Planned {
    /// The plan with the questions that it was made for as they were asked.
    pub(super) fn of(mut self, request: &Request) -> Planned {
        let cells = |c: &Cuboid| request.cube.cells(c).map_or(f64::INFINITY, |n| n as f64);
        let asked = self.plan.rows().workload.iter().zip(&request.workload).enumerate();
        let moved: Vec<usize> = asked.filter(|(_, (a, b))| a.cuboid != b.cuboid).map(|(t, _)| t).collect();
        self.prediction.cells = request.workload.iter().map(|t| cells(&t.cuboid)).sum();
        // Those are nodes of other levels.
        self.prediction.worst.retain(|t, _| !moved.contains(t));
        self.plan.rows_mut().workload.clone_from(&request.workload);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::{Categories, Dimension};
    use crate::exact::Rational;

    /// Six ages in three groups; a second dimension whose groups are no neighbours.
    fn cube() -> Cube {
        let dimension = |name: &str, up: [u32; 6]| {
            let mut d = Dimension::plain(name, (0..6).map(|v| v.to_string()).collect());
            let groups = Categories {
                name: "g".into(),
                labels: ["x", "y", "z"].map(String::from).to_vec(),
                parent: vec![0; 3],
                bounds: Vec::new(),
            };
            d.levels.insert(1, groups);
            d.levels[2].parent = up.to_vec();
            Dimension::new(name, d.levels)
        };
        Cube {
            dimensions: vec![dimension("age", [0, 0, 0, 1, 2, 2]), dimension("place", [0, 1, 2, 0, 1, 2])],
        }
    }

    #[test]
    fn groups_are_intervals() {
        let cube = cube();
        let ask = |d: usize, asked: Ranges| Table {
            asks: Asks::product(vec![(d as u16, asked)]),
            ..Table::new(Cuboid::new(vec![(d, 1)]), Rational::whole(3))
        };
        let finest = [vec![0, 2], vec![0, 2]];
        let list = |asked: Ranges| {
            let told = told(&cube, &finest, &ask(0, asked)).unwrap();
            assert_eq!((&told.cuboid, told.weight), (&Cuboid::new(vec![(0, 2)]), Rational::whole(3)));
            told.asks.of(0).cloned().unwrap_or_default()
        };
        assert_eq!(list(Ranges::Cells), Ranges::Intervals(vec![(0, 2), (3, 3), (4, 5)]));
        assert_eq!(list(Ranges::Prefixes), Ranges::Intervals(vec![(0, 2), (0, 3), (0, 5)]));
        let all = vec![(0, 2), (0, 3), (0, 5), (3, 3), (3, 5), (4, 5)];
        assert_eq!(list(Ranges::All), Ranges::Intervals(all));
        assert_eq!(list(Ranges::Total), Ranges::Total);
        assert_eq!(list(Ranges::Intervals(vec![(1, 2)])), Ranges::Intervals(vec![(3, 5)]));
        // At a level in use nothing changes; of groups that are no neighbours only the total is left.
        let as_is = ask(0, Ranges::Prefixes);
        assert_eq!(told(&cube, &[vec![0, 1, 2], vec![0]], &as_is), Some(as_is.clone()));
        assert_eq!(told(&cube, &finest, &ask(1, Ranges::Cells)), None);
        assert!(told(&cube, &finest, &ask(1, Ranges::Total)).is_some());
        assert_eq!(told(&cube, &[vec![0], vec![0]], &as_is), None, "no level tells it");
    }
}
