//! What an account holds, in words and as JSON.

use super::MakeError;
use super::words::{decimals, word};
use crate::exact::Rational;
use crate::ledger::published::{Found, look};
use crate::ledger::{
    Bound, Chain, Charge, Exact, Ledger, LedgerError, Spent, default_path,
    spent::{exact, rational},
};
use crate::plan::Neighbours;
use crate::price::price;
use crate::release::parts::folded;
use crate::release::{Currency, Release, ReleaseError, claims};
use crate::spec::{AccountSpec, Spec};
use crate::visible::visible;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// A path, in one line: anything can be in a file's name.
fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// The ledger of a spec: the one it names, or the one that is given, or `ledger/ID.jsonl`.
pub(crate) fn file(spec: &Spec, given: Option<&Path>) -> Result<PathBuf, MakeError> {
    let same = |a: &Path, b: &Path| {
        a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    };
    match (&spec.account.ledger, given) {
        (Some(own), Some(given)) if !same(own, given) => Err(MakeError::Wrong(format!(
            "the spec names its ledger, {}: there is no other for these people",
            shown(own)
        ))),
        (Some(own), _) => only_one(own.clone()),
        (None, Some(given)) => only_one(given.into()),
        (None, None) => only_one(default_path(&spec.account_name().id)),
    }
}

/// Whether two names are of one part of the people, or both of none. What is no name of a part today is only the same as itself.
pub(crate) fn same_part(a: Option<&str>, b: Option<&str>) -> bool {
    let name = |part: Option<&str>| part.map(|p| folded(p).ok_or(p.to_owned()));
    name(a) == name(b)
}

/// Refuses to begin a ledger beside one whose name differs by capitals alone: these people would have two, each with a bound of its own, and on some disks one.
pub(crate) fn only_one(path: PathBuf) -> Result<PathBuf, MakeError> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    let mut there = std::fs::read_dir(folder).into_iter().flatten().flatten();
    match there.find(|other| other.file_name() != name && other.file_name().eq_ignore_ascii_case(name)) {
        Some(other) if !path.exists() => Err(MakeError::Wrong(format!(
            "{} is there: of two ids that differ by capitals alone one is a slip, and these people would have two ledgers",
            shown(&other.path())
        ))),
        _ => Ok(path),
    }
}

/// Ledgers were once kept beside releases, without a dataset. What they charged is in no account of today.
pub(crate) fn not_forgotten(out: &Path) -> Option<String> {
    let old = out.join("ledger.jsonl");
    let Err(LedgerError::FirstKind) = Ledger::read(&old) else { return None };
    Some(format!(
        "warning: {} is a ledger of the first kind: what it charged is not counted any more. Set a bound that is lower \
         by that, and move it to your records",
        shown(&old)
    ))
}

/// The files in a folder that have the name of a release, by their names; none where there is no folder. Where the disk fails they are not known.
pub(crate) fn files(out: &Path) -> Result<Vec<PathBuf>, MakeError> {
    let mut files = Vec::new();
    for entry in readable(out, std::fs::read_dir(out))?.into_iter().flatten() {
        files.extend(readable(out, entry)?.map(|entry| entry.path()));
    }
    // Of what cannot be looked at it is said when it is opened.
    let is_file = |p: &PathBuf| p.metadata().map_or(true, |found| found.is_file());
    files.retain(|p| p.extension().is_some_and(|e| e == "margins") && is_file(p));
    files.sort();
    Ok(files)
}

/// What was read; nothing of what is not there. Of what is there and cannot be read nobody knows what it cost, which is no reason to spend.
pub(crate) fn readable<T>(path: &Path, read: io::Result<T>) -> Result<Option<T>, MakeError> {
    match read {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(unknown(path, &e)),
        Ok(read) => Ok(Some(read)),
    }
}

fn unknown(path: &Path, why: &dyn std::fmt::Display) -> MakeError {
    MakeError::Wrong(format!(
        "{} cannot be read: {why}. What it cost is not known: get it again from where it was copied to, or move it elsewhere if it is no release of these people",
        shown(path)
    ))
}

/// A release, if it is still there. Files have such a name only once they are whole, so one that does not open was changed.
pub(crate) fn opened(file: &Path) -> Result<Option<Release>, MakeError> {
    match Release::open(file) {
        Err(ReleaseError::Io(e)) => readable(file, Err(e)),
        Err(e) => Err(unknown(file, &e)),
        Ok(release) => Ok(Some(release)),
    }
}

