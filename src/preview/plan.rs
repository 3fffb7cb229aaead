//! A plan of tables as JSON, as `margins plan --json` prints it.

use super::loss::told;
use super::margins::Margins;
use super::tables::tables_json;
use super::words::{figure, times};
use super::{asked, bases, copies, levels, names, sums};
use crate::cube::{Cube, Dimension, Level};
use crate::plan::Subject;
use crate::planner::targets::Targets;
use crate::planner::{self, Candidate, Choice, PlanError, Planned, Request, Unplanned};
use crate::release::Currency;
use crate::spec::Spec;
use serde_json::{Value, json};
use std::rc::Rc;

/// The pieces of it, handed on, with what is said beside.
pub(crate) fn of_tables<T>(
    spec: &Spec,
    choice: &Choice,
    beside: Vec<(&str, Value)>,
    take: impl FnOnce(&mut dyn Iterator<Item = String>) -> T,
) -> Result<T, Unplanned> {
    let plan = &choice.planned.plan;
    let asked = spec.request_of(plan).ok_or(Unplanned::NoBudget)?;
    let request = asked.over(plan.measure);
    Ok(take(&mut pieces(&spec.planned(plan), &asked, &request, choice, beside)?))
}

/// How far a plan is from the optimum, as far as that is proved.
pub(crate) fn optimum(planned: &Planned) -> Option<String> {
    let c = planned.certificate.as_ref()?;
    let (of, bound, among) = (c.of, figure(c.bound), c.among.words());
    // Proofs are of continuous noise. Where noise in whole numbers is as large but for a hair, its own figure stands for both.
    let own = planned.prediction.weighted_total;
    let value = match of == planner::objective::WEIGHTED_TOTAL {
        true if (c.value / own - 1.0).abs() < 1e-2 && (c.gap() <= 1e-3 || own >= c.bound) => figure(own),
        false if !planner::objective::is_coarse(&planned.plan) => figure(c.value),
        _ => format!("{} under continuous noise", figure(c.value)),
    };
    let proof = if c.gap() > 1e-3 {
        format!("{of} {value}, at most {} times the least of {among} (proved: {bound})", times(1.0 + c.gap()))
    } else {
        format!("{of} {value}, certified within {:.0e} of the least of {among}", c.gap().max(1e-12))
    };
    let wider = c
        .told()
        .map(|(of, bound)| format!("; at most {:.4} times the least of {of}", (c.value / bound).max(1.0)));
    Some(wider.fold(proof, |proof, wider| proof + &wider))
}

/// The dimensions and their levels, the finest first.
fn dimensions(cube: &Cube) -> Vec<Value> {
    let of = |(d, own): (usize, &Dimension)| {
        let level = |l: usize| json!({ "name": cube.level_name(Level::new(d, l)), "categories": own.levels[l].len() });
        json!({ "name": own.name, "levels": (1..own.levels.len()).rev().map(level).collect::<Vec<_>>() })
    };
    cube.dimensions.iter().enumerate().map(of).collect()
}

/// The pieces of the plan as JSON. Its tables are written one by one: of many, all at once would take more memory than the plan.
fn pieces<'a>(
    spec: &Spec,
    asked: &Request,
    request: &'a Request,
    choice: &'a Choice,
    beside: Vec<(&str, Value)>,
) -> Result<impl Iterator<Item = String> + use<'a>, PlanError> {
    let margins = Rc::new(Margins::new(request, &choice.planned));
    let mut fields = match tables_apart(spec, asked, request, choice, &margins)? {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    fields.extend(beside.into_iter().map(|(key, value)| (key.to_owned(), value)));
    let before = |first: bool| if first { "" } else { "," };
    let pieces = fields.into_iter().enumerate().flat_map(move |(at, (key, value))| {
        let name = format!("{}{}:", before(at == 0), Value::from(key.as_str()));
        let tables = (key == TABLES).then(|| tables_json(request, planned_of(choice), margins.clone()));
        let (open, value, close) = match tables {
            Some(_) => ("[", String::new(), "]"),
            None => ("", value.to_string(), ""),
        };
        let each = tables.into_iter().flatten();
        std::iter::once(name + open + &value).chain(each).chain([close.to_owned()])
    });
    Ok(["{".to_owned()].into_iter().chain(pieces).chain(["}\n".to_owned()]))
}

fn planned_of(choice: &Choice) -> &Planned {
    &choice.planned
}

/// The key under which every table stands.
const TABLES: &str = "tables";

