//! The JSON Schema of spec files: completion and checks in editors.
//!
//! The program carries the committed file; what generates it is in the tests, so that nobody else compiles it.

/// The JSON Schema of spec files.
pub const SCHEMA: &str = include_str!("../../schemas/spec.schema.json");

#[cfg(test)]
mod generate {
    use super::super::file::SpecFile;
    use schemars::Schema;
    use schemars::generate::SchemaSettings;
    use schemars::transform::{Transform, transform_subschemas};
    use serde_json::Value;

    /// The JSON Schema of spec files, generated from the types of [`super::super::file`].
    pub fn schema() -> String {
        let settings = SchemaSettings::draft2020_12().for_deserialize().with_transform(NoNull);
        let schema = settings.into_generator().into_root_schema_for::<SpecFile>();
        format!("{:#}\n", sorted(schema.as_value()))
    }

    /// Objects with their keys in order, whatever map this build of serde_json uses.
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut entries: Vec<_> = object.iter().map(|(k, v)| (k.clone(), sorted(v))).collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Value::Object(entries.into_iter().collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }

    /// TOML has no null: what is optional may be left out, and that is all.
    #[derive(Clone)]
    struct NoNull;

    impl Transform for NoNull {
        fn transform(&mut self, schema: &mut Schema) {
            if let Some(Value::Array(types)) = schema.get_mut("type") {
                types.retain(|t| t != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    schema.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(options)) = schema.get_mut("anyOf") {
                options.retain(|o| o.get("type").is_none_or(|t| t != "null"));
                if let [Value::Object(only)] = options.as_slice() {
                    let only = only.clone();
                    schema.remove("anyOf");
                    for (key, value) in only {
                        schema.insert(key, value);
                    }
                }
            }
            transform_subschemas(self, schema);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::{
        asked, asks, dataset, dimension, levels, parse, projection, queries, recipients, rows, shares,
        tables, words,
    };
    use super::generate::schema;
    use serde_json::Value;
    use serde_json::json;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
    }

    /// Compares a generated schema with the committed one; `UPDATE=1` writes it instead.
    pub(crate) fn check_schema(name: &str, shipped: &str, generated: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(name);
        if std::env::var_os("UPDATE").is_some() && shipped != generated {
            std::fs::write(&path, generated).unwrap();
            return;
        }
        assert!(shipped == generated, "schemas/{name} is out of date: run UPDATE=1 cargo test --lib schema");
    }

    fn parsed() -> Value {
        serde_json::from_str(&schema()).unwrap()
    }

    #[test]
    fn committed_schema_is_current() {
        check_schema("spec.schema.json", super::SCHEMA, &schema());
    }

    #[test]
    fn schema_and_parser_know_the_same_keys_and_words() {
        let schema = parsed();
        let keys = |at: &Value| -> BTreeSet<String> {
            at["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let list = |known: &[&str]| -> BTreeSet<String> { known.iter().map(|k| (*k).to_owned()).collect() };
        let defs = &schema["$defs"];
        assert_eq!(keys(&schema), list(parse::ROOT));
        for (name, known) in [
            ("Dataset", dataset::KEYS),
            ("Data", parse::DATA),
            ("Privacy", parse::PRIVACY),
            ("UnitColumn", parse::UNIT),
            ("Strategy", parse::STRATEGY),
            ("Share", shares::KEYS),
            ("Rows", rows::KEYS),
            ("Dimension", dimension::KEYS),
            ("Level", levels::KEYS),
            ("Table", tables::KEYS),
            ("Query", queries::KEYS),
            ("Projection", projection::KEYS),
            ("Questions", asked::KEYS),
            ("Recipients", recipients::KEYS),
            ("Recipient", recipients::RECIPIENT),
        ] {
            assert_eq!(keys(&defs[name]), list(known), "{name}");
            assert_eq!(defs[name]["additionalProperties"], json!(false), "{name}");
        }
        for (name, known) in [
            ("Dimension", dimension::DOMAINS),
            ("Level", levels::GROUPINGS),
            ("Table", tables::SHAPES),
            ("Projection", projection::SIZES),
            ("Recipient", recipients::AMOUNTS),
            ("Privacy", &["rho", "epsilon"]),
        ] {
            let one: BTreeSet<String> = defs[name]["oneOf"]
                .as_array()
                .unwrap()
                .iter()
                .map(|o| o["required"][0].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(one, list(known), "{name}");
        }
        let words = |name: &str| -> BTreeSet<String> {
            let options = defs[name]["oneOf"].as_array().unwrap();
            options.iter().map(|o| o["const"].as_str().unwrap().to_owned()).collect()
        };
        fn of<T>(known: &[(&str, T)]) -> BTreeSet<String> {
            known.iter().map(|(k, _)| (*k).to_owned()).collect()
        }
        assert_eq!(words("Measure"), of(words::MEASURES));
        assert_eq!(words("RecipientsMode"), of(recipients::MODES));
        assert_eq!(words("ProjectionKind"), of(projection::KINDS));
        assert_eq!(words("ProjectionNoise"), of(projection::NOISES));
        assert_eq!(words("Budgets"), of(words::BUDGETS));
        assert_eq!(words("AskedWord"), of(asks::WORDS));
        assert_eq!(words("Objective"), of(words::OBJECTIVES));
        assert_eq!(words("Neighbours"), of(words::NEIGHBOURS));
        assert_eq!(words("Format"), of(words::FORMATS));
        assert_eq!(words("Encoding"), of(words::ENCODINGS));
        assert_eq!(words("UnitWord"), of(words::UNITS));
    }

    /// The part of JSON Schema that [`schema`] uses; a word it does not know is a failure, so nothing
    /// is skipped in silence. Patterns are not checked.
    fn valid(schema: &Value, value: &Value, root: &Value) -> bool {
        let Value::Object(rules) = schema else { panic!("{schema}") };
        let size = || value.as_str().map(|s| s.chars().count()).or(value.as_array().map(Vec::len));
        let all = |options: &Value| options.as_array().unwrap().clone();
        rules.iter().all(|(rule, is)| match rule.as_str() {
            "$schema" | "title" | "description" | "format" | "$defs" | "pattern" | "default" => true,
            "$ref" => {
                let name = is.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                valid(&root["$defs"][name], value, root)
            }
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
        Some(valid(&parsed(), &value, &parsed()))
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
