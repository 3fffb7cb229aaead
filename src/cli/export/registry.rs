//! `margins export --registry`: an entry for the public registry of deployments of differential privacy.
//!
//! The registry (OpenDP's, <https://github.com/opendp/deployments-registry-data>) takes one YAML file a deployment; the fields here are those of
//! its `schemas/deployments-schema.yaml`. What the release proves is filled in, what its signer claims is said to be their claim, and what
//! no file can know says [`OPEN`]: the registry's own checks refuse an entry while a required word of a list says that.

use super::super::{Failure, Outcome, output, verify};
use crate::answer::Answers;
use crate::answer::keys::Questions;
use crate::audit;
use crate::cube::Quantity;
use crate::exact::Rational;
use crate::plan::Neighbours;
use crate::projection::Shape;
use crate::release::{Amount, Currency, Manifest, Release};
use crate::render::{Caveat, truncation};
use std::path::Path;

/// What somebody has to write.
const OPEN: &str = "TO BE FILLED IN";

/// The probability with which the intervals of an entry cover.
const LEVEL: f64 = 0.95;

/// Prints the entry of a release that verifies.
pub(super) fn run(file: &Path) -> Outcome {
    let release = verify::opened(file)?;
    let report = audit::audit(&release, None)?;
    if !report.passed() {
        output::print(&report.to_text(&output::path(file)))?;
        return Err(Failure::Refuted);
    }
    let cost = report.checks.iter().find(|c| c.what == "privacy cost").map_or("", |c| c.detail.as_str());
    let mut entry = Yaml(String::new());
    entry.line(
        0,
        &format!("# A draft of an entry, from a release of {} that verified.", release.manifest().compiler),
    );
    entry.line(
        0,
        &format!(
            "# What says {OPEN} the file cannot know. Name the file NAME.yaml with a-z, 0-9 and _ alone."
        ),
    );
    basic(&mut entry, &release)?;
    privacy(&mut entry, &release)?;
    model(&mut entry, release.manifest());
    implementation(&mut entry, &release, cost, &report.blake3)?;
    entry.line(2, "administrative:");
    entry.line(4, "# evidence_sources: the release itself, and what you wrote about it");
    entry.text(4, "status", "Draft");
    entry.list(4, "registry_authors", &[OPEN]);
    entry.line(4, "tier: 3");
    // JSON's strings are YAML's, too, with the same escapes.
    output::json(&entry.0)
}

/// Lines of YAML. Texts are always in double quotes, as JSON writes them.
struct Yaml(String);

impl Yaml {
    fn line(&mut self, indent: usize, text: &str) {
        self.0.push_str(&format!("{:indent$}{text}\n", ""));
    }

    fn text(&mut self, indent: usize, name: &str, text: &str) {
        self.line(indent, &format!("{name}: {}", quoted(text)));
    }

    /// A field that may be left out, whose words are fixed.
    fn choice(&mut self, indent: usize, name: &str, words: &str) {
        self.line(indent, &format!("# {name}: {OPEN}, one of: {words}"));
    }

