//! What an answer rests on, for people and for programs.

use crate::visible::visible;
use serde::Serialize;
use std::fmt;

/// Sources that are listed for people.
const LISTED: usize = 8;

/// One measurement's part in an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// The release, when there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The table it is about.
    pub block: String,
    /// What of it: `component`, `table`, `differences`, `coefficients` or `rows`; or `shift`.
    pub kind: &'static str,
    /// How many of its noises enter the answer.
    pub noises: u64,
    /// The greatest weight of any of them.
    pub weight: f64,
    /// The standard deviation of one of them.
    pub noise_std: f64,
    /// Its share of the answer's variance.
    pub share: f64,
    /// The answer's standard error, were this measurement's noise variance halved, relative to what it is.
    pub if_halved: f64,
}

/// What one figure of one row rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The figure.
    pub figure: String,
    /// The row: its labels.
    pub row: Vec<String>,
    /// The variance of the figure's error; for a ratio that of the delta method.
    pub variance: f64,
    /// The measurements, the largest share first.
    pub sources: Vec<Source>,
}

/// A, B, C, and so on.
fn letter(at: usize) -> String {
    let digit = char::from(b'A' + (at % 26) as u8);
    if at < 26 { digit.into() } else { letter(at / 26 - 1) + &digit.to_string() }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.row.is_empty() { String::new() } else { format!(" ({})", self.row.join(", ")) };
        let of = visible(&of);
        writeln!(f, "{}{of}: standard error {:.4}, from", visible(&self.figure), libm::sqrt(self.variance))?;
        // Releases have long titles: a letter stands for each.
        let mut titles: Vec<&str> = self.sources.iter().filter_map(|s| s.release.as_deref()).collect();
        titles.sort_unstable();
        titles.dedup();
        for s in self.sources.iter().take(LISTED) {
            let block: String = s.block.chars().take(30).collect();
            let at = s.release.as_deref().and_then(|r| titles.iter().position(|t| *t == r));
            let release = at.map_or(String::new(), |at| format!("[{}] ", letter(at)));
            writeln!(
                f,
                "  {:5.1} %  {release}{} {}: {} of ±{:.4}, weight {:.3}",
                100.0 * s.share,
                s.kind,
                visible(&block),
                if s.noises == 1 { "1 noise".into() } else { format!("{} noises", s.noises) },
                s.noise_std,
                s.weight
            )?;
        }
        if self.sources.len() > LISTED {
            let rest: f64 = self.sources.iter().skip(LISTED).map(|s| s.share).sum();
            writeln!(f, "  {:5.1} %  {} more", 100.0 * rest, self.sources.len() - LISTED)?;
        }
        for (at, title) in titles.iter().enumerate() {
            writeln!(f, "  [{}] is {}", letter(at), visible(title))?;
        }
        match self.sources.first() {
            None => writeln!(f, "  no noise: the answer is exact"),
            Some(s) => writeln!(
                f,
                "  Half the noise variance of {} would narrow it by {:.0} %.",
                visible(&s.block),
                100.0 * (1.0 - s.if_halved)
            ),
        }
    }
}
