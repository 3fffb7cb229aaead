//! What is asked beyond cells, for people.

use super::super::output::{columns, figure, grouped};
use super::SHOWN;
use crate::plan::{Asks, Plan, Table};
use crate::planner::{Planned, Request, closure::Spread};
pub(super) use crate::preview::asked::name;
use crate::preview::asked::{Measured, own_noise, spreads};

/// Whether a plan was made for more than cells.
pub(super) fn of(plan: &Plan) -> bool {
    plan.rows().workload.iter().any(|t| !t.asks.is_cells())
}

/// Whether more than cells is asked for.
pub(super) fn beyond(request: &Request) -> bool {
    request.workload.iter().any(|t| !t.asks.is_cells())
}

/// Questions whose figures are measured themselves, and how exact these are.
pub(super) fn questions(questions: &[Measured], planned: &Planned, all: bool) -> String {
    let shown = if all { questions.len() } else { questions.len().min(SHOWN) };
    let [error, half] = own_noise(planned).map(figure);
    let row =
        |q: &Measured| vec![q.sql.clone(), grouped(q.figures as u64), error.clone(), format!("± {half}")];
    let rows: Vec<Vec<String>> = questions.iter().take(shown).map(row).collect();
    let mut out = columns(&["question", "figures", "std error", "95 % margin"], &rows);
    if shown < questions.len() {
        let more = grouped((questions.len() - shown) as u64);
        out.push_str(&format!("  … and {more} more questions: --all\n"));
    }
    if planned.prediction.cells > 1.0 {
        out.push_str("  (each figure by its own noise; where figures overlap, answers are more exact)\n");
    }
    out
}

/// The tables of which sums are asked: what their cells, prefixes and ranges are known to.
pub(super) fn judged(request: &Request, planned: &Planned, all: bool) -> String {
    let asked = |t: &&Table| matches!(&t.asks, Asks::Product(of) if !of.is_empty());
    let mut tables: Vec<&Table> = planned.plan.rows().workload.iter().filter(asked).collect();
    // A table that is asked several things is judged once.
    let mut seen = std::collections::HashSet::new();
    tables.retain(|t| {
        let Asks::Product(of) = &t.asks else { return false };
        seen.insert((t.cuboid.clone(), of.iter().map(|(d, _)| *d).collect::<Vec<_>>()))
    });
    if !all {
        tables.truncate(SHOWN);
    }
    if tables.is_empty() {
        return String::new();
    }
    let error = |s: &Option<Spread>, of: fn(&Spread) -> f64| s.map_or("?".into(), |s| figure(of(&s).sqrt()));
    let rows: Vec<Vec<String>> = tables
        .iter()
        .zip(spreads(&tables, request, planned))
        .map(|(t, spreads)| {
            let Asks::Product(of) = &t.asks else { return Vec::new() };
            let along: Vec<String> =
                of.iter().map(|(d, _)| request.cube.level_name(t.cuboid.at((*d).into()))).collect();
            let figures = spreads.iter().flat_map(|s| [error(s, |s| s.mean), error(s, |s| s.max)]);
            [request.cube.describe(&t.cuboid), along.join(", ")].into_iter().chain(figures).collect()
        })
        .collect();
    let head = ["std error of", "along", "cells", "worst", "prefixes", "worst", "ranges", "worst"];
    format!("\n{}", columns(&head, &rows))
}

#[cfg(test)]
mod tests {
    use crate::spec::Spec;
    use serde_json::Value;

    const TEXT: &str = "name = \"x\"\ntitle = \"X\"\n[privacy]\nunit = \"row\"\nrho = \"1/8\"\n\
        [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\
        [[dimension]]\nname = \"age-band\"\nrange = [0, 9]\n\
        [asked]\nqueries = [\"SELECT sex, COUNT(*) FROM x GROUP BY sex\", \"SELECT COUNT(*) FROM y WHERE age-band < 3\"]\n";

    /// Of questions that are measured themselves no word is of tables, cells or sums of amounts; each is shown with the error of its figures.
    #[test]
    fn questions_are_shown_with_their_errors() {
        let planned = Spec::from_toml(TEXT).unwrap().plan().unwrap();
        let said = crate::cli::plan::to_text(&planned, false).unwrap_or_else(|_| panic!());
        assert!(said.contains("answers   2 questions; measured as they are asked: 3 figures\n"), "{said}");
        for (question, figures) in
            [("SELECT sex, COUNT(*) FROM x GROUP BY ", "2"), ("SELECT COUNT(*) FROM y WHERE ", "1")]
        {
            let line = said.lines().find(|line| line.trim_start().starts_with(question));
            let line = line.unwrap_or_else(|| panic!("{said}"));
            let words: Vec<&str> = line.split_whitespace().rev().take(4).collect();
            assert_eq!(words[1..], ["±", "2.828", figures], "{line}");
        }
        for word in ["table", "cell's", "sums alone"] {
            assert!(!said.contains(word), "{word}: {said}");
        }
        let json = crate::cli::plan::to_json(&planned).unwrap_or_else(|_| panic!());
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["asked"][1]["sql"], "SELECT COUNT(*) FROM y WHERE \"age-band\" < 3");
        assert_eq!([&json["asked"][0]["figures"], &json["asked"][1]["figures"]], [2, 1]);
        let error = json["asked"][0]["std_error"].as_f64().unwrap();
        assert!((error * error - json["strategies"][0]["max_variance"].as_f64().unwrap()).abs() < 1e-9);
    }
}
