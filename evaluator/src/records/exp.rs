//! The exponential function of many numbers, of additions and products alone: the same bits on every machine, several numbers at a time.
//!
//! Loops over many numbers are plain ones here and in the files that call this: builds of several units do not always build what iterators call back into the loop.

/// 1.5 · 2²³: what is added to it is rounded to a whole number.
const ROUND: f32 = 12_582_912.0;

/// `eˣ` for x between −80 and 80, within 3 parts in 10⁷; below it is 0.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let t = x.clamp(-80.0, 80.0) * std::f32::consts::LOG2_E;
    let shifted = t + ROUND;
    let whole = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    let f = (t - (shifted - ROUND)) * std::f32::consts::LN_2;
    // Taylor's series, |f| ≤ ln 2 / 2.
    let p = 1.0
        + f * (1.0 + f * (0.5 + f * (1.0 / 6.0 + f * (1.0 / 24.0 + f * (1.0 / 120.0 + f * (1.0 / 720.0))))));
    if x < -80.0 { 0.0 } else { f32::from_bits(p.to_bits().wrapping_add(whole << 23)) }
}

/// Puts `eˣ⁻ᵐ` in the place of each x, m the largest of them, and gives back m.
#[inline]
pub(super) fn weights(of: &mut [f32]) -> f32 {
    let larger = |m: f32, x: f32| if x > m { x } else { m };
    let (lanes, rest) = of.as_chunks::<4>();
    let mut each = [f32::MIN; 4];
    for x in lanes {
        for i in 0..4 {
            each[i] = larger(each[i], x[i]);
        }
    }
    let mut most = f32::MIN;
    for x in each {
        most = larger(most, x);
    }
    for x in rest {
        most = larger(most, *x);
    }
    for x in of {
        *x = exp(*x - most);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_library_has_it() {
        for i in -8000..=8000 {
            let x = i as f32 / 100.0;
            let want = libm::exp(f64::from(x));
            assert!((f64::from(exp(x)) / want - 1.0).abs() < 8e-6, "{x}");
        }
        for i in 0..1000 {
            let x = -(i as f32) / 1000.0;
            assert!((f64::from(exp(x)) / libm::exp(f64::from(x)) - 1.0).abs() < 3e-7, "{x}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-80.0) > 0.0 && exp(-1e30) == 0.0);
        let mut some = [3.0, -1e30, 2.0];
        assert_eq!(weights(&mut some), 3.0);
        assert_eq!(some[..2], [1.0, 0.0]);
    }
}
