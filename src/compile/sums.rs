//! Sums and means, from rows to answers: against the rows themselves, against brute force, and over many releases.

mod clamping;
mod copies;
mod from_zero;
pub(super) mod objectives;
mod skewed;
mod told;
mod weighing;
mod wide;

use super::tests::{measured, narrow, released_by, released_from, spec};
use crate::answer::{Answers, Evaluator};
use crate::audit;
use crate::cube::{Frame, MeasuredFrom};
use crate::numeric::dice::Dice;
use crate::numeric::tries::tries;
use crate::plan::{Neighbours, Noise, Plan, Subject};
use crate::planner::{self, Look};
use crate::recover::{Nothing, Recovery};
use crate::release::forged::resealed;
use crate::release::{Kind, Release, SigningKey, keys};
use crate::render::{ResultCell, ResultFigure};
use crate::spec::Spec;
use crate::watch::Watch;

/// Skewed values with empty cells, many below and beyond the bounds.
fn rows() -> (String, Vec<(usize, usize, Option<f64>)>) {
    let mut text = "sex,age,pay\n".to_owned();
    let mut all = Vec::new();
    let mut state = 7u64;
    for i in 0..60usize {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pay = match state >> 61 {
            0 => None,
            1 => Some(-20.5),
            2 => Some(5e3),
            k => Some((1u64 << (3 + k)) as f64 + 0.5 * (state >> 50 & 63) as f64),
        };
        let (sex, age) = (i % 2, i % 3);
        let cell = pay.map_or(String::new(), |v| format!("{v}"));
        text.push_str(&format!("{},{age},{cell}\n", ["F", "M"][sex]));
        all.push((
            sex,
            age,
            pay.map(|v| 2.0 * (v.clamp(-10.0, 1000.0) / 2.0 + 5.0).round_ties_even() - 10.0),
        ));
    }
    (text, all)
}

fn paid(privacy: &str, missing: &str, strategy: &str, more: &str) -> Spec {
    spec(&format!(
        "name = \"shop\"\ntitle = \"Shop\"\ndemo = true\n[privacy]\nunit = \"row\"\n{privacy}\n{strategy}\n\
         [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 2]\n\
         [[amount]]\nname = \"pay\"\nlow = -10\nhigh = 1000\nstep = 2\nmissing = \"{missing}\"\n\
         [[table]]\nof = [\"sex\", \"age\"]\nsum = [\"pay\"]\n{more}\n[[table]]\nof = [\"age\"]\n"
    ))
}

/// The same with squares.
fn squared(of: &Spec) -> Spec {
    spec(&of.source.replace("step = 2", "step = 2\nsquare = true"))
}

const WAYS: [(&str, &str, &str); 6] = [
    ("rho = 2", "skip", ""),
    ("rho = 1", "zero", "[strategy]\nmeasure = \"queries\""),
    ("rho = \"1/3\"", "skip", "[strategy]\nmeasure = \"base\""),
    ("epsilon = 3", "zero", "[strategy]\nmeasure = \"queries\""),
    ("epsilon = 2", "skip", ""),
    ("rho = 1\nneighbours = \"substitute\"", "skip", ""),
];

/// How many nodes each dimension of a cuboid has.
fn shape(frame: &Frame, cuboid: &crate::cube::Cuboid) -> Vec<usize> {
    let nodes = |level: crate::cube::Level| {
        let axis = &frame.axes[level.dimension];
        axis.rungs[axis.rung(level.level).unwrap()].len()
    };
    cuboid.iter().map(nodes).collect()
}

