//! The sealed spec, read again: does it allow and ask for what was made?
//!
//! A spec is read by the language of this program, whatever program made the release; the language goes on accepting
//! what it once accepted. What decides is what the spec says: who is protected and how well, the dimensions, tables, exact
//! tables and empty cells. Whether this program would make the same plan of it today does not: planners improve.

use super::content::Content;
use super::{Audit, compare, margins, measured, targets};
use crate::cube::{Legend, Quantity};
use crate::exact::Rational;
use crate::plan::{Channel, Copy, Plan, Subject, Table, convert, cost, subjects};
use crate::projection::{self, Design};
use crate::release::claims::Words;
use crate::release::{FIRST_FORMAT, Outcome, Release, ReleaseError};
use crate::spec::{self, Budget, Precision, Spec, Unit, Wanted};
use std::sync::Arc;

use Outcome::{Failed, Passed};

/// Reads the spec and compares it with the rest of the release; makes the plan `again`, or leaves that out.
pub(super) fn reread(
    audit: &mut Audit,
    release: &Release,
    content: &Content,
    again: bool,
) -> Result<(), ReleaseError> {
    let spec = match spec::sealed(release, &content.cube, &content.plan)? {
        Ok(spec) => spec,
        Err(why) => {
            audit.add("spec", Failed, why);
            return Ok(());
        }
    };
    let differences = differences(release, content, &spec);
    let same = differences.is_empty();
    if same {
        let what =
            if content.projection.is_some() { "projection" } else { "tables, exact tables, empty cells" };
        let unchecked =
            measured::unchecked(&content.plan).map_or(String::new(), |why| format!("; unchecked: {why}"));
        let detail = format!(
            "read again: name, title and texts, unit, neighbours, budget, dimensions and {what} are those of plan \
             and manifest; it refers to every attachment; {} bytes{unchecked}",
            spec.source.len()
        );
        audit.add("spec", Passed, detail);
    }
    for difference in differences {
        audit.add("spec", Failed, difference);
    }
    delta(audit, release.manifest().format, &spec, content);
    if same {
        margins::check(audit, &spec, content);
        targets::check(audit, &spec, content);
    }
    if same && again {
        #[cfg(feature = "compile")]
        super::again::plan(audit, &spec, content);
        #[cfg(not(feature = "compile"))]
        audit.add(
            "plan",
            Outcome::Skipped,
            "not made again from the spec: this program makes no plans".into(),
        );
    }
    Ok(())
}

/// Of a budget in (ε, δ): what δ the release has at that ε.
fn delta(audit: &mut Audit, format: u32, spec: &Spec, content: &Content) {
    let Budget::EpsilonDelta(epsilon, delta) = spec.privacy.budget else { return };
    let plan = &content.plan;
    let law = match content.projection {
        Some(_) => Err("it is a projection".into()),
        None if format == FIRST_FORMAT => Err("its format is the first".into()),
        None => content.losses().as_ref().map_err(ToString::to_string),
    };
    let (spent, allowed) =
        (plan.copy.as_ref().map_or(plan.budget, |c| c.budget), converted(format, epsilon, delta));
    let by_rho = allowed.is_some_and(|rho| spent <= rho || close(spent, rho));
    let (outcome, detail) = match law {
        Ok(losses) => {
            let fits = losses.within(epsilon, delta);
            // The law is told by an upper bound, and so is what ρ converts to: either is enough.
            if !fits && allowed.is_some_and(|rho| spent <= rho) {
                (Passed, "it is no more by ρ: its law is not told so closely".into())
            } else {
                let of = losses.delta(epsilon.to_f64());
                let outcome = if fits { Passed } else { Failed };
                (outcome, format!("it is {of:.3e} by the law of all noises together"))
            }
        }
        Err(why) if by_rho => (Passed, format!("it is no more by ρ: {why}")),
        Err(why) => (Failed, format!("it may be more by ρ: {why}")),
    };
    let at = format!("at ε = {} the spec allows {}; {detail}", epsilon.shown(), delta.shown());
    audit.add("delta", outcome, at);
}

