//! JSON, keys in the order of SELECT.

use super::{Caveat, ColumnKind, Key, ResultCell, ResultTable, Shown, Together};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value, json};

/// `{"rows":[{…},…],"level":0.95,"method":{…},"notes":[…],…}` with further top-level fields (those of the
/// answer's own names are left out). JSON has no infinity: an infinite bound is `null`.
pub fn json(result: &ResultTable, further: &Map<String, Value>) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Document { result, further })
}

struct Document<'a> {
    result: &'a ResultTable,
    further: &'a Map<String, Value>,
}

struct Rows<'a>(&'a ResultTable);

struct Row<'a>(&'a [Key<'a>], &'a [ResultCell]);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("rows", &Rows(self.result))?;
        map.serialize_entry("level", &self.result.level)?;
        if !self.result.methods.is_empty() {
            let methods: Map<String, Value> =
                self.result.methods.iter().map(|(c, m)| (c.clone(), m.as_str().into())).collect();
            map.serialize_entry("method", &methods)?;
        }
        if let Some(t) = &self.result.together {
            map.serialize_entry("joint", &joint(t))?;
        }
        if !self.result.caveats.is_empty() {
            let caveats: Vec<Value> = self.result.caveats.iter().map(Caveat::to_json).collect();
            map.serialize_entry("caveats", &caveats)?;
        }
        let told = self.result.told();
        if !told.is_empty() {
            map.serialize_entry("notes", &told)?;
        }
        const OWN: [&str; 6] = ["rows", "level", "method", "joint", "caveats", "notes"];
        for (key, value) in self.further.iter().filter(|(key, _)| !OWN.contains(&key.as_str())) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// How the intervals cover together: `critical` standard errors each, or the level of each alone.
fn joint(t: &Together) -> Value {
    match &t.max_z {
        Some(z) => json!({
            "method": "max-z", "intervals": t.intervals, "critical": z.critical,
            "draws": z.draws, "covered": z.covered, "confidence": 0.999
        }),
        None => json!({ "method": "bonferroni", "intervals": t.intervals, "each": t.each }),
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let keys = self.0.keys();
        let mut rows = to.serialize_seq(Some(self.0.rows.len()))?;
        for row in &self.0.rows {
            rows.serialize_element(&Row(&keys, row))?;
        }
        rows.end()
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for key in self.0 {
            match key.of(self.1) {
                Shown::Number(value) if value.is_finite() => map.serialize_entry(&key.name, &value)?,
                Shown::Number(_) | Shown::Nothing => map.serialize_entry(&key.name, &Value::Null)?,
                Shown::Text(label) => match label.parse::<i64>() {
                    Ok(number) if *key.kind == ColumnKind::Integer => {
                        map.serialize_entry(&key.name, &number)?
                    }
                    _ => map.serialize_entry(&key.name, label)?,
                },
            }
        }
        map.end()
    }
}
