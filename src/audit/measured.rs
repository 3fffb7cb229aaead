//! Whether what was measured is what the spec and its strategy come to, where that needs no search.

use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::{Block, Channel, Measure, Plan, Subject};
use crate::spec::{PLAN_SUMS, Spec};
use std::collections::BTreeSet;

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

/// Whether the strategy measures such blocks of whatever has cells; of tables that follow from the spec just those, and of `given` at the spec's
/// shares. The spec is the [planned](Spec::planned) one, the plan that of the first copy: what is asked of each channel has been compared.
pub(super) fn blocks(spec: &Spec, plan: &Plan) -> bool {
    // Of nothing that is asked nothing is measured: of rows, where sums need no counts.
    let asked = |c: &&Channel| !(c.workload.is_empty() && c.measurements.is_empty());
    let with_cells = plan.channels.iter().filter(|c| c.subject.has_cells()).filter(asked);
    let mut each = with_cells.map(|c| (c, if c.subject == Subject::Rows { &plan.exact } else { &c.exact }));
    each.all(|(channel, exact)| of_channel(spec, plan.measure, channel, exact))
}

/// The same of one channel, some of whose tables are exact.
fn of_channel(spec: &Spec, measure: Measure, channel: &Channel, exact: &[Cuboid]) -> bool {
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
    let known = |c: &Cuboid| exact.iter().any(|e| c.is_below(e));
    let asked = channel.workload.iter().map(|t| &t.cuboid).filter(|c| !known(c));
    let mut wanted: Vec<(Cuboid, Option<Rational>)> = match measure {
        Measure::Base => vec![(asked.fold(Cuboid::total(), |all, c| all.join(c)), None)],
        Measure::Queries => asked.collect::<BTreeSet<_>>().into_iter().map(|c| (c.clone(), None)).collect(),
        Measure::Given => spec.strategy.shares.iter().map(|s| (s.cuboid.clone(), Some(s.share))).collect(),
        _ => return true,
    };
    let mut found: Vec<_> = measured.iter().map(|m| (m.block.cuboid(), m.scale)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if !found.iter().map(|f| f.0).eq(wanted.iter().map(|w| &w.0)) {
        return false;
    }
    // Where the cost leaves something over, all noise gets smaller by one factor: shares stay what they are to each other.
    let parts = found.iter().zip(&wanted).filter_map(|(f, w)| Some(f.1.to_f64() * w.1?.to_f64()));
    let first = parts.clone().next().unwrap_or_default();
    parts.into_iter().all(|part| (part - first).abs() <= CLOSE * first)
}
