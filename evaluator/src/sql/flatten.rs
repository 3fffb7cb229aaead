//! One SELECT inside another, as one SELECT that says the same.
//!
//! Three kinds mean something to a release. The inner one picks **units** (conditions, names for bands): the outer is asked of those. The
//! inner one counts and the outer **picks rows** of what was counted: conditions on labels go to WHERE, on figures to HAVING. Or the outer **adds
//! up** counts of the inner over some of its groups: that is the same count by fewer groups. Everything else would have to compute with noisy
//! rows as if they were exact, and is refused.

use super::clauses::Clauses;
use super::error::SqlError;
use super::figure::is_aggregate;
use super::names::{join, list, quoted};
use super::span::Span;
use super::tree::{Args, Expr, Ident, Item, Node, Operator, Order};

/// The most parts that a SELECT may come to before it stands inside another: each of them may stand in the place of a name.
const MOST_PARTS: usize = 2_000;

/// One SELECT in place of two; one that has none inside stays as it is.
pub(super) fn flat(outer: Clauses) -> Result<Clauses, SqlError> {
    flattened(outer, true)
}

/// `last` is that of the answer: in the others `*` stands for what is inside.
fn flattened(mut outer: Clauses, last: bool) -> Result<Clauses, SqlError> {
    let Some(inner) = outer.inner.take() else { return Ok(outer) };
    let is_chain = inner.inner.is_some();
    let inner = flattened(*inner, false)?;
    if is_chain && parts(&inner) > MOST_PARTS {
        return Err(SqlError::new("these SELECTs come to a query that is too long")
            .at(inner.select)
            .help("write the one that is meant"));
    }
    let mut called: Vec<String> = outer.table.iter().chain(&outer.alias).map(|i| i.value.clone()).collect();
    called.retain(|name| !name.is_empty());
    let inside = Inside::new(&inner, called);
    let counts = inner.groups.is_empty() && !inner.items.iter().any(counts);
    if counts {
        if !last && outer.groups.is_empty() {
            let all = |item| match item {
                Item::Star(_) => inner.items.clone(),
                item => vec![item],
            };
            outer.items = outer.items.into_iter().flat_map(all).collect();
        }
        return units(outer, &inner, &inside);
    }
    let adds = !outer.groups.is_empty() || outer.items.iter().any(self::counts);
    if adds { added(outer, &inner, &inside) } else { rows(outer, &inner, &inside) }
}

/// How many parts the expressions of a SELECT have.
fn parts(clauses: &Clauses) -> usize {
    let items = clauses.items.iter().filter_map(|item| match item {
        Item::Expr { expr, .. } => Some(expr),
        Item::Star(_) => None,
    });
    let conditions = clauses.condition.iter().chain(&clauses.having);
    let all = items.chain(conditions).chain(&clauses.groups).chain(clauses.order.iter().map(|o| &o.expr));
    all.map(|expr| expr.all().count()).sum()
}

/// Whether a column is a figure.
fn counts(item: &Item) -> bool {
    matches!(item, Item::Expr { expr, .. } if expr.any(is_aggregate))
}

fn refused(what: &str, at: Span, help: &str) -> SqlError {
    SqlError::new(format!("{what} cannot be asked of a SELECT in brackets")).at(at).help(help)
}

/// The columns of the inner SELECT.
struct Inside<'a> {
    columns: Vec<(String, &'a Expr)>,
    /// Whether it has `*`: the dimensions are its columns, too.
    all: bool,
    /// What may stand before a column's name.
    called: Vec<String>,
}

