//! Questions that a release answers: each has been asked of it before it is shown.

use crate::answer::keys::Questions;
use crate::answer::{Answers, Options};
use crate::cube::{Cube, Level};
use crate::projection::answer::Estimator;
use crate::sql::quote_names;

/// No example recovers a table of more cells than that.
const CELLS: u64 = 10_000;

/// A name as a query must write it.
fn name(name: &str) -> String {
    quote_names(name, &[name]).into_owned()
}

/// A text in SQL's quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The levels of a dimension as queries name them: each part in quotes where it must be.
fn level_name(cube: &Cube, level: Level) -> String {
    let text = cube.level_name(level);
    let dimension = &cube.dimensions[level.dimension].name;
    match text.strip_prefix(dimension.as_str()).and_then(|rest| rest.strip_prefix('.')) {
        Some(rest) => format!("{}.{}", name(dimension), name(rest)),
        None => name(&text),
    }
}

/// A condition on a level that some of its categories meet: a middle range of numbers, or the first category.
fn condition(cube: &Cube, level: Level) -> Option<String> {
    let categories = level.of(cube);
    let column = level_name(cube, level);
    let n = categories.len();
    let whole: Vec<_> = categories.bounds.iter().flatten().filter(|b| b.closed).collect();
    if whole.len() == n && n >= 5 {
        let (low, high) = (whole[n / 5].lo, whole[2 * n / 5].hi);
        let finest = level_name(cube, Level::new(level.dimension, cube.dimensions[level.dimension].finest()));
        return Some(format!("{finest} BETWEEN {low} AND {high}"));
    }
    categories.labels.first().map(|label| format!("{column} = {}", quoted(label)))
}

/// Up to four questions about tables, from the plainest.
pub(super) fn of_tables(answers: &Answers) -> Vec<String> {
    let cube = answers.cube();
    let from = name(answers.name());
    let mut tables: Vec<Vec<Level>> = answers
        .evaluator()
        .recovery()
        .plan()
        .rows()
        .workload
        .iter()
        .filter(|t| cube.cells(&t.cuboid).is_some_and(|n| n <= CELLS))
        .map(|t| t.cuboid.iter().collect())
        .collect();
    tables.sort_by_key(|t| (t.len(), t.iter().map(|l| l.of(cube).len()).product::<usize>()));
    let mut asked = vec![format!("SELECT COUNT(*) FROM {from}")];
    if let Some(smallest) = tables.iter().find(|t| !t.is_empty()) {
        let group = smallest.iter().map(|&l| level_name(cube, l)).collect::<Vec<_>>().join(", ");
        asked.push(format!("SELECT {group}, COUNT(*) FROM {from} GROUP BY {group}"));
    }
    let several = tables.iter().filter(|t| t.len() > 1);
    let ordered = |t: &&Vec<Level>| t.iter().any(|l| l.of(cube).len() >= 5 && l.of(cube).is_numeric());
    if let Some(table) = several.clone().find(ordered).or(several.clone().next()) {
        let at = table.iter().position(|l| l.of(cube).len() >= 5 && l.of(cube).is_numeric()).unwrap_or(0);
        let mut rest = table.clone();
        let restricted = rest.remove(at);
        if let (Some(met), Some(&by)) = (condition(cube, restricted), rest.first()) {
            let group = level_name(cube, by);
            asked.push(format!("SELECT {group}, COUNT(*) FROM {from} WHERE {met} GROUP BY {group}"));
            asked.push(format!(
                "SELECT {group}, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM {from} WHERE {met} GROUP BY {group}"
            ));
        }
    }
    asked.retain(|sql| answers.ask(sql, &Options::at(0.95)).is_ok());
    asked
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
                Some(label) if !questions.is_free(k) => format!("{} = {}", name(k), quoted(label)),
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
