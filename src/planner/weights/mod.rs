//! Weights of nodes for dimensions whose groups differ in size: what `residual` measures there.
//!
//! A tree of precisions is a basis (docs/methods, "Groups of unequal size"): each node has a precision, every way from total to a leaf spends
//! exactly one budget of them ([`paths`]), all trees of a plan are found together by descent ([`descent`]), rounded to whole factors ([`whole`]), and the
//! scales of components follow from the prices of the leaves that decide ([`prices`]). Over one tree kinds of components may have weights of their own ([`own`]). How close one tree is to the best of all is told by [`least`].

pub(super) mod descent;
pub(super) mod least;
pub(super) mod own;
pub(super) mod paths;
pub(super) mod prices;
pub(super) mod whole;
