//! Slow dense oracles: every fast routine against matrices on small cubes.
mod algebra;
mod answers;
mod areas;
mod bases;
mod between;
mod centred;
mod dense;
mod digits;
mod freely;
mod matrix;
mod objectives;
mod one_category;
mod past;
mod plans;
mod pooled;
mod pooled_sums;
mod relative;
mod shaped;
mod strategies;
mod together;
mod trees;
mod unequal;
mod untrue;
mod workloads;

/// The ledger of these people, in which all that this key signs is charged: releases of two ledgers are not asked together.
fn ledger_of(spec: &margins::spec::Spec, key: &margins::release::SigningKey) -> std::path::PathBuf {
    let account = spec.account_name();
    let whose = blake3::hash(format!("{} {} {}", key.public_key(), account.id, account.unit).as_bytes());
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.jsonl", whose.to_hex()))
}
