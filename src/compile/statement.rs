//! One SQL statement that counts a plan's tables where the data lives.
//!
//! It makes of every row what reading a file makes of it: the node of each dimension by the spec's own lists, `missing` and `other` included. A
//! value that has no node becomes -1, so that whoever takes the counts refuses them; nothing is left out in silence. Only tables that hold all
//! others are counted.

mod amounts;
mod types;

use super::CompileError;
use super::tables::wanted;
use crate::calendar;
use crate::cube::{ClassedDimension, Cube, Filter, Level};
use crate::plan::Plan;
use crate::recover::zeros::Zero;
use crate::secret::count::given::{
    ASTRAY, COUNT, CUT, IMPOSSIBLE, OUTSIDE, SPEC, column, fingerprint, levels, needed, untold,
};
use crate::spec::{Blanks, Coding, Column, Spec, Unit};
use amounts::Summed;
use std::fmt::Write;

/// Whose SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub(crate) enum Dialect {
    /// Apache Spark
    Spark,
    /// DuckDB
    Duckdb,
    /// PostgreSQL
    Postgres,
    /// Google BigQuery
    Bigquery,
    /// Standard SQL
    Ansi,
}

impl Dialect {
    /// All.
    pub(crate) const ALL: [Dialect; 5] =
        [Dialect::Spark, Dialect::Duckdb, Dialect::Postgres, Dialect::Bigquery, Dialect::Ansi];

