//! `margins init`: draft a spec from a data file.

use super::{Failure, Outcome, output};
use std::path::{Path, PathBuf};

/// Draft a spec from a data file.
///
/// The domains (categories, ranges) are read from the data, so the draft itself is private until you have
/// checked every line marked "confirm": what stays in the spec will be public. There is no release before
/// `confirmed = false` below each of them has become `true` or is gone.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins init survey.csv --out survey.toml\n  margins plan survey.toml")]
pub struct Args {
    /// The data file (CSV)
    data: PathBuf,
    /// Write the draft here instead of to the terminal
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let draft = crate::spec::draft(&args.data, folder)?;
    let Some(out) = &args.out else { return output::print(&draft) };
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(out)
        .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(out))))?;
    std::io::Write::write_all(&mut file, draft.as_bytes())?;
    output::print(&format!(
        "wrote {}: check every line marked \"confirm\", write `confirmed = true` below it, then\n  margins plan {}\n",
        output::path(out),
        output::path(out)
    ))
}
