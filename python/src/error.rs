//! The exceptions: their texts are those of the command, with the names that things have in Python.

use margins::MakeError;
use margins::cli::programs::text;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyUserWarning};
use pyo3::prelude::*;

pyo3::create_exception!(margins, Error, PyException, "Why there is no answer, no plan or no release.");
pyo3::create_exception!(
    margins,
    VerificationError,
    Error,
    "A release that is not what it says, or that another key signed; its text lists the checks."
);
pyo3::create_exception!(margins, Refused, Error, "The ledger's bound refuses the release.");

/// What the command's options are called here. What is part of another stands behind it.
const NAMES: [(&str, &str); 12] = [
    ("--joint=bonferroni", "joint=\"bonferroni\""),
    ("--prior 'uniform(n)'", "prior=\"uniform(n)\""),
    ("--key agency.key", "key=\"agency.key\""),
    ("--csv and --json", "to_csv() and to_json()"),
    ("--format csv and --json", "to_csv() and to_json()"),
    ("--complete", "complete=True"),
    ("--data FILE", "data=…"),
    ("--prob", "prob"),
    ("--test", "test"),
    ("--prior", "prior"),
    ("--joint", "joint"),
    ("--interval", "interval"),
];

/// A text of the library, with Python's names.
pub fn named(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, (option, name)| text.replace(option, name))
}

/// An error of the library.
pub fn of(error: impl std::error::Error) -> PyErr {
    Error::new_err(named(&text(error)))
}

/// Why there is no plan or no release.
pub fn made(error: MakeError) -> PyErr {
    match error {
        MakeError::Refused(why) => Refused::new_err(why),
        MakeError::Stopped(note) => PyKeyboardInterrupt::new_err(note),
        MakeError::Spec(errors) => Error::new_err(named(errors.render(false).trim_end())),
        MakeError::Exists(path) => Error::new_err(format!(
            "{} exists: replace=True replaces it, and charges again",
            margins::visible::visible(&path.display().to_string())
        )),
        MakeError::NoData => Error::new_err(
            "the spec names no data: add a [data] section, or give data, a path or a data frame",
        ),
        MakeError::NoKey => Error::new_err(
            "a release is signed, and no key was given. Make one once with the command `margins keygen`, keep it, and give its file as key",
        ),
        MakeError::NoPassphrase(path) => Error::new_err(format!(
            "{}: the key has a passphrase: give it as passphrase",
            margins::visible::visible(&path.display().to_string())
        )),
        other => of(other),
    }
}

/// Hands on what the holder of the data should know, as warnings.
pub fn warn(py: Python<'_>, heard: &[String]) -> PyResult<()> {
    if heard.is_empty() {
        return Ok(());
    }
    let warn = py.import("warnings")?.getattr("warn")?;
    for text in heard {
        let text = ["warning: ", "note: "].iter().find_map(|head| text.strip_prefix(head)).unwrap_or(text);
        warn.call1((text, py.get_type::<PyUserWarning>(), 2))?;
    }
    Ok(())
}

/// JSON as Python's own objects.
pub fn objects<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
