//! Differences of pairs of siblings: the Haar wavelet on a binary tree.

use super::kind::{Factors, Form, Kind, contrasts};
use crate::cube::{Cube, Cuboid, Frame, Integer};
use crate::plan::Noise;

pub(super) struct Pairs;

impl Kind for Pairs {
    type Data = Cuboid;
    const NAME: &'static str = "differences";
    const FORM: Form = Form::Component;
    const SIGNED: bool = true;
    const LUMPS: bool = true;

    fn cuboid(data: &Cuboid) -> &Cuboid {
        data
    }

    fn values(data: &Cuboid, frame: &Frame) -> Option<u64> {
        contrasts(data, frame)
    }

    fn check(data: &Cuboid, _: &[Vec<u8>], _: &Cube, frame: &Frame) -> Result<(), String> {
        let twos = data.iter().all(|level| frame.rung(level).sizes().iter().all(|&c| c <= 2));
        if twos { Ok(()) } else { Err("differences of groups of more than two".into()) }
    }

    /// Sums of counts, still secret: noise is added to each.
    fn apply<T: Integer>(data: &Cuboid, frame: &Frame, counts: Vec<T>) -> Option<Vec<T>> {
        frame.contrast(data, counts)
    }

    /// A row is in one pair at most.
    fn sensitivity(_: &Cuboid, _: &Frame, _: Noise) -> Option<u128> {
        Some(1)
    }

    fn factors(_: Noise) -> Option<Factors> {
        Some(|_| (1, -1))
    }

    fn unit(_: &Cuboid, _: &Frame) -> Option<f64> {
        Some(1.0)
    }

    fn keep_drawn(data: &Cuboid, frame: &Frame, weights: &mut [f64]) {
        frame.keep_contrasts(data, weights);
    }

    /// One noise for the two halves of a pair, in every dimension.
    fn divisor(data: &Cuboid, _: &Frame) -> Option<f64> {
        Some(libm::exp2(data.len() as f64))
    }
}
