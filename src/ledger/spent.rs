//! What all charges of an account come to.
//!
//! **Guarantee.** A unit of the account moves the data of every release as the release's own neighbours do, at most `unit_of` of
//! them at once; what all releases together tell of it is at most the sum here. **Proof.** *Sequence*: ε adds up, and so does ρ.
//! *Groups*: `k` units at once cost `kε` and `k²ρ` (Bun & Steinke 2016, Proposition 27); a charge holds that product. *Change*: to
//! change a unit is to remove one and to add one, so that a guarantee for more or less counts `2ε`, `4ρ` where others only guard a change;
//! the sum is then one for changes. *Parts*: where at one time (a period and a snapshot) no unit is in two parts of a partition, a unit more or less is in one part: of
//! that time the dearest part decides (McSherry 2009), and times add up, since people move. What is no name of a part today (older programs took any text) may be any part, under another spelling:
//! it counts as of no part, and so does a charge that does not say its time. A unit that changes may leave one part and appear in another, whose noises are
//! independent: the two dearest add up. Different partitions, and charges of no part, add up. *Currencies*: ε-DP is `ε²/2`-zCDP (Bun &
//! Steinke 2016, Proposition 3.3), and ρ-zCDP has an ε at every δ ([`convert`]); a pure ε is added to that of an (ε, δ) as it is, and of the
//! two ways to state a mixture in ε at δ the smaller holds. *Alone*: what a single release is by the law of its own loss, which its file proves,
//! is all that anybody learns while there is no other.
//!
//! *Cells* (`super::cells`): of charges about the same rows, a row in cell `c` costs charge `i` no more than `a_i(c)`, its share of it: noises of
//! different figures are independent, and the row moves only the figures that its cell is in. Let `A(c) = Σ a_i(c)`, where a pure ε counts as `ε²/2` in ρ. Which questions come later may depend on
//! earlier answers; but whoever asks, the row's cell is what it is, and the sum along it is never more than the largest `A`, which the bound holds (for ε by multiplying likelihood
//! ratios; for ρ by the Rényi filter of Feldman & Zrnic 2021, Theorem 4.3). So one row more or less costs `max A`.
//! `k` rows of one unit may lie in `k` cells. ε: moves add up, `Σ_j A(c_j) <= k max A`. ρ: the figures of all charges, each over its noise, are one vector, which row `j` moves by one of
//! squared length `2A(c_j)`; by the triangle inequality the sum is no longer than `k` times the longest, `k² max A`. (A pure ε is a length, too: its ε is at most the sum of its rows'.) Shares are
//! of what such a unit is charged, so they hold `k` and `k²` already. A row that changes leaves `c` and enters `d`: `A(c) + A(d)`, and `(√A(c) + √A(d))²`; where no charge tells `c` from
//! `d` it moves nothing, so these are two classes: the dearest and the second dearest. A unit of `k` rows changes as `k` rows do, by the triangle inequality again. And the plain sum of
//! the charges holds as well: the less of both counts. McSherry 2009 has this for parts, Xiao & Xiong for linear queries (their Theorem 5.5).
//!
//! All sums are exact rationals of any length; only roots and the conversion to ε at δ round, and those upwards.

use super::cells::{Along, Cells};
use super::charge::{Alone, Charge};
use crate::exact::Rational;
use crate::plan::{Neighbours, convert};
use crate::release::Currency;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;
use std::collections::{BTreeMap, HashMap, HashSet};

/// An exact rational of any length.
pub(crate) type Exact = RBig;

/// The same number.
pub(crate) fn exact(r: Rational) -> Exact {
    RBig::from_parts(IBig::from(r.numerator()), UBig::from(r.denominator()))
}

/// What all charges come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// What the sum guards: units more or less, or units changed.
    pub neighbours: Neighbours,
    /// All of it in ρ.
    pub rho: Exact,
    /// All of it in pure ε, which there is where no charge is in ρ.
    pub epsilon: Option<Exact>,
    /// The charges in ε alone, and those in ρ alone.
    apart: (Exact, Exact),
    /// Of one charge alone: what its release is by the law of its own loss.
    alone: Option<Alone>,
}

/// What something costs in the three ways in which sums are kept: the part in ε alone, the part in ρ alone, and all of it in ρ.
type Prices = [Exact; 3];

fn half_square(x: &Exact) -> Exact {
    x * x / RBig::from(2u8)
}

