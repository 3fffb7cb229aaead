//! From the SELECT list's arithmetic to expressions over linear aggregates.

use super::bands::Bands;
use super::error::SqlError;
use super::expression::{Aggregate, Expr, Linear, powers};
use super::literal::{Literal, literal};
use super::names::{Column, Names};
use super::predicate::named;
use super::tree::{self, Args, Function, Node, Operator, Unary};
use super::truth::{Truth, Undecided};
use super::{Fate, LeftOut};
use crate::cube::{Filter, Level, NoValue, Number, Quantity, Summand, TooIntricate, Weighing};
use std::sync::Arc;

mod window;

pub(super) use window::Scope;

/// Reads figures and collects the aggregates they are made of, each once.
pub(super) struct Figures<'a> {
    pub names: &'a Names<'a>,
    pub groups: &'a [Level],
    /// The units that are counted: WHERE.
    pub condition: Filter,
    /// What is grouped by beside levels.
    pub bands: &'a [Bands<'a>],
    /// Levels above those of `groups` that totals keep to.
    pub above: Vec<Level>,
    pub aggregates: Vec<Aggregate>,
    /// What has no number so far; the column is filled in by whoever knows it.
    pub left_out: Vec<LeftOut>,
    /// Over which rows figures are taken.
    pub scope: Scope,
}

/// What SUM, AVG or COUNT is taken of: a number for every cell, and whether there is one. A category without
/// numbers (a missing value) adds nothing to a sum and does not count towards an average, as in SQL.
struct Argument {
    value: Filter,
    present: Filter,
    /// Where the number is an amount, of which `value` and `present` know nothing: for each amount its cells.
    amounts: Vec<(Arc<Quantity>, Filter)>,
    /// For each level that is added up the cells in which it stands for several numbers. Their value is NaN: it matters only if
    /// such cells are not excluded.
    unclear: Vec<(Column, Filter)>,
    /// For each level that is added up the cells in which it has no number. NULL that a CASE asks for is not
    /// among them: that is the query's own choice.
    unknown: Vec<(Column, Filter)>,
    /// For each level that a WHEN compares the cells of which nobody knows whether they meet it.
    undecided: Vec<(Column, Fate, Filter)>,
}

/// What there is, for those who know it by another name.
pub(super) const QUANTILES: &str = "possible are MEDIAN(age) and QUANTILE(age, 0.9), of a dimension whose categories are numbers, or bands that do not overlap";
const POSSIBLE: &str = "possible are COUNT(*), SUM, AVG, VARIANCE and STDDEV of an amount, a numeric dimension or a CASE, and + - * / of them; and as columns of their own MEDIAN, QUANTILE, RANK and ROUND";

