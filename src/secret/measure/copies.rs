//! From one vector of counts to the noisy vectors of all copies.
//!
//! **Guarantee.** With `y` the integers that noise is added to: of a nested measuring the first copy is `y + z`, `z` as any measuring
//! draws it, and every further copy is the copy before it plus noise that is independent of the data and of all before. So whatever is
//! made of all copies together is made of the first. Of a shifted one every copy is `y + z + μ`, `z` drawn anew for each, `μ` one
//! number for all counts of rows in cells of the copy, and 0 elsewhere. **Proof.** Post-processing; composition. What a copy costs alone: [`crate::plan::copies`]. **Source.** Koufogiannis,
//! Han & Pappas 2016 (gradual release) for the first, the published shifted mechanism for the second.
//!
//! Copy k draws its noise for measurement i of all channels from the ChaCha20 stream `k·n + i`, n being their number (and at least one more
//! than those of rows), and for slice s of a large measurement from the stream `2^40·s` behind that, so no stream serves twice; the centres come
//! from the last streams but one.

use super::error::MeasureError;
use crate::cube::{Frame, Integer};
#[cfg(feature = "faults")]
use crate::exact::Rational;
use crate::plan::{Mode, Noise, Plan, Subject};
use crate::planner::capacity;
#[cfg(feature = "faults")]
use crate::planted::{self, Planted};
use crate::secret::noise::{Entropy, NoiseError, SEEDS, Sampler, Step, uniform};
use zeroize::{Zeroize, Zeroizing};

/// The plans of all copies of a measuring, the most precise first; one plan that is no copy stands for itself.
#[derive(Debug, Clone)]
pub struct Copies(Vec<Plan>);

impl Copies {
    /// Refuses plans that are not all copies of one measuring, each once, in their order.
    pub(crate) fn new(plans: Vec<Plan>) -> Result<Copies, MeasureError> {
        let whole = match plans.first().map(|p| p.copy.as_ref().map(|c| c.recipients.len())) {
            None => false,
            Some(None) => plans.len() == 1,
            Some(Some(recipients)) => plans.len() == recipients,
        };
        let own = |(at, p): (usize, &Plan)| p.copy.as_ref().is_none_or(|c| c.own == at);
        // Scales are what the copy makes of the most precise one's, whoever wrote them down.
        let like = |p: &Plan| {
            let same = plans.first().is_some_and(|first| p.first() == first.first());
            let own = p.copy.as_deref().is_none_or(|c| p.first().copy_of(c.clone()).as_ref() == Ok(p));
            same && own
        };
        let modes = |p: &Plan| {
            plans.first().map(|f| f.copy.as_ref().map(|c| c.mode)) == Some(p.copy.as_ref().map(|c| c.mode))
        };
        let all = plans.iter().enumerate().all(own) && plans.iter().all(like) && plans.iter().all(modes);
        if whole && all { Ok(Copies(plans)) } else { Err(MeasureError::NotCopies) }
    }

    /// One plan by itself.
    pub(in crate::secret) fn alone(plan: Plan) -> Copies {
        Copies(vec![plan])
    }

    /// The most precise copy's plan.
    pub(crate) fn first(&self) -> &Plan {
        &self.0[0]
    }

    /// The plans.
    pub(crate) fn plans(&self) -> &[Plan] {
        &self.0
    }
}

/// Copies whose centres are drawn, where they have any.
pub(super) struct Drawn {
    copies: Copies,
    /// For each measurement whether it takes more than 64 bits, in some copy: plans alone say so.
    wide: Vec<bool>,
    centres: Zeroizing<Vec<i64>>,
}

/// The stream of the first copy's centre; those of the others are before it.
const CENTRES: u64 = SEEDS - 1;

impl Drawn {
    pub(super) fn new(copies: Copies, frame: &Frame, entropy: &Entropy) -> Result<Drawn, MeasureError> {
        let centre = |(k, plan): (u64, &Plan)| match plan.centres() {
            None => 0,
            Some(c) => c.low() + uniform(2 * u64::from(c.reach), &mut entropy.stream(CENTRES - k)) as i64,
        };
        let centres = Zeroizing::new((0..).zip(copies.plans()).map(centre).collect());
        let of = |i| copies.plans().iter().any(|plan| capacity::is_wide(plan, frame, i));
        let wide = (0..copies.first().measured()).map(of).collect();
        Ok(Drawn { copies, wide, centres })
    }

