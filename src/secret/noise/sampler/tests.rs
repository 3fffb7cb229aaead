//! The laws that come out, against closed forms, against the slow twin, and with every rare path forced.

use super::super::{Entropy, reference};
use super::*;
use crate::numeric::tries::tries;
use crate::secret::noise::hat::Grain;
use rand_chacha::ChaCha20Rng;

fn r(s: &str) -> Rational {
    s.parse().unwrap()
}

fn stream(seed: u64) -> ChaCha20Rng {
    Entropy::fixed(seed).stream(0)
}

/// A sampler from its scale s or b (not s²).
fn sampler(noise: Noise, scale: &str) -> Sampler {
    let s = r(scale);
    match noise {
        Noise::Gaussian => Sampler::gaussian(s.checked_mul(s).unwrap()).unwrap(),
        Noise::Laplace => Sampler::laplace(s).unwrap(),
    }
}

/// A sampler with a hat so coarse that the rare paths are common; a slack of [`exp::ONE`] leaves every comparison to
/// the exact arithmetic.
fn coarse(noise: Noise, scale: &str, grain: Grain, slack: u64) -> Sampler {
    let law = sampler(noise, scale).law;
    let mut hat = Hat::own(&law, grain);
    if slack > exp::SLACK {
        hat.quick = [0; COLUMNS];
    }
    Sampler { slack, ..Sampler::assemble(law, Arc::new(hat)) }
}

/// Probability that the continuous or summed law puts below x: the closed form in doubles.
fn mass(noise: Noise, s: f64, from: i64, to: i64) -> f64 {
    match noise {
        // Each cell of the discrete law against the sum, over all that matters.
        Noise::Gaussian if s < 2000.0 => {
            let f = |x: i64| (-(x as f64).powi(2) / (2.0 * s * s)).exp();
            let reach = (s * 12.0) as i64 + 2;
            let total: f64 = (-reach..=reach).map(f).sum();
            (from.max(-reach)..to.min(reach + 1)).map(f).sum::<f64>() / total
        }
        // For s ≥ 2000 Poisson summation makes the lattice sum equal to the integral to any accuracy; cells from −1/2.
        Noise::Gaussian => {
            let cdf = |x: i64| 0.5 * libm::erfc(-(x as f64 - 0.5) / (s * std::f64::consts::SQRT_2));
            cdf(to) - cdf(from)
        }
        // P(X ≤ −x) = P(X ≥ x) = q^x/(1+q).
        Noise::Laplace => {
            let q = (-1.0 / s).exp();
            let below = |x: i64| {
                if x <= 0 {
                    (-((1 - x) as f64) / s).exp() / (1.0 + q)
                } else {
                    1.0 - (-(x as f64) / s).exp() / (1.0 + q)
                }
            };
            below(to) - below(from)
        }
    }
}

/// Cells of the number line whose ends are multiples of a sixth of the scale (a third for few draws: fewer
/// cells have more power), out to where little is expected.
fn cells(noise: Noise, s: f64, n: usize) -> Vec<(i64, i64)> {
    let step = ((s / if n < 20_000 { 3.0 } else { 6.0 }).round() as i64).max(1);
    let mut ends = vec![i64::MIN / 4];
    ends.extend((-60..=60).map(|i| i * step + 1 - step.div_euclid(2)).filter(|&e| {
        let outer = mass(noise, s, e.min(1 - e).saturating_sub(1_000 * step), e.min(1 - e));
        outer * n as f64 > 12.0
    }));
    ends.push(i64::MAX / 4);
    ends.windows(2).map(|w| (w[0], w[1])).collect()
}

fn counts(xs: &[i64], cells: &[(i64, i64)]) -> Vec<f64> {
    let mut counts = vec![0.0; cells.len()];
    for &x in xs {
        counts[cells.partition_point(|c| c.1 <= x)] += 1.0;
    }
    counts
}

/// Standard deviations by which a chi-square exceeds its mean (Wilson and Hilferty's cube root).
fn z_score(chi2: f64, freedom: usize) -> f64 {
    let k = freedom.max(1) as f64;
    ((chi2 / k).cbrt() - (1.0 - 2.0 / (9.0 * k))) / (2.0 / (9.0 * k)).sqrt()
}