impl Figures<'_> {
    /// A column of SELECT, or what rows are put in order by. Squares of figures, and of their errors, are to be numbers: so what they are multiplied
    /// by is not to be without bounds.
    pub(super) fn column(&mut self, expr: &tree::Expr) -> Result<Expr, SqlError> {
        const POWERS: f64 = 100.0;
        let figure = self.figure(expr)?;
        let weights = |at: usize| self.aggregates.get(at).into_iter().flat_map(|a| &a.filter.weights);
        let own = |at| powers(weights(at).fold(0.0, |most: f64, w| most.max(w.abs())));
        match figure.powers(&own) <= POWERS {
            true => Ok(figure),
            false => Err(SqlError::new("the numbers in this figure are too large or too small")
                .at(expr.span())
                .help("multiplied and divided they must stay between 1e-100 and 1e100")),
        }
    }

    /// A figure, or a part of one.
    fn figure(&mut self, expr: &tree::Expr) -> Result<Expr, SqlError> {
        if let Some(Literal::Number(value, written)) = literal(expr) {
            return no_trace(value, &written).map(Expr::Number).map_err(|e| e.at(expr.span()));
        }
        match &expr.node {
            Node::Nested(inner) | Node::Unary(Unary::Plus, inner) => self.figure(inner),
            Node::Unary(Unary::Minus, inner) => Ok(Expr::Neg(Box::new(self.figure(inner)?))),
            Node::Binary(..) => self.chain(expr),
            Node::Function(function) => self.function(function, expr),
            _ => {
                let error = match self.names.column(expr) {
                    Some(Err(error)) => error,
                    Some(Ok(column)) => {
                        SqlError::new(format!("{} is a label, not a figure", self.names.name(column))).help(
                            format!("write AVG({0}) or SUM({0}) if it is numeric", self.names.name(column)),
                        )
                    }
                    None => SqlError::new(format!("{} cannot be asked of a release", named(expr))).help(
                        match &expr.node {
                            Node::Foreign("WITHIN GROUP") => QUANTILES,
                            _ => POSSIBLE,
                        },
                    ),
                };
                Err(error.at(expr.span()))
            }
        }
    }

    /// `a + b - c …`, which the syntax tree nests to the left: walked in a loop, not by recursion.
    fn chain(&mut self, expr: &tree::Expr) -> Result<Expr, SqlError> {
        use Operator::{Divide, Minus, Multiply, Plus};
        let mut steps = Vec::new();
        let mut rest = expr;
        while let Node::Binary(left, op @ (Plus | Minus | Multiply | Divide), right) = &rest.node {
            if let Some(Err(error)) = self.names.column(rest) {
                return Err(error); // a name with a hyphen that lacks its quotes
            }
            steps.push((op, &**right));
            rest = left;
        }
        if steps.is_empty() {
            return Err(SqlError::new(format!("{} cannot be asked of a release", named(expr)))
                .at(expr.span())
                .help(POSSIBLE));
        }
        let mut figure = self.figure(rest)?;
        for (op, right) in steps.into_iter().rev() {
            let (a, b) = (figure, self.figure(right)?);
            if *op == Divide && b == Expr::Number(0.0) {
                return Err(SqlError::new("this divides by zero").at(right.span()));
            }
            // What is counted and taken away again.
            let nothing = |b: &Linear| b.terms.is_empty() && b.constant == 0.0;
            if *op == Divide && b.ratio().is_some_and(|(above, _)| nothing(&above)) {
                let why = format!("this divides by zero: {right} is always 0");
                return Err(SqlError::new(why).at(right.span()));
            }
            let constants =
                if let (Expr::Number(a), Expr::Number(b)) = (&a, &b) { Some((*a, *b)) } else { None };
            let (a, b) = (Box::new(a), Box::new(b));
            figure = match op {
                Plus => Expr::Add(a, b),
                Minus => Expr::Sub(a, b),
                Multiply => Expr::Mul(a, b),
                _ => Expr::Div(a, b),
            };
            if let Some((a, b)) = constants {
                let value = figure.evaluate(&[]);
                if value == 0.0 && a != 0.0 && b != 0.0 && matches!(op, Multiply | Divide) {
                    return Err(SqlError::new(TOO_SMALL).at(right.span()));
                }
                if !value.is_finite() {
                    return Err(SqlError::new("this number is too large").at(right.span()));
                }
                figure = Expr::Number(value);
            }
        }
        Ok(figure)
    }

    fn function(&mut self, function: &Function, expr: &tree::Expr) -> Result<Expr, SqlError> {
        let Some(window) = &function.over else {
            let name = called(function).ok_or_else(|| not_possible(function, expr))?;
            return self.over(name, function, expr);
        };
        let (inner, scope) = self.scoped(function, window, expr)?;
        let before = std::mem::replace(&mut self.scope, scope);
        let figure = self.figure(inner);
        self.scope = before;
        figure
    }

    /// Refuses a figure that counts rows where rows have weights.
    pub(super) fn unweighted(&self, function: &Function, expr: &tree::Expr) -> Result<(), SqlError> {
        let Some(weight) = self.names.weight() else { return Ok(()) };
        let why = format!("{} counts rows, and here rows have the weights {}", function.name, weight.name);
        Err(SqlError::new(why).at(expr.span()).help("ask for COUNT(*) by the values themselves"))
    }

    /// COUNT, SUM or AVG: over the row's own group, or over the groups of a total.
    fn over(&mut self, name: Name, function: &Function, expr: &tree::Expr) -> Result<Expr, SqlError> {
        let of = match name {
            Name::Avg => {
                let sum = self.over(Name::Sum, function, expr)?;
                let of = self.present(function, expr)?;
                let count = self.figure_of(Name::Count, of).map_err(|e| e.at(expr.span()))?;
                return Ok(Expr::Div(Box::new(sum), Box::new(count)));
            }
            Name::Variance { sample, root } => {
                let of = self.total(function, expr)?;
                let root_of = |variance| if root { Expr::Root(Box::new(variance)) } else { variance };
                if of.amounts.is_empty() {
                    self.unweighted(function, expr)?;
                    let present = self.present(function, expr)?.rows;
                    let parts =
                        from_middle(of.rows, &present).map_err(|e| SqlError::from(e).at(expr.span()))?;
                    let [count, t, squares] = parts.map(|rows| self.add(rows, Summand::Rows));
                    return Ok(root_of(spread(sample, count, t, squares)));
                }
                // A row that counts as 0 adds nothing to a sum; it has a value all the same.
                let alone = self.present(function, expr)?.rows.is_nothing() && of.amounts.len() == 1;
                let (quantity, rows) = of.amounts.into_iter().next().filter(|_| alone).ok_or_else(|| {
                    SqlError::new(format!("{} is only known of one amount", function.name))
                        .at(expr.span())
                        .help("an amount alone has one: in a CASE without ELSE, or with FILTER (WHERE …)")
                })?;
                let variance = self.variance(sample, &quantity, &rows);
                return Ok(root_of(variance));
            }
            Name::Sum => self.total(function, expr)?,
            Name::Count => self.present(function, expr)?,
        };
        self.figure_of(name, of).map_err(|e| e.at(expr.span()))
    }

    /// The variance of an amount over these rows, of the whole population or estimated from a sample. With `t` the distance from the middle in
    /// halves of a step s, and `u = 2t² − reach²` what is measured of squares, it is `s²/4 · (Σt² − (Σt)²/n)/n`, or over n − 1.
    fn variance(&mut self, sample: bool, quantity: &Arc<Quantity>, rows: &Filter) -> Expr {
        let count = self.of_quantity(Name::Count, quantity, rows);
        let mut part = |subject| self.add(rows.clone(), subject);
        let (t, u) = (part(Summand::Sum(quantity.clone())), part(Summand::Squares(quantity.clone())));
        let number = |x: f64| Box::new(Expr::Number(x));
        let half = |e: Expr| Box::new(Expr::Mul(number(0.5), Box::new(e)));
        let reach = quantity.reach() as f64;
        let largest = Expr::Mul(number(reach * reach), Box::new(count.clone()));
        let squares = Expr::Add(half(u), half(largest));
        let variance = spread(sample, count, t, squares);
        Expr::Mul(number(quantity.grain() * quantity.grain()), Box::new(variance))
    }

    /// The sum or the number of values, where rows have them by their categories and by amounts.
    fn figure_of(&mut self, name: Name, of: Added) -> Result<Expr, SqlError> {
        let mut parts = Vec::new();
        let weighs = of.amounts.iter().any(|(quantity, _)| quantity.weighing == Weighing::Weighted);
        let plain = of.amounts.iter().find(|(quantity, _)| quantity.weighing != Weighing::Weighted);
        let as_rows = !of.rows.is_nothing();
        if let Some((plain, _)) = plain.filter(|_| weighs && (as_rows || name == Name::Count)) {
            let why = format!(
                "some of these values are multiplied by weights, and those of {} are not",
                plain.name
            );
            return Err(SqlError::new(why).help("ask for each of them by a figure of its own"));
        }
        if of.amounts.is_empty() || as_rows {
            // Beside values that are as rows have them, rows count as they are.
            let weighs = of.amounts.is_empty() || weighs;
            let rows = match self.names.weight().filter(|_| weighs) {
                Some(weight) => self.of_quantity(Name::Sum, weight, &of.rows),
                None => self.add(of.rows, Summand::Rows),
            };
            parts.push(rows);
        }
        for (quantity, rows) in of.amounts {
            parts.push(self.of_quantity(name, &quantity, &rows));
        }
        let sum = |a: Expr, b| Expr::Add(Box::new(a), Box::new(b));
        Ok(parts.into_iter().reduce(sum).unwrap_or(Expr::Number(0.0)))
    }

    /// The sum of an amount over these rows, or how many of them have a value: the sum is told by what is measured from the middle, and by that
    /// number. Where values were multiplied by weights the number is that of the weights.
    fn of_quantity(&mut self, name: Name, quantity: &Arc<Quantity>, rows: &Filter) -> Expr {
        let weight = self.names.weight().filter(|_| quantity.weighing == Weighing::Weighted);
        if let Some(weight) = weight.filter(|_| name == Name::Count) {
            return self.of_quantity(Name::Sum, weight, rows);
        }
        let mut part = |subject| self.add(rows.clone(), subject);
        let count = match quantity.missing {
            NoValue::Skip => Summand::Valued(quantity.clone()),
            NoValue::Stop | NoValue::Zero => Summand::Rows,
        };
        if name == Name::Count {
            return part(count);
        }
        let times = |by: f64, of: Expr| Expr::Mul(Box::new(Expr::Number(by)), Box::new(of));
        let sum = times(quantity.grain(), part(Summand::Sum(quantity.clone())));
        match quantity.needs_count() {
            true => Expr::Add(Box::new(sum), Box::new(times(quantity.origin(), part(count)))),
            false => sum,
        }
    }

    fn add(&mut self, filter: Filter, subject: Summand) -> Expr {
        let Scope { partition, stretch } = self.scope.clone();
        let aggregate = Aggregate { filter, partition, subject, stretch };
        let known = self.aggregates.iter().position(|a| *a == aggregate);
        Expr::Aggregate(known.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        }))
    }

    /// The rows a function looks at: WHERE and its own FILTER.
    fn rows(&mut self, function: &Function) -> Result<Filter, SqlError> {
        let Some(filter) = &function.filter else { return Ok(self.condition.clone()) };
        let truth = self.names.truth(filter)?;
        self.undecided(&truth, &self.condition.clone(), Fate::Unmet).map_err(|e| e.at(filter.span()))?;
        self.condition.and(&truth.holds).map_err(|e| SqlError::from(e).at(filter.span()))
    }

    /// Remembers the units among these of which nobody knows whether they meet a condition; `unmet` is what becomes of those who count
    /// as not meeting it.
    pub(crate) fn undecided(&mut self, truth: &Truth, rows: &Filter, unmet: Fate) -> Result<(), SqlError> {
        for Undecided { column, units, counted } in truth.undecided()? {
            let fate = if counted { Fate::Met } else { unmet };
            let units = rows.and(&units)?;
            self.pass_over(column, fate, units);
        }
        Ok(())
    }

    /// The units that an argument has no number for, and those that its WHEN cannot decide on.
    fn open(&mut self, argument: &Argument, rows: &Filter, expr: &tree::Expr) -> Result<(), SqlError> {
        for (column, fate, cells) in &argument.undecided {
            let units = rows.and(cells).map_err(|e| SqlError::from(e).at(expr.span()))?;
            self.pass_over(*column, *fate, units);
        }
        Ok(())
    }

    /// What SUM adds up.
    fn total(&mut self, function: &Function, expr: &tree::Expr) -> Result<Added, SqlError> {
        let argument = self.argument(only(function, expr)?)?;
        let rows = self.rows(function)?;
        let filter = rows.and(&argument.value).map_err(|e| SqlError::from(e).at(expr.span()))?;
        for (column, unknown) in &argument.unknown {
            let units = rows.and(unknown).map_err(|e| SqlError::from(e).at(expr.span()))?;
            self.pass_over(*column, Fate::NotAdded, units);
        }
        self.open(&argument, &rows, expr)?;
        for (column, several) in &argument.unclear {
            let units = rows.and(several).map_err(|e| SqlError::from(e).at(expr.span()))?;
            if !units.is_nothing() {
                return Err(self.no_number(function, *column, &units).at(expr.span()));
            }
        }
        match filter.weights.iter().any(|w| !w.is_finite()) {
            true => Err(SqlError::new("this number is too large").at(expr.span())),
            false => Added::within(&rows, filter, argument.amounts).map_err(|e| e.at(expr.span())),
        }
    }

    /// Why the categories that these units are in cannot be added up, and what can be done instead.
    fn no_number(&self, function: &Function, column: Column, units: &Filter) -> SqlError {
        let (level, name) = (self.names.level(column), self.names.name(column));
        let met = self.met(column, units);
        let several = (0..level.len()).find(|&node| met[node] && level.number(node) == Number::Several);
        let label = several.and_then(|node| level.labels.get(node)).map_or("", String::as_str);
        let has_numbers = (0..level.len()).any(|node| matches!(level.number(node), Number::One(_)));
        let instead = match level.in_order().filter(|_| self.names.weight().is_none()) {
            _ if has_numbers => format!(
                "{} needs one number for each category: leave such categories out with WHERE, or count instead",
                function.name
            ),
            Some(_) => format!("no category of {name} is one number: count, or use MEDIAN({name})"),
            None => format!("no category of {name} is one number: count instead"),
        };
        SqlError::new(format!("{name} {label} stands for more than one number")).help(instead)
    }

    /// The categories of a level that any of these units are in.
    fn met(&self, column: Column, units: &Filter) -> Vec<bool> {
        let (dimension, level) = (&self.names.cube.dimensions[column.dim], self.names.level(column));
        // Of a class without weight there are none: WHERE leaves out those categories, too.
        let weighs: Option<Vec<bool>> = units.classes(column.dim).map(|c| units.weighing(c));
        let mut met = vec![false; level.len()];
        let up = dimension.ancestors(dimension.finest(), column.level);
        for (finest, &node) in up.iter().enumerate() {
            let class = units.classes(column.dim).and_then(|c| c.class_of.get(finest));
            met[node as usize] |= weighs.as_ref().zip(class).is_none_or(|(w, &c)| w[c as usize]);
        }
        met
    }

    /// Remembers what becomes of units without a number, if there are any.
    pub(super) fn pass_over(&mut self, column: Column, fate: Fate, units: Filter) {
        if units.is_nothing() {
            return;
        }
        let level = self.names.level(column);
        let (met, unknown) = (self.met(column, &units), self.names.incomparable(column));
        let passed = level
            .labels
            .iter()
            .zip(met.iter().zip(&unknown))
            .filter(|(_, (met, unknown))| **met && **unknown);
        let categories = passed.map(|(label, _)| label.clone());
        let left_out = LeftOut {
            column: None,
            fate,
            level: self.names.name(column),
            categories: categories.collect(),
            within: level.within(),
            units,
        };
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// What COUNT counts: every row that has a value.
    fn present(&mut self, function: &Function, expr: &tree::Expr) -> Result<Added, SqlError> {
        let rows = self.rows(function)?;
        if function.args == Args::Star {
            return Ok(Added { rows, amounts: Vec::new() });
        }
        let argument = only(function, expr)?;
        if is_name(function, "count")
            && self.names.quantity(argument).is_none()
            && let Some(column) = self.names.column(argument)
        {
            let column = column?;
            let present = self.names.present(column).ok_or_else(|| {
                let name = self.names.name(column);
                SqlError::new(format!(
                    "the release does not say which category of {name} stands for a missing value"
                ))
                .at(argument.span())
                .help("COUNT(*) counts rows; leave categories out with WHERE")
            })?;
            let rows = rows.and(&present).map_err(|e| SqlError::from(e).at(argument.span()))?;
            return Ok(Added { rows, amounts: Vec::new() });
        }
        let argument = self.argument(argument)?;
        self.open(&argument, &rows, expr)?;
        let present = rows.and(&argument.present).map_err(|e| SqlError::from(e).at(expr.span()))?;
        Added::within(&rows, present, argument.amounts).map_err(|e| e.at(expr.span()))
    }

    fn argument(&self, expr: &tree::Expr) -> Result<Argument, SqlError> {
        if let Some(quantity) = self.names.quantity(expr) {
            let all = (quantity.clone(), Filter::everything());
            return Ok(Argument { amounts: vec![all], ..Argument::absent() });
        }
        match literal(expr) {
            Some(Literal::Number(value, written)) => {
                let value = no_trace(value, &written).map_err(|e| e.at(expr.span()))?;
                return Ok(Argument {
                    value: Filter::constant(value),
                    present: Filter::everything(),
                    ..Argument::absent()
                });
            }
            Some(Literal::Null) => return Ok(Argument::absent()),
            _ => {}
        }
        match &expr.node {
            Node::Nested(inner) => self.argument(inner),
            Node::Case { operand: None, when, otherwise } => {
                let mut all = match otherwise {
                    Some(result) => self.argument(result)?,
                    None => Argument::absent(),
                };
                for (condition, result) in when.iter().rev() {
                    let (truth, then) = (self.names.truth(condition)?, self.argument(result)?);
                    all = all.unless(&truth, then).map_err(|e| e.at(condition.span()))?;
                }
                Ok(all)
            }
            Node::Case { .. } => {
                Err(SqlError::new("CASE with a value after it cannot be asked of a release")
                    .at(expr.span())
                    .help("write CASE WHEN condition THEN number ELSE number END"))
            }
            Node::Function(inner) => {
                Err(SqlError::new(format!("{} cannot stand inside another function", inner.name))
                    .at(expr.span())
                    .help("for a total over groups write SUM(COUNT(*)) OVER ()"))
            }
            _ => match self.names.column(expr) {
                Some(column) => self.numbers(column?),
                None => Err(SqlError::new(format!("{} cannot be added up", named(expr)))
                    .at(expr.span())
                    .help(outside(expr).unwrap_or_else(|| ADDED.into()))),
            },
        }
    }

    /// The number of every category of a level.
    fn numbers(&self, column: super::names::Column) -> Result<Argument, SqlError> {
        let level = self.names.level(column);
        let name = self.names.name(column);
        if !level.is_numeric() {
            return Err(SqlError::new(format!("{name} has no numbers")).at(column.span).help(POSSIBLE));
        }
        let mut several = false;
        let numbers: Vec<Option<f64>> = (0..level.len())
            .map(|node| match level.number(node) {
                Number::One(number) => Some(number),
                Number::Unknown => None,
                Number::Several => {
                    several = true;
                    Some(f64::NAN)
                }
            })
            .collect();
        let dimension = &self.names.cube.dimensions[column.dim];
        let of_finest: Vec<Option<f64>> = dimension
            .ancestors(dimension.finest(), column.level)
            .into_iter()
            .map(|node| numbers.get(node as usize).copied().flatten())
            .collect();
        let values: Vec<f64> = of_finest.iter().map(|v| v.unwrap_or(0.0)).collect();
        let present: Vec<bool> = of_finest.iter().map(Option::is_some).collect();
        let present = Filter::nodes(column.dim, &present);
        let unknown = vec![(column, present.clone().complement())];
        let mut unclear = Vec::new();
        if several {
            let is_nan: Vec<bool> = values.iter().map(|v| v.is_nan()).collect();
            unclear.push((column, Filter::nodes(column.dim, &is_nan)));
        }
        Ok(Argument {
            value: Filter::values(column.dim, &values),
            present,
            unclear,
            unknown,
            ..Argument::absent()
        })
    }
}

