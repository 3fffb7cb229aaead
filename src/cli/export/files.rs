//! `margins export --format …`: tables as files that other tools know, with a description of them all.

use super::super::output::Written;
use super::super::package::NAME as PACKAGE;
use super::super::{Failure, Outcome, output};
use super::amounts::{self, SummedBeside};
use super::described::{self, Described};
use super::finished::Finisher;
use super::ro_crate::CrateFile;
use super::sdmx::Identified;
use super::structure::Structure;
use super::tidy::{Asked, Tidy};
use super::{Args, FINISHED, Finish, json_stat, sdmx};
use crate::answer::Answers;
use crate::cube::{Cube, Level};
use crate::preview::is_reserved;
use crate::release::Manifest;
#[cfg(feature = "parquet")]
use crate::render::Caveat;
use crate::render::ColumnKind;
use crate::watch::Watch;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Tidy CSV: dimensions, estimate, std_error, moe, conf_level, low, high, status
    Csv,
    /// The same columns as Parquet
    #[cfg(feature = "parquet")]
    Parquet,
    /// JSON-stat 2.0
    JsonStat,
    /// SDMX-CSV 2.0
    SdmxCsv,
}

/// The structure of tables in SDMX.
const STRUCTURE: &str = "structure.xml";
/// Of a release whose spec asked questions instead of tables.
const NO_TABLES: &str = "this release has no table: the figures of questions were measured instead. Ask those with margins query; margins inspect FILE --spec \
                         shows them";
/// The most cells that are held at once of a table that is written part by part.
const PART: usize = 1 << 18;
/// The description that repositories read.
const CRATE: &str = "ro-crate-metadata.json";

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
            Format::JsonStat => "json",
            Format::SdmxCsv => "sdmx.csv",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "application/vnd.apache.parquet",
            Format::JsonStat => "application/json",
            Format::SdmxCsv => "application/vnd.sdmx.data+csv",
        }
    }

    /// Gives a table as text, piece by piece.
    fn text(
        self,
        tidy: &mut Tidy,
        asked: &Asked,
        levels: &[Level],
        mut put: impl FnMut(&str) -> Outcome,
    ) -> Outcome {
        let (answers, table) = (asked.answers, name(asked.answers.cube(), levels));
        let manifest = answers.release().manifest();
        match self {
            Format::Csv => {
                put(&tidy.csv_head())?;
                tidy.each_part(asked, levels, |part| put(&part.csv_rows()))
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => Err(Failure::Message("Parquet is no text: name a folder with --out".into())),
            Format::JsonStat => {
                let title = format!("{}: {table}", manifest.about.title);
                tidy.each_part(asked, levels, |all| {
                    put(&(json_stat::dataset(all, manifest, &title).to_string() + "\n"))
                })
            }
            Format::SdmxCsv => {
                let period = answers.dataset().and_then(|d| d.period.clone()).unwrap_or_default();
                let ids = Identified::new(tidy, &flow(answers, &table));
                put(&sdmx::head(tidy, &ids, &period))?;
                tidy.each_part(asked, levels, |part| put(&sdmx::rows(part, &ids, &period)))
            }
        }
    }

    /// Writes a table.
    fn write(self, tidy: &mut Tidy, asked: &Asked, levels: &[Level], file: Written) -> Outcome {
        #[cfg(feature = "parquet")]
        if self == Format::Parquet {
            let mut out = super::parquet::Parquet::new(tidy, file)?;
            tidy.each_part(asked, levels, |part| out.put(part))?;
            return out.close(said(tidy, asked.answers, &name(asked.answers.cube(), levels)));
        }
        let mut out = BufWriter::new(file);
        self.text(tidy, asked, levels, |text| Ok(out.write_all(text.as_bytes())?))?;
        Ok(out.flush()?)
    }
}

/// What a table is called in SDMX.
fn flow(answers: &Answers, table: &str) -> String {
    format!("{}_{table}", answers.name())
}

