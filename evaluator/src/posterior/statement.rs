//! What is asked of an answer beside its interval: a statement, whose probability is told, and a prior.

use super::CountPosterior;
use crate::projection::order::sure;
use std::str::FromStr;

/// A statement about the true value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statement {
    /// `> c`
    Above(f64),
    /// `>= c`
    AtLeast(f64),
    /// `< c`
    Below(f64),
    /// `<= c`
    AtMost(f64),
    /// `BETWEEN a AND b`, both included.
    Between(f64, f64),
}

/// A prior as it is asked for; totals are filled in later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PriorChoice {
    /// Any whole number.
    Flat,
    /// Any whole number from 0 up.
    NonNegative,
    /// Every unit counts with probability p, independently.
    Binomial {
        /// The number of units; without one, the release's own estimate of the total.
        n: Option<u64>,
        /// The probability for each.
        p: f64,
    },
    /// Any number of units up to n.
    Uniform {
        /// The number of units.
        n: u64,
    },
    /// Any number of units up to the total, which the release must state exactly.
    KnownTotal,
}

/// A text that is no statement or prior.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotUnderstood(String);

impl FromStr for Statement {
    type Err = NotUnderstood;

    /// Reads `> 100`, `>= 100`, `< 100`, `<= 100` or `BETWEEN 50 AND 80`.
    fn from_str(text: &str) -> Result<Statement, NotUnderstood> {
        let no = || {
            NotUnderstood(format!(
                "`{text}` is no statement:\n  write \"> 100\", \">= 100\", \"< 100\", \"<= 100\" or \"BETWEEN 50 AND 80\""
            ))
        };
        let number = |t: &str| t.trim().parse::<f64>().ok().filter(|c| c.is_finite()).ok_or_else(no);
        let t = text.trim();
        let starts: [(&str, fn(f64) -> Statement); 6] = [
            (">=", Statement::AtLeast),
            ("<=", Statement::AtMost),
            ("≥", Statement::AtLeast),
            ("≤", Statement::AtMost),
            (">", Statement::Above),
            ("<", Statement::Below),
        ];
        if let Some((rest, made)) =
            starts.iter().find_map(|(start, made)| Some((t.strip_prefix(start)?, made)))
        {
            return number(rest).map(made);
        }
        let lower = t.to_ascii_lowercase();
        let (a, b) = lower.strip_prefix("between ").and_then(|r| r.split_once(" and ")).ok_or_else(no)?;
        let (a, b) = (number(a)?, number(b)?);
        if a > b {
            return Err(NotUnderstood(format!("`{text}` is empty: {a} is greater than {b}")));
        }
        Ok(Statement::Between(a, b))
    }
}

impl FromStr for PriorChoice {
    type Err = NotUnderstood;

    /// Reads `flat`, `non-negative`, `binomial(p)`, `binomial(n, p)`, `uniform(n)` or `known-total`.
    fn from_str(text: &str) -> Result<PriorChoice, NotUnderstood> {
        let no = || {
            NotUnderstood(format!(
                "`{text}` is no prior:\n  write flat, non-negative, binomial(p), binomial(n, p), uniform(n) or known-total"
            ))
        };
        let t = text.trim().to_ascii_lowercase();
        let whole = |t: &str| t.trim().parse::<u64>().map_err(|_| no());
        match t.as_str() {
            "flat" => return Ok(PriorChoice::Flat),
            "non-negative" => return Ok(PriorChoice::NonNegative),
            "known-total" => return Ok(PriorChoice::KnownTotal),
            _ => {}
        }
        let (name, inside) = t.strip_suffix(')').and_then(|t| t.split_once('(')).ok_or_else(no)?;
        match name.trim() {
            "uniform" => Ok(PriorChoice::Uniform { n: whole(inside)? }),
            "binomial" => {
                let (n, p) = match inside.split_once(',') {
                    Some((n, p)) => (Some(whole(n)?), p),
                    None => (None, inside),
                };
                let p: f64 = p.trim().parse().map_err(|_| no())?;
                if !(0.0..=1.0).contains(&p) {
                    return Err(NotUnderstood(format!("{p} is not a probability")));
                }
                Ok(PriorChoice::Binomial { n, p })
            }
            _ => Err(no()),
        }
    }
}

