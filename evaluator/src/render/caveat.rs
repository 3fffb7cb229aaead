//! What makes numbers untrue besides noise.
//!
//! An interval speaks of the noise alone. Rows that were never counted and rows that a sum cannot add are in
//! no interval, so a reader must be told of them wherever the numbers are shown: as notes below a table, as `caveats` in JSON,
//! as a column `status` in CSV.

use super::table::{brief, percent};
use super::{ResultFigure, ResultTable};
use crate::release::Without;
use crate::sql::Fate;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Something that makes the numbers of an answer untrue besides noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Caveat {
    /// Rows of a unit beyond so many were left out before anything was counted.
    Truncated {
        /// What a unit is: the name of the column that identifies it.
        unit: String,
        /// How many rows of each count.
        max_rows: u32,
        /// How many units had more, where that was measured.
        cut: Option<ResultFigure>,
        /// What became of rows that belong to no unit, where they did not stop the run.
        without: Option<Without>,
        /// Of which period, where several are compared.
        period: Option<String>,
    },
    /// Values of a number were moved to its ends, and it was measured of how many rows.
    Clamped {
        /// The number.
        amount: String,
        /// Its ends, for people.
        ends: [String; 2],
        /// How many rows were moved to the low and to the high end, of all that were counted.
        moved: [ResultFigure; 2],
        /// Of which period, where several are compared.
        period: Option<String>,
    },
    /// Values of a dimension beyond its ends were counted in the categories at these ends.
    Ends {
        /// The dimension.
        dimension: String,
        /// Its ends.
        within: (f64, f64),
        /// Of which period, where several are compared.
        period: Option<String>,
    },
    /// Rows were counted by their weights.
    Weighted {
        /// The weight.
        by: String,
        /// Of which period, where several are compared.
        period: Option<String>,
    },
    /// Categories without a number, where a number is needed.
    LeftOut {
        /// The column of the answer; `None`: all of it, by WHERE.
        figure: Option<String>,
        /// What becomes of their rows.
        fate: Fate,
        /// The level that is added up or compared.
        level: String,
        /// The categories without a number.
        categories: Vec<String>,
        /// From which number to which its other categories are.
        within: Option<(f64, f64)>,
        /// How many rows of the data are in them, over all rows of the answer: of one unit there may be several. `None` where the release does not tell.
        units: Option<ResultFigure>,
        /// Of which period, where several are compared.
        period: Option<String>,
    },
}

/// Categories that are named; the rest is only counted.
const NAMED: usize = 5;

impl Caveat {
    /// The words for these in the column `status`, each once.
    pub fn words(caveats: &[Caveat]) -> String {
        let mut words: Vec<&str> = Vec::new();
        for word in caveats.iter().map(Caveat::status) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(" ")
    }

