//! The parts of the budget of all channels: for the worst cell all are equally bad; for targets each has at least what it needs.

use super::{Part, growth, in_wide_noise, scaled};
use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::{Measure, Objective, Subject, Table, round};
use crate::planner::closure::Spread;
use crate::planner::objective::{CARE, MET};
use crate::planner::planned::{PlanError, Planned};
use crate::planner::predict::Prediction;
use crate::planner::request::Request;

/// How often a channel is planned with less, to learn what its targets take.
const STEPS: usize = 6;

/// What rounding of scales and of shares may take.
const ROUNDED: f64 = 1e-5;

/// A channel of counts that is planned: by its tables, what it is told precisely where everybody just has what is wanted.
pub(super) struct Counted {
    pub(super) subject: Subject,
    pub(super) precisions: Vec<(Cuboid, f64)>,
}

/// What the objective makes small, of one plan of a channel: its largest weighted variance, or its largest ratio of a variance to its target's.
fn level(part: &Part, wide: &Prediction) -> f64 {
    let request = &part.request;
    let scale = |t: usize| match request.objective {
        Objective::Total => 0.0,
        Objective::Worst => request.workload.get(t).map_or(0.0, |t| t.weight.to_f64()),
        Objective::Targets => request.target_variance(t).map_or(0.0, f64::recip),
    };
    wide.tables.iter().enumerate().map(|(t, s)| s.max * scale(t)).fold(0.0, f64::max)
}

/// What a channel needs.
pub(super) struct Need {
    /// The part of the budget: of the worst cell in proportion, of targets just what they take.
    pub(super) share: f64,
    /// What its counts are told there.
    pub(super) counted: Option<Counted>,
}

/// What a channel needs, from its plan at the whole budget.
pub(super) fn need(
    request: &Request,
    measure: Measure,
    part: &Part,
    budget: Rational,
    whole: &Planned,
) -> Result<Need, PlanError> {
    let of_budget = |level: f64| if request.noise.squares() { level } else { libm::sqrt(level) };
    let look = |planned: &Planned, own: Rational| -> Result<(f64, Prediction), PlanError> {
        let (_, more) = scaled(request, part, planned, own)?;
        let wide = in_wide_noise(part, planned)?.scaled(growth(request.noise, more));
        Ok((level(part, &wide), wide))
    };
    let (mut found, mut wide) = look(whole, budget)?;
    let mut share = 1.0;
    // At a budget that suffices a plan looks at the total; at one that does not, it is as near to the targets as can be.
    for _ in 0..STEPS {
        if part.request.objective != Objective::Targets || found > 1.0 + MET || found <= 0.0 {
            break;
        }
        let poorer = 0.7 * share * of_budget(found);
        let Some(own) = round::up(budget.to_f64() * poorer) else { break };
        let Ok(planned) = super::alone(&Request { budget: own, ..part.request.clone() }, measure) else {
            break;
        };
        share = poorer;
        (found, wide) = look(&planned, own)?;
    }
    let told = |(table, spread): (&Table, &Spread)| {
        let precision = if spread.max > 0.0 { found / spread.max } else { f64::INFINITY };
        (table.cuboid.clone(), precision)
    };
    let cells = part.request.workload.iter().zip(&wide.tables).filter(|(t, _)| t.asks.is_cells());
    let counts = matches!(part.subject, Subject::Rows | Subject::Valued(_)) && found > 0.0;
    let counted =
        counts.then(|| Counted { subject: part.subject.clone(), precisions: cells.map(told).collect() });
    Ok(Need { share: share * of_budget(found), counted })
}

/// The parts of the budget of all channels. `roots` are what they get in proportion for the least total.
pub(super) fn shares(request: &Request, needs: &[f64], roots: &[f64]) -> Vec<f64> {
    let in_proportion = |of: &[f64]| {
        let all: f64 = of.iter().sum();
        of.iter().map(|x| x / all).collect::<Vec<f64>>()
    };
    match request.objective {
        Objective::Total => in_proportion(roots),
        Objective::Worst => in_proportion(needs),
        Objective::Targets => {
            // A channel without targets keeps its standard errors within some times what the least total would give it.
            let care = if request.noise.squares() { CARE * CARE } else { CARE };
            let kept = in_proportion(roots);
            // A little more than is needed, as scales are rounded.
            let least: Vec<f64> = needs
                .iter()
                .zip(kept)
                .map(|(need, kept)| (need * (1.0 + ROUNDED)).max(kept / care))
                .collect();
            above(&least, roots)
        }
    }
}

/// Shares in proportion to `roots`, but none below its `least`; in proportion to these where they are too much together.
fn above(least: &[f64], roots: &[f64]) -> Vec<f64> {
    let together: f64 = least.iter().sum();
    if together >= 1.0 {
        return least.iter().map(|l| l / together).collect();
    }
    let mut bound = vec![false; least.len()];
    loop {
        let each = || least.iter().zip(roots).zip(&bound);
        let kept: f64 = each().filter(|(_, b)| **b).map(|((l, _), _)| l).sum();
        let free: f64 = each().filter(|(_, b)| !**b).map(|((_, r), _)| r).sum();
        let share = |((l, r), b): ((&f64, &f64), &bool)| if *b { *l } else { r / free * (1.0 - kept) };
        let shares: Vec<f64> = each().map(share).collect();
        let below: Vec<usize> = (0..shares.len()).filter(|&i| !bound[i] && shares[i] < least[i]).collect();
        if below.is_empty() {
            return shares;
        }
        below.into_iter().for_each(|i| bound[i] = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_less_than_its_least() {
        assert_eq!(above(&[0.1, 0.1], &[3.0, 1.0]), [0.75, 0.25]);
        assert_eq!(above(&[0.1, 0.5], &[3.0, 1.0]), [0.5, 0.5]);
        assert_eq!(above(&[1.5, 0.5], &[1.0, 1.0]), [0.75, 0.25]);
        let three = above(&[0.0, 0.6, 0.2], &[4.0, 1.0, 1.0]);
        assert!((three[0] - 0.2).abs() < 1e-12 && three[1] == 0.6 && three[2] == 0.2, "{three:?}");
    }
}
