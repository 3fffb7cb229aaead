//! An answer: rows for people, columns for data frames.

use crate::{arrow, error};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use margins::render::{self, ColumnKind, ResultCell, ResultTable, Values};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList, PySlice};
use pythonize::{depythonize, pythonize};
use std::collections::HashMap;
use std::sync::Arc;

/// So many rows are shown where nobody asked for all of them.
const SHOWN: usize = 100;

/// An estimate with its standard error, where one is known, and interval; an end of it may be infinite.
#[pyclass(frozen, get_all, eq, skip_from_py_object, module = "margins")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    estimate: f64,
    std_error: Option<f64>,
    low: f64,
    high: f64,
}

#[pymethods]
impl Figure {
    #[new]
    #[pyo3(signature = (estimate, std_error, low, high))]
    fn new(estimate: f64, std_error: Option<f64>, low: f64, high: f64) -> Figure {
        Figure { estimate, std_error, low, high }
    }

    /// For pickle and copies.
    fn __getnewargs__(&self) -> (f64, Option<f64>, f64, f64) {
        (self.estimate, self.std_error, self.low, self.high)
    }

    fn __float__(&self) -> f64 {
        self.estimate
    }

    fn __repr__(&self) -> String {
        let Figure { estimate, std_error, low, high } = self;
        let std_error = std_error.map_or("None".into(), |s| format!("{s:?}"));
        format!("Figure(estimate={estimate:?}, std_error={std_error}, low={low:?}, high={high:?})")
    }
}

/// An answer: a sequence of rows, each a dict by the names of the columns.
#[pyclass(frozen, sequence, skip_from_py_object, module = "margins")]
#[derive(Clone)]
pub struct Answer {
    table: ResultTable,
    /// From which releases.
    about: serde_json::Map<String, serde_json::Value>,
}

impl Answer {
    pub fn new(table: ResultTable, about: serde_json::Map<String, serde_json::Value>) -> Answer {
        Answer { table, about }
    }

    fn row<'py>(&self, py: Python<'py>, cells: &[ResultCell]) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        for (column, cell) in self.table.columns.iter().zip(cells) {
            match cell {
                ResultCell::Label(label) => match (column.kind, label.parse::<i64>()) {
                    (ColumnKind::Integer, Ok(number)) => row.set_item(&column.name, number)?,
                    _ => row.set_item(&column.name, label)?,
                },
                ResultCell::Figure(f) => {
                    let std_error = Some(f.std_error).filter(|s| !s.is_nan());
                    let figure = Figure { estimate: f.estimate, std_error, low: f.low, high: f.high };
                    row.set_item(&column.name, Py::new(py, figure)?)?;
                }
                ResultCell::Number(number) => row.set_item(&column.name, number)?,
            }
        }
        Ok(row)
    }

    /// The answer with its first rows, and what is missing of it.
    fn shortened(&self) -> Option<(ResultTable, String)> {
        let more = self.table.rows.len().checked_sub(SHOWN).filter(|more| *more > 0)?;
        let table = self.table.of_rows(0..SHOWN);
        Some((table, format!("… and {more} more rows")))
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let rows = self.table.rows.len();
        let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = Default::default();
        for column in render::columns(&self.table) {
            let (kind, array): (DataType, ArrayRef) = match column.values {
                Values::Text(values) => (DataType::Utf8, Arc::new(StringArray::from(values))),
                Values::Integer(values) => (DataType::Int64, Arc::new(Int64Array::from(values))),
                Values::Number(values) => (DataType::Float64, Arc::new(Float64Array::from(values))),
                Values::Same(text) => {
                    (DataType::Utf8, Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows))))
                }
            };
            fields.push(Field::new(column.name, kind, true));
            arrays.push(array);
        }
        let mut about = HashMap::from([("margins.level".to_owned(), self.table.level.to_string())]);
        let told = self.table.told();
        if !told.is_empty() {
            about.insert("margins.notes".to_owned(), told.join("\n"));
        }
        RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, about)), arrays)
    }
}

