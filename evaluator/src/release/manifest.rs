//! What an auditor asks of a release, and what the signature covers.

use super::kind::{FIRST_FORMAT, Kind};
use super::layout::{FORMAT, Row};
use super::{ReleaseError, signature};
use crate::cube::{Legend, Quantity};
use crate::exact::Rational;
use crate::plan::{Neighbours, Noise};
use serde::{Deserialize, Serialize};

/// How many measurements the manifest lists one by one. The list is for people; the plan section has
/// all of them, and a release may have hundreds of thousands.
pub const LISTED_MEASUREMENTS: usize = 10_000;

/// The manifest. It is stored as canonical JSON; `sections` repeats the file's table, so that the
/// signature over the manifest covers every byte of the file.
///
/// Fields that a reader does not know are ignored: they are signed all the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Manifest {
    /// The format version, as in the header.
    pub format: u32,
    /// The day the release was made, `YYYY-MM-DD`.
    pub created: String,
    /// The program that made it, with its version.
    pub compiler: String,
    /// Whether the noise came from a known seed. Such a file protects nobody and never verifies.
    pub not_private: bool,
    /// Name, title and the like.
    pub about: About,
    /// Which data the counts are of. Since format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Dataset>,
    /// Who is protected and how well.
    pub privacy: Privacy,
    /// The account that was charged, and where in it the charge stands. Since format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// What was measured.
    pub plan: PlanSummary,
    /// How counts were summed, where the release is a projection and not tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projection: Option<ProjectionSummary>,
    /// Whose copy it is, where the measuring has several recipients. Since format 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipient: Option<RecipientSummary>,
    /// What is published without noise or changed after the noise.
    pub declared: Declared,
    /// What people read beside the names and codes of dimensions, in their order. Since format 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub legends: Vec<Legend>,
    /// The hashes of what went in (never of private data).
    pub sources: Sources,
    /// Every section, in the order of the file.
    pub sections: Vec<Section>,
    /// Who signed.
    pub signer: Signer,
}

/// What the writer is told; the rest of the [`Manifest`] follows from the sections and the key.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestInput {
    /// The day the release is made, `YYYY-MM-DD`.
    pub created: String,
    /// The program that makes it, with its version.
    pub compiler: String,
    /// Whether the noise comes from a known seed.
    pub not_private: bool,
    /// Name, title and the like.
    pub about: About,
    /// Which data the counts are of.
    pub dataset: Option<Dataset>,
    /// Who is protected and how well.
    pub privacy: Privacy,
    /// The account that was charged.
    pub account: Option<Account>,
    /// What was measured.
    pub plan: PlanSummary,
    /// How counts were summed, where the release is a projection.
    pub projection: Option<ProjectionSummary>,
    /// Whose copy it is, where the measuring has several recipients.
    pub recipient: Option<RecipientSummary>,
    /// What is published without noise or changed after the noise.
    pub declared: Declared,
    /// What people read beside the names and codes of dimensions.
    pub legends: Vec<Legend>,
    /// The names of the attachments, in the order of their sections.
    pub attachments: Vec<String>,
}

/// What people call the release.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct About {
    /// The name: of the file, and after FROM in a query.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// More for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Under which terms the release may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Whom to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// The release this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// What was wrong with the release this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errata: Option<String>,
    /// Where classes of reliability end: coefficients of variation in per cent, ascending, where they are not the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub reliability: Vec<Rational>,
}

/// Which data the counts are of: releases of the same data say the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dataset {
    /// The name the agency gives the data, in the characters of a release's name.
    pub id: String,
    /// Of when the data is, for people: `2026`, `2026-Q1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// Which state of the data the rows are: one name is the same rows, in the same order. As printable as a period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
}

/// Which account a release is charged to, and for whom: what its spec says of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountName {
    /// The dataset's id, or the release's name where the spec names no dataset.
    pub id: String,
    /// Whom the account protects.
    pub unit: String,
    /// How many units of this release one of those is at most.
    pub unit_of: u32,
    /// The part of the data that was counted, `region=north`, where it is one: no unit is in two parts of one partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// The account that was charged, and where in it the charge stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Which one.
    #[serde(flatten)]
    pub name: AccountName,
    /// How much was charged, for one unit of the account.
    pub charged: Amount,
    /// The line of the charge in the ledger, counted from 1.
    pub line: u64,
    /// The BLAKE3 hash of that line without its signature: the head of the ledger after the charge. A ledger without this line is not the one that
    /// was charged.
    pub head: String,
}

