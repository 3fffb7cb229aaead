//! The plan of each copy of a measuring, and the noise that it has.

use super::copies::{Centres, CopyError, further, proven};
use super::{Copy, Mode, Plan, Recipient, Subject};
use crate::exact::Rational;

impl Plan {
    /// The plan of one copy, of which this is the most precise one's. What is already known of its `further` noise is kept.
    pub fn copy_of(&self, copy: Copy) -> Result<Plan, CopyError> {
        copy.check(self.noise)?;
        let own = copy.recipients.get(copy.own).ok_or(CopyError::Wrong("it is nobody's copy"))?;
        let failed = || CopyError::Scale(own.name.clone());
        let largest = self.noise.largest_scale();
        let scale = |i: usize, first: Rational| {
            let scale = if copy.mode == Mode::Nested && self.noise.adds_up() {
                copy.further.iter().try_fold(first, |sum, step| sum.checked_add(*step.get(i)?))
            } else {
                first.checked_mul(own.factor)
            };
            scale.filter(|s| *s <= largest).ok_or_else(failed)
        };
        let mut plan = self.clone();
        plan.budget = copy.budget.checked_div(own.factor).ok_or_else(failed)?;
        if copy.scales.len() != plan.measured() {
            return Err(CopyError::Wrong("it has not one scale for each measurement"));
        }
        for (i, (m, first)) in plan.measurements_mut().zip(&copy.scales).enumerate() {
            m.scale = scale(i, *first)?;
        }
        plan.copy = Some(Box::new(copy));
        Ok(plan)
    }

    /// All copies for these recipients, the most precise first.
    pub fn copies(&self, mode: Mode, recipients: Vec<Recipient>) -> Result<Vec<Plan>, CopyError> {
        let mut copy = Copy {
            measuring: [0; 16],
            mode,
            own: 0,
            budget: self.budget,
            scales: self.measurements().map(|m| m.scale).collect(),
            further: Vec::new(),
            recipients,
        };
        let mut out = Vec::with_capacity(copy.recipients.len());
        for (own, recipient) in copy.recipients.clone().into_iter().enumerate() {
            copy.own = own;
            if mode == Mode::Nested && self.noise.adds_up() && own > 0 {
                let step = |i: usize, first: Rational| {
                    let layers: Vec<Rational> = std::iter::once(first)
                        .chain(copy.further.iter().filter_map(|s| s.get(i).copied()))
                        .collect();
                    further(&layers, first.checked_mul(recipient.factor)?)
                };
                let step: Option<Vec<Rational>> =
                    copy.scales.iter().enumerate().map(|(i, first)| step(i, *first)).collect();
                copy.further.push(step.ok_or_else(|| CopyError::Scale(recipient.name.clone()))?);
            }
            out.push(self.copy_of(copy.clone())?);
        }
        Ok(out)
    }

    /// The most precise copy's plan, as it was made; a plan without copies is that itself.
    pub fn first(&self) -> Plan {
        let mut plan = Plan { copy: None, ..self.clone() };
        if let Some(copy) = &self.copy {
            plan.budget = copy.budget;
            plan.measurements_mut().zip(&copy.scales).for_each(|(m, s)| m.scale = *s);
        }
        plan
    }

    /// Why two copies are not of one measuring, though they may say so: all have the most precise copy's plan in common, and of nested ones each was
    /// made from the one before, so that its noise begins with that one's.
    pub(crate) fn apart_from(&self, other: &Plan) -> Option<&'static str> {
        let (Some(a), Some(b)) = (&self.copy, &other.copy) else { return Some("one of them is no copy") };
        if (a.mode, a.budget, &a.recipients) != (b.mode, b.budget, &b.recipients) {
            return Some("they do not name the same recipients and budgets");
        }
        if self.first() != other.first() {
            return Some("the most precise copy's plan is another in each");
        }
        let apart = a.further.iter().zip(&b.further).any(|(a, b)| a != b);
        apart.then_some("they do not say the same of the noise that was added from copy to copy")
    }

    /// The scales of the independent noises in each integer of a measurement. One, but for nested copies with Gaussian noise.
    pub fn layers(&self, index: usize) -> Vec<Rational> {
        match &self.copy {
            Some(copy) if !copy.further.is_empty() => {
                let further = copy.further.iter().filter_map(|step| step.get(index).copied());
                copy.scales.get(index).copied().into_iter().chain(further.filter(|s| !s.is_zero())).collect()
            }
            _ => self.measurement(index).map(|(_, m)| m.scale).into_iter().collect(),
        }
    }

    /// The scale that a measurement's cost is reckoned with: of one noise its own, of several [`proven`]. `None` when it does not
    /// fit the arithmetic.
    pub(crate) fn accounted(&self, index: usize) -> Option<Rational> {
        if self.copy.is_none() {
            return self.measurement(index).map(|(_, m)| m.scale);
        }
        match &self.layers(index)[..] {
            [] => None,
            [only] => Some(*only),
            several => proven(several),
        }
    }

    /// Whose copy it is, where the measuring has several recipients.
    pub fn recipient(&self) -> Option<&str> {
        self.copy.as_ref().map(|c| c.recipient())
    }

    /// What the secret centre may be, where every integer is shifted by one: of the counts of rows in cells, which come first.
    pub fn centres(&self) -> Option<Centres> {
        match self.copy.as_ref()?.mode {
            // Sums have noise of as many steps as a value may have: among these a centre is lost.
            Mode::Shifted { centres } if self.only().subject == Subject::Rows => Some(centres),
            Mode::Shifted { .. } | Mode::Nested => None,
        }
    }
}
