//! `fourier`: categories coded in bits, and every Walsh–Hadamard coefficient that a table of the workload needs.
//!
//! A unit is in every coefficient, with one sign: the `M_A = Π(2^k − 1)` coefficients of component A are as many groups
//! of column norm 1. A cell of table B is the signed mean `2^{−K_B}` of all coefficients below it, so each has the
//! weight `s = Σ_B w_B n_B 4^{−K_B}`, the same for all of a component, and the closed forms apply. What is recovered is
//! better than that where a dimension's categories are not a power of two: least squares knows that the other codes
//! do not occur.

use super::{Groups, NotApplicable, check_size};
use crate::cube::{Frame, walsh};
use crate::plan::Block;
use crate::planner::Request;
use crate::planner::closure::Closure;

/// The blocks: one for each component.
pub(super) fn coefficients(
    request: &Request,
    frame: &Frame,
    closure: &Closure,
) -> Result<Groups, NotApplicable> {
    if let Some(d) = frame.axes.iter().position(|a| a.rungs.len() > 2) {
        return Err(NotApplicable::SeveralLevels(request.cube.dimensions[d].name.clone()));
    }
    if !request.exact.is_empty() {
        return Err(NotApplicable::ExactCoefficients);
    }
    let mut weight = vec![0.0; closure.components.len()];
    for (table, below) in request.workload.iter().zip(&closure.tables) {
        let padded = |(d, l): (usize, usize)| walsh::padded(frame.rung(d, l).real_len()) as f64;
        let codes: f64 = table.cuboid.iter().map(padded).product();
        let share = table.weight.to_f64() * frame.cells(&table.cuboid) / (codes * codes);
        below.iter().for_each(|&a| weight[a as usize] += share);
    }
    let mut groups = Groups::new();
    for (component, weight) in closure.components.iter().zip(weight) {
        let name = || request.cube.describe(component);
        check_size(frame, component, name)?;
        let many = frame.walsh_len(component).ok_or_else(|| NotApplicable::ScaleTooLarge(name()))? as f64;
        groups.push(
            Block::Walsh(component.clone()),
            many * request.unit_price(request.noise),
            many * weight,
            1.0,
        );
        if let Some(groups) = groups.groups.last_mut() {
            *groups = many;
        }
    }
    Ok(groups)
}
