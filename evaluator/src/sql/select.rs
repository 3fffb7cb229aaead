//! The clauses around the condition: columns, grouping, order and limit.

use super::bands::{self, Banded, Bands, too_many};
use super::clauses::Clauses;
use super::error::SqlError;
use super::figure::{Figures, Scope, is_count};
use super::having::Having;
use super::literal::{Literal, literal};
use super::names::{Names, join, list, quoted};
use super::predicate::named;
use super::tree::{self, Expr, Node, Order};
use super::truth::Truth;
use super::{Fate, GroupingSet, Query, SelectColumn};
use crate::cube::Quantity;
use crate::cube::{Cube, Filter, Level, TooIntricate};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Gives every name of a SELECT its meaning.
pub(super) fn resolve(
    clauses: &Clauses,
    cube: &Cube,
    open: &[usize],
    quantities: &[Arc<Quantity>],
) -> Result<Query, SqlError> {
    let names = Names { cube, tables: tables(clauses), open, quantities, named: RefCell::default() };
    let starred = starred(clauses, &names);
    let clauses = starred.as_ref().unwrap_or(clauses);
    let items: Vec<Item> =
        clauses.items.iter().map(|item| Item::new(item, &names)).collect::<Result<_, _>>()?;
    let condition = match &clauses.condition {
        Some(condition) => names.truth(condition)?,
        None => Truth::certain(Filter::everything()),
    };
    let condition = among(condition, cube).map_err(|e| SqlError::from(e).at(clauses.select))?;
    let grouped = groups(clauses, &items, &names, &condition.holds)?;
    let mut query = counted(clauses, &items, &names, &condition, grouped)?;
    let found = |expr: &Expr| position_of(expr, &items, &query.columns, &names);
    query.having = clauses.having.as_ref().map(|h| Having::new(h, &query.columns, &found)).transpose()?;
    query.order_by =
        clauses.order.iter().map(|o| order(o, &items, &query.columns, &names)).collect::<Result<_, _>>()?;
    query.limit = clauses.limit.as_ref().map(|l| whole(l, "LIMIT")).transpose()?;
    query.offset = clauses.offset.as_ref().map_or(Ok(0), |o| whole(o, "OFFSET"))?;
    query.rounded = items.iter().enumerate().filter_map(|(i, item)| Some((i, item.decimals?))).collect();
    query.from = join(&clauses.table);
    query.named = names.named.take();
    Ok(query)
}

/// A condition on the units of a reader's own areas alone, where there are any: whatever is asked is asked of them.
fn among(condition: Truth, cube: &Cube) -> Result<Truth, TooIntricate> {
    let divided = cube.dimensions.iter().enumerate().filter_map(|(at, d)| Some((at, d.divided()?)));
    { divided }.try_fold(condition, |all, (at, inside)| all.and(&Truth::certain(Filter::nodes(at, &inside))))
}

/// What the table is called, which may stand before a column's name.
pub(super) fn tables(clauses: &Clauses) -> Vec<String> {
    let mut tables = vec![join(&clauses.table)];
    tables.extend(clauses.table.last().filter(|_| clauses.table.len() > 1).map(|t| t.value.clone()));
    tables.extend(clauses.alias.as_ref().map(|a| a.value.clone()));
    tables
}