/// The releases in a folder that say they were charged to this account, and were not in this ledger: it was cut, or it is another one. With
/// why. The ledger is read after the files are opened: what is charged and sealed meanwhile is none of them.
pub(crate) fn elsewhere(out: &Path, ledger: &Path, id: &str) -> Result<Vec<(PathBuf, String)>, MakeError> {
    let mut releases = Vec::new();
    for file in files(out)? {
        releases.extend(opened(&file)?.map(|release| (file, release)));
    }
    // What cannot be read is refused where it is charged.
    let Ok(chain) = Ledger::at(ledger, id).and_then(|l| l.chain()) else { return Ok(Vec::new()) };
    let not = |(file, release): (PathBuf, Release)| {
        let own = release.manifest().account.as_ref()?;
        match look(&chain, release.manifest(), || release.blake3()) {
            Found::Not(why) if own.name.id == id => Some((file, why)),
            _ => None,
        }
    };
    Ok(releases.into_iter().filter_map(not).collect())
}

/// Refuses to charge a ledger that has a bound, or for what adds to another release, while a release of these people is out that it does not hold: the bound is
/// of all of them.
pub(crate) fn all_charged(out: &Path, ledger: &Path, id: &str, extends: bool) -> Result<(), MakeError> {
    let chain = Ledger::at(ledger, id).and_then(|l| l.chain()).map_err(|e| MakeError::about(ledger, &e))?;
    let has_bound = chain.bound().is_some();
    if !has_bound && !extends {
        return Ok(());
    }
    let Some((file, why)) = elsewhere(out, ledger, id)?.into_iter().next() else { return Ok(()) };
    Err(MakeError::Wrong(format!(
        "{} was charged to the account `{id}`, but not in {}{}: {why}. Nothing is spent before that is cleared up: \
         put back the ledger that was charged (margins ledger verify {id} --release {})",
        shown(&file),
        shown(ledger),
        if has_bound { ", which has a bound" } else { "" },
        word(&shown(&file)),
    )))
}

/// Refuses to build on a release that says it was charged to this account, and was not in this ledger.
pub(crate) fn charged(file: &Path, ledger: &Path, spec: &Spec) -> Result<(), MakeError> {
    let chain = Ledger::at(ledger, &spec.account_name().id).and_then(|l| l.chain());
    let (chain, release) = (
        chain.map_err(|e| MakeError::about(ledger, &e))?,
        Release::open(file).map_err(|e| MakeError::about(file, &e))?,
    );
    match look(&chain, release.manifest(), || release.blake3()) {
        Found::Not(why) => Err(MakeError::Wrong(format!(
            "{} cannot be extended: {why}. Both together must be within one bound: margins ledger verify",
            shown(file)
        ))),
        Found::Charged(_) | Found::Open(_) | Found::Silent => Ok(()),
    }
}

/// Remarks on a part of the people that the ledger has not charged before: it may be one that it has, under another name.
pub(crate) fn remark(chain: &Chain, account: &AccountSpec) -> Option<String> {
    let (by, is) = account.part.as_deref().and_then(folded)?;
    // Whom the ledger protects may be more than one of whom the release counts.
    let whole = account
        .unit
        .as_deref()
        .map_or(String::new(), |unit| format!(", no `{}` may be divided between two", visible(unit)));
    let known = chain.parts().remove(&by).unwrap_or_default();
    if known.contains(&is) {
        return None;
    }
    let others: Vec<String> = known.into_iter().map(|other| format!("`{by}={other}`")).collect();
    let beside = match others.is_empty() {
        true => format!("the first part of `{by}` in this ledger"),
        false => format!("new in this ledger, beside {}", others.join(", ")),
    };
    Some(format!(
        "note: `{by}={is}` is {beside}. Of different parts of one period and snapshot only the dearest counts: nobody may then be in two{whole}, and whoever was charged before under \
         another name is charged too little"
    ))
}

/// What is said where the name of a release is taken, and the ledger has a charge for it that nothing closes: the run of that charge was stopped between its files.
pub(super) fn unfinished(ledger: &Path, name: &str) -> Option<String> {
    let chain = Ledger::read(ledger).ok()?;
    let open =
        chain.charges().filter(|(hash, c)| c.release == name && chain.sealed(hash).is_none()).last()?;
    let line = chain.line_of(open.0)?;
    Some(format!(
        "note: line {line} of the ledger is a charge for {name} that no line closes: a run was stopped. A file of it that is there is whole, though \
         `margins ledger verify` cannot say that it came of that charge; a copy that is not there is lost, and --replace charges again for all"
    ))
}

/// The δ at which ε is stated: the bound's own, or one in a billion.
fn delta(chain: &Chain) -> Option<Rational> {
    chain.bound().and_then(|b| b.delta()).or_else(claims::default_delta)
}

