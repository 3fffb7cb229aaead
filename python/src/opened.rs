//! Releases that are open, and what they say of themselves.

use crate::answer::Answer;
use crate::areas::Areas;
use crate::error::{self, Error, VerificationError};
use crate::given::{self, Given};
use crate::records::Records;
use crate::waiting::reading;
use margins::answer::Simultaneous;
use margins::cli::programs::public_key;
use margins::describe::TABLES;
use margins::render::{Naming, preformatted};
use margins::{Audit as Audited, Description as Described, Options, Verdict};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A signed release; several of one dataset are asked together.
#[pyclass(frozen, module = "margins")]
pub struct Release {
    release: Arc<margins::Release>,
    paths: Vec<PathBuf>,
    /// The same, asked about the areas that were given last.
    among: Mutex<Option<(Areas, Arc<margins::Release>)>>,
}

/// A table that can be asked for.
#[pyclass(frozen, get_all, eq, skip_from_py_object, module = "margins")]
#[derive(Clone, PartialEq)]
pub struct Table {
    /// Its levels, as a query names them; none for the total.
    levels: Vec<String>,
    /// How many cells it has; None where they cannot be listed.
    cells: Option<u64>,
    /// Whether it is published without noise.
    exact: bool,
}

/// A dimension of the counts.
#[pyclass(frozen, get_all, eq, skip_from_py_object, module = "margins")]
#[derive(Clone, PartialEq)]
pub struct Dimension {
    /// Its name.
    name: String,
    /// Its levels, the finest first. None where the categories are any text.
    levels: Vec<Level>,
}

/// A level of a dimension.
#[pyclass(frozen, get_all, eq, skip_from_py_object, module = "margins")]
#[derive(Clone, PartialEq)]
pub struct Level {
    /// As a query names it.
    name: String,
    /// Its categories, in their order.
    categories: Vec<String>,
}

/// What a release is and what can be asked of it.
#[pyclass(frozen, module = "margins")]
pub struct Description(Described);

/// What came of checking a release. True if it is verified.
#[pyclass(frozen, module = "margins")]
pub struct Audit(Vec<(String, Audited)>);

/// One check.
#[pyclass(frozen, get_all, eq, skip_from_py_object, module = "margins")]
#[derive(Clone, PartialEq)]
pub struct Check {
    /// What was checked.
    what: String,
    /// `passed`, `warning`, `skipped`, `unchecked` or `failed`, as `margins verify --json` has it.
    outcome: &'static str,
    /// What was found.
    detail: String,
}

/// Opens one release, or several of one dataset that are then asked together. The signature over the manifest is checked; with a public key
/// (a file, or the key itself) everything is, and what does not pass is refused with a `VerificationError`.
#[pyfunction]
#[pyo3(signature = (path, public_key=None))]
pub fn open(py: Python<'_>, path: &Bound<'_, PyAny>, public_key: Given<'_, '_>) -> PyResult<Release> {
    if let Ok(path) = path.extract() {
        return open_all(py, vec![path], public_key);
    }
    let Ok(items) = path.try_iter() else { return Err(given::path("path", path).err().unwrap_or_else(none)) };
    let paths = items.map(|item| given::path("a path", &item?)).collect::<PyResult<Vec<_>>>()?;
    if paths.is_empty() {
        return Err(none());
    }
    open_all(py, paths, public_key)
}

fn none() -> PyErr {
    PyValueError::new_err("there is no file to open")
}

/// Opens these files.
pub fn open_all(py: Python<'_>, paths: Vec<PathBuf>, public_key: Given<'_, '_>) -> PyResult<Release> {
    let files = paths.clone();
    let release = reading(py, move || margins::Release::open_all(&files))?;
    let known: Vec<String> = (release.not_private().into_iter())
        .map(|name| format!("{name} is NOT PRIVATE: its noise came from a fixed seed"))
        .collect();
    error::warn(py, &known)?;
    let release = Release { release: Arc::new(release), paths, among: Mutex::default() };
    if public_key.is_some() {
        let audit = release.verify(py, public_key)?;
        if !audit.passed() {
            return Err(VerificationError::new_err(audit.text()));
        }
    }
    Ok(release)
}

