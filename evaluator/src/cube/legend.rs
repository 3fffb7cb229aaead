//! What people read beside the names and codes of a dimension: what it is, what its codes stand for. It changes no count and no answer's numbers.

use serde::{Deserialize, Serialize};

/// What is said of one dimension, for people and for programs that draw.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Legend {
    /// The dimension's name.
    pub dimension: String,
    /// What it is, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its numbers are measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What kind of thing it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concept: Option<Concept>,
    /// The finest category that stands for empty cells, and for nothing else: SQL's NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What codes stand for, by level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LevelLabels>,
}

/// What kind of thing a dimension is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Concept {
    /// Places: areas, regions.
    Geography,
    /// When something was.
    Time,
}

/// What codes of one level stand for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelLabels {
    /// The level's own name.
    pub level: String,
    /// Pairs of a code and its label, in the order of the level's categories; codes without a label are left out.
    pub of: Vec<[String; 2]>,
}

/// A dimension's legend, with its labels by level and node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labelled {
    pub said: Legend,
    /// For each level a label for each node, empty where it has none; nothing for a level without labels.
    pub labels: Vec<Vec<String>>,
}
