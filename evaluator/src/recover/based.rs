//! Components told by bases in whole numbers: a triangular system, solved dimension by dimension.
//!
//! With `[Π; R]⁻¹ = [U, K]` of every dimension (of siblings' differences: the spread of a mean and the projection; with weights the same by
//! shares) a table is
//! `Σ_{A≤B} (⊗_{i∈A} K_i ⊗ ⊗_{i∈B∖A} U_i) y_A`, and a query's coefficient of the noises of component A is the transpose of that. There are as many
//! integers as cells: every estimate is the only unbiased one, and components are independent. Nothing larger than a table is
//! ever written down.
//!
//! In one dimension components of the others may have weights of their own ([`Tellings`]). Its levels are then told apart last and put together first, by those of the
//! component at hand.
//!
//! The orthogonal components of [`crate::cube`] serve only where structural zeros are imposed.

use super::context::Context;
use super::estimate::{Coefficients, Estimate};
use super::gls::Parts;
use super::{RecoverError, Source, near};
use crate::cube::{Cuboid, Frame, Level, Rung, frame};
use crate::plan::basis::{Basis, Inverse, Part};
use crate::plan::weights::{NodeWeights, cell_norms};
use crate::plan::{Own, Plan, Telling, Tellings, limits, noise_variance};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// For each component its measurement, and for each level that has a basis or weights those.
#[derive(Default)]
pub(super) struct BasedOn {
    index: HashMap<Cuboid, usize>,
    bases: BTreeMap<(usize, usize), (Arc<Basis>, Arc<Inverse>)>,
    weights: BTreeMap<(usize, usize), Arc<NodeWeights>>,
    /// Where weights differ.
    own: Option<Own>,
}

/// What a query of a table is in terms of each component below it, told by these bases: `emit` hears of every one that it needs, with how many
/// noises each of its coefficients stands for.
pub fn split(
    tellings: &BTreeMap<(usize, usize), Telling>,
    frame: &Frame,
    cuboid: &Cuboid,
    query: Vec<f64>,
    emit: &mut dyn FnMut(Cuboid, Vec<f64>, &[u64]),
) {
    let mut on = BasedOn::default();
    tellings.iter().for_each(|(at, told)| _ = on.learn(*at, told));
    on.split(frame, cuboid, query, &mut |a, part| {
        // A whole frame: every coefficient is one noise's.
        let copies = vec![1; part.len()];
        emit(a, part, &copies);
    });
}

/// How a level follows from the next coarser one.
enum Way<'a> {
    /// Siblings' differences to their mean.
    Siblings(&'a Rung),
    /// A basis.
    Basis(&'a Basis, &'a Inverse),
    /// Weights of nodes.
    Weights(&'a NodeWeights, &'a Rung),
}

impl BasedOn {
    pub(super) fn of(plan: &Plan) -> Result<BasedOn, RecoverError> {
        let wrong = |why: &str| RecoverError::Plan(why.into());
        let measured = &plan.only().measurements;
        let tellings = Tellings::of(measured.iter().map(|m| &m.block)).map_err(wrong)?;
        let index = measured.iter().enumerate().map(|(i, m)| (m.block.cuboid().clone(), i)).collect();
        let mut out = BasedOn { index, own: tellings.own, ..BasedOn::default() };
        tellings.alike.iter().try_for_each(|(at, told)| out.learn(*at, told)).map_err(wrong)?;
        Ok(out)
    }

