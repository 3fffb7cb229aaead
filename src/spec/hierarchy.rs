//! A hierarchy file: one row for each finest category, finest column first.

use super::Files;
use super::diagnostic::{Diagnostic, Sink};
use super::levels::Partition;
use super::read::strange;
use std::collections::HashMap;
use std::ops::Range;

/// Opens a file of categories that is not broken: its text, and its number for mistakes in it.
pub(super) fn open(
    path: &str,
    said_at: &Range<usize>,
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<(String, usize)> {
    let bytes = match files.read(path) {
        Ok(bytes) => bytes,
        Err(e) => {
            let wrong = Diagnostic::at(said_at.clone(), format!("cannot read `{path}`"));
            sink.push(wrong.label(e.to_string()));
            return None;
        }
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let valid = e.as_bytes().iter().take(e.utf8_error().valid_up_to());
            let line = valid.filter(|&&b| b == b'\n').count() + 1;
            sink.push(
                Diagnostic::at(said_at.clone(), format!("`{path}` is not UTF-8 text"))
                    .label(format!("line {line}"))
                    .help(Some("save it as UTF-8".into())),
            );
            return None;
        }
    };
    sink.has_read(text.len());
    let file = sink.add_source(path.to_owned(), text.clone());
    if let Some(at) = crate::quotes::never_closed(&text) {
        let wrong = Diagnostic::at(at..at + 1, "a quotation mark that is never closed");
        sink.push(Diagnostic { file, ..wrong }.label("all that follows would be one label"));
        return None;
    }
    Some((text, file))
}

/// Reads `tract,district,region`: the finest labels, the coarser partitions from coarse to fine, and
/// the finest column's name. Mistakes point into the file itself.
pub(super) fn read(
    path: &str,
    said_at: Range<usize>,
    files: &mut Files<'_>,
    sink: &mut Sink,
) -> Option<(Vec<String>, Vec<Partition>, String)> {
    let (text, file) = open(path, &said_at, files, sink)?;
    let before = sink.count();
    let place =
        |span: &Range<usize>, message: String| Diagnostic { file, ..Diagnostic::at(span.clone(), message) };

    let mut lines = rows(&text);
    let Some(header) = lines.next() else {
        sink.push(
            Diagnostic::at(said_at, format!("`{path}` is empty"))
                .label("expected a header such as tract,district"),
        );
        return None;
    };
    let names = match header {
        Ok((_, fields)) => fields,
        Err((span, message)) => {
            sink.push(place(&span, message));
            return None;
        }
    };
    // A single column whose name holds what often separates columns is hardly one: all labels would be whole rows.
    if let [(name, span)] = &names[..]
        && let Some((by, called)) =
            [(';', "`;`"), ('\t', "tabs"), ('|', "`|`")].into_iter().find(|(by, _)| name.contains(*by))
    {
        let wrong = place(span, format!("`{path}` seems to be separated by {called}"));
        let all = name.replace(by, ",");
        sink.push(wrong.label(format!("expected commas: {all}")));
        return None;
    }
    check_header(&names, &place, sink);

    let mut tree = Tree::new(names.len());
    for line in lines {
        // A number for each column, and a label for the finest.
        sink.takes(&said_at, names.len(), 1)?;
        let wrong = match line {
            Ok((span, fields)) => tree.take(span, fields, &place),
            Err((span, message)) => Some(place(&span, message)),
        };
        if let Some(wrong) = wrong {
            sink.push(wrong);
        }
        tree.strays.drain(..).for_each(|stray| sink.push(stray));
    }
    let Tree { labels, coarser, .. } = tree;
    if labels.is_empty() && sink.count() == before {
        sink.push(
            Diagnostic::at(said_at, format!("`{path}` has a header and no rows"))
                .label("expected categories"),
        );
    }
    if sink.count() > before {
        return None;
    }
    let mut names = names.into_iter().map(|(name, _)| name);
    let finest = names.next()?;
    let partitions = names
        .zip(coarser)
        .map(|(name, Coarser { labels, of, .. })| Partition { name, span: None, labels, of, from_file: true })
        .rev()
        .collect();
    files.keep(path, text.into_bytes());
    Some((labels, partitions, finest))
}

/// The rows read so far.
struct Tree {
    /// How many columns there are.
    width: usize,
    labels: Vec<String>,
    seen: HashMap<String, Range<usize>>,
    coarser: Vec<Coarser>,
    /// (column, node) -> its parent in the next column and the field that said so.
    parents: HashMap<(usize, u32), (u32, Range<usize>)>,
    /// Categories that lie in two others: told beside the row that is taken all the same.
    strays: Vec<Diagnostic>,
}

impl Tree {
    fn new(width: usize) -> Tree {
        let mut coarser = Vec::new();
        coarser.resize_with(width.saturating_sub(1), Coarser::default);
        let (seen, parents) = (HashMap::new(), HashMap::new());
        Tree { width, labels: Vec::new(), seen, coarser, parents, strays: Vec::new() }
    }

