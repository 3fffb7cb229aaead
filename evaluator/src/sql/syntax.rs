//! From text to one plain SELECT: everything SQL has that a release cannot answer is refused here.

use super::clauses::Clauses;
use super::error::SqlError;
use super::flatten::flat;
use super::parser::{MAX_DEPTH, Parser, too_deep};
use super::sets;
use super::span::Span;
use super::token::{Token, tokens};
use super::tree::{Expr, Ident, Item, Order};

/// The longest query, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The most words and signs a query may have, not counting literals and commas. It bounds how deep a chain such as
/// `a AND b AND c …` nests in the syntax tree, which is walked (and dropped) recursively.
const MAX_TOKENS: usize = 2_000;

/// Parses one SELECT.
pub(crate) fn parse(text: &str) -> Result<Clauses, SqlError> {
    if text.len() > MAX_BYTES {
        return Err(SqlError::new(format!("the query is longer than {MAX_BYTES} bytes")));
    }
    let tokens = tokens(text)?;
    check_size(&tokens)?;
    let mut parser = Parser::new(tokens);
    let clauses = statement(&mut parser)?;
    end(&mut parser)?;
    flat(clauses)
}

const EXAMPLE: &str = "for example: SELECT sex, COUNT(*) FROM release WHERE age >= 18 GROUP BY sex";
const ONE_TABLE: &str = "a release is one table; its dimensions are the columns";

fn check_size(tokens: &[(Token, Span)]) -> Result<(), SqlError> {
    let mut count = 0;
    let mut depth = 0usize;
    for (token, span) in tokens {
        match token {
            Token::Sign(",") | Token::Number(..) | Token::Text(_) => continue,
            Token::Sign("(" | "[" | "{") => depth += 1,
            Token::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        count += 1;
        if depth > MAX_DEPTH {
            return Err(too_deep().at(*span));
        }
        if count > MAX_TOKENS {
            return Err(SqlError::new(format!("the query has more than {MAX_TOKENS} words and signs"))
                .at(*span)
                .help("IN (…) lists may be as long as you like"));
        }
    }
    Ok(())
}

/// What cannot be asked, with its place and a way out.
fn refuse(what: &str, at: Span, help: &str) -> SqlError {
    SqlError::new(format!("{what} cannot be asked of a release")).at(at).help(help)
}

/// A SELECT, or `WITH name AS (SELECT …), … SELECT … FROM name`: each may select from one before it.
fn statement(parser: &mut Parser) -> Result<Clauses, SqlError> {
    if parser.peek().is_none() {
        return Err(SqlError::new("the query is empty").help(EXAMPLE));
    }
    let start = parser.here();
    if !parser.word("WITH") {
        return select(parser, Inside::Nothing);
    }
    if parser.is_word(0, "RECURSIVE") {
        return Err(refuse("WITH RECURSIVE", start.to(parser.here()), ONE_LEVEL));
    }
    let mut named: Vec<(Ident, Clauses)> = Vec::new();
    loop {
        let begin = parser.here();
        let name = parser.name("a name for the SELECT in brackets")?;
        let at = begin.to(parser.before());
        let [name] = &name[..] else { return Err(parser.expected("AS")) };
        if named.iter().any(|(known, _)| known.value.eq_ignore_ascii_case(&name.value)) {
            return Err(SqlError::new(format!("{name} is there twice")).at(at).help(ONE_LEVEL));
        }
        parser.need_word("AS")?;
        let mut inner = bracketed(parser)?;
        attach(&mut inner, &named);
        named.push((name.clone(), inner));
        if !parser.sign(",") {
            break;
        }
    }
    let at = start.to(parser.before());
    let mut outer = select(parser, Inside::With)?;
    attach(&mut outer, &named);
    match (&outer.inner, named.last()) {
        (None, Some((name, _))) => {
            Err(SqlError::new(format!("nothing is selected from {name}")).at(at).help(ONE_LEVEL))
        }
        _ => Ok(outer),
    }
}

/// Puts what a name of WITH stands for in its place.
fn attach(clauses: &mut Clauses, named: &[(Ident, Clauses)]) {
    if let [used] = &clauses.table[..]
        && let Some((_, inner)) = named.iter().find(|(name, _)| name.value.eq_ignore_ascii_case(&used.value))
    {
        clauses.inner = Some(Box::new(inner.clone()));
    }
}

/// What a SELECT stands in: only one that stands in nothing may have another inside.
#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Nothing,
    With,
    Brackets,
}

