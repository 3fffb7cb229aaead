//! Losses of few noises and many, narrow and wide, where inversion is quick, where values are listed, and where neither comes close.

use super::Digits;
use crate::loss::{Loss, Moved};
use crate::numeric::dice::Dice;

fn one(by: u64, copies: u64, variance: f64) -> Moved {
    Moved { by, copies, variance }
}

fn say(digits: &mut Digits, moved: &[Moved], epsilons: &[f64]) {
    let loss = Loss::new(moved.iter().copied()).unwrap();
    digits.say(&format!("{moved:?}").replace("Moved ", ""), [loss.rho()]);
    for epsilon in epsilons {
        let found = loss.delta(*epsilon);
        digits.say("  delta", [*epsilon, found.above, found.excess]);
    }
}

#[test]
fn of_few_noises() {
    let mut digits = Digits::default();
    say(&mut digits, &[one(1, 1, 0.25)], &[0.0, 1.0, 5.9, 6.1, 20.0, 40.0]);
    say(&mut digits, &[one(1, 1, 0.4)], &[-0.5, 0.3, 10.0, 25.0]);
    say(&mut digits, &[one(1, 1, 1.0)], &[0.1, 2.0]);
    say(&mut digits, &[one(1, 1, 4.0)], &[0.1, 2.0]);
    say(&mut digits, &[one(1, 1, 64.0), one(2, 3, 64.0)], &[0.01, 0.3, 0.8]);
    say(&mut digits, &[one(1, 1, 2.0), one(1, 1, 0.6)], &[0.5, 6.0, 14.0]);
    say(&mut digits, &[one(1, 2, 1.5), one(2, 1, 3.25)], &[2.0, 9.0]);
    say(&mut digits, &[one(3, 1, 1e9), one(1, 5, 1e7)], &[1e-4, 1e-3]);
    digits.are_those_of("few-noises.txt");
}

#[test]
fn of_many_noises() {
    let mut digits = Digits::default();
    let tables: Vec<Moved> = (0..28).map(|i| one(1, 1, 9.0 + f64::from(i * i) / 50.0)).collect();
    let narrow: Vec<Moved> = (1..12).map(|i| one(i % 3 + 1, i, 0.3 + i as f64 / 7.0)).collect();
    say(&mut digits, &tables, &[1.0, 8.0, 20.0]);
    say(&mut digits, &narrow, &[3.0, 30.0]);
    say(&mut digits, &[one(1, 1, 1.3), one(1, 4, 4.0), one(3, 2, 40.0), one(1, 40, 21.0)], &[0.5, 9.0, 25.0]);
    say(&mut digits, &[one(1, 100_000, 1e5), one(7, 300, 2.5e4), one(1, 1, 30.0)], &[0.2, 2.0, 6.0]);
    say(&mut digits, &[one(1, 3000, 400.0)], &[1.0, 15.0]);
    digits.are_those_of("many-noises.txt");
}

#[test]
fn at_random() {
    let (mut digits, mut dice) = (Digits::default(), Dice::new(31));
    for _ in 0..40 {
        let some: Vec<Moved> = (0..1 + dice.below(4))
            .map(|_| {
                let variance = libm::exp(7.0 * dice.unit() - 1.5);
                one(1 + dice.below(4) as u64, 1 + dice.below(6) as u64, variance)
            })
            .collect();
        let rho = Loss::new(some.iter().copied()).unwrap().rho();
        let far = [0.5, 2.5, 6.0].map(|z| rho + z * libm::sqrt(2.0 * rho) * dice.unit());
        say(&mut digits, &some, &far);
    }
    digits.are_those_of("random-noises.txt");
}

#[test]
fn least_epsilons() {
    let mut digits = Digits::default();
    for moved in [&[one(1, 1, 0.4)][..], &[one(2, 3, 7.0), one(1, 1, 90.0)], &[one(1, 500, 3000.0)]] {
        let loss = Loss::new(moved.iter().copied()).unwrap();
        for delta in [1e-12, 1e-6, 0.01, 0.3] {
            let half = loss.scaled(2.0);
            let found = [&loss, &half, &Loss::smooth(loss.rho())].map(|loss| loss.epsilon(delta).unwrap());
            digits.say(&format!("{moved:?} {delta:e}").replace("Moved ", ""), found);
        }
    }
    digits.are_those_of("least-epsilons.txt");
}
