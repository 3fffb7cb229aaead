//! Where measurements come from: a release file, or memory.

/// The measurements could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SourceError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// A supplier of measured integers.
pub trait Source {
    /// All values of measurement number `index`, in the block's order.
    fn values(&self, index: usize) -> Result<Vec<i64>, SourceError>;

    /// The counts of exact table number `index` of the plan.
    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        Err(SourceError(format!("no exact table {index}").into()))
    }
}

impl Source for Vec<Vec<i64>> {
    fn values(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        self.get(index).cloned().ok_or_else(|| SourceError(format!("no measurement {index}").into()))
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn values(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        (**self).values(index)
    }

    fn exact(&self, index: usize) -> Result<Vec<i64>, SourceError> {
        (**self).exact(index)
    }
}
