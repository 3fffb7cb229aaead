//! The spec language as a whole: real specs, golden mistakes, meaning against brute force.

use super::*;
use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::{BudgetRule, Measure, Neighbours};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Parses a text that refers to no files.
fn read(source: &str) -> Result<Spec, SpecErrors> {
    parse(source, Path::new("t.toml"), |_| Err(std::io::Error::other("no files here")))
}

/// A whole spec around some dimensions and tables.
fn around(dimensions: &str, tables: &str) -> String {
    format!("name = \"t\"\ntitle = \"T\"\n[privacy]\nunit = \"row\"\nrho = 1\n{dimensions}\n{tables}\n")
}

/// The large published specs, which are not part of the package.
#[test]
fn published_specs() {
    let folder = root().join("../shared/specs");
    if !folder.is_dir() {
        eprintln!("skipped: the published specs are not here");
        return;
    }
    let load = |name: &str| load(&folder.join(name)).unwrap_or_else(|e| panic!("{e}"));
    let adult = load("adult8-pairs.toml");
    assert_eq!(adult.workload.len(), 28);
    assert_eq!(adult.cube.dimensions[0].levels[1].labels[0], "?");
    assert_eq!(adult.privacy.budget, Budget::Rho(Rational::new(1, 2).unwrap()));
    assert_eq!(
        adult.strategy,
        StrategySpec { measure: Some(Measure::Residual), budgets: BudgetRule::Optimal }
    );
    let wide = load("adult14-triples.toml");
    assert_eq!(wide.workload.len(), 470);
    let cells: u64 = wide.workload.iter().map(|t| wide.cube.cells(&t.cuboid).unwrap()).sum();
    assert!((21_000_000..22_000_000).contains(&cells), "{cells}");
    let nltcs = load("nltcs-pairs.toml");
    assert_eq!(nltcs.privacy.budget, Budget::Epsilon(Rational::ONE));
    assert_eq!((nltcs.workload.len(), nltcs.strategy.measure), (120, None));
    let hundred = load("wide100-triples.toml");
    assert_eq!(hundred.workload.len(), 166_751);
    assert!(hundred.data.is_none());
    let cells: u64 = hundred.workload.iter().map(|t| hundred.cube.cells(&t.cuboid).unwrap()).sum();
    assert!((162_000_000..163_000_000).contains(&cells), "{cells}");
}
