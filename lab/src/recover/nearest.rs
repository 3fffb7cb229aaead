//! Consistency in the L1 and L∞ sense: the consistent tables nearest to the measured ones in another norm.
//!
//! After Barak et al. (PODS 2007) and Cormode et al. (ICDE 2013): among all families of tables that agree on
//! everything they share, take the one with the least `‖y − ŷ‖` over all that was measured. The true tables `t` are such a
//! family too, so `‖ŷ − t‖ ≤ ‖ŷ − y‖ + ‖y − t‖ ≤ 2‖y − t‖`: in that norm, consistency costs at most a factor two,
//! whatever the noise was. Least squares has the smaller error on average, and its error has an exact
//! law; these have neither unbiasedness nor a law in closed form, so **intervals stay those of least squares**.
//!
//! All measured cells (or coefficients) count alike, whatever the scale of their noise, as published.

use super::lp::{self, Measured};
use super::norm::Norm;
use margins::cube::Cuboid;
use margins::plan::Form;
use margins::recover::zeros::Lumped;
use margins::recover::{Recovery, Source};
use std::collections::HashMap;

/// The consistent tables nearest to the measured ones.
#[derive(Debug, Clone)]
pub(super) struct Nearest {
    norm: Norm,
    distance: f64,
    least_squares: f64,
    parts: HashMap<Cuboid, Vec<f64>>,
}

impl Nearest {
    /// The norm.
    pub(super) fn norm(&self) -> Norm {
        self.norm
    }

    /// How far these tables are from the measured ones.
    pub(super) fn distance(&self) -> f64 {
        self.distance
    }

    /// How far, in the same norm, those of least squares are. Never less, but for rounding.
    pub(super) fn least_squares_distance(&self) -> f64 {
        self.least_squares
    }

    /// The consistent tables nearest in `norm` to what was measured: cells of tables, or their Walsh coefficients. What is published
    /// exactly stays exact, what is declared empty stays empty. Deterministic: of several optima the one near their centre.
    ///
    /// # Errors
    /// When something else was measured, and when the linear programme is too large (40 000 cells, a million entries).
    pub(super) fn new<S: Source>(recovery: &Recovery<S>, norm: Norm) -> Result<Nearest, String> {
        solve(recovery, norm).map_err(|why| format!("consistency in {} cannot be had: {why}", norm.symbol()))
    }

    /// A table of the nearest consistent ones: like [`Recovery::table`], from other components.
    pub(super) fn table<S: Source>(
        &self,
        recovery: &Recovery<S>,
        cuboid: &Cuboid,
    ) -> Result<Vec<f64>, String> {
        let not_held = || format!("the release does not hold {}", recovery.cube().describe(cuboid));
        if !recovery.holds(cuboid) {
            return Err(not_held());
        }
        if recovery.plan().exact_above(cuboid).is_some() {
            return recovery.table(cuboid).map_err(|e| e.to_string());
        }
        let mut table = recovery.frame().rebuild(cuboid, &mut |a| {
            let part = self.parts.get(a).cloned();
            part.map(Some).ok_or_else(not_held)
        })?;
        recovery.zeros().clear(recovery.cube(), &Lumped::whole(recovery.frame()), cuboid, &mut table);
        Ok(table)
    }
}

fn solve<S: Source>(recovery: &Recovery<S>, norm: Norm) -> Result<Nearest, String> {
    let (frame, plan) = (recovery.frame(), recovery.plan());
    let own = |m: &'_ margins::plan::Measurement| match m.block.form() {
        Form::Table(seen) => Some(seen),
        _ => None,
    };
    let seen: Option<Vec<_>> = plan.only().measurements.iter().map(own).collect();
    let tables: Vec<Measured> = match seen {
        Some(all) => plan
            .only()
            .measurements
            .iter()
            .zip(all)
            .map(|(m, seen)| Measured { table: m.block.cuboid(), seen })
            .collect(),
        None => {
            return Err(format!(
                "it is for tables and coefficients measured directly, and this release's strategy `{}` measured other sums",
                plan.measure.name()
            ));
        }
    };
    let sizes = tables.iter().map(|t| frame.cells(t.table));
    let cells: f64 = sizes.sum();
    if cells > lp::MOST_CELLS as f64 {
        return Err(format!(
            "{cells} cells were measured, and its linear programme takes {} at most",
            lp::MOST_CELLS
        ));
    }
    let why = |e: margins::recover::RecoverError| e.to_string();
    let mut measured = Vec::with_capacity(tables.len());
    for index in 0..tables.len() {
        let values = recovery.measured(index).map_err(why)?;
        measured.push(values.iter().map(|v| v as f64).collect::<Vec<f64>>());
    }
    let best = tables.iter().map(|t| recovery.table(t.table)).collect::<Result<Vec<_>, _>>().map_err(why)?;
    let shown = |tables_of: &[Vec<f64>]| -> Vec<Vec<f64>> {
        tables.iter().zip(tables_of).map(|(own, t)| own.of(frame, t.clone())).collect()
    };
    let fitted = shown(&best);
    let residuals: Vec<Vec<f64>> =
        measured.iter().zip(&fitted).map(|(y, b)| y.iter().zip(b).map(|(y, b)| y - b).collect()).collect();
    let free = |a: &Cuboid| plan.exact_above(a).is_none();
    let change = lp::nearest(frame, &tables, &free, &empty(recovery, &tables)?, &residuals, norm)?;
    let consistent: Vec<Vec<f64>> =
        best.iter().zip(change).map(|(b, c)| b.iter().zip(c).map(|(b, c)| b + c).collect()).collect();
    Ok(Nearest {
        norm,
        distance: norm.distance(&shown(&consistent), &measured),
        least_squares: norm.distance(&fitted, &measured),
        parts: lp::parts_of(frame, &tables, &consistent),
    })
}

/// Cells declared empty are empty in least squares, and stay so. Those of coarser tables follow.
fn empty<S: Source>(recovery: &Recovery<S>, tables: &[Measured]) -> Result<Vec<Vec<bool>>, String> {
    if recovery.zeros().is_empty() {
        return Ok(Vec::new());
    }
    if tables.iter().any(|t| t.seen != margins::plan::Seen::Cells) {
        return Err("cells are declared empty, and coefficients were measured".into());
    }
    let whole = Lumped::whole(recovery.frame());
    let mask = |t: &Measured| {
        let mut open = vec![1.0; recovery.frame().len(t.table)];
        if recovery.zeros().tops().contains(t.table) {
            recovery.zeros().clear(recovery.cube(), &whole, t.table, &mut open);
        }
        open.into_iter().map(|v| v == 0.0).collect()
    };
    Ok(tables.iter().map(mask).collect())
}
