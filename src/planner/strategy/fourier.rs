//! `fourier`: categories coded in bits, and every Walsh–Hadamard coefficient that a table of the workload needs.
//!
//! A unit is in every coefficient, with one sign: the `M_A = Π(2^k − 1)` coefficients of component A are as many groups
//! of column norm 1. A cell of table B is the signed mean `2^{−K_B}` of all coefficients below it, so each has the
//! weight `s = Σ_B w_B n_B 4^{−K_B}`, the same for all of a component, and the closed forms apply. What is recovered is
//! better than that where a dimension's categories are not a power of two: least squares knows that the other codes
//! do not occur.

use super::ask::{Ask, Groups};
use super::kind::Strategy;
use super::refusal::{Measured, NotApplicable};
use crate::cube::{Cuboid, Level, walsh};
use crate::plan::Block;

pub(super) struct Fourier;

impl Strategy for Fourier {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        ask.closed(coefficients(ask)?)
    }
}

/// To predict their errors, the components that each component's coefficients tell something of are gone through: itself, and without those of its
/// dimensions whose categories are no power of two. So many take some seconds.
const MOST_TOLD: usize = 1 << 22;

/// The blocks: one for each component.
fn coefficients(ask: &Ask) -> Result<Groups, NotApplicable> {
    let Ask { request, frame, closure, .. } = *ask;
    if let Some(d) = frame.axes.iter().position(|a| a.rungs.len() > 2) {
        return Err(NotApplicable::SeveralLevels(request.cube.dimensions[d].name.clone()));
    }
    let all = closure.components.len();
    let told = |component: &Cuboid| -> usize {
        let bare = |level: &Level| frame.rung(*level).real_len();
        let open = component.iter().filter(|level| walsh::padded(bare(level)) != bare(level)).count();
        1usize.checked_shl(open as u32).map_or(all, |below| below.min(all))
    };
    if closure.components.iter().map(told).fold(0, usize::saturating_add) > MOST_TOLD {
        return Err(NotApplicable::TooManyTables);
    }
    let mut weight = vec![0.0; all];
    for (t, (table, below)) in request.workload.iter().zip(&closure.tables).enumerate() {
        let padded = |level: Level| walsh::padded(frame.rung(level).real_len()) as f64;
        let codes: f64 = table.cuboid.iter().map(padded).product();
        // Sums of cells weigh on some coefficients more than on others: the mean stands for all.
        let share = table.weight.to_f64() * closure.held(t) * frame.cells(&table.cuboid) / (codes * codes);
        below.iter().for_each(|&a| weight[a as usize] += share);
    }
    let mut groups = Groups::new();
    for (component, weight) in closure.components.iter().zip(weight) {
        if request.is_exact(component) {
            groups.push_known(Block::Walsh(component.clone()));
            continue;
        }
        ask.check_size(component)?;
        let too_large = || NotApplicable::ScaleTooLarge(ask.name(component));
        let many = frame.walsh_len(component).ok_or_else(too_large)? as f64;
        let price = many * request.unit_price();
        groups.push_several(many, Block::Walsh(component.clone()), price, many * weight, 1.0);
    }
    Ok(groups)
}
