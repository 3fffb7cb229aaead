//! In place of `parquet` where that was left out of the build.

use super::chunk::Chunk;
use super::error::IngestError;
use super::fields::Fields;
use super::files::DataFile;
use super::piece::Stop;

/// Never made.
pub(super) struct Groups;

impl Groups {
    pub(crate) fn open(_: &DataFile, _: &Fields<'_>) -> Result<Groups, IngestError> {
        Err(IngestError::NoParquet)
    }

    pub(crate) fn len(&self) -> usize {
        0
    }

    pub(crate) fn rows(&self) -> u64 {
        0
    }

    pub(crate) fn bytes(&self, _: usize) -> u64 {
        0
    }

    pub(crate) fn decode(
        &self,
        _: usize,
        _: &Fields<'_>,
        _: &mut Chunk,
        _: &mut dyn FnMut(&mut Chunk),
    ) -> Result<u64, Stop> {
        Err(IngestError::NoParquet.into())
    }
}
