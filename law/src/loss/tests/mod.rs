mod precise;
mod simulated;

use super::*;
use crate::numeric::dice::Dice;
use crate::numeric::tries::tries;

fn one(by: u64, copies: u64, variance: f64) -> Moved {
    Moved { by, copies, variance }
}

fn loss(moved: &[Moved]) -> Loss {
    Loss::new(moved.iter().copied()).unwrap()
}

/// Between its bounds.
fn is_near(delta: Delta, truth: f64) -> bool {
    // Doubles that truth itself went through.
    truth <= delta.above * (1.0 + 1e-15) && truth >= (delta.above - delta.excess) * (1.0 - 1e-15)
}

const ADULT: [u64; 8] = [9, 16, 7, 15, 6, 5, 2, 2];
const NLTCS: [u64; 16] = [2; 16];

/// The best Gaussian plan for all tables of two attributes, cells alike, by its closed form, at this ρ.
fn pairs(sizes: &[u64], rho: f64) -> Vec<Moved> {
    let n: Vec<f64> = sizes.iter().map(|n| *n as f64).collect();
    let all = sizes.len();
    let mut components: Vec<Vec<usize>> = vec![vec![]];
    components.extend((0..all).map(|i| vec![i]));
    components.extend((0..all).flat_map(|i| (0..i).map(move |j| vec![j, i])));
    let price = |a: &Vec<usize>| a.iter().map(|i| 1.0 - 1.0 / n[*i]).product::<f64>();
    // What a variance of 1 adds to all tables that hold the component.
    let stake = |a: &Vec<usize>| {
        let of_table = |b: &Vec<usize>| {
            let cells: f64 = b.iter().map(|i| n[*i]).product();
            let outside = b.iter().filter(|i| !a.contains(i)).map(|i| n[*i].powi(-2)).product::<f64>();
            if a.iter().all(|i| b.contains(i)) { cells * outside } else { 0.0 }
        };
        price(a) * components.iter().filter(|b| b.len() == 2).map(of_table).sum::<f64>()
    };
    let shares: Vec<f64> = components.iter().map(|a| (stake(a) * price(a)).sqrt()).collect();
    let total: f64 = shares.iter().sum();
    let mut out = Vec::new();
    for (a, share) in components.iter().zip(&shares) {
        let scale: f64 = a.iter().map(|i| n[*i]).product();
        // p/2σ² = ρ share/total.
        let variance = scale * scale * price(a) * total / (2.0 * rho * share);
        // In each dimension n − 1 once, and −1 for each other category.
        for at in 0..1usize << a.len() {
            let (mut by, mut copies) = (1, 1);
            for (k, i) in a.iter().enumerate() {
                if at >> k & 1 == 1 { by *= sizes[*i] - 1 } else { copies *= sizes[*i] - 1 }
            }
            out.push(one(by, copies, variance));
        }
    }
    out
}

/// ρ for these budgets: of continuous noise, and what all pairs may have at least.
const BUDGETS: [(f64, f64, f64, f64); 4] = [
    (1.0, 1e-9, 0.01656, 0.0164),
    (1.0, 1e-6, 0.02801, 0.0277),
    (4.0, 1e-9, 0.22588, 0.2236),
    (10.0, 1e-10, 1.07170, 1.061),
];

/// The largest ρ of a loss that falls with it.
fn largest(of: impl Fn(f64) -> Loss, epsilon: f64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0 * epsilon);
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if of(middle).delta(epsilon).above <= delta { low = middle } else { high = middle }
    }
    low
}

#[test]
fn pairs_spend_what_continuous_noise_would() {
    for (epsilon, delta, smooth, least) in BUDGETS {
        let limit = largest(Loss::smooth, epsilon, delta);
        assert!((limit / smooth - 1.0).abs() < 2e-4, "{limit}");
        for sizes in [&ADULT[..], &NLTCS] {
            assert!((loss(&pairs(sizes, 0.5)).rho() - 0.5).abs() < 1e-12);
            let rho = largest(|rho| loss(&pairs(sizes, rho)), epsilon, delta);
            assert!(rho > least && (rho / limit - 1.0).abs() < 1e-6, "{rho} {limit}");
            // And no more than the law allows.
            let found = loss(&pairs(sizes, rho * (1.0 + 1e-6))).delta(epsilon);
            assert!(found.excess < CLOSE * found.above && found.above - found.excess > delta, "{found:?}");
        }
    }
}