/// The columns and groups of all units that WHERE leaves, and what has no number.
fn counted(
    clauses: &Clauses,
    items: &[Item],
    names: &Names,
    condition: &Truth,
    grouped: Grouped,
) -> Result<Query, SqlError> {
    let mut figures = Figures {
        names,
        groups: &grouped.levels,
        condition: condition.holds.clone(),
        bands: &grouped.bands,
        above: Vec::new(),
        aggregates: Vec::new(),
        left_out: Vec::new(),
        scope: Scope::default(),
    };
    figures.undecided(condition, &Filter::everything(), Fate::Unmet)?;
    let whole = figures.left_out.len();
    let mut of_bands = vec![None; whole];
    for (band, read) in grouped.bands.iter().enumerate() {
        for (truth, rest) in &read.truths {
            let rows = condition.holds.and(rest).map_err(|e| SqlError::from(e).at(read.expr.span()))?;
            figures.undecided(truth, &rows, Fate::Otherwise)?;
        }
        of_bands.resize(figures.left_out.len(), Some(band));
    }
    let columns = columns(items, &mut figures, clauses, &grouped.named)?;
    for (left_out, band) in figures.left_out.iter_mut().zip(of_bands) {
        let shows = |c: &SelectColumn| matches!(c, SelectColumn::Band { index, .. } if Some(*index) == band);
        left_out.column = left_out.column.or(columns.iter().position(shows));
    }
    distinct(clauses, &columns, &grouped)?;
    let sets: Vec<GroupingSet> = clauses.sets.iter().map(|set| grouped.set(set)).collect();
    let whole = |c: &SelectColumn| matches!(c, SelectColumn::Quantile { .. } | SelectColumn::Rank { .. });
    let quantiles = columns.iter().any(whole);
    if sets.len() > 1 && (quantiles || figures.aggregates.iter().any(|a| a.partition.is_some())) {
        return Err(SqlError::new(
            "OVER, MEDIAN and QUANTILE cannot be asked beside ROLLUP, CUBE and GROUPING SETS",
        )
        .at(clauses.select)
        .help("ask for one set of groups at a time"));
    }
    let Figures { aggregates, left_out, condition: filter, above, .. } = figures;
    let shown = grouped.bands.into_iter().map(|b| (b.expr.span(), Banded { above: None, each: b.each }));
    let hidden = above.into_iter().map(|level| (clauses.select, bands::above(names.cube, level, &filter)));
    let (spans, bands): (Vec<_>, Vec<_>) = shown.chain(hidden).unzip();
    if let (Some(span), Some(why)) = (spans.first(), too_many(&bands)) {
        return Err(SqlError::new(why).at(*span).help(bands::FEWER));
    }
    Ok(Query {
        columns,
        group_by: grouped.levels,
        sets,
        filter,
        aggregates,
        order_by: Vec::new(),
        having: None,
        limit: None,
        offset: 0,
        rounded: Vec::new(),
        from: String::new(),
        left_out,
        bands,
        named: BTreeSet::new(),
    })
}

/// `SELECT *` is the groups and how many units each has; without GROUP BY every dimension is a group.
fn starred(clauses: &Clauses, names: &Names) -> Option<Clauses> {
    let span = clauses.items.iter().find_map(|item| match item {
        tree::Item::Star(span) => Some(*span),
        tree::Item::Expr { .. } => None,
    })?;
    let mut clauses = clauses.clone();
    let ident = |value: &str| tree::Ident { value: value.into(), quote: None };
    if clauses.groups.is_empty() {
        let dimension = |d: &crate::cube::Dimension| Expr::new(Node::Name(vec![ident(&d.name)]), span);
        clauses.groups = names.cube.dimensions.iter().map(dimension).collect();
        clauses.sets = vec![(0..clauses.groups.len()).collect()];
    }
    let count = tree::Function {
        name: "COUNT".into(),
        duplicates: None,
        args: tree::Args::Star,
        filter: None,
        over: None,
    };
    let count = Expr::new(Node::Function(Box::new(count)), span);
    let all: Vec<Expr> = clauses.groups.iter().cloned().chain([count]).collect();
    let plain = |expr: Expr| tree::Item::Expr { expr, alias: None };
    clauses.items = clauses
        .items
        .into_iter()
        .flat_map(|item| match item {
            tree::Item::Star(_) => all.iter().cloned().map(plain).collect(),
            item => vec![item],
        })
        .collect();
    Some(clauses)
}

