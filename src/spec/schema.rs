//! The JSON Schema of spec files, for completion and checks in editors, and the tables of the manual: both are made from the
//! declarations of the keys.

use super::keys::{Keys, Shape};
use super::parse::ROOT;
use serde_json::{Map, Value, json};

/// The JSON Schema of spec files, as text.
pub(crate) fn schema() -> String {
    let mut whole = table(&ROOT);
    whole.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    whole.insert("title".into(), json!("Spec"));
    let exact = json!({
        "description": "A number greater than zero, kept exactly: 0.1 is one tenth, \"542/339\" is a ratio.",
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "string", "pattern": r"^\s*[0-9._eE+-]+\s*(/\s*[0-9._eE+-]+\s*)?$"},
        ],
    });
    whole.insert("$defs".into(), json!({"Exact": exact}));
    format!("{:#}\n", sorted(Value::Object(whole)))
}

fn table(of: &Keys) -> Map<String, Value> {
    let property = |k: &super::keys::Key| {
        let mut value = shape(&k.shape);
        if let Value::Object(rules) = &mut value {
            rules.insert("description".into(), json!(sentence(k.what)));
        }
        (k.name.to_owned(), value)
    };
    let properties: Map<String, Value> = of.keys.iter().map(property).collect();
    let required: Vec<&str> = of.keys.iter().filter(|k| k.required).map(|k| k.name).collect();
    let mut rules: Map<String, Value> = parsed(of.rules).as_object().cloned().unwrap_or_default();
    if !of.one_of.is_empty() {
        rules.insert("oneOf".into(), of.one_of.iter().map(|k| json!({"required": [k]})).collect());
    }
    rules.insert("type".into(), json!("object"));
    rules.insert("description".into(), json!(of.what));
    rules.insert("properties".into(), Value::Object(properties));
    rules.insert("additionalProperties".into(), json!(false));
    if !required.is_empty() {
        rules.insert("required".into(), json!(required));
    }
    rules
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Text => json!({"type": "string", "minLength": 1}),
        Shape::Short(most) => json!({"type": "string", "minLength": 1, "maxLength": most}),
        Shape::Matches(pattern) => json!({"type": "string", "pattern": pattern}),
        Shape::Truth => json!({"type": "boolean"}),
        Shape::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Exact => json!({"$ref": "#/$defs/Exact"}),
        Shape::Words(list) => {
            let one = |(word, what): (&str, &str)| json!({"const": word, "description": sentence(what)});
            json!({"type": "string", "oneOf": list().into_iter().map(one).collect::<Vec<_>>()})
        }
        Shape::List(item) => json!({"type": "array", "items": shape(item), "minItems": 1}),
        Shape::AnyList(item) => json!({"type": "array", "items": shape(item)}),
        Shape::Table(keys) => Value::Object(table(keys)),
        Shape::Tables(keys) => json!({"type": "array", "items": table(keys), "minItems": 1}),
        Shape::Map(of) => json!({"type": "object", "additionalProperties": shape(of)}),
        Shape::Either(shapes) => json!({"anyOf": shapes.iter().map(shape).collect::<Vec<_>>()}),
        Shape::Json(text) => parsed(text),
    }
}

