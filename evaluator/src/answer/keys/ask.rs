//! A SELECT over the key of a projection becomes lists of cells.

use super::Questions;
use super::figure::{Chosen, Figure};
use crate::answer::error::QueryError;
use crate::cube::Level;
use crate::projection::key::{Part, text_code};
use crate::sql::tree::{Expr, Item, Node, Operator, Unary};
use crate::sql::{SqlError, syntax};
use std::collections::HashMap;

/// A label and the codes it stands for.
pub(super) type Group = (String, Vec<u64>);

/// What a column shows.
pub(super) enum Column {
    /// The label of a part of the key, at a level.
    Label(usize, usize),
    Figure(Figure),
}

/// A query, resolved.
pub(super) struct Asked {
    /// For each part of the key the groups of codes.
    pub(super) sides: Vec<Vec<Group>>,
    /// Names, and what is shown.
    pub(super) columns: Vec<(String, Column)>,
    pub(super) limit: Option<u64>,
}

impl Asked {
    /// The figures.
    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.columns.iter().filter_map(|c| match &c.1 {
            Column::Figure(figure) => Some(figure),
            Column::Label(..) => None,
        })
    }

    /// The most cells one figure of the answer sums up.
    pub(super) fn per_figure(&self) -> u64 {
        let product = |size: fn(&Vec<Group>) -> u64| {
            self.sides.iter().try_fold(1u64, |n, s| n.checked_mul(size(s))).unwrap_or(u64::MAX)
        };
        let row = product(|s| s.iter().map(|g| g.1.len() as u64).max().unwrap_or(0));
        let all = product(|s| s.iter().map(|g| g.1.len() as u64).sum());
        self.figures().map(|f| f.cells(row, all)).max().unwrap_or(row)
    }
}

