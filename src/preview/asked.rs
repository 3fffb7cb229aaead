//! What is asked beyond cells: also judged by what nobody asked.

use super::sums::spread;
use crate::answer::linear;
use crate::cube::Cube;
use crate::plan::{Asks, Form, MOST_PREFIXES, MOST_RANGES, Ranges, Table};
use crate::planner::{Planned, Request, closure::Spread, judge};
use crate::spec::Spec;
use crate::sql::{Query, quote_names};
use crate::visible::visible;
use serde_json::{Value, json};

/// The longest name of a table in a list.
const LONGEST: usize = 60;

/// How a table or a query is called in a list.
pub(crate) fn name(table: &Table, cube: &Cube) -> String {
    let name = table.describe(cube);
    if table.asks.is_cells() {
        return name;
    }
    let name = visible(&name).into_owned();
    match name.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", name.get(..at).unwrap_or_default()),
        None => name,
    }
}

/// A question of `[asked]`, as it is asked of the release, and how many figures it has.
pub(crate) struct Measured {
    pub sql: String,
    pub figures: usize,
    /// The name after FROM, which a spec leaves open and a query does not.
    pub from: String,
}

/// The questions whose figures are measured themselves; none of a spec with tables.
pub(crate) fn questions(spec: &Spec) -> Vec<Measured> {
    if !spec.workload.is_empty() || spec.strategy.rows.is_none() {
        return Vec::new();
    }
    let written: toml::Table = spec.source.parse().unwrap_or_default();
    let list = written.get("asked").and_then(|asked| asked.get("queries")).and_then(|list| list.as_array());
    let names = spec.cube.dimensions.iter().map(|d| d.name.as_str()).chain([spec.name.as_str()]);
    let names: Vec<&str> = names.collect();
    let one = |sql: &str| {
        let sql = quote_names(sql, &names).into_owned();
        let query = Query::parse(&sql, &spec.cube).ok()?;
        let figures = linear::figures(&query, &spec.cube).ok()?.len();
        Some(Measured { sql, figures, from: query.from })
    };
    list.into_iter().flatten().filter_map(|sql| one(sql.as_str()?)).collect()
}

/// How exact each of their figures is: its standard error, and half the width of its 95 % interval, by its own noise. All have the same; what they have
/// in common makes none of them worse.
pub(crate) fn own_noise(planned: &Planned) -> [f64; 2] {
    planned.plan.rows().measurements.first().map_or([f64::NAN; 2], |m| spread(planned, m.scale))
}

/// These questions for scripts.
pub(super) fn questions_json(questions: &[Measured], planned: &Planned) -> Value {
    let [error, half] = own_noise(planned);
    let one =
        |q: &Measured| json!({"sql": q.sql, "figures": q.figures, "std_error": error, "margin95": half});
    questions.iter().map(one).collect()
}

/// The kinds of questions that every table with something asked of it is judged by.
const JUDGED: [Ranges; 3] = [Ranges::Cells, Ranges::Prefixes, Ranges::All];

/// The table asked each of these, along the dimensions of which something is asked. `None` for what there would be too many of.
fn versions(table: &Table, cube: &Cube) -> Vec<Option<Table>> {
    let Asks::Product(of) = &table.asks else { return Vec::new() };
    let most = |asked: &Ranges| match asked {
        Ranges::Prefixes => MOST_PREFIXES,
        Ranges::All => MOST_RANGES,
        _ => usize::MAX,
    };
    let nodes = |d: u16| cube.dimensions[usize::from(d)].levels[table.cuboid.level(d.into())].len();
    let version = |asked: &Ranges| {
        of.iter().all(|(d, _)| nodes(*d) <= most(asked)).then(|| Table {
            asks: Asks::product(of.iter().map(|(d, _)| (*d, asked.clone())).collect()),
            ..table.clone()
        })
    };
    JUDGED.iter().map(version).collect()
}

/// The most steps of judging a table by what nobody asked, where each question takes the square of the cells under rows.
const MOST_STEPS: f64 = (1u64 << 30) as f64;

/// Whether such a table is judged quickly: what rows tell is worked out question by question.
fn is_quick(table: &Table, cube: &Cube, planned: &Planned) -> bool {
    let Some(rows) = planned.plan.rows().measurements.iter().find(|m| m.block.form() == Form::Rows) else {
        return true;
    };
    let asked = |(d, l): (usize, usize)| {
        let n = cube.dimensions[d].levels[l].len() as u64;
        table.asks.of(d).unwrap_or(&Ranges::Cells).queries(n)
    };
    let cells = cube.cells(rows.block.cuboid()).map_or(f64::INFINITY, |n| n as f64);
    table.cuboid.pairs().map(asked).product::<f64>() * cells * cells <= MOST_STEPS
}

/// The errors of cells, prefixes and ranges of some tables.
pub(crate) fn spreads(tables: &[&Table], request: &Request, planned: &Planned) -> Vec<Vec<Option<Spread>>> {
    let quick = |t: &Table| is_quick(t, &request.cube, planned);
    let of = |t: &&Table| versions(t, &request.cube).into_iter().map(|t| t.filter(quick)).collect();
    let all: Vec<Vec<Option<Table>>> = tables.iter().map(of).collect();
    let mut judged =
        judge(request, &planned.plan, all.iter().flatten().flatten().cloned().collect()).into_iter();
    let mut one = |t: &Option<Table>| t.as_ref().and_then(|_| judged.next()).filter(|s| s.mean.is_finite());
    all.iter().map(|of| of.iter().map(&mut one).collect()).collect()
}

/// Adds what is asked of a table, and how it is judged.
pub(super) fn describe(table: &Table, request: &Request, planned: &Planned, value: &mut Value) {
    let cube = &request.cube;
    match &table.asks {
        Asks::Query(text) => value["sql"] = json!(text),
        Asks::Product(of) if of.is_empty() => {}
        Asks::Product(of) => {
            let ask: serde_json::Map<String, Value> = of
                .iter()
                .map(|(d, asked)| {
                    let level = table.cuboid.at((*d).into());
                    let labels = &level.of(cube).labels;
                    let ends =
                        |&(first, last): &(u32, u32)| json!([labels[first as usize], labels[last as usize]]);
                    let what = match asked {
                        Ranges::Intervals(list) => json!(list.iter().map(ends).collect::<Vec<_>>()),
                        other => json!(other.name()),
                    };
                    (cube.level_name(level), what)
                })
                .collect();
            value["ask"] = Value::Object(ask);
            let spreads = spreads(&[table], request, planned);
            for (asked, spread) in JUDGED.iter().zip(spreads.iter().flatten()) {
                value["judged"][asked.name()] = match spread {
                    Some(s) => json!({"variance": s.mean, "max_variance": s.max}),
                    None => Value::Null,
                };
            }
        }
    }
}
