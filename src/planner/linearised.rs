//! What the noise of every group adds to every error under one recovery, and the best scales for that.
//!
//! With fixed coefficients the variance of a cell is `Σ_k g_rk u_k`, linear in what `u_k` says of the noise of group k: its variance
//! (Gaussian, price `Σ C/u ≤ 2ρ`) or the square of its scale (Laplace, `Σ C/√u ≤ ε`). So the least total variance has a closed form, and the
//! least worst variance and the least total under targets are the convex programme of [`super::minimax`], solved with a
//! certificate. The least total under targets: "a plan of total variance τ meets all bounds" is the programme with
//! one more row, `gain/τ`; its value falls as τ grows, so the least τ is found by bisection on a logarithmic scale. When targets are out of reach,
//! all of them are widened by the least common factor that is within reach, found in the same way.

use super::closure::Closure;
use super::minimax::{Minimax, Power, Solution};
use super::objective::{CARE, Certificate, Objective, WEIGHTED_TOTAL};
use super::request::Request;

/// The recovery of all cells, as far as variances go.
pub(crate) struct Linearised {
    /// `C_k`; nothing is paid for what is known.
    pub price: Vec<f64>,
    /// `p`: the plan costs `Σ C/u^p`.
    pub power: Power,
    /// What it may cost.
    pub budget: f64,
    /// What a unit of each `u_k` adds to the weighted total variance.
    pub gain: Vec<f64>,
    /// For each kind of cell its table and what a unit of each `u_k` adds to its variance.
    pub rows: Vec<(usize, Vec<(u32, f64)>)>,
}

/// How large the variance of each table's cells may be.
pub(crate) struct Bounds {
    /// By table; zero for those that are known.
    of: Vec<f64>,
    /// Whether it is a target, which may be widened, or care for the others.
    target: Vec<bool>,
}

impl Bounds {
    /// Whether a table's is a target, and not care.
    pub(crate) fn is_target(&self, table: usize) -> bool {
        self.target[table]
    }

    /// A variance over what is allowed.
    pub(crate) fn ratio(&self, table: usize, variance: f64) -> f64 {
        let most = self.of[table];
        if most > 0.0 { variance / most } else { 0.0 }
    }
}

/// The best scales.
pub(crate) struct Solved {
    /// `u` of every group.
    pub u: Vec<f64>,
    /// How good they are for this recovery.
    pub certificate: Certificate,
    /// The weights of the proof.
    pub witness: Witness,
}

/// Weights that prove a bound: whatever the scales, `Σ weights · variance` of the rows and the total is at least some `L`; then the objective is
/// at least `unit · (L − rest)/lead`.
#[derive(Default)]
pub(crate) struct Witness {
    /// Of every row of the linearised.
    pub rows: Vec<f64>,
    /// Of the weighted total variance.
    pub total: f64,
    unit: f64,
    lead: f64,
    rest: f64,
}

impl Witness {
    /// The bound of the objective that follows from that of the weighted sum.
    pub(crate) fn bound(&self, least: f64) -> f64 {
        if self.lead > 0.0 { self.unit * (least - self.rest) / self.lead } else { 0.0 }
    }
}

/// The programme of some rows of a linearised.
struct Programme {
    minimax: Minimax,
    /// Which group each variable is.
    group: Vec<usize>,
    /// Which row of the errors each row is (the last may be the total), and what it was multiplied by.
    row: Vec<(Option<usize>, f64)>,
}

impl Programme {
    fn witness(
        &self,
        point: &Solution,
        rows: usize,
        unit: f64,
        leads: impl Fn(Option<usize>) -> bool,
    ) -> Witness {
        let mut out = Witness { rows: vec![0.0; rows], unit, ..Witness::default() };
        for (&(row, times), &weight) in self.row.iter().zip(&point.lambda) {
            *(if leads(row) { &mut out.lead } else { &mut out.rest }) += weight;
            match row {
                Some(row) => out.rows[row] += weight * times,
                None => out.total += weight * times,
            }
        }
        out
    }
}

impl Linearised {
    /// Components measured one by one: `u = σ_A²`.
    pub(crate) fn of_components(
        request: &Request,
        closure: &Closure,
        (price, gain): (Vec<f64>, Vec<f64>),
        (power, budget): (Power, f64),
    ) -> Linearised {
        let mut rows = Vec::new();
        for (t, table) in request.workload.iter().enumerate() {
            closure.kind_gains(t, &table.cuboid, |ids, gains| {
                let some = ids.iter().zip(gains).filter(|&(&id, &g)| g > 0.0 && price[id as usize] > 0.0);
                let row: Vec<(u32, f64)> = some.map(|(&id, &g)| (id, g)).collect();
                if !row.is_empty() {
                    rows.push((t, row));
                }
            });
        }
        Linearised { price, power, budget, gain, rows }
    }

    /// The variance of every row.
    pub(crate) fn variances(&self, u: &[f64]) -> Vec<f64> {
        let of = |(_, row): &(usize, Vec<(u32, f64)>)| row.iter().map(|&(k, g)| g * u[k as usize]).sum();
        self.rows.iter().map(of).collect()
    }

