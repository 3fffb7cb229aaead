//! What a spec says of a dimension for people: a description, a unit, what its codes stand for.

use super::diagnostic::{Diagnostic, Sink};
use super::read::{self, Fields, Value};
use super::words::CONCEPTS;
use super::{Files, hierarchy, suggest};
use crate::cube::{Dimension, Legend, LevelLabels};
use crate::release::legends::fault;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A label, the file in which it stands, and where its code stands there.
type Placed = (String, usize, Range<usize>);

/// Reads what is said of a dimension, and gives it that. `missing` is the category that holds empty cells alone.
pub(super) fn read(
    fields: &Fields<'_, '_>,
    dimension: &mut Dimension,
    missing: Option<String>,
    files: &mut Files<'_>,
    sink: &mut Sink,
) {
    let before = sink.count();
    let mut of = |key: &str| line(fields.get(key)?, &format!("`{key}`"), key == "description", sink);
    let (description, unit) = (of("description"), of("unit"));
    let concept = fields.get("concept").and_then(|v| read::choice(v, "concept", CONCEPTS, sink));
    let mut labels = Labels::new(dimension);
    if let Some(value) = fields.get("labels") {
        match value.get_ref().as_str() {
            Some(_) => labels.read_file(value, files, sink),
            None => labels.read_table(value, sink),
        };
    }
    let labels = labels.listed();
    let said = Legend { dimension: dimension.name.clone(), description, unit, concept, missing, labels };
    let silent = Legend { dimension: dimension.name.clone(), ..Legend::default() };
    if sink.count() > before || said == silent {
        return;
    }
    if let Err(why) = dimension.explain(said) {
        sink.push(Diagnostic::nowhere(why));
    }
}

/// A text of one line.
fn line(value: &Value<'_>, what: &str, is_description: bool, sink: &mut Sink) -> Option<String> {
    let text = read::text(value, what, sink)?;
    if let Some(why) = fault(text, is_description) {
        sink.push(Diagnostic::at(value.span(), format!("{what} is no line for people")).label(why));
        return None;
    }
    Some(text.to_owned())
}

/// The labels read so far.
struct Labels<'d> {
    dimension: &'d Dimension,
    /// By the index of the level, then by the node.
    of: BTreeMap<usize, BTreeMap<usize, Placed>>,
    /// For each level its nodes by their codes.
    nodes: Vec<HashMap<&'d str, usize>>,
    /// By level and label the code that has it.
    called: HashMap<(usize, String), String>,
}

