//! Strategies that measure whole tables: identities, dominance, shares that the agency gives.

pub(crate) use crate::dense::{Dice, random};
use crate::dense::{cube_of_plan, plain};
use crate::plans::{every, planned, request};
use margins::cube::{Cube, Cuboid, Frame};
use margins::exact::Rational;
use margins::numeric::tries::tries;
use margins::plan::{Block, BudgetRule, Measure, Neighbours, Noise, Share, Table};
use margins::planner::{PlanError, Planned, Request, compare, plan};

fn cube_of(sizes: &[usize]) -> Cube {
    Cube { dimensions: sizes.iter().enumerate().map(|(i, &n)| plain(&format!("d{i}"), n)).collect() }
}

fn direct(p: &Planned, frame: &Frame, workload: &[Table]) -> f64 {
    p.plan
        .rows()
        .measurements
        .iter()
        .zip(workload)
        .map(|(m, t)| {
            let Block::Table(b) = &m.block else { panic!("tables only") };
            assert_eq!(b, &t.cuboid);
            t.weight.to_f64() * frame.cells(b) * margins::plan::noise_variance(p.plan.noise, m)
        })
        .sum()
}

/// Over many small workloads: no strategy spends more than the budget or leaves any over, `auto` is never worse than
/// any of them, `tables` never worse than what it starts from, optimal budgets never worse than uniform ones.
#[test]
fn auto_is_never_worse() {
    let mut dice = Dice(42);
    let mut wins = 0;
    let rounds = tries(8, 220);
    for round in 0..rounds {
        let (cube, workload) = random(&mut dice);
        let noise = if round % 2 == 0 { Noise::Laplace } else { Noise::Gaussian };
        let mut r = request(cube, workload, noise, "1/50");
        if round % 5 == 0 {
            r.neighbours = Neighbours::Substitute;
        }
        // Annealing takes its time: only now and then.
        r.effort = u32::from(round % 44 == 0);
        let all = match compare(&r, &BudgetRule::ALL) {
            // The number of rows alone is no secret where rows are only changed.
            Err(PlanError::Public) => continue,
            all => all.unwrap(),
        };
        let error = |m: Measure, b: BudgetRule| {
            let c = all.iter().find(|c| c.measure == m && c.budgets == b).unwrap();
            c.outcome.as_ref().map_or(f64::INFINITY, |p| p.prediction.weighted_total)
        };
        for rule in BudgetRule::ALL {
            r.budgets = rule;
            let auto = plan(&r).unwrap();
            assert!(auto.cost.total <= auto.plan.budget);
            for c in all.iter().filter(|c| c.budgets == rule) {
                let Ok(p) = &c.outcome else { continue };
                assert!(p.cost.total <= p.plan.budget, "{round} {:?}", c.measure);
                // Where two cells can differ in nothing that is measured, substituting costs nothing.
                let signed = matches!(c.measure, Measure::Residual | Measure::Fourier | Measure::Wavelet);
                let free = signed && r.neighbours == Neighbours::Substitute;
                let spent = p.cost.total.to_f64() / p.plan.budget.to_f64();
                assert!(free || spent > 1.0 - 1e-8, "{round} {:?} {spent}", c.measure);
                let (best, this) = (auto.prediction.weighted_total, p.prediction.weighted_total);
                assert!(best <= this * 1.001, "round {round}: {:?} {this} beats auto's {best}", c.measure);
                assert!(this.is_finite(), "round {round}: {:?} does not hold the workload", c.measure);
            }
            let tables = error(Measure::Tables, rule);
            for start in [Measure::Queries, Measure::Base, Measure::Cluster] {
                // Two rules of rounding may part in the tenth digit.
                assert!(tables <= error(start, rule) * (1.0 + 1e-8), "round {round}: {start:?} {rule:?}");
            }
            let rest = [Measure::Queries, Measure::Base, Measure::Cluster, Measure::Hierarchy];
            let least = rest.map(|m| error(m, rule)).into_iter().fold(f64::INFINITY, f64::min);
            wins += usize::from(tables < 0.99 * least);
        }
        for c in all.iter().filter(|c| c.outcome.is_ok()) {
            let (optimal, uniform) =
                (error(c.measure, BudgetRule::Optimal), error(c.measure, BudgetRule::Uniform));
            // Scales are rounded up to what fits 64 bits.
            assert!(optimal <= uniform * (1.0 + 1e-8), "round {round}: {:?} {optimal} {uniform}", c.measure);
        }
        // For the recovery they are made for; and `hierarchy` for least squares.
        let frame = Frame::new(&r.cube, &Frame::levels_of(&r.cube, r.workload.iter().map(|t| &t.cuboid)));
        let sum = |b| direct(&planned(r.clone(), Measure::Queries, b), &frame, &r.workload);
        assert!(sum(BudgetRule::Optimal) <= sum(BudgetRule::Uniform) * (1.0 + 1e-6), "round {round}");
        if frame.is_balanced() {
            let (o, u) = (BudgetRule::Optimal, BudgetRule::Uniform);
            assert!(
                error(Measure::Hierarchy, o) <= error(Measure::Hierarchy, u) * (1.0 + 1e-6),
                "round {round}"
            );
        }
    }
    assert!(wins > rounds / 11, "the search finds something of its own in {wins} of {} plans", 2 * rounds);
}