/// How far one row moves the measured integers, as a vector over all blocks of a channel, in units of the noise: where it counts and what it has, in steps
/// above the least; below it and beyond the largest it is moved to the end.
fn moves(plan: &Plan, frame: &Frame, cell: [usize; 2], code: Option<i64>) -> Vec<f64> {
    let mut out = Vec::new();
    for channel in &plan.channels {
        let adds = match (&channel.subject, code) {
            (Subject::Rows, _) => 1,
            (Subject::Valued(_), code) => i64::from(code.is_some()),
            (Subject::Below(_), code) => i64::from(code.is_some_and(|code| code < 0)),
            (Subject::Above(quantity), code) => {
                i64::from(code.is_some_and(|code| code > quantity.steps() as i64))
            }
            (Subject::Sum(quantity), Some(code)) => {
                let steps = quantity.steps() as i64;
                match quantity.from {
                    MeasuredFrom::Middle => 2 * code.clamp(0, steps) - steps,
                    MeasuredFrom::Zero => code.clamp(0, steps) + quantity.low / quantity.step as i64,
                }
            }
            (Subject::Squares(quantity), Some(code)) => {
                let reach = quantity.reach() as i64;
                let t = 2 * code.clamp(0, reach) - reach;
                2 * t * t - reach * reach
            }
            (Subject::Sum(_) | Subject::Squares(_), None) | (Subject::CutUnits, _) => 0,
        };
        for m in &channel.measurements {
            let cuboid = m.block.cuboid();
            let shape = shape(frame, cuboid);
            let at = cuboid.iter().zip(&shape).fold(0, |at, (level, n)| at * n + cell[level.dimension]);
            let mut table = vec![0i64; frame.len(cuboid)];
            table[at] = adds;
            // A component is told by the differences of scaled counts; what one row moves of them is the length of the projection.
            let own = match &m.block {
                crate::plan::Block::Component(a) => projected(frame, a, at, adds),
                block => block.apply(frame, table).unwrap().into_iter().map(|v| v as f64).collect(),
            };
            let scale = m.scale.to_f64();
            let unit = if plan.noise == Noise::Gaussian { scale.sqrt() } else { scale };
            out.extend(own.into_iter().map(|v| v / unit));
        }
    }
    out
}

/// `m_A P_A e`, the shortest vector that the published contrasts cannot tell from what a row moves: the scale of the block times the product of
/// what is left of a unit vector without its mean.
fn projected(frame: &Frame, component: &crate::cube::Cuboid, at: usize, adds: i64) -> Vec<f64> {
    let scale = crate::plan::block::component_scale(frame, component).unwrap() as f64;
    let (mut left, mut out) = (at, vec![adds as f64 * scale]);
    for n in shape(frame, component).into_iter().rev() {
        let node = left % n;
        left /= n;
        let axis: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == node)) - 1.0 / n as f64).collect();
        out = axis.iter().flat_map(|a| out.iter().map(move |o| a * o)).collect();
    }
    out
}

/// What the dearest pair of neighbours costs, of rows in any cell with values at both ends, beyond them and in the middle, and with none.
fn dearest(plan: &Plan, spec: &Spec) -> f64 {
    let frame = Frame::new(&spec.cube, &plan.levels);
    let reach = plan.channels.iter().find_map(|c| c.subject.quantity()).unwrap().steps() as i64;
    let codes = [None, Some(-1), Some(0), Some(reach / 2), Some(reach), Some(reach + 1)];
    let each: Vec<Vec<f64>> =
        (0..6).flat_map(|c| codes.map(|code| moves(plan, &frame, [c / 3, c % 3], code))).collect();
    let cost = |v: &[f64]| match plan.noise {
        Noise::Gaussian => v.iter().map(|x| x * x).sum::<f64>() / 2.0,
        Noise::Laplace => v.iter().map(|x| x.abs()).sum::<f64>(),
    };
    match plan.neighbours {
        Neighbours::AddRemove => each.iter().map(|v| cost(v)).fold(0.0, f64::max),
        Neighbours::Substitute => {
            let pair =
                |a: &Vec<f64>, b: &Vec<f64>| cost(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>());
            each.iter().flat_map(|a| each.iter().map(move |b| pair(a, b))).fold(0.0, f64::max)
        }
    }
}

/// A row that keeps its cell and changes from a value to none moves all that counts values, the total too, however much the agency cares for it.
#[test]
fn a_value_that_goes_is_paid_for() {
    for privacy in ["rho = 1", "epsilon = 1"] {
        for (strategy, weight) in [
            ("residual", "1"),
            ("residual", "1e5"),
            ("residual", "1e15"),
            ("queries", "1e5"),
            ("base", "1e5"),
            ("tables", "1e5"),
        ] {
            if privacy == "epsilon = 1" && strategy == "residual" {
                continue; // It is for Gaussian noise.
            }
            let total = format!("weight = {weight}\n[[table]]\nof = [\"age\"]\nsum = [\"pay\"]");
            let strategy = format!("[strategy]\nmeasure = \"{strategy}\"");
            let text = paid(&format!("{privacy}\nneighbours = \"substitute\""), "skip", "", &total).source;
            let spec =
                spec(&format!("{}{strategy}\n", text.replacen("of = [\"sex\", \"age\"]", "of = []", 1)));
            let planned = planner::plan(&spec.request().unwrap()).unwrap();
            let (said, budget) = (planned.cost.total.to_f64(), planned.plan.budget.to_f64());
            let dearest = dearest(&planned.plan, &spec);
            assert!(
                dearest <= said * (1.0 + 1e-9) && said <= budget,
                "{privacy} {strategy} {weight}: {dearest} {said}"
            );
        }
    }
}