/// What is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Currency {
    /// ρ of zero-concentrated differential privacy.
    Rho,
    /// ε of pure differential privacy.
    Epsilon,
}

impl Currency {
    /// What a projection spends, whatever its noise: its Laplace noise is that of many integers which one unit all
    /// moves, and their losses add up in ρ (see [`crate::projection::cost`]).
    pub const OF_PROJECTIONS: Currency = Currency::Rho;

    /// What tables spend: the currency of their noise.
    pub const fn of_tables(noise: Noise) -> Currency {
        if noise.is_pure() { Currency::Epsilon } else { Currency::Rho }
    }

    /// As it is written in texts: `ρ` or `ε`.
    pub const fn symbol(self) -> &'static str {
        match self {
            Currency::Rho => "ρ",
            Currency::Epsilon => "ε",
        }
    }
}

/// A sum of privacy loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// In which currency.
    pub currency: Currency,
    /// How much, as an exact rational: `1/10`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub amount: Rational,
}

/// Who is protected and how well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Privacy {
    /// Whom the guarantee protects: `row`, or the identifying column.
    pub unit: String,
    /// How many rows one unit may own.
    pub max_rows: u32,
    /// The columns by which those are its first; in the order of the data where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// What becomes of rows that belong to no unit, where they do not stop a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Without>,
    /// What a neighbouring dataset is.
    pub neighbours: Neighbours,
    /// How much the spec allows.
    pub budget: Amount,
    /// How much the release spends: an upper bound, never more than the budget.
    pub cost: Amount,
    /// The same guarantee as (ε, δ), where one was asked for or can be derived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximate: Option<Approximate>,
    /// How the units that have more rows than count are counted, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncation: Option<TruncationSummary>,
    /// The guarantee in a sentence.
    pub note: String,
}

/// What becomes of rows that belong to no unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Without {
    /// Each counts, and is protected as a unit of one row.
    Own,
    /// They are left out of every count.
    Drop,
}

impl Without {
    /// What is not in any interval, in words.
    pub(crate) fn text(self, unit: &str) -> String {
        match self {
            Without::Own => {
                format!("Rows without a {unit} count, each as if it were the only one of its {unit}.")
            }
            Without::Drop => format!("Rows without a {unit} are left out."),
        }
    }
}

/// How the units that have more rows than count are counted. Their number moves by at most one with any unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TruncationSummary {
    /// The parameter of the integer noise: σ² or b.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scale: Rational,
}

impl Privacy {
    /// The (ε, δ) by the law of the release's own loss, where it is stated so.
    pub fn lossless(&self) -> Option<&Approximate> {
        self.approximate.as_ref().filter(|a| a.accounting == Some(Accounting::Exact))
    }

    /// Where a column identifies the unit: that column, and how many rows of each unit count. Those beyond are left
    /// out of every count.
    pub fn bound(&self) -> Option<(&str, u32)> {
        (self.unit != "row" || self.max_rows > 1).then_some((&self.unit, self.max_rows))
    }
}

/// A guarantee as (ε, δ), in decimal text: ε is rounded up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approximate {
    /// ε.
    pub epsilon: String,
    /// δ.
    pub delta: String,
    /// How they follow from the budget, by name.
    pub conversion: String,
    /// By which law; where it does not say so, by ρ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounting: Option<Accounting>,
}

/// How (ε, δ) are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Accounting {
    /// By the law of the release's own privacy loss: that of all its noises together.
    Exact,
    /// From ρ alone, by a conversion that holds for all noises of that ρ.
    Zcdp,
}

/// What was measured, for people; the plan section is what counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanSummary {
    /// The strategy, by name.
    pub measure: String,
    /// The budget rule, by name.
    pub budgets: String,
    /// The noise of every measurement.
    pub mechanism: Noise,
    /// The tables asked for: `sex × age.band`.
    pub workload: Vec<String>,
    /// How many measurements there are.
    pub count: u64,
    /// The measurements in the plan's order: all of them, or the first 10 000 when there are more.
    pub measurements: Vec<MeasurementSummary>,
    /// What is measured beside rows: sums of numbers, and how many rows have a value of one. Since format 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<SumSummary>,
}

