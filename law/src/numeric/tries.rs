//! How often tests try.

/// How often a test tries something: `all` times where the build is optimised, `some` times where it is a quick one. What the test asserts holds
/// for both.
pub const fn tries(some: usize, all: usize) -> usize {
    if cfg!(debug_assertions) { some } else { all }
}
