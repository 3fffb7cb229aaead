//! All rows of an answer at once: rows that look alike to the releases share weights and laws.

use super::classes::Classes;
use super::combine::{self, Combined, Ways};
use super::{AllSums, Pool, Sums};
use crate::answer::error::{AnswerError, QueryError};
use crate::answer::tell::{AllRows, Family, Teller, Told};
use crate::cube::{Cube, Cuboid, Filter, Level};
use crate::joint::{JointLaw, Noise};
use crate::law::LawError;
use crate::memo::Memo;
use crate::recover::Source;
use crate::sql::Aggregate;
use std::collections::HashMap;
use std::sync::Arc;

/// The most cells that are gone through for all rows; beyond, rows are combined figure by figure.
const MOST_CELLS: f64 = 8e9;

/// What rows that look alike share: how their figures follow from sums over classes.
struct Kind {
    combined: Combined,
    ways: Option<Ways>,
    /// Whether some release told the figures themselves: then no other row is of this kind.
    alone: bool,
}

/// Classes of every dimension for rows of one family.
struct Rows<'a, S> {
    pool: &'a Pool<'a, S>,
    family: &'a Family<'a>,
    colours: Vec<Vec<u32>>,
    kinds: Vec<u32>,
    /// By dimension and node of its group.
    classes: HashMap<(usize, Option<u32>), Arc<Classes>>,
}

impl<S: Source> Teller for Pool<'_, S> {
    fn cube(&self) -> &Cube {
        self.cube
    }

    fn releases(&self) -> Vec<&super::Answers> {
        self.releases.clone()
    }

    /// Refused as the first of the releases refuses it, where they do not tell it together.
    fn tell(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        let nodes = family.rows;
        let mut rows = Rows::new(self, family);
        let mut known: HashMap<Vec<u64>, Arc<Kind>> = HashMap::new();
        let tables = Memo::default();
        let mut out = Vec::with_capacity(nodes.len());
        for node in nodes {
            let classes = rows.classes(node);
            let look: Vec<u64> =
                family.group_by.iter().flat_map(|at| classes[at.dimension].look.iter().copied()).collect();
            let kind = match known.get(&look) {
                Some(kind) => kind.clone(),
                None => {
                    let few = |sums: &AllSums| nodes.len() as f64 * self.cells(sums) <= MOST_CELLS;
                    let Some(sums) = rows.sums(&classes).filter(few) else {
                        return self.figure_by_figure(family);
                    };
                    let made = Arc::new(rows.kind(node, sums)?);
                    if !made.alone {
                        known.insert(look, made.clone());
                    }
                    made
                }
            };
            let values: Vec<Vec<f64>> = kind
                .combined
                .sources
                .iter()
                .map(|source| self.values(source, &kind, &classes, &tables))
                .collect::<Result<_, _>>()?;
            let Some(ways) = &kind.ways else { return Err(self.not_told(family)) };
            out.push(ways.told(node, &values));
        }
        Ok(out)
    }

    fn jointly(&self, every: &AllRows) -> Result<Option<JointLaw>, QueryError> {
        let AllRows { portions, rows, most, .. } = *every;
        let width = every.figures();
        let mut asked: Vec<WantedSums> = self.tables.iter().map(|_| WantedSums::default()).collect();
        let mut noises: Vec<(Noise, Vec<f64>)> = Vec::new();
        let mut measured: HashMap<usize, usize> = HashMap::new();
        let own = (0..portions.len()).map(|p| every.levels(p));
        let families: Vec<Family> = portions
            .iter()
            .zip(own)
            .map(|(figures, group_by)| Family { figures, group_by, rows: &[] })
            .collect();
        let mut all: Vec<Rows<S>> = families.iter().map(|family| Rows::new(self, family)).collect();
        for (r, &(portion, node)) in rows.iter().enumerate() {
            let Some(own) = all.get_mut(portion) else { return Ok(None) };
            let classes = own.classes(node);
            let Some(sums) = own.sums(&classes) else { return Ok(None) };
            let kind = own.kind(node, sums)?;
            let Some(best) = kind.ways.as_ref().map(|ways| &ways.best) else { return Ok(None) };
            for (source, weights) in kind.combined.sources.iter().zip(&best.sources) {
                let tables = &self.tables[source.tables];
                for (k, &functional) in source.functionals.iter().enumerate() {
                    let own = |d: usize| tables.dims.iter().position(|&to| to == d);
                    let filter = kind.combined.filters.get(functional).and_then(|f| f.renumbered(own));
                    let Some(filter) = filter else { return Ok(None) };
                    let number = asked[source.tables].number(filter);
                    let of = weights.iter().enumerate().map(|(figure, w)| (r * width + figure, w[k]));
                    asked[source.tables].weights[number].extend(of.filter(|(_, w)| *w != 0.0));
                }
            }
            for (number, noise, coefficients) in kind.combined.row_noises(best) {
                let at = *measured.entry(number).or_insert_with(|| {
                    noises.push((noise, vec![0.0; every.width()]));
                    noises.len() - 1
                });
                noises[at].1[r * width..(r + 1) * width].copy_from_slice(&coefficients);
            }
            let sums: usize = asked.iter().map(|a| a.sums.len()).sum();
            if sums * every.width() > most {
                return Ok(None);
            }
        }
        for (tables, asked) in self.tables.iter().zip(asked).filter(|(_, asked)| !asked.sums.is_empty()) {
            let Some(law) = tables.evaluator.joint_rows(&AllRows {
                portions: &[&asked.sums],
                group_by: &[],
                coarser: &[],
                rows: &[(0, &[])],
                most,
            })?
            else {
                return Ok(None);
            };
            for (noise, of_sums) in law.noises() {
                let mut own = vec![0.0; every.width()];
                for (c, weights) in of_sums.iter().zip(&asked.weights).filter(|(c, _)| **c != 0.0) {
                    weights.iter().for_each(|&(figure, w)| own[figure] += c * w);
                }
                noises.push((Noise { release: tables.release, ..*noise }, own));
            }
        }
        Ok(Some(JointLaw::new(every.width(), noises)))
    }
}