    /// Notes how a level is told.
    fn learn(&mut self, at: (usize, usize), told: &Telling) -> Result<(), &'static str> {
        match told {
            Telling::Siblings => {}
            Telling::Basis(basis) => {
                let inverse = basis.inverse().ok_or("a basis is singular")?;
                self.bases.insert(at, (basis.clone(), inverse.clone()));
            }
            Telling::Weights(weights) => _ = self.weights.insert(at, weights.clone()),
        }
        Ok(())
    }

    /// `component` is the one at hand, of the other dimensions at least.
    fn way<'a>(&'a self, dimension: usize, rung: &'a Rung, component: &Cuboid) -> Way<'a> {
        if let Some((basis, inverse)) = self.bases.get(&(dimension, rung.level)) {
            return Way::Basis(basis, inverse);
        }
        let weights = match self.own.as_ref().filter(|own| own.dimension == dimension) {
            Some(own) => own.kinds.get(own.kind(component)).and_then(|levels| levels.get(&rung.level)),
            None => self.weights.get(&(dimension, rung.level)),
        };
        weights.map_or(Way::Siblings(rung), |weights| Way::Weights(weights, rung))
    }

    /// The places of a table's dimensions, in the order in which they are put together: where weights differ that dimension is the first.
    fn order(&self, pairs: &[(usize, usize)]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        if let Some(own) = &self.own {
            order.sort_by_key(|&at| pairs[at].0 != own.dimension);
        }
        order
    }

    /// What a query of a table is in terms of each component below it: `emit` hears of every one.
    fn split(&self, frame: &Frame, cuboid: &Cuboid, query: Vec<f64>, emit: &mut dyn FnMut(Cuboid, Vec<f64>)) {
        let pairs: Vec<_> = cuboid.pairs().collect();
        let mut widths = pairs.iter().map(|&(d, l)| frame.rung(Level::new(d, l)).len()).collect();
        self.split_from(frame, (&pairs, &self.order(&pairs)), &mut widths, query, &mut Vec::new(), emit);
    }

    /// The dimensions in `order` are still to be split, the last one first; the others are split already. `widths` is how many numbers each has.
    fn split_from(
        &self,
        frame: &Frame,
        (pairs, order): (&[(usize, usize)], &[usize]),
        widths: &mut Vec<usize>,
        mut table: Vec<f64>,
        done: &mut Vec<(usize, usize)>,
        emit: &mut dyn FnMut(Cuboid, Vec<f64>),
    ) {
        let Some((&at, rest)) = order.split_last() else {
            return emit(Cuboid::new(done.clone()), table);
        };
        let (d, level) = pairs[at];
        let axis = &frame.axes[d];
        let (whole, inner) = (widths[at], widths[at + 1..].iter().product());
        let beside = Cuboid::new(done.clone());
        let top = axis.rung(level).unwrap_or(0);
        for r in (0..=top).rev() {
            let rung = &axis.rungs[r];
            let mut width = rung.len();
            let (own, coarser) = match self.way(d, rung, &beside) {
                _ if r == 0 => (table, None),
                Way::Basis(_, inverse) => {
                    width = inverse.rows();
                    (
                        inverse.pull(&table, inner, Part::Rows),
                        Some(inverse.pull(&table, inner, Part::Coarser)),
                    )
                }
                Way::Weights(weights, rung) => {
                    let (coarser, own) = weights.pull(rung, inner, table);
                    (own, Some(coarser))
                }
                Way::Siblings(rung) => {
                    let mean = frame::push(&table, inner, rung);
                    if !rung.adds_nothing() {
                        frame::take_off(&mut table, &mean, inner, rung);
                    }
                    (table, Some(mean))
                }
            };
            if !rung.adds_nothing() && own.iter().any(|v| *v != 0.0) {
                done.push((d, rung.level));
                widths[at] = width;
                self.split_from(frame, (pairs, rest), widths, own, done, emit);
                done.pop();
            }
            match coarser {
                Some(coarser) => table = coarser,
                None => break,
            }
        }
        widths[at] = whole;
    }

    /// A table from its components: `component` gives for each what its rows (or scaled siblings, projected) say.
    fn build(
        &self,
        frame: &Frame,
        cuboid: &Cuboid,
        component: &mut dyn FnMut(&Cuboid) -> Result<Option<Vec<f64>>, RecoverError>,
    ) -> Result<Vec<f64>, RecoverError> {
        let pairs: Vec<_> = cuboid.pairs().collect();
        let mut widths = vec![1; pairs.len()];
        let order = (&pairs[..], &self.order(&pairs)[..]);
        let built = self.build_from(frame, order, &mut widths, &mut Vec::new(), component)?;
        Ok(built.unwrap_or_else(|| vec![0.0; frame.len(cuboid)]))
    }

    /// The dimensions in `order` are put together, each of the others is at the level that is chosen. `widths` is how many numbers each has.
    fn build_from(
        &self,
        frame: &Frame,
        (pairs, order): (&[(usize, usize)], &[usize]),
        widths: &mut Vec<usize>,
        chosen: &mut Vec<(usize, usize)>,
        component: &mut dyn FnMut(&Cuboid) -> Result<Option<Vec<f64>>, RecoverError>,
    ) -> Result<Option<Vec<f64>>, RecoverError> {
        let Some((&at, rest)) = order.split_last() else {
            return component(&Cuboid::new(chosen.clone()));
        };
        let (d, level) = pairs[at];
        let axis = &frame.axes[d];
        let beside = Cuboid::new(chosen.clone());
        let top = axis.rung(level).unwrap_or(0);
        let mut built: Option<Vec<f64>> = None;
        for rung in &axis.rungs[..=top] {
            let way = self.way(d, rung, &beside);
            let part = if rung.adds_nothing() {
                None
            } else {
                widths[at] = match &way {
                    Way::Basis(_, inverse) => inverse.rows(),
                    Way::Siblings(rung) | Way::Weights(_, rung) => rung.len(),
                };
                chosen.push((d, rung.level));
                let part = self.build_from(frame, (pairs, rest), widths, chosen, component)?;
                chosen.pop();
                part
            };
            let inner = widths[at + 1..].iter().product();
            built = match (built, part) {
                (coarse, part) if rung.level > 0 => add(&way, inner, coarse, part),
                (_, part) => part,
            };
        }
        widths[at] = axis.rungs[top].len();
        Ok(built)
    }

    /// What a component's integers say, in the form that [`BasedOn::build`] takes.
    fn read<S: Source>(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        let index = *self.index.get(a).ok_or_else(|| context.not_held(a))?;
        let block = &context.plan.only().measurements[index].block;
        let mut values = near::given_back(block, &context.frame, &context.read(index)?);
        let unit = self.unit(context, index)?;
        values.iter_mut().for_each(|v| *v /= unit);
        Ok(values)
    }

    /// The same of a component that a table published exactly holds.
    fn exact<S: Source>(&self, context: &Context<S>, a: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        let table = context.exact_table(a)?;
        Some(table.map(|mut values| {
            let mut inner = 1;
            for (d, l) in a.pairs().rev() {
                match self.way(d, context.frame.rung(Level::new(d, l)), a) {
                    Way::Basis(basis, _) => {
                        values = basis.apply_floats(&values, inner);
                        inner *= basis.rows();
                    }
                    Way::Siblings(rung) => {
                        let mean = frame::push(&values, inner, rung);
                        frame::take_off(&mut values, &mean, inner, rung);
                        inner *= rung.len();
                    }
                    Way::Weights(weights, rung) => {
                        weights.leave_own(&mut values, inner);
                        inner *= rung.len();
                    }
                }
            }
            values
        }))
    }

    /// How many noises all components of a table have.
    pub(crate) fn coefficients_behind<S: Source>(&self, context: &Context<S>, cuboid: &Cuboid) -> f64 {
        let told = |at: &(usize, usize)| self.bases.contains_key(at) || self.weights.contains_key(at);
        if !cuboid.pairs().any(|at| told(&at)) {
            return 0.0;
        }
        // Of weights those that a cell's groups have, about.
        let of = |at: (usize, usize), rung: &Rung| match self.bases.get(&at) {
            Some((basis, _)) => basis.rows() as f64,
            None if self.weights.contains_key(&at) => rung.len() as f64 / rung.siblings.len() as f64,
            None => 1.0,
        };
        let rows = |(d, l): (usize, usize)| -> f64 {
            let rungs = context.frame.axes[d].rungs.iter().filter(|r| r.level <= l);
            rungs.map(|r| of((d, r.level), r)).sum()
        };
        cuboid.pairs().map(rows).product()
    }

    /// The cell whose estimate has the largest variance: `Σ_A σ_A² Π_i ‖e K_i‖² or ‖e U_i‖²`, dimension by dimension. Of a level between those in use, `e` has
    /// the nodes below a cell of the finer one. `None` of such a level where nodes have weights.
    pub(crate) fn worst_cell<S: Source>(
        &self,
        context: &Context<S>,
        cuboid: &Cuboid,
    ) -> Result<Option<Vec<u32>>, RecoverError> {
        let frame = &context.frame;
        let told = frame.telling(cuboid).ok_or_else(|| context.not_held(cuboid))?;
        let mut kinds: Vec<Vec<(u32, Vec<f64>)>> = Vec::new();
        // Where weights differ, which place that dimension has, and its levels.
        let mut apart: Option<(&Own, usize, Vec<usize>)> = None;
        for (d, l) in told.pairs() {
            let one = Cuboid::new(vec![(d, l)]);
            let n = frame.len(&one);
            let live: Vec<usize> = frame.below(&one).iter().map(|a| a.level(d)).collect();
            let mut own: Vec<(u32, Vec<f64>)> = Vec::new();
            let axis = &frame.axes[d];
            let between = cuboid.level(d) != l;
            if self.weights.keys().any(|at| at.0 == d) {
                if between {
                    return Ok(None);
                }
                let held = |r: &usize| live.contains(&axis.rungs[*r].level);
                let kept: Vec<usize> = (0..axis.rungs.len()).filter(held).collect();
                let shared = self.weights.range((d, 0)..=(d, l)).map(|(at, w)| (at.1, w.clone())).collect();
                let own = self.own.as_ref().filter(|own| own.dimension == d);
                let mut norms: Vec<Vec<f64>> = vec![Vec::new(); n];
                for levels in own.map_or(std::slice::from_ref(&shared), |own| &own.kinds) {
                    let of = |r: usize| levels.get(&axis.rungs[r].level).map(|w| &**w);
                    let each = norms.iter_mut().zip(cell_norms(axis, axis.rung(l).unwrap_or(0), of));
                    each.for_each(|(norms, own)| norms.extend(kept.iter().map(|&r| own[r])));
                }
                apart = own.map(|own| (own, kinds.len(), live)).or(apart);
                kinds.push(outermost((0..).zip(norms).collect()));
                continue;
            }
            let below: Vec<u32> = match between {
                true => context.cube.dimensions[d].ancestors(l, cuboid.level(d)),
                false => (0..n as u32).collect(),
            };
            for node in 0..below.iter().max().map_or(0, |&last| last + 1) {
                let mut norms = vec![0.0; live.len()];
                let unit = below.iter().map(|&own| f64::from(u8::from(own == node))).collect();
                self.split(frame, &one, unit, &mut |a, part| {
                    if let Some(at) = live.iter().position(|&level| level == a.level(d)) {
                        norms[at] = part.iter().map(|v| v * v).sum();
                    }
                });
                let above = |(_, known): &(u32, Vec<f64>)| known.iter().zip(&norms).all(|(a, b)| a >= b);
                if !own.iter().any(above) {
                    own.push((node, norms));
                }
            }
            kinds.push(own);
        }
        let variance = |a: &Cuboid| {
            let m = self.index.get(a).and_then(|&i| context.plan.only().measurements.get(i));
            m.map_or(0.0, |m| {
                let unit = m.block.unit(frame).unwrap_or(1.0);
                noise_variance(context.plan.noise, m) / (unit * unit)
            })
        };
        let variances = match &apart {
            None => frame.below(&told).iter().map(variance).collect(),
            // It comes last, with a place for each of its levels and kinds of weights.
            Some((own, at, levels)) => {
                let last = kinds.remove(*at);
                kinds.push(last);
                let d = own.dimension;
                let beside = told.without(d);
                let each = |b: Cuboid| {
                    let of = move |(kind, &l): (usize, &usize)| match own.kind(&b) == kind {
                        true => variance(&b.join(&Cuboid::new([(d, l)]))),
                        false => 0.0,
                    };
                    let kinds = 0..own.kinds.len();
                    kinds.flat_map(|kind| levels.iter().map(move |l| (kind, l))).map(of).collect::<Vec<f64>>()
                };
                frame.below(&beside).into_iter().flat_map(each).collect()
            }
        };
        if kinds.iter().map(|k| k.len() as f64).product::<f64>() > limits::work(context.values) as f64 / 64.0
        {
            return Err(RecoverError::TooMuch("comparing all cells".into()));
        }
        let mut best = (-1.0, Vec::new());
        most(&kinds, variances, &mut Vec::new(), &mut best);
        if let Some((_, at, _)) = apart {
            best.1[at..].rotate_right(1);
        }
        Ok(Some(best.1))
    }

    /// A bound on what a query with weights up to `largest` is off by, whatever the data: the residual of the inverses times the number of
    /// units, that being known to forty standard deviations. Residuals have the size of the roundings of an evaluation, too; twice
    /// that covers both.
    pub(crate) fn slack<S: Source>(
        &self,
        context: &Context<S>,
        cuboid: &Cuboid,
        largest: f64,
    ) -> Result<f64, RecoverError> {
        let below = |(d, l): (usize, usize)| (1..=l).filter_map(move |l| self.bases.get(&(d, l)));
        let off = cuboid.pairs().flat_map(below).map(|(_, inverse)| libm::log1p(inverse.residual())).sum();
        let off: f64 = libm::expm1(off);
        if off == 0.0 || largest == 0.0 || context.source.is_nothing() {
            return Ok(0.0);
        }
        let total = Cuboid::total();
        let units = match context.exact_table(&total) {
            Some(known) => known?.first().copied().unwrap_or(0.0),
            None => {
                let index = *self.index.get(&total).ok_or_else(|| context.not_held(&total))?;
                let spread =
                    noise_variance(context.plan.noise, &context.plan.only().measurements[index]).sqrt();
                let counted = context.read(index)?.floats().first().copied().unwrap_or(0.0);
                counted + 40.0 * spread
            }
        };
        Ok(2.0 * off * largest * units.max(0.0))
    }

    fn unit<S: Source>(&self, context: &Context<S>, index: usize) -> Result<f64, RecoverError> {
        let block = &context.plan.only().measurements[index].block;
        block.unit(&context.frame).ok_or_else(|| RecoverError::Plan("an integer scale does not fit".into()))
    }

    /// The coefficients of every component's noises in a query that is given by parts. Exact components have none.
    fn of_parts<S: Source>(
        &self,
        context: &Context<S>,
        frame: &Frame,
        parts: Parts,
    ) -> Result<BTreeMap<Cuboid, Vec<f64>>, RecoverError> {
        let mut out: BTreeMap<Cuboid, Vec<f64>> = BTreeMap::new();
        // In a fixed order: sums of floats depend on it.
        let mut parts: Vec<_> = parts.into_iter().collect();
        parts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (cuboid, query) in parts {
            self.split(frame, &cuboid, query, &mut |a, own| {
                if context.is_exact(&a) {
                    return;
                }
                match out.get_mut(&a) {
                    Some(sum) => sum.iter_mut().zip(own).for_each(|(s, v)| *s += v),
                    None => {
                        out.insert(a, own);
                    }
                }
            });
        }
        Ok(out)
    }

    /// From numbers of a component's noises to those of the counts they are added to, where they have weights.
    fn divide(&self, frame: &Frame, a: &Cuboid, values: &mut [f64]) {
        let mut inner = 1;
        for (d, l) in a.pairs().rev() {
            inner *= match self.way(d, frame.rung(Level::new(d, l)), a) {
                Way::Basis(basis, _) => basis.rows(),
                Way::Siblings(rung) => rung.len(),
                Way::Weights(weights, rung) => {
                    weights.divide(values, inner, rung);
                    rung.len()
                }
            };
        }
    }

    fn numbered<S: Source>(
        &self,
        context: &Context<S>,
        of: BTreeMap<Cuboid, Vec<f64>>,
    ) -> Result<Coefficients, RecoverError> {
        let one = |(a, mut own): (Cuboid, Vec<f64>)| {
            let index = *self.index.get(&a).ok_or_else(|| context.not_held(&a))?;
            let unit = self.unit(context, index)?;
            own.iter_mut().for_each(|v| *v /= unit);
            Ok((index, own))
        };
        of.into_iter().map(one).collect()
    }
}

