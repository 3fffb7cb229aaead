//! Whole tables for any objective: budgets and recovery take turns.
//!
//! After least squares the variance of a cell is not linear in the noise of the tables, but for a fixed recovery it is, and least squares at
//! the present scales is one ([`Lens::read`]). The best scales for that recovery are the programme of [`super::linearised`]; at those, least squares is
//! again the best recovery for every cell at once. Each turn lowers the objective or leaves it: what a fixed recovery says of a cell lies
//! above the truth and touches it at the present scales. Under Gaussian noise every variance is convex in `1/u`, so a point that no turn
//! improves is the optimum, and how far a point is from it can be proved. Under Laplace noise it is a local one, and starts matter.
//!
//! **Proof** (Gaussian). For weights `b` on the cells' queries `q`, any precisions `w'` and `v = N⁻¹q` at the present ones,
//! `(Σ b qᵀv)² ≤ Σ b qᵀN'⁻¹q · Σ b vᵀN'v` by Cauchy and Schwarz, and the last sum is `Σ_k S_k u_k² w'_k` with `S_k = Σ b g_k`. At a cost of
//! `Σ C w' ≤ β` it is at most `β max_k S_k u_k²/C_k`: so `Σ b · variance ≥ (Σ S u)²/(β max_k S_k u_k²/C_k)` whatever the scales of
//! these tables.

use super::linearised::{Bounds, Linearised, Witness};
use super::minimax::Power;
use super::objective::{CARED, Certificate, MET, Objective};
use super::predict::{self, kinds};
use super::price;
use super::strategy::Ask;
use crate::cube::{Cuboid, Frame};
use crate::plan::{Block, Form, Measurement, Seen, Table, round};
use crate::recover::gls::{Gls, Parts, Weighted};

/// Work is counted: flops of the programmes, and numbers that systems of equations go through.
const WORK: f64 = 3e8;
/// More pairs of tables and components than this are not looked at.
const MOST_PAIRS: f64 = 1e7;
const MOST_TURNS: f64 = 60.0;
const FEW_TURNS: f64 = 3.0;
/// When turns are no longer worth it.
const SETTLED: f64 = 1e-7;
/// How exactly bounds are searched in a turn.
const PRECISION: f64 = 1e-5;
/// No table's share falls below this part of an equal one.
const LEAST_SHARE: f64 = 1e-5;
/// Values of scales that miss a target, by the ratio to it, and of those that let others down.
const MISSED: f64 = 1e200;
const CARELESS: f64 = 1e250;

/// What a plan of whole tables makes of the workload, as a function of the scales.
struct Lens<'a> {
    ask: &'a Ask<'a>,
    /// `C_k`: a group has column norm 1; a block of coefficients is as many groups.
    price: Vec<f64>,
    tables: Vec<Weighted>,
    eye: Eye<'a>,
}

enum Eye<'a> {
    /// Least squares decouples: for each table the components below it and what a unit of its precision says of them; and each
    /// row's table, components and gains.
    Balanced { below: Vec<Vec<(u32, f64)>>, stakes: Vec<f64>, rows: Vec<(usize, Vec<(u32, f64)>)> },
    /// It does not: for each kind of cell its table, lumped axes, the parts of its query, and the weight of all its like in the total.
    Coupled { rows: Vec<(usize, Frame, Parts, f64)>, exact: &'a [Cuboid] },
}