/// What an amount of a currency is in each.
fn prices(currency: Currency, amount: &Exact) -> Prices {
    match currency {
        Currency::Epsilon => [amount.clone(), RBig::ZERO, half_square(amount)],
        Currency::Rho => [RBig::ZERO, amount.clone(), amount.clone()],
    }
}

/// Where one half of a change costs `a` and the other `b`: `a + b` in ε; in ρ, where differences are lengths whose squares are told, `(√a + √b)²`,
/// rounded up.
fn both(a: &Prices, b: &Prices) -> Prices {
    let squared = |a: &Exact, b: &Exact| a + b + RBig::from(2u8) * root_up(&(a * b));
    [&a[0] + &b[0], squared(&a[1], &b[1]), squared(&a[2], &b[2])]
}

/// The root of a ratio, or hardly more: √(n/d) = √(nd)/d.
fn root_up(x: &Exact) -> Exact {
    /// A square root is found to so many bits behind the point of √(nd).
    const BITS: usize = 64;
    let denominator = x.denominator().clone();
    let Ok(numerator) = UBig::try_from(x.numerator().clone()) else { return RBig::ZERO };
    let whole = (numerator * &denominator) << (2 * BITS);
    let root = whole.nth_root(2);
    let root = if &root * &root == whole { root } else { root + UBig::ONE };
    RBig::from_parts(IBig::from(root), denominator << BITS)
}

fn add(sum: &mut Prices, more: &Prices) {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
}

fn each(a: &Prices, b: &Prices, of: impl Fn(&Exact, &Exact) -> Exact) -> Prices {
    std::array::from_fn(|i| of(&a[i], &b[i]))
}

fn least(a: &Prices, b: &Prices) -> Prices {
    each(a, b, |a, b| a.min(b).clone())
}

fn dearest(a: &Prices, b: &Prices) -> Prices {
    each(a, b, |a, b| a.max(b).clone())
}

/// What charges cost a unit that comes or goes, and one that stays where it is: in an account of changes, that changes.
#[derive(Debug, Clone, Default)]
struct Cost {
    once: Prices,
    stays: Prices,
}

impl Cost {
    /// Of a charge for everybody, of this amount.
    fn of(charge: &Charge, amount: &Exact, neighbours: Neighbours) -> Cost {
        let once = prices(charge.currency, amount);
        let stays = match (neighbours, charge.neighbours) {
            (Neighbours::Substitute, Neighbours::AddRemove) => both(&once, &once),
            _ => once.clone(),
        };
        Cost { once, stays }
    }

    fn plus(&mut self, more: &Cost) {
        add(&mut self.once, &more.once);
        add(&mut self.stays, &more.stays);
    }
}

/// Charges ready to be added up, with one more of the same kind as `like`, whatever its amount.
pub(super) struct Ready<'a> {
    charges: Vec<&'a Charge>,
    like: Option<&'a Charge>,
    neighbours: Neighbours,
    /// Of all charges of no part; and of each part of each partition. Charges about the same rows are among `groups` instead.
    everywhere: Cost,
    parts: Parts,
    groups: Vec<(Option<Part>, Group)>,
    /// Which of the groups `like` is in.
    own: Option<usize>,
}

/// A partition at one time, and a part of it: people move from part to part between one time and another.
type Part = ([Option<String>; 3], String);

/// By partition and time, and part.
type Parts = BTreeMap<[Option<String>; 3], BTreeMap<String, Cost>>;

/// Which part a charge is of, and when.
fn part(charge: &Charge) -> Option<Part> {
    let (by, is) = charge.named_part()?;
    Some(([Some(by), charge.period.clone(), charge.snapshot.clone()], is))
}

/// What charges must have in common to be about the same rows, units of the account and part of the people.
type Key<'a> = (&'a super::cells::Same, u32, &'a str, Option<&'a str>, Option<Part>);

fn key(charge: &Charge) -> Option<Key<'_>> {
    let named = part(charge);
    let cells = charge.cells.as_ref().filter(|_| charge.part.is_none() || named.is_some())?;
    Some((&cells.same, charge.unit_of, &charge.unit, charge.of.as_deref(), named))
}

