//! `margins keygen`: a key pair in minisign's own format.

use super::{Failure, Outcome, output};
use crate::release::keys;
use crate::watch::Watch;
use std::io::IsTerminal;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Make a key pair for signing releases.
///
/// Writes the secret key (keep it secret) and, beside it, the public key with the ending .pub (publish it). Both
/// have minisign's formats. The secret key is encrypted with a passphrase that you type on the terminal.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins keygen --out agency.key\n  margins release survey.toml --key agency.key"
)]
pub(super) struct Args {
    /// The file for the secret key
    #[arg(long, value_name = "FILE", default_value = "agency.key")]
    out: PathBuf,
    /// Do not encrypt the secret key (for automation)
    #[arg(long)]
    no_passphrase: bool,
    /// Print JSON: the files' names
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, watch: &Watch) -> Outcome {
    let passphrase = if args.no_passphrase { None } else { Some(ask_new()?) };
    let public = args.out.with_extension("pub");
    let texts = keys::keygen(passphrase.as_ref().map(|p| p.as_str()))?;
    watch.whole(|| texts.write(&args.out, &public))?;
    let done = |printed| output::done(printed, "both keys are made and whole");
    if args.json {
        let files = serde_json::json!({ "secret_key": args.out.display().to_string(), "public_key": public.display().to_string() });
        return done(output::json(&(files.to_string() + "\n")));
    }
    done(output::print(&format!(
        "secret key  {}  keep it secret; without it nobody can sign as you\npublic key  {}  publish it\n\nSign a release:   margins release SPEC --key {}\nCheck a release:  margins verify FILE --pubkey {}\n",
        output::path(&args.out),
        output::path(&public),
        output::word(&output::path(&args.out)),
        output::word(&output::path(&public))
    )))
}

fn ask_new() -> Result<Zeroizing<String>, Failure> {
    let first = ask("Passphrase for the new key: ")?;
    if first.is_empty() {
        return Err(Failure::Message(
            "an empty passphrase protects nothing; --no-passphrase says so openly".into(),
        ));
    }
    if ask("The same again: ")? != first {
        return Err(Failure::Message("the two passphrases differ".into()));
    }
    Ok(first)
}

/// Asks for a passphrase without showing it.
/// The text is wiped from memory when it is dropped.
pub(super) fn ask(prompt: &str) -> Result<Zeroizing<String>, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Message(
            "a passphrase is asked for on a terminal, and there is none; for automation use a key made with --no-passphrase".into(),
        ));
    }
    rpassword::prompt_password(prompt).map(Zeroizing::new).map_err(|e| {
        if e.kind() == std::io::ErrorKind::Interrupted {
            output::say("\ninterrupted: nothing was charged, signed or written");
            std::process::exit(130);
        }
        Failure::Message(format!("cannot read the passphrase: {e}"))
    })
}
