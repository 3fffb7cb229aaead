//! Where two things that should be the same differ.

use serde::Serialize;
use serde_json::Value;

/// The longest text that is shown.
const SHOWN: usize = 200;

/// The first place where `said` is not `found`, in words. Texts come out of files: what a terminal would obey is escaped.
pub(super) fn first_difference<T: Serialize>(said: &T, found: &T, says: &str, gives: &str) -> String {
    let value = |v: &T| serde_json::to_value(v).unwrap_or_default();
    match walk("", &value(said), &value(found)) {
        Some((path, a, b)) => format!("{path}: {says} {a}, {gives} {b}"),
        None => format!("{says} something else than {gives}"),
    }
}

fn walk(path: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (a, b) {
        _ if a == b => None,
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            keys.into_iter().find_map(|k| {
                let (v, w) = (x.get(k).unwrap_or(&Value::Null), y.get(k).unwrap_or(&Value::Null));
                walk(&at(k), v, w)
            })
        }
        (Value::Array(x), Value::Array(y)) => {
            let both = x.iter().zip(y).enumerate();
            let first = both.filter_map(|(i, (v, w))| walk(&at(&i.to_string()), v, w)).next();
            first.or_else(|| Some((path.into(), items(x.len()), items(y.len()))))
        }
        _ => Some((path.into(), shown(a), shown(b))),
    }
}

fn items(n: usize) -> String {
    format!("{n} item{}", if n == 1 { "" } else { "s" })
}

fn shown(v: &Value) -> String {
    let text = match v {
        Value::Null => return "nothing".into(),
        Value::String(s) => format!("{s:?}"),
        other => other.to_string().escape_debug().to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A text of the signer's, in quotes; of a long one the beginning, with its length.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let say = |a: Value, b: Value| first_difference(&a, &b, "A", "B");
        assert_eq!(
            say(json!({"a": {"b": [1, "x"]}}), json!({"a": {"b": [1, "y"]}})),
            "a.b.1: A \"x\", B \"y\""
        );
        assert_eq!(say(json!({"a": [1]}), json!({"a": [1, 2]})), "a: A 1 item, B 2 items");
        assert_eq!(say(json!({"a": 1}), json!({})), "a: A 1, B nothing");
        assert_eq!(say(json!("\u{1b}[31m"), json!("é")), ": A \"\\u{1b}[31m\", B \"é\"");
        assert!(say(json!("é".repeat(300)), json!("")).len() < 500);
        assert_eq!(quoted("\u{1b}é"), "\"\\u{1b}é\"");
        assert_eq!(quoted(&"é".repeat(201)), format!("\"{}\"… (402 bytes)", "é".repeat(200)));
    }
}
