//! The exact worst case where nodes have weights: over all cells.
//!
//! What a unit in cell `j` costs is `Σ_A f_A Π_i p_i(j_i)`: for each measurement a unit's price `f_A`, and for each dimension with weights the squared
//! length by which its node moves the integers; all other dimensions cost every cell the same, at most. It grows with every `p_i`. So of each dimension only those
//! leaves count whose lengths, over all levels, are not below those of another one; what is left is gone through, dimension by dimension.

use super::moved;
use super::terms::{CostError, fixed_point_up};
use crate::cube::{Frame, Numbers};
use crate::exact::Rational;
use crate::plan::{Block, Channel, Form, NodeWeights, Plan};
use std::collections::BTreeMap;

/// The most steps on one number.
const MOST_STEPS: usize = 1 << 30;

/// Whether cells differ in what they cost.
pub(super) fn differ(channel: &Channel) -> bool {
    channel.measurements.iter().any(|m| matches!(&m.block, Block::Based(b) if b.is_weighted()))
}

/// The cost of all that is measured but rows, in fixed point, rounded up; `first` is the number of the channel's first measurement.
pub(super) fn dearest(
    plan: &Plan,
    channel: &Channel,
    frame: &Frame,
    first: usize,
) -> Result<u128, CostError> {
    let dimensions = dimensions(channel, frame);
    // By the lengths that go into it, one for each dimension: 0 where it has no part.
    let mut prices: BTreeMap<Vec<usize>, u128> = BTreeMap::new();
    for (index, m) in (first..).zip(&channel.measurements) {
        if m.block.form() == Form::Rows {
            continue;
        }
        let overflow = CostError::Overflow(index);
        let (sensitivity, scale) = moved(plan, frame, &channel.subject, m, index)?;
        let mut key = vec![0; dimensions.len()];
        let mut rest = sensitivity;
        if let Block::Based(block) = &m.block {
            for (d, l, told) in block.dimensions() {
                let at = dimensions.iter().position(|own| own.number == d);
                if let (Some(at), Some(weights)) = (at, told.weights()) {
                    let own = (l, &**weights);
                    key[at] =
                        dimensions[at].levels.iter().position(|known| *known == own).map_or(0, |i| i + 1);
                    // The sensitivity is that of the dearest node.
                    rest = rest.checked_div(weights.norm().into()).unwrap_or(0);
                }
            }
        }
        let price = unit_price(plan, rest, scale).ok_or(overflow.clone())?;
        let sum = prices.entry(key).or_insert(0);
        *sum = sum.checked_add(price).ok_or(overflow)?;
    }
    let leaves: usize = dimensions
        .iter()
        .map(|d| d.leaves.len())
        .try_fold(1usize, |n, l| n.checked_mul(l))
        .unwrap_or(usize::MAX);
    if leaves.saturating_mul(prices.len()) > MOST_STEPS {
        return Err(CostError::Overflow(first));
    }
    let dense = dense(&dimensions, &prices).ok_or(CostError::Overflow(first))?;
    largest(&dimensions, &dense).ok_or(CostError::Overflow(first))
}

/// What a squared length of one costs, in fixed point, rounded up.
fn unit_price(plan: &Plan, times: u128, scale: Rational) -> Option<u128> {
    if times == 0 {
        return Some(0);
    }
    fixed_point_up(plan.noise.cost(times, scale)?)
}

/// A dimension with weights.
struct Dimension<'a> {
    number: usize,
    /// Its levels that are measured with weights, each with those: more than once, where components have weights of their own.
    levels: Vec<(usize, &'a NodeWeights)>,
    /// The squared lengths of a leaf's ancestors in each of those, of leaves that are not below others in all of them; a 1 before them.
    leaves: Vec<Vec<u64>>,
}

fn dimensions<'a>(channel: &'a Channel, frame: &Frame) -> Vec<Dimension<'a>> {
    let mut levels: BTreeMap<usize, BTreeMap<usize, Vec<&NodeWeights>>> = BTreeMap::new();
    for m in &channel.measurements {
        let Block::Based(block) = &m.block else { continue };
        for (d, l, told) in block.dimensions() {
            if let Some(weights) = told.weights() {
                let known = levels.entry(d).or_default().entry(l).or_default();
                if !known.contains(&&**weights) {
                    known.push(weights);
                }
            }
        }
    }
    let of = |(number, levels): (usize, BTreeMap<usize, Vec<&'a NodeWeights>>)| {
        // From total down, each node's lengths so far: as few kinds of nodes as there are.
        let mut kinds: Vec<Vec<u64>> = vec![vec![1]];
        let mut kind_of: Vec<u32> = vec![0];
        let axis = &frame.axes[number];
        let finest = levels.keys().next_back().and_then(|l| axis.rung(*l)).unwrap_or(0);
        for rung in &axis.rungs[1..=finest] {
            kind_of = rung.parent.iter().map(|&p| kind_of.get(p as usize).copied().unwrap_or(0)).collect();
            for weights in levels.get(&rung.level).into_iter().flatten() {
                let (mut numbers, mut longer) = (Numbers::default(), Vec::new());
                let of = |(&above, &length): (&u32, &u64)| {
                    numbers.of((above, length), || {
                        longer.push([&kinds[above as usize][..], &[length]].concat());
                    })
                };
                kind_of = kind_of.iter().zip(weights.norms()).map(of).collect();
                kinds = longer;
            }
        }
        let levels = levels.into_iter().flat_map(|(l, all)| all.into_iter().map(move |own| (l, own)));
        Dimension { number, levels: levels.collect(), leaves: highest(kinds) }
    };
    levels.into_iter().map(of).collect()
}

/// Those that are not below another one in all entries.
fn highest(mut all: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    let mut kept: Vec<Vec<u64>> = Vec::new();
    // Looked at from the largest sum on: what is above comes before what is below. Only the first some hundred are compared with.
    all.sort_by_cached_key(|v| std::cmp::Reverse(v.iter().map(|n| u128::from(*n)).sum::<u128>()));
    for leaf in all {
        let above = |k: &Vec<u64>| k.iter().zip(&leaf).all(|(a, b)| a >= b);
        if !kept.iter().take(256).any(above) {
            kept.push(leaf);
        }
    }
    kept
}

/// The prices for every combination of levels, the last dimension fastest.
fn dense(dimensions: &[Dimension], prices: &BTreeMap<Vec<usize>, u128>) -> Option<Vec<u128>> {
    let width = |d: &Dimension| d.levels.len() + 1;
    let mut out = vec![0u128; dimensions.iter().map(width).product()];
    for (key, price) in prices {
        let at = dimensions.iter().zip(key).fold(0, |at, (d, k)| at * width(d) + k);
        let own = out.get_mut(at)?;
        *own = own.checked_add(*price)?;
    }
    Some(out)
}

/// The largest sum over all leaves, contracted dimension by dimension.
fn largest(dimensions: &[Dimension], prices: &[u128]) -> Option<u128> {
    let Some((first, rest)) = dimensions.split_first() else { return prices.first().copied() };
    let inner = prices.len() / (first.levels.len() + 1);
    let mut most = 0;
    let mut sum = vec![0u128; inner];
    for leaf in &first.leaves {
        sum.fill(0);
        for (part, &length) in prices.chunks_exact(inner).zip(leaf) {
            for (s, &p) in sum.iter_mut().zip(part) {
                *s = s.checked_add(p.checked_mul(length.into())?)?;
            }
        }
        most = most.max(largest(rest, &sum)?);
    }
    Some(most)
}
