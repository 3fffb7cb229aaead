//! Every outcome of the first random bits, listed, against the law worked out by another library: no statistics, no seed.
//!
//! A word's low bits choose a unit of the hat. With a hat of few bits all such words can be listed, so the probability of each integer is known to within the one
//! unit that the law cuts through. Of that unit a fraction belongs to the law; the words that settle it are tried beside both edges of it, to 2^−128.

use super::*;
use crate::secret::noise::hat::Grain;
use crate::secret::noise::{Step, uniform};
use dashu_float::{FBig, round::mode};
use std::collections::BTreeMap;

/// Words that are given; beyond them ones, and that more were asked for is kept.
struct Script<'w> {
    words: &'w [u64],
    drawn: usize,
}

fn script(words: &[u64]) -> Script<'_> {
    Script { words, drawn: 0 }
}

impl Script<'_> {
    fn asked_for_more(&self) -> bool {
        self.drawn > self.words.len()
    }
}

impl rand::TryRng for Script<'_> {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("samplers draw whole words")
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.drawn += 1;
        Ok(self.words.get(self.drawn - 1).copied().unwrap_or(u64::MAX - 1))
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("samplers draw whole words")
    }
}

type Real = FBig<mode::Zero, 2>;

fn real(n: u128) -> Real {
    Real::from(n).with_precision(400).value()
}

/// exp(−x/b), or exp(−x²/2s²) of the variance s².
fn law(noise: Noise, scale: Rational, x: u64) -> Real {
    let x = u128::from(x);
    let power = match noise {
        Noise::Gaussian => x * x,
        Noise::Laplace => 2 * x,
    };
    (-(real(power * scale.denominator()) / real(2 * scale.numerator()))).exp()
}

/// ⌊value·2^bits⌋
fn whole(value: &Real, bits: usize) -> UBig {
    (value.clone() * Real::from(UBig::ONE << bits)).to_int().value().try_into().unwrap()
}

const CASES: [(Noise, &str); 8] = [
    (Noise::Laplace, "1"),
    (Noise::Laplace, "7/3"),
    (Noise::Laplace, "20"),
    (Noise::Laplace, "1/2"),
    (Noise::Gaussian, "1"),
    (Noise::Gaussian, "293764/114921"),
    (Noise::Gaussian, "400"),
    (Noise::Gaussian, "1/3"),
];

/// How many steps of a tail are listed beside the first one.
const STEPS: u32 = 5;

/// A hat of few bits over blocks of one integer each, so that the tail is reached, too.
fn small(noise: Noise, scale: &str) -> Sampler {
    let law = Law::new(noise, scale.parse().unwrap()).unwrap();
    let hat = Hat::own(&law, Grain { blocks: 16, bits: 13 });
    let sampler = Sampler::assemble(law, Arc::new(hat));
    assert_eq!(sampler.width, 1);
    sampler
}

/// A hat of few bits that all large scales share, over wide blocks.
fn small_and_shared(noise: Noise, scale: &str) -> Sampler {
    let law = Law::new(noise, scale.parse().unwrap()).unwrap();
    let sampler = Sampler::assemble(law, Arc::new(Hat::shared(noise, Grain { blocks: 16, bits: 13 })));
    assert!(sampler.width > NARROW);
    sampler
}

/// The block and side that a first word points at, and whether coins decide its step of the tail; these may be so many heads.
fn point(hat: &Hat, word: u64, heads: Option<u64>) -> Option<(u64, u64, bool)> {
    let own = word & (COLUMNS as u64 - 1);
    let (unit, column) = ((word >> COLUMN_BITS) & hat.mask, hat.columns[own as usize]);
    let (block, height) = match unit < column.split {
        true => (own, unit),
        false => (column.other, unit.wrapping_add(column.lift)),
    };
    let (k, c) = (block >> 1, height / hat.tail_height);
    let by_coins = k == hat.blocks && c >= hat.tail_step;
    let k = match heads {
        _ if k > hat.blocks => return None,
        _ if k < hat.blocks => k,
        Some(heads) if by_coins => hat.blocks + (1 + heads) * hat.tail_step + c % hat.tail_step,
        _ => hat.blocks + c % hat.tail_step,
    };
    Some((k, block & 1, by_coins))
}

