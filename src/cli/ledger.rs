//! `margins ledger`: the account of what has been spent on the people of a dataset, and its bound.

mod proof;

use super::export::tidy::field;
use super::output::columns;
use super::{Failure, Outcome, output, verify};
use crate::audit;
use crate::exact::Rational;
use crate::ledger::published::{Confirmed, Found, about, look, one_charge};
use crate::ledger::{self, proof::NO_HEAD};
use crate::ledger::{Bound, Chain, Charge, Ledger, LedgerError, default_path, is_hash};
use crate::make::account;
use crate::make::reserved::reserved;
use crate::plan::Neighbours;
use crate::release::trusted::Trusted;
use crate::release::{Release, ReleaseError, is_not_private_key, public_key_text};
use crate::visible::visible;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Keep a dataset's account: set its bound; show, verify, prove or export what was spent.
///
/// The default ledger of a dataset is ledger/ID.jsonl in the working folder; a spec can name another. Every release is charged before
/// its noise is drawn, and the charge stays even if the release is never finished. Lines are chained by hashes, charges are signed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  margins ledger init people --epsilon 2\n  margins ledger show people\n  \
    margins ledger verify people --pubkey agency.pub --release out/town.margins"
)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Set a bound on the cost of all releases of a dataset together
    Init(Init),
    /// Show what was spent and what is left
    Show(Show),
    /// Check the ledger's chain, signatures and bound, and that releases were charged in it
    Verify(Verify),
    Proof(proof::Args),
    /// Print the ledger: its charges as CSV, or its lines as they are
    Export(Export),
}