impl<'a> Ready<'a> {
    pub(super) fn new(charges: Vec<&'a Charge>, like: Option<&'a Charge>) -> Ready<'a> {
        let changed = |c: &Charge| c.neighbours == Neighbours::Substitute;
        let neighbours = match charges.iter().copied().chain(like).any(changed) {
            true => Neighbours::Substitute,
            false => Neighbours::AddRemove,
        };
        let mut keyed: BTreeMap<Key<'a>, Vec<&'a Charge>> = BTreeMap::new();
        let (mut everywhere, mut parts) = (Cost::default(), Parts::new());
        for &charge in &charges {
            match key(charge) {
                Some(key) => keyed.entry(key).or_default().push(charge),
                None => {
                    let cost = Cost::of(charge, &exact(charge.charged), neighbours);
                    place(part(charge), &mut everywhere, &mut parts).plus(&cost);
                }
            }
        }
        let wanted = like.and_then(key);
        if let Some(key) = &wanted {
            keyed.entry(key.clone()).or_default();
        }
        let own = wanted.and_then(|key| keyed.keys().position(|k| *k == key));
        let groups = keyed.into_iter().enumerate().map(|(at, (key, members))| {
            let like = like.filter(|_| own == Some(at));
            (key.4, Group::new(&members, like, neighbours))
        });
        Ready { groups: groups.collect(), charges, like, neighbours, everywhere, parts, own }
    }

    /// What all of them come to, with one more of this amount where there is one.
    pub(super) fn spent(&self, more: Option<&Exact>) -> Spent {
        let more = self.like.zip(more);
        let (mut total, mut parts) = (self.everywhere.clone(), self.parts.clone());
        if let Some((like, amount)) = more.filter(|_| self.own.is_none()) {
            let cost = Cost::of(like, amount, self.neighbours);
            place(part(like), &mut total, &mut parts).plus(&cost);
        }
        for (at, (part, group)) in self.groups.iter().enumerate() {
            let more = more.filter(|_| self.own == Some(at));
            let cost = group.cost(more, self.neighbours);
            place(part.clone(), &mut total, &mut parts).plus(&cost);
        }
        let mut total = total.stays;
        for parts in parts.into_values() {
            let within = parts.values().fold(Prices::default(), |most, p| dearest(&most, &p.stays));
            let two = std::array::from_fn(|i| {
                let mut moves: Vec<&Exact> = parts.values().map(|p| &p.once[i]).collect();
                moves.sort();
                moves.into_iter().rev().take(2).fold(RBig::ZERO, |a, b| a + b)
            });
            let most = match self.neighbours {
                Neighbours::AddRemove => within,
                Neighbours::Substitute => dearest(&within, &two),
            };
            add(&mut total, &most);
        }
        let [in_epsilon, in_rho, rho] = total;
        let all = self.charges.iter().copied().chain(more.map(|m| m.0));
        let pure = all.clone().all(|c| c.currency == Currency::Epsilon);
        let alone = match (&self.charges[..], more) {
            ([only], None) => only.alone,
            _ => None,
        };
        Spent {
            neighbours: self.neighbours,
            rho,
            epsilon: pure.then(|| in_epsilon.clone()),
            apart: (in_epsilon, in_rho),
            alone,
        }
    }
}

/// Where the cost of a part belongs.
fn place<'c>(part: Option<Part>, everywhere: &'c mut Cost, parts: &'c mut Parts) -> &'c mut Cost {
    match part {
        None => everywhere,
        Some((by, is)) => parts.entry(by).or_default().entry(is).or_default(),
    }
}

/// Charges about the same rows, by the classes of cells that all of them, and those of one more charge, tell apart.
struct Group {
    /// What the charges cost each class.
    classes: Vec<Prices>,
    /// Of the charge to come: the dearest share of each class.
    shares: Vec<Exact>,
    /// Whether a class may hold cells that some charge tells apart.
    coarse: bool,
    /// What the charges cost if they are simply added up.
    sum: Cost,
}

/// The most prices that are added up for one group, and the most classes that it has.
const MOST_STEPS: usize = 1 << 18;
const MOST_KEPT: usize = 1 << 13;