impl<'a> Inside<'a> {
    fn new(inner: &'a Clauses, called: Vec<String>) -> Inside<'a> {
        let mut columns: Vec<(String, &Expr)> = Vec::new();
        let mut all = false;
        for item in &inner.items {
            match item {
                Item::Star(_) => all = true,
                Item::Expr { expr, alias } => columns.push((named(expr, alias.as_ref()), expr)),
            }
        }
        if all && !inner.groups.is_empty() {
            columns.extend(inner.groups.iter().map(|g| (named(g, None), g)));
        }
        Inside { columns, all, called }
    }

    /// The column of a name; `None` when there is none.
    fn find(&self, parts: &[Ident]) -> Option<&'a Expr> {
        let by = |name: &str| {
            let same = |c: &&(String, &'a Expr)| c.0 == name;
            let alike = |c: &&(String, &'a Expr)| c.0.eq_ignore_ascii_case(name);
            let mut columns = self.columns.iter();
            columns.clone().find(same).or_else(|| columns.find(alike)).map(|c| c.1)
        };
        let short = match parts {
            [table, rest @ ..] if !rest.is_empty() && self.is_called(&table.value) => Some(join(rest)),
            _ => None,
        };
        by(&join(parts)).or_else(|| by(&short?))
    }

    fn is_called(&self, name: &str) -> bool {
        self.called.iter().any(|c| c.eq_ignore_ascii_case(name))
    }

    /// An expression of the outer SELECT in the words of the inner one. `own` are the names of the outer one's own columns, which come
    /// first where rows are sorted or chosen, and last elsewhere.
    fn expressed(&self, expr: &Expr, own: &[String]) -> Result<Expr, SqlError> {
        self.in_its_words(expr, own, false)
    }

    fn of_rows(&self, expr: &Expr, own: &[String]) -> Result<Expr, SqlError> {
        self.in_its_words(expr, own, true)
    }

    fn in_its_words(&self, expr: &Expr, own: &[String], own_first: bool) -> Result<Expr, SqlError> {
        expr.rewritten(&mut |part| {
            let Node::Name(parts) = &part.node else { return Ok(None) };
            let name = join(parts);
            let is_own = own.iter().any(|o| o.eq_ignore_ascii_case(&name));
            if is_own && own_first {
                return Ok(None);
            }
            if let Some(inner) = self.find(parts) {
                return Ok(Some(inner.clone()));
            }
            if is_own {
                return Ok(None);
            }
            if !self.all {
                let known: Vec<String> = self.columns.iter().map(|c| quoted(&c.0)).collect();
                return Err(SqlError::new(format!("the SELECT in brackets has no column {}", quoted(&name)))
                    .at(part.span())
                    .help(format!("its columns are: {}", list(&known))));
            }
            // Of a dimension: `t.age` is `age`.
            Ok(match &parts[..] {
                [table, rest @ ..] if !rest.is_empty() && self.is_called(&table.value) => {
                    Some(Expr::new(Node::Name(rest.to_vec()), part.span()))
                }
                _ => None,
            })
        })
    }
}

/// What a column is called.
fn named(expr: &Expr, alias: Option<&Ident>) -> String {
    match (alias, &expr.node) {
        (Some(alias), _) => alias.value.clone(),
        (None, Node::Name(parts)) => join(parts),
        (None, _) if super::figure::is_count(expr) => "count".into(),
        (None, _) => expr.to_string(),
    }
}

fn own_names(outer: &Clauses) -> Vec<String> {
    let alias = |item: &Item| match item {
        Item::Expr { alias: Some(alias), .. } => Some(alias.value.clone()),
        _ => None,
    };
    outer.items.iter().filter_map(alias).collect()
}

/// A column of the outer SELECT, which keeps the name it has there.
fn item(item: &Item, inside: &Inside, own: &[String]) -> Result<Item, SqlError> {
    let Item::Expr { expr, alias } = item else { return Ok(item.clone()) };
    let kept = alias.clone().unwrap_or_else(|| Ident { value: named(expr, None), quote: Some('"') });
    let expr = inside.expressed(expr, own)?;
    let plain = alias.is_none() && named(&expr, None) == kept.value;
    Ok(Item::Expr { expr, alias: if plain { None } else { Some(kept) } })
}

fn and(a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let span = a.span();
            Some(Expr::new(Node::Binary(Box::new(a), Operator::And, Box::new(bracketed(b))), span))
        }
        (a, b) => a.or(b),
    }
}

fn bracketed(expr: Expr) -> Expr {
    let span = expr.span();
    Expr::new(Node::Nested(Box::new(expr)), span)
}

fn ordered(order: &[Order], inside: &Inside, own: &[String]) -> Result<Vec<Order>, SqlError> {
    let one = |o: &Order| Ok(Order { expr: inside.of_rows(&o.expr, own)?, descending: o.descending });
    order.iter().map(one).collect()
}