#[derive(clap::Args)]
#[command(
    group = clap::ArgGroup::new("bound").args(["epsilon", "rho"]).required(true),
    after_help = "Examples:\n  margins ledger init people --epsilon 2\n  margins ledger init people --rho 1/2\n  \
    margins ledger init people --epsilon 3 --delta 1e-9"
)]
struct Init {
    /// The dataset's id
    id: String,
    /// The bound as ε: pure, or at the δ of --delta
    #[arg(long, value_name = "E")]
    epsilon: Option<Rational>,
    /// The δ at which ε is the bound
    #[arg(long, value_name = "D", requires = "epsilon")]
    delta: Option<Rational>,
    /// The bound as ρ
    #[arg(long, value_name = "R")]
    rho: Option<Rational>,
    /// The ledger's file, if the specs name one [default: ledger/ID.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

#[derive(clap::Args, Default)]
#[command(after_help = "Example:\n  margins ledger show people --json")]
struct Show {
    /// The dataset's id, or the ledger's file [default: all ledgers in the folder `ledger`]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  margins ledger verify people --pubkey agency.pub --release out/town.margins\n  \
    margins ledger verify people --keys trusted --head HASH\n  \
    margins ledger verify town.proof --head HASH --release out/town.margins"
)]
struct Verify {
    /// The dataset's id, the ledger's file, or a proof of `margins ledger proof`
    id: String,
    /// The agency's public key: a .pub file, or its line of base64
    #[arg(long, value_name = "KEY")]
    pubkey: Option<String>,
    /// The folder with the list of the agency's keys, which `margins keys` makes
    #[arg(long, value_name = "DIR", conflicts_with = "pubkey")]
    keys: Option<PathBuf>,
    /// The hash of a line that was published as the ledger's head, as `margins ledger show` prints it: the ledger must have that line, and a proof must end with it
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// Releases that must have been charged in this ledger
    #[arg(long, value_name = "FILE", num_args = 1..)]
    release: Vec<PathBuf>,
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins ledger export people > people.csv")]
struct Export {
    /// The dataset's id, or the ledger's file
    id: String,
    /// Print the lines as they are, to archive or publish
    #[arg(long)]
    jsonl: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    match &args.what {
        None => show(&Show::default()),
        Some(What::Init(init)) => bind(init),
        Some(What::Show(args)) => show(args),
        Some(What::Verify(args)) => check(args),
        Some(What::Proof(args)) => proof::run(args),
        Some(What::Export(args)) => export(args),
    }
}

/// Refuses a head that can be no line's.
fn head_is_hash(head: Option<&String>) -> Result<(), Failure> {
    match head.filter(|text| !is_hash(text)) {
        None => Ok(()),
        Some(text) => Err(Failure::Message(format!(
            "`{}` is no head: a line's hash is 64 hexadecimal digits with small letters, as `margins ledger show` prints it",
            visible(text)
        ))),
    }
}

/// The file that is meant: the ledger of an id, or a file that is there or looks like one.
fn file(id: &str) -> PathBuf {
    let (path, own) = (Path::new(id), default_path(id));
    let named = id.contains(['/', '\\']) || id.ends_with(".jsonl");
    let there = !own.exists() && path.exists() && !path.is_dir();
    if named || there { path.into() } else { own }
}

/// Whose ledger the file is, where it was asked for by an id and is another's.
fn of_another(id: &str, path: &Path, chain: &Chain) -> Option<LedgerError> {
    (path == default_path(id)).then(|| ledger::of_another(chain, path, id)).flatten()
}

/// The ledger that is meant.
fn read(id: &str) -> Result<(PathBuf, Chain), Failure> {
    let path = file(id);
    let chain = Ledger::read(&path).map_err(|e| output::about(&path, &e))?;
    of_another(id, &path, &chain).map_or(Ok((path, chain)), |e| Err(Failure::Message(e.to_string())))
}

fn bind(init: &Init) -> Outcome {
    let path = init.ledger.clone().unwrap_or_else(|| default_path(&init.id));
    let bound = Bound { epsilon: init.epsilon, delta: init.delta, rho: init.rho };
    // Before a folder or a file is made.
    bound.sound().map_err(Failure::Message)?;
    if !crate::release::is_name(&init.id) {
        let id = &init.id;
        return Err(Failure::Message(format!(
            "`{id}` is no id: letters, digits, dots, - and _, a letter or digit first"
        )));
    }
    if init.id.ends_with(".jsonl") {
        return Err(Failure::Message(format!(
            "`{}` is a file, and no id: give the id, and the file with --ledger",
            init.id
        )));
    }
    reserved("the dataset's id", &init.id).map_err(|e| Failure::Message(e.to_string()))?;
    let path = account::only_one(path).map_err(super::refusal::failure)?;
    let failed = |e: LedgerError| output::about(&path, &e);
    let ledger = Ledger::at(&path, &init.id).map_err(failed)?;
    ledger.bind(bound, &super::today()).map_err(failed)?;
    let text = format!(
        "{}\nall releases of `{}` together may spend {}\nthe next charge signs this bound\n",
        output::path(&path),
        init.id,
        account::bound(&bound)
    );
    output::done(output::print(&text), "the ledger is there, with its bound")
}

/// The ledgers of the working folder.
fn all() -> Result<Vec<PathBuf>, Failure> {
    let folder = Path::new("ledger");
    let none = |why: &str| {
        Failure::Message(format!(
            "no ledger is in the folder `ledger` of this folder{why}; name one: margins ledger show ID"
        ))
    };
    let entries = std::fs::read_dir(folder).map_err(|e| none(&format!(" ({e})")))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "jsonl") && p.is_file());
    if files.is_empty() {
        return Err(none(""));
    }
    files.sort();
    Ok(files)
}

fn show(args: &Show) -> Outcome {
    let chains = match &args.id {
        Some(id) => vec![read(id)?.1],
        None => {
            let read = |path: &PathBuf| Ledger::read(path).map_err(|e| output::about(path, &e));
            all()?.iter().map(read).collect::<Result<_, _>>()?
        }
    };
    if args.json {
        let whole: Vec<_> = chains.iter().map(whole).collect();
        return output::json(&match (&args.id, &whole[..]) {
            (Some(_), [one]) => format!("{one:#}\n"),
            _ => format!("{:#}\n", json!(whole)),
        });
    }
    let texts: Vec<String> = chains.iter().map(text).collect();
    output::print(&texts.join("\n"))
}

/// An account with its lines.
fn whole(chain: &Chain) -> serde_json::Value {
    let entries = chain.lines().iter().map(|(hash, entry)| {
        let mut entry = json!(entry);
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("hash".into(), hash.as_str().into());
        }
        entry
    });
    let entries: Vec<_> = entries.collect();
    let mut value = account::json(chain);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("entries".into(), entries.into());
    }
    value
}

/// What became of each charge, by the number of its files.
fn became(chain: &Chain, charge: &str) -> String {
    chain.sealed(charge).map_or("no file".into(), |files| output::counted(files.len() as u64, "file"))
}

