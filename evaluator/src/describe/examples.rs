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
    categories.labels.first().map(|label| format!("{column} = {}", text(label)))
}

/// Up to five questions about tables, from the plainest.
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
    asked.extend(of_amounts(answers, &from));
    asked.retain(|sql| answers.ask(sql, &Options::at(0.95)).is_ok());
    asked
}

/// One question about the first number that is summed, in its smallest table.
fn of_amounts(answers: &Answers, from: &str) -> Option<String> {
    let cube = answers.cube();
    let plan = answers.release().plan(cube).ok()?;
    let (quantity, tables) = plan.summed().find(|(quantity, _)| quantity.weighing != Weighing::Weight)?;
    let own = tables.iter().filter(|t| !t.cuboid.is_empty());
    let smallest =
        own.filter_map(|t| Some((cube.cells(&t.cuboid).filter(|n| *n <= CELLS)?, t))).min_by_key(|s| s.0);
    let figures = format!("SUM({0}), AVG({0})", name(&quantity.name));
    let Some((_, table)) = smallest else { return Some(format!("SELECT {figures} FROM {from}")) };
    let group = table.cuboid.iter().map(|l| level_name(cube, l)).collect::<Vec<_>>().join(", ");
    Some(format!("SELECT {group}, {figures} FROM {from} GROUP BY {group}"))
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