/// Whatever tables are asked for, of counts and sums, with whatever weights, by whatever strategy: no pair of neighbours costs more than the plan says.
#[test]
fn no_weights_make_a_pair_dearer_than_it_is_said_to_be() {
    let mut dice = Dice::new(41);
    let mut planned = 0;
    for _ in 0..tries(150, 3000) {
        let mut pick = |of: &[&str]| of[dice.below(of.len())].to_owned();
        let privacy = [
            pick(&["rho = 1", "rho = 1", "epsilon = 1"]),
            pick(&["", "neighbours = \"substitute\"", "neighbours = \"substitute\""]),
        ]
        .join("\n");
        let (missing, strategy) = (
            pick(&["skip", "skip", "zero", "stop"]),
            pick(&["auto", "residual", "residual", "queries", "base", "tables"]),
        );
        let ends = pick(&["", "measure_clamping = true\n", "square = true\n"]);
        let mut tables = String::new();
        for of in ["[]", "[\"sex\"]", "[\"age\"]", "[\"sex\", \"age\"]"] {
            let weight = libm::pow(10.0, 3.0 * dice.below(5) as f64);
            let sum = ["", "sum = [\"pay\"]\n", "sum = [\"pay\"]\ncount = false\n"][dice.below(3)];
            if dice.below(3) > 0 {
                tables.push_str(&format!("[[table]]\nof = {of}\nweight = {weight}\n{sum}"));
            }
        }
        let text =
            paid(&privacy, &missing, "", "").source.replace("step = 2\n", &format!("step = 2\n{ends}"));
        let text = format!(
            "{}{tables}[strategy]\nmeasure = \"{strategy}\"\n",
            text.split_once("[[table]]").unwrap().0
        );
        // Some ask for nothing, or for what a strategy is not made for.
        let Ok(spec) = crate::spec::parse(&text, std::path::Path::new("shop.toml"), |_| {
            Err::<Vec<u8>, _>(std::io::ErrorKind::NotFound.into())
        }) else {
            continue;
        };
        let Some(request) = spec.request() else { continue };
        let Ok(found) = planner::plan(&request) else { continue };
        if found.plan.channels.iter().all(|c| c.subject.quantity().is_none()) {
            continue;
        }
        planned += 1;
        let (dearest, said) = (dearest(&found.plan, &spec), found.cost.total.to_f64());
        assert!(
            dearest <= said * (1.0 + 1e-9) && said <= found.plan.budget.to_f64(),
            "{dearest} {said}\n{text}"
        );
    }
    assert!(planned > tries(50, 1000), "{planned}");
}

/// No pair of neighbours, with values at both ends and in the middle, is told apart more than the cost says; and the dearest is nearly so.
#[test]
fn the_cost_is_that_of_the_dearest_neighbours() {
    let plain = |(privacy, missing, strategy)| (privacy, strategy, paid(privacy, missing, strategy, ""));
    let with_squares = |way| {
        let (privacy, strategy, spec) = plain(way);
        (privacy, strategy, squared(&spec))
    };
    let with_ends = |way| {
        let (privacy, strategy, spec) = plain(way);
        (privacy, strategy, clamping::watched(&spec, "0.1"))
    };
    let ways = || WAYS.into_iter();
    for (privacy, strategy, spec) in ways()
        .map(plain)
        .chain(ways().map(with_squares))
        .chain(ways().map(with_ends))
        .chain(from_zero::ways())
    {
        let planned = spec.choose(Look::Needed, &Watch::default()).unwrap().planned;
        let plan = &planned.plan;
        let dearest = dearest(plan, &spec);
        let said = planned.cost.total.to_f64();
        assert!(dearest <= said * (1.0 + 1e-9), "{privacy} {strategy}: {dearest} {said}");
        // Under `substitute` the bound takes the worst of each channel.
        let least = if plan.neighbours == Neighbours::Substitute { 0.3 } else { 1.0 - 1e-6 };
        assert!(dearest >= said * least, "{privacy} {strategy}: {dearest} {said}");
        assert!(said <= plan.budget.to_f64());
    }
}

