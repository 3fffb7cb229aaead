//! Hashed random projections: releases for domains too large to list.

pub mod clmul;
pub mod field;
pub mod signs;
