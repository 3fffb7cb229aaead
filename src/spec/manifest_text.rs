//! What a spec says of a release that neither its plan nor its domain does.

use super::{Budget, Spec, Unit};
use crate::exact::Rational;
use crate::plan::cost::Cost;
use crate::plan::{Apart, Losses, Plan};
use crate::release::claims::{self, Words};
use crate::release::{About, AccountName, Approximate, Currency, FORMAT, Without};

impl Budget {
    /// The δ at which a cost in ρ is also stated: the spec's own, or 1e-9 where it names none.
    fn delta(self) -> Option<Rational> {
        match self {
            Budget::EpsilonDelta(_, delta) => Some(delta),
            Budget::Rho(_) => claims::default_delta(),
            Budget::Epsilon(_) => None,
        }
    }

    /// The (ε, δ) of a cost. Pure ε has no other name.
    pub(crate) fn approximate(self, currency: Currency, cost: Rational) -> Option<Approximate> {
        match currency {
            Currency::Epsilon => None,
            Currency::Rho => claims::approximate(FORMAT, cost, self.delta()?),
        }
    }
}

impl Spec {
    /// The (ε, δ) of a plan over this spec's levels: by the law of its own loss, where it has one.
    pub(crate) fn stated(
        &self,
        plan: &Plan,
        cost: &Cost,
        losses: Result<&Losses, Apart>,
    ) -> Option<Approximate> {
        match Currency::of_tables(plan.noise) {
            Currency::Epsilon => None,
            Currency::Rho => claims::stated(FORMAT, cost.total, self.privacy.budget.delta()?, losses.ok()),
        }
    }
}

impl Unit {
    /// The columns by which its rows that count are the first.
    pub(crate) fn order(&self) -> &[String] {
        match self {
            Unit::Row => &[],
            Unit::Column { order, .. } => order,
        }
    }

    /// What becomes of rows that belong to no unit, where they do not stop a run.
    pub(crate) fn without(&self) -> Option<Without> {
        match self {
            Unit::Row => None,
            Unit::Column { without, .. } => *without,
        }
    }

    /// `row`, or the identifying column.
    pub(crate) fn name(&self) -> &str {
        match self {
            Unit::Row => "row",
            Unit::Column { column, .. } => column,
        }
    }
}

impl Spec {
    /// The account that a release of this spec is charged to.
    pub fn account_name(&self) -> AccountName {
        let own = self.privacy.unit.name();
        AccountName {
            id: self.dataset.as_ref().map_or(&self.name, |d| &d.id).clone(),
            unit: self.account.unit.as_deref().unwrap_or(own).to_owned(),
            unit_of: self.account.unit_of,
            part: self.account.part.clone(),
        }
    }

    /// What the release's manifest says that its plan and its domain do not.
    pub(crate) fn words(&self) -> Words {
        Words {
            about: About {
                name: self.name.clone(),
                title: self.title.clone(),
                description: self.description.clone(),
                licence: self.licence.clone(),
                contact: self.contact.clone(),
                supersedes: self.supersedes.clone(),
                errata: None,
                reliability: self.reliability.clone(),
            },
            dataset: self.dataset.clone(),
            account: Some(self.account_name()),
            unit: self.privacy.unit.name().into(),
            order: self.privacy.unit.order().to_vec(),
            without: self.privacy.unit.without(),
            delta: self.privacy.budget.delta(),
            lossless: true,
            reasons: self.exact.iter().map(|e| e.reason.clone()).collect(),
            legends: self.cube.dimensions.iter().filter_map(|d| d.legend().cloned()).collect(),
        }
    }
}
