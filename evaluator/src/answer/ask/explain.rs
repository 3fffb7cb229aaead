//! What an answer rests on: the measurements behind it, their weights, and what would narrow it.

use crate::answer::error::QueryError;
use crate::answer::figure::Figure;
use crate::answer::figure::question::{self, Labels, Question};
use crate::answer::tell::open::Answers;
use crate::answer::tell::{Teller, Told};
use crate::render::{Explained, Source};
use crate::sql::Query;
use std::collections::BTreeMap;

/// A measurement of a release, the weight of some of its noises, how many they are, the variance of one of them, and its part in the answer's.
type Term = ((usize, usize), f64, u64, f64, f64);

/// Rows that are explained.
const MOST_ROWS: usize = 3;
/// Explains the first rows of an answer.
pub(super) fn explain(teller: &dyn Teller, query: &Query) -> Result<Vec<Explained>, QueryError> {
    let asked = Question::with_ranks(query)?;
    let labels = Labels::new(query, teller.cube());
    let releases = teller.releases();
    let mut out: Vec<Explained> = Vec::new();
    // What is NULL rests on nothing.
    let is = |portion: usize, figure: &Figure| !asked.is_null(portion, figure);
    let rows = question::rows(teller, &asked)?;
    let some = rows.iter().filter(|row| asked.figures.iter().flatten().any(|f| is(row.portion, f)));
    for row in some.take(MOST_ROWS) {
        for (column, figure) in query.columns.iter().zip(&asked.figures) {
            let Some(figure) = figure.as_ref().filter(|f| is(row.portion, f)) else { continue };
            let (variance, sources) = sources(&row.told, &figure.slopes(&row.told, 0), &releases);
            let labels = labels.row(asked.place(row.portion, &row.told.nodes));
            out.push(Explained { figure: column.name().into(), row: labels, variance, sources });
        }
    }
    Ok(out)
}

/// The variance of a combination's error, and what measurements it comes from.
fn sources(told: &Told, weights: &[f64], releases: &[&Answers]) -> (f64, Vec<Source>) {
    let terms = told.law.weighed(weights).map(|(noise, c)| {
        let one = noise.law.variance();
        ((noise.release, noise.measurement), c.abs(), noise.copies, one, c * c * one)
    });
    let terms = without_residues(terms.collect());
    let variance = 0.0 + terms.iter().map(|t| t.4 * t.2 as f64).sum::<f64>();
    let mut by: BTreeMap<(usize, usize), (u64, f64, f64, f64)> = BTreeMap::new();
    for (place, weight, copies, one, each) in terms {
        let e = by.entry(place).or_default();
        *e = (e.0 + copies, weight.max(e.1), one, e.3 + each * copies as f64);
    }
    let mut sources = Vec::new();
    for ((release, m), (noises, weight, one, sum)) in by {
        let Some(release) = releases.get(release) else { continue };
        let recovery = release.evaluator().recovery();
        let of_rows =
            recovery.plan().only().measurements.get(m).map(|found| (&found.block, recovery.noise(m)));
        let of_sums = release.channels().block(m);
        let name = of_sums.as_ref().map(|(_, what, _)| format!("{what}: ")).unwrap_or_default();
        // Of a sum of noises each is a term of its own.
        let found = of_rows.or(of_sums.map(|(block, _, layers)| (block, layers)));
        let (block, layers) = found.map_or((None, Vec::new()), |(block, layers)| (Some(block), layers));
        let (noises, one) = match &layers[..] {
            [_, _, ..] => {
                let all = layers.iter().map(|l| l.variance()).sum();
                (noises.div_ceil(layers.len() as u64), all)
            }
            _ => (noises, one),
        };
        let of_all = if variance > 0.0 { sum / variance } else { 0.0 };
        sources.push(Source {
            release: (releases.len() > 1).then(|| release.title()),
            block: block.map_or("the secret centre".into(), |b| name + &release.cube().describe(b.cuboid())),
            kind: block.map_or("shift", |b| b.kind()),
            noises,
            weight,
            noise_std: libm::sqrt(one),
            share: of_all,
            if_halved: libm::sqrt(1.0 - 0.5 * of_all),
        });
    }
    sources.sort_by(|a, b| b.share.total_cmp(&a.share));
    (variance, sources)
}

/// Leaves out the terms that only rounding has left behind. Weights are sums and quotients of doubles, so where they cancel there remains
/// some 1e-16 to 1e-12 of the largest instead of nothing. What moves the answer less than a thousand-millionth as far as the
/// strongest term (1e-18 of its variance) is taken for that: even 2^31 such noises together would not show in any figure here.
fn without_residues(mut terms: Vec<Term>) -> Vec<Term> {
    const RESIDUE: f64 = 1e-18;
    let largest = terms.iter().map(|t| t.4).fold(0.0, f64::max);
    terms.retain(|t| t.4 > RESIDUE * largest);
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_of_rounding_are_no_noises() {
        let term = |m: usize, weight: f64, one: f64| ((0, m), weight, 1, one, weight * weight * one);
        let kept = without_residues(vec![
            term(0, 1.0, 4.0),
            term(1, 1e-13, 9.0),
            term(2, 1e-4, 4.0),
            term(3, 0.0, 1.0),
        ]);
        assert_eq!(kept.iter().map(|t| t.0.1).collect::<Vec<_>>(), [0, 2]);
        // All of one size: whatever the size is.
        assert_eq!(without_residues(vec![term(0, 1e-12, 1.0), term(1, 2e-12, 1.0)]).len(), 2);
        assert!(
            without_residues(vec![term(0, 0.0, 1.0)]).is_empty() && without_residues(Vec::new()).is_empty()
        );
    }
}
