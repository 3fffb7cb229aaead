//! The evaluator's face: one type for a release of either kind, and answers that are read by the names in the query.
//!
//! Everything below stands on the other modules and adds nothing to them; a program that needs more (laws of errors, recovered
//! tables, single keys) finds it there.

use crate::answer::keys::Questions;
use crate::answer::{Answers, Options, QueryError, Several};
use crate::audit::{Audit, audit};
use crate::cube::{self, Cube};
use crate::describe::Description;
use crate::projection::answer::Estimator;
use crate::records::{self, Records, RecordsError};
use crate::release::{Manifest, Release as File, ReleaseError, SignerKind};
use crate::render::{self, Caveat, ResultCell, ResultFigure, ResultTable};
use crate::visible::visible;
use crate::watch::Watch;
use std::fmt;
use std::path::Path;

/// Why there is no answer. Its text is what the command line says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read, or is not whole.
    #[error(transparent)]
    File(#[from] ReleaseError),
    /// The question.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A file, named.
    #[error("{}", about(file, error))]
    Of {
        /// Which.
        file: String,
        /// What is wrong with it, or with the question to it.
        #[source]
        error: Box<Error>,
    },
    /// Records of it.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// What a projection does not have.
    #[error("`{0}` is a projection: it has no tables, so no records can be drawn from it")]
    NoRecords(String),
    /// A projection among others.
    #[error("{0} is a projection: ask it alone")]
    Alone(String),
    /// No column of that name.
    #[error("the answer has no column `{name}`; it has {}", .columns.join(", "))]
    NoColumn {
        /// What was asked for.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// A column of another kind.
    #[error("`{name}` is {found}, not {wanted}")]
    Kind {
        /// The column.
        name: String,
        /// What it is.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
}

/// What went wrong with a file, which is named unless the message does so.
fn about(file: &str, error: &Error) -> String {
    let (name, text) = (visible(file), error.to_string());
    if text.contains(file) { text.replace(file, &name) } else { format!("{name}: {text}") }
}

/// A signed release, opened: tables or a projection. Or several of one dataset, asked together.
pub struct Release(Kind);

enum Kind {
    Tables(Box<Several>),
    Keys(Box<File>, Box<Questions>),
}

/// A table that can be asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its levels, as a query names them: `sex`, `age.band`; none for the total.
    pub levels: Vec<String>,
    /// How many cells it has. `None` where they cannot be listed.
    pub cells: Option<u64>,
    /// Whether it is published without noise.
    pub exact: bool,
}

/// A dimension of the counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its levels from the finest to the coarsest, without the total. None where the categories are any text.
    pub levels: Vec<Level>,
}

/// A level of a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// As a query names it: `age`, `age.band`.
    pub name: String,
    /// Its categories, in their order.
    pub categories: Vec<String>,
}

impl Release {
    /// Opens a file of either kind. The signature over its manifest is checked now, every section when it is first
    /// needed; [`Release::verify`] checks everything.
    pub fn open(path: impl AsRef<Path>) -> Result<Release, Error> {
        Release::from_file(File::open(path)?)
    }

    /// The same; what an answer goes through the whole release for is kept in this folder, and taken from there the next time. Answers
    /// are the same to the last bit; whoever may write into the folder can change them.
    pub fn open_with_cache_dir(path: impl AsRef<Path>, folder: impl AsRef<Path>) -> Result<Release, Error> {
        Release::of(File::open(path)?, Some(folder.as_ref()))
    }

