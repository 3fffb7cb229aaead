//! How many units had more rows than count, with noise.

use super::MeasureError;
use crate::plan::{Noise, Plan};
use crate::secret::Charged;
use crate::secret::ingest::Rows;
use crate::secret::noise::{Entropy, Sampler};

/// The noisy number of units that had more than `max_rows` rows; `None` where the plan does not measure it.
///
/// **Guarantee.** What leaves is the count plus exact integer noise of the plan's scale, at the cost that
/// [`crate::plan::cost::truncation_cost`] states, which is part of the plan's cost and so of the receipt. **Proof.** One unit
/// moves the count by at most one: see there. **Source.** Canonne, Kamath & Steinke 2020 (noise).
///
/// It draws from the ChaCha20 stream after those of the measurements, so asking twice gives the same number twice and
/// tells nothing more.
pub fn cut_units(
    rows: &Rows,
    charged: &Charged<Plan>,
    entropy: &Entropy,
) -> Result<Option<i64>, MeasureError> {
    let plan = charged.work();
    let Some(scale) = plan.truncation else { return Ok(None) };
    let index = plan.measurements.len();
    let sampler = match plan.noise {
        Noise::Gaussian => Sampler::gaussian(scale)?,
        Noise::Laplace => Sampler::laplace(scale)?,
    };
    let noise = sampler.draw(&mut entropy.stream(index as u64));
    let cut = i64::try_from(rows.cut()).ok().and_then(|cut| cut.checked_add(noise));
    cut.map(Some).ok_or(MeasureError::Overflow(index))
}
