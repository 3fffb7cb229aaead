//! How reliable a figure is, in one letter: classes by its coefficient of variation.
//!
//! The coefficient of variation is the standard error in per cent of the estimate. It speaks of the noise alone, and the estimate below the line is
//! itself noisy: near a cut chance decides on the class.

use super::ResultFigure;
use crate::release::About;

/// Where classes end unless the spec says otherwise, in per cent: statistics offices commonly publish up to the first as it is, and up to the
/// second with a warning.
const USUAL: [f64; 2] = [16.6, 33.3];

/// The class at this place.
fn letter(at: usize) -> &'static str {
    ["A", "B", "C", "D"].get(at).copied().unwrap_or("E")
}

/// Where classes end, in per cent, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Cuts(Vec<f64>);

impl Default for Cuts {
    fn default() -> Cuts {
        Cuts(USUAL.to_vec())
    }
}

impl ResultFigure {
    /// Its coefficient of variation in per cent: 0 without an error, and none of an estimate of 0 or without a standard error.
    pub fn cv(&self) -> f64 {
        match () {
            () if self.std_error == 0.0 => 0.0,
            () if self.estimate == 0.0 => f64::NAN,
            () => 100.0 * self.std_error / self.estimate.abs(),
        }
    }
}

impl Cuts {
    /// Those of a release.
    pub fn of(about: &About) -> Cuts {
        match &about.reliability[..] {
            [] => Cuts::default(),
            cuts => Cuts(cuts.iter().map(|cut| cut.to_f64()).collect()),
        }
    }

    /// The class of a coefficient of variation: `A` up to the first cut, and the last letter where there is none. Nothing of a figure of nothing.
    pub fn class(&self, figure: &ResultFigure) -> &'static str {
        if figure.is_null() {
            return "";
        }
        let cv = figure.cv();
        let at = if cv.is_nan() { self.0.len() } else { self.0.iter().filter(|cut| cv > **cut).count() };
        letter(at)
    }

    /// What the classes mean.
    pub fn note(&self) -> String {
        let up_to = self.0.iter().enumerate().map(|(at, cut)| format!("{} at most {cut} %, ", letter(at)));
        let (text, last) = (up_to.collect::<String>(), self.0.last().copied().unwrap_or(0.0));
        let letter = letter(self.0.len());
        format!(
            "reliability: {text}{letter} above {last} %. cv is the standard error in per cent of the estimate: of the noise alone; near a cut \
             chance decides on the letter."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_by_cuts() {
        let figure =
            |estimate: f64, std_error: f64| ResultFigure { estimate, std_error, low: -1.0, high: 1.0 };
        let class = |e, s| Cuts::default().class(&figure(e, s));
        for (estimate, std_error, wanted) in [
            (100.0, 16.6, "A"),
            (-100.0, 16.7, "B"),
            (3.0, 0.99, "B"),
            (100.0, 33.4, "C"),
            (0.0, 1.0, "C"),
            (0.0, 0.0, "A"),
            (5.0, f64::NAN, "C"),
        ] {
            assert_eq!(class(estimate, std_error), wanted, "{estimate} ± {std_error}");
        }
        assert_eq!(figure(-50.0, 5.0).cv(), 10.0);
        assert_eq!(Cuts::default().class(&ResultFigure::NULL), "");
        let reliability = vec!["5".parse().unwrap(), "12.5".parse().unwrap(), "20".parse().unwrap()];
        let own = Cuts::of(&About { reliability, ..About::default() });
        assert_eq!(own.class(&figure(100.0, 13.0)), "C");
        assert!(own.note().contains("A at most 5 %, B at most 12.5 %, C at most 20 %, D above 20 %"));
    }
}
