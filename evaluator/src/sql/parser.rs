//! From words and signs to expressions: what binds tighter than what, in one function.

use super::error::SqlError;
use super::span::{Location, Span};
use super::token::Token;
use super::tree::{Args, Expr, Function, Ident, Nearby, Node, Operator, Order, Unary, Window};

/// How deep expressions may nest. Each level costs several stack frames, here and wherever the tree is walked.
pub(super) const MAX_DEPTH: usize = 64;

/// How tightly operators bind.
mod strength {
    pub(crate) const LEAST: u8 = 0;
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(crate) const COMPARISON: u8 = 4;
    pub(crate) const CONCATENATION: u8 = 5;
    pub(super) const SUM: u8 = 6;
    pub(crate) const PRODUCT: u8 = 7;
    pub(crate) const SIGN: u8 = 8;
    pub(super) const CAST: u8 = 9;
}

/// Words that begin or join something, and so are no names without quotes.
const RESERVED: [&str; 26] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AS",
    "ON",
    "BY",
];
/// Words that no alias may be which stands without AS: they begin what comes next.
const AFTER_AN_ITEM: [&str; 15] = [
    "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "USING", "WINDOW", "QUALIFY", "FOR",
    "INTO", "WITH", "ASC", "DESC",
];

/// What can stand behind the left side of a condition, or behind NOT there.
const PREDICATES: [&str; 7] = ["IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR", "REGEXP", "RLIKE"];

/// Words that mean something before or in the place of a name.
const BEFORE_A_NAME: [&str; 6] = ["ALL", "DISTINCT", "TRUE", "FALSE", "NULL", "UNKNOWN"];

/// Whether a name in quotes alone is one everywhere: some of these are names in some places without.
pub(super) fn is_keyword(name: &str) -> bool {
    let all = RESERVED.iter().chain(&AFTER_AN_ITEM).chain(&PREDICATES).chain(&BEFORE_A_NAME);
    { all }.any(|word| word.eq_ignore_ascii_case(name))
}

