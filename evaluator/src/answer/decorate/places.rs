//! Places: which row is the first, by figures that nobody knows exactly.
//!
//! The interval of a place follows from intervals of the figures that cover all together: before a row are at least the rows whose intervals lie
//! wholly before its own, and behind it at least those wholly behind. So where all figures lie in theirs, all places do (Klein, Wright and
//! Wieczorek 2020). The probability of places is that of the joint law of the errors, drawn: see [`crate::joint::Ranking`].

use super::simultaneous::{Simultaneous, noises};
use crate::answer::error::QueryError;
use crate::answer::figure::question::{Question, Row};
use crate::answer::figure::{Answered, Figure, Pairs};
use crate::answer::tell::{Errors, Teller};
use crate::joint::{How, Ranking};
use crate::render::{ResultCell, ResultFigure, Together};
use crate::sql::{Ranked, SelectColumn, told_apart};
use std::collections::BTreeMap;

/// The places of an answer's rows by one column.
pub(in crate::answer) struct Places {
    /// For each row what it is sorted by, and what is shown.
    pub rows: Vec<(f64, ResultCell)>,
    /// How they were found, in few words.
    pub method: String,
    /// What is said of them.
    pub note: String,
}

/// The places that a question asks for, for each of its columns.
pub(in crate::answer) fn places(
    teller: &dyn Teller,
    asked: &Question,
    rows: &[Row],
    how: &How,
) -> Result<Vec<Option<Places>>, QueryError> {
    let columns =
        asked.query.columns.iter().zip(&asked.ranks).map(|(column, figure)| match (column, figure) {
            (SelectColumn::Rank { name, ranked }, Some(figure)) => {
                let by = By { teller, asked, rows, ranked, figure };
                let places = match ranked.places {
                    None => by.places(name, how)?,
                    Some(of) => by.probabilities(name, of, how)?,
                };
                Ok(Some(places))
            }
            _ => Ok(None),
        });
    columns.collect()
}

/// Rows, and the figure that they are put in order by.
struct By<'a> {
    teller: &'a dyn Teller,
    asked: &'a Question<'a>,
    rows: &'a [Row],
    ranked: &'a Ranked,
    figure: &'a Figure,
}