    /// Opens a release that is in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Release, Error> {
        Release::from_file(File::from_bytes(bytes)?)
    }

    /// The same with the text of the `.minisig` that lies beside it: [`Release::verify`] then checks that it signs all bytes.
    pub fn from_bytes_with_signature(bytes: Vec<u8>, minisig: Vec<u8>) -> Result<Release, Error> {
        Release::from_file(File::from_bytes_with_signature(bytes, minisig)?)
    }

    fn from_file(file: File) -> Result<Release, Error> {
        Release::of(file, None)
    }

    fn of(file: File, folder: Option<&Path>) -> Result<Release, Error> {
        let ends = ends(&file);
        Ok(Release(match Questions::open(&file)? {
            Some(questions) => Kind::Keys(Box::new(file), Box::new(questions.with_ends(&ends))),
            None => {
                let answers = Answers::kept_in(file, folder)?.with_ends(&ends);
                Kind::Tables(Box::new(Several::new(vec![answers])?))
            }
        }))
    }

    /// Opens one file, or several of one dataset that are asked together: those of one period are combined by precision, those of
    /// different periods compared. Projections are opened alone.
    pub fn open_all<P: AsRef<Path>>(paths: &[P]) -> Result<Release, Error> {
        let name = |path: &P| path.as_ref().display().to_string();
        let of = |path: &P, error: Error| Error::Of { file: name(path), error: Box::new(error) };
        if let [path] = paths {
            return Release::open(path).map_err(|e| of(path, e));
        }
        let open = |path: &P| -> Result<Answers, Error> {
            let file = File::open(path).map_err(|e| of(path, e.into()))?;
            if Questions::open(&file).map_err(|e| of(path, e.into()))?.is_some() {
                return Err(Error::Alone(name(path)));
            }
            let ends = ends(&file);
            Ok(Answers::from_release(file).map_err(|e| of(path, e.into()))?.with_ends(&ends))
        };
        let all = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Release(Kind::Tables(Box::new(together(all)?))))
    }

    /// The same release, asked about some areas alone, as `margins query --areas` is: see [`Answers::among`]. It reads the same open file.
    pub fn among(
        &self,
        level: &str,
        district: Option<&str>,
        listed: &[(u64, String, String)],
    ) -> Result<Release, Error> {
        let Kind::Tables(several) = &self.0 else {
            let why = "areas are for releases of tables: a projection is asked for keys, by IN";
            return Err(Error::Query(QueryError::Areas(why.into())));
        };
        let of = |answers: &Answers| -> Result<Answers, Error> {
            let file = answers.release().clone();
            let ends = ends(&file);
            let mut own = Answers::from_release(file)?.with_ends(&ends);
            own.among(level, district, listed)?;
            Ok(own)
        };
        let all = several.releases().iter().map(of).collect::<Result<Vec<_>, _>>()?;
        Ok(Release(Kind::Tables(Box::new(together(all)?))))
    }

    fn files(&self) -> Vec<&File> {
        match &self.0 {
            Kind::Tables(several) => several.releases().iter().map(Answers::release).collect(),
            Kind::Keys(file, _) => vec![file],
        }
    }

    fn file(&self) -> Option<&File> {
        self.files().first().copied()
    }

    /// Everything an auditor can check from the file alone, and, with the signer's public key (one line of base64, or a
    /// `.pub` file's text), that its owner signed. What came of it is in the audit: [`Audit::passed`].
    pub fn verify<'k>(&self, public_key: impl Into<Option<&'k str>>) -> Result<Audit, Error> {
        let file = self.file().ok_or(ReleaseError::Magic)?;
        Ok(audit(file, public_key.into())?)
    }

    /// The same of every release that answers, where there are several.
    pub fn verify_all(&self, public_key: Option<&str>) -> Result<Vec<Audit>, Error> {
        self.files().into_iter().map(|file| Ok(audit(file, public_key)?)).collect()
    }

    /// What the release says of itself: see [`Release::verify`] for what of it is true.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.file().map(File::manifest)
    }

    /// Its name, as FROM wants it.
    pub fn name(&self) -> &str {
        self.manifest().map_or("", |m| &m.about.name)
    }

    /// Whether it is signed with a lasting key, not a throw-away one, and protects anybody at all. Anybody can make such a key: whose it is, only
    /// [`Release::verify`] with the key that the agency publishes shows.
    pub fn has_own_key(&self) -> bool {
        self.manifest().is_some_and(|m| m.signer.kind == SignerKind::Agency && !m.is_not_private())
    }

    /// The names of those whose noise anybody can draw again.
    pub fn not_private(&self) -> Vec<&str> {
        let known = self.files().into_iter().map(File::manifest).filter(|m| m.is_not_private());
        known.map(|m| m.about.name.as_str()).collect()
    }

    /// Which releases answers are from, as JSON says it.
    pub fn about(&self) -> serde_json::Map<String, serde_json::Value> {
        match &self.0 {
            Kind::Tables(several) => several.about(),
            Kind::Keys(_, questions) => {
                FromIterator::from_iter([("release".to_owned(), questions.name().into())])
            }
        }
    }

    /// What the release is and what can be asked of it, with the errors of at most `tables` tables.
    pub fn describe(&self, tables: usize) -> Result<Description, Error> {
        Ok(Description { examples: self.examples(), ..self.summary(tables)? })
    }

    /// The same without examples, which take a moment: each of them has been answered.
    pub fn summary(&self, tables: usize) -> Result<Description, Error> {
        const LEVEL: f64 = 0.95;
        match &self.0 {
            Kind::Tables(several) => {
                let first = several.releases().first().ok_or(ReleaseError::Magic)?;
                Ok(first.summary(LEVEL, tables)?)
            }
            Kind::Keys(_, questions) => Ok(questions.summary(LEVEL)?),
        }
    }

    /// The margin of one of [`Release::tables`], as a description shows it: `± 12.3`. `None` where it is exact or depends on the question.
    pub fn table_margin(&self, at: usize) -> Result<Option<String>, Error> {
        let Kind::Tables(several) = &self.0 else { return Ok(None) };
        let Some(answers) = several.releases().first() else { return Ok(None) };
        match answers.evaluator().recovery().plan().rows().workload.get(at) {
            Some(table) => Ok(answers.table(table, 0.95)?.margin_text()),
            None => Ok(None),
        }
    }

    /// Questions that it answers.
    pub fn examples(&self) -> Vec<String> {
        match &self.0 {
            Kind::Tables(several) => several.releases().first().map_or(Vec::new(), Answers::examples),
            Kind::Keys(_, questions) => questions.examples(),
        }
    }

    /// The tables that were asked for when the release was made; of a projection the one of its key. Everything below them can be
    /// asked for as well.
    pub fn tables(&self) -> Vec<Table> {
        match &self.0 {
            Kind::Tables(several) => {
                let Some(answers) = several.releases().first() else { return Vec::new() };
                let (cube, plan) = (answers.cube(), answers.evaluator().recovery().plan());
                let one = |t: &crate::plan::Table| Table {
                    levels: t.cuboid.iter().map(|level| cube.level_name(level)).collect(),
                    cells: cube.cells(&t.cuboid),
                    exact: plan.exact.contains(&t.cuboid),
                };
                plan.rows().workload.iter().map(one).collect()
            }
            Kind::Keys(_, questions) => {
                let levels = questions.key_names().into_iter().map(String::from).collect();
                vec![Table { levels, cells: None, exact: false }]
            }
        }
    }

    /// The dimensions, with their levels and categories.
    pub fn dimensions(&self) -> Vec<Dimension> {
        match &self.0 {
            Kind::Tables(several) => several.releases().first().map_or(Vec::new(), |a| dimensions(a.cube())),
            Kind::Keys(_, questions) => dimensions(questions.cube()),
        }
    }

    /// Answers one SELECT; each interval covers the truth with probability 0.95.
    pub fn query(&self, sql: &str) -> Result<Answer, Error> {
        self.ask(sql, &Options::at(0.95))
    }

    /// The question for a table: the count of every combination of these levels' categories; without any the total.
    pub fn table_sql(&self, levels: &[&str]) -> String {
        self.cells_sql(levels, &[])
    }

    /// The same of those units alone that are in the given categories: (level, category).
    pub fn cells_sql(&self, levels: &[&str], only: &[(&str, &str)]) -> String {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let dimensions = self.dimensions();
        let level = |name: &str| {
            let own = dimensions
                .iter()
                .filter_map(|d| name.strip_prefix(d.name.as_str())?.strip_prefix('.').map(|l| (d, l)));
            match own.max_by_key(|(d, _)| d.name.len()) {
                Some((d, level)) if dimensions.iter().all(|d| d.name != name) => {
                    format!("{}.{}", quoted(&d.name), quoted(level))
                }
                _ => quoted(name),
            }
        };
        let levels: Vec<String> = levels.iter().map(|name| level(name)).collect();
        let mut from = quoted(self.name());
        for (i, (name, category)) in only.iter().enumerate() {
            let and = if i == 0 { "WHERE" } else { "AND" };
            from.push_str(&format!(" {and} {} = '{}'", level(name), category.replace('\'', "''")));
        }
        match levels.join(", ") {
            none if none.is_empty() => format!("SELECT COUNT(*) FROM {from}"),
            names => format!("SELECT {names}, COUNT(*) FROM {from} GROUP BY {names}"),
        }
    }

    /// Synthetic records whose tables are those of the release: see [`crate::records`].
    pub fn records(&self, options: &records::Options, watch: &Watch) -> Result<Records, Error> {
        match &self.0 {
            Kind::Tables(several) => Ok(records::records(several, options, watch)?),
            Kind::Keys(_, questions) => Err(Error::NoRecords(questions.name().into())),
        }
    }

    /// What the answer to a SELECT rests on, of its first rows: as `margins query --explain --json` has it.
    pub fn explain(&self, sql: &str) -> Result<serde_json::Value, Error> {
        let explained = match &self.0 {
            Kind::Tables(several) => serde_json::to_value(several.explain(sql)?),
            Kind::Keys(_, questions) => {
                serde_json::to_value(questions.explain(sql, 0.95, Estimator::Best, EXPLAINED)?)
            }
        };
        Ok(explained.unwrap_or_default())
    }

    /// Answers one SELECT, as the options say.
    pub fn ask(&self, sql: &str, options: &Options) -> Result<Answer, Error> {
        match &self.0 {
            Kind::Tables(several) => Ok(Answer(several.ask(sql, options)?)),
            Kind::Keys(_, questions) => Ok(Answer(questions.ask_with(sql, options, Estimator::Best)?)),
        }
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("name", &self.name()).finish_non_exhaustive()
    }
}

