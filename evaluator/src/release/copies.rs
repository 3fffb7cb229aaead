//! Which copy of a measuring a file is, and what all copies have in common: the one section with tag 11.
//!
//! A section is, in the wire format of [`super::codec`]: the sixteen random bytes of the measuring; how the copies hang together (1
//! nested, 2 shifted with centres from 0 on, 3 shifted with others) and how far a centre may be from its mean (0 where there is none); which recipient's it is; the most precise copy's budget; for
//! each recipient, the most precise first, the name and by how much its budget is smaller; the most precise copy's scale of the count of cut units (0/1 where
//! there is none); the steps of noise, each a list with one scale for every measurement and one for that count; and with 3 the mean of a
//! centre. The plan section holds the most precise copy's scales.

use super::manifest::is_name;
use super::{Kind, Release, ReleaseError, codec};
use crate::exact::Rational;
use crate::plan::copies::{Centres, Copy, MAX_RECIPIENTS, Mode, Recipient};
use crate::plan::{Plan, Subject, limits};

const WHAT: &str = "the section of copies";

type Fraction = (u128, u128);
type Wire = ([u8; 16], u8, u32, u32, Fraction, Vec<(String, Fraction)>, Fraction, Vec<Vec<Fraction>>);
/// With the mean of a centre, where that is not how far one may be from it.
type WireCentred = (Wire, i32);

/// Where the number of the mode is: after the random bytes.
const MODE: usize = 16;
const NESTED: u8 = 1;
const FROM_ZERO: u8 = 2;
const CENTRED: u8 = 3;

fn invalid(why: impl Into<String>) -> ReleaseError {
    ReleaseError::Invalid { what: WHAT, why: why.into() }
}

fn wire(r: Rational) -> Fraction {
    (r.numerator(), r.denominator())
}

fn rational((num, den): Fraction) -> Result<Rational, ReleaseError> {
    let exact = Rational::new(num, den).filter(|r| (r.numerator(), r.denominator()) == (num, den));
    exact.ok_or_else(|| invalid("a rational is not in lowest terms"))
}

/// The bytes of the section of a plan that is a copy.
pub fn encode(plan: &Plan) -> Result<Option<Vec<u8>>, ReleaseError> {
    let Some(copy) = &plan.copy else { return Ok(None) };
    let (mode, reach) = match copy.mode {
        Mode::Nested => (NESTED, 0),
        Mode::Shifted { centres } if centres.low() == 0 => (FROM_ZERO, centres.reach),
        Mode::Shifted { centres } => (CENTRED, centres.reach),
    };
    let cut = plan.numbers(&Subject::CutUnits).next().and_then(|i| copy.scales.get(i).copied());
    let stored: Wire = (
        copy.measuring,
        mode,
        reach,
        copy.own as u32,
        wire(copy.budget),
        copy.recipients.iter().map(|r| (r.name.clone(), wire(r.factor))).collect(),
        wire(cut.unwrap_or(Rational::ZERO)),
        copy.further.iter().map(|step| step.iter().map(|s| wire(*s)).collect()).collect(),
    );
    match copy.mode {
        Mode::Shifted { centres } if mode == CENTRED => {
            let stored: WireCentred = (stored, centres.mean);
            codec::encode(WHAT, &stored).map(Some)
        }
        _ => codec::encode(WHAT, &stored).map(Some),
    }
}