/// ε at δ as decimal text, rounded up.
fn approximate(spent: &Spent, delta: Rational) -> Option<String> {
    Some(written(&spent.epsilon_at(delta)?))
}

/// As decimal text, rounded up.
fn written(epsilon: &Exact) -> String {
    let near = epsilon.to_f64().value();
    let text = claims::decimals_up(near);
    // To the nearest double may be down.
    let is_above = text.parse().is_ok_and(|t: Rational| exact(t) >= *epsilon);
    if is_above { text } else { claims::decimals_up(near.next_up()) }
}

/// An amount as people read it: a short ratio, or decimals.
pub(crate) fn amount(r: Rational) -> String {
    let text = r.shown();
    if text.len() <= 7 { text } else { decimals(r) }
}

/// The same of any length.
fn long(x: &Exact) -> String {
    rational(x).map_or_else(|| price(x.to_f64().value()), amount)
}

/// What has been spent in all: in pure ε where there is one, in ρ, and in ε at δ.
pub(crate) fn spent(spent: &Spent, chain: &Chain) -> String {
    let pure = spent.epsilon.as_ref().filter(|_| !spent.is_nothing());
    let pure = pure.map_or(String::new(), |e| format!("ε = {}, pure; ", long(e)));
    let at = delta(chain).and_then(|d| Some((approximate(spent, d)?, d)));
    let at = at.map_or(String::new(), |(e, d)| format!(", which is ε = {e} at δ = {}", d.shown()));
    format!("{pure}ρ = {}{at}", long(&spent.rho))
}

/// A bound.
pub(crate) fn bound(bound: &Bound) -> String {
    match (bound.epsilon, bound.delta, bound.rho) {
        (Some(e), None, _) => format!("ε = {}, pure", e.shown()),
        (Some(e), Some(d), _) => format!("ε = {} at δ = {}", e.shown(), d.shown()),
        (None, _, Some(r)) => format!("ρ = {}", r.shown()),
        (None, _, None) => "none".into(),
    }
}

/// The most that may still be charged, in the currency of the bound: of one in (ε, δ) in ρ.
pub(crate) fn left(chain: &Chain) -> Option<(Currency, Rational)> {
    let bound = chain.bound()?;
    let currency =
        if bound.epsilon.is_some() && bound.delta.is_none() { Currency::Epsilon } else { Currency::Rho };
    Some((currency, left_in(chain, currency)?))
}

/// Of a bound in (ε, δ) the most that may still be charged in pure ε: there may be room for that where there is hardly any for ρ.
fn left_pure(chain: &Chain) -> Option<Rational> {
    chain.bound()?.delta()?;
    left_in(chain, Currency::Epsilon).filter(|epsilon| !epsilon.is_zero())
}

/// The most that a charge about everybody may be in this currency.
fn left_in(chain: &Chain, currency: Currency) -> Option<Rational> {
    chain.left(&like(chain.spent().neighbours, currency))
}

/// A charge of nothing about everybody.
fn like(neighbours: Neighbours, currency: Currency) -> Charge {
    Charge {
        release: "next".into(),
        spec_blake3: String::new(),
        unit: String::new(),
        of: None,
        unit_of: 1,
        neighbours,
        part: None,
        period: None,
        snapshot: None,
        currency,
        charged: Rational::ZERO,
        invariants: Vec::new(),
        alone: None,
        cells: None,
        nonce: None,
    }
}

/// Of an account with a single release that is counted by the law of its own loss: as which ε it will count beside a second. None where ρ converts to less than
/// that law says, as where it is about a smaller δ: then ρ is what counts already.
fn with_another(chain: &Chain) -> Option<String> {
    let (spent, delta) = (chain.spent(), delta(chain)?);
    let (alone, added_up) = (exact(spent.alone_at(delta)?), spent.added_up_at(delta)?);
    (alone < added_up).then(|| written(&added_up))
}

/// Of an account with questions about different people: what the charges come to if they are simply added up.
fn added_up(chain: &Chain) -> Option<Spent> {
    let simply = chain.spent_for_sure(&BTreeSet::new());
    // What a release is by its own law is told beside.
    let amounts = |spent: &Spent| (spent.rho.clone(), spent.epsilon.clone());
    (amounts(&simply) != amounts(&chain.spent())).then_some(simply)
}