fn dimensions(cube: &Cube) -> Vec<Dimension> {
    let of = |(d, dimension): (usize, &crate::cube::Dimension)| Dimension {
        name: dimension.name.clone(),
        levels: (1..dimension.levels.len())
            .rev()
            .map(|l| cube::Level::new(d, l))
            .map(|l| Level { name: cube.level_name(l), categories: l.of(cube).labels.clone() })
            .collect(),
    };
    cube.dimensions.iter().enumerate().map(of).collect()
}

/// An answer: rows that are read by the names of their columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(ResultTable);

/// One row of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    table: &'a ResultTable,
    cells: &'a [ResultCell],
}

/// An estimate with its standard error and interval.
pub type Figure = ResultFigure;

impl Answer {
    /// The names of the columns, in the order of SELECT.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.columns.iter().map(|c| c.name.as_str())
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        self.0.rows.iter().map(|cells| Row { table: &self.0, cells })
    }

    /// The only row, or the first; `None` when there is none.
    pub fn first(&self) -> Option<Row<'_>> {
        self.rows().next()
    }

    /// What makes the numbers untrue besides noise.
    pub fn caveats(&self) -> &[Caveat] {
        &self.0.caveats
    }

    /// Everything a reader must be told beside the numbers, in sentences: the caveats first.
    pub fn notes(&self) -> Vec<String> {
        self.0.told()
    }

    /// As CSV: full precision.
    pub fn to_csv(&self) -> String {
        render::csv(&self.0)
    }

    /// As JSON: full precision, with methods and notes.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        render::json(&self.0, &serde_json::Map::new())
    }

    /// As a table of HTML; nothing that a file says becomes anything but text.
    pub fn to_html(&self) -> String {
        render::html(&self.0)
    }

    /// The table behind it, for those who render answers themselves.
    pub fn table(&self) -> &ResultTable {
        &self.0
    }
}

