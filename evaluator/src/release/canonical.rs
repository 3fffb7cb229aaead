//! The one way to write a manifest or a ledger line as JSON.
//!
//! Objects have their keys in ascending byte order, each once, each of `a-z 0-9 _`; there is no
//! whitespace; numbers are whole, without sign `+`, leading zeros, point or exponent, and at most 2^53 away from
//! zero; in strings only `"`, `\` and the control characters below 0x20 are escaped: as `\"`, `\\`,
//! `\b`, `\f`, `\n`, `\r`, `\t`, and the others as `\u00xx` in lower case. One value, then one newline.
//! (That is RFC 8785 restricted to whole numbers and plain keys, with a newline at the end.)
//!
//! The check reads bytes by itself instead of re-encoding what a JSON library understood: the rule must
//! not depend on the switches another crate sets in that library.

use serde::Serialize;
use serde_json::Value;

/// How deep values may nest.
const MAX_DEPTH: usize = 16;
/// The largest whole number every JSON reader holds exactly.
const MAX_INT: u64 = 1 << 53;

/// Why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CanonicalError(String);

/// The canonical bytes of a value, with the newline at the end.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let value = serde_json::to_value(value).map_err(|e| CanonicalError(e.to_string()))?;
    let mut out = Vec::new();
    write(&value, &mut out)?;
    out.push(b'\n');
    check(&out).map_err(|at| CanonicalError(format!("not canonical at byte {at}")))?;
    Ok(out)
}

fn write(value: &Value, out: &mut Vec<u8>) -> Result<(), CanonicalError> {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(item, out)?;
            }
            out.push(b']');
        }
        Value::Object(map) => {
            // Sorted here: the map keeps insertion order when a dependent asks the library for that.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(&Value::String(key.clone()), out)?;
                out.push(b':');
                write(item, out)?;
            }
            out.push(b'}');
        }
        scalar => serde_json::to_writer(out, scalar).map_err(|e| CanonicalError(e.to_string()))?,
    }
    Ok(())
}

/// Whether these bytes are one canonical value and a newline; otherwise the offset of the first byte that breaks the rule.
pub fn check(bytes: &[u8]) -> Result<(), usize> {
    let text = std::str::from_utf8(bytes).map_err(|e| e.valid_up_to())?;
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.value(0).and_then(|()| scan.expect(b'\n')).ok_or(scan.at)?;
    if scan.at == bytes.len() { Ok(()) } else { Err(scan.at) }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(b']', |scan| scan.value(depth + 1)),
            b'"' => self.string(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    /// `[a,b]` or `{a,b}`, with the opening byte not yet read.
    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.peek()? == close {
            return self.expect(close);
        }
        loop {
            item(self)?;
            if self.peek()? == close {
                return self.expect(close);
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let mut before: Option<(usize, usize)> = None;
        self.list(b'}', |scan| {
            scan.expect(b'"')?;
            let start = scan.at;
            while matches!(scan.peek()?, b'a'..=b'z' | b'0'..=b'9' | b'_') {
                scan.at += 1;
            }
            let key = scan.bytes.get(start..scan.at)?;
            if let Some((from, to)) = before
                && scan.bytes.get(from..to)? >= key
            {
                scan.at = start;
                return None;
            }
            before = Some((start, scan.at));
            scan.expect(b'"')?;
            scan.expect(b':')?;
            scan.value(depth + 1)
        })
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match self.peek()? {
                b'"' => return self.expect(b'"'),
                b'\\' => {
                    match self.bytes.get(self.at + 1)? {
                        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
                        b'u' => {
                            let hex = self.bytes.get(self.at + 2..self.at + 6)?;
                            let lower = hex.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
                            let hex = std::str::from_utf8(hex).ok()?;
                            let code = u32::from_str_radix(hex, 16).ok().filter(|_| lower)?;
                            // Those with a letter of their own must use it; those from 0x20 on stand for themselves.
                            if code >= 0x20 || matches!(code, 8 | 9 | 10 | 12 | 13) {
                                return None;
                            }
                            self.at += 6;
                        }
                        _ => return None,
                    };
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let negative = self.expect(b'-').is_some();
        let digits = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let text = std::str::from_utf8(self.bytes.get(digits..self.at)?).ok()?;
        let plain = !text.is_empty() && (text == "0" && !negative || !text.starts_with('0'));
        if !plain || text.parse::<u64>().ok().is_none_or(|n| n > MAX_INT) {
            self.at = start;
            return None;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn one_form() {
        let value = json!({"b": [1, -2, null, true], "a": {"z": "\u{1}\u{7f}\"\\/é\n", "y": {}}});
        let bytes = to_bytes(&value).unwrap();
        let want = "{\"a\":{\"y\":{},\"z\":\"\\u0001\u{7f}\\\"\\\\/é\\n\"},\"b\":[1,-2,null,true]}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), want);
        assert!(to_bytes(&json!({"a": 0.5})).is_err());
        assert!(to_bytes(&json!({"A": 1})).is_err());
        assert!(to_bytes(&json!((1u64 << 53) + 1)).is_err());
    }

    #[test]
    fn everything_else_is_refused() {
        let bad = [
            "",
            "{}",
            "{} \n",
            " {}\n",
            "{}\n\n",
            "{\"a\": 1}\n",
            "{\"b\":1,\"a\":1}\n",
            "{\"a\":1,\"a\":1}\n",
            "[1,]\n",
            "[01]\n",
            "[-0]\n",
            "[1.0]\n",
            "[1e3]\n",
            "[+1]\n",
            "\"\\/\"\n",
            "\"\\u000A\"\n",
            "\"\\u000a\"\n",
            "\"\\u0041\"\n",
            "\"\t\"\n",
            "[9007199254740993]\n",
            "{\"\\u0061\":1}\n",
            "{\"é\":1}\n",
            "[tru]\n",
            "[\n",
            "\"a\n",
        ];
        for text in bad {
            assert!(check(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(check(b"\"\xff\"\n").is_err());
        let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(check(deep.as_bytes()).is_err());
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-(1i64 << 53)..=1 << 53).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z0-9_]{0,4}", inner, 0..6)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The independent reader understands what was written, and the check accepts it.
        #[test]
        fn round_trip(value in json_value()) {
            let bytes = to_bytes(&value).unwrap();
            prop_assert_eq!(&serde_json::from_slice::<Value>(&bytes).unwrap(), &value);
        }

        /// Whatever the check accepts is the only canonical form of what it means.
        #[test]
        fn accepted_means_canonical(value in json_value(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = to_bytes(&value).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if check(&bytes).is_ok() {
                let read: Value = serde_json::from_slice(&bytes).unwrap();
                prop_assert_eq!(to_bytes(&read).unwrap(), bytes);
            }
        }

        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = check(&bytes);
        }
    }
}