impl<S: Source> Pool<'_, S> {
    /// How many cells the sums are made of.
    fn cells(&self, sums: &AllSums) -> f64 {
        let of = |(tables, own): (&super::Tables<S>, &Vec<Sums>)| -> f64 {
            own.iter().map(|s| tables.evaluator.recovery().frame().cells(&s.cuboid)).sum()
        };
        self.tables.iter().zip(&sums.of).map(of).sum()
    }

    /// What a release says of its functionals for a row with these classes.
    fn values(
        &self,
        source: &combine::Source,
        kind: &Kind,
        classes: &[Arc<Classes>],
        tables: &Memo<(usize, Cuboid), Arc<[f64]>>,
    ) -> Result<Vec<f64>, QueryError> {
        if kind.alone {
            return Ok(source.estimates.clone());
        }
        let mut values = source.estimates.clone();
        let own = &self.tables[source.tables];
        for sums in kind.combined.sums.get(source.tables).into_iter().flatten() {
            let key = (source.tables, sums.cuboid.clone());
            let table = tables.of(key, || own.evaluator.summands(&sums.cuboid))?;
            let sum = summed(&table, &sums.at, classes);
            for (value, functional) in values.iter_mut().zip(&source.functionals) {
                let number = functional.checked_sub(kind.combined.first);
                if let Some(at) = number.and_then(|n| sums.numbers.iter().position(|&own| own == n)) {
                    *value = sum[at];
                }
            }
        }
        Ok(values)
    }

    /// Why a family is not told: what the first release says that has a reason.
    fn not_told(&self, family: &Family) -> QueryError {
        let why = |(release, evaluator): (&&super::Answers, &&super::Evaluator<S>)| {
            let (figures, group_by) = self.own_terms(release, family)?;
            let own = Family { figures: &figures, group_by: &group_by, rows: family.rows };
            evaluator.rows(&own).err()
        };
        let found = self.releases.iter().zip(&self.evaluators).find_map(why).map(QueryError::from);
        found.unwrap_or_else(|| QueryError::Together("they do not tell it together".into()))
    }

    /// Each release's own estimates of all figures, by least squares.
    fn figure_by_figure(&self, family: &Family) -> Result<Vec<Told>, QueryError> {
        let mut each: Vec<(usize, std::vec::IntoIter<Told>)> = Vec::new();
        for (at, (release, evaluator)) in self.releases.iter().zip(&self.evaluators).enumerate() {
            let Some((figures, group_by)) = self.own_terms(release, family) else { continue };
            let own = Family { figures: &figures, group_by: &group_by, rows: family.rows };
            if let Ok(rows) = evaluator.rows(&own) {
                each.push((at, rows.into_iter()));
            }
        }
        let known: Memo<Vec<usize>, Option<Arc<Ways>>> = Memo::default();
        let figures = family.figures.len();
        let mut out = Vec::with_capacity(family.rows.len());
        for node in family.rows {
            let told: Vec<(usize, Told)> =
                each.iter_mut().filter_map(|(at, rows)| Some((*at, rows.next()?))).collect();
            let key = told.iter().map(|(_, t)| Arc::as_ptr(&t.law) as usize).collect();
            let made = || Combined::of_figures(figures, &told).ways(figures, &self.subsets());
            let kind = known.of(key, || made().map(|ways| ways.map(Arc::new)))?;
            let values: Vec<Vec<f64>> = told.into_iter().map(|(_, t)| t.estimates).collect();
            let Some(ways) = kind else { return Err(self.not_told(family)) };
            out.push(ways.told(node, &values));
        }
        Ok(out)
    }

    /// A family's figures and levels in a release's own terms; `None` where it lacks a dimension or a level.
    fn own_terms(&self, release: &super::Answers, family: &Family) -> Option<(Vec<Aggregate>, Vec<Level>)> {
        let cube = release.cube();
        let own = |d: usize| {
            let from = self.dims.get(d)?;
            cube.dimensions.iter().position(|own| super::alike(own, from))
        };
        let level = |at: &Level| {
            let (from, d) = (self.dims[at.dimension], own(at.dimension)?);
            let up = from.ancestors(from.finest(), at.level);
            let to = &cube.dimensions[d];
            (0..to.levels.len() + usize::from(to.districts.is_some()))
                .find(|&l| to.ancestors(to.finest(), l) == up)
                .map(|l| Level::new(d, l))
        };
        let figure = |a: &Aggregate| Some(Aggregate { filter: a.filter.renumbered(own)?, ..a.clone() });
        let figures = family.figures.iter().map(figure).collect::<Option<_>>()?;
        Some((figures, family.group_by.iter().map(level).collect::<Option<_>>()?))
    }

    /// Which releases are taken by themselves: those of one kind of noise, and each one.
    fn subsets(&self) -> Vec<Vec<bool>> {
        let noises: Vec<_> = self.evaluators.iter().map(|e| e.recovery().plan().noise).collect();
        let kinds = noises.iter().map(|kind| noises.iter().map(|n| n == kind).collect::<Vec<bool>>());
        let single = |at: usize| (0..noises.len()).map(|i| i == at).collect();
        let mut all: Vec<Vec<bool>> = Vec::new();
        for subset in kinds.chain((0..noises.len()).map(single)) {
            if subset.contains(&false) && !all.contains(&subset) {
                all.push(subset);
            }
        }
        all
    }
}

