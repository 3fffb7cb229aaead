//! A number that every row may have beside its categories: what its sums are of, and how it becomes whole numbers.
//!
//! A value is moved to the nearer end where it lies outside `low ..= high`, rounded to the nearest multiple of `step` (half to even), and
//! measured from the middle: `t = 2(value − middle)/step` is a whole number, at most [`Quantity::reach`] either way. So
//! `SUM(value) = step/2 · Σt + middle · COUNT(value)`, and one row moves `Σt` by no more than the reach. From the middle that is half as far as
//! from zero, where all values are on one side of it; what the count adds is had from the count's own noise.
//!
//! Where no count is asked for beside, noise that costs by its absolute size may make the two dearer than one sum from zero ([`MeasuredFrom::Zero`]): then
//! `t = value/step` and `SUM(value) = step · Σt`.

use crate::exact::Rational;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A number of rows, with the bounds that its sums are counted in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// What queries call it: `SUM(name)`.
    pub name: String,
    /// The least value, in units of `10^-places`: values below count as it.
    pub low: i64,
    /// The largest value, in units of `10^-places`: values beyond count as it.
    pub high: i64,
    /// Values are rounded to multiples of it, in units of `10^-places`.
    pub step: u64,
    /// The decimal places of `low`, `high` and `step`.
    pub places: u8,
    /// What is done with rows that have no value.
    pub missing: NoValue,
    /// What it is to weights of rows, where a release has them.
    #[serde(default, skip_serializing_if = "Weighing::is_plain")]
    pub weighing: Weighing,
    /// What values are measured from.
    #[serde(default, skip_serializing_if = "MeasuredFrom::is_middle")]
    pub from: MeasuredFrom,
    /// What it is measured in, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// More for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What is done with rows that have no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoValue {
    /// The release is not made.
    Stop,
    /// They have the value 0.
    Zero,
    /// They are in no sum. How many rows have a value is counted beside.
    Skip,
}

/// What a number is to weights of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Weighing {
    /// Nothing.
    #[default]
    Plain,
    /// It is the weight: COUNT(*) is its sum.
    Weight,
    /// Values were multiplied by the weight.
    Weighted,
}

/// What values are measured from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredFrom {
    /// The middle between the bounds, in halves of a step.
    #[default]
    Middle,
    /// Zero, in steps: sums need no count.
    Zero,
}

impl MeasuredFrom {
    /// Every choice, with what it adds to the tag of [`NoValue`].
    pub(crate) const TAGS: [(MeasuredFrom, u8); 2] = [(MeasuredFrom::Middle, 0), (MeasuredFrom::Zero, 64)];

    pub(crate) fn is_middle(&self) -> bool {
        *self == MeasuredFrom::Middle
    }
}

impl Weighing {
    /// Every choice, with what it adds to the tag of [`NoValue`].
    pub(crate) const TAGS: [(Weighing, u8); 3] =
        [(Weighing::Plain, 0), (Weighing::Weight, 16), (Weighing::Weighted, 32)];

    pub(crate) fn is_plain(&self) -> bool {
        *self == Weighing::Plain
    }
}

impl NoValue {
    /// Every choice, with its fixed tag.
    pub(crate) const TAGS: [(NoValue, u8); 3] = [(NoValue::Stop, 1), (NoValue::Zero, 2), (NoValue::Skip, 3)];
}

/// What is added up over rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Summand {
    /// Rows: each adds one.
    Rows,
    /// What rows have of a number, from its origin.
    Sum(Arc<Quantity>),
    /// The rows that have a value of a number: each adds one.
    Valued(Arc<Quantity>),
    /// The squares of what rows have of a number: twice that of the distance from the middle, in halves of a step, less the largest.
    Squares(Arc<Quantity>),
}

impl Summand {
    /// The number that is added up or asked for.
    pub(crate) fn quantity(&self) -> Option<&Arc<Quantity>> {
        match self {
            Summand::Sum(quantity) | Summand::Valued(quantity) | Summand::Squares(quantity) => Some(quantity),
            Summand::Rows => None,
        }
    }

    /// Whether both have one truth, as far as files tell.
    pub(crate) fn is_alike(&self, other: &Summand) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && match (self.quantity(), other.quantity()) {
                (Some(own), Some(other)) => own.is_alike(other),
                (own, other) => own.is_none() && other.is_none(),
            }
    }
}

/// The most decimal places of a bound.
pub const MOST_PLACES: u8 = 9;
/// The most steps between the bounds.
pub const MOST_STEPS: u64 = 1 << 24;
/// The furthest that a bound or a step may be from zero, in units of `10^-places`: what a manifest can say.
const FURTHEST: u64 = 1 << 53;