/// The inner SELECT picks units, the outer one counts them.
fn units(outer: Clauses, inner: &Clauses, inside: &Inside) -> Result<Clauses, SqlError> {
    let picked = inner.limit.as_ref().or(inner.offset.as_ref()).or(inner.having.as_ref());
    if let Some(expr) = picked {
        return Err(refused("LIMIT, OFFSET or HAVING", expr.span(), "units are picked by WHERE"));
    }
    if let Some(span) = inner.distinct {
        return Err(refused("DISTINCT", span, "units are counted one by one"));
    }
    let own = own_names(&outer);
    let expressed = |expr: &Option<Expr>| expr.as_ref().map(|e| inside.expressed(e, &own)).transpose();
    Ok(Clauses {
        items: outer.items.iter().map(|i| item(i, inside, &own)).collect::<Result<_, _>>()?,
        condition: and(inner.condition.clone(), expressed(&outer.condition)?),
        groups: outer.groups.iter().map(|g| inside.expressed(g, &own)).collect::<Result<_, _>>()?,
        having: outer.having.as_ref().map(|h| inside.of_rows(h, &own)).transpose()?,
        order: ordered(&outer.order, inside, &own)?,
        table: inner.table.clone(),
        alias: inner.alias.clone(),
        ..outer
    })
}

/// The inner SELECT counts, the outer one picks rows and columns.
fn rows(outer: Clauses, inner: &Clauses, inside: &Inside) -> Result<Clauses, SqlError> {
    let cut = inner.limit.as_ref().or(inner.offset.as_ref());
    let changes = outer.condition.is_some() || !outer.order.is_empty() || outer.offset.is_some();
    if let Some(cut) = cut.filter(|_| changes || outer.limit.is_some()) {
        return Err(refused(
            "WHERE, ORDER BY, LIMIT or OFFSET beside a LIMIT inside",
            cut.span(),
            "write them in one of the two",
        ));
    }
    let own = own_names(&outer);
    let (mut labels, mut figures) = (None, inner.having.clone());
    for part in outer.condition.iter().flat_map(conjuncts) {
        let figure = |expr: &Expr| matches!(&expr.node, Node::Name(parts) if inside.find(parts).is_some_and(|e| e.any(is_aggregate)));
        let label = |expr: &Expr| matches!(&expr.node, Node::Name(parts) if inside.find(parts).is_none_or(|e| !e.any(is_aggregate)));
        let expressed = inside.expressed(part, &own)?;
        match (part.any(figure), part.any(label)) {
            (true, true) => {
                return Err(refused(
                    "a condition on figures and labels at once",
                    part.span(),
                    "join conditions on labels and conditions on figures by AND",
                ));
            }
            (true, false) => figures = and(figures, Some(expressed)),
            (false, _) => labels = and(labels, Some(expressed)),
        }
    }
    if let Some(labels) = labels.as_ref().filter(|_| inner.sets.len() > 1) {
        return Err(refused(
            "a condition on labels beside ROLLUP, CUBE or GROUPING SETS inside",
            labels.span(),
            "write it into the SELECT in brackets",
        ));
    }
    let window = |e: &Expr| matches!(&e.node, Node::Function(function) if function.over.is_some());
    if let Some(labels) = &labels
        && inner.items.iter().any(|i| matches!(i, Item::Expr { expr, .. } if expr.any(window)))
    {
        return Err(refused(
            "a condition on labels beside OVER inside",
            labels.span(),
            "write it into the SELECT in brackets, or leave OVER to the outer one",
        ));
    }
    if let Some(having) = &outer.having {
        return Err(refused("HAVING without GROUP BY", having.span(), "write WHERE"));
    }
    let mut items = Vec::new();
    for outer_item in &outer.items {
        match outer_item {
            Item::Star(_) => items.extend(inner.items.iter().cloned()),
            one => items.push(item(one, inside, &own)?),
        }
    }
    let order =
        if outer.order.is_empty() { inner.order.clone() } else { ordered(&outer.order, inside, &own)? };
    Ok(Clauses {
        table: inner.table.clone(),
        alias: inner.alias.clone(),
        items,
        condition: and(inner.condition.clone(), labels),
        groups: inner.groups.clone(),
        sets: inner.sets.clone(),
        having: figures,
        order,
        limit: outer.limit.or_else(|| inner.limit.clone()),
        offset: outer.offset.or_else(|| inner.offset.clone()),
        distinct: outer.distinct,
        select: outer.select,
        inner: None,
    })
}

