//! Sums planned for the worst cell, and for margins of their own: against dense optima, against the laws that a file tells, and against lies.

use super::*;
use crate::planner::Planned;
use crate::planner::targets::targets;
use crate::release::Outcome;

fn plan_of(spec: &Spec) -> Planned {
    planner::plan(&spec.request().unwrap()).unwrap()
}

/// The shop of [`paid`] with other counts and weights: sex × age with sums, and age.
fn shop(privacy: &str, missing: &str, strategy: &str, more: &str, of_age: &str) -> Spec {
    let text = paid(privacy, missing, &format!("[strategy]\n{strategy}"), more).source;
    spec(&format!("{text}{of_age}\n"))
}

/// Half the distance between the bounds of `pay` and their middle, as parts of the largest value; that is 1000.
const HALF: f64 = 0.505;
const MIDDLE: f64 = 0.495;

/// How a table's cell is told by a component of sex (2) × age (3), each a set of them: `σ²` times this is its variance.
pub(in crate::compile) fn told(table: usize, component: usize) -> f64 {
    let part = |bit: usize, n: f64| match (table & bit != 0, component & bit != 0) {
        (false, true) => 0.0,
        (false, false) => 1.0,
        (true, true) => 1.0 - 1.0 / n,
        (true, false) => 1.0 / (n * n),
    };
    part(1, 2.0) * part(2, 3.0)
}

/// What a component costs: the squared length of what a row moves of it.
pub(in crate::compile) fn price(component: usize) -> f64 {
    [1.0, 1.0 / 2.0, 2.0 / 3.0, 1.0 / 3.0][component]
}

/// The least budget ρ at which every row of `Σ_k g_k u_k ≤ 1` is kept by components at `Σ price_k/u_k = 2ρ`: the largest of its duals `(Σ √(price (λᵀg)))²/2` over all
/// weights λ of the rows, which sum to one. All channels' components stand beside each other.
fn least(rows: &[Vec<f64>]) -> f64 {
    let n = rows[0].len();
    let dual = |weights: &[f64]| -> f64 {
        let all: f64 = weights.iter().sum();
        let root = |k: usize| {
            let v: f64 = rows.iter().zip(weights).map(|(row, w)| row[k] * w / all).sum();
            (price(k % 4) * v).sqrt()
        };
        (0..n).map(root).sum::<f64>().powi(2) / 2.0
    };
    // Concave in λ: by turns, each weight as good as can be beside the others.
    let mut weights = vec![1.0; rows.len()];
    for _ in 0..200 {
        for i in 0..weights.len() {
            let at = |x: f64| {
                let mut w = weights.clone();
                w[i] = x;
                dual(&w)
            };
            let (mut low, mut high) = (0.0, 50.0 * weights.iter().sum::<f64>());
            for _ in 0..120 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if at(a) < at(b) { low = a } else { high = b }
            }
            weights[i] = 0.5 * (low + high);
        }
        let all: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= all);
    }
    dual(&weights)
}

/// The rows of the programme: counts of both tables, weighed, and sums; by components of the counts, of Σt, and, with `skip`, of rows with a value.
fn rows_of(count: f64, age: f64, sum: f64, skip: bool) -> Vec<Vec<f64>> {
    let of = |table: usize, by: f64| (0..4).map(move |c| by * told(table, c));
    let none = || std::iter::repeat_n(0.0, 4);
    let (half, middle) = (sum * HALF * HALF, sum * MIDDLE * MIDDLE);
    let counts = |table, by| of(table, by).chain(none()).chain(none()).collect::<Vec<f64>>();
    let sums = match skip {
        true => none().chain(of(3, half)).chain(of(3, middle)).collect(),
        false => of(3, middle).chain(of(3, half)).chain(none()).collect(),
    };
    let mut rows = vec![counts(3, count), counts(2, age), sums];
    rows.retain(|row: &Vec<f64>| row.iter().any(|x| *x > 0.0));
    rows
}

