//! How many steps above its least value a row has of an amount, in SQL: exactly, on every engine that can be asked for a column's type.
//!
//! Engines round each in a way of their own, and some take fractions for decimals of 15 digits. So nothing is rounded. A step near the value is reckoned
//! with fractions of 64 bits, and may be the next but one. Then the value itself is held against the middles between that step and its neighbours: a whole number or DECIMAL against
//! the middle as a DECIMAL, which engines compare exactly or not at all; a DOUBLE against the DOUBLE nearest to the middle.
//!
//! A product of columns is made of decimals with so few digits that no engine rounds it: what a factor is beyond these is refused, and so are factors of type DOUBLE, whose products a
//! file's reader makes of their shortest decimals. A weight multiplies as it counts: its step is found first, by itself, and the other factors are multiplied by that step's value.
//!
//! **Why that is the shortest decimal of a DOUBLE**, which a file's reader rounds. Every decimal of at most 15 digits is the only one of them that means its DOUBLE, so the
//! shortest decimal of the DOUBLE nearest to a middle is the middle; and shortest decimals are in the order of their DOUBLEs. Such a middle is `m/(2·10^places)`, two whole numbers below
//! 2^53, and one division of IEEE 754 rounds that to the nearest DOUBLE. Where middles have more digits a DOUBLE is refused.

use super::Dialect;
use crate::cube::{NoValue, Quantity, Weighing};
use crate::secret::count::given;
use crate::spec::{AmountSpec, Spec};

/// Middles are decimals of fewer digits than this.
const DIGITS: u32 = 18;
/// Middles of so many digits are told apart by fractions of 64 bits.
const OF_DOUBLES: u32 = 15;
/// A step is told from its neighbours by fractions of 64 bits where both ends are within so many steps from zero: they hold 2^53.
const FURTHEST: u128 = 1 << 40;

/// One amount, of which sums are told.
pub(super) struct Summed<'s> {
    /// Which, from 1.
    number: usize,
    /// Its columns in the data: the value is their product.
    pub(super) columns: &'s [String],
    /// What the last of them is the weight of, where it is.
    weight: Option<&'s Quantity>,
    quantity: &'s Quantity,
    amount: &'s AmountSpec,
    dialect: Dialect,
    /// The most digits of a middle, in units of `10^-(places + 1)`.
    digits: u32,
}

impl<'s> Summed<'s> {
    /// All of a spec; or why their sums cannot be told by a statement.
    pub(super) fn all(spec: &'s Spec, dialect: Dialect) -> Result<Vec<Summed<'s>>, &'static str> {
        let amounts: Vec<_> = spec.summed().collect();
        if amounts.is_empty() {
            return Ok(Vec::new());
        }
        if matches!(dialect, Dialect::Bigquery | Dialect::Ansi) {
            return Err(
                "sums of amounts need to know which types columns have, and this dialect cannot be asked: spark, duckdb and postgres can; or \
                        count from files (`margins release` reads folders of Parquet)",
            );
        }
        if spec.data.as_ref().is_some_and(|data| data.blanks.empty.iter().any(|text| !text.is_empty())) {
            return Err(
                "`empty` with amounts is for files: make such values NULL in a view of the table, and leave it out",
            );
        }
        let weight = amounts.iter().map(|a| &*a.quantity).find(|q| q.weighing == Weighing::Weight);
        let one = |(at, amount): (usize, &'s AmountSpec)| {
            let AmountSpec { quantity, columns, .. } = amount;
            let ends = u128::from(quantity.low.unsigned_abs().max(quantity.high.unsigned_abs()));
            let middle = (2 * u128::from(quantity.step)).checked_add(2 * ends)?.checked_mul(5)?;
            let digits = middle.checked_ilog10()? + 1;
            let near = ends / u128::from(quantity.step) <= FURTHEST;
            let quantity = &**quantity;
            (digits <= DIGITS && near).then_some(Summed {
                number: at + 1,
                columns,
                weight: weight.filter(|_| quantity.weighing == Weighing::Weighted),
                quantity,
                amount,
                dialect,
                digits,
            })
        };
        let all: Option<Vec<Summed<'s>>> = amounts.into_iter().enumerate().map(one).collect();
        let all = all.ok_or("an amount's bounds have too many digits for a statement, or are too many steps from zero: count from files")?;
        if all.iter().any(|amount| amount.weight.is_some_and(|weight| digits(weight) > amount.room())) {
            return Err(
                "the weight's `high` and `step` have too many digits to be multiplied with so many factors in a statement: count from files",
            );
        }
        Ok(all)
    }

