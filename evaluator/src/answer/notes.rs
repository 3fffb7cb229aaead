//! What is said under a table.

use super::asked::Asked;
use super::open::Answers;

/// Remarks, each once.
#[derive(Default)]
pub(super) struct Notes(pub Vec<String>);

impl Notes {
    pub fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

/// Which release had which share in a figure.
pub(super) fn contributions(name: &str, releases: &[(&Answers, &Asked)], shares: &[f64]) -> String {
    let parts: Vec<String> = releases
        .iter()
        .zip(shares)
        .map(|((r, _), s)| format!("{:.1} % from {}", 100.0 * s, r.title()))
        .collect();
    format!("{name}: combined by precision: {} (first row).", parts.join(", "))
}