/// Every first word, at one place of its block, which the words `at` choose: each integer there has its probability.
fn lists_the_law(sampler: &Sampler, (noise, scale): (Noise, &str), (place, at): (u64, &[u64])) {
    // Of each integer: what surely is it, what is left open, and the weight of its one unit; in parts of 2^−STEPS of a unit of the hat.
    let mut seen = BTreeMap::<i64, (u64, u64, u64)>::new();
    let integer = |k: u64, side: u64| (k * sampler.width + place) as i64 ^ -(side as i64);
    let words = |first: u64, coins: &[u64]| [&[first], at, coins].concat();
    let mut outcome = |words: &[u64], x: i64, weight: u64| {
        let mut bits = script(words);
        let drawn = sampler.attempt(&mut bits);
        let (sure, open, unit) = seen.entry(x).or_default();
        *unit = weight;
        match drawn {
            _ if bits.asked_for_more() => *open += weight,
            Some(drawn) => {
                assert_eq!(drawn, x);
                *sure += weight;
            }
            None => {}
        }
    };
    for word in 0..1u64 << 13 {
        match point(&sampler.hat, word, None) {
            None => assert_eq!(sampler.attempt(&mut script(&words(word, &[]))), None),
            Some((k, side, false)) => outcome(&words(word, &[]), integer(k, side), 1 << STEPS),
            // j heads and a tail: 2^−(j+1).
            Some((_, _, true)) => (0..STEPS).for_each(|j| {
                let (k, side, _) = point(&sampler.hat, word, Some(j.into())).unwrap();
                outcome(&words(word, &[(1 << j) - 1]), integer(k, side), 1 << (STEPS - 1 - j));
            }),
        }
    }
    let far = sampler.hat.blocks + sampler.hat.tail_step * u64::from(STEPS + 1);
    // The tail is reached, and by no integer beyond its last step listed.
    let all = (0..far).flat_map(|k| [0, 1].map(|side| integer(k, side)));
    assert!(seen.contains_key(&integer(far - 1, 0)), "{scale}");
    let mut listed = 0;
    for x in all {
        let exact =
            law(noise, scale.parse().unwrap(), x.unsigned_abs()) * real(sampler.hat.multiplier.into());
        let found = seen.get(&x);
        listed += usize::from(found.is_some());
        let (sure, open, unit) = found.copied().unwrap_or((0, 0, 1));
        let exact = whole(&exact, STEPS as usize);
        let (low, high) = (UBig::from(sure), UBig::from(sure + open));
        assert!(low <= exact && exact <= high, "{noise:?} {scale}: {x} has {low} to {high}, not {exact}");
        assert!(open <= unit, "{noise:?} {scale}: {x} has more than a unit open");
    }
    assert_eq!(listed, seen.len(), "{scale}");
}

#[test]
fn every_first_word_of_a_small_hat() {
    for (noise, scale) in CASES {
        lists_the_law(&small(noise, scale), (noise, scale), (0, &[]));
    }
}

/// Of wide blocks those words that have just this place: there are as many of each.
fn words_of(place: u64, width: u64) -> std::ops::RangeInclusive<u64> {
    let (t, w) = (u128::from(place), u128::from(width));
    let first = ((t << 64) + (1 << 64) % w).div_ceil(w);
    let last = (((t + 1) << 64) - 1) / w;
    first.try_into().unwrap()..=last.try_into().unwrap()
}

/// The least width that shares a hat, and the largest: at the ends of a block and in the middle.
#[test]
fn every_first_word_of_a_small_hat_that_is_shared() {
    for (noise, scale) in [
        (Noise::Laplace, "131041"),
        (Noise::Laplace, "1099511627775"),
        (Noise::Gaussian, "17171743681"),
        (Noise::Gaussian, "20282409603651670423947251286016"),
    ] {
        let sampler = small_and_shared(noise, scale);
        for place in [0, 1, sampler.width / 2, sampler.width - 1] {
            let at = *words_of(place, sampler.width).start();
            lists_the_law(&sampler, (noise, scale), (place, &[at]));
        }
    }
}

