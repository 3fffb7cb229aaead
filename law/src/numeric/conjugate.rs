//! Conjugate gradients, preconditioned: the one loop behind every system that is solved without a matrix.
//!
//! What a vector is and how it is multiplied is the caller's; so are the order in which numbers are added up, which makes every
//! bit of the result, and the rules by which to stop.

/// A symmetric system `M v = q` that is never written out.
pub trait System {
    /// What it acts on.
    type Vector: Clone;

    /// `M v`, and `vᵀ M v`. `None` when it has no value.
    fn apply(&self, v: &Self::Vector) -> Option<(Self::Vector, f64)>;

    /// `xᵀ y`.
    fn dot(&self, x: &Self::Vector, y: &Self::Vector) -> f64;

    /// `P r`, for a `P` that is close to the inverse of `M`.
    fn precondition(&self, r: &Self::Vector) -> Self::Vector {
        r.clone()
    }

    /// `x + by · y`.
    fn add(&self, x: &mut Self::Vector, by: f64, y: &Self::Vector);

    /// `x + by · y`, in the place of `y`.
    fn turn(&self, y: &mut Self::Vector, by: f64, x: &Self::Vector);
}

/// When to stop.
pub struct Rules {
    /// How small a residual is 0, relative to the right-hand side.
    pub tolerance: f64,
    /// How small a squared residual `rᵀ P r` is 0 whatever the right-hand side is: what rounding may have left in that.
    pub floor: f64,
    /// The most steps.
    pub most_steps: usize,
    /// Whether `M` may be singular: then a direction that it does not see ends the search.
    pub singular: bool,
    /// For a system that may have no solution, whose steps then grow without bound: by how much the squared residual may exceed its least
    /// before the search is given up. The solution is then the one of the least residual.
    pub growth: Option<f64>,
}

/// Where the search ended.
pub struct Solved<V> {
    /// `v`.
    pub solution: V,
    /// The squared residual `rᵀ P r` of the start.
    pub start: f64,
    /// That of the solution.
    pub left: f64,
}