/// What a release is asked for all rows: sums of cells, and for each sum the figures that it is in, with their weights.
#[derive(Default)]
struct WantedSums {
    sums: Vec<Aggregate>,
    weights: Vec<Vec<(usize, f64)>>,
    known: HashMap<Vec<u64>, usize>,
}

impl WantedSums {
    /// The number of a sum.
    fn number(&mut self, filter: Filter) -> usize {
        let dims = filter.dims.iter().flat_map(|c| {
            std::iter::once(c.dim as u64).chain(c.class_of.iter().map(|&class| u64::from(class)))
        });
        let key = dims.chain(filter.weights.iter().map(|w| w.to_bits())).collect();
        *self.known.entry(key).or_insert_with(|| {
            self.sums.push(Aggregate::rows(filter, None));
            self.weights.push(Vec::new());
            self.sums.len() - 1
        })
    }
}

/// The same figures as several releases tell them, taken together.
pub(crate) fn together(told: Vec<Told>) -> Result<Option<Told>, LawError> {
    if told.len() < 2 {
        return Ok({ told }.pop());
    }
    let told: Vec<(usize, Told)> = told.into_iter().enumerate().collect();
    let figures = told.first().map_or(0, |(_, t)| t.estimates.len());
    let ways = Combined::of_figures(figures, &told).ways(figures, &[])?;
    let values: Vec<Vec<f64>> = told.into_iter().map(|(_, t)| t.estimates).collect();
    Ok(ways.map(|ways| ways.told(&[], &values)))
}