/// What a function adds up or counts: rows by their weights, and what rows in these cells have of amounts.
struct Added {
    rows: Filter,
    amounts: Vec<(Arc<Quantity>, Filter)>,
}

impl Added {
    /// These weights of rows, and amounts in these cells of `all` rows.
    fn within(all: &Filter, rows: Filter, amounts: Vec<(Arc<Quantity>, Filter)>) -> Result<Added, SqlError> {
        let own = amounts.into_iter().map(|(quantity, cells)| Ok((quantity, all.and(&cells)?)));
        Ok(Added { rows, amounts: own.collect::<Result<_, SqlError>>()? })
    }
}

impl Argument {
    /// NULL.
    fn absent() -> Argument {
        Argument {
            value: Filter::constant(0.0),
            present: Filter::constant(0.0),
            amounts: Vec::new(),
            unclear: Vec::new(),
            unknown: Vec::new(),
            undecided: Vec::new(),
        }
    }

    /// `CASE WHEN condition THEN then ELSE self END`.
    fn unless(self, truth: &Truth, then: Argument) -> Result<Argument, SqlError> {
        let condition = &truth.holds;
        let otherwise = condition.clone().complement();
        let (mut unknown, mut unclear, mut undecided) = (Vec::new(), Vec::new(), Vec::new());
        let mut amounts: Vec<(Arc<Quantity>, Filter)> = Vec::new();
        for Undecided { column, units, counted } in truth.undecided()? {
            if counted {
                undecided.push((column, Fate::Met, units));
                continue;
            }
            // They go to ELSE, or to the WHEN after this one; where that is NULL they are left out.
            undecided.push((column, Fate::Otherwise, units.and(&self.present)?));
            undecided.push((column, Fate::Unmet, units.and(&self.present.clone().complement())?));
        }
        for (part, of) in [(condition, &then), (&otherwise, &self)] {
            for (column, cells) in &of.unknown {
                unknown.push((*column, part.and(cells)?));
            }
            for (column, cells) in &of.unclear {
                unclear.push((*column, part.and(cells)?));
            }
            for (quantity, cells) in &of.amounts {
                let cells = part.and(cells)?;
                match amounts.iter_mut().find(|(known, _)| known == quantity) {
                    Some((_, all)) => *all = all.plus(&cells)?,
                    None => amounts.push((quantity.clone(), cells)),
                }
            }
            for (column, fate, cells) in &of.undecided {
                undecided.push((*column, *fate, part.and(cells)?));
            }
        }
        Ok(Argument {
            value: condition.and(&then.value)?.plus(&otherwise.and(&self.value)?)?,
            present: condition.and(&then.present)?.plus(&otherwise.and(&self.present)?)?,
            amounts,
            unclear,
            unknown,
            undecided,
        })
    }
}