    /// As `--sql` has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Dialect::Spark => "spark",
            Dialect::Duckdb => "duckdb",
            Dialect::Postgres => "postgres",
            Dialect::Bigquery => "bigquery",
            Dialect::Ansi => "ansi",
        }
    }

    fn backslashes(self) -> bool {
        matches!(self, Dialect::Spark | Dialect::Bigquery)
    }

    fn name(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            Dialect::Bigquery => format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`")),
            Dialect::Duckdb | Dialect::Postgres | Dialect::Ansi => {
                format!("\"{}\"", name.replace('"', "\"\""))
            }
        }
    }

    fn text(self, text: &str) -> String {
        match self.backslashes() {
            true => {
                let text =
                    text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n").replace('\r', "\\r");
                format!("'{text}'")
            }
            false => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// How many days after `first` the day in the column `name` is.
    fn days_since(self, name: &str, first: &str) -> String {
        match self {
            Dialect::Spark => format!("DATEDIFF({name}, DATE '{first}')"),
            Dialect::Duckdb => format!("DATE_DIFF('day', DATE '{first}', {name})"),
            Dialect::Postgres => format!("{name} - DATE '{first}'"),
            Dialect::Bigquery => format!("DATE_DIFF({name}, DATE '{first}', DAY)"),
            Dialect::Ansi => {
                // Years from March on: leap days come last.
                let year = format!(
                    "(EXTRACT(YEAR FROM {name}) - CASE WHEN EXTRACT(MONTH FROM {name}) <= 2 THEN 1 ELSE 0 END)"
                );
                let month = format!(
                    "(EXTRACT(MONTH FROM {name}) + CASE WHEN EXTRACT(MONTH FROM {name}) <= 2 THEN 9 ELSE -3 END)"
                );
                let epoch = calendar::read(first.as_bytes()).map_or(0, |day| day + 719_468);
                format!(
                    "CAST(365 * {year} + FLOOR({year} / 4.0) - FLOOR({year} / 100.0) + FLOOR({year} / 400.0) + \
                     FLOOR((153 * {month} + 2) / 5.0) + EXTRACT(DAY FROM {name}) - 1 - {epoch} AS INTEGER)"
                )
            }
        }
    }

    /// What stands behind FROM. DuckDB takes names without looking at case, and so one column of a file for another; patterns it matches as they are.
    fn source(self, from: &str, columns: &[&str]) -> String {
        if self != Dialect::Duckdb || columns.is_empty() {
            return from.to_owned();
        }
        let mut named: Vec<String> = Vec::new();
        for column in columns {
            let pattern = self.text(&format!("^\\Q{}\\E$", column.replace("\\E", "\\E\\\\E\\Q")));
            // Behind a pattern a name is one, too.
            let one = format!("COLUMNS({pattern}) AS {}", self.name(column).replace('\\', "\\\\"));
            if !named.contains(&one) {
                named.push(one);
            }
        }
        format!("(SELECT {} FROM {from})", named.join(", "))
    }

    fn text_type(self) -> &'static str {
        match self {
            Dialect::Spark | Dialect::Bigquery => "STRING",
            Dialect::Duckdb => "VARCHAR",
            Dialect::Postgres => "TEXT",
            Dialect::Ansi => "VARCHAR(4096)",
        }
    }
}

/// The statement that counts what `plan` needs from the table `from` (put as it is behind FROM). `spec` is over the plan's levels.
pub(crate) fn statement(
    spec: &Spec,
    plan: &Plan,
    dialect: Dialect,
    from: &str,
) -> Result<String, CompileError> {
    let refuse = |why: &str| CompileError::Statement(why.to_owned());
    let tables = needed(&wanted(plan))
        .ok_or_else(|| refuse("the plan needs more tables than one statement counts"))?;
    counted_by_database(spec)?;
    let summed = Summed::all(spec, dialect).map_err(refuse)?;
    let levels = levels(&tables);
    let filters: Vec<&Filter> = spec.zeros.iter().map(Zero::filter).collect();

    let plain = Blanks::default();
    let blanks = spec.data.as_ref().map_or(&plain, |data| &data.blanks);
    let mut sql = String::new();
    let mut coded = Vec::new();
    let mut read = Vec::new();
    // All of them, counted or not: a row that has no place in one of them is refused, as from a file.
    for (d, (column, dimension)) in spec.columns.iter().zip(&spec.cube.dimensions).enumerate() {
        let node = node(column, blanks, dialect)
            .ok_or_else(|| refuse("a dimension of any text cannot be counted"))?;
        read.push(column.column.as_str());
        coded.push(format!("    -- {}\n    {node} AS f{}", comment(&dimension.name), d + 1));
    }
    coded.extend(summed.iter().flat_map(Summed::coded));
    read.extend(summed.iter().flat_map(|amount| amount.columns).map(String::as_str));
    let bound = Bound::of(&spec.privacy.unit, dialect);
    coded.extend(bound.iter().flat_map(Bound::coded));
    if let Unit::Column { column, order, .. } = &spec.privacy.unit {
        read.push(column);
        read.extend(order.iter().map(String::as_str));
    }
    let from = dialect.source(from, &read);
    let _ = writeln!(
        sql,
        "-- The counts that \"{}\" is made from. They are as private as the rows.",
        comment(&spec.name)
    );
    let _ = writeln!(sql, "WITH coded AS (\n  SELECT\n{}\n  FROM {from}\n),", coded.join(",\n"));
    let mut placed: Vec<String> = levels.iter().map(|level| level_of(&spec.cube, *level)).collect();
    let never = filters.iter().copied().filter_map(impossible).collect::<Vec<_>>();
    let never = if never.is_empty() {
        "0".into()
    } else {
        format!("CASE WHEN {} THEN 1 ELSE 0 END", never.join(" OR "))
    };
    placed.push(format!("    {never} AS never"));
    let untold = untold(&spec.cube, &levels);
    if !untold.is_empty() {
        let nowhere: Vec<String> = untold.iter().map(|d| format!("f{} < 0", d + 1)).collect();
        placed.push(format!("    CASE WHEN {} THEN 1 ELSE 0 END AS nowhere", nowhere.join(" OR ")));
    }
    placed.extend(summed.iter().flat_map(Summed::placed));
    placed.extend(bound.iter().flat_map(Bound::placed));
    let which = bound.as_ref().map_or(String::new(), |bound| bound.which(spec.columns.len(), &summed));
    let (coded, between) = Summed::multiplied(&summed).unwrap_or(("coded", String::new()));
    let _ = writeln!(sql, "{between}placed AS (\n  SELECT\n{}\n  FROM {coded}{which}\n)", placed.join(",\n"));
    let names: Vec<String> = levels.iter().map(|level| column(*level)).collect();
    let mut columns = names.clone();
    columns.extend(told(bound.is_some(), &summed));
    columns.extend(
        (!untold.is_empty()).then(|| format!("COUNT(CASE WHEN nowhere = 1 THEN 1 END) AS {OUTSIDE}")),
    );
    columns.push(format!("CAST({} AS BIGINT) AS {SPEC}", fingerprint(spec, &spec.cube, &tables)));
    let sets: Vec<String> = tables
        .iter()
        .map(|table| {
            let of: Vec<String> = table.iter().map(column).collect();
            format!("  ({})", of.join(", "))
        })
        .collect();
    let _ = writeln!(
        sql,
        "SELECT\n  {}\nFROM placed\nGROUP BY GROUPING SETS (\n{}\n)",
        columns.join(", "),
        sets.join(",\n")
    );
    Ok(sql)
}

/// What is told of a cell, but for where it is.
fn told(bounded: bool, summed: &[Summed<'_>]) -> Vec<String> {
    let mut told = match bounded {
        false => vec![
            format!("COUNT(*) AS {COUNT}"),
            format!("COUNT(CASE WHEN never = 1 THEN 1 END) AS {IMPOSSIBLE}"),
            format!("0 AS {CUT}"),
        ],
        true => vec![
            format!("COUNT(CASE WHEN further = 0 THEN 1 END) AS {COUNT}"),
            format!("COUNT(CASE WHEN further = 0 AND never = 1 THEN 1 END) AS {IMPOSSIBLE}"),
            format!("COUNT(CASE WHEN further = 1 THEN 1 END) AS {CUT}"),
        ],
    };
    told.extend(summed.iter().flat_map(|amount| amount.told(bounded)));
    told.extend(bounded.then(|| format!("COUNT(CASE WHEN astray = 1 THEN 1 END) AS {ASTRAY}")));
    told
}

/// Refuses what a spec says of files, where no database does it alike.
fn counted_by_database(spec: &Spec) -> Result<(), CompileError> {
    let refuse = |why: &str| CompileError::Statement(why.to_owned());
    if let Unit::Column { order, .. } = &spec.privacy.unit
        && order.is_empty()
    {
        return Err(refuse(
            "of each unit the first `max_rows` rows of the file count, and a table in a database has no order of rows: name the columns that \
             order them (`unit = { column = …, max_rows = …, order = \"day\" }`), or count from files (`margins release` reads folders of Parquet)",
        ));
    }
    if spec.privacy.unit.without().is_some() {
        return Err(refuse(
            "`without` is for files: leave out rows without a unit in a view of the table, or give each an identifier of its own",
        ));
    }
    let plain = Blanks::default();
    let blanks = spec.data.as_ref().map_or(&plain, |data| &data.blanks);
    if blanks.trim {
        return Err(refuse("`trim` is for files: trim the texts in a view of the table, and leave it out"));
    }
    if bound_by(&spec.privacy.unit) && !blanks.empty.is_empty() {
        return Err(refuse(
            "`empty` with units is for files: make such texts NULL in a view of the table, and leave it out",
        ));
    }
    if spec.columns.iter().any(|column| column.taken.time) {
        return Err(refuse(
            "`time = \"day\"` takes the day that a file says, and a database has time zones: cast the column to DATE in a view, and leave out `time`",
        ));
    }
    Ok(())
}