    /// The columns that are multiplied as they are: all but the weight.
    fn plain(&self) -> &'s [String] {
        self.columns.get(..self.columns.len() - usize::from(self.weight.is_some())).unwrap_or(self.columns)
    }

    /// The value, and the step that is near it or, of rows without a value, what they count as: -1 if they may not count. Where there is a weight the product of the other factors, and 0 for
    /// the step.
    pub(super) fn coded(&self) -> Vec<String> {
        let Quantity { missing, .. } = self.quantity;
        let (x, near) = match self.weight {
            None => (self.value(), self.near()),
            Some(_) => (self.unweighted(), self.otherwise()),
        };
        let none = match missing {
            NoValue::Stop => "-1".to_owned(),
            NoValue::Skip => "NULL".to_owned(),
            NoValue::Zero => self.zero().to_string(),
        };
        let names: Vec<String> = self.plain().iter().map(|column| self.dialect.name(column)).collect();
        let joined = |of: Vec<String>, with: &str| of.join(with);
        let empty = joined(names.iter().map(|name| format!("{name} IS NULL")).collect(), " OR ");
        let unread = joined(
            names.iter().map(|name| format!("{name} IS NOT NULL AND NOT {}", self.read(name))).collect(),
            " OR ",
        );
        let value = joined(names.iter().map(|name| self.factor(name)).collect(), " * ");
        let told = match &names[..] {
            [name] if self.weight.is_none() => name.clone(),
            _ => format!("CASE WHEN {unread} THEN NULL ELSE {value} END"),
        };
        let step = self.weight.map_or_else(|| self.nearest(&value), |_| "0".to_owned());
        vec![
            format!("    {told} AS {x}"),
            format!("    CASE WHEN {unread} THEN -1 WHEN {empty} THEN {none} ELSE {step} END AS {near}"),
        ]
    }

    /// The step near a value: perhaps the next but one.
    fn nearest(&self, value: &str) -> String {
        let [low, high, step] =
            [self.quantity.low, self.quantity.high, self.quantity.step as i64].map(|v| self.double(v.into()));
        let double = self.dialect.double();
        format!(
            "CAST(FLOOR((LEAST(GREATEST(CAST({value} AS {double}), {low}), {high}) - ({low})) / {step} + 0.5) AS BIGINT)"
        )
    }

    /// What stands between the values as coded and where they are placed: the weight's step, and the products with it. Nothing where there are none.
    pub(super) fn multiplied(all: &[Summed<'_>]) -> Option<(&'static str, String)> {
        let of_weight = all.iter().find(|amount| amount.quantity.weighing == Weighing::Weight)?;
        let products: Vec<String> = all.iter().filter_map(Summed::product).flatten().collect();
        let weight = of_weight.placed_as("weight").into_iter().next().filter(|_| !products.is_empty())?;
        let products = products.join(",\n");
        let stages = format!(
            "weighed AS (\n  SELECT *,\n{weight}\n  FROM coded\n),\nmultiplied AS (\n  SELECT *,\n{products}\n  FROM weighed\n),\n"
        );
        Some(("multiplied", stages))
    }

    /// The value where there is a weight, and the step that is near it: of a weight that may not count -1.
    fn product(&self) -> Option<[String; 2]> {
        let weight = self.weight?;
        let width = digits(weight);
        let mut factor = format!("CAST(weight * {} AS DECIMAL(18, 0))", weight.step);
        if weight.places > 0 {
            factor = format!("{factor} * 0.{:0>1$}", 1, usize::from(weight.places));
        }
        let (unweighted, otherwise) = (self.unweighted(), self.otherwise());
        let value = format!("{unweighted} * CAST({factor} AS DECIMAL({width}, {}))", weight.places);
        let near = self.nearest(&format!("({value})"));
        Some([
            format!("    {value} AS {}", self.value()),
            format!(
                "    CASE WHEN {unweighted} IS NULL THEN {otherwise} WHEN weight < 0 THEN -1 ELSE {near} END AS {}",
                self.near()
            ),
        ])
    }

    /// Whether a value may be a fraction of 64 bits.
    fn doubles(&self) -> bool {
        self.columns.len() == 1 && self.digits <= OF_DOUBLES
    }

    /// That a cell is a number, of a type that engines and files read alike.
    fn read(&self, name: &str) -> String {
        let of_type = self.dialect.summed(name, self.doubles()).unwrap_or_else(|| "1 = 0".to_owned());
        let text = format!("LOWER(CAST({name} AS {}))", self.dialect.text_type());
        let number = format!("{text} NOT IN ('nan', '-nan', 'infinity', 'inf', '-infinity', '-inf')");
        let whole = self.decimals().and_then(|of| self.dialect.holds(name, of));
        let whole = whole.map_or(String::new(), |whole| format!(" AND {whole}"));
        format!("({of_type} AND {number}{whole})")
    }

    /// What a cell is multiplied as: exactly what it is, as a decimal whose product with others has all its digits.
    fn factor(&self, name: &str) -> String {
        self.decimals().map_or_else(|| name.to_owned(), |of| self.dialect.decimal(name, of))
    }

    /// How many digits a factor may have, and how many of them behind the point: products of so many have no more than 38, in every engine's reckoning.
    fn decimals(&self) -> Option<(u32, u32)> {
        match self.columns.len() {
            0 | 1 => None,
            2 => Some((18, 9)),
            3 => Some((12, 6)),
            _ => Some((8, 4)),
        }
    }

    /// How many digits a weight may have, so that its products have all of theirs.
    fn room(&self) -> u32 {
        self.decimals().map_or(0, |(digits, _)| digits)
    }

    /// That a row may not count.
    pub(super) fn strange(&self) -> String {
        format!(" OR {} < 0", self.near())
    }

    /// The step itself, and where it is told on which side of the bounds the value is.
    pub(super) fn placed(&self) -> Vec<String> {
        self.placed_as(&self.steps())
    }

    /// The same, where the step is called so.
    fn placed_as(&self, steps: &str) -> Vec<String> {
        let Quantity { low, high, step, places, .. } = self.quantity;
        let (x, near, reach) = (self.value(), self.near(), self.quantity.steps());
        let (low, high, step) = (i128::from(*low), i128::from(*high), i128::from(*step));
        let (double, scale) = (self.dialect.double(), u32::from(*places) + 1);
        let width = self.digits.max(scale) + 1;
        let unit = format!("0.{:0>1$}", 1, scale as usize);
        // The middle below the step with -1, and above it with +.
        let tenths =
            |m: &str| format!("CAST(CAST({m} AS DECIMAL(18, 0)) * {unit} AS DECIMAL({width}, {scale}))");
        let decimal = |side: char| tenths(&format!("(2 * {near} {side} 1) * {} + ({})", 5 * step, 10 * low));
        let fraction = |side: char| {
            let m = format!("(2 * {near} {side} 1) * {step} + ({})", 2 * low);
            format!("CAST({m} AS {double}) / {:e}", 2.0 * 10f64.powi(i32::from(*places)))
        };
        let nearest = |middle: &dyn Fn(char) -> String| {
            let (below, above) = (middle('-'), middle('+'));
            let odd = format!("MOD({near}, 2) = 1");
            format!(
                "WHEN {x} < {below} OR ({x} = {below} AND {odd}) THEN GREATEST({near} - 1, 0)\n        \
                 WHEN {x} > {above} OR ({x} = {above} AND {odd}) THEN LEAST({near} + 1, {reach})\n        \
                 WHEN {x} >= {below} AND {x} <= {above} THEN {near} ELSE -1 END"
            )
        };
        let far = format!("CAST({x} AS {double})");
        // By what a column is: a value is held against its middles, or its ends, of that type.
        let cases = |none: &str, ends: [&str; 2], doubles: String, others: String, name: String| {
            let mut cases = format!(
                "    CASE WHEN {x} IS NULL OR {near} < 0 THEN {none} WHEN {far} < {} THEN {} WHEN {far} > {} THEN {}\n      ",
                self.double(low - step),
                ends[0],
                self.double(high + step),
                ends[1],
            );
            if let Some(of) = self.dialect.is_double(&x).filter(|_| self.doubles()) {
                cases += &format!("WHEN {of} THEN CASE\n        {doubles}\n      ");
            }
            let comment = super::comment(&self.quantity.name);
            format!("{cases}ELSE CASE\n        {others} END AS {name} /* {comment} */")
        };
        let most = reach.to_string();
        let mut all =
            vec![cases(&near, ["0", &most], nearest(&fraction), nearest(&decimal), steps.to_owned())];
        if self.amount.clamping.is_some() {
            let beyond = |low: String, high: String| {
                format!("WHEN {x} < {low} THEN -1 WHEN {x} > {high} THEN 1 ELSE 0 END")
            };
            let doubles = beyond(self.double(low), self.double(high));
            let others = beyond(tenths(&(10 * low).to_string()), tenths(&(10 * high).to_string()));
            all.push(cases("0", ["-1", "1"], doubles, others, self.side()));
        }
        all
    }

    /// What is told of a cell: in the order of [`given::amount_columns`].
    pub(super) fn told(&self, bounded: bool) -> Vec<String> {
        let steps = self.steps();
        let counting = if bounded { "further = 0 AND " } else { "" };
        let valued = format!("{counting}{steps} >= 0");
        let sum = |what: &str| self.dialect.sum(&format!("CASE WHEN {valued} THEN {what} END"));
        let mut told = vec![
            format!("COUNT(CASE WHEN {valued} THEN 1 END)"),
            format!("COUNT(CASE WHEN {steps} < 0 THEN 1 END)"),
            sum(&steps),
        ];
        if self.amount.square {
            told.push(sum(&format!("{steps} * {steps}")));
        }
        if self.amount.clamping.is_some() {
            let side = self.side();
            told.extend([-1, 1].map(|at| format!("COUNT(CASE WHEN {valued} AND {side} = {at} THEN 1 END)")));
        }
        given::amount_columns(self.number, self.amount)
            .iter()
            .zip(told)
            .map(|(name, told)| format!("{told} AS {name}"))
            .collect()
    }

    fn value(&self) -> String {
        format!("x{}", self.number)
    }

    fn near(&self) -> String {
        format!("near{}", self.number)
    }

    fn steps(&self) -> String {
        format!("step{}", self.number)
    }

    /// The product of all factors but the weight.
    fn unweighted(&self) -> String {
        format!("plain{}", self.number)
    }

    /// What rows count as that have no such product.
    fn otherwise(&self) -> String {
        format!("none{}", self.number)
    }

    /// On which side of the bounds the value is: -1, 0 or 1.
    fn side(&self) -> String {
        format!("side{}", self.number)
    }

    /// The step that is 0, which both ends are multiples of.
    fn zero(&self) -> i128 {
        -i128::from(self.quantity.low) / i128::from(self.quantity.step)
    }

    /// So many units of `10^-places`, as the nearest fraction or one beside it.
    fn double(&self, units: i128) -> String {
        format!("{:e}", units as f64 / 10f64.powi(self.quantity.places.into()))
    }
}

