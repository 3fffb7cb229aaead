//! What is said under a table.

use crate::answer::tell::open::Answers;

/// Remarks, each once.
#[derive(Default)]
pub(super) struct Notes(pub Vec<String>);

impl Notes {
    pub(super) fn add(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

/// Which release had which share in a figure.
pub(super) fn contributions(name: &str, releases: &[&Answers], shares: &[f64]) -> String {
    let parts: Vec<String> = releases
        .iter()
        .enumerate()
        .map(|(at, r)| (r, shares.get(at).copied().unwrap_or(0.0)))
        .map(|(r, s)| format!("{:.1} % from {}", 100.0 * s, r.title()))
        .collect();
    format!("{name}: combined by precision: {} (first row).", parts.join(", "))
}