/// Where rows only change their number is public, and what they have in all is not: it is planned, and no two neighbours are told apart more than it costs.
#[test]
fn a_sum_of_all_rows_is_told_where_their_number_is_public() {
    for missing in ["zero", "skip"] {
        let text = paid("rho = 1\nneighbours = \"substitute\"", missing, "", "").source;
        let spec = spec(
            &text.replace("of = [\"sex\", \"age\"]", "of = []").replace("[[table]]\nof = [\"age\"]", ""),
        );
        let planned = planner::plan(&spec.request().unwrap()).unwrap();
        let frame = Frame::new(&spec.cube, &planned.plan.levels);
        let reach = planned.plan.summed().next().unwrap().0.reach() as i64;
        let codes = [None, Some(0), Some(reach / 2), Some(reach)];
        let codes = codes.into_iter().filter(|code| code.is_some() || missing == "skip");
        let each: Vec<Vec<f64>> = codes.map(|code| moves(&planned.plan, &frame, [0, 0], code)).collect();
        let pairs = each.iter().flat_map(|a| each.iter().map(move |b| a.iter().zip(b)));
        let dearest =
            pairs.map(|pair| pair.map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / 2.0).fold(0.0, f64::max);
        let said = planned.cost.total.to_f64();
        assert!(dearest <= said && dearest > 0.2 * said && said <= 1.0, "{missing} {dearest} {said}");
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &rows().0);
        let release = Release::open(&made.sealed.path).unwrap();
        let audit = audit::audit(&release, None).unwrap();
        assert!(audit.passed(), "{audit:?}");
        let table = Answers::from_release(release).unwrap().query("SELECT SUM(pay) FROM shop", 0.95).unwrap();
        let found = table.rows.iter().flatten().find_map(figure).unwrap();
        let truth: f64 = rows().1.iter().filter_map(|r| r.2).sum();
        assert!(
            (found.estimate - truth).abs() < 6.0 * found.std_error && found.std_error < 5e3,
            "{found:?} {truth}"
        );
    }
}

/// Counts and sums together have less error than half of the budget for each.
#[test]
fn together_is_better_than_apart() {
    let spec = paid("rho = \"1/1000\"", "zero", "", "weight = { count = 1, pay = 2 }");
    let request = spec.request().unwrap();
    let both = planner::plan(&request).unwrap();
    let total = |p: &planner::Planned| {
        p.prediction.weighted_total + p.sums.iter().map(|s| s.weighted_total).sum::<f64>()
    };
    // The closed form over components and channels: (Σ √K)²/ρ.
    let alone = |workload: Vec<crate::plan::Table>| {
        let targets = vec![None; workload.len()];
        let beside = request.sums[0].tables.iter().map(|t| t.cuboid.clone()).collect();
        let own = planner::Request { workload, targets, sums: Vec::new(), beside, ..request.clone() };
        planner::plan(&own).unwrap().prediction.weighted_total
    };
    let (rows, sums) = (alone(request.workload.clone()), alone(request.sums[0].tables.clone()));
    let best = (rows.sqrt() + sums.sqrt()).powi(2);
    assert!((total(&both) / best - 1.0).abs() < 1e-4, "{} {best}", total(&both));
    assert!(total(&both) < 2.0 * (rows + sums));
}

/// What is predicted of sums is what answers have, also where the noise of counts has less than a step; and no channel is left without a part of the budget.
#[test]
fn large_budgets_are_predicted_and_shared_out() {
    for privacy in [
        "rho = \"1/3\"",
        "rho = 20",
        "rho = 60",
        "epsilon = 40",
        "rho = 30\nneighbours = \"substitute\"",
        "epsilon = 60\nneighbours = \"substitute\"",
    ] {
        for strategy in ["measure = \"residual\"", "measure = \"queries\"", "measure = \"base\""] {
            if privacy.starts_with("epsilon") && strategy.contains("residual") {
                continue;
            }
            for squares in [false, true] {
                let spec = paid(privacy, "skip", &format!("[strategy]\n{strategy}"), "");
                let spec = if squares { squared(&spec) } else { spec };
                let planned = planner::plan(&spec.request().unwrap()).unwrap();
                for sums in &planned.sums {
                    let plan = planned.plan.clone();
                    let recovery = Recovery::of(&sums.subject, spec.cube.clone(), plan, Nothing).unwrap();
                    let evaluator = Evaluator::new(recovery);
                    for (table, (mean, _)) in &sums.tables {
                        let laws = evaluator.cell_laws(&table.cuboid, 100).unwrap().unwrap();
                        let cells: f64 = laws.iter().map(|l| l.0).sum();
                        let real = laws.iter().map(|(n, law)| n * law.variance()).sum::<f64>() / cells;
                        let at = format!("{privacy} {strategy} {squares} {mean} {real}");
                        assert!((mean / real - 1.0).abs() < 1e-6, "{at}");
                    }
                    assert!(sums.share.to_f64() > 0.01, "{privacy} {strategy}: {}", sums.share);
                }
                let rows = 1.0 - planned.sums.iter().map(|s| s.share.to_f64()).sum::<f64>();
                assert!(rows > 0.01, "{privacy} {strategy}: {rows}");
            }
        }
    }
}