/// The lines about an account after a charge.
pub(crate) fn text(chain: &Chain) -> String {
    let id = chain.id().unwrap_or("ID");
    let lines = |spent: &Spent| self::spent(spent, chain).replace("; ", "\n          ");
    let mut out = format!("in all    {}\n", lines(&chain.spent()));
    if let Some(added_up) = added_up(chain) {
        out.push_str("          the most anyone has spent: not all charges are about everybody\n");
        out.push_str(&format!("charges   {}\n", lines(&added_up)));
    }
    if let Some(epsilon) = with_another(chain) {
        let why = format!(
            "by the exact law that its charge names (which ledger verify --release checks) while it is the only release: with another one ρ adds up, and it counts as ε = {epsilon}"
        );
        out.push_str(&format!("          {}\n", crate::audit::wrap(&why, 70, 10)));
    }
    match (chain.bound(), left(chain)) {
        (Some(b), Some((currency, left))) => {
            let rest = format!("{} = {}", currency.symbol(), amount(left));
            let pure = left_pure(chain).map_or(String::new(), |e| format!(", or ε = {}, pure", amount(e)));
            let text = format!("{}; {rest} is left{pure}", bound(&b));
            out.push_str(&format!("bound     {}\n", crate::audit::wrap(&text, 70, 10)));
        }
        _ => {
            let pure = chain.spent().epsilon.is_some();
            let option = if pure { "--epsilon" } else { "--rho" };
            out.push_str(&format!("bound     none; set one: margins ledger init {id} {option} …\n"));
        }
    }
    out
}

/// All of an account but its lines.
pub(crate) fn json(chain: &Chain) -> Value {
    let spent = chain.spent();
    let delta = delta(chain);
    let approximate = delta.and_then(|d| Some(json!({ "epsilon": approximate(&spent, d)?, "delta": d })));
    json!({
        "id": chain.id(),
        "unit": chain.charges().next().map(|(_, c)| &c.unit),
        "neighbours": spent.neighbours,
        "bound": chain.bound(),
        "spent": {
            "epsilon": spent.epsilon.as_ref().map(ToString::to_string),
            "rho": spent.rho.to_string(),
            "approximate": approximate,
            "with_another": with_another(chain),
        },
        "added_up": added_up(chain).map(|simply| json!({
            "epsilon": simply.epsilon.as_ref().map(ToString::to_string),
            "rho": simply.rho.to_string(),
        })),
        "left": left(chain).map(|(currency, amount)| json!({ "currency": currency, "amount": amount })),
        "head": chain.head(),
        "open": chain.open(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Alone;
    use crate::release::SigningKey;
    use crate::release::keys::keygen;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    /// An account with this bound, and one charge, or none.
    fn account(epsilon: &str, delta: &str, charged: Option<(Currency, &str, Option<Alone>)>) -> Chain {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(folder.path().join("people.jsonl"), "people").unwrap();
        let (epsilon, delta) = (Some(r(epsilon)), Some(r(delta)));
        ledger.bind(Bound { epsilon, delta, rho: None }, "2026-01-31").unwrap();
        if let Some((currency, amount, alone)) = charged {
            let own = like(Neighbours::AddRemove, currency);
            let (spec_blake3, charged) = ("a".repeat(64), r(amount));
            let charge =
                Charge { release: "one".into(), spec_blake3, unit: "row".into(), charged, alone, ..own };
            let key = SigningKey::from_text(&keygen(None).unwrap().secret, None).unwrap();
            ledger.charge(charge, &key, "2026-01-31").unwrap();
        }
        ledger.chain().unwrap()
    }

    /// What ρ of a release for ε = 1 at δ = 1e-9 converts to at a larger δ is less than its law says: no word is of that law.
    #[test]
    fn a_law_that_says_more_is_not_told() {
        let alone = Some(Alone { epsilon: r("1"), delta: r("1e-9") });
        let release = Some((Currency::Rho, "1165124397131/70368744177664", alone));
        let (by_law, by_rho) = (account("1", "1e-9", release), account("1", "1e-6", release));
        assert!(text(&by_law).contains("by the exact law"), "{}", text(&by_law));
        assert_eq!(json(&by_law)["spent"]["with_another"], "1.0540");
        let said = text(&by_rho);
        assert!(said.contains("which is ε = 0.8136 at δ = 1e-6") && !said.contains("law"), "{said}");
        assert!(json(&by_rho)["spent"]["with_another"].is_null());
    }

    /// Of a bound in (ε, δ) both are said, as each is what a release may cost.
    #[test]
    fn what_is_left_of_epsilon_and_delta() {
        let said = text(&account("1", "1e-9", None));
        assert!(said.contains("ρ = 0.014973058 is left, or ε = 1, pure"), "{said}");
        let half = account("1", "1e-9", Some((Currency::Epsilon, "1/2", None)));
        let said = text(&half);
        assert!(said.contains("is left, or ε = 1/2, pure"), "{said}");
        let pure = left_pure(&half).unwrap();
        assert!(pure.to_f64() > left(&half).unwrap().1.to_f64(), "{said}");
    }
}