const ONE_LEVEL: &str = "one SELECT may stand inside another: WITH t AS (SELECT …) SELECT … FROM t, or FROM (SELECT …) AS t; for more write WITH t AS (…), u AS (SELECT … FROM t) SELECT … FROM u";

/// `(SELECT …)`.
fn bracketed(parser: &mut Parser) -> Result<Clauses, SqlError> {
    parser.need_sign("(")?;
    let inner = select(parser, Inside::Brackets)?;
    parser.need_sign(")")?;
    Ok(inner)
}

fn select(parser: &mut Parser, inside: Inside) -> Result<Clauses, SqlError> {
    let select = parser.here();
    if parser.is_word(0, "WITH") {
        return Err(refuse("WITH inside of another SELECT", select, ONE_LEVEL));
    }
    if !parser.word("SELECT") {
        return Err(SqlError::new("only SELECT can be asked of a release").at(select).help(EXAMPLE));
    }
    let distinct = parser.is_word(0, "DISTINCT").then(|| parser.here());
    parser.word("DISTINCT");
    if let Some(span) = distinct
        && parser.is_word(0, "ON")
    {
        return Err(refuse("DISTINCT ON", span, "GROUP BY gives each combination once"));
    }
    let items = items(parser)?;
    let (table, alias, inner) = table(parser, select, inside)?;
    let condition = if parser.word("WHERE") { Some(parser.expression()?) } else { None };
    let (groups, sets) = sets::groups(parser, &items)?;
    let having = if parser.word("HAVING") { Some(parser.expression()?) } else { None };
    if parser.is_word(0, "WINDOW") {
        return Err(refuse("WINDOW", parser.here(), "write OVER (PARTITION BY …) where it is used"));
    }
    if ["UNION", "EXCEPT", "INTERSECT"].iter().any(|word| parser.is_word(0, word)) {
        let help = "ask the SELECTs one by one, or combine their conditions with OR and AND";
        return Err(match parser.is_word(0, "UNION") && inside == Inside::Brackets {
            true => SqlError::new("UNION ALL cannot stand in brackets").at(parser.here()).help(help),
            false if parser.is_word(0, "UNION") && parser.is_word(1, "ALL") => {
                SqlError::new("UNION ALL joins several questions, and one is asked here")
                    .at(parser.here())
                    .help(help)
            }
            false => refuse("UNION, EXCEPT and INTERSECT", parser.here(), help),
        });
    }
    let order = order(parser)?;
    let (limit, offset) = limit(parser)?;
    Ok(Clauses {
        table,
        alias,
        items,
        condition,
        groups,
        sets,
        having,
        order,
        limit,
        offset,
        distinct,
        select,
        inner,
    })
}

/// The columns of SELECT.
fn items(parser: &mut Parser) -> Result<Vec<Item>, SqlError> {
    if parser.is_word(0, "TOP") && matches!(parser.look_at(1), Some(Token::Number(_))) {
        return Err(refuse("TOP", parser.here(), "write LIMIT and a number at the end"));
    }
    parser.word("ALL");
    let mut items = Vec::new();
    loop {
        let start = parser.here();
        let expr = if parser.sign("*") { None } else { Some(parser.expression()?) };
        // `t.*`
        let star = expr.is_none() || parser.is_sign(0, ".") && parser.is_sign(1, "*");
        items.push(match expr {
            Some(expr) if !star => Item::Expr { expr, alias: parser.alias()? },
            _ => {
                if parser.sign(".") {
                    parser.sign("*");
                }
                Item::Star(start.to(parser.before()))
            }
        });
        if !parser.sign(",") {
            return Ok(items);
        }
    }
}

