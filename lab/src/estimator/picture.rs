//! Six panels: mean absolute errors above, probabilities below.

use super::closer::{out_of_range, probability_closer};
use super::published::{Estimator, expected_absolute_error};
use margins::cli::Failure;
use margins::cli::chart::{COLOURS, apart, head};
use std::fmt::Write;

/// A line of a panel: its name, its colour, whether it is dashed, and its points from 0 to 1 along the abscissa.
struct Line {
    name: &'static str,
    colour: usize,
    dashed: bool,
    points: Vec<(f64, f64)>,
}

/// One panel: where it is, what its axes are called, and its ticks.
struct Panel {
    left: f64,
    top: f64,
    label: String,
    ticks: Vec<(f64, String)>,
    lines: Vec<Line>,
    /// The largest value shown.
    most: f64,
}

/// An abscissa: its name, which p and ε a place on it means, and where its ticks are.
struct Abscissa {
    label: String,
    at: Box<dyn Fn(f64) -> (f64, f64)>,
    ticks: Vec<(f64, String)>,
}

const KINDS: [(Estimator, &str, usize, bool); 4] = [
    (Estimator::NoisyCount, "noisy count", 6, false),
    (Estimator::Clipped, "moved into range", 1, false),
    (Estimator::PosteriorMean, "posterior mean", 2, false),
    // The median runs so close to the mean that only dashes show both.
    (Estimator::PosteriorMedian, "posterior median", 0, true),
];

/// The noise level 1/ε from 0.5 to 40, and ε from 0.02 to 2 on a logarithmic scale, both at this p; and p from 0.02 to 0.98 at this ε.
fn abscissas(p: f64, epsilon: f64) -> [Abscissa; 3] {
    let ticks = |values: &[f64], place: fn(f64) -> f64| -> Vec<(f64, String)> {
        values.iter().map(|&v| (place(v), v.to_string())).collect()
    };
    [
        Abscissa {
            label: format!("noise level 1/ε, at p = {p}"),
            at: Box::new(move |t| (p, 1.0 / (0.5 + 39.5 * t))),
            ticks: ticks(&[1.0, 10.0, 20.0, 30.0, 40.0], |v| (v - 0.5) / 39.5),
        },
        Abscissa {
            label: format!("ε, at p = {p} (logarithmic)"),
            at: Box::new(move |t| (p, libm::exp(libm::log(0.02) + t * libm::log(100.0)))),
            ticks: ticks(&[0.02, 0.1, 0.5, 2.0], |e| libm::log(e / 0.02) / libm::log(100.0)),
        },
        Abscissa {
            label: format!("p, at ε = {epsilon}"),
            at: Box::new(move |t| (0.02 + 0.96 * t, epsilon)),
            ticks: ticks(&[0.1, 0.3, 0.5, 0.7, 0.9], |p| (p - 0.02) / 0.96),
        },
    ]
}

const WIDTH: f64 = 290.0;
const HEIGHT: f64 = 230.0;
/// Beside each panel there is room for the names at the lines' ends.
const LEFTS: [f64; 3] = [58.0, 508.0, 958.0];
const TOPS: [f64; 2] = [108.0, 452.0];
const SIZE: (f64, f64) = (1390.0, 750.0);
/// How many steps a line has.
const STEPS: u32 = 24;

fn points(mut value: impl FnMut(f64) -> Result<f64, Failure>) -> Result<Vec<(f64, f64)>, Failure> {
    let at = |i: u32| f64::from(i) / f64::from(STEPS);
    (0..=STEPS).map(|i| Ok((at(i), value(at(i))?))).collect()
}

/// The panels' picture.
pub(super) fn svg(n: u64, p: f64, epsilon: f64) -> Result<String, Failure> {
    let title = "What a prior does for one noisy count";
    let subtitle = format!("a binomial count out of {n}, each with probability p; Laplace noise");
    let mut svg = head(SIZE, title, &subtitle, "", TOPS[0]);
    for (abscissa, left) in abscissas(p, epsilon).into_iter().zip(LEFTS) {
        let line = |(kind, name, colour, dashed): (Estimator, &'static str, usize, bool)| {
            let points = points(|t| {
                let (p, e) = (abscissa.at)(t);
                Ok(expected_absolute_error(n, p, e, kind)?)
            })?;
            Ok(Line { name, colour, dashed, points })
        };
        let lines = KINDS.into_iter().map(line).collect::<Result<Vec<Line>, Failure>>()?;
        let most = highest(&lines);
        draw(
            &mut svg,
            &Panel { left, top: TOPS[0], label: abscissa.label, ticks: abscissa.ticks, lines, most },
        );
    }
    // Below: the probabilities against ε, p and the true count.
    let [_, second, third] = abscissas(p, epsilon);
    for (abscissa, left) in [second, third].into_iter().zip(LEFTS) {
        let points = points(|t| {
            let (p, e) = (abscissa.at)(t);
            Ok(probability_closer(n, p, e)?)
        })?;
        let lines = vec![Line { name: "mean nearer", colour: 2, dashed: false, points }];
        draw(
            &mut svg,
            &Panel { left, top: TOPS[1], label: abscissa.label, ticks: abscissa.ticks, lines, most: 1.0 },
        );
    }
    let points = points(|t| Ok(out_of_range(n, t * n as f64, epsilon)))?;
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|t| (t, format!("{}", (t * n as f64).round())));
    draw(
        &mut svg,
        &Panel {
            left: LEFTS[2],
            top: TOPS[1],
            label: format!("true count, at ε = {epsilon}"),
            ticks: ticks.into(),
            lines: vec![Line { name: "outside", colour: 6, dashed: false, points }],
            most: 0.6,
        },
    );
    for (x, y, text) in [
        (LEFTS[0], TOPS[0], format!("mean absolute error of a count out of {n}")),
        (LEFTS[0], TOPS[1], "probability that the posterior mean is nearer than the noisy count".into()),
        (LEFTS[2], TOPS[1], format!("probability that the noisy count is below 0 or above {n}")),
    ] {
        let y = y - 16.0;
        let _ =
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-weight=\"bold\" fill=\"#111111\">{text}</text>");
    }
    let _ = writeln!(svg, "</svg>");
    Ok(svg)
}