/// The most digits of a weight as it counts, all of those behind the point among them.
fn digits(weight: &Quantity) -> u32 {
    let whole = weight.high.unsigned_abs().checked_ilog10().map_or(1, |digits| digits + 1);
    whole.max(weight.places.into())
}

#[cfg(test)]
mod tests {
    /// What the statement makes of a DOUBLE, against the shortest decimal that means it in whole numbers: near middles between steps, on both sides of zero.
    #[test]
    fn middles_of_doubles() {
        // In units of 10^-20.
        let decimal = |v: f64| -> i128 {
            let text = format!("{v}");
            let (whole, behind) = text.split_once('.').unwrap_or((&text, ""));
            format!("{whole}{behind:0<20}").parse().unwrap()
        };
        let mut ties = 0;
        for (low, step, places) in
            [(-1500i64, 10, 3), (0, 100, 0), (-7_000_000, 7, 9), (123_456, 3, 1), (-5, 1, 0)]
        {
            let unit = 10i128.pow(20 - places as u32);
            for at in 0..400i64 {
                let middle = |above: i64| {
                    ((2 * (at + above) - 1) * step + 2 * low) as f64 / (2.0 * 10f64.powi(places))
                };
                let (below, above) = (middle(0), middle(1));
                let near = middle(i64::from(at % 2 == 0));
                for beside in -3i64..=3 {
                    let v = f64::from_bits(near.to_bits().wrapping_add_signed(beside));
                    let sql = if v < below || v == below && at % 2 == 1 {
                        at - 1
                    } else if v > above || v == above && at % 2 == 1 {
                        at + 1
                    } else {
                        at
                    };
                    // Twice the steps above `low`, in parts of a step.
                    let (twice, step) = (2 * (decimal(v) - i128::from(low) * unit), i128::from(step) * unit);
                    let (half, rest) = (twice.div_euclid(step), twice.rem_euclid(step));
                    ties += i128::from(rest == 0 && half % 2 != 0);
                    let exact = match (half.rem_euclid(2), rest) {
                        (0, _) => half / 2,
                        (_, 0) => (half - 1) / 2 + (half - 1) / 2 % 2,
                        _ => (half + 1) / 2,
                    };
                    assert_eq!(i128::from(sql), exact, "{v} {low} {step} {places}");
                }
            }
        }
        // Every one is a half, though hardly any is a fraction of 64 bits.
        assert_eq!(ties, 5 * 400);
    }
}
