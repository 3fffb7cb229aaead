//! `margins records`: synthetic records whose tables are those of a release.

mod beside;
mod held;
mod package;
#[cfg(feature = "parquet")]
mod parquet;

use super::output::{Written, cannot_write as cannot};
use super::{Failure, Outcome, output};
use crate::answer::Several;
use crate::records::{self, Options, Records};
use crate::release::{Kind, Release};
use crate::watch::Watch;
pub(super) use beside::{Print, one, refuse, same};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Draw synthetic records from a release.
///
/// The records belong to nobody: they are drawn from the release and the seed alone, so they cost no further privacy. Their tables
/// come close to those of the release, and the report says how close; they invent whatever no table tells. Records are biased:
/// intervals belong to the release, and `margins query --records` shows both side by side.
///
/// Where the release has sums, each record gets a value of every amount, so that the values of a cell add up to its sum; how they are
/// spread within the cell is invented.
///
/// The same release, seed and number of rows make the same file on any machine and any number of threads. A CSV file gets a
/// report beside it, as JSON; a Parquet file has it inside. datapackage.json in the same folder describes the columns and repeats
/// the report; what it says of other files stays. Files of the same name are replaced only with --replace.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    margins records out/town.margins --out people.csv\n  \
    margins records out/town.margins --out people.parquet --rows 1000 --seed 7\n  \
    margins query out/town.margins --records people.csv \"SELECT sex, COUNT(*) FROM town GROUP BY sex\"\n  \
    margins verify out/town.margins --records people.csv")]
pub(super) struct Args {
    /// The release, or several of the same people
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The file for the records: .csv or .parquet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// How many records [default: the release's total]; of more or fewer each gets a weight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// The seed: any number
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Replace files of the same name; without it they are kept, and the command is refused
    #[arg(long)]
    replace: bool,
    /// The number of threads, which does not change the records [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// The formats of records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Parquet,
}

impl Format {
    fn of(path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_lowercase).as_deref() {
            Some("csv") => Ok(Format::Csv),
            Some("parquet") if cfg!(feature = "parquet") => Ok(Format::Parquet),
            _ => Err(Failure::Message(format!(
                "records are written and read as .csv or .parquet, not as {}",
                output::path(path)
            ))),
        }
    }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let format = Format::of(&args.out)?;
    look(&args.out, format, args.replace)?;
    let package = package::Package::beside(&args.out)?;
    let several = open(&args.files, watch)?;
    let own = several.releases().iter().map(|r| r.release());
    if own.flat_map(|r| args.files.iter().map(move |file| (r, file))).any(|(r, f)| is_data(r, f, &args.out)) {
        return Err(cannot(
            &args.out,
            &"a release was made from it, as its spec says, and it is not replaced: give another name",
        ));
    }
    let options =
        Options { rows: args.rows, seed: args.seed, threads: args.threads.map_or(0, |n| n as usize) };
    let made = records::records(&several, &options, watch)?;
    let package = package.with(&made, format, &args.out, &several)?;
    write(&made, format, args, package, watch)?;
    if args.json {
        let report = serde_json::to_string_pretty(made.report())? + "\n";
        return output::wrote(output::json(&report));
    }
    let text = format!("{}wrote     {}\n", made.report().text(), output::path(&args.out));
    let text: String = text.lines().map(|line| output::wrapped(line, 10) + "\n").collect();
    output::wrote(output::print(&text))
}

/// The releases, and a word of warning where their noise is known.
fn open(files: &[PathBuf], watch: &Watch) -> Result<Several, Failure> {
    let open = |file: &PathBuf| {
        let release = Release::open(file).map_err(|e| output::about(file, &e))?;
        super::answers(release.watched(watch), file, None)
    };
    let releases = files.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
    for known in releases.iter().filter(|r| r.release().manifest().is_not_private()) {
        output::say(&format!("warning: {} is NOT PRIVATE: its noise came from a fixed seed", known.name()));
    }
    Ok(crate::face::together(releases)?)
}

