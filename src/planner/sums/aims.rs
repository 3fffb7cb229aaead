//! What the budget is shared out for among channels, where that is not the least total: the worst cell, or targets.
//!
//! The variance of a sum is `D²·v_t + c²·v_n`: v_t is that of Σt in units of a row's reach, v_n that of the count, D half the distance between the bounds and c the middle, here as
//! parts of the largest value. A table's sums want it to be at most `most`, several numbers the same count, and the counts' own users a precision `1/v_n ≥ own`. **Claim.** Of all
//! that give everybody what is wanted, one table by itself costs least where `w = 1/v_n` is the larger of `own` and the root of `Σ (D²)^p c² / (most·w − c²)^(1+p) = 1`, with p = 1 under
//! Gaussian noise and ½ under Laplace noise, and where each `1/v_t = D²/(most − c²/w)`. **Proof.** A channel's cost is its precision to the power p. So the cost of one table is
//! `w^p + Σ (D² w/(most·w − c²))^p`, convex in `w^p`, and its derivative vanishes there. ∎ So each channel has weights or targets of its own, and is planned by itself; if it keeps them, sums keep theirs.
//! Counts are planned first. Where tables have noise in common, some of these are better than they must be, and sums then want less of their own channel.

use super::shares::Counted;
use super::{Part, Tails};
use crate::cube::{Cuboid, NoValue, Quantity};
use crate::exact::Rational;
use crate::plan::{Noise, Objective, Subject, Table, Target, round};
use crate::planner::request::{Request, Summed};

/// What the sums of one number in one table want.
struct Want<'a> {
    quantity: &'a Quantity,
    cuboid: &'a Cuboid,
    /// `D²`, `c²` and the most that the variance may be, in squares of the largest value; at the worst cell's level, where that is made small.
    half: f64,
    middle: f64,
    most: f64,
    level: Option<Rational>,
}

/// All of them. `tails`, one a target, say how much smaller variances must be than normal errors' would be.
fn wants<'a>(request: &'a Request, tails: &'a [f64]) -> Option<Vec<Want<'a>>> {
    let mut out = Vec::new();
    for Summed { quantity, tables, targets, exact, .. } in &request.sums {
        let (middle, half) = quantity.stakes()?;
        let largest = quantity.grain() * quantity.reach() as f64 + quantity.origin().abs();
        // What has no noise wants nothing.
        let noisy = |(_, t): &(usize, &Table)| !exact.iter().any(|e| t.cuboid.is_below(e));
        for (at, table) in tables.iter().enumerate().filter(noisy) {
            let (most, level) = match request.objective {
                Objective::Total => continue,
                Objective::Worst => (half.to_f64() / table.weight.to_f64(), None),
                Objective::Targets => {
                    let Some(target) = targets.get(at).copied().flatten() else { continue };
                    (target.variance() / (largest * largest), Some(target.level))
                }
            };
            let tail = if level.is_some() { tails.get(out.len()).copied().unwrap_or(1.0) } else { 1.0 };
            let (half, middle, most) = (half.to_f64(), middle.to_f64(), most * tail);
            out.push(Want { quantity, cuboid: &table.cuboid, half, middle, most, level });
        }
    }
    Some(out)
}

/// The precision of a table's counts at which they and the sums that need them cost least together.
fn split(noise: Noise, own: f64, wants: &[&Want]) -> f64 {
    let p = if noise.squares() { 1.0 } else { 0.5 };
    let needing = || wants.iter().filter(|w| w.middle > 0.0);
    let least = needing().map(|w| w.middle / w.most).fold(0.0, f64::max);
    if least == 0.0 {
        return own;
    }
    // What all sums together would give to have counts that are a little more precise, over what it costs.
    let gain = |at: f64| -> f64 {
        let of = |w: &&Want| libm::pow(w.half, p) * w.middle / libm::pow(w.most * at - w.middle, 1.0 + p);
        needing().map(of).sum()
    };
    // Each alone would have no more than this, and several no more than so many times it.
    let alone = |w: &&Want| (w.middle + libm::pow(libm::pow(w.half, p) * w.middle, 1.0 / (1.0 + p))) / w.most;
    let (mut low, mut high) = (least, needing().map(alone).fold(0.0, f64::max) * needing().count() as f64);
    while high / low > 1.0 + 1e-12 {
        let middle = libm::sqrt(low * high);
        if !(low < middle && middle < high) {
            break;
        }
        if gain(middle) > 1.0 { low = middle } else { high = middle }
    }
    own.max(high)
}

/// What a request wants of counts alone: for each table its weight without that of sums, which a spec has put there for the least total.
pub(crate) fn own_weights(request: &Request) -> Option<Vec<f64>> {
    let mut out = Vec::with_capacity(request.workload.len());
    for table in &request.workload {
        let all = table.weight.to_f64();
        let mut of_sums = 0.0;
        for s in request.sums.iter().filter(|s| needs_rows(&s.quantity) && table.asks.is_cells()) {
            let Some(summed) = s.tables.iter().find(|t| t.cuboid == table.cuboid) else { continue };
            let (middle, half) = s.quantity.stakes()?;
            of_sums += summed.weight.to_f64() / half.to_f64() * middle.to_f64();
        }
        // Nothing but what rounding leaves.
        out.push(if of_sums > all * (1.0 - 1e-9) { 0.0 } else { all - of_sums });
    }
    Some(out)
}