/// What the spec says otherwise than the release, each in words.
fn differences(release: &Release, content: &Content, spec: &Spec) -> Vec<String> {
    let mut out = Vec::new();
    let Content { cube, plan, projection, .. } = content;
    let manifest = release.manifest();
    // What the spec cannot say stays as the signer says it.
    let mut words = spec.words();
    words.about.errata = manifest.about.errata.clone();
    let said = Words::of(manifest, cube, plan);
    if said.account.is_none() {
        words.account = None;
    }
    words.lossless = said.lossless;
    unsaid(&mut words.legends, &said.legends);
    if said != words {
        out.push(compare::first_difference(&said, &words, "the manifest says", "the spec says"));
    }
    let names = |out: &mut Vec<String>| {
        let said = manifest.sources.attachments.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
        let used = spec.attachments.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if said != used {
            let why = compare::first_difference(&said, &used, "the file holds", "the spec refers to");
            out.push(format!("attachments: {why}"));
        }
    };
    names(&mut out);
    if spec.confirmed().is_err() {
        out.push("the spec is a draft that nobody has confirmed (`confirmed = false`), and none is made a release of".into());
    }
    let max_rows = match &spec.privacy.unit {
        Unit::Row => 1,
        Unit::Column { max_rows, .. } => *max_rows,
    };
    let mut check = |same: bool, what: &str| {
        if !same {
            out.push(format!("the spec has other {what} than the release"));
        }
    };
    check(spec.projection.is_some() == projection.is_some(), "kinds of release: tables or a projection");
    check(spec.privacy.neighbours == plan.neighbours, "neighbours");
    check(max_rows == plan.max_rows, "`max_rows`");
    check(spec.privacy.unit.order() == manifest.privacy.order, "`order`");
    let same = match &plan.copy {
        None => spec.recipients.is_none() && allows(manifest.format, spec.privacy.budget, content),
        Some(_) => true,
    };
    check(same, "budgets or recipients");
    if let Some(copy) = &plan.copy {
        received(spec, copy, &mut check);
    }
    if let Some(projection) = projection {
        check(*spec.cube == *cube, "dimensions");
        check(designed(spec, &projection.design), "keys, sizes or noise of the projection");
    } else {
        let spec = &*spec.planned(plan);
        check(*spec.cube == *cube, "dimensions");
        check(spec.privacy.budget.noise().is_some_and(|(noise, _)| noise == plan.noise), "noise");
        check(spec.workload == plan.rows().workload, "tables");
        check(spec.exact.iter().map(|e| &e.cuboid).eq(&plan.exact), "exact tables");
        check(spec.zeros.iter().map(|z| &z.condition).eq(&plan.zeros), "empty cells");
        let first = plan.first();
        let scale = |share| cost::scale_within(plan.noise, first.budget, share).ok();
        let cut = spec.privacy.cut_units.map(|share| scale(share).map(Channel::cut_units));
        check(
            cut.as_ref().map(Option::as_ref) == first.channel(&Subject::CutUnits).map(Some),
            "counts of cut units",
        );
        summed(spec, &first, &mut check);
        let asked = spec.strategy.measure.is_none_or(|m| m == plan.measure);
        check(asked && spec.strategy.budgets == plan.budgets, "strategies or budget rules");
        check(measured::rows(spec, plan), "rows or questions that are measured");
        check(measured::blocks(spec, cube, &first), "measurements, or shares of them,");
    }
    out
}

/// Whether sums, their exact tables and the counts of moved rows are those of the spec: each difference by itself.
fn summed(spec: &Spec, first: &Plan, check: &mut impl FnMut(bool, &str)) {
    let of = |moved: bool| {
        let is = move |s: &Subject| s.quantity().is_some() && s.is_of_an_end() == moved;
        first.channels.iter().filter(move |c| is(&c.subject))
    };
    let sums: Vec<_> = spec.summed().flat_map(|a| subjects(&a.quantity, &a.tables, a.square)).collect();
    let alike = |((own, tables), c): (&(Subject, Vec<Table>), &Channel)| {
        alike(own, &c.subject) && *tables == c.workload
    };
    let same = sums.len() == of(false).count() && sums.iter().zip(of(false)).all(alike);
    check(same, "amounts or tables of sums");
    // Whatever else differs, these are compared as those of the amount of that name, and what is said of it only once.
    let named =
        |c: &Channel| spec.summed().find(|a| c.subject.quantity().is_some_and(|q| q.name == a.quantity.name));
    let words = |c: &Channel| named(c).is_none_or(|a| c.subject.quantity() == Some(&a.quantity));
    check(!same || of(false).chain(of(true)).all(words), "descriptions of amounts");
    let exact = |c: &Channel| named(c).map_or(c.exact.is_empty(), |a| a.exact == c.exact);
    check(of(false).all(exact), "exact sums");
    let moved = spec.summed().filter_map(|a| {
        let share = a.clamping?;
        Some(cost::moved_within(first, &a.quantity, share).map_or(Vec::new(), Vec::from))
    });
    let told = of(true).map(|c| {
        let own = named(c).map(|a| a.quantity.clone());
        let subject = match (&c.subject, own) {
            (Subject::Below(_), Some(own)) => Subject::Below(own),
            (Subject::Above(_), Some(own)) => Subject::Above(own),
            (subject, _) => subject.clone(),
        };
        Channel { subject, ..c.clone() }
    });
    check(moved.flatten().eq(told), "counts of rows that were moved to the ends of amounts");
}

