//! All that several releases of one dataset tell of some figures, taken together.
//!
//! Each release is a source of noisy answers with noise of its own. Some are *rows*: linear queries, each measured with one noise.
//! Others are tables, from which a release makes its own best estimate of any figure that it holds, with the joint law of their
//! errors. Over the figures asked for and all rows measured so far (the *figures* here) this is generalised least squares: a basis
//! of the figures stands for the truth, every source tells some of them with a covariance, and the best unbiased combination of all
//! answers follows. A release need not hold a figure to help: two rows tell their sum.
//!
//! The weights depend on the noises alone and never on an answer, so the error of the combination is a fixed sum of known
//! independent noises, and its law is exact.

use super::best::Best;
use super::caveats::truncated;
use super::evaluate::Evaluator;
use super::joint::JointLaw;
use super::linear::{self, of_row};
use super::open::{Answers, QueryError};
use super::render::ResultTable;
use crate::cube::{ClassedDimension, Cube, Filter};
use crate::law::{ErrorLaw, LawError, NoiseLaw, Term};
use crate::numeric::pivoted::{Gram, Pivoted};
use crate::plan::Block;
use crate::recover::Source;
use crate::release::values::Values;
use crate::sql::{Aggregate, Query};
use std::sync::Arc;

/// A row of a release: what was measured, what came out, and the law of its noise.
struct Measured {
    filter: Filter,
    value: f64,
    noise: NoiseLaw,
}

/// What releases of one dataset have told.
pub struct Past<'a> {
    cube: &'a Cube,
    rows: Vec<Measured>,
    tables: Vec<&'a Evaluator<Values>>,
}

/// So many rows at most are taken together with tables: the newest.
const WITH_TABLES: usize = 192;
/// And so many in all.
const MOST_ROWS: usize = 4096;

impl<'a> Past<'a> {
    /// What these releases tell of the cells of a cube.
    pub fn new(cube: &'a Cube, releases: &[&'a Answers]) -> Result<Past<'a>, QueryError> {
        let mut past = Past { cube, rows: Vec::new(), tables: Vec::new() };
        for release in releases {
            let recovery = release.evaluator().recovery();
            let rows = |block: &Block| matches!(block, Block::Rows(_));
            let plan = recovery.plan();
            // Rows have one noise each; copies may have several, and a centre that all rows of a copy share.
            let one = |i: usize| <[NoiseLaw; 1]>::try_from(recovery.noise(i)).ok().map(|[noise]| noise);
            let rows =
                plan.rows().measurements.iter().enumerate().all(|(i, m)| rows(&m.block) && one(i).is_some());
            if !rows || !plan.zeros.is_empty() {
                past.tables.push(release.evaluator());
                continue;
            }
            for (i, m) in plan.rows().measurements.iter().enumerate() {
                let (Block::Rows(block), Some(noise)) = (&m.block, one(i)) else { continue };
                let values = recovery.source().values(i).map_err(crate::recover::RecoverError::from)?;
                for (row, value) in block.rows.iter().zip(values) {
                    let filter = of_row(&block.cuboid, row, recovery.cube());
                    if let Some(filter) = filter.and_then(|f| translated(&f, recovery.cube(), cube)) {
                        past.rows.push(Measured { filter, value: value as f64, noise });
                    }
                }
            }
        }
        let old = past.rows.len().saturating_sub(MOST_ROWS);
        past.rows.drain(..old);
        Ok(past)
    }
}

/// The answer that releases give together; `None` where they do not tell it.
pub(super) fn answer(
    releases: &[&Answers],
    cube: &Cube,
    query: &Query,
    level: f64,
) -> Result<Option<ResultTable>, QueryError> {
    let figures = linear::figures(query, cube)?;
    let sums = linear::sums(&figures);
    let filters: Vec<&Filter> = figures.iter().map(|f| &f.filter).chain(&sums).collect();
    let together = Together::new(&Past::new(cube, releases)?, &filters)?;
    let solved = together.with(&[]);
    let best = (0..figures.len()).map(|i| solved.best(i)).collect::<Result<Option<Vec<_>>, _>>()?;
    let Some(best) = best else { return Ok(None) };
    let mut table = linear::table(query, cube, &figures, &best, level);
    table.caveats.extend(truncated(releases, level, None)?);
    table.notes.push(format!(
        "{} releases taken together: the best combination of what they tell of these figures and of their sums.",
        releases.len()
    ));
    releases.iter().filter_map(|r| r.exact_note()).for_each(|note| table.notes.push(note));
    Ok(Some(table))
}