/// A number of rows whose sums are measured, or the rows that have a value of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SumSummary {
    /// `sums`, `rows with a value` or `sums of squares`.
    pub subject: String,
    /// The number, its bounds and its step.
    pub of: Quantity,
    /// The tables asked for.
    pub workload: Vec<String>,
    /// How many measurements there are.
    pub count: u64,
    /// What they cost together, at most.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cost: Rational,
    /// Of sums: how the rows are counted whose value was moved to an end, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamping: Option<ClampingSummary>,
}

/// How the rows are counted whose value was moved to the low end, and those moved to the high end: two numbers. A row moves one of them by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClampingSummary {
    /// The parameter of the integer noise of each: σ² or b.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scale: Rational,
    /// What both cost together, at most.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cost: Rational,
}

/// How counts were summed, for people; the projection section is what counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectionSummary {
    /// `dense` or `sketch`.
    pub kind: String,
    /// The dimensions of the key.
    pub key: Vec<String>,
    /// T, the rows; of a sketch the rows of buckets.
    pub rows: u32,
    /// The buckets of a sketch's row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// How many signs at once are independent.
    pub independence: u32,
    /// The public seed of the signs, in hexadecimal.
    pub seed: String,
    /// The most cells of one query.
    pub sparsity: u32,
    /// A bound of the probability that two given cells are confused, in decimal text.
    pub collision: String,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasurementSummary {
    /// What is measured: `sex × age.band`.
    pub block: String,
    /// What of it: `component`, `table`, `differences`, `coefficients` or `rows`.
    pub kind: String,
    /// The parameter of the integer noise: σ² or b.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scale: Rational,
    /// The sensitivity of the integers the noise is added to, in the norm of the mechanism (for Gaussian noise squared).
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub sensitivity: Rational,
    /// What it spends, in the budget's currency: an upper bound.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub cost: Rational,
}

/// Whose copy a file is, and what all copies of the measuring cost together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecipientSummary {
    /// The recipient: the file is `NAME-RECIPIENT.margins`.
    pub name: String,
    /// How the copies hang together: `nested` or `shifted`.
    pub mode: String,
    /// How many copies there are.
    pub copies: u64,
    /// What all copies of one measuring, and no others, have in common, in hexadecimal.
    pub measuring: String,
    /// What all copies together cost: this is what is charged.
    pub joint_cost: Amount,
    /// Where each integer is shifted by a secret centre: the law of that centre, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centre: Option<String>,
    /// What that means for the guarantee, in words.
    pub note: String,
}

/// What is published without noise or changed after the noise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Declared {
    /// Tables published exactly.
    pub invariants: Vec<String>,
    /// What every answer is known to satisfy.
    pub constraints: Vec<String>,
    /// What was done to the noisy numbers before they were published.
    pub post_processing: Vec<String>,
}

/// The hashes of what went in. Each is the BLAKE3 hash of a section's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sources {
    /// The spec file.
    pub spec: String,
    /// The dimensions, levels and labels.
    pub domain: String,
    /// The files the spec refers to (hierarchies), in the order of their sections.
    pub attachments: Vec<Attachment>,
}

/// A file the spec refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attachment {
    /// As the spec calls it.
    pub name: String,
    /// Its BLAKE3 hash.
    pub blake3: String,
}

/// One section: a row of the file's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Section {
    /// The kind's name.
    pub name: String,
    /// The kind's tag.
    pub tag: u32,
    /// Which of the sections of this kind.
    pub index: u32,
    /// How many bytes it has.
    pub length: u64,
    /// The BLAKE3 hash of its bytes.
    pub blake3: String,
}

/// Who signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signer {
    /// What kind of key.
    pub kind: SignerKind,
    /// The public key as minisign writes it: one line of base64.
    pub public_key: String,
}

/// What kind of key signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SignerKind {
    /// The agency's own key.
    #[serde(rename = "agency")]
    Agency,
    /// A key made for this file and forgotten: it shows that the file is whole, not who made it.
    #[serde(rename = "throw-away")]
    ThrowAway,
    /// The key everybody knows, for files whose noise came from a known seed.
    #[serde(rename = "NOT PRIVATE test")]
    NotPrivate,
}