    pub(super) fn first(&self) -> &Plan {
        self.copies.first()
    }

    /// Whether the integers of a measurement take 128 bits.
    pub(super) fn is_wide(&self, index: usize) -> bool {
        self.wide.get(index).copied().unwrap_or(false)
    }

    /// How many copies there are.
    pub(super) fn copies(&self) -> usize {
        self.copies.0.len()
    }

    /// Noise for every integer of a measurement, or of one slice of it, for each copy.
    pub(super) fn noisy<T: Integer + Zeroize>(
        &self,
        mut exact: Zeroizing<Vec<T>>,
        (index, slice): (usize, usize),
        entropy: &Entropy,
    ) -> Result<Vec<Vec<T>>, MeasureError> {
        let mut out: Vec<Vec<T>> = Vec::with_capacity(self.copies());
        for (k, plan) in self.copies.plans().iter().enumerate() {
            let nested = plan.copy.as_ref().is_some_and(|c| c.mode == Mode::Nested);
            #[cfg(feature = "faults")]
            let nested = nested && !planted::on(Planted::NotNested);
            let from = if nested { out.last() } else { None };
            let noisy = match from {
                // Of what is noisy already.
                Some(before) => step(&self.copies, k, (index, slice), before.clone(), entropy)?,
                None => {
                    let sampler = sampler(plan, index)?;
                    #[cfg(feature = "faults")]
                    let sampler = faulty(sampler, plan, index, &exact)?;
                    let shifted = plan.measurement(index).is_some_and(|(c, _)| c.subject == Subject::Rows);
                    let centre = if shifted { self.centres.get(k).copied().unwrap_or(0) } else { 0 };
                    let mut stream = entropy.stream(stream(plan, k, (index, slice)));
                    // Whoever is the last to need them writes over them: of large tables there is no room for two.
                    let last = nested || k + 1 == self.copies();
                    let own = if last { std::mem::take(&mut *exact) } else { exact.to_vec() };
                    let mut noisy = Zeroizing::new(own);
                    for cell in noisy.iter_mut() {
                        let noise = sampler.draw(&mut stream).checked_add(centre);
                        let sum = noise.and_then(|noise| cell.plus(noise.into()));
                        *cell = sum.ok_or(MeasureError::Overflow(index))?;
                    }
                    std::mem::take(&mut *noisy)
                }
            };
            out.push(noisy);
        }
        Ok(out)
    }
}

/// Streams of the slices of a measurement are so far apart: there are fewer copies of measurements, and 2^16 sections of slices at most.
const SLICES_APART: u64 = 1 << 40;

/// The stream of a copy's noise for a measurement, or for one of its slices.
fn stream(plan: &Plan, copy: usize, (index, slice): (usize, usize)) -> u64 {
    #[cfg(feature = "faults")]
    let index = if planted::on(Planted::Reused) { 0 } else { index };
    let of_a_copy = plan.measured().max(plan.rows().measurements.len() + 1);
    number(of_a_copy as u64, copy as u64, (index as u64, slice as u64))
}

/// Its number, where each copy has so many.
fn number(of_a_copy: u64, copy: u64, (index, slice): (u64, u64)) -> u64 {
    SLICES_APART * slice + copy * of_a_copy + index
}

/// The law of a measurement's own noise, that of a nested copy's first layer.
fn sampler(plan: &Plan, index: usize) -> Result<Sampler, NoiseError> {
    let scale = plan.layers(index).first().copied().ok_or(NoiseError::ZeroScale)?;
    Sampler::of(plan.noise, scale)
}

/// The law that a fault makes of it.
#[cfg(feature = "faults")]
fn faulty<T: Integer>(
    sampler: Sampler,
    plan: &Plan,
    index: usize,
    exact: &[T],
) -> Result<Sampler, NoiseError> {
    let part = match planted::now() {
        Some(Planted::SmallNoise) => (9, 10),
        Some(Planted::NoiseOfData) if exact.iter().all(|n| *n == T::from(0)) => (1, 4),
        _ => return Ok(sampler),
    };
    let part = Rational::new(part.0, part.1).ok_or(NoiseError::ZeroScale)?;
    let scale = plan.layers(index).first().copied().ok_or(NoiseError::ZeroScale)?;
    // A variance, or a width.
    let scale = if plan.noise.squares() { scale.checked_mul(part) } else { Some(scale) };
    let scale = scale.and_then(|scale| scale.checked_mul(part)).ok_or(NoiseError::ZeroScale)?;
    Sampler::of(plan.noise, scale)
}

