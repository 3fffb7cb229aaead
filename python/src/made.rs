//! Plans and releases.

use crate::error;
use crate::frame::frame;
use crate::given::{self, Given};
use crate::opened::{self, Release};
use crate::spec::Source;
use crate::waiting::{making, planning};
use margins::cli::programs;
use margins::render::preformatted;
use margins::visible::{visible_json, visible_lines};
use margins::{PlanOptions, ReleaseOptions};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What a spec will measure and how exact its tables will be.
#[pyclass(frozen, module = "margins")]
pub struct Plan {
    text: String,
    json: String,
}

/// A release that was made.
#[pyclass(frozen, module = "margins")]
pub struct Released {
    text: String,
    json: String,
    paths: Vec<PathBuf>,
}

/// How long a search may be asked for: the library says what is too long.
fn effort(given: Given<'_, '_>) -> PyResult<Option<u32>> {
    let whole = given::maybe("effort", given, |name, given| given::whole(name, given, u32::MAX.into()))?;
    Ok(whole.and_then(|effort| u32::try_from(effort).ok()))
}

/// More than any machine has cores for.
const MOST_THREADS: u64 = 1024;

/// A limit of memory, in bytes.
fn memory(given: Given<'_, '_>) -> PyResult<Option<u64>> {
    given::maybe("memory", given, |name, given| given::whole(name, given, u64::MAX))
}

/// Plans a spec (a path, or a dict with the same keys) without looking at data; with `compare`, every strategy. A plan whose release may need more
/// than `memory` bytes is refused.
#[pyfunction]
#[pyo3(signature = (spec, *, compare=None, effort=None, memory=None))]
pub fn plan(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    compare: Given<'_, '_>,
    effort: Given<'_, '_>,
    memory: Given<'_, '_>,
) -> PyResult<Plan> {
    let source = Source::of(spec)?;
    let compare = given::maybe("compare", compare, given::truth)?.unwrap_or(false);
    let (effort, memory) = (self::effort(effort)?, self::memory(memory)?);
    let [text, json] = planning(py, move |watch| {
        let options = PlanOptions::new().compare(compare).effort(effort).memory(memory).watch(watch);
        programs::plan(&source.load()?.plan_with(&options)?, compare)
    })?;
    Ok(Plan { text, json })
}

/// Makes a signed release, and charges the ledger. `data` is a path or a data frame (whatever has `__arrow_c_stream__`), instead of the spec's
/// own file; a frame's rows stay in memory. `key` is the secret key's file. With `replace` a release of the same name is replaced, and charged again. At
/// most `memory` bytes are taken, and as many `threads` as there are cores; the release is the same whatever they are.
#[pyfunction]
#[pyo3(signature = (
    spec, data=None, key=None, out=None, *,
    passphrase=None, ledger=None, extends=None, replace=None, effort=None, memory=None, threads=None
))]
#[allow(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn release(
    py: Python<'_>,
    spec: &Bound<'_, PyAny>,
    data: Given<'_, '_>,
    key: Given<'_, '_>,
    out: Given<'_, '_>,
    passphrase: Given<'_, '_>,
    ledger: Given<'_, '_>,
    extends: Given<'_, '_>,
    replace: Given<'_, '_>,
    effort: Given<'_, '_>,
    memory: Given<'_, '_>,
    threads: Given<'_, '_>,
) -> PyResult<Released> {
    let path = |name, given| given::maybe(name, given, given::path);
    let source = Source::of(spec)?;
    let [key, ledger, extends] = [path("key", key)?, path("ledger", ledger)?, path("extends", extends)?];
    let out = path("out", out)?.unwrap_or_else(|| "out".into());
    let passphrase = given::maybe("passphrase", passphrase, given::text)?;
    let replace = given::maybe("replace", replace, given::truth)?.unwrap_or(false);
    let (effort, memory) = (self::effort(effort)?, self::memory(memory)?);
    let threads = given::maybe("threads", threads, |name, given| given::whole(name, given, MOST_THREADS))?;
    let threads = threads.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    let (file, rows) = match data.map(|data| (data, data.extract::<PathBuf>())) {
        None => (None, None),
        Some((_, Ok(path))) => (Some(path), None),
        Some((data, Err(_))) => {
            let named = source.load().map_err(error::made)?.data_columns();
            (None, Some(frame(data, &named)?))
        }
    };
    let (released, heard) = making(py, move |watch| {
        let mut heard = Vec::new();
        let mut options = ReleaseOptions::new().out(out).replace(replace).effort(effort).watch(watch);
        options = options.memory(memory).threads(threads);
        options = options.warn(|text| heard.push(text.to_owned()));
        for (path, set) in [
            (file, ReleaseOptions::data as fn(_, PathBuf) -> _),
            (key, ReleaseOptions::key),
            (ledger, ReleaseOptions::ledger),
            (extends, ReleaseOptions::extends),
        ] {
            if let Some(path) = path {
                options = set(options, path);
            }
        }
        if let Some(passphrase) = passphrase {
            options = options.passphrase(passphrase);
        }
        if let Some(rows) = &rows {
            options = options.rows(rows);
        }
        let made = source.load()?.release(options)?;
        let [text, json] = programs::release(&made);
        let paths = made.paths().into_iter().map(PathBuf::from).collect();
        Ok((Released { text, json, paths }, heard))
    })?;
    error::warn(py, &heard)?;
    Ok(released)
}

#[pymethods]
impl Plan {
    /// As Python's own objects.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &self.json)
    }

    /// As `margins plan --json` prints it.
    fn to_json(&self) -> String {
        visible_json(self.json.trim_end()).into_owned()
    }

    fn __repr__(&self) -> String {
        visible_lines(self.text.trim_end()).into_owned()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.text)
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
    fn open(&self, py: Python<'_>, public_key: Given<'_, '_>) -> PyResult<Release> {
        opened::open_all(py, self.paths.iter().take(1).cloned().collect(), public_key)
    }

    /// As Python's own objects.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &self.json)
    }

    /// As `margins release --json` prints it.
    fn to_json(&self) -> String {
        visible_json(self.json.trim_end()).into_owned()
    }

    fn __repr__(&self) -> String {
        visible_lines(self.text.trim_end()).into_owned()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.text)
    }
}
