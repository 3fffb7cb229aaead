//! A weight for every cell of the cube, kept as a small tensor over classes of nodes.
//!
//! A condition such as `age < 18 OR district = 'North'` never needs the cells one by one: it cannot tell
//! the ages below 18 apart. So each dimension's finest nodes are partitioned into classes, and only the
//! product of the classes carries weights. All operations keep the smallest such form, which is unique:
//! two filters are equal exactly when they give every cell the same weight.

use super::numbers::Numbers;
use super::{Cube, Dimension};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The most weights a filter may have.
pub(crate) const MAX_WEIGHTS: usize = 1 << 20;

/// A condition that tells more than [`MAX_WEIGHTS`] classes of cells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the condition is too intricate: it tells more than 2^20 classes of cells apart")]
pub struct TooIntricate;

/// WHERE as a function of per-dimension classes.
///
/// `weights` is row-major over the product of the classes of `dims` (first dimension slowest): 1 where
/// rows count and 0 where they do not, or the number each row contributes to a SUM. With no dimensions
/// there is one weight for every cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The dimensions the weight really depends on, ascending; each has at least two classes.
    pub dims: Vec<ClassedDimension>,
    /// One weight for each combination of classes.
    pub weights: Vec<f64>,
}

/// A partition of a dimension's finest nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassedDimension {
    /// Which dimension.
    pub dim: usize,
    /// For each node of the finest level its class. Classes are numbered in the order of their first node.
    pub class_of: Arc<Vec<u32>>,
    /// The number of classes.
    pub classes: u32,
}

impl Filter {
    /// The same weight for every cell.
    pub(crate) fn constant(weight: f64) -> Filter {
        Filter { dims: Vec::new(), weights: vec![weight] }
    }

    /// Every row counts once.
    pub fn everything() -> Filter {
        Filter::constant(1.0)
    }

    /// A weight that depends on one dimension: one number for each of its finest nodes.
    pub(crate) fn values(dim: usize, values: &[f64]) -> Filter {
        let mut seen = Numbers::default();
        let mut weights = Vec::new();
        let class_of: Vec<u32> = values
            .iter()
            .map(|&v| {
                let v = tidy(v);
                seen.of(v.to_bits(), || weights.push(v))
            })
            .collect();
        match weights[..] {
            [] => Filter::constant(0.0),
            [only] => Filter::constant(only),
            _ => {
                let classes = weights.len() as u32;
                let class_of = class_of.into();
                Filter { dims: vec![ClassedDimension { dim, class_of, classes }], weights }
            }
        }
    }

    /// The rows whose finest node of a dimension is in a set.
    pub fn nodes(dim: usize, members: &[bool]) -> Filter {
        let weight = |member: bool| f64::from(u8::from(member));
        match members {
            [] => Filter::constant(0.0),
            [first, rest @ ..] if rest.iter().all(|m| m == first) => Filter::constant(weight(*first)),
            [first, ..] => Filter {
                dims: vec![ClassedDimension {
                    dim,
                    class_of: Arc::new(members.iter().map(|m| u32::from(m != first)).collect()),
                    classes: 2,
                }],
                weights: vec![weight(*first), weight(!first)],
            },
        }
    }

