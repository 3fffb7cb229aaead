//! Plans and releases.

use crate::error;
use crate::frame::frame;
use crate::opened::{self, Paths, Release};
use crate::spec::source;
use margins::cli::programs::{self, Making, Said};
use margins::render::preformatted;
use margins::visible::{visible_json, visible_lines};
use pyo3::prelude::*;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// What a spec will measure and how exact its tables will be.
#[pyclass(frozen, module = "margins")]
pub struct Plan(Said);

/// A release that was made.
#[pyclass(frozen, module = "margins")]
pub struct Released {
    said: Said,
    paths: Vec<PathBuf>,
}

/// Plans a spec (a path, or a dict with the same keys) without looking at data; with `compare`, every strategy.
#[pyfunction]
#[pyo3(signature = (spec, *, compare=false, effort=None))]
pub fn plan(py: Python<'_>, spec: &Bound<'_, PyAny>, compare: bool, effort: Option<u32>) -> PyResult<Plan> {
    let source = source(spec)?;
    let said = py.detach(|| programs::plan(&source, compare, effort)).map_err(error::failed)?;
    error::warn(py, &said.heard)?;
    Ok(Plan(said))
}

/// Makes a signed release, and charges the ledger. `data` is a path or a data frame (whatever has `__arrow_c_stream__`), instead of the spec's
/// own file; a frame's rows stay in memory. `key` is the secret key's file. With `replace` a release of the same name is replaced, and charged again.
#[pyfunction]
#[pyo3(signature = (
    spec, data=None, key=None, out=PathBuf::from("out"), *,
    passphrase=None, ledger=None, extends=None, replace=false, effort=None
))]
#[allow(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn release(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    data: Option<&Bound<'_, PyAny>>,
    key: Option<PathBuf>,
    out: PathBuf,
    passphrase: Option<String>,
    ledger: Option<PathBuf>,
    extends: Option<PathBuf>,
    replace: bool,
    effort: Option<u32>,
) -> PyResult<Released> {
    let source = source(spec)?;
    let passphrase = passphrase.map(Zeroizing::new);
    let mut making = Making { key, passphrase, out, ledger, extends, replace, effort, ..Making::default() };
    match data.map(|data| (data, data.extract::<PathBuf>())) {
        None => {}
        Some((_, Ok(path))) => making.data = Some(path),
        Some((data, Err(_))) => {
            let named = programs::columns(&source).map_err(error::failed)?;
            making.frame = Some(frame(data, &named)?);
        }
    }
    let (said, paths) = py.detach(|| programs::release(&source, &making)).map_err(error::failed)?;
    error::warn(py, &said.heard)?;
    Ok(Released { said, paths })
}

#[pymethods]
impl Plan {
    /// As Python's own objects.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &self.0.json)
    }

    /// As `margins plan --json` prints it.
    fn to_json(&self) -> String {
        visible_json(self.0.json.trim_end()).into_owned()
    }

    fn __repr__(&self) -> String {
        visible_lines(self.0.text.trim_end()).into_owned()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.0.text)
    }
}

#[pymethods]
impl Released {
    /// Where it is.
    #[getter]
    fn path(&self) -> Option<&PathBuf> {
        self.paths.first()
    }

    /// Where all copies are, where there are several recipients: the most precise first.
    #[getter]
    fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Opens it.
    #[pyo3(signature = (public_key=None))]
    fn open(&self, py: Python<'_>, public_key: Option<PathBuf>) -> PyResult<Release> {
        opened::open(py, Paths::Several(self.paths.iter().take(1).cloned().collect()), public_key)
    }

    /// As Python's own objects.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &self.said.json)
    }

    /// As `margins release --json` prints it.
    fn to_json(&self) -> String {
        visible_json(self.said.json.trim_end()).into_owned()
    }

    fn __repr__(&self) -> String {
        visible_lines(self.said.text.trim_end()).into_owned()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.said.text)
    }
}