/// `a AND b AND c` one by one.
fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    let (mut parts, mut rest) = (Vec::new(), expr);
    loop {
        match &rest.node {
            Node::Binary(left, Operator::And, right) => {
                parts.push(&**right);
                rest = left;
            }
            Node::Nested(inner) if matches!(inner.node, Node::Binary(_, Operator::And, _)) => rest = inner,
            _ => break,
        }
    }
    parts.push(rest);
    parts.reverse();
    parts
}

/// The inner SELECT counts by many groups, the outer one adds up over some of them.
fn added(outer: Clauses, inner: &Clauses, inside: &Inside) -> Result<Clauses, SqlError> {
    const WAY_OUT: &str =
        "SUM of a COUNT or SUM inside is possible; other figures are not those of single units";
    let cut = inner.limit.as_ref().or(inner.offset.as_ref()).or(inner.having.as_ref());
    if let Some(expr) = cut {
        return Err(refused("adding up what HAVING, LIMIT or OFFSET left", expr.span(), WAY_OUT));
    }
    if inner.sets.len() > 1 {
        return Err(refused("adding up rows of ROLLUP, CUBE or GROUPING SETS", inner.select, WAY_OUT));
    }
    let own = own_names(&outer);
    // A figure of the inner SELECT that counts or adds units, and nothing else.
    let plain = |expr: &Expr| match &expr.node {
        Node::Function(f) => {
            f.over.is_none() && ["count", "sum"].iter().any(|name| f.name.eq_ignore_ascii_case(name))
        }
        _ => false,
    };
    let figure = |expr: &Expr| {
        expr.rewritten(&mut |part| match &part.node {
            Node::Function(function) => {
                let summed = match &function.args {
                    Args::List(list) if function.name.eq_ignore_ascii_case("sum") => match &list[..] {
                        [one] if function.filter.is_none() && function.over.is_none() => Some(one),
                        _ => None,
                    },
                    _ => None,
                };
                let column = match summed.map(|one| &one.node) {
                    Some(Node::Name(parts)) => inside.find(parts),
                    _ => None,
                };
                match column.filter(|c| plain(c)) {
                    Some(column) => Ok(Some(column.clone())),
                    None => {
                        Err(refused(&format!("{function} of rows that were counted"), part.span(), WAY_OUT))
                    }
                }
            }
            _ => Ok(None),
        })
    };
    let label = |expr: &Expr| -> Result<Expr, SqlError> {
        let expressed = inside.expressed(expr, &own)?;
        if expressed.any(is_aggregate) {
            return Err(refused("grouping or choosing rows by a noisy figure", expr.span(), WAY_OUT));
        }
        Ok(expressed)
    };
    let mut items = Vec::new();
    for outer_item in &outer.items {
        items.push(match outer_item {
            Item::Expr { expr, alias } if expr.any(is_aggregate) => {
                let kept =
                    alias.clone().unwrap_or_else(|| Ident { value: named(expr, None), quote: Some('"') });
                Item::Expr { expr: figure(expr)?, alias: Some(kept) }
            }
            one => item(one, inside, &own)?,
        });
    }
    let figures = |expr: &Expr| -> Result<Expr, SqlError> {
        if expr.any(is_aggregate) { figure(expr) } else { inside.of_rows(expr, &own) }
    };
    let order = |o: &Order| Ok(Order { expr: figures(&o.expr)?, descending: o.descending });
    Ok(Clauses {
        table: inner.table.clone(),
        alias: inner.alias.clone(),
        items,
        condition: and(inner.condition.clone(), outer.condition.as_ref().map(label).transpose()?),
        groups: outer.groups.iter().map(label).collect::<Result<_, _>>()?,
        having: outer.having.as_ref().map(figures).transpose()?,
        order: outer.order.iter().map(order).collect::<Result<_, SqlError>>()?,
        inner: None,
        ..outer
    })
}
