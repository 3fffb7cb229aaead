//! `margins estimator`: how much a prior helps, as Naldi & D'Acquisto compare it.

use super::output::{columns, figure};
use super::{Failure, Outcome, output};
use crate::answer::posterior::{Estimator, expected_absolute_error};
use std::fmt::Write;
use std::path::PathBuf;

/// Compare the noisy count with Bayesian estimates of it.
///
/// A predicate holds for each of n units with probability p; its count is released with Laplace noise of scale
/// 1/ε. The table shows the exact mean absolute error of the noisy count itself, of the posterior mean (the
/// published estimator) and of the posterior median, for several ε and p; the picture shows the same against
/// the noise level 1/ε, against ε and against p.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins estimator --n 100 --svg out/estimator.svg")]
pub struct Args {
    /// The number of units
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    n: u64,
    /// Write the picture here
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

const PROBABILITIES: [f64; 3] = [0.05, 0.3, 0.5];
const EPSILONS: [f64; 5] = [0.05, 0.1, 0.2, 0.5, 1.0];
const KINDS: [(Estimator, &str, &str); 3] = [
    (Estimator::NoisyCount, "noisy count", "#666"),
    (Estimator::PosteriorMean, "posterior mean", "#0b6"),
    (Estimator::PosteriorMedian, "posterior median", "#06c"),
];

pub fn run(args: &Args) -> Outcome {
    let mut rows = Vec::new();
    for p in PROBABILITIES {
        for epsilon in EPSILONS {
            let mut row = vec![format!("p = {p}, ε = {epsilon}")];
            let mut errors = Vec::new();
            for (estimator, ..) in KINDS {
                errors.push(expected_absolute_error(args.n, p, epsilon, estimator)?);
            }
            row.extend(errors.iter().map(|e| figure(*e)));
            row.push(format!("{:.0} %", 100.0 * (1.0 - errors[1] / errors[0])));
            rows.push(row);
        }
    }
    let mut out = format!("Mean absolute error of a count out of {}, Laplace noise of scale 1/ε\n\n", args.n);
    out.push_str(&columns(&["", "noisy count", "posterior mean", "median", "mean saves"], &rows));
    if let Some(path) = &args.svg {
        crate::files::write(path, &picture(args.n)?)
            .map_err(|e| Failure::Message(format!("cannot write {}: {e}", output::path(path))))?;
        let _ = writeln!(out, "\npicture   {}", output::path(path));
    }
    output::print(&out)
}

/// One panel: where it is, what its abscissa is called, which p and ε a place on it means, and its ticks.
struct Panel {
    left: f64,
    label: &'static str,
    at: fn(f64) -> (f64, f64),
    ticks: Vec<(f64, String)>,
}

/// The noise level, from 0.5 to 40.
fn noise(t: f64) -> f64 {
    0.5 + 39.5 * t
}

/// ε from 0.02 to 2 on a logarithmic scale.
fn epsilon(t: f64) -> f64 {
    libm::exp(libm::log(0.02) + t * libm::log(100.0))
}

/// p from 0.02 to 0.98.
fn probability(t: f64) -> f64 {
    0.02 + 0.96 * t
}

/// The error against the noise level 1/ε and against ε at p = 0.3, and against p at ε = 0.1.
fn panels() -> [Panel; 3] {
    let ticks = |values: &[f64], place: fn(f64) -> f64| -> Vec<(f64, String)> {
        values.iter().map(|&v| (place(v), v.to_string())).collect()
    };
    [
        Panel {
            left: 70.0,
            label: "noise level 1/ε, at p = 0.3",
            at: |t| (0.3, 1.0 / noise(t)),
            ticks: ticks(&[1.0, 10.0, 20.0, 30.0, 40.0], |v| (v - 0.5) / 39.5),
        },
        Panel {
            left: 510.0,
            label: "ε, at p = 0.3 (logarithmic)",
            at: |t| (0.3, epsilon(t)),
            ticks: ticks(&[0.02, 0.1, 0.5, 2.0], |e| libm::log(e / 0.02) / libm::log(100.0)),
        },
        Panel {
            left: 950.0,
            label: "p, at ε = 0.1",
            at: |t| (probability(t), 0.1),
            ticks: ticks(&[0.1, 0.3, 0.5, 0.7, 0.9], |p| (p - 0.02) / 0.96),
        },
    ]
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
/// How many steps a line has.
const STEPS: u32 = 24;

/// The errors of one estimator along a panel's abscissa.
type Line = Vec<(f64, f64)>;

/// Three panels.
fn picture(n: u64) -> Result<String, Failure> {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1360 360\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"1360\" height=\"360\" fill=\"#fff\"/>\n",
    );
    for panel in panels() {
        let line = |estimator: Estimator| -> Result<Line, Failure> {
            let point = |i: u32| {
                let t = f64::from(i) / f64::from(STEPS);
                let (p, e) = (panel.at)(t);
                Ok((t, expected_absolute_error(n, p, e, estimator)?))
            };
            (0..=STEPS).map(point).collect()
        };
        let lines = KINDS.iter().map(|k| line(k.0)).collect::<Result<Vec<Line>, Failure>>()?;
        draw(&mut svg, &panel, &lines);
    }
    let _ = writeln!(svg, "<text x=\"70\" y=\"24\">mean absolute error of a count out of {n}</text>\n</svg>");
    Ok(svg)
}

/// The largest error that is shown. The noisy count's grows without end as ε falls: it leaves the picture at twice the others'
/// most. One that is nowhere below that must be seen all the same.
fn top(lines: &[Line]) -> f64 {
    let others = lines.iter().zip(KINDS).filter(|(_, kind)| kind.0 != Estimator::NoisyCount);
    let most = others.flat_map(|(line, _)| line).fold(0.0, |m: f64, (_, v)| m.max(*v));
    let least = |line: &Line| 1.1 * line.iter().fold(f64::INFINITY, |m: f64, (_, v)| m.min(*v));
    lines.iter().map(least).fold(2.0 * most, f64::max)
}

fn draw(svg: &mut String, panel: &Panel, lines: &[Line]) {
    let (left, top) = (panel.left, top(lines));
    let base = 40.0 + HEIGHT;
    let x = |t: f64| left + t * WIDTH;
    let y = |v: f64| base - (v / top).min(1.0) * HEIGHT;
    let _ = writeln!(
        svg,
        "<path d=\"M{left} 40V{base}H{}\" fill=\"none\" stroke=\"#000\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        left + WIDTH,
        left + WIDTH / 2.0,
        base + 40.0,
        panel.label
    );
    for (t, text) in &panel.ticks {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            x(*t),
            base + 18.0
        );
    }
    for i in 0..=4 {
        let v = top * f64::from(i) / 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{v:.1}</text>",
            left - 6.0,
            y(v) + 4.0
        );
    }
    for (k, (points, (_, name, colour))) in lines.iter().zip(KINDS).enumerate() {
        // A line that leaves the picture starts where it comes back.
        let shown: Vec<String> = points
            .iter()
            .filter(|(_, v)| *v <= top)
            .map(|(t, v)| format!("{:.1},{:.1}", x(*t), y(*v)))
            .collect();
        // The median runs so close to the mean that only dashes show both.
        let dash = if k == 2 { " stroke-dasharray=\"7 6\"" } else { "" };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            shown.join(" "),
            left + WIDTH - 130.0,
            100 + 18 * k
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_with_every_line() {
        let svg = picture(50).unwrap_or_default();
        assert_eq!(svg.matches("<polyline").count(), 9);
        assert!(!svg.contains("NaN") && svg.trim_end().ends_with("</svg>"));
    }
}
