//! Noise that is hardly ever there: few releases see none of it, or a coincidence. It is far from a normal law, and no honest release may be accused. And what
//! an audit says that it would find, it finds; where it says nothing, nothing is found.
//!
//! **Power.** Of an honest release every run is one of a thousand that may be accused, at the most; none is in all of these, and bounds that stood on a normal limit
//! accused up to every second.

use super::audited;
use crate::audit::found::Findings;
use crate::audit::parts::{Noises, apart};
use crate::audit::samples::Sample;
use margins::Spec;
use margins::numeric::dice::Dice;
use margins::numeric::tries::tries;

/// A discrete Laplace number with this cost of a step: the difference of two geometric ones.
fn laplace(dice: &mut Dice, cost: f64) -> f64 {
    let mut one = || (-(1.0 - dice.unit()).ln() / cost).floor();
    one() - one()
}

/// Laws that are mostly 0: of both sides, of one, and of numbers far away.
fn rare(law: usize, dice: &mut Dice) -> f64 {
    match law {
        0 => laplace(dice, 34.0 / 7.0),
        1 => laplace(dice, 6.0),
        2 => laplace(dice, 8.0),
        3 => f64::from(u8::from(dice.unit() < 0.004)),
        _ if dice.unit() < 0.01 => (1.0 / (1.0 - dice.unit())).round(),
        _ => 0.0,
    }
}

fn sample(width: usize, n: usize, mut one: impl FnMut() -> f64) -> Sample {
    Sample::new(width, (0..width * n).map(|_| one()).collect())
}

#[test]
fn independent_noises_are_not_said_to_depend() {
    let mut dice = Dice::new(21);
    for law in 0..5 {
        for (n, runs) in [(100, tries(60, 400)), (300, tries(40, 200)), (1001, tries(20, 100))] {
            for _ in 0..runs {
                let samples = [(); 4].map(|()| sample(12, n, || rare(law, &mut dice)));
                let found = Noises::of(&samples.each_ref()).dependence(1e-3 / 16.0);
                assert_eq!(found, None, "law {law}, {n} releases");
            }
        }
    }
}

/// At a level that runs do reach: of laws of two numbers the sign test is nearly exact.
#[test]
fn the_test_of_dependence_keeps_its_level() {
    let (mut dice, runs, alpha) = (Dice::new(22), tries(400, 4000), 0.2);
    let wrong = (0..runs).filter(|_| {
        let own = sample(2, 200, || laplace(&mut dice, 1.0).clamp(-1.0, 1.0));
        Noises::of(&[&own]).dependence(alpha).is_some()
    });
    let wrong = wrong.count() as f64 / runs as f64;
    assert!(wrong < alpha, "{wrong}");
}

/// Noise that is there once in sixty times, and is the same in two numbers; and such of the same size.
#[test]
fn rare_noises_that_depend_are_seen() {
    let mut dice = Dice::new(23);
    for signs in [false, true] {
        let row = |_| {
            let [a, b, c] = [(); 3].map(|()| laplace(&mut dice, 34.0 / 7.0));
            let turned = signs && dice.bits() & 1 == 0;
            [a, b, c, if turned { -a } else { a }]
        };
        let all = Sample::new(4, (0..16_000).flat_map(row).collect());
        let found = Noises::of(&[&all]).dependence(1e-3 / 16.0).unwrap();
        assert!(found.columns == (0, 3) && found.correlation > 0.9, "{found:?}");
    }
}

/// Two samples that are three apart, of laws that are rare, narrow and wide, and of one side.
#[test]
fn distances_are_too_large_as_seldom_as_they_say() {
    let (mut dice, runs, alpha) = (Dice::new(24), tries(300, 3000), 0.2);
    for (law, sizes) in [(0, (100, 20)), (4, (20, 20)), (5, (200, 200)), (6, (60, 100)), (7, (300, 300))] {
        let (mut wrong, mut more, mut none) = (0, 0, 0);
        for _ in 0..runs {
            let mut one = |by: f64| {
                by + match law {
                    5 => laplace(&mut dice, 1.0),
                    6 => laplace(&mut dice, 0.2),
                    7 => (-(1.0 - dice.unit()).ln() * 9.0).floor(),
                    _ => rare(law, &mut dice),
                }
            };
            let (a, b): (Vec<f64>, Vec<f64>) =
                ((0..sizes.0).map(|_| one(0.0)).collect(), (0..sizes.1).map(|_| one(-3.0)).collect());
            let found = apart(a, b, alpha);
            wrong += usize::from(found > 3.0);
            // Of wide noise in steps of one the bound is coarse.
            more += usize::from(found + if law > 5 { 2.0 } else { 1.0 } > 3.0);
            none += usize::from(found == 0.0);
        }
        // 4.5 standard errors of the share.
        let limit = alpha + 4.5 * (alpha * (1.0 - alpha) / runs as f64).sqrt();
        assert!((wrong as f64) < limit * runs as f64, "law {law}: {wrong} of {runs}");
        assert!((more as f64) > limit * runs as f64, "law {law}: larger bounds would pass: {more}");
        assert!(none <= runs / 2, "law {law}: of {runs} {none} are seen to be apart by nothing");
    }
}