/// Nodes of different norms that are not below another one in all of them; of very many some that are.
fn outermost(mut all: Vec<(u32, Vec<f64>)>) -> Vec<(u32, Vec<f64>)> {
    let bits = |norms: &[f64]| norms.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
    all.sort_by_cached_key(|(node, norms)| (bits(norms), *node));
    all.dedup_by(|a, b| a.1 == b.1);
    let size = |norms: &[f64]| norms.iter().sum::<f64>();
    all.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
    let mut kept: Vec<(u32, Vec<f64>)> = Vec::new();
    for (node, norms) in all {
        let above = |(_, known): &(u32, Vec<f64>)| known.iter().zip(&norms).all(|(a, b)| a >= b);
        if !kept.iter().take(256).any(above) {
            kept.push((node, norms));
        }
    }
    kept
}

/// Finds the combination of kinds with the largest `Σ_A own_A Π_i norms_i(A_i)`, the first dimension's components slowest.
fn most(kinds: &[Vec<(u32, Vec<f64>)>], own: Vec<f64>, nodes: &mut Vec<u32>, best: &mut (f64, Vec<u32>)) {
    let Some((first, rest)) = kinds.split_first() else {
        let value = own.first().copied().unwrap_or(0.0);
        if value > best.0 {
            *best = (value, nodes.clone());
        }
        return;
    };
    for (node, norms) in first {
        let inner = own.len() / norms.len().max(1);
        let mut sum = vec![0.0; inner];
        for (part, g) in own.chunks_exact(inner.max(1)).zip(norms) {
            sum.iter_mut().zip(part).for_each(|(s, v)| *s += g * v);
        }
        nodes.push(*node);
        most(rest, sum, nodes, best);
        nodes.pop();
    }
}

