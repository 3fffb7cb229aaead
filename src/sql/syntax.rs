//! From text to one plain SELECT: everything SQL has that a release cannot answer is refused here.

use super::error::SqlError;
use sqlparser::ast::{
    Expr, GroupByExpr, Ident, LimitClause, OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem,
    SetExpr, Spanned, Statement, TableAlias, TableFactor, TableWithJoins,
};
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};

/// The longest query, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The most words and signs a query may have, not counting literals and commas. It bounds how deep a chain such as
/// `a AND b AND c …` nests in the syntax tree, which is walked (and dropped) recursively.
const MAX_TOKENS: usize = 2_000;
/// How deep brackets may nest. Each level costs the parser several stack frames.
const MAX_DEPTH: usize = 64;

/// Standard SQL with double quotes or backticks around names.
#[derive(Debug)]
struct Standard;

impl Dialect for Standard {
    fn is_delimited_identifier_start(&self, c: char) -> bool {
        c == '"' || c == '`'
    }

    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }
}

/// The clauses of a SELECT that mean something here.
pub(crate) struct Clauses {
    pub table: Vec<Ident>,
    pub alias: Option<Ident>,
    pub items: Vec<SelectItem>,
    pub condition: Option<Expr>,
    pub groups: Vec<Expr>,
    pub order: Vec<OrderByExpr>,
    pub limit: Option<Expr>,
    /// Where SELECT stands, for errors about the query as a whole.
    pub select: Span,
}

/// Parses one SELECT.
pub(crate) fn parse(text: &str) -> Result<Clauses, SqlError> {
    if text.len() > MAX_BYTES {
        return Err(SqlError::new(format!("the query is longer than {MAX_BYTES} bytes")));
    }
    let tokens = Tokenizer::new(&Standard, text)
        .tokenize_with_location()
        .map_err(|e| SqlError::new(sentence(&e.message)).at(character(e.location)))?;
    check_size(&tokens)?;
    let mut statements = Parser::new(&Standard)
        .with_recursion_limit(MAX_DEPTH)
        .with_tokens_with_locations(tokens.clone())
        .parse_statements()
        .map_err(refused_by_parser)?;
    let statement = statements.pop().ok_or_else(|| SqlError::new("the query is empty").help(EXAMPLE))?;
    if !statements.is_empty() {
        return Err(SqlError::new("there are several statements")
            .at(statement.span())
            .help("ask one SELECT at a time"));
    }
    let Statement::Query(query) = statement else {
        let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
        return Err(SqlError::new("only SELECT can be asked of a release")
            .at(first.map_or(Span::empty(), |t| t.span))
            .help(EXAMPLE));
    };
    clauses(*query, &Tokens(tokens))
}

const EXAMPLE: &str = "for example: SELECT sex, COUNT(*) FROM release WHERE age >= 18 GROUP BY sex";

/// Where keywords stand, for the clauses of which the syntax tree does not remember it.
struct Tokens(Vec<TokenWithSpan>);

impl Tokens {
    fn refuse(&self, keyword: Keyword, what: &str, help: &str) -> SqlError {
        let at = self.0.iter().find(|t| matches!(&t.token, Token::Word(w) if w.keyword == keyword));
        SqlError::new(format!("{what} cannot be asked of a release"))
            .at(at.map_or(Span::empty(), |t| t.span))
            .help(help)
    }
}

