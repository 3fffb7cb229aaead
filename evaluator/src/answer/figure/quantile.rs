//! MEDIAN and QUANTILE, with intervals by inverting exact tests.
//!
//! Of N units with values v₁ < … < v_K let C_j be how many have a value of at most v_j. The p-quantile is the least v_j with
//! C_j ≥ pN. Each D_j = C_j − pN is one linear figure, whose error law is exact. Whether it is 0 decides: where p = a/b has few digits, D_j stands for
//! b C_j − a N, which is a whole number, and 0 only as such.
//!
//! **The interval** holds every v_j that two one-sided tests leave: D_j ≥ 0 is not refuted (the upper end of D_j's interval is not
//! below 0), and D_{j−1} < 0 is not (its lower end is below 0). If v_j is the true quantile, each test errs with probability at
//! most α/2, because the interval of a linear figure leaves at most that much out on either side; so the interval covers with
//! probability 1 − α at least, whatever the other values do: nothing has to hold for all of them together.
//!
//! **The estimate** is the value at as many places as D̂_j is negative: what inverting the monotone rearrangement of the estimated
//! distribution function gives (Chernozhukov, Fernández-Val & Galichon 2010). Noise may make the estimated function fall; a count
//! of its negative places does not care where they stand.
//!
//! **Categories of several numbers** (a band, a bin), none of which overlaps another: the tests say the same of categories, and the quantile lies in one of
//! those that they leave; so from the first number of the lowest to the last of the highest covers as often, whatever the values are within. Only the estimate takes
//! them to be spread evenly within theirs: it is as far into it as p N lies between Ĉ_{j−1} and Ĉ_j.
//!
//! **Values beyond the ends**, where the first and the last category hold them: these bound nothing on their outer side, so an interval that reaches one of them has no
//! end there.
//!
//! **No units.** Where N is certainly 0 there is no quantile: NULL, as in SQL.

use super::{Answered, ErrorOf, Figure};
use crate::answer::error::QueryError;
use crate::answer::tell::Told;
use crate::cube::{Cube, Filter, Level, Number};
use crate::joint::How;
use crate::law::LawError;
use crate::render::{ResultCell, ResultFigure, ResultTable, percent};
use crate::sql::{Aggregate, Linear, Query, SelectColumn};

/// Values of a dimension whose quantile is asked for: each is a law of its own in every row.
const MOST_VALUES: usize = 5_000;

/// A quantile as the linear figures that it follows from.
#[derive(Debug, Clone)]
pub(crate) struct Quantile {
    /// The first and the last number of each category.
    values: Vec<(f64, f64)>,
    share: Share,
    /// D_1 … D_{K−1}.
    differences: Vec<Figure>,
    /// N.
    all: Figure,
    /// Whether values beyond the ends were counted in the first and the last category.
    clamped: bool,
}

