//! What amounts are measured from, where a plan may choose: the same spec with other weights.
//!
//! **Claim.** Under Laplace noise one sum of an amount that is asked for without a count costs less from zero, unless the middle is zero. **Proof.** From the
//! middle c, with h to either end, two channels share the budget, and its standard error is in proportion to `(|c|^(2/3) + h^(2/3))^(3/2) > |c| + h`; from zero it
//! is to the furthest end, `|c| + h`. ∎ Where several amounts need one count, or a table asks for it, the middle may be better. So both are planned.

use super::{AmountSpec, Spec};
use crate::cube::{Cuboid, MeasuredFrom, NoValue, Quantity, Weighing};
use crate::exact::Rational;
use crate::plan::{Asks, Plan, Table};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

impl Spec {
    /// The spec where all amounts that may be are measured from zero. `None` where none may be.
    pub(crate) fn all_from_zero(&self) -> Option<Spec> {
        let (noise, _) = self.privacy.budget.noise()?;
        let (counts, places) = (self.counts()?, self.places());
        let silent = |table: &Table| {
            let own = places.get(&key(table)).and_then(|&at| counts.get(at));
            own.is_some_and(|own| own.is_zero())
        };
        // Cells that are declared empty must be told apart by counts.
        let free = noise.is_pure() && self.zeros.is_empty();
        let may_be = |a: &AmountSpec| free && is_free(a) && a.tables.iter().any(silent);
        if self.summed().any(may_be) { self.measured_so(&may_be) } else { None }
    }

    /// The spec as a plan measures it: amounts are measured from zero that are so in the plan.
    pub(crate) fn measured(&self, plan: &Plan) -> Cow<'_, Spec> {
        let from_zero = |a: &AmountSpec| {
            let own = |q: &Arc<_>| **q == from_zero_of(&a.quantity);
            is_free(a) && plan.summed().any(|(q, _)| own(q))
        };
        match self.summed().any(from_zero) {
            true => self.measured_so(&from_zero).map_or(Cow::Borrowed(self), Cow::Owned),
            false => Cow::Borrowed(self),
        }
    }

    /// Where the workload has the table of counts that a table of sums needs: the one with the same key.
    fn places(&self) -> HashMap<(&Cuboid, &Asks), usize> {
        // Of several the first: later ones are put in before it.
        self.workload.iter().enumerate().rev().map(|(at, table)| (key(table), at)).collect()
    }

    /// What each table's counts weigh without what sums want of them.
    fn counts(&self) -> Option<Vec<Rational>> {
        let mut counts: Vec<Rational> = self.workload.iter().map(|t| t.weight).collect();
        let places = self.places();
        for amount in self.summed().filter(|a| a.quantity.missing != NoValue::Skip) {
            let (of_count, of_sum) = amount.quantity.stakes()?;
            for table in amount.tables.iter().filter(|_| !of_count.is_zero()) {
                let own = *places.get(&key(table))?;
                let part = table.weight.checked_div(of_sum)?.checked_mul(of_count)?;
                counts[own] = less(counts[own], part)?;
            }
        }
        Some(counts)
    }

    fn measured_so(&self, from_zero: &dyn Fn(&AmountSpec) -> bool) -> Option<Spec> {
        let mut out = self.clone();
        let (mut wanted, places) = (self.counts()?, self.places());
        for amount in out.amounts.iter_mut().filter(|a| !a.tables.is_empty()) {
            let (of_count, of_sum) = amount.quantity.stakes()?;
            let from_zero = from_zero(amount);
            for table in &mut amount.tables {
                let asked = table.weight.checked_div(of_sum)?;
                if from_zero {
                    table.weight = asked;
                } else if !of_count.is_zero() && amount.quantity.missing != NoValue::Skip {
                    let own = *places.get(&key(table))?;
                    wanted[own] = wanted[own].checked_add(asked.checked_mul(of_count)?)?;
                }
            }
            if from_zero {
                amount.quantity = Arc::new(from_zero_of(&amount.quantity));
            }
        }
        let kept = || wanted.iter().map(|w| !w.is_zero());
        out.workload.iter_mut().zip(&wanted).for_each(|(table, weight)| table.weight = *weight);
        let (mut tables, mut targets) = (kept(), kept());
        out.workload.retain(|_| tables.next().unwrap_or(true));
        out.targets.retain(|_| targets.next().unwrap_or(true));
        Some(out)
    }
}

/// Whether nothing of an amount but its sums wants the middle: no squares, no exact sums, no weights, and a count of its own for rows that have a value neither.
fn is_free(amount: &AmountSpec) -> bool {
    let quantity = &amount.quantity;
    quantity.needs_count()
        && quantity.missing != NoValue::Skip
        && quantity.weighing == Weighing::Plain
        && !amount.square
        && amount.exact.is_empty()
}

/// The same number, measured from zero.
fn from_zero_of(quantity: &Quantity) -> Quantity {
    Quantity { from: MeasuredFrom::Zero, ..quantity.clone() }
}

/// What a table of counts and the table of sums that needs it have in common.
fn key(table: &Table) -> (&Cuboid, &Asks) {
    (&table.cuboid, &table.asks)
}

fn less(a: Rational, b: Rational) -> Option<Rational> {
    let of = |x: Rational, y: Rational| x.numerator().checked_mul(y.denominator());
    Rational::new(of(a, b)?.checked_sub(of(b, a)?)?, a.denominator().checked_mul(b.denominator())?)
}
