//! Whether what was measured is what the spec and its strategy come to, where that needs no search.

use super::needed;
use crate::cube::{Cube, Cuboid, Frame, Level};
use crate::exact::Rational;
use crate::plan::{Block, BudgetRule, Channel, Measure, Measurement, Plan, Subject};
use crate::spec::{PLAN_SUMS, Spec};
use std::collections::{BTreeSet, HashSet};

/// Shares are told from scales, which are rounded.
const CLOSE: f64 = 1e-6;

/// Whether the rows that are measured are those of the spec: the agency's own, or what its questions come to. Each is measured once.
pub(super) fn rows(spec: &Spec, plan: &Plan) -> bool {
    // Rows that a search found are nobody's own.
    if plan.measure == Measure::Together {
        return true;
    }
    let mut found: Vec<(&Cuboid, &Vec<(u32, i32)>)> = Vec::new();
    for m in &plan.rows().measurements {
        if let Block::Rows(rows) = &m.block {
            found.extend(rows.rows.iter().map(|row| (&rows.cuboid, row)));
        }
    }
    let asked = spec.strategy.rows.as_ref().filter(|_| plan.measure == Measure::Matrix);
    let mut wanted: Vec<_> =
        asked.into_iter().flat_map(|rows| rows.rows.iter().map(|row| (&rows.cuboid, row))).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    found == wanted
}

/// Whether the strategy measures such blocks of whatever has cells; of tables and components that follow from the spec just those, of `given` at the spec's
/// shares, and of `budgets = "uniform"` at equal ones. The spec is the [planned](Spec::planned) one, the plan that of the first copy: what is asked of each
/// channel has been compared. `cube` is what the plan speaks of.
pub(super) fn blocks(spec: &Spec, cube: &Cube, plan: &Plan) -> bool {
    // Of nothing that is asked nothing is measured: of rows, where sums need no counts.
    let asked = |c: &&Channel| !(c.workload.is_empty() && c.measurements.is_empty());
    let with_cells = plan.channels.iter().filter(|c| c.subject.has_cells()).filter(asked);
    { with_cells }.all(|channel| of_channel(spec, cube, plan, channel))
}

