//! Budgets in (ε, δ): what is spent, and that no more δ is, by sums over outcomes that know nothing of the law's code.

use super::*;
use std::path::Path;

fn request(dimensions: &[usize], every: usize, more: &str) -> Request {
    let mut text = format!("name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\n{more}\n");
    let own = |(i, n): (usize, &usize)| format!("[[dimension]]\nname = \"d{i}\"\ncodes = {n}\n");
    text += &dimensions.iter().enumerate().map(own).collect::<String>();
    text += &format!("[[table]]\nevery = {every}\n");
    let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap()
}

fn budget(epsilon: &str, delta: &str) -> (Rational, Rational) {
    (epsilon.parse().unwrap(), delta.parse().unwrap())
}

fn spec_of(epsilon: &str, delta: &str) -> String {
    format!("epsilon = \"{epsilon}\"\ndelta = \"{delta}\"")
}

#[test]
fn all_pairs_spend_what_the_law_allows() {
    let aims = [("1", "1e-9", 0.0164), ("1", "1e-6", 0.0277), ("4", "1e-9", 0.2236), ("10", "1e-10", 1.061)];
    for sizes in [&[9, 16, 7, 15, 6, 5, 2, 2][..], &[2; 16]] {
        for (epsilon, delta, aim) in aims {
            let mut request = request(sizes, 2, &spec_of(epsilon, delta));
            request.measure = Some(crate::plan::Measure::Residual);
            let choice = choose_within(&request, Look::Needed, budget(epsilon, delta)).unwrap();
            let rho = choice.planned.cost.total.to_f64();
            assert!(rho > aim && request.budget.to_f64() < aim, "{epsilon} {delta}: {rho}");
            assert!(
                losses(&request, &choice.planned)
                    .unwrap()
                    .within(budget(epsilon, delta).0, budget(epsilon, delta).1)
            );
        }
    }
}

/// δ of one count, outcome by outcome.
fn outright(variance: f64, epsilon: f64) -> f64 {
    let weight = |k: i64| (-((k * k) as f64) / (2.0 * variance)).exp();
    let all: f64 = (-400..=400).map(weight).sum();
    let loss = |k: i64| (0.5 + k as f64) / variance;
    let some = (-400..=400).filter(|&k| loss(k) > epsilon);
    some.map(|k| weight(k) * -(epsilon - loss(k)).exp_m1()).sum::<f64>() / all
}

/// Coarse noise, of which δ rises and falls with ρ.
#[test]
fn one_count_has_no_more_than_is_allowed() {
    let budgets =
        [("10", "1e-10"), ("3", "1e-3"), ("1/2", "1e-2"), ("20", "1e-9"), ("6", "1e-12"), ("2", "1e-6")];
    let mut more = 0;
    for (epsilon, delta) in budgets {
        let request = request(&[3], 1, &spec_of(epsilon, delta));
        let request = Request { measure: Some(crate::plan::Measure::Queries), ..request };
        let choice = choose_within(&request, Look::Needed, budget(epsilon, delta)).unwrap();
        let rho = choice.planned.cost.total.to_f64();
        let (epsilon, delta) = (budget(epsilon, delta).0.to_f64(), budget(epsilon, delta).1.to_f64());
        let found = outright(0.5 / rho, epsilon);
        assert!(found <= delta, "{epsilon}: {found} of {delta}");
        more += usize::from(choice.planned.plan.budget > request.budget);
    }
    assert!(more >= 5, "{more}");
}

/// With few steps of noise much more ρ may be allowed than continuous noise would have: values of the loss just up to ε cost no δ.
#[test]
fn one_count_has_as_much_as_its_few_steps_allow() {
    let most = [
        ("5", "1e-3", 1.664),
        ("3", "1e-2", 1.0),
        ("10", "1e-9", 1.4275),
        ("20", "1e-9", 6.66),
        ("20", "1e-3", 19.97),
    ];
    for (epsilon, delta, least) in most {
        let request = request(&[5], 1, &spec_of(epsilon, delta));
        let request = Request { measure: Some(crate::plan::Measure::Base), ..request };
        let choice = choose_within(&request, Look::Needed, budget(epsilon, delta)).unwrap();
        let rho = choice.planned.cost.total.to_f64();
        let found = outright(0.5 / rho, epsilon.parse().unwrap());
        assert!(found <= delta.parse().unwrap(), "{epsilon}: {found} of {delta}");
        assert!(rho > least, "{epsilon} {delta}: {rho}");
    }
}

