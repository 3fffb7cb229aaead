//! Generalised least squares over what releases tell.
//!
//! The *functionals* of a question are the figures asked for, all rows that were measured, and the sums of cells that tables tell. A basis
//! of them stands for the truth; every source tells some of them with a covariance, and the best unbiased combination of all follows.

use super::{AllSums, Pool, Sums, Tables};
use crate::answer::error::QueryError;
use crate::answer::tell::{Best, Told};
use crate::cube::{ClassedDimension, Filter};
use crate::joint::{JointLaw, Noise, without_traces};
use crate::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::numeric::pivoted::{Gram, Pivoted};
use crate::recover;
use crate::sql::Aggregate;
use std::sync::Arc;

/// What a release of tables tells of some of the functionals.
pub(super) struct Source {
    /// Which release.
    release: usize,
    /// Which of [`Pool`]'s tables.
    pub tables: usize,
    /// Which functionals: none of them made up of the others.
    pub functionals: Vec<usize>,
    pub estimates: Vec<f64>,
    pub law: Arc<JointLaw>,
    /// For each functional a column of the inverse covariance.
    precision: Vec<Vec<f64>>,
}

/// A measured row: its functional, what came out, its noise, and where it was measured.
#[derive(Clone, Copy)]
struct Row {
    functional: usize,
    value: f64,
    noise: NoiseLaw,
    place: Option<(usize, usize)>,
}

/// The figures asked for with everything that tells of them.
pub struct Combined {
    /// What each functional is in terms of the basis.
    express: Vec<Vec<f64>>,
    rows: Vec<Row>,
    pub(super) sources: Vec<Source>,
    /// For each release of tables the sums it is asked for.
    pub(super) sums: Vec<Vec<Sums>>,
    /// The functionals.
    pub(super) filters: Vec<Filter>,
    /// The number of the first sum among them.
    pub(super) first: usize,
}

/// One way of combining figures: what each is made of, and the joint law of their errors.
pub(super) struct Way {
    /// What rows say of each figure.
    rows: Vec<f64>,
    /// For each measured row its weight in each figure.
    of_rows: Vec<Vec<f64>>,
    /// For each source and figure the weight of each of its functionals.
    pub sources: Vec<Vec<Vec<f64>>>,
    pub law: Arc<JointLaw>,
}

/// The best way of all releases, and those of some of them.
pub(super) struct Ways {
    pub best: Way,
    pub others: Vec<Way>,
    /// Whether each of those subsets tells all figures.
    pub each: bool,
}

impl Ways {
    /// What is told of the group with these nodes, given what each source says of its functionals.
    pub(super) fn told(&self, nodes: &[u32], values: &[Vec<f64>]) -> Told {
        Told {
            nodes: nodes.to_vec(),
            estimates: self.best.estimates(values),
            law: self.best.law.clone(),
            others: self.others.iter().map(|way| (way.estimates(values), way.law.clone())).collect(),
            each: self.each,
        }
    }
}

impl Way {
    /// The figures, given what each source says of its functionals.
    pub(crate) fn estimates(&self, values: &[Vec<f64>]) -> Vec<f64> {
        let mut out = self.rows.clone();
        for (figures, values) in self.sources.iter().zip(values) {
            for (sum, weights) in out.iter_mut().zip(figures) {
                *sum += weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>();
            }
        }
        out
    }
}

/// The mean over all cells of the product of two weights, where each dimension has so many nodes of each class.
fn product(a: &Filter, b: &Filter, shares: &[Vec<f64>]) -> f64 {
    let mut dims: Vec<usize> = a.dims.iter().chain(&b.dims).map(|d| d.dim).collect();
    dims.sort_unstable();
    dims.dedup();
    // Class by class: where in either's weights, and which part of all cells.
    let mut places = vec![(0usize, 0usize, 1.0f64)];
    for dim in dims {
        let (x, y) = (a.classes(dim), b.classes(dim));
        let (nx, ny) = (x.map_or(1, |c| c.classes as usize), y.map_or(1, |c| c.classes as usize));
        let mut both = vec![0.0; nx * ny];
        for (node, share) in shares[dim].iter().enumerate() {
            let class = |c: Option<&ClassedDimension>| c.map_or(0, |c| c.class_of[node] as usize);
            both[class(x) * ny + class(y)] += share;
        }
        let both: Vec<(usize, usize, f64)> =
            (0..nx * ny).filter(|&i| both[i] > 0.0).map(|i| (i / ny, i % ny, both[i])).collect();
        places = places
            .iter()
            .flat_map(|&(p, q, part)| {
                both.iter().map(move |&(i, j, share)| (p * nx + i, q * ny + j, part * share))
            })
            .collect();
    }
    places.into_iter().map(|(i, j, part)| a.weights[i] * b.weights[j] * part).sum()
}

