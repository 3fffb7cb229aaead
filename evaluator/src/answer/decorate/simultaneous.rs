//! Which way all intervals of one answer are made to cover together.
//!
//! Bonferroni's inequality always holds and needs nothing; the simulated maximum ([`MaxZ`]) knows how the errors hang
//! together and is narrower when they do, but has its own error to allow for and must be affordable. The choice looks
//! at the laws only, never at an estimate. Ratios have no standard error that is the same for all truths, so theirs
//! are always Bonferroni's: of `n` intervals the `l` linear ones share `l/n` of what may be missed.

use crate::answer::error::QueryError;
use crate::answer::figure::question::{Question, Row};
use crate::answer::figure::{Answered, Figure, Pairs};
use crate::answer::tell::{AllRows, Errors, Teller};
use crate::cube::Level;
use crate::joint::{How, MaxZ, Noise, without_traces};
use crate::render::Together;
use crate::sql::Aggregate;

/// How intervals are made to cover all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simultaneous {
    /// The narrower.
    Auto,
    /// By the simulated law of the largest error, where that can be computed.
    MaxZ,
    /// By Bonferroni's inequality.
    Bonferroni,
}

/// Coefficients of noises that are worth looking at.
const MOST: usize = 1 << 21;

impl Together {
    /// `None` when there are not two intervals to speak of. `how` is as each interval alone would be found.
    pub(in crate::answer) fn choose(
        choice: Simultaneous,
        teller: &dyn Teller,
        asked: &Question,
        rows: &[Row],
        how: &How,
        pairs: &mut Pairs,
    ) -> Result<Option<Together>, QueryError> {
        let figures: Vec<(usize, &Figure)> =
            asked.figures.iter().enumerate().filter_map(|(i, f)| Some((i, f.as_ref()?))).collect();
        let linear: Vec<(usize, &Figure)> = figures.iter().copied().filter(|(_, f)| !f.is_ratio()).collect();
        // NULL has no interval.
        let is = |row: &Row, figure: &Figure| !asked.is_null(row.portion, figure);
        let count = |of: &[(usize, &Figure)]| -> usize {
            rows.iter().map(|row| of.iter().filter(|(_, f)| is(row, f)).count()).sum()
        };
        let intervals = count(&figures);
        if intervals < 2 {
            return Ok(None);
        }
        let missed = 1.0 - how.level;
        let each = 1.0 - missed / intervals as f64;
        let ratios = linear.len() < figures.len();
        let steps = rows.iter().any(|row| row.told.law.is_coarse());
        let plain = Together { intervals, each, max_z: None, ratios, steps, refused: None };
        if choice == Simultaneous::Bonferroni || teller.errors() != Errors::Noises {
            return Ok(Some(plain));
        }
        let width = rows.len() * linear.len();
        let why = match width {
            0 => "None is of a linear figure, and the largest error is simulated for those alone.",
            1 => "One alone is of a linear figure: there is no largest of several errors to simulate.",
            _ => "Too many rows or noises to simulate the largest error.",
        };
        let refused =
            Ok(Some(Together { refused: (choice == Simultaneous::MaxZ).then(|| why.to_owned()), ..plain }));
        if !(2..=MOST).contains(&width) {
            return refused;
        }
        // Every linear interval as Bonferroni's inequality has it: what to beat.
        let alone = How { level: each, ..*how };
        let mut answered: Vec<Answered> = Vec::with_capacity(width);
        for row in rows {
            for (column, figure) in &linear {
                let mut own = figure.answer(*column, &row.told, &alone, pairs)?;
                if !is(row, figure) {
                    own.std_error = 0.0;
                }
                answered.push(own);
            }
        }
        let Some(noises) = noises(teller, asked, rows, &linear, &answered)? else { return refused };
        let level = 1.0 - missed * count(&linear) as f64 / intervals as f64;
        let Some(found) = MaxZ::simulate(width, noises.iter().map(|(n, c)| (n, &c[..])), level) else {
            return refused;
        };
        let (mut bonferroni, mut simulated) = (0.0, 0.0);
        for a in answered.iter().filter(|a| a.std_error > 0.0) {
            // In standard errors, so that wide figures do not drown narrow ones.
            bonferroni += a.reach() / a.std_error;
            simulated += found.critical;
        }
        let max_z = (choice == Simultaneous::MaxZ || simulated <= bonferroni).then_some(found);
        Ok(Some(Together { max_z, ..plain }))
    }
}

/// Every noise behind any linear figure of any row, with its coefficient in each.
pub(super) fn noises(
    teller: &dyn Teller,
    asked: &Question,
    rows: &[Row],
    linear: &[(usize, &Figure)],
    answered: &[Answered],
) -> Result<Option<Vec<(Noise, Vec<f64>)>>, QueryError> {
    let places: Vec<(usize, &[u32])> = rows.iter().map(|row| (row.portion, &row.told.nodes[..])).collect();
    let aggregates = asked.aggregates.len();
    let portions: Vec<&[Aggregate]> = asked.portions.iter().map(|p| &p.aggregates[..]).collect();
    let group_by = &asked.query.group_by;
    let coarser: Vec<&[Level]> = (0..portions.len()).map(|portion| asked.levels(portion)).collect();
    let all = AllRows { portions: &portions, group_by, coarser: &coarser, rows: &places, most: MOST };
    let Some(law) = teller.jointly(&all)? else { return Ok(None) };
    let weights: Vec<Vec<f64>> =
        linear.iter().filter_map(|(_, f)| f.weights(aggregates).into_iter().next()).collect();
    let of_figures = |(noise, coefficients): (&Noise, &[f64])| {
        let rows = coefficients.chunks_exact(aggregates.max(1));
        let own = rows
            .flat_map(|row| weights.iter().map(move |w| w.iter().zip(row).map(|(w, c)| w * c).sum::<f64>()));
        (*noise, own.collect::<Vec<f64>>())
    };
    let mut all: Vec<(Noise, Vec<f64>)> = law.noises().map(of_figures).collect();
    without_traces(&mut all, 1e-13);
    for (_, own) in &mut all {
        own.iter_mut().zip(answered).filter(|(_, a)| a.std_error == 0.0).for_each(|(c, _)| *c = 0.0);
    }
    Ok(Some(all))
}