/// A level's values from those of the coarser one and its own component's.
fn add(way: &Way, inner: usize, coarse: Option<Vec<f64>>, part: Option<Vec<f64>>) -> Option<Vec<f64>> {
    match way {
        Way::Siblings(rung) => {
            let Some(coarse) = coarse else { return part };
            let nothing = || vec![0.0; coarse.len() / rung.siblings.len() * rung.len()];
            let mut fine = part.unwrap_or_else(nothing);
            frame::add_spread(&mut fine, &coarse, inner, rung);
            Some(fine)
        }
        Way::Weights(weights, rung) => {
            let Some(coarse) = coarse else { return part };
            let nothing = || vec![0.0; coarse.len() / rung.siblings.len() * rung.len()];
            let mut fine = part.unwrap_or_else(nothing);
            weights.add_spread(&mut fine, &coarse, inner, rung);
            Some(fine)
        }
        Way::Basis(_, inverse) => {
            let outer = match (&coarse, &part) {
                (Some(c), _) => c.len() / (inverse.coarser() * inner),
                (None, Some(p)) => p.len() / (inverse.rows() * inner),
                (None, None) => return None,
            };
            let mut fine = vec![0.0; outer * inverse.nodes() * inner];
            for (values, of) in [(coarse, Part::Coarser), (part, Part::Rows)] {
                if let Some(values) = values {
                    inverse.push(&values, inner, of, &mut fine);
                }
            }
            Some(fine)
        }
    }
}