/// The same filters over what they all together tell apart, and which part of the nodes each class of that is.
fn compressed(filters: &mut [Filter], dims: usize) -> Vec<Vec<f64>> {
    let mut shares = vec![vec![1.0]; dims];
    for (dim, shares) in shares.iter_mut().enumerate() {
        let mut colour: Vec<u32> = Vec::new();
        for class in filters.iter().filter_map(|f| f.classes(dim)) {
            colour.resize(class.class_of.len(), 0);
            super::refine(&mut colour, |node| class.class_of[node]);
        }
        let Some(&most) = colour.iter().max() else { continue };
        let mut first = vec![usize::MAX; most as usize + 1];
        let mut counts = vec![0.0; first.len()];
        for (node, &c) in colour.iter().enumerate() {
            first[c as usize] = first[c as usize].min(node);
            counts[c as usize] += 1.0 / colour.len() as f64;
        }
        for class in filters.iter_mut().flat_map(|f| &mut f.dims).filter(|c| c.dim == dim) {
            class.class_of = std::sync::Arc::new(first.iter().map(|&node| class.class_of[node]).collect());
        }
        *shares = counts;
    }
    shares
}

/// So many releases are looked at alone: the newest.
const MOST_ALONE: usize = 32;

/// The factors of a matrix that may be singular. What is below this part of its diagonal is rounding.
fn factored(matrix: &[f64], side: usize) -> Pivoted {
    Pivoted::down_to(Gram::dense(matrix, side), 1e-11)
}

/// What a row counts for. Noise of so small a variance is hardly ever there, and weights without end would leave no digits for the others:
/// any weights give an unbiased estimate, and the law is that of the weights taken.
fn weight(noise: NoiseLaw) -> f64 {
    1.0 / noise.variance().max(1e-6)
}

/// A weight of one, of a half or of nothing leaves a trace of its computation, too; without it the law is a lattice law, exact and quick.
fn tidy(weight: f64) -> f64 {
    let near = libm::round(weight * 64.0) / 64.0;
    if (weight - near).abs() < 1e-11 { near } else { weight }
}

