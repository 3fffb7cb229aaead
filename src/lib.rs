//! # margins
//!
//! Compiles a private dataset into signed statistical tables with exact margins of error.
//!
//! The way of the data: `spec -> plan -> secret (count -> measure) -> release -> recover -> answer`.
//! Each stage is a function from immutable values to one immutable value.
//!
//! | module | what it is | feature |
//! |---|---|---|
//! | [`exact`] | rationals that are never rounded: budgets, scales, costs | – |
//! | [`cube`] | dimensions, levels, cuboids, components: the algebra, no data and no noise | – |
//! | [`plan`] | what will be measured and how precisely; a pure function of the spec | – |
//! | [`release`] | the signed file: sections, manifest, hashes, signature | – |
//! | [`recover`] | measurements -> consistent estimates and the law of their error | – |
//! | [`answer`] | query -> estimate, interval, posterior | – |
//! | [`audit`] | is the file whole, and does its privacy arithmetic add up | – |
//! | `spec` | what the agency asks for | `compile` |
//! | `secret` | the only rooms that ever hold private data | `compile` |
//! | `compile` | all stages in their order: spec to sealed file | `compile` |
//! | `ledger` | what has been spent, over all releases of a dataset | `compile` |
//! | `cli` | the `margins` command, one verb a file | `cli` |
//!
//! # An answer from a release
//!
//! ```
//! # #[cfg(feature = "compile")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # // A release of the bundled made-up town, sealed with a key nobody keeps.
//! # use margins::{compile, release::SigningKey, secret::noise::Entropy, spec};
//! # let folder = tempfile::tempdir()?;
//! # let town = spec::load("specs/town.toml".as_ref()).map_err(|e| e.to_string())?;
//! # let (key, ledger) = (SigningKey::throw_away()?, folder.path().join("ledger.jsonl"));
//! # let options = compile::Options {
//! #     out: folder.path(), data: None, ledger: &ledger, key: &key, replace: false, day: "2026-01-31",
//! #     entropy: Entropy::from_os()?,
//! # };
//! # let file = compile::release(&town, options, &())?.sealed.path;
//! use margins::answer::{Answers, render::ResultCell};
//!
//! // Opening checks the signature over the manifest; each section is checked when it is first needed.
//! let answers = Answers::open(&file)?;
//! let table = answers.query("SELECT COUNT(*) FROM town WHERE age < 20 AND sex = 'F'", 0.95)?;
//! let ResultCell::Figure(girls) = &table.rows[0][0] else { unreachable!("COUNT(*) is a figure") };
//! println!("{:.0}, between {:.0} and {:.0}", girls.estimate, girls.low, girls.high);
//! assert!(girls.low < girls.estimate && girls.estimate < girls.high);
//! assert!((2_500.0..3_400.0).contains(&girls.estimate) && girls.std_error < 60.0);
//!
//! // Everything an auditor can check from the file alone.
//! let audit = margins::audit::audit(answers.release(), None)?;
//! assert!(audit.passed());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "compile"))]
//! # fn main() {}
//! ```
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod answer;
pub mod audit;
pub mod cube;
pub mod exact;
mod files;
pub mod law;
pub mod numeric;
pub mod plan;
#[cfg(feature = "compile")]
pub mod planner;
pub mod projection;
pub mod recover;
pub mod release;
pub mod sql;
pub mod visible;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "compile")]
pub mod compile;
#[cfg(feature = "compile")]
pub mod ledger;
#[cfg(feature = "compile")]
pub mod secret;
#[cfg(feature = "compile")]
pub mod spec;
