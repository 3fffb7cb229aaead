//! The rows of an answer: each figure with what was asked for beside it; which of them are shown, and in which order (HAVING, ORDER BY,
//! OFFSET, LIMIT); and figures as ROUND shows them.

use super::notes::{Notes, contributions};
use super::options::Options;
use crate::answer::decorate::posterior::{CountPrior, Posteriors};
use crate::answer::error::QueryError;
use crate::answer::figure::question::{Labels, Question, Row};
use crate::answer::figure::{Answered, Basis, ErrorOf, Figure, Pairs};
use crate::answer::tell::Told;
use crate::answer::tell::open::Answers;
use crate::joint::{How, MaxZ};
use crate::law::Method;
use crate::render::{ColumnKind, Cuts, ResultCell, ResultColumn, ResultFigure};
use crate::sql::{Query, SelectColumn};

/// What all rows are made with, and what was seen on the way.
pub(super) struct RowBuilder<'a> {
    pub asked: &'a Question<'a>,
    pub labels: Labels<'a>,
    pub options: &'a Options,
    pub how: How,
    pub prior: Option<CountPrior>,
    pub max_z: Option<MaxZ>,
    pub pairs: Pairs,
    pub posteriors: Posteriors,
    /// Where classes of reliability end.
    pub cuts: Cuts,
    /// Whether each release alone tells all rows.
    pub each: bool,
    /// For each column.
    pub met: Vec<Met>,
}

