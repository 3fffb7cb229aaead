//! An auditor's questions, answered from the file alone: is it whole, who signed it, does its privacy
//! arithmetic add up, and what can none of this show?

use crate::cube::Frame;
use crate::plan::Plan;
use crate::plan::cost::{self, WorstCase};
use crate::projection::cost::cost as projection_cost;
use crate::projection::{Projection, query};
use crate::release::values::Values;
use crate::release::{Check, Outcome, Release, ReleaseError};

/// Everything that was checked.
#[derive(Debug, Clone)]
pub struct Audit {
    /// In the order they were done.
    pub checks: Vec<Check>,
    /// The BLAKE3 hash of the file, as `b3sum` prints it; empty when the file was refused.
    pub blake3: String,
}

/// What no check of the file can show.
const LIMITS: &str = "\
What these checks cannot show: that the data was real or was read as the spec
says, that the noise was drawn as the format says and nobody kept a copy of it,
or what else was released about the same people. The signer vouches for those;
the ledger keeps the account.";

/// Checks everything: signature, hashes, format, and the privacy cost recomputed from the released blocks
/// and scales.
pub fn audit(release: &Release, public_key: Option<&str>) -> Result<Audit, ReleaseError> {
    let verification = release.verify_all(public_key)?;
    let mut audit = Audit { checks: verification.checks, blake3: verification.file_blake3 };
    if let Err(e) = audit.recompute(release) {
        audit.add("content", Outcome::Failed, e.to_string());
    }
    Ok(audit)
}