/// Whether sums need the number of all rows.
fn needs_rows(quantity: &Quantity) -> bool {
    quantity.missing != NoValue::Skip && quantity.needs_count()
}

/// A normal error's margin of this variance.
fn target_of(variance: f64, level: Rational) -> Option<Target> {
    let unit = Target { margin: Rational::ONE, level };
    Some(Target { margin: round::up(libm::sqrt(variance / unit.variance()))?, level })
}

/// Weighs the tables of a channel, and sets them targets, for the request's objective. It is as it is for the least total; those of counts
/// come first.
pub(super) fn aim(request: &Request, tails: &Tails, part: &mut Part, counted: &[Counted]) -> Option<()> {
    if request.objective == Objective::Total {
        return Some(());
    }
    let wants = wants(request, &tails.sums)?;
    if part.subject == Subject::Rows {
        part.request.tails.clone_from(&tails.counts);
    }
    let worst = request.objective == Objective::Worst;
    let own = if part.subject == Subject::Rows && worst { own_weights(request)? } else { Vec::new() };
    let counts = |quantity: &Quantity| {
        let mut known = counted.iter().filter(|c| match &c.subject {
            Subject::Rows => needs_rows(quantity),
            other => other.quantity().is_some_and(|q| **q == *quantity),
        });
        known.next()
    };
    let asked = part.request.workload.clone();
    for (at, table) in asked.iter().enumerate().filter(|(_, t)| t.asks.is_cells()) {
        let here = |want: &&Want| *want.cuboid == table.cuboid;
        let of: Vec<&Want> = wants.iter().filter(here).collect();
        let target = part.request.target_variance(at);
        let (own, wanted, level, of_sums) = match &part.subject {
            Subject::Rows => {
                let own = match worst {
                    true => own.get(at).copied().unwrap_or(0.0),
                    false => target.map_or(0.0, f64::recip),
                };
                let needing: Vec<&Want> = of.into_iter().filter(|w| needs_rows(w.quantity)).collect();
                let level = needing.first().and_then(|w| w.level);
                (own, split(request.noise, own, &needing), level, !needing.is_empty())
            }
            Subject::Valued(quantity) if quantity.needs_count() => {
                let mine: Vec<&Want> = of.into_iter().filter(|w| *w.quantity == **quantity).collect();
                let level = mine.first().and_then(|w| w.level);
                (0.0, split(request.noise, 0.0, &mine), level, !mine.is_empty())
            }
            Subject::Sum(quantity) => {
                let Some(want) = of.into_iter().find(|w| *w.quantity == **quantity) else { continue };
                let told = counts(quantity).filter(|_| want.middle > 0.0);
                let told = told.and_then(|c| c.precisions.iter().find(|(cuboid, _)| *cuboid == table.cuboid));
                let left = want.most - told.map_or(0.0, |(_, precision)| want.middle / precision);
                (0.0, want.half / left, want.level, true)
            }
            _ => continue,
        };
        // Counts that no sum needs stay as they are asked for, to the digit.
        match level {
            Some(level) if wanted > own => {
                *part.request.targets.get_mut(at)? = Some(target_of(wanted.recip(), level)?);
                part.request.tails.iter_mut().skip(at).take(1).for_each(|tail| *tail = 1.0);
            }
            None if worst && of_sums => part.request.workload.get_mut(at)?.weight = round::up_small(wanted)?,
            _ => {}
        }
    }
    if !worst && part.request.targets.iter().all(Option::is_none) {
        part.request.objective = Objective::Total;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No other precision of the counts is cheaper, for several sums of one table and both noises; for one sum alone it is the closed form.
    #[test]
    fn counts_and_sums_share_a_table_at_the_least_cost() {
        let quantity: Quantity = serde_json::from_value(serde_json::json!({
            "name": "x", "unit": null, "description": null, "low": 0, "high": 10, "step": 1, "places": 0, "missing": "stop"
        }))
        .unwrap();
        let cuboid = Cuboid::total();
        let want = |half: f64, middle: f64, most: f64| Want {
            quantity: &quantity,
            cuboid: &cuboid,
            half: half * half,
            middle: middle * middle,
            most,
            level: None,
        };
        let sets = [
            vec![want(0.5, 0.5, 1.0)],
            vec![want(0.9, 0.1, 2.0), want(0.2, 0.8, 0.5)],
            vec![want(0.5, 0.5, 4.0), want(0.6, 0.4, 3.0), want(0.99, 0.01, 0.01)],
        ];
        for (noise, p) in [(Noise::Gaussian, 1.0), (Noise::Laplace, 0.5)] {
            for wants in &sets {
                let all: Vec<&Want> = wants.iter().collect();
                for own in [0.0, 0.7, 5.0] {
                    let cost = |w: f64| {
                        let of = |want: &Want| (want.half / (want.most - want.middle / w)).powf(p);
                        w.powf(p) + wants.iter().map(of).sum::<f64>()
                    };
                    let found = split(noise, own, &all);
                    assert!(found >= own);
                    let floor = wants.iter().map(|w| w.middle / w.most).fold(own, f64::max);
                    for i in 1..4000 {
                        let other = floor + f64::from(i) * 0.01;
                        assert!(cost(found) <= cost(other) * (1.0 + 1e-9), "{noise:?} {own} {found} {other}");
                    }
                }
            }
        }
        let alone = split(Noise::Gaussian, 0.0, &[&want(0.7, 0.3, 2.0)]);
        assert!((alone - 0.3 / 2.0).abs() < 1e-9, "{alone}");
    }
}