impl RowBuilder<'_> {
    /// The columns, and which of them say what people call codes.
    pub(super) fn columns(&self) -> Result<(Vec<ResultColumn>, Vec<usize>), QueryError> {
        let several = self.asked.figures.iter().flatten().count() > 1;
        let names: Vec<&str> = self.asked.query.columns.iter().map(SelectColumn::name).collect();
        let (mut columns, mut beside_codes) = (Vec::new(), Vec::new());
        for (i, (column, figure)) in self.asked.query.columns.iter().zip(&self.asked.figures).enumerate() {
            let name = column.name();
            let own = self.labels.columns(i, self.options.naming);
            beside_codes.extend((1..own.len()).map(|beside| columns.len() + beside));
            columns.extend(own.into_iter().map(|(name, kind)| ResultColumn { name, kind }));
            let Some(figure) = figure else { continue };
            let mut beside = |what: &str, kind| {
                let short = if several { format!("{name}_{what}") } else { what.into() };
                let name = if names.contains(&short.as_str()) { format!("{short}_") } else { short };
                columns.push(ResultColumn { name, kind });
            };
            if self.prior.is_some() {
                if !figure.is_count() {
                    return Err(QueryError::NotACount(name.into()));
                }
                beside("posterior", ColumnKind::Figure);
                beside("median", ColumnKind::Number);
            }
            if self.options.prob.is_some() {
                beside("prob", ColumnKind::Number);
            }
            if self.options.test.is_some() {
                beside("p_value", ColumnKind::Number);
            }
            if self.options.reliability {
                beside("cv", ColumnKind::Number);
                beside("reliability", ColumnKind::Text);
            }
        }
        Ok((columns, beside_codes))
    }

    /// One row; `places` has for each column that is a place what it is sorted by, and what is shown.
    pub(super) fn row(
        &mut self,
        row: &Row,
        places: &[Option<&(f64, ResultCell)>],
        notes: &mut Notes,
    ) -> Result<Sortable, QueryError> {
        let asked = self.asked;
        let (place, told) = (asked.place(row.portion, &row.told.nodes), &row.told);
        self.each &= told.each;
        let (mut cells, mut keys) = (Vec::new(), Vec::with_capacity(asked.figures.len()));
        for (i, figure) in asked.figures.iter().enumerate() {
            if let Some(Some(quantile)) = asked.quantiles.get(i) {
                let shown = quantile.of(told, &self.how)?;
                keys.push(shown.estimate);
                cells.push(ResultCell::Figure(shown));
                continue;
            }
            if let Some(Some((key, cell))) = places.get(i) {
                keys.push(*key);
                cells.push(cell.clone());
                continue;
            }
            let Some(figure) = figure else {
                keys.push(self.labels.rank(i, place));
                cells.extend(self.labels.cells(i, place, self.options.naming));
                continue;
            };
            if asked.is_null(row.portion, figure) {
                keys.push(f64::NAN);
                cells.extend(self.nothing());
                continue;
            }
            let answered = match self.max_z.filter(|_| !figure.is_ratio()) {
                // The simulated errors are those of the best estimates.
                Some(z) => {
                    let mut answered = figure.best(told, &self.how)?;
                    figure.reaching(&mut answered, z.critical);
                    answered
                }
                None => figure.answer(i, told, &self.how, &mut self.pairs)?,
            };
            let figure_shown = rounded(asked.query, i, answered.shown());
            keys.push(figure_shown.estimate);
            self.met[i].saw(figure, told, &answered);
            cells.push(ResultCell::Figure(figure_shown));
            self.beside(figure, &answered, told, notes, &mut cells)?;
            if self.options.reliability {
                cells.push(ResultCell::Number(figure_shown.cv()));
                cells.push(ResultCell::Label(self.cuts.class(&figure_shown).into()));
            }
        }
        Ok(Sortable { keys, cells })
    }

    /// A figure that is NULL, with what would stand beside it.
    fn nothing(&self) -> Vec<ResultCell> {
        let (figure, number) = (ResultCell::Figure(ResultFigure::NULL), ResultCell::Number(f64::NAN));
        let mut cells = vec![figure.clone()];
        if self.prior.is_some() {
            cells.extend([figure, number.clone()]);
        }
        let beside = usize::from(self.options.prob.is_some()) + usize::from(self.options.test.is_some());
        cells.extend(vec![number.clone(); beside]);
        if self.options.reliability {
            cells.extend([number, ResultCell::Label(String::new())]);
        }
        cells
    }

    /// The posterior of a figure, its probability and its p-value, where asked for.
    fn beside(
        &mut self,
        figure: &Figure,
        answered: &Answered,
        told: &Told,
        notes: &mut Notes,
        cells: &mut Vec<ResultCell>,
    ) -> Result<(), QueryError> {
        let posterior =
            self.prior.map(|prior| self.posteriors.of(answered, figure, told, prior)).transpose()?;
        if let Some(p) = &posterior {
            if p.is_rough() {
                notes.add(
                    "posterior: the law of the error is too dear to compute everywhere; where it is, a bound stands in \
                     its place, and the posterior is approximate."
                        .to_string(),
                );
            }
            let (low, high) = p.interval(self.options.level, self.options.interval);
            cells.push(ResultCell::Figure(ResultFigure {
                estimate: p.mean(),
                std_error: p.std_dev(),
                low: low as f64,
                high: high as f64,
            }));
            cells.push(ResultCell::Number(p.median() as f64));
        }
        if let Some(statement) = &self.options.prob {
            cells.push(ResultCell::Number(match &posterior {
                Some(p) => statement.posterior(p),
                None => statement.probability(answered)?,
            }));
        }
        if let Some(null) = self.options.test {
            cells.push(ResultCell::Number(answered.p_value(null)?));
        }
        Ok(())
    }

    /// How each figure's interval was found, with what is to be said of it.
    pub(crate) fn methods(&self, releases: &[&Answers], notes: &mut Notes) -> Vec<(String, String)> {
        let mut methods = Vec::new();
        for ((column, figure), met) in self.asked.query.columns.iter().zip(&self.asked.figures).zip(&self.met)
        {
            let Some(figure) = figure else { continue };
            let method = match self.max_z {
                Some(_) if !figure.is_ratio() => {
                    "simultaneous: the simulated law of the largest error".into()
                }
                _ => met.method(figure),
            };
            methods.push((column.name().into(), method));
            met.notes(column.name(), figure, self.options, notes);
            let several = releases.len() > 1 && self.each;
            if let Some(shares) = met.shares.as_ref().filter(|s| several && !s.is_empty()) {
                notes.add(contributions(column.name(), releases, shares));
            }
        }
        if !self.each {
            let n = releases.len();
            notes
                .add(format!("{n} releases taken together: the best combination of all that they measured."));
        }
        methods
    }
}

/// What was seen of a figure over all rows.
#[derive(Default, Clone)]
pub(super) struct Met {
    unbounded: bool,
    method: Option<&'static str>,
    /// Of a projection's figures.
    laws: Vec<&'static str>,
    shares: Option<Vec<f64>>,
}

impl Met {
    fn saw(&mut self, figure: &Figure, told: &Told, answered: &Answered) {
        self.unbounded |= answered.basis == Basis::Unbounded;
        self.shares.get_or_insert_with(|| told.shares(&figure.slopes(told, answered.way), answered.way));
        if let Basis::Cells(law) = answered.basis
            && !self.laws.contains(&law)
        {
            self.laws.push(law);
        }
        if self.method.is_none()
            && let ErrorOf::Linear(solved) = &answered.error
            && !solved.law.terms().is_empty()
        {
            self.method = Some(solved.method);
        }
    }

    fn method(&self, figure: &Figure) -> String {
        if !self.laws.is_empty() {
            return self.laws.join("; or ");
        }
        if figure.is_curved() {
            return "made of several figures: an interval from where all of them are together, which covers at least as often as stated; \
                    std error by the delta method"
                .into();
        }
        let method = match (figure.is_ratio(), self.unbounded) {
            (false, _) => self.method.unwrap_or("no noise: the answer is exact"),
            (true, false) => "ratio: Fieller interval; std error by the delta method",
            (true, true) => {
                "ratio: Fieller interval, unbounded where the denominator's interval includes 0; \
                 std error by the delta method"
            }
        };
        method.into()
    }