const TOO_SMALL: &str = "this number is too small";

/// A number, unless doubles have nothing left of what was written.
fn no_trace(value: f64, written: &str) -> Result<f64, SqlError> {
    let digits = written.split(['e', 'E']).next().unwrap_or(written);
    match value == 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        true => Err(SqlError::new(TOO_SMALL)),
        false => Ok(value),
    }
}

/// How many rows have a number, the sum of its distances from the middle, and that of their squares: smaller numbers than those from zero, and
/// less noise.
fn from_middle(values: Filter, present: &Filter) -> Result<[Filter; 3], TooIntricate> {
    let known = values.weights.iter().copied().filter(|w| *w != 0.0);
    let (lo, hi) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), w| (w.min(lo), w.max(hi)));
    let middle = if lo <= hi { f64::midpoint(lo, hi) } else { 0.0 };
    let t = values.plus(&present.and(&Filter::constant(-middle))?)?;
    let squares = t.and(&t)?;
    Ok([present.clone(), t, squares])
}

/// The variance of `count` numbers from the sums of their distances from anywhere and of the squares of these, of a whole population or estimated from a
/// sample: `(Σt² − (Σt)²/n)/n`, or over n − 1.
fn spread(sample: bool, count: Expr, t: Expr, squares: Expr) -> Expr {
    let below = match sample {
        true => Expr::Sub(Box::new(count.clone()), Box::new(Expr::Number(1.0))),
        false => count.clone(),
    };
    let over = |a: Expr, b: Expr| Box::new(Expr::Div(Box::new(a), Box::new(b)));
    let square = Expr::Mul(over(t.clone(), below.clone()), over(t, count));
    Expr::Sub(over(squares, below), Box::new(square))
}

