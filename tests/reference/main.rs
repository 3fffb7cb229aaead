//! Slow dense oracles: every fast routine against matrices on small cubes.
mod algebra;
mod answers;
mod bases;
mod consistency;
mod dense;
mod digits;
mod freely;
mod matrix;
mod objectives;
mod one_category;
mod past;
mod plans;
mod shaped;
mod strategies;
mod unequal;
mod untrue;
mod workloads;
