//! What a plan costs in privacy, recomputed from the blocks and scales alone.
//!
//! **Guarantee.** Drawing iid discrete Gaussian noise of variance parameter `s²` on the integers and adding
//! it to integer counts that move by an integer vector of squared length at most `Δ²` is `Δ²/(2s²)`-zCDP
//! (Canonne, Kamath & Steinke 2020, Theorem 4 and its multivariate form); discrete Laplace noise of scale `b`
//! on counts that move by `Δ` in L1 is `Δ/b`-DP (Ghosh, Roughgarden & Sundararajan 2009). Measurements made
//! one after the other add up (composition).
//!
//! **Components.** `D_A (m_A M_A x + z)`: adding a unit to cell `e` moves the counts by `m_A e`. Every vector that
//! differs from `m_A e` by an integer element of the kernel of `D_A` gives the same output, so the noise only
//! has to hide the shortest: in each dimension `w = m e − round(m/c)·1_group` (c siblings), and `⊗ w` in all. With
//! `m` a multiple of `c` its squared length is exactly `m²(1−1/c)`: the price of the projection, no more.
//!
//! **Rows** that the agency wrote need not cost every unit the same: see [`rows`].
//!
//! Costs are summed in fixed point with 96 fractional bits, every term rounded up, so the sum is never less than
//! the true cost.

mod joint;
mod rows;

use super::{Block, Neighbours, Noise, Plan};
use crate::cube::{Cuboid, Frame, Rung};
use crate::exact::Rational;

/// Why a cost cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// The integers involved do not fit; a plan with such numbers is refused.
    #[error("the privacy cost of measurement {0} does not fit the arithmetic")]
    Overflow(usize),
    /// A scale of zero would be no noise at all.
    #[error("measurement {0} has no noise")]
    NoNoise(usize),
}

/// How the worst case over all pairs of neighbours was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorstCase {
    /// Every unit costs the same in every block: the costs add up.
    Sum,
    /// The maximum over all cells.
    Cells,
    /// The maximum over all sets of dimensions in which two cells can differ.
    Joint,
    /// An upper bound: the two cells' vectors taken as opposite in every block.
    Bound,
}

/// The privacy cost of a plan.
#[derive(Debug, Clone)]
pub struct Cost {
    /// The whole release, in the noise's currency, rounded up.
    pub total: Rational,
    /// Each measurement alone.
    pub each: Vec<Rational>,
    /// How `total` follows from the blocks.
    pub worst_case: WorstCase,
}

const FRACTION_BITS: u32 = 96;

/// `⌈r · 2^96⌉`.
fn fixed_point_up(r: Rational) -> Option<u128> {
    let (num, den) = (r.numerator(), r.denominator());
    let mut quotient = num / den;
    let mut remainder = num % den;
    let mut left = FRACTION_BITS;
    while left > 0 {
        // As many bits at a time as the remainder leaves room for.
        let step = remainder.leading_zeros().min(left).min(64);
        if step == 0 {
            return None;
        }
        remainder <<= step;
        quotient = quotient.checked_mul(1 << step)?.checked_add(remainder / den)?;
        remainder %= den;
        left -= step;
    }
    quotient.checked_add(u128::from(remainder > 0))
}

