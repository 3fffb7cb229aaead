//! What was chosen, and from what.

use super::planned::{Candidate, Planned};
use crate::cube::{Cube, Frame};
use crate::exact::Rational;
use crate::plan::copies::Mode;
use crate::plan::cost::Cost;
use crate::plan::{Apart, Losses, Plan};
use std::sync::{Arc, OnceLock};

/// How far to look for a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// No further than to know the plan.
    Needed,
    /// At every strategy with every budget rule, for a comparison.
    Everywhere,
}

/// The plan that is taken, and what it was taken from.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The plan. A large one is not copied.
    pub planned: Arc<Planned>,
    /// Everything that was looked at.
    pub candidates: Vec<Candidate>,
    /// Which of them the plan is.
    pub chosen: usize,
    /// The copies of it, where there are several recipients: see [`super::copies`].
    pub copies: Option<Box<Copies>>,
    /// The laws of the plan's loss, once they were asked for.
    laws: OnceLock<Result<Losses, Apart>>,
}

impl Choice {
    /// One of these, for one recipient.
    pub(super) fn new(planned: Arc<Planned>, candidates: Vec<Candidate>, chosen: usize) -> Choice {
        Choice { planned, candidates, chosen, copies: None, laws: OnceLock::new() }
    }

    /// With the laws of the plan's loss, which are known.
    pub(super) fn with(self, losses: Losses) -> Choice {
        Choice { laws: OnceLock::from(Ok(losses)), ..self }
    }

    /// The laws of the plan's loss, or why there are none. Its levels are those of this cube.
    pub(crate) fn losses(&self, cube: &Cube) -> Result<&Losses, Apart> {
        if self.copies.is_some() {
            return Err(Apart::Copies);
        }
        let plan = &self.planned.plan;
        let laws = self.laws.get_or_init(|| Losses::of(plan, &Frame::new(cube, &plan.levels)));
        laws.as_ref().map_err(|why| *why)
    }
}

/// All copies, the most precise first.
#[derive(Debug, Clone)]
pub struct Copies {
    /// Their plans.
    pub plans: Vec<Plan>,
    /// What each costs alone.
    pub costs: Vec<Cost>,
    /// The half-width of the 95 % interval of each copy's worst cell, where that is quickly known.
    pub margins: Vec<Option<f64>>,
    /// The same of the sums of each number.
    pub sums: Vec<Vec<(String, Option<f64>)>>,
    /// How many of the spec's targets each copy keeps, where there are some, and that is quickly known.
    pub kept: Vec<Option<usize>>,
    /// What they cost together: this is charged.
    pub joint: Rational,
    /// What they may cost together.
    pub joint_budget: Rational,
}

impl Copies {
    /// The plans, as those of one measuring: `measuring` are its random bits.
    pub(crate) fn of_measuring(&self, measuring: [u8; 16]) -> Vec<Plan> {
        let mut plans = self.plans.clone();
        for copy in plans.iter_mut().filter_map(|p| p.copy.as_mut()) {
            copy.measuring = measuring;
        }
        plans
    }

    /// How the copies hang together.
    pub(crate) fn mode(&self) -> Option<Mode> {
        self.plans.first().and_then(|p| Some(p.copy.as_ref()?.mode))
    }
}
