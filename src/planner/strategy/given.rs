//! `given`: the agency names the tables and their exact shares of the budget, as census offices do.
//!
//! A share is a rational and so is the budget: the scale is their exact quotient, not rounded where it fits.
//! The shares add up to one, so the whole budget is spent and no more.

use super::ask::Ask;
use super::kind::{Rules, Strategy};
use super::refusal::{Measured, NotApplicable};
use crate::exact::Rational;
use crate::plan::{Block, Measurement, Neighbours, round};
use crate::planner::request::Request;

pub(super) struct Given;

impl Strategy for Given {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        Ok(vec![(given(ask)?, None)])
    }

    fn needs(&self) -> Option<fn(&Request) -> bool> {
        Some(|request| !request.shares.is_empty())
    }

    /// Given shares leave no rule a choice.
    fn rules(&self) -> Rules {
        Rules::Fixed
    }
}

/// The measurements that were named.
fn given(ask: &Ask) -> Result<Vec<Measurement>, NotApplicable> {
    let request = ask.request;
    if request.shares.is_empty() {
        return Err(NotApplicable::NoShares);
    }
    for table in &request.workload {
        if !request.is_exact(&table.cuboid)
            && !request.shares.iter().any(|s| table.cuboid.is_below(&s.cuboid))
        {
            return Err(NotApplicable::NotHeld(ask.name(&table.cuboid)));
        }
    }
    request
        .shares
        .iter()
        .map(|s| {
            ask.check_size(&s.cuboid)?;
            let scale = exact_scale(request, s.share)
                .or_else(|| round::up(ask.share_scale(s.share.to_f64())))
                .ok_or_else(|| NotApplicable::ScaleOutOfRange(ask.name(&s.cuboid)))?;
            Ok(Measurement { block: Block::Table(s.cuboid.clone()), scale })
        })
        .collect()
}

/// `C/ε_r` or `C/(2ρ_r)`. `None` when it does not fit.
fn exact_scale(request: &Request, share: Rational) -> Option<Rational> {
    let rows = u128::from(request.max_rows);
    let change = if request.neighbours == Neighbours::Substitute { 2 } else { 1 };
    let price = request.noise.powered(rows)?.checked_mul(change)?;
    let spent =
        request.budget.checked_mul(share)?.checked_mul(Rational::whole(request.noise.divisor().into()))?;
    // A denominator of 64 bits leaves the cost's arithmetic room.
    Rational::whole(price).checked_div(spent).filter(|s| s.numerator().max(s.denominator()) < 1 << 64)
}