/// What joins an expression to what follows it.
enum Joint {
    Binary(Operator, u8),
    Cast,
    Is,
    Predicate { word: &'static str, negated: bool },
}

/// Reads a query from its first word to its last.
pub(super) struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser {
    pub(super) fn new(tokens: Vec<(Token, Span)>) -> Parser {
        Parser { tokens, at: 0, depth: 0 }
    }

    /// The next word or sign.
    pub(crate) fn peek(&self) -> Option<&Token> {
        self.look_at(0)
    }

    /// The word or sign so many words further on.
    pub(crate) fn look_at(&self, further: usize) -> Option<&Token> {
        self.tokens.get(self.at + further).map(|(token, _)| token)
    }

    /// Where the next word stands; at the end, behind the last one.
    pub(crate) fn here(&self) -> Span {
        let end = || {
            let at = self.tokens.last().map_or(Location { line: 1, column: 1 }, |(_, span)| span.end);
            Span { start: at, end: at }
        };
        self.tokens.get(self.at).map_or_else(end, |(_, span)| *span)
    }

    /// Where the word before stands.
    pub(super) fn before(&self) -> Span {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or_else(|| self.here(), |(_, span)| *span)
    }

    /// Where the last word stands.
    pub(super) fn last(&self) -> Span {
        self.tokens.last().map_or_else(|| self.here(), |(_, span)| *span)
    }

    /// Whether a keyword stands so many words further on.
    pub(crate) fn is_word(&self, further: usize, keyword: &str) -> bool {
        self.look_at(further).is_some_and(|token| token.is_word(keyword))
    }

    /// Whether a sign stands so many words further on.
    pub(crate) fn is_sign(&self, further: usize, sign: &str) -> bool {
        matches!(self.look_at(further), Some(Token::Sign(s)) if *s == sign)
    }

    /// Takes a keyword, if it stands here.
    pub(super) fn word(&mut self, keyword: &str) -> bool {
        let here = self.is_word(0, keyword);
        self.at += usize::from(here);
        here
    }

    /// Takes a sign, if it stands here.
    pub(crate) fn sign(&mut self, sign: &str) -> bool {
        let here = self.is_sign(0, sign);
        self.at += usize::from(here);
        here
    }

    pub(crate) fn need_word(&mut self, keyword: &str) -> Result<(), SqlError> {
        if self.word(keyword) { Ok(()) } else { Err(self.expected(keyword)) }
    }

    pub(crate) fn need_sign(&mut self, sign: &str) -> Result<(), SqlError> {
        if self.sign(sign) { Ok(()) } else { Err(self.expected(sign)) }
    }

    /// The error for something else than what must stand here.
    pub(crate) fn expected(&self, what: &str) -> SqlError {
        let found = self.peek().map_or("the end of the query".into(), Token::shown);
        SqlError::new(format!("expected {what}, found {found}")).at(self.here())
    }

    /// Whether an alias may stand here without AS.
    fn is_alias(&self) -> bool {
        match self.peek() {
            Some(Token::Quoted(..)) => true,
            Some(Token::Word(word)) => {
                !RESERVED.iter().chain(&AFTER_AN_ITEM).any(|r| r.eq_ignore_ascii_case(word))
            }
            _ => false,
        }
    }

    /// An alias, with or without AS.
    pub(crate) fn alias(&mut self) -> Result<Option<Ident>, SqlError> {
        if self.word("AS") || self.is_alias() { self.ident("a name").map(Some) } else { Ok(None) }
    }

    /// One word as a name.
    fn ident(&mut self, what: &str) -> Result<Ident, SqlError> {
        let (value, quote) = match self.peek() {
            Some(Token::Word(word)) => (word.clone(), None),
            Some(Token::Quoted(name, quote)) => (name.clone(), Some(*quote)),
            _ => return Err(self.expected(what)),
        };
        self.at += 1;
        Ok(Ident { value, quote })
    }

    /// `a`, `a.b`, `a.b.c`. After a dot any word is a name.
    pub(super) fn name(&mut self, what: &str) -> Result<Vec<Ident>, SqlError> {
        let mut parts = vec![self.ident(what)?];
        while self.is_sign(0, ".") && !self.is_sign(1, "*") {
            self.at += 1;
            parts.push(self.ident("a name")?);
        }
        Ok(parts)
    }

    /// Expressions with commas between them; at least one.
    pub(super) fn list(&mut self) -> Result<Vec<Expr>, SqlError> {
        let mut list = vec![self.expression()?];
        while self.sign(",") {
            list.push(self.expression()?);
        }
        Ok(list)
    }

    /// From an opening bracket, which stands here, to behind the one that closes it. What stands between them.
    pub(crate) fn skip_brackets(&mut self) -> Result<Span, SqlError> {
        let open = self.here();
        self.need_sign("(")?;
        let start = self.here();
        let mut depth = 1usize;
        while depth > 0 {
            match self.peek() {
                None => return Err(SqlError::new("this bracket is never closed").at(open)),
                Some(Token::Sign("(")) => depth += 1,
                Some(Token::Sign(")")) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        let last = self.tokens.get(self.at - 2).map_or(start, |(_, span)| *span);
        Ok(if last == open { open.to(self.before()) } else { start.to(last) })
    }

    /// A whole expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, SqlError> {
        self.binding(strength::LEAST)
    }

    /// An expression of operators that bind tighter than `least`. Chains of equal ones are read in a loop and nest to the left.
    fn binding(&mut self, least: u8) -> Result<Expr, SqlError> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep().at(self.here()));
        }
        self.depth += 1;
        let mut left = self.operand()?;
        while let Some(joint) = self.joint(least) {
            let start = left.span();
            let node = match joint {
                Joint::Binary(op, strength) => {
                    Node::Binary(Box::new(left), op, Box::new(self.binding(strength)?))
                }
                Joint::Cast => match (left.node, &self.name("a type")?[..]) {
                    (Node::Text(day), [to]) if to.value.eq_ignore_ascii_case("date") => Node::Text(day),
                    _ => Node::Foreign("a cast"),
                },
                Joint::Is => self.is(left)?,
                Joint::Predicate { word, negated } => self.predicate(left, word, negated)?,
            };
            left = Expr::new(node, start.to(self.before()));
        }
        self.depth -= 1;
        Ok(left)
    }

    /// Takes the operator that stands here, if it binds tighter than `least`.
    fn joint(&mut self, least: u8) -> Option<Joint> {
        let binary = match self.peek()? {
            token if token.is_word("AND") => Some((Operator::And, strength::AND)),
            token if token.is_word("OR") => Some((Operator::Or, strength::OR)),
            Token::Sign("::") => {
                return (strength::CAST > least).then(|| {
                    self.at += 1;
                    Joint::Cast
                });
            }
            Token::Sign(sign) => operator(sign),
            _ => None,
        };
        if let Some((op, strength)) = binary {
            self.at += usize::from(strength > least);
            return (strength > least).then_some(Joint::Binary(op, strength));
        }
        if strength::COMPARISON <= least {
            return None;
        }
        if self.word("IS") {
            return Some(Joint::Is);
        }
        let negated = self.is_word(0, "NOT");
        let after = usize::from(negated);
        let word = PREDICATES.into_iter().find(|word| self.is_word(after, word))?;
        self.at += after + 1;
        Some(Joint::Predicate { word, negated })
    }

    /// What follows IS.
    fn is(&mut self, left: Expr) -> Result<Node, SqlError> {
        let negated = self.word("NOT");
        if self.word("NULL") {
            return Ok(Node::IsNull { expr: Box::new(left), negated });
        }
        if self.word("TRUE") || self.word("FALSE") || self.word("UNKNOWN") {
            return Ok(Node::Foreign("IS TRUE or IS FALSE"));
        }
        if self.word("DISTINCT") {
            self.need_word("FROM")?;
            self.binding(strength::COMPARISON)?;
            return Ok(Node::Foreign("IS DISTINCT FROM"));
        }
        Err(self.expected("NULL"))
    }

    /// What follows IN, BETWEEN, LIKE and their like.
    fn predicate(&mut self, left: Expr, word: &str, negated: bool) -> Result<Node, SqlError> {
        let expr = Box::new(left);
        Ok(match word {
            "IN" if self.is_query(1) => {
                self.skip_brackets()?;
                Node::Foreign("a sub-query")
            }
            "IN" => {
                self.need_sign("(")?;
                let list = self.list()?;
                self.need_sign(")")?;
                Node::In { expr, negated, list }
            }
            "BETWEEN" => {
                let low = Box::new(self.binding(strength::COMPARISON)?);
                self.need_word("AND")?;
                let high = Box::new(self.binding(strength::COMPARISON)?);
                Node::Between { expr, negated, low, high }
            }
            "LIKE" | "ILIKE" => {
                let pattern = Box::new(self.binding(strength::COMPARISON)?);
                if self.word("ESCAPE") {
                    self.binding(strength::COMPARISON)?;
                    return Ok(Node::Foreign("LIKE … ESCAPE"));
                }
                Node::Like { expr, negated, any_case: word == "ILIKE", pattern }
            }
            _ => {
                self.word("TO");
                self.binding(strength::COMPARISON)?;
                Node::Foreign(match word {
                    "SIMILAR" => "SIMILAR TO",
                    _ => "a regular expression",
                })
            }
        })
    }

    /// Whether a query of its own begins so many words further on.
    fn is_query(&self, further: usize) -> bool {
        self.is_word(further, "SELECT") || self.is_word(further, "WITH")
    }

    /// What operators stand between.
    fn operand(&mut self) -> Result<Expr, SqlError> {
        let start = self.here();
        let node = match self.peek() {
            Some(Token::Number(text)) => self.take(Node::Number(text.clone())),
            Some(Token::Text(text)) => self.take(Node::Text(text.clone())),
            Some(Token::Sign("-")) => self.unary(Unary::Minus, strength::SIGN)?,
            Some(Token::Sign("+")) => self.unary(Unary::Plus, strength::SIGN)?,
            Some(Token::Sign("(")) if self.is_query(1) => {
                self.skip_brackets()?;
                Node::Foreign("a sub-query")
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let inner = self.expression()?;
                self.need_sign(")")?;
                Node::Nested(Box::new(inner))
            }
            Some(Token::Word(word)) => self.word_operand(&word.to_ascii_uppercase())?,
            Some(Token::Quoted(..)) => Node::Name(self.name("a name")?),
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr::new(node, start.to(self.before())))
    }

    fn take(&mut self, node: Node) -> Node {
        self.at += 1;
        node
    }

    fn unary(&mut self, op: Unary, strength: u8) -> Result<Node, SqlError> {
        self.at += 1;
        // `NOT` and signs may follow each other: the least that binds is what stands just before.
        Ok(Node::Unary(op, Box::new(self.binding(strength - 1)?)))
    }

    /// An operand that begins with a word.
    fn word_operand(&mut self, word: &str) -> Result<Node, SqlError> {
        Ok(match word {
            "NOT" => self.unary(Unary::Not, strength::NOT)?,
            "CASE" => self.case()?,
            "TRUE" | "FALSE" => self.take(Node::Boolean(word == "TRUE")),
            "NULL" => self.take(Node::Null),
            "DATE" if matches!(self.look_at(1), Some(Token::Text(_))) => {
                self.at += 1;
                self.operand()?.node
            }
            "EXTRACT" if self.is_sign(1, "(") => {
                self.at += 2;
                let start = self.here();
                let part = Node::Text(self.ident("a part of a day")?.value.to_uppercase());
                self.need_word("FROM")?;
                let args = Args::List(vec![Expr::new(part, start), self.expression()?]);
                self.need_sign(")")?;
                Node::Function(Box::new(Function {
                    name: word.into(),
                    duplicates: None,
                    args,
                    filter: None,
                    over: None,
                }))
            }
            "CAST" | "TRY_CAST" | "EXISTS" if self.is_sign(1, "(") => {
                self.at += 1;
                self.skip_brackets()?;
                Node::Foreign(if word == "EXISTS" { "a sub-query" } else { "a cast" })
            }
            _ if RESERVED.contains(&word) => return Err(self.expected("an expression")),
            _ => {
                let name = self.name("a name")?;
                if self.is_sign(0, "(") { self.function(&name)? } else { Node::Name(name) }
            }
        })
    }

    fn case(&mut self) -> Result<Node, SqlError> {
        self.at += 1;
        let operand = match self.is_word(0, "WHEN") {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        let mut when = Vec::new();
        while self.word("WHEN") {
            let condition = self.expression()?;
            self.need_word("THEN")?;
            when.push((condition, self.expression()?));
        }
        if when.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let otherwise = match self.word("ELSE") {
            true => Some(Box::new(self.expression()?)),
            false => None,
        };
        self.need_word("END")?;
        Ok(Node::Case { operand, when, otherwise })
    }

    /// A call, from its opening bracket on.
    fn function(&mut self, name: &[Ident]) -> Result<Node, SqlError> {
        self.need_sign("(")?;
        let duplicates = ["DISTINCT", "ALL"].into_iter().find(|word| self.word(word));
        let args = if self.sign("*") {
            Args::Star
        } else if self.is_sign(0, ")") {
            Args::List(Vec::new())
        } else {
            Args::List(self.list()?)
        };
        self.need_sign(")")?;
        if self.is_word(0, "WITHIN") && self.is_word(1, "GROUP") {
            self.at += 2;
            self.skip_brackets()?;
            return Ok(Node::Foreign("WITHIN GROUP"));
        }
        let mut filter = None;
        if self.is_word(0, "FILTER") && self.is_sign(1, "(") {
            self.at += 2;
            self.need_word("WHERE")?;
            filter = Some(self.expression()?);
            self.need_sign(")")?;
        }
        let over = if self.word("OVER") { Some(self.window()?) } else { None };
        let name: Vec<String> = name.iter().map(Ident::to_string).collect();
        Ok(Node::Function(Box::new(Function { name: name.join("."), duplicates, args, filter, over })))
    }

    /// What follows OVER.
    fn window(&mut self) -> Result<Window, SqlError> {
        if !self.sign("(") {
            return self.ident("(").map(Window::Named);
        }
        let mut partition = Vec::new();
        if self.word("PARTITION") {
            self.need_word("BY")?;
            partition = self.list()?;
        }
        let mut order = Vec::new();
        if self.word("ORDER") {
            self.need_word("BY")?;
            order = self.orders()?;
        }
        let ranged = self.word("RANGE");
        let span = if ranged || self.word("ROWS") { Some(self.neighbours()?) } else { None };
        // What is on a level with the current row is one row here, so RANGE up to it means what ROWS does.
        let plain = Nearby { from: None, to: Some(0) };
        if ranged && span != Some(plain) {
            return Err(SqlError::new("RANGE with numbers cannot be asked of a release")
                .at(self.before())
                .help("write ROWS BETWEEN … PRECEDING AND CURRENT ROW"));
        }
        if order.is_empty() && span == Some(plain) {
            return Err(SqlError::new("these rows have no order")
                .at(self.before())
                .help("add ORDER BY before ROWS, or leave ROWS out for all rows"));
        }
        self.need_sign(")")?;
        Ok(Window::Over { partition, order, span: span.filter(|span| *span != plain) })
    }

    /// Columns of ORDER BY.
    pub(super) fn orders(&mut self) -> Result<Vec<Order>, SqlError> {
        let mut order = Vec::new();
        loop {
            let expr = self.expression()?;
            if self.is_word(0, "USING") {
                return Err(SqlError::new("ORDER BY … USING cannot be asked of a release")
                    .at(expr.span())
                    .help("write ASC or DESC"));
            }
            let descending = self.word("DESC");
            if !descending {
                self.word("ASC");
            }
            if self.is_word(0, "NULLS") {
                return Err(SqlError::new("where NULLs stand in the order cannot be said")
                    .at(expr.span())
                    .help("write ASC or DESC alone: NULL counts as larger than all numbers"));
            }
            order.push(Order { expr, descending });
            if !self.sign(",") {
                return Ok(order);
            }
        }
    }

    /// What follows ROWS.
    fn neighbours(&mut self) -> Result<Nearby, SqlError> {
        if !self.word("BETWEEN") {
            return Ok(Nearby { from: self.neighbour()?, to: Some(0) });
        }
        let from = self.neighbour()?;
        self.need_word("AND")?;
        Ok(Nearby { from, to: self.neighbour()? })
    }

    /// `6 PRECEDING`, `CURRENT ROW`, `UNBOUNDED FOLLOWING`.
    fn neighbour(&mut self) -> Result<Option<i64>, SqlError> {
        if self.word("CURRENT") {
            return self.need_word("ROW").map(|()| Some(0));
        }
        let n = match self.peek() {
            Some(Token::Number(text)) => {
                Some(text.parse::<u16>().map_err(|_| self.expected("a whole number"))?)
            }
            Some(word) if word.is_word("UNBOUNDED") => None,
            _ => return Err(self.expected("UNBOUNDED, CURRENT ROW or a number")),
        };
        self.at += 1;
        let before = self.word("PRECEDING");
        if !before {
            self.need_word("FOLLOWING")?;
        }
        Ok(n.map(|n| if before { -i64::from(n) } else { n.into() }))
    }
}

/// What a sign between two expressions means, and how tightly it binds.
fn operator(sign: &str) -> Option<(Operator, u8)> {
    use strength::{COMPARISON, CONCATENATION, PRODUCT, SUM};
    Some(match sign {
        "=" | "==" => (Operator::Eq, COMPARISON),
        "<>" | "!=" => (Operator::NotEq, COMPARISON),
        "<" => (Operator::Lt, COMPARISON),
        "<=" => (Operator::LtEq, COMPARISON),
        ">" => (Operator::Gt, COMPARISON),
        ">=" => (Operator::GtEq, COMPARISON),
        "||" => (Operator::Other("||"), CONCATENATION),
        "+" => (Operator::Plus, SUM),
        "-" => (Operator::Minus, SUM),
        "*" => (Operator::Multiply, PRODUCT),
        "/" => (Operator::Divide, PRODUCT),
        "%" => (Operator::Other("%"), PRODUCT),
        _ => return None,
    })
}

pub(super) fn too_deep() -> SqlError {
    SqlError::new("the query is nested too deeply").help("leave out brackets: AND binds tighter than OR")
}