/// Rules that stand in the source; a test reads them all.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Objects with their keys in order, whatever map this build of serde_json uses.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{
        amounts, asked, asks, data, dataset, dimension, expected, keys::Key, levels, parse, privacy,
        projection, queries, recipients, rows, shares, tables, zeros,
    };
    use super::*;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
    }

    /// Compares a text that is generated with the committed one; `UPDATE=1` writes it instead.
    pub(crate) fn check_text(name: &str, shipped: &str, generated: &str) {
        if std::env::var_os("UPDATE").is_some() && shipped != generated {
            std::fs::write(root().join(name), generated).unwrap();
            return;
        }
        assert!(shipped == generated, "{name} is out of date: run UPDATE=1 cargo test --lib schema");
    }

    fn whole() -> Value {
        serde_json::from_str(&schema()).unwrap()
    }

    #[test]
    fn committed_schema_is_current() {
        let shipped = std::fs::read_to_string(root().join("schemas/spec.schema.json")).unwrap();
        check_text("schemas/spec.schema.json", &shipped, &schema());
    }

    /// A row of the manual.
    fn row(key: &Key) -> String {
        let (name, mut what) =
            (if key.example.is_empty() { key.name } else { key.example }, key.what.to_owned());
        let words = match &key.shape {
            Shape::Words(list) => list(),
            Shape::Either([Shape::Words(list), Shape::List(_)]) => list(),
            _ => Vec::new(),
        };
        let word = |(word, what): &(&str, &str)| format!("`\"{word}\"`: {}", what.trim_end_matches('.'));
        if !words.is_empty() {
            what = format!("{what}. {}", words.iter().map(word).collect::<Vec<_>>().join("; "));
        }
        format!("| `{name}`{} | {what} |", if key.required { " (required)" } else { "" })
    }

    /// The tables of the manual, each between two marks.
    #[test]
    fn the_manual_has_the_keys_of_the_schema() {
        let shipped = std::fs::read_to_string(root().join("docs/spec.md")).unwrap();
        let mut text = shipped.clone();
        let all: &[(&str, &Keys)] = &[
            ("spec", &parse::ROOT),
            ("release", &parse::RELEASE),
            ("dataset", &dataset::KEYS),
            ("data", &data::KEYS),
            ("privacy", &privacy::KEYS),
            ("unit", &privacy::UNIT),
            ("recipients", &recipients::KEYS),
            ("recipient", &recipients::RECIPIENT),
            ("dimension", &dimension::KEYS),
            ("levels", &levels::KEYS),
            ("table", &tables::KEYS),
            ("query", &queries::KEYS),
            ("amount", &amounts::KEYS),
            ("weights", &amounts::WEIGHTS),
            ("zero", &zeros::KEYS),
            ("strategy", &parse::STRATEGY),
            ("shares", &shares::KEYS),
            ("rows", &rows::KEYS),
            ("expected", &expected::KEYS),
            ("projection", &projection::KEYS),
            ("asked", &asked::KEYS),
        ];
        for (name, keys) in all {
            let rows: Vec<String> = keys.keys.iter().map(row).collect();
            fill(&mut text, name, &format!("| key | meaning |\n|---|---|\n{}\n", rows.join("\n")));
        }
        let asked: Vec<String> =
            asks::WORDS.iter().map(|w| format!("| `\"{}\"` | {} |\n", w.0, w.2)).collect();
        let list = "| a list | just these intervals |";
        fill(
            &mut text,
            "ask",
            &format!("| word | along the dimension |\n|---|---|\n{}{list}\n", asked.concat()),
        );
        check_text("docs/spec.md", &shipped, &text);
    }

    fn fill(text: &mut String, name: &str, table: &str) {
        let (open, close) = (format!("<!-- keys of {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = text.find(&open).unwrap_or_else(|| panic!("docs/spec.md has no `{open}`")) + open.len();
        let to = text.find(&close).unwrap_or_else(|| panic!("docs/spec.md has no `{close}`"));
        text.replace_range(from..to, table);
    }

    /// The part of JSON Schema that [`schema`] uses; a word it does not know is a failure, so nothing
    /// is skipped in silence. Patterns are not checked.
    fn valid(schema: &Value, value: &Value, root: &Value) -> bool {
        let Value::Object(rules) = schema else { panic!("{schema}") };
        let size = || value.as_str().map(|s| s.chars().count()).or(value.as_array().map(Vec::len));
        let all = |options: &Value| options.as_array().unwrap().clone();
        rules.iter().all(|(rule, is)| match rule.as_str() {
            "$schema" | "title" | "description" | "$defs" | "pattern" => true,
            "$ref" => {
                let name = is.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                valid(&root["$defs"][name], value, root)
            }
            "type" if is.is_array() => all(is).iter().any(|t| valid(&json!({"type": t}), value, root)),
            "type" => match is.as_str().unwrap() {
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "integer" => value.is_i64() || value.is_u64(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                other => panic!("{other}"),
            },
            "const" => value == is,
            "required" => all(is).iter().all(|k| value.get(k.as_str().unwrap()).is_some()),
            "properties" => is.as_object().unwrap().iter().all(|(key, of)| match value.get(key) {
                Some(v) => valid(of, v, root),
                None => true,
            }),
            "additionalProperties" => value.as_object().is_none_or(|object| {
                let known = |key: &String| schema["properties"].get(key).is_some();
                object.iter().filter(|(k, _)| !known(k)).all(|(_, v)| match is {
                    Value::Bool(any) => *any,
                    of => valid(of, v, root),
                })
            }),
            "items" => value.as_array().is_none_or(|a| a.iter().all(|v| valid(is, v, root))),
            "minItems" | "minLength" => size().is_none_or(|n| n as u64 >= is.as_u64().unwrap()),
            "maxItems" | "maxLength" => size().is_none_or(|n| n as u64 <= is.as_u64().unwrap()),
            "minimum" => value.as_f64().is_none_or(|v| v >= is.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|v| v <= is.as_f64().unwrap()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|v| v > is.as_f64().unwrap()),
            "oneOf" => all(is).iter().filter(|s| valid(s, value, root)).count() == 1,
            "anyOf" => all(is).iter().any(|s| valid(s, value, root)),
            "not" => !valid(is, value, root),
            "dependentRequired" => is.as_object().unwrap().iter().all(|(key, needs)| {
                value.get(key).is_none()
                    || all(needs).iter().all(|k| value.get(k.as_str().unwrap()).is_some())
            }),
            "dependentSchemas" => is
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, of)| value.get(key).is_none() || valid(of, value, root)),
            other => panic!("the checker does not know `{other}`"),
        })
    }

    fn check(path: &Path) -> Option<bool> {
        let value: Value = toml::from_str(&std::fs::read_to_string(path).unwrap()).ok()?;
        Some(valid(&whole(), &value, &whole()))
    }

    #[test]
    fn sound_specs_are_valid() {
        let mut paths = vec![root().join("specs/town.toml")];
        paths.extend(
            std::fs::read_dir(root().join("../shared/specs"))
                .into_iter()
                .flatten()
                .map(|e| e.unwrap().path()),
        );
        for path in paths {
            assert_eq!(check(&path), Some(true), "{}", path.display());
        }
    }

    /// Mistakes of shape are seen by the schema too (those of meaning only by the reader).
    #[test]
    fn broken_specs_are_not() {
        for name in [
            "unknown-root-key",
            "dataset-no-id",
            "dataset-mistakes",
            "data-no-path",
            "data-format-unknown",
            "data-delimiter",
            "privacy-no-unit",
            "privacy-unit-unknown",
            "privacy-unit-incomplete",
            "privacy-max-rows-zero",
            "privacy-no-budget",
            "privacy-two-budgets",
            "privacy-delta-alone",
            "privacy-delta-with-rho",
            "privacy-rho-zero",
            "privacy-neighbours",
            "dimension-no-name",
            "dimension-no-domain",
            "dimension-two-domains",
            "dimension-unknown-key",
            "dimension-empty",
            "dimension-label-number",
            "dimension-codes",
            "dimension-too-many",
            "dimension-range-shape",
            "dimension-range-number",
            "dimension-bins-few",
            "dimension-dates-shape",
            "data-encoding",
            "level-no-grouping",
            "level-two-groupings",
            "level-width-zero",
            "level-map-type",
            "missing-not-text",
            "table-no-shape",
            "table-two-shapes",
            "table-every-zero",
            "table-among-of",
            "table-weight",
            "table-exact-no-reason",
            "table-exact-every",
            "table-reason-alone",
            "table-level-alone",
            "ask-shape",
            "query-keys",
            "strategy-objective",
            "strategy-unknown",
            "strategy-key",
            "strategy-rows-key",
            "single-brackets",
            "ten-mistakes",
        ] {
            let path = root().join(format!("tests/spec/{name}.toml"));
            assert_eq!(check(&path), Some(false), "{name}");
        }
    }
}
