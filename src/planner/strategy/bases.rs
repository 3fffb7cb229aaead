//! `bases`: every component below the workload once, told by bases in whole numbers that fit what is asked of ordered dimensions.
//!
//! `residual` is the best there is where cells are asked for. Who asks for ranges or prefixes asks for sums of many cells of one
//! dimension, and differences of siblings are then the wrong thing to know. Here every dimension of which anything but cells is asked gets the
//! basis of [`crate::planner::bases`]; the others keep their siblings' differences. Budgets follow from the same closed form.

use super::ask::{Ask, Groups};
use super::kind::{Rules, Strategy};
use super::refusal::{Measured, NotApplicable};
use super::weighted;
use crate::cube::Cuboid;
use crate::plan::basis::MAX_NODES;
use crate::plan::{Asks, Based, Block, BudgetRule, Neighbours, Ranges, Selected, Table, Telling, block};
use crate::planner::bases::bound;
use crate::planner::bases::descent::{self, Asker, Chosen, Demand, Dimension, Problem, Row};
use crate::planner::bases::worst::{self, Worst};
use crate::planner::closure::bases::{Bases as Told, can_be_told};
use crate::planner::objective::{Among, Certificate, Objective, WEIGHTED_TOTAL};
use crate::planner::request::Request;
use std::sync::Arc;

/// Counts times entries of bases and integer scales, for a billion rows, stay below `2^62`.
const BITS: f64 = 32.0;
/// The longest column of a basis, where there is room.
const LONGEST: f64 = 4096.0;
/// The shortest that still tells anything.
const SHORTEST: f64 = 24.0;

/// The most numbers that the Gram matrices of a dimension may have together: what else is asked of it is not looked at.
const MOST_GRAMS: usize = 1 << 24;

pub(super) struct Bases;

impl Strategy for Bases {
    fn measure(&self, ask: &Ask) -> Result<Vec<Measured>, NotApplicable> {
        if !ask.request.noise.squares() {
            return Err(NotApplicable::NeedsGaussian);
        }
        let (shaped, exactly) = (shaped(ask.request, false), shaped(ask.request, true));
        let dimensions = dimensions(ask, &shaped);
        let worst = ask.budgets == BudgetRule::Optimal && ask.request.objective == Objective::Worst;
        if dimensions.is_empty() {
            return Err(NotApplicable::NothingOrdered);
        }
        if !ask.request.workload.iter().all(|t| can_be_told(&ask.request.cube, ask.frame, t)) {
            return Err(NotApplicable::TooManyTables);
        }
        let weighed = worst.then(|| weighed(ask, &shaped, &exactly, &dimensions)).flatten();
        let problem = problem(ask, &shaped, dimensions);
        let chosen = problem.solve().ok_or(NotApplicable::NoBasis)?;
        let told = whole(ask, &problem, &chosen)?;
        let even = ask;
        let closure = ask.closure.over_bases(&ask.request.cube, ask.frame, &ask.request.workload, &told);
        let ask = Ask { closure: &closure, ..*ask };
        let mut sets = ask.components(groups(&ask, &told)?)?;
        if ask.budgets == BudgetRule::Optimal && ask.request.neighbours == Neighbours::Substitute {
            let equal = Ask { budgets: BudgetRule::Uniform, ..ask };
            sets.extend(equal.components(groups(&ask, &told)?)?);
        }
        if ask.budgets == BudgetRule::Optimal && ask.request.objective == Objective::Total {
            for (measurements, proof) in &mut sets {
                let value = || value(&ask, measurements);
                let bound = bound::least(ask.request, &exactly, ask.frame, &problem, &chosen);
                *proof = bound
                    .map(|bound| Certificate::new(WEIGHTED_TOTAL, value(), bound).among(Among::Gaussian));
            }
        }
        if let Some((problem, bound)) = weighed {
            if let Some(chosen) = problem.solve() {
                let told = whole(even, &problem, &chosen)?;
                let closure =
                    even.closure.over_bases(&even.request.cube, even.frame, &even.request.workload, &told);
                let ask = Ask { closure: &closure, ..*even };
                sets.extend(ask.components(groups(&ask, &told)?)?);
            }
            let factor = even.request.unit_price() / (2.0 * even.request.budget.to_f64());
            let bound = bound.map(|bound| bound * factor);
            sets.iter_mut().filter_map(|(_, proof)| proof.as_mut()).for_each(|proof| proof.widen(bound));
        }
        // Beside dimensions whose groups differ in size; what that does not do the even shares do.
        if let Ok(Some(weighted)) = weighted::measure(even, &told) {
            sets.extend(weighted);
        }
        Ok(sets)
    }

