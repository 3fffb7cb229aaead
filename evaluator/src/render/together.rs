//! How the intervals of one answer were made to cover all together.

use super::table::part_of;
use crate::joint::MaxZ;
use serde::{Deserialize, Serialize};

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// How many intervals cover together.
    pub intervals: usize,
    /// The level of each interval alone that Bonferroni's inequality wants.
    pub each: f64,
    /// The simulated critical value of the linear figures, where it is used.
    pub max_z: Option<MaxZ>,
    /// Whether there are intervals of ratios among them.
    pub ratios: bool,
    /// Whether single whole numbers of noise matter.
    pub steps: bool,
    /// Why the simulation that was asked for could not be had.
    pub refused: Option<String>,
}

impl Together {
    /// For people: how the intervals were found.
    pub(crate) fn note(&self, level: f64) -> String {
        let all = format!("All {} intervals together cover with probability {level}", self.intervals);
        let each = format!("each alone with {}", part_of(1.0, self.each, 6));
        match &self.max_z {
            Some(z) => {
                let of = if self.ratios { "each linear figure's reaches" } else { "each reaches" };
                let rest = if self.ratios { format!(" Ratios: Bonferroni, {each}.") } else { String::new() };
                format!(
                    "{all}: {of} {:.4} standard errors, by {} simulations of the largest error (fixed seed). {} % of \
                     them lie within: above the level by what a simulation may err (confidence 99.9 %){}.{rest}",
                    z.critical,
                    z.draws,
                    part_of(100.0, z.covered, 2),
                    if self.steps { " and by the steps of whole-number noise" } else { "" }
                )
            }
            None => {
                let why = self.refused.as_ref().map_or(String::new(), |why| format!(" {why}"));
                format!("{all} (Bonferroni: {each}).{why}")
            }
        }
    }
}