impl Audit {
    /// The audit of a file that was refused before anything else could be checked.
    pub fn refused(why: &ReleaseError) -> Audit {
        let check = Check { what: "file".into(), outcome: Outcome::Failed, detail: why.to_string() };
        Audit { checks: vec![check], blake3: String::new() }
    }

    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.outcome != Outcome::Failed)
    }

    fn add(&mut self, what: &str, outcome: Outcome, detail: String) {
        self.checks.push(Check { what: what.into(), outcome, detail });
    }

    fn recompute(&mut self, release: &Release) -> Result<(), ReleaseError> {
        use Outcome::{Failed, Passed};
        let manifest = release.manifest();
        let cube = release.cube()?;
        let plan = release.plan(&cube)?;
        if let Some(projection) = query::projection(release, &cube)? {
            return self.projection(release, &projection, &plan);
        }
        let cost = match cost::cost(&plan, &Frame::new(&cube, &plan.levels)) {
            Ok(cost) => cost,
            Err(e) => {
                self.add("privacy cost", Failed, e.to_string());
                return Ok(());
            }
        };
        let how = match cost.worst_case {
            WorstCase::Sum => "the sum over all blocks",
            WorstCase::Cells => "the exact maximum over all cells",
            WorstCase::Joint => "the exact maximum over all pairs of cells",
            WorstCase::Bound => "an upper bound over all pairs of cells",
        };
        let said = &manifest.privacy;
        let total = cost.total;
        if total > plan.budget || plan.budget != said.budget.amount {
            let detail =
                format!("recomputed {total}, above the budget of {} that is claimed", said.budget.amount);
            self.add("privacy cost", Failed, detail);
        } else if total != said.cost.amount {
            let detail = format!("recomputed {total}, but the manifest says {}", said.cost.amount);
            self.add("privacy cost", Failed, detail);
        } else {
            let detail = format!(
                "recomputed from {} blocks and scales ({how}): {:.12} of {}",
                plan.measurements.len(),
                total.to_f64(),
                plan.budget
            );
            self.add("privacy cost", Passed, detail);
        }
        if plan.neighbours != said.neighbours || plan.max_rows != said.max_rows {
            self.add("neighbours", Failed, "the plan and the manifest protect different units".into());
        }
        let same_plan = plan.measure.name() == manifest.plan.measure
            && plan.noise == manifest.plan.mechanism
            && plan.measurements.len() as u64 == manifest.plan.count;
        if !same_plan {
            self.add("plan", Failed, "the manifest describes another plan than the one in the file".into());
        }
        let stored = Values::new(release, &cube, &plan)?;
        let values = stored.check_all()?;
        self.add("measurements", Passed, format!("all {values} noisy integers decode"));
        if !plan.exact.is_empty() {
            let counts = stored.check_exact()?;
            let tables = plan.exact.len();
            let detail = format!(
                "{tables} tables, {counts} counts WITHOUT NOISE, declared with their reasons: what they say \
                 about anybody is public; the privacy cost is what the rest tells beyond them"
            );
            self.add("exact tables", Outcome::Warning, detail);
        }
        if !plan.zeros.is_empty() {
            let detail = format!(
                "{} declared empty whatever the data ({}); every answer assumes it",
                if plan.zeros.len() == 1 { "cells are" } else { "cells of several conditions are" },
                plan.zeros.join("; ")
            );
            self.add("zeros", Passed, detail);
        }
        Ok(())
    }

    /// The cost of a projection, its plan and its integers.
    fn projection(
        &mut self,
        release: &Release,
        projection: &Projection,
        plan: &Plan,
    ) -> Result<(), ReleaseError> {
        use Outcome::{Failed, Passed};
        let (design, manifest) = (&projection.design, release.manifest());
        let said = &manifest.privacy;
        match projection_cost(design) {
            Some(total)
                if total <= design.budget
                    && design.budget == said.budget.amount
                    && total == said.cost.amount =>
            {
                let detail = format!(
                    "recomputed from the {} projection and its noise (in how many sums a unit is, and how far it moves each): \
                     {:.12} of {}",
                    design.shape.name(),
                    total.to_f64(),
                    design.budget
                );
                self.add("privacy cost", Passed, detail);
            }
            Some(total) => {
                let detail = format!(
                    "recomputed {total}, but the manifest says {} of {}",
                    said.cost.amount, said.budget.amount
                );
                self.add("privacy cost", Failed, detail);
            }
            None => self.add("privacy cost", Failed, "it cannot be computed".into()),
        }
        if design.neighbours != said.neighbours || design.max_rows != said.max_rows {
            self.add("neighbours", Failed, "the projection and the manifest protect different units".into());
        }
        let same = manifest.projection.as_ref().is_some_and(|p| {
            p.kind == design.shape.name()
                && u64::from(p.rows) == design.shape.column()
                && u64::from(p.rows) * u64::from(p.buckets.unwrap_or(1)) == design.shape.values()
                && p.independence == design.independence
                && p.seed == blake3::Hash::from_bytes(projection.seed).to_hex().as_str()
        });
        let alone = plan.measurements.is_empty() && plan.budget == design.budget;
        if !same || !alone || design.noise != manifest.plan.mechanism {
            self.add(
                "plan",
                Failed,
                "the manifest describes another projection than the one in the file".into(),
            );
        }
        let values = query::values(release, projection)?.len();
        self.add("measurements", Passed, format!("all {values} noisy integers decode"));
        Ok(())
    }

    /// For scripts.
    pub fn to_json(&self) -> serde_json::Value {
        let name = |o: Outcome| match o {
            Outcome::Passed => "passed",
            Outcome::Warning => "warning",
            Outcome::Failed => "failed",
        };
        serde_json::json!({
            "passed": self.passed(),
            "blake3": self.blake3,
            "checks": self.checks.iter().map(|c| serde_json::json!({
                "what": c.what, "outcome": name(c.outcome), "detail": c.detail,
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
            let mark = match c.outcome {
                Outcome::Passed => "ok  ",
                Outcome::Warning => "note",
                Outcome::Failed => "FAIL",
            };
            let indent = width + 8;
            let detail = wrap(&c.detail, 80usize.saturating_sub(indent).max(30), indent);
            out.push_str(&format!("{mark}  {:<width$}  {detail}\n", c.what));
        }
        let verdict = if self.passed() {
            "VERIFIED: the file is whole and its privacy arithmetic adds up."
        } else {
            "VERIFICATION FAILED: do not trust this file."
        };
        if self.passed() {
            out.push_str(&format!("\n{LIMITS}\n"));
        }
        // Always the last line: whatever is above it, it is what stays on the screen.
        out.push_str(&format!("\n{verdict}\n"));
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