fn bound_by(unit: &Unit) -> bool {
    matches!(unit, Unit::Column { .. })
}

/// The rows of each unit that count, and the next one, which tells that there are more.
struct Bound {
    unit: String,
    nothing: String,
    order: Vec<String>,
    max_rows: u32,
}

impl Bound {
    fn of(unit: &Unit, dialect: Dialect) -> Option<Bound> {
        let Unit::Column { column, max_rows, order, .. } = unit else { return None };
        let unit = dialect.name(column);
        let order: Vec<String> = order.iter().map(|column| dialect.name(column)).collect();
        let nowhere = order.iter().map(|column| {
            let alike = dialect.ordered(column).map_or(String::new(), |alike| format!(" OR NOT {alike}"));
            format!(" OR {column} IS NULL{alike}")
        });
        let nowhere = nowhere.collect::<String>();
        let nothing = format!("{unit} IS NULL OR CAST({unit} AS {}) = ''{nowhere}", dialect.text_type());
        Some(Bound { unit, nothing, order, max_rows: *max_rows })
    }

    /// What is known of a row among those of its unit. Rows that stand in the same place are all behind the last of them: if that is behind the
    /// bound and their rank is before it, which of them count is not known.
    fn coded(&self) -> Vec<String> {
        let over = format!("OVER (PARTITION BY {} ORDER BY {})", self.unit, self.order.join(", "));
        vec![
            format!("    ROW_NUMBER() {over} AS place"),
            format!("    RANK() {over} AS first_place"),
            format!("    COUNT(*) {over} AS last_place"),
            format!("    CASE WHEN {} THEN 1 ELSE 0 END AS nobodys", self.nothing),
        ]
    }

