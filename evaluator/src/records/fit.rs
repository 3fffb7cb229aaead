//! Records fitted to a shape: drawn one by one, then by the chain, then moved.

use super::chain::{self, Way};
use super::shape::{Nodes, Shape};
use super::{RecordsError, exact, quench, report, start, whole};
use crate::watch::Watch;

/// Records that were fitted.
pub(super) struct Made {
    pub nodes: Nodes,
    pub sweeps: usize,
    /// By how much more than chance a second chain differs.
    pub chains: f64,
}

/// Sweeps of the chain; of large tables and many records fewer.
const SWEEPS: usize = 60;
const LEAST_SWEEPS: usize = 24;
/// Records of the second chain, which shows how near the first is to its equilibrium.
const SECOND: usize = 8192;
/// So many numbers may be looked at in a sweep before there are fewer sweeps.
const LIGHT: f64 = 5e8;
/// The most passes of the quench; it ends when fewer than one record of [`SETTLED`] has moved.
const PASSES: usize = 8;
const SETTLED: usize = 200;

/// How often the chain goes over all records, and the quench at most.
fn often(work: f64, rows: f64) -> (usize, usize) {
    let heavy = (work * rows / LIGHT).max(1.0);
    let sweeps = ((SWEEPS as f64 / heavy) as usize).max(LEAST_SWEEPS);
    (sweeps, if heavy > 2.0 { PASSES / 2 } else { PASSES })
}

/// How often all numbers of so many records are looked at, or at most, the second chain's included.
pub(super) fn rounds(work: f64, rows: f64) -> f64 {
    let (sweeps, passes) = often(work, rows);
    let second = LEAST_SWEEPS as f64 * (SECOND as f64).min(rows) / rows.max(1.0);
    // A pass takes about two sweeps: moves are made one after the other.
    (sweeps + 2 * passes) as f64 + second
}

/// Fits so many records to a shape.
pub(super) fn fit(shape: &Shape, way: Way, watch: &Watch) -> Result<Made, RecordsError> {
    let mut nodes = start::start(shape, way.rows, way.seed, way.threads)?;
    if way.rows == 0 {
        return Ok(Made { nodes, sweeps: 0, chains: 1.0 });
    }
    let (sweeps, passes) = often(shape.work(), way.rows as f64);
    let mut chain = chain::Chain::new(shape, way);
    let stage = watch.stage("drawing", (sweeps * way.rows) as u64);
    for sweep in 0..sweeps {
        if !chain.sweep(&mut nodes, sweep, watch) {
            return Err(RecordsError::Stopped);
        }
        stage.advance(way.rows as u64);
    }
    let second = chain.second(way.rows.min(SECOND), LEAST_SWEEPS, watch)?;
    drop(stage);
    let chains = report::unlike(shape, &nodes, &second);
    let (exact, whole) = (exact::Exact::of(shape), way.rows as u64 == whole(shape.total));
    exact.meet(way.seed, &mut nodes, way.rows, whole);
    let mut quench = quench::Quench::new(shape, &way, &nodes);
    let stage = watch.stage("settling", (passes * way.rows) as u64);
    for pass in 0..passes {
        let moved = quench.pass(shape, &way, &mut nodes, pass, watch).ok_or(RecordsError::Stopped)?;
        stage.advance(way.rows as u64);
        if moved * SETTLED < way.rows {
            break;
        }
    }
    if whole {
        exact.mend(way.seed, &mut nodes, way.rows);
    }
    Ok(Made { nodes, sweeps, chains })
}
