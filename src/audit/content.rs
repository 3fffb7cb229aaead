//! What the sections hold, what follows from it, and whether the manifest says just that.

use super::needed::{self, Open};
use super::{Audit, compare};
use crate::answer::Evaluator;
use crate::answer::keys::Questions;
use crate::cube::{Cube, Filter, Frame, Integers};
use crate::plan::cost;
use crate::plan::{Apart, Block, Losses, Plan, Subject};
use crate::price::price;
use crate::projection::answer::Estimator;
use crate::projection::{Projection, cost::cost as projection_cost};
use crate::recover::Recovery;
use crate::release::claims::{self, Claims, Words};
use crate::release::projection as stored;
use crate::release::values::Values;
use crate::release::{FIRST_FORMAT, Manifest, Outcome, Release, ReleaseError, file_name};
use crate::render::truncation;
use std::sync::OnceLock;

use Outcome::{Failed, Passed, Unchecked, Warning};

/// What the sections hold, decoded.
pub(super) struct Content {
    /// The dimensions.
    pub cube: Cube,
    /// The plan.
    pub plan: Plan,
    /// How counts were summed, where the release is a projection.
    pub projection: Option<Projection>,
    losses: OnceLock<Result<Losses, Apart>>,
}

impl Content {
    pub(super) fn of(release: &Release) -> Result<Content, ReleaseError> {
        let cube = release.cube()?;
        let plan = release.plan(&cube)?;
        let projection = stored::projection(release, &cube)?;
        Ok(Content { cube, plan, projection, losses: OnceLock::new() })
    }

    /// The laws of the plan's loss, or why there are none.
    pub(super) fn losses(&self) -> &Result<Losses, Apart> {
        self.losses.get_or_init(|| Losses::of(&self.plan, &Frame::new(&self.cube, &self.plan.levels)))
    }

    /// Checks all of it; what is wrong is in the audit.
    pub(super) fn check(&self, audit: &mut Audit, release: &Release) -> Result<(), ReleaseError> {
        if let Some((unit, max_rows)) = release.manifest().privacy.bound() {
            let detail = format!("{}; no interval covers them", truncation(unit, max_rows));
            audit.add("rows left out", Warning, detail);
        }
        account(audit, release.manifest());
        let words = Words::of(release.manifest(), &self.cube, &self.plan);
        match &self.projection {
            Some(projection) => self.check_projection(audit, release, projection, &words),
            None => self.check_tables(audit, release, &words),
        }
    }

    fn check_tables(&self, audit: &mut Audit, release: &Release, words: &Words) -> Result<(), ReleaseError> {
        let (cube, plan, manifest) = (&self.cube, &self.plan, release.manifest());
        let whole = cost::cost(plan, &Frame::new(cube, &plan.levels));
        match &whole {
            Ok(cost) => {
                let how = cost.worst_case.words(plan.neighbours).unwrap_or("the sum over all blocks");
                let detail =
                    format!("recomputed from {} blocks and scales ({how})", plan.measurements().count());
                audit.cost(detail, cost.total, plan.budget);
                let derived = claims::of_tables(manifest.format, cube, plan, cost, words);
                claims_agree(audit, manifest, derived.map_err(|e| e.to_string()));
            }
            Err(e) => audit.add("privacy cost", Failed, e.to_string()),
        }
        let stored = Values::new(release, cube, plan)?;
        let values = stored.check_all()?;
        audit.add("measurements", Passed, format!("all {values} noisy integers decode"));
        if !plan.exact.is_empty() {
            let counts = stored.check_exact()?;
            let sums = plan.channels.iter().any(|c| !c.exact.is_empty());
            let what = if sums { "counts and sums" } else { "counts" };
            let detail = format!(
                "{counts} {what} WITHOUT NOISE, in {}; the signer's reasons. What they say about anybody is \
                 public: the privacy cost is what the rest tells beyond them",
                manifest.declared.invariants.join("; ")
            );
            audit.add("exact tables", Warning, detail);
        }
        if !plan.zeros.is_empty() {
            let detail = format!(
                "{} declared empty whatever the data ({}); every answer assumes it",
                if plan.zeros.len() == 1 { "cells are" } else { "cells of several conditions are" },
                plan.zeros.join("; ")
            );
            audit.add("zeros", Passed, detail);
        }
        self.check_beside(audit, release, whole.as_ref().ok())?;
        if let Some(r) = &manifest.recipient {
            let all = &r.joint_cost;
            let detail = format!(
                "{}'s copy, one of {} ({}); all together cost {} = {:.12}, recomputed. {}",
                r.name,
                r.copies,
                r.mode,
                all.currency.symbol(),
                all.amount.to_f64(),
                r.note
            );
            audit.add("recipient", Passed, detail);
            named(audit, release, &manifest.about.name, &r.name);
        }
        let all = total(cube, plan, &stored).map(|rows| rows.and(needed::all_follow(cube, plan)));
        let (outcome, detail) = match all {
            Err(why) => (Failed, format!("no query is answered: {why}")),
            Ok(Err(Open::Missing(table))) => {
                (Failed, format!("a table that was asked for does not follow from what was measured: {table}"))
            }
            Ok(Err(Open::Many)) => (
                Unchecked,
                "whether each table that was asked for follows from those measured: they are too many to compare"
                    .into(),
            ),
            Ok(Ok(())) => (Passed, "a query is answered, with the law of its error".into()),
        };
        audit.add("answers", outcome, detail);
        Ok(())
    }

