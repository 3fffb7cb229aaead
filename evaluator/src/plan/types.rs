//! The plan itself, as it is stored in a release: who is protected, what is measured, at which scale.

use super::{Asked, Asks, Block, Channel, Copy, Measure, Noise};
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
            Some(Asked::Intervals(list)) => format!("{} ({} intervals)", cube.level_name(level), list.len()),
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

/// One group: a block and the scale of its noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    /// What is measured.
    pub block: Block,
    /// The parameter of the integer noise `z` that is drawn for every integer of the block:
    /// the variance parameter `s²` of the discrete Gaussian, the scale `b` of the discrete Laplace.
    pub scale: Rational,
}

/// Everything that decides a release but the data and the noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The kind of noise.
    pub noise: Noise,
    /// The budget in the noise's own currency: ρ for Gaussian, ε for Laplace.
    pub budget: Rational,
    /// The neighbour relation.
    pub neighbours: Neighbours,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// The strategy that was chosen.
    pub measure: Measure,
    /// The budget rule that was chosen.
    pub budgets: BudgetRule,
    /// For each dimension the levels in use, ascending, starting with 0 (total). Components are
    /// differences between consecutive levels in use.
    pub levels: Vec<Vec<u8>>,
    /// What is asked and measured of each subject: of rows first.
    pub channels: Vec<Channel>,
    /// The tables of the rows' workload that are published without noise. No component below them is measured.
    pub exact: Vec<Cuboid>,
    /// Conditions whose cells are empty whatever the data: see [`crate::recover::zeros`].
    pub zeros: Vec<String>,
    /// Where the measuring has several recipients: which copy this plan is of. Scales are then those of the copy.
    pub copy: Option<Box<Copy>>,
}

impl Plan {
    /// Which exact table holds a cuboid's component or table, if one does.
    pub fn exact_above(&self, cuboid: &Cuboid) -> Option<usize> {
        self.exact.iter().position(|e| cuboid.is_below(e))
    }
}