/// `M⁻¹ q`, from `zero` on. `None` when some image has no value and no best solution is kept; where one is ([`Rules::growth`]), the search
/// ends there, with that.
pub fn solve<S: System>(
    system: &S,
    zero: S::Vector,
    right: S::Vector,
    rules: &Rules,
) -> Option<Solved<S::Vector>> {
    let mut solution = zero;
    let mut residual = right;
    let mut direction = system.precondition(&residual);
    let mut size = system.dot(&residual, &direction);
    let start = size;
    let goal = (start * rules.tolerance * rules.tolerance).max(rules.floor);
    let mut best = rules.growth.map(|_| (size, solution.clone()));
    for _ in 0..rules.most_steps {
        if let Some(best) = best.as_mut().filter(|b| size < b.0) {
            *best = (size, solution.clone());
        }
        // Also where digits ran out and nothing is a number any more.
        if !(size > goal) || size == 0.0 {
            break;
        }
        if rules.growth.zip(best.as_ref()).is_some_and(|(most, best)| size > most * best.0) {
            break;
        }
        let (image, curvature) = match system.apply(&direction) {
            Some(applied) => applied,
            // A direction that has grown out of all bounds; before it did, there was a solution.
            None if best.is_some() => break,
            None => return None,
        };
        if rules.singular && !(curvature > 0.0) {
            break;
        }
        let step = size / curvature;
        system.add(&mut solution, step, &direction);
        system.add(&mut residual, -step, &image);
        let z = system.precondition(&residual);
        let next = system.dot(&residual, &z);
        system.turn(&mut direction, next / size, &z);
        size = next;
    }
    Some(match best {
        Some((left, solution)) => Solved { solution, start, left },
        None => Solved { solution, start, left: size },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::numeric::cholesky::{Cholesky, Lower, dot};
    use crate::numeric::dice::Dice;

    /// Written out, with the reciprocals of its diagonal.
    pub(crate) struct Dense(pub(crate) Vec<Vec<f64>>);

    impl System for Dense {
        type Vector = Vec<f64>;

        fn apply(&self, v: &Vec<f64>) -> Option<(Vec<f64>, f64)> {
            let image: Vec<f64> = self.0.iter().map(|row| dot(row, v)).collect();
            let curvature = dot(v, &image);
            image[0].is_finite().then_some((image, curvature))
        }

        fn dot(&self, x: &Vec<f64>, y: &Vec<f64>) -> f64 {
            dot(x, y)
        }

        fn precondition(&self, r: &Vec<f64>) -> Vec<f64> {
            r.iter().enumerate().map(|(i, r)| r / self.0[i][i]).collect()
        }

        fn add(&self, x: &mut Vec<f64>, by: f64, y: &Vec<f64>) {
            x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
        }

        fn turn(&self, y: &mut Vec<f64>, by: f64, x: &Vec<f64>) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = x + by * *y);
        }
    }

    /// `AᵀA` of so many rows.
    fn squares(rows: usize, n: usize) -> (Dense, Lower) {
        let mut dice = Dice::new(5);
        let a: Vec<Vec<f64>> =
            (0..rows).map(|_| (0..n).map(|_| dice.below(9) as f64 - 4.0).collect()).collect();
        let one = |i: usize, j: usize| a.iter().map(|r| r[i] * r[j]).sum();
        let full: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| one(i, j)).collect()).collect();
        let mut lower = Lower::default();
        full.iter().enumerate().for_each(|(i, row)| lower.push(&row[..=i]));
        (Dense(full), lower)
    }

    const RULES: Rules =
        Rules { tolerance: 1e-12, floor: 0.0, most_steps: 500, singular: false, growth: None };

    #[test]
    fn as_a_factorisation_says() {
        let (dense, lower) = squares(40, 17);
        let right: Vec<f64> = (0..17).map(|i| f64::from(i * i % 7) - 2.0).collect();
        let mut want = right.clone();
        Cholesky::new(lower).unwrap().solve(&mut want);
        for growth in [None, Some(1e6)] {
            let rules = Rules { growth, ..RULES };
            let got = solve(&dense, vec![0.0; 17], right.clone(), &rules).unwrap();
            assert!(got.left <= 1e-24 * got.start);
            got.solution.iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
        }
        let few = solve(&dense, vec![0.0; 17], right, &Rules { most_steps: 2, ..RULES }).unwrap();
        assert!(few.left > 1e-6 * few.start);
    }

    #[test]
    fn what_has_no_solution_ends() {
        // Six rows see a part of nine columns only.
        let (dense, _) = squares(6, 9);
        let right: Vec<f64> = (0..9).map(|i| f64::from(i * i % 7) - 2.0).collect();
        let rules = Rules { singular: true, growth: Some(1e6), ..RULES };
        let outside = solve(&dense, vec![0.0; 9], right.clone(), &rules).unwrap();
        assert!(outside.solution.iter().all(|v| v.is_finite()) && outside.left > 1e-6 * outside.start);
        let inside = dense.apply(&right).unwrap().0;
        let inside = solve(&dense, vec![0.0; 9], inside, &rules).unwrap();
        assert!(inside.left <= 1e-20 * inside.start);
        // Nothing is found at once, and an image without a value is no solution.
        assert_eq!(solve(&dense, vec![0.0; 9], vec![0.0; 9], &rules).unwrap().solution, [0.0; 9]);
        let endless = Dense(vec![vec![1.0, f64::INFINITY], vec![f64::INFINITY, 1.0]]);
        assert!(solve(&endless, vec![0.0; 2], vec![1.0; 2], &RULES).is_none());
        // Where the best so far is kept, that is the start.
        let kept = solve(&endless, vec![0.0; 2], vec![1.0; 2], &rules).unwrap();
        assert_eq!((kept.solution, kept.left), (vec![0.0; 2], kept.start));
        // A direction that is not seen at all.
        let unseen = Dense(vec![vec![1.0, -1.0], vec![-1.0, 1.0]]);
        let rules = Rules { singular: true, ..RULES };
        assert_eq!(solve(&unseen, vec![0.0; 2], vec![1.0; 2], &rules).unwrap().solution, [0.0; 2]);
    }
}
