//! OVER: totals of several rows, running totals, and neighbouring rows.
//!
//! Each is a count or a sum over other units than those of the row: of the groups that share some labels (PARTITION BY), and along an order of
//! the bands up to the row's own, of some around it, or of the one before it. So they are linear, with the exact law of their error.

use super::{Figures, Name, POSSIBLE, called, is_name, not_possible};
use crate::cube::{Filter, Level};
use crate::sql::bands::{MOST, left};
use crate::sql::error::SqlError;
use crate::sql::expression::Stretch;
use crate::sql::literal::{Literal, literal};
use crate::sql::names::list;
use crate::sql::tree::{Args, Expr, Function, Nearby, Node, Order, Window};

/// Over which units a figure of a row is taken: see [`crate::sql::Aggregate`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::sql) struct Scope {
    pub partition: Option<Vec<usize>>,
    pub stretch: Option<Stretch>,
}

/// How many rows after the own one, and whether it must be there.
type Away = (i64, bool);

impl Figures<'_> {
    /// What a function with OVER takes of other rows, and of which.
    pub(super) fn scoped<'e>(
        &mut self,
        function: &'e Function,
        window: &Window,
        expr: &Expr,
    ) -> Result<(&'e Expr, Scope), SqlError> {
        if self.scope != Scope::default() {
            return Err(SqlError::new("OVER cannot stand inside of OVER").at(expr.span()).help(POSSIBLE));
        }
        if let Some((inner, away)) = neighbour(function, expr)? {
            return Ok((inner, self.scope(window, Some(away), expr)?));
        }
        let name = called(function).ok_or_else(|| not_possible(function, expr))?;
        let total = match &function.args {
            Args::List(list) if name == Name::Sum && function.filter.is_none() => match &list[..] {
                [one] => Some(one),
                _ => None,
            },
            _ => None,
        };
        let (inner, one) = match total.map(|one| (&one.node, one)) {
            Some((Node::Function(inner), one)) if inner.over.is_none() => (inner, one),
            _ => {
                return Err(SqlError::new(format!("{} OVER works only as a total of totals", function.name))
                    .at(expr.span())
                    .help("write SUM(COUNT(*)) OVER () or SUM(COUNT(*)) OVER (PARTITION BY …)"));
            }
        };
        let scope = self.scope(window, None, expr)?;
        match called(inner) {
            Some(Name::Count | Name::Sum) => Ok((one, scope)),
            _ => Err(SqlError::new("only COUNT and SUM can be added up over groups")
                .at(one.span())
                .help(POSSIBLE)),
        }
    }

    fn scope(&mut self, window: &Window, away: Option<Away>, expr: &Expr) -> Result<Scope, SqlError> {
        let Window::Over { partition, order, span } = window else {
            return Err(SqlError::new("a named window cannot be asked of a release")
                .at(expr.span())
                .help(POSSIBLE));
        };
        let kept = self.partition(partition)?;
        let span = match away {
            Some((at, _)) => Some(Nearby { from: Some(at), to: Some(at) }).filter(|_| span.is_none()),
            None => *span,
        };
        let by = match &order[..] {
            [] if span.is_none() && away.is_none() => {
                return Ok(Scope { partition: Some(kept), stretch: None });
            }
            [by] if away.is_none() || span.is_some() => by,
            _ => {
                return Err(SqlError::new(
                    "this needs one column to put rows in order by, and no other clause",
                )
                .at(expr.span())
                .help("for example: SUM(COUNT(*)) OVER (ORDER BY day), LAG(COUNT(*)) OVER (ORDER BY day)"));
            }
        };
        let (band, own) = self.along(by)?;
        let mut within = None;
        if let Some(span) = span
            && (span.from.is_some() || span.to.is_some())
        {
            within = self.alone(own, &kept, expr)?;
        }
        let Nearby { from, to } = span.unwrap_or(Nearby { from: None, to: Some(0) });
        let is_row = away.is_some_and(|(_, is_row)| is_row);
        let stretch = Stretch { band, from, to, descending: by.descending, is_row, within };
        Ok(Scope { partition: Some(kept), stretch: Some(stretch) })
    }

    /// The groups whose labels stay fixed in `OVER (PARTITION BY …)`: levels, bands, levels above.
    pub(in crate::sql) fn partition(&mut self, partition: &[Expr]) -> Result<Vec<usize>, SqlError> {
        let mut kept = Vec::with_capacity(partition.len());
        for by in partition {
            if let Some(at) = self.bands.iter().position(|b| b.is_meant(by)) {
                kept.push(self.groups.len() + at);
                continue;
            }
            let column = self.names.column(by).transpose()?.map(|c| c.at());
            kept.push(
                column
                    .and_then(|level| self.kept_to(level))
                    .ok_or_else(|| self.not_grouped("PARTITION BY", by))?,
            );
        }
        kept.sort_unstable();
        kept.dedup();
        Ok(kept)
    }

    fn not_grouped(&self, what: &str, by: &Expr) -> SqlError {
        SqlError::new(format!("{what} needs a level of GROUP BY, or one above it"))
            .at(by.span())
            .help(format!("the groups are: {}", list(&self.called_groups().collect::<Vec<_>>())))
    }

    /// What is grouped by, in the order of [`crate::sql::Aggregate::partition`].
    fn called_groups(&self) -> impl Iterator<Item = String> {
        let bands = self.bands.iter().map(|b| b.alias.map_or_else(|| b.expr.to_string(), str::to_owned));
        self.groups.iter().map(|&g| self.names.cube.level_name(g)).chain(bands)
    }

    /// The position of a level that is grouped by, or of one above it.
    fn kept_to(&mut self, level: Level) -> Option<usize> {
        let at = self.groups.iter().position(|g| g.dimension == level.dimension)?;
        let grouped = self.groups.get(at)?.level;
        if level.level >= grouped || self.names.is_own(Level::new(level.dimension, grouped)) {
            return (level.level == grouped).then_some(at);
        }
        Some(self.groups.len() + self.hidden(level))
    }

    /// The band that the nodes of a level are, though nobody sees it.
    fn hidden(&mut self, level: Level) -> usize {
        let known = self.above.iter().position(|l| *l == level).unwrap_or_else(|| {
            self.above.push(level);
            self.above.len() - 1
        });
        self.bands.len() + known
    }

    /// The band of what rows are put in order by, and its position among groups.
    fn along(&mut self, by: &Order) -> Result<(usize, usize), SqlError> {
        if let Some(at) = self.bands.iter().position(|b| b.is_meant(&by.expr)) {
            return Ok((at, self.groups.len() + at));
        }
        let level = self.names.column(&by.expr).transpose()?.map(|c| c.at());
        let found = level.and_then(|level| Some((level, self.kept_to(level)?)));
        let (level, own) = found.ok_or_else(|| self.not_grouped("ORDER BY inside of OVER", &by.expr))?;
        let nodes = left(self.names.cube, level, &self.condition).len();
        if nodes > MOST {
            return Err(SqlError::new(format!(
                "{} has {nodes} categories to go along",
                self.names.cube.level_name(level)
            ))
            .at(by.expr.span())
            .help(format!("possible are {MOST}: go along a coarser level, or a CASE")));
        }
        Ok((self.hidden(level), own))
    }

    /// Checks that the row before is one row, and the same for every group: all other groups stay fixed, and WHERE leaves the same bands to each.
    /// A level above the one that is gone along may stay fixed, too: then its bands are those within which the row before is.
    fn alone(&self, own: usize, kept: &[usize], expr: &Expr) -> Result<Option<usize>, SqlError> {
        let visible = self.groups.len() + self.bands.len();
        let others: Vec<usize> = (0..visible).filter(|at| *at != own).collect();
        let over = |at: &&usize| {
            let level = at.checked_sub(visible).and_then(|at| self.above.get(at));
            level.zip(self.groups.get(own)).is_some_and(|(above, own)| above.dimension == own.dimension)
        };
        let finer = |at: &&usize| self.above.get(**at - visible).map(|l| l.level);
        let within = kept.iter().filter(over).max_by_key(finer).map(|at| at - self.groups.len());
        let kept: Vec<usize> = kept.iter().filter(|at| !over(at)).copied().collect();
        let refuse = |why: &str, help: String| Err(SqlError::new(why).at(expr.span()).help(help));
        if own >= visible || kept != others {
            let names = self.called_groups().enumerate().filter(|(at, _)| *at != own).map(|(_, name)| name);
            let names: Vec<String> = names.collect();
            return refuse(
                "LAG, LEAD and ROWS are of single rows: they go along one group, and PARTITION BY names the others",
                match &names[..] {
                    [] => "leave out PARTITION BY, and go along what is grouped by".into(),
                    names => format!("write PARTITION BY {} ORDER BY …", list(names)),
                },
            );
        }
        let of_bands =
            |at: usize| self.bands.get(at).into_iter().flat_map(|b| &b.each).flat_map(|(_, f)| &f.dims);
        let along: Vec<usize> = match self.groups.get(own) {
            Some(level) => vec![level.dimension],
            None => of_bands(own - self.groups.len()).map(|c| c.dim).collect(),
        };
        let mixed = (0..self.bands.len())
            .any(|at| own != self.groups.len() + at && of_bands(at).any(|c| along.contains(&c.dim)));
        let mixed =
            mixed || self.groups.iter().enumerate().any(|(at, g)| at != own && along.contains(&g.dimension));
        let several = along.iter().any(|d| *d != along[0]);
        let named = self.condition.dims.iter().any(|c| along.contains(&c.dim));
        if mixed || named && (several || !is_apart(&self.condition, along[0])) {
            return refuse(
                "the rows before and after are not the same for every group here",
                "leave such conditions out of WHERE, and group by nothing that hangs together with the order"
                    .into(),
            );
        }
        Ok(within)
    }
}

