//! Lines of a ledger as somebody who has the key can chain and sign them. Written from `schemas/RELEASE-FORMAT.md` alone.

use margins::release::SigningKey;
use serde_json::Value;

/// A line as it is signed, without its newline.
fn message(line: &Value) -> String {
    let mut line = line.clone();
    line.as_object_mut().unwrap().remove("signature");
    line.to_string()
}

pub(crate) fn hash(line: &Value) -> String {
    blake3::hash(message(line).as_bytes()).to_hex().to_string()
}

/// The lines of this account with each chained to the one before and signed again; a line that closes a charge follows it.
pub(crate) fn chained(lines: &[Value], key: &SigningKey, id: &str) -> Vec<Value> {
    let (mut head, mut charge) = ("0".repeat(64), String::new());
    let again = |line: &Value| {
        let mut line = line.clone();
        line["previous"] = head.clone().into();
        if line["kind"] == "sealed" {
            line["charge"] = charge.clone().into();
        }
        if line["signer"].is_string() {
            let comment = format!("margins ledger {id}");
            let text = key.sign(format!("{}\n", message(&line)).as_bytes(), &comment).unwrap();
            let words: Vec<&str> = text.lines().skip(1).step_by(2).collect();
            line["signature"] = words.join(" ").into();
        }
        head = hash(&line);
        if line["kind"] == "charged" {
            charge.clone_from(&head);
        }
        line
    };
    lines.iter().map(again).collect()
}
