//! Questions that a release answers: each has been asked of it before it is shown.

use crate::answer::keys::Questions;
use crate::answer::{Answers, Options};
use crate::cube::{Cube, Level, Weighing};
use crate::projection::answer::Estimator;
use crate::sql::{quoted as name, quoted_level as level_name};

/// No example recovers a table of more cells than that.
const CELLS: u64 = 10_000;

/// A text in SQL's quotes.
fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Of more categories than these the largest are asked for.
const MANY: usize = 20;

/// Whether a level runs up a scale of so many steps that a range of them is worth asking for; categories for missing values may follow.
fn is_scale(cube: &Cube, level: Level) -> bool {
    let categories = level.of(cube);
    let whole = categories.bounds.iter().flatten().filter(|b| b.closed).count();
    whole >= 5 || (categories.len() >= 5 && cube.dimensions[level.dimension].is_of_days())
}

/// A condition on a level that some of its categories meet: a lower middle range of numbers or of days, or the first category.
fn condition(cube: &Cube, level: Level) -> Option<String> {
    let categories = level.of(cube);
    let finest = level_name(cube, Level::new(level.dimension, cube.dimensions[level.dimension].finest()));
    let whole: Vec<_> = categories.bounds.iter().flatten().filter(|b| b.closed).collect();
    let range = |n: usize| (n / 5, (2 * n / 5).saturating_sub(1).max(n / 5));
    if whole.len() >= 5 {
        let (from, to) = range(whole.len());
        return Some(format!("{finest} BETWEEN {} AND {}", whole[from].lo, whole[to].hi));
    }
    let column = level_name(cube, level);
    if is_scale(cube, level) {
        let (from, to) = range(categories.len());
        let (from, to) = (text(&categories.labels[from]), text(&categories.labels[to]));
        return Some(format!("{column} BETWEEN {from} AND {to}"));
    }
    categories.labels.first().map(|label| format!("{column} = {}", text(label)))
}

/// Of the levels of some tables the one of the fewest categories, but for those of a single one.
fn smallest<'t>(cube: &Cube, tables: impl Iterator<Item = &'t Vec<Level>>) -> Option<Level> {
    let several = tables.flatten().filter(|l| l.of(cube).len() > 1);
    several.min_by_key(|l| l.of(cube).len()).copied()
}

/// Up to six questions about tables, from the plainest.
pub(super) fn of_tables(answers: &Answers) -> Vec<String> {
    let cube = answers.cube();
    let from = name(answers.name());
    let plan = answers.evaluator().recovery().plan();
    let small = |t: &&crate::plan::Table| cube.cells(&t.cuboid).is_some_and(|n| n <= CELLS);
    let mut tables: Vec<Vec<Level>> =
        plan.rows().workload.iter().filter(small).map(|t| t.cuboid.iter().collect()).collect();
    tables.sort_by_key(|t| (t.len(), t.iter().map(|l| l.of(cube).len()).product::<usize>()));
    let mut asked = vec![format!("SELECT COUNT(*) FROM {from}")];
    let group = smallest(cube, tables.iter()).map(|l| level_name(cube, l));
    asked.extend(group.map(|group| format!("SELECT {group}, COUNT(*) FROM {from} GROUP BY {group}")));
    let many = tables.iter().flatten().find(|&&l| l.of(cube).len() > MANY && !is_scale(cube, l));
    asked.extend(
        many.map(|&l| level_name(cube, l)).map(|of| {
            format!("SELECT {of}, COUNT(*) AS n FROM {from} GROUP BY {of} ORDER BY n DESC LIMIT 10")
        }),
    );
    let several = tables.iter().filter(|t| t.len() > 1);
    let scaled = |t: &&Vec<Level>| t.iter().any(|&l| is_scale(cube, l));
    if let Some(table) = several.clone().find(scaled).or(several.clone().next()) {
        let at = table.iter().position(|&l| is_scale(cube, l)).unwrap_or(0);
        let mut rest = table.clone();
        let restricted = rest.remove(at);
        if let (Some(met), Some(by)) = (condition(cube, restricted), smallest(cube, [rest].iter())) {
            let group = level_name(cube, by);
            asked.push(format!("SELECT {group}, COUNT(*) FROM {from} WHERE {met} GROUP BY {group}"));
            asked.push(format!(
                "SELECT {group}, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM {from} WHERE {met} GROUP BY {group}"
            ));
        }
    }
    let told = |sql: &String| answers.ask(sql, &Options::at(0.95)).is_ok();
    asked.retain(told);
    asked.extend(of_amounts(answers, &from).into_iter().find(told));
    asked
}

/// Questions about the first number that is summed, by the level of its tables that has the fewest categories: with means, and without, where no counts are told.
fn of_amounts(answers: &Answers, from: &str) -> Vec<String> {
    let cube = answers.cube();
    let Ok(plan) = answers.release().plan(cube) else { return Vec::new() };
    let Some((quantity, tables)) = plan.summed().find(|(quantity, _)| quantity.weighing != Weighing::Weight)
    else {
        return Vec::new();
    };
    let small = tables.iter().filter(|t| cube.cells(&t.cuboid).is_some_and(|n| n <= CELLS));
    let tables: Vec<Vec<Level>> = small.map(|t| t.cuboid.iter().collect()).collect();
    let name = name(&quantity.name);
    let group = smallest(cube, tables.iter()).map(|l| level_name(cube, l));
    let question = |figures: String| match &group {
        None => format!("SELECT {figures} FROM {from}"),
        Some(group) => format!("SELECT {group}, {figures} FROM {from} GROUP BY {group}"),
    };
    vec![question(format!("AVG({name}), SUM({name})")), question(format!("SUM({name})"))]
}

/// How the key of a projection is asked for. A key that can be any text is for the reader to name.
pub(super) fn of_keys(questions: &Questions) -> Vec<String> {
    let from = name(questions.name());
    let names = questions.key_names();
    let conditions: Vec<String> = names
        .iter()
        .map(|k| {
            let dimension = questions.cube().dimensions.iter().find(|d| d.name == *k);
            let label = dimension.and_then(|d| d.levels.last()?.labels.first());
            match label {
                Some(label) if !questions.is_free(k) => format!("{} = {}", name(k), text(label)),
                _ => format!("{} IN ('…', '…')", name(k)),
            }
        })
        .collect();
    let by = names.iter().find(|k| questions.is_free(k)).or(names.first());
    let Some(by) = by.map(|k| name(k)) else { return Vec::new() };
    let all = conditions.join(" AND ");
    let mut asked = vec![
        format!("SELECT COUNT(*) FROM {from} WHERE {all}"),
        format!("SELECT {by}, COUNT(*) FROM {from} WHERE {all} GROUP BY {by}"),
    ];
    asked.retain(|sql| questions.select(sql, &Options::at(0.95), Estimator::Best).is_ok());
    asked
}