/// What `plan` says of a mean in a cell of a thousand rows is what answers have of `SUM − m · COUNT`, over a thousand: at the origin and at the further bound.
#[test]
fn means_are_predicted() {
    for (privacy, missing) in [("rho = 2", "skip"), ("rho = \"1/3\"", "zero"), ("epsilon = 2", "skip")] {
        let spec = paid(privacy, missing, "", "");
        let planned = planner::plan(&spec.request().unwrap()).unwrap();
        let (sums, quantity) = crate::preview::sums::each(&planned).next().unwrap();
        let (least, most) = crate::preview::sums::errors(&planned, sums, quantity)[0].mean.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &spec, &rows().0);
        let answers = Answers::open(&made.sealed.path).unwrap();
        for (mean, want) in [(495, least), (1000, most), (-10, most)] {
            let sql = format!("SELECT sex, age, SUM(pay) - {mean} * COUNT(pay) FROM shop GROUP BY sex, age");
            let table = answers.query(&sql, 0.9).unwrap();
            let errors: Vec<f64> =
                table.rows.iter().flatten().filter_map(figure).map(|f| f.std_error).collect();
            let found = (errors.iter().map(|e| e * e).sum::<f64>() / 6.0).sqrt() / 1000.0;
            assert!(
                errors.len() == 6 && (found / want - 1.0).abs() < 1e-6,
                "{privacy} {mean}: {found} {want}"
            );
        }
    }
}

/// What so many draws give, added up. A release waits for the disk most of its time: several at once.
fn added_up<const N: usize>(draws: usize, one: impl Fn(usize) -> [usize; N] + Sync) -> [usize; N] {
    const AT_ONCE: usize = 12;
    let one = &one;
    std::thread::scope(|scope| {
        let several = (0..AT_ONCE).map(|first| {
            let all = (first..draws).step_by(AT_ONCE);
            scope.spawn(move || all.map(one).collect::<Vec<_>>())
        });
        let mut sums = [0usize; N];
        for thread in several.collect::<Vec<_>>() {
            for own in thread.join().unwrap() {
                sums.iter_mut().zip(own).for_each(|(all, own)| *all += own);
            }
        }
        sums
    })
}

/// The least share of so many draws in which intervals of level 0.9 may hold the truth: a true share of 0.9 stays below it once in three million
/// times, by the binomial law. Few draws notice only what is far off; optimised builds draw more.
fn least_covered(draws: usize) -> f64 {
    let n = draws as f64;
    let (mut log, mut below, mut k) = (n * 0.1f64.ln(), 0.0, 0.0);
    loop {
        below += f64::exp(log);
        if below > 1.0 / 3e6 {
            return k / n;
        }
        log += ((n - k) / (k + 1.0) * 9.0).ln();
        k += 1.0;
    }
}

/// Estimates are near the rows' own sums, intervals cover as they say, and the errors are those that the plan predicted.
#[test]
fn sums_and_means_are_told_with_their_errors() {
    let (text, rows) = rows();
    let sql = "SELECT sex, SUM(pay) AS s, AVG(pay) AS m, COUNT(pay) AS n, SUM(pay) - 2 * COUNT(*) AS odd, \
               100 * SUM(pay) / SUM(SUM(pay)) OVER () AS share FROM shop GROUP BY sex";
    let draws = tries(10, 300);
    for (privacy, missing, strategy) in [WAYS[0], WAYS[3], WAYS[5]] {
        let spec = paid(privacy, missing, strategy, "");
        let truth: Vec<[f64; 5]> = (0..2)
            .map(|sex| {
                let of = |s: usize| {
                    let own = rows.iter().filter(move |r| r.0 == s);
                    let n = own.clone().filter(|r| r.2.is_some() || missing == "zero").count() as f64;
                    (own.clone().filter_map(|r| r.2).sum::<f64>(), n, own.count() as f64)
                };
                let ((sum, n, all), other) = (of(sex), of(1 - sex));
                [sum, sum / n, n, sum - 2.0 * all, 100.0 * sum / (sum + other.0)]
            })
            .collect();
        let one = |draw: usize| {
            let mut covered = [0usize; 5];
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), &spec, &text);
            let release = Release::open(&made.sealed.path).unwrap();
            if draw == 0 {
                let audit = audit::audit(&release, None).unwrap();
                assert!(audit.passed(), "{audit:?}");
            }
            let answers = Answers::from_release(release).unwrap();
            let table = answers.query(sql, 0.9).unwrap();
            assert!(
                table.notes.iter().any(|n| n.starts_with("pay: values below -10 count as -10")),
                "{:?}",
                table.notes
            );
            for (row, truth) in table.rows.iter().zip(&truth) {
                let figures = row.iter().filter_map(figure);
                for ((covered, f), want) in covered.iter_mut().zip(figures).zip(truth) {
                    *covered += usize::from(f.low - 1e-6 <= *want && *want <= f.high + 1e-6);
                }
            }
            covered
        };
        let covered = added_up(draws, one);
        // Both rows are counted; they share noises, so no more draws than releases.
        let least = least_covered(draws);
        for (i, covered) in covered.iter().enumerate() {
            let rate = *covered as f64 / (2 * draws) as f64;
            assert!(rate >= least, "{privacy} {missing} {strategy}: figure {i} is covered {rate}");
        }
    }
}

