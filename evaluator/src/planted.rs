//! Planted faults: what tests of the audit switch on, to see that it finds them. They are compiled with the feature `faults` alone, which no build that is
//! released has; no key signs what is made while one is on.

use std::cell::Cell;

/// What may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// Noise is a tenth too small.
    SmallNoise,
    /// The scale of noise is off by the 2000th part.
    ScaleOff,
    /// Noise has no tails: what is further out than 7.9 scales is drawn again.
    NoTails,
    /// Noise is a quarter as wide where nothing is counted.
    NoiseOfData,
    /// All measurements have the noise of the first.
    Reused,
    /// Copies have noise of their own, and are charged like nested ones.
    NotNested,
    /// Units of several rows pay for one.
    OneRow,
    /// Rows that lose their value of a number move no more than rows that change their cell.
    LostValues,
    /// The second measurement is not charged.
    Forgotten,
    /// Sums of costs are rounded down.
    RoundedDown,
    /// All rows of a unit count.
    Unbounded,
    /// Counts are rounded to tens before noise is added.
    Rounded,
    /// Sums are clamped instead of values.
    ClampedSums,
    /// Empty cells at the end of a table are left out.
    Shaped,
}

thread_local! {
    static NOW: Cell<Option<Planted>> = const { Cell::new(None) };
}

/// From now on this fault is there, on this thread; or none.
pub fn plant(fault: Option<Planted>) {
    NOW.set(fault);
}

/// What is planted on this thread.
pub fn now() -> Option<Planted> {
    NOW.get()
}

/// Whether a fault is planted on this thread.
pub fn on(fault: Planted) -> bool {
    now() == Some(fault)
}
