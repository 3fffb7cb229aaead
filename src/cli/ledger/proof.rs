//! `margins ledger proof`, and what `margins ledger verify` says of one.

use super::{
    Check, Failure, Outcome, Path, PathBuf, Verify, charged, file, hash_of, head_is_hash, is_as_charged,
    of_another, open, output, signers, trusted,
};
use crate::ledger::proof;
use crate::ledger::published::{Found, became};
use crate::ledger::{Chain, MAX_LEDGER};
use crate::release::Release;

/// Print the lines that lead from a release's charge to a published head.
///
/// Each line holds the hash of the one before. So who has the release and the head trusts nobody for what is between: the charge stands in the ledger of that head.
/// `margins ledger verify` checks it.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins ledger proof people --release out/town.margins > town.proof\n  \
    margins ledger verify town.proof --head HASH --release out/town.margins")]
pub(super) struct Args {
    /// The dataset's id, or the ledger's file
    id: String,
    /// The release whose charge it proves
    #[arg(long, value_name = "FILE")]
    release: PathBuf,
    /// The head that was published [default: that of the last line]
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
}

fn bytes(path: &Path) -> Result<String, Failure> {
    crate::files::text(path, MAX_LEDGER).map_err(|e| output::about(path, &e))
}

pub(super) fn run(args: &Args) -> Outcome {
    head_is_hash(args.head.as_ref())?;
    let path = file(&args.id);
    let text = bytes(&path)?;
    let chain = Chain::of(text.as_bytes()).map_err(|e| output::about(&path, &e))?;
    if let Some(other) = of_another(&args.id, &path, &chain) {
        return Err(Failure::Message(other.to_string()));
    }
    let release = Release::open(&args.release).map_err(|e| output::about(&args.release, &e))?;
    let lines = proof::of(&chain, text.as_bytes(), release.manifest(), args.head.as_deref())
        .map_err(|why| Failure::Message(format!("{}: {why}", output::path(&args.release))))?;
    output::data(&String::from_utf8_lossy(&lines))
}

/// Whether a file begins as a proof does.
pub(super) fn is_proof(path: &Path) -> bool {
    bytes(path).is_ok_and(|text| proof::is_proof(text.as_bytes()))
}

/// The checks of a proof.
pub(super) fn checks(path: &Path, args: &Verify) -> Result<Vec<Check>, Failure> {
    let [file] = &args.release[..] else {
        return Err(Failure::Message(
            "a proof is of one release, which names the hash of its first line: --release FILE".into(),
        ));
    };
    let release = Release::open(file).map_err(|e| output::about(file, &e))?;
    let manifest = release.manifest();
    let proof = match proof::read(bytes(path)?.as_bytes(), manifest) {
        Err(why) => return Ok(vec![Check("proof".into(), Some(false), why)]),
        Ok(proof) => proof,
    };
    let later = output::counted(proof.later as u64, "line");
    let detail = format!(
        "the release's charge, and {later} below it, each holds the hash of the one before; head {}",
        proof.head
    );
    let all = "the charge, and every line below it that is signed";
    let mut checks = vec![Check("chain".into(), Some(true), detail), signers(&proof.signed, args, all)?];
    checks.push(match &args.head {
        Some(head) if *head == proof.head => {
            Check("head".into(), Some(true), "the last line's hash is the given head".into())
        }
        Some(_) => Check("head".into(), Some(false), "the last line has another hash: lines are missing at the end, or it is the head of another ledger".into()),
        None => {
            let why = "a proof shows something only beside a head that was published: --head HASH";
            Check("head".into(), Some(false), why.into())
        }
    });
    // One reading gives the hash and the checks.
    let mut fault = Ok(None);
    let hash = || hash_of(&release, &mut fault);
    let (passed, detail) = match became(proof.line as usize, proof.files.as_deref(), manifest, hash) {
        Found::Charged(line) => {
            let (passed, more) =
                is_as_charged((fault, trusted(args)?.as_ref()), proof.charge.as_ref(), &release);
            (passed, format!("{}{more}", charged(line)))
        }
        Found::Open(line) => (false, open(line)),
        Found::Not(why) => (false, why),
        Found::Silent => (false, "it names no account".into()),
    };
    checks.push(Check(output::plain(file), Some(passed), detail));
    let why = "what was spent in all stands above the charge, too: only the whole ledger shows it";
    checks.push(Check("bound".into(), None, why.into()));
    Ok(checks)
}