/// Variances, deviations, and differences and ratios of means are covered at least as often as they say; a release with squares is verified.
#[test]
fn variances_and_differences_of_means_are_covered() {
    let (text, rows) = rows();
    let sql = "SELECT VAR_POP(pay) AS v, VAR_SAMP(pay) AS w, STDDEV(pay) AS s, \
               AVG(pay) FILTER (WHERE sex = 'F') - AVG(pay) FILTER (WHERE sex = 'M') AS d, \
               AVG(pay) FILTER (WHERE sex = 'F') / AVG(pay) FILTER (WHERE sex = 'M') AS r FROM shop";
    let values = |of: &dyn Fn(usize) -> bool| -> Vec<f64> {
        rows.iter().filter(|r| of(r.0)).filter_map(|r| r.2).collect()
    };
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (all, women, men) = (values(&|_| true), values(&|s| s == 0), values(&|s| s == 1));
    let squares: f64 = all.iter().map(|v| (v - mean(&all)).powi(2)).sum();
    let (n, women, men) = (all.len() as f64, mean(&women), mean(&men));
    let sample = squares / (n - 1.0);
    let truth = [squares / n, sample, sample.sqrt(), women - men, women / men];
    let draws = tries(16, 300);
    for privacy in ["rho = 8", "epsilon = 12", "rho = \"1/2\""] {
        let spec = squared(&paid(privacy, "skip", "", ""));
        let (mut covered, mut bounded) = ([0usize; 5], 0);
        for draw in 0..draws {
            let dir = tempfile::tempdir().unwrap();
            let made = released_from(dir.path(), &spec, &text);
            let release = Release::open(&made.sealed.path).unwrap();
            if draw == 0 {
                let audit = audit::audit(&release, None).unwrap();
                assert!(audit.passed(), "{audit:?}");
            }
            let table = Answers::from_release(release).unwrap().query(sql, 0.9).unwrap();
            let figures = table.rows[0].iter().filter_map(figure);
            for ((covered, f), want) in covered.iter_mut().zip(figures).zip(truth) {
                *covered += usize::from(f.low - 1e-6 <= want && want <= f.high + 1e-6);
                bounded += usize::from(f.high.is_finite());
            }
        }
        let least = least_covered(draws);
        for (i, covered) in covered.iter().enumerate() {
            let rate = *covered as f64 / draws as f64;
            assert!(rate >= least, "{privacy}: figure {i} is covered {rate}");
        }
        assert!(privacy.contains('/') || bounded == 5 * draws, "{privacy}: {bounded}");
    }
    // Without squares it is said what is missing.
    let dir = tempfile::tempdir().unwrap();
    let made = released_from(dir.path(), &paid("rho = 8", "skip", "", ""), &text);
    let refused = Answers::open(&made.sealed.path).unwrap().query("SELECT VAR_POP(pay) FROM shop", 0.9);
    assert!(refused.unwrap_err().to_string().contains("square = true"));
}

/// A cell's figure.
fn figure(cell: &ResultCell) -> Option<ResultFigure> {
    match cell {
        ResultCell::Figure(figure) => Some(*figure),
        _ => None,
    }
}

