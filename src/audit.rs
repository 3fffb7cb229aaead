//! An auditor's questions, answered from the file alone: is it whole, who signed it, does its privacy
//! arithmetic add up, is what it says of itself so, and what can none of this show?
//!
//! The signer may be careless or may lie. So every claim of the manifest is derived again from plan, domain and spec, by the
//! functions that wrote it ([`crate::release::claims`]), or is shown as unchecked.

#[cfg(feature = "compile")]
mod again;
mod compare;
mod content;
#[cfg(feature = "spec")]
mod margins;
#[cfg(feature = "spec")]
mod measured;
mod needed;
#[cfg(feature = "spec")]
mod spec;
#[cfg(feature = "spec")]
mod targets;
#[cfg(all(test, feature = "compile"))]
mod tests;

use crate::exact::Rational;
#[cfg(feature = "cli")]
use crate::release::is_not_private_key;
#[cfg(feature = "compile")]
use crate::release::trusted::Trusted;
use crate::release::{Check, Outcome, Release, ReleaseError};
use content::Content;

/// Everything that was checked.
#[derive(Debug, Clone)]
pub struct Audit {
    /// In the order they were done.
    pub checks: Vec<Check>,
    /// The BLAKE3 hash of the file, as `b3sum` prints it; empty when the file was refused.
    pub blake3: String,
}

/// What all checks come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every check that is needed was made, and passed.
    Verified,
    /// No check failed, and one that is needed could not be made.
    Whole,
    /// A check failed.
    Failed,
}

impl Verdict {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Whole => "whole",
            Verdict::Failed => "failed",
        }
    }
}

/// What no check of the file can show.
pub const LIMITS: &str = "\
What these checks cannot show: that the data was real or was read as the spec
says, that the noise was drawn as the format says and nobody kept a copy of it,
or what else was released about the same people. The signer vouches for those;
the ledger keeps the account.";

/// Checks everything: signature, hashes, format, and the privacy cost recomputed from the released blocks
/// and scales.
pub fn audit(release: &Release, public_key: Option<&str>) -> Result<Audit, ReleaseError> {
    let mut audit = decided(release, public_key, true)?;
    audit.unchecked(release);
    Ok(audit)
}

/// What would keep a release from being verified, for whoever is about to make it.
#[cfg(feature = "compile")]
pub(crate) fn fails(release: &Release) -> Result<Option<Check>, ReleaseError> {
    let checks = decided(release, None, false)?.checks;
    Ok(checks.into_iter().find(|c| matches!(c.outcome, Outcome::Failed | Outcome::Unchecked)))
}

/// The first check that a release does not pass, whoever signed it (also with the key that everybody has) and without making its plan again; and
/// the hash of the file that was checked.
#[cfg(feature = "cli")]
pub(crate) fn fault(release: &Release) -> Result<(Option<Check>, String), ReleaseError> {
    let Audit { checks, blake3 } = decided(release, None, false)?;
    let known = is_not_private_key(&release.manifest().signer.public_key);
    let of_key = |c: &Check| c.what == "signer" || known && c.what == "privacy";
    let is_wrong = |c: &Check| matches!(c.outcome, Outcome::Failed | Outcome::Unchecked);
    Ok((checks.into_iter().find(|c| is_wrong(c) && !of_key(c)), blake3))
}

/// All that decides; and, if so wanted, the plan made again.
fn decided(release: &Release, public_key: Option<&str>, again: bool) -> Result<Audit, ReleaseError> {
    let verification = release.verify_all(public_key)?;
    let mut audit = Audit { checks: verification.checks, blake3: verification.file_blake3 };
    if let Err(e) = audit.content(release, again) {
        audit.add("content", Outcome::Failed, e.to_string());
    }
    Ok(audit)
}

impl Audit {
    /// The audit of a file that was refused before anything else could be checked.
    pub(crate) fn refused(why: &ReleaseError) -> Audit {
        let check = Check { what: "file".into(), outcome: Outcome::Failed, detail: why.to_string() };
        Audit { checks: vec![check], blake3: String::new() }
    }

    /// Checks that a release is the copy of this recipient.
    pub(crate) fn made_for(&mut self, release: &Release, wanted: &str) {
        let found = release.manifest().recipient.as_ref().map(|r| r.name.as_str());
        let (outcome, detail) = match found {
            Some(found) if found == wanted => {
                (Outcome::Passed, format!("it is {wanted}'s copy, as you said"))
            }
            Some(found) => (Outcome::Failed, format!("it is the copy of {found}, not of {wanted}")),
            None => (Outcome::Failed, format!("it is nobody's copy, so not that of {wanted}")),
        };
        self.add("made for", outcome, detail);
    }

