//! From a name in a query to a level of the cube, with suggestions for a name that is not there.

use super::error::SqlError;
use super::span::Span;
use super::tree::{Expr, Ident, Node};
use crate::cube::{Categories, Cube, Level, Quantity, Weighing};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A level that a query names, and where it names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub dim: usize,
    pub level: usize,
    pub span: Span,
}

/// What names mean in one query.
pub(super) struct Names<'a> {
    pub cube: &'a Cube,
    /// The table's name and its alias, which may stand before a column's name.
    pub tables: Vec<String>,
    /// The dimensions that can be any text.
    pub open: &'a [usize],
    /// The numbers whose sums can be asked for.
    pub quantities: &'a [Arc<Quantity>],
    /// The dimensions that were named so far.
    pub named: RefCell<BTreeSet<usize>>,
}

impl Column {
    /// The level without its place in the query.
    pub(super) fn at(&self) -> Level {
        Level::new(self.dim, self.level)
    }
}

impl<'a> Names<'a> {
    /// The level itself.
    pub(super) fn level(&self, column: Column) -> &'a Categories {
        column.at().of(self.cube)
    }

    /// What people call the codes of a level, where that is said.
    pub(super) fn labels(&self, column: Column) -> Option<&'a [String]> {
        self.cube.dimensions.get(column.dim)?.labels(column.level)
    }

    /// `age` or `age.band`.
    pub(super) fn name(&self, column: Column) -> String {
        self.cube.level_name(column.at())
    }

    /// Whether a level is of a reader's own groups, which stand beside the chain.
    pub(super) fn is_own(&self, level: Level) -> bool {
        self.cube.dimensions[level.dimension].districts_at(level.level).is_some()
    }

    /// Whether a category can be named: those in none of a reader's own districts are no district, and have no name.
    pub(super) fn is_named(&self, column: Column, label: &str) -> bool {
        !(label.is_empty() && self.is_own(column.at()))
    }

    /// Refuses what only listed categories can be compared by: of a dimension that can be any text a query knows those that it names.
    pub(super) fn listed(&self, column: Column) -> Result<(), SqlError> {
        if !self.open.contains(&column.dim) {
            return Ok(());
        }
        let name = quoted(&self.name(column));
        let error = SqlError::new(format!("`{name}` can be any text: it is compared by = and IN alone"));
        Err(error.at(column.span).help(format!("for example: {name} IN ('…', '…')")))
    }

    /// The level an expression names; `None` when the expression is no name at all.
    pub(super) fn column(&self, expr: &Expr) -> Option<Result<Column, SqlError>> {
        match &expr.node {
            Node::Nested(inner) => self.column(inner),
            Node::Name(parts) => {
                let found = self.resolve(parts, expr.span());
                self.named.borrow_mut().extend(found.as_ref().map(|column| column.dim));
                Some(found)
            }
            _ => self.unquoted(expr).map(Err),
        }
    }

    /// The weight of rows, where they have one: COUNT(*) is its sum.
    pub(super) fn weight(&self) -> Option<&'a Arc<Quantity>> {
        self.quantities.iter().find(|quantity| quantity.weighing == Weighing::Weight)
    }

    /// The number that an expression names, where no dimension has that name.
    pub(super) fn quantity(&self, expr: &Expr) -> Option<&'a Arc<Quantity>> {
        match &expr.node {
            Node::Nested(inner) => self.quantity(inner),
            Node::Name(parts) => {
                let own = match &parts[..] {
                    [table, rest @ ..] if !rest.is_empty() && self.is_table(table) => rest,
                    all => all,
                };
                let name = join(own);
                self.quantities.iter().find(|q| q.name.eq_ignore_ascii_case(&name))
            }
            _ => None,
        }
    }

    fn is_table(&self, ident: &Ident) -> bool {
        self.tables.iter().any(|t| t.eq_ignore_ascii_case(&ident.value))
    }

    fn resolve(&self, parts: &[Ident], span: Span) -> Result<Column, SqlError> {
        let name = join(parts);
        let mut wanted = vec![name.clone()];
        if let [table, rest @ ..] = parts
            && !rest.is_empty()
            && self.is_table(table)
        {
            wanted.push(join(rest));
        }
        for name in &wanted {
            if let Some(at) = self.cube.resolve(name) {
                return Ok(Column { dim: at.dimension, level: at.level, span });
            }
        }
        for name in &wanted {
            let mut found: Vec<(usize, usize, String)> =
                self.known().filter(|(.., known)| known.to_lowercase() == name.to_lowercase()).collect();
            found.dedup_by_key(|f| (f.0, f.1));
            match &found[..] {
                [] => {}
                [(dim, level, _)] => return Ok(Column { dim: *dim, level: *level, span }),
                several => {
                    let names: Vec<&str> = several.iter().map(|(.., known)| known.as_str()).collect();
                    return Err(SqlError::new(format!("\"{name}\" could be {}", names.join(" or ")))
                        .at(span)
                        .help("write the name with its exact capitals"));
                }
            }
        }
        Err(self.unknown(wanted.last().unwrap_or(&name)).at(span))
    }

    /// Every (dimension, level, name), the finest level also as `dimension.level`.
    fn known(&self) -> impl Iterator<Item = (usize, usize, String)> + '_ {
        self.cube.dimensions.iter().enumerate().flat_map(|(dim, d)| {
            let own = d.districts.iter().map(|own| own.groups.name.clone()).filter(|name| !name.is_empty());
            let own = own.map(move |name| (dim, d.levels.len(), name));
            let chain = (1..d.levels.len()).flat_map(move |level| {
                let short = (level == d.finest()).then(|| (dim, level, d.name.clone()));
                short.into_iter().chain([(dim, level, format!("{}.{}", d.name, d.levels[level].name))])
            });
            own.chain(chain)
        })
    }

    /// The names a query can use, as people write them.
    pub(super) fn all(&self) -> Vec<String> {
        self.cube
            .dimensions
            .iter()
            .enumerate()
            .flat_map(|(dim, d)| {
                let own =
                    d.districts.iter().filter(|own| !own.groups.name.is_empty()).map(|_| d.levels.len());
                let chain = (1..d.levels.len()).rev().filter(|&level| !is_of_halves(&d.levels[level]));
                own.chain(chain).map(move |level| self.cube.level_name(Level::new(dim, level)))
            })
            .collect()
    }

    fn unknown(&self, name: &str) -> SqlError {
        if let Some(amount) = self.quantities.iter().find(|q| q.name.eq_ignore_ascii_case(name)) {
            let name = quoted(&amount.name);
            return SqlError::new(format!("{name} is an amount: rows are not told apart by it"))
                .help("possible are SUM, AVG, COUNT, VARIANCE, STDDEV; MEDIAN wants it in `bins`");
        }
        let all = self.all();
        // A level named without its dimension is the likeliest slip: `band` for `age.band`.
        let bare: Vec<&String> = all.iter().filter(|n| n.ends_with(&format!(".{name}"))).collect();
        let help = match bare[..] {
            [] => did_you_mean(name, &all, "known"),
            _ => format!("did you mean {}?", bare.iter().map(|n| quoted(n)).collect::<Vec<_>>().join(" or ")),
        };
        SqlError::new(format!("there is no dimension or level \"{name}\"")).help(help)
    }

    /// The error for `marital-status` without quotes, which SQL reads as a subtraction.
    fn unquoted(&self, expr: &Expr) -> Option<SqlError> {
        let Node::Binary(left, op, right) = &expr.node else { return None };
        let Node::Name(left) = &left.node else { return None };
        let right = match &right.node {
            Node::Name(name) => join(name),
            _ => right.to_string(),
        };
        let name = format!("{}{op}{right}", join(left));
        self.cube.resolve(&name)?;
        Some(
            SqlError::new(format!("the name {name} needs quotes"))
                .at(expr.span())
                .help(format!("write {} in double quotes or backticks", quoted(&name))),
        )
    }
}