/// Almost without noise every figure is that of the rows.
#[test]
fn without_noise_sums_are_those_of_the_rows() {
    let (text, rows) = rows();
    for (privacy, missing) in [("rho = 1e5", "skip"), ("epsilon = 1e3", "zero")] {
        let dir = tempfile::tempdir().unwrap();
        let made = released_from(dir.path(), &paid(privacy, missing, "", ""), &text);
        let answers = Answers::open(&made.sealed.path).unwrap();
        let table = answers
            .query("SELECT age, SUM(pay), AVG(pay) FROM shop WHERE sex = 'M' GROUP BY age", 0.9)
            .unwrap();
        for (age, row) in table.rows.iter().enumerate() {
            let own = rows.iter().filter(|r| r.0 == 1 && r.1 == age);
            let sum: f64 = own.clone().filter_map(|r| r.2).sum();
            let n = own.filter(|r| r.2.is_some() || missing == "zero").count() as f64;
            let found: Vec<ResultFigure> = row.iter().filter_map(figure).collect();
            let near = |f: &ResultFigure, want: f64| {
                (f.estimate - want).abs() < 8.0 * f.std_error && f.std_error < 0.02 * want
            };
            assert!(near(&found[0], sum) && near(&found[1], sum / n), "{found:?} {sum} {n}");
        }
    }
}

/// What a signer might say otherwise of a sum is found.
#[test]
fn lies_about_sums_are_found() {
    let (text, _) = rows();
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let made = released_by(&key, dir.path(), &paid("rho = 1", "skip", "", ""), &text);
    let release = Release::open(&made.sealed.path).unwrap();
    let passes = |forged: Result<Release, crate::release::ReleaseError>| {
        forged.is_ok_and(|release| audit::audit(&release, None).is_ok_and(|audit| audit.passed()))
    };
    let honest = audit::audit(&resealed(&release, &key, |_, _| {}).unwrap(), None).unwrap();
    let failed: Vec<_> =
        honest.checks.iter().filter(|c| c.outcome != crate::release::Outcome::Passed).collect();
    assert!(honest.passed(), "{failed:?}");
    // The manifest alone.
    for (field, value) in [("high", 10_000), ("low", -4), ("step", 1), ("places", 2)] {
        assert!(
            !passes(resealed(&release, &key, |m, _| m["plan"]["sums"][0]["of"][field] = value.into())),
            "{field}"
        );
    }
    assert!(!passes(resealed(&release, &key, |m, _| {
        m["plan"].as_object_mut().unwrap().remove("sums");
    })));
    // The section: every byte of what says which number it is, and of its plan.
    let at = |bodies: &mut crate::release::forged::Bodies, nth: usize| {
        let own = bodies.iter().enumerate().filter(|(_, (tag, _))| *tag == Kind::Sums.tag());
        own.map(|(i, _)| i).nth(nth).unwrap()
    };
    let length = release.section(Kind::Sums, 0).unwrap().len();
    // The packed integers stand at the end; what they say nobody but the signer knows.
    for byte in 0..length.saturating_sub(24) {
        for flip in [1u8, 0x80] {
            let forged = resealed(&release, &key, |_, bodies| {
                let i = at(bodies, 0);
                bodies[i].1[byte] ^= flip;
            });
            assert!(!passes(forged), "byte {byte} ^ {flip}");
        }
    }
    // A channel less, or the same one twice.
    assert!(!passes(resealed(&release, &key, |_, bodies| {
        let i = at(bodies, 1);
        bodies.remove(i);
    })));
    assert!(!passes(resealed(&release, &key, |_, bodies| {
        let (i, j) = (at(bodies, 0), at(bodies, 1));
        bodies[j].1 = bodies[i].1.clone();
    })));
}

