//! Whether a condition holds, and where nobody knows.
//!
//! A category without a number (`9+`, `unknown`) meets no comparison with a number. Of its units nobody knows whether theirs would: an answer
//! that leaves them out, or under NOT counts them in, must say so. So beside the cells where a condition holds there are kept those where it
//! holds whatever such numbers are, and those where it may hold. AND, OR and NOT of both are Kleene's: `kids >= 3 OR kids = '9+'` is sure
//! of `9+`, and `kids >= 3 AND kids <> 'unknown'` is in doubt only of `9+`.

use super::names::Column;
use crate::cube::{Filter, TooIntricate};

/// A condition.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    /// The cells that count as meeting it: NOT is the exact complement.
    pub holds: Filter,
    doubt: Option<Doubt>,
}

#[derive(Debug, Clone)]
struct Doubt {
    /// Where it holds whatever the missing numbers are.
    surely: Filter,
    /// Where it holds for some of what they may be.
    possibly: Filter,
    /// What was compared, with the cells in which that has no number.
    compared: Vec<(Column, Filter)>,
}

/// Units of which nobody knows whether they meet a condition.
pub(super) struct Undecided {
    /// What was compared and has no number for them.
    pub column: Column,
    /// Which they are.
    pub units: Filter,
    /// Whether they count as meeting it.
    pub counted: bool,
}

impl Truth {
    /// What everybody knows.
    pub(crate) fn certain(holds: Filter) -> Truth {
        Truth { holds, doubt: None }
    }

    /// A comparison of numbers, `unknown` being the cells that have none; these do not meet it.
    pub(crate) fn compared(column: Column, holds: Filter, unknown: Filter) -> Result<Truth, TooIntricate> {
        let doubt = match unknown.weights.iter().any(|w| *w != 0.0) {
            false => None,
            true => Some(Doubt {
                surely: holds.clone(),
                possibly: holds.or(&unknown)?,
                compared: vec![(column, unknown)],
            }),
        };
        Ok(Truth { holds, doubt })
    }

    /// The complement.
    pub(super) fn not(self) -> Truth {
        let doubt = self.doubt.map(|d| Doubt {
            surely: d.possibly.complement(),
            possibly: d.surely.complement(),
            compared: d.compared,
        });
        Truth { holds: self.holds.complement(), doubt }
    }

    /// Both.
    pub(super) fn and(&self, other: &Truth) -> Result<Truth, TooIntricate> {
        self.combine(other, Filter::and)
    }

    /// At least one.
    pub(super) fn or(&self, other: &Truth) -> Result<Truth, TooIntricate> {
        self.combine(other, Filter::or)
    }

    fn combine(
        &self,
        other: &Truth,
        of: impl Fn(&Filter, &Filter) -> Result<Filter, TooIntricate>,
    ) -> Result<Truth, TooIntricate> {
        let holds = of(&self.holds, &other.holds)?;
        if self.doubt.is_none() && other.doubt.is_none() {
            return Ok(Truth::certain(holds));
        }
        let mut compared = Vec::new();
        for doubt in [&self.doubt, &other.doubt].into_iter().flatten() {
            compared.extend(doubt.compared.iter().cloned());
        }
        let surely = of(self.surely(), other.surely())?;
        let possibly = of(self.possibly(), other.possibly())?;
        Ok(Truth { holds, doubt: Some(Doubt { surely, possibly, compared }) })
    }

    fn surely(&self) -> &Filter {
        self.doubt.as_ref().map_or(&self.holds, |d| &d.surely)
    }

    fn possibly(&self) -> &Filter {
        self.doubt.as_ref().map_or(&self.holds, |d| &d.possibly)
    }

    /// Of which units nobody knows; there may be none in what is returned.
    pub(crate) fn undecided(&self) -> Result<Vec<Undecided>, TooIntricate> {
        let Some(doubt) = &self.doubt else { return Ok(Vec::new()) };
        let open = doubt.possibly.and(&doubt.surely.clone().complement())?;
        let mut out: Vec<Undecided> = Vec::new();
        for (column, unknown) in &doubt.compared {
            if out.iter().any(|u| u.column.at() == column.at()) {
                continue;
            }
            let units = open.and(unknown)?;
            let outside = self.holds.clone().complement();
            for (counted, part) in [(false, &outside), (true, &self.holds)] {
                out.push(Undecided { column: *column, units: units.and(part)?, counted });
            }
        }
        Ok(out)
    }
}
