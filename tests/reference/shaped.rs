//! Plans for other objectives than the total: whole tables against every share there is, `auto` against every line.

use crate::dense::{grouped, plain};
use crate::plans::{every, request};
use crate::strategies::{Dice, random};
use margins::cube::{Cube, Cuboid};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, BudgetRule, Measure, Noise, Share, Table};
use margins::plan::{Objective, Target};
use margins::planner::targets::targets;
use margins::planner::{Request, compare, plan};

fn target(margin: f64, level: &str) -> Option<Target> {
    Some(Target { margin: format!("{margin:.6}").parse().unwrap(), level: level.parse().unwrap() })
}

/// A random request with some targets, of which some bind.
fn asked(dice: &mut Dice, noise: Noise, objective: Objective) -> Request {
    let (cube, workload) = random(dice);
    let budget = ["1/50", "1/3", "2"][dice.below(3)];
    let mut r = request(cube, workload, noise, budget);
    r.objective = objective;
    r.effort = 0;
    if objective == Objective::Targets {
        let scale =
            if noise == Noise::Gaussian { 2.0 / r.budget.to_f64().sqrt() } else { 4.0 / r.budget.to_f64() };
        for t in 0..r.workload.len() {
            if t == 0 || dice.below(2) == 0 {
                let level = ["0.95", "0.9", "0.99"][dice.below(3)];
                r.targets[t] = target(scale * [0.3, 1.0, 3.0, 10.0][dice.below(4)], level);
            }
        }
    }
    r
}

/// `auto` against every line of a comparison, uniform ones too, by each objective and for both kinds of noise; and every strategy's
/// optimal line against its uniform one.
#[test]
fn auto_is_never_worse_by_any_objective() {
    let mut dice = Dice(2024);
    let mut judged = 0;
    // The laws of the first targets take long where little is optimised.
    let rounds = tries(6, 0)..tries(12, 42);
    let tried = rounds.len();
    for round in 0..rounds.end {
        let noise = if round % 2 == 0 { Noise::Laplace } else { Noise::Gaussian };
        let objective = [Objective::Worst, Objective::Targets, Objective::Total][round / 2 % 3];
        let r = asked(&mut dice, noise, objective);
        if !rounds.contains(&round) {
            continue;
        }
        let Ok(lines) = compare(&r, &BudgetRule::ALL) else { continue };
        let auto = plan(&r).unwrap();
        assert!(auto.cost.total <= auto.plan.budget);
        let score = auto.score(&r);
        let of = |m, b| lines.iter().find(|c| c.measure == m && c.budgets == b);
        for c in &lines {
            let Ok(p) = &c.outcome else { continue };
            let this = p.score(&r);
            assert!(
                score <= this * 1.001,
                "round {round} {objective:?} {noise:?}: {:?} {:?} {this} {score}",
                c.measure,
                c.budgets
            );
            let optimal = of(c.measure, BudgetRule::Optimal).and_then(|c| c.outcome.as_ref().ok());
            let optimal = optimal.map_or(f64::INFINITY, |p| p.score(&r));
            assert!(
                optimal <= this * (1.0 + 1e-8),
                "round {round} {objective:?}: {:?} {optimal} {this}",
                c.measure
            );
            judged += 1;
        }
    }
    assert!(judged > 9 * tried, "{judged}");
}

