//! SDMX-CSV 2.0 (<https://github.com/sdmx-twg/sdmx-csv>) with `labels=both`: identifiers that SDMX allows, each with the name that people know.

use super::FINISHED;
use super::tidy::{Axis, Tidy, field, number};
use std::collections::HashSet;

/// What an identifier may not have becomes an underscore; two that become the same get a number.
fn identifiers(names: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    names
        .iter()
        .map(|name| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@' | '$');
            let mut id: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
            // Nor may it be nothing, or begin as a formula does.
            if id.is_empty() || id.starts_with(['-', '@']) {
                id.insert(0, '_');
            }
            let stem = id.clone();
            let mut n = 2;
            while !taken.insert(id.to_ascii_uppercase()) {
                id = format!("{stem}_{n}");
                n += 1;
            }
            id
        })
        .collect()
}

/// `ID: name`.
fn both(id: &str, name: &str) -> String {
    field(&format!("{id}: {}", name.replace(['\r', '\n'], " ")))
}

/// What a table and its parts are called in SDMX.
pub(super) struct Identified {
    /// The dataflow, and the structure of its data.
    pub flow: String,
    /// For each axis its dimension.
    pub dimensions: Vec<String>,
    /// For each axis its codes.
    pub codes: Vec<Vec<String>>,
    /// The axis that says when something was; its codes are periods.
    pub time: Option<usize>,
}

/// Columns that are no dimensions, with what they hold: figures of the cell before them.
pub(super) const ATTRIBUTES: [(&str, &str); 10] = [
    ("STD_ERROR", "standard error"),
    ("MOE", "margin of error"),
    ("CONF_LEVEL", "level of the interval"),
    ("LOW", "lower end"),
    ("HIGH", "upper end"),
    ("OBS_STATUS", "status"),
    ("UNIT_MEASURE", "unit of measure"),
    ("CV", "coefficient of variation"),
    ("RELIABILITY", "class of reliability"),
    ("FINISHED_BIASED", FINISHED),
];

/// Those of the attributes that a table has.
pub(super) fn attributes(tidy: &Tidy) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (cuts, finished) = (tidy.cuts.is_some(), tidy.finished.is_some());
    let units = tidy.axes.iter().any(|a| a.of_units().next().is_some());
    ATTRIBUTES.into_iter().filter(move |(id, _)| match *id {
        "UNIT_MEASURE" => units,
        "CV" | "RELIABILITY" => cuts,
        "FINISHED_BIASED" => finished,
        _ => true,
    })
}

impl Identified {
    pub(super) fn new(tidy: &Tidy, flow: &str) -> Identified {
        let own = ["TIME_PERIOD", "OBS_VALUE", "STRUCTURE", "STRUCTURE_ID", "ACTION"];
        let own: Vec<String> =
            own.into_iter().chain(ATTRIBUTES.map(|(id, _)| id)).map(String::from).collect();
        // The identifier of a dimension is also the name of an element: it begins with a letter.
        let plain = |c: char| if matches!(c, '@' | '$') { '_' } else { c.to_ascii_uppercase() };
        let element = |name: &str| {
            let name: String = name.chars().map(plain).collect();
            if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("D_{name}") }
        };
        let names: Vec<String> =
            own.iter().cloned().chain(tidy.axes.iter().map(|a| element(&a.name))).collect();
        let times: Vec<usize> = (0..tidy.axes.len()).filter(|&at| tidy.axes[at].of_periods).collect();
        let time = if let [only] = times[..] { Some(only) } else { None };
        let mut dimensions = identifiers(&names).split_off(own.len());
        let mut codes: Vec<Vec<String>> = tidy.axes.iter().map(|a| identifiers(&a.labels)).collect();
        if let Some(at) = time {
            dimensions[at] = "TIME_PERIOD".into();
            codes[at] = tidy.axes[at].labels.clone();
        }
        Identified { flow: identifiers(&[flow.to_string()]).remove(0), dimensions, codes, time }
    }
}

/// A number as SDMX's Double, which is that of XML Schema: there infinity is called INF.
fn double(x: f64) -> String {
    number(x).replace("inf", "INF")
}

/// When the table is, where no axis says so.
fn period<'p>(ids: &Identified, period: &'p str) -> Option<&'p str> {
    Some(period).filter(|p| !p.is_empty() && ids.time.is_none())
}

/// The first line of the table as a message; `when` is its period.
pub(super) fn head(tidy: &Tidy, ids: &Identified, when: &str) -> String {
    let mut out = String::from("STRUCTURE,STRUCTURE_ID,ACTION");
    for (at, (id, axis)) in ids.dimensions.iter().zip(&tidy.axes).enumerate() {
        let name = if ids.time == Some(at) { "period" } else { &axis.name };
        out.push_str(&format!(",{}", both(id, name)));
    }
    if period(ids, when).is_some() {
        out.push_str(",TIME_PERIOD: period");
    }
    out.push_str(",OBS_VALUE: estimate");
    for (id, name) in attributes(tidy) {
        out.push_str(&format!(",{id}: {name}"));
    }
    out.push_str("\r\n");
    out
}

/// The cells of this part of the table.
pub(super) fn rows(tidy: &Tidy, ids: &Identified, when: &str) -> String {
    let mut out = String::new();
    for (i, (nodes, cell)) in tidy.nodes().enumerate() {
        out.push_str(&format!("dataflow,MARGINS:{}(1.0),I", ids.flow));
        for (at, ((axis, codes), &node)) in tidy.axes.iter().zip(&ids.codes).zip(&nodes).enumerate() {
            out.push(',');
            // A period has no other name.
            out.push_str(&match ids.time == Some(at) {
                true => field(&codes[node]),
                false => both(&codes[node], &axis.called[node]),
            });
        }
        if let Some(period) = period(ids, when) {
            out.push_str(&format!(",{}", field(period)));
        }
        let [estimate, std_error, moe, level, low, high] = tidy.numbers(cell).map(double);
        let word = tidy.status(i);
        // E: estimated; A: normal; Q: suppressed; M: cannot exist; what it is in words stands after it.
        let status = match word.as_str() {
            "" => "E: estimated".into(),
            "exact" => "A: exact".into(),
            "hidden" => "Q: hidden".into(),
            other if cell.is_null() => format!("M: {other}"),
            other => format!("E: estimated {other}"),
        };
        out.push_str(&format!(",{estimate},{std_error},{moe},{level},{low},{high},{status}"));
        if attributes(tidy).any(|(id, _)| id == "UNIT_MEASURE") {
            let unit = |(axis, &node): (&Axis, &usize)| axis.units.get(node).cloned().flatten();
            let unit = tidy.axes.iter().zip(&nodes).find_map(unit).unwrap_or_default();
            out.push_str(&format!(",{}", field(&unit)));
        }
        if let Some(cuts) = &tidy.cuts {
            out.push_str(&format!(",{},{}", double(cell.cv()), cuts.class(cell)));
        }
        if let Some(count) = tidy.finished.as_ref().and_then(|f| f.get(i)) {
            out.push_str(&count.map_or(",".into(), |n| format!(",{n}")));
        }
        out.push_str("\r\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_of_few_letters_and_all_different() {
        let names = ["a b", "a-b", "a_b", "", "é", "A_B", "-1", "@x"].map(String::from);
        assert_eq!(identifiers(&names), ["a_b", "a-b", "a_b_2", "_", "__2", "A_B_3", "_-1", "_@x"]);
    }
}