    /// The weighted total variance.
    pub(crate) fn total(&self, u: &[f64]) -> f64 {
        self.gain.iter().zip(u).zip(&self.price).filter(|(_, c)| **c > 0.0).map(|((g, u), _)| g * u).sum()
    }

    /// The scales of least total variance.
    pub(crate) fn free(&self) -> Vec<f64> {
        let p = self.power;
        let root: f64 = self.price.iter().zip(&self.gain).map(|(c, v)| p.share(c * p.raise(*v))).sum();
        let times = p.lower(root / self.budget);
        self.price.iter().zip(&self.gain).map(|(c, v)| p.share(c / v) * times).collect()
    }

    /// What the request's targets ask for, and what care allows all other tables: beside what the request knows of the least total, or else beside these
    /// scales, which should be those of it.
    pub(crate) fn bounds(&self, request: &Request, free: &[f64]) -> Bounds {
        let mut worst = vec![0.0f64; request.workload.len()];
        for ((t, _), v) in self.rows.iter().zip(self.variances(free)) {
            worst[*t] = worst[*t].max(v);
        }
        worst.iter_mut().zip(request.care.iter()).for_each(|(worst, kept)| *worst = *kept);
        let target = |t: usize| request.target_variance(t);
        Bounds {
            of: worst.iter().enumerate().map(|(t, w)| target(t).unwrap_or(CARE * CARE * w)).collect(),
            target: (0..worst.len()).map(|t| target(t).is_some()).collect(),
        }
    }

    /// The best scales for the request's objective.
    pub(crate) fn solve(&self, request: &Request, bounds: &Bounds, precision: f64) -> Solved {
        match request.objective {
            Objective::Targets if bounds.target.contains(&true) => self.targets(bounds, precision),
            Objective::Worst => self.worst(request),
            _ => self.least_total(),
        }
    }

    fn least_total(&self) -> Solved {
        let u = self.free();
        let value = self.total(&u);
        let witness =
            Witness { rows: vec![0.0; self.rows.len()], total: 1.0, unit: 1.0, lead: 1.0, rest: 0.0 };
        Solved { u, certificate: Certificate::new(WEIGHTED_TOTAL, value, value), witness }
    }

    fn worst(&self, request: &Request) -> Solved {
        let programme = self.programme(|t| Some(request.workload[t].weight.to_f64()), None);
        let solved = programme.minimax.solve();
        let [value, bound] = [solved.value, solved.bound].map(|k| self.times(k));
        let u = self.spread(&programme, &solved, value);
        let witness = programme.witness(&solved, self.rows.len(), 1.0, |_| true);
        Solved { u, certificate: Certificate::new("worst variance times weight", value, bound), witness }
    }

    /// By how much a point of this value must be stretched to cost the budget.
    fn times(&self, value: f64) -> f64 {
        self.power.lower(value / self.budget)
    }

    /// All groups' `u` from a programme's; those it does not know are as for the least total.
    fn spread(&self, programme: &Programme, point: &Solution, times: f64) -> Vec<f64> {
        let mut u = self.free();
        programme.group.iter().zip(&point.u).for_each(|(&k, v)| u[k] = v * times);
        u
    }

    /// The rows of the tables that `scale` gives a factor; and the total, divided by `tau`.
    fn programme(&self, scale: impl Fn(usize) -> Option<f64>, tau: Option<f64>) -> Programme {
        let mut column: Vec<Option<u32>> = vec![None; self.price.len()];
        let mut out = Programme {
            minimax: Minimax { power: self.power, ..Minimax::default() },
            group: Vec::new(),
            row: Vec::new(),
        };
        let mut add = |row: &mut dyn Iterator<Item = (u32, f64)>, of: (Option<usize>, f64)| {
            let mut new = Vec::new();
            for (k, g) in row.filter(|&(k, g)| g > 0.0 && self.price[k as usize] > 0.0) {
                let c = *column[k as usize].get_or_insert_with(|| {
                    out.group.push(k as usize);
                    out.minimax.price.push(self.price[k as usize]);
                    out.group.len() as u32 - 1
                });
                new.push((c, g * of.1));
            }
            if !new.is_empty() {
                out.minimax.rows.push(new);
                out.row.push(of);
            }
        };
        for (r, (t, row)) in self.rows.iter().enumerate() {
            if let Some(times) = scale(*t) {
                add(&mut row.iter().copied(), (Some(r), times));
            }
        }
        if let Some(tau) = tau {
            add(&mut (0..).zip(self.gain.iter().copied()), (None, 1.0 / tau));
        }
        out
    }

    /// Rows for bounds of every table; those of targets `times` as wide.
    fn bounded(&self, bounds: &Bounds, times: f64, tau: Option<f64>) -> Programme {
        let scale = |t: usize| {
            let wide = if bounds.target[t] { times } else { 1.0 };
            (bounds.of[t] > 0.0).then(|| 1.0 / (bounds.of[t] * wide))
        };
        self.programme(scale, tau)
    }