/// As the command line shows it.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render::table(&self.0))
    }
}

impl<'a> IntoIterator for &'a Answer {
    type Item = Row<'a>;
    type IntoIter = Box<dyn ExactSizeIterator<Item = Row<'a>> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.rows())
    }
}

impl<'a> Row<'a> {
    fn cell(&self, name: &str) -> Result<&'a ResultCell, Error> {
        let exact = self.table.columns.iter().position(|c| c.name == name);
        let at = exact.or_else(|| self.table.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name)));
        at.and_then(|at| self.cells.get(at)).ok_or_else(|| Error::NoColumn {
            name: name.into(),
            columns: self.table.columns.iter().map(|c| c.name.clone()).collect(),
        })
    }

    fn wrong(&self, name: &str, found: &ResultCell, wanted: &'static str) -> Error {
        let found = match found {
            ResultCell::Label(_) => "a label",
            ResultCell::Figure(_) => "a figure",
            ResultCell::Number(_) => "a plain number",
        };
        Error::Kind { name: name.into(), found, wanted }
    }

    /// The figure in a column, with its interval.
    pub fn figure(&self, name: &str) -> Result<Figure, Error> {
        match self.cell(name)? {
            ResultCell::Figure(figure) => Ok(*figure),
            other => Err(self.wrong(name, other, "a figure")),
        }
    }

    /// The label in a column that the query groups by.
    pub fn label(&self, name: &str) -> Result<&'a str, Error> {
        match self.cell(name)? {
            ResultCell::Label(label) => Ok(label),
            other => Err(self.wrong(name, other, "a label")),
        }
    }

    /// The plain number in a column, such as a probability.
    pub fn number(&self, name: &str) -> Result<f64, Error> {
        match self.cell(name)? {
            ResultCell::Number(number) => Ok(*number),
            other => Err(self.wrong(name, other, "a plain number")),
        }
    }
}

