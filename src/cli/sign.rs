//! `margins sign`: the second person's signature of a release.

use super::{Failure, Outcome, output, signing};
use crate::audit;
use crate::release::trusted::{Trusted, further_paths};
use crate::release::{Release, ReleaseError};
use crate::watch::Watch;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Sign a release as a second person.
///
/// The release is verified first, and signed only if it is VERIFIED. The signature of all its bytes is written beside it, as FILE.2.minisig or the next
/// number that is free. `margins verify --require 2` counts it, and stock minisign reads it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins sign out/town.margins --key second.key\n  margins verify out/town.margins --keys trusted --require 2"
)]
pub(super) struct Args {
    /// The release
    file: PathBuf,
    /// Your secret key: not the one that the release was made with
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let about = |e: ReleaseError| output::about(&args.file, &e);
    let release = Release::open(&args.file).map_err(about)?.watched(watch);
    let report = audit::audit(&release, None).map_err(about)?;
    if !report.passed() {
        return Err(Failure::Message(format!(
            "nothing is signed: margins verify {} says\n{}",
            output::path(&args.file),
            report.last_word()
        )));
    }
    let key = signing::key(&args.key)?;
    let (signed, _) = Trusted::given(&[key.public_key()])?.signatures(&release)?;
    if !signed.is_empty() {
        return Err(Failure::Message(format!(
            "{} has signed this release already, and counts once",
            key.public_key()
        )));
    }
    let manifest = release.manifest();
    let comment = format!("margins release {}, blake3 {}", manifest.about.name, report.blake3);
    let text = key.sign(crate::files::open(&args.file)?, &comment)?;
    // What was verified is what was signed: the name may have changed hands meanwhile.
    if !Trusted::given(&[key.public_key()])?.signs(&release, &text)? {
        return Err(Failure::Message(format!(
            "{} has just changed: nothing is signed",
            output::path(&args.file)
        )));
    }
    let path = watch.whole(|| named(&args.file, &text))?;
    let wrote = output::path(&path);
    let text = format!("blake3    {}\nsigned    by {}\nwrote     {wrote}\n", report.blake3, key.public_key());
    output::done(output::print(&text), &format!("the release is signed: {wrote}"))
}

/// Writes the signature under the first number that is free. Somebody else may be signing just now: nobody's signature is replaced.
fn named(file: &Path, text: &str) -> Result<PathBuf, Failure> {
    for path in further_paths(file) {
        match crate::files::write_new(&path, text, false) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|()| path.clone()).map_err(|e| output::cannot_write(&path, &e)),
        }
    }
    Err(Failure::Message("all eight names beside this release are taken, and no more are read: `margins verify --require` lists those that are no signature of it; delete them".into()))
}