/// What a file says of itself: key and text.
#[cfg(feature = "parquet")]
fn said(tidy: &Tidy, answers: &Answers, table: &str) -> Vec<(&'static str, String)> {
    let manifest = answers.release().manifest();
    let caveats: Vec<Value> = tidy.caveats.iter().map(Caveat::to_json).collect();
    let notes: Vec<String> = tidy.told().collect();
    let mut said = vec![
        ("margins.release", manifest.about.name.clone()),
        ("margins.title", manifest.about.title.clone()),
        ("margins.table", table.to_owned()),
        ("margins.created", manifest.created.clone()),
        ("margins.signer", manifest.signer.public_key.clone()),
        ("margins.privacy", manifest.privacy.note.clone()),
        ("margins.level", tidy.level.to_string()),
        ("margins.caveats", Value::from(caveats).to_string()),
        ("margins.notes", Value::from(notes).to_string()),
    ];
    said.extend(manifest.about.licence.iter().map(|licence| ("margins.licence", licence.clone())));
    let labels = |a: &super::tidy::Axis| {
        let both = a.labels.iter().cloned().zip(a.called.iter().map(|label| label.as_str().into()));
        (a.name.clone(), Value::Object(both.collect()))
    };
    let labels: serde_json::Map<String, Value> =
        tidy.axes.iter().filter(|a| a.is_labelled()).map(labels).collect();
    if !labels.is_empty() {
        said.push(("margins.labels", Value::Object(labels).to_string()));
    }
    let units = units(tidy.axes.iter());
    if !units.is_empty() {
        said.push(("margins.units", Value::Object(units).to_string()));
    }
    said
}

/// What figures are measured in, by the category that says what is measured.
fn units<'t>(axes: impl Iterator<Item = &'t super::tidy::Axis>) -> serde_json::Map<String, Value> {
    axes.flat_map(|a| a.of_units()).map(|(of, unit)| (of.to_owned(), unit.into())).collect()
}

/// Writes one table or all of them.
pub(super) fn run(args: &Args, format: Format, answers: &Answers, watch: &Watch) -> Outcome {
    let cube = answers.cube();
    let summed = SummedBeside::new(answers)?;
    let tables: Vec<Vec<Level>> = match &args.table {
        Some(names) => vec![super::table(cube, names)?],
        None => summed.tables(),
    };
    if tables.is_empty() {
        return Err(Failure::Message(NO_TABLES.into()));
    }
    // JSON-stat lists all cells at once.
    let most = if format == Format::JsonStat { usize::MAX } else { PART };
    if format == Format::JsonStat {
        tables.iter().try_for_each(|levels| super::whole(cube, levels))?;
    }
    let finish = args.finish.map(|how| Ok::<_, Failure>((how, summed.finished(&tables)?))).transpose()?;
    let unfinished = finish.as_ref().and_then(|(_, (_, note))| note.clone());
    let finisher = finish.map(|(how, (counted, _))| Finisher::new(answers, how, &counted)).transpose()?;
    let asked = Asked { answers, summed, finisher, level: args.level, told: args.told(), most };
    let Some(out) = &args.out else {
        let [levels] = &tables[..] else {
            return Err(Failure::Message(
                "several tables are several files: name a folder with --out".into(),
            ));
        };
        let mut tidy = Tidy::new(&asked, levels)?;
        // What is written part by part is known when it is written.
        let held = tidy.parts.is_empty();
        let tell = |tidy: &Tidy| tidy.told().for_each(|note| output::note(&note));
        if held {
            tell(&tidy);
        }
        format.text(&mut tidy, &asked, levels, output::data)?;
        if !held {
            tell(&tidy);
        }
        return Ok(());
    };
    let mut taken = HashSet::new();
    let names: Vec<String> = (tables.iter())
        .map(|levels| format!("{}.{}", stem(cube, levels, &mut taken), format.ending()))
        .collect();
    let manifest = answers.release().manifest();
    let head = package(&[], manifest, Vec::new(), args.level, args.finish);
    // SDMX has the structure of all tables in one file.
    let left = (format == Format::SdmxCsv).then_some(format.ending());
    let described = Described::read(out, &head, left);
    if !args.replace {
        described.keeps(out, &names, &beside(format))?;
    }
    let (others, earlier) = (described.stays(&names), described.notes(&names));
    crate::files::folders(out)
        .map_err(|e| Failure::Message(format!("cannot make {}: {e}", output::path(out))))?;
    let mut resources = Vec::with_capacity(tables.len());
    unfinished.iter().for_each(|note| output::note(note));
    let (mut notes, mut files) = (Vec::from_iter(unfinished), Vec::new());
    let mut caveats = Vec::new();
    let mut structure = Structure::default();
    let timed = answers.dataset().is_some_and(|d| d.period.is_some());
    let stage = watch.stage("exporting", tables.len() as u64);
    for (levels, file) in tables.iter().zip(names) {
        stage.advance(1);
        let mut tidy = Tidy::new(&asked, levels)?;
        write(watch, &out.join(&file), |own| format.write(&mut tidy, &asked, levels, own))?;
        let title = name(cube, levels);
        let mut own = resource(&tidy, format, &file, &title);
        described::rename(&mut own, &others);
        resources.push(own);
        if format == Format::SdmxCsv {
            structure.add(&tidy, &Identified::new(&tidy, &flow(answers, &title)), &title, timed);
        }
        files.push(CrateFile { path: file, media_type: format.media_type().into(), title });
        amounts::add(&mut caveats, tidy.caveats);
        amounts::add(&mut notes, tidy.notes);
    }
    drop(stage);
    if format == Format::SdmxCsv {
        let (path, media_type) = (STRUCTURE.to_owned(), "application/vnd.sdmx.structure+xml".to_owned());
        write_text(watch, &out.join(STRUCTURE), &structure.message(manifest))?;
        files.push(CrateFile { path, media_type, title: "Structure of the data".into() });
    }
    let texts = caveats.iter().map(|c| c.text(args.level));
    let mut all: Vec<String> = texts.chain(notes).collect();
    amounts::add(&mut all, earlier);
    files.extend(others.iter().filter_map(described::file));
    let crated = super::ro_crate::describe(manifest, &files, &all);
    write_text(watch, &out.join(CRATE), &(serde_json::to_string_pretty(&crated)? + "\n"))?;
    resources.extend(others);
    let package = package(&all, manifest, resources, args.level, args.finish);
    let last = out.join(PACKAGE);
    write_text(watch, &last, &(serde_json::to_string_pretty(&package)? + "\n"))?;
    crate::files::settle(&last).map_err(|e| output::cannot_write(&last, &e))?;
    super::output::tell(&caveats, args.level);
    let (tables, folder) = (output::counted(tables.len() as u64, "table"), output::path(out));
    output::wrote(output::print(&format!("wrote {tables} and datapackage.json to {folder}\n")))
}