/// Hashes are written in lower-case hexadecimal.
pub(super) fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// Whether a text is so many hexadecimal digits, with small letters: of 64 a BLAKE3 hash.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is a day of the calendar, `YYYY-MM-DD`.
pub fn is_day(text: &str) -> bool {
    let b = text.as_bytes();
    let shape = b.len() == 10
        && b.iter().enumerate().all(|(i, c)| if i == 4 || i == 7 { *c == b'-' } else { c.is_ascii_digit() });
    let part = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<u32>().ok()).unwrap_or(0);
    if !shape {
        return false;
    }
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// The name of a release's file up to its ending: that of the release, and of the recipient whose copy it is.
pub fn file_name(release: &str, recipient: Option<&str>) -> String {
    recipient.map_or(release.into(), |recipient| format!("{release}-{recipient}"))
}

/// Whether a text may name a release: it becomes a file name and a word of the signature's comment.
pub fn is_name(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    (1..=100).contains(&text.len())
        && text.bytes().all(plain)
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
}

impl Dataset {
    /// What is wrong with it, if anything: both are printed beside answers.
    pub fn fault(&self) -> Option<&'static str> {
        let printable = |p: &str| (1..=100).contains(&p.chars().count()) && !p.chars().any(char::is_control);
        if !is_name(&self.id) {
            Some("the dataset's id is not made of letters, digits, dots, dashes and underscores")
        } else if !self.period.as_deref().is_none_or(printable) {
            Some("the dataset's period does not have 1 to 100 printable characters")
        } else if !self.snapshot.as_deref().is_none_or(printable) {
            Some("the dataset's snapshot does not have 1 to 100 printable characters")
        } else {
            None
        }
    }
}

impl Account {
    /// The rules that need nothing else.
    fn sound(&self, format: u32) -> Result<(), &'static str> {
        let hash = |h: &str| h.len() == 64 && h.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        match () {
            () if format == FIRST_FORMAT => Err("format 1 has no account"),
            () if !is_name(&self.name.id) || self.name.unit.is_empty() || self.name.unit_of == 0 => {
                Err("the account has no name or no unit")
            }
            () if !hash(&self.head) || self.line == 0 => {
                Err("the head of the ledger is not a line and its hash")
            }
            () => Ok(()),
        }
    }
}

impl Section {
    /// The manifest's form of a row.
    pub(super) fn of(row: &Row) -> Section {
        let name = match Kind::from_tag(row.tag, FORMAT) {
            Ok(Some(kind)) => kind.name().into(),
            _ => "other".into(),
        };
        Section { name, tag: row.tag, index: row.index, length: row.length, blake3: hex(&row.hash) }
    }

    /// The name of an optional section of a later format is free: this program cannot know it.
    fn agrees(&self, row: &Row) -> bool {
        let known = matches!(Kind::from_tag(row.tag, FORMAT), Ok(Some(_)));
        let here = Section::of(row);
        Section { name: if known { self.name.clone() } else { here.name.clone() }, ..self.clone() } == here
    }
}

impl Manifest {
    /// Whether the noise came from a known seed, by what the manifest says or by the key that
    /// signed it: everybody has that key, so nothing signed with it can be trusted.
    pub fn is_not_private(&self) -> bool {
        self.not_private
            || self.signer.kind == SignerKind::NotPrivate
            || signature::is_not_private_key(&self.signer.public_key)
    }

    /// What the signatures' trusted comments must be, given the format version and the manifest's bytes.
    pub(crate) fn trusted_comment(name: &str, format: u32, bytes: &[u8]) -> String {
        format!(
            "margins release {name}, format {format}, blake3 of manifest {}",
            blake3::hash(bytes).to_hex()
        )
    }