/// DISTINCT is what GROUP BY does, where every group is shown: no two rows look alike then.
fn distinct(clauses: &Clauses, columns: &[SelectColumn], groups: &Grouped) -> Result<(), SqlError> {
    let Some(span) = clauses.distinct else { return Ok(()) };
    let one = clauses.sets.len() == 1;
    let shown = |at: usize| {
        let is = |c: &SelectColumn| matches!(c, SelectColumn::Group { index, level, .. } if *index == at && *level == groups.levels[at]);
        columns.iter().any(is)
    };
    let bands =
        |at: usize| columns.iter().any(|c| matches!(c, SelectColumn::Band { index, .. } if *index == at));
    match one && (0..groups.levels.len()).all(shown) && (0..groups.bands.len()).all(bands) {
        true => Ok(()),
        false => Err(SqlError::new("DISTINCT would compare noisy figures")
            .at(span)
            .help("show every level of GROUP BY, and leave out DISTINCT")),
    }
}

/// One item of the SELECT list.
struct Item<'a> {
    /// As it is written.
    written: &'a Expr,
    /// What is shown, ROUND taken away.
    expr: &'a Expr,
    /// Of ROUND.
    decimals: Option<i32>,
    alias: Option<&'a str>,
}

/// What `ROUND(x, decimals)` rounds.
fn rounded(expr: &Expr) -> Result<Option<(&Expr, i32)>, SqlError> {
    const MOST: i32 = 12;
    let Node::Function(function) = &expr.node else { return Ok(None) };
    if !function.name.eq_ignore_ascii_case("round") {
        return Ok(None);
    }
    let wrong = || {
        SqlError::new("ROUND takes a figure and how many decimals it keeps")
            .at(expr.span())
            .help(format!("for example: ROUND(AVG(age), 1); decimals go from -{MOST} to {MOST}"))
    };
    let plain = function.over.is_none() && function.filter.is_none() && function.duplicates.is_none();
    let tree::Args::List(list) = &function.args else { return Err(wrong()) };
    let (inner, decimals) = match &list[..] {
        [inner] if plain => (inner, 0.0),
        [inner, decimals] if plain => match literal(decimals) {
            Some(Literal::Number(n, _)) => (inner, n),
            _ => return Err(wrong()),
        },
        _ => return Err(wrong()),
    };
    if decimals.fract() != 0.0 || decimals.abs() > f64::from(MOST) {
        return Err(wrong());
    }
    Ok(Some((inner, decimals as i32)))
}

impl<'a> Item<'a> {
    fn new(item: &'a tree::Item, names: &Names) -> Result<Item<'a>, SqlError> {
        let (expr, alias) = match item {
            tree::Item::Expr { expr, alias } => (expr, alias.as_ref().map(|a| a.value.as_str())),
            tree::Item::Star(span) => return Err(SqlError::new("what `*` is cannot be told").at(*span)),
        };
        let (shown, decimals) = rounded(expr)?.map_or((expr, None), |(inner, d)| (inner, Some(d)));
        // A name that is not there is reported where it first stands, not in GROUP BY.
        let label = names.column(shown).transpose()?;
        if decimals.is_some() && label.is_some() {
            return Err(SqlError::new("a label cannot be rounded").at(shown.span()));
        }
        Ok(Item { written: expr, expr: shown, decimals, alias })
    }
}

/// The 1-based position an expression gives, for `GROUP BY 1`.
fn position(expr: &Expr) -> Option<f64> {
    match literal(expr) {
        Some(Literal::Number(value, _)) => Some(value),
        _ => None,
    }
}

/// The item at a 1-based position.
fn at_position<'a, 'b>(
    items: &'a [Item<'b>],
    position: f64,
    expr: &Expr,
) -> Result<(usize, &'a Item<'b>), SqlError> {
    items.iter().enumerate().find(|(i, _)| (i + 1) as f64 == position).ok_or_else(|| {
        SqlError::new(format!("there is no column {position} in SELECT"))
            .at(expr.span())
            .help(format!("positions go from 1 to {}", items.len()))
    })
}

/// What GROUP BY says.
struct Grouped<'a> {
    /// The finest level of each dimension that is named: the others follow from it.
    levels: Vec<Level>,
    /// All that are named.
    named: Vec<Level>,
    bands: Vec<Bands<'a>>,
    /// What each expression means: a level, or a band.
    meant: Vec<Result<Level, usize>>,
}

