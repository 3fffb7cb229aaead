//! A table as other tools like it: one line a cell, one column a thing, the same columns for every table.

use super::super::Failure;
use super::FINISHED;
use super::amounts::{SummedBeside, TidyMeasure};
use super::finished::Finisher;
use crate::answer::{Answers, Group, whole_ends};
use crate::cube::{Filter, Level};
use crate::render::{ColumnKind, ResultFigure, csv_field};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of each cell, in this order, after the dimensions. The whole number of a finished cell follows.
pub(crate) const FIGURES: [&str; 7] = ["estimate", "std_error", "moe", "conf_level", "low", "high", "status"];

/// Along which counts, sums and means stand, where there are sums.
const MEASURE: &str = "measure";
const COUNT: &str = "COUNT(*)";

/// A dimension of the table.
pub(crate) struct Axis {
    /// `sex`, `age.band`.
    pub name: String,
    /// What the categories are: text or whole numbers.
    pub kind: ColumnKind,
    pub labels: Vec<String>,
}

/// A whole table.
pub(crate) struct Tidy {
    pub axes: Vec<Axis>,
    /// The cells, the last axis quickest.
    pub cells: Vec<ResultFigure>,
    /// The probability with which each interval covers.
    pub level: f64,
    /// What is to be known of sums and means.
    pub notes: Vec<String>,
    /// What besides noise makes the numbers untrue, in a word or two.
    pub untrue: String,
    /// The counts as whole numbers, where they are asked for; sums and means have none.
    pub finished: Option<Vec<Option<u64>>>,
}

/// The count of each cell. Cells of one kind share a law: each is worked out once.
pub(crate) fn figures(groups: &[Group], level: f64) -> Vec<ResultFigure> {
    let mut widths: HashMap<usize, (f64, f64)> = HashMap::new();
    let figure = |g: &Group| {
        let (std_error, half) = *widths
            .entry(Arc::as_ptr(&g.law) as usize)
            .or_insert_with(|| (g.law.std_error(), g.law.half_width(level)));
        let (low, high) = whole_ends(g.estimate - half, g.estimate + half);
        // Without noise it is a whole number, whatever rounding made of it.
        let estimate = if std_error == 0.0 && low == high { low } else { g.estimate };
        ResultFigure { estimate, std_error, low, high }
    };
    groups.iter().map(figure).collect()
}

impl Tidy {
    /// Recovers a table.
    pub(super) fn new(
        answers: &Answers,
        levels: &[Level],
        level: f64,
        finisher: Option<&Finisher>,
        summed: &SummedBeside,
    ) -> Result<Tidy, Failure> {
        let cube = answers.cube();
        let beside = summed.beside(levels, level)?;
        let notes = if beside.is_empty() { Vec::new() } else { summed.notes().collect() };
        let groups = match answers.evaluator().aggregate(&Filter::everything(), levels) {
            // Its sums may have been asked for without its counts.
            Err(_) if !beside.is_empty() => None,
            groups => Some(groups?),
        };
        let finish = |(f, groups): (&Finisher, &Vec<Group>)| {
            let estimates: Vec<f64> = groups.iter().map(|g| g.estimate).collect();
            f.table(levels, &estimates)
        };
        let finished = finisher.zip(groups.as_ref()).map(finish).transpose()?;
        let counts = groups.map(|groups| TidyMeasure { name: COUNT.into(), cells: figures(&groups, level) });
        let measures: Vec<TidyMeasure> = counts.into_iter().chain(beside).collect();
        // A dimension may be called as a figure is.
        let named = |l: &Level| {
            let name = cube.level_name(*l);
            if FIGURES.contains(&name.as_str()) || name == FINISHED { format!("{name}_") } else { name }
        };
        let axis = |l: &Level| Axis {
            name: named(l),
            kind: ColumnKind::of_level(l.of(cube)),
            labels: l.of(cube).labels.clone(),
        };
        let caveats = answers.caveats(level)?;
        let mut axes: Vec<Axis> = levels.iter().map(axis).collect();
        let finished = finished.map(|counts| {
            let each = |count| (0..measures.len()).map(move |m| Some(count).filter(|_| m == 0));
            counts.into_iter().flat_map(each).collect()
        });
        if !matches!(&measures[..], [only] if only.name == COUNT) {
            let mut name = MEASURE.to_owned();
            while axes.iter().any(|a| a.name == name) {
                name.push('_');
            }
            let labels = measures.iter().map(|m| m.name.clone()).collect();
            axes.push(Axis { name, kind: ColumnKind::Text, labels });
        }
        let cells = measures.first().map_or(0, |m| m.cells.len());
        let own = |cell: usize| measures.iter().filter_map(move |m| m.cells.get(cell).copied());
        Ok(Tidy {
            axes,
            cells: (0..cells).flat_map(own).collect(),
            notes,
            level,
            untrue: caveats.iter().map(|c| c.status()).collect::<Vec<_>>().join(" "),
            finished,
        })
    }

    /// The numbers of a cell, in the order of [`FIGURES`] without the status.
    pub(crate) fn numbers(&self, cell: &ResultFigure) -> [f64; 6] {
        let moe = (cell.high - cell.low) / 2.0;
        [cell.estimate, cell.std_error, moe, self.level, cell.low, cell.high]
    }

    /// `exact` where there is no noise, and what besides noise makes the number untrue.
    pub(crate) fn status(&self, cell: &ResultFigure) -> String {
        match (cell.std_error == 0.0, self.untrue.as_str()) {
            (false, untrue) => untrue.into(),
            (true, "") => "exact".into(),
            (true, untrue) => format!("exact {untrue}"),
        }
    }

    /// For each cell its node along every axis.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (Vec<usize>, &ResultFigure)> {
        let sizes: Vec<usize> = self.axes.iter().map(|a| a.labels.len()).collect();
        let mut pick = vec![0; sizes.len()];
        self.cells.iter().map(move |cell| {
            let nodes = pick.iter().map(|&node: &u32| node as usize).collect();
            crate::cube::odometer::next(&mut pick, |i| sizes[i]);
            (nodes, cell)
        })
    }

    /// As CSV.
    pub(crate) fn csv(&self) -> String {
        let head: Vec<String> = self.axes.iter().map(|a| field(&a.name)).collect();
        let finished = self.finished.iter().map(|_| FINISHED.to_string());
        let mut out =
            head.into_iter().chain(FIGURES.map(String::from)).chain(finished).collect::<Vec<_>>().join(",");
        out.push_str("\r\n");
        for (i, (nodes, cell)) in self.nodes().enumerate() {
            let labels = self.axes.iter().zip(nodes).map(|(axis, node)| field(&axis.labels[node]));
            let numbers = self.numbers(cell).map(|x| number(x + 0.0));
            let finished = self
                .finished
                .iter()
                .filter_map(|f| f.get(i))
                .map(|n| n.map_or(String::new(), |n| n.to_string()));
            let all = labels.chain(numbers).chain([self.status(cell)]).chain(finished);
            out.push_str(&all.collect::<Vec<_>>().join(","));
            out.push_str("\r\n");
        }
        out
    }
}

/// The shortest text that reads back as the same number.
pub(crate) fn number(x: f64) -> String {
    if x.is_finite() { format!("{x}") } else { String::new() }
}

/// A field of CSV after RFC 4180, as spreadsheets may have it.
pub(crate) fn field(text: &str) -> String {
    csv_field(text).into_owned()
}
