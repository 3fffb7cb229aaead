//! `margins init`: draft a spec from a data file.

use super::rows::Rows;
use super::{Failure, Outcome, output, rows};
use crate::secret::ingest::{self, DataFile};
#[cfg(feature = "parquet")]
use crate::spec::{DraftError, Drawn, called};
use crate::spec::{Format, Part, says_where};
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Draft a spec from a data file.
///
/// The domains (categories, ranges) are read from the data, so the draft itself is private until you have checked every
/// line marked "confirm": the spec will be public. `margins release` waits until every `confirmed = false` has become
/// `true` or is gone.
///
/// With --out, columns that are areas within areas (block in tract in county) become one dimension, and their list a file
/// beside the draft, NAME-COLUMN.csv.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins init survey.csv --out survey.toml\n  margins plan survey.toml")]
pub(super) struct Args {
    /// A data file, a folder of them, a pattern such as "rows/*.parquet", or - for standard input: Parquet or CSV
    data: PathBuf,
    /// With -: the format of standard input, csv or parquet
    #[arg(long, value_name = "FORMAT", value_parser = rows::format)]
    format: Option<Format>,
    /// Write the draft to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: the draft as `spec`, or the file that was written as `wrote`
    #[arg(long)]
    json: bool,
}

/// The draft of a spec for files of either format.
fn draft(rows: &Rows, folder: &Path, lists: Option<&mut Vec<(String, String)>>) -> Result<String, Failure> {
    let files = ingest::files_of(None, rows.origin())?;
    let data = rows.path();
    if files.iter().all(|file| file.format == Format::Csv) && !files.first().is_some_and(is_parquet) {
        let parts: Vec<Part<'_>> = files.iter().map(part).collect();
        return Ok(crate::spec::draft(&parts, data, folder, lists)?);
    }
    #[cfg(not(feature = "parquet"))]
    return Err(ingest::IngestError::NoParquet.into());
    #[cfg(feature = "parquet")]
    {
        let mut drawn: Option<Drawn> = None;
        for file in &files {
            let name = file.named().display().to_string();
            let names = |what| DraftError::Names { path: name.clone(), what };
            let begin = |columns: Vec<_>| match drawn.take() {
                Some(mut drawn) => match drawn.has(&columns) {
                    true => Ok(drawn),
                    false => Err(Failure::from(names("its columns are not those of the first file"))),
                },
                None => Ok(Drawn::new(columns).map_err(names)?),
            };
            let row = |drawn: &mut Drawn, row: &[String]| drawn.row(row.iter().map(String::as_str));
            let broken = |failure| match failure {
                Failure::Message(why) if files.len() > 1 && !why.contains(&*name) => {
                    Failure::Message(format!("{}: {why}", crate::visible::visible(&name)))
                }
                failure => failure,
            };
            drawn = Some(ingest::all_of_parquet(file, begin, row).map_err(broken)?);
        }
        let drawn = drawn.ok_or_else(|| DraftError::NoRows(called(data)))?;
        Ok(drawn.draft(data, folder, lists)?)
    }
}

/// Whether it is Parquet, whatever its name says.
fn is_parquet(file: &DataFile) -> bool {
    let mut start = [0; 4];
    let read = file.unpacked().and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && &start == b"PAR1"
}

/// It as text.
fn part(file: &DataFile) -> Part<'_> {
    let keys = file.keys.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    Part { name: file.named().display().to_string(), keys, open: Box::new(|| file.unpacked()) }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut lists = Vec::new();
    let there = |path: &Path| output::cannot_write(path, &"it exists, and nothing is replaced");
    // Rows that come through a pipe come once.
    if let Some(out) = args.out.as_deref() {
        if out.symlink_metadata().is_ok() {
            return Err(there(out));
        }
        crate::files::writable(out).map_err(|e| output::cannot_write(out, &e))?;
    }
    // What goes to standard output has no folder where lists could lie.
    let rows = Rows::named(&args.data, args.format, None)?;
    let draft = draft(&rows, folder, args.out.is_some().then_some(&mut lists))?;
    if !says_where(rows.path(), folder) {
        output::note(
            "the draft has the data's file name alone, because it will be public and the way to the data would name your folders: put the data beside the draft, \
             or name it with --data",
        );
    }
    let json = |value: serde_json::Value| output::json(&(value.to_string() + "\n"));
    let Some(out) = &args.out else {
        return if args.json { json(serde_json::json!({ "spec": draft })) } else { output::print(&draft) };
    };
    let lists: Vec<(PathBuf, String)> =
        lists.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    let files = lists.iter().map(|(path, text)| (path, text)).chain([(out, &draft)]);
    watch.whole(|| {
        if let Some((path, _)) = files.clone().find(|(path, _)| path.exists()) {
            return Err(there(path));
        }
        let mut written: Vec<&Path> = Vec::new();
        for (path, text) in files {
            crate::files::write_new(path, text, false).map_err(|e| {
                // Lists without their spec would be in the way of the next try.
                written.iter().for_each(|path| drop(std::fs::remove_file(path)));
                output::cannot_write(path, &e)
            })?;
            written.push(path);
        }
        Ok(())
    })?;
    if args.json {
        let lists: Vec<String> = lists.iter().map(|(path, _)| path.display().to_string()).collect();
        return output::wrote(json(
            serde_json::json!({ "wrote": out.display().to_string(), "lists": lists }),
        ));
    }
    let lists: String =
        lists.iter().map(|(path, _)| format!("wrote {}, a list of areas\n", output::path(path))).collect();
    output::wrote(output::print(&format!(
        "{lists}wrote {0}: check every line marked \"confirm\", set `confirmed = true` below it, then\n  margins plan {1}\n",
        output::path(out),
        output::word(&output::path(out))
    )))
}