/// A nested copy, from the one before it.
fn step<T: Integer>(
    copies: &Copies,
    k: usize,
    (index, slice): (usize, usize),
    mut noisy: Vec<T>,
    entropy: &Entropy,
) -> Result<Vec<T>, MeasureError> {
    let overflow = MeasureError::Overflow(index);
    let (Some(plan), Some(before)) = (copies.0.get(k), k.checked_sub(1).and_then(|k| copies.0.get(k))) else {
        return Err(MeasureError::NotCopies);
    };
    let mut stream = entropy.stream(stream(plan, k, (index, slice)));
    let mut add = |more: &mut dyn FnMut() -> i64| {
        for cell in noisy.iter_mut() {
            *cell = cell.plus(more().into())?;
        }
        Some(())
    };
    let added = match plan.noise {
        Noise::Gaussian => {
            let further = plan.copy.as_ref().and_then(|c| c.further.last()?.get(index).copied());
            match further.filter(|s| !s.is_zero()) {
                None => Some(()),
                Some(scale) => {
                    let sampler = Sampler::of(plan.noise, scale)?;
                    add(&mut || sampler.draw(&mut stream))
                }
            }
        }
        Noise::Laplace => {
            let scale = |p: &Plan| p.layers(index).first().copied().ok_or(NoiseError::ZeroScale);
            let (from, to) = (scale(before)?, scale(plan)?);
            if from == to {
                Some(())
            } else {
                let step = Step::new(from, to)?;
                add(&mut || step.draw(&mut stream))
            }
        }
    };
    added.map(|()| noisy).ok_or(overflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::copies::MAX_RECIPIENTS;
    use crate::plan::limits::{MAX_CELLS, MAX_MEASUREMENTS};
    use std::collections::BTreeSet;

    /// Copies, measurements and slices at their extremes and beside them: numbers rise with slice, copy and measurement in turn, so that no two are
    /// one, and all are below those of centres and public seeds.
    #[test]
    fn no_stream_has_two_uses() {
        let copies = MAX_RECIPIENTS as u64;
        // A slice has about 2^20 cells, or one group of siblings that has more.
        let slices = 1u64 << 16;
        assert!(slices >= 4 * (MAX_CELLS >> 20));
        // The last: the most that rows may have, in each of 4096 channels.
        for of_a_copy in [1, 2, 3, MAX_MEASUREMENTS as u64 + 1, 4096 * MAX_MEASUREMENTS as u64] {
            let (first, last) = (|slice| number(of_a_copy, 0, (0, slice)), of_a_copy - 1);
            for copy in [0, 1, 2, copies - 2] {
                for slice in [0, 1, slices - 1] {
                    let (end, next) =
                        (number(of_a_copy, copy, (last, slice)), number(of_a_copy, copy + 1, (0, slice)));
                    assert_eq!(next, end + 1, "copy {copy} of {of_a_copy}");
                    assert_eq!(end - number(of_a_copy, copy, (0, slice)), last);
                }
            }
            for slice in [0, 1, 2, slices - 2] {
                let end = number(of_a_copy, copies - 1, (last, slice));
                assert!(end < first(slice + 1), "slice {slice} of {of_a_copy}");
            }
            // The centre of copy k has the stream CENTRES − k.
            assert!(number(of_a_copy, copies - 1, (last, slices - 1)) < CENTRES - copies);
            let at = |n: u64| [0, 1, n / 2, n.saturating_sub(2), n - 1].into_iter().filter(move |i| *i < n);
            let mut all: BTreeSet<u64> = (0..copies).map(|k| CENTRES - k).chain([SEEDS]).collect();
            let mut uses = all.len();
            let unique = |n: u64| at(n).collect::<BTreeSet<u64>>();
            for copy in unique(copies) {
                for index in unique(of_a_copy) {
                    for slice in unique(slices) {
                        all.insert(number(of_a_copy, copy, (index, slice)));
                        uses += 1;
                    }
                }
            }
            assert_eq!(all.len(), uses, "{of_a_copy}");
        }
    }
}
