//! Record batches through the Arrow PyCapsule interface: what reads data frames takes this.

use crate::error;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Made without the interpreter's lock.
type Made<'m> = &'m (dyn Fn() -> Result<RecordBatch, ArrowError> + Sync);

/// One batch as a stream.
pub fn stream<'py>(py: Python<'py>, made: Made) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = py.detach(made).map_err(error::of)?;
    let schema = batch.schema();
    let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The batch's columns.
pub fn schema<'py>(py: Python<'py>, made: Made) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = py.detach(made).map_err(error::of)?;
    let schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).map_err(error::of)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
