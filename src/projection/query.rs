//! SQL to cells, and a release of a projection opened for questions.
//!
//! A projection is asked for cells by name: `SELECT code, COUNT(*) FROM visits WHERE code IN ('J45', 'K35') GROUP BY code`.
//! The conditions joined by AND list what each dimension of the key may be, with `=` or `IN`; a listed dimension
//! that is not mentioned may be anything. The product of the lists, summed up for each group, are the cells of an answer: at
//! most as many as the release allows (its sparsity).

use super::answer::{Answer, Estimator, Projected};
use super::key::{Key, Part, text_code};
use crate::answer::render::{ColumnKind, ResultCell, ResultColumn, ResultFigure, ResultTable};
use crate::answer::sql::{SqlError, syntax};
use crate::cube::Cube;
use crate::release::packing::{CHUNK, unpack};
use crate::release::{Kind, Release, ReleaseError, wire};
use sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, Spanned, Value,
};
use std::collections::HashMap;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The file.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The question.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// More cells than the release allows.
    #[error(
        "an answer of this query sums up {cells} cells; this release allows at most {most}: list fewer, or GROUP BY what you list"
    )]
    TooManyCells {
        /// How many it names.
        cells: u64,
        /// How many there may be.
        most: u32,
    },
    /// More rows than can be shown.
    #[error("the answer would have {0} rows; the most is {MOST_ROWS}")]
    TooManyRows(u64),
    /// A key with a part that does not exist.
    #[error("`{dimension}` has no category `{value}`")]
    NoCategory {
        /// The dimension.
        dimension: String,
        /// What was asked for.
        value: String,
    },
    /// A key of another length.
    #[error("a key has {found} parts; {expected} are expected")]
    Parts {
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// The level of an interval.
    #[error("the level of an interval must lie between 0 and 1, not {0}")]
    Level(f64),
    /// The name after FROM.
    #[error("this release is called `{0}`: write FROM {0}, not FROM {1}")]
    From(String, String),
}

/// The most rows of an answer.
pub const MOST_ROWS: u64 = 1 << 20;

/// A projection opened for questions.
#[derive(Debug)]
pub struct Questions {
    name: String,
    cube: Cube,
    projected: Projected,
    key: Key,
}

/// The projection of a release; `None` when it is one of tables.
pub fn projection(release: &Release, cube: &Cube) -> Result<Option<super::Projection>, ReleaseError> {
    match release.count(Kind::Projection) {
        0 => Ok(None),
        1 => wire::decode_projection(&release.section(Kind::Projection, 0)?, cube).map(Some),
        n => Err(invalid(format!("there are {n} of them"))),
    }
}

fn invalid(why: String) -> ReleaseError {
    ReleaseError::Invalid { what: "the projection", why }
}

/// The integers of a projection, every section checked.
pub fn values(release: &Release, projection: &super::Projection) -> Result<Vec<i64>, ReleaseError> {
    let all = projection.design.shape.values() as usize;
    let sections = all.div_ceil(CHUNK);
    let held = release.count(Kind::Measurements) as usize;
    if held != sections {
        return Err(invalid(format!("{held} sections of integers; its size needs {sections}")));
    }
    let mut out = Vec::with_capacity(all);
    for index in 0..sections {
        let bytes = release.section(Kind::Measurements, index as u32)?;
        let mut rest = &bytes[..];
        out.extend(unpack(&mut rest, (all - out.len()).min(CHUNK))?);
        if !rest.is_empty() {
            return Err(invalid(format!("section {index} has {} bytes too many", rest.len())));
        }
    }
    Ok(out)
}

impl Questions {
    /// Opens the projection of a release; `None` when it is one of tables.
    pub fn open(release: &Release) -> Result<Option<Questions>, ReleaseError> {
        let cube = release.cube()?;
        let Some(projection) = projection(release, &cube)? else { return Ok(None) };
        let values = values(release, &projection)?;
        let parts = wire::parts(&projection.design, &cube);
        let projected = Projected::new(projection, values)
            .ok_or_else(|| invalid("its integers are incomplete".into()))?;
        let key = projected.key(parts);
        Ok(Some(Questions { name: release.manifest().about.name.clone(), cube, projected, key }))
    }

    /// The release's name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The integers and how to use them.
    pub fn projected(&self) -> &Projected {
        &self.projected
    }

    /// The names of the key's dimensions.
    pub fn key_names(&self) -> Vec<&str> {
        let name = |&d: &u16| self.cube.dimensions.get(usize::from(d)).map_or("", |d| d.name.as_str());
        self.projected.projection().design.key.iter().map(name).collect()
    }