/// The same of one channel.
fn of_channel(spec: &Spec, cube: &Cube, plan: &Plan, channel: &Channel) -> bool {
    let (measure, exact) = (plan.measure, needed::exact(plan, channel));
    if channel.subject != Subject::Rows && !PLAN_SUMS.contains(&measure) {
        return false;
    }
    let measured = &channel.measurements;
    let is_of = |block: &Block| match measure {
        // Where groups differ in size nodes have weights.
        Measure::Residual => match block {
            Block::Component(_) => true,
            Block::Based(based) => based.axes.iter().all(|told| told.basis().is_none()),
            _ => false,
        },
        Measure::Wavelet => matches!(block, Block::Pairs(_)),
        Measure::Fourier => matches!(block, Block::Walsh(_)),
        Measure::Matrix | Measure::Together => matches!(block, Block::Rows(_)),
        Measure::Bases => matches!(block, Block::Component(_) | Block::Based(_)),
        Measure::Queries
        | Measure::Base
        | Measure::Hierarchy
        | Measure::Cluster
        | Measure::Tables
        | Measure::Given => matches!(block, Block::Table(_)),
    };
    if !measured.iter().all(|m| is_of(&m.block)) {
        return false;
    }
    // Only now is it known that plan and strategy speak of the same levels.
    let frame = Frame::new(cube, &plan.levels);
    if plan.budgets == BudgetRule::Uniform && !equal_shares(&frame, plan, measured) {
        return false;
    }
    let known = |c: &Cuboid| exact.iter().any(|e| c.is_below(e));
    let asked = channel.workload.iter().map(|t| &t.cuboid).filter(|c| !known(c));
    let mut wanted: Vec<(Cuboid, Option<Rational>)> = match measure {
        Measure::Base => vec![(asked.fold(Cuboid::total(), |all, c| all.join(c)), None)],
        Measure::Queries => asked.collect::<BTreeSet<_>>().into_iter().map(|c| (c.clone(), None)).collect(),
        Measure::Given => spec.strategy.shares.iter().map(|s| (s.cuboid.clone(), Some(s.share))).collect(),
        // Every component below the tables, each once.
        Measure::Residual | Measure::Bases | Measure::Wavelet | Measure::Fourier => {
            let own: HashSet<&Cuboid> = measured.iter().map(|m| m.block.cuboid()).collect();
            let tables = channel.workload.iter().map(|t| &t.cuboid);
            // Bases tell groups of neighbours as intervals of the finest level; others have every level that is asked for.
            let in_use = |at: Level| frame.axes.get(at.dimension).is_some_and(|a| a.rung(at.level).is_some());
            if measure != Measure::Bases && !{ tables.clone() }.all(|t| t.iter().all(in_use)) {
                return false;
            }
            let needed = needed::components(&frame, tables, exact, &own);
            return own.len() == measured.len() && needed.is_ok_and(|n| n.len() == own.len());
        }
        // Tables that follow from a search: none tells more than all that are asked for together.
        Measure::Hierarchy | Measure::Cluster => {
            let all = asked.fold(Cuboid::total(), |all, c| all.join(c));
            return measured.iter().all(|m| m.block.cuboid().is_below(&all));
        }
        Measure::Tables | Measure::Matrix | Measure::Together => return true,
    };
    let mut found: Vec<_> = measured.iter().map(|m| (m.block.cuboid(), m.scale)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if !found.iter().map(|f| f.0).eq(wanted.iter().map(|w| &w.0)) {
        return false;
    }
    // Where the cost leaves something over, all noise gets smaller by one factor: shares stay what they are to each other.
    let parts = found.iter().zip(&wanted).filter_map(|(f, w)| Some(f.1.to_f64() * w.1?.to_f64()));
    alike(parts)
}

/// Whether all shares are the same, but for rounding.
fn alike(mut parts: impl Iterator<Item = f64>) -> bool {
    let first = parts.next().unwrap_or_default();
    parts.all(|part| (part - first).abs() <= CLOSE * first)
}

/// Whether everything that is measured has an equal share of the budget, as far as that follows from a rule: the search of `tables` may give a table the shares of
/// two that it took the place of, and shares that are given are no rule's.
fn equal_shares(frame: &Frame, plan: &Plan, measured: &[Measurement]) -> bool {
    if matches!(plan.measure, Measure::Tables | Measure::Given | Measure::Together) {
        return true;
    }
    // The scale of each in units of how far one row moves it, squared where squares count. Of a block of several groups each group has a share.
    let part = |m: &Measurement| {
        let moved = match &m.block {
            Block::Component(_) | Block::Based(_) => m.block.sensitivity(frame, plan.noise)? as f64,
            // All rows of a block have the same noise, so the same largest factor.
            Block::Rows(rows) => {
                let largest = |row: &Vec<(u32, i32)>| row.iter().map(|(_, f)| f.unsigned_abs()).max();
                let mut all = rows.rows.iter().map(largest);
                let first = all.next()??;
                if !all.all(|own| own == Some(first)) {
                    return None;
                }
                plan.noise.power(f64::from(first))
            }
            _ => 1.0,
        };
        Some(m.scale.to_f64() / moved)
    };
    measured.iter().map(part).collect::<Option<Vec<f64>>>().is_some_and(|parts| alike(parts.into_iter()))
}

/// What of a spec's strategy is not compared though the spec asks for it in a word.
pub(super) fn unchecked(plan: &Plan) -> Option<&'static str> {
    let searched = plan.measure == Measure::Tables && plan.budgets == BudgetRule::Uniform;
    searched.then_some("whether the tables that were searched for have equal shares")
}
