//! The integers of measurements: of 64 bits nearly always, of more where sums of many large numbers need them.
//!
//! What is done with them is written once, over [`Integer`]. Whether a measurement takes 128 bits follows from the plan alone, before data is seen; [`Integers`] of which all fit 64
//! bits are held in 64 bits, however they were made, so equal ones are equal.

/// Whole numbers that are checked wherever they might overflow.
pub trait Integer: Copy + From<i64> + Into<i128> + Eq {
    /// They lie between `-MOST` and `MOST - 1`: with their sign those of 128 bits have 127, as a file can hold.
    const MOST: u128;
    /// The sum, if it fits.
    fn plus(self, other: Self) -> Option<Self>;
    /// The difference, if it fits.
    fn less(self, other: Self) -> Option<Self>;
    /// The product, if it fits.
    fn times(self, factor: i64) -> Option<Self>;
    /// All of a measurement, if a file can hold them.
    fn all(values: Vec<Self>) -> Option<Integers>;
}

impl Integer for i64 {
    const MOST: u128 = 1 << 63;

    #[inline]
    fn plus(self, other: i64) -> Option<i64> {
        self.checked_add(other)
    }

    #[inline]
    fn less(self, other: i64) -> Option<i64> {
        self.checked_sub(other)
    }

    #[inline]
    fn times(self, factor: i64) -> Option<i64> {
        self.checked_mul(factor)
    }

    fn all(values: Vec<i64>) -> Option<Integers> {
        Some(values.into())
    }
}

impl Integer for i128 {
    const MOST: u128 = 1 << 126;

    #[inline]
    fn plus(self, other: i128) -> Option<i128> {
        self.checked_add(other)
    }

    #[inline]
    fn less(self, other: i128) -> Option<i128> {
        self.checked_sub(other)
    }

    #[inline]
    fn times(self, factor: i64) -> Option<i128> {
        self.checked_mul(factor.into())
    }

    fn all(values: Vec<i128>) -> Option<Integers> {
        let narrow: Option<Vec<i64>> = values.iter().map(|&v| i64::try_from(v).ok()).collect();
        match narrow {
            Some(narrow) => Some(narrow.into()),
            None => {
                let most = <i128 as Integer>::MOST as i128;
                values.iter().all(|v| (-most..most).contains(v)).then_some(Integers(Held::Wide(values)))
            }
        }
    }
}

/// The integers of a measurement, or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers(Held);

/// In 64 bits where all fit.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

impl From<Vec<i64>> for Integers {
    fn from(values: Vec<i64>) -> Integers {
        Integers(Held::Narrow(values))
    }
}

impl Integers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Held::Narrow(values) => values.len(),
            Held::Wide(values) => values.len(),
        }
    }

    /// Each in turn.
    pub fn iter(&self) -> impl Iterator<Item = i128> {
        let (narrow, wide) = match &self.0 {
            Held::Narrow(values) => (&values[..], &[][..]),
            Held::Wide(values) => (&[][..], &values[..]),
        };
        narrow.iter().map(|&v| v.into()).chain(wide.iter().copied())
    }

    /// In 64 bits, or else those that do not all fit there.
    pub(crate) fn narrow(&self) -> Result<&[i64], &[i128]> {
        match &self.0 {
            Held::Narrow(values) => Ok(values),
            Held::Wide(values) => Err(values),
        }
    }

    /// All less as many others. `None` where one does not fit.
    pub(crate) fn without(&self, others: &[i64]) -> Option<Integers> {
        fn less<T: Integer>(values: &[T], others: &[i64]) -> Option<Integers> {
            let less = |(v, &other): (&T, &i64)| v.less(other.into());
            T::all(values.iter().zip(others).map(less).collect::<Option<_>>()?)
        }
        match &self.0 {
            Held::Narrow(values) => less(values, others),
            Held::Wide(values) => less(values, others),
        }
    }

    /// The nearest doubles: each is off by no more than a part in 2^53 of itself.
    pub(crate) fn floats(&self) -> Vec<f64> {
        match &self.0 {
            Held::Narrow(values) => values.iter().map(|&v| v as f64).collect(),
            Held::Wide(values) => values.iter().map(|&v| v as f64).collect(),
        }
    }
}