    fn placed(&self) -> Vec<String> {
        let most = self.max_rows;
        vec![
            format!(
                "    CASE WHEN place <= {most} THEN 0 WHEN place = {} THEN 1 ELSE 2 END AS further",
                u64::from(most) + 1
            ),
            format!(
                "    CASE WHEN nobodys = 1 OR (first_place <= {most} AND last_place > {most}) THEN 1 ELSE 0 END AS astray"
            ),
        ]
    }

    /// Rows that are left out, unless something is wrong with them.
    fn which(&self, dimensions: usize, summed: &[Summed<'_>]) -> String {
        let strange = (1..=dimensions).map(|d| format!(" OR f{d} < 0"));
        let strange: String = strange.chain(summed.iter().map(Summed::strange)).collect();
        format!("\n  WHERE place <= {} OR nobodys = 1{strange}", u64::from(self.max_rows) + 1)
    }
}

/// A name inside a comment: on one line, and unable to end it.
fn comment(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || matches!(c, '*' | '/') { ' ' } else { c }).collect()
}

/// A text that is a number, as engines read it: whole numbers as such.
fn plain_number(text: &str) -> Option<String> {
    let written = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    let number: f64 = text.parse().ok().filter(|v: &f64| v.is_finite() && text.bytes().all(written))?;
    let whole = number.fract() == 0.0 && number.abs() < (1u64 << 53) as f64;
    Some(if whole { format!("{}", number as i64) } else { format!("{number:e}") })
}

/// What is no number, as engines write it.
const NO_NUMBER: &str = "'nan', '-nan', 'infinity', 'inf', '-infinity', '-inf'";

/// That a cell is empty: NULL, no text, or one of the texts that the spec calls so.
fn empty(column: &Column, blanks: &Blanks, dialect: Dialect) -> String {
    let name = dialect.name(&column.column);
    let text = format!("CAST({name} AS {})", dialect.text_type());
    let mut texts: Vec<String> =
        blanks.empty.iter().filter(|e| !e.is_empty()).map(|e| dialect.text(e)).collect();
    texts.insert(0, "''".into());
    let mut empty = match texts.as_slice() {
        [one] => format!("{name} IS NULL OR {text} = {one}"),
        several => format!("{name} IS NULL OR {text} IN ({})", several.join(", ")),
    };
    if !matches!(column.coding, Coding::Range { .. } | Coding::Bins { .. }) {
        return empty;
    }
    for listed in &blanks.empty {
        // A fraction that equals one of them may be another text; and what is no number is written otherwise than a file's reader writes it.
        let _ = match (plain_number(listed), listed.as_str()) {
            (Some(number), _) => write!(empty, " OR {name} = {number}"),
            (None, "NaN") => write!(empty, " OR LOWER({text}) IN ('nan', '-nan')"),
            (None, "inf") => write!(empty, " OR LOWER({text}) IN ('inf', 'infinity')"),
            (None, "-inf") => write!(empty, " OR LOWER({text}) IN ('-inf', '-infinity')"),
            (None, _) => Ok(()),
        };
    }
    empty
}