/// No strategy is better by its name than what `auto` finds, however many tables there are: each has the ρ of its own law. A wider look finds the same.
#[test]
fn auto_is_as_good_as_every_strategy_by_name() {
    let budgets = [("5", "1e-2"), ("3", "1e-2"), ("8", "1e-3"), ("20", "1e-9"), ("1", "1e-9")];
    let mut moved = 0;
    for (sizes, every) in [(&[3, 4][..], 1), (&[2, 3, 2], 2), (&[5], 1)] {
        for (epsilon, delta) in budgets {
            let request = request(sizes, every, &spec_of(epsilon, delta));
            let choose = |measure, look| {
                let asked = Request { measure, ..request.clone() };
                choose_within(&asked, look, budget(epsilon, delta))
            };
            let auto = choose(None, Look::Needed).unwrap();
            let own = losses(&request, &auto.planned).unwrap();
            assert!(own.within(budget(epsilon, delta).0, budget(epsilon, delta).1), "{epsilon} {delta}");
            let score = auto.planned.score(&request);
            let mut budgets = vec![auto.planned.plan.budget];
            for measure in crate::planner::strategy::general() {
                let Ok(named) = choose(Some(measure), Look::Needed) else { continue };
                // Rows of its own have no law, and the conversion's ρ.
                let least = named.planned.score(&request);
                assert!(
                    score <= least * (1.0 + 2e-3),
                    "{sizes:?} {epsilon} {delta} {measure:?}: {score} {least}"
                );
                budgets.push(named.planned.plan.budget);
            }
            let wide = choose(None, Look::Everywhere).unwrap();
            assert_eq!(wide.planned.plan, auto.planned.plan, "{sizes:?} {epsilon} {delta}");
            // Nothing is compared that may not be.
            let plans = wide.candidates.iter().filter_map(|c| Some((c.measure, c.outcome.as_ref().ok()?)));
            for (measure, planned) in plans {
                assert!(
                    is_allowed(&request, planned, budget(epsilon, delta)),
                    "{sizes:?} {epsilon} {delta} {measure:?}"
                );
            }
            moved += usize::from(budgets.iter().any(|b| b.to_f64() > 1.5 * budgets[0].to_f64()));
            moved += usize::from(budgets.iter().any(|b| b.to_f64() < budgets[0].to_f64() / 1.5));
        }
    }
    assert!(moved >= 5, "{moved}");
}

#[test]
fn who_has_no_law_has_the_conversion() {
    let some =
        [("neighbours = \"substitute\"", "unit = \"row\""), ("", "unit = { column = \"id\", max_rows = 2 }")];
    for (neighbours, unit) in some {
        let text = format!(
            "name = \"m\"\ntitle = \"M\"\n[privacy]\n{unit}\n{neighbours}\n{}\n[[dimension]]\nname = \"a\"\ncodes = 3\n[[table]]\nevery = 1\n",
            spec_of("1", "1e-9")
        );
        let nowhere = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let request = crate::spec::parse(&text, Path::new("m.toml"), nowhere).unwrap().request().unwrap();
        let choice = choose_within(&request, Look::Needed, budget("1", "1e-9")).unwrap();
        assert_eq!(choice.planned.plan.budget, request.budget);
    }
}

/// Weights of nodes have no law; even shares have one, and more ρ. Whichever of the two is better is taken.
#[test]
fn groups_of_unequal_size_have_weights_or_a_law() {
    let (mut lawful, mut weighted) = (0, 0);
    for sizes in [&[3, 4][..], &[1, 12], &[1, 2, 9], &[5, 6, 7]] {
        for (epsilon, delta) in [("1", "1e-9"), ("1", "1e-6"), ("10", "1e-9")] {
            let rows =
                sizes.iter().enumerate().flat_map(|(g, n)| (0..*n).map(move |i| format!("a{g}-{i},g{g}\n")));
            let list = format!("area,group\n{}", rows.collect::<String>());
            let text = format!(
                "name = \"m\"\ntitle = \"M\"\n[privacy]\nunit = \"row\"\n{}\n[[dimension]]\nname = \"area\"\nhierarchy = \"h.csv\"\n\
                [[table]]\nof = [\"area\"]\n[[table]]\nof = [\"area.group\"]\n",
                spec_of(epsilon, delta)
            );
            let read = |_: &str| Ok(list.clone().into_bytes());
            let request = crate::spec::parse(&text, Path::new("m.toml"), read).unwrap().request().unwrap();
            let request = Request { measure: Some(crate::plan::Measure::Residual), ..request };
            let of = budget(epsilon, delta);
            let found = choose_within(&request, Look::Needed, of).unwrap();
            let own = losses(&request, &found.planned);
            assert!(is_allowed(&request, &found.planned, of), "{sizes:?} {epsilon} {delta}");
            let weights = choose(&request, Look::Needed).unwrap().planned;
            let law = near(&Request { with_law: true, ..request.clone() }, of).unwrap().planned;
            let least = weights.score(&request).min(law.score(&request));
            assert_eq!(found.planned.score(&request), least, "{sizes:?} {epsilon} {delta}");
            lawful += usize::from(own.is_some());
            weighted += usize::from(own.is_none());
        }
    }
    assert!(lawful > 2 && weighted > 2, "{lawful} {weighted}");
}