fn text(chain: &Chain) -> String {
    let unit = chain.charges().next().map(|(_, c)| c.unit.as_str());
    let change = match chain.spent().neighbours {
        Neighbours::AddRemove => "more or less",
        Neighbours::Substitute => "changed",
    };
    let mut out = chain.id().unwrap_or("an empty ledger").to_string();
    out.push_str(&unit.map_or("\n".into(), |unit| format!(": one {unit} {change}\n")));
    out.push_str(&account::text(chain));
    let day = |hash: &str| chain.lines().iter().find(|(h, _)| h == hash).map_or("", |(_, e)| e.day.as_str());
    let rows: Vec<Vec<String>> = chain
        .charges()
        .map(|(hash, c)| {
            let of: Vec<&str> =
                [&c.part, &c.period, &c.snapshot].into_iter().flatten().map(|t| &**t).collect();
            let part = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
            let charged = format!("{} = {}", c.currency.symbol(), output::spent(c.charged));
            vec![format!("{}{part}", c.release), day(hash).into(), charged, became(chain, hash)]
        })
        .collect();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&columns(&["release", "day", "charged", "became"], &rows));
    }
    out.push_str(&format!(
        "\n{}, chain and signatures hold; head\n{}\n",
        output::counted(chain.lines().len() as u64, "line"),
        chain.head()
    ));
    if chain.open() > 0 {
        out.push_str("a charge that became no file stays spent: its noise may have been drawn and seen\n");
    }
    out
}

/// One check: what, whether it passed (none: a note), and more.
struct Check(String, Option<bool>, String);

fn check(args: &Verify) -> Outcome {
    head_is_hash(args.head.as_ref())?;
    let path = file(&args.id);
    // A ledger is read under its lock; a proof is a text that nobody writes to. A dataset's own ledger is never one: it would have lost its first lines.
    let is_proof = |path: &Path| path != default_path(&args.id) && proof::is_proof(path);
    let (checks, kind) = match Ledger::read(&path) {
        Err(LedgerError::Io(e)) => return Err(output::about(&path, &e)),
        Err(_) if is_proof(&path) => (proof::checks(&path, args)?, "proof"),
        Err(e) => (vec![Check("ledger".into(), Some(false), e.to_string())], "ledger"),
        Ok(chain) => (whole_chain(&chain, args)?, "ledger"),
    };
    let passed = checks.iter().all(|c| c.1 != Some(false));
    if args.json {
        let outcome = |c: &Check| match c.1 {
            Some(true) => "passed",
            Some(false) => "failed",
            None => "warning",
        };
        let checks: Vec<_> =
            checks.iter().map(|c| json!({ "what": c.0, "outcome": outcome(c), "detail": c.2 })).collect();
        output::json(&format!("{:#}\n", json!({ "kind": kind, "passed": passed, "checks": checks })))?;
    } else {
        // Some are called by a file's name, which may be anything.
        let checks: Vec<_> = checks.iter().map(|c| (visible(&c.0), c.1, &c.2)).collect();
        let width = checks.iter().map(|c| c.0.chars().count()).max().unwrap_or(0);
        let mut out = format!("{}\n\n", output::path(&path));
        for (what, outcome, detail) in &checks {
            let mark = match outcome {
                Some(true) => "ok  ",
                Some(false) => "FAIL",
                None => "note",
            };
            let indent = width + 8;
            let detail = crate::audit::wrap(detail, 80usize.saturating_sub(indent).max(30), indent);
            out.push_str(&format!("{mark}  {what:<width$}  {detail}\n"));
        }
        out.push_str(match (passed, kind) {
            (true, "proof") => "\nVERIFIED: a proof of one charge, and not of what stands above it.\n",
            (true, _) => "\nVERIFIED: nothing here contradicts this ledger.\n",
            (false, "proof") => "\nVERIFICATION FAILED: this is not the proof it claims to be.\n",
            (false, _) => "\nVERIFICATION FAILED: this is not the account it claims to be.\n",
        });
        output::print(&out)?;
    }
    if passed { Ok(()) } else { Err(Failure::Refuted) }
}