    /// Both conditions; more generally the product of two weights, where nothing times anything is nothing.
    pub fn and(&self, other: &Filter) -> Result<Filter, TooIntricate> {
        self.combine(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b })
    }

    /// At least one of two conditions.
    pub fn or(&self, other: &Filter) -> Result<Filter, TooIntricate> {
        self.combine(other, |a, b| if a != 0.0 || b != 0.0 { 1.0 } else { 0.0 })
    }

    /// The sum of two weights.
    pub(crate) fn plus(&self, other: &Filter) -> Result<Filter, TooIntricate> {
        self.combine(other, |a, b| a + b)
    }

    /// Exactly the rows that do not satisfy the condition.
    pub(crate) fn complement(mut self) -> Filter {
        for w in &mut self.weights {
            *w = if *w == 0.0 { 1.0 } else { 0.0 };
        }
        self
    }

    /// Whether no row counts.
    pub(crate) fn is_nothing(&self) -> bool {
        self.weights.iter().all(|w| *w == 0.0)
    }

    /// Whether every row counts once.
    pub(crate) fn is_everything(&self) -> bool {
        self.dims.is_empty() && self.weights == [1.0]
    }

    /// The weight of the cell with these finest nodes, one for each dimension of the cube; `None` if the
    /// cell does not exist.
    pub fn weight_at(&self, cell: &[usize]) -> Option<f64> {
        let mut at = 0;
        for d in &self.dims {
            let class = d.class_of.get(*cell.get(d.dim)?)?;
            at = at * d.classes as usize + *class as usize;
        }
        self.weights.get(at).copied()
    }

    /// The classes of a dimension; `None` when the weight does not depend on it.
    pub(crate) fn classes(&self, dim: usize) -> Option<&ClassedDimension> {
        self.dims.binary_search_by_key(&dim, |d| d.dim).ok().map(|at| &self.dims[at])
    }

    /// For each class of one of its dimensions, whether any weight of it is not zero.
    pub(crate) fn weighing(&self, dimension: &ClassedDimension) -> Vec<bool> {
        let after = self.dims.iter().filter(|d| d.dim > dimension.dim);
        let inner: usize = after.map(|d| d.classes as usize).product();
        let classes = dimension.classes as usize;
        let mut weighs = vec![false; classes];
        for (at, weight) in self.weights.iter().enumerate() {
            if let Some(weighs) = weighs.get_mut(at / inner.max(1) % classes.max(1)) {
                *weighs |= *weight != 0.0;
            }
        }
        weighs
    }

    /// The same weights where dimensions have other numbers; `None` where one has none.
    pub(crate) fn renumbered(&self, to: impl Fn(usize) -> Option<usize>) -> Option<Filter> {
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(self.dims.len());
        for (at, class) in self.dims.iter().enumerate() {
            order.push((to(class.dim)?, at));
        }
        order.sort_unstable();
        let step = |at: usize| self.dims[at + 1..].iter().map(|d| d.classes as usize).product::<usize>();
        let mut places = vec![0];
        for &(_, at) in &order {
            let (classes, step) = (self.dims[at].classes as usize, step(at));
            places = places.iter().flat_map(|&p| (0..classes).map(move |k| p + k * step)).collect();
        }
        let renamed = |&(dim, at): &(usize, usize)| ClassedDimension { dim, ..self.dims[at].clone() };
        Some(Filter {
            dims: order.iter().map(renamed).collect(),
            weights: places.into_iter().map(|p| self.weights[p]).collect(),
        })
    }

    /// `f` of two weights, cell by cell, by refining the two partitions of every dimension.
    fn combine(&self, other: &Filter, f: impl Fn(f64, f64) -> f64) -> Result<Filter, TooIntricate> {
        let mut dims: Vec<usize> = self.dims.iter().chain(&other.dims).map(|d| d.dim).collect();
        dims.sort_unstable();
        dims.dedup();
        // For every combination of refined classes, where its weight lies in either tensor.
        let mut places = vec![(0usize, 0usize)];
        let mut refined = Vec::with_capacity(dims.len());
        for dim in dims {
            let (a, b) = (self.classes(dim), other.classes(dim));
            let (class_of, pairs) = match (a, b) {
                (Some(a), Some(b)) => together(a, b),
                // A partition that only one of them has stays as it is.
                (Some(only), None) => {
                    (only.class_of.clone(), (0..only.classes as usize).map(|c| (c, 0)).collect())
                }
                (None, only) => {
                    let none = (Arc::default(), 0);
                    let only = only.map_or(none, |b| (b.class_of.clone(), b.classes as usize));
                    (only.0, (0..only.1).map(|c| (0, c)).collect())
                }
            };
            if places.len().checked_mul(pairs.len()).is_none_or(|n| n > MAX_WEIGHTS) {
                return Err(TooIntricate);
            }
            let (stride_a, stride_b) =
                (a.map_or(1, |d| d.classes as usize), b.map_or(1, |d| d.classes as usize));
            places = places
                .iter()
                .flat_map(|&(pa, pb)| {
                    pairs.iter().map(move |&(ca, cb)| (pa * stride_a + ca, pb * stride_b + cb))
                })
                .collect();
            refined.push(ClassedDimension { dim, class_of, classes: pairs.len() as u32 });
        }
        let weights = places.iter().map(|&(a, b)| tidy(f(self.weights[a], other.weights[b]))).collect();
        Ok(Filter { dims: refined, weights }.minimised())
    }

    /// Merges classes no weight tells apart and drops dimensions with one class left. One pass is enough:
    /// removing a repeated slice along one axis neither makes nor breaks an equality along another.
    fn minimised(mut self) -> Filter {
        let mut axis = 0;
        while axis < self.dims.len() {
            let classes = self.dims[axis].classes as usize;
            let inner: usize = self.dims[axis + 1..].iter().map(|d| d.classes as usize).product();
            let outer = self.weights.len() / (classes * inner);
            let slice = |class: usize| {
                let weights = &self.weights;
                (0..outer).flat_map(move |o| {
                    let start = (o * classes + class) * inner;
                    weights[start..start + inner].iter().map(|w| w.to_bits())
                })
            };
            let mut groups: HashMap<Vec<u64>, u32> = HashMap::new();
            let mut kept = Vec::new(); // one class of each group, in the order of first nodes
            let mut renumbered: Vec<Option<u32>> = vec![None; classes];
            let mut unseen = classes;
            for node in self.dims[axis].class_of.iter() {
                let class = *node as usize;
                if renumbered[class].is_none() {
                    let group = *groups.entry(slice(class).collect()).or_insert_with(|| {
                        kept.push(class);
                        (kept.len() - 1) as u32
                    });
                    renumbered[class] = Some(group);
                    unseen -= 1;
                    if unseen == 0 {
                        break;
                    }
                }
            }
            if classes > 1 && kept.iter().copied().eq(0..classes) {
                axis += 1;
                continue;
            }
            let mut weights = Vec::with_capacity(outer * kept.len() * inner);
            for o in 0..outer {
                for &class in &kept {
                    let start = (o * classes + class) * inner;
                    weights.extend_from_slice(&self.weights[start..start + inner]);
                }
            }
            self.weights = weights;
            if kept.len() <= 1 {
                self.dims.remove(axis);
                continue;
            }
            let dimension = &mut self.dims[axis];
            dimension.classes = kept.len() as u32;
            let number = |class: &u32| renumbered[*class as usize].unwrap_or(0);
            dimension.class_of = Arc::new(dimension.class_of.iter().map(number).collect());
            axis += 1;
        }
        self
    }
}

