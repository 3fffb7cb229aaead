//! Audits of small specs of every kind: none is refuted, and the pair that is found costs nearly what is claimed. All seeds are fixed.

mod calibrated;
mod families;
mod planted;
mod rare;
mod sound;

use super::found::{Effort, Findings, audit};
use super::samples::Seeds;
use margins::Spec;
use margins::cli::Failure;
use margins::watch::Watch;
use std::sync::atomic::AtomicU64;

/// Components of sums of a number that some rows have not, the total of which matters so much more.
fn heavy_total(weight: &str) -> String {
    format!(
        "[strategy]\nmeasure = \"residual\"\n[[amount]]\nname = \"income\"\nlow = 0\nhigh = 1000\nstep = 10\nmissing = \"skip\"\n\
         [[table]]\nof = []\nsum = [\"income\"]\nweight = {weight}\n[[table]]\nof = [\"sex\"]\nsum = [\"income\"]\n"
    )
}

/// A spec of made-up people, with a budget.
fn spec(privacy: &str, rest: &str) -> Spec {
    let text = format!(
        "name = \"made\"\ntitle = \"Made up\"\ndemo = true\n{rest}\n[privacy]\n{privacy}\n[[dimension]]\nname = \"sex\"\n\
         categories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 5]\nlevels = [{{ name = \"group\", cuts = [1, 4] }}]\n"
    );
    Spec::from_toml(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// What an audit of so many releases finds.
fn audited(spec: &Spec, releases: usize, alpha: f64, seed: u64) -> Findings {
    audited_by(spec, releases, alpha, seed, &|| ())
}

fn audited_by(spec: &Spec, releases: usize, alpha: f64, seed: u64, ready: &(dyn Fn() + Sync)) -> Findings {
    tried(spec, releases, alpha, seed, ready).unwrap_or_else(|text| panic!("{text}"))
}

/// Or why there is no audit.
fn tried(
    spec: &Spec,
    releases: usize,
    alpha: f64,
    seed: u64,
    ready: &(dyn Fn() + Sync),
) -> Result<Findings, String> {
    let plan = spec.plan().unwrap_or_else(|e| panic!("{e}"));
    let effort = effort(releases, alpha);
    let seeds = Seeds::Counted(AtomicU64::new(seed << 32));
    audit(&plan, &effort, seeds, ready, &Watch::default()).map_err(|e| match e {
        Failure::Message(text) | Failure::Refused(text) | Failure::Rendered(text) => text,
        Failure::Refuted => "refuted".into(),
    })
}

fn effort(releases: usize, alpha: f64) -> Effort {
    Effort { releases, alpha, power: 0.9 }
}