    /// Checks the signer against the keys that a reader trusts, in place of one given key; and, where several must have signed all bytes, how many did.
    #[cfg(feature = "compile")]
    pub(crate) fn signed_by(
        &mut self,
        release: &Release,
        trusted: &Result<Trusted, ReleaseError>,
        required: Option<usize>,
    ) -> Result<(), ReleaseError> {
        let manifest = release.manifest();
        let said = match trusted {
            Ok(trusted) => trusted.holds(&manifest.signer.public_key, &manifest.created, Some(&self.blake3)),
            Err(e) => Err(e.to_string()),
        };
        for check in self.checks.iter_mut().filter(|c| c.what == "signer" && c.outcome != Outcome::Failed) {
            (check.outcome, check.detail) = match &said {
                Ok(why) => (Outcome::Passed, format!("signed by a key that you trust: {why}")),
                Err(why) => (Outcome::Failed, why.clone()),
            };
        }
        let (Some(required), Ok(trusted)) = (required, trusted) else { return Ok(()) };
        let (counted, rest) = trusted.signatures(release)?;
        let outcome = if counted.len() >= required { Outcome::Passed } else { Outcome::Failed };
        let keys = if counted.is_empty() { "none".into() } else { counted.join(", ") };
        let rest: String = rest.iter().map(|why| format!("; {why}")).collect();
        let detail = format!("{} of the {required} that you require: {keys}{rest}", counted.len());
        // Beside the other one of all bytes.
        let at = self.checks.iter().position(|c| c.what == "whole-file signature").map_or(0, |at| at + 1);
        self.checks.insert(at, Check { what: "signatures".into(), outcome, detail });
        Ok(())
    }

    /// Whether every check that is needed was made, and none failed.
    pub fn passed(&self) -> bool {
        self.verdict() == Verdict::Verified
    }

    /// What all checks come to.
    pub fn verdict(&self) -> Verdict {
        let any = |outcome| self.checks.iter().any(|c| c.outcome == outcome);
        match () {
            () if any(Outcome::Failed) => Verdict::Failed,
            () if any(Outcome::Unchecked) => Verdict::Whole,
            () => Verdict::Verified,
        }
    }

    /// The last word for people.
    pub fn last_word(&self) -> &'static str {
        match self.verdict() {
            Verdict::Verified => {
                "VERIFIED: the file is whole, and what it claims follows from what it holds."
            }
            Verdict::Whole => {
                "WHOLE, NOT VERIFIED: no check failed, but one that is needed could not be made."
            }
            Verdict::Failed => "VERIFICATION FAILED: do not trust this file.",
        }
    }

    fn content(&mut self, release: &Release, again: bool) -> Result<(), ReleaseError> {
        let content = Content::of(release)?;
        let checked = content.check(self, release);
        #[cfg(feature = "spec")]
        spec::reread(self, release, &content, again)?;
        #[cfg(not(feature = "spec"))]
        if again {
            self.add("spec", Outcome::Unchecked, "this program does not read specs".into());
        }
        checked
    }

    fn add(&mut self, what: &str, outcome: Outcome, detail: String) {
        self.checks.push(Check { what: what.into(), outcome, detail });
    }

    /// The cost as it was recomputed, against what may be spent.
    fn cost(&mut self, how: String, cost: Rational, budget: Rational) {
        let (outcome, of) = match cost > budget {
            true => (Outcome::Failed, "above the budget of"),
            false => (Outcome::Passed, "of"),
        };
        self.add("privacy cost", outcome, format!("{how}: {:.12} {of} {budget}", cost.to_f64()));
    }

    /// What nothing in the file can confirm.
    fn unchecked(&mut self, release: &Release) {
        let m = release.manifest();
        let mut said = format!("made on {} by {}", m.created, compare::quoted(&m.compiler));
        if let Some(errata) = &m.about.errata {
            said.push_str(&format!(", what was wrong before: {}", compare::quoted(errata)));
        }
        if let Some(account) = &m.account {
            said.push_str(&format!(", charged in line {} of its ledger, {}", account.line, account.head));
        }
        self.add("not checked", Outcome::Warning, format!("the signer says: {said}"));
    }

    /// For scripts.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "passed": self.passed(),
            "verdict": self.verdict().word(),
            "blake3": self.blake3,
            "checks": self.checks.iter().map(|c| serde_json::json!({
                "what": c.what, "outcome": c.outcome.word(), "detail": c.detail,
            })).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub fn to_text(&self, file: &str) -> String {
        let mut out = format!("{file}\n");
        if !self.blake3.is_empty() {
            out.push_str(&format!("blake3 {}\n", self.blake3));
        }
        out.push('\n');
        let width = self.checks.iter().map(|c| c.what.chars().count()).max().unwrap_or(0);
        for c in &self.checks {
            let mark = c.outcome.mark();
            let indent = width + 8;
            let detail = wrap(&c.detail, 80usize.saturating_sub(indent).max(30), indent);
            out.push_str(&format!("{mark:<4}  {:<width$}  {detail}\n", c.what));
        }
        if self.verdict() != Verdict::Failed {
            out.push_str(&format!("\n{LIMITS}\n"));
        }
        // Always the last line: whatever is above it, it is what stays on the screen.
        out.push_str(&format!("\n{}\n", self.last_word()));
        out
    }
}

/// Breaks a text at blanks, further lines indented.
pub(crate) fn wrap(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let n = word.chars().count();
        if used > 0 && used + 1 + n > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += n;
    }
    out
}
