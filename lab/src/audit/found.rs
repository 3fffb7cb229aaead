//! One audit: from a plan to bounds of what its releases cost.

use super::normal::{Scatter, rough};
use super::parts::{Dependence, Noises, Paid, apart, before};
use super::people::{Domain, Person};
use super::samples::{Column, Maker, Part, Sample, Seeds};
use super::threshold::{self, Claimed, Told};
use super::worst::{Pair, Search};
use margins::cli::Failure;
use margins::cli::output::{figure, grouped};
use margins::exact::Rational;
use margins::make::PlannedRelease;
use margins::watch::Watch;

/// How much is done, and how sure it is to be.
pub(super) struct Effort {
    /// Of each of the datasets that matter most.
    pub releases: usize,
    /// The probability that some bound is too large.
    pub alpha: f64,
    pub power: f64,
}

/// A lower bound of a cost.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    pub way: String,
    /// What is bounded.
    pub what: &'static str,
    pub claim: f64,
    pub estimate: Option<f64>,
    pub least: f64,
    /// The least cost that would have been found, were the noise of all numbers smaller alike: infinite where none would have been. Not every way says it.
    pub detected: Option<f64>,
}

/// What an audit found.
#[derive(Debug)]
pub(super) struct Findings {
    pub name: String,
    pub currency: &'static str,
    pub claim: f64,
    pub substitute: bool,
    /// What a unit is on either side, in words.
    pub pair: (String, String),
    pub made: u64,
    pub integers: u64,
    pub group: u64,
    pub bounds: Vec<Bound>,
    pub notes: Vec<String>,
    /// Noises that should be independent and are not.
    pub dependent: bool,
}

impl Findings {
    /// Whether some bound is above its claim, or noises depend on each other.
    pub(super) fn refuted(&self) -> bool {
        self.dependent || self.bounds.iter().any(|b| b.least > b.claim * (1.0 + 1e-9))
    }

    pub(super) fn symbol(&self) -> &'static str {
        if self.currency == "rho" { "ρ" } else { "ε" }
    }
}

/// No more numbers of a release than this are looked at together.
const MOST: usize = 160;
/// So many integers may stand in a release that is audited: all are held of some hundred releases.
const INTEGERS: usize = 1 << 20;
/// How far apart, in standard deviations or in ε, groups are to be.
const APART: f64 = 60.0;
/// So many rows that count may a group have, and one unit of it.
const ROWS: usize = 4096;
/// Units that come one after the other.
const STEPS: usize = 16;

/// How many units a group has, each of so many rows, one of which is claimed to be so far from none.
pub(super) fn group(one: f64, max_rows: usize) -> Result<usize, Failure> {
    if max_rows > ROWS {
        return Err(Failure::Message(format!(
            "a unit of this spec may have {} rows, and an audit makes up units of {} rows at most: audit the spec with a smaller `max_rows`",
            grouped(max_rows as u64),
            grouped(ROWS as u64)
        )));
    }
    Ok(((APART / one).ceil() as usize).clamp(1, ROWS / max_rows))
}

