//! Margins that a spec asks for: whether the file's noise keeps them.
//!
//! A spec may ask for more than its budget can buy; then its plan misses margins, and says so. A file whose spec asks for ± 50 is read as one that is good for
//! ± 50, so what its noise really keeps is reckoned anew, by the laws of the cells that are known least well. It never decides: what a file
//! is good for is in every answer.

use super::Audit;
use super::content::Content;
use crate::answer::Evaluator;
use crate::cube::Cuboid;
use crate::law::ErrorLaw;
use crate::plan::Target;
use crate::recover::{Nothing, Recovery};
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
    if plan.copy.is_some() || content.projection.is_some() {
        return;
    }
    let spec = &*spec.planned(plan);
    let cube = Arc::new(content.cube.clone());
    let counts: Vec<(&Cuboid, Target)> = spec
        .workload
        .iter()
        .zip(&spec.targets)
        .filter(|(table, _)| table.asks.is_cells() && plan.exact_above(&table.cuboid).is_none())
        .filter_map(|(table, target)| Some((&table.cuboid, (*target)?)))
        .collect();
    let of_sums = |a: &crate::spec::AmountSpec| -> Vec<(Cuboid, Target)> {
        let each = a.tables.iter().zip(&a.targets);
        each.filter_map(|(table, target)| Some((table.cuboid.clone(), (*target)?))).collect()
    };
    let sums: Vec<_> = spec.amounts.iter().map(|a| (&a.quantity, of_sums(a))).collect();
    let cuboids =
        || counts.iter().map(|(c, _)| *c).chain(sums.iter().flat_map(|(_, of)| of.iter().map(|(c, _)| c)));
    let all = cuboids().count();
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
    let mut missed = Vec::new();
    let mut unknown = 0usize;
    let mut judge = |what: String, target: Target, law: Option<&ErrorLaw>| {
        let wanted = target.margin.to_f64();
        // As plans do: what is a whole number moves an interval's ends to one.
        let half = |law: &ErrorLaw| match plan.noise.is_normal() {
            true => wanted * (law.variance() / target.variance()).sqrt(),
            false => law.half_width(target.level.to_f64()),
        };
        match law.map(half) {
            None => unknown += 1,
            Some(half) if half <= wanted * (1.0 + MET) => {}
            Some(half) => missed.push(format!("{what}: ± {half:.4} instead of ± {}", target.margin)),
        }
    };
    let recovery = Recovery::new(cube.clone(), plan.clone(), Nothing).ok().map(Evaluator::new);
    for (cuboid, target) in counts {
        let law = recovery.as_ref().and_then(|r| r.worst_cell_law(cuboid).ok());
        judge(cube.describe(cuboid), target, law.as_deref());
    }
    for (quantity, of) in &sums {
        let laws =
            Evaluator::worst_sums(&cube, plan, quantity, of.iter().map(|(c, _)| c)).unwrap_or_default();
        let mut laws = laws.into_iter().map(Result::ok);
        for (cuboid, target) in of {
            let law = laws.next().flatten();
            judge(format!("sums of {}, {}", quantity.name, cube.describe(cuboid)), *target, law.as_ref());
        }
    }
    let (outcome, detail) = match (missed.first(), unknown) {
        (Some(first), _) => (
            Warning,
            format!(
                "the file's noise does not keep {} of {all} margins that the spec asks for; the first: {first}",
                missed.len()
            ),
        ),
        (None, 0) => (
            Passed,
            format!(
                "the file's noise keeps all {all} margins that the spec asks for (up to the next whole number or step), reckoned anew"
            ),
        ),
        (None, n) => (
            Skipped,
            format!("{n} of {all} margins that the spec asks for take long to reckon; the rest are kept"),
        ),
    };
    audit.add("targets", outcome, detail);
}