/// The integer scale `m` of one rung: counts are multiplied by it so that the projection's shift is (almost)
/// integral. The least common multiple of the group sizes where that is small, a power of two otherwise.
pub fn rung_scale(rung: &Rung) -> u128 {
    const EXACT_UP_TO: u128 = 4096;
    let mut lcm: u128 = 1;
    let mut largest: u128 = 1;
    let mut previous = 0;
    for &c in &rung.siblings {
        if c == previous {
            continue;
        }
        previous = c;
        let c = u128::from(c);
        largest = largest.max(c);
        if lcm <= EXACT_UP_TO {
            lcm = lcm / gcd(lcm, c) * c;
        }
    }
    if lcm <= EXACT_UP_TO.max(largest) { lcm } else { (largest * 64).next_power_of_two() }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The integer scale `m_A` of a component.
pub fn component_scale(frame: &Frame, cuboid: &Cuboid) -> Option<u128> {
    cuboid.iter().try_fold(1u128, |m, (d, l)| m.checked_mul(rung_scale(frame.rung(d, l))))
}

/// The largest `‖w‖²` of one rung.
fn rung_norm(rung: &Rung, m: u128) -> u128 {
    rung.siblings
        .iter()
        .map(|&c| {
            let c = u128::from(c);
            let r = (m + c / 2) / c;
            (m - r) * (m - r) + (c - 1) * r * r
        })
        .max()
        .unwrap_or(0)
}

/// `max ‖⊗ w‖²` of a component: the squared L2 sensitivity of its integer measurement for one row.
pub fn component_norm(frame: &Frame, cuboid: &Cuboid) -> Option<u128> {
    cuboid.iter().try_fold(1u128, |n, (d, l)| {
        let rung = frame.rung(d, l);
        n.checked_mul(rung_norm(rung, rung_scale(rung)))
    })
}

/// How far one row moves the values of a block at most: squared for Gaussian noise, in L1 for Laplace.
fn column_norm(frame: &Frame, noise: Noise, block: &Block) -> Option<u128> {
    match (block, noise) {
        // In one cell, and in one pair at most.
        (Block::Table(_) | Block::Pairs(_), _) => Some(1),
        (Block::Component(a), Noise::Gaussian) => component_norm(frame, a),
        // Components are measured with Gaussian noise only; the bound √n·‖·‖₂ would be loose here.
        (Block::Component(_), Noise::Laplace) => None,
        // In every coefficient, with one sign or the other.
        (Block::Walsh(a), _) => frame.walsh_len(a).map(u128::from),
        (Block::Rows(rows), Noise::Gaussian) => rows.column_norm_squared(),
        (Block::Rows(rows), Noise::Laplace) => rows.column_norm(),
    }
}

/// What one measurement costs on its own: (sensitivity: squared L2 for Gaussian, L1 for Laplace; cost).
pub fn measurement_cost(plan: &Plan, frame: &Frame, index: usize) -> Result<(Rational, Rational), CostError> {
    let m = &plan.measurements[index];
    let overflow = CostError::Overflow(index);
    if m.scale.is_zero() {
        return Err(CostError::NoNoise(index));
    }
    let rows = u128::from(plan.max_rows);
    // Two rows in a table are in different cells; in signed sums they may be opposite.
    let substitute = match (plan.neighbours, &m.block, plan.noise) {
        (Neighbours::AddRemove, ..) => 1,
        (_, Block::Table(_), _) | (.., Noise::Laplace) => 2,
        (.., Noise::Gaussian) => 4,
    };
    let change = substitute * if plan.noise == Noise::Gaussian { rows * rows } else { rows };
    let norm = column_norm(frame, plan.noise, &m.block);
    let sensitivity = norm.and_then(|n| n.checked_mul(change)).ok_or(overflow.clone())?;
    let sensitivity = Rational::whole(sensitivity);
    let halves = if plan.noise == Noise::Gaussian { 2 } else { 1 };
    let cost = m
        .scale
        .checked_mul(Rational::whole(halves))
        .and_then(|s| sensitivity.checked_div(s))
        .ok_or(overflow)?;
    Ok((sensitivity, cost))
}

/// What it costs to count the units that have more than `max_rows` rows.
///
/// **Guarantee.** With discrete Gaussian noise of variance parameter `s²` the count is `1/(2s²)`-zCDP, with discrete
/// Laplace noise of scale `b` it is `1/b`-DP, under `add-remove` and under `substitute`, whatever `max_rows` is. **Proof.** Whether
/// a unit has more than `max_rows` rows depends on its own rows alone, so the count is a sum over units of 0 or 1. A unit more
/// or less changes one term: the count moves by at most 1. Under `substitute` one term is put in another's place, `|1 − 0|` at
/// most: again 1. The number of *rows* that are left out would not do: one unit may bring any number of them. **Source.** The
/// noise: Canonne, Kamath & Steinke 2020; Ghosh, Roughgarden & Sundararajan 2009. It adds to the tables' cost by composition.
pub fn truncation_cost(plan: &Plan) -> Result<Option<Rational>, CostError> {
    let Some(scale) = plan.truncation else { return Ok(None) };
    let index = plan.measurements.len();
    if scale.is_zero() {
        return Err(CostError::NoNoise(index));
    }
    let halves = Rational::whole(if plan.noise == Noise::Gaussian { 2 } else { 1 });
    let cost = scale.checked_mul(halves).and_then(|s| Rational::ONE.checked_div(s));
    cost.map(Some).ok_or(CostError::Overflow(index))
}

/// The scale at which [`truncation_cost`] is just within a part of the budget.
pub fn truncation_scale(noise: Noise, budget: Rational, share: Rational) -> Result<Rational, CostError> {
    let overflow = CostError::Overflow(0);
    let halves = Rational::whole(if noise == Noise::Gaussian { 2 } else { 1 });
    let spent = budget.checked_mul(share).and_then(|b| b.checked_mul(halves)).ok_or(overflow.clone())?;
    // Towards more noise, and a little beyond, so that rounding of the sum stays within the budget.
    super::round::up(1.0 / spent.to_f64() * (1.0 + 1e-9)).ok_or(overflow)
}

/// The cost of a whole plan.
pub fn cost(plan: &Plan, frame: &Frame) -> Result<Cost, CostError> {
    let mut total: u128 = 0;
    let mut each = Vec::with_capacity(plan.measurements.len());
    let mut others = 0;
    for (index, m) in plan.measurements.iter().enumerate() {
        let (_, cost) = measurement_cost(plan, frame, index)?;
        each.push(cost);
        if !matches!(m.block, Block::Rows(_)) {
            others += 1;
            total =
                fixed_point_up(cost).and_then(|c| total.checked_add(c)).ok_or(CostError::Overflow(index))?;
        }
    }
    let mut worst_case = WorstCase::Sum;
    let rows = rows::rows_cost(plan, frame)?;
    if let Some((cost, case)) = rows {
        total = total.checked_add(cost).ok_or(CostError::Overflow(0))?;
        worst_case = if others == 0 { case } else { WorstCase::Bound };
    }
    // Two rows in whole tables are always in different cells, or the same; in signed sums they may be opposite.
    let signed = plan.measurements.iter().any(|m| !matches!(m.block, Block::Table(_)));
    if rows.is_none() && signed && plan.neighbours == Neighbours::Substitute {
        worst_case = WorstCase::Bound;
        if let Some(joint) = joint::joint_cost(plan, frame) {
            total = total.min(joint);
            worst_case = WorstCase::Joint;
        }
    }
    let truncation = truncation_cost(plan)?;
    if let Some(cost) = truncation {
        let index = plan.measurements.len();
        total = fixed_point_up(cost).and_then(|c| total.checked_add(c)).ok_or(CostError::Overflow(index))?;
    }
    let mut total = Rational::new(total, 1 << FRACTION_BITS).ok_or(CostError::Overflow(0))?;
    // Shares that add up to the whole budget cost just that: the terms' rounding must not make it more.
    if total > plan.budget
        && each.iter().chain(&truncation).try_fold(Rational::ZERO, |sum, c| sum.checked_add(*c))
            == Some(plan.budget)
    {
        total = plan.budget;
    }
    Ok(Cost { total, each, worst_case })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_rounds_up() {
        let third = Rational::new(1, 3).unwrap();
        let up = fixed_point_up(third).unwrap();
        assert_eq!(up, (1u128 << 96) / 3 + 1);
        assert_eq!(fixed_point_up(Rational::new(5, 4).unwrap()).unwrap(), (1 << 96) + (1 << 94));
        assert_eq!(fixed_point_up(Rational::new(1, (1 << 100) + 1).unwrap()).unwrap(), 1);
        assert!(fixed_point_up(Rational::whole(1 << 33)).is_none());
    }

    #[test]
    fn group_norms() {
        let rung = |siblings: Vec<u32>| {
            let parent: Vec<u32> =
                siblings.iter().enumerate().flat_map(|(p, &c)| vec![p as u32; c as usize]).collect();
            let n = parent.len();
            Rung { level: 1, parent, copies: vec![1; n], multiplicity: vec![1; n], siblings }
        };
        // Equal groups, and groups whose lcm is small: exactly m²(1 − 1/c) of the largest group.
        for siblings in [vec![7, 7], vec![5, 3], vec![1, 4, 6], vec![5000]] {
            let rung = rung(siblings);
            let m = rung_scale(&rung);
            let c = u128::from(*rung.siblings.iter().max().unwrap());
            assert_eq!(rung_norm(&rung, m) * c, m * m * (c - 1), "{:?}", rung.siblings);
        }
        // Awkward sizes: a power of two, within 1e-4 of the projection's price.
        let rung = rung(vec![97, 89, 83]);
        let m = rung_scale(&rung);
        assert!(m.is_power_of_two());
        let price = rung_norm(&rung, m) as f64 / (m * m) as f64;
        let least = 1.0 - 1.0 / 97.0;
        assert!((least..least * 1.0001).contains(&price), "{price}");
    }
}
