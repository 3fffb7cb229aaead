//! `residual`: every component below the workload once, as differences scaled to integers.
//!
//! What each table adds to the coarser ones is measured once and independently of all else: the optimal mechanism for weighted
//! totals of marginals under Gaussian noise (Xiao, He, Zhang & Kifer, NeurIPS 2023). Tables published exactly hold whole components,
//! which are then left out. Where groups of siblings differ in size, nodes have weights: see [`super::weighted`].

use super::ask::{Ask, Groups};
use super::kind::Strategy;
use super::refusal::{Measured, NotApplicable};
use super::weighted;
use crate::plan::{Block, block};
use crate::planner::closure::bases::Bases as Told;
use crate::planner::linearised::Linearised;

/// The largest integer scale `m_A`; counts times this stay far inside 64 bits.
const MOST_SCALE: u128 = 1 << 36;

pub(super) struct Residual;

impl Strategy for Residual {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        let mut sets = ask.components(components(ask)?)?;
        // Where groups differ in size; what that does not do the even shares do.
        if let Ok(Some(weighted)) = weighted::measure(ask, &Told::new()) {
            sets.extend(weighted);
        }
        Ok(sets)
    }
}

/// What measuring every component makes of the workload.
pub(crate) fn linearised_components(ask: &Ask) -> Result<Linearised, NotApplicable> {
    Ok(ask.linearised(&components(ask)?))
}

fn components(ask: &Ask) -> Result<Groups, NotApplicable> {
    if !ask.request.noise.squares() {
        return Err(NotApplicable::NeedsGaussian);
    }
    let mut groups = Groups::new();
    for (component, v) in ask.closure.components.iter().zip(ask.stakes()) {
        let block = Block::Component(component.clone());
        if ask.request.is_exact(component) {
            groups.push_known(block);
            continue;
        }
        let too_large = || NotApplicable::ScaleTooLarge(ask.name(component));
        ask.check_size(component)?;
        let m = block::component_scale(ask.frame, component).filter(|&m| m <= MOST_SCALE);
        let m = m.ok_or_else(too_large)? as f64;
        let norm = block::component_norm(ask.frame, component).ok_or_else(too_large)?;
        // The scale is that of the integer noise: s² = m²σ². Price and weight in those units.
        let price = norm as f64 * ask.request.unit_price();
        groups.push(block, price, v / (m * m), m);
    }
    Ok(groups)
}