/// The largest error that is shown. The noisy count's grows without end as ε falls: it leaves the picture at twice the others'
/// most. One that is nowhere below that must be seen all the same.
fn highest(lines: &[Line]) -> f64 {
    let others = lines.iter().filter(|l| l.name.starts_with("posterior"));
    let most = others.flat_map(|l| &l.points).fold(0.0, |m: f64, (_, v)| m.max(*v));
    let least = |line: &Line| 1.1 * line.points.iter().fold(f64::INFINITY, |m: f64, (_, v)| m.min(*v));
    lines.iter().map(least).fold(2.0 * most, f64::max)
}

/// The steps of an ordinate that reaches `most`: 1, 2 or 5 times a power of ten, at most six of them; and how many decimals they have.
/// A label of such a step is its place, where a rounded one would only be near to it.
fn round_steps(most: f64) -> (f64, u32, usize) {
    let count = |step: f64| (most / step - 1e-9).ceil();
    let least = libm::floor(libm::log10(most / 6.0)) as i32;
    let steps = (least..=least + 1).flat_map(|e| [1.0, 2.0, 5.0].map(|s| (s * libm::pow(10.0, e.into()), e)));
    let (step, e) = steps.into_iter().find(|&(step, _)| count(step) <= 6.0).unwrap_or((most, 0));
    (step, count(step) as u32, e.min(0).unsigned_abs() as usize)
}

fn draw(svg: &mut String, panel: &Panel) {
    let (step, count, digits) = round_steps(panel.most);
    let (left, most) = (panel.left, step * f64::from(count));
    let base = panel.top + HEIGHT;
    let x = |t: f64| left + t * WIDTH;
    let y = |v: f64| base - (v / most).min(1.0) * HEIGHT;
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {}V{base}H{}\" fill=\"none\" stroke=\"#888888\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        panel.top,
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
    for i in 0..=count {
        let v = step * f64::from(i);
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{v:.digits$}</text>",
            left - 6.0,
            y(v) + 4.0
        );
    }
    let mut ends: Vec<(f64, &Line)> = Vec::new();
    for line in &panel.lines {
        // A line that leaves the picture starts where it comes back.
        let shown: Vec<(f64, f64)> =
            line.points.iter().filter(|(_, v)| *v <= most).map(|(t, v)| (x(*t), y(*v))).collect();
        let path: Vec<String> = shown.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = if line.dashed { " stroke-dasharray=\"7 6\"" } else { "" };
        let colour = COLOURS[line.colour % COLOURS.len()];
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
            path.join(" ")
        );
        // One that is gone before the end is named at the top.
        let gone = line.points.last().is_none_or(|(_, v)| *v > most);
        ends.push((if gone { panel.top } else { shown.last().map_or(base, |s| s.1) }, line));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = apart(&ends.iter().map(|e| e.0).collect::<Vec<_>>(), base);
    for ((end, line), place) in ends.iter().zip(places) {
        let (colour, right) = (COLOURS[line.colour % COLOURS.len()], left + WIDTH);
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {end:.1}L{:.1} {place:.1}\" fill=\"none\" stroke=\"{colour}\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            right + 2.0,
            right + 12.0,
            right + 15.0,
            place + 4.0,
            line.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_its_place() {
        for most in [0.03, 0.6, 1.0, 3.65, 7.2999, 7.301, 11.0, 59.9, 1100.0] {
            let (step, count, digits) = round_steps(most);
            assert!((2..=6).contains(&count) && step * f64::from(count) >= 0.999_999 * most, "{most}");
            for i in 1..=count {
                let v = step * f64::from(i);
                let label: f64 = format!("{v:.digits$}").parse().unwrap_or(f64::NAN);
                assert!((label / v - 1.0).abs() < 1e-12, "{most}: {v} is labelled {label}");
            }
        }
        // As the picture shows them: no panel halves 7.3 to 3.6 where its neighbour halves it to 3.7.
        let svg = svg(100, 0.3, 0.1).unwrap_or_default();
        let labels = svg.split("text-anchor=\"end\">").skip(1).filter_map(|l| l.split('<').next());
        let labels: Vec<&str> = labels.collect();
        assert!(labels.contains(&"2") && labels.contains(&"0.2") && !labels.contains(&"3.6"), "{labels:?}");
    }

    #[test]
    fn a_picture_with_every_line() {
        let svg = svg(50, 0.3, 0.1).unwrap_or_default();
        assert_eq!(svg.matches("<polyline").count(), 4 * 3 + 3);
        assert!(!svg.contains("NaN") && svg.trim_end().ends_with("</svg>"));
    }
}
