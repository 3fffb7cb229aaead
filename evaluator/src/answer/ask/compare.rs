//! One question to releases of the same people at different times: each figure of every period, and how it changed.
//!
//! The people of two years are not the same dataset twice: a mean of both years' counts estimates neither. So nothing is
//! averaged over periods. Each period's releases are combined among themselves, and every later period is compared with the
//! first one that was given: by the difference, and by the change in percent.
//!
//! **Guarantee.** Each interval by itself covers with at least the level. **Proof.** The releases' noises are independent, so the
//! joint law of two periods' errors is the product of theirs. The difference of a linear figure is linear: its interval comes from the
//! exact law of its error. The change in percent is the ratio `100 (b − a)/a` of two linear figures that share the error of
//! `a`: Fieller's interval, from their joint law (see [`crate::answer::figure`]). A figure that is itself a ratio (a share, an average)
//! has no linear difference: both periods' Fieller intervals at level `1 − (1 − p)/2` hold together with probability `p` at least
//! (Bonferroni), and then the change lies between the extremes of what they allow. That is wider than it need be, and never too narrow.
//! **Source.** Fieller 1954 for the ratio; Bonferroni's inequality for the rest.

use super::notes::{Notes, contributions, quantities, untrue};
use super::options::Options;
use super::rows::{Sortable, kept};
use crate::answer::decorate::simultaneous::Simultaneous;
use crate::answer::error::QueryError;
use crate::answer::figure::question::{self, Labels, Question, Row};
use crate::answer::figure::{Answered, Changes, Figure, Pairs, of_ratios};
use crate::answer::tell::{Teller, Told};
use crate::joint::How;
use crate::render::{Caveat, ColumnKind, ResultCell, ResultColumn, ResultFigure, ResultTable, Together};
use crate::sql::{Query, SelectColumn};

const PERCENT: &str = "ratio: Fieller interval; std error by the delta method";
const DIFFERENCE: &str = "exact law of the difference of independent errors";
const RATIOS: &str =
    "both periods' Fieller intervals together (Bonferroni), conservative; std error by the delta method";

/// The releases of one period.
pub(super) struct Party<'a> {
    /// Its name, where several are compared.
    pub period: Option<String>,
    /// Who tells what they know.
    pub teller: Box<dyn Teller + 'a>,
    /// The query as they understand it.
    pub query: Query,
}

/// The answer of releases of several periods.
pub(super) fn compare(parties: &[Party<'_>], options: &Options) -> Result<ResultTable, QueryError> {
    let Some(first) = parties.first() else { return Ok(ResultTable::default()) };
    let each = parties.iter().map(|p| Question::new(&p.query)).collect::<Result<Vec<_>, _>>()?;
    let Some(asked) = each.first() else { return Ok(ResultTable::default()) };
    refuse(asked, options)?;
    asked.without_curved()?;
    let (query, cube) = (asked.query, first.teller.cube());
    let mut table = ResultTable::new(Vec::new(), Vec::new(), options.level);
    for (party, asked) in parties.iter().zip(&each) {
        let all = untrue(&*party.teller, asked, options, party.period.as_deref())?;
        let new: Vec<Caveat> = all.into_iter().filter(|c| !table.caveats.contains(c)).collect();
        table.caveats.extend(new);
    }
    let told = parties.iter().zip(&each).map(|(p, asked)| question::rows(&*p.teller, asked));
    let told = told.collect::<Result<Vec<Vec<Row>>, _>>()?;
    let rows: Vec<Vec<&Row>> = (0..told.first().map_or(0, Vec::len))
        .map(|at| told.iter().filter_map(|rows| rows.get(at)).collect())
        .collect();

    if query.having.is_some() || !query.rounded.is_empty() {
        return Err(QueryError::Compared("HAVING and ROUND are about one figure a row"));
    }
    let mut notes = Notes::default();
    let periods: Vec<&str> = parties.iter().filter_map(|p| p.period.as_deref()).collect();
    let dataset = first.teller.releases().first().and_then(|r| r.dataset().map(|d| d.id.clone()));
    if let ([base, later @ ..], Some(dataset)) = (&periods[..], dataset) {
        notes.add(format!(
            "Dataset {dataset}: {} against {base}, never averaged; the noise of two releases is independent.",
            later.join(", ")
        ));
    }
    let mut how = How { level: options.level, method: options.method, interval: options.interval };
    table.together = together(asked, parties.len(), rows.len(), options);
    if let Some(together) = &table.together {
        notes.add(together.note(options.level));
        how.level = together.each;
    }
    let labels = Labels::new(query, cube);
    let mut columns = Columns { table: &mut table, several: parties.len() > 2 };
    for (i, (column, figure)) in query.columns.iter().zip(&asked.figures).enumerate() {
        match figure {
            None => {
                for (beside, (name, kind)) in labels.columns(i, options.naming).into_iter().enumerate() {
                    columns.add(name, kind, None);
                    let label = columns.table.columns.len() - 1;
                    columns.table.labels.extend((beside > 0).then_some(label));
                }
            }
            Some(figure) => columns.figure(column.name(), figure.is_ratio(), &periods, options),
        }
    }
    let (pairs, changes) = (Pairs::default(), Changes::default());
    let mut changing = Changing { parties, asked, labels, options, how, pairs, changes };
    let mut out: Vec<Sortable> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        // Who contributes how much is told of the first row.
        out.push(changing.row(row, (at == 0).then_some(&mut notes))?);
    }
    table.rows = kept(query, out, &mut notes);
    for (column, _) in
        query.columns.iter().zip(&asked.figures).filter(|(_, f)| f.as_ref().is_some_and(Figure::is_ratio))
    {
        notes.add(format!(
            "{}: a ratio; its change is between the extremes of both periods' intervals, wider than it need be.",
            SelectColumn::name(column)
        ));
    }
    let releases: Vec<_> = parties.iter().flat_map(|p| p.teller.releases()).collect();
    releases.iter().flat_map(|r| r.told()).for_each(|note| notes.add(note));
    quantities(&releases, asked).iter().for_each(|q| notes.add(q.note()));
    table.notes = notes.0;
    Ok(table)
}