/// Audits a plan. Every thread does what `ready` says before it makes releases.
pub(super) fn audit(
    plan: &PlannedRelease,
    effort: &Effort,
    seeds: Seeds,
    ready: &(dyn Fn() + Sync),
    watch: &Watch,
) -> Result<Findings, Failure> {
    let spec = plan.spec();
    let domain = Domain::of(spec)?;
    let cost: Rational = plan.cost().parse().map_err(|_| Failure::Message("the plan has no cost".into()))?;
    let (claim, squares) = (cost.to_f64(), plan.currency() == "rho");
    let mut maker = Maker::new(plan, seeds, ready, watch, &domain.frame(std::iter::empty()))?;
    let integers: usize = maker.parts.iter().map(|p| p.integers).sum();
    if integers > INTEGERS {
        return Err(Failure::Message(format!(
            "a release of this spec has {integers} integers, and an audit takes {INTEGERS}: ask for smaller tables"
        )));
    }
    let one = if squares { (2.0 * claim).sqrt() } else { claim };
    let group = group(one, domain.max_rows)?;
    // A projection may pay for Laplace noise in ρ.
    let normal = squares && !domain.laplace;
    // Of nobody: how much noise there is.
    let first = (effort.releases / 2).clamp(50, 400).min((1 << 25) / integers.max(1)).max(20);
    let base = maker.sample(&domain.frame(std::iter::empty()), first)?;
    let search = Search::new((&domain, &maker), (group, squares), &base);
    let pair = search.worst(plan.measured(), &spec.cube)?;
    let columns = chosen(maker.columns(), &maker.parts, &pair, normal);
    maker.keep(columns);
    let data = Datasets::make(&domain, &maker, &pair, (group, one), effort)?;
    let mut found = Findings {
        name: spec.name.clone(),
        currency: plan.currency(),
        claim,
        substitute: domain.substitute,
        pair: (domain.described(&pair.before), domain.described(&pair.after)),
        made: maker.made(),
        integers: integers as u64,
        group: group as u64,
        bounds: Vec::new(),
        notes: Vec::new(),
        dependent: false,
    };
    let scatter = Scatter::of(&data.all());
    match normal {
        true => by_covariance(&mut found, &data, &scatter, effort),
        false => by_parts(&mut found, &data, &maker, &domain, effort),
    }
    by_thresholds(&mut found, &data, &scatter, &domain, effort);
    Ok(found)
}

/// Which numbers are looked at: all integers of a small release; of a large one those that move, and of each part sums of the others. Under normal noise
/// integers that move are added up by how far, where there are too many.
fn chosen(all: &[Column], parts: &[Part], pair: &Pair, normal: bool) -> Vec<Column> {
    if all.len() <= MOST {
        return all.to_vec();
    }
    let still = |i: &usize| pair.shift[*i].abs() <= pair.unsure[*i];
    let mut moved: Vec<usize> = (0..all.len()).filter(|i| !still(i)).collect();
    moved.sort_by(|a, b| {
        let far = |i: &usize| pair.shift[*i].abs() / pair.unsure[*i].max(1e-300);
        far(b).total_cmp(&far(a))
    });
    let mut kept: Vec<Column> = moved.iter().take(MOST / 2).map(|&i| all[i].clone()).collect();
    let rest: Vec<usize> = moved.into_iter().skip(MOST / 2).collect();
    // Few parts have others, or each has a small share.
    let each = (MOST / 2 / parts.len().max(1)).max(1);
    for part in 0..parts.len() {
        let own = |i: &&usize| all[**i].part == part;
        if normal {
            for bin in 0..each {
                let terms: Vec<(usize, f64)> = rest
                    .iter()
                    .filter(own)
                    .filter(|i| **i % each == bin)
                    .map(|&i| {
                        let variance = pair.unsure[i] * pair.unsure[i];
                        (i, pair.shift[i] / variance.max(1e-300))
                    })
                    .collect();
                // The largest weight is 1: a sum has as much noise as one of its integers at the least.
                let most = terms.iter().fold(0.0f64, |most, (_, weight)| most.max(weight.abs()));
                if most > 0.0 {
                    let terms = terms.into_iter().map(|(i, weight)| (i, weight / most)).collect();
                    kept.push(Column { part, terms });
                }
            }
        }
        let others: Vec<usize> = (0..all.len()).filter(|i| all[*i].part == part && still(i)).collect();
        if normal && kept.len() < MOST && !others.is_empty() {
            kept.push(Column { part, terms: others.into_iter().map(|i| (i, 1.0)).collect() });
        }
    }
    kept.truncate(2 * MOST);
    kept.sort_by_key(|c| (c.part, c.terms.first().map(|t| t.0)));
    kept
}

