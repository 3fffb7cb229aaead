//! `[[zero]]`: cells that are empty whatever the data, such as employed children.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, required};
use super::read::{self, Fields, Value};
use crate::cube::{Cube, Frame};
use crate::plan::Table;
use crate::recover::zeros::Zero;
use crate::sql::quote_names;

/// The keys of `[[zero]]`.
pub(super) const KEYS: Keys = Keys {
    what: "Cells that are empty whatever the data: rows in them stop the release, and every answer uses the fact.",
    keys: &[required(
        "where",
        Shape::Text,
        "a condition as after WHERE in a query: `age < 15 AND work <> 'none'`. Some table must tell these cells apart",
    )],
    one_of: &[],
    rules: "{}",
};

/// Reads all `[[zero]]` entries and checks each against the tables asked for.
pub(super) fn read(value: &Value<'_>, cube: &Cube, workload: &[Table], sink: &mut Sink) -> Option<Vec<Zero>> {
    let items = read::list(value, "`zero`", sink)?;
    let before = sink.count();
    let frame = Frame::new(cube, &Frame::levels_of(cube, workload.iter().map(|t| &t.cuboid)));
    let mut conditions: Vec<Zero> = Vec::new();
    for item in items.iter() {
        let Some(fields) = Fields::open(item, "`[[zero]]`", &KEYS, sink) else { continue };
        let example = "`where = \"age < 15 AND work <> 'none'\"`";
        let Some(value) = fields.require("where", example, sink) else { continue };
        let Some(text) = read::text(value, "`where`", sink) else { continue };
        // Names need no quotes, as when the release is asked.
        let names: Vec<&str> = cube.dimensions.iter().map(|d| d.name.as_str()).collect();
        let text = &*quote_names(text, &names);
        match Zero::new(cube, &frame, text) {
            Err(why) => {
                let first = why.lines().next().unwrap_or_default().to_owned();
                let d = Diagnostic::at(value.span(), format!("`where`: {first}")).label("in this condition");
                // The query around the condition is not the user's; what it was taken for is of use.
                match why.lines().skip(1).find_map(|l| l.trim().strip_prefix("= ")) {
                    Some(help) => sink.push(d.help(help.to_owned())),
                    None => sink.push(d),
                }
            }
            Ok(zero) if !workload.iter().any(|t| zero.cuboid.is_below(&t.cuboid)) => {
                let of = cube.describe(&zero.cuboid);
                sink.push(
                    Diagnostic::at(value.span(), format!("no table tells {of} apart"))
                        .label("these cells are in no table")
                        .help("ask for a table of these dimensions, or leave the condition out".to_owned()),
                );
            }
            Ok(zero) if conditions.iter().any(|c| c.condition == zero.condition) => {}
            Ok(zero) => conditions.push(zero),
        }
    }
    if sink.count() == before && Zero::leave_nothing(&conditions) {
        sink.push(
            Diagnostic::at(value.span(), "every cell satisfies one of the conditions: nothing would be left")
                .label("these conditions together"),
        );
    }
    (sink.count() == before).then_some(conditions)
}