#[test]
fn the_unit_that_the_law_cuts_is_settled_at_its_edge() {
    for (noise, scale) in CASES {
        let sampler = small(noise, scale);
        for (x, step) in [(0, 0), (1, 0), (2, 0), (3, 0), (5, 0), (1, 1), (3, 1), (5, 3)] {
            let exact = law(noise, scale.parse().unwrap(), x) * real(sampler.hat.multiplier.into());
            let exact = whole(&exact, 128 + step as usize);
            let Ok(height) = u64::try_from(&(&exact >> 128)) else { panic!("heights fit a word") };
            let fraction: u128 = (&exact - (UBig::from(height) << 128)).try_into().unwrap();
            let (first, second) = ((fraction >> 64) as u64, fraction as u64);
            let under = |words: &[u64]| {
                let mut bits = script(words);
                let under = sampler.below_the_law(x, height, step, &mut bits);
                (!bits.asked_for_more()).then_some(under)
            };
            let decided = |words: &[u64], want: bool| {
                assert_eq!(under(words), Some(want), "{noise:?} {scale}: {x} in step {step}, {words:?}");
            };
            // At zero the law is the multiplier itself: a whole height, and no fraction of the next unit.
            if x == 0 {
                assert_eq!(fraction, 0);
                decided(&[], false);
                continue;
            }
            assert_eq!(under(&[]), None, "{noise:?} {scale}: {x} is decided without the fraction");
            // Words beside the edge are decided, each to its side; on the edge the next word decides.
            first.checked_sub(2).inspect(|word| decided(&[*word], true));
            first.checked_add(2).inspect(|word| decided(&[*word], false));
            second.checked_sub(1 << 20).inspect(|word| decided(&[first, *word], true));
            second.checked_add(1 << 20).inspect(|word| decided(&[first, *word], false));
        }
    }
}

#[test]
fn every_place_in_a_block_has_as_many_words() {
    for scale in ["100", "5000", "8191"] {
        let sampler = Sampler::laplace(scale.parse().unwrap()).unwrap();
        let width = sampler.width as usize;
        assert!(width > 1 && sampler.width <= NARROW);
        let mut seen = vec![0u32; width];
        // The lowest unit of the first block, which is under the law at each of its places.
        let kept = (0..1u64 << 16).filter_map(|high| sampler.attempt(&mut script(&[high << 48])));
        kept.for_each(|x| seen[x as usize] += 1);
        assert!(seen.iter().all(|n| *n == (1 << 16) / width as u32), "{scale}: {seen:?}");
    }
}

/// No statistic sees 2^64 modulo a width; counting does. Places `t` belong to words `v` with `t·2^64 + r ≤ v·w < (t + 1)·2^64`: where `r` is that remainder
/// a stretch of a whole multiple of `w`, and so as many `v` for each.
#[test]
fn every_place_in_a_wide_block_has_as_many_words() {
    for (noise, scale) in [
        (Noise::Laplace, "8193"),
        (Noise::Laplace, "100000"),
        (Noise::Laplace, "131040"),
        (Noise::Laplace, "131041"),
        (Noise::Laplace, "262113"),
        (Noise::Laplace, "1099511627775"),
        (Noise::Laplace, "1099511627683"),
        (Noise::Gaussian, "400000000"),
        (Noise::Gaussian, "123456789012345678901"),
        (Noise::Gaussian, "20282409603651670423947251286015"),
        (Noise::Gaussian, "19999999999999999999999999999999"),
    ] {
        let sampler = Sampler::of(noise, scale.parse().unwrap()).unwrap();
        let w = sampler.width;
        assert!(w > NARROW, "{scale}");
        // The lowest unit of the first block, which is under the law at each of its places.
        let place = |word: u64| sampler.attempt(&mut script(&[0, word])).map(|x| x as u64);
        for t in [0, 1, 2, w / 3, w / 2, w - 2, w - 1] {
            let words = words_of(t, w);
            assert_eq!(u128::from(words.end() - words.start()) + 1, (1 << 64) / u128::from(w), "{scale}");
            assert_eq!((place(*words.start()), place(*words.end())), (Some(t), Some(t)), "{scale}");
            // Beside them there are words that are refused, or the neighbour's.
            let before = words.start().checked_sub(1).map(place);
            let behind = words.end().checked_add(1).map(place);
            assert!(before.is_none_or(|p| p.is_none_or(|p| p + 1 == t)), "{scale}: {t}, {before:?}");
            assert!(behind.is_none_or(|p| p.is_none_or(|p| p == t + 1)), "{scale}: {t}, {behind:?}");
        }
        // Zero is a word too many, but where the width divides all.
        assert_eq!(place(0), w.is_power_of_two().then_some(0), "{scale}");
    }
}

/// Of every width up to twice the one from which hats are shared, and of some up to the largest: a multiple of it is left of all words.
#[test]
fn accepted_words_are_a_multiple_of_the_width() {
    let hat = Arc::new(Hat::own(&Law::new(Noise::Laplace, "32".parse().unwrap()).unwrap(), Grain::FULL));
    let far = (1u64..1 << 35).step_by((1 << 24) + 12_345);
    for width in (1..=8192).chain(far).chain([(1 << 35) - 1, 1 << 35]) {
        let law = Law::new(Noise::Laplace, Rational::whole(32 * u128::from(width))).unwrap();
        let sampler = Sampler::assemble(law, Arc::clone(&hat));
        let (w, surplus) = (u128::from(sampler.width), u128::from(sampler.surplus));
        let words: u128 = if width <= NARROW { 1 << 16 } else { 1 << 64 };
        assert_eq!(w, u128::from(width));
        assert!(surplus < w && (words - surplus).is_multiple_of(w), "{width}: {surplus}");
    }
}