/// Everything but the tables, whose place is held.
fn tables_apart(
    spec: &Spec,
    asked: &Request,
    request: &Request,
    choice: &Choice,
    margins: &Margins,
) -> Result<Value, PlanError> {
    let Choice { planned, candidates, chosen, copies, .. } = choice;
    let p = &planned.plan;
    let targets = planner::targets::targets(request, planned)?;
    let mut value = json!({
        "name": spec.name,
        "noise": p.noise,
        "budget": p.budget,
        "currency": Currency::of_tables(p.noise),
        "cost": planned.cost.total,
        "max_rows": p.max_rows,
        "truncation_scale": p.measurement(p.numbers(&Subject::CutUnits).start).map(|(_, m)| m.scale),
        "chosen": chosen,
        "strategies": candidates.iter().map(strategy_json).collect::<Vec<_>>(),
        "cells": planned.prediction.cells,
        "queries": planned.prediction.queries,
        "rms_error": planned.prediction.rms_error(),
        (TABLES): null,
        "levels": levels::to_json(request, planned, margins),
        "objective": request.objective,
        "relative": (!spec.strategy.expected.is_empty()).then(|| spec.strategy.expected.iter().map(|e| e.factor).collect::<Vec<_>>()),
        "gap": planned.certificate.map(|c| c.gap()),
        "gap_among": planned.certificate.map(|c| c.among.name()),
        "wider": planned.certificate.iter().flat_map(|c| c.told().map(|(of, bound)| {
            json!({"of": of, "gap": (c.value / bound - 1.0).max(0.0)})
        })).collect::<Vec<_>>(),
        "own_weights": planner::strategy::own_kinds(request, p).map(|(of, kinds)| json!({"of": of, "kinds": kinds})),
        "even_shares": planner::strategy::even(request, p).map(|(of, why)| json!({"of": of, "why": why.to_string()})),
        "effort": spec.strategy.effort,
        "with_delta": planner::with_delta(asked).map(|other| json!({
            "delta": *planner::DELTA,
            "rho": other.planned.plan.budget,
            "measure": other.planned.plan.measure.name(),
            "rms_error": other.planned.prediction.rms_error(),
            "total_variance": other.planned.prediction.total,
            "max_variance": other.planned.prediction.max,
        })),
        "targets": targets.map(|t| targets_json(spec, planned, &t)),
        "optimum": optimum(planned),
        "warnings": spec.warnings(),
        "dimensions": dimensions(&asked.cube),
        "recipients": copies.as_ref().map(|c| copies::to_json(c, Currency::of_tables(p.noise))),
    });
    if let (Some(fields), Value::Object(told)) = (value.as_object_mut(), told(spec, choice).json(planned)) {
        fields.extend(told);
    }
    let questions = asked::questions(spec);
    if !questions.is_empty() {
        value["asked"] = asked::questions_json(&questions, planned);
    }
    if !planner::closure::bases::bases_of(p).is_empty() {
        value["bases"] = bases::json(&spec.cube, planned).into();
    }
    if !planned.sums.is_empty() {
        value["sums"] = sums::json(&spec.cube, planned).into();
        let share = |of: &sums::SpentOn<'_>| json!({"of": sums::spent_on(of.subject), "share": of.part});
        value["shares"] = sums::shares(planned).iter().map(share).collect();
    }
    Ok(value)
}

fn strategy_json(c: &Candidate) -> Value {
    match &c.outcome {
        Ok(p) => json!({
            "measure": c.measure.name(),
            "budgets": c.budgets.name(),
            "applies": true,
            "total_variance": p.prediction.total,
            "weighted_variance": p.weighted_total(),
            "rms_error": p.prediction.rms_error(),
            "max_variance": p.prediction.max,
            "groups": sums::groups(&p.plan),
            "cost": p.cost.total,
            "gap": p.certificate.map(|c| c.gap()),
            "gap_among": p.certificate.map(|c| c.among.name()),
            "vast": c.vast,
        }),
        Err(e) => json!({
            "measure": c.measure.name(),
            "budgets": c.budgets.name(),
            "applies": false,
            "reason": e.to_string(),
        }),
    }
}

fn targets_json(spec: &Spec, planned: &Planned, t: &Targets) -> Value {
    let outcome = |o: &planner::targets::Outcome| {
        if let Some(of) = sums::target_of(&spec.cube, planned, o) {
            return json!({
                "of": names(&spec.cube, of.cuboid), "sum": of.amount,
                "margin": o.wanted, "level": o.level, "predicted": o.predicted, "met": o.met,
            });
        }
        json!({
            "of": names(&spec.cube, &planned.plan.rows().workload[o.table].cuboid),
            "asked": asked::name(&planned.plan.rows().workload[o.table], &spec.cube),
            "margin": o.wanted, "level": o.level, "predicted": o.predicted, "met": o.met,
        })
    };
    json!({
        "tables": t.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        "others": t.others,
        "least_budget": t.least.map(|l| l.budget),
        "least_budget_bound": t.least.and_then(|l| l.bound),
    })
}
