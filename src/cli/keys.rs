//! `margins keys`: the signed list of an agency's keys.

use super::{Failure, Outcome, output, signing, verify};
use crate::release::trusted::{KeyList, ListedKey, Trusted};
use crate::release::{self, Release, ReleaseError, is_day, public_key_text};
use std::io;
use std::path::PathBuf;

/// Make, change or show the signed list of an agency's keys.
///
/// The folder has keys.json, its signature, and list.pub: the key that signs lists, which readers trust. Keep its secret half away from the machine that
/// releases. `margins verify --keys DIR` and `margins ledger verify --keys DIR` honour the list. Without --key the list is shown.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  margins keys trusted --key list.key --until 2027-12-31 --add agency.pub\n  \
    margins keys trusted --key list.key --add new.pub --retire agency.pub\n  \
    margins keys trusted --key list.key --revoke new.pub --still a.margins\n  margins keys trusted"
)]
pub(super) struct Args {
    /// The folder with the list
    folder: PathBuf,
    /// The secret key that signs lists
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The last day on which this list tells what holds: YYYY-MM-DD
    #[arg(long, value_name = "DAY", requires = "key")]
    until: Option<String>,
    /// Keys that may sign
    #[arg(long, value_name = "KEY", num_args = 1.., requires = "key")]
    add: Vec<String>,
    /// Keys that are replaced: what they signed until today holds
    #[arg(long, value_name = "KEY", num_args = 1.., requires = "key")]
    retire: Vec<String>,
    /// A key that somebody else may have: nothing that it signed holds
    #[arg(long, value_name = "KEY", requires = "key")]
    revoke: Option<String>,
    /// Releases of the revoked key that hold all the same
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "revoke")]
    still: Vec<PathBuf>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let about = |e: ReleaseError| match e {
        ReleaseError::Io(e) => verify::no_list(&args.folder, &e),
        e => output::about(&args.folder, &e),
    };
    let Some(path) = &args.key else {
        let (list, owner) = KeyList::read(&args.folder).map_err(about)?;
        return output::print(&shown(&list, &owner));
    };
    let read = || match KeyList::read(&args.folder) {
        Err(ReleaseError::Io(e)) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(about),
    };
    // Who lost the list has lost what it revoked, and a new one would let those keys sign again.
    let (there, left) = {
        let _locked = crate::files::locked(&args.folder);
        let files = ["list.pub", "keys.json"].map(|name| args.folder.join(name));
        (read()?, files.into_iter().find(|path| path.symlink_metadata().is_ok()))
    };
    if let Some(left) = left.filter(|_| there.is_none()) {
        return Err(Failure::Message(format!(
            "{0} is there, and the list is not whole. Put list.pub, keys.json and its signature back: a new list would not know what the old one revoked. If \
             there never was one, delete {0}",
            output::path(&left)
        )));
    }
    let key = signing::key(path)?;
    if let Some((_, owner)) = there.as_ref().filter(|(_, owner)| *owner != key.public_key()) {
        return Err(Failure::Message(format!("{owner} signs this list, not {}", key.public_key())));
    }
    let mut list = match (there.clone(), &args.until) {
        (Some((list, _)), until) => KeyList { until: until.clone().unwrap_or(list.until.clone()), ..list },
        (None, Some(until)) => KeyList { format: 1, until: until.clone(), keys: Vec::new() },
        (None, None) => {
            return Err(Failure::Message(
                "a new list says until when it tells what holds: --until YYYY-MM-DD".into(),
            ));
        }
    };
    if !is_day(&list.until) {
        return Err(Failure::Message(format!(
            "`{}` is no day: YYYY-MM-DD",
            crate::visible::visible(&list.until)
        )));
    }
    if list.until < super::today() {
        output::warn("note: the last day of this list is past: it fails for whoever reads it");
    }
    change(&mut list, args)?;
    list.sound(&key.public_key()).map_err(Failure::Message)?;
    crate::files::folders(&args.folder).map_err(|e| output::about(&args.folder, &e))?;
    let _locked = crate::files::locked(&args.folder).map_err(|e| output::about(&args.folder, &e))?;
    if read()? != there {
        return Err(Failure::Message("another command has just changed the list: run this one again".into()));
    }
    list.write(&args.folder, &key).map_err(|e| unwritten(args, &list, &e))?;
    output::done(output::print(&shown(&list, &key.public_key())), "the new list is there, and signed")
}

/// Why a list is not written, and which one is there.
fn unwritten(args: &Args, list: &KeyList, why: &ReleaseError) -> Failure {
    let stands = match KeyList::read(&args.folder) {
        Ok((there, _)) if there == *list => {
            "the new list is there, but not finished. Before you publish it, sign it again: the same command with --key alone"
        }
        Ok(_) => "the list that was there is as it was",
        Err(_) => "no list can be read there",
    };
    let why = match why {
        ReleaseError::Io(e) => e.to_string(),
        other => other.to_string(),
    };
    Failure::Message(format!("cannot write {}: {why}\n{stands}", output::path(&args.folder)))
}

/// What the options say of keys.
fn change(list: &mut KeyList, args: &Args) -> Outcome {
    let key = |text: &str| -> Result<String, Failure> { Ok(public_key_text(&verify::read_key(text)?)?) };
    for text in &args.add {
        list.keys.push(ListedKey::new(key(text)?));
    }
    for text in &args.retire {
        let listed = listed(list, &key(text)?)?;
        listed.until.get_or_insert_with(super::today);
    }
    if let Some(text) = &args.revoke {
        let listed = listed(list, &key(text)?)?;
        listed.revoked.get_or_insert_with(super::today);
        for path in &args.still {
            let release = Release::open(path).map_err(|e| output::about(path, &e))?;
            let (signed, _) = Trusted::given(std::slice::from_ref(&listed.key))?.signatures(&release)?;
            if signed.is_empty() {
                return Err(Failure::Message(format!("{} did not sign {}", listed.key, output::path(path))));
            }
            let found = release.verify_all(None)?;
            let damaged = |c: &&release::Check| {
                c.outcome == release::Outcome::Failed && !["signer", "privacy"].contains(&c.what.as_str())
            };
            if let Some(c) = found.checks.iter().find(damaged) {
                let path = output::path(path);
                return Err(Failure::Message(format!(
                    "{path} is not what was signed: {}: {}",
                    c.what, c.detail
                )));
            }
            if !listed.still.contains(&found.file_blake3) {
                listed.still.push(found.file_blake3);
            }
        }
    }
    Ok(())
}

fn listed<'a>(list: &'a mut KeyList, key: &str) -> Result<&'a mut ListedKey, Failure> {
    let found = list.keys.iter_mut().find(|listed| listed.key == key);
    found.ok_or_else(|| Failure::Message(format!("{key} is not in the list")))
}

fn shown(list: &KeyList, owner: &str) -> String {
    let past = if list.until < super::today() { ", which is past: get a newer one" } else { "" };
    let mut out = format!("list signed by {owner}\ntells until    {}{past}\n", list.until);
    for listed in &list.keys {
        let said = match (&listed.revoked, &listed.until) {
            (Some(since), _) if listed.still.is_empty() => format!("revoked on {since}"),
            (Some(since), _) => {
                let files = output::counted(listed.still.len() as u64, "file");
                format!("revoked on {since}; of what it signed there is {files} that holds")
            }
            (None, Some(until)) => format!("replaced: signed until {until}"),
            (None, None) => "may sign".into(),
        };
        out.push_str(&format!("\n{}\n  {said}\n", listed.key));
    }
    out
}
