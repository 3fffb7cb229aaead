//! margins in Python: an extension module over the library. What is said and refused is what the command says and refuses.
//!
//! | file | idea |
//! |---|---|
//! | `opened` | releases, and what they say of themselves |
//! | `answer` | an answer: rows, text, HTML, Arrow |
//! | `areas` | a reader's own areas: a file, columns or a data frame |
//! | `records` | synthetic records as Arrow |
//! | `made` | plans and releases |
//! | `spec` | a spec as a path or a dict |
//! | `frame` | rows from a data frame: private, never on the disk |
//! | `given` | the arguments of calls |
//! | `waiting` | Ctrl-C while work is done |
//! | `error` | the exceptions |

mod answer;
mod areas;
mod arrow;
mod error;
mod frame;
mod given;
mod made;
mod opened;
mod records;
mod spec;
mod waiting;

/// The extension module; `margins/__init__.py` shows what of it is for people.
#[pyo3::pymodule]
mod _margins {
    use margins::cli::Pages;
    use pyo3::prelude::*;
    use std::ffi::OsString;

    #[cfg(feature = "page")]
    const PAGES: Pages = Pages {
        explorer: Some(include_str!("../../explorer/page.html")),
        studio: Some(include_str!("../../studio/page.html")),
    };
    #[cfg(not(feature = "page"))]
    const PAGES: Pages = Pages { explorer: None, studio: None };

    #[pymodule_export]
    use super::answer::{Answer, Figure};
    #[pymodule_export]
    use super::error::{Error, Refused, VerificationError};
    #[pymodule_export]
    use super::made::{Plan, Released, plan, release};
    #[pymodule_export]
    use super::opened::{Audit, Check, Description, Dimension, Level, Release, Table, open};
    #[pymodule_export]
    use super::records::Records;

    /// Runs the `margins` command and gives its exit code. The words begin with the command's own name.
    #[pyfunction]
    fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| margins::cli::run(words, PAGES))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