/// What is selected from: its name, its alias, and the SELECT that stands there.
type From = (Vec<Ident>, Option<Ident>, Option<Box<Clauses>>);

/// What stands after FROM.
fn table(parser: &mut Parser, select: Span, inside: Inside) -> Result<From, SqlError> {
    let clauses = ["WHERE", "GROUP", "ORDER", "LIMIT", "OFFSET", "HAVING"];
    if parser.peek().is_none_or(|t| *t == Token::Sign(";") || clauses.iter().any(|word| t.is_word(word))) {
        return Err(SqlError::new("FROM is missing").at(select).help("name the release: FROM …"));
    }
    parser.need_word("FROM")?;
    let start = parser.here();
    let mut inner = None;
    let name = if parser.is_sign(0, "(") {
        if inside != Inside::Nothing || !parser.is_word(1, "SELECT") {
            return Err(refuse("what stands in these brackets", parser.skip_brackets()?, ONE_LEVEL));
        }
        inner = Some(Box::new(bracketed(parser)?));
        Vec::new()
    } else {
        parser.name("the name of a release")?
    };
    if parser.is_sign(0, "(") {
        parser.skip_brackets()?;
        let at = start.to(parser.before());
        return Err(SqlError::new("this is not the name of a release").at(at).help(ONE_TABLE));
    }
    let alias = parser.alias()?;
    if parser.sign(",") {
        return Err(refuse("a second table", parser.here(), ONE_TABLE));
    }
    let joins = ["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"];
    if joins.iter().any(|word| parser.is_word(0, word)) {
        return Err(refuse("a join", parser.here(), ONE_TABLE));
    }
    Ok((name, alias, inner))
}

fn order(parser: &mut Parser) -> Result<Vec<Order>, SqlError> {
    let start = parser.here();
    if !parser.word("ORDER") {
        return Ok(Vec::new());
    }
    parser.need_word("BY")?;
    if parser.is_word(0, "ALL") && !parser.is_sign(1, ".") {
        return Err(refuse("ORDER BY ALL", start, "name the columns to order by"));
    }
    parser.orders()
}

/// How many rows, and after how many.
fn limit(parser: &mut Parser) -> Result<(Option<Expr>, Option<Expr>), SqlError> {
    let (mut limit, mut offset) = (None, None);
    loop {
        if limit.is_none() && parser.word("LIMIT") {
            if !parser.word("ALL") {
                limit = Some(parser.expression()?);
            }
            if parser.is_sign(0, ",") {
                return Err(refuse("LIMIT with a comma", parser.here(), "write LIMIT … OFFSET …"));
            }
        } else if offset.is_none() && parser.word("OFFSET") {
            offset = Some(parser.expression()?);
            if !parser.word("ROWS") {
                parser.word("ROW");
            }
        } else {
            break;
        }
    }
    if parser.is_word(0, "FETCH") {
        return Err(refuse("FETCH", parser.here(), "write LIMIT and a number"));
    }
    Ok((limit, offset))
}

/// Nothing may follow but a semicolon.
fn end(parser: &mut Parser) -> Result<(), SqlError> {
    let mut ended = false;
    while parser.sign(";") {
        ended = true;
    }
    match parser.peek() {
        None => Ok(()),
        Some(_) if ended => Err(SqlError::new("there are several statements")
            .at(parser.here().to(parser.last()))
            .help("ask one SELECT at a time")),
        Some(_) => Err(parser
            .expected("the end of the query")
            .help("possible are SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT … OFFSET …, in this order")),
    }
}