    /// The cell of a text or label for each dimension of the key.
    pub fn cell(&self, values: &[&str]) -> Result<u64, QueryError> {
        let expected = self.key.parts().len();
        if values.len() != expected {
            return Err(QueryError::Parts { found: values.len(), expected });
        }
        let codes =
            values.iter().enumerate().map(|(i, v)| self.code(i, v)).collect::<Result<Vec<u64>, _>>()?;
        Ok(self.key.cell(&codes))
    }

    fn dimension(&self, part: usize) -> Option<&crate::cube::Dimension> {
        let d = self.projected.projection().design.key.get(part)?;
        self.cube.dimensions.get(usize::from(*d))
    }

    fn code(&self, part: usize, value: &str) -> Result<u64, QueryError> {
        if self.key.parts().get(part) == Some(&Part::Text) {
            return Ok(text_code(value.as_bytes()));
        }
        let d = self.dimension(part);
        let node = d.and_then(|d| d.levels.last()?.node(value));
        node.map(|n| n as u64).ok_or_else(|| QueryError::NoCategory {
            dimension: d.map_or(String::new(), |d| d.name.clone()),
            value: value.into(),
        })
    }

    /// The count of one or several cells.
    pub fn count(&self, cells: &[u64], level: f64, estimator: Estimator) -> Answer {
        self.projected.answer(cells, level, estimator)
    }