impl Combined {
    /// Gathers what releases tell of these figures and of these sums; where they are `all` that matter, nothing else is asked of tables.
    pub(super) fn of<S: recover::Source>(
        pool: &Pool<S>,
        wanted: &[&Filter],
        sums: AllSums,
        all: bool,
    ) -> Result<Combined, QueryError> {
        let mut filters: Vec<Filter> = wanted.iter().map(|f| (*f).clone()).collect();
        let mut rows = Vec::new();
        for row in pool.rows.iter().rev() {
            let functional = filters.iter().position(|f| *f == row.filter).unwrap_or_else(|| {
                filters.push(row.filter.clone());
                filters.len() - 1
            });
            rows.push(Row { functional, value: row.value, noise: row.noise, place: Some(row.place) });
        }
        let near = (wanted.len() + super::WITH_TABLES).min(filters.len());
        let first = filters.len();
        filters.extend(sums.filters.iter().cloned());
        let mut held: Vec<Vec<usize>> = Vec::with_capacity(pool.tables.len());
        for (at, tables) in pool.tables.iter().enumerate() {
            let own = sums.of.get(at).into_iter().flatten().flat_map(|s| &s.numbers);
            let mut own: Vec<usize> = own.map(|n| first + n).collect();
            for row in &tables.rows {
                own.push(filters.len());
                filters.push(row.clone());
            }
            if !all || own.is_empty() {
                own.extend(0..near);
            }
            own.sort_unstable();
            own.dedup();
            held.push(own);
        }
        let whole = filters.clone();
        let shares = compressed(&mut filters, pool.dims.len());
        let n = filters.len();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let g = product(&filters[i], &filters[j], &shares);
                (gram[i * n + j], gram[j * n + i]) = (g, g);
            }
        }
        let factors = factored(&gram, n);
        let basis = factors.order().to_vec();
        let coordinates = |i: usize| -> Vec<f64> {
            if basis.contains(&i) {
                return basis.iter().map(|&p| f64::from(u8::from(p == i))).collect();
            }
            let x = factors.solution(&gram[i * n..(i + 1) * n]);
            let mut x = x.map_or(vec![f64::NAN; basis.len()], |x| basis.iter().map(|&p| x[p]).collect());
            // What rounding leaves of a functional that has no part in another would make it known.
            let most = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            x.iter_mut().filter(|v| v.abs() < 1e-9 * most).for_each(|v| *v = 0.0);
            x
        };
        let express: Vec<Vec<f64>> = (0..n).map(coordinates).collect();
        let mut told = Vec::new();
        for ((at, tables), held) in pool.tables.iter().enumerate().zip(held) {
            let asked = |of: &[usize]| Source::of(at, tables, of, &whole, &gram);
            told.extend(asked(&held).or_else(|| asked(&(0..wanted.len()).collect::<Vec<_>>())));
        }
        Ok(Combined { express, rows, sources: told, sums: sums.of, filters: whole, first })
    }

    /// All of it, if so much came on top: figures, each with the law of the noise it was measured with.
    pub fn with(&self, more: &[(usize, NoiseLaw)]) -> Solved<'_> {
        self.solved(more, |_| true, |_| true)
    }

    /// The estimate of a figure with the narrowest interval at a level: the best, or one made of the noises of a single release. Which it is
    /// follows from their laws alone.
    pub fn narrowest(&self, figure: usize, level: f64) -> Result<Option<Best>, LawError> {
        let Some(mut narrowest) = self.with(&[]).best(figure)? else { return Ok(None) };
        let mut reach = narrowest.reach(level);
        let most = crate::answer::tell::MOST_WIDER * narrowest.law.std_error();
        let of_rows = self.rows.iter().filter_map(|row| row.place).map(|(release, _)| release);
        let mut releases: Vec<usize> = of_rows.chain(self.sources.iter().map(|s| s.release)).collect();
        releases.sort_unstable();
        releases.dedup();
        for release in releases.iter().rev().take(MOST_ALONE).filter(|_| releases.len() > 1) {
            let rows = |row: &Row| row.place.is_some_and(|(own, _)| own == *release);
            let alone = self.solved(&[], rows, |source| source.release == *release).best(figure)?;
            if let Some(alone) = alone.filter(|alone| alone.law.std_error() <= most)
                && alone.reach(level) < reach * (1.0 - 1e-9)
            {
                (reach, narrowest) = (alone.reach(level), alone);
            }
        }
        Ok(Some(narrowest))
    }

    /// Of figures that several releases tell each by itself, as many of them as there are.
    pub(super) fn of_figures(figures: usize, told: &[(usize, Told)]) -> Combined {
        let unit = |i: usize| -> Vec<f64> { (0..figures).map(|j| f64::from(u8::from(i == j))).collect() };
        let source = |(release, told): &(usize, Told)| {
            let place = (*release, *release);
            Source::weighed(place, (0..figures).collect(), told.estimates.clone(), told.law.clone())
        };
        Combined {
            express: (0..figures).map(unit).collect(),
            rows: Vec::new(),
            sources: told.iter().filter_map(source).collect(),
            sums: Vec::new(),
            filters: Vec::new(),
            first: figures,
        }
    }

    /// The best way to combine the first figures, and the ways of some subsets of the releases; `None` where they do not tell all of them.
    pub(super) fn ways(&self, figures: usize, subsets: &[Vec<bool>]) -> Result<Option<Ways>, LawError> {
        let Some(best) = self.way(figures, &self.with(&[]))? else { return Ok(None) };
        let mut ways = Ways { best, others: Vec::new(), each: true };
        for subset in subsets {
            let has = |release: usize| subset.get(release).is_some_and(|has| *has);
            let rows = |row: &Row| row.place.is_some_and(|(release, _)| has(release));
            let other = self.way(figures, &self.solved(&[], rows, |source| has(source.release)))?;
            ways.each &= other.is_some();
            ways.others.extend(other);
        }
        Ok(Some(ways))
    }

    fn way(&self, figures: usize, solved: &Solved) -> Result<Option<Way>, LawError> {
        let weights: Option<Vec<Weights>> = (0..figures).map(|i| solved.weights(i)).collect();
        let Some(weights) = weights else { return Ok(None) };
        let mut way = Way {
            rows: vec![0.0; figures],
            of_rows: vec![vec![0.0; figures]; self.rows.len()],
            sources: self.sources.iter().map(|s| vec![vec![0.0; s.functionals.len()]; figures]).collect(),
            law: Arc::default(),
        };
        for (figure, weights) in weights.into_iter().enumerate() {
            for (&(at, row), weight) in solved.rows.iter().zip(weights.rows) {
                way.rows[figure] += weight * row.value;
                way.of_rows[at][figure] = weight;
            }
            for (&source, weights) in solved.sources.iter().zip(weights.sources) {
                way.sources[source][figure] = weights;
            }
        }
        let mut noises: Vec<_> =
            self.row_noises(&way).into_iter().map(|(_, noise, own)| (noise, own)).collect();
        let mut slack = vec![0.0; figures];
        for (Source { release, law, .. }, weights) in self.sources.iter().zip(&way.sources) {
            slack.iter_mut().zip(law.slacks(weights)).for_each(|(sum, s)| *sum += s);
            noises.extend(law.mixed(weights).map(|(noise, own)| (Noise { release: *release, ..noise }, own)));
        }
        without_traces(&mut noises, 1e-10);
        way.law = Arc::new(JointLaw::new(figures, noises).with_slack(slack));
        Ok(Some(way))
    }

    /// The noise of each row that has a part in any figure, with its number and its weights.
    pub(super) fn row_noises(&self, way: &Way) -> Vec<(usize, Noise, Vec<f64>)> {
        let one = |(number, (row, weights)): (usize, (&Row, &Vec<f64>))| {
            let (release, measurement) = row.place?;
            let noise = Noise { release, measurement, copies: 1, law: row.noise };
            weights.iter().any(|w| *w != 0.0).then(|| (number, noise, weights.clone()))
        };
        self.rows.iter().zip(&way.of_rows).enumerate().filter_map(one).collect()
    }

    /// Whether a functional is that of a row.
    pub(super) fn is_row(&self, functional: usize) -> bool {
        self.rows.iter().any(|row| row.functional == functional)
    }

    /// What some of the rows and releases tell, with more on top.
    fn solved(
        &self,
        more: &[(usize, NoiseLaw)],
        rows: impl Fn(&Row) -> bool,
        tables: impl Fn(&Source) -> bool,
    ) -> Solved<'_> {
        let r = self.express.first().map_or(0, Vec::len);
        let mut information = vec![0.0; r * r];
        let mut add = |x: &[f64], y: &[f64], weight: f64| {
            for (i, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                let row = &mut information[i * r..(i + 1) * r];
                row.iter_mut().zip(y).for_each(|(m, y)| *m += weight * x * y);
            }
        };
        let supposed =
            more.iter().map(|&(functional, noise)| Row { functional, value: 0.0, noise, place: None });
        let measured = self.rows.iter().enumerate().filter(|(_, row)| rows(row));
        let rows: Vec<(usize, Row)> =
            measured.map(|(at, row)| (at, *row)).chain(supposed.map(|row| (usize::MAX, row))).collect();
        for (_, row) in &rows {
            let own = &self.express[row.functional];
            add(own, own, weight(row.noise));
        }
        let sources: Vec<usize> = (0..self.sources.len()).filter(|&s| tables(&self.sources[s])).collect();
        for told in sources.iter().map(|&s| &self.sources[s]) {
            for (&i, column) in told.functionals.iter().zip(&told.precision) {
                // `P` times all of them first: one product for each.
                let mut sum = vec![0.0; r];
                for (&j, p) in told.functionals.iter().zip(column) {
                    sum.iter_mut().zip(&self.express[j]).for_each(|(s, y)| *s += p * y);
                }
                add(&self.express[i], &sum, 1.0);
            }
        }
        let factors = factored(&information, r);
        Solved { combined: self, rows, sources, information, factors }
    }
}