    /// The numbers beside counts: sums, what was moved to their bounds, units with more rows than count.
    fn check_beside(
        &self,
        audit: &mut Audit,
        release: &Release,
        cost: Option<&cost::Cost>,
    ) -> Result<(), ReleaseError> {
        let (cube, plan) = (&self.cube, &self.plan);
        for (channel, values, _) in release.beside(&plan.of_rows(), cube)? {
            let frame = Frame::new(cube, &plan.levels);
            let alone = |i| cost::measurement_cost(plan, &frame, i).ok().map(|(_, cost)| cost);
            if let Subject::Below(quantity) | Subject::Above(quantity) = &channel.subject {
                let [low, high] = quantity.ends();
                let side = match channel.subject {
                    Subject::Below(_) => format!("below {low}"),
                    _ => format!("beyond {high}"),
                };
                let both = cost.and_then(|cost| cost.of_ends(plan, quantity));
                let (scale, cost) = both
                    .map_or((String::new(), f64::NAN), |(scale, cost)| (scale.to_string(), cost.to_f64()));
                let detail = format!(
                    "{} values of {} were {side} (one noisy integer of scale {scale}; both ends take {} of the cost)",
                    values.iter().flat_map(Integers::iter).sum::<i128>(),
                    quantity.name,
                    price(cost)
                );
                audit.add(channel.subject.name(), Passed, detail);
                continue;
            }
            if let Some(quantity) = channel.subject.quantity() {
                let cost: f64 = plan.numbers(&channel.subject).filter_map(alone).map(|p| p.to_f64()).sum();
                let count = values.iter().flat_map(Integers::iter).count();
                let detail =
                    format!("{count} noisy integers, for {} of the cost. {}", price(cost), quantity.note());
                audit.add(channel.subject.name(), Passed, detail);
                continue;
            }
            for ((i, m), values) in plan.numbers(&channel.subject).zip(&channel.measurements).zip(values) {
                let cost = alone(i).map_or(f64::NAN, |cost| cost.to_f64());
                let detail = format!(
                    "{} units had more rows than count (one noisy integer of scale {}, for {} of the cost)",
                    values.iter().sum::<i128>(),
                    m.scale,
                    price(cost)
                );
                audit.add(channel.subject.name(), Passed, detail);
            }
        }
        Ok(())
    }

    fn check_projection(
        &self,
        audit: &mut Audit,
        release: &Release,
        projection: &Projection,
        words: &Words,
    ) -> Result<(), ReleaseError> {
        let (design, manifest) = (&projection.design, release.manifest());
        match projection_cost(design) {
            Some(total) => {
                let detail = format!(
                    "recomputed from the {} projection and its noise (in how many sums a unit is, and how far it moves each)",
                    design.shape.name(),
                );
                audit.cost(detail, total, design.budget);
            }
            None => audit.add("privacy cost", Failed, "it cannot be computed".into()),
        }
        let derived = claims::of_projection(manifest.format, &self.cube, projection, words);
        claims_agree(audit, manifest, derived.map_err(|e| e.to_string()));
        if self.plan != claims::no_tables(&self.cube, design) {
            audit.add("plan", Failed, "there are tables or another budget beside the projection".into());
        }
        let values = stored::values(release, projection)?.len();
        audit.add("measurements", Passed, format!("all {values} noisy integers decode"));
        let answered = Questions::open(release)?.map(|q| q.count(&[0], 0.95, Estimator::default()));
        match answered {
            Some(a) if a.estimate.is_finite() && a.low <= a.high => {
                audit.add("answers", Passed, "a key is counted, with an interval".into());
            }
            _ => audit.add("answers", Failed, "no key is counted".into()),
        }
        Ok(())
    }
}