/// What is not said of several periods.
fn refuse(asked: &Question, options: &Options) -> Result<(), QueryError> {
    if !(options.level > 0.0 && options.level < 1.0) {
        return Err(QueryError::Level(options.level));
    }
    if options.prior.is_some() {
        return Err(QueryError::Compared("a prior speaks of one count"));
    }
    if options.reliability {
        return Err(QueryError::Compared("--reliability is of the figures of one period"));
    }
    if options.joint == Some(Simultaneous::MaxZ) {
        return Err(QueryError::Compared(
            "the largest error is simulated of one period only (--joint=bonferroni)",
        ));
    }
    if (options.prob.is_some() || options.test.is_some())
        && asked.figures.iter().flatten().any(Figure::is_ratio)
    {
        return Err(QueryError::Compared("the change of a ratio has no exact law for --prob and --test"));
    }
    Ok(())
}

/// How all intervals cover together, where that is asked and there are several: every figure of every period, and two changes
/// of each later one.
fn together(asked: &Question, parties: usize, rows: usize, options: &Options) -> Option<Together> {
    options.joint?;
    let intervals = rows * asked.figures.iter().flatten().count() * (3 * parties - 2);
    let each = 1.0 - (1.0 - options.level) / intervals as f64;
    let steps = false;
    (intervals > 1).then_some(Together { intervals, each, max_z: None, ratios: true, steps, refused: None })
}

/// What all rows are made with.
struct Changing<'a> {
    parties: &'a [Party<'a>],
    asked: &'a Question<'a>,
    labels: Labels<'a>,
    options: &'a Options,
    how: How,
    pairs: Pairs,
    changes: Changes,
}

