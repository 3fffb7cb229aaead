//! Margins that a spec asks for: whether the file's noise keeps them.
//!
//! A spec may ask for more than its budget can buy; then its plan misses margins, and says so. A file whose spec asks for ± 50 is read as one that is good for
//! ± 50, so what its noise really keeps is reckoned anew, by the laws of the cells that are known least well. It never decides: what a file
//! is good for is in every answer. Nor must a recipient's copy keep them: it may have more noise than the spec's margins allow.

use super::Audit;
use super::content::Content;
use crate::answer::Evaluator;
use crate::cube::Cuboid;
use crate::plan::Target;
use crate::release::Outcome::{Passed, Skipped, Warning};
use crate::spec::Spec;
use std::sync::Arc;

/// The most margins that are reckoned, and of tables of so many cells.
const MOST: usize = 32;
const MOST_CELLS: u64 = 1 << 18;

/// What rounding a scale costs.
const MET: f64 = 1e-6;

/// Reckons the margins of counts and of sums.
pub(super) fn check(audit: &mut Audit, spec: &Spec, content: &Content) {
    let plan = &content.plan;
    if content.projection.is_some() {
        return;
    }
    let spec = &*spec.planned(plan);
    let cube = Arc::new(content.cube.clone());
    let (mut counts, mut unknown): (Vec<(&Cuboid, Target)>, usize) = (Vec::new(), 0);
    for (table, target) in spec.workload.iter().zip(&spec.targets) {
        match target {
            Some(target) if table.asks.is_cells() => counts.push((&table.cuboid, *target)),
            // Of ranges and the like nobody knows which is known least well.
            Some(_) => unknown += 1,
            None => {}
        }
    }
    let of_sums = |a: &crate::spec::AmountSpec| -> Vec<(Cuboid, Target)> {
        let each = a.tables.iter().zip(&a.targets);
        each.filter_map(|(table, target)| Some((table.cuboid.clone(), (*target)?))).collect()
    };
    let sums: Vec<_> = spec.amounts.iter().map(|a| (&a.quantity, of_sums(a))).collect();
    let cuboids =
        || counts.iter().map(|(c, _)| *c).chain(sums.iter().flat_map(|(_, of)| of.iter().map(|(c, _)| c)));
    let all = cuboids().count() + unknown;
    if all == 0 {
        return;
    }
    let large = |c: &Cuboid| cube.cells(c).is_none_or(|n| n > MOST_CELLS);
    if all > MOST || cuboids().any(large) {
        return audit.add(
            "targets",
            Skipped,
            "the margins that the spec asks for are too many to reckon".into(),
        );
    }
    let own = sums.iter().map(|(quantity, of)| (*quantity, of.iter().map(|(c, t)| (c, *t)).collect()));
    let halves = Evaluator::half_widths(&cube, plan, &counts, &own.collect::<Vec<_>>());
    let named = counts.iter().map(|(cuboid, target)| (cube.describe(cuboid), target));
    let named = named.chain(sums.iter().flat_map(|(quantity, of)| {
        of.iter().map(|(c, target)| (format!("sums of {}, {}", quantity.name, cube.describe(c)), target))
    }));
    let mut missed = Vec::new();
    for ((what, target), half) in named.zip(halves) {
        match half {
            None => unknown += 1,
            Some(half) if half <= target.margin.to_f64() * (1.0 + MET) => {}
            Some(half) => missed.push(format!("{what}: ± {half:.4} instead of ± {}", target.margin.shown())),
        }
    }
    let whose = if plan.copy.is_some() { "this copy's" } else { "the file's" };
    let (outcome, detail) = match (missed.first(), unknown) {
        (Some(first), _) => (
            Warning,
            format!(
                "{whose} noise does not keep {} of {all} margins that the spec asks for; the first: {first}",
                missed.len()
            ),
        ),
        (None, 0) => (
            Passed,
            format!(
                "{whose} noise keeps all {all} margins that the spec asks for (up to the next whole number or step), reckoned anew"
            ),
        ),
        (None, n) => (
            Skipped,
            format!(
                "{n} of {all} margins that the spec asks for are not reckoned anew (ranges, own queries, or too long); the rest are kept"
            ),
        ),
    };
    audit.add("targets", outcome, detail);
}