    fn needs(&self) -> Option<fn(&Request) -> bool> {
        Some(|request| shaped(request, false).iter().any(asks_for_sums))
    }

    /// Ordered dimensions as their finest levels tell them: groups of neighbours are intervals of those.
    fn fewer(&self, request: &Request) -> Option<Vec<Vec<u8>>> {
        let shaped = shaped(request, false);
        let sums =
            |d: &usize| shaped.iter().any(|t| !matches!(asked_of(t, *d), Ranges::Cells | Ranges::Total));
        let ordered: Vec<usize> = (0..request.cube.dimensions.len()).filter(sums).collect();
        request.finest_of(&ordered)
    }

    /// The closed form is the best for components where their costs add up, so equal budgets are never better. Under `substitute` two cells
    /// cost less than all components' sums, by more or less with the shares: there [`Bases::measure`] looks at equal ones itself.
    fn rules(&self) -> Rules {
        Rules::Within
    }
}

/// The workload, with those SELECTs as products that are; of others, and of conditions that are no intervals, bases are not fitted to more than
/// cells. Budgets and predictions are of what is really asked. `exactly`: only those of which that is all.
fn shaped(request: &Request, exactly: bool) -> Vec<Table> {
    let one = |table: &Table| {
        let sides = Selected::of(&request.cube, table).and_then(|s| s.product(&request.cube));
        let told = |sides: &Vec<(usize, Option<Ranges>)>| !exactly || sides.iter().all(|s| s.1.is_some());
        let Some(sides) = sides.filter(told) else { return table.clone() };
        let of = sides.into_iter().map(|(d, asked)| (d as u16, asked.unwrap_or_default()));
        Table { asks: Asks::product(of.collect()), ..table.clone() }
    };
    request.workload.iter().map(one).collect()
}

/// Whether more than cells and totals of some dimension is asked for.
fn asks_for_sums(table: &Table) -> bool {
    let sums = |d: usize| !matches!(asked_of(table, d), Ranges::Cells | Ranges::Total);
    table.cuboid.pairs().any(|(d, _)| sums(d))
}

/// The weighted total variance, as for continuous noise.
fn value(ask: &Ask, measurements: &[crate::plan::Measurement]) -> f64 {
    let stakes = ask.stakes();
    let of = |m: &crate::plan::Measurement| {
        let id = ask.closure.find(m.block.cuboid())?;
        Some(stakes.get(id)? * m.scale.to_f64() / m.block.divisor(ask.frame)?)
    };
    measurements.iter().filter_map(of).sum()
}

/// What a table asks of one of its dimensions; of queries that are no products their cells.
fn asked_of(table: &Table, dimension: usize) -> Ranges {
    descent::asked_of(table, dimension).unwrap_or_default()
}