/// Releases of datasets in which more and more units are as they are after.
struct Datasets {
    /// None of them, one, some, and the whole group.
    none: Sample,
    one: Sample,
    some: Sample,
    whole: Sample,
    /// From the second on.
    steps: Vec<Sample>,
    /// How many some are.
    units: usize,
    group: usize,
}

impl Datasets {
    fn make(
        domain: &Domain,
        maker: &Maker<'_>,
        pair: &Pair,
        (group, one): (usize, f64),
        effort: &Effort,
    ) -> Result<Datasets, Failure> {
        // Units that have no rows are not there.
        let there = |p: &&Person| !p.0.is_empty();
        let make = |changed: usize, releases: usize| {
            let after = std::iter::repeat_n(&pair.after, changed);
            let before = std::iter::repeat_n(&pair.before, group - changed);
            maker.sample(&domain.frame(after.chain(before).filter(there)), releases)
        };
        let units = ((2.5 / one).round() as usize).clamp(1, group);
        let n = effort.releases;
        let steps = (2..=STEPS.min(group)).map(|j| make(j, (n / 8).max(20))).collect::<Result<_, _>>()?;
        Ok(Datasets {
            none: make(0, n)?,
            one: make(1, n)?,
            some: make(units, n)?,
            whole: make(group, n)?,
            steps,
            units,
            group,
        })
    }

    fn large(&self) -> [&Sample; 4] {
        [&self.none, &self.one, &self.some, &self.whole]
    }

    /// All of them. What has no scatter here has none in any two that are compared.
    fn all(&self) -> Vec<&Sample> {
        self.large().into_iter().chain(&self.steps).collect()
    }

    /// The samples of every two datasets that differ in one unit.
    fn neighbours(&self) -> Vec<(&Sample, &Sample)> {
        let all: Vec<&Sample> = [&self.none, &self.one].into_iter().chain(&self.steps).collect();
        all.windows(2).map(|w| (w[0], w[1])).collect()
    }
}

fn difference(a: &Sample, b: &Sample) -> Vec<f64> {
    b.means().iter().zip(a.means()).map(|(b, a)| b - a).collect()
}

/// The share of the probability of error that the most precise bound has, the steps and the thresholds.
const SHARES: [f64; 3] = [0.5, 0.25, 0.25];

/// Normal noise: from the covariance of all numbers and the shift. This bounds ρ alone: what ε whole numbers cost at a δ is less than by the normal law, and
/// a plan may spend the difference.
fn by_covariance(found: &mut Findings, data: &Datasets, scatter: &Scatter, effort: &Effort) {
    let claim = found.claim;
    let means: Vec<Vec<f64>> = data.all().iter().map(|s| s.means()).collect();
    let variance = scatter.least(|i| means.iter().any(|m| m[i] != means[0][i]));
    if variance < 0.5 {
        let little = match variance {
            0.0 => "Some number that moves always had the same noise: ".to_owned(),
            variance => format!("The noise of some number has a variance of {}: ", figure(variance)),
        };
        let why = "the normal law is no measure of so little noise on whole numbers, and only thresholds are looked at.";
        found.notes.push(little + why);
        return;
    }
    // The variance of whole numbers is a little less than their law's parameter, which is what ρ is reckoned from.
    let less = 1.0 - rough(variance);
    let rho = |apart: f64| 0.5 * apart * apart * less;
    let limit = (2.0 * claim / less).sqrt();
    let (group, alpha) = (data.group as f64, SHARES[0] * effort.alpha);
    let sizes = (data.none.len(), data.whole.len());
    let shift = difference(&data.none, &data.whole);
    let (squared, least) = scatter.bound(&shift, sizes, alpha);
    // Numbers that are not looked at, or only in sums, hide a part of the cost. What is seen of it is at least this with the power that is asked for, so
    // that a cost is found if it is so many times the claim.
    let seen = (scatter.bound(&shift, sizes, 1.0 - effort.power).1 / group).min(limit);
    let times = limit / seen;
    let detected = times * scatter.detected(limit * group, sizes, alpha, effort.power) / group;
    found.bounds.push(Bound {
        way: "covariance and shift".into(),
        what: "ρ",
        claim,
        estimate: Some(rho(squared.sqrt() / group)),
        least: rho(least / group),
        detected: Some(rho(detected)),
    });
    let pairs = data.neighbours();
    let alpha = SHARES[1] * effort.alpha / pairs.len() as f64;
    let each = pairs.iter().map(|(a, b)| scatter.bound(&difference(a, b), (a.len(), b.len()), alpha).1);
    let sizes = pairs.last().map_or((1, 1), |(a, b)| (a.len(), b.len()));
    found.bounds.push(Bound {
        way: format!("dearest of {} single steps", pairs.len()),
        what: "ρ",
        claim,
        estimate: None,
        least: rho(each.fold(0.0, f64::max)),
        detected: Some(rho(times * scatter.detected(limit, sizes, alpha, effort.power))),
    });
}