impl Group {
    fn new(members: &[&Charge], like: Option<&Charge>, neighbours: Neighbours) -> Group {
        let all: Vec<&Cells> = members.iter().copied().chain(like).filter_map(|c| c.cells.as_ref()).collect();
        // Where each dimension is cut, and how many charges cut it.
        let mut cuts: BTreeMap<u32, (usize, Vec<u32>)> = BTreeMap::new();
        for along in all.iter().flat_map(|c| &c.by) {
            let cut = cuts.entry(along.dimension).or_default();
            cut.0 += 1;
            cut.1.extend(along.runs.iter().map(|r| r.0));
        }
        // Of categories that every charge has in one class the first stands for all.
        let mut dimensions: Vec<(u32, usize, Vec<u32>)> = Vec::new();
        for (dimension, (by, mut starts)) in cuts {
            starts.sort_unstable();
            starts.dedup();
            let along = |c: &Cells| c.by.iter().position(|a| a.dimension == dimension);
            let asked: Vec<&Along> = all.iter().filter_map(|c| c.by.get(along(c)?)).collect();
            let mut seen = HashSet::new();
            starts.retain(|&start| seen.insert(asked.iter().map(|a| a.class(start)).collect::<Vec<_>>()));
            dimensions.push((dimension, by, starts));
        }
        // The dimensions of most charges first. Those for which there is no room are not told apart: each charge then counts by the dearest class it
        // has along them, which is never less.
        dimensions.sort_by_key(|(_, by, starts)| (std::cmp::Reverse(*by), starts.len()));
        let mut kept = 1usize;
        let room = dimensions.iter().take_while(|(_, _, starts)| {
            kept = kept.saturating_mul(starts.len());
            kept <= MOST_KEPT && kept.saturating_mul(all.len()) <= MOST_STEPS
        });
        let kept = room.count();
        let coarse = kept < dimensions.len();
        dimensions.truncate(kept);
        let mut points: Vec<Vec<(u32, u32)>> = vec![Vec::new()];
        for (dimension, _, starts) in &dimensions {
            let with = |point: &Vec<(u32, u32)>, start: u32| [&point[..], &[(*dimension, start)]].concat();
            points = points.iter().flat_map(|p| starts.iter().map(move |&s| with(p, s))).collect();
        }
        let mut classes = vec![Prices::default(); points.len()];
        let mut sum = Cost::default();
        for charge in members {
            let (amount, Some(cells)) = (exact(charge.charged), &charge.cells) else { continue };
            sum.plus(&Cost::of(charge, &amount, neighbours));
            // Few shares differ.
            let mut known: BTreeMap<Rational, Prices> = BTreeMap::new();
            for (class, share) in classes.iter_mut().zip(dearest_shares(cells, &points)) {
                let price = known.entry(share);
                add(class, price.or_insert_with(|| prices(charge.currency, &(&amount * exact(share)))));
            }
        }
        let shares = like.and_then(|l| l.cells.as_ref()).map_or(Vec::new(), |c| dearest_shares(c, &points));
        Group { classes, shares: shares.into_iter().map(exact).collect(), coarse, sum }
    }

    /// With one more charge of this amount, where there is one.
    fn cost(&self, more: Option<(&Charge, &Exact)>, neighbours: Neighbours) -> Cost {
        let mut sum = self.sum.clone();
        let mut classes = self.classes.clone();
        if let Some((like, amount)) = more {
            sum.plus(&Cost::of(like, amount, neighbours));
            for (class, share) in classes.iter_mut().zip(&self.shares) {
                add(class, &prices(like.currency, &(amount * share)));
            }
        }
        // The dearest and the second dearest class, in each way.
        let (mut first, mut second) = (Prices::default(), Prices::default());
        for class in &classes {
            for i in 0..3 {
                if class[i] >= first[i] {
                    second[i] = std::mem::replace(&mut first[i], class[i].clone());
                } else if class[i] > second[i] {
                    second[i] = class[i].clone();
                }
            }
        }
        let changed = both(&first, if self.coarse { &first } else { &second });
        let once = least(&first, &sum.once);
        let stays = match neighbours {
            Neighbours::AddRemove => once.clone(),
            Neighbours::Substitute => least(&changed, &sum.stays),
        };
        Cost { once, stays }
    }
}

/// For each point, told by a category of some dimensions, the dearest share of all classes that it may be in.
fn dearest_shares(cells: &Cells, points: &[Vec<(u32, u32)>]) -> Vec<Rational> {
    // The dearest along the dimensions that points do not tell, first.
    let told = |along: &Along| points.first().is_some_and(|p| p.iter().any(|(d, _)| *d == along.dimension));
    let sizes: Vec<usize> = cells.by.iter().map(Along::classes).collect();
    let mut most: HashMap<usize, Rational> = HashMap::new();
    for (class, &share) in cells.shares.iter().enumerate() {
        let (mut rest, mut at) = (class, 0);
        let mut stride = 1;
        for (along, &size) in cells.by.iter().zip(&sizes).rev() {
            if told(along) {
                at += rest % size * stride;
                stride *= size;
            }
            rest /= size;
        }
        let most = most.entry(at).or_insert(Rational::ZERO);
        *most = share.max(*most);
    }
    let at = |point: &Vec<(u32, u32)>| {
        let kept = cells.by.iter().zip(&sizes).filter_map(|(along, size)| {
            let start = point.iter().find(|(d, _)| *d == along.dimension)?.1;
            Some((along.class(start), size))
        });
        let at = kept.fold(0, |at, (class, size)| at * size + class);
        most.get(&at).copied().unwrap_or(Rational::ZERO)
    };
    points.iter().map(at).collect()
}