/// The checks of a whole ledger.
fn whole_chain(chain: &Chain, args: &Verify) -> Result<Vec<Check>, Failure> {
    let lines = output::counted(chain.lines().len() as u64, "line");
    let (passed, detail) = match (chain.id(), of_another(&args.id, &file(&args.id), chain)) {
        (None, _) => (
            false,
            "there is no line in it: it is none yet, or what stood there is lost, its bound with it".into(),
        ),
        (_, Some(other)) => (false, other.to_string()),
        (Some(id), None) => {
            let all = "each holds the hash of the one before; every charge is signed";
            (true, format!("{lines} of the account `{id}`, {all}; head {}", chain.head()))
        }
    };
    let mut checks = vec![Check("chain".into(), Some(passed), detail)];
    let all = match chain.bound_is_signed() {
        Some(true) => "every charge, and with the first one below it the bound",
        _ => "every charge",
    };
    checks.push(signers(&chain.signed(), args, all)?);
    let (releases, sure) = charged_here(chain, args)?;
    checks.push(within(chain, &sure));
    checks.extend(parts(chain));
    checks.extend(args.head.as_ref().map(|head| match chain.line_of(head) {
        Some(line) => {
            let later = output::counted((chain.lines().len() - line) as u64, "line");
            Check("head".into(), Some(true), format!("the given head is that of line {line}; {later} later"))
        }
        None => Check("head".into(), Some(false), NO_HEAD.into()),
    }));
    checks.extend(releases);
    if args.release.is_empty() && args.head.is_none() {
        let why = "whether lines were cut off the end shows only beside a release or a published head: --release FILE, --head HASH";
        checks.push(Check("releases".into(), None, why.into()));
    }
    Ok(checks)
}

