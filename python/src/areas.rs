//! A reader's own areas, as `margins query --areas` takes them: from such a file, from columns, or from a data frame. They are public.

use crate::error::{self, Error};
use crate::frame::Column;
use crate::waiting::reading;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_pyarrow::FromPyArrow;
use margins::cli::programs::listed_areas;
use margins::visible::visible;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::path::PathBuf;
use std::sync::Arc;

/// Areas by their labels, each perhaps with the district that it is in.
#[derive(PartialEq)]
pub struct Areas {
    /// What errors call them.
    name: String,
    level: String,
    district: Option<String>,
    /// Each with its line.
    listed: Vec<(u64, String, String)>,
}

/// What a list of areas is made of.
const WANTS: &str = "it has a column of labels, and may have one of the districts that they are in";

impl Areas {
    /// What was given for `areas`.
    pub fn of(given: &Bound<'_, PyAny>) -> PyResult<Areas> {
        if let Ok(path) = given.extract::<PathBuf>() {
            let name = visible(&path.display().to_string()).into_owned();
            let (level, district, listed) = listed_areas(&path).map_err(Error::new_err)?;
            return Ok(Areas { name, level, district, listed });
        }
        if let Ok(dict) = given.cast::<PyDict>() {
            let column =
                |(name, cells): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((text(&name)?, column(&cells)?));
            return Areas::from_columns(dict.iter().map(column).collect::<PyResult<_>>()?);
        }
        if given.hasattr("__arrow_c_stream__")? {
            return Areas::from_columns(of_frame(given)?);
        }
        let kind = given.get_type().name()?;
        Err(PyTypeError::new_err(format!("areas is a path, a dict of columns or a data frame, not {kind}")))
    }

    fn from_columns(columns: Vec<(String, Vec<String>)>) -> PyResult<Areas> {
        let count = columns.len();
        let mut columns = columns.into_iter();
        let (Some((level, labels)), second, None) = (columns.next(), columns.next(), columns.next()) else {
            return Err(Error::new_err(format!("areas has {count} columns: {WANTS}")));
        };
        let (district, districts) = match second {
            Some((name, districts)) if districts.len() == labels.len() => (Some(name), districts),
            Some(_) => return Err(PyValueError::new_err("the columns of areas differ in length")),
            None => (None, vec![String::new(); labels.len()]),
        };
        let listed =
            (1..).zip(labels).zip(districts).map(|((line, label), own)| (line, label, own)).collect();
        Ok(Areas { name: "areas".into(), level, district, listed })
    }

    /// The release, asked about them alone.
    pub fn among(
        self,
        py: Python<'_>,
        release: Arc<margins::Release>,
    ) -> PyResult<(Areas, Arc<margins::Release>)> {
        let own = move || -> Result<_, std::convert::Infallible> {
            let among = release.among(&self.level, self.district.as_deref(), &self.listed);
            Ok((among, self))
        };
        let (among, own) = reading(py, own)?;
        let of = |e: margins::Error| Error::new_err(error::named(&format!("{}: {e}", own.name)));
        let among = among.map_err(of)?;
        Ok((own, Arc::new(among)))
    }
}

/// Text, or a whole number as text; nothing for None.
fn text(item: &Bound<'_, PyAny>) -> PyResult<String> {
    if item.is_none() {
        return Ok(String::new());
    }
    let number = !item.is_instance_of::<PyBool>() && item.hasattr("__index__")?;
    if item.is_instance_of::<PyString>() || number {
        return Ok(item.str()?.to_string_lossy().into_owned());
    }
    Err(PyTypeError::new_err(format!("areas are named by text, not {}", item.get_type().name()?)))
}

fn column(cells: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match cells.try_iter() {
        Ok(own) if !cells.is_instance_of::<PyString>() => own.map(|cell| text(&cell?)).collect(),
        _ => Err(PyTypeError::new_err("a column of areas is a list")),
    }
}

/// The columns of a data frame, as text. What pandas tells rows apart by is no column.
fn of_frame(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Vec<String>)>> {
    let wrong = |_| Error::new_err("the data frame of areas cannot be read as an Arrow stream");
    let reader = RecordBatchStreamReader::from_pyarrow_bound(given).map_err(wrong)?;
    let schema = reader.schema();
    let fields = schema.fields();
    let taken: Vec<usize> =
        (0..fields.len()).filter(|&i| !fields[i].name().starts_with("__index_level_")).collect();
    let mut out: Vec<(String, Vec<String>)> =
        taken.iter().map(|&i| (fields[i].name().clone(), Vec::new())).collect();
    for batch in reader {
        let batch =
            batch.map_err(|e| Error::new_err(format!("the data frame of areas cannot be read: {e}")))?;
        for (&i, (_, cells)) in taken.iter().zip(&mut out) {
            let Some(own) = batch.columns().get(i) else { continue };
            let own = Column::of(own.as_ref());
            for row in 0..batch.num_rows() {
                let mut cell = Vec::new();
                own.write(row, &mut cell);
                cells.push(String::from_utf8_lossy(&cell).into_owned());
            }
        }
    }
    Ok(out)
}
