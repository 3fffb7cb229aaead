//! # margins
//!
//! Compiles a private dataset into signed statistical tables with exact margins of error; and, without its default features, opens,
//! verifies and queries such releases.
//!
//! # From a spec to an answer
//!
//! ```
//! # #[cfg(feature = "compile")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use margins::{Release, ReleaseOptions, Spec};
//!
//! // What will be measured, and how exact the tables will be: decided without looking at data.
//! let plan = Spec::load("specs/town.toml")?.plan()?;
//! for table in plan.tables() {
//!     println!("{}: ± {:.0}", table.levels.join(" × "), 1.96 * table.std_error);
//! }
//!
//! // The ledger is charged, noise is drawn, the file is signed. This town is made up, so a throw-away key will do.
//! let folder = tempfile::tempdir()?;
//! let options = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("ledger.jsonl"));
//! let made = plan.release(options)?;
//! println!("{} for {} = {}", made.path().display(), made.currency(), made.cost());
//!
//! // Opening checks the signature over the manifest; each section is checked when it is first needed.
//! let release = Release::open(made.path())?;
//!
//! // Everything an auditor can check from the file alone; give the agency's public key to know who signed.
//! assert!(release.verify(None)?.passed());
//!
//! let answer = release.query("SELECT sex, COUNT(*) FROM town WHERE age < 20 GROUP BY sex")?;
//! for row in &answer {
//!     let count = row.figure("count")?;
//!     println!("{}: {:.0}, between {:.0} and {:.0}", row.label("sex")?, count.estimate, count.low, count.high);
//!     # assert!(count.low < count.estimate && count.estimate < count.high && count.std_error < 60.0);
//! }
//! # assert_eq!(answer.rows().len(), 2);
//! # assert_eq!(made.cost(), plan.cost());
//! # assert!(plan.tables().len() > 1 && plan.tables().iter().all(|t| t.std_error > 0.0));
//! // What else a reader must know beside the numbers.
//! for note in answer.notes() {
//!     println!("note: {note}");
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "compile"))]
//! # fn main() {}
//! ```
//!
//! [`PlanOptions`] and [`ReleaseOptions`] say what is to be otherwise: the key that signs, rows in memory ([`Frame`]), a limit of memory. A [`Watch`] hears how
//! far the work is, and stops it. No state is shared: a program may plan and release in several threads at once.
//!
//! It is the same for a release of a random projection, of which single keys are asked. Histories of noisy answers from elsewhere are
//! [`History`]'s business. Everything else in this library serves the `margins` command and may change; `docs/architecture.md` shows
//! how it is built.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
// What only some features hand on or use is no mistake in a build without them: the build with all of them finds what nobody does.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unreachable_pub, unused_imports))]

pub use {
    answer::{Options, QueryError},
    audit::{Audit, Verdict},
    describe::Description,
    face::{Answer, Dimension, Error, Figure, Level, Release, Row, Table},
    history::{History, HistoryAnswer, HistoryError, Inferred},
    release::{Check, Manifest, Outcome, ReleaseError},
    render::Caveat,
    watch::Watch,
};
#[cfg(feature = "compile")]
pub use {
    make::{Charging, MadeRelease, MakeError, PlanOptions, PlannedRelease, PlannedTable, ReleaseOptions},
    secret::ingest::{Frame, Held},
};
#[cfg(feature = "planner")]
pub use {
    preview::{NoPreview, preview},
    spec::{Diagnostic, Spec, SpecErrors},
};

mod face;

/// What may be asked for beside an interval: the words of [`Options`]. Statements and priors are read from text, as the command reads them.
///
/// ```
/// use margins::{Options, options::{Interval, PriorChoice, Simultaneous, Statement}};
/// let options = Options {
///     prob: Some("> 100".parse::<Statement>()?),
///     prior: Some("uniform(1000)".parse::<PriorChoice>()?),
///     interval: Interval::Shortest,
///     joint: Some(Simultaneous::Auto),
///     ..Options::at(0.95)
/// };
/// # assert_eq!(options.level, 0.95);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod options {
    pub use crate::answer::Simultaneous;
    pub use crate::law::{Interval, Method};
    pub use crate::posterior::{PriorChoice, Statement};
}

#[doc(hidden)]
pub mod audit;
#[cfg(feature = "spec")]
use margins_evaluator::calendar;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub use margins_evaluator::interrupt;
#[cfg(feature = "faults")]
#[doc(hidden)]
pub use margins_evaluator::planted;
#[doc(hidden)]
pub use margins_evaluator::{
    answer, cube, describe, files, history, plan, posterior, projection, records, recover, release, render,
    sql, visible, watch,
};
#[doc(hidden)]
pub use margins_law::{exact, law, numeric};

#[cfg(feature = "spec")]
#[cfg_attr(not(feature = "compile"), allow(dead_code))]
mod blank_rows;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod compile;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod ledger;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod make;
#[cfg(feature = "planner")]
#[doc(hidden)]
pub mod planner;
#[cfg(feature = "planner")]
mod preview;
mod price;
#[cfg(feature = "spec")]
#[cfg_attr(not(feature = "compile"), allow(dead_code))]
mod quotes;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod secret;
#[cfg(feature = "spec")]
#[doc(hidden)]
pub mod spec;
#[cfg(feature = "spec")]
#[cfg_attr(not(feature = "compile"), allow(dead_code))]
mod unpack;

/// The programs of `docs/library.md`.
#[cfg(all(doctest, feature = "compile"))]
mod library {
    macro_rules! page {
        ($text:expr) => {
            #[doc = $text]
            struct Page;
        };
    }
    page!(include_str!("../docs/library.md"));
}