/// The limit is known: `Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)`.
#[test]
fn without_lattices_it_is_the_normal_law() {
    let tail = crate::law::normal_upper_tail;
    for (epsilon, rho) in
        [(0.0, 0.1), (0.1, 0.001), (1.0, 0.0165), (1.0, 0.5), (2.0, 20.0), (17.0, 2.5), (-3.0, 0.3)]
    {
        let mu = libm::sqrt(2.0 * rho);
        let known = tail(epsilon / mu - mu / 2.0) - libm::exp(epsilon) * tail(epsilon / mu + mu / 2.0);
        let wide = loss(&[one(10_000, 3, 1.5e8 / rho)]);
        for found in [Loss::smooth(rho).delta(epsilon), wide.delta(epsilon)] {
            assert!((found.above / known - 1.0).abs() < 1e-6, "{epsilon} {rho}: {found:?} {known}");
        }
    }
    // The redistricting file of 2020, had it been one release of wide noise: 17.14 by conversion.
    let census = Loss::smooth((542.0f64 / 339.0).powi(2)).epsilon(1e-10).unwrap();
    assert!((census - 16.47).abs() < 0.005, "{census}");
}

/// Listing and inversion know nothing of each other.
#[test]
fn two_ways_to_one_law() {
    let mut dice = Dice::new(5);
    let (mut both, mut close) = (0, 0);
    for _ in 0..tries(100, 3000) {
        let kinds = 1 + dice.below(3);
        let some: Vec<Moved> = (0..kinds)
            .map(|_| {
                let variance = libm::exp(5.0 * dice.below(1000) as f64 / 1000.0 - 1.0);
                one(1 + dice.below(3) as u64, 1 + dice.below(4) as u64, variance)
            })
            .collect();
        let loss = loss(&some);
        let epsilon = loss.rho() + libm::sqrt(loss.spread) * 7.0 * dice.below(1000) as f64 / 1000.0;
        let inverted = inverted::delta(&loss, epsilon, LONG, CLOSE);
        let Some(listed) = listed::delta(&loss, epsilon, inverted.above, LISTED) else { continue };
        both += 1;
        close += usize::from(inverted.excess < 0.05 * inverted.above);
        assert!(listed.excess < 1e-9 * listed.above, "{some:?} {epsilon}: {listed:?}");
        assert!(
            inverted.above >= listed.above - listed.excess,
            "{some:?} {epsilon}: {inverted:?} {listed:?}"
        );
        // What is found to be within is what the closest bound says, to eight digits.
        let (found, hair) = (loss.delta(epsilon).above, 1.0 - 1e-8);
        assert!(loss.within(epsilon, found) && !loss.within(epsilon, found * hair), "{some:?} {epsilon}");
        let rough = loss.rough(epsilon);
        assert!(
            rough.above >= listed.above - listed.excess && listed.above >= rough.above - rough.excess,
            "{some:?} {epsilon}: {rough:?} {listed:?}"
        );
        assert!(
            listed.above >= inverted.above - inverted.excess,
            "{some:?} {epsilon}: {inverted:?} {listed:?}"
        );
    }
    assert!(both > tries(30, 1000) && 5 * close > 4 * both, "{both} {close}");
}

/// More ρ, less δ: one count, where the steps of its loss pass ε.
#[test]
fn delta_does_not_grow_with_rho() {
    let at = |rho: f64| loss(&[one(1, 1, 0.5 / rho)]).delta(10.0).above;
    assert!((at(1.07) - 1.168e-12).abs() < 1e-14, "{}", at(1.07));
    assert!(at(1.05) > 1.5 * at(1.07) && at(1.3) > at(1.07));
    let smooth = Loss::smooth(1.07).delta(10.0).above;
    assert!(smooth > 80.0 * at(1.07), "{smooth}");
}

