//! Synthetic records, as Arrow.

use crate::given::{self, Given};
use crate::waiting::reading;
use crate::{arrow, error};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use margins::records::{Options, Values};
use margins::watch::Watch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::HashMap;
use std::sync::Arc;

/// Synthetic records whose tables are those of a release. They are nobody's; intervals belong to the release.
#[pyclass(frozen, module = "margins")]
pub struct Records(margins::records::Records);

impl Records {
    /// Draws them; `rows` and `seed` as the command has them.
    pub fn draw(
        py: Python<'_>,
        release: Arc<margins::Release>,
        rows: Given<'_, '_>,
        seed: Given<'_, '_>,
    ) -> PyResult<Records> {
        let whole =
            |name, given| given::maybe(name, given, |name, given| given::whole(name, given, u64::MAX));
        let options =
            Options { rows: whole("rows", rows)?, seed: whole("seed", seed)?.unwrap_or(1), threads: 0 };
        reading(py, move || release.records(&options, &Watch::default())).map(Records)
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = Default::default();
        for column in self.0.columns() {
            let some = matches!(column.values, Values::SomeWhole(_) | Values::SomeNumbers(_));
            let (kind, array): (DataType, ArrayRef) = match &column.values {
                Values::Whole(numbers) => (DataType::Int64, Arc::new(Int64Array::from(numbers.clone()))),
                Values::Numbers(numbers) => {
                    (DataType::Float64, Arc::new(Float64Array::from(numbers.clone())))
                }
                Values::SomeWhole(numbers) => (DataType::Int64, Arc::new(Int64Array::from(numbers.clone()))),
                Values::SomeNumbers(numbers) => {
                    (DataType::Float64, Arc::new(Float64Array::from(numbers.clone())))
                }
                values => {
                    let texts = (0..self.0.len()).map(|record| values.text(record));
                    (DataType::Utf8, Arc::new(StringArray::from_iter_values(texts)))
                }
            };
            fields.push(Field::new(&column.name, kind, some));
            arrays.push(array);
        }
        if let Some(name) = self.0.weight_name() {
            fields.push(Field::new(name, DataType::Float64, false));
            arrays.push(Arc::new(Float64Array::from(vec![self.0.report().weight; self.0.len()])));
        }
        let report =
            serde_json::to_string(self.0.report()).map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
        let about = HashMap::from([("margins.records".to_owned(), report)]);
        RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, about)), arrays)
    }
}

#[pymethods]
impl Records {
    /// What they say of themselves: gaps to the release's tables, the seed, notes.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &serde_json::to_string(self.0.report()).map_err(error::of)?)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __str__(&self) -> String {
        error::named(self.0.report().text().trim_end())
    }

    fn __repr__(&self) -> String {
        self.__str__()
    }

    /// The Arrow PyCapsule interface: what reads data frames takes this.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may keep to its own types.
        drop(requested_schema);
        arrow::stream(py, &|| self.batch())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, &|| self.batch())
    }
}
