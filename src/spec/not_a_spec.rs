//! Files that are offered as a spec and are none: said in one line, from their first bytes, however long they are.

use super::parse::ROOT;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// So many bytes are looked at.
const START: u64 = 4096;

/// The first bytes of a file.
pub(super) fn start(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(START).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a file is that is surely no spec, and what to do with it. Shows nothing of what is in it.
pub(super) fn recognise(start: &[u8], path: &Path) -> Option<(String, String)> {
    let file = path.display();
    let data = |what: &str| {
        let help = format!("`margins init {file}` drafts a spec for CSV and Parquet data");
        Some((format!("this looks like {what}, not like a spec"), help))
    };
    if start.starts_with(&crate::release::MAGIC) {
        let help = format!("`margins inspect {file}` shows what it holds");
        return Some(("this is a release, not a spec".into(), help));
    }
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return Some(("this is UTF-16 text, and a spec is UTF-8".into(), "save it as UTF-8".into()));
    }
    if start.starts_with(b"PAR1") {
        return data("Parquet data");
    }
    if start.starts_with(b"untrusted comment:") {
        return Some((
            "this is a key or a signature, not a spec".into(),
            "a key is given with `--key FILE`".into(),
        ));
    }
    let text = String::from_utf8_lossy(start);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let line = lines.next()?;
    if line.starts_with("%%MatrixMarket") {
        return data("a Matrix Market file");
    }
    // Every line of TOML that can come first is a key with its value or a header in brackets.
    let toml = line.contains('=') || line.starts_with('[');
    if toml && std::iter::once(line).chain(lines).any(is_of_a_spec) {
        return None;
    }
    // Rows of people may stand in it: the errors of a spec, which show its lines, are not for it.
    match line.contains([',', ';', '\t', '|']) {
        true => data("delimited data"),
        false => Some((
            "nothing at the beginning of this file is of a spec".into(),
            format!(
                "a spec begins with `name = \"...\"`; `margins init {file}` drafts one for CSV and Parquet data"
            ),
        )),
    }
}

/// Whether a line is a key or a header that a spec has at its top.
fn is_of_a_spec(line: &str) -> bool {
    let word = |text: &str| {
        let end =
            text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len());
        let known = ROOT.names().chain(MISTAKEN).any(|part| part == &text[..end]);
        known.then(|| text[end..].trim_start().chars().next())
    };
    match line.strip_prefix("[[").or_else(|| line.strip_prefix('[')) {
        Some(header) => word(header.trim_start()).is_some_and(|next| matches!(next, Some(']' | '.'))),
        None => word(line).is_some_and(|next| matches!(next, Some('=' | '.'))),
    }
}

/// What is often written in place of a key.
const MISTAKEN: [&str; 3] = ["dimensions", "tables", "license"];

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;
    use crate::numeric::tries::tries;

    #[test]
    fn wrong_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            load(&path).unwrap_err().to_string()
        };
        // Long enough that anything slower than one look at each byte would be noticed by whoever waits for this test.
        let long: String = std::iter::repeat_n("Smith,42,F,secret value\n", 800_000).collect();
        let text = of("people.csv", long.as_bytes());
        assert!(text.contains("looks like delimited data") && text.contains("margins init"), "{text}");
        assert!(!text.contains("Smith") && !text.contains("secret"), "{text}");
        assert!(of("people.txt", b"name;age\nA;1\n").contains("delimited data"));
        for text in [
            &b"name\nAlice Secret\nBob Secret\n"[..],
            b"Alice   Secret  42\nBob     Secret  43\n",
            b"{\"name\": \"Secret\"}\n{\"name\": \"Secret\"}\n",
            b"[{\"name\": \"Secret\"},\n{\"data\": 1}]\n",
            b"[Secret]\nage = 42\n",
            b"who = Secret\nage: 42\n",
            b"<name>Secret</name>\n",
            b"who;mail\nSecret;data.Secret@example.org\n",
            b"data.Secret@example.org;42\ncontact.Secret@example.org;42\n",
            b"Secret\nname = 42\n",
        ] {
            let text = of("people.dat", text);
            assert!(text.contains("not like a spec") || text.contains("is of a spec"), "{text}");
            assert!(!text.contains("Secret") && !text.contains("42"), "{text}");
        }
        assert!(of("a.parquet", b"PAR1\0\0").contains("drafts a spec for CSV and Parquet data"));
        assert!(of("r.margins", &crate::release::MAGIC).contains("this is a release"));
        assert!(of("k.key", b"untrusted comment: x\n").contains("a key"));
        assert!(of("m.mtx", b"%%MatrixMarket matrix coordinate integer general\n").contains("Matrix Market"));
        assert!(load(folder.path()).unwrap_err().to_string().contains("it is a folder"));
        let long: String = std::iter::repeat_n("name = 1\n", 1_000_000).collect();
        assert!(of("long.toml", long.as_bytes()).contains("longer than"));
    }

    /// A file full of mistakes of syntax: each byte is looked at a few times and not once for every mistake.
    #[test]
    fn many_mistakes_take_linear_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.toml");
        let text: String = std::iter::once("name = \"a\"\n".into())
            .chain((0..tries(10_000, 300_000)).map(|i| format!("a{i} =\n")))
            .collect();
        std::fs::write(&path, text).unwrap();
        let errors = load(&path).unwrap_err();
        assert!(errors.diagnostics().len() > 100 && errors.to_string().contains("more"));
        let text: String = std::iter::once("name = \"a\"\n".into())
            .chain((0..tries(5_000, 150_000)).map(|i| format!("key{i} = {i}\n")))
            .collect();
        std::fs::write(&path, text).unwrap();
        assert!(load(&path).unwrap_err().diagnostics().len() > 100);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        for path in ["/dev/zero", "/dev/null", "/dev/stdin"] {
            let text = load(Path::new(path)).unwrap_err().to_string();
            assert!(
                text.contains("a pipe or a device")
                    || text.contains("looks like")
                    || text.contains("cannot read"),
                "{text}"
            );
        }
    }
}