#[test]
fn every_word_of_coins_and_of_centres() {
    let mut seen = [0u32; 12];
    for word in 0..(1u64 << 12) - 1 {
        seen[heads(&mut script(&[word])) as usize] += 1;
    }
    // j heads and a tail: half as many for each further head.
    assert!(seen.iter().enumerate().all(|(j, n)| *n == 1 << (11 - j)), "{seen:?}");
    assert_eq!(heads(&mut script(&[u64::MAX, u64::MAX, 0b0111])), 131);
    for most in 0..=70u64 {
        let mut seen = vec![0u32; most as usize + 1];
        // What the mask leaves of a word, and words from above that it cuts off.
        for word in 0..(most + 1).next_power_of_two() {
            let words = [word | 1 << 63, 0];
            let mut bits = script(&words);
            let drawn = uniform(most, &mut bits);
            if bits.drawn == 1 {
                seen[drawn as usize] += 1;
            }
        }
        assert!(seen.iter().all(|n| *n == 1), "{most}: {seen:?}");
    }
}

#[test]
fn a_step_stays_for_just_its_share_of_words() {
    for (from, to) in [("1", "2"), ("1/2", "7/3"), ("3", "4"), ("20", "21"), ("5", "1000")] {
        let (b1, b2): (Rational, Rational) = (from.parse().unwrap(), to.parse().unwrap());
        let step = Step::new(b1, b2).unwrap();
        let (q1, q2) = (law(Noise::Laplace, b1, 1), law(Noise::Laplace, b2, 1));
        let rest = |q: &Real| real(1) - q.clone();
        let share = q1.clone() / q2.clone() * rest(&q2) * rest(&q2) / (rest(&q1) * rest(&q1));
        let share: u128 = whole(&share, 128).try_into().unwrap();
        let (first, second) = ((share >> 64) as u64, share as u64);
        // Whoever stays draws no noise, and so no further word.
        let stays = |words: &[u64]| {
            let mut bits = script(words);
            (step.draw(&mut bits) == 0 && !bits.asked_for_more()).then_some(bits.drawn)
        };
        assert_eq!((stays(&[0]), stays(&[first - 2]), stays(&[first + 2])), (Some(1), Some(1), None));
        assert_eq!(stays(&[first, second - (1 << 20)]), Some(2), "{from} {to}");
        assert_eq!(stays(&[first, second + (1 << 20)]), None, "{from} {to}");
        // Bounds of 128 bits are those of the share itself: what lies in it needs a third word, what lies below and above none.
        assert_eq!(
            (stays(&[first, second - 1]), stays(&[first, second, 0])),
            (Some(2), Some(3)),
            "{from} {to}"
        );
        assert_eq!(stays(&[first, second, u64::MAX]), None, "{from} {to}");
        let words = [first, second + 1, 0];
        let mut bits = script(&words);
        step.draw(&mut bits);
        assert_eq!(bits.drawn, 3, "{from} {to}");
    }
    // Between equal scales every word stays, the last ones, too, which no bound proves.
    let same = Step::new(Rational::whole(5), Rational::whole(5)).unwrap();
    for words in [[0, 0], [u64::MAX, 0], [u64::MAX, u64::MAX]] {
        let mut bits = script(&words);
        assert_eq!((same.draw(&mut bits), bits.asked_for_more()), (0, false), "{words:?}");
    }
}

/// Whether a test fails while a fault is planted.
#[cfg(feature = "faults")]
fn notices(test: fn(), fault: Planted) -> bool {
    planted::plant(Some(fault));
    let failed = std::panic::catch_unwind(test).is_err();
    planted::plant(None);
    failed
}

/// A scale that is off by the 2000th part, and tails that are missing: audits of releases see neither.
#[cfg(feature = "faults")]
#[test]
fn faults_that_no_statistic_sees_are_noticed() {
    assert!(notices(the_unit_that_the_law_cuts_is_settled_at_its_edge, Planted::ScaleOff));
    assert!(notices(every_first_word_of_a_small_hat, Planted::NoTails));
}