impl Grouped<'_> {
    /// What rows of a set are grouped by, from the expressions that it has.
    fn set(&self, of: &[usize]) -> GroupingSet {
        let meant = || of.iter().filter_map(|&at| self.meant.get(at));
        let named: Vec<Level> = meant().filter_map(|m| m.ok()).collect();
        let level = |group: &Level| {
            let own = named.iter().filter(|n| n.dimension == group.dimension).map(|n| n.level);
            Level::new(group.dimension, own.max().unwrap_or(0))
        };
        let levels = self.levels.iter().map(level).collect();
        let bands = (0..self.bands.len()).map(|band| meant().any(|m| *m == Err(band))).collect();
        GroupingSet { levels, named, bands }
    }
}

fn groups<'a>(
    clauses: &'a Clauses,
    items: &'a [Item],
    names: &Names,
    rows: &Filter,
) -> Result<Grouped<'a>, SqlError> {
    let mut groups = Grouped { levels: Vec::new(), named: Vec::new(), bands: Vec::new(), meant: Vec::new() };
    for expr in &clauses.groups {
        let mut named_expr = expr;
        if let Some(position) = position(expr) {
            named_expr = at_position(items, position, expr)?.1.expr;
        }
        let mut found = names.column(named_expr);
        if let (Some(Err(_)), Node::Name(name)) = (&found, &expr.node)
            && let [alias] = &name[..]
            && let Some(item) = items.iter().find(|item| item.alias == Some(&alias.value))
        {
            (found, named_expr) = (names.column(item.expr), item.expr);
        }
        while let Node::Nested(inner) = &named_expr.node {
            named_expr = inner;
        }
        let banded = matches!(named_expr.node, Node::Case { .. }) || names.dated(named_expr).is_some();
        if found.is_none() && banded {
            let known = groups.bands.iter().position(|b| b.is_meant(named_expr));
            groups.meant.push(Err(known.unwrap_or(groups.bands.len())));
            if known.is_none() {
                let alias = items.iter().find(|item| item.expr == named_expr).and_then(|item| item.alias);
                groups.bands.push(Bands::new(named_expr, alias, names, rows)?);
            }
            continue;
        }
        let Some(column) = found else {
            return Err(SqlError::new(format!("{} cannot be grouped by", named(named_expr)))
                .at(expr.span())
                .help(format!("group by dimensions or levels: {}", list(&names.all()))));
        };
        let at = column?.at();
        groups.meant.push(Ok(at));
        if !groups.named.contains(&at) {
            groups.named.push(at);
        }
        match groups.levels.iter_mut().find(|known| known.dimension == at.dimension) {
            Some(known) if *known != at && names.is_own(*known) != names.is_own(at) => {
                let own = if names.is_own(at) { at } else { *known };
                let [own, dimension] =
                    [names.cube.level_name(own), names.cube.dimensions[at.dimension].name.clone()];
                return Err(SqlError::new(format!(
                    "{own} groups areas of {dimension}: rows are of one or the other"
                ))
                .at(expr.span())
                .help(format!("group by {} alone, and say of which areas in WHERE", quoted(&own))));
            }
            Some(known) => known.level = known.level.max(at.level),
            None => groups.levels.push(at),
        }
    }
    Ok(groups)
}