/// How far the draws are from a law, in standard deviations of the chi-square statistic.
fn misfit(xs: &[i64], noise: Noise, s: f64, cells: &[(i64, i64)]) -> f64 {
    let n = xs.len() as f64;
    let chi2: f64 = counts(xs, cells)
        .iter()
        .zip(cells)
        .map(|(&seen, &(a, b))| {
            let expected = n * mass(noise, s, a, b);
            (seen - expected).powi(2) / expected.max(1e-9)
        })
        .sum();
    z_score(chi2, cells.len() - 1)
}

/// Accepts the law and rejects the same law with the scale a tenth off.
fn assert_law(sampler: &Sampler, noise: Noise, scale: &str, n: usize, seed: u64) {
    let mut bits = stream(seed);
    let mut xs = vec![0; n];
    sampler.fill(&mut bits, &mut xs);
    let s = r(scale).to_f64();
    let cells = cells(noise, s, n);
    assert!(cells.len() >= 3, "{scale}: {} cells", cells.len());
    let right = misfit(&xs, noise, s, &cells);
    assert!(right < 4.0, "{noise:?} {scale}: off by {right}");
    for wrong in [s * 1.1, s / 1.1] {
        let z = misfit(&xs, noise, wrong, &cells);
        assert!(z > 5.0, "{noise:?} {scale}: would accept {wrong} ({z})");
    }
    // One cell too far to the right (or a thousandth of the scale) must show in the mean, and does not.
    let mean = xs.iter().map(|&x| x as f64).sum::<f64>() / n as f64;
    let deviation = (xs.iter().map(|&x| (x as f64).powi(2)).sum::<f64>() / n as f64).sqrt();
    assert!(mean.abs() < 4.5 * deviation / (n as f64).sqrt(), "{noise:?} {scale}: mean {mean}");
}

#[test]
fn both_laws_at_many_scales() {
    let scales =
        ["0.3", "1/2", "1", "7/3", "15", "17", "31.5", "33", "100", "1000", "8191", "8193", "123457/8"];
    for (i, scale) in scales.into_iter().enumerate() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            // Where nearly all draws are zero a tenth of the scale is harder to see.
            let n = if i == 0 { 400_000 } else { 120_000 };
            assert_law(&sampler(noise, scale), noise, scale, n, i as u64);
        }
    }
}

#[test]
fn huge_scales_have_the_right_law_and_moments() {
    for (i, scale) in ["131041", "131073", "1e6", "1e9", "1e12", "1099511627776"].into_iter().enumerate() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            assert_law(&sampler(noise, scale), noise, scale, 120_000, 100 + i as u64);
        }
    }
    let n = 200_000;
    let s = 2f64.powi(52);
    let top = Sampler::gaussian(Rational::whole(1 << 104)).unwrap();
    let mut bits = stream(7);
    let xs: Vec<f64> = (0..n).map(|_| top.draw(&mut bits) as f64 / s).collect();
    let moment = |p: i32| xs.iter().map(|x| x.powi(p)).sum::<f64>() / f64::from(n);
    // Variances of x, x², x⁴ under the normal law: 1, 2, 96.
    let room = 4.0 / f64::from(n).sqrt();
    assert!(moment(1).abs() < room);
    assert!((moment(2) - 1.0).abs() < room * 2f64.sqrt());
    assert!((moment(4) - 3.0).abs() < room * 96f64.sqrt());
    // Every last bit is used: residues of neighbouring integers are as frequent.
    let mut residues = [0u32; 8];
    (0..80_000).for_each(|_| residues[(top.draw(&mut bits) & 7) as usize] += 1);
    assert!(residues.iter().all(|&c| c.abs_diff(10_000) < 400), "{residues:?}");
}

#[test]
fn tiny_scales_are_nearly_always_zero() {
    for scale in ["1/100", "1e-15"] {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let sampler = sampler(noise, scale);
            let mut bits = stream(3);
            assert!((0..2000).all(|_| sampler.draw(&mut bits) == 0));
        }
    }
}

#[test]
fn a_draw_is_mostly_one_word_and_rejections_are_few() {
    struct Counting(ChaCha20Rng, u64);
    impl rand::TryRng for Counting {
        type Error = std::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.0.try_next_u32()
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            self.1 += 1;
            self.0.try_next_u64()
        }
        fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Self::Error> {
            self.0.try_fill_bytes(to)
        }
    }
    for (scale, words) in [
        ("0.01", 1.0),
        ("0.5", 1.0),
        ("1", 1.0),
        ("15", 1.0),
        ("17", 1.0),
        ("100", 1.0),
        ("1e3", 1.0),
        ("1e12", 2.0),
    ] {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let sampler = sampler(noise, scale);
            let mut bits = Counting(stream(1), 0);
            (0..20_000).for_each(|_| _ = sampler.draw(&mut bits));
            let mean = bits.1 as f64 / 20_000.0;
            assert!(mean < words * 1.04, "{noise:?} {scale}: {mean} words a draw");
        }
    }
}

