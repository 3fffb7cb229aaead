//! What the page asks, and what it is told.

use crate::text::{Edit, NoToml, edited, form};
use margins::{Diagnostic, NoPreview, preview};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The files that were handed to the page. The page has no others.
#[derive(Default)]
pub struct Session {
    files: BTreeMap<String, Vec<u8>>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// What a form shows of a text.
    Read { text: String },
    /// The text after some edits, and what a form shows of it.
    Edit { text: String, edits: Vec<Edit> },
    /// The plan.
    Plan { text: String, name: String },
}

impl Session {
    /// Without files.
    pub const fn new() -> Session {
        Session { files: BTreeMap::new() }
    }

    /// Keeps a file under the name that specs have for it.
    pub fn keep(&mut self, name: String, bytes: Vec<u8>) {
        self.files.insert(name, bytes);
    }

    /// Answers a request in JSON with JSON.
    pub fn ask(&self, request: &[u8]) -> String {
        match serde_json::from_slice(request) {
            Ok(Request::Read { text }) => shown(&text, form(&text).map(|form| json!({ "form": form }))),
            Ok(Request::Edit { text, edits }) => {
                let after =
                    edited(&text, &edits).and_then(|text| Ok(json!({ "form": form(&text)?, "text": text })));
                shown(&text, after)
            }
            Ok(Request::Plan { text, name }) => self.plan(&text, &name),
            Err(e) => json!({ "error": e.to_string() }).to_string(),
        }
    }

    fn plan(&self, text: &str, name: &str) -> String {
        let wants = RefCell::new(BTreeSet::new());
        let read = |file: &str| {
            let own = self.files.get(file).cloned();
            own.ok_or_else(|| {
                wants.borrow_mut().insert(file.to_owned());
                io::Error::new(io::ErrorKind::NotFound, "this page has not been given the file")
            })
        };
        let reply = match preview(text, name, read) {
            // The very bytes that `margins plan --json` prints.
            Ok(plan) => return format!("{{\"plan\":{}}}", plan.trim_end()),
            Err(NoPreview::Spec(errors)) => {
                let mistakes: Vec<Value> = errors.diagnostics().iter().map(|d| mistake(text, d)).collect();
                json!({ "error": errors.to_string(), "mistakes": mistakes, "wants": wants.take() })
            }
            Err(e) => json!({ "error": e.to_string() }),
        };
        reply.to_string()
    }
}

fn shown(text: &str, reply: Result<Value, NoToml>) -> String {
    let reply = reply.unwrap_or_else(|e| {
        let place = place(text, e.from, e.to);
        json!({ "error": e.message, "mistakes": [{ "message": e.message, "place": place }] })
    });
    reply.to_string()
}

/// A mistake; its place where it is in the spec itself.
fn mistake(text: &str, of: &Diagnostic) -> Value {
    let span = of.span.as_ref().filter(|_| of.file == 0);
    json!({
        "message": of.message,
        "label": of.label,
        "help": of.help,
        "place": span.map(|span| place(text, span.start, span.end)),
    })
}

/// A place as the page's text has it: the line, and from which to which unit of UTF-16.
fn place(text: &str, from: usize, to: usize) -> Value {
    let before = |at: usize| text.get(..at).unwrap_or(text);
    let units = |at: usize| before(at).encode_utf16().count();
    json!({ "line": before(from).matches('\n').count() + 1, "from": units(from), "to": units(to) })
}