impl Quantity {
    /// Why it is none, if so. A file may say anything.
    pub fn check(&self) -> Result<(), String> {
        let multiple = |v: i64| i128::from(v) % i128::from(self.step) == 0;
        if self.name.is_empty() {
            return Err("it has no name".into());
        }
        if self.places > MOST_PLACES {
            return Err(format!("its bounds have more than {MOST_PLACES} decimal places"));
        }
        if self.low.unsigned_abs().max(self.high.unsigned_abs()).max(self.step) > FURTHEST {
            let places = self.places;
            return Err(format!(
                "its bounds have too many digits: with {places} decimal places they hold no more than 2^53 / 10^{places}"
            ));
        }
        if self.low >= self.high {
            return Err("`low` is not below `high`".into());
        }
        if self.step == 0 {
            return Err("`step` is 0".into());
        }
        if !multiple(self.low) || !multiple(self.high) {
            return Err("`low` and `high` are not multiples of `step`".into());
        }
        if self.between() > MOST_STEPS.into() {
            return Err(format!("there are more than {MOST_STEPS} steps between `low` and `high`"));
        }
        if self.missing == NoValue::Zero && !(self.low <= 0 && 0 <= self.high) {
            return Err(
                "rows without a value cannot count as 0, which is not between `low` and `high`".into()
            );
        }
        if self.weighing == Weighing::Weight && self.low != 0 {
            return Err("weights begin at 0".into());
        }
        if self.weighing != Weighing::Plain && self.missing == NoValue::Skip {
            return Err(
                "a weighted mean needs the weights of all rows, so none may be left out of sums".into()
            );
        }
        if self.from == MeasuredFrom::Zero && (self.missing == NoValue::Skip || !self.weighing.is_plain()) {
            return Err("it is measured from zero, and what is told beside it needs the middle".into());
        }
        Ok(())
    }

    /// In what it is another number than one of its name, if so: what is told of both is never taken together.
    pub fn unlike(&self, other: &Quantity) -> Option<&'static str> {
        const HOW: &str =
            "its bounds, its steps, its unit, what is done with rows without a value or its weighing differ";
        (!self.is_alike(other)).then_some(HOW)
    }

    /// Whether it is the same number by the same bounds and steps: all but what is said for people.
    pub(crate) fn is_alike(&self, other: &Quantity) -> bool {
        let bounds = |q: &Quantity| (q.low, q.high, q.step, q.places, q.missing, q.weighing, q.from);
        bounds(self) == bounds(other)
            && self.unit == other.unit
            && self.name.eq_ignore_ascii_case(&other.name)
    }

    /// The number of steps between the bounds, whatever they are.
    fn between(&self) -> u128 {
        (i128::from(self.high) - i128::from(self.low)).unsigned_abs() / u128::from(self.step.max(1))
    }

    /// The number of steps between the bounds.
    pub fn steps(&self) -> u64 {
        self.between() as u64
    }

    /// How far from the origin a value may be: how far one row moves the sum that is measured.
    pub fn reach(&self) -> u64 {
        match self.from {
            MeasuredFrom::Middle => self.steps(),
            MeasuredFrom::Zero => self.low.unsigned_abs().max(self.high.unsigned_abs()) / self.step.max(1),
        }
    }

    /// How far one row moves the sum of squares that is measured: `2t² − reach²` is between minus and plus this.
    pub(crate) fn square_reach(&self) -> u64 {
        // No more than 2^24 steps.
        self.reach().saturating_mul(self.reach())
    }

    /// In numbers for people: what a unit of `10^-places` is.
    fn scaled(&self, v: f64) -> f64 {
        v / libm::pow(10.0, f64::from(self.places))
    }

    /// The least value.
    pub(crate) fn low(&self) -> f64 {
        self.scaled(self.low as f64)
    }

    /// The largest value.
    pub(crate) fn high(&self) -> f64 {
        self.scaled(self.high as f64)
    }

    /// What values are rounded to.
    pub(crate) fn step(&self) -> f64 {
        self.scaled(self.step as f64)
    }

    /// What measured sums are multiplied by: half a step, or from zero a whole one.
    pub fn grain(&self) -> f64 {
        match self.from {
            MeasuredFrom::Middle => self.scaled(self.step as f64 / 2.0),
            MeasuredFrom::Zero => self.step(),
        }
    }

    /// What values are measured from.
    pub fn origin(&self) -> f64 {
        match self.from {
            MeasuredFrom::Middle => self.scaled((self.low as f64 + self.high as f64) / 2.0),
            MeasuredFrom::Zero => 0.0,
        }
    }

    /// A number for people, with as many decimal places as the bounds have.
    fn shown(&self, v: f64) -> String {
        format!("{v:.0$}", usize::from(self.places))
    }

    /// The bounds, for people.
    pub fn ends(&self) -> [String; 2] {
        [self.low(), self.high()].map(|end| self.shown(end))
    }

    /// What readers are told wherever its sums are shown.
    pub fn note(&self) -> String {
        let [low, high] = self.ends();
        let unit = self.unit.as_ref().map_or(String::new(), |u| format!(" {u}"));
        let missing = match self.missing {
            NoValue::Stop => "",
            NoValue::Zero => "; rows without a value count as 0",
            NoValue::Skip => "; rows without a value are in no sum and no mean",
        };
        let name = &self.name;
        let (before, values) = match self.weighing {
            Weighing::Plain => (format!("{name}: "), "values"),
            Weighing::Weight => (
                format!(
                    "COUNT(*) adds up the weights {name} of rows, and COUNT({name}) counts the rows. Intervals are about the noise: the error of sampling is not in them. {name}: "
                ),
                "values",
            ),
            Weighing::Weighted => (format!("{name}: each multiplied by its row's weight; "), "products"),
        };
        format!(
            "{before}{values} below {low} count as {low}, {values} beyond {high} as {high}{unit}, in steps of {}{missing}. No interval covers that.",
            self.shown(self.step())
        )
    }

    /// Whether sums need to know how many rows have a value.
    pub fn needs_count(&self) -> bool {
        self.from == MeasuredFrom::Middle && i128::from(self.low) + i128::from(self.high) != 0
    }

    /// The squares of the origin and of the furthest that a value is from it, both in parts of the largest absolute value: what the stakes of a
    /// sum's count and of its `Σt` are multiplied by.
    pub fn stakes(&self) -> Option<(Rational, Rational)> {
        if self.from == MeasuredFrom::Zero {
            return Some((Rational::ZERO, Rational::ONE));
        }
        let (low, high) = (i128::from(self.low), i128::from(self.high));
        let most = low.unsigned_abs().max(high.unsigned_abs()).checked_mul(2)?;
        let square = |n: u128| Rational::new(n, most).and_then(|r| r.checked_mul(r));
        Some((square((low + high).unsigned_abs())?, square((high - low).unsigned_abs())?))
    }
}