impl Changing<'_> {
    /// One row, from what is told of it in each period.
    fn row(&mut self, rows: &[&Row], mut noted: Option<&mut Notes>) -> Result<Sortable, QueryError> {
        let asked = self.asked;
        let (mut cells, mut keys) = (Vec::new(), Vec::with_capacity(asked.figures.len()));
        let Some((first, later)) = rows.split_first() else { return Ok(Sortable { keys, cells }) };
        let place = asked.place(first.portion, &first.told.nodes);
        for (i, (column, figure)) in asked.query.columns.iter().zip(&asked.figures).enumerate() {
            let Some(figure) = figure else {
                keys.push(self.labels.rank(i, place));
                cells.extend(self.labels.cells(i, place, self.options.naming));
                continue;
            };
            if asked.is_null(first.portion, figure) {
                keys.push(f64::NAN);
                let beside =
                    usize::from(self.options.prob.is_some()) + usize::from(self.options.test.is_some());
                let [null, nan] = [ResultCell::Figure(ResultFigure::NULL), ResultCell::Number(f64::NAN)];
                cells.extend(vec![null.clone(); rows.len()]);
                for _ in later {
                    cells.push(null.clone());
                    cells.extend(vec![nan.clone(); beside]);
                    cells.push(null.clone());
                }
                continue;
            }
            let answered: Vec<Answered> = rows
                .iter()
                .map(|row| figure.answer(i, &row.told, &self.how, &mut self.pairs))
                .collect::<Result<_, _>>()?;
            if let Some(notes) = &mut noted {
                for ((party, row), answered) in self.parties.iter().zip(rows).zip(&answered) {
                    let releases = party.teller.releases();
                    if releases.len() < 2 {
                        continue;
                    }
                    let name =
                        format!("{} in {}", column.name(), party.period.as_deref().unwrap_or_default());
                    let shares = row.told.shares(&figure.slopes(&row.told, answered.way), answered.way);
                    notes.add(contributions(&name, &releases, &shares));
                }
            }
            keys.push(answered.first().map_or(0.0, |a| a.estimate));
            cells.extend(answered.iter().map(|a| ResultCell::Figure(a.shown())));
            for after in later {
                self.change(i, figure, &first.told, &after.told, &mut cells)?;
            }
        }
        Ok(Sortable { keys, cells })
    }

    /// How a figure changed from one period to another.
    fn change(
        &mut self,
        i: usize,
        figure: &Figure,
        first: &Told,
        after: &Told,
        cells: &mut Vec<ResultCell>,
    ) -> Result<(), QueryError> {
        let (how, pairs) = (&self.how, &mut self.pairs);
        if figure.is_ratio() {
            let both = How { level: 1.0 - (1.0 - how.level) / 2.0, ..*how };
            let a = figure.answer(i, first, &both, pairs)?;
            let b = figure.answer(i, after, &both, pairs)?;
            cells.extend(of_ratios(&a, &b).map(ResultCell::Figure));
            return Ok(());
        }
        let (a, b) = (figure.part(i, first, pairs), figure.part(i, after, pairs));
        let change = self.changes.of(&a, &b);
        let difference = figure.difference(&change, how)?;
        cells.push(ResultCell::Figure(difference.shown()));
        if let Some(statement) = &self.options.prob {
            cells.push(ResultCell::Number(statement.probability(&difference)?));
        }
        if let Some(null) = self.options.test {
            cells.push(ResultCell::Number(difference.p_value(null)?));
        }
        cells.push(ResultCell::Figure(change.percent(how)?.shown()));
        Ok(())
    }
}

/// Names of columns, each once.
struct Columns<'a> {
    table: &'a mut ResultTable,
    /// Whether a change must say of which period.
    several: bool,
}

impl Columns<'_> {
    fn add(&mut self, mut name: String, kind: ColumnKind, method: Option<&str>) {
        while self.table.columns.iter().any(|c| c.name == name) {
            name.push('_');
        }
        self.table.methods.extend(method.map(|m| (name.clone(), m.to_owned())));
        self.table.columns.push(ResultColumn { name, kind });
    }

    /// A figure of every period, and its changes.
    fn figure(&mut self, name: &str, ratio: bool, periods: &[&str], options: &Options) {
        use ColumnKind::{Figure, Number};
        for period in periods {
            let method = if ratio { PERCENT } else { "the figure's own error law" };
            self.add(format!("{name}_{period}"), Figure, Some(method));
        }
        for period in periods.iter().skip(1) {
            let of = if self.several { format!("_{period}") } else { String::new() };
            let (difference, percent) = if ratio { (RATIOS, RATIOS) } else { (DIFFERENCE, PERCENT) };
            self.add(format!("{name}_change{of}"), Figure, Some(difference));
            if options.prob.is_some() {
                self.add(format!("{name}_prob{of}"), Number, None);
            }
            if options.test.is_some() {
                self.add(format!("{name}_p_value{of}"), Number, None);
            }
            self.add(format!("{name}_percent{of}"), Figure, Some(percent));
        }
    }
}