/// What stands beside the tables.
fn beside(format: Format) -> Vec<&'static str> {
    [PACKAGE, CRATE].into_iter().chain((format == Format::SdmxCsv).then_some(STRUCTURE)).collect()
}

/// Writes a file without a name first: what is interrupted leaves nothing.
fn write(watch: &Watch, path: &Path, contents: impl FnOnce(Written) -> Outcome) -> Outcome {
    let failed = |e: std::io::Error| output::cannot_write(path, &e);
    let begin = || crate::files::unnamed(path, false).map(|file| (watch.passing(file.path()), file));
    let (_passing, file) = watch.whole(begin).map_err(failed)?;
    contents(Written::new(file.as_file().try_clone().map_err(failed)?, path))?;
    watch.whole(|| crate::files::named(file, path, true)).map_err(failed)
}

fn write_text(watch: &Watch, path: &Path, text: &str) -> Outcome {
    write(watch, path, |mut file| Ok(file.write_all(text.as_bytes())?))
}

/// `sex × age.band`, or `total`.
fn name(cube: &Cube, levels: &[Level]) -> String {
    match levels {
        [] => "total".into(),
        some => some.iter().map(|l| cube.level_name(*l)).collect::<Vec<_>>().join(" × "),
    }
}

/// A file's name from the table's: letters, digits, dots, hyphens and underscores; no two the same in any capitals, none the package's own, none a device.
fn stem(cube: &Cube, levels: &[Level], taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' };
    let names = levels.iter().map(|l| cube.level_name(*l).chars().map(plain).collect::<String>());
    let joined = names.collect::<Vec<_>>().join("_");
    // File systems take so much; and no file is hidden or a folder above.
    let first: String = joined.trim_start_matches('.').chars().take(60).collect();
    let first = if first.is_empty() { "total".to_string() } else { first };
    // The package's description stands beside them.
    let ours = ["datapackage", "ro-crate-metadata", "structure"];
    let own = |stem: &str| ours.contains(&&*stem.to_lowercase()) || is_reserved(stem);
    let first = if own(&first) { format!("table_{first}") } else { first };
    let mut stem = first.clone();
    let mut n = 2;
    while !taken.insert(stem.to_lowercase()) {
        stem = format!("{first}_{n}");
        n += 1;
    }
    stem
}

