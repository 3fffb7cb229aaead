//! What a plan is made of: who is protected, which tables are asked for, how the budget is shared.

use super::{Asks, Ranges};
use crate::cube::{Cube, Cuboid, Level};
use crate::exact::Rational;
use serde::{Deserialize, Serialize};

/// What a neighbouring dataset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// One unit more or one unit less.
    AddRemove,
    /// One unit changed; the number of units is public.
    Substitute,
}

impl BudgetRule {
    /// Both rules.
    pub const ALL: [BudgetRule; 2] = [BudgetRule::Optimal, BudgetRule::Uniform];

    /// The name in specs and tables.
    pub const fn name(self) -> &'static str {
        match self {
            BudgetRule::Optimal => "optimal",
            BudgetRule::Uniform => "uniform",
        }
    }
}

/// How the budget is shared among the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetRule {
    /// By the weight each group has in the workload's error.
    Optimal,
    /// The same for every group.
    Uniform,
}

/// A table the agency asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its shape.
    pub cuboid: Cuboid,
    /// How much the error of each of its queries matters, relative to those of the others.
    pub weight: Rational,
    /// What is asked of it.
    #[serde(default)]
    pub asks: Asks,
}

impl Table {
    /// Every cell of a table, at a weight.
    pub fn new(cuboid: Cuboid, weight: Rational) -> Table {
        Table { cuboid, weight, asks: Asks::CELLS }
    }

    /// How people write it: `sex × age`, `sex × age (ranges)`, or the query.
    pub fn describe(&self, cube: &Cube) -> String {
        let of = match &self.asks {
            Asks::Query(text) => return text.split_whitespace().collect::<Vec<_>>().join(" "),
            Asks::Product(of) if of.is_empty() => return cube.describe(&self.cuboid),
            Asks::Product(_) => self.cuboid.iter(),
        };
        let name = |level: Level| match self.asks.of(level.dimension) {
            None => cube.level_name(level),
            Some(Ranges::Intervals(list)) => format!("{} ({} intervals)", cube.level_name(level), list.len()),
            Some(asked) => format!("{} ({})", cube.level_name(level), asked.name()),
        };
        of.map(name).collect::<Vec<_>>().join(" × ")
    }
}

/// A table to measure and the exact share of the budget it gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The table.
    pub cuboid: Cuboid,
    /// Its part of the whole budget.
    pub share: Rational,
}