#[cfg(test)]
impl Quantity {
    /// One for tests: up to 200 000 euros in hundreds, measured from the middle, that every row has.
    pub(crate) fn income() -> Quantity {
        Quantity {
            name: "income".into(),
            low: 0,
            high: 200_000,
            step: 100,
            places: 0,
            missing: NoValue::Stop,
            weighing: Weighing::Plain,
            from: MeasuredFrom::Middle,
            unit: Some("EUR".into()),
            description: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_half_as_far() {
        let q = Quantity::income();
        assert!(q.check().is_ok());
        assert_eq!((q.reach(), q.origin(), q.grain()), (2000, 100_000.0, 50.0));
        // Every value that rows may have is told by its steps from the middle.
        for a in [0.0, 100.0, 99_900.0, 100_000.0, 200_000.0] {
            for q in [q.clone(), Quantity { from: MeasuredFrom::Zero, ..q.clone() }] {
                let t = (a - q.origin()) / q.grain();
                assert!(t.fract() == 0.0 && t.abs() <= q.reach() as f64);
                assert_eq!(q.grain() * t + q.origin(), a);
            }
        }
        let quarter = Rational::new(1, 4).unwrap();
        assert_eq!(q.stakes().unwrap(), (quarter, quarter));
        let even = Quantity { low: -300, high: 300, step: 3, ..Quantity::income() };
        assert_eq!((even.reach(), even.needs_count()), (200, false));
        assert_eq!(even.stakes().unwrap(), (Rational::ZERO, Rational::ONE));
        // From zero one row is as far away as the end that is further, and no count is needed.
        let zero = |low, high| Quantity { low, high, from: MeasuredFrom::Zero, ..Quantity::income() };
        assert_eq!(
            [zero(0, 200_000), zero(-300_000, 100), zero(500, 600)].map(|q| q.reach()),
            [2000, 3000, 6]
        );
        let q = zero(500, 600);
        assert_eq!(
            (q.steps(), q.needs_count(), q.stakes().unwrap()),
            (1, false, (Rational::ZERO, Rational::ONE))
        );
    }

    #[test]
    fn what_is_none() {
        let with = |change: &dyn Fn(&mut Quantity)| {
            let mut q = Quantity::income();
            change(&mut q);
            q.check().is_err()
        };
        assert!(with(&|q| q.name.clear()));
        assert!(with(&|q| q.low = q.high));
        assert!(with(&|q| q.step = 0));
        assert!(with(&|q| q.step = 300));
        assert!(with(&|q| q.places = MOST_PLACES + 1));
        assert!(with(&|q| (q.low, q.high, q.step) = (i64::MIN, i64::MAX, 1)));
        assert!(with(&|q| (q.low, q.missing) = (100, NoValue::Zero)));
        assert!(with(&|q| (q.low, q.weighing) = (100, Weighing::Weight)));
        assert!(with(&|q| (q.missing, q.weighing) = (NoValue::Skip, Weighing::Weighted)));
        assert!(with(&|q| (q.missing, q.from) = (NoValue::Skip, MeasuredFrom::Zero)));
        assert!(with(&|q| (q.weighing, q.from) = (Weighing::Weight, MeasuredFrom::Zero)));
    }
}
