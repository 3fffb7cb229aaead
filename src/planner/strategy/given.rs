//! `given`: the agency names the tables and their exact shares of the budget, as census offices do.
//!
//! A share is a rational and so is the budget: the scale is their exact quotient, not rounded where it fits.
//! The shares add up to one, so the whole budget is spent and no more.

use super::{NotApplicable, check_size, share_scale};
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::{Block, Measurement, Neighbours, Noise, round};
use crate::planner::Request;

/// The measurements that were named.
pub fn given(request: &Request, frame: &Frame) -> Result<Vec<Measurement>, NotApplicable> {
    if request.shares.is_empty() {
        return Err(NotApplicable::NoShares);
    }
    for table in &request.workload {
        if !request.shares.iter().any(|s| table.cuboid.is_below(&s.cuboid)) {
            return Err(NotApplicable::NotHeld(request.cube.describe(&table.cuboid)));
        }
    }
    request
        .shares
        .iter()
        .map(|s| {
            let name = || request.cube.describe(&s.cuboid);
            check_size(frame, &s.cuboid, name)?;
            let scale = exact_scale(request, s.share)
                .or_else(|| round::up(share_scale(request, s.share.to_f64())))
                .ok_or_else(|| NotApplicable::ScaleOutOfRange(name()))?;
            Ok(Measurement { block: Block::Table(s.cuboid.clone()), scale })
        })
        .collect()
}

/// `C/ε_r` or `C/(2ρ_r)`. `None` when it does not fit.
fn exact_scale(request: &Request, share: Rational) -> Option<Rational> {
    let rows = u128::from(request.max_rows);
    let change = if request.neighbours == Neighbours::Substitute { 2 } else { 1 };
    let spent = request.budget.checked_mul(share)?;
    let (price, spent) = match request.noise {
        Noise::Laplace => (rows * change, spent),
        Noise::Gaussian => (rows * rows * change, spent.checked_mul(Rational::whole(2))?),
    };
    // A denominator of 64 bits leaves the cost's arithmetic room.
    Rational::whole(price).checked_div(spent).filter(|s| s.numerator().max(s.denominator()) < 1 << 64)
}