impl<S: Source> Estimate<S> for BasedOn {
    fn holds(&self, context: &Context<S>, cuboid: &Cuboid) -> bool {
        context.fits(cuboid, context.values)
            && context.frame.below(cuboid).iter().all(|a| self.index.contains_key(a) || context.is_exact(a))
    }

    fn direct_table(&self, context: &Context<S>, cuboid: &Cuboid) -> Option<Result<Vec<f64>, RecoverError>> {
        Some(self.build(&context.frame, cuboid, &mut |a| match self.exact(context, a) {
            Some(known) => known.map(Some),
            None => self.read(context, a).map(Some),
        }))
    }

    fn near(
        &self,
        context: &Context<S>,
        near: &Frame,
        cuboid: &Cuboid,
    ) -> Option<Result<Vec<f64>, RecoverError>> {
        Some(self.build(near, cuboid, &mut |a| {
            let index = *self.index.get(a).ok_or_else(|| context.not_held(a))?;
            let unit = self.unit(context, index)?;
            let mut part = near::component(context, index, near)?;
            part.iter_mut().for_each(|v| *v /= unit);
            Ok(Some(part))
        }))
    }

    /// Tables are built directly.
    fn component(&self, context: &Context<S>, a: &Cuboid) -> Result<Vec<f64>, RecoverError> {
        Err(context.not_held(a))
    }