    fn notes(&self, name: &str, figure: &Figure, options: &Options, notes: &mut Notes) {
        if !self.laws.is_empty() {
            return;
        }
        if figure.is_curved() {
            notes.add(format!(
                "{name}: made of several figures; its interval covers at least as often as stated, its standard error is the delta method's."
            ));
            if self.unbounded {
                notes.add(format!("{name}: unbounded where a number below a line may be 0."));
            }
        } else if figure.is_ratio() {
            notes.add(format!(
                "{name}: a ratio; Fieller's interval (exact at the stated level), standard error by the delta method."
            ));
            if self.unbounded {
                notes.add(format!(
                    "{name}: unbounded where the interval of the number below the line includes 0."
                ));
            }
            if options.prob.is_some() {
                notes.add(format!("{name}: its probability takes the number below the line to be positive."));
            }
        } else if options.method != Method::Auto
            && let Some(method) = self.method
        {
            notes.add(format!("{name}: {method}."));
        }
    }
}

/// A row with what it is sorted by.
pub(super) struct Sortable {
    /// For each column of SELECT its estimate, or where its label stands among those of its level.
    pub keys: Vec<f64>,
    pub cells: Vec<ResultCell>,
}

/// What is said of rows that others are left out behind, in the order of their estimates.
pub(super) const CHOSEN: &str = "LIMIT: rows are chosen by their noisy estimates, so chance decides on those near the last, and the intervals of rows that were \
     chosen for being first cover less often than stated, unless --joint widens them.";

/// The rows that are shown.
pub(super) fn kept(query: &Query, rows: Vec<Sortable>, notes: &mut Notes) -> Vec<Vec<ResultCell>> {
    if query.having.is_some() {
        notes.add(
            "HAVING: rows are kept by their noisy estimates, so chance decides on those near the bound, and the intervals of rows \
             that were kept for being far out cover less often than stated, unless --joint widens them."
                .into(),
        );
    }
    if query.chooses(rows.len()) {
        notes.add(CHOSEN.into());
    }
    for &(column, decimals) in &query.rounded {
        let name = query.columns.get(column).map_or("", SelectColumn::name);
        let to = match decimals {
            0 => "whole numbers".to_owned(),
            1 => "1 decimal".to_owned(),
            2.. => format!("{decimals} decimals"),
            _ => format!("multiples of {}", libm::pow(10.0, f64::from(-decimals))),
        };
        notes.add(format!("{name}: the estimate is rounded to {to}, its interval outwards."));
    }
    query.shown(rows.into_iter().map(|row| (row.keys, row.cells)).collect())
}

/// A figure of a column as ROUND shows it: the estimate to the nearest, the ends of the interval outwards.
pub(super) fn rounded(query: &Query, column: usize, figure: ResultFigure) -> ResultFigure {
    ResultFigure {
        estimate: query.round(column, figure.estimate, libm::round),
        low: query.round(column, figure.low, libm::floor),
        high: query.round(column, figure.high, libm::ceil),
        ..figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cube::Filter;

    #[test]
    fn intervals_are_rounded_outwards() {
        let query = |decimals| Query {
            columns: vec![SelectColumn::Count { name: "n".into() }],
            group_by: Vec::new(),
            sets: Vec::new(),
            filter: Filter::everything(),
            aggregates: Vec::new(),
            order_by: Vec::new(),
            having: None,
            limit: None,
            offset: 0,
            rounded: vec![(0, decimals)],
            from: String::new(),
            left_out: Vec::new(),
            bands: Vec::new(),
            named: Default::default(),
        };
        let figure = ResultFigure { estimate: 1234.56, std_error: 1.5, low: 1231.01, high: f64::INFINITY };
        let to = |decimals| rounded(&query(decimals), 0, figure);
        assert_eq!((to(1).estimate, to(1).low, to(1).high), (1234.6, 1231.0, f64::INFINITY));
        assert_eq!((to(-2).estimate, to(-2).low, to(-2).std_error), (1200.0, 1200.0, 1.5));
        assert_eq!(rounded(&query(0), 1, figure), figure);
        // What is exact stays so, whatever a double makes of a hundredth of it; and there is one zero.
        for count in 0..2000 {
            let x = f64::from(count) * 0.01;
            let shown = rounded(&query(2), 0, ResultFigure { estimate: x, std_error: 0.0, low: x, high: x });
            assert_eq!((shown.low, shown.high), (shown.estimate, shown.estimate), "{count}");
        }
        let none = ResultFigure { estimate: -0.4, std_error: 0.1, low: -0.7, high: -0.2 };
        assert_eq!(rounded(&query(0), 0, none).estimate.to_bits(), 0.0f64.to_bits());
    }
}