fn columns(
    items: &[Item],
    figures: &mut Figures,
    clauses: &Clauses,
    grouped: &[Level],
) -> Result<Vec<SelectColumn>, SqlError> {
    let names = figures.names;
    let mut columns = Vec::with_capacity(items.len());
    for item in items {
        let alias = item.alias.map(str::to_string);
        columns.push(match names.column(item.expr) {
            Some(column) => {
                let column = column?;
                let name = names.name(column);
                let level = column.at();
                let group = figures.groups.iter().position(|g| g.dimension == level.dimension);
                match group.filter(|_| grouped.contains(&level)) {
                    Some(index) => SelectColumn::Group { index, level, name: alias.unwrap_or(name) },
                    None => {
                        return Err(SqlError::new(format!("{name} is selected but not grouped"))
                            .at(item.expr.span())
                            .help(format!("add GROUP BY {}", quoted(&name))));
                    }
                }
            }
            None if figures.bands.iter().any(|b| b.is_meant(item.expr)) => {
                let index = figures.bands.iter().position(|b| b.is_meant(item.expr)).unwrap_or(0);
                if item.decimals.is_some() {
                    return Err(SqlError::new("a label cannot be rounded").at(item.expr.span()));
                }
                SelectColumn::Band { index, name: alias.unwrap_or_else(|| item.written.to_string()) }
            }
            None if matches!(item.expr.node, Node::Case { .. }) => {
                return Err(SqlError::new("CASE is selected but not grouped").at(item.expr.span()).help(
                    "group by the same CASE, by its name or its position; or count in it: SUM(CASE … END)",
                ));
            }
            None if names.dated(item.expr).transpose()?.is_some() => {
                return Err(SqlError::new(format!("{} is selected but not grouped", item.expr))
                    .at(item.expr.span())
                    .help(format!("add GROUP BY {}", item.expr)));
            }
            None if grouping_of(item.expr).is_some() => grouping(item, figures, grouped)?,
            None if is_count(item.expr) && figures.names.weight().is_none() => {
                let rounded = item.decimals.map(|_| item.written.to_string());
                SelectColumn::Count { name: alias.or(rounded).unwrap_or_else(|| "count".into()) }
            }
            None => {
                let before = figures.left_out.len();
                let quantile = figures.quantile(item.expr)?;
                let ranked = figures.rank(item.expr)?;
                let other = quantile.is_some() || ranked.is_some();
                let expr = if other { None } else { Some(figures.column(item.expr)?) };
                for left_out in figures.left_out.iter_mut().skip(before) {
                    left_out.column = Some(columns.len());
                }
                if let Some((level, p)) = quantile {
                    if item.decimals.is_some() {
                        return Err(
                            SqlError::new("a quantile is one of the values already").at(item.expr.span())
                        );
                    }
                    let name = alias.unwrap_or_else(|| item.written.to_string());
                    columns.push(SelectColumn::Quantile { name, level, p });
                    continue;
                }
                if let Some(ranked) = ranked {
                    if item.decimals.is_some() {
                        return Err(SqlError::new("a place cannot be rounded").at(item.expr.span()));
                    }
                    let name = alias.unwrap_or_else(|| item.written.to_string());
                    columns.push(SelectColumn::Rank { name, ranked });
                    continue;
                }
                let Some(expr) = expr else { continue };
                if !expr.depends_on_data() {
                    return Err(SqlError::new("this column does not depend on the data").at(item.expr.span()));
                }
                let plain = is_count(item.expr) && item.decimals.is_none();
                let own = || if plain { "count".into() } else { item.written.to_string() };
                SelectColumn::Figure { name: alias.unwrap_or_else(own), expr }
            }
        });
    }
    if columns.iter().all(SelectColumn::is_label) {
        return Err(SqlError::new("nothing is counted").at(clauses.select).help("add COUNT(*) to SELECT"));
    }
    unique(items, &columns)?;
    Ok(columns)
}

/// What `GROUPING(x)` asks about.
fn grouping_of(expr: &Expr) -> Option<&Expr> {
    let Node::Function(function) = &expr.node else { return None };
    match &function.args {
        tree::Args::List(list) if function.name.eq_ignore_ascii_case("grouping") => match &list[..] {
            [of] => Some(of),
            _ => None,
        },
        _ => None,
    }
}

fn grouping(item: &Item, figures: &Figures, grouped: &[Level]) -> Result<SelectColumn, SqlError> {
    let of = grouping_of(item.expr).unwrap_or(item.expr);
    let name = item.alias.map_or_else(|| item.written.to_string(), str::to_owned);
    let band = figures.bands.iter().position(|b| b.is_meant(of));
    let level = figures.names.column(of).filter(|_| band.is_none()).transpose()?.map(|c| c.at());
    let level = level.filter(|level| grouped.contains(level));
    if item.decimals.is_some() || band.is_none() && level.is_none() {
        return Err(SqlError::new("GROUPING takes one of the groups")
            .at(of.span())
            .help("for example: GROUPING(sex)"));
    }
    Ok(SelectColumn::Grouping { name, level, band: band.unwrap_or(0) })
}