impl<'d> Labels<'d> {
    fn new(dimension: &'d Dimension) -> Labels<'d> {
        let by_code =
            |level: &'d crate::cube::Categories| level.labels.iter().map(String::as_str).zip(0..).collect();
        let nodes = dimension.levels.iter().map(by_code).collect();
        Labels { dimension, of: BTreeMap::new(), nodes, called: HashMap::new() }
    }

    /// The level with this name; the finest one also by the dimension's.
    fn level(&self, name: &str) -> Option<usize> {
        let finest = (name == self.dimension.name).then(|| self.dimension.finest());
        finest.or_else(|| (1..self.dimension.levels.len()).find(|&l| self.dimension.levels[l].name == name))
    }

    fn take(&mut self, level: usize, code: &str, (label, file, span): Placed, sink: &mut Sink) {
        let place = |message: String| Diagnostic { file, ..Diagnostic::at(span.clone(), message) };
        let Some(&node) = self.nodes.get(level).and_then(|nodes| nodes.get(code)) else {
            let known = self.dimension.levels.get(level).map_or(&[][..], |l| &l.labels);
            let wrong = place(format!("`{code}` is no category of `{}`", self.dimension.name));
            // Of a long list a likely one takes long to find.
            let help = (known.len() <= 1000).then(|| suggest::help(code, known.iter().map(String::as_str)));
            sink.push(wrong.label("has a label").help(help));
            return;
        };
        if let Some((_, first_file, first)) = self.of.get(&level).and_then(|of| of.get(&node)) {
            let wrong = place(format!("`{code}` has two labels")).label("the second one");
            let same = *first_file == file;
            sink.push(if same { wrong.related(first.clone(), "the first one") } else { wrong });
            return;
        }
        // A label stands in the place of its code: readers could not tell two rows apart.
        let seen = label.split_whitespace().collect::<Vec<_>>().join(" ");
        let code_too = self.nodes.get(level).and_then(|nodes| nodes.get(seen.as_str()));
        if code_too.is_some_and(|other| *other != node) {
            sink.push(
                place(format!("the label of `{code}` is `{label}`, which is another code"))
                    .label("has a label"),
            );
            return;
        }
        if let Some(first) = self.called.insert((level, seen), code.to_owned()) {
            sink.push(
                place(format!("`{first}` and `{code}` have one label, `{label}`"))
                    .label("the second one")
                    .help(
                        "if they are one category, let the data or a level have one code for them".to_owned(),
                    ),
            );
            return;
        }
        self.of.entry(level).or_default().insert(node, (label, file, span));
    }

    /// `{ code = "label", level = { code = "label" } }`.
    fn read_table(&mut self, value: &Value<'_>, sink: &mut Sink) -> Option<()> {
        let Some(table) = value.get_ref().as_table() else {
            read::expected(value, "`labels`", "a table, or the name of a file", sink);
            return None;
        };
        let what = |code: &str| format!("the label of `{code}`");
        for (code, span, value) in read::entries(table) {
            let Some(inner) = value.get_ref().as_table() else {
                if let Some(label) = line(value, &what(code), false, sink) {
                    self.take(self.dimension.finest(), code, (label, 0, span), sink);
                }
                continue;
            };
            let Some(level) = self.level(code) else {
                let known = self.dimension.levels.iter().skip(1).map(|l| l.name.as_str());
                let wrong = Diagnostic::at(span, format!("`{}` has no level `{code}`", self.dimension.name));
                sink.push(wrong.label("has labels").help(suggest::help(code, known)));
                continue;
            };
            for (code, span, value) in read::entries(inner) {
                if let Some(label) = line(value, &what(code), false, sink) {
                    self.take(level, code, (label, 0, span), sink);
                }
            }
        }
        Some(())
    }

    /// A file with the columns `code` and `label`, and `level` where labels are of several.
    fn read_file(&mut self, value: &Value<'_>, files: &mut Files<'_>, sink: &mut Sink) -> Option<()> {
        let path = read::text(value, "`labels`", sink)?;
        let (text, file) = hierarchy::open(path, &value.span(), files, sink)?;
        let mut rows = hierarchy::rows(&text);
        let header = rows.next().and_then(Result::ok).map(|(_, fields)| fields).unwrap_or_default();
        let column = |name: &str| header.iter().position(|(field, _)| field.eq_ignore_ascii_case(name));
        let (Some(code_at), Some(label_at)) = (column("code"), column("label")) else {
            let wrong = Diagnostic::at(value.span(), format!("`{path}` lacks the column `code` or `label`"));
            sink.push(wrong.label("expected a header such as code,label"));
            return None;
        };
        let level_at = column("level");
        // The file is attached as it is: what else stands in it would be published.
        if header.len() > 2 + usize::from(level_at.is_some()) {
            let wrong = Diagnostic::at(
                value.span(),
                format!("`{path}` has other columns than `code`, `label` and `level`, each once"),
            );
            sink.push(wrong.label("the release has this file inside: leave them out"));
            return None;
        }
        for row in rows {
            let place = |span: &Range<usize>, message: String| Diagnostic {
                file,
                ..Diagnostic::at(span.clone(), message)
            };
            let (span, fields) = match row {
                Ok(row) => row,
                Err((span, message)) => {
                    sink.push(place(&span, message));
                    continue;
                }
            };
            if fields.len() != header.len() {
                let wrong = place(&span, format!("this row has {} values", fields.len()));
                sink.push(wrong.label(format!("expected {}, as in the header", header.len())));
                continue;
            }
            let field = |at: usize| fields.get(at).cloned().unwrap_or_default();
            let ((code, at), (label, label_span)) = (field(code_at), field(label_at));
            if let Some(why) = fault(&label, false) {
                let wrong = place(&label_span, format!("the label of `{code}` is no line for people"));
                sink.push(wrong.label(why));
                continue;
            }
            let named = level_at.map(field).filter(|(name, _)| !name.is_empty());
            let level = match &named {
                None => Some(self.dimension.finest()),
                Some((name, _)) => self.level(name),
            };
            match (level, named) {
                (Some(level), _) => self.take(level, &code, (label, file, at), sink),
                (None, Some((name, span))) => {
                    let known = self.dimension.levels.iter().skip(1).map(|l| l.name.as_str());
                    let wrong = place(&span, format!("`{}` has no level `{name}`", self.dimension.name));
                    sink.push(wrong.help(suggest::help(&name, known)));
                }
                (None, None) => {}
            }
        }
        files.keep(path, text.into_bytes());
        Some(())
    }

    /// As a manifest lists them.
    fn listed(self) -> Vec<LevelLabels> {
        let dimension = self.dimension;
        let of_level = |(level, of): (usize, BTreeMap<usize, Placed>)| {
            let level = dimension.levels.get(level)?;
            let pair = |(node, (label, ..)): (usize, Placed)| Some([level.labels.get(node)?.clone(), label]);
            Some(LevelLabels { level: level.name.clone(), of: of.into_iter().filter_map(pair).collect() })
        };
        self.of.into_iter().filter_map(of_level).collect()
    }
}