/// Whether trusted keys signed the lines, given with their keys and days, oldest first; in words, `all` of them.
fn signers(signed: &[(String, String)], args: &Verify, all: &str) -> Result<Check, Failure> {
    let check = |passed: Option<bool>, detail: String| Ok(Check("signer".into(), passed, detail));
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in signed {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    if let Some(key) = keys.iter().find(|key| is_not_private_key(key)) {
        let why =
            format!("NOT PRIVATE: {key} is the key everybody has, so anybody can have written these lines");
        return check(Some(false), why);
    }
    if let Some(folder) = &args.keys {
        return match verify::trusted(&[], Some(folder))? {
            Err(e) => check(Some(false), e.to_string()),
            Ok(trusted) => {
                let (passed, detail) = listed(signed, &trusted);
                check(passed, detail)
            }
        };
    }
    let Some(pubkey) = &args.pubkey else {
        let said = if keys.is_empty() { "nobody yet".into() } else { keys.join(", ") };
        return check(None, format!("no public key was given, so who signed is not known: {said}"));
    };
    let key = verify::read_key(pubkey)?;
    let key = public_key_text(&key).map_err(|e| Failure::Message(e.to_string()))?;
    match keys.iter().find(|k| **k != key) {
        None if keys.is_empty() => check(None, "nothing is charged, so nothing is signed".into()),
        None => check(Some(true), format!("the given public key signed {all}")),
        Some(other) => {
            check(Some(false), format!("{other} signed charges, not only the given public key {key}"))
        }
    }
}

/// Lines of keys that were revoked or replaced since hold if a line below them is signed by a key that still holds: that signature is one of all that is above it.
fn listed(signed: &[(String, String)], trusted: &Trusted) -> (Option<bool>, String) {
    if let Some((key, _)) = signed.iter().find(|(key, _)| !trusted.knows(key)) {
        return (Some(false), format!("{key} signed lines, and the list of keys does not have it"));
    }
    let last = signed.iter().rposition(|(key, day)| trusted.holds(key, day, None).is_ok());
    let after = last.map_or(0, |last| last + 1);
    match signed.get(after..) {
        Some([(key, day), ..]) => {
            let why = trusted.holds(key, day, None).err().unwrap_or_default();
            (Some(false), format!("{why}; no key that holds has signed a line below"))
        }
        _ if signed.is_empty() => (None, "nothing is charged, so nothing is signed".into()),
        _ => (Some(true), "keys of the list signed every charge, and the last line's key holds".into()),
    }
}

/// Whether what was spent is within the bound. What makes a charge count less than its amount (whom it is about, the law of its release's own loss)
/// only does where the release shows it; `sure` has the lines of those.
fn within(chain: &Chain, sure: &BTreeSet<usize>) -> Check {
    let all = chain.spent();
    let check = |passed, detail| Check("bound".into(), passed, detail);
    let unseen: Vec<usize> = chain.claiming().difference(sure).copied().collect();
    let bare = chain.spent_for_sure(sure);
    let spent = account::spent(&all, chain);
    let of_cells = |line: &usize| {
        let entry = chain.lines().get(line - 1);
        entry.and_then(|(_, e)| e.charge()).is_some_and(|c| c.cells.is_some())
    };
    let claimed = match unseen.iter().filter(|line| of_cells(line)).count() {
        0 => "the law of its noises is as the charge says, which only its release shows".to_owned(),
        n => format!(
            "{} of questions cost whom they say, which only their releases show",
            output::counted(n as u64, "charge")
        ),
    };
    let unchecked = match account::spent(&bare, chain) {
        same if unseen.is_empty() || same == spent => String::new(),
        more => format!(", if {claimed} (--release); if not, it may be {more}"),
    };
    match chain.bound() {
        None => check(None, format!("none; in all {spent}{unchecked}")),
        Some(b) if !b.holds(&all) => {
            let mixed = match b.is_mixture(&all) {
                true => {
                    "; a mixture of ρ and ε is held at one order, and there it comes to more than that, whatever it is by itself"
                }
                false => "",
            };
            check(Some(false), format!("{spent}, more than {}{mixed}", account::bound(&b)))
        }
        Some(b) if chain.bound_is_signed() == Some(false) => {
            let why = "no charge stands below the bound, so nobody has signed it: whoever writes to the ledger can have set it";
            check(None, format!("{spent}, within {}{unchecked}; {why}", account::bound(&b)))
        }
        Some(b) if b.holds(&bare) => {
            check(Some(true), format!("{}, within {}", account::spent(&bare, chain), account::bound(&b)))
        }
        Some(b) => check(None, format!("unchecked: {spent}, within {}{unchecked}", account::bound(&b))),
    }
}

/// Which parts of the people were charged: that nobody is in two of them is the agency's word.
fn parts(chain: &Chain) -> Vec<Check> {
    let named = |(by, parts): (String, BTreeSet<String>)| {
        let list = parts.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let dearest = "of each period and snapshot only the dearest counts, as the agency says that nobody is in two of them at one time";
        let said = if parts.len() == 1 {
            "one part so far".to_owned()
        } else {
            format!("{} parts; {dearest}", parts.len())
        };
        Check("parts".into(), None, format!("`{by}`: {list}: {said}"))
    };
    let mut checks: Vec<Check> = chain.parts().into_iter().map(named).collect();
    let old = chain.charges().filter(|(_, c)| c.part.is_some() && c.named_part().is_none()).count();
    if old > 0 {
        let why = format!(
            "{} of parts in other characters than ids, or of no period and snapshot, as older programs took them: one may be of any part, so each \
             counts for all people",
            output::counted(old as u64, "charge")
        );
        checks.push(Check("parts".into(), None, why));
    }
    checks
}

/// Whether releases were charged in this ledger, each by a charge of its own. Signatures are checked when they are opened.
/// Beside the checks the lines of charges that are about whom they say, which the release shows.
fn charged_here(chain: &Chain, args: &Verify) -> Result<(Vec<Check>, BTreeSet<usize>), Failure> {
    let (mut checks, mut sure) = (Vec::new(), BTreeSet::new());
    let trusted = trusted(args)?;
    let mut before: Vec<(String, Release)> = Vec::new();
    for path in &args.release {
        let what = output::plain(path);
        let release = match Release::open(path) {
            Ok(release) => release,
            Err(e) => {
                checks.push(Check(what, Some(false), e.to_string()));
                continue;
            }
        };
        let manifest = release.manifest();
        let other = before.iter().find(|(_, other)| one_charge(other.manifest(), manifest));
        let apart = before.iter().find_map(|(_, other)| other.is_measured_with(&release).err());
        // One reading gives the hash and the checks.
        let mut fault = Ok(None);
        let hash = || hash_of(&release, &mut fault);
        let (passed, detail) = match (look(chain, manifest, hash), other) {
            (Found::Not(why), _) => (false, why),
            (Found::Silent, _) => (
                false,
                "it does not say in which ledger it was charged, so nothing shows that it was charged here; files of format 1 never say it"
                    .into(),
            ),
            (Found::Charged(line) | Found::Open(line), Some((other, _))) => {
                (false, format!("it and {other} name one charge, line {line}: it pays for one of them"))
            }
            (Found::Open(line), None) => (false, open(line)),
            (Found::Charged(_), None) if apart.is_some() => (false, apart.unwrap_or_default()),
            (Found::Charged(line), None) => {
                let charge = chain.lines().get(line - 1).and_then(|(_, e)| e.charge());
                let (passed, more) = is_as_charged((fault, trusted.as_ref()), charge, &release);
                sure.extend(passed.then_some(line));
                (passed, format!("{}{more}", charged(line)))
            }
        };
        checks.push(Check(what, Some(passed), detail));
        before.push((output::path(path), release));
    }
    Ok((checks, sure))
}

/// The list of keys that is trusted, where one is given and holds. That one does not hold is said of the lines already.
fn trusted(args: &Verify) -> Result<Option<Trusted>, Failure> {
    let Some(folder) = &args.keys else { return Ok(None) };
    Ok(verify::trusted(&[], Some(folder))?.ok())
}

/// What of a release is not as it says, if anything is.
type Fault = Result<Option<crate::release::Check>, ReleaseError>;

/// The hash of a release's file, which is checked on the way.
fn hash_of(release: &Release, fault: &mut Fault) -> std::io::Result<String> {
    match audit::fault(release) {
        Ok((found, hash)) => {
            *fault = Ok(found);
            Ok(hash)
        }
        Err(e) => {
            *fault = Err(e);
            release.blake3()
        }
    }
}

/// Whether a release is what it says, a trusted key's, and about those people whom its charge is about; and more to say of it.
fn is_as_charged(
    (fault, trusted): (Fault, Option<&Trusted>),
    charge: Option<&Charge>,
    release: &Release,
) -> (bool, String) {
    match fault {
        Ok(None) => match distrusted(trusted, release) {
            Some(why) => (false, format!(", but {why}")),
            None => whom(charge, release),
        },
        Ok(Some(c)) => {
            let is =
                if c.outcome == crate::release::Outcome::Unchecked { "is not known to be" } else { "is not" };
            (false, format!(", but the file {is} what it says: {}: {}", c.what, c.detail))
        }
        Err(e) => (false, format!(", but the file cannot be checked: {e}")),
    }
}

/// Why a list of keys does not let a release hold, though a line of the ledger does.
fn distrusted(trusted: Option<&Trusted>, release: &Release) -> Option<String> {
    let (trusted, manifest) = (trusted?, release.manifest());
    match release.blake3() {
        Ok(hash) => trusted.holds(&manifest.signer.public_key, &manifest.created, Some(&hash)).err(),
        Err(e) => Some(format!("the file cannot be read: {e}")),
    }
}

/// Whether a charge is about those people whom its release is about; and more to say of it.
fn whom(charge: Option<&Charge>, release: &Release) -> (bool, String) {
    match charge.map(|c| about(c, release)) {
        Some(Confirmed::Same) => (true, "; whom it costs how much was derived again".into()),
        Some(Confirmed::Not(why)) => (false, format!(", but {why}")),
        Some(Confirmed::Everybody) | None => (true, String::new()),
    }
}

/// What is said of a release whose charge became it.
fn charged(line: usize) -> String {
    format!("charged in line {line}, and what came of that charge is this file")
}

/// What is said of a release whose charge nothing closes.
fn open(line: usize) -> String {
    format!(
        "what it names was charged in line {line}, but no line says that this file came of it: a run was killed just then, or the \
         line that says so was cut off. Another file may have come of the charge as well"
    )
}

fn export(args: &Export) -> Outcome {
    let (path, chain) = read(&args.id)?;
    if args.jsonl {
        let text =
            crate::files::text(&path, crate::ledger::MAX_LEDGER).map_err(|e| output::about(&path, &e))?;
        return output::data(&text);
    }
    let mut out =
        "line,day,release,unit,unit_of,part,period,snapshot,neighbours,currency,charged,files,signer,hash\r\n"
            .to_owned();
    for (i, (hash, entry)) in chain.lines().iter().enumerate() {
        let Some(c) = entry.charge() else { continue };
        let name = |v: serde_json::Value| v.as_str().unwrap_or_default().to_owned();
        let fields = [
            (i + 1).to_string(),
            entry.day.clone(),
            c.release.clone(),
            field(&c.unit),
            c.unit_of.to_string(),
            field(c.part.as_deref().unwrap_or_default()),
            field(c.period.as_deref().unwrap_or_default()),
            field(c.snapshot.as_deref().unwrap_or_default()),
            name(json!(c.neighbours)),
            name(json!(c.currency)),
            c.charged.to_string(),
            became(&chain, hash).split(' ').next().unwrap_or("").replace("no", "0"),
            entry.signer.clone().unwrap_or_default(),
            hash.clone(),
        ];
        out.push_str(&fields.join(","));
        out.push_str("\r\n");
    }
    output::data(&out)
}