impl Statement {
    /// How sure the order of a sketch's rows makes it, at least.
    pub(crate) fn sure(&self, rows: &[f64]) -> f64 {
        let side =
            |holds: &dyn Fn(f64) -> bool| sure(rows.iter().filter(|&&row| holds(row)).count(), rows.len());
        match *self {
            Statement::Between(from, to) => {
                (side(&|row| row >= from) + side(&|row| row <= to) - 1.0).max(0.0)
            }
            _ => side(&|row| self.holds(row)),
        }
    }

    /// Whether it is true of a number.
    pub(crate) fn holds(&self, value: f64) -> bool {
        match *self {
            Statement::Above(c) => value > c,
            Statement::AtLeast(c) => value >= c,
            Statement::Below(c) => value < c,
            Statement::AtMost(c) => value <= c,
            Statement::Between(a, b) => a <= value && value <= b,
        }
    }

    /// Its probability, where `above` tells that of more than a number, or of at least so much.
    pub(crate) fn probability_by<E>(&self, above: impl Fn(f64, bool) -> Result<f64, E>) -> Result<f64, E> {
        Ok(match *self {
            Statement::Above(c) => above(c, false)?,
            Statement::AtLeast(c) => above(c, true)?,
            Statement::Below(c) => 1.0 - above(c, true)?,
            Statement::AtMost(c) => 1.0 - above(c, false)?,
            Statement::Between(a, b) => above(a, true)? - above(b, false)?,
        }
        .clamp(0.0, 1.0))
    }

    /// Its probability under the posterior of a count.
    pub(crate) fn posterior(&self, count: &CountPosterior) -> f64 {
        // Counts are whole: `> 2.5` is `>= 3`.
        let at_most = |c: f64| count.cdf(libm::floor(c) as i64);
        let below = |c: f64| count.cdf(libm::ceil(c) as i64 - 1);
        match *self {
            Statement::Above(c) => 1.0 - at_most(c),
            Statement::AtLeast(c) => 1.0 - below(c),
            Statement::Below(c) => below(c),
            Statement::AtMost(c) => at_most(c),
            Statement::Between(a, b) => at_most(b) - below(a),
        }
        .clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_priors_are_read() {
        let s = |t: &str| t.parse::<Statement>();
        assert_eq!(s("> 100"), Ok(Statement::Above(100.0)));
        assert_eq!(s(">=-1.5"), Ok(Statement::AtLeast(-1.5)));
        assert_eq!(s(" < 1e3 "), Ok(Statement::Below(1000.0)));
        assert_eq!(s("<= 0"), Ok(Statement::AtMost(0.0)));
        assert_eq!(s("between 50 And 80"), Ok(Statement::Between(50.0, 80.0)));
        for bad in ["", "100", "> x", "BETWEEN 80 AND 50", "> inf", "BETWEEN 1", "= 3"] {
            assert!(s(bad).is_err(), "{bad}");
        }
        let p = |t: &str| t.parse::<PriorChoice>();
        assert_eq!(p("flat"), Ok(PriorChoice::Flat));
        assert_eq!(p("Binomial(0.3)"), Ok(PriorChoice::Binomial { n: None, p: 0.3 }));
        assert_eq!(p("binomial(100, 0.3)"), Ok(PriorChoice::Binomial { n: Some(100), p: 0.3 }));
        assert_eq!(p("uniform(20)"), Ok(PriorChoice::Uniform { n: 20 }));
        assert_eq!(p("known-total"), Ok(PriorChoice::KnownTotal));
        for bad in ["", "normal", "binomial", "binomial(2)", "uniform(-1)", "uniform(1.5)", "binomial(a,0.1)"]
        {
            assert!(p(bad).is_err(), "{bad}");
        }
    }
}