#[test]
fn the_tail_has_the_laws_own_shape() {
    // Few blocks: the tail begins at a half or a whole scale and holds much of the law.
    for (i, (blocks, scale)) in [(16, "40"), (32, "5000"), (16, "3000000")].into_iter().enumerate() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let sampler = coarse(noise, scale, Grain { blocks, bits: 48 }, exp::SLACK);
            let mut bits = stream(200 + i as u64);
            let start = (blocks * sampler.width) as i64;
            let far = (0..4000).filter(|_| sampler.draw(&mut bits).abs() >= start).count();
            assert!(far > 800, "{far} of 4000 in the tail");
            assert_law(&sampler, noise, scale, 120_000, 300 + i as u64);
        }
    }
}

#[test]
fn exact_comparison_alone_gives_the_same_law() {
    // No quick acceptance, nothing the quick bounds could settle, and heights so low that the fraction's
    // random bits decide often: at 2^11 units the height at zero is a few dozen.
    for (i, (noise, scale)) in
        [(Noise::Gaussian, "5"), (Noise::Laplace, "5"), (Noise::Gaussian, "70"), (Noise::Laplace, "70")]
            .into_iter()
            .enumerate()
            .step_by(tries(3, 1))
    {
        let sampler = coarse(noise, scale, Grain { blocks: 120, bits: 11 }, exp::ONE);
        assert!(sampler.hat.multiplier < 250, "{}", sampler.hat.multiplier);
        assert_law(&sampler, noise, scale, 12_000, 400 + i as u64);
    }
    // The same with a tail at half a scale.
    for noise in [Noise::Gaussian, Noise::Laplace] {
        let sampler = coarse(noise, "64", Grain { blocks: 16, bits: 12 }, exp::ONE);
        assert_law(&sampler, noise, "64", 12_000, 500);
    }
}

#[test]
fn low_heights_with_quick_bounds_give_the_same_law() {
    for (i, scale) in ["3", "50", "1e4"].into_iter().enumerate() {
        for noise in [Noise::Gaussian, Noise::Laplace] {
            let sampler = coarse(noise, scale, Grain { blocks: 254, bits: 13 }, exp::SLACK);
            assert_law(&sampler, noise, scale, 30_000, 600 + i as u64);
        }
    }
}

#[test]
fn how_a_comparison_is_settled_never_changes_the_outcome() {
    // From the same bits the quick path and the exact path must agree on every point, whichever settles it.
    for noise in [Noise::Gaussian, Noise::Laplace] {
        for scale in ["2", "99", "1e6"] {
            let quick = sampler(noise, scale);
            let exact = Sampler { slack: exp::ONE, ..quick.clone() };
            let mut bits = stream(17);
            let mut settled = 0;
            for _ in 0..2000 {
                let x = bits.next_u64() % (4 * quick.law.ceiling);
                let height = bits.next_u64() % (quick.hat.multiplier + 1);
                let step = bits.next_u64() % 3;
                // Each from its own copy of the stream: the exact path draws more.
                let (a, b) = (bits.clone(), bits.clone());
                let agreed = quick.below_the_law(x, height, step, &mut a.clone());
                assert_eq!(
                    agreed,
                    exact.below_the_law(x, height, step, &mut b.clone()),
                    "{scale} {x} {height}"
                );
                settled += u32::from(agreed);
            }
            assert!((200..1800).contains(&settled), "{settled}");
        }
    }
}