    /// Checks the manifest against the table and against itself.
    pub(super) fn agree(&self, version: u32, rows: &[Row]) -> Result<(), ReleaseError> {
        let disagree = |what: &str| Err(ReleaseError::Disagreement(what.into()));
        if self.format != version {
            return disagree("the format version");
        }
        if self.sections.len() != rows.len() {
            return disagree("the number of sections");
        }
        if let Some((section, _)) = self.sections.iter().zip(rows).find(|(s, r)| !s.agrees(r)) {
            return disagree(&format!("section {} {}", section.name, section.index));
        }
        let hash_of = |kind: Kind| rows.iter().filter(move |r| r.tag == kind.tag()).map(|r| hex(&r.hash));
        if !hash_of(Kind::Spec).eq([self.sources.spec.clone()]) {
            return disagree("the spec's hash");
        }
        if !hash_of(Kind::Domain).eq([self.sources.domain.clone()]) {
            return disagree("the domain's hash");
        }
        if !hash_of(Kind::Attachment).eq(self.sources.attachments.iter().map(|a| a.blake3.clone())) {
            return disagree("the attachments' hashes");
        }
        self.sound().map_err(ReleaseError::Manifest)
    }

    /// The rules that need no table; the writer checks them too.
    fn sound(&self) -> Result<(), String> {
        if !is_name(&self.about.name) {
            return Err(
                "the release's name is not made of letters, digits, dots, dashes and underscores".into()
            );
        }
        if !is_day(&self.created) {
            return Err("the day of creation is not written YYYY-MM-DD, as where a clock is wrong by thousands of years".into());
        }
        let exact = self.privacy.approximate.as_ref().is_some_and(|a| a.accounting.is_some());
        if self.format == FIRST_FORMAT && (exact || self.privacy.without.is_some()) {
            return Err("format 1 has neither rows without a unit nor an exact law".into());
        }
        let cuts = &self.about.reliability;
        let rise = cuts.is_sorted_by(|a, b| a < b) && cuts.iter().all(|cut| !cut.is_zero());
        if cuts.len() > 4 || !rise || (self.format == FIRST_FORMAT && !cuts.is_empty()) {
            return Err("the classes of reliability are no one to four numbers above 0 that rise".into());
        }
        match &self.dataset {
            Some(_) if self.format == FIRST_FORMAT => return Err("format 1 has no dataset".into()),
            Some(dataset) => dataset.fault().map_or(Ok(()), |why| Err(why.to_string()))?,
            None => {}
        }
        if let Some(account) = &self.account {
            account.sound(self.format).map_err(str::to_owned)?;
        }
        let Privacy { budget, cost, .. } = &self.privacy;
        let currency = match self.projection {
            Some(_) => Currency::OF_PROJECTIONS,
            None => Currency::of_tables(self.plan.mechanism),
        };
        if budget.currency != currency || cost.currency != currency {
            return Err("the budget or the cost is not in the mechanism's currency".into());
        }
        if cost.amount > budget.amount {
            return Err("the release costs more than its budget".into());
        }
        let known_key = signature::is_not_private_key(&self.signer.public_key);
        let test_signer = self.signer.kind == SignerKind::NotPrivate;
        if self.not_private != test_signer || self.not_private != known_key {
            return Err(
                "a NOT PRIVATE file must say so, and be signed by the NOT PRIVATE key, and no other may"
                    .into(),
            );
        }
        if self.plan.measurements.len() as u64 != self.plan.count.min(LISTED_MEASUREMENTS as u64) {
            return Err("the list of measurements does not have the length it must have".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_names() {
        for day in ["2024-02-29", "2000-02-29", "1999-12-31"] {
            assert!(is_day(day), "{day}");
        }
        for day in [
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-1-01",
            "2024-01-00",
            "2024-01-+1",
            "",
        ] {
            assert!(!is_day(day), "{day}");
        }
        for name in ["a", "people-2024_v1.2"] {
            assert!(is_name(name), "{name}");
        }
        let fault = |id: &str, period: Option<&str>| {
            Dataset { id: id.into(), period: period.map(str::to_string), snapshot: None }.fault().is_some()
        };
        assert!(!fault("census-2026", None) && !fault("a", Some("2026, 1st quarter")));
        assert!(
            fault("a b", None) && fault("", None) && fault("a", Some("")) && fault("a", Some("a\u{1b}[31m"))
        );
        assert!(fault("a", Some(&"é".repeat(101))) && !fault("a", Some(&"é".repeat(100))));
        for name in ["", ".hidden", "../x", "a/b", "a b", "é", "-rf", "a\n"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