/// Laplace noise: what the integers cost alone, where they are independent.
fn by_parts(found: &mut Findings, data: &Datasets, maker: &Maker<'_>, domain: &Domain, effort: &Effort) {
    if domain.shifted {
        found.notes.push(
            "All integers of a copy have one secret centre, so they are not looked at one by one.".into(),
        );
        return;
    }
    let columns = maker.columns();
    let alpha = SHARES[0] * effort.alpha;
    let raw = Noises::of(&data.large());
    // Of a copy that was made of another its step from there. That copies depend on each other is not always seen, so their steps are tried first: only if
    // those depend on each other copies may count by themselves.
    let mut before = before(columns, &maker.parts);
    let mut noises = raw.steps(&before);
    let mut dependence = noises.dependence(0.125 * alpha);
    if dependence.is_some() && before.iter().any(Option::is_some) {
        before.fill(None);
        (dependence, noises) = (raw.dependence(0.125 * alpha), raw);
    }
    if let Some(Dependence { columns: (a, b), correlation }) = dependence {
        let name = |c: usize| {
            let part = &maker.parts[columns[c].part];
            let copy = if part.copy == 0 { String::new() } else { format!(" of copy {}", part.copy + 1) };
            format!("a number of measurement {}{copy}", part.measurement + 1)
        };
        found.dependent = true;
        found.notes.push(format!(
            "The noises of {} and {} are not independent (correlation {}), so the costs of single integers do not add up to the claim.",
            name(a),
            name(b),
            figure(correlation)
        ));
        return;
    }
    let own = |sample: &Sample, c: usize| -> Vec<f64> {
        sample.rows().map(|row| row[c] - before[c].map_or(0.0, |b| row[b])).collect()
    };
    let paid = if found.currency == "rho" { Paid::Rho } else { Paid::Epsilon };
    let added = |(a, b): (&Sample, &Sample), units: f64, alpha: f64, comparisons: usize| {
        let each = 0.5 * alpha / (comparisons * columns.len()) as f64;
        let (mut shift, mut short) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
        for c in 0..columns.len() {
            let (a, b) = (own(a, c), own(b, c));
            let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
            let by = (mean(&b) - mean(&a)).abs();
            let sure = apart(a, b, each);
            // What noise alone may do is no shift.
            if sure > 0.0 {
                (shift[c], short[c]) = (by / units, (by - sure) / units);
            }
        }
        noises.added(columns, (&shift, &short), (paid, 0.5 * alpha))
    };
    let whole = added((&data.none, &data.whole), data.group as f64, 0.75 * alpha, 1);
    let pairs = data.neighbours();
    let dearest = pairs.iter().map(|&pair| added(pair, 1.0, SHARES[1] * effort.alpha, pairs.len()));
    let dearest = dearest.map(|a| a.least).fold(0.0, f64::max);
    found.bounds.push(Bound {
        way: "tails and shift".into(),
        what: found.symbol(),
        claim: found.claim,
        estimate: Some(whole.estimate),
        least: whole.least,
        detected: Some(noises.detected(&whole, found.claim, effort.power)),
    });
    found.bounds.push(Bound {
        way: format!("dearest of {} single steps", pairs.len()),
        what: found.symbol(),
        claim: found.claim,
        estimate: None,
        least: dearest,
        detected: None,
    });
}