/// What two partitions tell apart together: the class of each node, and for each the classes that it is in.
fn together(a: &ClassedDimension, b: &ClassedDimension) -> (Arc<Vec<u32>>, Vec<(usize, usize)>) {
    let mut seen = Numbers::default();
    let mut pairs = Vec::new();
    let both = a.class_of.iter().zip(b.class_of.iter()).map(|(&a, &b)| (a as usize, b as usize));
    let class_of = both.map(|pair| seen.of(pair, || pairs.push(pair))).collect();
    (Arc::new(class_of), pairs)
}

/// One zero and one NaN, so that equal weights have equal bits.
fn tidy(w: f64) -> f64 {
    if w.is_nan() {
        f64::NAN
    } else if w == 0.0 {
        0.0
    } else {
        w
    }
}

/// The coarsest level, not coarser than `group_level`, each of whose nodes lies wholly in one class: the
/// level at which a table must be known to answer a query grouped by `group_level` (0 if not grouped).
pub(crate) fn required_level(cube: &Cube, dim: usize, class_of: &[u32], group_level: usize) -> usize {
    let dimension = &cube.dimensions[dim];
    one_class(dimension, dimension.told_by(group_level), class_of).0
}

/// The coarsest level, not coarser than one, each of whose nodes lies wholly in one class, with these classes: from the finest level up, as long as all
/// children of every node are in one.
pub(crate) fn one_class<'a>(
    dimension: &Dimension,
    from: usize,
    class_of: &'a [u32],
) -> (usize, Cow<'a, [u32]>) {
    let mut own = Cow::Borrowed(class_of);
    for level in (from + 1..=dimension.finest()).rev() {
        let mut above = vec![0; dimension.levels[level - 1].len()];
        let children = || dimension.levels[level].parent.iter().zip(own.iter());
        children().for_each(|(&p, &class)| above[p as usize] = class);
        if !children().all(|(&p, &class)| above[p as usize] == class) {
            return (level, own);
        }
        own = Cow::Owned(above);
    }
    (from, own)
}