/// `age.band`.
pub(super) fn join(parts: &[Ident]) -> String {
    parts.iter().map(|p| p.value.as_str()).collect::<Vec<_>>().join(".")
}

/// The name as a query must write it: in double quotes when SQL would read it otherwise.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.split('.').all(|part| {
        !super::parser::is_keyword(part)
            && part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    });
    if plain { name.into() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// `did you mean …?`, or a list of what there is.
pub(crate) fn did_you_mean(name: &str, known: &[String], what: &str) -> String {
    let wanted = name.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &String)> = known
        .iter()
        .map(|k| (edit_distance(&wanted, &k.to_lowercase()), k))
        .filter(|&(distance, _)| distance <= allowed)
        .collect();
    close.sort_by_key(|&(distance, _)| distance);
    if !close.is_empty() {
        let names: Vec<&str> = close.iter().take(3).map(|(_, k)| k.as_str()).collect();
        return format!("did you mean {}?", names.join(" or "));
    }
    format!("{what}: {}", list(known))
}

/// A list that stays within a few lines.
pub(super) fn list(items: &[String]) -> String {
    let mut text = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 && text.chars().count() + item.chars().count() > 160 {
            return format!("{text} … and {} more", items.len() - i);
        }
        if i > 0 {
            text.push_str(", ");
        }
        text.push_str(item);
    }
    text
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: [Vec<usize>; 3] = [vec![0; b.len() + 1], vec![0; b.len() + 1], (0..=b.len()).collect()];
    for i in 1..=a.len() {
        rows.rotate_left(1);
        let [before, above, row] = &mut rows;
        row[0] = i;
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
    }
    rows[2][b.len()]
}

/// Whether a level is one that a strategy put between those of the spec (`half1`, …), which nobody asks by.
fn is_of_halves(level: &Categories) -> bool {
    let numbered = level.name.strip_prefix("half").is_some_and(|rest| rest.parse::<u32>().is_ok());
    numbered && level.labels.iter().any(|label| label.contains(" … "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, d) in
            [("", "", 0), ("abc", "", 3), ("sxe", "sex", 1), ("kitten", "sitting", 3), ("age", "agee", 1)]
        {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (d, d), "{a} {b}");
        }
    }
}