impl<'a, S: Source> Rows<'a, S> {
    fn new(pool: &'a Pool<'a, S>, family: &'a Family<'a>) -> Rows<'a, S> {
        let colour = |d: usize| {
            let mut colour = vec![0; pool.fixed[d][0].len()];
            for class in family.figures.iter().filter_map(|f| f.filter.classes(d)) {
                super::refine(&mut colour, |node| class.class_of[node]);
            }
            colour
        };
        let colours: Vec<Vec<u32>> = (0..pool.dims.len()).map(colour).collect();
        let kinds = colours.iter().map(|c| c.iter().max().map_or(1, |&c| c + 1)).collect();
        Rows { pool, family, colours, kinds, classes: HashMap::new() }
    }

    /// The position of the group by a dimension that any figure keeps to.
    fn grouped(&self, d: usize) -> Option<usize> {
        let at = self.family.group_by.iter().position(|at| at.dimension == d)?;
        self.family.figures.iter().any(|f| f.keeps(at)).then_some(at)
    }

    /// The classes of every dimension for one row.
    fn classes(&mut self, nodes: &[u32]) -> Vec<Arc<Classes>> {
        (0..self.pool.dims.len())
            .map(|d| {
                let group = self.grouped(d);
                let key = (d, group.map(|at| nodes[at]));
                if let Some(known) = self.classes.get(&key) {
                    return known.clone();
                }
                let mut colour = self.colours[d].clone();
                let mut kinds = self.kinds[d];
                if let Some(at) = group {
                    let (level, dimension) = (self.family.group_by[at], self.pool.dims[d]);
                    let up = dimension.ancestors(dimension.finest(), level.level);
                    colour.iter_mut().zip(up).for_each(|(c, up)| *c = 2 * *c + u32::from(up == nodes[at]));
                    kinds *= 2;
                }
                let made = Arc::new(self.pool.classed(d, colour, kinds, true));
                self.classes.insert(key, made.clone());
                made
            })
            .collect()
    }

    fn sums(&self, classes: &[Arc<Classes>]) -> Option<AllSums> {
        let asked = |d: usize| self.kinds[d] > 1 || self.grouped(d).is_some();
        self.pool.sums(classes, &|d| self.pool.matters(d, &classes[d], asked(d)))
    }

    /// How the figures of one row follow from the sums.
    fn kind(&self, nodes: &[u32], sums: AllSums) -> Result<Kind, QueryError> {
        let cube = self.pool.cube;
        let wanted = self.family.figures.iter().map(|f| f.cells(self.family.group_by, nodes, cube));
        let wanted = wanted.collect::<Result<Vec<Filter>, _>>().map_err(|_| AnswerError::Intricate)?;
        let combined = Combined::of(self.pool, &wanted.iter().collect::<Vec<_>>(), sums, true)?;
        let ways = combined.ways(wanted.len(), &self.pool.subsets())?;
        let figures =
            |s: &combine::Source| s.functionals.iter().any(|&f| f < combined.first && !combined.is_row(f));
        let alone = combined.sources.iter().any(figures);
        Ok(Kind { combined, ways, alone })
    }
}

impl Combined {
    /// Gathers what releases tell of these figures: they are numbered as they stand here.
    pub fn new<S: Source>(pool: &Pool<S>, wanted: &[&Filter]) -> Result<Combined, QueryError> {
        let figures: Vec<Aggregate> = wanted.iter().map(|f| Aggregate::rows((*f).clone(), None)).collect();
        let family = Family::whole(&figures);
        let mut rows = Rows::new(pool, &family);
        let classes = rows.classes(&[]);
        if let Some(sums) = rows.sums(&classes) {
            return Combined::of(pool, wanted, sums, true);
        }
        let asked = |d: usize| rows.kinds[d] > 1;
        let plain = |d: usize| Arc::new(pool.classed(d, rows.colours[d].clone(), rows.kinds[d], false));
        let classes: Vec<Arc<Classes>> = (0..pool.dims.len()).map(plain).collect();
        let sums = pool.sums(&classes, &asked).unwrap_or_default();
        Combined::of(pool, wanted, sums, false)
    }
}

/// The sums of a table's cells over the classes of its levels, the last dimension fastest.
fn summed(table: &[f64], at: &[(usize, usize)], classes: &[Arc<Classes>]) -> Vec<f64> {
    let mut values = table.to_vec();
    let mut inner = 1;
    // The last dimension first: what is left of it stands beside each other.
    for &(d, partition) in at.iter().rev() {
        let (class, count) = &classes[d].blocks[partition];
        let nodes = class.len();
        let outer = values.len() / (nodes * inner).max(1);
        let mut next = vec![0.0; outer * count * inner];
        for (o, block) in values.chunks_exact((nodes * inner).max(1)).enumerate() {
            for (cells, &c) in block.chunks_exact(inner).zip(class) {
                let to = (o * count + c as usize) * inner;
                next[to..to + inner].iter_mut().zip(cells).for_each(|(s, v)| *s += v);
            }
        }
        (values, inner) = (next, inner * count);
    }
    values
}