    /// The word for it in the column `status`.
    fn status(&self) -> &'static str {
        match self {
            Caveat::Truncated { .. } => "truncated",
            Caveat::Clamped { .. } | Caveat::Ends { .. } => "clamped",
            Caveat::Weighted { .. } => "weighted",
            Caveat::LeftOut { fate: Fate::Met | Fate::Otherwise, .. } => "undecided",
            Caveat::LeftOut { .. } => "incomplete",
        }
    }

    /// In words; `level` is that of the intervals.
    pub fn text(&self, level: f64) -> String {
        match self {
            Caveat::Truncated { unit, max_rows, cut, without, period } => {
                let mut text = format!("{}; no interval covers them.", truncation(unit, *max_rows));
                if let Some(cut) = cut {
                    let when = period.as_ref().map_or(String::new(), |p| format!(" in {p}"));
                    text.push_str(&format!(" Units that had more{when}: {}.", with_interval(cut, level)));
                }
                if let Some(without) = without {
                    text.push_str(&format!(" {}", without.text(unit)));
                }
                text
            }
            Caveat::Clamped { amount, ends, moved: of, period } => {
                let when = period.as_ref().map_or(String::new(), |p| format!(" in {p}"));
                format!("{amount}{when}: {}", moved(ends, of, level))
            }
            Caveat::Ends { dimension, within: (lo, hi), period } => {
                let when = period.as_ref().map_or(String::new(), |p| format!(" in {p}"));
                format!(
                    "{dimension}{when}: values below {lo} and beyond {hi} were counted in the categories at these ends; no interval covers that."
                )
            }
            Caveat::Weighted { by, period } => {
                let when = period.as_ref().map_or(String::new(), |p| format!(" in {p}"));
                format!("Rows are weighted by {by}{when}.")
            }
            Caveat::LeftOut { figure, fate, level: name, categories, within, units, period } => {
                let when = period.as_ref().map_or(String::new(), |p| format!(" in {p}"));
                let how_many = match units {
                    Some(rows) => format!("{} rows", with_interval(rows, level)),
                    None => "rows (how many, this release does not tell)".into(),
                };
                let (is, clause) =
                    (named(categories), if *fate == Fate::Otherwise { "GROUP BY" } else { "WHERE" });
                let what = figure.as_deref().unwrap_or(clause);
                let (does, as_what, to) = match fate {
                    Fate::NotAdded => ("leaves out", "", "add up"),
                    Fate::Unmet => ("leaves out", "", "compare"),
                    Fate::Met => ("counts", "", "compare"),
                    Fate::Otherwise => ("counts", " as not meeting the comparison", "compare"),
                };
                let alone = match (fate, within) {
                    (Fate::NotAdded, Some((lo, hi))) => {
                        format!(", so it is of {name} from {lo} to {hi} alone")
                    }
                    _ => String::new(),
                };
                format!(
                    "{what}{when}: {does} {how_many} whose {name} is {is}{as_what}: no number to {to}{alone}."
                )
            }
        }
    }

    /// As data.
    pub fn to_json(&self) -> Value {
        let mut map = Map::new();
        let period = match self {
            Caveat::Truncated { unit, max_rows, cut, without, period } => {
                if let Some(without) = without {
                    map.insert("without".into(), json!(without));
                }
                map.insert("unit".into(), unit.as_str().into());
                map.insert("max_rows".into(), (*max_rows).into());
                map.insert("cut_units".into(), json!(cut));
                period
            }
            Caveat::Clamped { amount, ends: _, moved: [below, above], period } => {
                map.insert("amount".into(), amount.as_str().into());
                map.insert("below".into(), json!(below));
                map.insert("above".into(), json!(above));
                period
            }
            Caveat::Ends { dimension, within: (lo, hi), period } => {
                map.insert("dimension".into(), dimension.as_str().into());
                map.insert("low".into(), json!(lo));
                map.insert("high".into(), json!(hi));
                period
            }
            Caveat::Weighted { by, period } => {
                map.insert("by".into(), by.as_str().into());
                period
            }
            Caveat::LeftOut { figure: column, fate, level, categories, within: _, units, period } => {
                // What is true of the whole answer has no column.
                map.insert("figure".into(), column.as_deref().into());
                map.insert("fate".into(), fate.word().into());
                map.insert("of".into(), level.as_str().into());
                map.insert("categories".into(), categories.as_slice().into());
                // Rows are counted; scripts know them by this key.
                map.insert("units".into(), json!(units));
                period
            }
        };
        map.insert("status".into(), self.status().into());
        if let Some(period) = period {
            map.insert("period".into(), period.as_str().into());
        }
        map.into()
    }
}

/// What a bound on the rows of a unit does to every count.
pub fn truncation(unit: &str, max_rows: u32) -> String {
    let rows = if max_rows == 1 { "1 row".into() } else { format!("{max_rows} rows") };
    format!("Counts at most {rows} of each {unit}; those beyond are left out")
}

/// How many rows were moved to the ends of a number.
pub(crate) fn moved([low, high]: &[String; 2], [below, above]: &[ResultFigure; 2], level: f64) -> String {
    let (below, above) = (with_interval(below, level), with_interval(above, level));
    format!("of the rows that were counted {below} were below {low}, and {above} beyond {high}.")
}

/// `9+ or unknown`, cut when long.
pub(crate) fn named(categories: &[String]) -> String {
    let shown = categories.iter().take(NAMED).cloned().collect::<Vec<_>>();
    let rest = categories.len().saturating_sub(NAMED);
    match (&shown[..], rest) {
        ([], _) => "none of those listed".into(),
        ([only], 0) => only.clone(),
        ([most @ .., last], 0) => format!("{} or {last}", most.join(", ")),
        (some, rest) => format!("{} or one of {rest} more", some.join(", ")),
    }
}

/// `3,456 (95 %: 3,440 to 3,472)`.
fn with_interval(figure: &ResultFigure, level: f64) -> String {
    let [estimate, _, low, high] = brief(*figure);
    if figure.std_error == 0.0 {
        return format!("{estimate} (exact)");
    }
    format!("{estimate} ({} %: {low} to {high})", percent(level))
}

impl ResultTable {
    /// All that a reader must be told, in words: what makes the numbers untrue first.
    pub fn told(&self) -> Vec<String> {
        let caveats = self.caveats.iter().map(|c| c.text(self.level));
        caveats.chain(self.notes.iter().cloned()).collect()
    }

    /// The column `status`, by a name that no other has, and what it says.
    pub(super) fn status_column(&self) -> Option<(String, String)> {
        let words = self.status()?;
        let keys = self.keys();
        let mut name = "status".to_string();
        while keys.iter().any(|k| k.name == name) {
            name.push('_');
        }
        Some((name, words))
    }

    /// What the column `status` says; `None` where nothing but noise makes the numbers untrue.
    pub(crate) fn status(&self) -> Option<String> {
        Some(Caveat::words(&self.caveats)).filter(|words| !words.is_empty())
    }

    /// What that column says in one row: of several questions below each other each has its own.
    pub(super) fn status_of<'a>(&'a self, row: usize, all: &'a str) -> &'a str {
        let mut end = 0;
        let own = self.parts.iter().find(|(rows, _)| {
            end += rows;
            row < end
        });
        own.map_or(all, |(_, words)| words)
    }
}
