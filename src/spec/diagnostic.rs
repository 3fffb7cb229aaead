//! A mistake, the place it was made, and how both are shown to people.

use crate::plan::limits::MAX_MEASUREMENTS;
use crate::visible::visible;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::fmt;
use std::ops::Range;

/// One mistake in a spec or in a file it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file: an index into [`SpecErrors::sources`]; 0 is the spec itself.
    pub file: usize,
    /// The bytes the mistake covers; `None` when it is something that is absent from the whole file.
    pub span: Option<Range<usize>>,
    /// What is wrong, in one line.
    pub message: String,
    /// What was expected, shown at the caret.
    pub label: Option<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places of the same file that explain the mistake.
    pub related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    /// A mistake at a place in the spec.
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span: Some(span), ..Diagnostic::nowhere(message) }
    }

    /// A mistake of the whole file.
    pub(super) fn nowhere(message: impl Into<String>) -> Diagnostic {
        let message = message.into();
        Diagnostic { file: 0, span: None, message, label: None, help: None, related: Vec::new() }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = Some(label.into());
        self
    }

    pub(super) fn help(mut self, help: impl Into<Option<String>>) -> Diagnostic {
        self.help = help.into();
        self
    }

    pub(super) fn related(mut self, span: Range<usize>, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }
}

/// A plan holds as many tables as measurements. What asks for more is refused by counting it, before any table is made.
const MAX_TABLES: u64 = MAX_MEASUREMENTS as u64;

/// Where diagnostics are collected: reading goes on after a mistake, so that one run shows all.
#[derive(Debug)]
pub(super) struct Sink {
    sources: Vec<(String, String)>,
    diagnostics: Vec<Diagnostic>,
    /// How much may still be made of a few words, such as a range: see [`Sink::takes`].
    room: u64,
    /// How much more each byte of a file of categories makes that: nobody writes millions of lines by mistake.
    of_byte: u64,
    /// How many tables may be made: see [`Sink::tables`].
    tables: u64,
}

impl Sink {
    pub(super) fn new(name: String, source: String, room: u64, of_byte: u64) -> Sink {
        Sink { sources: vec![(name, source)], diagnostics: Vec::new(), room, of_byte, tables: MAX_TABLES }
    }

    /// The same for a spec that may make no more tables than this.
    pub(super) fn with_tables(self, tables: u64) -> Sink {
        Sink { tables: tables.min(self.tables), ..self }
    }

    /// The most tables that a spec may make of a few words, such as `every = 3`.
    pub(super) fn tables(&self) -> u64 {
        self.tables
    }

    /// A file of so many bytes was read.
    pub(super) fn has_read(&mut self, bytes: usize) {
        self.room = self.room.saturating_add(self.of_byte.saturating_mul(bytes as u64));
    }

    /// Takes room for `nodes` categories that group so many finest ones, before they are made. `None` when there is not enough: a mistake at
    /// this place.
    pub(super) fn takes(&mut self, at: &Range<usize>, finest: usize, nodes: usize) -> Option<()> {
        let left = self.room.checked_sub(room(finest, nodes));
        if left.is_none() {
            let why = "the dimensions and their levels have too many categories together";
            let help = format!(
                "planning takes about {NODE} bytes for each category of each level; declare fewer, or coarser ones"
            );
            let wrong = Diagnostic::at(at.clone(), why).label("no memory is left for these").help(help);
            if !self.diagnostics.iter().any(|d| d.message == why) {
                self.push(wrong);
            }
        }
        self.room = left?;
        Some(())
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds a file that diagnostics may point into, and returns its index.
    pub(super) fn add_source(&mut self, name: String, source: String) -> usize {
        self.sources.push((name, source));
        self.sources.len() - 1
    }

    pub(super) fn count(&self) -> usize {
        self.diagnostics.len()
    }

    /// `Err` with everything that was collected, in the order of the file.
    pub(super) fn finish<T>(mut self, value: Option<T>) -> Result<T, SpecErrors> {
        match value {
            Some(value) if self.diagnostics.is_empty() => Ok(value),
            _ => {
                self.diagnostics.sort_by_key(|d| (d.file, d.span.as_ref().map(|s| (s.start, s.end))));
                self.diagnostics.dedup();
                Err(SpecErrors { sources: self.sources, diagnostics: self.diagnostics })
            }
        }
    }
}

/// The bytes that planning takes for a category of a level: its label and bounds, the same in the tree of halves that wavelets are measured on,
/// and its place on the axes of both.
const NODE: u64 = 400;
/// And for the group of one finest category.
const GROUPED: u64 = 16;

/// The bytes that a level of so many nodes over so many finest categories takes until it is planned.
pub(super) fn room(finest: usize, nodes: usize) -> u64 {
    GROUPED * finest as u64 + NODE * nodes as u64
}

/// Every mistake of a spec, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecErrors {
    sources: Vec<(String, String)>,
    diagnostics: Vec<Diagnostic>,
}