/// Squares are sealed with their spec: changed, renamed, left out or added unsaid they are found.
#[test]
fn lies_about_squares_are_found() {
    let (text, _) = rows();
    let dir = tempfile::tempdir().unwrap();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    let plain = paid("rho = 1", "skip", "", "");
    let found = |forged: Result<Release, crate::release::ReleaseError>| {
        let audit = audit::audit(&forged.map_err(|e| e.to_string())?, None).map_err(|e| e.to_string())?;
        let failed = audit.checks.iter().find(|c| c.outcome == crate::release::Outcome::Failed);
        failed.map_or(Ok(()), |c| Err(c.detail.clone()))
    };
    let body = |bodies: &crate::release::forged::Bodies, tag: u32, nth: usize| {
        bodies.iter().enumerate().filter(|(_, (t, _))| *t == tag).map(|(i, _)| i).nth(nth).unwrap()
    };
    let made = released_by(&key, dir.path(), &squared(&plain), &text);
    let release = Release::open(&made.sealed.path).unwrap();
    assert_eq!(found(resealed(&release, &key, |_, _| {})), Ok(()));
    let squares = release.section(Kind::Sums, 2).unwrap();
    assert_eq!(squares[0], 3);
    let with = |byte: usize, to: u8| {
        found(resealed(&release, &key, |_, bodies| {
            let i = body(bodies, Kind::Sums.tag(), 2);
            bodies[i].1[byte] = to;
        }))
    };
    // No such subject; or what is already there.
    for (subject, why) in [
        (0, "no known subject"),
        (6, "no known subject"),
        (4, "not one number"),
        (1, "summed twice"),
        (2, "summed twice"),
    ] {
        let refused = with(0, subject).unwrap_err();
        assert!(refused.contains(why), "{subject}: {refused}");
    }
    // The packed integers stand at the end; what they say nobody but the signer knows.
    for byte in 1..squares.len().saturating_sub(24) {
        assert!(with(byte, squares[byte] ^ 1).is_err(), "byte {byte}");
    }
    // With them the spec must ask for them, and without them it may not.
    let asked = |release: &Release, from: &str, to: &str| {
        found(resealed(release, &key, |_, bodies| {
            let i = body(bodies, Kind::Spec.tag(), 0);
            let spec = String::from_utf8(bodies[i].1.clone()).unwrap();
            assert!(spec.contains(from));
            bodies[i].1 = spec.replace(from, to).into_bytes();
        }))
    };
    let why = "the spec has other amounts or tables of sums than the release";
    assert_eq!(asked(&release, "square = true", "square = false").unwrap_err(), why);
    let dir = tempfile::tempdir().unwrap();
    let made = released_by(&key, dir.path(), &plain, &text);
    let without = Release::open(&made.sealed.path).unwrap();
    assert_eq!(asked(&without, "step = 2", "step = 2 # whole"), Ok(()));
    assert_eq!(asked(&without, "step = 2", "step = 2\nsquare = true").unwrap_err(), why);
    // Nor may the section alone be left out.
    assert!(
        found(resealed(&release, &key, |_, bodies| {
            bodies.remove(body(bodies, Kind::Sums.tag(), 2));
        }))
        .is_err()
    );
}

/// What cannot be summed is refused where the spec is read or planned, with the reason.
#[test]
fn what_sums_are_refused() {
    let planned = |spec: Spec| planner::plan(&spec.request().unwrap()).map(|_| ()).map_err(|e| e.to_string());
    let refused = planned(paid("rho = 1", "skip", "[strategy]\nmeasure = \"fourier\"", "")).unwrap_err();
    assert!(refused.contains("sums are planned by"), "{refused}");
    let text = paid("rho = 1", "skip", "", "").source;
    let read = |from: &str, to: &str| {
        assert!(text.contains(from));
        let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let found = crate::spec::parse(&text.replace(from, to), std::path::Path::new("shop.toml"), none);
        found.map(|_| ()).unwrap_err().to_string()
    };
    for (from, to, why) in [
        ("low = -10", "low = 1000", "not below"),
        ("step = 2", "step = 3", "not multiples"),
        ("high = 1000", "high = 1e12", "steps"),
        ("low = -10", "low = 10\nmissing = \"zero\" #", "between"),
        ("sum = [\"pay\"]", "sum = [\"pya\"]", "there is no amount"),
        ("sum = [\"pay\"]", "sum = [\"pay\"]\nmargin = 5", "beside `sum`"),
        ("sum = [\"pay\"]", "sum = [\"pay\"]\nweight = { page = 1 }", "not summed"),
        ("sum = [\"pay\"]", "count = false", "without `sum`"),
        ("name = \"pay\"", "name = \"age\"", "cannot be called"),
        ("[[amount]]", "[asked]\nqueries = []\n[[amount]]", "beside `asked`"),
    ] {
        let found = read(from, to);
        assert!(found.contains(why), "{to}: {found}");
    }
}

/// Amounts stand behind the dimensions in every row, and are checked with them.
#[test]
fn amounts_are_checked_with_the_dimensions() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("rows.csv");
    let of = |missing: &str, text: &str| {
        std::fs::write(&path, text).unwrap();
        let spec = paid("rho = 1", missing, "", "");
        crate::secret::ingest::check(&spec, &path, &Default::default()).unwrap()
    };
    let report = of("skip", &rows().0);
    assert!(report.passed() && report.rows == 60);
    let report = of("stop", "sex,age,pay\nF,0,12\nM,1,\nM,2,dear\nF,9,1e3\n");
    let found: Vec<(Option<&str>, &str)> =
        report.problems.iter().map(|p| (p.column.as_deref(), &p.what[..])).collect();
    assert_eq!(
        found,
        [
            (Some("age"), "the value is outside the domain, and the dimension has no `other`"),
            (
                Some("pay"),
                "the cell is empty; `missing` of its [[amount]] or of [weights] says what else may be done than stop"
            ),
            (Some("pay"), "the value is not a number"),
        ]
    );
    assert_eq!((report.rows, report.unusable), (4, 3));
}
