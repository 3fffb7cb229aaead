//! What Python calls are given, by the names of their arguments: what is of another type is refused in a sentence.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use std::path::PathBuf;

/// An argument that was given, and is not `None`.
pub type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// What was given, as `read` reads it.
pub fn maybe<T>(
    name: &str,
    given: Given<'_, '_>,
    read: impl FnOnce(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    given.map(|given| read(name, given)).transpose()
}

fn wrong(name: &str, wanted: &str, given: &Bound<'_, PyAny>) -> PyErr {
    match given.get_type().name() {
        Ok(kind) => PyTypeError::new_err(format!("{name} is {wanted}, not {kind}")),
        Err(e) => e,
    }
}

/// Text.
pub fn text(name: &str, given: &Bound<'_, PyAny>) -> PyResult<String> {
    match given.is_instance_of::<PyString>() {
        true => given.extract(),
        false => Err(wrong(name, "text", given)),
    }
}

/// A number: whatever has `__float__`, but no truth value and no text.
pub fn number(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let known = given.is_instance_of::<PyFloat>() || given.is_instance_of::<PyInt>();
    let other = !given.is_instance_of::<PyString>() && given.hasattr("__float__")?;
    match (known || other) && !given.is_instance_of::<PyBool>() {
        true => given.extract().map_err(|_| PyValueError::new_err(format!("{name} is no number that fits"))),
        false => Err(wrong(name, "a number", given)),
    }
}

/// A whole number from 0 to `most`.
pub fn whole(name: &str, given: &Bound<'_, PyAny>, most: u64) -> PyResult<u64> {
    let known = given.is_instance_of::<PyInt>() || given.hasattr("__index__")?;
    if !known || given.is_instance_of::<PyBool>() {
        return Err(wrong(name, "a whole number", given));
    }
    let found = given.extract::<u64>().ok().filter(|found| *found <= most);
    found.ok_or_else(|| PyValueError::new_err(format!("{name} is a whole number from 0 to {most}")))
}

/// True or false.
pub fn truth(name: &str, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    given.extract().map_err(|_| wrong(name, "True or False", given))
}

/// A path: text, or whatever has `__fspath__`.
pub fn path(name: &str, given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    given.extract().map_err(|_| wrong(name, "a path", given))
}