impl By<'_> {
    /// Whether a row has no figure, and no place.
    fn is_null(&self, row: &Row) -> bool {
        self.asked.is_null(row.portion, self.figure)
    }

    /// The rows that are put in order together.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        for (at, row) in self.rows.iter().enumerate().filter(|(_, row)| !self.is_null(row)) {
            let place = self.asked.place(row.portion, &row.told.nodes);
            let all: Vec<u64> = place
                .nodes
                .iter()
                .map(|n| u64::from(*n))
                .chain(place.ranks.iter().map(|r| *r as u64))
                .collect();
            let own = self.ranked.partition.iter().filter_map(|&p| all.get(p).copied());
            groups.entry(own.collect()).or_default().push(at);
        }
        groups.into_values().collect()
    }

    /// The figures of all rows, with intervals that cover together.
    fn together(&self, how: &How) -> Result<Vec<Answered>, QueryError> {
        let alone = Question {
            figures: vec![Some(self.figure.clone())],
            quantiles: vec![None],
            ranks: vec![None],
            ..self.asked.clone()
        };
        let mut pairs = Pairs::default();
        let together = Together::choose(Simultaneous::Auto, self.teller, &alone, self.rows, how, &mut pairs)?;
        let how = How { level: together.as_ref().map_or(how.level, |t| t.each), ..*how };
        let max_z = together.and_then(|t| t.max_z).filter(|_| !self.figure.is_ratio());
        let one = |row: &Row| {
            let Some(z) = max_z else { return self.figure.answer(0, &row.told, &how, &mut pairs) };
            let mut answered = self.figure.best(&row.told, &how)?;
            self.figure.reaching(&mut answered, z.critical);
            Ok(answered)
        };
        Ok(self.rows.iter().map(one).collect::<Result<_, _>>()?)
    }

    fn places(&self, name: &str, how: &How) -> Result<Places, QueryError> {
        let figures = self.together(how)?;
        let mut rows = vec![(f64::NAN, ResultCell::Figure(ResultFigure::NULL)); self.rows.len()];
        for group in self.groups() {
            let shown = group.iter().map(|&i| figures[i].shown()).collect::<Vec<_>>();
            for (&i, place) in group.iter().zip(between(&shown, self.ranked.descending)) {
                rows[i] = (place.estimate, ResultCell::Figure(place));
            }
        }
        Ok(Places {
            rows,
            method: "place: by intervals of all rows that cover together".into(),
            note: format!(
                "{name}: the place by the noisy estimates. Its interval is from the order of intervals of all rows that cover together, so all \
                 places lie in theirs with probability {} at least. It has no standard error.",
                how.level
            ),
        })
    }

    fn probabilities(&self, name: &str, of: (u64, u64), how: &How) -> Result<Places, QueryError> {
        /// Of the statement that the simulation errs by no more than it says.
        const DOUBT: f64 = 1e-3;
        if self.teller.errors() != Errors::Noises {
            return Err(QueryError::TablesOnly("probabilities of places: its errors have no joint law"));
        }
        if self.figure.is_ratio() {
            return Err(QueryError::Places(
                "of a ratio is not known: its errors depend on the unknown counts",
            ));
        }
        let figures: Vec<Answered> =
            self.rows.iter().map(|row| self.figure.best(&row.told, how)).collect::<Result<_, _>>()?;
        let too_many = QueryError::Places("takes too many noises to draw here: ask of fewer rows");
        let Some(noises) = noises(self.teller, self.asked, self.rows, &[(0, self.figure)], &figures)? else {
            return Err(too_many);
        };
        let values: Vec<f64> = figures.iter().map(|a| a.estimate).collect();
        let groups = self.groups();
        let order = Ranking { values: &values, descending: self.ranked.descending, groups: &groups };
        let found = order.probabilities(of, noises.iter().map(|(n, c)| (n, &c[..])));
        let (shares, draws) = found.ok_or(too_many)?;
        let null = |row: &Row, share: f64| if self.is_null(row) { f64::NAN } else { share };
        let rows = self.rows.iter().zip(shares).map(|(row, share)| null(row, share));
        // Hoeffding's inequality.
        let most = libm::sqrt(libm::log(2.0 / DOUBT) / (2.0 * f64::from(draws)));
        let errs = match draws {
            1 => "there is no noise, so it is certain".into(),
            _ => format!(
                "{draws} simulations of all errors together (fixed seed), which err by at most {:.1} percentage points each (confidence 99.9 %)",
                libm::ceil(1000.0 * most) / 10.0
            ),
        };
        Ok(Places {
            rows: rows.map(|share| (share, ResultCell::Number(share))).collect(),
            method: "probability of places: the joint law of all errors, simulated".into(),
            note: format!(
                "{name}: a probability, by the noise alone and as if nothing were known of the figures beforehand: {errs}."
            ),
        })
    }
}

