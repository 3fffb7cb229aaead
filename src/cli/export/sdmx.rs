//! SDMX-CSV 2.0 (<https://github.com/sdmx-twg/sdmx-csv>) with `labels=both`: identifiers that SDMX allows, each with the name that people know.

use super::FINISHED;
use super::tidy::{Tidy, field, number};
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

/// The table as a message; `flow` names it and `period` is of when it is.
pub(crate) fn message(tidy: &Tidy, flow: &str, period: &str) -> String {
    const OWN: [&str; 10] = [
        "TIME_PERIOD",
        "OBS_VALUE",
        "STD_ERROR",
        "MOE",
        "CONF_LEVEL",
        "LOW",
        "HIGH",
        "OBS_STATUS",
        "STRUCTURE",
        "FINISHED_BIASED",
    ];
    let names: Vec<String> = OWN
        .iter()
        .map(|s| (*s).to_string())
        .chain(tidy.axes.iter().map(|a| a.name.to_ascii_uppercase()))
        .collect();
    let dimensions = identifiers(&names).split_off(OWN.len());
    let codes: Vec<Vec<String>> = tidy.axes.iter().map(|a| identifiers(&a.labels)).collect();
    let flow = identifiers(&[flow.to_string()]).remove(0);
    let mut out = String::from("STRUCTURE,STRUCTURE_ID,ACTION");
    for (id, axis) in dimensions.iter().zip(&tidy.axes) {
        out.push_str(&format!(",{}", both(id, &axis.name)));
    }
    out.push_str(
        ",TIME_PERIOD: period,OBS_VALUE: estimate,STD_ERROR: standard error,MOE: margin of error,\
         CONF_LEVEL: level of the interval,LOW: lower end,HIGH: upper end,OBS_STATUS: status",
    );
    if tidy.finished.is_some() {
        out.push_str(&format!(",FINISHED_BIASED: {FINISHED}"));
    }
    out.push_str("\r\n");
    for (i, (nodes, cell)) in tidy.nodes().enumerate() {
        out.push_str(&format!("dataflow,MARGINS:{flow}(1.0),I"));
        for ((axis, codes), &node) in tidy.axes.iter().zip(&codes).zip(&nodes) {
            out.push_str(&format!(",{}", both(&codes[node], &axis.labels[node])));
        }
        let [estimate, std_error, moe, level, low, high] = tidy.numbers(cell).map(number);
        let word = tidy.status(cell);
        // E: estimated; A: normal; what it is in words stands after it.
        let status = match word.as_str() {
            "" => "E: estimated".into(),
            "exact" => "A: exact".into(),
            other => format!("E: estimated {}", other.replace(',', ";")),
        };
        out.push_str(&format!(
            ",{},{estimate},{std_error},{moe},{level},{low},{high},{status}",
            field(period)
        ));
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