    /// Takes a row, or says why it is none.
    fn take(
        &mut self,
        span: Range<usize>,
        fields: Vec<CsvField>,
        place: &impl Fn(&Range<usize>, String) -> Diagnostic,
    ) -> Option<Diagnostic> {
        if fields.len() != self.width {
            let wrong = place(&span, format!("this row has {} values", fields.len()));
            return Some(wrong.label(format!("expected {}, as in the header", self.width)));
        }
        if let Some((_, span)) = fields.iter().find(|(label, _)| label.is_empty()) {
            return Some(place(span, "a category has no name".into()).label("expected a label"));
        }
        let wrong = fields.iter().find_map(|(label, span)| Some((span, strange(label, "a category")?)));
        if let Some((span, (message, label))) = wrong {
            return Some(place(span, message).label(label));
        }
        let mut fields = fields.into_iter();
        let (label, span) = fields.next()?;
        if let Some(first) = self.seen.get(&label) {
            let twice = place(&span, format!("`{label}` is there twice")).label("the second time");
            return Some(twice.related(first.clone(), "the first time"));
        }
        self.seen.insert(label.clone(), span);
        self.labels.push(label);
        let mut below: Option<(usize, u32, String)> = None;
        for (at, ((label, span), column)) in fields.zip(&mut self.coarser).enumerate() {
            let node = column.see(&label);
            if let Some((below_at, child, child_label)) = below {
                let (parent, first) = self.parents.entry((below_at, child)).or_insert((node, span.clone()));
                if *parent != node {
                    let was = column.labels.get(*parent as usize).map_or("", |l| l.as_str());
                    self.strays.push(
                        place(&span, format!("`{child_label}` lies in both `{was}` and `{label}`"))
                            .label("here it lies in another")
                            .related(first.clone(), "first said here"),
                    );
                }
            }
            below = Some((at, node, label));
        }
        None
    }
}

/// One coarser column.
#[derive(Default)]
struct Coarser {
    labels: Vec<String>,
    index: HashMap<String, u32>,
    /// The node of every row.
    of: Vec<u32>,
}

impl Coarser {
    /// Takes the next row's label and returns its node.
    fn see(&mut self, label: &str) -> u32 {
        let node = *self.index.entry(label.to_owned()).or_insert_with(|| {
            self.labels.push(label.to_owned());
            (self.labels.len() - 1) as u32
        });
        self.of.push(node);
        node
    }
}

/// Every column has a name of its own.
fn check_header(names: &[CsvField], place: &impl Fn(&Range<usize>, String) -> Diagnostic, sink: &mut Sink) {
    let mut seen: HashMap<&str, Range<usize>> = HashMap::new();
    for (name, span) in names {
        if name.is_empty() {
            sink.push(place(span, "a level has no name".into()).label("expected a name"));
        } else if let Some((message, label)) = strange(name, "the level's name") {
            sink.push(place(span, message).label(label));
        } else if let Some(first) = seen.insert(name, span.clone()) {
            sink.push(
                place(span, format!("the level `{name}` is there twice"))
                    .label("the second time")
                    .related(first, "the first time"),
            );
        }
    }
}

pub(super) type CsvField = (String, Range<usize>);
pub(super) type CsvRow = Result<(Range<usize>, Vec<CsvField>), (Range<usize>, String)>;

/// The rows of a CSV text with the bytes of every field. Blank lines are skipped.
pub(super) fn rows(text: &str) -> impl Iterator<Item = CsvRow> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    std::iter::from_fn(move || match reader.read_record(&mut record) {
        Ok(false) => None,
        Ok(true) => {
            let from = record.position().map_or(0, |p| p.byte() as usize).max(start);
            Some(Ok(place_fields(text, from, &record)))
        }
        Err(e) => {
            let from = e.position().map_or(0, |p| p.byte() as usize);
            Some(Err((from..from + 1, e.to_string())))
        }
    })
}

/// Finds where each field of a record stands: the reader tells only where the record begins.
fn place_fields(text: &str, from: usize, record: &csv::StringRecord) -> (Range<usize>, Vec<CsvField>) {
    let tail = text.get(from..).unwrap_or("");
    let from = from + tail.len() - tail.trim_start_matches(['\r', '\n']).len();
    let mut at = from;
    let mut fields = Vec::with_capacity(record.len());
    for field in record {
        let quoted = text.get(at..).is_some_and(|t| t.starts_with('"'));
        // A quote inside quotes is written twice.
        let length = if quoted { field.len() + field.matches('"').count() + 2 } else { field.len() };
        fields.push((field.trim().to_owned(), at..at + length));
        at += length + 1;
    }
    (from..at.saturating_sub(1).max(from), fields)
}
