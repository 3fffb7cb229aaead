//! What no tables and shares can do: a lower bound of the error of whole tables under Laplace noise.
//!
//! With `s_A = (Σ_{B ⊇ A} x_B²/n_B)^½` the error is `E = Σ_A (c_A/n_A)/s_A²`. A root of a sum is at most the sum of the roots,
//! `s_A ≤ Σ_{B ⊇ A} x_B/√n_B`; so for any weights `λ ≥ 0`, with `M` the largest `Σ_{A ≤ B} λ_A/√n_B` of all tables B there are,
//! `Σ λ_A s_A ≤ M`, and by Hölder's inequality `E ≥ (Σ_A (c_A/n_A · λ_A²)^{1/3})³ / M²`.
//!
//! The best weights come from the relaxation itself, `s_A = Σ x_B/√n_B`, which is convex in the shares of *all* tables: rounds of
//! `x_B ← x_B g_B^{1/3}`, and `λ_A = (c_A/n_A)/s_A³`. Any weights prove a bound; good ones prove a good one.

use super::landscape::{Landscape, Shape};
use std::sync::Arc;

/// More tables than this, or components in them, are not gone through.
const MOST_TABLES: f64 = (1u64 << 17) as f64;
const MOST_VISITS: usize = 1 << 24;
/// Rounds over all tables, and then over those that matter.
const ROUNDS: usize = 25;
const MORE_ROUNDS: usize = 200;

/// No `E` is below this. `None` where there are too many tables to be sure.
pub(super) fn bound(land: &Landscape) -> Option<f64> {
    let tables = every(land)?;
    let mut x = vec![1.0 / tables.len() as f64; tables.len()];
    let mut alive: Vec<usize> = (0..tables.len()).collect();
    for round in 0..ROUNDS + MORE_ROUNDS {
        let lambda = weights(land, &tables, &alive, &x);
        for &b in &alive {
            x[b] *= libm::cbrt(worth(&tables[b], &lambda));
        }
        let sum: f64 = alive.iter().map(|&b| x[b]).sum();
        alive.iter().for_each(|&b| x[b] /= sum);
        if round + 1 == ROUNDS {
            let most = alive.iter().map(|&b| x[b]).fold(0.0, f64::max);
            alive.retain(|&b| x[b] > 1e-4 * most);
        }
    }
    let lambda = weights(land, &tables, &alive, &x);
    let most = tables.iter().map(|t| worth(t, &lambda)).fold(0.0, f64::max);
    let root: f64 = lambda.iter().zip(land.stakes()).map(|(l, c)| libm::cbrt(c * l * l)).sum();
    let bound = root * root * root / (most * most);
    bound.is_finite().then_some(bound)
}

/// `Σ_{A ≤ B} λ_A/√n_B`.
fn worth(table: &Shape, lambda: &[f64]) -> f64 {
    table.below.iter().map(|&a| lambda[a as usize]).sum::<f64>() / table.cells.sqrt()
}

/// `λ_A = (c_A/n_A)/s_A³`, of length one at its largest.
fn weights(land: &Landscape, tables: &[Arc<Shape>], alive: &[usize], x: &[f64]) -> Vec<f64> {
    let mut s = vec![0.0; land.components().len()];
    for &b in alive {
        let t = x[b] / tables[b].cells.sqrt();
        tables[b].below.iter().for_each(|&a| s[a as usize] += t);
    }
    let lambda = s.iter().zip(land.stakes()).map(|(s, c)| if *c > 0.0 { c / (s * s * s) } else { 0.0 });
    let lambda: Vec<f64> = lambda.collect();
    let most = lambda.iter().fold(0.0f64, |a, b| a.max(*b));
    lambda.into_iter().map(|l| l / most).collect()
}

/// Every table there is over the levels in use.
fn every(land: &Landscape) -> Option<Vec<Arc<Shape>>> {
    let dimensions = land.dimensions();
    let count: f64 = dimensions.iter().map(|d| d.len() as f64 + 1.0).product();
    if count > MOST_TABLES || !land.is_steep() {
        return None;
    }
    let mut all = vec![Default::default()];
    for bits in &dimensions {
        let levels = |steps: &super::landscape::Steps| {
            let steps = *steps;
            (0..=bits.len()).map(move |level| steps.at_level(bits, level)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(levels).collect();
    }
    let mut visits = 0;
    let mut out = Vec::with_capacity(all.len());
    for steps in all {
        let shape = land.unseen(steps);
        visits += shape.below.len();
        if visits > MOST_VISITS {
            return None;
        }
        out.push(shape);
    }
    Some(out)
}