#[pymethods]
impl Release {
    /// Its name, as FROM wants it.
    #[getter]
    fn name(&self) -> &str {
        self.release.name()
    }

    /// One line for people.
    #[getter]
    fn title(&self) -> Option<String> {
        self.release.manifest().map(|m| error::named(&m.about.title))
    }

    /// The public key of its signer, one line of base64: whose it is, only `verify` with theirs tells.
    #[getter]
    fn signer(&self) -> Option<String> {
        self.release.manifest().map(|m| m.signer.public_key.clone())
    }

    /// Whom it protects and how well, in a sentence.
    #[getter]
    fn guarantee(&self) -> Option<String> {
        self.release.manifest().map(|m| error::named(&m.privacy.note))
    }

    /// What besides noise makes its numbers untrue, in sentences.
    #[getter]
    fn caveats(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let release = self.release.clone();
        let summary = reading(py, move || release.summary(0))?;
        Ok(summary.untrue.iter().map(|text| error::named(text)).collect())
    }

    /// Its file; of several the first.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.paths.first().cloned()
    }

    /// The files of all that are asked together.
    #[getter]
    fn paths(&self) -> Vec<PathBuf> {
        self.paths.clone()
    }

    /// `with margins.open(FILE) as release:` The file is closed when nobody has the release any more.
    fn __enter__(own: Py<Self>) -> Py<Self> {
        own
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) -> bool {
        false
    }

    /// For pickle: the files are opened again, and their signatures checked. Areas are named with each question.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<String>,))> {
        let path = |path: &PathBuf| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            path.into_os_string().into_string().map_err(|_| PyValueError::new_err("its path is not text"))
        };
        let paths = self.paths.iter().map(path).collect::<PyResult<Vec<_>>>()?;
        Ok((py.import("margins")?.getattr("open")?, (paths,)))
    }

    /// Whether it is signed with a lasting key, not a throw-away one, and protects anybody at all. Anybody can make such a key: whose it is, only
    /// `verify` with theirs tells.
    #[getter]
    fn has_own_key(&self) -> bool {
        self.release.has_own_key()
    }

    /// The tables that it was made for; everything that can be summed from them can be asked, too.
    #[getter]
    fn tables(&self) -> Vec<Table> {
        let tables = self.release.tables().into_iter();
        tables.map(|t| Table { levels: t.levels, cells: t.cells, exact: t.exact }).collect()
    }

    /// The dimensions, with their levels and categories.
    #[getter]
    fn dimensions(&self) -> Vec<Dimension> {
        let level = |l: margins::Level| Level { name: l.name, categories: l.categories };
        let dimension = |d: margins::Dimension| Dimension {
            name: d.name,
            levels: d.levels.into_iter().map(level).collect(),
        };
        self.release.dimensions().into_iter().map(dimension).collect()
    }

    /// What it is, whom it protects, what can be asked of it and how exact the answers are: as `margins describe` prints it.
    #[pyo3(signature = (tables=None))]
    fn describe(&self, py: Python<'_>, tables: Given<'_, '_>) -> PyResult<Description> {
        let tables = given::maybe("tables", tables, |name, given| given::whole(name, given, u64::MAX))?;
        let tables = tables.map_or(TABLES, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let release = self.release.clone();
        reading(py, move || release.describe(tables)).map(Description)
    }

    /// Checks everything that can be checked from the file alone and, with the signer's public key, who signed. It raises nothing: look at
    /// `passed`.
    #[pyo3(signature = (public_key=None))]
    fn verify(&self, py: Python<'_>, public_key: Given<'_, '_>) -> PyResult<Audit> {
        let key = given::maybe("public_key", public_key, given::path)?;
        let key =
            key.map(|key| self::public_key(&key.to_string_lossy()).map_err(Error::new_err)).transpose()?;
        let release = self.release.clone();
        let audits = reading(py, move || release.verify_all(key.as_deref()))?;
        let names = self.paths.iter().map(|path| path.display().to_string());
        Ok(Audit(names.chain(std::iter::repeat(String::new())).zip(audits).collect()))
    }

    /// Answers one SELECT (or SHOW TABLES, or DESCRIBE name). Each interval covers the truth with probability `level`; with `joint`, all of
    /// them together do (`"bonferroni"` in the simpler way). `prob` adds the probability of a statement ("> 100"), `test` the p-value of a value,
    /// `prior` the posterior of each count; `complete` refuses sums that leave categories out. `areas` asks about some areas alone, and by districts
    /// that no level has: a file as `margins query --areas` reads it, a dict of its columns, or a data frame. `labels` shows what codes stand for beside
    /// them (`"only"` in their place); `reliability` adds coefficients of variation and their classes.
    #[pyo3(signature = (sql, level=None, *, areas=None, prob=None, test=None, prior=None, joint=None, complete=None, labels=None, reliability=None))]
    #[allow(clippy::too_many_arguments, reason = "they are Python's keywords")]
    fn query(
        &self,
        py: Python<'_>,
        sql: &Bound<'_, PyAny>,
        level: Given<'_, '_>,
        areas: Given<'_, '_>,
        prob: Given<'_, '_>,
        test: Given<'_, '_>,
        prior: Given<'_, '_>,
        joint: Given<'_, '_>,
        complete: Given<'_, '_>,
        labels: Given<'_, '_>,
        reliability: Given<'_, '_>,
    ) -> PyResult<Answer> {
        let text = |name, given| given::maybe(name, given, given::text);
        let joint = match joint {
            None => None,
            Some(word) if word.is_instance_of::<PyString>() => match given::text("joint", word)?.as_str() {
                "bonferroni" => Some(Simultaneous::Bonferroni),
                _ => return Err(PyValueError::new_err("joint is True, False or \"bonferroni\"")),
            },
            Some(given) => given::truth("joint", given)?.then_some(Simultaneous::Auto),
        };
        let naming = match labels {
            None => Naming::Codes,
            Some(word) if word.is_instance_of::<PyString>() => match given::text("labels", word)?.as_str() {
                "only" => Naming::Labels,
                _ => return Err(PyValueError::new_err("labels is True, False or \"only\"")),
            },
            Some(given) if given::truth("labels", given)? => Naming::Both,
            Some(_) => Naming::Codes,
        };
        let options = Options {
            naming,
            reliability: given::maybe("reliability", reliability, given::truth)?.unwrap_or(false),
            prob: text("prob", prob)?.map(|text| text.parse()).transpose().map_err(error::of)?,
            test: given::maybe("test", test, given::number)?,
            prior: text("prior", prior)?.map(|text| text.parse()).transpose().map_err(error::of)?,
            joint,
            complete: given::maybe("complete", complete, given::truth)?.unwrap_or(false),
            ..Options::at(at(level)?)
        };
        let sql = given::text("sql", sql)?;
        let release = match areas {
            Some(areas) => self.among(py, Areas::of(areas)?)?,
            None => self.release.clone(),
        };
        ask(py, release, sql, options)
    }

    /// What the answer to a SELECT rests on, of its first rows: which measurements, with what weights, and what would narrow it.
    fn explain<'py>(&self, py: Python<'py>, sql: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (sql, release) = (given::text("sql", sql)?, self.release.clone());
        let explained = reading(py, move || release.explain(&sql))?;
        error::objects(py, &explained.to_string())
    }

    /// The table of these levels: `release.table("sex", "age.band")`; without any the total.
    #[pyo3(signature = (*levels, level=None))]
    fn table(&self, py: Python<'_>, levels: &Bound<'_, PyTuple>, level: Given<'_, '_>) -> PyResult<Answer> {
        let levels =
            levels.iter().map(|name| given::text("a level", &name)).collect::<PyResult<Vec<String>>>()?;
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        ask(py, self.release.clone(), self.release.table_sql(&levels), Options::at(at(level)?))
    }

    /// Synthetic records whose tables are those of the release, as many as its total unless `rows` says otherwise; the same for the same `seed`.
    /// Data frames take them as Arrow.
    #[pyo3(signature = (rows=None, seed=None))]
    fn records(&self, py: Python<'_>, rows: Given<'_, '_>, seed: Given<'_, '_>) -> PyResult<Records> {
        Records::draw(py, self.release.clone(), rows, seed)
    }

    fn __repr__(&self) -> String {
        let files: Vec<String> = self.paths.iter().map(|p| p.display().to_string()).collect();
        format!("<margins.Release {:?} of {}>", self.release.name(), files.join(", "))
    }
}

