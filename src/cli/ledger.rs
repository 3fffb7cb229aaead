//! `margins ledger`: what has been spent on each dataset.

use super::output::columns;
use super::{Outcome, output};
use crate::ledger::Ledger;
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
    let totals = Ledger::read(&args.file)?.totals()?;
    if args.json {
        return output::print(&format!("{:#}\n", serde_json::to_value(&totals)?));
    }
    let rows: Vec<Vec<String>> = totals
        .iter()
        .map(|t| {
            vec![
                t.dataset.clone(),
                t.unit.clone(),
                format!("{:?}", t.currency).to_lowercase(),
                format!("{:.6}", t.charged.to_f64()),
                t.charges.to_string(),
                t.sealed.to_string(),
            ]
        })
        .collect();
    output::print(&columns(&["dataset", "unit", "currency", "charged", "charges", "sealed"], &rows))
}
