//! A table as other tools like it: one line a cell, one column a thing, the same columns for every table.

use super::super::{Failure, Outcome, output};
use super::FINISHED;
use super::amounts::{SummedBeside, TidyMeasure, figures};
use super::finished::Finisher;
use super::parting;
use crate::answer::{Answers, Group};
use crate::cube::{Cube, Legend, Level};
use crate::recover::Source;
use crate::render::{Caveat, ColumnKind, Cuts, ResultFigure, csv_field};

/// What is known of each cell, in this order, after the dimensions. The whole number of a finished cell follows.
pub(crate) const FIGURES: [&str; 7] = ["estimate", "std_error", "moe", "conf_level", "low", "high", "status"];

/// What is also known of each cell, after these, where it is wanted.
pub(crate) const RELIABILITY: [&str; 2] = ["cv", "reliability"];

/// Along which counts, sums and means stand, where there are sums.
const MEASURE: &str = "measure";
/// What the number of rows is called where nothing weighs them.
pub(super) const COUNT: &str = "COUNT(*)";

/// A dimension of the table.
pub(crate) struct Axis {
    /// `sex`, `age.band`.
    pub name: String,
    /// What the categories are: text or whole numbers.
    pub kind: ColumnKind,
    pub labels: Vec<String>,
    /// What people call each of them; as long as the labels.
    pub called: Vec<String>,
    /// What figures of each of them are measured in, where one says so; none otherwise.
    pub units: Vec<Option<String>>,
    /// What the signed file says of it.
    pub legend: Option<Legend>,
    /// Whether it says when something was.
    pub is_time: bool,
    /// Whether it says so in periods: days, months, quarters, years.
    pub of_periods: bool,
}

impl Axis {
    /// Whether its codes have labels.
    pub(crate) fn is_labelled(&self) -> bool {
        self.called != self.labels
    }

    /// The categories whose figures have a unit, each with it.
    pub(crate) fn of_units(&self) -> impl Iterator<Item = (&str, &str)> {
        let each = self.labels.iter().zip(&self.units);
        each.filter_map(|(label, unit)| Some((label.as_str(), unit.as_deref()?)))
    }
}

/// What tables are asked for, and how.
pub(super) struct Asked<'a> {
    pub answers: &'a Answers,
    pub summed: SummedBeside<'a>,
    pub finisher: Option<Finisher<'a>>,
    /// The probability with which each interval covers.
    pub level: f64,
    /// Whether reliability is shown, and what is hidden.
    pub told: (bool, Option<f64>),
    /// The most cells that are held at once, where a table can be parted.
    pub most: usize,
}

/// A table: all of it, or of one that is written part by part this part.
pub(crate) struct Tidy {
    pub axes: Vec<Axis>,
    /// Of each part that is to come the nodes of the first axis; none of a table that is held.
    pub parts: Vec<Vec<u32>>,
    /// Those of this part, unless it is all of the table.
    pub part: Option<Vec<u32>>,
    /// The cells, the last axis quickest.
    pub cells: Vec<ResultFigure>,
    /// The probability with which each interval covers.
    pub level: f64,
    /// What else is to be known of it.
    pub notes: Vec<String>,
    /// What besides noise makes the numbers untrue, in a word or two: of each measure.
    pub untrue: Vec<String>,
    /// The same of all measures, each once.
    pub caveats: Vec<Caveat>,
    /// Whether means are among the measures: these are ratios.
    pub has_means: bool,
    /// Where classes of reliability end, where these are wanted.
    pub cuts: Option<Cuts>,
    /// The coefficient of variation above which cells are hidden, in per cent.
    pub hide_above: Option<f64>,
    /// Which of the cells these are, by their numbers, ascending.
    pub hidden: Vec<usize>,
    /// The counts as whole numbers, where they are asked for; sums and means have none.
    pub finished: Option<Vec<Option<u64>>>,
}

