//! Levels that nobody named: where sums of neighbouring categories are asked for, halves of halves of them may be measured as well.
//!
//! A tree of branching factor 2, 4, 8, … is every first, second, third, … level of halves. Which one is best depends on what is asked: few
//! levels leave long sums, many levels share the budget (Hay, Rastogi, Miklau & Suciu 2010; Qardaji, Yang & Li 2013). All are tried.

use super::ask::Ask;
use super::kind::levels_of;
use super::landscape::{Choice, Landscape};
use crate::cube::Frame;
use crate::plan::strategy::is_one_dimension;
use crate::plan::{BudgetRule, Table};
use crate::planner::closure::Closure;
use crate::planner::request::Request;

/// Sums over groups of unequal size are predicted one by one: not more of them than this, in one table.
const MOST_UNEQUAL: usize = 256;

/// The levels of the best tree; those of the tables alone, where none is better.
pub(super) fn best(request: &Request) -> Vec<Vec<u8>> {
    let named = levels_of(request, None);
    let mut best = (error(request, &named).unwrap_or(f64::INFINITY), named.clone());
    for stride in 1.. {
        let levels = every(request, &named, stride);
        if levels == named {
            break;
        }
        if let Some(error) = error(request, &levels).filter(|e| *e < best.0) {
            best = (error, levels);
        }
    }
    best.1
}

/// Every level of halves, where that can be predicted; those of the tables alone otherwise.
pub(super) fn all(request: &Request) -> Vec<Vec<u8>> {
    let named = levels_of(request, None);
    let levels = every(request, &named, 1);
    if can_be_predicted(request, &levels) { levels } else { named }
}

/// The levels named, and between them every `stride`-th one above each, along dimensions that are asked for sums.
fn every(request: &Request, named: &[Vec<u8>], stride: usize) -> Vec<Vec<u8>> {
    let summed = |d: usize| request.workload.iter().any(|t| t.asks.of(d).is_some());
    let one = |(d, levels): (usize, &Vec<u8>)| {
        if !summed(d) {
            return levels.clone();
        }
        let finest = levels.last().copied().unwrap_or(0);
        let above = |l: u8| levels.iter().find(|&&n| n >= l).copied().unwrap_or(finest);
        (0..=finest)
            .filter(|&l| levels.contains(&l) || usize::from(above(l) - l).is_multiple_of(stride))
            .collect()
    };
    named.iter().enumerate().map(one).collect()
}

fn can_be_predicted(request: &Request, levels: &[Vec<u8>]) -> bool {
    let frame = Frame::new(&request.cube, levels);
    let nodes = |t: &Table| -> usize {
        t.cuboid.iter().filter(|l| t.asks.of(l.dimension).is_some()).map(|l| frame.rung(l).len()).product()
    };
    frame.is_balanced()
        || is_one_dimension(&request.workload)
        || request.workload.iter().all(|t| nodes(t) <= MOST_UNEQUAL)
}

/// What `hierarchy` comes to over these levels; `None` where it does not apply.
fn error(request: &Request, levels: &[Vec<u8>]) -> Option<f64> {
    if !can_be_predicted(request, levels) {
        return None;
    }
    let frame = Frame::new(&request.cube, levels);
    let closure = Closure::new(&request.cube, &frame, &request.workload);
    let ask = Ask { request, frame: &frame, closure: &closure, budgets: BudgetRule::Optimal };
    Some(hierarchy(&ask.landscape().ok()?, true).error)
}

/// Rounds of descent where sums are asked for.
const SETTLE: usize = 300;

/// Every table with a component of its own, and the workload's tables; with `settled` budgets, those of them that are worth it.
pub(super) fn hierarchy(land: &Landscape, settled: bool) -> Choice {
    let tables: Vec<_> = land.components().iter().map(|&s| land.shape(s)).collect();
    let equal = vec![1.0; tables.len()];
    let mut choice = land.choice(tables, equal);
    if settled {
        land.descend(&mut choice, SETTLE);
        return land.prune(&choice);
    }
    land.descend(&mut choice, 1);
    choice
}
