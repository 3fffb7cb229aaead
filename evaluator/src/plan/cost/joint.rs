//! The exact worst case for `substitute` over plain dimensions.
//!
//! Two cells `e`, `e'` that differ in the dimensions `D` move block `r` by the distance of its two columns. For signed sums
//! that is `2(‖h_e‖² − ⟨h_e, h_e'⟩)` squared, and both are products over the dimensions of the block:
//!
//! | block | `‖h_e‖²` | factor of `⟨h_e, h_e'⟩` where they agree | where they differ |
//! |---|---|---|---|
//! | component, `w` of `n` categories | `Π n(n−1)` | `n(n−1)` | `−n` |
//! | coefficients, `n` categories in `k` bits | `Π (2^k−1)` | `2^k−1` | `−1` |
//! | differences of two categories | 1 | 1 | `−1` |
//! | table | 1 | 1 | 0 |
//! | component with bases | as of a component, `max ‖R e_j‖²` | `‖R e_j‖²` | `⟨R e_j, R e_k⟩` |
//!
//! All entries of coefficients, differences and tables are ±1 or 0, so where entries differ they differ by 2 (by 1 in one of two cells of a
//! table), and the L1 distance is half the squared one (the same, for a table). The worst case is the largest total over all `D`.

use super::terms::fixed_point_up;
use crate::cube::{Frame, Level};
use crate::plan::{Block, Channel, Measurement, Noise, Plan, Subject, Telling};

const MOST_STEPS: u64 = 1 << 24;

/// The cost of a channel in fixed point. `None` when some dimension is not plain, or there are too many sets to try them all.
///
/// Columns of a basis are not all alike: for those lengths are bounded by the longest, and scalar products by the least and the
/// largest of any two nodes; what follows is an upper bound then.
pub(super) fn joint_cost(plan: &Plan, channel: &Channel, frame: &Frame) -> Option<u128> {
    let measurements = &channel.measurements;
    let mut used: Vec<usize> = Vec::new();
    for m in measurements {
        for Level { dimension: d, .. } in m.block.cuboid().iter() {
            if frame.axes[d].rungs.len() != 2 {
                return None;
            }
            if !used.contains(&d) {
                used.push(d);
            }
        }
        if used.len() as u32 > MOST_STEPS.ilog2() {
            return None;
        }
    }
    let sets = 1u64.checked_shl(used.len() as u32)?;
    if sets.checked_mul(measurements.len() as u64)? > MOST_STEPS {
        return None;
    }
    // Of what a unit may add less, the change is not k(e − e') but has one side shorter. Norms are convex, so the worst of those is
    // at k·e alone, which costs what adding k rows does.
    let mut worst = 0u128;
    let subject = &channel.subject;
    if subject.may_be_less(plan.max_rows) {
        for m in measurements {
            worst = worst.checked_add(price(plan, subject, m, m.block.sensitivity(frame, plan.noise)?)?)?;
        }
    }
    // A dimension of one category cannot differ, and then the products would not hold: leave it out.
    let can_differ: u64 = used
        .iter()
        .enumerate()
        .filter(|&(_, &d)| frame.axes[d].rungs[1].real_len() > 1)
        .map(|(bit, _)| 1u64 << bit)
        .sum();
    let mut blocks = measurements
        .iter()
        .map(|m| Columns::new(plan, frame, (subject, m), &used))
        .collect::<Option<Vec<_>>>()?;
    for set in (1..sets).filter(|s| s & !can_differ == 0) {
        let mut total = 0u128;
        for block in &mut blocks {
            total = total.checked_add(block.price(set)?)?;
        }
        worst = worst.max(total);
    }
    Some(worst)
}

/// The least and the largest of some numbers.
type Span = (i128, i128);

/// All products of two numbers.
fn times(a: Span, b: Span) -> Option<Span> {
    let all = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
    Some((all.into_iter().min()?, all.into_iter().max()?))
}

