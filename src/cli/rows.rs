//! Where the rows are: as the spec says, elsewhere, or on standard input.

use super::Failure;
use super::refusal::spec_failure;
use crate::make::ReleaseOptions;
use crate::secret::ingest::{Origin, Piped};
use crate::spec::{self, Format, PIPE, Spec, is_pipe};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Read the rows from here instead of the spec's file: a file, a folder, a pattern such as "rows/*.parquet", or - for standard input
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// With --data -: the format of the rows, csv or parquet [default: as the spec says of its own]
    #[arg(long, value_name = "FORMAT", requires = "data", value_parser = format)]
    format: Option<Format>,
}

/// Where the rows are, once it is known.
pub(super) enum Rows {
    Path(PathBuf),
    Piped(Piped),
}

impl Rows {
    /// For whoever reads them.
    pub(super) fn origin(&self) -> Origin<'_> {
        match self {
            Rows::Path(path) => path.into(),
            Rows::Piped(piped) => Origin::Piped(piped),
        }
    }

    /// Where a spec finds them.
    pub(super) fn path(&self) -> &Path {
        match self {
            Rows::Path(path) => path,
            Rows::Piped(_) => Path::new(PIPE),
        }
    }

    /// What they are called.
    pub(super) fn name(&self) -> &Path {
        match self {
            Rows::Path(path) => path,
            Rows::Piped(_) => Path::new("standard input"),
        }
    }

    /// Rows at a path that was named, or on standard input, which is in this format.
    pub(super) fn named(path: &Path, format: Option<Format>, told: Option<Format>) -> Result<Rows, Failure> {
        let wrong = |why: &str| Err(Failure::Message(why.into()));
        if !is_pipe(path) {
            return match format {
                Some(_) => wrong(
                    "--format is for standard input (-): of a file its name or the spec says what it is",
                ),
                None => Ok(Rows::Path(path.to_owned())),
            };
        }
        match format.or(told) {
            None => wrong("what is on standard input? Say --format csv or --format parquet"),
            Some(_) if std::io::stdin().is_terminal() => {
                wrong("standard input is a terminal: pipe the rows into this command, or name a file")
            }
            Some(format) => Ok(Rows::Piped(Piped::new(std::io::stdin(), format))),
        }
    }
}

impl Args {
    /// The spec of rows that may be elsewhere than it says, or of `counts` instead of rows.
    pub(super) fn spec(&self, path: &Path, counts: Option<&Path>) -> Result<Spec, Failure> {
        spec::load_beside(path, counts.or(self.data.as_deref())).map_err(spec_failure)
    }

    /// Where the rows of a spec are; nothing where neither it nor the command says so.
    pub(super) fn of(&self, spec: &Spec) -> Result<Option<Rows>, Failure> {
        let own = spec.data.as_ref();
        let path = self.data.as_deref().or(own.map(|data| data.path.as_path()));
        path.map(|path| Rows::named(path, self.format, own.and_then(|data| data.format))).transpose()
    }

    /// A release of them.
    pub(super) fn given<'a>(
        &self,
        spec: &Spec,
        options: ReleaseOptions<'a>,
    ) -> Result<ReleaseOptions<'a>, Failure> {
        Ok(match self.of(spec)? {
            Some(Rows::Path(path)) => options.data(path),
            Some(Rows::Piped(piped)) => options.piped(piped),
            None => options,
        })
    }
}

/// A format by its name.
pub(super) fn format(name: &str) -> Result<Format, String> {
    let known = crate::spec::FORMATS.iter().find(|word| word.0 == name);
    known.map(|word| word.1).ok_or_else(|| "csv or parquet".into())
}