/// Whether what was charged follows from what was spent. Where the charge stands only the ledger can tell.
fn account(audit: &mut Audit, manifest: &Manifest) {
    let Some(account) = &manifest.account else {
        let old = if manifest.format == FIRST_FORMAT {
            ": files of format 1 never do, and no longer are made"
        } else {
            ""
        };
        let why = format!("the release does not say in which ledger it was charged{old}");
        audit.add("account", Warning, format!("{why}. Nothing shows that it was charged anywhere"));
        return;
    };
    let (name, of) = (&account.name, account.name.unit_of);
    let whom = match of {
        1 => format!("every {}", name.unit),
        of => format!("every {}, of at most {of} units", name.unit),
    };
    let part = name.part.as_ref().map_or(String::new(), |p| format!(", of which this is the part {p}"));
    let symbol = account.charged.currency.symbol();
    // With several recipients all copies together are charged.
    let cost = manifest.recipient.as_ref().map_or(manifest.privacy.cost, |r| r.joint_cost);
    if claims::charged(cost, of) == Some(account.charged) {
        let detail = format!(
            "{symbol} = {} for {whom}, in the ledger of `{}`{part}: what the cost comes to for one of them. Ask for that \
             ledger: margins ledger verify --release",
            price(account.charged.amount.to_f64()),
            name.id
        );
        audit.add("account", Passed, detail);
    } else {
        let why = format!("{symbol} = {} is not what the cost comes to for {whom}", account.charged.amount);
        audit.add("account", Failed, why);
    }
}

/// Whether the file has the name of the recipient whose copy it is.
fn named(audit: &mut Audit, release: &Release, name: &str, recipient: &str) {
    let expected = format!("{}.margins", file_name(name, Some(recipient)));
    let Some(found) = release.path().and_then(|p| p.file_name()).map(|f| f.to_string_lossy()) else { return };
    if found != expected {
        let detail =
            format!("the file is called {found:?}; the copy is {recipient}'s, and was called {expected}");
        audit.add("file name", Warning, detail);
    }
}

/// Whether the manifest says what was derived, no more and no less.
fn claims_agree(audit: &mut Audit, manifest: &Manifest, derived: Result<Claims, String>) {
    let derived = match derived {
        Ok(derived) => derived,
        Err(why) => return audit.add("manifest's claims", Failed, why),
    };
    let said = Claims {
        privacy: manifest.privacy.clone(),
        plan: manifest.plan.clone(),
        projection: manifest.projection.clone(),
        recipient: manifest.recipient.clone(),
        declared: manifest.declared.clone(),
    };
    if said == derived {
        let listed = derived.plan.measurements.len();
        let detail = format!(
            "derived again from plan and domain, and equal: budget, cost, neighbours, strategy, tables, each of \
             {listed} listed blocks with its noise, sensitivity and cost, what is exact and what is empty"
        );
        audit.add("manifest's claims", Passed, detail);
        let approximate = derived
            .privacy
            .approximate
            .map_or(String::new(), |a| format!(" As (ε, δ): ε = {} at δ = {}.", a.epsilon, a.delta));
        audit.add("guarantee", Passed, format!("derived: {}{approximate}", derived.privacy.note));
    } else {
        let why = compare::first_difference(&said, &derived, "the manifest says", "the plan gives");
        audit.add("manifest's claims", Failed, why);
    }
}

/// Answers the most modest query, by all that a query needs; and whether what was asked for follows from rows, where those were measured.
fn total(cube: &Cube, plan: &Plan, stored: &Values<&Release>) -> Result<Result<(), Open>, String> {
    let text = |e: &dyn std::error::Error| e.to_string();
    // Sums from zero may have no counts beside them.
    let sums = plan.summed().next().filter(|_| plan.rows().measurements.is_empty() && plan.exact.is_empty());
    let subject = sums.map_or(Subject::Rows, |(of, _)| Subject::Sum(of.clone()));
    let recovery = Recovery::of(&subject, cube.clone(), plan.clone(), stored).map_err(|e| text(&e))?;
    // Questions that were measured themselves may tell no total: then the first of them.
    let first = plan.rows().measurements.first().and_then(|m| match &m.block {
        Block::Rows(rows) if plan.rows().workload.is_empty() => rows.filters(cube).next()?,
        _ => None,
    });
    let filter = first.unwrap_or_else(Filter::everything);
    let evaluator = Evaluator::new(recovery);
    let groups = evaluator.aggregate(&filter, &[]).map_err(|e| text(&e))?;
    match groups.first() {
        Some(g) if g.estimate.is_finite() && g.law.std_error().is_finite() => {
            Ok(needed::from_rows(&evaluator, plan))
        }
        _ => Err("the answer is no number".into()),
    }
}
