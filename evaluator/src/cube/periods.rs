//! Which dimensions say when something was.

use super::dimension::{Categories, Dimension};
use super::legend::Concept;
use crate::calendar;

impl Dimension {
    /// Whether it is made of days: every category but those for missing and other values is one.
    pub(crate) fn is_of_days(&self) -> bool {
        let Some(finest) = self.levels.last() else { return false };
        let others = finest.labels.iter().filter(|label| calendar::read(label.as_bytes()).is_none());
        let others = others.take(3).count();
        others <= 2 && others < finest.len()
    }

    /// Whether it says when something was: by its legend, or because it is made of days.
    pub fn is_time(&self) -> bool {
        self.legend().and_then(|l| l.concept).map_or_else(|| self.is_of_days(), |c| c == Concept::Time)
    }
}

impl Categories {
    /// Whether every category is a day, a month, a quarter or a year, as ISO 8601 and SDMX write them.
    pub fn are_periods(&self) -> bool {
        self.labels.iter().all(|label| calendar::span(label).is_some())
    }
}
