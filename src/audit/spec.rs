//! The sealed spec, read again: does it allow and ask for what was made?
//!
//! A spec is read by the language of this program, whatever program made the release; the language goes on accepting
//! what it once accepted. What decides is what the spec says: who is protected and how well, the dimensions, tables, exact
//! tables and empty cells. Whether this program would make the same plan of it today does not: planners improve.

use super::content::Content;
use super::{Audit, compare, margins};
use crate::cube::Cuboid;
use crate::exact::Rational;
use crate::plan::{Block, Channel, Copy, Measure, Plan, Subject, convert, cost};
use crate::projection::Design;
use crate::release::claims::Words;
use crate::release::{FIRST_FORMAT, Kind, Outcome, Release, ReleaseError};
use crate::spec::{self, Budget, Precision, Spec, Unit, Wanted};
use std::io;
use std::path::Path;

use Outcome::{Failed, Passed};

/// Reads the spec and compares it with the rest of the release.
pub(super) fn reread(audit: &mut Audit, release: &Release, content: &Content) -> Result<(), ReleaseError> {
    let attachments = &release.manifest().sources.attachments;
    let Ok(text) = String::from_utf8(release.section(Kind::Spec, 0)?) else {
        audit.add("spec", Failed, "the sealed spec is not UTF-8 text".into());
        return Ok(());
    };
    let read = |name: &str| {
        let index = attachments.iter().position(|a| a.name == name).ok_or(io::ErrorKind::NotFound)?;
        release.section(Kind::Attachment, index as u32).map_err(io::Error::other)
    };
    // What the spec makes must be the sealed domain, so it may not take more than that does, but for a little.
    let room = spec::size_of(&content.cube) + 1024;
    let spec = match spec::parse_within(&text, Path::new("spec"), room, read) {
        Ok(spec) => spec,
        Err(e) => {
            let first =
                e.diagnostics().first().map_or(String::new(), |d| d.message.escape_debug().to_string());
            let n = e.diagnostics().len();
            audit.add("spec", Failed, format!("the sealed spec cannot be read, {n} mistakes: {first}"));
            return Ok(());
        }
    };
    let differences = differences(release, content, &spec);
    if differences.is_empty() {
        let what =
            if content.projection.is_some() { "projection" } else { "tables, exact tables, empty cells" };
        let detail = format!(
            "read again: name, title and texts, unit, neighbours, budget, dimensions and {what} are those of plan \
             and manifest; it refers to every attachment; {} bytes",
            text.len()
        );
        audit.add("spec", Passed, detail);
        margins::check(audit, &spec, content);
        #[cfg(feature = "compile")]
        super::again::plan(audit, &spec, content);
        #[cfg(not(feature = "compile"))]
        audit.add(
            "plan",
            Outcome::Skipped,
            "not made again from the spec: this program makes no plans".into(),
        );
    }
    for difference in differences {
        audit.add("spec", Failed, difference);
    }
    Ok(())
}

/// What the spec says otherwise than the release, each in words.
fn differences(release: &Release, content: &Content, spec: &Spec) -> Vec<String> {
    let mut out = Vec::new();
    let Content { cube, plan, projection } = content;
    let manifest = release.manifest();
    // What the spec cannot say stays as the signer says it.
    let mut words = spec.words();
    words.about.errata = manifest.about.errata.clone();
    let said = Words::of(manifest, cube, plan);
    if said.account.is_none() {
        words.account = None;
    }
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
        None => spec.recipients.is_none() && allows(manifest.format, spec.privacy.budget, plan.budget),
        Some(_) => true,
    };
    check(same, "budgets or recipients");
    if let Some(copy) = &plan.copy {
        received(spec, copy, &mut check);
    }
    if let Some(projection) = projection {
        check(spec.cube == *cube, "dimensions");
        check(designed(spec, &projection.design), "keys, sizes or noise of the projection");
    } else {
        let spec = &*spec.planned(plan);
        check(spec.cube == *cube, "dimensions");
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
        let asked = spec.strategy.measure.is_none_or(|m| m == plan.measure);
        check(asked && spec.strategy.budgets == plan.budgets, "strategies or budget rules");
        check(measured(spec, plan), "rows or questions that are measured");
    }
    out
}

/// Whether the rows that are measured are those of the spec: the agency's own, or what its questions come to. Each is measured once.
fn measured(spec: &Spec, plan: &Plan) -> bool {
    let mut found: Vec<(&Cuboid, &Vec<(u32, i32)>)> = Vec::new();
    for m in &plan.rows().measurements {
        if let Block::Rows(rows) = &m.block {
            found.extend(rows.rows.iter().map(|row| (&rows.cuboid, row)));
        }
    }
    let asked = spec.strategy.rows.as_ref().filter(|_| plan.measure == Measure::Matrix);
    let mut wanted: Vec<_> =
        asked.into_iter().flat_map(|rows| rows.rows.iter().map(|row| (&rows.cuboid, row))).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    found == wanted
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

/// Whether a budget of the spec is this one. The ρ of an (ε, δ) is found by iteration, to about nine digits; files of version 1
/// keep that version's conversion.
fn allows(format: u32, budget: Budget, spent: Rational) -> bool {
    let close = |rho: Rational| (rho.to_f64() - spent.to_f64()).abs() <= 1e-9 * rho.to_f64();
    match budget {
        Budget::EpsilonDelta(epsilon, delta) if format == FIRST_FORMAT => {
            convert::rho_for(epsilon, delta).is_some_and(close)
        }
        Budget::EpsilonDelta(..) => budget.noise().is_some_and(|(_, rho)| close(rho)),
        Budget::Rho(amount) | Budget::Epsilon(amount) => amount == spent,
    }
}

/// Whether a projection is as the spec asks for it.
fn designed(spec: &Spec, design: &Design) -> bool {
    spec.projection_request().is_some_and(|r| {
        r.is_ok_and(|r| {
            r.key == design.key
                && r.text == design.text
                && r.sparsity == design.sparsity
                && r.queries == design.queries
                && r.failure == design.failure
                && r.noise == design.noise
                && r.norm_bound == design.norm_bound
                && r.sketch.is_some() == (design.shape.name() == "sketch")
        })
    })
}
