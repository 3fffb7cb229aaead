//! `wavelet`: the Haar wavelet, as differences of the two halves of every group of a binary tree.
//!
//! One block for each component of the refined cube; a unit adds 1 or −1 to one difference of it (or is in none), so the
//! blocks are groups of column norm 1 for both kinds of noise. There are as many differences as there are cells:
//! every table follows from them in one way only, and components are recovered independently of each other. A block of
//! noise variance `s²` gives its component `σ_A² = s²/2^{|A|}`.

use super::{Groups, MAX_MEASUREMENTS, NotApplicable, check_size, stakes};
use crate::cube::{Cuboid, Frame};
use crate::plan::Block;
use crate::planner::Request;
use crate::planner::closure::Closure;

/// The blocks, over a refined cube.
pub(super) fn pairs(request: &Request, frame: &Frame, closure: &Closure) -> Result<Groups, NotApplicable> {
    let mut groups = Groups::new();
    for (component, gain) in closure.components.iter().zip(stakes(request, frame, closure)) {
        let block = Block::Pairs(component.clone());
        if request.is_exact(component) {
            // Known without noise: measured at no price, that is, not at all.
            groups.push(block, 0.0, 0.0, 1.0);
            continue;
        }
        check_size(frame, component, || request.cube.describe(component))?;
        // s² = 2^{|A|} σ²: the unit is its root.
        let halves = libm::exp2(component.len() as f64);
        groups.push(block, request.unit_price(request.noise), gain / halves, halves.sqrt());
    }
    Ok(groups)
}

/// Refuses, before they are listed, what are too many components: one for every choice of levels below a table.
pub fn check_components<'a>(
    levels: &[Vec<u8>],
    tables: impl Iterator<Item = &'a Cuboid>,
) -> Result<(), NotApplicable> {
    let below = |t: &Cuboid| t.iter().map(|(d, _)| levels[d].len() as f64 - 1.0).product::<f64>();
    // Those with every dimension of their table: tables of the same dimensions share them.
    let mut seen = std::collections::BTreeMap::new();
    for t in tables {
        let dims: Vec<usize> = t.iter().map(|(d, _)| d).collect();
        seen.insert(dims, below(t));
    }
    if seen.values().sum::<f64>() > MAX_MEASUREMENTS as f64 {
        return Err(NotApplicable::TooManyComponents);
    }
    Ok(())
}