impl<'a> Lens<'a> {
    fn new(ask: &'a Ask<'a>, blocks: &'a [Block]) -> Option<Lens<'a>> {
        if blocks.len() as f64 * ask.closure.components.len() as f64 > MOST_PAIRS {
            return None;
        }
        let weighted = |block: &Block| match block.form() {
            Form::Table(seen) => Some(Weighted { cuboid: block.cuboid().clone(), seen, weight: 1.0 }),
            _ => None,
        };
        let tables: Vec<Weighted> = blocks.iter().map(weighted).collect::<Option<_>>()?;
        let unit = ask.request.unit_price();
        let groups = |block: &Block| match block {
            Block::Walsh(a) => ask.frame.walsh_len(a).map(|n| n as f64),
            _ => Some(1.0),
        };
        let price = blocks.iter().map(|b| Some(unit * groups(b)?)).collect::<Option<_>>()?;
        let eye = if ask.frame.is_balanced() { balanced(ask, &tables) } else { coupled(ask, &tables)? };
        Some(Lens { ask, price, tables, eye })
    }

    fn power(&self) -> Power {
        price::power(self.ask.request.noise)
    }

    /// The `β` of `Σ C/u^p ≤ β`.
    fn budget(&self) -> f64 {
        let Ask { request, .. } = *self.ask;
        price::spent(request.noise, request.budget.to_f64())
    }

    /// How many turns are worth their work.
    fn turns(&self) -> f64 {
        let (rows, look) = match &self.eye {
            Eye::Balanced { rows, below, .. } => {
                let parts: usize = rows.iter().map(|r| r.1.len()).sum();
                (rows.len(), (parts * below.len()) as f64)
            }
            Eye::Coupled { rows, .. } => {
                let steps = rows.iter().map(|r| 60.0 * Gls::step(&r.1, &self.tables)).sum();
                (rows.len(), steps)
            }
        };
        let (small, large) = (rows.min(self.price.len()) as f64, rows.max(self.price.len()) as f64);
        // Bounds take a programme for each step of their bisection.
        let programmes = if self.ask.request.objective == Objective::Targets { 15.0 } else { 1.0 };
        let turns = WORK / (25.0 * programmes * small * small * large + 10.0 * look);
        if turns < FEW_TURNS { 0.0 } else { turns.min(MOST_TURNS) }
    }

    /// The recovery that least squares uses at these scales. `None` when some cell has none.
    fn read(&self, u: &[f64]) -> Option<Linearised> {
        let unit = price::unit(self.ask.request.noise);
        let weights: Vec<f64> = u.iter().map(|u| 1.0 / (unit * u)).collect();
        let (gain, rows) = match &self.eye {
            Eye::Balanced { below, stakes, rows } => decoupled(&weights, below, stakes, rows)?,
            Eye::Coupled { rows, exact } => self.solved(&weights, rows, exact)?,
        };
        let scaled = |row: Vec<f64>| (0u32..).zip(row.into_iter().map(|g| g * unit)).collect();
        Some(Linearised {
            price: self.price.clone(),
            power: self.power(),
            budget: self.budget(),
            gain: gain.into_iter().map(|g| g * unit).collect(),
            rows: rows.into_iter().map(|(t, row)| (t, scaled(row))).collect(),
        })
    }

    fn solved(
        &self,
        weights: &[f64],
        rows: &[(usize, Frame, Parts, f64)],
        exact: &[Cuboid],
    ) -> Option<(Vec<f64>, Vec<(usize, Vec<f64>)>)> {
        let tables: Vec<Weighted> =
            self.tables.iter().zip(weights).map(|(t, &weight)| Weighted { weight, ..t.clone() }).collect();
        let mut gain = vec![0.0; weights.len()];
        let mut out = Vec::with_capacity(rows.len());
        for (t, frame, query, count) in rows {
            let gls = Gls::new(frame, &tables, false).beside(exact);
            let v = gls.solve(query.clone()).ok()?;
            let squares = |table: &Weighted| -> f64 {
                let copies = frame.multiplicity(&table.cuboid);
                gls.weights(table, &v).iter().zip(copies).map(|(c, m)| c * c * m as f64).sum()
            };
            let row: Vec<f64> = tables.iter().map(squares).collect();
            gain.iter_mut().zip(&row).for_each(|(sum, g)| *sum += count * g);
            out.push((*t, row));
        }
        Some((gain, out))
    }

    /// Scales that cost the budget, in the proportions of `u`.
    fn normed(&self, u: Vec<f64>) -> Vec<f64> {
        let (budget, p) = (self.budget(), self.power());
        let least = LEAST_SHARE / u.len() as f64;
        // Costs C/u^p: first so that they sum to one, then none below the least.
        let mut costs: Vec<f64> = self.price.iter().zip(u).map(|(c, u)| c / p.raise(u)).collect();
        for _ in 0..2 {
            let sum: f64 = costs.iter().sum();
            costs.iter_mut().for_each(|x| *x = (*x / sum).max(least));
        }
        let sum: f64 = costs.iter().sum();
        self.price.iter().zip(costs).map(|(c, x)| p.lower(c * sum / (x * budget))).collect()
    }

    /// The objective, comparable with others under the same bounds.
    fn value(&self, linearised: &Linearised, bounds: &Bounds, u: &[f64]) -> f64 {
        let request = self.ask.request;
        let rows = || linearised.rows.iter().map(|r| r.0).zip(linearised.variances(u));
        match request.objective {
            Objective::Total => linearised.total(u),
            Objective::Worst => {
                rows().map(|(t, v)| v * request.workload[t].weight.to_f64()).fold(0.0, f64::max)
            }
            Objective::Targets => {
                let of = |target: bool| {
                    let own = rows().filter(|(t, _)| bounds.is_target(*t) == target);
                    own.map(|(t, v)| bounds.ratio(t, v)).fold(0.0, f64::max)
                };
                let (ratio, care) = (of(true), of(false));
                if care > 1.0 + CARED / 4.0 {
                    CARELESS * care.min(1e40)
                } else if ratio <= 1.0 + MET / 4.0 {
                    linearised.total(u)
                } else {
                    MISSED * ratio.min(1e40)
                }
            }
        }
    }

    /// What these scales are at most from the best of these tables.
    fn proof(&self, linearised: &Linearised, witness: &Witness, u: &[f64]) -> f64 {
        let mut slope: Vec<f64> = linearised.gain.iter().map(|g| g * witness.total).collect();
        for ((_, row), b) in linearised.rows.iter().zip(&witness.rows).filter(|(_, b)| **b > 0.0) {
            row.iter().for_each(|&(k, g)| slope[k as usize] += b * g);
        }
        let sum: f64 = slope.iter().zip(u).map(|(s, u)| s * u).sum();
        let each = slope.iter().zip(u).zip(&linearised.price).map(|((s, u), c)| s * u * u / c);
        let most = each.fold(0.0, f64::max) * linearised.budget;
        if most > 0.0 { witness.bound(sum * sum / most) } else { 0.0 }
    }
}

fn balanced<'a>(ask: &'a Ask<'a>, tables: &[Weighted]) -> Eye<'a> {
    let components = &ask.closure.components;
    let known: Vec<bool> = components.iter().map(|a| ask.request.is_exact(a)).collect();
    let says = |t: &Weighted| -> Vec<(u32, f64)> {
        let some =
            (0u32..).zip(components).zip(&known).filter(|((_, a), known)| !**known && a.is_below(&t.cuboid));
        some.map(|((id, a), _)| (id, t.precision(ask.frame, a))).filter(|e| e.1 > 0.0).collect()
    };
    let mut rows = Vec::new();
    for (t, table) in ask.request.workload.iter().enumerate() {
        ask.closure.kind_gains(t, &table.cuboid, |ids, gains| {
            let some = ids.iter().zip(gains).filter(|&(&id, &g)| g > 0.0 && !known[id as usize]);
            let row: Vec<(u32, f64)> = some.map(|(&id, &g)| (id, g)).collect();
            if !row.is_empty() {
                rows.push((t, row));
            }
        });
    }
    let stakes =
        ask.stakes().into_iter().zip(&known).map(|(c, known)| if *known { 0.0 } else { c }).collect();
    Eye::Balanced { below: tables.iter().map(says).collect(), stakes, rows }
}

/// `None` where there is too much to look at.
fn coupled<'a>(ask: &'a Ask<'a>, tables: &[Weighted]) -> Option<Eye<'a>> {
    let exact = &ask.request.exact;
    let work = |t: &Table| predict::by_kinds(ask.frame, tables, &t.cuboid);
    if ask.request.workload.iter().map(work).sum::<f64>() > WORK {
        return None;
    }
    let mut rows = Vec::new();
    for (t, table) in
        ask.request.workload.iter().enumerate().filter(|(_, t)| !ask.request.is_exact(&t.cuboid))
    {
        for kind in kinds(ask.frame, &table.cuboid) {
            let mut parts = Parts::new();
            Gls::gather(&kind.frame, &table.cuboid, kind.query, &mut parts);
            parts.retain(|a, _| !ask.request.is_exact(a));
            rows.push((t, kind.frame, parts, kind.count * table.weight.to_f64()));
        }
    }
    Some(Eye::Coupled { rows, exact })
}

/// Over balanced axes: `g_rk = Σ_A g_rA w_k² p_kA/τ_A²`.
fn decoupled(
    weights: &[f64],
    below: &[Vec<(u32, f64)>],
    stakes: &[f64],
    rows: &[(usize, Vec<(u32, f64)>)],
) -> Option<(Vec<f64>, Vec<(usize, Vec<f64>)>)> {
    let mut tau = vec![0.0; stakes.len()];
    for (w, says) in weights.iter().zip(below) {
        says.iter().for_each(|&(a, p)| tau[a as usize] += w * p);
    }
    // For each component the tables that say something of it, with w² p/τ².
    let mut above: Vec<Vec<(usize, f64)>> = vec![Vec::new(); stakes.len()];
    for (k, (w, says)) in weights.iter().zip(below).enumerate() {
        for &(a, p) in says {
            let a = a as usize;
            above[a].push((k, w * w * p / (tau[a] * tau[a])));
        }
    }
    let mut gain = vec![0.0; weights.len()];
    for (stake, above) in stakes.iter().zip(&above) {
        above.iter().for_each(|&(k, s)| gain[k] += stake * s);
    }
    let each = |(t, row): &(usize, Vec<(u32, f64)>)| {
        let mut out = vec![0.0; weights.len()];
        for &(a, g) in row {
            if above[a as usize].is_empty() {
                return None;
            }
            above[a as usize].iter().for_each(|&(k, s)| out[k] += g * s);
        }
        Some((*t, out))
    };
    Some((gain, rows.iter().map(each).collect::<Option<_>>()?))
}

/// Better scales for the same tables by the request's objective, and for Gaussian noise the proof of how good they are. `None` when
/// turns cannot be taken: not only whole tables are measured, or there are too many.
pub(crate) fn improved(ask: &Ask, start: &[Measurement]) -> Option<(Vec<Measurement>, Option<Certificate>)> {
    let blocks: Vec<Block> = start.iter().map(|m| m.block.clone()).collect();
    let lens = Lens::new(ask, &blocks)?;
    let most = lens.turns();
    if most == 0.0 {
        return None;
    }
    let u_of = |m: &Measurement| price::u_of(ask.request.noise, m.scale.to_f64());
    let begin = lens.normed(start.iter().map(u_of).collect());
    let free = freed(&lens, begin.clone(), most)?;
    let bounds = lens.read(&free)?.bounds(ask.request, &free);
    let (u, proof) = taken(&lens, begin, &bounds, most)?;
    let scale = |u: f64| round::up(price::scale_of(ask.request.noise, u));
    let each = blocks.into_iter().zip(&u).map(|(block, &u)| Some(Measurement { block, scale: scale(u)? }));
    Some((each.collect::<Option<_>>()?, proof))
}

/// The scales of least total variance, which say what care allows. Needed for targets only.
fn freed(lens: &Lens, mut u: Vec<f64>, most: f64) -> Option<Vec<f64>> {
    if lens.ask.request.objective != Objective::Targets {
        return Some(u);
    }
    for _ in 0..most as usize {
        let linearised = lens.read(&u)?;
        let next = lens.normed(linearised.free());
        let (before, after) = (linearised.total(&u), lens.read(&next)?.total(&next));
        if after >= before {
            break;
        }
        u = next;
        if after > before * (1.0 - SETTLED) {
            break;
        }
    }
    Some(u)
}

/// Turns until nothing is gained. A step beyond what a turn proposes often goes further; where it does not, the turn's own is taken.
fn taken(
    lens: &Lens,
    begin: Vec<f64>,
    bounds: &Bounds,
    most: f64,
) -> Option<(Vec<f64>, Option<Certificate>)> {
    let request = lens.ask.request;
    let (mut u, mut linearised) = (begin.clone(), lens.read(&begin)?);
    let mut value = lens.value(&linearised, bounds, &u);
    let mut solved = linearised.solve(request, bounds, PRECISION);
    let mut stretch = 1.0f64;
    for _ in 0..most as usize {
        let between = |(u, v): (&f64, &f64)| u * libm::pow(v / u, stretch);
        let next = lens.normed(u.iter().zip(&solved.u).map(between).collect());
        let seen = lens.read(&next)?;
        let now = lens.value(&seen, bounds, &next);
        if now < value {
            let gained = now < value * (1.0 - SETTLED);
            (u, linearised, value) = (next, seen, now);
            solved = linearised.solve(request, bounds, PRECISION);
            if !gained && stretch == 1.0 {
                break;
            }
            stretch = if gained { (stretch * 1.4).min(4.0) } else { 1.0 };
        } else if stretch > 1.0 {
            stretch = 1.0;
        } else {
            break;
        }
    }
    let of = solved.certificate.of;
    // Scales that let others down are not taken.
    let careless = request.objective == Objective::Targets && value > CARELESS / 2.0;
    let proof = (lens.power() == Power::Plain && !careless).then(|| {
        // Out of reach, what is proved is the ratio.
        let met = request.objective != Objective::Targets || value < MISSED / 2.0;
        let value = if met { value } else { value / MISSED };
        let bound = lens.proof(&linearised, &solved.witness, &u).min(value);
        Certificate::new(of, value, bound)
    });
    Some((u, proof.filter(|p| p.bound > 0.0)))
}

/// Whether turns can be taken for these measurements: tables, all of them, that were not named with their shares.
pub(super) fn fits(start: &[Measurement]) -> bool {
    start.iter().all(|m| matches!(m.block.form(), Form::Table(Seen::Cells | Seen::Walsh)))
}