/// What a file says of cells that were left out of it.
pub(super) fn hidden_note(hidden: usize, all: usize, cut: f64) -> String {
    format!(
        "{hidden} of {all} cells are hidden: their standard error is more than {cut} % of the estimate. That is for readers' sake and protects nobody: \
         the release has them. Chance decides on those near the cut, and the intervals of cells that are shown for being large cover less often than stated."
    )
}

/// Leaves a figure out that is less reliable than wanted, and says whether it did. What has no coefficient of variation is not known to be within the cut; a figure of
/// nothing is none that could be left out.
pub(super) fn is_left_out(figure: &mut ResultFigure, cut: f64) -> bool {
    let out = !figure.is_null() && !(figure.cv() <= cut);
    if out {
        let none = f64::NAN;
        *figure = ResultFigure { estimate: none, std_error: none, low: none, high: none };
    }
    out
}

/// Whether a dimension of this name would be taken for a column of figures.
pub(super) fn is_taken(name: &str) -> bool {
    FIGURES.iter().chain(&RELIABILITY).any(|f| *f == name) || name == FINISHED
}

/// What the dimensions of a table are called beside columns whose names are taken: with as many underscores as no other has.
pub(super) fn named(cube: &Cube, levels: &[Level], is_taken: impl Fn(&str) -> bool) -> Vec<String> {
    let own: Vec<String> = levels.iter().map(|l| cube.level_name(*l)).collect();
    let mut out: Vec<String> = Vec::with_capacity(own.len());
    for first in &own {
        let mut name = first.clone();
        while is_taken(&name) || out.contains(&name) || (name != *first && own.contains(&name)) {
            name.push('_');
        }
        out.push(name);
    }
    out
}

impl Tidy {
    /// Describes a table, and recovers it unless that is done part by part.
    pub(super) fn new(asked: &Asked, levels: &[Level]) -> Result<Tidy, Failure> {
        let Asked { answers, ref summed, level, told: (reliability, hide_above), .. } = *asked;
        let cube = answers.cube();
        let beside = summed.beside(levels, level)?;
        let parts = if beside.is_empty() { parting::parts(cube, levels, asked.most) } else { Vec::new() };
        let groups = if parts.is_empty() { summed.counts(levels, &beside)? } else { Some(Vec::new()) };
        let finish = |(f, groups): (&Finisher, &Vec<Group>)| {
            let estimates: Vec<f64> = groups.iter().map(|g| g.estimate).collect();
            if parts.is_empty() { f.table(levels, &estimates) } else { Ok(Vec::new()) }
        };
        let finished = asked.finisher.as_ref().zip(groups.as_ref()).map(finish).transpose()?;
        let counts = groups.map(|groups| summed.of_rows(levels, &groups, level)).transpose()?;
        let measures: Vec<TidyMeasure> = counts.into_iter().chain(beside).collect();
        let (caveats, mut notes) = summed.said(&measures);
        // A dimension may be called as a figure is.
        let names = named(cube, levels, is_taken);
        let axis = |(l, name): (&Level, String)| Axis {
            name,
            kind: ColumnKind::of_level(l.of(cube)),
            labels: l.of(cube).labels.clone(),
            called: cube.dimensions[l.dimension].called(l.level),
            units: Vec::new(),
            legend: cube.dimensions[l.dimension].legend().cloned(),
            is_time: cube.dimensions[l.dimension].is_time(),
            of_periods: cube.dimensions[l.dimension].is_time() && l.of(cube).are_periods(),
        };
        let mut axes: Vec<Axis> = levels.iter().zip(names).map(axis).collect();
        let finished = finished.map(|counts| {
            let each = |count| (0..measures.len()).map(move |m| Some(count).filter(|_| m == 0));
            counts.into_iter().flat_map(each).collect()
        });
        if !matches!(&measures[..], [only] if only.name == COUNT) {
            let mut name = MEASURE.to_owned();
            while axes.iter().any(|a| a.name == name) {
                name.push('_');
            }
            let labels: Vec<String> = measures.iter().map(|m| m.name.clone()).collect();
            axes.push(Axis {
                name,
                kind: ColumnKind::Text,
                called: labels.clone(),
                labels,
                units: measures.iter().map(|m| m.unit.clone()).collect(),
                legend: None,
                is_time: false,
                of_periods: false,
            });
        }
        let untrue = |m: &TidyMeasure| Caveat::words(&m.caveats);
        let cells = measures.first().map_or(0, |m| m.cells.len());
        let own = |cell: usize| measures.iter().filter_map(move |m| m.cells.get(cell).copied());
        let cuts = reliability.then(|| Cuts::of(&answers.release().manifest().about));
        notes.extend(cuts.as_ref().map(Cuts::note));
        let mut tidy = Tidy {
            axes,
            parts,
            part: None,
            cells: (0..cells).flat_map(own).collect(),
            notes,
            level,
            untrue: measures.iter().map(untrue).collect(),
            finished,
            cuts,
            hide_above,
            hidden: Vec::new(),
            caveats,
            has_means: measures.iter().any(TidyMeasure::is_mean),
        };
        if tidy.parts.is_empty() {
            let hidden = tidy.hide();
            tidy.say_hidden(hidden, tidy.cells.len());
        }
        Ok(tidy)
    }