/// The largest variances of a cell: of counts of sex × age and of age, and of a sum, in squares of the largest value.
fn worst(planned: &Planned) -> (f64, f64, f64) {
    let of = |age: bool| {
        let workload = &planned.plan.rows().workload;
        let at = workload.iter().position(|t| (t.cuboid.iter().count() == 1) == age);
        at.map_or(0.0, |at| planned.prediction.tables[at].max)
    };
    let sums = planned.sums.iter().find(|s| matches!(s.subject, Subject::Sum(_))).unwrap();
    let quantity = sums.subject.quantity().unwrap();
    let (table, own) = &sums.tables[0];
    (of(false), of(true), planned.sum_variances(quantity, table, *own).1 / 1e6)
}

/// The worst cell of counts and sums is no worse than that of the best noise on all components of all channels, but for a few parts in a hundred: a table's
/// sums and counts are traded by themselves. It is never better, which would be a wrong prediction.
#[test]
fn the_worst_cell_is_that_of_the_dense_optimum() {
    let mut most = 0.0f64;
    for missing in ["zero", "skip"] {
        for (count, pay, age) in [(1, 1, 1), (4, 1, 1), (1, 9, 2), (1, 1, 30), (0, 1, 1)] {
            let weights = if count == 0 {
                "count = false".to_owned()
            } else {
                format!("weight = {{ count = {count}, pay = {pay} }}")
            };
            let spec = shop(
                "rho = \"1/5000\"",
                missing,
                "measure = \"residual\"\nobjective = \"worst\"",
                &weights,
                &format!("weight = {age}"),
            );
            let planned = plan_of(&spec);
            assert!(planned.cost.total <= planned.plan.budget);
            let (n, m, s) = worst(&planned);
            let [count, age, pay] = [count, age, pay].map(f64::from);
            let value = (count * n).max(age * m).max(pay * s);
            assert!((planned.ratio.unwrap() / value - 1.0).abs() < 1e-9, "{:?} {value}", planned.ratio);
            let bound = least(&rows_of(count, age, pay, missing == "skip")) * 5000.0;
            println!("{missing} {count} {pay} {age}: {}", value / bound);
            assert!(value >= bound * (1.0 - 1e-6), "{missing} {count} {pay} {age}: {value} {bound}");
            most = most.max(value / bound);
        }
    }
    assert!(most < 1.05, "{most}");
}

/// By the other strategies and noises, too: a plan for the worst cell has no worse one than the plan for the total, and mostly a better one.
#[test]
fn the_worst_cell_is_better_than_that_of_the_total() {
    for (privacy, measure) in
        [("rho = 1", "queries"), ("rho = 1", "base"), ("epsilon = 2", "queries"), ("epsilon = 2", "base")]
    {
        let value = |objective: &str| {
            let strategy = format!("measure = \"{measure}\"\nobjective = \"{objective}\"");
            let planned = plan_of(&shop(privacy, "zero", &strategy, "weight = { count = 1, pay = 3 }", ""));
            assert!(planned.cost.total <= planned.plan.budget);
            let (n, m, s) = worst(&planned);
            n.max(m).max(3.0 * s)
        };
        let (worst, total) = (value("worst"), value("total"));
        assert!(worst < 0.97 * total, "{privacy} {measure}: {worst} {total}");
    }
}

/// Under Laplace noise one table's count and sum get what a search over all shares finds best.
#[test]
fn one_table_under_laplace_noise() {
    let (epsilon, pay) = (0.01, 2.0);
    let strategy = "measure = \"queries\"\nobjective = \"worst\"";
    let text = shop("epsilon = \"1/100\"", "zero", strategy, "weight = { count = 1, pay = 2 }", "").source;
    let planned = plan_of(&spec(text.strip_suffix("[[table]]\nof = [\"age\"]\n\n").unwrap()));
    let (n, _, s) = worst(&planned);
    let found = n.max(pay * s);
    let at = |share: f64| {
        let (n, t) = (2.0 / (epsilon * share).powi(2), 2.0 / (epsilon * (1.0 - share)).powi(2));
        n.max(pay * (HALF * HALF * t + MIDDLE * MIDDLE * n))
    };
    let best = (1..10_000).map(|i| at(f64::from(i) / 1e4)).fold(f64::INFINITY, f64::min);
    assert!((found / best - 1.0).abs() < 1e-3, "{found} {best}");
}

