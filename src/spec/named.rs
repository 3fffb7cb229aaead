//! The dimensions and levels that a spec's tables name.

use super::diagnostic::{Diagnostic, Sink};
use super::dimension::DeclaredDimension;
use super::read::{self, Value};
use super::suggest;
use crate::cube::Level;
use std::collections::HashMap;
use std::ops::Range;

/// Reads a list of dimensions and levels, each dimension once. `None` when any of it is wrong.
pub(super) fn level_list(
    value: &Value<'_>,
    what: &str,
    names: &DimensionNames<'_>,
    sink: &mut Sink,
) -> Option<Vec<Level>> {
    let items = read::names(value, what, sink)?;
    let mut out: Vec<Level> = Vec::with_capacity(items.len());
    let mut seen: HashMap<usize, Range<usize>> = HashMap::new();
    let mut sound = true;
    for (name, span) in items {
        let found = match names.resolve(name) {
            Named::Level(level) => Some((level.dimension, Some(level))),
            Named::Broken(d) => Some((d, None)),
            Named::Unreadable => None,
            Named::Nothing(help) => {
                sink.push(
                    Diagnostic::at(span.clone(), format!("unknown dimension or level `{name}`"))
                        .label("not a dimension of this spec")
                        .help(help),
                );
                None
            }
        };
        let Some((d, level)) = found else {
            sound = false;
            continue;
        };
        if let Some(first) = seen.insert(d, span.clone()) {
            sink.push(
                Diagnostic::at(span, format!("{what} has two levels of one dimension"))
                    .label("the second one")
                    .related(first, "the first one")
                    .help("a finer level already holds the coarser one; keep the finer".to_owned()),
            );
            sound = false;
        }
        match level {
            Some(level) => out.push(level),
            None => sound = false,
        }
    }
    out.sort_unstable();
    sound.then_some(out)
}

/// What a name in a table stands for.
pub(super) enum Named {
    Level(Level),
    /// A dimension that has mistakes of its own: nothing to add.
    Broken(usize),
    /// Perhaps the dimension whose name could not be read.
    Unreadable,
    Nothing(String),
}

/// The names that tables may use.
pub(super) struct DimensionNames<'a> {
    dimensions: &'a [DeclaredDimension],
    index: HashMap<&'a str, usize>,
    pub(super) count: usize,
}

impl<'a> DimensionNames<'a> {
    pub(super) fn new(dimensions: &'a [DeclaredDimension]) -> DimensionNames<'a> {
        let named = dimensions.iter().enumerate();
        // The first of a name that is there twice: the second has been reported.
        let index = named.rev().filter_map(|(at, d)| Some((&*d.name.as_ref()?.0, at))).collect();
        DimensionNames { dimensions, index, count: dimensions.len() }
    }

    /// Every dimension at its finest level; `None` when one is broken.
    pub(super) fn all(&self) -> Option<Vec<Level>> {
        let built = self.dimensions.iter().map(|d| d.built.as_ref());
        built.enumerate().map(|(at, d)| Some(Level::new(at, d?.0.finest()))).collect()
    }

    pub(super) fn resolve(&self, name: &str) -> Named {
        // A dimension's own name may contain dots, so whole names come first.
        if let Some(&d) = self.index.get(name) {
            return match self.built(d) {
                Some(dimension) => Named::Level(Level::new(d, dimension.finest())),
                None => Named::Broken(d),
            };
        }
        let mut help = None;
        for (at, _) in name.match_indices('.') {
            let (Some(head), Some(tail)) = (name.get(..at), name.get(at + 1..)) else { continue };
            let Some(&d) = self.index.get(head) else { continue };
            let Some(dimension) = self.built(d) else { return Named::Broken(d) };
            if let Some(l) = dimension.levels.iter().skip(1).position(|l| l.name == tail) {
                return Named::Level(Level::new(d, l + 1));
            }
            let levels: Vec<String> = dimension
                .levels
                .iter()
                .skip(1)
                .rev()
                .skip(1)
                .map(|l| format!("{head}.{}", l.name))
                .chain([head.to_owned()])
                .collect();
            help = Some(suggest::help(name, levels.iter().map(|l| l.as_str())));
        }
        if let Some(help) = help {
            return Named::Nothing(help);
        }
        if self.dimensions.iter().any(|d| d.name.is_none()) {
            return Named::Unreadable;
        }
        Named::Nothing(self.suggest(name))
    }

    fn built(&self, d: usize) -> Option<&'a crate::cube::Dimension> {
        self.dimensions.get(d)?.built.as_ref().map(|(dimension, _)| dimension)
    }

    /// Dimensions first; then a level's bare name, which lacks its dimension.
    fn suggest(&self, name: &str) -> String {
        let names = || self.dimensions.iter().filter_map(|d| d.name.as_ref().map(|(n, _)| n.as_str()));
        let levels: Vec<(String, &str)> = self
            .dimensions
            .iter()
            .filter_map(|d| d.built.as_ref())
            .flat_map(|(d, _)| {
                let inner = d.levels.iter().skip(1).take(d.levels.len().saturating_sub(2));
                inner.map(|l| (format!("{}.{}", d.name, l.name), l.name.as_str()))
            })
            .collect();
        if let Some(k) = suggest::nearest(name, names()) {
            return format!("did you mean `{k}`?");
        }
        if let Some(k) = suggest::nearest(name, levels.iter().map(|(full, _)| full.as_str())) {
            return format!("did you mean `{k}`?");
        }
        if let Some(bare) = suggest::nearest(name, levels.iter().map(|&(_, bare)| bare))
            && let Some((full, _)) = levels.iter().find(|&&(_, b)| b == bare)
        {
            return format!("did you mean `{full}`?");
        }
        format!("there is {}", suggest::listed(names()))
    }
}