/// The same weights in the terms of another cube; `None` where it does not have these dimensions and categories.
fn translated(filter: &Filter, from: &Cube, to: &Cube) -> Option<Filter> {
    let mut dims = Vec::with_capacity(filter.dims.len());
    for class in &filter.dims {
        let own = &from.dimensions[class.dim];
        let dim = to.dimensions.iter().position(|d| d.name == own.name)?;
        let other = &to.dimensions[dim];
        if own.levels[own.finest()].labels != other.levels[other.finest()].labels {
            return None;
        }
        dims.push(ClassedDimension { dim, ..class.clone() });
    }
    // Weights run over the dimensions in their order: the same one, or none.
    dims.windows(2).all(|w| w[0].dim < w[1].dim).then(|| Filter { dims, weights: filter.weights.clone() })
}

/// The mean over all cells of the product of two weights.
fn product(a: &Filter, b: &Filter, cube: &Cube) -> f64 {
    let mut dims: Vec<usize> = a.dims.iter().chain(&b.dims).map(|d| d.dim).collect();
    dims.sort_unstable();
    dims.dedup();
    // Class by class: where in either's weights, and which part of all cells.
    let mut places = vec![(0usize, 0usize, 1.0f64)];
    for dim in dims {
        let (x, y) = (a.classes(dim), b.classes(dim));
        let (nx, ny) = (x.map_or(1, |c| c.classes as usize), y.map_or(1, |c| c.classes as usize));
        let d = &cube.dimensions[dim];
        let nodes = d.levels[d.finest()].len();
        let mut both = vec![0u32; nx * ny];
        for node in 0..nodes {
            let class = |c: Option<&ClassedDimension>| c.map_or(0, |c| c.class_of[node] as usize);
            both[class(x) * ny + class(y)] += 1;
        }
        let both: Vec<(usize, usize, f64)> = (0..nx * ny)
            .filter(|&i| both[i] > 0)
            .map(|i| (i / ny, i % ny, f64::from(both[i]) / nodes as f64))
            .collect();
        places = places
            .iter()
            .flat_map(|&(p, q, part)| {
                both.iter().map(move |&(i, j, share)| (p * nx + i, q * ny + j, part * share))
            })
            .filter(|&(_, _, part)| part > 0.0)
            .collect();
    }
    places.into_iter().map(|(i, j, part)| a.weights[i] * b.weights[j] * part).sum()
}

/// What a release of tables tells of some of the figures.
struct Told {
    /// Which figures: none of them made up of the others.
    figures: Vec<usize>,
    estimates: Vec<f64>,
    law: Arc<JointLaw>,
    /// For each figure a column of the inverse covariance.
    precision: Vec<Vec<f64>>,
}

/// The figures asked for with everything that tells of them.
pub struct Together {
    /// What each figure is in terms of the basis.
    express: Vec<Vec<f64>>,
    /// Rows, each with its figure.
    rows: Vec<(usize, f64, NoiseLaw)>,
    tables: Vec<Told>,
}

impl Together {
    /// Gathers what the past tells of these figures: they are numbered as they stand here.
    pub fn new(past: &Past, wanted: &[&Filter]) -> Result<Together, QueryError> {
        let mut figures: Vec<Filter> = wanted.iter().map(|f| (*f).clone()).collect();
        let mut rows = Vec::new();
        for row in past.rows.iter().rev() {
            let at = figures.iter().position(|f| *f == row.filter).unwrap_or_else(|| {
                figures.push(row.filter.clone());
                figures.len() - 1
            });
            rows.push((at, row.value, row.noise));
        }
        let n = figures.len();
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let g = product(&figures[i], &figures[j], past.cube);
                (gram[i * n + j], gram[j * n + i]) = (g, g);
            }
        }
        let factors = factored(&gram, n);
        let basis = factors.order().to_vec();
        let coordinates = |i: usize| -> Vec<f64> {
            let x = factors.solution(&gram[i * n..(i + 1) * n]);
            x.map_or(vec![f64::NAN; basis.len()], |x| basis.iter().map(|&p| x[p]).collect())
        };
        let express: Vec<Vec<f64>> = (0..n).map(coordinates).collect();
        let near = (wanted.len() + WITH_TABLES).min(n);
        let mut tables = Vec::new();
        for table in &past.tables {
            let told = Told::of(table, past.cube, &figures[..near], &express)
                .or_else(|| Told::of(table, past.cube, &figures[..wanted.len()], &express));
            tables.extend(told);
        }
        Ok(Together { express, rows, tables })
    }

    /// All of it, if so much came on top: figures, each with the law of the noise it was measured with.
    pub fn with(&self, more: &[(usize, NoiseLaw)]) -> Solved<'_> {
        let r = self.express.first().map_or(0, Vec::len);
        let mut information = vec![0.0; r * r];
        let mut add = |x: &[f64], y: &[f64], weight: f64| {
            for i in 0..r {
                for j in 0..r {
                    information[i * r + j] += weight * x[i] * y[j];
                }
            }
        };
        let supposed = more.iter().map(|&(figure, noise)| (figure, 0.0, noise));
        let rows: Vec<(usize, f64, NoiseLaw)> = self.rows.iter().copied().chain(supposed).collect();
        for &(at, _, noise) in &rows {
            add(&self.express[at], &self.express[at], weight(noise));
        }
        for told in &self.tables {
            for (&i, column) in told.figures.iter().zip(&told.precision) {
                for (&j, p) in told.figures.iter().zip(column) {
                    add(&self.express[i], &self.express[j], *p);
                }
            }
        }
        Solved { together: self, rows, factors: factored(&information, r) }
    }
}