impl Spent {
    /// The sum of some charges.
    pub(crate) fn of(charges: &[&Charge]) -> Spent {
        Ready::new(charges.to_vec(), None).spent(None)
    }

    /// Whether nothing is.
    pub(crate) fn is_nothing(&self) -> bool {
        self.rho == RBig::ZERO
    }

    /// All of it in ε at δ, rounded up. `None` beyond what can be computed with.
    pub(crate) fn epsilon_at(&self, delta: Rational) -> Option<Exact> {
        if self.is_nothing() {
            return Some(RBig::ZERO);
        }
        let alone = self.alone_at(delta).map(exact);
        [alone, self.added_up_at(delta)].into_iter().flatten().min()
    }

    /// Of a single release by the law of its own loss, where it says that for this δ or a smaller one.
    pub(crate) fn alone_at(&self, delta: Rational) -> Option<Rational> {
        self.alone.filter(|alone| alone.delta <= delta).map(|alone| alone.epsilon)
    }

    /// Whether some of it is in ε and some in ρ.
    pub(super) fn is_of_both(&self) -> bool {
        self.apart.0 != RBig::ZERO && self.apart.1 != RBig::ZERO
    }

    /// The Rényi divergence of this order, at most: of ρ it is αρ, and of a pure ε no more than ε.
    pub(super) fn of_order(&self, alpha: &Exact) -> Exact {
        let (in_epsilon, in_rho) = &self.apart;
        (alpha * &self.rho).min(in_epsilon + alpha * in_rho)
    }

    /// By what adds up, and goes on adding up when more is charged.
    pub(crate) fn added_up_at(&self, delta: Rational) -> Option<Exact> {
        let of_rho = |rho: &Exact| -> Option<Exact> {
            if *rho == RBig::ZERO {
                return Some(RBig::ZERO);
            }
            RBig::try_from(convert::least_epsilon(up(rho)?, delta)?).ok()
        };
        let joined = of_rho(&self.rho);
        let apart = of_rho(&self.apart.1).map(|e| e + &self.apart.0);
        [joined, apart, self.epsilon.clone()].into_iter().flatten().min()
    }
}

/// A ratio of 128 bits that is not below, and hardly above.
pub(super) fn up(x: &Exact) -> Option<Rational> {
    if let Some(same) = rational(x) {
        return Some(same);
    }
    for shift in [100usize, 80, 60, 40, 20, 0] {
        let scaled = (x * RBig::from(UBig::ONE << shift)).ceil();
        if let Ok(n) = u128::try_from(scaled) {
            return Rational::new(n, 1u128.checked_shl(shift as u32)?);
        }
    }
    None
}

/// The same number in 128 bits, where it fits.
pub(crate) fn rational(x: &Exact) -> Option<Rational> {
    Rational::new(u128::try_from(x.numerator().clone()).ok()?, u128::try_from(x.denominator().clone()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root is no smaller than it is, and larger by less than the last of its bits; that of a square is exact.
    #[test]
    fn roots_are_rounded_up_by_a_bit() {
        let ratio = |a: u64, b: u64| RBig::from_parts(a.into(), b.into());
        for (a, b) in [(2, 1), (1, 3), (10, 7), (1, 1_000_000_007), (u64::MAX, 3)] {
            let x = ratio(a, b);
            let bit = RBig::from_parts(IBig::ONE, x.denominator().clone() << 64);
            let root = root_up(&x);
            assert!(&root * &root > x, "{x}");
            let below = root - bit;
            assert!(&below * &below < x, "{x}");
        }
        for (a, b) in [(0, 1), (1, 1), (2, 3), (1_000_001, 7)] {
            let root = ratio(a, b);
            assert_eq!(root_up(&(&root * &root)), root);
        }
    }
}
