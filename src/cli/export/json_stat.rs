//! JSON-stat 2.0 (<https://json-stat.org/full/>): a dataset of the table's dimensions and one more, `figure`, along which
//! estimate, standard error, margin and interval stand.

use super::FINISHED;
use super::tidy::{Axis, FIGURES, RELIABILITY, Tidy};
use crate::cube::Concept;
use crate::release::Manifest;
use serde_json::{Map, Value, json};

/// The name of the further dimension: one that the table has not.
fn figure(tidy: &Tidy) -> String {
    let mut name = "figure".to_string();
    while tidy.axes.iter().any(|a| a.name == name) {
        name.push('_');
    }
    name
}

/// The table as a dataset.
pub(super) fn dataset(tidy: &Tidy, about: &Manifest, title: &str) -> Value {
    let metric = figure(tidy);
    // The level of the intervals is one number, and the status is JSON-stat's own.
    let shown: Vec<usize> = (0..FIGURES.len() - 1).filter(|&i| FIGURES[i] != "conf_level").collect();
    let mut dimension = Map::new();
    for axis in &tidy.axes {
        // Codes are places: labels may be any text, and two may differ in what a code cannot have.
        let index: Vec<String> = (0..axis.labels.len()).map(|i| i.to_string()).collect();
        let labels: Map<String, Value> =
            index.iter().cloned().zip(axis.called.iter().map(|l| l.clone().into())).collect();
        let mut own = json!({ "label": axis.name, "category": { "index": index, "label": labels } });
        let units = index.iter().zip(&axis.units);
        let units: Map<String, Value> =
            units.filter_map(|(at, unit)| Some((at.clone(), json!({ "label": unit.as_ref()? })))).collect();
        if !units.is_empty() {
            own["category"]["unit"] = units.into();
        }
        if let Some(text) = axis.legend.as_ref().and_then(|l| l.description.as_ref()) {
            own["note"] = json!([text]);
        }
        if axis.is_labelled() {
            // The codes of the release, in the same order: what queries name.
            own["extension"] = json!({ "codes": axis.labels });
        }
        dimension.insert(axis.name.clone(), own);
    }
    let mut names: Vec<&str> = shown.iter().map(|&i| FIGURES[i]).collect();
    names.extend(tidy.cuts.as_ref().map(|_| RELIABILITY[0]));
    names.extend(tidy.finished.as_ref().map(|_| FINISHED));
    dimension.insert(metric.clone(), json!({ "label": "figure", "category": { "index": names } }));
    let id: Vec<&str> = tidy.axes.iter().map(|a| a.name.as_str()).chain([metric.as_str()]).collect();
    let size: Vec<usize> = tidy.axes.iter().map(|a| a.labels.len()).chain([names.len()]).collect();
    let mut value: Vec<Value> = Vec::with_capacity(tidy.cells.len() * names.len());
    let mut status = Map::new();
    for (at, cell) in tidy.cells.iter().enumerate() {
        let word = tidy.status(at);
        let numbers = tidy.numbers(cell);
        for &i in &shown {
            if !word.is_empty() {
                status.insert(value.len().to_string(), word.clone().into());
            }
            value.push(serde_json::Number::from_f64(numbers[i]).map_or(Value::Null, Value::Number));
        }
        if let Some(cuts) = &tidy.cuts {
            // The class is no number: it is the status of this one.
            let class = if cell.is_null() { word.as_str() } else { cuts.class(cell) };
            status.insert(value.len().to_string(), class.into());
            value.push(serde_json::Number::from_f64(cell.cv()).map_or(Value::Null, Value::Number));
        }
        value.extend(
            tidy.finished.as_ref().and_then(|f| f.get(at)).map(|n| n.map_or(Value::Null, Value::from)),
        );
    }
    // What has units is a metric, too.
    let measured = tidy.axes.iter().filter(|a| a.of_units().next().is_some()).map(|a| a.name.as_str());
    let metrics: Vec<&str> = measured.chain([metric.as_str()]).collect();
    let mut out = json!({
        "version": "2.0",
        "class": "dataset",
        "label": title,
        "source": about.about.title,
        "updated": about.created,
        "id": id,
        "size": size,
        "role": { "metric": metrics },
        "dimension": dimension,
        "value": value,
    });
    let places = |a: &&Axis| a.legend.as_ref().is_some_and(|l| l.concept == Some(Concept::Geography));
    let of = |is: &dyn Fn(&&Axis) -> bool| -> Vec<&str> {
        tidy.axes.iter().filter(is).map(|a| a.name.as_str()).collect()
    };
    for (role, of) in [("geo", of(&places)), ("time", of(&|a| a.is_time))] {
        if !of.is_empty() {
            out["role"][role] = of.into();
        }
    }
    let mut notes =
        vec![about.privacy.note.clone(), format!("Intervals cover with probability {}.", tidy.level)];
    notes.extend(tidy.told());
    out["note"] = notes.into();
    if let (Value::Object(map), false) = (&mut out, status.is_empty()) {
        map.insert("status".into(), status.into());
    }
    out
}