/// A table of two cells.
fn small(budget: &str, rest: &str) -> Spec {
    let text = format!(
        "name = \"small\"\ntitle = \"Made up\"\ndemo = true\n{rest}\n[privacy]\nunit = \"row\"\n{budget}\n[[dimension]]\nname = \"a\"\n\
         categories = [\"x\", \"y\"]\n[[table]]\nof = [\"a\"]\n"
    );
    Spec::from_toml(&text).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn honest_releases_with_hardly_any_noise_are_not_accused() {
    let residual = "[strategy]\nmeasure = \"residual\"\n";
    let cells = "[[dimension]]\nname = \"b\"\nrange = [1, 6]\n[[table]]\nof = [\"a\", \"b\"]\n";
    for (budget, rest) in [
        ("rho = 15", residual),
        ("rho = 20", residual),
        ("rho = 40", residual),
        ("rho = 4", ""),
        ("epsilon = \"34/7\"", cells),
        ("epsilon = 8", cells),
        ("epsilon = 12", ""),
        ("epsilon = 64", ""),
    ] {
        let spec = small(budget, rest);
        for seed in 0..tries(1, 100) as u64 {
            let found = audited(&spec, 100, 1e-3, 50 + seed);
            assert!(!found.refuted(), "{budget}: {found:?}");
        }
    }
}

/// Which cost would have been found, by the first line.
fn detected(found: &Findings) -> f64 {
    found.bounds[0].detected.unwrap()
}

/// Noise that is never seen looks alike however little there is: an audit that says that no cost is found, finds none.
#[test]
fn nothing_is_said_to_be_found_where_nothing_is() {
    for (budget, far) in [("epsilon = 12", "epsilon = 64"), ("epsilon = 40", "epsilon = 400")] {
        let own = audited(&small(budget, ""), 400, 1e-3, 1);
        assert!(own.bounds.iter().all(|b| b.detected.is_none_or(f64::is_infinite)), "{own:?}");
        assert!(detected(&own).is_infinite(), "{own:?}");
        let far = audited(&small(far, ""), 400, 1e-3, 2);
        assert!(far.bounds.iter().all(|b| b.least <= own.claim), "{far:?}");
    }
}

/// Of many sums that all move a little, few are looked at: what they cost together is not seen.
#[test]
fn what_is_not_looked_at_is_not_said_to_be_found() {
    let sums = |rho: &str| {
        let text = format!(
            "name = \"sums\"\ntitle = \"Made up\"\ndemo = true\n[privacy]\nunit = \"row\"\nrho = \"{rho}\"\n[[dimension]]\nname = \"code\"\ntext = true\n\
             [projection]\nkind = \"dense\"\nof = [\"code\"]\nrows = 2048\nsparsity = 100\nqueries = 100\nfailure = 0.01\n"
        );
        Spec::from_toml(&text).unwrap_or_else(|e| panic!("{e}"))
    };
    let own = audited(&sums("1/2"), tries(60, 100), 1e-3, 3);
    assert!(own.bounds[0].estimate.unwrap() < 0.3 * own.claim, "too much is seen: {own:?}");
    let far = audited(&sums("50"), tries(60, 100), 1e-3, 4);
    let found = far.bounds[0].least > own.claim;
    assert!(found || detected(&own) > 50.0, "{own:?}\n{far:?}");
}

/// Releases that cost what an audit of the claim says that it would find are found, nine times out of ten.
#[test]
fn what_is_said_to_be_found_is_found() {
    let (runs, budgets) = (tries(5, 60), tries(1, 3));
    let all = [("rho", "1/2", 120), ("epsilon", "1", 200), ("epsilon", "3", 400)];
    for (key, budget, releases) in all.into_iter().take(budgets) {
        let own = audited(&small(&format!("{key} = \"{budget}\""), ""), releases, 1e-3, 5);
        let cost = detected(&own);
        assert!(cost > own.claim && cost < 2.0 * own.claim, "{own:?}");
        let dear = small(&format!("{key} = \"{cost:.6}\""), "");
        let found = |seed: usize| {
            let dear = audited(&dear, releases, 1e-3, 60 + seed as u64);
            dear.bounds[0].least > own.claim
        };
        let found = (0..runs).filter(|&seed| found(seed)).count() as f64;
        let runs = runs as f64;
        assert!(found > 0.9 * runs - 4.5 * (0.09 * runs).sqrt(), "{key} {budget}: {found} of {runs}");
    }
}