impl Quantile {
    /// Of a level's values, with the counts that it is made of added to the aggregates.
    pub(crate) fn new(
        level: Level,
        p: f64,
        query: &Query,
        cube: &Cube,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<Quantile, QueryError> {
        let values = level
            .of(cube)
            .in_order()
            .ok_or(QueryError::Quantile("have no value here: categories overlap"))?;
        if values.len() > MOST_VALUES {
            return Err(QueryError::Quantile("are found among at most 5 000 values"));
        }
        let dimension = &cube.dimensions[level.dimension];
        let up = dimension.ancestors(dimension.finest(), level.level);
        let mut met = vec![false; level.of(cube).len()];
        let mut upto = Vec::with_capacity(values.len());
        for (_, nodes) in &values {
            nodes.iter().for_each(|&node| met[node] = true);
            let finest: Vec<bool> = up.iter().map(|&node| met[node as usize]).collect();
            let filter = Filter::nodes(level.dimension, &finest);
            upto.push(query.filter.and(&filter).map_err(crate::sql::SqlError::from)?);
        }
        let mut add = |filter| {
            aggregates.push(Aggregate::rows(filter, None));
            aggregates.len() - 1
        };
        // C_K is N itself.
        let all =
            add(upto.pop().ok_or(QueryError::Quantile("have no value here: no category is a number"))?);
        let upto: Vec<usize> = upto.into_iter().map(add).collect();
        let share = Share::new(p);
        Ok(Quantile {
            values: values.into_iter().map(|(bounds, _)| (bounds.lo, bounds.hi)).collect(),
            share,
            differences: upto.iter().map(|&at| share.difference(all, at, aggregates)).collect(),
            all: Figure::aggregate(all, aggregates),
            clamped: false,
        })
    }

    /// The same where values beyond the ends are known to be counted in the first and the last category: an interval that reaches one of these has no
    /// end there.
    pub(crate) fn clamped(&mut self) {
        self.clamped = true;
    }

    /// The quantile of one row; NULL where it has certainly no units.
    pub(crate) fn of(&self, told: &Told, how: &How) -> Result<ResultFigure, LawError> {
        let all = self.all.signs(told, how)?.shown();
        if all.is_surely_zero() {
            return Ok(ResultFigure::NULL);
        }
        let differences = self.differences.iter().map(|d| Ok(self.share.settled(d.signs(told, how)?)));
        let differences = differences.collect::<Result<Vec<_>, LawError>>()?;
        let Share { above, below, .. } = self.share;
        let ends = [-above * all.estimate, (below - above) * all.estimate];
        Ok(self.without_ends(quantile(&self.values, &differences, ends)))
    }

    fn without_ends(&self, found: ResultFigure) -> ResultFigure {
        let [first, last] = [self.values.first().map(|v| v.0), self.values.last().map(|v| v.1)];
        let beyond = |end: f64, reached: Option<f64>, none| {
            if self.clamped && Some(end) == reached { none } else { end }
        };
        ResultFigure {
            low: beyond(found.low, first, f64::NEG_INFINITY),
            high: beyond(found.high, last, f64::INFINITY),
            ..found
        }
    }
}

/// The share p of a quantile as `above/below`.
#[derive(Debug, Clone, Copy)]
struct Share {
    above: f64,
    below: f64,
    /// Whether both are whole numbers.
    whole: bool,
}

impl Share {
    /// As a fraction of the whole numbers that it is written with, where it has few digits.
    fn new(p: f64) -> Share {
        // The fewest digits that mean this number are those that were written.
        let text = p.to_string();
        let digits = text.strip_prefix("0.").filter(|digits| digits.len() <= 9);
        let written = digits.and_then(|d| Some((d.parse::<u32>().ok()?, 10u32.pow(d.len() as u32))));
        let Some((above, below)) = written else { return Share { above: p, below: 1.0, whole: false } };
        let (mut a, mut b) = (above, below);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        let by = a.max(1);
        Share { above: f64::from(above / by), below: f64::from(below / by), whole: true }
    }

    /// D_j from the aggregates N and C_j. Its ends stay where they are: the signs of an interval that is only a bound say more than whole numbers in it.
    fn difference(self, all: usize, at: usize, aggregates: &[Aggregate]) -> Figure {
        let linear = Linear { constant: 0.0, terms: vec![(all, -self.above), (at, self.below)] };
        Figure { whole: false, ..Figure::from_parts(linear, None, aggregates) }
    }