    fn list(&mut self, indent: usize, name: &str, items: &[&str]) {
        self.line(indent, &format!("{name}:"));
        for item in items {
            self.line(indent + 2, &format!("- {}", quoted(item)));
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as part of an address.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect()
}

/// The numbers whose sums are in it.
fn quantities(m: &Manifest) -> impl Iterator<Item = Quantity> {
    let sums = m.plan.sums.iter().filter(|s| s.subject == "sums");
    sums.map(|s| s.of.clone())
}

/// `income (0 to 100000 EUR)`
fn bounds(quantity: &Quantity) -> String {
    let [low, high] = quantity.ends();
    let unit = quantity.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
    format!("{} ({low} to {high}{unit})", quantity.name)
}

fn basic(entry: &mut Yaml, release: &Release) -> Outcome {
    let (m, questions) = (release.manifest(), Questions::open(release)?);
    let cube = match &questions {
        Some(questions) => questions.cube().clone(),
        None => release.cube()?,
    };
    entry.text(0, "url_slug", &slug(&m.about.name));
    entry.line(0, "deployment:");
    entry.line(2, "basic:");
    entry.text(4, "name", &m.about.title);
    entry.line(4, "data_curators:");
    entry.line(6, &format!("- data_curator_name: {}", quoted(m.about.contact.as_deref().unwrap_or(OPEN))));
    entry.text(8, "data_curator_type", &format!("{OPEN}: Government, Industry or Nonprofit"));
    entry.text(4, "description", m.about.description.as_deref().unwrap_or(OPEN));
    entry.text(4, "intended_use", OPEN);
    entry.text(4, "data_product_type", "Summary statistics");
    entry.text(4, "data_product_region", OPEN);
    entry.choice(4, "data_product_sector", "Technology, Healthcare, Education, Government, Energy, Finance");
    entry.text(4, "publication_date", &m.created);
    let currency = m.privacy.budget.currency;
    entry.line(2, "dp_variant:");
    let variant = match currency {
        Currency::Rho => "Zero-concentrated DP",
        Currency::Epsilon => "Pure DP",
    };
    entry.text(4, "variant_name", variant);
    let free = |name: &str| questions.as_ref().is_some_and(|q| q.is_free(name));
    let counted = cube.dimensions.iter().map(|d| match d.levels.last() {
        Some(_) if free(&d.name) => format!("{} (any text)", d.name),
        finest => format!("{} ({})", d.name, output::counted(finest.map_or(0, |l| l.len() as u64), "code")),
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    let numbers: Vec<String> = quantities(m).map(|q| bounds(&q)).collect();
    let (numbers, fixed) = match numbers.is_empty() {
        true => (String::new(), "The lists are"),
        false => (format!(" and numbers: {}", numbers.join(", ")), "Lists and bounds are"),
    };
    entry.text(4, "data_domain", &format!("Tables of rows, each with one code of every dimension: {counted}{numbers}. {fixed} public and were fixed before the data was opened."));
    let mut known: Vec<String> =
        m.declared.invariants.iter().map(|t| format!("published exactly: {t}")).collect();
    known.extend(m.declared.constraints.iter().map(|t| format!("declared, whatever the data: {t}")));
    if m.privacy.neighbours == Neighbours::Substitute {
        known.push("the number of units".into());
    }
    let none = || vec!["None".to_string()];
    let known = if known.is_empty() { none() } else { known };
    entry.text(4, "unprotected_quantities", &known.join("; "));
    Ok(())
}

/// A number that is not less than the ratio.
fn upper(r: Rational) -> f64 {
    let x = r.to_f64();
    let enough = |x: f64| format!("{x:e}").parse::<Rational>().is_ok_and(|t| t >= r);
    if enough(x) { x } else { x.next_up() }
}

fn privacy(entry: &mut Yaml, release: &Release) -> Outcome {
    let m = release.manifest();
    let p = &m.privacy;
    let unit = match p.unit.as_str() {
        "row" => format!("one row; whom a row stands for: {OPEN}"),
        unit => format!("all rows of one {unit}, as the signer names the column; whom it stands for: {OPEN}"),
    };
    entry.line(2, "privacy_loss:");
    entry.text(4, "privacy_unit", &unit);
    let neighbours = match p.neighbours {
        Neighbours::AddRemove => "by one unit more or less",
        Neighbours::Substitute => "by one unit changed; the number of units is public",
    };
    let most = p.bound().map_or(String::new(), |(_, n)| {
        format!(" At most {} of a unit count.", output::counted(n.into(), "row"))
    });
    entry.text(
        4,
        "privacy_unit_details",
        &format!("Two datasets are neighbours if they differ {neighbours}.{most}"),
    );
    entry
        .line(4, &format!("# number_of_privacy_units: {OPEN}, an approximate number where it is not public"));
    // Who gets several copies has no more than what all of them cost.
    let (all, of) = match &m.recipient {
        Some(r) => (r.joint_cost, format!("of all {} copies of the measuring together", r.copies)),
        None => (p.budget, "of this release alone".into()),
    };
    let Amount { currency, amount } = all;
    entry.line(4, "privacy_parameters:");
    let name = match currency {
        Currency::Rho => "rho",
        Currency::Epsilon => "epsilon",
    };
    entry.line(6, &format!("{name}: {}", float(upper(amount))));
    let mut details = format!("{} <= {amount}, {of}. {}", currency.symbol(), p.note);
    if let Some(a) = p.approximate.as_ref().filter(|_| m.recipient.is_none()) {
        let conversion = &a.conversion;
        details.push_str(&format!(
            " As (ε, δ): ε = {} at δ = {} ({conversion}).",
            a.epsilon,
            output::short(&a.delta)
        ));
    }
    details.push_str(&match &m.account {
        Some(a) => {
            format!(" The signer says that line {} of the ledger of {} was charged.", a.line, a.name.id)
        }
        None => String::new(),
    });
    details.push_str(&format!(" What else was released about the same units: {OPEN}"));
    entry.text(4, "privacy_parameters_details", &details);
    Ok(())
}

/// A number as YAML reads it as one: with a point.
fn float(x: f64) -> String {
    let text = format!("{x}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn model(entry: &mut Yaml, m: &Manifest) {
    entry.line(2, "deployment_model:");
    entry.text(4, "model_name", "Central");
    entry.text(
        4,
        "trust_assumptions",
        &format!(
            "The curator holds the rows and is trusted with them; readers get the signed file alone. {OPEN}"
        ),
    );
    entry.text(4, "actors", OPEN);
    entry.choice(4, "release_type", "One release, Many releases");
    let replaces = m.about.supersedes.as_ref().map(|s| format!("It replaces {s}. "));
    entry.text(4, "release_type_details", &format!("{}{OPEN}", replaces.unwrap_or_default()));
    entry.choice(4, "data_source_type", "Static, Dynamic");
    entry.text(4, "access_type", "Non-interactive");
    entry.text(4, "access_type_details", "One signed file is published; every question is answered from it offline, and costs no more privacy.");
}

/// What is said of dimensions whose values beyond their ends were counted at these, where the sealed spec tells it.
fn ends(release: &Release) -> Result<Vec<String>, Failure> {
    let dimensions = crate::spec::clamped(release);
    if dimensions.is_empty() {
        return Ok(Vec::new());
    }
    let caveats = match Questions::open(release)? {
        Some(questions) => questions.with_ends(&dimensions).caveats(),
        None => opened(release)?.with_ends(&dimensions).caveats(LEVEL)?,
    };
    let ends = caveats.iter().filter(|c| matches!(c, Caveat::Ends { .. }));
    Ok(ends.map(|c| c.text(LEVEL)).collect())
}

/// The release, opened once more for questions.
fn opened(release: &Release) -> Result<Answers, Failure> {
    Ok(Answers::open(release.path().unwrap_or(Path::new("")))?)
}

fn implementation(entry: &mut Yaml, release: &Release, cost: &str, blake3: &str) -> Outcome {
    let m = release.manifest();
    entry.line(2, "implementation:");
    let left_out = m.privacy.bound().map(|(unit, n)| format!("{}. ", truncation(unit, n)));
    let moved: String = quantities(m).map(|q| format!("{} ", q.note())).collect();
    let ends: String = ends(release)?.iter().map(|text| format!("{text} ")).collect();
    entry.text(
        4,
        "preprocessing_and_hyperparameter_tuning",
        &format!("{}{ends}{moved}{OPEN}", left_out.unwrap_or_default()),
    );
    let noise = format!("discrete {}", m.plan.mechanism.name());
    let how = match &m.projection {
        Some(p) => format!("a random projection ({}, {} rows)", p.kind, output::grouped(p.rows.into())),
        None => format!(
            "{} (strategy {}, {} budgets)",
            output::counted(m.plan.count, "measurement"),
            m.plan.measure,
            m.plan.budgets
        ),
    };
    let beside = m.plan.sums.iter().flat_map(|s| {
        let own =
            format!("{} of the {} of {}", output::counted(s.count, "measurement"), s.subject, s.of.name);
        let ends = s
            .clamping
            .as_ref()
            .map(|_| format!("two of how many rows were moved to the ends of {}", s.of.name));
        std::iter::once(own).chain(ends)
    });
    let beside: String = beside.map(|text| format!("; {text}")).collect();
    let of = if beside.is_empty() { "counts" } else { "counts and sums" };
    entry.text(4, "mechanisms", &format!(
        "The {noise} mechanism on integer {of}: {how}{beside}. Made with {}, which draws the noise by exact integer arithmetic from the operating \
         system's randomness, so that no floating-point number touches a count or its noise; that it was drawn so, the file cannot show. \
         How the rows are kept and who has access to them: {OPEN}",
        m.compiler
    ));
    entry.text(4, "composition", &format!("Losses add up. From the released blocks and scales: {cost}."));
    let after = match m.declared.post_processing.as_slice() {
        [] => "None before publication: the noisy integers are the release. Estimates that agree with each other are computed when it is read.".into(),
        some => some.join("; "),
    };
    entry.text(4, "post_processing", &after);
    entry.text(4, "justification", OPEN);
    entry.text(4, "utility", &utility(release)?);
    let key = &m.signer.public_key;
    entry.text(
        4,
        "additional_information",
        &format!("BLAKE3 hash of the release: {blake3}. Public key of its signer: {key}."),
    );
    Ok(())
}

/// How exact the first tables are.
fn utility(release: &Release) -> Result<String, Failure> {
    const FIRST: usize = 5;
    const SAYS: &str = "Every answer comes with its standard error and an exact interval.";
    if let Some(questions) = Questions::open(release)? {
        // As its own answers say it: neither kind has what tables have.
        return Ok(match questions.projected().projection().design.shape {
            Shape::Dense { .. } => {
                "Every answer comes with its standard error and an interval that takes the error to be normal."
            }
            Shape::Sketch { .. } => {
                "Every answer comes with an interval: that of a median of the sketch's rows is from their order and covers for any data, and the median \
                 has no standard error; where too few rows count it is made of the interval of the mean of all rows, by Chebyshev's inequality."
            }
        }
        .into());
    }
    let description = opened(release)?.describe(LEVEL, FIRST)?;
    let each = description
        .tables
        .iter()
        .map(|t| format!("{}: {}", t.name(), t.margin_text().unwrap_or("exact".into())));
    let each = each.collect::<Vec<_>>().join("; ");
    let sums = description.amounts.iter().map(|a| {
        let unit = a.unit.as_ref().map_or(String::new(), |unit| format!(", in {unit}"));
        let each = a.tables.iter().map(|t| format!("{}: {}", t.name(), t.margin_text().unwrap_or_default()));
        format!(" Of sums of {}{unit}: {}.", a.name, each.collect::<Vec<_>>().join("; "))
    });
    let sums: String = sums.collect();
    Ok(format!("{SAYS} Half widths of 95 % intervals of counts, in the cell known least well: {each}.{sums}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::make::ReleaseOptions;
    use crate::secret::ingest::{Frame, Held};
    use crate::spec::Spec;

    /// What was done to the rows before they were counted names the dimensions whose ends took more than their own values, and no others.
    #[test]
    fn an_entry_names_clamped_dimensions() {
        let folder = tempfile::tempdir().unwrap();
        let spec = "name = \"f\"\ntitle = \"t\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1\n\
            [[dimension]]\nname = \"kids\"\nrange = [0, 3]\nclamp = true\n[[dimension]]\nname = \"rooms\"\nrange = [1, 9]\n\
            [[table]]\nof = [\"kids\", \"rooms\"]\n";
        let mut rows = Frame::new(["kids", "rooms"].map(|name| (name.into(), Held::Text)).to_vec());
        rows.cell(b"7");
        rows.cell(b"4");
        let options = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
        let made = Spec::from_toml(spec).unwrap().release(options.rows(&rows).insecure_seed(1)).unwrap();
        let mut entry = Yaml(String::new());
        assert!(implementation(&mut entry, &Release::open(made.path()).unwrap(), "", "").is_ok());
        let said = entry.0.lines().find(|line| line.contains("preprocessing")).unwrap_or_default();
        assert!(said.contains("kids: values below 0 and beyond 3 were counted"), "{said}");
        assert!(!said.contains("rooms"), "{said}");
    }

    /// A projection has no exact intervals, and a sketch's medians have no standard error: an entry says what is so of each kind.
    #[test]
    fn an_entry_of_a_projection_promises_what_it_has() {
        for (kind, wanted) in [("dense", "takes the error to be normal"), ("sketch", "has no standard error")]
        {
            let folder = tempfile::tempdir().unwrap();
            let spec = format!(
                "name = \"p\"\ntitle = \"t\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = 1\n[[dimension]]\nname = \"code\"\ntext = true\n\
                 [projection]\nkind = \"{kind}\"\nrows = 1024\nsparsity = 2\n"
            );
            let mut rows = Frame::new(vec![("code".into(), Held::Text)]);
            rows.cell(b"a");
            let options = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
            let made = Spec::from_toml(&spec).unwrap().release(options.rows(&rows).insecure_seed(1)).unwrap();
            let said = utility(&Release::open(made.path()).unwrap()).ok().unwrap();
            assert!(said.contains(wanted) && !said.contains("exact interval"), "{kind}: {said}");
        }
    }

    #[test]
    fn numbers_are_not_less_than_their_ratios() {
        for text in ["1/2", "1/3", "2/3", "1/10", "1", "13/7"] {
            let r: Rational = text.parse().unwrap();
            let x = upper(r);
            assert!(format!("{x:e}").parse::<Rational>().unwrap() >= r, "{text}");
            assert!((x - r.to_f64()).abs() <= 1e-15, "{text}");
        }
        assert_eq!((float(1.0), float(0.5)), ("1.0".into(), "0.5".into()));
        assert_eq!(slug("town-2026_v1.2"), "town-2026-v1-2");
    }
}