/// Where the report of a CSV file lies.
fn report_beside(path: &Path) -> PathBuf {
    path.with_extension("report.json")
}

/// Looks at the names that a file of records and the report beside it take. What is there stays, unless it may be replaced; then a link is replaced, and
/// not what it points to.
fn look(path: &Path, format: Format, replace: bool) -> Outcome {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(cannot(path, &"there is no such folder"));
    }
    let report = (format == Format::Csv).then(|| report_beside(path));
    for path in std::iter::once(path).chain(report.as_deref()) {
        match path.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(cannot(path, &e)),
            Ok(_) if !replace => return Err(exists(path)),
            Ok(there) if there.is_symlink() => {}
            Ok(there) => crate::files::regular(&there).map_err(|e| cannot(path, &e))?,
        }
    }
    Ok(())
}

fn exists(path: &Path) -> Failure {
    cannot(path, &"it exists, and nothing is replaced without --replace")
}

/// Whether a file holds the rows that a release was made from. Its spec names them from the folder where it stood, which nobody told: looked at are this folder,
/// that of the release, and the one above, where specs are beside `out`.
fn is_data(release: &Release, file: &Path, out: &Path) -> bool {
    let text = release.section(Kind::Spec, 0).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let written: toml::Table = text.unwrap_or_default().parse().unwrap_or_default();
    let path = written.get("data").and_then(|data| data.get("path")).and_then(|path| path.as_str());
    let (Some(path), Ok(out)) = (path, out.canonicalize()) else { return false };
    let folder = file.parent().unwrap_or(Path::new(""));
    let stood = [PathBuf::new(), folder.to_owned(), folder.join("..")];
    stood.iter().any(|from| from.join(path).canonicalize().is_ok_and(|data| data == out))
}

/// Gives a file its name.
fn name(file: NamedTempFile, path: &Path, replace: bool) -> Outcome {
    crate::files::named(file, path, replace).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists if !replace => exists(path),
        _ => cannot(path, &e),
    })
}

/// Writes files without a name first: what is interrupted leaves nothing.
fn write(made: &Records, format: Format, args: &Args, package: (PathBuf, String), watch: &Watch) -> Outcome {
    let (path, replace) = (args.out.as_path(), args.replace);
    let failed = |e: std::io::Error| cannot(path, &e);
    let begun = |path: &Path| {
        let begin = || crate::files::unnamed(path, false).map(|file| (watch.passing(file.path()), file));
        watch.whole(begin).map_err(|e| cannot(path, &e))
    };
    let (_passing, file) = begun(path)?;
    let own = Written::new(file.as_file().try_clone().map_err(failed)?, path);
    match format {
        Format::Csv => csv(made, own)?,
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(made, own).map_err(output::no_parquet)?,
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => drop(own),
    }
    let report = match format {
        Format::Csv => {
            let beside = report_beside(path);
            let (passing, mut file) = begun(&beside)?;
            let text = serde_json::to_string_pretty(made.report())? + "\n";
            file.write_all(text.as_bytes()).map_err(|e| cannot(&beside, &e))?;
            Some((passing, file, beside))
        }
        Format::Parquet => None,
    };
    watch.whole(|| {
        let beside = report.as_ref().map(|(_, _, beside)| beside.clone());
        if let Some((_, file, beside)) = report {
            name(file, &beside, replace)?;
        }
        let named = name(file, path, replace);
        if let (Err(_), Some(beside), false) = (&named, beside, replace) {
            let _ = std::fs::remove_file(beside);
        }
        named?;
        crate::files::write(&package.0, &package.1).map_err(|e| cannot(&package.0, &e))
    })
}

fn csv(made: &Records, file: Written) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(file);
    for piece in made.csv() {
        out.write_all(piece.as_bytes())?;
    }
    out.into_inner().map_err(|e| e.into_error())?.sync()
}
