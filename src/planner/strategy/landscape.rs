//! The workload's error as a function of the tables that are measured and of the shares of the budget they
//! get: what every search over tables looks at.
//!
//! After generalised least squares the weighted total variance is `Σ_A c_A/τ_A` with `τ_A = n_A Σ_{B ⊇ A} w_B/n_B`,
//! `n` the numbers of cells and `w_B` the precision of one cell of `B`. With the share `x_B` of the budget,
//! `w_B` grows as `x_B²` (Laplace) or `x_B` (Gaussian), and the factor in front is the same for all choices, so a search
//! compares `E = Σ_A (c_A/n_A) / Σ_{B ⊇ A} x_B^k/n_B`, `k` = 2 or 1. Only the workload's own components
//! matter, however large the tables are.
//!
//! Over balanced axes `E` is the predicted error itself, for continuous noise. Over unbalanced ones
//! it is a stand-in: least squares does not decouple there. The plan's prediction is the exact one.

use crate::cube::{Cuboid, Frame};
use crate::plan::BudgetRule;
use crate::planner::closure::Closure;
use crate::planner::found::WORDS;
pub(super) use crate::planner::found::{Choice, Shape, Steps};
use crate::planner::minimax::Power;
use crate::planner::price;
use crate::planner::request::Request;
use crate::watch::Watch;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// How many numbers of components the tables looked up may hold before they are forgotten.
const MOST_REMEMBERED: usize = 1 << 22;

/// A level in use.
#[derive(Clone)]
struct Step {
    dimension: usize,
    level: usize,
    /// How many times more cells a table has with it.
    growth: f64,
}

/// What a workload asks, ready for searches.
pub(crate) struct Landscape {
    steps: Vec<Step>,
    components: Vec<Steps>,
    /// `c_A/n_A`.
    stakes: Vec<f64>,
    /// The workload's tables, each once, and what the noise of a cell of it weighs.
    pub workload: Vec<(Steps, f64)>,
    /// `k`.
    gain: Power,
    rule: BudgetRule,
    shapes: RefCell<FxHashMap<Steps, Arc<Shape>>>,
    /// The numbers of components in `shapes`.
    remembered: Cell<usize>,
    pub watch: Watch,
}

impl Landscape {
    /// `None` when there are more levels in use than a [`Steps`] holds.
    pub(crate) fn new(
        request: &Request,
        frame: &Frame,
        closure: &Closure,
        rule: BudgetRule,
    ) -> Option<Landscape> {
        let mut steps = Vec::new();
        for (dimension, axis) in frame.axes.iter().enumerate() {
            for pair in axis.rungs.windows(2) {
                let growth = pair[1].real_len() as f64 / pair[0].real_len() as f64;
                steps.push(Step { dimension, level: pair[1].level, growth });
            }
        }
        if steps.len() > WORDS * 64 {
            return None;
        }
        let mut land = Landscape {
            steps,
            components: Vec::new(),
            stakes: Vec::new(),
            workload: Vec::new(),
            gain: price::gain(request.noise),
            rule,
            shapes: RefCell::default(),
            remembered: Cell::new(0),
            watch: request.watch.clone(),
        };
        // What is published exactly is known whatever is measured.
        let unknown = stakes(request, frame, closure).into_iter().zip(&closure.components);
        for (c, a) in unknown.filter(|(_, a)| !request.is_exact(a)) {
            land.components.push(land.steps_of(a));
            land.stakes.push(c / frame.cells(a));
        }
        // A table that is asked several things is one table.
        let mut place = FxHashMap::default();
        let asked = request.workload.iter().enumerate();
        for (t, table) in asked.filter(|(_, t)| !request.is_exact(&t.cuboid)) {
            let (steps, weight) = (land.steps_of(&table.cuboid), table.weight.to_f64() * closure.held(t));
            let next = land.workload.len();
            let at = *place.entry(steps).or_insert(next);
            match land.workload.get_mut(at) {
                Some((_, sum)) => *sum += weight,
                None => land.workload.push((steps, weight)),
            }
        }
        // A level of one category adds no component, but tables with it must be held all the same.
        let mut known: HashSet<Steps> = land.components.iter().copied().collect();
        for (t, _) in &land.workload {
            if known.insert(*t) {
                land.components.push(*t);
                land.stakes.push(0.0);
            }
        }
        Some(land)
    }