/// Whether both are of the same number by the same bounds and steps, whatever is said of it for people. Its name is the spec's to the letter.
fn alike(own: &Subject, other: &Subject) -> bool {
    let same = |(own, other): (&Arc<Quantity>, &Arc<Quantity>)| {
        own.name == other.name && own.unlike(other).is_none()
    };
    own.quantity().zip(other.quantity()).is_some_and(same)
        && std::mem::discriminant(own) == std::mem::discriminant(other)
}

/// Files that were made before `missing` was said of a dimension say less, and nothing that is untrue.
fn unsaid(words: &mut Vec<Legend>, said: &[Legend]) {
    for own in words.iter_mut() {
        let says = said.iter().any(|l| l.dimension == own.dimension && l.missing.is_some());
        own.missing = own.missing.take().filter(|_| says);
    }
    words.retain(|l| *l != Legend { dimension: l.dimension.clone(), ..Legend::default() });
}

/// Whether the recipients are those of the spec, each with what it is to have: a budget, or one that `[privacy]` allows.
fn received(spec: &Spec, copy: &Copy, check: &mut impl FnMut(bool, &str)) {
    let all = spec.recipients.as_ref();
    check(all.is_some_and(|r| r.mode == copy.mode), "ways in which copies hang together");
    let list = all.map_or(&[][..], |r| &r.list);
    let allowed = spec.privacy.budget.noise().map(|(_, all)| all);
    let has = |w: &Wanted| {
        let found = copy.recipients.iter().find(|r| r.name == w.name)?;
        let own = copy.budget.checked_div(found.factor)?;
        Some(match w.precision {
            Precision::Budget(budget) => budget == own,
            Precision::Margin(_) => allowed.is_some_and(|all| own <= all),
        })
    };
    let same = list.len() == copy.recipients.len() && list.iter().all(|w| has(w) == Some(true));
    check(same, "recipients, or budgets of recipients");
}

/// Whether a budget of the spec is this one; of (ε, δ) it may be more than the ρ they convert to, where the plan's own law is within them.
fn allows(format: u32, budget: Budget, content: &Content) -> bool {
    let spent = content.plan.budget;
    match budget {
        Budget::EpsilonDelta(epsilon, delta) => {
            let by_law = format != FIRST_FORMAT && content.projection.is_none();
            converted(format, epsilon, delta).is_some_and(|rho| close(rho, spent))
                || by_law && content.losses().as_ref().is_ok_and(|l| l.within(epsilon, delta))
        }
        Budget::Rho(amount) | Budget::Epsilon(amount) => amount == spent,
    }
}

/// The ρ that (ε, δ) convert to: files of version 1 keep that version's conversion.
fn converted(format: u32, epsilon: Rational, delta: Rational) -> Option<Rational> {
    match format {
        FIRST_FORMAT => convert::rho_for(epsilon, delta),
        _ => Budget::EpsilonDelta(epsilon, delta).noise().map(|(_, rho)| rho),
    }
}

/// That ρ is found by iteration, to about nine digits.
pub(super) fn close(a: Rational, b: Rational) -> bool {
    (a.to_f64() - b.to_f64()).abs() <= 1e-9 * b.to_f64()
}

/// Whether a projection is as the spec asks for it: of the size that the spec comes to, with signs as independent and no less noise than
/// that size needs. Its budget has been compared.
pub(super) fn designed(spec: &Spec, design: &Design) -> bool {
    let Some(Ok(request)) = spec.projection_request() else { return false };
    let asked = projection::design::Request { budget: design.budget, ..request };
    asked.design().is_ok_and(|asked| {
        let close = (asked.scale.to_f64() - design.scale.to_f64()).abs() <= 1e-6 * asked.scale.to_f64();
        // What rounding or a later release of this program may take otherwise is taken from the file.
        let (scale, independence) = (design.scale, design.independence);
        close && asked.independence <= independence && Design { scale, independence, ..asked } == *design
    })
}