/// The dimensions that get bases: those of which some table asks for more than cells and totals.
fn dimensions(ask: &Ask, workload: &[Table]) -> Vec<Dimension> {
    let mut out = Vec::new();
    for (number, axis) in ask.frame.axes.iter().enumerate() {
        let fits = axis.rungs.last().is_some_and(|r| r.len() <= MAX_NODES);
        if axis.rungs.len() < 2 || !fits || axis.rungs.iter().any(|r| r.adds_nothing()) {
            continue;
        }
        let mut demands: Vec<Demand> = Vec::new();
        let most = MOST_GRAMS / axis.rungs.last().map_or(1, |r| r.len() * r.len()).max(1);
        for table in workload {
            let Some(rung) = axis.rung(table.cuboid.level(number)).filter(|&r| r > 0) else { continue };
            let asked = asked_of(table, number);
            if demands.len() <= most && !demands.iter().any(|d| d.rung == rung && d.asked == asked) {
                demands.push(Demand { rung, asked, gram: None });
            }
        }
        if demands.iter().any(|d| !matches!(d.asked, Ranges::Cells | Ranges::Total)) {
            let parents = axis.rungs[1..].iter().map(|r| r.parent.to_vec()).collect();
            out.push(Dimension { number, parents, demands });
        }
    }
    out
}

/// Bases for the worst answer: the problem in which questions matter as they do for it, and what no Gaussian mechanism is below, where cost is one. The bound
/// is that of the table for which it is the largest.
fn weighed(
    ask: &Ask,
    shaped: &[Table],
    exactly: &[Table],
    dimensions: &[Dimension],
) -> Option<(Problem, Option<f64>)> {
    let nodes = |d: usize, rung: usize| ask.frame.axes[d].rungs[rung].len();
    let mut found = Vec::new();
    for dimension in dimensions {
        let one = |d: &Demand| worst::worst(&d.asked, nodes(dimension.number, d.rung));
        found.push(dimension.demands.iter().map(one).collect::<Option<Vec<Worst>>>()?);
    }
    let mut bound = 0.0f64;
    for table in exactly.iter().filter(|t| matches!(t.asks, Asks::Product(_))) {
        let of = |(d, l): (usize, usize)| {
            let place = dimensions.iter().position(|own| own.number == d);
            let rung = ask.frame.axes[d].rung(l).unwrap_or(0);
            let Some(place) = place else {
                // Without a basis: cells, or a question for which there is none.
                return matches!(asked_of(table, d), Ranges::Cells | Ranges::Total).then_some(1.0);
            };
            let same = |own: &Demand| own.rung == rung && own.asked == asked_of(table, d);
            let at = dimensions[place].demands.iter().position(same)?;
            Some(found[place][at].bound)
        };
        let product: Option<f64> = table.cuboid.pairs().map(of).product();
        bound = bound.max(product.unwrap_or(0.0) * table.weight.to_f64());
    }
    let request = ask.request;
    let plain =
        request.exact.is_empty() && request.zeros.is_empty() && request.neighbours == Neighbours::AddRemove;
    let dimensions = dimensions.iter().zip(found).map(|(of, found)| {
        let one = |(d, found): (&Demand, Worst)| Demand {
            rung: d.rung,
            asked: d.asked.clone(),
            gram: Some(found.gram),
        };
        Dimension {
            number: of.number,
            parents: of.parents.clone(),
            demands: of.demands.iter().zip(found).map(one).collect(),
        }
    });
    let mut problem = problem(ask, shaped, dimensions.collect());
    // Weights of all of a table's questions add up to one.
    for (asker, table) in problem.tables.iter_mut().zip(shaped) {
        for (row, (d, l)) in asker.rows.iter().zip(table.cuboid.pairs()) {
            if matches!(row, Row::Fixed(_)) {
                asker.weight /= nodes(d, ask.frame.axes[d].rung(l).unwrap_or(0)) as f64;
            }
        }
    }
    Some((problem, (plain && bound > 0.0).then_some(bound)))
}

/// The dimensions of a component that have no basis.
fn others(component: &Cuboid, dimensions: &[Dimension]) -> Cuboid {
    let own = component.pairs().filter(|(d, _)| !dimensions.iter().any(|o| o.number == *d));
    Cuboid::new(own)
}

