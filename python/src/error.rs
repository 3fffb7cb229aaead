//! The exceptions: their texts are those of the command.

use margins::cli::programs::{Failed, text};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(margins, Error, PyException, "Why there is no answer, no plan or no release.");
pyo3::create_exception!(
    margins,
    VerificationError,
    Error,
    "A release that is not what it says, or that another key signed; its text lists the checks."
);
pyo3::create_exception!(margins, Refused, Error, "A bound on what may be spent does not let it.");

/// An error of the library.
pub fn of(error: impl std::error::Error) -> PyErr {
    Error::new_err(text(error))
}

/// A verb that failed.
pub fn failed(failed: Failed) -> PyErr {
    match failed {
        Failed::Error(text) => Error::new_err(text),
        Failed::Refused(text) => Refused::new_err(text),
    }
}

/// Hands on what the command would say beside its answer, as warnings.
pub fn warn(py: Python<'_>, heard: &[String]) -> PyResult<()> {
    if heard.is_empty() {
        return Ok(());
    }
    let warn = py.import("warnings")?.getattr("warn")?;
    for text in heard {
        warn.call1((text, py.get_type::<pyo3::exceptions::PyUserWarning>(), 2))?;
    }
    Ok(())
}

/// JSON as Python's own objects.
pub fn objects<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
