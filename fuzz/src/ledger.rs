//! Ledgers whose lines somebody wrote who has the agency's key: what is signed and chained is not what is true.

use margins::ledger::Ledger;
use margins::release::{SigningKey, keys};
use serde_json::Value;
use std::io::Write;
use std::sync::LazyLock;

static KEY: LazyLock<SigningKey> = LazyLock::new(|| {
    let pair = keys::keygen(None).expect("a key");
    SigningKey::from_text(&pair.secret, None).expect("a key")
});

/// A line without its signature: what is signed, and what the next one names by its hash.
fn message(line: &Value) -> String {
    let mut line = line.clone();
    if let Some(line) = line.as_object_mut() {
        line.remove("signature");
    }
    line.to_string()
}

/// These lines, each chained to the one before, signed where they name a signer, read and added up.
pub fn ledger(text: &str) {
    let (mut head, mut charge, mut id) = ("0".repeat(64), Value::Null, String::new());
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for line in text.lines() {
        let chained = match serde_json::from_str::<Value>(line) {
            Ok(mut line) if line.is_object() => {
                line["previous"] = head.into();
                if line["kind"] == "sealed" {
                    line["charge"] = charge.clone();
                }
                if let (true, Some(opened)) = (id.is_empty(), line["id"].as_str()) {
                    id = opened.into();
                }
                if line["signer"].is_string() {
                    line["signer"] = KEY.public_key().into();
                    let signed =
                        KEY.sign(format!("{}\n", message(&line)).as_bytes(), &format!("margins ledger {id}"));
                    let words = signed.expect("a signature");
                    let words: Vec<&str> = words.lines().skip(1).step_by(2).collect();
                    line["signature"] = words.join(" ").into();
                }
                head = blake3::hash(message(&line).as_bytes()).to_hex().to_string();
                if line["kind"] == "charged" {
                    charge = head.clone().into();
                }
                line.to_string()
            }
            _ => {
                head = String::new();
                line.to_owned()
            }
        };
        if writeln!(file, "{chained}").is_err() {
            return;
        }
    }
    match Ledger::read(file.path()) {
        Ok(chain) => {
            let _ = (chain.spent(), chain.open(), chain.charges().count());
        }
        Err(error) => drop(error.to_string()),
    }
}