/// More than this many at once help nobody.
const SHOWN: usize = 50;

impl SpecErrors {
    /// A single mistake of a whole file, such as one that cannot be read.
    pub(super) fn whole_file(name: String, message: String, help: Option<String>) -> SpecErrors {
        let diagnostics = vec![Diagnostic::nowhere(message).help(help)];
        SpecErrors { sources: vec![(name, String::new())], diagnostics }
    }

    /// Mistakes of a spec that was read.
    pub(super) fn in_spec(name: String, source: String, diagnostics: Vec<Diagnostic>) -> SpecErrors {
        SpecErrors { sources: vec![(name, source)], diagnostics }
    }

    /// The mistakes.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The mistakes as compilers show them, with ANSI colours or without.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let renderer = renderer.decor_style(DecorStyle::Ascii);
        let mut out = String::new();
        // Where the lines of a long file end, found once: the renderer looks at all the text that it is given.
        let ends: Vec<Vec<usize>> = self.sources.iter().map(|(_, source)| ends_of_lines(source)).collect();
        for diagnostic in self.diagnostics.iter().take(SHOWN) {
            let ends = ends.get(diagnostic.file).map_or(&[][..], |e| e);
            out.push_str(&renderer.render(&[self.group(diagnostic, ends)]));
            out.push_str("\n\n");
        }
        let n = self.diagnostics.len();
        if n > SHOWN {
            out.push_str(&format!("... and {} more\n\n", n - SHOWN));
        }
        let name = self.sources.first().map_or("the spec".into(), |(name, _)| visible(name));
        out.push_str(&format!("{name}: {n} mistake{}\n", if n == 1 { "" } else { "s" }));
        out
    }

    fn group<'a>(&'a self, d: &'a Diagnostic, ends: &[usize]) -> Group<'a> {
        let (name, source) = self.sources.get(d.file).map_or(("", ""), |(n, s)| (n.as_str(), s.as_str()));
        // Names and what a spec says are text from elsewhere; the excerpt is made safe by the renderer.
        let name = visible(name);
        let mut group = Group::with_title(Level::ERROR.primary_title(visible(&d.message)));
        group = match &d.span {
            Some(span) => {
                let shown = Excerpt::of(source, span, ends);
                let place = |span: &Range<usize>| {
                    clamp(
                        shown.text,
                        &(span.start.saturating_sub(shown.from)..span.end.saturating_sub(shown.from)),
                    )
                };
                let primary =
                    AnnotationKind::Primary.span(place(span)).label(d.label.as_deref().map(visible));
                let near =
                    |span: &Range<usize>| (shown.from..=shown.from + shown.text.len()).contains(&span.start);
                let related = d
                    .related
                    .iter()
                    .filter(|(span, _)| near(span))
                    .map(|(span, label)| AnnotationKind::Context.span(place(span)).label(visible(label)));
                let snippet = Snippet::source(shown.text).line_start(shown.line).path(name);
                group.element(snippet.annotation(primary).annotations(related))
            }
            None => group.element(Origin::path(name)),
        };
        match &d.help {
            Some(help) => group.element(Level::HELP.message(visible(help))),
            None => group,
        }
    }
}

/// Texts longer than this are shown in excerpts.
const LONG: usize = 1 << 16;

/// The ends of a long text's lines; none of a short one.
fn ends_of_lines(source: &str) -> Vec<usize> {
    let long = source.len() > LONG;
    let ends = source.bytes().enumerate().filter(|&(_, b)| long && b == b'\n');
    ends.map(|(at, _)| at).collect()
}

/// The lines of a text that a mistake is shown in.
struct Excerpt<'a> {
    text: &'a str,
    /// Where they begin.
    from: usize,
    /// The number of the first one.
    line: usize,
}

impl<'a> Excerpt<'a> {
    /// All of a short text; of a long one the lines around the span, as many as are not too long themselves.
    fn of(source: &'a str, span: &Range<usize>, ends: &[usize]) -> Excerpt<'a> {
        if source.len() <= LONG {
            return Excerpt { text: source, from: 0, line: 1 };
        }
        let first = ends.partition_point(|&end| end < span.start);
        let last = ends.partition_point(|&end| end < span.end);
        let start = first.checked_sub(1).and_then(|f| ends.get(f)).map_or(0, |end| end + 1);
        let end = ends.get(last).copied().unwrap_or(source.len());
        let whole = start..end.clamp(start, start + LONG);
        let whole = clamp(source, &whole);
        Excerpt { text: source.get(whole.clone()).unwrap_or(""), from: whole.start, line: first + 1 }
    }
}

/// The span moved onto character boundaries inside the text, as the renderer needs it.
fn clamp(source: &str, span: &Range<usize>) -> Range<usize> {
    let down = |mut at: usize| {
        at = at.min(source.len());
        while !source.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = down(span.start);
    start..down(span.end).max(start)
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for SpecErrors {}
