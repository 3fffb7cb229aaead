//! `margins-lab experiment histories`: the published ways to an interval on whole histories, in error and in time.

use margins::cli::output::{self, columns, figure};
use margins::cli::{Failure, Outcome};
use margins::history::{History, HistoryError};
use margins::law::{Generator, Method, NoiseLaw};
use serde_json::json;
use std::time::Instant;

/// The published ways to an interval on whole histories: error and time against their size and the methods' parameters.
///
/// A history of m answers about n cells: each row adds up 1 to 10 cells and has ε = 0.1. Four further questions of the same kind are
/// inferred from it. Shown are the mean half-width of their exact intervals, the error |estimate − truth|/2w by Definition 6.3, w being the
/// half-width; and for probability calculation (PC, which loses the mass γ) and Monte Carlo (MC, of m_s draws) by how much their
/// half-widths and Pr(−w/2 ≤ error ≤ w/2) differ from the exact ones.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  margins-lab experiment histories --time")]
pub(super) struct Args {
    /// The level of the interval
    #[arg(long, value_name = "P", default_value_t = 0.8, value_parser = level)]
    level: f64,
    /// The seed of histories and noises
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Also show how long each takes on this machine, in milliseconds
    #[arg(long)]
    time: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

fn level(text: &str) -> Result<f64, String> {
    let level = text.parse().ok().filter(|p: &f64| *p > 0.0 && *p < 1.0);
    level.ok_or_else(|| "a level between 0 and 1".into())
}

/// What every answer of a history costs.
const BUDGET: f64 = 0.1;
/// The questions inferred from a history.
const QUESTIONS: usize = 4;

/// The size of a history, and the parameters of the methods.
#[derive(Clone, Copy)]
struct Setting {
    answers: usize,
    cells: usize,
    lost: f64,
    draws: u32,
}

/// Around which the others vary one at a time.
const MIDDLE: Setting = Setting { answers: 200, cells: 100, lost: 1e-4, draws: 10_000 };

/// What is varied: its name, its value, and the settings.
type Family = (&'static str, fn(&Setting) -> String, Vec<Setting>);

fn families() -> Vec<Family> {
    vec![
        ("m", |s| s.answers.to_string(), [120, 200, 400].map(|answers| Setting { answers, ..MIDDLE }).into()),
        ("n", |s| s.cells.to_string(), [25, 50, 100].map(|cells| Setting { cells, ..MIDDLE }).into()),
        ("γ", |s| format!("{:e}", s.lost), [1e-2, 1e-4, 1e-8].map(|lost| Setting { lost, ..MIDDLE }).into()),
        (
            "m_s",
            |s| s.draws.to_string(),
            [100, 10_000, 100_000].map(|draws| Setting { draws, ..MIDDLE }).into(),
        ),
    ]
}

/// By how much a method differs from the exact law, in the mean over the questions, and how long it takes for one.
#[derive(Clone, Copy, Default)]
struct Differs {
    /// The half-width, as a share of the exact one.
    width: f64,
    /// The probability of half the half-width, absolutely.
    probability: f64,
    milliseconds: f64,
}

/// What one history comes to.
struct Line {
    setting: Setting,
    told: usize,
    half_width: f64,
    /// The mean of |error|/2w.
    error: f64,
    /// How long the factorisation takes, and an exact interval.
    milliseconds: [f64; 2],
    by: [Differs; 2],
}

/// A question: 1 to 10 cells, each once more whenever it is drawn.
fn row(cells: usize, random: &mut Generator) -> Vec<f64> {
    let mut row = vec![0.0; cells];
    for _ in 0..1 + (10.0 * random.uniform()) as usize {
        row[((cells as f64 * random.uniform()) as usize).min(cells - 1)] += 1.0;
    }
    row
}

fn timed<T>(sum: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *sum += 1e3 * start.elapsed().as_secs_f64();
    done
}

fn line(setting: Setting, level: f64, seed: u64) -> Result<Line, Failure> {
    let mut random = Generator::new(seed);
    let truth: Vec<f64> = (0..setting.cells).map(|_| libm::floor(1.0 + 1000.0 * random.uniform())).collect();
    let value = |row: &[f64]| row.iter().zip(&truth).map(|(r, x)| r * x).sum::<f64>();
    let rows: Vec<Vec<f64>> = (0..setting.answers).map(|_| row(setting.cells, &mut random)).collect();
    let noisy = |row: &Vec<f64>, random: &mut Generator| {
        let sensitivity = row.iter().copied().fold(0.0, f64::max);
        value(row) + random.draw(&NoiseLaw::Laplace { scale: sensitivity / BUDGET })
    };
    let answers = rows.iter().map(|r| noisy(r, &mut random)).collect();
    let history = History::new(rows, answers, vec![BUDGET; setting.answers], None)?;
    let mut line = Line {
        setting,
        told: 0,
        half_width: 0.0,
        error: 0.0,
        milliseconds: [0.0; 2],
        by: [Differs::default(); 2],
    };
    let inferred = timed(&mut line.milliseconds[0], || history.infer())?;
    for _ in 0..QUESTIONS {
        let question = row(setting.cells, &mut random);
        let answer = match inferred.query(&question) {
            Err(HistoryError::NotEstimable) => continue,
            other => other?,
        };
        let width = timed(&mut line.milliseconds[1], || answer.law.half_width(level));
        let inside = |law: &margins::law::ErrorLaw| 1.0 - 2.0 * law.sf(0.5 * width);
        line.told += 1;
        line.half_width += width;
        line.error += (answer.estimate - value(&question)).abs() / (2.0 * width);
        let methods = [Method::Pc { gamma: setting.lost }, Method::Mc { draws: setting.draws, seed }];
        for (by, method) in line.by.iter_mut().zip(methods) {
            let law = answer.law.clone().with_method(method)?;
            by.width += timed(&mut by.milliseconds, || law.half_width(level)) / width - 1.0;
            by.probability += (inside(&law) - inside(&answer.law)).abs();
        }
    }
    let told = line.told.max(1) as f64;
    line.half_width /= told;
    line.error /= told;
    line.milliseconds[1] /= told;
    for by in &mut line.by {
        *by = Differs {
            width: by.width / told,
            probability: by.probability / told,
            milliseconds: by.milliseconds / told,
        };
    }
    Ok(line)
}

pub(super) fn run(args: &Args) -> Outcome {
    let each = |(name, value, settings): Family| -> Result<_, Failure> {
        let lines =
            settings.into_iter().map(|s| line(s, args.level, args.seed)).collect::<Result<Vec<_>, _>>()?;
        Ok((name, value, lines))
    };
    let all = families().into_iter().map(each).collect::<Result<Vec<_>, Failure>>()?;
    if args.json {
        let of = |l: &Line| {
            let by = |d: &Differs| json!({ "excess": d.width, "probability": d.probability, "milliseconds": args.time.then_some(d.milliseconds) });
            json!({
                "m": l.setting.answers, "n": l.setting.cells, "gamma": l.setting.lost, "m_s": l.setting.draws, "told": l.told,
                "half_width": l.half_width, "error": l.error, "milliseconds": args.time.then_some(l.milliseconds),
                "pc": by(&l.by[0]), "mc": by(&l.by[1]),
            })
        };
        let lines: Vec<_> = all.iter().flat_map(|(_, _, lines)| lines.iter().map(of)).collect();
        return output::json(&format!("{}\n", json!({ "level": args.level, "lines": lines })));
    }
    let mut out = format!(
        "m = {} answers about n = {} cells, PC losing γ = {:e}, MC of m_s = {} draws,\none of them varied at a time; level {}\n",
        MIDDLE.answers, MIDDLE.cells, MIDDLE.lost, MIDDLE.draws, args.level
    );
    for (name, value, lines) in &all {
        let mut head = vec![*name, "told", "half-width", "E", "PC wider", "PC Pr", "MC wider", "MC Pr"];
        if args.time {
            head = vec![*name, "inferring", "exact", "PC", "MC"];
        }
        let row = |l: &Line| {
            let [pc, mc] = &l.by;
            let mut row = vec![value(&l.setting)];
            if args.time {
                row.extend(
                    [l.milliseconds[0], l.milliseconds[1], pc.milliseconds, mc.milliseconds].map(figure),
                );
                return row;
            }
            row.extend([
                format!("{} of {QUESTIONS}", l.told),
                figure(l.half_width),
                format!("{:.3}", l.error),
            ]);
            for d in [pc, mc] {
                row.extend([format!("{:+.4} %", 100.0 * d.width), format!("{:.6}", d.probability)]);
            }
            row
        };
        out.push('\n');
        out.push_str(&columns(&head, &lines.iter().map(row).collect::<Vec<_>>()));
    }
    let foot = match args.time {
        true => {
            "Milliseconds, of this machine, one thread: of the factorisation, and of one interval by each method."
        }
        false => {
            "E: |error|/2w. Wider: than the exact interval. Pr: the mean difference of Pr(−w/2 ≤ error ≤ w/2) from the exact one."
        }
    };
    output::print(&format!("{out}\n{}\n", output::wrapped(foot, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a history that tells everything: no method is far off, PC never narrower, and Monte Carlo within its sampling error.
    #[test]
    fn methods_agree_on_histories() {
        let small = Setting { answers: 60, cells: 20, lost: 1e-6, draws: 20_000 };
        let found = line(small, 0.8, 3).ok().unwrap();
        assert_eq!(found.told, QUESTIONS);
        let [pc, mc] = found.by;
        assert!(
            (-1e-6..5e-3).contains(&pc.width) && pc.probability < 1e-3,
            "{} {}",
            pc.width,
            pc.probability
        );
        assert!(
            (-0.01..0.06).contains(&mc.width) && mc.probability < 0.02,
            "{} {}",
            mc.width,
            mc.probability
        );
        assert!((0.02..0.3).contains(&found.error), "{}", found.error);
    }
}
