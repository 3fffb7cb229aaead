//! `margins verify`: everything that can be checked from the file alone.

use super::{Failure, output};
use crate::audit;
use crate::release::trusted::Trusted;
use crate::release::{self, Check, Outcome, Release, ReleaseError};
use crate::visible::visible;
use crate::watch::Watch;
use std::path::{Path, PathBuf};

/// Check a release's signature, hashes, format and privacy arithmetic.
///
/// Exit code 0 if the release is VERIFIED, 1 if it is not, 2 if the file cannot be read.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  margins verify out/town.margins --pubkey agency.pub\n  \
    margins verify out/town.margins --keys trusted --require 2")]
pub(super) struct Args {
    /// The release
    file: PathBuf,
    /// The public key you trust: a .pub file, or its line of base64; of several, each may have signed
    #[arg(long, value_name = "KEY")]
    pubkey: Vec<String>,
    /// The folder with the list of keys you trust, which `margins keys` makes
    #[arg(long, value_name = "DIR", conflicts_with = "pubkey")]
    keys: Option<PathBuf>,
    /// How many of those keys must have signed the whole file; `margins sign` adds a signature
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    require: Option<u8>,
    /// The recipient whose copy this must be
    #[arg(long, value_name = "NAME")]
    recipient: Option<String>,
    /// Check as well that these records of `margins records` are this release's: they are made anew and compared
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, watch: &Watch) -> super::Outcome {
    let (key, trusted) = match (&args.pubkey[..], &args.keys, args.require) {
        ([], None, Some(_)) => {
            return Err(Failure::Message(
                "--require counts keys that you trust: --keys DIR, or --pubkey KEY for each".into(),
            ));
        }
        ([], None, None) => (None, None),
        ([one], None, None) => (Some(read_key(one)?), None),
        (keys, folder, _) => (None, Some(trusted(keys, folder.as_deref())?)),
    };
    let report = match Release::open(&args.file) {
        Ok(release) => {
            let release = release.watched(watch);
            let mut report = audit::audit(&release, key.as_deref())?;
            if let Some(trusted) = &trusted {
                report.signed_by(&release, trusted, args.require.map(usize::from))?;
            }
            if let Some(wanted) = &args.recipient {
                report.made_for(&release, wanted);
            }
            if let Some(path) = &args.records {
                let differs = super::records::same(release, &args.file, path, watch)?;
                let path = output::path(path);
                let (outcome, detail) = match differs {
                    None => (Outcome::Passed, format!("{path} is what this release and the seed make")),
                    Some(why) => {
                        (Outcome::Failed, format!("{path} is NOT what this release and the seed make: {why}"))
                    }
                };
                report.checks.push(Check { what: "records".into(), outcome, detail });
            }
            report
        }
        Err(ReleaseError::Io(e)) => {
            return Err(Failure::Message(format!("{}: {e}", output::path(&args.file))));
        }
        // The file is there and is not a sound release: that is an answer, not a mishap.
        Err(e) => audit::Audit::refused(&e),
    };
    match args.json {
        true => output::json(&format!("{:#}\n", report.to_json()))?,
        false => output::print(&report.to_text(&output::path(&args.file)))?,
    }
    if report.passed() { Ok(()) } else { Err(Failure::Refuted) }
}

/// A release, for what goes on only with one that verifies: of a file that does not open the report is printed, as of one that fails.
pub(super) fn opened(file: &Path) -> Result<Release, Failure> {
    match Release::open(file) {
        Ok(release) => Ok(release),
        Err(e @ ReleaseError::Io(_)) => Err(output::about(file, &e)),
        Err(e) => {
            output::print(&audit::Audit::refused(&e).to_text(&output::path(file)))?;
            Err(Failure::Refuted)
        }
    }
}

/// The keys that are trusted: given ones, or those of a folder's list. What cannot be read is a mishap; a list that does not hold is an answer.
pub(super) fn trusted(
    keys: &[String],
    folder: Option<&Path>,
) -> Result<Result<Trusted, ReleaseError>, Failure> {
    let Some(folder) = folder else {
        let keys = keys.iter().map(|key| read_key(key)).collect::<Result<Vec<_>, _>>()?;
        return Ok(Trusted::given(&keys));
    };
    match Trusted::folder(folder, &super::today()) {
        Err(ReleaseError::Io(e)) => Err(no_list(folder, &e)),
        other => Ok(other),
    }
}

/// Why there is no list of keys in a folder.
pub(super) fn no_list(folder: &Path, e: &std::io::Error) -> Failure {
    let has = "a folder of keys has list.pub, keys.json and keys.json.minisig";
    Failure::Message(format!("{}: {e}: {has}", output::path(folder)))
}

/// A key given as a file or as itself.
pub(super) fn read_key(key: &str) -> Result<String, Failure> {
    if !Path::new(key).exists() && release::public_key_text(key).is_ok() {
        return Ok(key.into());
    }
    let text = crate::files::text(key.as_ref(), 1 << 16)
        .map_err(|e| Failure::Message(format!("cannot read the public key {}: {e}", visible(key))))?;
    // Whatever else is no key fails the check of the signer.
    match release::public_key_text(&text) {
        Err(_) if text.contains("secret key") => Err(Failure::Message(format!(
            "{} is a secret key: whoever checks a file has the public one, which ends with .pub",
            visible(key)
        ))),
        _ => Ok(text),
    }
}