    /// Answers one SELECT with intervals at `level`.
    pub fn query(&self, sql: &str, level: f64, estimator: Estimator) -> Result<ResultTable, QueryError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(QueryError::Level(level));
        }
        let asked = self.ask(sql).map_err(|e| match e {
            QueryError::Sql(e) => QueryError::Sql(e.in_text(sql)),
            other => other,
        })?;
        let cells_of_row: u64 = asked.per_row();
        let most = self.projected.projection().design.sparsity;
        if cells_of_row > u64::from(most) {
            return Err(QueryError::TooManyCells { cells: cells_of_row, most });
        }
        let rows =
            asked.sides.iter().try_fold(1u64, |n, s| n.checked_mul(s.len() as u64)).unwrap_or(u64::MAX);
        if rows > MOST_ROWS {
            return Err(QueryError::TooManyRows(rows));
        }
        let columns = asked
            .columns
            .iter()
            .map(|(name, part)| ResultColumn {
                name: name.clone(),
                kind: match part {
                    None => ColumnKind::Figure,
                    Some((part, level)) => match self.dimension(*part).and_then(|d| d.levels.get(*level)) {
                        Some(l) if self.key.parts().get(*part) != Some(&Part::Text) => {
                            ColumnKind::of_level(l)
                        }
                        _ => ColumnKind::Text,
                    },
                },
            })
            .collect();
        let mut table = ResultTable { columns, rows: Vec::new(), level, ..ResultTable::default() };
        let limit = asked.limit.unwrap_or(u64::MAX).min(rows);
        let mut pick = vec![0usize; asked.sides.len()];
        for _ in 0..limit {
            let chosen: Vec<&(String, Vec<u64>)> =
                asked.sides.iter().zip(&pick).filter_map(|(s, &p)| s.get(p)).collect();
            let mut cells = Vec::with_capacity(cells_of_row as usize);
            self.product(&chosen, &mut Vec::new(), &mut cells);
            let a = self.count(&cells, level, estimator);
            let row = asked.columns.iter().map(|(_, part)| match part {
                Some((part, _)) => {
                    ResultCell::Label(chosen.get(*part).map_or(String::new(), |c| c.0.clone()))
                }
                None => ResultCell::Figure(ResultFigure {
                    estimate: a.estimate,
                    std_error: a.std_error,
                    low: a.low,
                    high: a.high,
                }),
            });
            table.rows.push(row.collect());
            for (p, side) in pick.iter_mut().zip(&asked.sides).rev() {
                *p += 1;
                if *p < side.len() {
                    break;
                }
                *p = 0;
            }
        }
        Ok(table)
    }

    /// Every combination of the chosen codes.
    fn product(&self, chosen: &[&(String, Vec<u64>)], codes: &mut Vec<u64>, cells: &mut Vec<u64>) {
        match chosen.split_first() {
            None => cells.push(self.key.cell(codes)),
            Some(((_, own), rest)) => {
                for &code in own {
                    codes.push(code);
                    self.product(rest, codes, cells);
                    codes.pop();
                }
            }
        }
    }

    /// The part of the key and the level that a name means.
    fn column(&self, expr: &Expr) -> Result<(usize, usize), SqlError> {
        let parts = match expr {
            Expr::Nested(inner) => return self.column(inner),
            Expr::Identifier(one) => std::slice::from_ref(one),
            Expr::CompoundIdentifier(several) => &several[..],
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
            Some((d, self.cube.dimensions.get(d)?.finest()))
        });
        let key = &self.projected.projection().design.key;
        match found.map(|(d, l)| (key.iter().position(|&k| usize::from(k) == d), l)) {
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

    fn ask(&self, sql: &str) -> Result<Asked, QueryError> {
        let clauses = syntax::parse(sql)?;
        let from = clauses.table.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".");
        if !from.eq_ignore_ascii_case(&self.name) {
            return Err(QueryError::From(self.name.clone(), from));
        }
        if let Some(first) = clauses.order.first() {
            let e = SqlError::new("ORDER BY cannot be asked of a projection").at(first.expr.span());
            return Err(e.help("the rows come in the order of the lists in WHERE").into());
        }
        let limit = match &clauses.limit {
            None => None,
            Some(expr) => Some(
                literal(expr)
                    .and_then(|n| n.parse::<u64>().ok())
                    .ok_or_else(|| SqlError::new("LIMIT is not a whole number").at(expr.span()))?,
            ),
        };
        let groups = clauses.groups.iter().map(|g| self.column(g)).collect::<Result<Vec<_>, _>>()?;
        let mut chosen: HashMap<usize, Vec<(String, u64)>> = HashMap::new();
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
                SelectItem::UnnamedExpr(expr) => (expr, None),
                SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
                other => {
                    let e = SqlError::new("name the columns").at(other.span());
                    return Err(e.help("possible are dimensions of GROUP BY and COUNT(*)").into());
                }
            };
            if is_count(expr) {
                counted = true;
                columns.push((alias.unwrap_or_else(|| "count".into()), None));
                continue;
            }
            let column = self.column(expr)?;
            if !groups.contains(&column) {
                let e = SqlError::new("this column is not in GROUP BY").at(expr.span());
                return Err(e.help(format!("add GROUP BY {expr}")).into());
            }
            columns.push((alias.unwrap_or_else(|| expr.to_string()), Some(column)));
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
    fn grouped(
        &self,
        part: usize,
        group: Option<usize>,
        listed: Vec<(String, u64)>,
    ) -> Vec<(String, Vec<u64>)> {
        let Some(level) = group else {
            return vec![(String::new(), listed.into_iter().map(|l| l.1).collect())];
        };
        let ancestors = match self.dimension(part) {
            Some(d) if self.key.parts().get(part) != Some(&Part::Text) && level < d.finest() => {
                Some((d.ancestors(d.finest(), level), d.levels.get(level)))
            }
            _ => None,
        };
        let mut out: Vec<(String, Vec<u64>)> = Vec::new();
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
    fn condition(
        &self,
        expr: &Expr,
        chosen: &mut HashMap<usize, Vec<(String, u64)>>,
    ) -> Result<(), QueryError> {
        let (column, list): (&Expr, Vec<&Expr>) = match expr {
            Expr::Nested(inner) => return self.condition(inner, chosen),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.condition(left, chosen)?;
                return self.condition(right, chosen);
            }
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => (left, vec![right]),
            Expr::InList { expr, list, negated: false } => (expr, list.iter().collect()),
            other => {
                let e = SqlError::new("a projection cannot be asked this").at(other.span());
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
                    self.cube.level_name(
                        usize::from(self.projected.projection().design.key.get(part).copied().unwrap_or(0)),
                        level
                    )
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

/// A query, resolved.
struct Asked {
    /// For each part of the key the groups of codes.
    sides: Vec<Vec<(String, Vec<u64>)>>,
    /// Name, and the part and level shown; `None` is the count.
    columns: Vec<(String, Option<(usize, usize)>)>,
    limit: Option<u64>,
}

impl Asked {
    /// The most cells one row of the answer sums up.
    fn per_row(&self) -> u64 {
        let widest = |s: &Vec<(String, Vec<u64>)>| s.iter().map(|g| g.1.len() as u64).max().unwrap_or(0);
        self.sides.iter().try_fold(1u64, |n, s| n.checked_mul(widest(s))).unwrap_or(u64::MAX)
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => literal(inner),
        Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } => Some(format!("-{}", literal(expr)?)),
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn is_count(expr: &Expr) -> bool {
    let Expr::Function(f) = expr else { return false };
    let star = match &f.args {
        FunctionArguments::List(list) => {
            matches!(list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
                && list.clauses.is_empty()
        }
        _ => false,
    };
    star && f.name.to_string().eq_ignore_ascii_case("count") && f.over.is_none() && f.filter.is_none()
}