/// What LAG and LEAD take, and from where.
fn neighbour<'e>(function: &'e Function, expr: &Expr) -> Result<Option<(&'e Expr, Away)>, SqlError> {
    let Some((_, step)) = [("lag", -1), ("lead", 1)].into_iter().find(|(name, _)| is_name(function, name))
    else {
        return Ok(None);
    };
    let number = |e: &Expr| match literal(e) {
        Some(Literal::Number(n, _)) if n.fract() == 0.0 && (0.0..1e4).contains(&n) => Some(n as i64),
        _ => None,
    };
    let plain = function.filter.is_none() && function.duplicates.is_none();
    let found = match &function.args {
        Args::List(args) if plain => match &args[..] {
            [inner] => Some((inner, 1, true)),
            [inner, by] => number(by).map(|by| (inner, by, true)),
            [inner, by, none] => number(by).filter(|_| number(none) == Some(0)).map(|by| (inner, by, false)),
            _ => None,
        },
        _ => None,
    };
    let (inner, by, is_row) = found.ok_or_else(|| {
        SqlError::new(format!("{} takes a figure, and how many rows away it is", function.name))
            .at(expr.span())
            .help("for example: LAG(COUNT(*), 1) OVER (ORDER BY day); a third argument can be 0, for where there is no row")
    })?;
    Ok(Some((inner, (step * by, is_row))))
}

/// Whether a condition leaves the same of the other dimensions to every node of this one, or nothing.
fn is_apart(filter: &Filter, dimension: usize) -> bool {
    let Some(at) = filter.dims.iter().position(|c| c.dim == dimension) else { return true };
    let inner: usize = filter.dims[at + 1..].iter().map(|c| c.classes as usize).product();
    let classes = filter.dims[at].classes as usize;
    let left = |class: usize| -> Vec<bool> {
        let of = filter.weights.chunks(inner * classes).flat_map(|w| &w[class * inner..(class + 1) * inner]);
        of.map(|w| *w != 0.0).collect()
    };
    let mut all = (0..classes).map(left).filter(|left| left.contains(&true));
    let first = all.next();
    all.all(|left| Some(left) == first)
}