/// What is told, weighed.
pub struct Solved<'a> {
    combined: &'a Combined,
    /// Each with its number, if it has one.
    rows: Vec<(usize, Row)>,
    sources: Vec<usize>,
    information: Vec<f64>,
    factors: Pivoted,
}

/// What a figure's estimate multiplies by what.
struct Weights {
    rows: Vec<f64>,
    /// For each source one for each of its functionals.
    sources: Vec<Vec<f64>>,
}

impl Solved<'_> {
    fn weights(&self, figure: usize) -> Option<Weights> {
        let express = &self.combined.express;
        let q = &express[figure];
        let mut k = self.factors.solution(q)?;
        // Once more for what rounding left.
        let r = q.len();
        let left: Vec<f64> = (0..r)
            .map(|i| {
                q[i] - self.information[i * r..(i + 1) * r].iter().zip(&k).map(|(m, k)| m * k).sum::<f64>()
            })
            .collect();
        if let Some(more) = self.factors.solution(&left) {
            k.iter_mut().zip(more).for_each(|(k, more)| *k += more);
        }
        let dot = |i: usize| express[i].iter().zip(&k).map(|(t, k)| t * k).sum::<f64>();
        let rows = self.rows.iter().map(|(_, row)| tidy(dot(row.functional) * weight(row.noise))).collect();
        let of = |&source: &usize| {
            let told = &self.combined.sources[source];
            let means: Vec<f64> = told.functionals.iter().map(|&i| dot(i)).collect();
            let column = |p: &Vec<f64>| tidy(p.iter().zip(&means).map(|(p, m)| p * m).sum());
            told.precision.iter().map(column).collect()
        };
        Some(Weights { rows, sources: self.sources.iter().map(of).collect() })
    }

    /// The best estimate of a figure; `None` where nothing tells it. Where something was supposed there is no estimate, and the law is what
    /// it would be.
    pub fn best(&self, figure: usize) -> Result<Option<Best>, LawError> {
        let Some(weights) = self.weights(figure) else { return Ok(None) };
        let mut estimate = 0.0;
        let mut terms = Vec::new();
        for ((_, row), &coefficient) in self.rows.iter().zip(&weights.rows) {
            estimate += coefficient * row.value;
            terms.push(Term { coefficient, copies: 1, noise: row.noise });
        }
        for (&source, weights) in self.sources.iter().zip(&weights.sources) {
            let told = &self.combined.sources[source];
            estimate += told.estimates.iter().zip(weights).map(|(e, w)| e * w).sum::<f64>();
            terms.extend(told.law.terms(weights));
        }
        // What cancels in exact arithmetic leaves a trace in floating point; such a trace is no noise.
        let reach = |t: &Term| t.coefficient.abs() * t.noise.std();
        let most = terms.iter().map(reach).fold(0.0, f64::max);
        terms.retain(|t| reach(t) > 1e-10 * most);
        Ok(Some(Best { estimate, law: ErrorLaw::new(terms)? }))
    }
}