/// What is told, weighed.
pub struct Solved<'a> {
    together: &'a Together,
    rows: Vec<(usize, f64, NoiseLaw)>,
    factors: Pivoted,
}

impl Solved<'_> {
    /// The best estimate of a figure; `None` where nothing tells it. Where something was supposed there is no estimate, and the law is what
    /// it would be.
    pub fn best(&self, figure: usize) -> Result<Option<Best>, LawError> {
        let Together { express, tables, .. } = self.together;
        let Some(k) = self.factors.solution(&express[figure]) else { return Ok(None) };
        let dot = |i: usize| express[i].iter().zip(&k).map(|(t, k)| t * k).sum::<f64>();
        let mut estimate = 0.0;
        let mut terms = Vec::new();
        for &(at, value, noise) in &self.rows {
            let coefficient = tidy(dot(at) * weight(noise));
            estimate += coefficient * value;
            terms.push(Term { coefficient, copies: 1, noise });
        }
        for told in tables {
            let means: Vec<f64> = told.figures.iter().map(|&i| dot(i)).collect();
            let weights: Vec<f64> = (told.precision.iter())
                .map(|column| tidy(column.iter().zip(&means).map(|(p, m)| p * m).sum()))
                .collect();
            estimate += told.estimates.iter().zip(&weights).map(|(e, w)| e * w).sum::<f64>();
            terms.extend(told.law.terms(&weights).map(|(_, term)| term));
        }
        // What cancels in exact arithmetic leaves a trace in floating point; such a trace is no noise.
        let most = terms.iter().fold(0.0f64, |m, t| m.max(t.coefficient.abs()));
        terms.retain(|t| t.coefficient.abs() > 1e-10 * most);
        Ok(Some(Best { estimate, law: ErrorLaw::new(terms)? }))
    }
}

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

impl Told {
    /// What a release of tables tells of the figures that it holds; `None` if of none of them.
    fn of(table: &Evaluator<Values>, cube: &Cube, figures: &[Filter], express: &[Vec<f64>]) -> Option<Told> {
        let mut held: Vec<(usize, Aggregate)> = Vec::new();
        for (i, figure) in figures.iter().enumerate() {
            let Some(filter) = translated(figure, cube, table.cube()) else { continue };
            let aggregate = Aggregate { filter, partition: None };
            if table.part(&aggregate, &[]).is_ok() {
                held.push((i, aggregate));
            }
        }
        // Those that are made up of others are told by them.
        let n = held.len();
        let scalar = |a: usize, b: usize| -> f64 {
            express[held[a].0].iter().zip(&express[held[b].0]).map(|(x, y)| x * y).sum()
        };
        let gram: Vec<f64> = (0..n * n).map(|at| scalar(at / n, at % n)).collect();
        let mut apart = factored(&gram, n).order().to_vec();
        apart.sort_unstable();
        let held: Vec<(usize, Aggregate)> = apart.into_iter().map(|i| held[i].clone()).collect();
        let aggregates: Vec<Aggregate> = held.iter().map(|(_, a)| a.clone()).collect();
        let group = table.joint(&aggregates, &[]).ok()?.pop()?;
        let n = held.len();
        let unit = |i: usize| -> Vec<f64> { (0..n).map(|j| f64::from(u8::from(i == j))).collect() };
        let units: Vec<Vec<f64>> = (0..n).map(unit).collect();
        let mut covariance: Vec<f64> =
            (0..n * n).map(|at| group.law.covariance(&units[at / n], &units[at % n])).collect();
        // What is known without noise is known as well as doubles can say beside what is not.
        let most = (0..n).map(|i| covariance[i * n + i]).fold(0.0, f64::max);
        for i in 0..n {
            covariance[i * n + i] += 1e-9 * most.max(1e-9);
        }
        let factors = factored(&covariance, n);
        let precision = units.iter().map(|u| factors.solution(u)).collect::<Option<_>>()?;
        let figures = held.into_iter().map(|(i, _)| i).collect();
        (n > 0).then_some(Told { figures, estimates: group.estimates, law: group.law, precision })
    }
}