/// The place of each figure by its estimate, with the first and the last that the intervals allow.
fn between(figures: &[ResultFigure], descending: bool) -> Vec<ResultFigure> {
    // As if the smallest came first: where the largest does, every figure is taken with the other sign.
    let turned = |f: &ResultFigure| match descending {
        true => ResultFigure { estimate: -f.estimate, low: -f.high, high: -f.low, ..*f },
        false => *f,
    };
    let apart = |f: ResultFigure| ResultFigure { estimate: told_apart(f.estimate), ..f };
    let figures: Vec<ResultFigure> = figures.iter().map(turned).map(apart).collect();
    let sorted = |of: fn(&ResultFigure) -> f64| {
        // What is no number is NULL, and before or behind nothing.
        let mut all: Vec<f64> = figures.iter().map(of).filter(|x| !x.is_nan()).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (estimates, lows, highs) = (sorted(|f| f.estimate), sorted(|f| f.low), sorted(|f| f.high));
    let below = |all: &[f64], x: f64| all.partition_point(|y| *y < x);
    let place = |f: &ResultFigure| match f.estimate.is_nan() || f.low.is_nan() || f.high.is_nan() {
        true => ResultFigure::NULL,
        false => ResultFigure {
            estimate: 1.0 + below(&estimates, f.estimate) as f64,
            std_error: f64::NAN,
            low: 1.0 + below(&highs, f.low) as f64,
            // Whatever begins below its end may be before it; itself is counted there, unless it has no length.
            high: (below(&lows, f.high) + usize::from(f.low >= f.high)) as f64,
        },
    };
    figures.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two ways of working out make of one number has one place.
    #[test]
    fn equal_figures_have_one_place() {
        let at = |estimate: f64| ResultFigure { estimate, std_error: 0.0, low: 3.0, high: 3.0 };
        let figures = [at(3.0 - 1e-15), at(3.0), at(3.0 + 4e-15)];
        for descending in [false, true] {
            assert!(between(&figures, descending).iter().all(|p| (p.estimate, p.high) == (1.0, 1.0)));
        }
    }

    /// A row without a figure has no place, and the others have theirs as if it were not there.
    #[test]
    fn a_row_without_a_figure_has_no_place() {
        let at = |x: f64| ResultFigure { estimate: x, std_error: 1.0, low: x - 0.4, high: x + 0.4 };
        for none in [f64::NAN, -f64::NAN] {
            let null = ResultFigure { estimate: none, std_error: none, low: none, high: none };
            for descending in [false, true] {
                let places = between(&[at(3.0), null, at(1.0), null, at(2.0)], descending);
                let want = between(&[at(3.0), at(1.0), at(2.0)], descending);
                let found: Vec<_> = places.iter().filter(|p| !p.is_null()).map(|p| (p.low, p.high)).collect();
                assert_eq!(found, want.iter().map(|p| (p.low, p.high)).collect::<Vec<_>>(), "{descending}");
                assert!(places[1].estimate.is_nan() && places[3].is_null());
            }
        }
    }

    /// Against every order of whole numbers within the intervals, ties included.
    #[test]
    fn places_are_those_that_the_intervals_allow() {
        let figure = |&(low, high): &(i32, i32)| {
            let [low, high] = [low, high].map(f64::from);
            ResultFigure { estimate: (low + high) / 2.0, std_error: 1.0, low, high }
        };
        for ends in [
            vec![(0, 2), (1, 3), (4, 4), (3, 5)],
            vec![(0, 0), (0, 0), (1, 1)],
            vec![(0, 4), (1, 2), (2, 3), (3, 3)],
            vec![(2, 2)],
        ] {
            let figures: Vec<_> = ends.iter().map(figure).collect();
            for descending in [false, true] {
                let mut seen = vec![(usize::MAX, 0); ends.len()];
                let mut truth: Vec<i32> = ends.iter().map(|e| e.0).collect();
                'all: loop {
                    for (i, seen) in seen.iter_mut().enumerate() {
                        let before = |x: &&i32| if descending { **x > truth[i] } else { **x < truth[i] };
                        let place = 1 + truth.iter().filter(before).count();
                        *seen = (seen.0.min(place), seen.1.max(place));
                    }
                    for (i, end) in ends.iter().enumerate() {
                        truth[i] += 1;
                        if truth[i] <= end.1 {
                            continue 'all;
                        }
                        truth[i] = end.0;
                    }
                    break;
                }
                let places = between(&figures, descending);
                let found: Vec<_> = places.iter().map(|p| (p.low as usize, p.high as usize)).collect();
                assert_eq!(found, seen, "{ends:?} {descending}");
                let estimated = |i: usize| {
                    let own = figures[i].estimate;
                    1 + figures
                        .iter()
                        .filter(|f| if descending { f.estimate > own } else { f.estimate < own })
                        .count()
                };
                for (i, p) in places.iter().enumerate() {
                    assert_eq!(p.estimate as usize, estimated(i));
                    assert!(p.low <= p.estimate && p.estimate <= p.high, "{p:?}");
                }
            }
        }
    }
}
