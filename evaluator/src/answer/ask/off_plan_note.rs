//! Whether a question was among those that the release was planned for, where that makes a difference.
//!
//! A plan that was made for ranges or for a list of questions knows those well, and others as well as may be. A reader is told only where a
//! count is much less precise than what was planned for in the tables that hold it: of each of those two questions are looked at, or the middle
//! row of a SELECT. A release that was asked for cells alone says nothing: every sum of cells is what they make it.

use crate::answer::figure::question::Question;
use crate::answer::tell::open::Answers;
use crate::cube::{Cube, Filter, Level, Summand};
use crate::joint::JointLaw;
use crate::plan::{Asks, Ranges, Selected, Table};
use crate::render::rough;
use crate::sql::{Aggregate, Portion};
use std::convert::Infallible;
use std::sync::Arc;

/// Standard errors beyond so many times that of what was planned for are much larger.
const MUCH: f64 = 3.0;
/// Where more tables than this hold a count, nobody is told: it would take longer than the answer.
const MOST_HOLDING: usize = 64;
/// The most tables that are looked at.
const MOST_TABLES: usize = 8;

/// What a reader is told of a question with these laws of its rows, each with the portion that the row is of.
pub(in crate::answer) fn note<'a, 'q>(
    release: &Answers,
    question: &'q Question,
    laws: impl Iterator<Item = (usize, &'a Arc<JointLaw>)>,
) -> Option<String> {
    let plan = release.evaluator().recovery().plan();
    if plan.rows().workload.iter().all(|t| t.asks.is_cells()) {
        return None;
    }
    let width = question.aggregates.len();
    let mut largest = vec![vec![0.0f64; width]; question.portions.len()];
    let mut last: Option<(usize, &Arc<JointLaw>)> = None;
    for (portion, law) in laws {
        if last.is_some_and(|last| last.0 == portion && Arc::ptr_eq(last.1, law)) {
            continue;
        }
        last = Some((portion, law));
        let most = largest.get_mut(portion).into_iter().flatten();
        most.zip(law.variances()).for_each(|(most, variance)| *most = most.max(variance));
    }
    let of = |(at, p): (usize, &'q Portion)| p.aggregates.iter().map(move |a| (at, a));
    let aggregates = question.portions.iter().enumerate().flat_map(of);
    let times = aggregates.zip(largest.iter().flatten()).filter_map(|((portion, aggregate), &variance)| {
        // Sums are planned for whole tables.
        let count = aggregate.subject == Summand::Rows
            && aggregate.filter.weights.iter().all(|w| *w == 0.0 || *w == 1.0);
        let planned = if count && variance > 0.0 {
            planned(release, question.levels(portion), aggregate)?
        } else {
            return None;
        };
        let ratio = (variance / planned).sqrt();
        (ratio > MUCH && ratio.is_finite()).then_some((ratio, planned.sqrt()))
    });
    let (ratio, planned) = times.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    Some(format!(
        "Not among the questions that {} was planned for: the standard error is up to {} times what theirs in the same tables is (about {}).",
        release.name(),
        rough(ratio),
        rough(planned)
    ))
}

/// The largest variance that was looked at of what the plan was made for in the tables that hold a count. `None` where the count itself is
/// among that, or nothing is known.
fn planned(release: &Answers, group_by: &[Level], aggregate: &Aggregate) -> Option<f64> {
    let cube = release.cube();
    // No plan knows a reader's own groups.
    if group_by.iter().any(|at| cube.dimensions[at.dimension].districts_at(at.level).is_some()) {
        return None;
    }
    let count = Selected::of_count(cube, aggregate.clone(), group_by.to_vec());
    let workload = &release.evaluator().recovery().plan().rows().workload;
    let holding = workload.iter().enumerate().filter(|(_, t)| count.cuboid.is_below(&t.cuboid));
    let tables: Vec<(usize, &Table)> = holding.collect();
    if tables.len() > MOST_HOLDING || tables.iter().any(|(_, t)| asks_for(cube, t, &count)) {
        return None;
    }
    let look = |&(number, table): &(usize, &Table)| {
        let most = || Ok::<_, Infallible>(some(release, table).into_iter().reduce(f64::max));
        let Ok(most) = release.looked.of(number, most);
        most
    };
    tables.iter().take(MOST_TABLES).filter_map(look).reduce(f64::max)
}

/// Whether a table was asked for every row of a count.
fn asks_for(cube: &Cube, table: &Table, count: &Selected) -> bool {
    if let Asks::Query(_) = &table.asks {
        let same = |s: Selected| s.group_by == count.group_by && s.aggregates.contains(&count.aggregates[0]);
        return Selected::of(cube, table).is_some_and(same);
    }
    let over = Selected { cuboid: table.cuboid.clone(), ..count.clone() };
    let Some(sides) = over.product(cube) else { return false };
    sides.into_iter().zip(table.cuboid.iter()).all(|((d, of_count), level)| {
        let n = level.of(cube).len() as u32;
        let planned = table.asks.of(d).unwrap_or(&Ranges::Cells);
        of_count.is_some_and(|own| own.intervals(n).all(|at| planned.holds(n, at)))
    })
}

/// The variances of some of what a table was asked for.
fn some(release: &Answers, table: &Table) -> Vec<f64> {
    let (cube, evaluator) = (release.cube(), release.evaluator());
    if let Asks::Query(_) = &table.asks {
        let Some(selected) = Selected::of(cube, table) else { return Vec::new() };
        let nodes: Vec<u32> = selected.group_by.iter().map(|at| at.of(cube).len() as u32 / 2).collect();
        let figure = |(at, terms): (usize, &Vec<(usize, f64)>)| {
            if !selected.has_row(cube, at, &nodes) {
                return None;
            }
            let mut factors = vec![0.0; selected.aggregates.len()];
            terms.iter().for_each(|&(a, c)| factors[a] += c);
            let law = evaluator.law(&selected.aggregates, &factors, &selected.group_by, &nodes);
            law.ok().map(|law| law.variance())
        };
        return selected.figures.iter().enumerate().filter_map(figure).collect();
    }
    let of = |wide: bool| {
        let filter = table.cuboid.iter().try_fold(Filter::everything(), |filter, level| {
            let interval =
                interval(table.asks.of(level.dimension).unwrap_or(&Ranges::Cells), level, cube, wide);
            filter.and(&nodes(cube, level, interval)).ok()
        })?;
        let aggregate = Aggregate::rows(filter, None);
        evaluator.law(&[aggregate], &[1.0], &[], &[]).ok().map(|law| law.variance())
    };
    [true, false].into_iter().filter_map(of).collect()
}

/// One of the intervals asked of a level.
fn interval(asked: &Ranges, level: Level, cube: &Cube, wide: bool) -> (u32, u32) {
    let n = level.of(cube).len() as u32;
    match (asked, wide) {
        (Ranges::Cells, true) => (n / 2, n / 2),
        (Ranges::Cells, false) => (0, 0),
        (Ranges::Prefixes, true) => (0, (2 * n).div_ceil(3) - 1),
        (Ranges::Prefixes, false) => (0, (n / 2).max(1) - 1),
        (Ranges::All, true) => (n / 6, n - 1 - n / 6),
        (Ranges::All, false) => (n / 3, n - 1 - n / 3),
        (Ranges::Total, _) => (0, n - 1),
        (Ranges::Intervals(list), wide) => {
            let length = |at: &&(u32, u32)| at.1 - at.0;
            let found = if wide { list.iter().max_by_key(length) } else { list.iter().min_by_key(length) };
            found.copied().unwrap_or((0, n - 1))
        }
    }
}

/// What is in some neighbouring nodes of a level.
fn nodes(cube: &Cube, level: Level, (first, last): (u32, u32)) -> Filter {
    let d = &cube.dimensions[level.dimension];
    let inside = |node: &u32| (first..=last).contains(node);
    Filter::nodes(
        level.dimension,
        &d.ancestors(d.finest(), level.level).iter().map(inside).collect::<Vec<_>>(),
    )
}