    /// D̂_j and its interval, with 0 for what is 0 but for rounding. D_j is a whole number: without noise so is D̂_j, and what is less than 1/4 is 0. With
    /// noises that have a lattice, ends within a millionth of its step from 0 are at 0: as the upper end of D_j that keeps a value; as the lower one, D_j being
    /// above −1, it says D_j ≥ 0. Where errors have no lattice no single point has a probability.
    fn settled(self, difference: Answered) -> ResultFigure {
        let step = match &difference.error {
            _ if !self.whole => 0.0,
            _ if difference.std_error == 0.0 => 0.25,
            ErrorOf::Linear(solved) => 1e-6 * solved.law.lattice().map_or(0.0, |step| step.min(1.0)),
            _ => 0.0,
        };
        let settled = |x: f64| if x.abs() <= step { 0.0 } else { x };
        let ResultFigure { estimate, std_error, low, high } = difference.shown();
        ResultFigure { estimate: settled(estimate), std_error, low: settled(low), high: settled(high) }
    }
}

/// The quantile and the ends of its interval from D̂_j and their intervals, j = 1 … K − 1, and from D̂_0 and D̂_K.
fn quantile(values: &[(f64, f64)], differences: &[ResultFigure], [none, all]: [f64; 2]) -> ResultFigure {
    let value = |at: usize| {
        values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or((f64::NAN, f64::NAN))
    };
    let at = differences.iter().filter(|d| d.estimate < 0.0).count();
    // Whether v_{j} may be the quantile: D_j ≥ 0 and D_{j−1} < 0 are both open. D_K ≥ 0 always.
    let open = |j: usize| {
        differences.get(j).is_none_or(|d| d.high >= 0.0)
            && j.checked_sub(1).and_then(|i| differences.get(i)).is_none_or(|d| d.low < 0.0)
    };
    let left: Vec<usize> = (0..values.len()).filter(|&j| open(j)).chain([at]).collect();
    let (low, high) = (left.iter().min().copied(), left.iter().max().copied());
    let (first, last) = value(at);
    let below = at.checked_sub(1).and_then(|i| differences.get(i)).map_or(none, |d| d.estimate);
    let upto = differences.get(at).map_or(all, |d| d.estimate);
    let part = if upto > below { (-below / (upto - below)).clamp(0.0, 1.0) } else { 0.5 };
    // Of one without an end the other is all that is known.
    let estimate = match (first.is_finite(), last.is_finite()) {
        (true, true) => first + part * (last - first),
        (true, false) => first,
        (false, _) => last,
    };
    ResultFigure {
        estimate,
        std_error: f64::NAN,
        low: value(low.unwrap_or(at)).0,
        high: value(high.unwrap_or(at)).1,
    }
}

/// How the interval of a quantile is found.
pub(crate) const METHOD: &str = "quantile: exact tests of the counts up to each value, inverted";

/// The quantiles of a query, each with what is said of it where these are the answers.
pub(crate) fn notes(
    query: &Query,
    quantiles: &[Option<Quantile>],
    cube: &Cube,
    table: &ResultTable,
) -> impl Iterator<Item = (String, String)> {
    query.columns.iter().zip(quantiles).filter_map(|(column, quantile)| {
        let SelectColumn::Quantile { name, p, level } = column else { return None };
        let level = level.of(cube);
        let several = (0..level.len()).any(|node| level.number(node) == Number::Several);
        let within = if several {
            " Its categories have several numbers: the estimate takes them to be spread evenly within theirs, the interval takes nothing of where they are within for granted."
        } else {
            ""
        };
        // Whether values beyond the ends were counted in the end categories, the domain does not say, but the sealed spec.
        let (least, most) = level.within().unwrap_or((f64::NAN, f64::NAN));
        let at = table.columns.iter().position(|c| c.name == *name);
        let ends = table.rows.iter().any(|row| match at.and_then(|at| row.get(at)) {
            Some(ResultCell::Figure(f)) => f.low <= least || f.high >= most,
            _ => false,
        });
        let ends = match quantile.as_ref().is_some_and(|q| q.clamped) {
            _ if !ends => String::new(),
            true => format!(
                " An interval that would begin at {least} or end at {most} has no end there: values beyond were counted in the end categories (`clamp = true` in the spec)."
            ),
            false => format!(
                " An interval that begins at {least} or ends at {most} has no end there if values beyond were counted in the end categories (`clamp = true` in the spec)."
            ),
        };
        let note = format!(
            "{name}: the least value that at least {} % of the rows do not exceed; its interval inverts exact tests of \
             the counts up to each value. It has no standard error.",
            percent(*p)
        );
        Some((name.clone(), note + within + &ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::{ErrorLaw, Generator, NoiseLaw, Term};

    fn law(values: usize, upto: usize, p: f64, scale: f64) -> ErrorLaw {
        let term =
            |coefficient, copies| Term { coefficient, copies, noise: NoiseLaw::DiscreteLaplace { scale } };
        ErrorLaw::new(vec![term(1.0 - p, upto as u64 + 1), term(-p, (values - upto - 1) as u64)]).unwrap()
    }

    /// Over 2 000 draws of noise on eight counts, a coverage of 0.9 is seen within 0.027 (four standard errors). It may only
    /// be larger: a quantile is one of few values.
    #[test]
    fn intervals_cover() {
        let truth = [30i64, 55, 41, 18, 22, 9, 14, 11];
        let values: Vec<f64> = (0..8).map(|v| f64::from(v) * 10.0).collect();
        let noise = NoiseLaw::DiscreteLaplace { scale: 6.0 };
        for p in [0.25, 0.5, 0.9] {
            let n: i64 = truth.iter().sum();
            let mut sum = 0;
            let want = truth.iter().position(|c| {
                sum += c;
                sum as f64 >= p * n as f64
            });
            let want = values[want.unwrap()];
            let ends: Vec<(f64, f64)> = values.iter().map(|v| (*v, *v)).collect();
            let laws: Vec<f64> = (0..7).map(|j| law(8, j, p, 6.0).half_width(0.9)).collect();
            let (mut covered, mut wide, draws) = (0, 0, 2_000u64);
            for seed in 0..draws {
                let mut generator = Generator::new(seed);
                let noisy: Vec<i64> = truth.iter().map(|c| c + generator.draw(&noise) as i64).collect();
                let total: i64 = noisy.iter().sum();
                let mut upto = 0;
                let differences: Vec<ResultFigure> = (0..7)
                    .map(|j| {
                        upto += noisy[j];
                        let estimate = upto as f64 - p * total as f64;
                        let (low, high) = (estimate - laws[j], estimate + laws[j]);
                        ResultFigure { estimate, std_error: 0.0, low, high }
                    })
                    .collect();
                let found = quantile(&ends, &differences, [-p * total as f64, (1.0 - p) * total as f64]);
                assert!(found.low <= found.estimate && found.estimate <= found.high);
                covered += u64::from(found.low <= want && want <= found.high);
                wide += u64::from(found.low == values[0] && found.high == values[7]);
            }
            assert!(covered as f64 / draws as f64 > 0.9 - 0.027, "p = {p}: {covered}");
            assert!(wide < draws / 100, "p = {p}: {wide} intervals say nothing");
        }
    }

    /// Where p N is a whole number a double may be just above it: the value is the one that so many units do not exceed, exact or under noise that is hardly ever there.
    #[test]
    fn shares_that_are_met_are_met() {
        let aggregates = vec![Aggregate::rows(Filter::everything(), None); 3];
        let how =
            How { level: 0.95, method: Default::default(), interval: crate::law::Interval::EqualTailed };
        let noise = crate::joint::Noise {
            release: 0,
            measurement: 0,
            copies: 1,
            law: NoiseLaw::DiscreteLaplace { scale: 0.1 },
        };
        let rare = vec![
            (noise, vec![1.0, 1.0, 0.0]),
            (crate::joint::Noise { measurement: 1, ..noise }, vec![1.0, 0.0, 1.0]),
        ];
        let (mut overshot, mut met) = (0, 0);
        for noises in [Vec::new(), rare] {
            let law = std::sync::Arc::new(crate::joint::JointLaw::new(3, noises));
            for (percent, n) in (1..100u32).flat_map(|p| [20, 100, 200, 340].map(|n| (p, n))) {
                let p: f64 = format!("0.{percent:02}").parse().unwrap();
                let share = Share::new(p);
                let quantile = Quantile {
                    values: vec![(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)],
                    share,
                    differences: [1, 2].map(|at| share.difference(0, at, &aggregates)).to_vec(),
                    all: Figure::aggregate(0, &aggregates),
                    clamped: false,
                };
                let first = percent * n / 100;
                let estimates = vec![f64::from(n) * (1.0 + f64::EPSILON), f64::from(first), f64::from(n)];
                let told =
                    Told { nodes: Vec::new(), estimates, law: law.clone(), others: Vec::new(), each: true };
                let found = quantile.of(&told, &how).unwrap();
                let is_met = percent * n % 100 == 0;
                let want = if is_met && first > 0 { 1.0 } else { 2.0 };
                met += u32::from(is_met);
                overshot += u32::from(is_met && p * f64::from(n) > f64::from(first));
                assert_eq!((found.low, found.estimate, found.high), (want, want, want), "{p} of {n}");
            }
        }
        assert!(overshot > 0 && met > overshot, "{overshot} {met}");
        assert_eq!((Share::new(0.125).above, Share::new(0.125).below), (1.0, 8.0));
        assert!(!Share::new(1.0 / 3.0).whole && Share::new(0.5).whole);
    }

    #[test]
    fn without_noise_it_is_the_value() {
        let exact = |d: f64| ResultFigure { estimate: d, std_error: 0.0, low: d, high: d };
        let values = [1.0, 2.0, 5.0].map(|v| (v, v));
        let found = quantile(&values, &[exact(-3.0), exact(0.0)], [-4.0, 4.0]);
        assert_eq!((found.low, found.estimate, found.high), (2.0, 2.0, 2.0));
        let found = quantile(&values, &[exact(-3.0), exact(-1.0)], [-4.0, 4.0]);
        assert_eq!((found.low, found.estimate, found.high), (5.0, 5.0, 5.0));
        assert_eq!(quantile(&[(7.0, 7.0)], &[], [-4.0, 4.0]).estimate, 7.0);
    }

    /// Where values beyond the ends count at the ends, the ends bound nothing.
    #[test]
    fn intervals_that_reach_clamped_ends_have_none() {
        let aggregates = vec![Aggregate::rows(Filter::everything(), None); 3];
        let share = Share::new(0.5);
        let mut quantile = Quantile {
            values: vec![(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)],
            share,
            differences: [1, 2].map(|at| share.difference(0, at, &aggregates)).to_vec(),
            all: Figure::aggregate(0, &aggregates),
            clamped: false,
        };
        let how =
            How { level: 0.95, method: Default::default(), interval: crate::law::Interval::EqualTailed };
        let law = std::sync::Arc::new(crate::joint::JointLaw::new(3, Vec::new()));
        let ends = |quantile: &Quantile, estimates: [f64; 3]| {
            let told = Told::new(Vec::new(), estimates.to_vec(), law.clone());
            let found = quantile.of(&told, &how).unwrap();
            (found.low, found.estimate, found.high)
        };
        for (estimates, at) in [([9.0, 8.0, 9.0], 0.0), ([9.0, 1.0, 8.0], 1.0), ([9.0, 1.0, 2.0], 2.0)] {
            quantile.clamped = false;
            assert_eq!(ends(&quantile, estimates), (at, at, at));
            quantile.clamped();
            let open = (
                if at == 0.0 { f64::NEG_INFINITY } else { at },
                at,
                if at == 2.0 { f64::INFINITY } else { at },
            );
            assert_eq!(ends(&quantile, estimates), open);
        }
        assert!(ends(&quantile, [0.0; 3]).0.is_nan(), "of nobody there is none");
    }

    /// Of bands: within the one that has it, as far as the counts say, and its ends as bounds.
    #[test]
    fn within_bands() {
        let exact = |d: f64| ResultFigure { estimate: d, std_error: 0.0, low: d, high: d };
        let bands = [(0.0, 10.0), (10.0, 20.0), (20.0, 40.0)];
        // 10, 30 and 60 units, whose median is the 50th: half way between the 40th and the 100th is a sixth of the last band.
        let found = quantile(&bands, &[exact(-40.0), exact(-10.0)], [-50.0, 50.0]);
        assert_eq!((found.low, found.high), (20.0, 40.0));
        assert!((found.estimate - (20.0 + 20.0 / 6.0)).abs() < 1e-12, "{found:?}");
        let unsure = ResultFigure { low: -20.0, high: 5.0, ..exact(-10.0) };
        let found = quantile(&bands, &[exact(-40.0), unsure], [-50.0, 50.0]);
        assert_eq!((found.low, found.high), (10.0, 40.0));
        let first = quantile(&bands, &[exact(0.0), exact(30.0)], [-50.0, 50.0]);
        assert_eq!((first.estimate, first.low, first.high), (10.0, 0.0, 10.0));
        let endless = quantile(&[(0.0, 10.0), (10.0, f64::INFINITY)], &[exact(-1.0)], [-50.0, 50.0]);
        assert_eq!((endless.estimate, endless.low, endless.high), (10.0, 10.0, f64::INFINITY));
        // No counts at all, or those that noise turned around.
        assert_eq!(quantile(&bands[..1], &[], [0.0, 0.0]).estimate, 5.0);
    }
}