/// What a data package says of one file.
fn resource(tidy: &Tidy, format: Format, file: &str, title: &str) -> Value {
    let mut resource = json!({
        "name": file.trim_end_matches(format.ending()).trim_end_matches('.').to_lowercase(),
        "path": file,
        "title": title,
        "mediatype": format.media_type(),
        "format": format.ending(),
    });
    let table = !matches!(format, Format::JsonStat | Format::SdmxCsv);
    if let (Value::Object(map), true) = (&mut resource, table) {
        let label = |a: &super::tidy::Axis| {
            let kind = if a.kind == ColumnKind::Integer { "integer" } else { "string" };
            let mut field = json!({ "name": a.name, "type": kind });
            let legend = a.legend.as_ref();
            if let Some(text) = legend.and_then(|l| l.description.as_ref()) {
                field["description"] = json!(text);
            }
            if let Some(unit) = legend.and_then(|l| l.unit.as_ref()) {
                field["unit"] = json!(unit);
            }
            let units = units(std::iter::once(a));
            if !units.is_empty() {
                field["units"] = units.into();
            }
            if a.is_labelled() {
                let both = a.labels.iter().zip(&a.called);
                let both = both.map(|(code, label)| json!({ "value": value(a, code), "label": label }));
                field["categories"] = both.collect();
            }
            field
        };
        let figure = |name: &str| {
            let kind = if matches!(name, "status" | "reliability") { "string" } else { "number" };
            json!({ "name": name, "type": kind, "description": meaning(name, tidy.has_means) })
        };
        let finished = tidy
            .finished
            .iter()
            .map(|_| json!({ "name": FINISHED, "type": "integer", "description": "biased: see the notes" }));
        let fields = tidy.axes.iter().map(label).chain(tidy.figures().map(figure)).chain(finished);
        let fields: Vec<Value> = fields.collect();
        let key: Vec<&str> = tidy.axes.iter().map(|a| a.name.as_str()).collect();
        let mut schema = json!({ "fields": fields });
        if !key.is_empty() {
            schema["primaryKey"] = json!(key);
        }
        if tidy.hide_above.is_some() {
            map.insert("notes".into(), tidy.notes.clone().into());
        }
        map.insert("schema".into(), schema);
        map.insert("profile".into(), "tabular-data-resource".into());
    }
    resource
}

/// A code as the column has it.
fn value(axis: &super::tidy::Axis, code: &str) -> Value {
    match code.parse::<i64>() {
        Ok(number) if axis.kind == ColumnKind::Integer => number.into(),
        _ => code.into(),
    }
}

/// What a column holds, of a table that has means or not: these are ratios, which nothing says to be unbiased, and whose intervals may have no ends.
fn meaning(name: &str, has_means: bool) -> &'static str {
    match (name, has_means) {
        ("estimate", false) => "unbiased estimate; may be negative or fractional",
        ("estimate", true) => {
            "estimate, unbiased but for means (AVG), which are ratios of two unbiased estimates; may be negative or fractional"
        }
        ("std_error", false) => "standard deviation of its error",
        ("std_error", true) => {
            "standard deviation of its error; of means (AVG) an approximation by the delta method"
        }
        ("moe", _) => "half the width of the interval",
        ("conf_level", _) => "the probability with which the interval covers the truth",
        ("low", false) => "lower end of the interval",
        ("low", true) => "lower end of the interval; -inf where it has none",
        ("high", false) => "upper end of the interval",
        ("high", true) => "upper end of the interval; inf where it has none",
        ("cv", _) => {
            "coefficient of variation: the standard error in per cent of the estimate, of the noise alone"
        }
        ("reliability", _) => "class of the coefficient of variation: see the notes",
        _ => {
            "what is to be known: exact, undefined, unbounded, hidden; and what besides noise makes it untrue: truncated, clamped, weighted"
        }
    }
}

