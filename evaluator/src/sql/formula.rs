//! What a figure is made of, for those who do not read the tree it was written as.

use super::expression::{Expr, Linear, root};

/// Linear figures and ratios of such, and the steps from them to a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Formula {
    /// Numerator and denominator, each once; a linear one has no denominator.
    pub parts: Vec<(Linear, Option<Linear>)>,
    /// Each takes what the last one or two have made.
    pub steps: Vec<Operation>,
}

/// A step of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    /// A finite constant.
    Number(f64),
    /// A part, by its index.
    Part(usize),
    /// The opposite.
    Neg,
    /// The square root; of what is below 0 that of 0.
    Root,
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient.
    Div,
}

impl Operation {
    /// What steps lead to; `of` says what each makes of the one or two before.
    pub(crate) fn follow<T>(steps: &[Operation], of: impl Fn(Operation, &[T]) -> Option<T>) -> Option<T> {
        let mut made: Vec<T> = Vec::new();
        for &step in steps {
            let taken = match step {
                Operation::Number(_) | Operation::Part(_) => 0,
                Operation::Neg | Operation::Root => 1,
                Operation::Add | Operation::Sub | Operation::Mul | Operation::Div => 2,
            };
            let from = made.len().checked_sub(taken)?;
            let next = of(step, &made[from..])?;
            made.truncate(from);
            made.push(next);
        }
        made.pop()
    }

    /// Where they lead from these values of the parts.
    pub(crate) fn value(steps: &[Operation], parts: &[f64]) -> f64 {
        let of = |step, before: &[f64]| match (step, before) {
            (Operation::Number(value), _) => Some(value),
            (Operation::Part(at), _) => parts.get(at).copied(),
            (Operation::Neg, [a]) => Some(-a),
            (Operation::Root, [a]) => Some(root(*a)),
            (Operation::Add, [a, b]) => Some(a + b),
            (Operation::Sub, [a, b]) => Some(a - b),
            (Operation::Mul, [a, b]) => Some(a * b),
            (Operation::Div, [a, b]) => Some(a / b),
            _ => None,
        };
        Operation::follow(steps, of).unwrap_or(f64::NAN)
    }
}

impl Expr {
    /// The figure as one part, where it is linear or a ratio; else of the largest parts that are.
    pub(crate) fn formula(&self) -> Formula {
        let mut formula = Formula::default();
        match self.ratio() {
            Some(ratio) => formula.part(ratio),
            None => formula.split(self),
        }
        formula
    }
}

impl Formula {
    fn part(&mut self, (numerator, denominator): (Linear, Linear)) {
        let part = (numerator, Some(denominator).filter(|d| *d != Linear::constant(1.0)));
        let known = self.parts.iter().position(|p| *p == part);
        self.steps.push(Operation::Part(known.unwrap_or(self.parts.len())));
        if known.is_none() {
            self.parts.push(part);
        }
    }

    fn split(&mut self, expr: &Expr) {
        if let Expr::Number(value) = expr {
            return self.steps.push(Operation::Number(*value));
        }
        if let Some(ratio) = expr.ratio() {
            return self.part(ratio);
        }
        let (of, step): (&[&Expr], Operation) = match expr {
            Expr::Add(a, b) => (&[a, b], Operation::Add),
            Expr::Sub(a, b) => (&[a, b], Operation::Sub),
            Expr::Mul(a, b) => (&[a, b], Operation::Mul),
            Expr::Div(a, b) => (&[a, b], Operation::Div),
            Expr::Root(a) => (&[a], Operation::Root),
            Expr::Neg(a) => (&[a], Operation::Neg),
            // Both are linear.
            Expr::Aggregate(_) | Expr::Number(_) => return,
        };
        of.iter().for_each(|part| self.split(part));
        self.steps.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a difference of means each mean is a part, and a part that comes twice stands once.
    #[test]
    fn the_largest_parts_are_taken() {
        let a = |at| Box::new(Expr::Aggregate(at));
        let mean = |sum, count| Box::new(Expr::Div(a(sum), a(count)));
        let square = Box::new(Expr::Mul(mean(0, 1), mean(0, 1)));
        let root = Expr::Root(Box::new(Expr::Sub(mean(2, 1), square)));
        let formula = root.formula();
        let part = |at| Linear { constant: 0.0, terms: vec![(at, 1.0)] };
        assert_eq!(formula.parts, [(part(2), Some(part(1))), (part(0), Some(part(1)))]);
        use Operation::{Mul, Part, Root, Sub};
        assert_eq!(formula.steps, [Part(0), Part(1), Part(1), Mul, Sub, Root]);
        let told = [6.0, 2.0, 50.0];
        assert_eq!(Operation::value(&formula.steps, &[25.0, 3.0]), root.evaluate(&told));
        assert!(Operation::value(&[Part(0), Sub], &[1.0]).is_nan());
        assert_eq!(mean(0, 1).formula().steps, [Part(0)]);
        // The standard deviation of nobody is none.
        let nobody = [f64::NAN, 0.0];
        assert!(Operation::value(&formula.steps, &nobody).is_nan() && root.evaluate(&[0.0; 3]).is_nan());
        assert_eq!(Operation::value(&formula.steps, &[2.0, 3.0]), 0.0);
    }
}