/// Where the second noise is chosen after the first answer was seen, δ can be more than that of either order fixed before: losses of
/// several releases do not add up as laws.
#[test]
fn laws_of_releases_chosen_later_do_not_add_up() {
    let (first, few, many) = (one(1, 1, 2.0), one(1, 1, 0.6), one(1, 3, 1.8));
    let (few, many) = ([first, few], [first, many]);
    let epsilon = 6.0;
    let fixed = [&few, &many].map(|both| loss(both).delta(epsilon).above);
    assert!((fixed[0] - 1.01e-4).abs() < 5e-7 && (fixed[1] - 1.06e-4).abs() < 5e-7, "{fixed:?}");
    let mass = |k: f64| libm::exp(-k * k / 4.0);
    let (mut all, mut chosen) = (0.0, 0.0);
    for k in -40..=40 {
        let k = f64::from(k);
        // What is left of ε after the first answer.
        let left = epsilon - 0.25 - 0.5 * k;
        let worse = [&few, &many].map(|both| loss(&both[1..]).delta(left).above);
        all += mass(k);
        chosen += mass(k) * worse[0].max(worse[1]);
    }
    assert!((chosen / all - 1.36e-4).abs() < 5e-7, "{}", chosen / all);
}

#[test]
fn epsilon_is_the_least() {
    for some in [&pairs(&ADULT, 0.3)[..], &[one(1, 1, 0.4)], &[one(2, 3, 7.0), one(1, 1, 90.0)]] {
        let loss = loss(some);
        for delta in [1e-12, 1e-6, 0.01, 0.3] {
            let epsilon = loss.epsilon(delta).unwrap();
            assert!(loss.delta(epsilon).above <= delta);
            let less = loss.delta(epsilon * (1.0 - 1e-6));
            assert!(epsilon == 0.0 || less.above > delta * (1.0 - 2.0 * CLOSE), "{epsilon} {less:?}");
        }
        assert_eq!(loss.epsilon(0.0), None);
        let half = loss.scaled(2.0);
        assert!((half.rho() / loss.rho() - 0.5).abs() < 1e-12);
        assert!(half.delta(1.0).above < loss.delta(1.0).above);
    }
}

/// Values can be listed of lattices alone: noise without one, and more noises than lists have room for, are left to inversion.
#[test]
fn what_has_no_list_is_not_listed() {
    let smooth = Loss::smooth(0.5);
    assert!(listed::delta(&smooth, 0.2, 0.1, LISTED).is_none());
    assert!(listed::delta(&Loss { smooth: 1e-9, ..loss(&[one(1, 1, 2.0)]) }, 0.2, 0.1, LISTED).is_none());
    assert!(listed::delta(&loss(&[one(1, 1 << 20, 1e6)]), 0.2, 0.1, LISTED).is_none());
    assert!(listed::delta(&loss(&[one(1, 1, 1e12)]), 0.2, 0.1, LISTED).is_none());
    // Sums that reach further than an exponential of a double.
    assert!(listed::delta(&loss(&[one(900, 1, 1.0)]), 0.2, 0.1, LISTED).is_none());
    let half = smooth.scaled(2.0);
    assert_eq!((half.rho(), half.delta(1.0)), (0.25, Loss::smooth(0.25).delta(1.0)));
}

#[test]
fn what_is_no_noise_has_no_loss() {
    assert!(Loss::new([one(1, 1, 0.0)]).is_none());
    assert!(Loss::new([one(1, 1, f64::NAN)]).is_none());
    let nothing = loss(&[one(0, 5, 1.0), one(3, 0, 1.0)]);
    assert_eq!(nothing.delta(0.0), Delta { above: 0.0, excess: 0.0 });
    assert_eq!(loss(&[one(1, 1, 1.0)]).delta(f64::NAN).above, 1.0);
    // So much that nothing is hidden, and so little that there is nothing.
    assert_eq!(loss(&[one(1 << 40, 1, 1e-3)]).delta(1.0).above, 1.0);
    let hardly = loss(&[one(1, 1, 1e18)]).delta(1.0);
    assert!(hardly.above > 0.0 && hardly.above < 1e-300, "{hardly:?}");
    // Kinds that are alike are one.
    assert_eq!(loss(&[one(1, 2, 3.0), one(1, 1, 3.0)]).parts.len(), 1);
}

