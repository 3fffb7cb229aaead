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
fn draft(data: &Path, folder: &Path) -> Result<String, Failure> {
    let found = ingest::files_of(None, data)?;
    let files: Vec<PathBuf> = found.iter().map(|file| file.path.clone()).collect();
    let parquet = |path: &PathBuf| {
        crate::files::open(path).is_ok_and(|mut file| {
            let mut start = [0; 4];
            std::io::Read::read_exact(&mut file, &mut start).is_ok() && &start == b"PAR1"
        })
    };
    if found.iter().all(|file| file.format == Format::Csv) && !files.first().is_some_and(parquet) {
        return Ok(crate::spec::draft(&files, data, folder)?);
    }
    #[cfg(not(feature = "parquet"))]
    return Err(ingest::IngestError::NoParquet.into());
    #[cfg(feature = "parquet")]
    {
        let mut drawn: Option<Drawn> = None;
        for path in &files {
            let names = |what| DraftError::Names { path: path.display().to_string(), what };
            let begin = |columns: Vec<_>| match drawn.take() {
                Some(drawn) if drawn.has(&columns) => Ok(drawn),
                Some(_) => Err(Failure::from(names("its columns are not those of the first file"))),
                None => Ok(Drawn::new(columns).map_err(names)?),
            };
            let row = |drawn: &mut Drawn, row: &[String]| drawn.row(row.iter().map(String::as_str));
            drawn = Some(ingest::all_of_parquet(path, begin, row)?);
        }
        let drawn = drawn.ok_or_else(|| DraftError::Nothing(data.display().to_string()))?;
        Ok(drawn.draft(data, folder)?)
    }
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let draft = draft(&args.data, folder)?;
    let json = |key: &str, text: &str| output::json(&(serde_json::json!({ key: text }).to_string() + "\n"));
    let Some(out) = &args.out else {
        return if args.json { json("spec", &draft) } else { output::print(&draft) };
    };
    watch
        .whole(|| {
            let file = std::fs::OpenOptions::new().write(true).create_new(true).open(out);
            file.and_then(|mut file| std::io::Write::write_all(&mut file, draft.as_bytes()))
        })
        .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(out))))?;
    if args.json {
        return json("wrote", &out.display().to_string());
    }
    output::print(&format!(
        "wrote {}: check every line marked \"confirm\", write `confirmed = true` below it, then\n  margins plan {}\n",
        output::path(out),
        output::path(out)
    ))
}