/// The published sizes, with the errors that these strategies reach (continuous noise to 1 %).
#[test]
fn published_workloads_under_laplace_noise() {
    let total = |sizes: &[usize], measure| {
        let cube = cube_of(sizes);
        let workload = every(&cube, 2);
        planned(request(cube, workload, Noise::Laplace, "1"), measure, BudgetRule::Optimal).prediction.total
    };
    let adult = [9, 16, 7, 15, 6, 5, 2, 2];
    assert!(total(&adult, Measure::Cluster) < 1.093e6);
    // The search takes half a minute where nothing is optimised.
    assert!(tries(0, 1) == 0 || total(&adult, Measure::Tables) < 9.16e5);
    assert!(total(&[2; 16], Measure::Cluster) < 7.6e5);
}

/// `queries` in equal shares over L tables with m' coefficients: `2L²m'/ε²` and `Lm'/(2ρ)` after least squares,
/// when each component is below one table or, as here, when all tables are symmetric only in the sum over components:
/// `Σ_A c_A/τ_A` with one table a component.
#[test]
fn queries_in_equal_shares() {
    // Disjoint dimensions: only the total is shared.
    let cube = cube_of(&[3, 4, 2, 5]);
    let workload: Vec<_> = [[0, 1], [2, 3]]
        .iter()
        .map(|t| Table::new(Cuboid::new(t.iter().map(|&d| (d, 1))), Rational::ONE))
        .collect();
    // m' = Σ_A Π (n_i − 1): 12 − 1 and 10 − 1, and the total.
    let (l, m) = (2.0, 11.0 + 9.0 + 1.0);
    let laplace = planned(
        request(cube.clone(), workload.clone(), Noise::Laplace, "1/1000"),
        Measure::Queries,
        BudgetRule::Uniform,
    );
    let gaussian =
        planned(request(cube, workload, Noise::Gaussian, "1/1000"), Measure::Queries, BudgetRule::Uniform);
    // The total's share: c/τ is (1/12 + 1/10)/(1/12 + 1/10) = 1 coefficient, whatever the sizes.
    assert!(
        (laplace.prediction.total * 1e-6 / (2.0 * l * l * m) - 1.0).abs() < 1e-5,
        "{}",
        laplace.prediction.total
    );
    assert!(
        (gaussian.prediction.total * 1e-3 / (l * m / 2.0) - 1.0).abs() < 1e-5,
        "{}",
        gaussian.prediction.total
    );
    // And for heavily overlapping tables.
    let cube = cube_of(&[2; 6]);
    let workload = every(&cube, 2);
    let (l, m) = (15.0, 1.0 + 6.0 + 15.0);
    let p = planned(request(cube, workload, Noise::Laplace, "1/1000"), Measure::Queries, BudgetRule::Uniform);
    assert!((p.prediction.total * 1e-6 / (2.0 * l * l * m) - 1.0).abs() < 1e-5, "{}", p.prediction.total);
}

