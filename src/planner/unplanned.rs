//! The choice for all that a spec can ask, and why there is none.

use super::copies::{CopiesError, copies};
use super::planned::PlanError;
use super::{Choice, Look, choose, choose_within};
use crate::spec::{Budget, Spec};
use crate::watch::Watch;

/// Why there is no plan of tables.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unplanned {
    /// (ε, δ) with no room for noise.
    #[error("no noise that can be drawn fits this epsilon and delta")]
    NoBudget,
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No copies for the recipients.
    #[error(transparent)]
    Copies(#[from] CopiesError),
}

impl Spec {
    /// The plan that is taken for its tables, and what it was taken from.
    pub(crate) fn choose(&self, look: Look, watch: &Watch) -> Result<Choice, Unplanned> {
        let middle = self.choose_so(look, watch);
        let Some(spec) = self.all_from_zero() else { return middle };
        let zero = spec.choose_so(look, watch);
        let score = |spec: &Spec, choice: &Choice| Some(choice.planned.score(&spec.request()?));
        match (middle, zero) {
            (Ok(middle), Ok(zero)) => {
                let better = score(&spec, &zero).zip(score(self, &middle)).is_some_and(|(z, m)| z < m);
                Ok(if better { zero } else { middle })
            }
            (Err(_), Ok(zero)) => Ok(zero),
            (middle, Err(_)) => middle,
        }
    }

    /// The same, with amounts measured from where the spec has it.
    fn choose_so(&self, look: Look, watch: &Watch) -> Result<Choice, Unplanned> {
        let mut request = self.request().ok_or(Unplanned::NoBudget)?;
        request.watch = watch.clone();
        let Some((mode, wishes)) = self.wishes() else {
            return Ok(match self.privacy.budget {
                Budget::EpsilonDelta(e, d) => choose_within(&request, look, (e, d))?,
                Budget::Rho(_) | Budget::Epsilon(_) => choose(&request, look)?,
            });
        };
        let (mut choice, copies) = copies(&request, look, mode, &wishes)?;
        choice.copies = Some(Box::new(copies));
        Ok(choice)
    }
}
