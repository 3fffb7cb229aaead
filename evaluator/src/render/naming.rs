//! How groups are named whose codes have labels.

/// By what a group of an answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// Its code.
    #[default]
    Codes,
    /// Its code, with the label in a column beside.
    Both,
    /// Its label; the code where there is none.
    Labels,
}