impl Release {
    /// The release asked about these areas: what the last question made, if it was about the same.
    fn among(&self, py: Python<'_>, areas: Areas) -> PyResult<Arc<margins::Release>> {
        let lock = || self.among.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, release)) = lock().as_ref().filter(|(known, _)| *known == areas) {
            return Ok(release.clone());
        }
        let (areas, release) = areas.among(py, self.release.clone())?;
        *lock() = Some((areas, release.clone()));
        Ok(release)
    }
}

fn ask(py: Python<'_>, release: Arc<margins::Release>, sql: String, options: Options) -> PyResult<Answer> {
    let asked = release.clone();
    let answer = reading(py, move || asked.ask(&sql, &options))?;
    Ok(Answer::new(answer.table().clone(), release.about()))
}

/// The probability with which intervals cover.
fn at(level: Given<'_, '_>) -> PyResult<f64> {
    Ok(given::maybe("level", level, given::number)?.unwrap_or(0.95))
}

#[pymethods]
impl Table {
    fn __repr__(&self) -> String {
        let Table { levels, cells, exact } = self;
        let cells = cells.map_or("None".to_owned(), |n| n.to_string());
        format!("Table(levels={levels:?}, cells={cells}, exact={})", if *exact { "True" } else { "False" })
    }
}

