//! From a spec's text to what its plan promises, where there is neither a disk nor data: in a browser.

use super::plan::of_tables;
use crate::planner::{Look, Unplanned};
use crate::spec::{self, SpecErrors};
use crate::watch::Watch;
use std::io;
use std::path::Path;

/// Why there is no preview.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoPreview {
    /// The spec has mistakes, each with its place.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// A projection is no plan of tables.
    #[error("a projection has no tables to plan: margins plan shows what it promises")]
    Projection,
    /// There is no such plan.
    #[error("{0}")]
    Plan(String),
}

impl From<Unplanned> for NoPreview {
    fn from(why: Unplanned) -> NoPreview {
        NoPreview::Plan(why.to_string())
    }
}

/// The JSON of `margins plan --json` for the text of a spec, but for what a release takes: that depends on the machine. `read` gives the bytes of the
/// files that the spec names; of the data nothing is asked. `name` is what mistakes call the spec.
pub fn preview(
    text: &str,
    name: &str,
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<String, NoPreview> {
    let spec = spec::parse(text, Path::new(name), read)?;
    if spec.projection.is_some() {
        return Err(NoPreview::Projection);
    }
    let choice = spec.choose(Look::Needed, &Watch::default())?;
    Ok(of_tables(&spec, &choice, Vec::new(), |pieces| pieces.collect())?)
}

#[cfg(all(test, feature = "cli"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Spec;
    use serde_json::Value;

    fn nowhere(_: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn previewed(text: &str) -> Value {
        serde_json::from_str(&preview(text, "p.toml", nowhere).unwrap()).unwrap()
    }

    const TEXT: &str = "name = \"p\"\ntitle = \"P\"\n[privacy]\nunit = \"row\"\nrho = 1\n[[dimension]]\nname = \"a\"\ncodes = 3\n\
        [[dimension]]\nname = \"b\"\nrange = [0, 9]\nlevels = [{ name = \"five\", width = 5 }]\n\
        [[table]]\nof = [\"a\", \"b\"]\n[[table]]\nof = [\"b.five\"]\n[strategy]\n";

    /// What a browser shows is what the command prints, for all but what a release takes.
    #[test]
    fn it_is_the_plan_of_the_command() {
        for measure in ["residual", "queries", "wavelet", "auto"] {
            let text = format!("{TEXT}measure = \"{measure}\"\n");
            let command = crate::cli::plan::to_json(&Spec::from_toml(&text).unwrap().plan().unwrap());
            let mut command: Value = serde_json::from_str(&command.unwrap_or_else(|_| panic!())).unwrap();
            assert!(command.as_object_mut().unwrap().remove("takes").is_some());
            assert_eq!(previewed(&text), command, "{measure}");
        }
    }

    /// Tables that are measured as they are share nothing; components are in common.
    #[test]
    fn every_table_has_a_part_of_the_budget() {
        let shares = |measure: &str| -> Vec<f64> {
            let plan = previewed(&format!("{TEXT}measure = \"{measure}\"\nbudgets = \"uniform\"\n"));
            plan["tables"].as_array().unwrap().iter().map(|t| t["share"].as_f64().unwrap()).collect()
        };
        let near = |of: Vec<f64>, expected: [f64; 2]| {
            assert!(of.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{of:?} {expected:?}");
        };
        near(shares("queries"), [0.5, 0.5]);
        // The total, a, b.five, b, and both with a: six components, of which two are those of b.five.
        near(shares("residual"), [1.0, 2.0 / 6.0]);
        // The finest table alone is measured.
        near(shares("base"), [1.0, 1.0]);
    }

    /// Beside sums and the rows that were moved, tables have what the channel of rows has of the budget; what is exact takes nothing of it.
    #[test]
    fn parts_of_the_budget_add_up_beside_sums() {
        for more in ["", "neighbours = \"substitute\"\n"] {
            let amount = "[[amount]]\nname = \"pay\"\nlow = 0\nhigh = 9\nstep = 1\nmissing = \"skip\"\nsquare = true\nmeasure_clamping = \"1/5\"\n";
            let table = "[[table]]\nof = [\"b\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"a\"]\nexact = true\nreason = \"r\"\n";
            let head = TEXT.split("[[table]]").next().unwrap();
            let head = head.replace("rho = 1\n", &format!("rho = 1\n{more}"));
            let plan = previewed(&format!("{head}{amount}{table}[strategy]\nmeasure = \"queries\"\n"));
            let part = |of: &Value| -> f64 {
                of.as_str().unwrap().parse::<crate::exact::Rational>().unwrap().to_f64()
            };
            let sums = &plan["sums"][0];
            let beside: f64 =
                ["share", "valued_share", "squares_share"].iter().map(|key| part(&sums[*key])).sum();
            let tables = plan["tables"].as_array().unwrap();
            let of = |name: &str| &tables.iter().find(|t| t["of"][0] == name).unwrap()["share"];
            let rows = of("b").as_f64().unwrap();
            assert!((rows - 0.8 * (1.0 - beside)).abs() < 1e-3, "{more} {rows} {beside}");
            assert!((part(&sums["clamping"]["cost"]) - 0.2).abs() < 1e-6);
            assert!(of("a").is_null(), "{more}");
            let parts = |of: &Value| of["share"].as_f64().unwrap();
            let shares = plan["shares"].as_array().unwrap();
            let all: f64 = shares.iter().map(parts).sum();
            assert!((all - 1.0).abs() < 1e-12 && shares[0]["of"] == "counts", "{more} {all}");
            assert!((parts(&shares[0]) - rows).abs() < 1e-3, "{more}");
        }
    }

    #[test]
    fn it_says_what_it_cannot_show() {
        let wrong = preview(&TEXT.replace("codes = 3", "hierarchy = \"x.csv\""), "p.toml", nowhere);
        assert!(matches!(&wrong, Err(NoPreview::Spec(e)) if e.to_string().contains("x.csv")), "{wrong:?}");
        let visits = include_str!("../../specs/visits.toml");
        assert!(matches!(preview(visits, "visits.toml", nowhere), Err(NoPreview::Projection)));
        let dear = preview(&TEXT.replace("rho = 1", "epsilon = 1e-15\ndelta = 1e-30"), "p.toml", nowhere);
        assert!(matches!(&dear, Err(NoPreview::Plan(why)) if why.contains("no noise")), "{dear:?}");
    }
}
