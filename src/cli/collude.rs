//! `margins collude`: what the recipients of several copies get when they put them together.

use super::copies::SHIFTED;
use super::output::{columns, figure, grouped, wrapped};
use super::{Failure, Outcome, output};
use crate::answer::Answers;
use crate::answer::collude::{Collusion, collude};
use crate::exact::Rational;
use crate::plan::Mode;
use serde_json::json;
use std::path::PathBuf;

/// Show what recipients learn when they combine their copies.
///
/// For the first figure of a query, or the number of rows: the standard error of each copy, of the mean of all copies, and of their mean with
/// the best weights. Nested copies tell no more than that. Of shifted copies each has one secret centre in all its counts, so whoever knows
/// one of these counts, or takes several together, does better: at best as the last column says, for known centres. Reads the files only,
/// never data.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins collude out/town-press.margins out/town-school.margins \\\n    --sql \"SELECT sex, COUNT(*) FROM town GROUP BY sex\""
)]
pub(super) struct Args {
    /// Copies from one run of `margins release`
    #[arg(required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The query, of which the first figure is compared [default: the number of rows]
    #[arg(long, value_name = "SELECT")]
    sql: Option<String>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let open = |f: &PathBuf| Answers::open(f).map_err(|e| output::about(f, &e));
    let copies = args.files.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
    let found = collude(&copies, args.sql.as_deref())?;
    if args.json { output::json(&to_json(&found)) } else { output::print(&to_text(&found)) }
}

/// What the copies that were given cost together: of nested ones what the most precise of them costs.
fn together(found: &Collusion) -> Option<Rational> {
    let costs = found.given.iter().map(|g| g.cost.amount);
    match found.mode {
        Mode::Nested => costs.max(),
        Mode::Shifted { .. } => costs.clone().try_fold(Rational::ZERO, |sum, c| sum.checked_add(c)),
    }
}

/// Rows that are shown.
const SHOWN: usize = 40;

fn to_text(found: &Collusion) -> String {
    let symbol = found.joint.currency.symbol();
    let mut out = format!(
        "{} of {} copies of {}, {}\n\n",
        found.given.len(),
        grouped(found.copies),
        found.name,
        found.mode.name()
    );
    let labels = found.rows.first().map_or(0, |r| r.row.len());
    let mut head: Vec<&str> = vec![""; labels];
    let names: Vec<String> = found.given.iter().map(|g| g.recipient.clone()).collect();
    head.extend(names.iter().map(String::as_str));
    head.extend(["mean", "best weights"]);
    let shifted = matches!(found.mode, Mode::Shifted { .. });
    if shifted {
        head.push("centres known");
    }
    let rows: Vec<Vec<String>> = found
        .rows
        .iter()
        .take(SHOWN)
        .map(|r| {
            let mut row = r.row.clone();
            row.extend(r.each.iter().chain([&r.mean, &r.least]).map(|x| figure(*x)));
            if shifted {
                row.push(figure(r.centred));
            }
            row
        })
        .collect();
    out.push_str(&format!("standard error of {}\n\n", found.figure));
    out.push_str(&columns(&head, &rows));
    if found.rows.len() > SHOWN {
        out.push_str(&format!("  … and {} more rows: --json\n", grouped((found.rows.len() - SHOWN) as u64)));
    }
    if let Some(cost) = together(found) {
        out.push_str(&format!(
            "\ntogether these copies cost {symbol} = {}, all copies {symbol} = {}\n",
            output::spent(cost),
            found.joint.amount.shown()
        ));
    }
    let best = found.given.iter().min_by_key(|g| g.rank).map_or("", |g| g.recipient.as_str());
    let meaning = match found.mode {
        Mode::Nested => format!(
            "Nothing is gained: the other copies were made from that of {best} by further noise, and tell nothing that it does not."
        ),
        Mode::Shifted { .. } => SHIFTED.to_owned(),
    };
    out.push_str(&format!("{}\n", wrapped(&meaning, 0)));
    out
}

fn to_json(found: &Collusion) -> String {
    let row = |r: &crate::answer::collude::Known| {
        json!({
            "row": r.row, "std_errors": r.each, "best": r.best, "mean": r.mean, "best_weights": r.least,
            "centres_known": r.centred,
        })
    };
    let given = |g: &crate::answer::collude::Given| json!({"recipient": g.recipient, "cost": g.cost.amount});
    let value = json!({
        "release": found.name,
        "figure": found.figure,
        "mode": found.mode.name(),
        "copies": found.copies,
        "currency": found.joint.currency,
        "given": found.given.iter().map(given).collect::<Vec<_>>(),
        "cost": together(found),
        "joint_cost": found.joint.amount,
        "rows": found.rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