const Z: f64 = 1.959_963_984_540_054;

/// The least budget that is told meets all margins, and one of a hundredth less does not, for both noises. Under Gaussian noise it is that of the dense optimum.
#[test]
fn the_least_budget_for_sums_is_the_least() {
    for (budget, measure, missing) in [
        ("rho = 2", "residual", "zero"),
        ("epsilon = 2", "queries", "zero"),
        ("rho = \"1/2000\"", "residual", "skip"),
    ]
    .into_iter()
    .take(tries(2, 3))
    {
        let (count, age, pay) = (40.0, 60.0, 30_000.0);
        let with = |budget: &str| {
            let strategy = format!("measure = \"{measure}\"\nobjective = \"targets\"");
            shop(
                budget,
                missing,
                &strategy,
                &format!("margin = {{ count = {count}, pay = {pay} }}"),
                &format!("margin = {age}"),
            )
        };
        let request = with(budget).request().unwrap();
        let planned = planner::plan(&request).unwrap();
        let first = targets(&request, &planned).unwrap().unwrap();
        let met_at = |budget: &str| {
            let planned = plan_of(&with(budget));
            assert!(planned.cost.total <= planned.plan.budget);
            planned.ratio.unwrap() <= 1.0 + 2e-6
        };
        assert_eq!(first.outcomes.len(), 3);
        let all = |t: &planner::targets::Targets| t.outcomes.iter().all(|o| o.met);
        assert_eq!(all(&first), planned.ratio.unwrap() <= 1.0 + 2e-6);
        assert_eq!(all(&first), budget != "rho = \"1/2000\"", "{budget}");
        let least = first.least.unwrap().budget.to_f64();
        let name = budget.split(' ').next().unwrap();
        assert!(met_at(&format!("{name} = {least}")), "{budget} {least}");
        assert!(!met_at(&format!("{name} = {:.9}", 0.99 * least)), "{budget} {least}");
        if name == "rho" {
            let precision = |margin: f64| (Z / margin).powi(2);
            let rows = rows_of(precision(count), precision(age), 1e6 * precision(pay), missing == "skip");
            let bound = self::least(&rows);
            println!("{missing}: {}", least / bound);
            assert!(least >= bound * (1.0 - 1e-4) && least < bound * 1.03, "{least} {bound}");
        }
    }
}

/// A count's margin takes budget from sums, and the other way.
#[test]
fn margins_of_counts_and_sums_share_a_budget() {
    let error = |margin: &str| {
        let (n, _, s) = worst(&plan_of(&shop(
            "rho = 1",
            "zero",
            "objective = \"targets\"",
            &format!("margin = {margin}"),
            "",
        )));
        (n, s)
    };
    let (loose, strict) = (error("{ count = 50, pay = 1400 }"), error("{ count = \"1.3\", pay = 50000 }"));
    assert!(loose.1 < 0.8 * strict.1 && strict.0 < 0.8 * loose.0, "{loose:?} {strict:?}");
    let text =
        paid("rho = 1", "zero", "", "margin = { count = 5, pay = 3 }").source.replace("pay = 3", "pya = 3");
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let refused = crate::spec::parse(&text, std::path::Path::new("shop.toml"), none).unwrap_err().to_string();
    assert!(refused.contains("`pya` is not summed in this table"), "{refused}");
}

