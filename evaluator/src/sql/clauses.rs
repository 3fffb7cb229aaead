//! A SELECT as its clauses, before names are looked up.

use super::span::Span;
use super::tree::{Expr, Ident, Item, Order};

/// The clauses of a SELECT that mean something here.
#[derive(Clone)]
pub(crate) struct Clauses {
    pub table: Vec<Ident>,
    pub alias: Option<Ident>,
    pub items: Vec<Item>,
    pub condition: Option<Expr>,
    pub groups: Vec<Expr>,
    /// For each set of rows which of the groups it has.
    pub sets: Vec<Vec<usize>>,
    pub having: Option<Expr>,
    pub order: Vec<Order>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    /// Where DISTINCT stands.
    pub distinct: Option<Span>,
    /// Where SELECT stands, for errors about the query as a whole.
    pub select: Span,
    /// The SELECT that stands in brackets after FROM, or in WITH.
    pub inner: Option<Box<Clauses>>,
}