/// The functions there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Count,
    Sum,
    Avg,
    /// Of a whole population or estimated from a sample; its root, or itself.
    Variance {
        sample: bool,
        root: bool,
    },
}

/// What can be added up.
const ADDED: &str =
    "possible are a number, an amount, a numeric dimension, and CASE WHEN condition THEN … ELSE … END";

/// The same sum with its factors, signs and terms outside, where they can stand there: `2 * SUM(x)` for `SUM(2 * x)`.
fn outside(expr: &tree::Expr) -> Option<String> {
    use Operator::{Divide, Minus, Multiply, Plus};
    let number = |e: &tree::Expr| matches!(literal(e), Some(Literal::Number(..)));
    let sum = match &expr.node {
        Node::Unary(Unary::Minus, of) => format!("-SUM({of})"),
        Node::Binary(a, Multiply, b) if number(a) => format!("{a} * SUM({b})"),
        Node::Binary(a, Multiply | Divide, b) if number(b) => match &expr.node {
            Node::Binary(_, Divide, _) => format!("SUM({a}) / {b}"),
            _ => format!("{b} * SUM({a})"),
        },
        Node::Binary(a, Plus, b) => format!("SUM({a}) + SUM({b})"),
        Node::Binary(a, Minus, b) => format!("SUM({a}) - SUM({b})"),
        _ => return None,
    };
    Some(format!("write {sum}"))
}