    /// The least total variance under bounds.
    fn targets(&self, bounds: &Bounds, precision: f64) -> Solved {
        let free = self.least_total();
        let within = |point: &Solution| point.value <= self.budget * (1.0 + 1e-9);
        let solve = |tau: f64| {
            let programme = self.bounded(bounds, 1.0, Some(tau));
            let point = programme.minimax.solve();
            (programme, point)
        };
        let best = free.certificate.value;
        if within(&solve(best).1) {
            // The plan of least total variance meets them all.
            return free;
        }
        const LOOSEST: f64 = 1e4;
        let (mut low, mut high) = (best, best);
        let found = loop {
            high *= if high < 2.0 * best { 1.3 } else { 4.0 };
            let now = solve(high);
            if now.1.value <= self.budget {
                break now;
            }
            if high >= LOOSEST * best {
                return self.widened(bounds, precision);
            }
            low = high;
        };
        let (low, high, found) = self.narrowed(solve, (low, high, found), precision);
        // Anything the budget leaves over sharpens everything alike.
        let (programme, point) = found;
        let slack = self.times(point.value);
        let (value, bound) = (high * slack, low.min(high * slack));
        Solved {
            u: self.spread(&programme, &point, slack),
            certificate: Certificate::new("total variance under the targets", value, bound),
            witness: programme.witness(&point, self.rows.len(), high, |row| row.is_none()),
        }
    }

    /// Halves what is between `low`, which the budget cannot reach, and `high`, which `found` reaches, until it is as narrow as asked, or a programme
    /// says neither.
    fn narrowed<P>(
        &self,
        solve: impl Fn(f64) -> (P, Solution),
        (mut low, mut high, mut found): (f64, f64, (P, Solution)),
        precision: f64,
    ) -> (f64, f64, (P, Solution)) {
        for _ in 0..40 {
            if high / low < 1.0 + precision {
                break;
            }
            let middle = f64::sqrt(low * high);
            let next = solve(middle);
            if next.1.value <= self.budget {
                (high, found) = (middle, next);
            } else if next.1.bound > self.budget {
                low = middle;
            } else {
                break;
            }
        }
        (low, high, found)
    }

    /// Targets out of reach: the smallest largest ratio of variance to target, with the same care for all other tables.
    fn widened(&self, bounds: &Bounds, precision: f64) -> Solved {
        let solve = |times: f64| {
            let programme = self.bounded(bounds, times, None);
            let point = programme.minimax.solve();
            (programme, point)
        };
        let (mut low, mut high) = (1.0, 2.0);
        let mut found = solve(high);
        // With targets wide enough only care is left, and the plan of least total takes all the care there is.
        while found.1.value > self.budget && high < 1e30 {
            if found.1.bound > self.budget {
                low = high;
            }
            high *= 4.0;
            found = solve(high);
        }
        let (low, high, found) = self.narrowed(solve, (low, high, found), precision);
        let (programme, point) = found;
        let slack = self.times(point.value);
        let (value, bound) = (high * slack, low.min(high * slack));
        let target = |row: Option<usize>| row.is_some_and(|r| bounds.target[self.rows[r].0]);
        Solved {
            // Groups that no bound needs are in no table.
            u: self.spread(&programme, &point, slack),
            certificate: Certificate::new("worst ratio of variance to target", value, bound),
            witness: programme.witness(&point, self.rows.len(), high, target),
        }
    }

    /// The least budget at which every target is met with care for the rest, and its certified lower bound. `None` without
    /// targets. A plan for a budget, with all noise scaled, is one for any larger budget: so bisection finds it.
    pub(crate) fn least_budget(&mut self, request: &Request) -> Option<(f64, f64)> {
        let alone = self.programme(|t| request.target_variance(t).map(f64::recip), None);
        if alone.minimax.rows.is_empty() {
            return None;
        }
        let alone = alone.minimax.solve();
        let (mut low, mut high) = (alone.bound, alone.value);
        if (0..request.workload.len()).all(|t| request.target_variance(t).is_some()) {
            return Some((high, low));
        }
        let whole = self.budget;
        let mut at = request.clone();
        let mut solve = |budget: f64| {
            self.budget = budget;
            let times = self.power.lower(whole / budget);
            at.care = request.care.iter().map(|kept| kept * times).collect();
            let bounds = self.bounds(&at, &self.free());
            self.bounded(&bounds, 1.0, None).minimax.solve()
        };
        loop {
            let next = solve(high);
            if next.value <= high {
                break;
            }
            if next.bound > high {
                low = high;
            }
            high *= 1.5;
            if high > 1e30 {
                return None;
            }
        }
        while high / low > 1.0 + 1e-6 {
            let middle = (low * high).sqrt();
            let next = solve(middle);
            if next.value <= middle {
                high = middle;
            } else if next.bound > middle {
                low = middle;
            } else {
                break;
            }
        }
        Some((high, low))
    }
}