/// A noise so faint is 0, and the loss what its ρ and the other noises make of it.
#[test]
fn beside_noise_that_hides_nothing_the_others_still_count() {
    for others in [one(1, 1250, 10.0), one(1, 47, 0.5), one(2, 3, 7.0)] {
        for variance in [1e-9, 1.6e-4, 1.7e-4, 3.2e-4, 1.0 / 1025.0, 1.0 / 1023.0, 0.002] {
            let [rest, both] = [loss(&[others]), loss(&[one(1, 1, variance), others])];
            for far in [0.5, 3.0, 8.0] {
                let x = rest.rho() + far * libm::sqrt(2.0 * rest.rho());
                let truth = rest.delta(x);
                let found = both.delta(x + 0.5 / variance);
                // Its own outcomes beside 0 are less likely than 1e-100; that ρ has few digits behind the point.
                let least = (truth.above - truth.excess) * (1.0 - 1e-6);
                assert!(found.above >= least, "{others:?} {variance}: {found:?} {truth:?}");
                let is_known = found.above < 1.0;
                assert_eq!(is_known, variance > 1.0 / 1024.0, "{others:?} {variance}: {found:?} {truth:?}");
                assert!(!is_known || found.above <= truth.above * (1.0 + 1e-6) + found.excess);
            }
        }
    }
}

/// Narrow noise and a large budget: few values, far apart. δ is their sum, and ε what continuous noise would not tell.
#[test]
fn values_far_apart_are_added_up() {
    for (rho, by, copies) in
        [(280.0, 1, 1), (299.999969, 1, 1), (305.0, 1, 2), (311.0, 2, 1), (500.0, 1, 1), (900.0, 1, 3)]
    {
        // ρ = copies · by²/2s².
        let variance = copies as f64 * (by * by) as f64 / (2.0 * rho);
        let own = loss(&[one(by, copies, variance)]);
        // The sum of `copies` noises, from −8 to 8: beyond that less than e^{−1000} is left.
        let noise: Vec<(i64, f64)> =
            (-8..=8i64).map(|z| (z, (-((z * z) as f64) / (2.0 * variance)).exp())).collect();
        let total: f64 = noise.iter().map(|(_, p)| p).sum();
        let mut sums = std::collections::BTreeMap::from([(0i64, 1.0)]);
        for _ in 0..copies {
            let mut next = std::collections::BTreeMap::new();
            for (a, p) in &sums {
                noise.iter().for_each(|(z, q)| *next.entry(a + z).or_insert(0.0) += p * q / total);
            }
            sums = next;
        }
        let truth = |epsilon: f64| -> f64 {
            let one = |(z, p): (&i64, &f64)| {
                let over = rho + *z as f64 * by as f64 / variance - epsilon;
                if over > 0.0 { -p * (-over).exp_m1() } else { 0.0 }
            };
            sums.iter().map(one).sum()
        };
        for part in [0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0 + 1e-9, 1.5] {
            let (delta, truth) = (own.delta(rho * part), truth(rho * part));
            // Where doubles tell no more of 1 − e^{…}.
            let rounding = 1e-10 * (1.0 + rho);
            assert!(
                truth <= delta.above + 1e-14 * rho && delta.above <= truth * (1.0 + 1e-6) + rounding,
                "{rho} {part}: {delta:?} {truth}"
            );
        }
        let epsilon = own.epsilon(1e-9).unwrap();
        assert!(truth(epsilon) <= 1.01e-9 && truth(epsilon * (1.0 - 1e-7)) > 1e-9, "{rho}: {epsilon}");
    }
}