/// The factors of a block along one of its dimensions.
fn spans(block: &Block, frame: &Frame, noise: Noise, dimension: usize) -> Option<(Span, Span)> {
    let n = i128::from(frame.axes[dimension].rungs[1].real_len());
    let Block::Based(based) = block else {
        let (same, other) = block.factors(noise)?(n);
        return Some(((same, same), (other, other)));
    };
    match based.told(dimension) {
        Telling::Basis(basis) => {
            let norms = basis.norms();
            let (least, most) = (norms.iter().min()?, norms.iter().max()?);
            Some(((i128::try_from(*least).ok()?, i128::try_from(*most).ok()?), basis.products()))
        }
        Telling::Siblings => Some(siblings(n)),
        // Twice the dearest cell bounds those.
        Telling::Weights(_) => None,
    }
}

/// Siblings of one group, scaled by their number: what each has above their mean.
fn siblings(n: i128) -> (Span, Span) {
    ((n * (n - 1), n * (n - 1)), (-n, -n))
}

/// One block, ready for many sets of dimensions.
struct Columns<'a> {
    plan: &'a Plan,
    subject: &'a Subject,
    measurement: &'a Measurement,
    /// The bits of its dimensions.
    mask: u64,
    /// For each dimension its bit and the factors where two cells agree and where they differ, each from the least to the largest.
    factors: Vec<(u64, Span, Span)>,
    /// `‖h_e‖²`, at most.
    norm: i128,
    /// What distances cost: few are distinct.
    known: Vec<(u128, u128)>,
}

impl<'a> Columns<'a> {
    fn new(
        plan: &'a Plan,
        frame: &Frame,
        (subject, m): (&'a Subject, &'a Measurement),
        used: &[usize],
    ) -> Option<Columns<'a>> {
        let (mask, factors, known) = (0, Vec::new(), vec![(0, 0)]);
        let mut out = Columns { plan, subject, measurement: m, mask, factors, norm: 1, known };
        for Level { dimension: d, .. } in m.block.cuboid().iter() {
            let (same, other) = spans(&m.block, frame, plan.noise, d)?;
            let bit = 1u64 << used.iter().position(|&u| u == d)?;
            out.mask |= bit;
            out.factors.push((bit, same, other));
            out.norm = out.norm.checked_mul(same.1)?;
        }
        Some(out)
    }

    /// What two cells that differ in these dimensions cost.
    fn price(&mut self, differs: u64) -> Option<u128> {
        if self.mask & differs == 0 {
            return Some(0);
        }
        let distance = self.distance(differs)?;
        if let Some(&(_, price)) = self.known.iter().find(|(d, _)| *d == distance) {
            return Some(price);
        }
        let price = price(self.plan, self.subject, self.measurement, distance)?;
        if self.known.len() < 64 {
            self.known.push((distance, price));
        }
        Some(price)
    }

    /// How far apart the two columns are: squared for Gaussian noise, in L1 for Laplace.
    fn distance(&self, differs: u64) -> Option<u128> {
        let mut inner: Span = (1, 1);
        for &(bit, same, other) in &self.factors {
            inner = times(inner, if differs & bit != 0 { other } else { same })?;
        }
        let half = u128::try_from(self.norm.checked_sub(inner.0)?).ok()?;
        // Signs that differ are two apart, counts of 0 and 1 are one: squared, four and one.
        let signed = self.measurement.block.is_signed();
        if signed && !self.plan.noise.squares() { Some(half) } else { half.checked_mul(2) }
    }
}

/// What a distance costs, times what a unit adds up to, in fixed point.
pub(super) fn price(plan: &Plan, subject: &Subject, m: &Measurement, distance: u128) -> Option<u128> {
    let most = subject.most(plan.max_rows);
    let moved = distance.checked_mul(plan.noise.powered(most)?)?;
    fixed_point_up(plan.noise.cost(moved, m.scale)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_by_their_columns() {
        for n in 2..9 {
            let column = |i: i128| (0..n).map(move |j| if i == j { n - 1 } else { -1 });
            let product = |i, j| column(i).zip(column(j)).map(|(a, b)| a * b).sum::<i128>();
            let (own, other) = siblings(n);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let (least, most) = if i == j { own } else { other };
                assert_eq!((product(i, j), product(i, j)), (least, most), "{n} {i} {j}");
            }
        }
    }
}
