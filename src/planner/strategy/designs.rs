//! Designs: few attributes in a table, every two attributes in one table. Under Laplace noise they are good starts for workloads of
//! pairs, which no descent from the workload's own tables leads to.
//!
//! The lines of a plane over the field of q elements: any two of its points are on one line. The projective plane has `q² + q + 1`
//! points and as many lines of `q + 1` points; without one of its lines, and the points on it, it is the affine plane of `q²` points and lines of
//! `q` points. Attributes are points, in the order of the spec; points that are left over are left out of the lines.

use super::landscape::{Choice, Landscape, Shape};
use crate::cube::Cuboid;
use std::sync::Arc;

/// Fields of so many elements: prime, or with the irreducible polynomial `x^k = Σ c_i x^i` over the prime, lowest coefficient first.
const FIELDS: [(usize, usize, &[usize]); 9] = [
    (2, 2, &[]),
    (3, 3, &[]),
    (4, 2, &[1, 1]),
    (5, 5, &[]),
    (7, 7, &[]),
    (8, 2, &[1, 1, 0]),
    (9, 3, &[2, 0]),
    (11, 11, &[]),
    (13, 13, &[]),
];

/// A finite field: its elements are numbers, whose digits in base `p` are the coefficients of polynomials.
struct Field {
    q: usize,
    p: usize,
    polynomial: &'static [usize],
}

impl Field {
    fn add(&self, a: usize, b: usize) -> usize {
        let (mut a, mut b, mut out, mut place) = (a, b, 0, 1);
        while a > 0 || b > 0 {
            out += place * ((a % self.p + b % self.p) % self.p);
            (a, b, place) = (a / self.p, b / self.p, place * self.p);
        }
        out
    }

    fn times(&self, a: usize, b: usize) -> usize {
        // Horner's rule over the digits of b, the highest first.
        let mut out = 0;
        let mut place = self.q / self.p;
        while place > 0 {
            out = self.shifted(out);
            (0..b / place % self.p).for_each(|_| out = self.add(out, a));
            place /= self.p;
        }
        out
    }

    /// `x · a`.
    fn shifted(&self, a: usize) -> usize {
        if self.q == self.p {
            // There is no x: never more than one digit.
            return 0;
        }
        let high = a / (self.q / self.p);
        let mut out = a % (self.q / self.p) * self.p;
        let mut place = 1;
        for &c in self.polynomial {
            out = self.add(out, place * (high * c % self.p));
            place *= self.p;
        }
        out
    }

    /// The points of the projective plane: triples up to a factor, the first that is not 0 being 1.
    fn points(&self) -> Vec<[usize; 3]> {
        let q = self.q;
        let mut out: Vec<[usize; 3]> = (0..q * q).map(|i| [1, i / q, i % q]).collect();
        out.extend((0..q).map(|i| [0, 1, i]));
        out.push([0, 0, 1]);
        out
    }

    fn meet(&self, line: &[usize; 3], point: &[usize; 3]) -> bool {
        line.iter().zip(point).fold(0, |sum, (a, b)| self.add(sum, self.times(*a, *b))) == 0
    }

    /// Which of the first `n` points are on each line; affine planes lack the line [1, 0, 0].
    fn lines(&self, n: usize, affine: bool) -> Vec<Vec<usize>> {
        let points = self.points();
        let here: Vec<&[usize; 3]> = points.iter().filter(|p| !affine || p[0] == 1).take(n).collect();
        let on =
            |line: &[usize; 3]| (0..here.len()).filter(|&i| self.meet(line, here[i])).collect::<Vec<_>>();
        // Lines have coordinates as points do; [1, 0, 0] is the first.
        points.iter().skip(usize::from(affine)).map(on).collect()
    }
}

/// Planes of about as many points as there are attributes, in equal shares, where they hold the workload.
pub(crate) fn designs(land: &Landscape) -> Vec<Choice> {
    let attributes = land.finest();
    let n = attributes.len();
    let mut out = Vec::new();
    for (q, p, polynomial) in FIELDS {
        let field = Field { q, p, polynomial };
        for (affine, points) in [(true, q * q), (false, q * q + q + 1)] {
            // Planes much too large have lines of one or two points.
            if points < n || n < 4 || points > 2 * n + 4 {
                continue;
            }
            let tables = field.lines(n, affine).into_iter().filter(|l| !l.is_empty());
            let table = |line: Vec<usize>| Cuboid::new(line.into_iter().map(|i| attributes[i]));
            let mut shapes: Vec<Arc<Shape>> = tables.map(|l| land.shape(land.steps_of(&table(l)))).collect();
            shapes.sort_by_key(|s| s.steps);
            shapes.dedup_by_key(|s| s.steps);
            let kept: Vec<Arc<Shape>> = shapes
                .iter()
                .filter(|s| !shapes.iter().any(|t| t.steps != s.steps && s.steps.is_below(&t.steps)))
                .cloned()
                .collect();
            let equal = vec![1.0; kept.len()];
            let choice = land.choice(kept, equal);
            if choice.error.is_finite() {
                out.push(choice);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields have inverses, and every two points of a plane are on one line.
    #[test]
    fn planes_are_planes() {
        for (q, p, polynomial) in FIELDS {
            let field = Field { q, p, polynomial };
            for a in 1..q {
                assert!((1..q).any(|b| field.times(a, b) == 1), "{a} of {q} has no inverse");
                for b in 0..q {
                    assert_eq!(field.times(a, b), field.times(b, a));
                    assert!((0..q).contains(&field.add(a, b)));
                    for c in 0..q.min(5) {
                        let sum = field.times(a, field.add(b, c));
                        assert_eq!(sum, field.add(field.times(a, b), field.times(a, c)));
                    }
                }
            }
            for (affine, points, lines) in [(true, q * q, q * q + q), (false, q * q + q + 1, q * q + q + 1)] {
                for n in [points, points - 1] {
                    let all = field.lines(n, affine);
                    assert_eq!(all.len(), lines, "{q} {affine}");
                    let mut together = vec![0; n * n];
                    for line in &all {
                        for &i in line {
                            line.iter().for_each(|&j| together[i * n + j] += 1);
                        }
                    }
                    for i in 0..n {
                        for j in 0..i {
                            assert_eq!(together[i * n + j], 1, "{i} and {j} of {q}, affine: {affine}");
                        }
                    }
                }
            }
        }
    }
}
