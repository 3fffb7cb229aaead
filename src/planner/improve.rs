//! Plans of whole tables for other objectives than the total: what strategies find for the total is where they start.

use super::context::Context;
use super::planned::Planned;
use super::strategy::Ask;
use super::{Request, alternate, price, tails};
use crate::exact::Rational;
use crate::numeric::dice::Dice;
use crate::plan::{BudgetRule, Measure, Measurement};
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Ordering;

/// From how many plans turns are taken.
const STARTS: usize = 8;
/// With long tails: how often turns are taken anew with the tails of what came of the last ones.
const TAILS: usize = 3;
/// Plans of so few tables are also begun with most of the budget on one of them.
const FEW_TABLES: usize = 8;
/// A table whose share is less than this part of an equal one is left out where the strategy chooses its tables.
const LITTLE: [f64; 3] = [0.3, 0.03, 0.003];

impl Context<'_> {
    /// Better plans by the request's objective. Under Laplace noise there are many local optima: so all sets that a strategy brings are
    /// starts; and where it may choose its tables, all tables of all sets at once.
    pub(super) fn improved(&self, measure: Measure, plans: &[Planned]) -> Vec<Planned> {
        let request = &*self.scene.request;
        let fits = |p: &&Planned| alternate::fits(&p.plan.rows().measurements);
        let mut order: Vec<&Planned> = plans.iter().filter(fits).collect();
        order.sort_by(|a, b| a.score(request).total_cmp(&b.score(request)));
        // The best shares of each set of tables: what a set is worth shows only after its turns.
        let blocks =
            |p: &Planned| p.plan.rows().measurements.iter().map(|m| m.block.clone()).collect::<Vec<_>>();
        let mut seen = Vec::new();
        order.retain(|p| {
            let own = blocks(p);
            let new = !seen.contains(&own);
            if new {
                seen.push(own);
            }
            new
        });
        order.truncate(STARTS);
        let mut starts: Vec<Vec<Measurement>> =
            order.iter().map(|p| p.plan.rows().measurements.clone()).collect();
        if measure == Measure::Tables {
            starts.extend(self.united(&starts));
        }
        if price::is_steep(request.noise)
            && let Some(first) = starts.first()
        {
            let uneven = uneven(first);
            starts.extend(uneven);
        }
        let each = |start: Vec<Measurement>| {
            let mut out = Vec::new();
            if let Some(planned) = self.alternated(measure, &start) {
                if measure == Measure::Tables {
                    out.extend(self.pruned(measure, &planned));
                }
                out.push(planned);
            }
            out
        };
        // In the order of the starts, whatever the number of threads.
        starts.into_par_iter().map(each).collect::<Vec<_>>().into_iter().flatten().collect()
    }

    /// The best scales for these tables that turns lead to from here.
    pub(super) fn alternated(&self, measure: Measure, start: &[Measurement]) -> Option<Planned> {
        let request = &*self.scene.request;
        let mut asked: Cow<Request> = Cow::Borrowed(request);
        let mut best: Option<Planned> = None;
        let mut start = Cow::Borrowed(start);
        for _ in 0..TAILS {
            let ask = Ask {
                request: &asked,
                frame: &self.frame,
                closure: &self.closure,
                budgets: BudgetRule::Optimal,
            };
            let Some((measurements, certificate)) = alternate::improved(&ask, &start) else { break };
            let Ok(now) = self.finish(measure, BudgetRule::Optimal, measurements, certificate) else { break };
            let longer =
                (!request.noise.is_normal() && now.ratio.is_some()).then(|| tails::tails(request, &now));
            start = Cow::Owned(now.plan.rows().measurements.clone());
            let order = best.as_ref().map(|b| now.score(request).total_cmp(&b.score(request)));
            if order.is_none_or(|o| o == Ordering::Less) {
                best = Some(now);
            }
            match longer {
                Some(tails) if differs(&tails, &asked.tails) => asked.to_mut().tails = tails,
                _ => break,
            }
        }
        best
    }

    /// All tables of all starts in almost equal shares: a symmetric workload would hold exactly equal ones in its symmetry.
    fn united(&self, starts: &[Vec<Measurement>]) -> Option<Vec<Measurement>> {
        let mut all: Vec<Measurement> = starts.iter().flatten().cloned().collect();
        all.sort_by(|a, b| a.block.cuboid().cmp(b.block.cuboid()));
        all.dedup_by(|a, b| a.block == b.block);
        let request = &*self.scene.request;
        let ask = Ask { request, frame: &self.frame, closure: &self.closure, budgets: BudgetRule::Optimal };
        let cells: f64 = all.iter().map(|m| self.frame.cells(m.block.cuboid())).sum();
        if starts.len() < 2 || cells > ask.most_cells() {
            return None;
        }
        let mut dice = Dice::new(1);
        let equal = 1.0 / all.len() as f64;
        for m in &mut all {
            m.scale = crate::plan::round::up(ask.share_scale(equal * (1.0 + 0.2 * dice.unit())))?;
        }
        Some(all)
    }

    /// Without the tables that get next to nothing.
    fn pruned(&self, measure: Measure, planned: &Planned) -> Vec<Planned> {
        let all = &planned.plan.rows().measurements;
        let steep = price::is_steep(planned.plan.noise);
        let worth = |m: &Measurement| 1.0 / m.scale.to_f64();
        let sum: f64 = all.iter().map(worth).sum();
        let mut left = all.len();
        let mut out = Vec::new();
        for little in LITTLE {
            // Little budget, and little precision even beside what it is paid for.
            let least = if steep { little } else { little * little };
            let kept = all.iter().filter(|m| worth(m) * all.len() as f64 > least * sum);
            let kept: Vec<Measurement> = kept.cloned().collect();
            if kept.len() < left && !kept.is_empty() {
                left = kept.len();
                out.extend(self.alternated(measure, &kept));
            }
        }
        out
    }
}

/// The same few tables, each once with most of the budget.
fn uneven(start: &[Measurement]) -> Vec<Vec<Measurement>> {
    let n = start.len();
    if !(2..=FEW_TABLES).contains(&n) {
        return Vec::new();
    }
    let heavier = |heavy: usize| {
        let each = start.iter().enumerate().map(|(i, m)| {
            // Only proportions matter.
            let scale = if i == heavy { Rational::ONE } else { Rational::whole(4 * n as u128) };
            Measurement { block: m.block.clone(), scale }
        });
        each.collect()
    };
    (0..n).map(heavier).collect()
}

fn differs(a: &[f64], b: &[f64]) -> bool {
    a.iter().enumerate().any(|(i, a)| (a / b.get(i).copied().unwrap_or(1.0) - 1.0).abs() > 1e-5)
}
