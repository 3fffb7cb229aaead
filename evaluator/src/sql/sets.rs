//! GROUP BY: what it names, and which of that each row is grouped by (ROLLUP, CUBE, GROUPING SETS).

use super::error::SqlError;
use super::figure::is_aggregate;
use super::parser::Parser;
use super::tree::{Expr, Item};

/// The most sets of groups.
const MOST: usize = 128;

/// Everything that is grouped by, and for each set of rows its part in that. Without GROUP BY there is one set, of nothing.
pub(super) type Groups = (Vec<Expr>, Vec<Vec<usize>>);

/// Reads the clause, if it stands here.
pub(super) fn groups(parser: &mut Parser, items: &[Item]) -> Result<Groups, SqlError> {
    let start = parser.here();
    let mut all: Vec<Expr> = Vec::new();
    if !parser.word("GROUP") {
        return Ok((all, vec![Vec::new()]));
    }
    parser.need_word("BY")?;
    if parser.is_word(0, "ALL") && !parser.is_sign(1, ".") {
        parser.word("ALL");
        let label = |item: &Item| match item {
            Item::Expr { expr, .. } if !expr.any(is_aggregate) => Some(expr.clone()),
            _ => None,
        };
        all.extend(items.iter().filter_map(label));
        let set = (0..all.len()).collect();
        return Ok((all, vec![set]));
    }
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    loop {
        let own = alternatives(parser, &mut all)?;
        sets = sets.iter().flat_map(|set| own.iter().map(move |more| [&set[..], more].concat())).collect();
        too_many(&sets).map_or(Ok(()), |e| Err(e.at(start.to(parser.before()))))?;
        if !parser.sign(",") {
            break;
        }
    }
    if parser.is_word(0, "WITH") {
        return Err(SqlError::new("GROUP BY … WITH cannot be asked of a release")
            .at(start)
            .help("write GROUP BY ROLLUP (…) or GROUP BY CUBE (…)"));
    }
    Ok((all, sets))
}

fn too_many(sets: &[Vec<usize>]) -> Option<SqlError> {
    (sets.len() > MOST).then(|| SqlError::new(format!("the most sets of groups is {MOST}")))
}

/// The sets that one part of the clause stands for.
fn alternatives(parser: &mut Parser, all: &mut Vec<Expr>) -> Result<Vec<Vec<usize>>, SqlError> {
    let start = parser.here();
    if parser.is_word(0, "GROUPING") && parser.is_word(1, "SETS") {
        parser.word("GROUPING");
        parser.word("SETS");
        parser.need_sign("(")?;
        let mut sets = alternatives(parser, all)?;
        while parser.sign(",") {
            sets.extend(alternatives(parser, all)?);
            too_many(&sets).map_or(Ok(()), |e| Err(e.at(start)))?;
        }
        parser.need_sign(")")?;
        return Ok(sets);
    }
    let rolled = parser.is_word(0, "ROLLUP");
    if !(rolled || parser.is_word(0, "CUBE")) || !parser.is_sign(1, "(") {
        return Ok(vec![together(parser, all)?]);
    }
    parser.word(if rolled { "ROLLUP" } else { "CUBE" });
    parser.need_sign("(")?;
    let mut parts = vec![together(parser, all)?];
    while parser.sign(",") {
        parts.push(together(parser, all)?);
    }
    parser.need_sign(")")?;
    let n = parts.len();
    if rolled {
        return Ok((0..=n).rev().map(|first| parts[..first].concat()).collect());
    }
    if n > MOST.ilog2() as usize {
        return Err(
            SqlError::new(format!("CUBE of {n} has 2^{n} sets of groups; the most is {MOST}")).at(start)
        );
    }
    let set = |of: usize| {
        let inside = parts.iter().enumerate().filter(|(i, _)| of >> (n - 1 - i) & 1 == 1);
        inside.flat_map(|(_, part)| part.clone()).collect()
    };
    Ok((0..1 << n).rev().map(set).collect())
}

/// `a`, or `(a, b)`: where each stands among all that is grouped by.
fn together(parser: &mut Parser, all: &mut Vec<Expr>) -> Result<Vec<usize>, SqlError> {
    let list = if !parser.sign("(") {
        vec![parser.expression()?]
    } else if parser.sign(")") {
        Vec::new()
    } else {
        let list = parser.list()?;
        parser.need_sign(")")?;
        list
    };
    let place = |expr: Expr| {
        all.iter().position(|known| *known == expr).unwrap_or_else(|| {
            all.push(expr);
            all.len() - 1
        })
    };
    Ok(list.into_iter().map(place).collect())
}
