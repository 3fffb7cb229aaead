//! `margins init`: draft a spec from a data file.

use super::{Failure, Outcome, output};
use crate::secret::ingest;
use crate::spec::Format;
#[cfg(feature = "parquet")]
use crate::spec::{DraftError, Drawn};
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
    /// A data file, a folder of them, or a pattern such as "rows/*.parquet": Parquet or CSV
    data: PathBuf,
    /// Write the draft to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: the draft as `spec`, or the file that was written as `wrote`
    #[arg(long)]
    json: bool,
}

/// The draft of a spec for files of either format.
fn draft(data: &Path, folder: &Path, lists: Option<&mut Vec<(String, String)>>) -> Result<String, Failure> {
    let found = ingest::files_of(None, data)?;
    let files: Vec<PathBuf> = found.iter().map(|file| file.path.clone()).collect();
    let parquet = |path: &PathBuf| {
        crate::files::open(path).is_ok_and(|mut file| {
            let mut start = [0; 4];
            std::io::Read::read_exact(&mut file, &mut start).is_ok() && &start == b"PAR1"
        })
    };
    if found.iter().all(|file| file.format == Format::Csv) && !files.first().is_some_and(parquet) {
        return Ok(crate::spec::draft(&files, data, folder, lists)?);
    }
    #[cfg(not(feature = "parquet"))]
    return Err(ingest::IngestError::NoParquet.into());
    #[cfg(feature = "parquet")]
    {
        let mut drawn: Option<Drawn> = None;
        for path in &files {
            let names = |what| DraftError::Names { path: path.display().to_string(), what };
            let begin = |columns: Vec<_>| match drawn.take() {
                Some(mut drawn) => match drawn.has(&columns) {
                    true => Ok(drawn),
                    false => Err(Failure::from(names("its columns are not those of the first file"))),
                },
                None => Ok(Drawn::new(columns).map_err(names)?),
            };
            let row = |drawn: &mut Drawn, row: &[String]| drawn.row(row.iter().map(String::as_str));
            drawn = Some(ingest::all_of_parquet(path, begin, row)?);
        }
        let drawn = drawn.ok_or_else(|| DraftError::Nothing(data.display().to_string()))?;
        Ok(drawn.draft(data, folder, lists)?)
    }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let mut lists = Vec::new();
    // What goes to standard output has no folder where lists could lie.
    let draft = draft(&args.data, folder, args.out.is_some().then_some(&mut lists))?;
    let json = |value: serde_json::Value| output::json(&(value.to_string() + "\n"));
    let Some(out) = &args.out else {
        return if args.json { json(serde_json::json!({ "spec": draft })) } else { output::print(&draft) };
    };
    let lists: Vec<(PathBuf, String)> =
        lists.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    let files = lists.iter().map(|(path, text)| (path, text)).chain([(out, &draft)]);
    watch.whole(|| {
        if let Some((there, _)) = files.clone().find(|(path, _)| path.exists()) {
            return Err(output::cannot_write(there, &"it exists, and nothing is replaced"));
        }
        for (path, text) in files {
            let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
            file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
                .map_err(|e| output::cannot_write(path, &e))?;
        }
        Ok(())
    })?;
    if args.json {
        let lists: Vec<String> = lists.iter().map(|(path, _)| path.display().to_string()).collect();
        return json(serde_json::json!({ "wrote": out.display().to_string(), "lists": lists }));
    }
    let lists: String =
        lists.iter().map(|(path, _)| format!("wrote {}, a list of areas\n", output::path(path))).collect();
    output::print(&format!(
        "{lists}wrote {}: check every line marked \"confirm\", write `confirmed = true` below it, then\n  margins plan {}\n",
        output::path(out),
        output::path(out)
    ))
}
