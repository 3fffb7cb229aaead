//! What a plan of counts and sums makes of its objective: errors of sums are those of two channels.

use super::aims::own_weights;
use crate::answer::Evaluator;
use crate::cube::{MeasuredFrom, NoValue, Quantity, Weighing};
use crate::plan::{Objective, Subject, Table, Target};
use crate::planner::planned::{Aimed, Planned, SumSpread};
use crate::planner::request::Request;
use crate::planner::tails;

/// Exact laws are worked out for up to so many targets of sums; with more, normal ones.
const EXACT_LAWS: usize = 64;

impl Planned {
    /// The mean and the largest variance of a sum of a table, from those of its own channel: the rest are the counts'.
    pub(crate) fn sum_variances(&self, quantity: &Quantity, table: &Table, own: (f64, f64)) -> (f64, f64) {
        let count = if quantity.needs_count() { self.of_count(quantity, table) } else { None };
        let (mean, most) = count.unwrap_or((0.0, 0.0));
        let (half, middle) = (quantity.grain(), quantity.origin());
        let both = |t: f64, n: f64| half * half * t + middle * middle * n;
        (both(own.0, mean), both(own.1, most))
    }

    /// The variance of a mean in a cell of so many rows, to the first order: the least, and the most that a mean between the bounds may have. `None` where the
    /// table tells no count to divide by, or values have weights.
    pub(crate) fn mean_variances(
        &self,
        quantity: &Quantity,
        (table, own): &(Table, (f64, f64)),
        rows: f64,
    ) -> Option<(f64, f64)> {
        let (count, _) = self.of_count(quantity, table).filter(|_| quantity.weighing == Weighing::Plain)?;
        // The errors of `grain · Σt + origin · n` and of n in `SUM/n`, which is m: `(grain · e_t + (origin − m) · e_n)/n`.
        let inside = quantity.from == MeasuredFrom::Middle || quantity.low <= 0 && 0 <= quantity.high;
        let near = quantity.low.unsigned_abs().min(quantity.high.unsigned_abs()) / quantity.step.max(1);
        let least = if inside { 0.0 } else { quantity.grain() * near as f64 };
        let most = quantity.grain() * quantity.reach() as f64;
        let at = |apart: f64| {
            (quantity.grain() * quantity.grain() * own.0 + apart * apart * count) / (rows * rows)
        };
        Some((at(least), at(most)))
    }

    /// The variance of a table's counts that sums need: of all rows, or of those with a value.
    fn of_count(&self, quantity: &Quantity, table: &Table) -> Option<(f64, f64)> {
        if quantity.missing == NoValue::Skip {
            let valued = |s: &&SumSpread| matches!(&s.subject, Subject::Valued(q) if **q == *quantity);
            let own = self.sums.iter().find(valued)?;
            return own
                .tables
                .iter()
                .find(|(t, _)| t.cuboid == table.cuboid && t.asks == table.asks)
                .map(|(_, s)| *s);
        }
        let workload = &self.plan.rows().workload;
        let at = workload.iter().position(|t| t.cuboid == table.cuboid && t.asks == table.asks)?;
        self.prediction.tables.get(at).map(|s| (s.mean, s.max))
    }
}

/// The margins of the sums that have targets, number by number, in the order of the plan's sums.
pub(super) fn margins(request: &Request, planned: &Planned) -> Vec<Vec<Aimed>> {
    let all: usize = request.sums.iter().map(|s| s.targets.iter().flatten().count()).sum();
    let exact = !request.noise.is_normal() && all <= EXACT_LAWS;
    let of = |sums: &SumSpread| -> Vec<Aimed> {
        let Subject::Sum(quantity) = &sums.subject else { return Vec::new() };
        let Some(asked) = request.sums.iter().find(|s| s.quantity == *quantity) else { return Vec::new() };
        let aims = || asked.targets.iter().enumerate().filter_map(|(at, target)| Some((at, (*target)?)));
        let tables = || aims().filter_map(|(table, target)| Some((table, target, sums.tables.get(table)?)));
        let wanted = || tables().map(|(_, target, (of, _))| (&of.cuboid, target)).collect();
        let halves = match exact {
            true => Evaluator::half_widths(&request.cube, &planned.plan, &[], &[(quantity, wanted())]),
            false => Vec::new(),
        };
        let mut halves = halves.into_iter();
        let one = |(table, target, (of, own)): (usize, Target, &(Table, (f64, f64)))| {
            let variance = planned.sum_variances(quantity, of, *own).1;
            let normal = target.margin.to_f64() * libm::sqrt(variance / target.variance());
            let margin = halves.next().flatten().unwrap_or(normal);
            Aimed { table, target, margin, normal }
        };
        tables().map(one).collect()
    };
    planned.sums.iter().map(of).collect()
}

/// What a plan of all channels makes of the objective: its largest weighted variance, or its largest ratio of a squared margin to its target's.
pub(super) fn reached(request: &Request, planned: &Planned) -> Option<f64> {
    let own = |weights: &[f64]| {
        let tables = planned.prediction.tables.iter().zip(weights);
        tables.map(|(s, w)| s.max * w).fold(0.0, f64::max)
    };
    match request.objective {
        Objective::Total => None,
        Objective::Worst => {
            let mut worst = own(&own_weights(request)?);
            for sums in &planned.sums {
                worst = worst.max(of_channel(sums, planned)?);
            }
            Some(worst)
        }
        Objective::Targets => {
            let rows = Request { sums: Vec::new(), ..request.clone() };
            let normal = || {
                let of = |t: usize| request.target_variance(t).map_or(0.0, f64::recip);
                own(&(0..request.workload.len()).map(of).collect::<Vec<f64>>())
            };
            let counts = (!request.noise.is_normal()).then(|| tails::ratio(&rows, planned)).flatten();
            let sums = planned.sums.iter().flat_map(|s| &s.aimed).map(Aimed::ratio);
            Some(sums.fold(counts.unwrap_or_else(normal), f64::max))
        }
    }
}

/// The largest weighted variance of what a channel beside rows is asked for.
fn of_channel(sums: &SumSpread, planned: &Planned) -> Option<f64> {
    let mut worst = 0.0f64;
    let (quantity, unit) = match &sums.subject {
        Subject::Sum(quantity) => {
            let (_, half) = quantity.stakes()?;
            let largest = quantity.grain() * quantity.reach() as f64 + quantity.origin().abs();
            (quantity, half.to_f64() * largest * largest)
        }
        // Counts that sums need are seen in these.
        Subject::Valued(quantity) if quantity.needs_count() => return Some(0.0),
        other => (other.quantity()?, (other.most(1) as f64).powi(2)),
    };
    let of_sum = matches!(sums.subject, Subject::Sum(_));
    for (table, (_, max)) in &sums.tables {
        let variance = if of_sum { planned.sum_variances(quantity, table, (0.0, *max)).1 } else { *max };
        worst = worst.max(table.weight.to_f64() * variance / unit);
    }
    Some(worst)
}