/// What is promised of sums is what a file tells of them, by the exact laws of its noise; whoever seals a stricter spec with it is found out.
#[test]
fn margins_that_are_promised_are_kept() {
    let (text, _) = rows();
    let key = SigningKey::from_text(&keys::keygen(None).unwrap().secret, None).unwrap();
    for (privacy, missing, measure) in [("epsilon = 3", "zero", "queries"), ("rho = 2", "skip", "residual")] {
        let strategy = format!("measure = \"{measure}\"\nobjective = \"targets\"");
        let spec = shop(
            privacy,
            missing,
            &strategy,
            "level = 0.9\nmargin = { count = 20, pay = 9000 }",
            "margin = 30",
        );
        let planned = plan_of(&spec);
        assert!(planned.ratio.unwrap() < 1.0 + 1e-6, "{:?}", planned.ratio);
        let dir = tempfile::tempdir().unwrap();
        let made = released_by(&key, dir.path(), &spec, &text);
        let release = Release::open(&made.sealed.path).unwrap();
        let of_sum = planned.sums.iter().flat_map(|s| &s.aimed).next().unwrap();
        let answers = Answers::from_release(Release::open(&made.sealed.path).unwrap()).unwrap();
        let told = answers.describe(0.9, 9).unwrap().amounts[0].tables[0].margin.unwrap();
        assert!((told / of_sum.margin - 1.0).abs() < 1e-4, "{told} {}", of_sum.margin);
        let judged = |forged: Release| {
            let audit = audit::audit(&forged, None).unwrap();
            let of = |what: &str| audit.checks.iter().find(|c| c.what == what).unwrap().clone();
            (of("targets"), of("plan").outcome, audit.passed())
        };
        let (honest, again, passed) = judged(resealed(&release, &key, |_, _| {}).unwrap());
        assert_eq!(
            (honest.outcome, again, passed),
            (Outcome::Passed, Outcome::Passed, true),
            "{}",
            honest.detail
        );
        let lie = |from: &str, to: &str| {
            judged(
                resealed(&release, &key, |_, bodies| {
                    let spec = bodies.iter_mut().find(|(tag, _)| *tag == Kind::Spec.tag()).unwrap();
                    let text = String::from_utf8(spec.1.clone()).unwrap();
                    assert!(text.contains(from));
                    spec.1 = text.replace(from, to).into_bytes();
                })
                .unwrap(),
            )
        };
        for (from, to, what) in
            [("pay = 9000", "pay = 900 ", "sums of pay"), ("count = 20", "count = \"0.5\"", "sex × age")]
        {
            let (found, again, _) = lie(from, to);
            assert_eq!(found.outcome, Outcome::Warning, "{to}");
            assert!(
                found.detail.contains("does not keep 1 of 3 margins") && found.detail.contains(what),
                "{}",
                found.detail
            );
            // Nor is it the plan that such a spec leads to.
            assert_eq!(again, Outcome::Warning, "{to}");
        }
    }
}

/// Weights are relative, however small they are: a table's sums that count for next to nothing are planned as if all else counted for so much more.
#[test]
fn weights_for_the_worst_cell_are_relative() {
    let strategy = "[strategy]\nobjective = \"worst\"";
    for privacy in ["rho = 1", "epsilon = 2"] {
        let planned = |weights: &str, other: &str| {
            let more = format!(
                "weight = {{ {weights} }}\n[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\nweight = \"{other}\""
            );
            let text =
                paid(privacy, "skip", strategy, &more).source.replace("[[table]]\nof = [\"age\"]\n", "");
            planner::plan(&spec(&text).request().unwrap()).unwrap()
        };
        let small = planned("count = 1, pay = \"1e-15\"", "1");
        let large = planned("count = \"1e15\", pay = 1", "1e15");
        for (a, b) in small.sums.iter().zip(&large.sums) {
            for ((_, a), (_, b)) in a.tables.iter().zip(&b.tables) {
                assert!((a.0 / b.0 - 1.0).abs() < 1e-6, "{privacy}: {a:?} {b:?}");
            }
        }
    }
}
