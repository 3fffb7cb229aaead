//! `margins-lab experiment recipients`: the published mechanism for many recipients, its accuracy law, its collusion size, its divergences, and
//! what colluders really get, beside nested copies.

use super::shifted::{accuracy, collusion_size, divergence, first_branch, inaccuracy};
use super::write;
use margins::cli::chart::{Chart, Series, svg};
use margins::cli::output::{columns, figure, grouped, wrapped};
use margins::cli::{Failure, Outcome, output};
use margins::exact::Rational;
use margins::law::{ErrorLaw, Generator, LawError, NoiseLaw, Term};
use margins::plan::copies::Centres;
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
pub(super) struct Args {
    /// What one copy costs
    #[arg(long, value_name = "E", default_value = "0.1")]
    epsilon: Rational,
    /// The mean of the centres, uniform on the whole numbers 0 to twice this
    #[arg(long, value_name = "MEAN", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    mean: u32,
    /// Instead of their mean: the least and the largest of the centres, such as -20,20
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, conflicts_with = "mean", value_parser = interval)]
    centres: Option<Centres>,
    /// Δ, by how much one person changes each query
    #[arg(long, value_name = "D", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sensitivity: u32,
    /// m, how near to the truth colluders want to come
    #[arg(long, value_name = "M", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    within: u32,
    /// β, with which probability a copy's answers may be further off than α
    #[arg(long, value_name = "BETA", default_value = "0.05")]
    failure: Rational,
    /// How many queries share a copy's ε: the noise has the scale kΔ/ε
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
    /// The published formula's first branch, wherever the distance lies.
    first: f64,
    /// The published formula, for continuous noise.
    formula: f64,
    /// Of the integers that are released: the exact law.
    released: f64,
}

/// What a copy's answers are within but with probability β, and how far its noise is from ordinary noise.
struct Within {
    centre: f64,
    /// One answer.
    one: f64,
    /// All k of them.
    all: f64,
    /// The divergence between its noise and noise of mean 0.
    divergence: f64,
}

/// Whether as many colluders as are enough for ordinary noise that k queries share come within m of the truth by the plain mean of their copies:
/// with which probability.
struct Broken {
    size: f64,
    ordinary: f64,
    shifted: f64,
    less_mean: f64,
}

