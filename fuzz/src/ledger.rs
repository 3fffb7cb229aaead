//! Ledgers whose lines somebody wrote who has the agency's key: what is signed and chained is not what is true.

use crate::chain::chained;
use margins::ledger::Ledger;
use margins::release::{SigningKey, keys};
use serde_json::Value;
use std::io::Write;
use std::sync::LazyLock;

static KEY: LazyLock<SigningKey> = LazyLock::new(|| {
    let pair = keys::keygen(None).expect("a key");
    SigningKey::from_text(&pair.secret, None).expect("a key")
});

/// These lines up to one that is no object, each chained to the one before, signed where they name a signer, then the rest as it is; read and added up.
pub fn ledger(text: &str) {
    let object = |line: &str| serde_json::from_str::<Value>(line).ok().filter(Value::is_object);
    let mut lines: Vec<Value> = text.lines().map_while(object).collect();
    let id = lines.iter().find_map(|line| line["id"].as_str()).unwrap_or_default().to_owned();
    for line in lines.iter_mut().filter(|line| line["signer"].is_string()) {
        line["signer"] = KEY.public_key().into();
    }
    let rest = text.lines().skip(lines.len()).map(str::to_owned);
    let all = chained(&lines, &KEY, &id).into_iter().map(|line| line.to_string()).chain(rest);
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    if all.map(|line| writeln!(file, "{line}")).any(|written| written.is_err()) {
        return;
    }
    match Ledger::read(file.path()) {
        Ok(chain) => {
            let _ = (chain.spent(), chain.open(), chain.charges().count());
        }
        Err(error) => drop(error.to_string()),
    }
}