    fn step(&self, _: &Context<S>, frame: &Frame, tables: &mut dyn Iterator<Item = &Cuboid>) -> f64 {
        // Every axis is gone through with all its rows.
        let rows = |t: &Cuboid| -> f64 {
            let own = t.pairs().map(|(d, l)| match self.bases.get(&(d, l)) {
                Some((basis, _)) => basis.nodes() as f64,
                None => 2.0,
            });
            frame.spread(t) * own.sum::<f64>().max(1.0)
        };
        tables.map(rows).sum::<f64>() * 2.0
    }

    fn covariance(&self, context: &Context<S>, frame: &Frame, parts: Parts) -> Option<Parts> {
        let tables: Vec<Cuboid> = parts.keys().cloned().collect();
        let mut noises = self.of_parts(context, frame, parts).ok()?;
        for (a, own) in &mut noises {
            let m = context.plan.only().measurements.get(*self.index.get(a)?)?;
            let unit = m.block.unit(&context.frame)?;
            let variance = noise_variance(context.plan.noise, m) / (unit * unit);
            own.iter_mut().for_each(|v| *v *= variance);
            self.divide(frame, a, own);
        }
        // Of every table that is spoken of what is its own: a component of sums, where queries have means. There is more in others: noises
        // of a component are in all tables above it.
        let mut out = Parts::new();
        for table in tables {
            let built = self.build(frame, &table, &mut |a| Ok(noises.get(a).cloned())).ok()?;
            frame.decompose(&table, built, &mut |a, part| {
                if a == table {
                    out.insert(a, part);
                }
            });
        }
        Some(out)
    }

    fn direct_coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        cuboid: &Cuboid,
        query: &[f64],
    ) -> Option<Result<Coefficients, RecoverError>> {
        let mut all = BTreeMap::new();
        self.split(frame, cuboid, query.to_vec(), &mut |a, own| {
            if !context.is_exact(&a) {
                all.insert(a, own);
            }
        });
        Some(self.numbered(context, all))
    }

    fn coefficients(
        &self,
        context: &Context<S>,
        frame: &Frame,
        query: Parts,
    ) -> Result<Coefficients, RecoverError> {
        let all = self.of_parts(context, frame, query)?;
        self.numbered(context, all)
    }
}