impl Questions {
    /// The part of the key and the level that a name means.
    fn column(&self, expr: &Expr) -> Result<(usize, usize), SqlError> {
        let parts = match &expr.node {
            Node::Nested(inner) => return self.column(inner),
            Node::Name(parts) => &parts[..],
            _ => {
                return Err(SqlError::new("expected a dimension of the key")
                    .at(expr.span())
                    .help(self.known()));
            }
        };
        let mut parts = parts;
        if let [table, rest @ ..] = parts
            && !rest.is_empty()
            && table.value.eq_ignore_ascii_case(&self.name)
        {
            parts = rest;
        }
        let name = parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".");
        let found = self.cube.resolve(&name).or_else(|| {
            let d = self.cube.dimensions.iter().position(|d| d.name.eq_ignore_ascii_case(&name))?;
            Some(Level::new(d, self.cube.dimensions.get(d)?.finest()))
        });
        let key = &self.projected.projection().design.key;
        match found.map(|at| (key.iter().position(|&k| usize::from(k) == at.dimension), at.level)) {
            Some((Some(part), level)) => Ok((part, level)),
            Some((None, _)) => Err(SqlError::new(format!("`{name}` is not in this projection"))
                .at(expr.span())
                .help(self.known())),
            None => Err(SqlError::new(format!("there is no dimension `{name}`"))
                .at(expr.span())
                .help(self.known())),
        }
    }

    fn known(&self) -> String {
        format!("the key of this projection: {}", self.key_names().join(", "))
    }

    pub(super) fn ask(&self, sql: &str) -> Result<Asked, QueryError> {
        let clauses = syntax::parse(sql)?;
        let from = clauses.table.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".");
        if !from.eq_ignore_ascii_case(&self.name) {
            return Err(QueryError::From(self.name.clone(), from));
        }
        if let Some(first) = clauses.order.first() {
            let e = SqlError::new("ORDER BY cannot be asked of a projection").at(first.expr.span());
            return Err(e.help("the rows come in the order of the lists in WHERE").into());
        }
        if let Some(having) = &clauses.having {
            return Err(SqlError::new("HAVING cannot be asked of a projection").at(having.span()).into());
        }
        if let Some(offset) = &clauses.offset {
            return Err(SqlError::new("OFFSET cannot be asked of a projection").at(offset.span()).into());
        }
        if let Some(distinct) = clauses.distinct {
            return Err(SqlError::new("DISTINCT cannot be asked of a projection").at(distinct).into());
        }
        let limit = match &clauses.limit {
            None => None,
            Some(expr) => Some(
                literal(expr)
                    .and_then(|n| n.parse::<u64>().ok())
                    .ok_or_else(|| SqlError::new("LIMIT is not a whole number").at(expr.span()))?,
            ),
        };
        clauses.groups.iter().try_for_each(|g| no_bands(g, &clauses.items))?;
        let groups = clauses.groups.iter().map(|g| self.column(g)).collect::<Result<Vec<_>, _>>()?;
        let mut chosen = Chosen::new();
        if let Some(condition) = &clauses.condition {
            self.condition(condition, &mut chosen)?;
        }
        let mut sides = Vec::new();
        for (part, kind) in self.key.parts().iter().enumerate() {
            let group = groups.iter().find(|g| g.0 == part).map(|g| g.1);
            let listed = match (chosen.remove(&part), kind) {
                (Some(listed), _) => listed,
                (None, Part::Nodes(_)) => {
                    let labels = self.dimension(part).and_then(|d| d.levels.last()).map(|l| &l.labels);
                    labels.into_iter().flatten().cloned().zip(0..).collect()
                }
                (None, Part::Text) => {
                    let name = self.dimension(part).map_or("", |d| d.name.as_str());
                    let e = SqlError::new(format!("`{name}` can be any text: say which")).at(clauses.select);
                    return Err(e.help(format!("for example: WHERE {name} IN ('…', '…')")).into());
                }
            };
            sides.push(self.grouped(part, group, listed));
        }
        let mut columns = Vec::new();
        let mut counted = false;
        for item in &clauses.items {
            let (expr, alias) = match item {
                Item::Expr { expr, alias } => (expr, alias.as_ref().map(|a| a.value.clone())),
                Item::Star(span) => {
                    let e = SqlError::new("name the columns").at(*span);
                    return Err(e
                        .help("possible are dimensions of GROUP BY, COUNT(*), SUM(CASE …), totals and shares")
                        .into());
                }
            };
            if !matches!(expr.node, Node::Name(_)) {
                let figure = self.figure(expr)?;
                counted = true;
                let name = alias.unwrap_or_else(|| {
                    let text = expr.to_string();
                    if text.eq_ignore_ascii_case("COUNT(*)") { "count".into() } else { text }
                });
                columns.push((name, Column::Figure(figure)));
                continue;
            }
            let column = self.column(expr)?;
            if !groups.contains(&column) {
                let e = SqlError::new("this column is not in GROUP BY").at(expr.span());
                return Err(e.help(format!("add GROUP BY {expr}")).into());
            }
            let name = alias.unwrap_or_else(|| expr.to_string());
            columns.push((name, Column::Label(column.0, column.1)));
        }
        if !counted {
            return Err(SqlError::new("nothing is counted")
                .at(clauses.select)
                .help("add COUNT(*) to SELECT")
                .into());
        }
        Ok(Asked { sides, columns, limit })
    }

    /// The chosen values by the label they are grouped under, in the order they are first named.
    fn grouped(&self, part: usize, group: Option<usize>, listed: Vec<(String, u64)>) -> Vec<Group> {
        let Some(level) = group else {
            return vec![(String::new(), listed.into_iter().map(|l| l.1).collect())];
        };
        let ancestors = match self.dimension(part) {
            Some(d) if self.key.parts().get(part) != Some(&Part::Text) && level < d.finest() => {
                Some((d.ancestors(d.finest(), level), d.levels.get(level)))
            }
            _ => None,
        };
        let mut out: Vec<Group> = Vec::new();
        let mut at: HashMap<String, usize> = HashMap::new();
        for (label, code) in listed {
            let label = match &ancestors {
                Some((up, Some(level))) => up
                    .get(code as usize)
                    .and_then(|&node| level.labels.get(node as usize))
                    .map_or(label, Clone::clone),
                _ => label,
            };
            let index = *at.entry(label.clone()).or_insert_with(|| {
                out.push((label, Vec::new()));
                out.len() - 1
            });
            if let Some(entry) = out.get_mut(index) {
                entry.1.push(code);
            }
        }
        out
    }

    /// Takes conditions joined by AND apart; several about one dimension must all hold.
    pub(super) fn condition(&self, expr: &Expr, chosen: &mut Chosen) -> Result<(), QueryError> {
        let (column, list): (&Expr, Vec<&Expr>) = match &expr.node {
            Node::Nested(inner) => return self.condition(inner, chosen),
            Node::Binary(left, Operator::And, right) => {
                self.condition(left, chosen)?;
                return self.condition(right, chosen);
            }
            Node::Binary(left, Operator::Eq, right) => (left, vec![right]),
            Node::In { expr, list, negated: false } => (expr, list.iter().collect()),
            _ => {
                let e = SqlError::new("a projection cannot be asked this").at(expr.span());
                return Err(e.help("possible are = and IN (…), joined by AND").into());
            }
        };
        let (part, level) = self.column(column)?;
        let text = self.key.parts().get(part) == Some(&Part::Text);
        let mut listed: Vec<(String, u64)> = Vec::with_capacity(list.len());
        for item in list {
            let value =
                literal(item).ok_or_else(|| SqlError::new("expected a text or a number").at(item.span()))?;
            if text {
                let code = text_code(value.as_bytes());
                listed.push((value, code));
                continue;
            }
            let Some(d) = self.dimension(part) else { continue };
            let node = d.levels.get(level).and_then(|l| l.node(&value)).ok_or_else(|| {
                SqlError::new(format!(
                    "`{}` has no category `{value}`",
                    self.cube.level_name(Level::new(
                        usize::from(self.projected.projection().design.key.get(part).copied().unwrap_or(0)),
                        level
                    ))
                ))
                .at(item.span())
            })?;
            let labels = d.levels.last().map(|l| &l.labels);
            for (finest, up) in d.ancestors(d.finest(), level).into_iter().enumerate() {
                if up as usize == node {
                    let label = labels.and_then(|l| l.get(finest)).cloned().unwrap_or_default();
                    listed.push((label, finest as u64));
                }
            }
        }
        // Named twice is one cell.
        let mut seen = std::collections::HashSet::new();
        listed.retain(|(label, _)| seen.insert(label.clone()));
        match chosen.entry(part) {
            std::collections::hash_map::Entry::Vacant(e) => {
                e.insert(listed);
            }
            std::collections::hash_map::Entry::Occupied(mut e) => {
                e.get_mut().retain(|(l, _)| seen.contains(l))
            }
        }
        Ok(())
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match &expr.node {
        Node::Nested(inner) => literal(inner),
        Node::Unary(Unary::Minus, inner) => Some(format!("-{}", literal(inner)?)),
        Node::Text(text) | Node::Number(text) => Some(text.clone()),
        _ => None,
    }
}

/// A band is a sum of cells that have to be listed: one question for each.
fn no_bands(group: &Expr, items: &[Item]) -> Result<(), SqlError> {
    let is_case = |expr: &Expr| matches!(expr.node, Node::Case { .. });
    let called = |item: &Item| match (item, &group.node) {
        (Item::Expr { expr, alias: Some(alias) }, Node::Name(parts)) => {
            is_case(expr) && matches!(&parts[..], [name] if name.value.eq_ignore_ascii_case(&alias.value))
        }
        _ => false,
    };
    match is_case(group) || items.iter().any(called) {
        false => Ok(()),
        true => Err(SqlError::new("GROUP BY CASE cannot be asked of a projection")
            .at(group.span())
            .help("ask for each band by itself, its keys listed in WHERE with IN")),
    }
}
