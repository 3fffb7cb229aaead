//! Slow dense oracles: every fast routine against matrices on small cubes.
mod algebra;
mod answers;
mod dense;
mod plans;