/// The divergence between copies of two data that differ by Δ in a count.
struct Divergences {
    known: f64,
    secret: f64,
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

/// `LOW,HIGH`.
fn interval(text: &str) -> Result<Centres, String> {
    let ends = text.split_once(',').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    let made = ends.and_then(|(low, high)| Centres::new(low, high));
    let small = |c: &Centres| c.reach <= 1_000_000 && c.mean.unsigned_abs() <= 1_000_000;
    made.filter(small).ok_or_else(|| {
        "expected two whole numbers up to a million, the lower first, both even or both odd, such as -20,20".into()
    })
}

/// Everything but the plays.
struct Figures {
    centres: Centres,
    scale: f64,
    accuracy: Vec<Accuracy>,
    within: Vec<Within>,
    broken: Broken,
    /// The collusion size as published: for one query with all of ε.
    size: f64,
    divergences: Divergences,
}

impl Figures {
    fn new(args: &Args) -> Result<Figures, LawError> {
        let mean = args.mean as i32;
        let centres = args.centres.unwrap_or(Centres { mean, reach: args.mean });
        let (delta, epsilon) = (f64::from(args.sensitivity), args.epsilon.to_f64());
        let (queries, m) = (f64::from(args.queries), f64::from(args.within));
        let scale = queries * delta / epsilon;
        let shared = collusion_size(queries * delta, m, epsilon);
        let failure = args.failure.to_f64();
        let within = |centre: f64| Within {
            centre,
            one: accuracy(failure, scale, centre),
            all: accuracy(failure / queries, scale, centre),
            divergence: divergence(centre, scale),
        };
        Ok(Figures {
            centres,
            scale,
            accuracy: accuracies(scale, centres)?,
            within: shown(centres).into_iter().map(within).collect(),
            broken: broken(shared, scale, centres, m)?,
            size: collusion_size(delta, m, epsilon),
            divergences: divergences(scale, centres, delta),
        })
    }
}

pub(super) fn run(args: &Args) -> Outcome {
    let failure = args.failure.to_f64();
    if !(failure > 0.0 && failure < 1.0) {
        return Err(Failure::Message(format!("--failure must lie between 0 and 1, not {}", args.failure)));
    }
    let figures = Figures::new(args)?;
    let played: Vec<Played> = SIZES.iter().map(|&size| play(args, &figures, size)).collect();
    if let Some(file) = &args.svg {
        write(file, &svg(&chart(args, &figures, &played)))?;
    }
    if args.json {
        output::json(&to_json(args, &figures, &played))
    } else {
        output::print(&to_text(args, &figures, &played))
    }
}

/// The centres that are shown: the least, the mean and the largest; of two that differ in their sign alone one.
fn shown(centres: Centres) -> Vec<f64> {
    let mut out = vec![centres.low() as f64, f64::from(centres.mean), centres.high() as f64];
    if centres.mean == 0 {
        out.remove(0);
    }
    out
}

/// The accuracy law, before and beyond the centre.
fn accuracies(scale: f64, centres: Centres) -> Result<Vec<Accuracy>, LawError> {
    let law = ErrorLaw::new(vec![Term {
        coefficient: 1.0,
        copies: 1,
        noise: NoiseLaw::DiscreteLaplace { scale },
    }])?;
    let unit = f64::from(centres.mean.unsigned_abs().max(centres.reach));
    let mut out = Vec::new();
    for centre in shown(centres) {
        for part in [0.5, 1.0, 2.0, 4.0] {
            let distance = (part * unit).round();
            // P(|N + μ| > a), of whole numbers.
            let released = law.sf(distance - centre) + law.sf(distance + centre);
            let first = first_branch(distance, scale, centre);
            out.push(Accuracy {
                distance,
                centre,
                first,
                formula: inaccuracy(distance, scale, centre),
                released,
            });
        }
    }
    Ok(out)
}

/// How likely so many colluders' mean is within m, by the exact law of the mean of whole numbers.
fn broken(size: f64, scale: f64, centres: Centres, m: f64) -> Result<Broken, LawError> {
    let term = |noise| Term { coefficient: 1.0 / size, copies: size as u64, noise };
    let noise = term(NoiseLaw::DiscreteLaplace { scale });
    let ordinary = ErrorLaw::new(vec![noise])?;
    let spread = term(NoiseLaw::Uniform { reach: f64::from(centres.reach) });
    let shifted = ErrorLaw::new(vec![noise, spread])?;
    let within = |law: &ErrorLaw, mean: f64| 1.0 - law.sf(m - mean) - law.sf(m + mean);
    Ok(Broken {
        size,
        ordinary: within(&ordinary, 0.0),
        shifted: within(&shifted, f64::from(centres.mean)),
        less_mean: within(&shifted, 0.0),
    })
}

/// How much one copy of one count tells of a change by Δ in it: with its centre known, as of ordinary noise, and secret, by the law of
/// the whole numbers that are released.
fn divergences(scale: f64, centres: Centres, delta: f64) -> Divergences {
    let (q, reach) = (libm::exp(-1.0 / scale), f64::from(centres.reach));
    // P(N ≥ k)
    let upper = |k: f64| {
        let far = |k: f64| libm::exp(-k / scale) / (1.0 + q);
        if k >= 1.0 { far(k) } else { 1.0 - far(1.0 - k) }
    };
    let ln_known = |x: f64| libm::log((1.0 - q) / (1.0 + q)) - x.abs() / scale;
    let ln_secret = |x: f64| {
        let near = x.abs();
        libm::log((upper(near - reach) - upper(near + reach + 1.0)) / (2.0 * reach + 1.0))
    };
    // Beyond this nothing is left of the laws; wide ones are added up at every so many numbers.
    let far = libm::ceil(reach + delta + 40.0 * scale + 10.0);
    let step = libm::ceil(far / 1e6);
    let of = |ln_mass: &dyn Fn(f64) -> f64| {
        let at = |i: i64| {
            let x = i as f64 * step;
            libm::exp(ln_mass(x)) * (ln_mass(x) - ln_mass(x - delta)) * step
        };
        let last = (far / step) as i64;
        (-last..=last).map(at).sum()
    };
    Divergences { known: of(&ln_known), secret: of(&ln_secret) }
}

/// Mean absolute errors of what so many colluders make of their copies.
fn play(args: &Args, figures: &Figures, size: u32) -> Played {
    let noise = NoiseLaw::DiscreteLaplace { scale: figures.scale };
    let centre = NoiseLaw::Uniform { reach: f64::from(figures.centres.reach) };
    let mean = f64::from(figures.centres.mean);
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

fn chart(args: &Args, figures: &Figures, played: &[Played]) -> Chart {
    let line = |name: &str, colour, dashed, of: fn(&Played) -> f64| Series {
        name: name.into(),
        points: played.iter().map(|p| (f64::from(p.size), of(p))).collect(),
        dashed,
        colour,
    };
    Chart {
        title: "What colluders make of copies of one count".into(),
        subtitle: format!("ε = {} a copy, centres uniform on {}", args.epsilon, figures.centres),
        x_label: "colluders".into(),
        even: false,
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

fn to_text(args: &Args, figures: &Figures, played: &[Played]) -> String {
    let mut out = format!(
        "ε = {} a copy for {}: Laplace noise of scale {}; centres uniform on {}\n\n",
        args.epsilon,
        shared_by(args.queries),
        figure(figures.scale),
        figures.centres
    );
    out.push_str("how precise one copy is: P(|noise| > a), the centre being known\n\n");
    let row = |a: &Accuracy| {
        let [first, formula, released] = [a.first, a.formula, a.released].map(|p| format!("{p:.4}"));
        vec![figure(a.centre), figure(a.distance), first, formula, released]
    };
    let rows: Vec<Vec<String>> = figures.accuracy.iter().map(row).collect();
    out.push_str(&columns(&["centre μ", "a", "first branch", "both branches", "whole numbers"], &rows));
    out.push_str(&format!(
        "\nα that noise is within but with probability β = {}, and its divergence from\nordinary noise\n\n",
        args.failure.to_f64()
    ));
    let row = |w: &Within| [w.centre, w.one, w.all, w.divergence].map(figure).to_vec();
    let rows: Vec<Vec<String>> = figures.within.iter().map(row).collect();
    let all = format!("α, all of {}", grouped(args.queries.into()));
    out.push_str(&columns(&["centre μ", "α, one answer", &all, "divergence"], &rows));
    out.push_str(&told_apart(args, figures));
    out.push_str(&format!(
        "\ndistortion of what i colluders make of their copies ({} runs)\n\n",
        grouped(args.runs.into())
    ));
    let row = |p: &Played| {
        let mut row = vec![grouped(p.size.into())];
        row.extend([p.plain, p.shifted, p.public_mean, p.known_count, p.nested].map(figure));
        row.push(format!("{:.2}", 100.0 * p.shifted / f64::from(args.count)));
        row.push(figure(f64::from(p.size) * args.epsilon.to_f64()));
        row
    };
    let rows: Vec<Vec<String>> = played.iter().map(row).collect();
    let head = ["i", "no shift", "shifted", "less mean", "known count", "nested", "shifted, %", "joint ε"];
    out.push_str(&columns(&head, &rows));
    out.push_str(&format!("\n{}\n", wrapped(&conclusion(args, figures), 0)));
    out
}

/// How much copies tell of a change in a count.
fn told_apart(args: &Args, figures: &Figures) -> String {
    let i = figures.broken.size;
    let row = |name: &str, one: f64| vec![name.into(), format!("{one:.6}"), format!("{:.6}", i * one)];
    let rows = [
        row("ordinary noise, or the centre is known", figures.divergences.known),
        row("the centre is secret, and one count", figures.divergences.secret),
    ];
    let head = ["", "one copy", &format!("{} copies", grouped(i as u64))];
    format!(
        "\nKullback-Leibler divergence of copies when a count changes by Δ = {}\n\n{}",
        grouped(args.sensitivity.into()),
        columns(&head, &rows)
    )
}

/// What the collusion size says, and what it does not.
fn conclusion(args: &Args, figures: &Figures) -> String {
    let (broken, m, mean) = (&figures.broken, grouped(args.within.into()), figures.centres.mean);
    let shared = match args.queries {
        1 => String::new(),
        k => format!(
            " for one query with all of ε; with {k} that share it the noise is {k} times as wide, and it takes max(30, \
             18k²Δ²/(m²ε²)) = {}",
            grouped(broken.size as u64)
        ),
    };
    let theorem = match mean.unsigned_abs() > args.within {
        true => format!("Theorem 3 asks for centres whose mean exceeds m; theirs is {mean}"),
        false => {
            format!(
                "Theorem 3 asks for centres whose mean exceeds m; theirs is {mean}, so it promises nothing here"
            )
        }
    };
    let off = match mean {
        0 => "Centres of mean 0 distort nothing: the plain mean converges to the truth, a little later than that of ordinary copies".into(),
        _ => format!(
            "Less {mean}, which is public, the same mean is within m with probability {:.4}: it converges as that of ordinary copies does, a \
             little later",
            broken.less_mean
        ),
    };
    format!(
        "Collusion size: to come within m = {m} of the truth in spite of ordinary noise of mean 0, max(30, 18Δ²/(m²ε²)) = {} colluders are \
         enough{shared}. The mean of so many ordinary copies is within m with probability {:.4}. {theorem}. The plain mean of so many shifted \
         copies is within m with probability {:.4}. {off}; and so it does for whoever knows one count. Nested copies never converge: their \
         column is one copy's own error, and jointly they cost one ε, not i of them.",
        grouped(figures.size as u64),
        broken.ordinary,
        broken.shifted,
    )
}

fn to_json(args: &Args, figures: &Figures, played: &[Played]) -> String {
    let at = |a: &Accuracy| -> Value {
        json!({
            "centre": a.centre, "a": a.distance, "first_branch": a.first, "formula": a.formula, "whole_numbers": a.released,
        })
    };
    let within = |w: &Within| -> Value {
        json!({"centre": w.centre, "alpha": w.one, "alpha_all": w.all, "divergence": w.divergence})
    };
    let one = |p: &Played| -> Value {
        json!({
            "colluders": p.size, "no_shift": p.plain, "shifted": p.shifted, "less_public_mean": p.public_mean,
            "known_count": p.known_count, "nested": p.nested, "shifted_relative": p.shifted / f64::from(args.count),
        })
    };
    let (centres, broken, told) = (figures.centres, &figures.broken, &figures.divergences);
    let value = json!({
        "epsilon": args.epsilon, "mean": centres.mean, "centres": [centres.low(), centres.high()], "queries": args.queries,
        "sensitivity": args.sensitivity, "scale": figures.scale, "runs": args.runs, "within": args.within,
        "failure": args.failure,
        "collusion_size": figures.size,
        "collusion_size_shared": broken.size,
        "broken": {"ordinary": broken.ordinary, "shifted": broken.shifted, "less_public_mean": broken.less_mean},
        "divergence": {"known": told.known, "secret": told.secret},
        "accuracy": figures.accuracy.iter().map(at).collect::<Vec<_>>(),
        "alpha": figures.within.iter().map(within).collect::<Vec<_>>(),
        "distortion": played.iter().map(one).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