    /// Gives all of the table, or one part after the other, and knows at the end how many cells are hidden.
    pub(super) fn each_part(
        &mut self,
        asked: &Asked,
        levels: &[Level],
        mut put: impl FnMut(&Tidy) -> Outcome,
    ) -> Outcome {
        if self.parts.is_empty() {
            return put(self);
        }
        let parts = std::mem::take(&mut self.parts);
        let finished = asked.finisher.as_ref().map(|f| f.in_parts(levels)).transpose()?;
        let evaluator = asked.answers.evaluator();
        let all: usize = self.axes.iter().map(|a| a.labels.len()).product();
        let stage = evaluator.recovery().source().watch().stage("writing", all as u64);
        let mut hidden = 0;
        evaluator.in_parts(levels, &parts, |nodes, groups| {
            self.part = Some(nodes.to_vec());
            self.cells = figures(&groups, self.level).0;
            if let Some(finished) = &finished {
                self.finished = Some(finished.of(nodes)?.into_iter().map(Some).collect());
            }
            hidden += self.hide();
            put(self)?;
            stage.advance(groups.len() as u64);
            Ok::<bool, Failure>(!output::gone())
        })?;
        self.say_hidden(hidden, all);
        Ok(())
    }

    fn say_hidden(&mut self, hidden: usize, all: usize) {
        self.notes.extend(self.hide_above.map(|cut| hidden_note(hidden, all, cut)));
    }

    /// Leaves out what is less reliable than wanted, and says how many cells that were.
    fn hide(&mut self) -> usize {
        self.hidden.clear();
        let Some(cut) = self.hide_above else { return 0 };
        for (i, cell) in self.cells.iter_mut().enumerate() {
            if is_left_out(cell, cut) {
                if let Some(count) = self.finished.as_mut().and_then(|f| f.get_mut(i)) {
                    *count = None;
                }
                self.hidden.push(i);
            }
        }
        self.hidden.len()
    }

