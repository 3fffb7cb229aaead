//! `margins init`: draft a spec from a data file.

use super::{Failure, Outcome, output};
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Draft a spec from a data file.
///
/// The domains (categories, ranges) are read from the data, so the draft itself is private until you have checked every
/// line marked "confirm": the spec will be public. `margins release` waits until every `confirmed = false` has become
/// `true` or is gone.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins init survey.csv --out survey.toml\n  margins plan survey.toml")]
pub struct Args {
    /// The data file: Parquet if its name ends in .parquet, otherwise CSV
    data: PathBuf,
    /// Write the draft to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The draft of a spec for a file of either format.
fn draft(data: &Path, folder: &Path) -> Result<String, Failure> {
    if !data.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
        return Ok(crate::spec::draft(data, folder)?);
    }
    #[cfg(not(feature = "parquet"))]
    return Err(crate::secret::ingest::IngestError::NoParquet.into());
    #[cfg(feature = "parquet")]
    {
        let begin = |columns| {
            let names = |what| crate::spec::DraftError::Names { path: data.display().to_string(), what };
            Ok::<_, Failure>(crate::spec::Drawn::new(columns).map_err(names)?)
        };
        let drawn = crate::secret::ingest::all_of_parquet(data, begin, |drawn, row| {
            drawn.row(row.iter().map(String::as_str));
        })?;
        Ok(drawn.draft(data, folder, None)?)
    }
}

pub fn run(args: &Args, watch: &Watch) -> Outcome {
    let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let draft = draft(&args.data, folder)?;
    let Some(out) = &args.out else { return output::print(&draft) };
    watch
        .whole(|| {
            let file = std::fs::OpenOptions::new().write(true).create_new(true).open(out);
            file.and_then(|mut file| std::io::Write::write_all(&mut file, draft.as_bytes()))
        })
        .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(out))))?;
    output::print(&format!(
        "wrote {}: check every line marked \"confirm\", write `confirmed = true` below it, then\n  margins plan {}\n",
        output::path(out),
        output::path(out)
    ))
}