    /// The same workload for another thread, or under another rule.
    pub(crate) fn again(&self, rule: BudgetRule) -> Landscape {
        Landscape {
            steps: self.steps.clone(),
            components: self.components.clone(),
            stakes: self.stakes.clone(),
            workload: self.workload.clone(),
            gain: self.gain,
            rule,
            shapes: RefCell::default(),
            remembered: Cell::new(0),
            watch: self.watch.clone(),
        }
    }

    /// The bits of every dimension in use, the coarsest level first.
    pub(crate) fn dimensions(&self) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        for (bit, step) in self.steps.iter().enumerate() {
            match out.last_mut() {
                Some(last) if self.steps[last.start].dimension == step.dimension => last.end = bit + 1,
                _ => out.push(bit..bit + 1),
            }
        }
        out
    }

    /// Every dimension in use with its finest level.
    pub(crate) fn finest(&self) -> Vec<(usize, usize)> {
        self.dimensions()
            .iter()
            .map(|bits| &self.steps[bits.end - 1])
            .map(|s| (s.dimension, s.level))
            .collect()
    }

    /// How shares are made.
    pub(crate) fn rule(&self) -> BudgetRule {
        self.rule
    }

    /// `c_A/n_A` of every component.
    pub(crate) fn stakes(&self) -> &[f64] {
        &self.stakes
    }

    /// Whether precision grows with the square of a share.
    pub(crate) fn is_steep(&self) -> bool {
        self.gain == Power::Square
    }

    /// The workload's components, and those of its tables that add none.
    pub(crate) fn components(&self) -> &[Steps] {
        &self.components
    }

    /// Whether shares are equal whatever the tables.
    pub(crate) fn is_uniform(&self) -> bool {
        self.rule == BudgetRule::Uniform
    }

    /// The cuboid's levels as a set.
    pub(crate) fn steps_of(&self, cuboid: &Cuboid) -> Steps {
        let mut set = Steps::default();
        for (bit, step) in self.steps.iter().enumerate() {
            if step.level <= cuboid.level(step.dimension) {
                set.set(bit);
            }
        }
        set
    }

    /// The cuboid of a set of levels.
    pub(crate) fn cuboid(&self, set: &Steps) -> Cuboid {
        let pairs = self.steps.iter().enumerate().filter(|(bit, _)| set.has(*bit));
        Cuboid::new(pairs.map(|(_, s)| (s.dimension, s.level)))
    }

    /// A table, looked up or worked out.
    pub(crate) fn shape(&self, steps: Steps) -> Arc<Shape> {
        if let Some(known) = self.shapes.borrow().get(&steps) {
            return known.clone();
        }
        let shape = self.unseen(steps);
        let mut shapes = self.shapes.borrow_mut();
        let mut remembered = self.remembered.get() + shape.below.len() + 16;
        if remembered > MOST_REMEMBERED {
            shapes.clear();
            remembered = 0;
        }
        self.remembered.set(remembered);
        shapes.insert(steps, shape.clone());
        shape
    }

    /// A table, worked out and not kept.
    pub(crate) fn unseen(&self, steps: Steps) -> Arc<Shape> {
        let cells = (0..self.steps.len()).filter(|&b| steps.has(b)).map(|b| self.steps[b].growth).product();
        let below = self.components.iter().zip(0u32..).filter(|(a, _)| a.is_below(&steps)).map(|(_, i)| i);
        Arc::new(Shape { steps, cells, below: below.collect() })
    }

    /// Every table one level finer in one dimension, and every one a level coarser.
    pub(crate) fn neighbours(&self, set: &Steps) -> (Vec<Steps>, Vec<Steps>) {
        let (mut finer, mut coarser) = (Vec::new(), Vec::new());
        for bit in 0..self.steps.len() {
            let of = |other: usize| {
                self.steps.get(other).is_some_and(|s| s.dimension == self.steps[bit].dimension)
            };
            let mut next = *set;
            if set.has(bit) {
                // Only the finest one of its dimension can go.
                if !(of(bit + 1) && set.has(bit + 1)) {
                    next.clear(bit);
                    coarser.push(next);
                }
            } else if bit == 0 || !of(bit - 1) || set.has(bit - 1) {
                next.set(bit);
                finer.push(next);
            }
        }
        (finer, coarser)
    }

    /// The precision that a share buys, but for a common factor.
    pub(crate) fn precision(&self, share: f64) -> f64 {
        self.gain.raise(share)
    }

    /// The share that a group of weight `s` in the error gets, not yet normed.
    pub(crate) fn closed_form(&self, s: f64) -> f64 {
        match self.rule {
            BudgetRule::Uniform => 1.0,
            BudgetRule::Optimal => self.gain.share(s),
        }
    }

    /// `Σ_{B ⊇ A} x_B^k/n_B` of every component.
    pub(crate) fn known(&self, tables: &[Arc<Shape>], shares: &[f64]) -> Vec<f64> {
        let mut known = vec![0.0; self.components.len()];
        for (table, &share) in tables.iter().zip(shares) {
            let t = self.precision(share) / table.cells;
            for &a in &table.below {
                known[a as usize] += t;
            }
        }
        known
    }

    /// `c_A/n_A` over what is known of A; infinite when nothing is.
    pub(crate) fn term(&self, a: usize, known: f64) -> f64 {
        if known > 0.0 { self.stakes[a] / known } else { f64::INFINITY }
    }

    /// `E` of shares that add up to one.
    pub(crate) fn error(&self, tables: &[Arc<Shape>], shares: &[f64]) -> f64 {
        self.known(tables, shares).iter().enumerate().map(|(a, &k)| self.term(a, k)).sum()
    }

    /// Tables with shares in some proportion.
    pub(crate) fn choice(&self, tables: Vec<Arc<Shape>>, mut shares: Vec<f64>) -> Choice {
        norm(&mut shares);
        let error = self.error(&tables, &shares);
        Choice { tables, shares, error }
    }

    /// Better shares for the same tables, at most `rounds` steps.
    ///
    /// One step is the closed form for the recovery that least squares uses at the present
    /// shares: table `B` enters the error with `s_B = w_B² /n_B Σ_{A ≤ B} c_A n_A/τ_A²`. The new shares are the best for
    /// that recovery, and least squares then is the best recovery for them, so the error never grows.
    /// Its fixed points are those of gradient descent. Under Gaussian noise `E` is convex, so they are
    /// the optimum; under Laplace noise the optimum is sparse and the step finds a local one.
    pub(crate) fn descend(&self, choice: &mut Choice, rounds: usize) {
        if self.is_uniform() {
            return;
        }
        for _ in 0..rounds {
            if self.watch.is_stopped() {
                return;
            }
            let shares = self.step(choice);
            let error = self.error(&choice.tables, &shares);
            // An error that grows is the arithmetic's own.
            if error < choice.error {
                choice.shares = shares;
            }
            if error >= choice.error * (1.0 - 1e-10) {
                break;
            }
            choice.error = error;
        }
    }

    fn step(&self, choice: &Choice) -> Vec<f64> {
        let mut steep = self.known(&choice.tables, &choice.shares);
        steep.iter_mut().zip(&self.stakes).for_each(|(k, c)| *k = c / (*k * *k));
        let mut shares: Vec<f64> = choice
            .tables
            .iter()
            .zip(&choice.shares)
            .map(|(table, &x)| {
                let slope: f64 = table.below.iter().map(|&a| steep[a as usize]).sum();
                let w = self.precision(x);
                self.closed_form(w * w * slope / table.cells)
            })
            .collect();
        norm(&mut shares);
        shares
    }

    /// Leaves out tables that got next to nothing, where all is still covered and the error hardly grows: a
    /// table less is a table less to count and to publish.
    pub(crate) fn prune(&self, choice: &Choice) -> Choice {
        for little in [1e-2, 1e-4, 1e-6, 1e-8] {
            let least = little / choice.tables.len() as f64;
            let keep: Vec<usize> = (0..choice.tables.len()).filter(|&i| choice.shares[i] > least).collect();
            let tables = keep.iter().map(|&i| choice.tables[i].clone()).collect();
            let pruned = self.choice(tables, keep.iter().map(|&i| choice.shares[i]).collect());
            if pruned.error <= choice.error * (1.0 + 1e-5) {
                return pruned;
            }
        }
        choice.clone()
    }
}

fn norm(shares: &mut [f64]) {
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|s| *s /= total);
}

/// `c_A` of every component: what a unit of `σ_A²` adds to the workload's weighted total variance.
pub(super) fn stakes(request: &Request, frame: &Frame, closure: &Closure) -> Vec<f64> {
    let mut gain = vec![0.0; closure.components.len()];
    for (t, table) in request.workload.iter().enumerate() {
        let weight = table.weight.to_f64() * closure.queries(frame, t, &table.cuboid);
        let cells = request.cells_of(t);
        closure.weighed_gains(frame, t, &table.cuboid, cells, |id, g| gain[id] += weight * g);
    }
    gain
}