    /// All that a reader must be told beside the numbers, in words: what makes them untrue first.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        self.caveats.iter().map(|c| c.text(self.level)).chain(self.notes.iter().cloned())
    }

    /// The names of all columns of figures.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &'static str> {
        FIGURES.into_iter().chain(self.cuts.iter().flat_map(|_| RELIABILITY))
    }

    /// The numbers of a cell, in the order of [`FIGURES`] without the status.
    pub(crate) fn numbers(&self, cell: &ResultFigure) -> [f64; 6] {
        let moe = (cell.high - cell.low) / 2.0;
        let level = if cell.is_null() { f64::NAN } else { self.level };
        [cell.estimate, cell.std_error, moe, level, cell.low, cell.high]
    }

    /// What is to be known of a cell by its number: whether there is no noise in it, no number, or none that is shown; whether its interval has no ends; and what besides
    /// noise makes it untrue.
    pub(crate) fn status(&self, at: usize) -> String {
        let Some(cell) = self.cells.get(at) else { return String::new() };
        let own = match () {
            () if self.hidden.binary_search(&at).is_ok() => return "hidden".into(),
            // A mean of certainly no rows.
            () if cell.is_null() => "undefined",
            () if cell.std_error == 0.0 => "exact",
            () if !(cell.low.is_finite() && cell.high.is_finite()) => "unbounded",
            () => "",
        };
        // Measures are the last axis.
        let untrue = self.untrue.get(at % self.untrue.len().max(1)).map_or("", String::as_str);
        [own, untrue].join(" ").trim().to_owned()
    }

    /// For each cell its node along every axis.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (Vec<usize>, &ResultFigure)> {
        let mut sizes: Vec<usize> = self.axes.iter().map(|a| a.labels.len()).collect();
        if let (Some(part), Some(first)) = (&self.part, sizes.first_mut()) {
            *first = part.len();
        }
        let mut pick = vec![0; sizes.len()];
        self.cells.iter().map(move |cell| {
            let mut nodes: Vec<usize> = pick.iter().map(|&node: &u32| node as usize).collect();
            if let (Some(part), Some(first)) = (&self.part, nodes.first_mut()) {
                *first = part[*first] as usize;
            }
            crate::cube::odometer::next(&mut pick, |i| sizes[i]);
            (nodes, cell)
        })
    }

    /// The first line of it as CSV.
    pub(super) fn csv_head(&self) -> String {
        let head: Vec<String> = self.axes.iter().map(|a| field(&a.name)).collect();
        let finished = self.finished.iter().map(|_| FINISHED.to_string());
        let all = head.into_iter().chain(self.figures().map(String::from)).chain(finished);
        all.collect::<Vec<_>>().join(",") + "\r\n"
    }

    /// The cells of this part as CSV.
    pub(super) fn csv_rows(&self) -> String {
        let mut out = String::new();
        for (i, (nodes, cell)) in self.nodes().enumerate() {
            let labels = self.axes.iter().zip(nodes).map(|(axis, node)| field(&axis.labels[node]));
            let numbers = self.numbers(cell).map(|x| number(x + 0.0));
            let finished = self
                .finished
                .iter()
                .filter_map(|f| f.get(i))
                .map(|n| n.map_or(String::new(), |n| n.to_string()));
            let class = self.cuts.iter().flat_map(|cuts| [number(cell.cv() + 0.0), cuts.class(cell).into()]);
            let all = labels.chain(numbers).chain([self.status(i)]).chain(class).chain(finished);
            out.push_str(&all.collect::<Vec<_>>().join(","));
            out.push_str("\r\n");
        }
        out
    }
}

/// The shortest text that reads back as the same number: `inf` and `-inf` where there is no end, nothing where there is no number.
pub(crate) fn number(x: f64) -> String {
    if x.is_nan() { String::new() } else { format!("{x}") }
}

/// A field of CSV after RFC 4180, as spreadsheets may have it.
pub(crate) fn field(text: &str) -> String {
    csv_field(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Dimension;

    /// Whatever dimensions are called: no two the same, none as a column of figures, and who need not change does not.
    #[test]
    fn dimensions_are_not_called_as_figures_are() {
        let names = ["low", "low_", "sex", "cv", "status"];
        let dimensions = names.map(|name| Dimension::plain(name, vec!["x".into(), "y".into()])).to_vec();
        let cube = Cube { dimensions };
        let levels: Vec<Level> = (0..names.len()).map(|d| Level::new(d, 1)).collect();
        assert_eq!(named(&cube, &levels, is_taken), ["low__", "low_", "sex", "cv_", "status_"]);
    }
}