/// The node of a row at its dimension's finest level. `None` for a dimension of any text.
fn node(column: &Column, blanks: &Blanks, dialect: Dialect) -> Option<String> {
    let name = dialect.name(&column.column);
    let text = format!("CAST({name} AS {})", dialect.text_type());
    let empty = empty(column, blanks, dialect);
    let or = |node: Option<u32>| node.map_or("-1".to_owned(), |node| node.to_string());
    let mut cases = String::from("CASE");
    if let Some(missing) = column.missing {
        let _ = write!(cases, " WHEN {empty} THEN {missing}");
    } else if blanks.empty.iter().any(|text| !text.is_empty()) {
        let _ = write!(cases, " WHEN {empty} THEN -1");
    }
    if let Some(misfit) = dialect.misfit(&name, &column.coding) {
        let _ = write!(cases, " WHEN {misfit} THEN -1");
    }
    match &column.coding {
        Coding::Labels(labels) => {
            let mut labels: Vec<(&String, &u32)> = labels.iter().collect();
            labels.sort_by_key(|(label, node)| (**node, *label));
            for (label, node) in labels {
                if label.is_empty() {
                    let _ = write!(cases, " WHEN {name} IS NULL THEN {node}");
                }
                let _ = write!(cases, " WHEN {text} = {} THEN {node}", dialect.text(label));
            }
        }
        Coding::Range { lo, hi } => {
            // What is no number has no nearer end, though engines order it; a fraction beyond an end has one.
            if column.taken.clamp {
                let _ = write!(
                    cases,
                    " WHEN LOWER({text}) IN ({NO_NUMBER}) THEN {} WHEN {name} < {lo} THEN 0 WHEN {name} > {hi} THEN {}",
                    or(column.other),
                    hi - lo
                );
            }
            // Of a narrow type the difference may not be. What is not whole is a strange value, and no other number.
            let _ = write!(
                cases,
                " WHEN {name} BETWEEN {lo} AND {hi} AND FLOOR({name}) = {name} THEN CAST({name} AS BIGINT) - ({lo})"
            );
        }
        Coding::Bins { edges } => {
            let (first, last) = (edges.first()?, edges.last()?);
            // What is outside comes before what is below an edge; and of what is no number, which engines compare as they like, none is within.
            let strange = or(column.other);
            let ends = match column.taken.clamp {
                // What is beyond is below the first inner edge, or in the last bin.
                true => format!(
                    "({NO_NUMBER}) THEN {strange} WHEN {name} < {first:e} THEN 0 WHEN {name} > {last:e} THEN {}",
                    edges.len() - 2
                ),
                false => {
                    format!(
                        "('nan', '-nan') OR NOT ({name} >= {first:e} AND {name} <= {last:e}) THEN {strange}"
                    )
                }
            };
            let _ = write!(
                cases,
                " WHEN {name} IS NULL THEN -1{} WHEN LOWER({text}) IN {ends}",
                dialect.singles(&name, edges, &strange),
            );
            for (node, edge) in edges.iter().enumerate().skip(1).take(edges.len().saturating_sub(2)) {
                let _ = write!(cases, " WHEN {name} < {edge:e} THEN {}", node - 1);
            }
            let _ = write!(cases, " ELSE {} END", edges.len() - 2);
            return Some(cases);
        }
        Coding::Dates { first, last } => {
            let (lo, hi) = (calendar::written(*first), calendar::written(*last));
            let days = dialect.days_since(&name, &lo);
            let _ = write!(cases, " WHEN {name} BETWEEN DATE '{lo}' AND DATE '{hi}' THEN {days}");
        }
        Coding::Text => return None,
    }
    // An empty cell is no strange value.
    let _ = write!(cases, " WHEN {empty} THEN -1 ELSE {} END", or(column.other));
    Some(cases)
}

/// The column of a level.
fn level_of(cube: &Cube, level: Level) -> String {
    let (fine, name) = (format!("f{}", level.dimension + 1), column(level));
    let about = comment(&cube.level_name(level));
    let Some(dimension) = cube.dimensions.get(level.dimension).filter(|d| level.level < d.finest()) else {
        return format!("    {fine} AS {name} /* {about} */");
    };
    let up = dimension.ancestors(dimension.finest(), level.level);
    let mut cases = format!("CASE WHEN {fine} < 0 THEN -1");
    for run in runs(&up) {
        let _ = write!(cases, " WHEN {fine} < {} THEN {}", run.0, run.1);
    }
    format!("    {cases} END AS {name} /* {about} */")
}

/// Where runs of equal values end, and what they are.
fn runs(values: &[u32]) -> Vec<(usize, u32)> {
    let mut runs: Vec<(usize, u32)> = Vec::new();
    for (at, &value) in values.iter().enumerate() {
        match runs.last_mut() {
            Some((end, last)) if *last == value => *end = at + 1,
            _ => runs.push((at + 1, value)),
        }
    }
    runs
}

/// When a row is in a cell that is declared empty; `None` for never.
fn impossible(filter: &Filter) -> Option<String> {
    let mut found = Vec::new();
    for (at, weight) in filter.weights.iter().enumerate() {
        if *weight == 0.0 {
            continue;
        }
        let mut rest = at;
        let mut classes: Vec<(&ClassedDimension, u32)> = Vec::new();
        for dim in filter.dims.iter().rev() {
            classes.push((dim, (rest % dim.classes as usize) as u32));
            rest /= dim.classes as usize;
        }
        let parts: Vec<String> = classes
            .iter()
            .rev()
            .map(|(dim, class)| {
                let nodes = dim.class_of.iter().enumerate().filter(|(_, c)| *c == class);
                let nodes: Vec<String> = nodes.map(|(node, _)| node.to_string()).collect();
                format!("f{} IN ({})", dim.dim + 1, nodes.join(", "))
            })
            .collect();
        found.push(if parts.is_empty() { "1 = 1".into() } else { format!("({})", parts.join(" AND ")) });
    }
    (!found.is_empty()).then(|| found.join(" OR "))
}