impl Source {
    /// What a release tells of some functionals, of those that it holds; `None` if of none of them.
    fn of<S: recover::Source>(
        at: usize,
        tables: &Tables<S>,
        functionals: &[usize],
        filters: &[Filter],
        gram: &[f64],
    ) -> Option<Source> {
        let side = filters.len();
        let mut held: Vec<(usize, Aggregate)> = Vec::new();
        for &i in functionals {
            let own = |d: usize| tables.dims.iter().position(|&to| to == d);
            let Some(filter) = filters[i].renumbered(own) else { continue };
            let aggregate = Aggregate::rows(filter, None);
            if tables.evaluator.part(&aggregate, &[]).is_ok() {
                held.push((i, aggregate));
            }
        }
        // Those that are made up of others are told by them.
        let n = held.len();
        let own: Vec<f64> = (0..n * n).map(|k| gram[held[k / n].0 * side + held[k % n].0]).collect();
        let mut apart = factored(&own, n).order().to_vec();
        apart.sort_unstable();
        let held: Vec<(usize, Aggregate)> = apart.into_iter().map(|i| held[i].clone()).collect();
        let (functionals, aggregates): (Vec<usize>, Vec<Aggregate>) = held.into_iter().unzip();
        let group = tables.evaluator.joint(&aggregates, &[]).ok()?.pop()?;
        Source::weighed((tables.release, at), functionals, group.estimates, group.law)
    }

    /// With the weights that its joint law gives it.
    fn weighed(
        (release, tables): (usize, usize),
        functionals: Vec<usize>,
        estimates: Vec<f64>,
        law: Arc<JointLaw>,
    ) -> Option<Source> {
        let n = functionals.len();
        let mut covariance = law.covariances();
        // What is known without noise is known as well as doubles can say beside what is not.
        let least = (0..n).map(|i| covariance[i * n + i]).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least } else { 1.0 };
        for i in 0..n {
            covariance[i * n + i] += 1e-9 * covariance[i * n + i].max(least);
        }
        let factors = factored(&covariance, n);
        let unit = |i: usize| -> Vec<f64> { (0..n).map(|j| f64::from(u8::from(i == j))).collect() };
        let precision = (0..n).map(|i| factors.solution(&unit(i))).collect::<Option<_>>()?;
        (n > 0).then_some(Source { release, tables, functionals, estimates, law, precision })
    }
}
