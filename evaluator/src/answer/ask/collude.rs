//! What the recipients of several copies get when they put them together.
//!
//! *Nested* copies: every one was made from the next more precise one, so the most precise of those given says all. Any mean of them
//! is worse: the covariance of two copies' errors is the variance of the more precise one's.
//!
//! *Shifted* copies are independent of each other, so means of them are better than each. And the secret centre of a copy is one number for
//! all of it: who knows one count, or asks for a difference of two, is rid of it. What is left then is the noise alone, and means of that.

use super::several::{fit, one_measuring};
use crate::answer::error::QueryError;
use crate::answer::figure::question::{self, Labels, Question};
use crate::answer::tell::Told;
use crate::answer::tell::open::Answers;
use crate::joint::Noise;
use crate::plan::Mode;
use crate::release::Amount;
use crate::sql::Query;

/// One copy that was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Whose it is.
    pub recipient: String,
    /// What it costs alone.
    pub cost: Amount,
    /// How far down it is: of nested copies each was made from the one before it.
    pub rank: usize,
}

/// What colluders know of one figure of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The row: its labels.
    pub row: Vec<String>,
    /// The standard error of each copy.
    pub each: Vec<f64>,
    /// That of the most precise copy.
    pub best: f64,
    /// That of the plain mean of all.
    pub mean: f64,
    /// The least that any weights of the copies' own estimates give. Weights of the counts that know of the common centre may give less.
    pub least: f64,
    /// The least, once the centres are known, which no linear unbiased estimate is below; the same where there are none.
    pub centred: f64,
}

/// What copies of one measuring give together.
#[derive(Debug, Clone, PartialEq)]
pub struct Collusion {
    /// The release's name.
    pub name: String,
    /// The figure that is asked for.
    pub figure: String,
    /// How the copies hang together.
    pub mode: Mode,
    /// The copies, in the order they were given.
    pub given: Vec<Given>,
    /// How many copies there are in all.
    pub copies: u64,
    /// What all copies cost together.
    pub joint: Amount,
    /// Row by row.
    pub rows: Vec<Known>,
}

/// The variance of a figure's noise in one copy, and of what its centre adds.
type Variances = (f64, f64);

/// What these copies give together, for the first figure of a query; without one for the number of rows.
///
/// # Errors
/// Files that are not copies of one measuring, signed with one key; and figures that are ratios.
pub fn collude(answers: &[Answers], sql: Option<&str>) -> Result<Collusion, QueryError> {
    let refuse = |why: String| Err(QueryError::Together(why));
    let Some(first) = answers.first() else { return refuse("no copy is given".into()) };
    let mut given = Vec::new();
    for (i, a) in answers.iter().enumerate() {
        let (Some(copy), Some(said)) = (a.copy(), &a.release().manifest().recipient) else {
            return refuse(format!("{} is no copy for one of several recipients", a.title()));
        };
        if !one_measuring(first, a) {
            return refuse(format!(
                "{} and {} are copies of different measurings: `margins query` combines releases of the same people",
                first.title(),
                a.title()
            ));
        }
        if answers.iter().take(i).any(|b| b.copy().map(|c| c.own) == Some(copy.own)) {
            return refuse(format!("the copy of {} is given twice", said.name));
        }
        let cost = a.release().manifest().privacy.cost;
        given.push(Given { recipient: said.name.clone(), cost, rank: copy.own });
    }
    fit(answers)?;
    let (Some(copy), Some(said)) = (first.copy(), &first.release().manifest().recipient) else {
        return refuse("no copy is given".into());
    };
    let count = format!("SELECT COUNT(*) FROM {}", first.name());
    let query = first.parse(sql.unwrap_or(&count))?;
    let (figure, rows) = variances(answers, &query)?;
    let ranks: Vec<usize> = answers.iter().map(|a| a.copy().map_or(0, |c| c.own)).collect();
    let rows = rows.into_iter().map(|(row, each)| known(copy.mode, &ranks, row, &each)).collect();
    Ok(Collusion {
        name: first.name().into(),
        figure,
        mode: copy.mode,
        given,
        copies: said.copies,
        joint: said.joint_cost,
        rows,
    })
}

/// The figure's name, and for each row its labels and what each copy's error is made of.
fn variances(
    answers: &[Answers],
    query: &Query,
) -> Result<(String, Vec<(Vec<String>, Vec<Variances>)>), QueryError> {
    let asked = Question::new(query)?;
    let found = query.columns.iter().zip(&asked.figures).find_map(|(c, f)| Some((c, f.as_ref()?)));
    let Some((column, figure)) = found.filter(|(_, f)| !f.is_ratio()) else {
        let why = "what colluders get of a mean or another ratio depends on the counts: ask for a count, a sum or a difference";
        return Err(QueryError::Together(why.into()));
    };
    let weights = figure.weights(asked.aggregates.len()).into_iter().next().unwrap_or_default();
    let Some(first) = answers.first() else { return Ok((String::new(), Vec::new())) };
    let labels = Labels::new(query, first.cube());
    let of = |told: &Told| {
        let mut sum = (0.0, 0.0);
        for (noise, c) in told.law.weighed(&weights) {
            let part = if noise.measurement == Noise::CENTRE { &mut sum.1 } else { &mut sum.0 };
            *part += c * c * noise.copies as f64 * noise.law.variance();
        }
        sum
    };
    let each = answers.iter().map(|a| question::rows(&a, &asked)).collect::<Result<Vec<_>, _>>()?;
    let rows = each.first().into_iter().flatten().enumerate().map(|(at, row)| {
        let labels = labels.row(asked.place(row.portion, &row.told.nodes));
        (labels, each.iter().filter_map(|rows| rows.get(at)).map(|row| of(&row.told)).collect())
    });
    Ok((column.name().into(), rows.collect()))
}

/// `ranks`: how far down each copy is, the most precise first.
fn known(mode: Mode, ranks: &[usize], row: Vec<String>, each: &[Variances]) -> Known {
    let n = each.len() as f64;
    let whole: Vec<f64> = each.iter().map(|(noise, centre)| noise + centre).collect();
    let root = |v: f64| libm::sqrt(v);
    let best = whole.iter().copied().fold(f64::INFINITY, f64::min);
    // Of independent ones the reciprocals add up; one without error leaves none.
    let together = |v: &[f64]| match v.iter().any(|v| *v <= 0.0) {
        true => 0.0,
        false => 1.0 / v.iter().map(|v| 1.0 / v).sum::<f64>(),
    };
    let (mean, least, centred) = match mode {
        Mode::Nested => {
            let pairs = ranks.iter().flat_map(|&a| {
                ranks.iter().zip(&whole).map(move |(&b, &v)| (a, b, v)).filter(|(a, b, _)| a >= b)
            });
            // Each pair's covariance is the variance of the more precise one; pairs of different ones count twice.
            let sum: f64 = pairs.map(|(a, b, v)| if a == b { v } else { 2.0 * v }).sum();
            (sum / (n * n), best, best)
        }
        Mode::Shifted { .. } => {
            let noise: Vec<f64> = each.iter().map(|v| v.0).collect();
            (whole.iter().sum::<f64>() / (n * n), together(&whole), together(&noise))
        }
    };
    Known {
        row,
        each: whole.iter().map(|v| root(*v)).collect(),
        best: root(best),
        mean: root(mean),
        least: root(least),
        centred: root(centred),
    }
}