/// `datapackage.json` (<https://specs.frictionlessdata.io/data-package/>).
fn package(
    told: &[String],
    manifest: &Manifest,
    resources: Vec<Value>,
    level: f64,
    finish: Option<Finish>,
) -> Value {
    let about = &manifest.about;
    let mut package = json!({
        "name": about.name.to_lowercase(),
        "title": about.title,
        "created": format!("{}T00:00:00Z", manifest.created),
        "profile": "data-package",
        "privacy": manifest.privacy.note,
        "confidenceLevel": level,
        "resources": resources,
    });
    if let Value::Object(map) = &mut package {
        if let Some(text) = &about.description {
            map.insert("description".into(), text.as_str().into());
        }
        if let Some(licence) = &about.licence {
            map.insert("licenses".into(), json!([{ "name": licence }]));
        }
        let finished = finish.map(|how| format!("{FINISHED}: {}", how.note().replace('\n', " ")));
        let notes: Vec<String> = told.iter().cloned().chain(finished).collect();
        if !notes.is_empty() {
            map.insert("notes".into(), notes.into());
        }
    }
    package
}

#[cfg(test)]
mod tests {
    use super::super::parted::tests::release;
    use super::*;
    use crate::cube::Dimension;
    use std::collections::HashSet;
    use std::io::{Read, Seek};

    /// Whatever dimensions are called: no device, not the package's own file, no two the same in any capitals, nothing hidden.
    #[test]
    fn names_of_files_are_free() {
        let names = ["nul", "Con", "datapackage", "DataPackage", ".hidden", "a/b", "A-B"];
        let dimensions = names.map(|name| Dimension::plain(name, vec!["x".into(), "y".into()])).to_vec();
        let cube = Cube { dimensions };
        let mut taken = HashSet::new();
        let stems: Vec<String> =
            (0..names.len()).map(|d| stem(&cube, &[Level::new(d, 1)], &mut taken)).collect();
        let wanted =
            ["table_nul", "table_Con", "table_datapackage", "table_DataPackage_2", "hidden", "a-b", "A-B_2"];
        assert_eq!(stems, wanted);
    }

    const EMPTY: &str = "[[zero]]\nwhere = \"block = 'b3' AND sex = 'M'\"\n";

    /// Part by part a table is what it is at once: cells, intervals, finished counts, and what is said of those that are hidden.
    #[test]
    fn parts_make_the_table() {
        for (seed, more) in [(1, ""), (2, EMPTY)] {
            let (_folder, answers) = release(seed, more);
            let finishes = [None, Some(Finish::NonnegativeIntegral), Some(Finish::Consistent)];
            for (names, finish) in ["block,sex", "sex,block", "block.county,age,sex"].iter().zip(finishes) {
                let levels = super::super::table(answers.cube(), names).ok().unwrap();
                for hide in [None, Some(40.0)] {
                    let written = |format: Format, most: usize| {
                        let finisher = finish.map(|how| {
                            Finisher::new(&answers, how, std::slice::from_ref(&levels)).ok().unwrap()
                        });
                        let summed = SummedBeside::new(&answers).ok().unwrap();
                        let told = (true, hide);
                        let asked = Asked { answers: &answers, summed, finisher, level: 0.9, told, most };
                        let mut tidy = Tidy::new(&asked, &levels).ok().unwrap();
                        assert_eq!(tidy.parts.is_empty(), most > 1000);
                        let mut out = tempfile::NamedTempFile::new().unwrap();
                        let file = Written::new(out.as_file().try_clone().unwrap(), out.path());
                        format.write(&mut tidy, &asked, &levels, file).ok().unwrap();
                        let mut bytes = Vec::new();
                        out.as_file_mut().rewind().unwrap();
                        out.as_file_mut().read_to_end(&mut bytes).unwrap();
                        (bytes, tidy.notes)
                    };
                    for format in [Format::Csv, Format::SdmxCsv] {
                        let (parts, whole) = (written(format, 5), written(format, usize::MAX));
                        let lines = |(bytes, notes): &(Vec<u8>, Vec<String>)| {
                            (String::from_utf8(bytes.clone()).unwrap(), notes.clone())
                        };
                        assert_eq!(lines(&parts), lines(&whole), "{names}");
                        assert_eq!(parts.1.iter().any(|note| note.contains("hidden")), hide.is_some());
                    }
                    #[cfg(feature = "parquet")]
                    assert_eq!(
                        rows(written(Format::Parquet, 5).0),
                        rows(written(Format::Parquet, usize::MAX).0),
                        "{names}"
                    );
                }
            }
        }
    }

    /// The rows of a Parquet file, and what it says of itself.
    #[cfg(feature = "parquet")]
    fn rows(bytes: Vec<u8>) -> (Vec<String>, String) {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<String> =
            file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert!(rows.len() >= 12);
        (rows, format!("{:?}", file.metadata().file_metadata().key_value_metadata()))
    }
}