#[test]
fn degenerate_workloads() {
    let one = cube_of(&[1, 1]);
    let cases = [
        (one.clone(), vec![Cuboid::new(vec![(0, 1), (1, 1)])]),
        (one, vec![Cuboid::total()]),
        (cube_of(&[4, 1, 3]), vec![Cuboid::new(vec![(0, 1), (1, 1)]), Cuboid::new(vec![(2, 1)])]),
        (cube_of(&[7]), vec![Cuboid::new(vec![(0, 1)])]),
        (cube_of(&[7, 2]), vec![Cuboid::total()]),
    ];
    for (cube, tables) in cases {
        let workload: Vec<_> = tables.into_iter().map(|cuboid| Table::new(cuboid, Rational::ONE)).collect();
        for noise in [Noise::Laplace, Noise::Gaussian] {
            let r = request(cube.clone(), workload.clone(), noise, "1/100");
            for c in compare(&r, &BudgetRule::ALL).unwrap() {
                let p = match c.outcome {
                    Ok(p) => p,
                    Err(e) => {
                        assert_eq!((c.measure, noise), (Measure::Residual, Noise::Laplace), "{e}");
                        continue;
                    }
                };
                assert!(p.prediction.total.is_finite() && p.cost.total <= p.plan.budget, "{:?}", c.measure);
                // Whoever answers from tables must hold every one asked for, levels of one category and all.
                if !matches!(c.measure, Measure::Residual | Measure::Fourier | Measure::Wavelet) {
                    let held = |t: &Table| {
                        p.plan
                            .rows()
                            .measurements
                            .iter()
                            .any(|m| matches!(&m.block, Block::Table(b) if t.cuboid.is_below(b)))
                    };
                    assert!(workload.iter().all(held), "{:?}", c.measure);
                }
            }
        }
    }
    // One table: nothing beats measuring it.
    let r = request(cube_of(&[7]), every(&cube_of(&[7]), 1), Noise::Laplace, "1/1000");
    let p = plan(&r).unwrap();
    assert_eq!(p.plan.rows().measurements.len(), 1);
    assert!((p.prediction.total * 1e-6 / 14.0 - 1.0).abs() < 1e-5);
}

/// A workload whose union would be enormous: the searches stay within bounds, `auto` within reason.
#[test]
fn sizes_are_kept_in_bounds() {
    let cube = cube_of(&[100, 100, 100, 100, 10][..tries(4, 5)]);
    let workload = every(&cube, 2);
    let r = request(cube.clone(), workload, Noise::Laplace, "1");
    for c in compare(&r, &[BudgetRule::Optimal]).unwrap() {
        let Ok(p) = c.outcome else { continue };
        let frame = Frame::new(&cube_of_plan(&cube, &p.plan), &p.plan.levels);
        let cells: f64 = p.plan.rows().measurements.iter().map(|m| frame.cells(m.block.cuboid())).sum();
        assert_eq!(c.vast, cells > f64::from(1 << 26), "{:?} {cells}", c.measure);
        assert!(!c.vast || c.measure == Measure::Base, "{:?} {cells}", c.measure);
    }
}

/// The 2020 US Census redistricting file: the total of every state.
#[test]
fn given_shares_are_exact() {
    let cube = Cube { dimensions: vec![plain("state", 51), plain("sex", 2)] };
    let state = Cuboid::new(vec![(0, 1)]);
    let share: Rational =
        "1440/4099".parse::<Rational>().unwrap().checked_mul("3773/4097".parse().unwrap()).unwrap();
    let rest = Rational::new(share.denominator() - share.numerator(), share.denominator()).unwrap();
    let mut r: Request = request(cube, vec![Table::new(state.clone(), Rational::ONE)], Noise::Gaussian, "1");
    let root: Rational = "542/339".parse().unwrap();
    r.budget = root.checked_mul(root).unwrap();
    r.neighbours = Neighbours::Substitute;
    r.measure = Some(Measure::Given);
    assert!(matches!(plan(&r), Err(PlanError::NotApplicable("given", _))));
    r.shares = vec![
        Share { cuboid: state, share },
        Share { cuboid: Cuboid::new(vec![(0, 1), (1, 1)]), share: rest },
    ];
    let p = plan(&r).unwrap();
    assert_eq!(p.cost.total, r.budget, "all of it, and exactly");
    let rho = p.cost.each[0];
    assert_eq!(rho, r.budget.checked_mul(share).unwrap());
    assert!((rho.to_f64() - 0.8270).abs() < 5e-5, "{rho}");
    // σ² = 1/ρ exactly: 2/(2ρ).
    assert_eq!(p.plan.rows().measurements[0].scale.checked_mul(rho).unwrap(), Rational::ONE);
    assert!((p.plan.rows().measurements[0].scale.to_f64() - 1.2092).abs() < 5e-5);
    // In a comparison they come along; a table they do not hold is an error.
    r.measure = None;
    assert!(compare(&r, &[BudgetRule::Optimal]).unwrap().iter().any(|c| c.measure == Measure::Given));
    r.measure = Some(Measure::Given);
    r.shares.remove(1);
    r.shares[0].cuboid = Cuboid::total();
    let error = plan(&r).unwrap_err().to_string();
    assert!(error.contains("no measured table holds state"), "{error}");
}

#[test]
fn the_search_is_the_same_every_time() {
    let mut dice = Dice(7);
    for _ in 0..tries(2, 10) {
        let (cube, workload) = random(&mut dice);
        let r = request(cube, workload, Noise::Laplace, "1/3");
        let p = || planned(r.clone(), Measure::Tables, BudgetRule::Optimal).plan;
        assert_eq!(p(), p());
    }
}