fn problem(ask: &Ask, workload: &[Table], dimensions: Vec<Dimension>) -> Problem {
    let axis = |number: usize| &ask.frame.axes[number];
    let price = |a: &Cuboid| {
        if ask.request.is_exact(a) {
            return 0.0;
        }
        let own = others(a, &dimensions);
        let norm = block::component_norm(ask.frame, &own).map_or(1.0, |n| n as f64);
        let scale = block::component_scale(ask.frame, &own).map_or(1.0, |m| m as f64);
        norm / (scale * scale)
    };
    let rungs =
        |a: &Cuboid| dimensions.iter().map(|d| axis(d.number).rung(a.level(d.number)).unwrap_or(0)).collect();
    let components = &ask.closure.components;
    let price = components.iter().map(price).collect();
    let rungs = components.iter().map(rungs).collect();
    let tables = workload.iter().enumerate().map(|(t, table)| {
        let fixed = ask.closure.rows_of(ask.frame, t, table);
        let row = |((d, l), fixed): ((usize, usize), Vec<f64>)| {
            let place = dimensions.iter().position(|own| own.number == d);
            let (asked, rung) = (asked_of(table, d), axis(d).rung(l).unwrap_or(0));
            let found = place.and_then(|place| {
                let same = |own: &Demand| own.rung == rung && own.asked == asked;
                Some((place, dimensions[place].demands.iter().position(same)?))
            });
            found.map_or(Row::Fixed(fixed), |(place, demand)| Row::Of(place, demand))
        };
        Asker {
            weight: table.weight.to_f64(),
            components: ask.closure.tables[t].clone(),
            rows: table.cuboid.pairs().zip(fixed).map(row).collect(),
        }
    });
    let tables = tables.collect();
    Problem { dimensions, tables, price, rungs }
}

/// The bases in whole numbers, as large as there is room for.
fn whole(ask: &Ask, problem: &Problem, chosen: &[Chosen]) -> Result<Told, NotApplicable> {
    let mut size = LONGEST;
    for component in &ask.closure.components {
        let own = others(component, &problem.dimensions);
        let told = component.len() - own.len();
        if told == 0 {
            continue;
        }
        let scale = block::component_scale(ask.frame, &own).map_or(f64::INFINITY, |m| m as f64);
        let room = BITS - libm::log2(ask.request.reach as f64) - libm::log2(scale) - own.len() as f64;
        let most = libm::exp2(room / told as f64);
        if most < SHORTEST {
            return Err(NotApplicable::ScaleTooLarge(ask.name(component)));
        }
        size = size.min(most);
    }
    let mut out = Told::new();
    for (dimension, chosen) in problem.dimensions.iter().zip(chosen) {
        for (r, rung) in ask.frame.axes[dimension.number].rungs.iter().enumerate().skip(1) {
            let basis = chosen.split.whole(r, size).ok_or(NotApplicable::NoBasis)?;
            if basis.inverse().is_none() {
                return Err(NotApplicable::NoBasis);
            }
            let basis = Telling::Basis(Arc::new(basis.found_within(chosen.best.gap())));
            out.insert((dimension.number, rung.level), basis);
        }
    }
    Ok(out)
}

/// A block for each component, priced exactly.
fn groups(ask: &Ask, told: &Told) -> Result<Groups, NotApplicable> {
    let mut groups = Groups::new();
    for (component, v) in ask.closure.components.iter().zip(ask.stakes()) {
        let axes = component.pairs().map(|at| told.get(&at).cloned().unwrap_or(Telling::Siblings)).collect();
        let block = Block::Based(Based { cuboid: component.clone(), axes });
        if ask.request.is_exact(component) {
            groups.push_known(block);
            continue;
        }
        let too_large = || NotApplicable::ScaleTooLarge(ask.name(component));
        ask.check_size(component)?;
        let norm = block.sensitivity(ask.frame, ask.request.noise).ok_or_else(too_large)?;
        let m = block.unit(ask.frame).ok_or_else(too_large)?;
        let price = norm as f64 * ask.request.unit_price();
        groups.push(block, price, v / (m * m), m);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests;
