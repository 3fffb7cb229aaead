//! The exact worst case for `substitute` over plain dimensions.
//!
//! Two cells `e`, `e'` that differ in the dimensions `D` move block `r` by the distance of its two columns. For signed sums
//! that is `2(‖h_e‖² − ⟨h_e, h_e'⟩)` squared, and both are products over the dimensions of the block:
//!
//! | block | `‖h_e‖²` | factor of `⟨h_e, h_e'⟩` where they agree | where they differ |
//! |---|---|---|---|
//! | component, `w` of `n` categories | `Π n(n−1)` | `n(n−1)` | `−n` |
//! | coefficients, `n` categories in `k` bits | `Π (2^k−1)` | `2^k−1` | `−1` |
//! | differences of two categories | 1 | 1 | `−1` |
//! | table | 1 | 1 | 0 |
//!
//! All entries of the last three are ±1 or 0, so where entries differ they differ by 2 (by 1 in one of two cells of a
//! table), and the L1 distance is half the squared one (the same, for a table). The worst case is the largest total over all `D`.

use super::fixed_point_up;
use crate::cube::Frame;
use crate::exact::Rational;
use crate::plan::{Measurement, Noise, Plan};

const MOST_STEPS: u64 = 1 << 24;

/// The cost in fixed point. `None` when some dimension is not plain, or there are too many sets to try them all.
pub(super) fn joint_cost(plan: &Plan, frame: &Frame) -> Option<u128> {
    let mut used: Vec<usize> = Vec::new();
    for m in &plan.measurements {
        for (d, _) in m.block.cuboid().iter() {
            if frame.axes[d].rungs.len() != 2 {
                return None;
            }
            if !used.contains(&d) {
                used.push(d);
            }
        }
    }
    let sets = 1u64.checked_shl(used.len() as u32)?;
    if sets.checked_mul(plan.measurements.len() as u64)? > MOST_STEPS {
        return None;
    }
    // A unit that may own several rows may also own fewer: then the change is not k(e − e') but has one
    // side shorter. Norms are convex, so the worst of those is at k·e alone, which costs what adding k rows does.
    let mut worst = 0u128;
    if plan.max_rows > 1 {
        for m in &plan.measurements {
            worst = worst.checked_add(price(plan, m, m.block.sensitivity(frame, plan.noise)?)?)?;
        }
    }
    // A dimension of one category cannot differ, and then the products would not hold: leave it out.
    let can_differ: u64 = used
        .iter()
        .enumerate()
        .filter(|&(_, &d)| frame.axes[d].rungs[1].real_len() > 1)
        .map(|(bit, _)| 1u64 << bit)
        .sum();
    for set in (1..sets).filter(|s| s & !can_differ == 0) {
        let differs = |d: usize| used.iter().position(|&u| u == d).is_some_and(|bit| set >> bit & 1 == 1);
        let mut total = 0u128;
        for m in &plan.measurements {
            let distance = m.block.distance(frame, plan.noise, &differs)?;
            if distance > 0 {
                total = total.checked_add(price(plan, m, distance)?)?;
            }
        }
        worst = worst.max(total);
    }
    Some(worst)
}

/// What a distance costs, times the rows of a unit, in fixed point.
pub(super) fn price(plan: &Plan, m: &Measurement, distance: u128) -> Option<u128> {
    let rows = u128::from(plan.max_rows);
    let (moved, scale) = match plan.noise {
        Noise::Gaussian => {
            (distance.checked_mul(rows.checked_mul(rows)?)?, m.scale.checked_mul(Rational::whole(2))?)
        }
        Noise::Laplace => (distance.checked_mul(rows)?, m.scale),
    };
    fixed_point_up(Rational::whole(moved).checked_div(scale)?)
}
