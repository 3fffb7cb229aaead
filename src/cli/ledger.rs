//! `margins ledger`: what has been spent on each dataset.

use super::output::columns;
use super::{Outcome, output};
use crate::ledger::Ledger;
use crate::plan::Neighbours;
use crate::release::Currency;
use serde_json::json;
use std::path::PathBuf;

/// Show what has been spent on each dataset.
///
/// Every release is charged before its noise is drawn; a charge stays even if the release was never finished.
/// The entries are chained by hashes, and the chain is checked.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins ledger out/ledger.jsonl")]
pub struct Args {
    /// The ledger
    #[arg(default_value = "out/ledger.jsonl")]
    file: PathBuf,
    /// Print the totals as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let ledger = Ledger::read(&args.file).map_err(|e| output::about(&args.file, &e))?;
    let (summary, lines) = (ledger.check()?, ledger.totals()?);
    if args.json {
        let totals: Vec<_> = lines
            .iter()
            .map(|t| {
                json!({
                    "dataset": t.dataset, "unit": t.unit, "neighbours": t.neighbours, "currency": t.currency,
                    "charged": t.charged, "charges": t.charges,
                })
            })
            .collect();
        let value = json!({ "entries": summary.entries, "open": summary.open, "head": summary.head, "totals": totals });
        return output::json(&format!("{value:#}\n"));
    }
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|t| {
            let symbol = match t.currency {
                Currency::Rho => "ρ",
                Currency::Epsilon => "ε",
            };
            let charged = format!("{symbol} = {:.6}", t.charged.to_f64());
            let change = match t.neighbours {
                Neighbours::AddRemove => "more or less",
                Neighbours::Substitute => "changed",
            };
            vec![t.dataset.clone(), format!("{} {change}", t.unit), charged, t.charges.to_string()]
        })
        .collect();
    let mut out = columns(&["dataset", "unit", "charged", "charges"], &rows);
    out.push_str(&format!("\n{} entries, the chain holds; head {}\n", summary.entries, summary.head));
    if summary.open > 0 {
        out.push_str(&format!("{} charges were never sealed: they stay spent\n", summary.open));
    }
    output::print(&out)
}