#[test]
fn the_slow_twin_draws_from_the_same_law() {
    for (i, (noise, scale)) in [
        (Noise::Gaussian, "0.7"),
        (Noise::Gaussian, "11/3"),
        (Noise::Gaussian, "500"),
        (Noise::Laplace, "0.9"),
        (Noise::Laplace, "22/7"),
        (Noise::Laplace, "1500/7"),
    ]
    .into_iter()
    .enumerate()
    {
        let n = 15_000;
        let slow = |scale: Rational, seed| -> Vec<i64> {
            let mut bits = stream(seed);
            let square = scale.checked_mul(scale).unwrap();
            (0..n)
                .map(|_| match noise {
                    Noise::Gaussian => reference::gaussian(square, &mut bits),
                    Noise::Laplace => reference::laplace(scale, &mut bits),
                })
                .collect()
        };
        let s = r(scale);
        let cells = cells(noise, s.to_f64(), n);
        let mut ours = vec![0; 10 * n];
        sampler(noise, scale).fill(&mut stream(700 + i as u64), &mut ours);
        let ours = counts(&ours, &cells);
        // Two samples of unequal size: Σ (√(N/M)·m − √(M/N)·n)²/(m+n).
        let against = |xs: &[i64]| {
            let k = 10f64.sqrt();
            let theirs = counts(xs, &cells);
            let chi2: f64 = ours.iter().zip(&theirs).map(|(a, b)| (a / k - b * k).powi(2) / (a + b)).sum();
            z_score(chi2, cells.len() - 1)
        };
        let right = against(&slow(s, 800 + i as u64));
        assert!(right < 4.0, "{noise:?} {scale}: {right}");
        let wrong = against(&slow(s.checked_mul(r("1.1")).unwrap(), 900 + i as u64));
        assert!(wrong > 5.0, "{noise:?} {scale}: would accept a tenth more ({wrong})");
    }
}

#[test]
fn places_in_a_block_are_uniform() {
    // The integers of one block differ only in the law's slope: compare neighbours within the first block.
    for scale in ["3000", "9000"] {
        let sampler = sampler(Noise::Laplace, scale);
        let mut bits = stream(31);
        let width = sampler.width as i64;
        let mut seen = vec![0.0; width as usize];
        let n = 400_000;
        for _ in 0..n {
            let x = sampler.draw(&mut bits);
            if let Some(c) = usize::try_from(x).ok().and_then(|x| seen.get_mut(x)) {
                *c += 1.0;
            }
        }
        let chi2 = |skew: f64| -> f64 {
            let expected = |x: i64| {
                let tilt = 1.0 + skew * (x as f64 / width as f64 - 0.5);
                f64::from(n) * tilt * mass(Noise::Laplace, r(scale).to_f64(), x, x + 1)
            };
            seen.iter().zip(0..).map(|(&c, x)| (c - expected(x)).powi(2) / expected(x)).sum()
        };
        assert!(z_score(chi2(0.0), seen.len()).abs() < 4.0);
        assert!(z_score(chi2(0.5), seen.len()) > 4.0);
    }
}

#[test]
fn coins() {
    let mut bits = stream(5);
    let mut seen = [0u32; 5];
    (0..16_000).for_each(|_| seen[heads(&mut bits).min(4) as usize] += 1);
    for (seen, expected) in seen.into_iter().zip([8000u32, 4000, 2000, 1000, 1000]) {
        assert!(seen.abs_diff(expected) < 4 * expected.isqrt(), "{seen} {expected}");
    }
}

#[test]
fn streams_are_reproducible_and_distinct() {
    let law = sampler(Noise::Gaussian, "1000");
    let draws = |entropy: &Entropy, index| {
        let mut xs = [0i64; 32];
        law.fill(&mut entropy.stream(index), &mut xs);
        xs
    };
    let entropy = Entropy::fixed(9);
    let forwards: Vec<_> = (0..8).map(|i| draws(&entropy, i)).collect();
    let backwards: Vec<_> = (0..8).rev().map(|i| draws(&entropy, i)).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    for i in 0..8 {
        assert_eq!(forwards[i], draws(&Entropy::fixed(9), i as u64));
        assert_ne!(forwards[i], draws(&Entropy::fixed(10), i as u64));
        assert!(forwards[..i].iter().all(|other| *other != forwards[i]));
    }
    // A draw at a time is the same as many at once.
    let mut bits = entropy.stream(0);
    assert!(forwards[0].iter().all(|&x| x == law.draw(&mut bits)));
    // Fixed for good: a change of the algorithm must be a decision.
    let first: Vec<i64> = forwards[0][..6].to_vec();
    assert_eq!(first, [496, -633, -274, -1031, 176, -25]);
}

#[test]
fn keys_of_the_system_are_private_and_not_shown() {
    let (a, b) = (Entropy::from_os().unwrap(), Entropy::from_os().unwrap());
    assert!(a.is_private() && !Entropy::fixed(0).is_private());
    assert_ne!(a.stream(0).next_u64(), b.stream(0).next_u64());
    assert_eq!(format!("{a:?}"), "Entropy { private: true, .. }");
}