/// Any noise: how often releases are on either side of a threshold.
fn by_thresholds(found: &mut Findings, data: &Datasets, scatter: &Scatter, domain: &Domain, effort: &Effort) {
    let mut pairs = vec![(&data.one, 1)];
    if data.units > 1 {
        pairs.push((&data.some, data.units));
    }
    let tests = pairs.len() + usize::from(domain.approximate.is_some());
    let alpha = SHARES[2] * effort.alpha / tests as f64;
    for (sample, units) in pairs {
        let statistics = statistics(&data.none, sample, scatter);
        let claimed = match found.currency {
            "rho" => Claimed::Rho(units as f64),
            _ => Claimed::Epsilon(units as f64),
        };
        let way =
            if units == 1 { "thresholds, one unit".into() } else { format!("thresholds, {units} units") };
        let what = found.symbol();
        let least = threshold::least(&statistics, claimed, alpha);
        let never = |claimed: Claimed, claim: f64| {
            let most = threshold::most(claimed, data.none.len().max(sample.len()), alpha);
            (most <= claim).then_some(f64::INFINITY)
        };
        let detected = never(claimed, found.claim);
        found.bounds.push(Bound { way, what, claim: found.claim, estimate: None, least, detected });
        if let (1, Some((epsilon, delta))) = (units, domain.approximate) {
            let least = threshold::least(&statistics, Claimed::Delta(epsilon), alpha);
            let way = format!("the same, at ε = {}", figure(epsilon));
            let detected = never(Claimed::Delta(epsilon), delta);
            found.bounds.push(Bound { way, what: "δ", claim: delta, estimate: None, least, detected });
        }
    }
}

/// What is told by a direction, by signs of single numbers, and by how far a release is from the middle: on the first half of the releases and on the second.
fn statistics(first: &Sample, second: &Sample, scatter: &Scatter) -> Vec<(Told, Told)> {
    let (a, b) = (first.halves(), second.halves());
    let shift = difference(&a.0, &b.0);
    let (means, direction) = (a.0.means(), scatter.direction(&shift));
    let spread: Vec<f64> = {
        let mut sums = vec![0.0; first.width];
        for row in a.0.rows() {
            sums.iter_mut().zip(row).zip(&means).for_each(|((s, x), m)| *s += (x - m).abs());
        }
        sums.iter().map(|s| (s / a.0.len() as f64).max(1e-9)).collect()
    };
    let linear = |row: &[f64]| -> f64 { row.iter().zip(&direction).map(|(x, w)| x * w).sum() };
    // The logarithm of a ratio of Laplace laws, whose scale is the mean distance from the middle.
    let ratio = |row: &[f64]| -> f64 {
        let one = |(((x, m), d), s): (((&f64, &f64), &f64), &f64)| ((x - m).abs() - (x - m - d).abs()) / s;
        row.iter().zip(&means).zip(&shift).zip(&spread).map(one).sum()
    };
    let far = |row: &[f64]| -> f64 {
        row.iter().zip(&means).zip(&spread).map(|((x, m), s)| ((x - m) / s).powi(2)).sum()
    };
    let each: [&dyn Fn(&[f64]) -> f64; 3] = [&linear, &ratio, &far];
    let told = |of: &dyn Fn(&[f64]) -> f64, x: &Sample, y: &Sample| {
        [x.rows().map(of).collect(), y.rows().map(of).collect()]
    };
    each.iter().map(|&of| (told(of, &a.0, &b.0), told(of, &a.1, &b.1))).collect()
}
