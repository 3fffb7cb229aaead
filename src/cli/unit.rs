//! How it is said who is protected, and what a bound on their rows leaves out.

use super::output::grouped;
use crate::plan::{Neighbours, Noise};
use crate::spec::Unit;

/// What a bound on the rows of a unit does, and what another would: nothing where every row is its own unit.
pub(crate) fn left_out(unit: &Unit, noise: Noise) -> String {
    let Unit::Column { column, max_rows, order, .. } = unit else { return String::new() };
    let rows = u64::from(*max_rows);
    let (power, times) = if noise.squares() { ("max_rows²", rows * rows) } else { ("max_rows", rows) };
    let first = if rows == 1 { "the first row".into() } else { format!("the first {} rows", grouped(rows)) };
    let by = if order.is_empty() { String::new() } else { format!(" by {}", order.join(", ")) };
    let here = if times == 1 { "once".into() } else { format!("{} times", grouped(times)) };
    let text = format!(
        "out all but {first} of each {column}{by}; no interval covers what is left out. A larger max_rows leaves out less, and \
         costs more: {power} times one row's (here {here}), so errors grow as max_rows does"
    );
    format!("leaves    {}\n", crate::audit::wrap(&text, 70, 10))
}

/// Who is protected: a unit, and what may become of it.
pub(crate) fn protects(unit: &Unit, neighbours: Neighbours) -> (String, &'static str) {
    let unit = match unit {
        Unit::Row => "one row".into(),
        Unit::Column { column, max_rows, .. } => format!("one {column}, at most {max_rows} rows of it"),
    };
    let neighbours = match neighbours {
        Neighbours::AddRemove => "more or less",
        Neighbours::Substitute => "changed",
    };
    (unit, neighbours)
}