fn is_name(function: &Function, name: &str) -> bool {
    function.name.eq_ignore_ascii_case(name)
}

/// What they are called.
const NAMES: [(&str, Name); 9] = [
    ("count", Name::Count),
    ("sum", Name::Sum),
    ("avg", Name::Avg),
    ("var_pop", Name::Variance { sample: false, root: false }),
    ("var_samp", Name::Variance { sample: true, root: false }),
    ("variance", Name::Variance { sample: true, root: false }),
    ("stddev_pop", Name::Variance { sample: false, root: true }),
    ("stddev_samp", Name::Variance { sample: true, root: true }),
    ("stddev", Name::Variance { sample: true, root: true }),
];

/// A plain call of a function there is, with no clause of another kind.
fn called(function: &Function) -> Option<Name> {
    let named = NAMES.into_iter().find(|(name, _)| is_name(function, name))?;
    function.duplicates.is_none().then_some(named.1)
}

fn not_possible(function: &Function, expr: &tree::Expr) -> SqlError {
    let known = NAMES.iter().any(|(name, _)| is_name(function, name));
    let what = match known && function.duplicates.is_some() {
        true => format!("{} with DISTINCT or ALL", function.name),
        false => format!("the function {}", function.name),
    };
    let name = function.name.to_ascii_lowercase();
    if ["quantile", "median"].contains(&name.as_str()) {
        return SqlError::new(format!("{} stands alone: nothing is reckoned with it", function.name))
            .at(expr.span())
            .help(format!("select it as a column of its own: {QUANTILES}"));
    }
    let quantile = ["percentile", "quantile", "median"].iter().any(|part| name.contains(part));
    let possible = if quantile { QUANTILES } else { POSSIBLE };
    SqlError::new(format!("{what} cannot be asked of a release")).at(expr.span()).help(possible)
}

/// The one expression a function is taken of.
fn only<'e>(function: &'e Function, expr: &tree::Expr) -> Result<&'e tree::Expr, SqlError> {
    match &function.args {
        Args::List(list) if list.len() == 1 => Ok(&list[0]),
        _ => {
            Err(SqlError::new(format!("{} takes one argument", function.name)).at(expr.span()).help(POSSIBLE))
        }
    }
}

/// Whether an expression is itself a function of many units.
pub(super) fn is_aggregate(expr: &tree::Expr) -> bool {
    let names = || NAMES.iter().map(|(name, _)| *name).chain(["median", "quantile", "lag", "lead", "rank"]);
    matches!(&expr.node, Node::Function(function) if names().any(|name| is_name(function, name)))
}

/// Whether an expression is plainly `COUNT(*)`.
pub(crate) fn is_count(expr: &tree::Expr) -> bool {
    match &expr.node {
        Node::Nested(inner) => is_count(inner),
        Node::Function(function) if function.over.is_none() && function.filter.is_none() => {
            called(function) == Some(Name::Count) && function.args == Args::Star
        }
        _ => false,
    }
}
