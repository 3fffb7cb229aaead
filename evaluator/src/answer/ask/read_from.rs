//! From which columns of the data, and how, releases read what they name: one name that is read in two ways is two truths.

use std::collections::BTreeMap;

/// What is read from a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Whose row it is, where units have rows.
    Unit,
    /// What it weighs.
    Weight,
    /// Its value of a dimension or an amount, which has this name in small letters.
    Named(String),
}

/// By what is read, key by key of a spec, what decides which value a row has. Nothing is known of keys that are missing.
pub type ReadFrom = BTreeMap<What, BTreeMap<&'static str, String>>;

/// Which of these two releases or specs, called so, read otherwise; the first that is found, in words.
pub fn read_otherwise<'a>(
    mut what: impl Iterator<Item = &'a What>,
    (one, own): (&str, &ReadFrom),
    (other, theirs): (&str, &ReadFrom),
) -> Option<String> {
    what.find_map(|what| {
        let (own, theirs) = (own.get(what)?, theirs.get(what)?);
        let mut known = own.iter().filter_map(|(key, x)| Some((*key, x, theirs.get(key)?)));
        let (key, x, y) = known.find(|(_, x, y)| x != y)?;
        let called = match what {
            What::Unit => "whose a row is",
            What::Weight => "the weights",
            What::Named(name) => name,
        };
        Some(match key {
            "column" => format!("{called} is read from the column {x} in {one} and from {y} in {other}"),
            key => format!("{called} is read with {key} = {x} in {one} and with {key} = {y} in {other}"),
        })
    })
}
