//! From a spec to a release, for programs: what the command's verbs do, without a terminal.
//!
//! | file | idea |
//! |---|---|
//! | `options` | how a plan or a release is made |
//! | `planned` | what a release of a spec will be |
//! | `made` | a release that was made |
//! | `charging` | what is about to be charged |
//! | `extended` | what is missing beside a release that is out |
//! | `account` | the ledger of a spec, and what it holds |
//! | `signer` | with which key and which randomness |
//! | `bounds` | rows by the size of their amounts, to choose bounds from |
//! | `place` | where releases must not go |
//! | `reserved` | names that are devices on Windows |
//! | `words` | numbers for people |
//! | `error` | why there is none |

pub(crate) mod account;
#[cfg(feature = "cli")]
pub(crate) mod bounds;
mod charging;
mod error;
mod extended;
mod made;
mod options;
pub(crate) mod place;
mod planned;
pub(crate) mod reserved;
pub(crate) mod signer;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use charging::Charging;
pub use error::MakeError;
#[cfg(feature = "cli")]
pub(crate) use extended::other_truth;
pub use made::MadeRelease;
pub use options::{PlanOptions, ReleaseOptions};
pub use planned::{PlannedRelease, PlannedTable};

use crate::spec::{self, Spec, Unit};
use std::path::Path;
use std::time::SystemTime;

/// A spec is read, planned and released.
impl Spec {
    /// Reads the spec of a file, and the files that it refers to; not the data.
    pub fn load(path: impl AsRef<Path>) -> Result<Spec, MakeError> {
        Ok(spec::load(path.as_ref())?)
    }

    /// Reads a spec from TOML that another program wrote; what it refers to is found from the working folder.
    pub fn from_toml(text: &str) -> Result<Spec, MakeError> {
        Ok(spec::of_text(text, Path::new("spec"))?)
    }

    /// Plans the release, without looking at data: what will be measured, and how exact its tables will be.
    pub fn plan(&self) -> Result<PlannedRelease, MakeError> {
        self.plan_with(&PlanOptions::new())
    }

    /// [`Spec::plan`], with options.
    pub fn plan_with(&self, options: &PlanOptions) -> Result<PlannedRelease, MakeError> {
        PlannedRelease::new(self.searched(options.effort)?, options)
    }

    /// Makes a signed release: reads the data once, charges the ledger, adds exact noise, and seals. Whatever can be refused without data is refused
    /// before data is opened.
    pub fn release(&self, options: ReleaseOptions<'_>) -> Result<MadeRelease, MakeError> {
        made::make(self.searched(options.effort)?, None, options)
    }

    /// The columns of the data that the spec names, each once and in the order of letters: nobody looks at others.
    pub fn data_columns(&self) -> Vec<String> {
        let mut names: Vec<String> = self.columns.iter().map(|c| c.column.clone()).collect();
        names.extend(self.summed().flat_map(|amount| amount.columns.iter().cloned()));
        if let Unit::Column { column, order, .. } = &self.privacy.unit {
            names.push(column.clone());
            names.extend(order.iter().cloned());
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The same spec, with another effort where one is given.
    fn searched(&self, effort: Option<u32>) -> Result<Spec, MakeError> {
        let mut spec = self.clone();
        match effort {
            Some(effort) if effort > spec::MOST_EFFORT => return Err(MakeError::Effort(effort)),
            Some(effort) => spec.strategy.effort = effort,
            None => {}
        }
        Ok(spec)
    }
}

/// Today in UTC, `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    crate::calendar::written((seconds / 86_400) as i64)
}