fn check_size(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let mut count = 0;
    let mut depth = 0usize;
    for TokenWithSpan { token, span } in tokens {
        match token {
            Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_) => {
                continue;
            }
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
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

fn too_deep() -> SqlError {
    SqlError::new("the query is nested too deeply").help("leave out brackets: AND binds tighter than OR")
}

/// The parser writes the place into its message; this takes it out again.
fn refused_by_parser(error: ParserError) -> SqlError {
    let message = match error {
        ParserError::RecursionLimitExceeded => return too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
    };
    let place = message.rsplit_once(" at Line: ").and_then(|(before, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((before.to_string(), Location::new(line.parse().ok()?, column.parse().ok()?)))
    });
    match place {
        Some((message, location)) => SqlError::new(sentence(&message)).at(character(location)),
        None => SqlError::new(sentence(&message)),
    }
}

fn character(at: Location) -> Span {
    Span::new(at, Location::new(at.line, at.column + 1))
}

/// `Expected: …` as `expected …`, on one line.
fn sentence(message: &str) -> String {
    let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match message.strip_prefix("Expected: ") {
        Some(rest) => format!("expected {rest}").replace(", found: ", ", found "),
        None => message,
    }
}

fn clauses(query: Query, tokens: &Tokens) -> Result<Clauses, SqlError> {
    // Named one by one, so that no clause a newer parser knows is ever ignored silently.
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if with.is_some() {
        return Err(tokens.refuse(
            Keyword::WITH,
            "WITH",
            "write one SELECT with the conditions in its WHERE",
        ));
    }
    let select = match *body {
        SetExpr::Select(select) => *select,
        SetExpr::SetOperation { right, .. } => {
            return Err(SqlError::new("UNION, EXCEPT and INTERSECT cannot be asked of a release")
                .at(right.span())
                .help("ask the SELECTs one by one, or combine their conditions with OR and AND"));
        }
        other => {
            return Err(SqlError::new("only a plain SELECT can be asked of a release")
                .at(other.span())
                .help(EXAMPLE));
        }
    };
    if fetch.is_some() {
        return Err(tokens.refuse(Keyword::FETCH, "FETCH", "write LIMIT and a number"));
    }
    if !locks.is_empty()
        || for_clause.is_some()
        || settings.is_some()
        || format_clause.is_some()
        || !pipe_operators.is_empty()
    {
        return Err(SqlError::new("there is a clause after the SELECT that means nothing here")
            .help("possible are WHERE, GROUP BY, ORDER BY and LIMIT"));
    }
    let order = match order_by.map(|o| (o.kind, o.interpolate)) {
        None => Vec::new(),
        Some((OrderByKind::Expressions(items), None)) => items,
        Some(_) => return Err(tokens.refuse(Keyword::ORDER, "ORDER BY ALL", "name the columns to order by")),
    };
    let limit = match limit_clause {
        None => None,
        Some(LimitClause::LimitOffset { limit, offset: None, limit_by }) if limit_by.is_empty() => limit,
        Some(_) => return Err(tokens.refuse(Keyword::OFFSET, "OFFSET", "LIMIT alone is possible")),
    };
    plain_select(select, tokens, order, limit)
}

fn plain_select(
    select: Select,
    tokens: &Tokens,
    order: Vec<OrderByExpr>,
    limit: Option<Expr>,
) -> Result<Clauses, SqlError> {
    let Select {
        select_token,
        optimizer_hints: _, // comments
        distinct,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having,
        named_window,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    if distinct.is_some() {
        return Err(tokens.refuse(Keyword::DISTINCT, "DISTINCT", "GROUP BY gives each combination once"));
    }
    if top.is_some() {
        return Err(tokens.refuse(Keyword::TOP, "TOP", "write LIMIT and a number at the end"));
    }
    if let Some(having) = having {
        return Err(SqlError::new("HAVING cannot be asked of a release")
            .at(having.span())
            .help("conditions on the estimates belong in the program that reads them"));
    }
    if !named_window.is_empty() {
        return Err(tokens.refuse(Keyword::WINDOW, "WINDOW", "write OVER (PARTITION BY …) where it is used"));
    }
    if select_modifiers.is_some()
        || exclude.is_some()
        || into.is_some()
        || !lateral_views.is_empty()
        || prewhere.is_some()
        || !connect_by.is_empty()
        || !cluster_by.is_empty()
        || !distribute_by.is_empty()
        || !sort_by.is_empty()
        || qualify.is_some()
        || value_table_mode.is_some()
        || flavor != SelectFlavor::Standard
    {
        return Err(SqlError::new("there is a clause in the SELECT that means nothing here")
            .at(select_token.0.span)
            .help("possible are SELECT … FROM … WHERE … GROUP BY … ORDER BY … LIMIT …"));
    }
    let groups = match group_by {
        GroupByExpr::Expressions(groups, modifiers) if modifiers.is_empty() => groups,
        _ => {
            return Err(tokens.refuse(
                Keyword::GROUP,
                "GROUP BY ALL, ROLLUP or CUBE",
                "name the dimensions or levels to group by",
            ));
        }
    };
    let (table, alias) = table(&from, select_token.0.span)?;
    Ok(Clauses {
        table,
        alias,
        items: projection,
        condition: selection,
        groups,
        order,
        limit,
        select: select_token.0.span,
    })
}

fn table(from: &[TableWithJoins], select: Span) -> Result<(Vec<Ident>, Option<Ident>), SqlError> {
    let help = "a release is one table; its dimensions are the columns";
    let relation = match from {
        [] => return Err(SqlError::new("FROM is missing").at(select).help("name the release: FROM …")),
        [one] => match &one.joins[..] {
            [] => &one.relation,
            [join, ..] => {
                return Err(SqlError::new("a join cannot be asked of a release").at(join.span()).help(help));
            }
        },
        [_, second, ..] => {
            return Err(SqlError::new("a second table cannot be asked of a release")
                .at(second.span())
                .help(help));
        }
    };
    match relation {
        TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
            let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
            let alias = match alias {
                None => Some(None),
                Some(TableAlias { name, columns, at: None, .. }) if columns.is_empty() => {
                    Some(Some(name.clone()))
                }
                Some(_) => None,
            };
            match (parts, alias) {
                (Some(parts), Some(alias)) => Ok((parts, alias)),
                _ => Err(SqlError::new("this is not the name of a release").at(name.span()).help(help)),
            }
        }
        TableFactor::Derived { subquery, .. } => {
            Err(SqlError::new("a sub-query cannot be asked of a release").at(subquery.span()).help(help))
        }
        other => Err(SqlError::new("this is not the name of a release").at(other.span()).help(help)),
    }
}