/// Two or three tables in any shares: none of a fine grid of them has a smaller worst cell than the plan for it, over equal groups and
/// unequal ones; and under Gaussian noise the plan proves how close it is.
#[test]
fn no_shares_have_a_smaller_worst_cell() {
    let tables = |all: &[Vec<(usize, usize)>]| -> Vec<Table> {
        all.iter().map(|t| Table::new(Cuboid::new(t.clone()), Rational::ONE)).collect()
    };
    let plains = Cube { dimensions: vec![plain("a", 3), plain("b", 5)] };
    let unequal = Cube { dimensions: vec![grouped("a", &[1, 4, 2]), plain("b", 3)] };
    for (cube, workload) in [
        (plains.clone(), tables(&[vec![(0, 1)], vec![(0, 1), (1, 1)]])),
        (plains, tables(&[vec![(0, 1)], vec![(1, 1)], vec![(0, 1), (1, 1)]])),
        (unequal.clone(), tables(&[vec![(0, 1)], vec![(0, 2), (1, 1)]])),
        (unequal, tables(&[vec![(0, 1), (1, 1)], vec![(0, 2)], vec![(1, 1)]])),
    ] {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let mut r = request(cube.clone(), workload.clone(), noise, "1/50");
            (r.objective, r.measure) = (Objective::Worst, Some(Measure::Queries));
            let p = plan(&r).unwrap();
            let score = p.score(&r);
            let mut given = r.clone();
            given.measure = Some(Measure::Given);
            let n = workload.len();
            const STEPS: u128 = tries(30, 60) as u128;
            let mut least = f64::INFINITY;
            for i in 1..STEPS {
                for j in 1..STEPS {
                    if i + j > STEPS || n == 2 && i + j != STEPS || n == 3 && i + j == STEPS {
                        continue;
                    }
                    let parts = [i, j, STEPS - i - j];
                    let share = |(t, part): (&Table, u128)| Share {
                        cuboid: t.cuboid.clone(),
                        share: Rational::new(part, STEPS).unwrap(),
                    };
                    given.shares = workload.iter().zip(parts).map(share).collect();
                    least = least.min(plan(&given).unwrap().score(&r));
                }
            }
            assert!(score <= least * (1.0 + 1e-6), "{noise:?}: {score} and {least}");
            // A table may be best left out all but entirely, which is in no grid.
            assert!(
                score > least * (1.0 - 6.0 / STEPS as f64),
                "{noise:?}: the grid is too coarse, {score} and {least}"
            );
            if noise == Noise::Gaussian {
                let proof = p.certificate.unwrap();
                assert!(proof.gap() < 1e-4, "{}", proof.gap());
                assert!((proof.value / score - 1.0).abs() < 1e-4, "{} {score}", proof.value);
                assert!(proof.bound <= least * (1.0 + 1e-9));
            }
        }
    }
}

/// The plan for the worst cell is better at that than the plan for the total, and for many workloads much better.
#[test]
fn the_objective_is_what_is_minimised() {
    let mut dice = Dice(7);
    let (mut better, mut tried) = (0, 0);
    let rounds = tries(8, 20);
    for _ in 0..rounds {
        let mut r = asked(&mut dice, Noise::Laplace, Objective::Worst);
        let Ok(worst) = plan(&r) else { continue };
        let asked = r.clone();
        r.objective = Objective::Total;
        let total = plan(&r).unwrap().score(&asked);
        tried += 1;
        assert!(worst.score(&asked) <= total);
        better += usize::from(worst.score(&asked) < 0.95 * total);
    }
    assert!(tried >= rounds * 4 / 5 && better >= rounds / 4, "{better} of {tried}");
}

/// A strategy that sums many Laplace noises and one that has one noise a cell are judged by the laws of their errors: what is said to
/// meet a target does, and the least budget meets all of them when it is given, and is never above that of any other line.
#[test]
fn least_budgets_are_those_of_the_best_line() {
    let cube = Cube { dimensions: vec![plain("a", 4), plain("b", 3), plain("c", 2)] };
    // The laws of Laplace noises of several scales take long where little is optimised.
    for noise in [Noise::Gaussian, Noise::Laplace].into_iter().take(tries(1, 2)) {
        let mut r = request(cube.clone(), every(&cube, 2), noise, "1");
        (r.objective, r.effort) = (Objective::Targets, 0);
        // Every table has one: a table without one is taken care of by what it would have else, which is not the same for every line.
        r.targets.fill(target(60.0, "0.95"));
        r.targets[0] = target(20.0, "0.95");
        r.targets[1] = target(12.0, "0.9");
        let least = |r: &Request| targets(r, &plan(r).unwrap()).unwrap().unwrap().least.unwrap().budget;
        let auto = least(&r);
        let mut at = r.clone();
        at.budget = auto;
        let p = plan(&at).unwrap();
        assert!(targets(&at, &p).unwrap().unwrap().outcomes.iter().all(|o| o.met), "{noise:?} {auto}");
        let lines = [Measure::Queries, Measure::Base, Measure::Cluster, Measure::Tables, Measure::Wavelet];
        for measure in lines {
            let mut one = r.clone();
            one.measure = Some(measure);
            let own = least(&one);
            assert!(auto.to_f64() <= own.to_f64() * 1.001, "{noise:?} {measure:?}: {auto} {own}");
        }
    }
}

/// Every share is that of a table: what is measured does not change with the objective where the strategy says what it is.
#[test]
fn queries_stay_the_tables_asked_for() {
    let mut dice = Dice(99);
    for _ in 0..20 {
        let mut r = asked(&mut dice, Noise::Laplace, Objective::Worst);
        r.measure = Some(Measure::Queries);
        let Ok(p) = plan(&r) else { continue };
        let measured: Vec<&Cuboid> = p
            .plan
            .rows()
            .measurements
            .iter()
            .map(|m| match &m.block {
                Block::Table(c) => c,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(measured, r.workload.iter().map(|t| &t.cuboid).collect::<Vec<_>>());
    }
}