/// Of an answer's rows so many are explained.
pub(crate) const EXPLAINED: usize = 3;

/// The dimensions whose values beyond their ends were counted at these, where this build reads sealed specs.
#[cfg(feature = "spec")]
use crate::spec::clamped as ends;
#[cfg(not(feature = "spec"))]
fn ends(_: &File) -> Vec<String> {
    Vec::new()
}

/// Releases that are asked together. What one name is in two columns of the data is told by the sealed specs, where this build reads them.
pub(crate) fn together(releases: Vec<Answers>) -> Result<Several, QueryError> {
    let several = Several::new(releases)?;
    #[cfg(feature = "spec")]
    let several = several.reading(crate::spec::read_from);
    Ok(several)
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;
    use crate::release::SigningKey;
    use crate::secret::ingest::Means;
    use crate::secret::noise::Entropy;
    use crate::{compile, spec};

    /// A release of a bundled spec.
    fn made(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("specs/{name}.toml");
        // How good the plan is makes no difference.
        let text =
            std::fs::read_to_string(&path).unwrap().replace("measure = \"auto\"", "measure = \"residual\"");
        let spec = spec::of_text(&text, path.as_ref()).unwrap();
        let (key, ledger) = (SigningKey::throw_away().unwrap(), folder.path().join("ledger.jsonl"));
        let options = compile::Options {
            out: folder.path(),
            data: None,
            counts: None,
            ledger: &ledger,
            key: &key,
            replace: false,
            day: "2026-01-31",
            entropy: Entropy::from_os().unwrap(),
        };
        let path = compile::release(&spec, options, &Means::default()).unwrap().sealed.path;
        (folder, path)
    }

    #[test]
    fn tables_and_projections_have_one_face() {
        let (folder, path) = made("town");
        let town = Release::open(&path).unwrap();
        let audit = town.verify(None).unwrap();
        assert!(audit.passed(), "{audit:?}");
        let sql = "SELECT sex, COUNT(*) FROM town GROUP BY sex";
        let keeping = Release::open_with_cache_dir(&path, folder.path().join("kept")).unwrap();
        assert_eq!(keeping.query(sql).unwrap().to_csv(), town.query(sql).unwrap().to_csv());
        assert!(Release::open_with_cache_dir(&path, &path).is_err(), "no folder");
        assert!(!town.verify("nonsense").unwrap().passed());
        assert!(!town.has_own_key(), "a throw-away key");
        let sex = town.dimensions().into_iter().find(|d| d.name == "sex").unwrap();
        assert_eq!(sex.levels[0].categories, ["F", "M"]);
        assert!(town.tables().iter().any(|t| t.levels == ["sex"] || t.levels.contains(&"sex".to_string())));
        let answer = town.query("SELECT sex, COUNT(*) FROM town GROUP BY sex").unwrap();
        assert_eq!(answer.columns().collect::<Vec<_>>(), ["sex", "count"]);
        let mut sum = 0.0;
        for row in &answer {
            let (sex, count) = (row.label("sex").unwrap(), row.figure("COUNT").unwrap());
            assert!(["F", "M"].contains(&sex) && count.low < count.estimate && count.estimate < count.high);
            sum += count.estimate;
            assert!(row.label("count").unwrap_err().to_string().contains("is a figure, not a label"));
            assert!(row.figure("n").unwrap_err().to_string().contains("it has sex, count"));
        }
        let table = town.query(&town.table_sql(&["sex", "age.band"])).unwrap();
        assert_eq!(table.columns().collect::<Vec<_>>(), ["sex", "age.band", "count"]);
        assert_eq!(town.query(&town.table_sql(&[])).unwrap().rows().len(), 1);
        let why = town.query(&town.table_sql(&["sex\"; DROP"])).unwrap_err().to_string();
        assert!(why.contains("sex\"; DROP"), "{why}");
        assert_eq!(town.about()["release"], "town");
        let why = Release::open_all(&[path.with_extension("gone")]).unwrap_err().to_string();
        assert!(why.contains("town.gone: "), "{why}");
        let why = Release::open_all(&[&path, &path]).unwrap_err().to_string();
        assert!(why.contains("is given twice"), "{why}");
        assert_eq!(Release::open_all(&[&path]).unwrap().verify_all(None).unwrap().len(), 1);
        let all = town.query("SELECT COUNT(*) AS n FROM town").unwrap();
        assert!((all.first().unwrap().figure("n").unwrap().estimate - sum).abs() < 1e-6);
        assert!(answer.to_string().contains("95 % from"));
        assert!(answer.to_csv().starts_with("sex,count,"));
        assert!(town.query("SELECT COUNT(*) FROM elsewhere").is_err());

        let (_folder, path) = made("visits");
        let visits = Release::from_bytes(std::fs::read(path).unwrap()).unwrap();
        assert!(visits.verify(None).unwrap().passed());
        assert_eq!(visits.tables()[0].cells, None);
        let sql = "SELECT code, COUNT(*) FROM visits WHERE code IN ('D00.0', 'Z99.9') GROUP BY code";
        let answer = visits.query(sql).unwrap();
        assert_eq!(answer.rows().len(), 2);
        assert!(answer.rows().all(|r| r.figure("count").unwrap().std_error > 0.0));
        let more = Options { prob: Some("> 3".parse().unwrap()), ..Options::at(0.9) };
        assert!(visits.ask(sql, &more).is_ok());
        let test = Options { test: Some(3.0), ..Options::at(0.9) };
        assert!(matches!(visits.ask(sql, &test), Err(Error::Query(QueryError::TablesOnly(_)))));
    }
}