#[pymethods]
impl Answer {
    /// The names of the columns, in the order of SELECT.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.columns.iter().map(|c| c.name.as_str()).collect()
    }

    /// The probability with which each interval covers.
    #[getter]
    fn level(&self) -> f64 {
        self.table.level
    }

    /// All rows.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = self.table.rows.iter().map(|cells| self.row(py, cells));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// What makes the numbers untrue besides noise, as data.
    #[getter]
    fn caveats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = self.table.caveats.iter().map(render::Caveat::to_json).collect::<Vec<_>>();
        error::objects(py, &serde_json::Value::from(all).to_string())
    }

    /// All that a reader must be told beside the numbers, in sentences: the caveats first.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.table.told().iter().map(|text| error::named(text)).collect()
    }

    fn __len__(&self) -> usize {
        self.table.rows.len()
    }

    /// A row, or of a slice the answer with these rows.
    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = at.py();
        if let Ok(slice) = at.cast::<PySlice>() {
            let of = slice.indices(isize::try_from(self.table.rows.len())?)?;
            let rows = (0..of.slicelength)
                .filter_map(|i| usize::try_from(of.start + of.step * isize::try_from(i).ok()?).ok());
            let some = Answer { table: self.table.of_rows(rows), about: self.about.clone() };
            return Ok(Bound::new(py, some)?.into_any());
        }
        let at: isize = at.extract().map_err(|_| {
            PyTypeError::new_err("rows have whole numbers; columns are those of `column(name)`")
        })?;
        let at = if at < 0 { self.table.rows.len().checked_add_signed(at) } else { usize::try_from(at).ok() };
        let cells = at.and_then(|at| self.table.rows.get(at));
        let row = self.row(py, cells.ok_or_else(|| PyIndexError::new_err("the answer has no such row"))?)?;
        Ok(row.into_any())
    }

    /// Nothing changes an answer, so a copy of it is itself.
    fn __copy__(own: Py<Self>) -> Py<Self> {
        own
    }

    fn __deepcopy__(own: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo;
        own
    }

    /// For pickle: all that it is, without its release.
    fn __reduce__<'py>(own: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>, String))> {
        let (py, this) = (own.py(), own.get());
        let state = pythonize(py, &this.table)?;
        let about = serde_json::to_string(&this.about).map_err(error::of)?;
        Ok((own.get_type().getattr("_of")?, (state, about)))
    }

    #[staticmethod]
    fn _of(state: &Bound<'_, PyAny>, about: &str) -> PyResult<Answer> {
        let wrong =
            |e: &dyn std::fmt::Display| PyValueError::new_err(format!("this is no pickled answer: {e}"));
        let table: ResultTable = depythonize(state).map_err(|e| wrong(&e))?;
        let about = serde_json::from_str(about).map_err(|e| wrong(&e))?;
        if table.rows.iter().any(|row| row.len() != table.columns.len()) {
            return Err(wrong(&"its rows have not as many cells as there are columns"));
        }
        Ok(Answer { table, about })
    }

    /// Draws the figures with matplotlib, and gives its axes: bars with whiskers, or a line in its band along numbers and days.
    #[pyo3(signature = (ax=None, *, figure=None, kind=None))]
    fn plot<'py>(
        own: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
        figure: Option<Bound<'py, PyAny>>,
        kind: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        own.py().import("margins._plot")?.call_method1("plot", (own, ax, figure, kind))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.rows(py)?.try_iter()
    }

    /// The values of one column, as rows have them.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        if self.table.columns.iter().all(|c| c.name != name) {
            let text = format!("the answer has no column `{name}`; it has {}", self.columns().join(", "));
            return Err(PyKeyError::new_err(text));
        }
        let rows = self.table.rows.iter();
        let values = rows.map(|cells| self.row(py, cells)?.get_item(name)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, values.into_iter().flatten())
    }

    /// As a pandas DataFrame.
    #[getter]
    fn df<'py>(own: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Answer::to_pandas(own)
    }

    /// As a pandas DataFrame.
    fn to_pandas<'py>(own: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let frame = own.py().import("pandas")?.getattr("DataFrame")?;
        match frame.hasattr("from_arrow")? {
            true => frame.call_method1("from_arrow", (own,)),
            // Before pandas 3 pyarrow stands between.
            false => Answer::to_arrow(own)?.call_method0("to_pandas"),
        }
    }

    /// As a polars DataFrame.
    fn to_polars<'py>(own: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        own.py().import("polars")?.call_method1("DataFrame", (own,))
    }

    /// As a pyarrow Table, whose schema has the level and the notes.
    fn to_arrow<'py>(own: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        own.py().import("pyarrow")?.call_method1("table", (own,))
    }

    /// As CSV: full precision.
    fn to_csv(&self, py: Python<'_>) -> String {
        py.detach(|| render::csv(&self.table))
    }

    /// As JSON: full precision, with methods, caveats and notes, as `margins query --json` prints it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| render::json(&self.table, &self.about)).map_err(error::of)
    }

    /// All rows, as the command prints them.
    fn __str__(&self, py: Python<'_>) -> String {
        error::named(py.detach(|| render::table(&self.table)).trim_end())
    }

    /// The first rows, as the command prints them.
    fn __repr__(&self, py: Python<'_>) -> String {
        match self.shortened() {
            None => self.__str__(py),
            Some((first, more)) => error::named(&format!("{}\n{more}", render::table(&first).trim_end())),
        }
    }

    fn _repr_html_(&self) -> String {
        match self.shortened() {
            None => render::html(&self.table),
            Some((first, more)) => format!("{}<p>{}</p>\n", render::html(&first), render::escaped(&more)),
        }
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
