//! `margins-lab experiment recipients`: the published mechanism for many recipients, its accuracy law, its collusion size, and what colluders
//! really get, beside nested copies.

use super::write;
use margins::cli::chart::{Chart, Series, svg};
use margins::cli::output::{columns, figure, grouped, wrapped};
use margins::cli::{Outcome, output};
use margins::exact::Rational;
use margins::law::shifted::{collusion_size, inaccuracy};
use margins::law::{ErrorLaw, Generator, NoiseLaw, Term};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Copies for many recipients, shifted as published and nested: how precise one is, and what colluders get of many.
///
/// One count. Every recipient has the same ε. Distortion is the mean absolute difference between what is received, or what colluders
/// make of it, and the truth; relative to the count where --count says how large that is. Draws no private noise: the generator is a fixed one.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  margins-lab experiment recipients --epsilon 0.1 --mean 20 --svg out/recipients.svg"
)]
pub struct Args {
    /// What one copy costs
    #[arg(long, value_name = "E", default_value = "0.1")]
    epsilon: Rational,
    /// The mean of the centres, uniform on the whole numbers 0 to twice this
    #[arg(long, value_name = "M", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    mean: u32,
    /// How many queries share a copy's ε: the noise has the scale k/ε
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queries: u32,
    /// The true count, for relative distortion
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// How often each collusion is played
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    runs: u32,
    /// Draw the colluders' distortion
    #[arg(long, value_name = "FILE", value_parser = margins::cli::output::picture())]
    svg: Option<PathBuf>,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// Sizes of collusions that are played.
const SIZES: [u32; 10] = [1, 2, 5, 10, 20, 30, 50, 100, 200, 500];
const SEED: u64 = 20_261_121;

/// How precise a copy is at one distance.
struct Accuracy {
    distance: f64,
    centre: f64,
    /// By the published formula, for continuous noise.
    formula: f64,
    /// Of the integers that are released: the exact law.
    released: f64,
}

/// What so many colluders get.
struct Played {
    size: u32,
    /// The plain mean of unshifted copies: the attack that the shift is against.
    plain: f64,
    /// The plain mean of shifted copies.
    shifted: f64,
    /// The same, less the mean of the centres' law, which is public.
    public_mean: f64,
    /// The same, each copy less what it says too much of one count that the colluders know.
    known_count: f64,
    /// Of nested copies, the most precise at this ε.
    nested: f64,
}

pub fn run(args: &Args) -> Outcome {
    let epsilon = args.epsilon.to_f64();
    let scale = f64::from(args.queries) / epsilon;
    let accuracy = accuracy(scale, f64::from(args.mean))?;
    let played: Vec<Played> = SIZES.iter().map(|&size| play(args, scale, size)).collect();
    if let Some(file) = &args.svg {
        write(file, &svg(&chart(args, &played)))?;
    }
    if args.json {
        output::json(&to_json(args, scale, &accuracy, &played))
    } else {
        output::print(&to_text(args, scale, &accuracy, &played))
    }
}

/// The accuracy law on both of its branches.
fn accuracy(scale: f64, mean: f64) -> Result<Vec<Accuracy>, margins::law::LawError> {
    let law = ErrorLaw::new(vec![Term {
        coefficient: 1.0,
        copies: 1,
        noise: NoiseLaw::DiscreteLaplace { scale },
    }])?;
    let mut out = Vec::new();
    for centre in [0.0, mean, 2.0 * mean] {
        for part in [0.5, 1.0, 2.0, 4.0] {
            let distance = (part * mean).round();
            // P(|N + μ| > a), of whole numbers.
            let released = law.sf(distance - centre) + law.sf(distance + centre);
            out.push(Accuracy { distance, centre, formula: inaccuracy(distance, scale, centre), released });
        }
    }
    Ok(out)
}

/// Mean absolute errors of what so many colluders make of their copies.
fn play(args: &Args, scale: f64, size: u32) -> Played {
    let noise = NoiseLaw::DiscreteLaplace { scale };
    let centre = NoiseLaw::Uniform { reach: f64::from(args.mean) };
    let mean = f64::from(args.mean);
    let mut generator = Generator::new(SEED ^ u64::from(size));
    let mut sums = [0.0f64; 5];
    for _ in 0..args.runs {
        let (mut plain, mut centres, mut known) = (0.0, 0.0, 0.0);
        let mut first = 0.0;
        for i in 0..size {
            let own = generator.draw(&noise);
            if i == 0 {
                first = own;
            }
            plain += own;
            let shift = mean + generator.draw(&centre);
            centres += shift;
            // Another count of the same copy, which they know: it shows the centre, with that count's own noise.
            known += shift + generator.draw(&noise);
        }
        let n = f64::from(size);
        let errors = [
            plain / n,
            (plain + centres) / n,
            (plain + centres) / n - mean,
            (plain + centres - known) / n,
            first,
        ];
        sums.iter_mut().zip(errors).for_each(|(s, e)| *s += e.abs() / f64::from(args.runs));
    }
    let [plain, shifted, public_mean, known_count, nested] = sums;
    Played { size, plain, shifted, public_mean, known_count, nested }
}

fn chart(args: &Args, played: &[Played]) -> Chart {
    let line = |name: &str, colour, dashed, of: fn(&Played) -> f64| Series {
        name: name.into(),
        points: played.iter().map(|p| (f64::from(p.size), of(p))).collect(),
        dashed,
        colour,
    };
    Chart {
        title: "What colluders make of copies of one count".into(),
        subtitle: format!("ε = {} a copy, centres uniform on 0 to {}", args.epsilon, 2 * args.mean),
        x_label: "colluders".into(),
        y_label: "distortion: mean absolute error".into(),
        series: vec![
            line("nested", 0, false, |p| p.nested),
            line("shifted, mean", 1, false, |p| p.shifted),
            line("… less public mean", 1, true, |p| p.public_mean),
            line("… with a known count", 2, true, |p| p.known_count),
            line("no shift, mean", 3, false, |p| p.plain),
        ],
        mark: None,
    }
}

fn shared_by(queries: u32) -> String {
    if queries == 1 { "one query".into() } else { format!("{} queries", grouped(queries.into())) }
}

fn to_text(args: &Args, scale: f64, accuracy: &[Accuracy], played: &[Played]) -> String {
    let size = collusion_size(f64::from(args.queries), f64::from(args.mean), args.epsilon.to_f64());
    let mut out = format!(
        "ε = {} a copy for {}: Laplace noise of scale {}; centres uniform on 0 to {}\n\n",
        args.epsilon,
        shared_by(args.queries),
        figure(scale),
        2 * args.mean
    );
    out.push_str("how precise one copy is: P(|noise| > a), the centre being known\n\n");
    let rows: Vec<Vec<String>> = accuracy
        .iter()
        .map(|a| {
            let branch = if a.distance >= a.centre { "a ≥ |μ|" } else { "a < |μ|" };
            vec![
                figure(a.centre),
                figure(a.distance),
                branch.into(),
                format!("{:.4}", a.formula),
                format!("{:.4}", a.released),
            ]
        })
        .collect();
    out.push_str(&columns(&["centre μ", "a", "branch", "published formula", "whole numbers"], &rows));
    out.push_str(&format!(
        "\ndistortion of what i colluders make of their copies ({} runs)\n\n",
        grouped(args.runs.into())
    ));
    let rows: Vec<Vec<String>> = played
        .iter()
        .map(|p| {
            let mut row = vec![grouped(p.size.into())];
            row.extend([p.plain, p.shifted, p.public_mean, p.known_count, p.nested].map(figure));
            row.push(format!("{:.2}", 100.0 * p.shifted / f64::from(args.count)));
            row.push(figure(f64::from(p.size) * args.epsilon.to_f64()));
            row
        })
        .collect();
    let head = ["i", "no shift", "shifted", "less mean", "known count", "nested", "shifted, %", "joint ε"];
    out.push_str(&columns(&head, &rows));
    let text = format!(
        "The published collusion size is max(30, 18Δ²/(m²ε²)) = {}: from there on three standard errors of the noise's mean are within m = \
         {}, so the plain mean of shifted copies stays away from the truth. It stays away by just m, which is public: less m it converges as \
         the mean of unshifted copies does, a little later; and so it does for whoever knows one count. Nested copies never converge: \
         their column is one copy's own error, and jointly they cost one ε, not i of them.",
        grouped(size as u64),
        args.mean
    );
    out.push_str(&format!("\n{}\n", wrapped(&text, 0)));
    out
}

fn to_json(args: &Args, scale: f64, accuracy: &[Accuracy], played: &[Played]) -> String {
    let size = collusion_size(f64::from(args.queries), f64::from(args.mean), args.epsilon.to_f64());
    let at = |a: &Accuracy| -> Value {
        json!({"centre": a.centre, "a": a.distance, "formula": a.formula, "whole_numbers": a.released})
    };
    let one = |p: &Played| -> Value {
        json!({
            "colluders": p.size, "no_shift": p.plain, "shifted": p.shifted, "less_public_mean": p.public_mean,
            "known_count": p.known_count, "nested": p.nested, "shifted_relative": p.shifted / f64::from(args.count),
        })
    };
    let value = json!({
        "epsilon": args.epsilon, "mean": args.mean, "queries": args.queries, "scale": scale, "runs": args.runs,
        "collusion_size": size,
        "accuracy": accuracy.iter().map(at).collect::<Vec<_>>(),
        "distortion": played.iter().map(one).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