#[pymethods]
impl Dimension {
    fn __repr__(&self) -> String {
        let levels: Vec<String> =
            self.levels.iter().map(|l| format!("{} ({})", l.name, l.categories.len())).collect();
        format!("<margins.Dimension {:?}: {}>", self.name, levels.join(", "))
    }
}

#[pymethods]
impl Level {
    fn __repr__(&self) -> String {
        format!("<margins.Level {:?}: {} categories>", self.name, self.categories.len())
    }
}

#[pymethods]
impl Description {
    /// As Python's own objects, as `margins describe --json` prints them.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::objects(py, &self.to_json()?)
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(error::of)
    }

    fn __repr__(&self) -> String {
        margins::visible::visible_lines(self.0.to_string().trim_end()).into_owned()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.0.to_string())
    }
}

#[pymethods]
impl Audit {
    /// Whether every check that is needed was made, and none failed.
    #[getter]
    fn passed(&self) -> bool {
        self.0.iter().all(|(_, audit)| audit.passed())
    }

    /// What all checks come to: `verified`; `whole` where one that is needed could not be made; `failed`. Of several releases the worst.
    #[getter]
    fn verdict(&self) -> &'static str {
        let of = |verdict| self.0.iter().any(|(_, audit)| audit.verdict() == verdict);
        let worst = [Verdict::Failed, Verdict::Whole].into_iter().find(|v| of(*v));
        worst.unwrap_or(Verdict::Verified).word()
    }

    /// The checks, in the order they were done.
    #[getter]
    fn checks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let checks = self.0.iter().flat_map(|(_, audit)| &audit.checks).map(|check| Check {
            what: check.what.to_string(),
            outcome: check.outcome.word(),
            detail: check.detail.clone(),
        });
        PyList::new(py, checks.map(|check| Py::new(py, check)).collect::<PyResult<Vec<_>>>()?)
    }

    fn __bool__(&self) -> bool {
        self.passed()
    }

    fn __repr__(&self) -> String {
        self.text()
    }

    fn _repr_html_(&self) -> String {
        preformatted(&self.text())
    }
}

impl Audit {
    /// As `margins verify` prints it.
    fn text(&self) -> String {
        let one = |(file, audit): &(String, Audited)| audit.to_text(file);
        let all: String = self.0.iter().map(one).collect();
        margins::visible::visible_lines(all.trim_end()).into_owned()
    }
}

#[pymethods]
impl Check {
    fn __repr__(&self) -> String {
        format!("Check(what={:?}, outcome={:?}, detail={:?})", self.what, self.outcome, self.detail)
    }
}
