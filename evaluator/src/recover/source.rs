//! Where measurements come from: a release file, or memory.

use crate::cube::{Cuboid, Integers};
use crate::plan::slices::Slices;
use crate::watch::Watch;
use std::sync::Arc;

/// The measurements could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SourceError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// A supplier of measured integers.
pub trait Source {
    /// All values of measurement number `index`, in the block's order.
    fn values(&self, index: usize) -> Result<Integers, SourceError>;

    /// How measurement number `index` is cut, if it is.
    fn slices(&self, _index: usize) -> Option<Arc<Slices>> {
        None
    }

    /// The values of one [slice](crate::plan::slices) of measurement number `index`, which is cut.
    fn slice(&self, index: usize, slice: usize) -> Result<Integers, SourceError> {
        Err(SourceError(format!("measurement {index} has no slice {slice}").into()))
    }

    /// The counts of exact table number `index` of the plan.
    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        Err(SourceError(format!("no exact table {index}").into()))
    }

    /// Whether there is nothing to read: laws are then those of the noise alone, without what floating point may add.
    fn is_nothing(&self) -> bool {
        false
    }

    /// Who hears how far reading is.
    fn watch(&self) -> Watch {
        Watch::default()
    }

    /// Where sums are kept from one time to the next, if they are.
    fn kept(&self) -> Option<&dyn Keeps> {
        None
    }
}

/// A source of nothing: predictions and laws of errors read no measurement.
pub struct Nothing;

impl Source for Nothing {
    fn values(&self, _: usize) -> Result<Integers, SourceError> {
        Err(SourceError("a plan has no measurements".into()))
    }

    fn is_nothing(&self) -> bool {
        true
    }
}

/// What became of a sum.
pub enum Sum {
    /// Here it is.
    Found(Vec<f64>),
    /// It was never one of those that are kept.
    Absent,
    /// All have gone: they were damaged.
    Gone,
}

/// Keeps sums of components that a question would otherwise have to go through all measurements for, to the last bit.
pub trait Keeps {
    /// Whether they are kept from another time.
    fn is_there(&self) -> bool;

    /// The sum of a component, if it is one that is kept.
    fn sum(&self, a: &Cuboid) -> Sum;

    /// Keeps these for another time.
    fn keep(&self, sums: &[(&Cuboid, &[f64])]);
}

impl Source for Vec<Vec<i64>> {
    fn values(&self, index: usize) -> Result<Integers, SourceError> {
        let values = self.get(index).cloned();
        values.map(Into::into).ok_or_else(|| SourceError(format!("no measurement {index}").into()))
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn values(&self, index: usize) -> Result<Integers, SourceError> {
        (**self).values(index)
    }

    fn slices(&self, index: usize) -> Option<Arc<Slices>> {
        (**self).slices(index)
    }

    fn slice(&self, index: usize, slice: usize) -> Result<Integers, SourceError> {
        (**self).slice(index, slice)
    }

    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        (**self).exact(index)
    }

    fn is_nothing(&self) -> bool {
        (**self).is_nothing()
    }

    fn kept(&self) -> Option<&dyn Keeps> {
        (**self).kept()
    }
}
