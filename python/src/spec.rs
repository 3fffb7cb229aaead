//! A spec as a path or as a dict. A dict is written as TOML and read like any other spec, so every mistake has a place in it.

use crate::error::Error;
use margins::{MakeError, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::path::PathBuf;
use toml::{Table, Value};

/// How deep a dict may nest: a spec needs four.
const DEEPEST: usize = 16;

/// A spec that was given.
pub enum Source {
    /// In a file.
    File(PathBuf),
    /// A dict, as TOML.
    Text(String),
}

impl Source {
    /// The spec that was given.
    pub fn of(spec: &Bound<'_, PyAny>) -> PyResult<Source> {
        if let Ok(dict) = spec.cast::<PyDict>() {
            let text = toml::to_string(&table(dict, "", DEEPEST)?);
            return Ok(Source::Text(text.map_err(|e| Error::new_err(format!("the spec is no TOML: {e}")))?));
        }
        match spec.extract::<PathBuf>() {
            Ok(path) => Ok(Source::File(path)),
            Err(_) => {
                Err(Error::new_err(format!("a spec is a path or a dict, not {}", spec.get_type().name()?)))
            }
        }
    }

    /// Reads it.
    pub fn load(&self) -> Result<Spec, MakeError> {
        match self {
            Source::File(path) => Spec::load(path),
            Source::Text(text) => Spec::from_toml(text),
        }
    }
}

fn table(dict: &Bound<'_, PyDict>, path: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, item) in dict.iter() {
        let name: String = key
            .extract()
            .map_err(|_| Error::new_err(format!("a key of the spec's {path}{{}} is not text")))?;
        let path = format!("{path}[{name:?}]");
        table.insert(name, value(&item, &path, depth)?);
    }
    Ok(table)
}

fn value(item: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::new_err(format!("the spec nests too deep at {path}")));
    };
    if item.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(item.extract()?));
    }
    if item.is_instance_of::<PyString>() {
        return Ok(Value::String(item.extract()?));
    }
    if item.is_instance_of::<PyInt>() {
        let whole =
            item.extract().map_err(|_| Error::new_err(format!("{path} does not fit into 64 bits")))?;
        return Ok(Value::Integer(whole));
    }
    if item.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(item.extract()?));
    }
    if let Ok(dict) = item.cast::<PyDict>() {
        return Ok(Value::Table(table(dict, path, depth)?));
    }
    // Exact numbers are text in a spec: Fraction(1, 3) is "1/3", Decimal("0.1") is "0.1".
    let module: String = item.get_type().module()?.extract()?;
    if matches!(module.as_str(), "fractions" | "decimal" | "_decimal" | "_pydecimal") {
        return Ok(Value::String(item.str()?.extract()?));
    }
    if let Ok(file) = item.extract::<PathBuf>() {
        let file = file.to_str().map(str::to_owned);
        return file
            .map(Value::String)
            .ok_or_else(|| Error::new_err(format!("{path} is a path that is no text")));
    }
    if let Ok(whole) = item.extract::<i64>() {
        return Ok(Value::Integer(whole));
    }
    if let Ok(items) = item.try_iter() {
        let mut list = Vec::new();
        for (at, item) in items.enumerate() {
            list.push(value(&item?, &format!("{path}[{at}]"), depth)?);
        }
        return Ok(Value::Array(list));
    }
    if let Ok(number) = item.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    let kind = item.get_type();
    Err(Error::new_err(format!("{path} is {}, which a spec cannot hold", kind.name()?)))
}