/// The copy's plan, from the bytes of the section and the most precise copy's plan as its own section has it.
pub(crate) fn decode(bytes: &[u8], first: Plan) -> Result<Plan, ReleaseError> {
    let (stored, mean) = match bytes.get(MODE) {
        Some(&CENTRED) => codec::decode::<WireCentred>(WHAT, bytes)?,
        _ => (codec::decode::<Wire>(WHAT, bytes)?, 0),
    };
    let (measuring, mode, reach, own, budget, recipients, cut, further) = stored;
    let from_zero = i32::try_from(reach).map(|mean| Centres { mean, reach });
    let mode = match (mode, reach, from_zero) {
        (NESTED, 0, _) => Mode::Nested,
        (FROM_ZERO, _, Ok(centres)) => Mode::Shifted { centres },
        // One way to write one thing.
        (CENTRED, ..) if i64::from(mean) != i64::from(reach) => {
            Mode::Shifted { centres: Centres { mean, reach } }
        }
        _ => return Err(invalid("the copies hang together in no known way")),
    };
    if recipients.len() > MAX_RECIPIENTS || further.len() > MAX_RECIPIENTS {
        return Err(invalid("there are too many recipients"));
    }
    let recipients = recipients
        .into_iter()
        .map(|(name, factor)| match is_recipient(&name) {
            true => Ok(Recipient { name, factor: rational(factor)? }),
            false => Err(invalid("a recipient's name is not one")),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let distinct: std::collections::BTreeSet<String> =
        recipients.iter().map(|r| r.name.to_ascii_lowercase()).collect();
    if distinct.len() < recipients.len() {
        return Err(invalid("two recipients have one name"));
    }
    let (budget, cut) = (rational(budget)?, rational(cut)?);
    if budget != first.budget {
        return Err(invalid("it has another budget than the plan"));
    }
    let cuts = first.numbers(&Subject::CutUnits);
    if cut.is_zero() != cuts.is_empty() {
        return Err(invalid("it and the rest of the file do not agree on the count of cut units"));
    }
    let scales = first.measurements().enumerate().map(|(i, m)| if cuts.contains(&i) { cut } else { m.scale });
    let scales = scales.collect();
    let further = further
        .into_iter()
        .map(|step| step.into_iter().map(rational).collect())
        .collect::<Result<Vec<Vec<Rational>>, _>>()?;
    let drawable = |s: &Rational| s.is_zero() || limits::drawable(first.noise, *s);
    if !further.iter().flatten().all(drawable) {
        return Err(invalid("a step has more noise than can be drawn"));
    }
    let copy = Copy { measuring, mode, own: own as usize, recipients, budget, scales, further };
    first.copy_of(copy).map_err(|e| invalid(e.to_string()))
}

/// Whether a text may name a recipient: it becomes part of a file's name.
pub fn is_recipient(name: &str) -> bool {
    is_name(name) && name.len() <= 64
}

impl Release {
    /// The plan of the copy that this file is, if it is one of several; otherwise the plan itself.
    pub(super) fn copy(&self, plan: Plan) -> Result<Plan, ReleaseError> {
        let said = self.manifest().recipient.as_ref();
        if self.count(Kind::Copies) == 0 {
            return match said {
                None => Ok(plan),
                Some(_) => Err(invalid("the manifest names a recipient, and the file does not")),
            };
        }
        let cut = plan.channel(&Subject::CutUnits).cloned();
        let plan = decode(&self.section(Kind::Copies, 0)?, plan)?;
        if plan.channel(&Subject::CutUnits) != cut.as_ref() {
            return Err(invalid("the count of cut units has another scale"));
        }
        let own = plan.copy.as_ref().map_or("", |c| c.recipient());
        if said.is_none_or(|s| s.name != own) {
            return Err(invalid("the manifest names another recipient"));
        }
        Ok(plan)
    }

    /// Whether two files are copies of one measuring, signed with one key.
    ///
    /// # Errors
    /// They say so, and contradict each other; or they cannot be read.
    pub fn is_measured_with(&self, other: &Release) -> Result<bool, String> {
        let (a, b) = (self.manifest(), other.manifest());
        if a.recipient.is_none() || b.recipient.is_none() || a.signer.public_key != b.signer.public_key {
            return Ok(false);
        }
        let plan = |release: &Release| {
            release.cube().and_then(|cube| release.plan(&cube)).map_err(|e| e.to_string())
        };
        let (one, two) = (plan(self)?, plan(other)?);
        let measuring = |plan: &Plan| plan.copy.as_ref().map(|copy| copy.measuring);
        if measuring(&one) != measuring(&two) {
            return Ok(false);
        }
        let why = match a.sources == b.sources {
            true => one.apart_from(&two),
            false => Some("they were made by two specs"),
        };
        let Some(why) = why else { return Ok(true) };
        let mut names = [one.recipient().unwrap_or_default(), two.recipient().unwrap_or_default()];
        names.sort_unstable();
        let [name, other] = names;
        Err(format!(
            "the copies of {name} and {other} are said to be of one measuring, and {why}: one of them cannot be"
        ))
    }
}
