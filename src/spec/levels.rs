//! Coarser levels: partitions of the finest categories, each refined by the next.

use super::diagnostic::{Diagnostic, Sink};
use super::keys::{Keys, Shape, required, shown};
use super::read::{self, Fields, Value};
use super::{Coding, suggest};
use crate::cube::{Bounds, Categories, Dimension};
use std::collections::HashMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The keys of one entry of `levels`.
pub(super) const KEYS: Keys = Keys {
    what: "A coarser level, made of whole categories of the next finer one.",
    keys: &[
        required("name", Shape::Text, "the level's name: `band` in `age.band`"),
        shown(
            "width",
            "width = 5",
            Shape::Whole(1, u32::MAX as i64),
            "numbers: bands of this width, counted from the first",
        ),
        shown(
            "cuts",
            "cuts = [20, 65]",
            Shape::List(&Shape::Json(r#"{"type": "number"}"#)),
            "numbers: where new groups begin; these two make three groups",
        ),
        shown(
            "map",
            "map = { basic = [\"none\", \"primary\"] }",
            Shape::Map(&Shape::Either(&[
                Shape::Text,
                Shape::AnyList(&Shape::Json(r#"{"type": ["string", "integer"]}"#)),
            ])),
            "from each group to its categories, or from each category to its group",
        ),
    ],
    one_of: GROUPINGS,
    rules: "{}",
};

/// The keys that say how a level groups; each level has exactly one.
pub(super) const GROUPINGS: &[&str] = &["width", "cuts", "map"];

/// No release needs more nodes than this, and a typing mistake easily asks for them.
pub(super) const MAX_NODES: usize = 1 << 24;

/// The numbers that the finest categories stand for.
pub(super) enum Numbers {
    /// Categories without order.
    None,
    /// Category i is the number `lo + i`.
    Whole {
        /// The first number.
        lo: i64,
    },
    /// Category i is `edges[i] .. edges[i + 1]`.
    Bins {
        /// One more than there are categories.
        edges: Vec<f64>,
    },
}

/// The finest level while it is being read, and the coarser ones found so far.
pub(super) struct Finest {
    /// The categories; those after `own` were added for missing and other values.
    pub(super) labels: Vec<String>,
    /// How many of them the domain itself declares.
    pub(super) own: usize,
    pub(super) numbers: Numbers,
    pub(super) coding: Coding,
    /// Coarser levels, in any order.
    pub(super) partitions: Vec<Partition>,
    /// The finest level's own name, where a hierarchy file gives it one.
    pub(super) level_name: Option<String>,
}

/// A grouping of the finest categories.
#[derive(Clone)]
pub(super) struct Partition {
    pub(super) name: String,
    /// Where it is declared; `None` when a hierarchy file declares it.
    pub(super) span: Option<Range<usize>>,
    pub(super) labels: Vec<String>,
    /// The group of each finest category.
    pub(super) of: Vec<u32>,
    pub(super) from_file: bool,
}

impl Partition {
    /// The node with this label, made if need be.
    fn node(&mut self, label: &str) -> u32 {
        match self.labels.iter().position(|l| l == label) {
            Some(at) => at as u32,
            None => {
                self.labels.push(label.to_owned());
                (self.labels.len() - 1) as u32
            }
        }
    }

    fn label(&self, finest: usize) -> &str {
        self.of.get(finest).and_then(|&n| self.labels.get(n as usize)).map_or("", |l| l.as_str())
    }

    /// Puts the categories that were added for missing and other values into nodes of their own
    /// name.
    fn admit(&mut self, extras: &[String]) {
        for label in extras {
            let node = self.node(label);
            self.of.push(node);
        }
    }
}

impl Finest {
    /// Marks all categories so far as the domain's own.
    pub(super) fn sealed(mut self) -> Finest {
        self.own = self.labels.len();
        self
    }

    /// The node of a category for missing or other values, added if the domain does not have it.
    pub(super) fn extra(&mut self, label: &str) -> u32 {
        if let Some(at) = self.labels.iter().position(|l| l == label) {
            return at as u32;
        }
        self.labels.push(label.to_owned());
        let node = (self.labels.len() - 1) as u32;
        if let Coding::Labels(map) = &mut self.coding {
            map.insert(label.to_owned(), node);
        }
        for partition in &mut self.partitions {
            partition.admit(&[label.to_owned()]);
        }
        node
    }

    fn extras(&self) -> &[String] {
        self.labels.get(self.own..).unwrap_or(&[])
    }

    /// The dimension, once every level is known: sorted, refined, with parents and bounds.
    pub(super) fn build(
        mut self,
        name: &str,
        declared_at: Range<usize>,
        sink: &mut Sink,
    ) -> Option<(Dimension, Coding)> {
        let before = sink.count();
        self.partitions.sort_by_key(|p| p.labels.len());
        let count = self.labels.len();
        let finest = Partition {
            name: self.level_name.clone().unwrap_or_else(|| name.to_owned()),
            span: None,
            labels: std::mem::take(&mut self.labels),
            of: (0..).take(count).collect(),
            from_file: true,
        };
        check_names(name, &self.partitions, &finest, &declared_at, sink);
        let nodes = finest.labels.len() + self.partitions.iter().map(|p| p.labels.len()).sum::<usize>();
        if nodes > MAX_NODES || self.partitions.len() > 200 {
            let diagnostic =
                Diagnostic::at(declared_at.clone(), format!("the levels of `{name}` are too many"));
            sink.push(diagnostic.label(format!("must be at most {MAX_NODES} categories and 200 levels")));
        }
        for pair in self.partitions.windows(2) {
            if let [coarse, fine] = pair {
                check_refines(coarse, fine, &self.numbers, &declared_at, sink);
            }
        }
        for level in self.partitions.iter().filter(|p| !p.from_file) {
            let span = level.span.clone().unwrap_or(declared_at.clone());
            if level.labels.len() == 1 {
                sink.push(
                    Diagnostic::at(span, format!("the level `{}` has one category only", level.name))
                        .label("the same as the total"),
                );
            } else if level.labels.len() == finest.labels.len() {
                sink.push(
                    Diagnostic::at(span, format!("the level `{}` groups nothing", level.name))
                        .label(format!("the same as `{name}` itself")),
                );
            }
        }
        if sink.count() > before {
            return None;
        }
        let mut levels = vec![Categories::total()];
        let mut coarser: Vec<u32> = vec![0; finest.of.len()];
        let (numbers, own) = (self.numbers, self.own);
        for partition in self.partitions.into_iter().chain([finest]) {
            let mut parent = vec![0; partition.labels.len()];
            for (&node, &above) in partition.of.iter().zip(&coarser) {
                if let Some(p) = parent.get_mut(node as usize) {
                    *p = above;
                }
            }
            let bounds = bounds(&partition, &numbers, own);
            levels.push(Categories { name: partition.name, labels: partition.labels, parent, bounds });
            coarser = partition.of;
        }
        Some((Dimension::new(name, levels), self.coding))
    }
}

/// Reads `levels = [...]` into `finest.partitions`.
pub(super) fn read(value: &Value<'_>, dimension: &str, finest: &mut Finest, sink: &mut Sink) {
    let Some(items) = read::list(value, "`levels`", sink) else { return };
    let mut maps = Vec::new();
    for item in items.iter() {
        let Some(fields) = Fields::open(item, "this level", &KEYS, sink) else { continue };
        let name = fields
            .require("name", "`name = \"band\"`", sink)
            .and_then(|v| Some((read::shown(v, "the level's name", false, sink)?.to_owned(), v.span())));
        let example = "one of them, such as `width = 5`";
        let Some((key, how)) = fields.exactly_one(GROUPINGS, example, sink) else { continue };
        let Some((name, span)) = name else { continue };
        let grouped = match key {
            "width" => width(how, dimension, finest, sink),
            "cuts" => cuts(how, dimension, finest, sink),
            _ => {
                match how.get_ref().as_table() {
                    Some(table) => {
                        let before = sink.count();
                        strange_groups(table, sink);
                        if sink.count() == before {
                            maps.push((name, span, table, how.span()));
                        }
                    }
                    None => read::expected(how, "`map`", "a table such as { A = \"north\" }", sink),
                }
                continue;
            }
        };
        if let Some((labels, of)) = grouped {
            let mut partition = Partition { name, span: Some(span), labels, of, from_file: false };
            partition.admit(finest.extras());
            finest.partitions.push(partition);
        }
    }
    resolve_maps(maps, finest, sink);
}

/// Labels of the groups, and the group of each of the domain's own categories.
type Grouped = (Vec<String>, Vec<u32>);

/// Groups that begin at the categories in `starts` (ascending, the first is 0).
fn runs(starts: &[usize], n: usize, label: impl Fn(usize, usize) -> String) -> Grouped {
    let ends = starts.iter().skip(1).copied().chain([n]);
    let mut labels = Vec::with_capacity(starts.len());
    let mut of = Vec::with_capacity(n);
    for ((&from, to), node) in starts.iter().zip(ends).zip(0..) {
        labels.push(label(from, to));
        of.extend(std::iter::repeat_n(node, to - from));
    }
    (labels, of)
}

/// The numbers `a ..= b` as people write them.
fn whole_label(a: i64, b: i64) -> String {
    match (a == b, a < 0) {
        (true, _) => a.to_string(),
        // A hyphen after a minus sign could not be read.
        (false, true) => format!("{a} to {b}"),
        (false, false) => format!("{a}-{b}"),
    }
}

/// `[0, 10)`, or `[90, 100]` for the last bin.
pub(super) fn bin_label(lo: f64, hi: f64, closed: bool) -> String {
    format!("[{lo}, {hi}{}", if closed { ']' } else { ')' })
}

fn width(value: &Value<'_>, dimension: &str, finest: &Finest, sink: &mut Sink) -> Option<Grouped> {
    let width = read::whole(value, "`width`", 1, MAX_NODES as i64, sink)?;
    let Numbers::Whole { lo } = finest.numbers else {
        let help = match finest.numbers {
            Numbers::Bins { .. } => "use `cuts` at edges of the bins",
            _ => "use `map` to group categories",
        };
        sink.push(
            Diagnostic::at(value.span(), format!("`{dimension}` has no whole numbers to count in `width`"))
                .label("only for `range` and `codes`")
                .help(help.to_owned()),
        );
        return None;
    };
    sink.takes(&value.span(), finest.own, finest.own.div_ceil(width as usize))?;
    let starts: Vec<usize> = (0..finest.own).step_by(width as usize).collect();
    Some(runs(&starts, finest.own, |a, b| whole_label(lo + a as i64, lo + b as i64 - 1)))
}

fn cuts(value: &Value<'_>, dimension: &str, finest: &Finest, sink: &mut Sink) -> Option<Grouped> {
    let cuts = read::ascending(value, "`cuts`", sink)?;
    if cuts.is_empty() {
        sink.push(Diagnostic::at(value.span(), "`cuts` is empty").label("expected at least one number"));
        return None;
    }
    let n = finest.own;
    sink.takes(&value.span(), n, 1)?;
    let mut starts = vec![0usize];
    let before = sink.count();
    for (cut, span) in cuts {
        let start = match &finest.numbers {
            Numbers::None => {
                sink.push(
                    Diagnostic::at(value.span(), format!("`{dimension}` has no numbers to cut"))
                        .label("only for `range`, `codes` and `bins`")
                        .help("use `map` to group categories".to_owned()),
                );
                return None;
            }
            Numbers::Whole { lo } => {
                let hi = lo + n as i64 - 1;
                let inside = (cut > *lo as f64) && (cut <= hi as f64);
                if cut.fract() != 0.0 {
                    sink.push(
                        Diagnostic::at(span, "a cut between whole numbers").label("expected a whole number"),
                    );
                    continue;
                }
                if !inside {
                    sink.push(
                        Diagnostic::at(span, format!("the cut {cut} is outside the range"))
                            .label(format!("must be from {} to {hi}: the first number of a group", lo + 1)),
                    );
                    continue;
                }
                (cut as i64 - lo) as usize
            }
            Numbers::Bins { edges } => {
                let inner = edges.get(1..edges.len().saturating_sub(1)).unwrap_or(&[]);
                match inner.iter().position(|e| *e == cut) {
                    Some(at) => at + 1,
                    None => {
                        let edges: Vec<String> = inner.iter().map(|e| e.to_string()).collect();
                        sink.push(
                            Diagnostic::at(
                                span,
                                format!("the cut {cut} is not at an inner edge of the bins"),
                            )
                            .label(format!(
                                "expected one of {}",
                                suggest::listed(edges.iter().map(|e| &**e))
                            )),
                        );
                        continue;
                    }
                }
            }
        };
        starts.push(start);
    }
    if sink.count() > before {
        return None;
    }
    Some(match &finest.numbers {
        Numbers::Whole { lo } => runs(&starts, n, |a, b| whole_label(lo + a as i64, lo + b as i64 - 1)),
        Numbers::Bins { edges } => runs(&starts, n, |a, b| {
            let edge = |at: usize| edges.get(at).copied().unwrap_or(f64::NAN);
            bin_label(edge(a), edge(b), b == n)
        }),
        Numbers::None => return None,
    })
}

/// A `map` while it waits for the level it maps from: name, its place, the table, its place.
type PendingMap<'a, 'i> = (String, Range<usize>, &'a DeTable<'i>, Range<usize>);

/// The most levels of a dimension that are given by maps: each is tried on all others.
const MOST_MAPS: usize = 64;
/// So many maps that do not fit are compared with every level, to say why.
const EXPLAINED: usize = 4;

/// Finds for each map what its keys are: the finest categories, or those of another level.
fn resolve_maps(mut maps: Vec<PendingMap<'_, '_>>, finest: &mut Finest, sink: &mut Sink) {
    if let Some((_, _, _, span)) = maps.get(MOST_MAPS) {
        sink.push(
            Diagnostic::at(span.clone(), "too many levels by `map`").label(format!("at most {MOST_MAPS}")),
        );
        return;
    }
    // A map may build on another map that is listed later, so go round until nothing moves.
    loop {
        let waiting = maps.len();
        maps.retain(|(name, span, table, at)| {
            let Some(pairs) = pairs(table) else { return true };
            // A map that does not name every category cannot fit: it is not tried.
            let known = |from: &Option<usize>| {
                from.map_or(finest.labels.len(), |p| finest.partitions[p].labels.len())
            };
            let fitting = std::iter::once(None)
                .chain((0..finest.partitions.len()).map(Some))
                .filter(|from| known(from) <= pairs.len() + finest.extras().len())
                .find_map(|from| apply(&pairs, from, finest).ok());
            if fitting.is_some() && sink.takes(at, finest.labels.len(), 0).is_none() {
                return true;
            }
            let Some((labels, of)) = fitting else { return true };
            let partition =
                Partition { name: name.clone(), span: Some(span.clone()), labels, of, from_file: false };
            finest.partitions.push(partition);
            false
        });
        if maps.len() == waiting {
            break;
        }
    }
    for (name, _, table, span) in maps.into_iter().take(EXPLAINED) {
        explain(&name, table, span, finest, sink);
    }
}

/// (finer label, coarser label) with the finer one's place; `None` when a value is of a wrong type.
type LabelPairs<'a> = Vec<(std::borrow::Cow<'a, str>, Range<usize>, &'a str)>;

fn pairs<'a>(table: &'a DeTable<'_>) -> Option<LabelPairs<'a>> {
    let mut out = LabelPairs::new();
    for (key, key_span, value) in read::entries(table) {
        match value.get_ref() {
            DeValue::String(coarser) if !coarser.trim().is_empty() => {
                out.push((key.into(), key_span, coarser))
            }
            DeValue::Array(finer) if !key.trim().is_empty() => {
                for item in finer.iter() {
                    match item.get_ref() {
                        DeValue::String(label) => out.push(((&**label).into(), item.span(), key)),
                        DeValue::Integer(n) => out.push((n.to_string().into(), item.span(), key)),
                        _ => return None,
                    }
                }
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Refuses groups of a map that no release may show; of its categories the list says it.
fn strange_groups(table: &DeTable<'_>, sink: &mut Sink) {
    for (key, key_at, value) in read::entries(table) {
        let (group, at) = match value.get_ref() {
            DeValue::String(group) => (&**group, value.span()),
            _ => (key, key_at),
        };
        if let Some((message, label)) = read::strange(group, "a group of `map`") {
            sink.push(Diagnostic::at(at, message).label(label));
        }
    }
}

/// What keeps a map from applying to a level.
#[derive(Default)]
struct Misfit {
    /// Keys that are no category: place and label.
    unknown: Vec<(Range<usize>, String)>,
    /// Categories that are placed twice: second place, first place, label.
    twice: Vec<(Range<usize>, Range<usize>, String)>,
    /// Categories that are not placed.
    absent: Vec<String>,
}

/// Groups by a map from the finest categories (`from` is `None`) or from another level.
fn apply(pairs: &LabelPairs<'_>, from: Option<usize>, finest: &Finest) -> Result<Grouped, Misfit> {
    let source = from.and_then(|at| finest.partitions.get(at));
    let known: &[String] = source.map_or(&finest.labels, |p| &p.labels);
    let index: HashMap<&str, usize> = known.iter().map(|l| l.as_str()).zip(0..).collect();
    let mut misfit = Misfit::default();
    let mut placed: Vec<Option<(u32, Range<usize>)>> = vec![None; known.len()];
    let mut labels: Vec<String> = Vec::new();
    let mut nodes: HashMap<&str, u32> = HashMap::new();
    for (finer, span, coarser) in pairs {
        let Some(slot) = index.get(&**finer).and_then(|&at| placed.get_mut(at)) else {
            misfit.unknown.push((span.clone(), finer.to_string()));
            continue;
        };
        let node = *nodes.entry(coarser).or_insert_with(|| {
            labels.push((*coarser).to_owned());
            (labels.len() - 1) as u32
        });
        match slot {
            Some((_, first)) => misfit.twice.push((span.clone(), first.clone(), finer.to_string())),
            None => *slot = Some((node, span.clone())),
        }
    }
    let mut group_of = Vec::with_capacity(known.len());
    for (label, slot) in known.iter().zip(&placed) {
        match slot {
            Some((node, _)) => group_of.push(*node),
            // A node that was added for missing or other values keeps its own name.
            None if finest.extras().contains(label) => {
                let node = labels.iter().position(|l| l == label).unwrap_or_else(|| {
                    labels.push(label.clone());
                    labels.len() - 1
                });
                group_of.push(node as u32);
            }
            None => misfit.absent.push(label.clone()),
        }
    }
    if !(misfit.unknown.is_empty() && misfit.twice.is_empty() && misfit.absent.is_empty()) {
        return Err(misfit);
    }
    let of = match source {
        None => group_of,
        Some(p) => p.of.iter().filter_map(|&n| group_of.get(n as usize).copied()).collect(),
    };
    Ok((labels, of))
}

/// Says what is wrong with a map, measured against the level it comes nearest to.
fn explain(name: &str, table: &DeTable<'_>, span: Range<usize>, finest: &Finest, sink: &mut Sink) {
    let Some(pairs) = pairs(table) else {
        for (_, _, value) in read::entries(table) {
            match value.get_ref() {
                DeValue::String(_) => {
                    read::text(value, "a category of `map`", sink);
                }
                DeValue::Array(items) => {
                    for item in items.iter().filter(|i| !matches!(i.get_ref(), DeValue::Integer(_))) {
                        read::text(item, "a category of `map`", sink);
                    }
                }
                _ => read::expected(value, "a value of `map`", "a label, or a list of labels", sink),
            }
        }
        if table.iter().any(|(k, _)| k.get_ref().trim().is_empty()) {
            sink.push(Diagnostic::at(span, "`map` names an empty category").label("expected text"));
        }
        return;
    };
    let candidates = std::iter::once(None).chain((0..finest.partitions.len()).map(Some));
    let misfits = candidates.filter_map(|from| Some((from, apply(&pairs, from, finest).err()?)));
    let nearest = misfits.min_by_key(|(_, m)| (m.unknown.len(), m.absent.len() + m.twice.len()));
    let Some((from, misfit)) = nearest else { return };
    let source = from.and_then(|at| finest.partitions.get(at));
    let known: &[String] = source.map_or(&finest.labels, |p| &p.labels);
    let mut absent = misfit.absent;
    for (span, label) in misfit.unknown {
        // A misspelt category is not missed as well.
        let meant = suggest::nearest(&label, known.iter().map(|l| l.as_str()));
        absent.retain(|a| Some(a.as_str()) != meant);
        sink.push(
            Diagnostic::at(span, format!("the level `{name}` maps an unknown category `{label}`"))
                .label("not a category")
                .help(suggest::help(&label, known.iter().map(|l| l.as_str()))),
        );
    }
    for (span, first, label) in misfit.twice {
        sink.push(
            Diagnostic::at(span, format!("the level `{name}` maps `{label}` twice"))
                .label("the second time")
                .related(first, "the first time"),
        );
    }
    if !absent.is_empty() {
        let absent = suggest::listed(absent.iter().map(|l| l.as_str()));
        sink.push(
            Diagnostic::at(span, format!("the level `{name}` does not map every category"))
                .label(format!("lacks {absent}")),
        );
    }
}

/// Level names are names in queries: each once, and none that means something else.
fn check_names(
    dimension: &str,
    partitions: &[Partition],
    finest: &Partition,
    declared_at: &Range<usize>,
    sink: &mut Sink,
) {
    if finest.name == "total" && dimension != "total" {
        let diagnostic = Diagnostic::at(declared_at.clone(), "a level cannot be called `total`");
        sink.push(diagnostic.label("that is the level above all others"));
    }
    let mut seen: HashMap<&str, Option<Range<usize>>> = HashMap::new();
    let mut ordered: Vec<&Partition> = partitions.iter().collect();
    ordered.sort_by_key(|p| p.span.as_ref().map(|s| s.start));
    let taken = [
        ("total", "the level above all others"),
        (dimension, "the finest level"),
        (&*finest.name, "the finest level"),
    ];
    for level in ordered {
        let span = level.span.clone().unwrap_or(declared_at.clone());
        let name = &*level.name;
        if let Some((_, meaning)) = taken.iter().find(|(taken, _)| *taken == name) {
            let diagnostic = Diagnostic::at(span, format!("a level cannot be called `{name}`"));
            sink.push(diagnostic.label(format!("that is {meaning}")));
        } else if let Some(first) = seen.insert(name, level.span.clone()) {
            let mut diagnostic =
                Diagnostic::at(span, format!("two levels of `{dimension}` are called `{name}`"))
                    .label("the second one");
            if let Some(first) = first {
                diagnostic = diagnostic.related(first, "the first one");
            }
            sink.push(diagnostic);
        }
    }
}

/// Every node of `fine` must lie in one node of `coarse`.
fn check_refines(
    coarse: &Partition,
    fine: &Partition,
    numbers: &Numbers,
    declared_at: &Range<usize>,
    sink: &mut Sink,
) {
    let mut first: Vec<Option<usize>> = vec![None; fine.labels.len()];
    for (at, &node) in fine.of.iter().enumerate() {
        let Some(slot) = first.get_mut(node as usize) else { continue };
        let Some(start) = *slot else {
            *slot = Some(at);
            continue;
        };
        if coarse.of.get(start) == coarse.of.get(at) {
            continue;
        }
        let (node, coarse_name) = (fine.label(at), &coarse.name);
        let message = match numbers {
            // Whole runs: name the number where the coarser level changes.
            Numbers::Whole { lo } if start < at && fine.of.get(at - 1) == fine.of.get(at) => {
                let cut = lo + at as i64;
                format!("{} {node} lies across the cut at {cut} of `{coarse_name}`", fine.name)
            }
            Numbers::Bins { edges } if start < at && fine.of.get(at - 1) == fine.of.get(at) => {
                let cut = edges.get(at).copied().unwrap_or(f64::NAN);
                format!("{} {node} lies across the cut at {cut} of `{coarse_name}`", fine.name)
            }
            _ => format!(
                "{} `{node}` lies partly in `{}` and partly in `{}` of `{coarse_name}`",
                fine.name,
                coarse.label(start),
                coarse.label(at),
            ),
        };
        let place = |p: &Partition| p.span.clone();
        let primary = place(fine).or(place(coarse)).unwrap_or(declared_at.clone());
        let mut diagnostic = Diagnostic::at(primary.clone(), message)
            .label("each category must lie in one category of every coarser level");
        if let Some(other) = place(coarse).filter(|other| *other != primary) {
            diagnostic = diagnostic.related(other, "the coarser level");
        }
        sink.push(diagnostic);
        return;
    }
}

/// The numbers of each node, where each is one run of the finest categories. A level whose groups
/// have gaps, or hold missing values among numbers, has no numbers: a comparison must not count it.
fn bounds(partition: &Partition, numbers: &Numbers, own: usize) -> Vec<Option<Bounds>> {
    // For each node: its first and last category and how many there are.
    let mut runs: Vec<Option<(usize, usize, usize)>> = vec![None; partition.labels.len()];
    let mut added = vec![false; partition.labels.len()];
    for (at, &node) in partition.of.iter().enumerate() {
        let node = node as usize;
        if at >= own {
            if let Some(flag) = added.get_mut(node) {
                *flag = true;
            }
        } else if let Some(run) = runs.get_mut(node) {
            let (first, _, n) = run.unwrap_or((at, at, 0));
            *run = Some((first, at, n + 1));
        }
    }
    let pure = runs.iter().zip(&added).all(|(run, &added)| match run {
        Some((first, last, n)) => !added && last - first + 1 == *n,
        None => true,
    });
    if !pure {
        return Vec::new();
    }
    let bound = |first: usize, last: usize| match numbers {
        Numbers::None => None,
        Numbers::Whole { lo } => {
            let number = |at: usize| (lo + at as i64) as f64;
            Some(Bounds { lo: number(first), hi: number(last), closed: true })
        }
        Numbers::Bins { edges } => {
            let (lo, hi) = (*edges.get(first)?, *edges.get(last + 1)?);
            Some(Bounds { lo, hi, closed: last + 1 == own })
        }
    };
    match numbers {
        Numbers::None => Vec::new(),
        _ => runs.iter().map(|run| run.and_then(|(first, last, _)| bound(first, last))).collect(),
    }
}
