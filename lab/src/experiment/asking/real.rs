//! The bounded setting, played by the product itself: made-up rows in a file, a ledger with a bound, and `margins ask`.
//!
//! The command is this program under another name, in a process of its own for each run. Its noise comes from fixed seeds, so that a run can
//! be repeated: what it makes is marked NOT PRIVATE. Whether a question is measured depends on no answer, so other seeds answer as many.

use super::simulation::{self, LEVEL, Run, Setting};
use super::system::Question;
use margins::cli::Failure;
use margins::exact::Rational;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The word under which this program is the product's command.
pub(crate) const PRODUCT: &str = "margins";

/// Ways to ask, by their names and by what `margins ask` is told.
pub(super) const WAYS: [(&str, &[&str]); 3] =
    [("inference", &[]), ("with parts", &["--invest", "parts"]), ("without", &["--no-inference"])];

const SPEC: &str = r#"name  = "asked"
title = "Made-up rows in 100 cells"
demo  = true

[dataset]
id       = "asked"
snapshot = "made-up"

[data]
path = "rows.csv"

[privacy]
unit    = "row"
epsilon = 1

[[dimension]]
name  = "cell"
range = [0, 99]

[[table]]
of = ["cell"]
"#;

/// A question as SQL.
fn sql(question: &Question) -> String {
    let part = |&(cell, times): &(usize, f64)| {
        let times = if times == 1.0 { String::new() } else { format!("{times} * ") };
        format!("{times}COUNT(*) FILTER (WHERE cell = {cell})")
    };
    let sum = question.query.iter().map(part).collect::<Vec<_>>().join(" + ");
    format!("SELECT {sum} FROM asked WITHIN {:.6}\n", question.half_width)
}

fn failed(what: &str, why: impl std::fmt::Display) -> Failure {
    Failure::Message(format!("{what}: {why}"))
}

/// What the product says; that some questions are refused is no failure.
fn product(folder: &Path, words: &[&str]) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|e| failed("this program", e))?;
    // Runs go side by side, each in one thread.
    let run = Command::new(program)
        .arg(PRODUCT)
        .args(words)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .map_err(|e| failed("margins", e))?;
    match run.status.code() {
        Some(0 | 1) => Ok(String::from_utf8_lossy(&run.stdout).into_owned()),
        _ => Err(failed("margins", String::from_utf8_lossy(&run.stderr).trim())),
    }
}

/// Whether the product takes seeds.
pub(super) fn takes_seeds() -> Result<(), Failure> {
    let help = product(Path::new("."), &["ask", "--help"])?;
    match help.contains("--insecure-seed") {
        true => Ok(()),
        false => Err(Failure::Message(
            "--real takes its noise from fixed seeds, which only test builds have: cargo run --release -p margins-lab --features test-seed"
                .into(),
        )),
    }
}

/// What a reply says: the estimate, if there is one; what it cost; what was spent in all.
fn reply(line: &str) -> Option<(Option<f64>, f64, f64)> {
    let reply: Value = serde_json::from_str(line).ok()?;
    let estimate = reply["rows"].get(0).and_then(|row| row["estimate"].as_f64());
    let (cost, all) = (reply["spent"].as_str()?, reply["account"]["spent"]["epsilon"].as_str()?);
    let ratio = |text: &str| text.parse::<Rational>().ok().map(Rational::to_f64);
    (estimate.is_some() != reply["refused"].is_string()).then_some((estimate, ratio(cost)?, ratio(all)?))
}

/// One run of so many questions: the very questions and counts of the simulation.
pub(super) fn run(way: &[&str], questions: usize, seed: u64) -> Result<Run, Failure> {
    let folder = tempfile::tempdir().map_err(|e| failed("a temporary folder", e))?;
    let (counts, asked) = simulation::asked(Setting::Bounded, questions, seed);
    let rows = counts.iter().enumerate().map(|(cell, n)| format!("{cell}\n").repeat(*n as usize));
    let write = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).map_err(|e| failed(name, e))
    };
    write("rows.csv", format!("cell\n{}", rows.collect::<String>()))?;
    write("asked.toml", SPEC.into())?;
    write("questions.sql", asked.iter().map(sql).collect())?;
    let bound = Setting::Bounded.bound().unwrap_or_default().to_string();
    product(folder.path(), &["ledger", "init", "asked", "--epsilon", &bound])?;
    let (level, noise) = (LEVEL.to_string(), (seed << 20).to_string());
    let words = ["ask", "asked.toml", "--batch", "questions.sql", "--json", "--level", &level];
    let said = product(folder.path(), &[&words[..], &["--insecure-seed", &noise], way].concat())?;
    let (mut out, mut errors, mut answered) = (simulation::empty(questions), 0.0, 0);
    let mut lines = said.lines();
    for question in &asked {
        let line = lines.next().unwrap_or_default();
        let (estimate, cost, all) = reply(line).ok_or_else(|| failed("not the reply to a question", line))?;
        if let Some(estimate) = estimate {
            let truth: f64 = question.query.iter().map(|&(j, q)| q * counts[j]).sum();
            let error = (estimate - truth).abs();
            answered += 1;
            out.free += u32::from(cost == 0.0);
            out.within += u32::from(error <= question.half_width);
            errors += error / (2.0 * question.half_width);
        }
        out.answered.push(answered);
        out.cost.push(all);
        out.errors.push(errors);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_replies() {
        let question = Question { query: vec![(3, 2.0), (7, 1.0)], half_width: 61.5 };
        let expected = "SELECT 2 * COUNT(*) FILTER (WHERE cell = 3) + COUNT(*) FILTER (WHERE cell = 7) FROM asked WITHIN 61.500000\n";
        assert_eq!(sql(&question), expected);
        let account = r#""account":{"spent":{"epsilon":"3/8"}}"#;
        let paid = format!(r#"{{"rows":[{{"x":4.0,"estimate":4.0}}],{account},"spent":"1/4"}}"#);
        assert_eq!(reply(&paid), Some((Some(4.0), 0.25, 0.375)));
        let refused = format!(r#"{{"rows":[],{account},"spent":"0","refused":"why"}}"#);
        assert_eq!(reply(&refused), Some((None, 0.0, 0.375)));
        // Neither an answer nor a reason.
        assert_eq!(reply(&refused.replace("refused", "other")), None);
        assert_eq!(reply("error"), None);
    }
}
