//! `wavelet`: the Haar wavelet, as differences of the two halves of every group of a binary tree.
//!
//! One block for each component of the refined cube; a unit adds 1 or −1 to one difference of it (or is in none), so the
//! blocks are groups of column norm 1 for both kinds of noise. There are as many differences as there are cells:
//! every table follows from them in one way only, and components are recovered independently of each other. A block of
//! noise variance `s²` gives its component `σ_A² = s²/2^{|A|}`.

use super::ask::{Ask, Groups};
use super::kind::{Strategy, levels_of};
use super::refusal::{Measured, NotApplicable};
use crate::plan::Block;
use crate::plan::limits::MAX_MEASUREMENTS;
use crate::planner::request::Request;

pub(super) struct Wavelet;

impl Strategy for Wavelet {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        ask.components(pairs(ask)?)
    }

    /// Every level down to the finest one needed: each halves the groups of the one before.
    fn levels(&self, request: &Request) -> Result<Vec<Vec<u8>>, NotApplicable> {
        let mut levels = levels_of(request, None);
        for levels in &mut levels {
            let finest = levels.last().copied().unwrap_or(0);
            *levels = (0..=finest).collect();
        }
        check_components(&levels, request)?;
        Ok(levels)
    }
}

/// The blocks, over a refined cube.
fn pairs(ask: &Ask) -> Result<Groups, NotApplicable> {
    let mut groups = Groups::new();
    for (component, gain) in ask.closure.components.iter().zip(ask.stakes()) {
        let block = Block::Pairs(component.clone());
        if ask.request.is_exact(component) {
            groups.push_known(block);
            continue;
        }
        ask.check_size(component)?;
        // s² = 2^{|A|} σ²: the unit is its root.
        let halves = libm::exp2(component.len() as f64);
        groups.push(block, ask.request.unit_price(), gain / halves, halves.sqrt());
    }
    Ok(groups)
}

/// Refuses, before they are listed, what are too many components: one for every choice of levels below a table.
fn check_components(levels: &[Vec<u8>], request: &Request) -> Result<(), NotApplicable> {
    // Those with every dimension of their table: tables of the same dimensions share them.
    let mut seen = std::collections::BTreeMap::new();
    for t in &request.workload {
        let dims: Vec<usize> = t.cuboid.iter().map(|at| at.dimension).collect();
        let below = dims.iter().map(|&d| levels[d].len() as f64 - 1.0).product::<f64>();
        seen.insert(dims, below);
    }
    if seen.values().sum::<f64>() > MAX_MEASUREMENTS as f64 {
        return Err(NotApplicable::TooManyComponents);
    }
    Ok(())
}
