//! How many units had more rows than count, with noise.

use super::MeasureError;
use super::copies::{Copies, sampler, step, stream};
use crate::plan::Mode;
use crate::secret::Charged;
use crate::secret::count::Data;
use crate::secret::noise::Entropy;

/// The noisy number of units that had more than `max_rows` rows, for each copy; nothing where the plan does not measure it.
///
/// **Guarantee.** What leaves is the count plus exact integer noise of the plan's scale, at the cost that
/// [`crate::plan::cost::truncation_cost`] states, which is part of the plan's cost and so of the receipt. Copies as in
/// [`super::measure_copies`], but that no centre is added: the count is one number beside the tables. **Proof.** One unit
/// moves the count by at most one: see there. **Source.** Canonne, Kamath & Steinke 2020 (noise).
///
/// It draws from the ChaCha20 streams after those of the measurements, so asking twice gives the same number twice and
/// tells nothing more.
pub fn cut_units(
    data: &Data,
    charged: &Charged<Copies>,
    entropy: &Entropy,
) -> Result<Option<Vec<i64>>, MeasureError> {
    let copies = charged.work();
    if copies.first().truncation.is_none() {
        return Ok(None);
    }
    let index = copies.first().measurements.len();
    let overflow = || MeasureError::Overflow(index);
    let exact = i64::try_from(data.cut()).map_err(|_| overflow())?;
    let mut out: Vec<i64> = Vec::new();
    for (k, plan) in copies.plans().iter().enumerate() {
        let nested = plan.copy.as_ref().is_some_and(|c| c.mode == Mode::Nested);
        let noisy = match out.last() {
            Some(&before) if nested => step(copies, k, index, vec![before], entropy)?.first().copied(),
            _ => {
                let noise = sampler(plan, index)?.draw(&mut entropy.stream(stream(plan, k, index)));
                exact.checked_add(noise)
            }
        };
        out.push(noisy.ok_or_else(overflow)?);
    }
    Ok(Some(out))
}