/// The four names that every answer has of its own.
const OWN_NAMES: [&str; 4] = ["estimate", "std_error", "low", "high"];

/// Answers are also given as objects with one key for each name, so no name may come twice.
fn unique(items: &[Item], columns: &[SelectColumn]) -> Result<(), SqlError> {
    let mut taken: HashSet<String> = HashSet::new();
    let figures = columns.iter().filter(|c| !c.is_label()).count();
    let part_of = |name: &str| OWN_NAMES[1..].iter().map(|own| format!("{name}_{own}")).collect::<Vec<_>>();
    let mut parts: HashSet<String> = OWN_NAMES.map(String::from).into();
    parts.extend(columns.iter().filter(|c| figures > 1 && !c.is_label()).flat_map(|c| part_of(c.name())));
    let mut first = true;
    for (item, column) in items.iter().zip(columns) {
        let name = column.name();
        let mut keys = vec![name.to_string()];
        let mut own = OWN_NAMES.contains(&name);
        if !column.is_label() {
            own &= !(first && name == OWN_NAMES[0]); // it is the estimate
            first = false;
            if figures > 1 {
                keys.extend(part_of(name));
            }
        } else if item.alias.is_none() {
            // The release calls it so, not the query: answers have an underscore behind it.
            own = false;
            while parts.contains(&keys[0]) {
                keys[0].push('_');
            }
        }
        for key in keys {
            if own || !taken.insert(key.clone()) {
                let why =
                    if own { "is a name every answer has of its own" } else { "would name two columns" };
                return Err(SqlError::new(format!("\"{key}\" {why}"))
                    .at(item.expr.span())
                    .help("give the column another name with AS"));
            }
        }
    }
    Ok(())
}

/// The column of SELECT that an expression means.
fn position_of(expr: &Expr, items: &[Item], columns: &[SelectColumn], names: &Names) -> Option<usize> {
    let called = match &expr.node {
        Node::Name(parts) => Some(match &parts[..] {
            [one] => one.value.clone(),
            _ => expr.to_string(),
        }),
        _ => None,
    };
    // First a name of the answer, then the same level or the same expression, then `estimate`.
    called
        .as_ref()
        .and_then(|name| columns.iter().position(|c| c.name() == name))
        .or_else(|| match names.column(expr) {
            Some(Ok(by)) => items
                .iter()
                .position(|item| matches!(names.column(item.expr), Some(Ok(c)) if c.at() == by.at())),
            Some(Err(_)) => None,
            None => items.iter().position(|item| item.written == expr),
        })
        .or_else(|| {
            let first = columns.iter().position(|c| !c.is_label());
            first.filter(|_| called.is_some_and(|name| name.eq_ignore_ascii_case(OWN_NAMES[0])))
        })
}

fn order(
    by: &Order,
    items: &[Item],
    columns: &[SelectColumn],
    names: &Names,
) -> Result<(usize, bool), SqlError> {
    let expr = &by.expr;
    if let Some(position) = position(expr) {
        return Ok((at_position(items, position, expr)?.0, by.descending));
    }
    match position_of(expr, items, columns, names) {
        Some(column) => Ok((column, by.descending)),
        None => Err(SqlError::new("ORDER BY names no column of SELECT").at(expr.span()).help(format!(
            "order by one of: {}",
            list(&columns.iter().map(|c| quoted(c.name())).collect::<Vec<_>>())
        ))),
    }
}

fn whole(expr: &Expr, what: &str) -> Result<u64, SqlError> {
    match literal(expr) {
        Some(Literal::Number(_, text)) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| SqlError::new(format!("{what} needs a whole number that is not negative")).at(expr.span()))
}
