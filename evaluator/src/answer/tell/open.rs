//! A release opened for questions.

use super::channels::Channels;
use super::tables::Evaluator;
use crate::answer::error::QueryError;
use crate::cube::{Cube, Dimension, Filter, Quantity};
use crate::joint::JointLaw;
use crate::memo::Memo;
use crate::plan::cost;
use crate::plan::{Copy, Plan, Subject};
use crate::recover::{Recovery, Source};
use crate::release::claims::exact_sums;
use crate::release::room::Framed;
use crate::release::values::Values;
use crate::release::{Dataset, Kind, Release};
use crate::render::Caveat;
use crate::sql::{Aggregate, Query, quote_names};
use std::path::Path;
use std::sync::Arc;

/// A noisy number, and the law of its error.
pub(crate) type Noisy = (f64, Arc<JointLaw>);

/// A release whose signature over the manifest has been checked, ready for questions. Each section's hash is
/// checked when a question first needs it.
pub struct Answers {
    evaluator: Evaluator<Values>,
    name: String,
    /// For each table of a workload the largest variance that was looked at.
    pub(crate) looked: Memo<usize, Option<f64>>,
    /// How many units had more rows than count: the noisy number, and the law of its error.
    cut: Option<Noisy>,
    /// Of each number whose ends were watched how many rows were moved to the low and to the high one.
    moved: Vec<(Arc<Quantity>, [Noisy; 2])>,
    /// The dimensions whose values beyond their ends were counted at these.
    ends: Vec<Caveat>,
    /// Sums of numbers.
    channels: Channels,
    /// The dimension of the areas that questions are about, and what readers are told of these.
    areas: Option<(usize, String)>,
}

impl Answers {
    /// Opens a release file.
    pub fn open(path: impl AsRef<Path>) -> Result<Answers, QueryError> {
        Answers::from_release(Release::open(path)?)
    }

    /// From a release that is already open.
    pub fn from_release(release: Release) -> Result<Answers, QueryError> {
        Answers::kept_in(release, None)
    }

    /// The same; what an answer goes through the whole release for is kept in this folder, and taken from there the next time:
    /// see [`crate::release::kept`]. Answers are the same to the last bit.
    pub fn kept_in(release: Release, folder: Option<&Path>) -> Result<Answers, QueryError> {
        let name = release.manifest().about.name.clone();
        if release.count(Kind::Projection) > 0 {
            return Err(QueryError::Projection(name));
        }
        let cube = Arc::new(release.cube()?);
        let Framed { plan, frame, layout } = release.framed(&cube)?;
        let frame = Arc::new(frame);
        // A plan whose arithmetic does not fit is refused here, before anything is computed from it.
        cost::check(&plan, &frame)?;
        let mut values = Values::laid_out(release, cube.clone(), &plan, (frame.clone(), layout))?;
        values.check_exact_sums()?;
        let cut = in_all(&Subject::CutUnits, &cube, &plan, &values)?;
        let moved = moved(&cube, &plan, &values)?;
        let read = |i| Ok::<_, QueryError>(values.values(i).map_err(crate::recover::RecoverError::from)?);
        let channels = Channels::new(&cube, &plan, read, |subject| values.exact_of(subject))?;
        if let Some(folder) = folder {
            values = values.kept_in(folder)?;
        }
        let first = plan.numbers(&Subject::Rows).start;
        let plan = (plan.alone(&Subject::Rows), first);
        let evaluator = Evaluator::new(Recovery::over(frame, &Subject::Rows, cube, plan, values)?);
        Ok(Answers {
            evaluator,
            name,
            looked: Memo::default(),
            cut,
            moved,
            ends: Vec::new(),
            channels,
            areas: None,
        })
    }

    /// The same where values of these dimensions beyond their ends were counted at the ends: `clamp = true` in the sealed spec, which who opens the
    /// release reads or not.
    pub fn with_ends(mut self, dimensions: &[String]) -> Answers {
        self.ends = ends(self.cube(), dimensions);
        self
    }

    /// What is to be said of these.
    pub(crate) fn ends(&self) -> &[Caveat] {
        &self.ends
    }

    /// Whether every question is about some categories of this dimension alone.
    pub(crate) fn is_among(&self, dimension: usize) -> bool {
        self.areas.as_ref().is_some_and(|(at, _)| *at == dimension)
    }

    /// The file behind the answers.
    pub fn release(&self) -> &Release {
        self.evaluator.recovery().source().release()
    }

    /// Why nothing was kept in the folder of [`Answers::kept_in`], where it should have been.
    pub fn not_kept(&self) -> Option<String> {
        self.evaluator.recovery().source().not_kept()
    }

    /// The release's name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The release's name with the start of its manifest's hash, to tell releases of one name apart.
    pub fn title(&self) -> String {
        let hash = blake3::hash(self.release().manifest_bytes()).to_hex();
        format!("{} ({})", self.name, &hash[..8])
    }

    /// What readers are told of a release with tables published without noise.
    pub(crate) fn exact_note(&self) -> Option<String> {
        const NAMED: usize = 5;
        let exact = &self.evaluator.recovery().plan().exact;
        let sums = self.channels.exact_sums();
        let sums = sums.iter().map(|(q, e)| exact_sums(q, &self.cube().describe(e)));
        let mut tables: Vec<String> = exact.iter().map(|e| self.cube().describe(e)).chain(sums).collect();
        if tables.len() > NAMED {
            let more = tables.split_off(NAMED).len();
            tables.push(format!("{more} more"));
        }
        let (name, tables) = (&self.name, tables.join("; "));
        (!exact.is_empty()).then(|| {
            format!("{name} publishes WITHOUT NOISE: {tables}. The rest is protected beyond what these tell.")
        })
    }

    /// What readers are told wherever numbers of this release are shown.
    pub fn told(&self) -> impl Iterator<Item = String> {
        [self.areas.clone().map(|(_, told)| told), self.exact_note(), self.centre_note()]
            .into_iter()
            .flatten()
    }

    /// Which copy of a measuring with several recipients it is, if it is one.
    pub fn copy(&self) -> Option<&Copy> {
        self.evaluator.recovery().plan().copy.as_deref()
    }

    /// What readers are told of a copy whose numbers are shifted by a secret centre.
    pub(crate) fn centre_note(&self) -> Option<String> {
        let centres = self.evaluator.recovery().plan().centres()?;
        let allowed = match centres.mean {
            0 => "intervals allow for it".to_owned(),
            mean => format!("estimates take off its mean, {mean}, and intervals allow for the rest"),
        };
        let name = &self.name;
        Some(match self.channels.quantities().is_empty() {
            true => format!(
                "{name} is shifted by a secret whole number, the same for all its integers, uniform on {centres}: {allowed}."
            ),
            false => format!(
                "The counts of {name} are shifted by a secret whole number, the same for all of them, uniform on {centres}: {allowed}."
            ),
        })
    }

    /// Of whom the counts are, if the release says it.
    pub fn dataset(&self) -> Option<&Dataset> {
        self.release().manifest().dataset.as_ref()
    }

    /// Where rows beyond a bound were left out: whose rows, and how many of each count.
    pub(crate) fn bound(&self) -> Option<(&str, u32)> {
        self.release().manifest().privacy.bound()
    }

    /// How many units had more rows than count, where that was measured, and the law of its error.
    pub(crate) fn cut(&self) -> Option<&Noisy> {
        self.cut.as_ref()
    }

    /// How many rows were moved to the low and to the high end of a number, where that was measured.
    pub(crate) fn moved_of(&self, quantity: &Quantity) -> Option<&[Noisy; 2]> {
        self.moved.iter().find(|(of, _)| of.is_alike(quantity)).map(|(_, ends)| ends)
    }

    /// Sums of numbers, beside rows.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// The dimensions.
    pub fn cube(&self) -> &Cube {
        self.evaluator.cube()
    }

    /// From now on questions are put in the terms of this cube, which is the release's own but for groups of a reader's own.
    pub(crate) fn put_in(&mut self, cube: Cube, areas: (usize, String)) {
        let cube = Arc::new(cube);
        self.channels.put_in(&cube);
        self.evaluator.put_in(cube);
        self.areas = Some(areas);
    }

    /// Linear queries, one level below SQL.
    pub fn evaluator(&self) -> &Evaluator<Values> {
        &self.evaluator
    }

    /// Reads a query and checks that it is for this release.
    pub fn parse(&self, sql: &str) -> Result<Query, QueryError> {
        let query = self.read(sql, &[])?;
        if !query.from.eq_ignore_ascii_case(&self.name) {
            return Err(QueryError::From(self.name.clone(), query.from));
        }
        Ok(query)
    }

    /// Reads a query, whatever release it names; `releases` are further names that need no quotes.
    pub(crate) fn read(&self, sql: &str, releases: &[&str]) -> Result<Query, QueryError> {
        let own =
            self.cube().dimensions.iter().flat_map(|d| &d.districts).map(|own| own.groups.name.as_str());
        let dimensions = self.cube().dimensions.iter().map(|d| d.name.as_str()).chain(own);
        let names = dimensions.chain([self.name.as_str()]).chain(releases.iter().copied());
        let quantities = self.channels.quantities();
        let names: Vec<&str> = names.chain(quantities.iter().map(|q| q.name.as_str())).collect();
        Ok(Query::with_quantities(&quote_names(sql, &names), self.cube(), &quantities)?)
    }
}

/// What is measured of a subject that has no cells: one number.
fn in_all(
    subject: &Subject,
    cube: &Arc<Cube>,
    plan: &Plan,
    values: &Values,
) -> Result<Option<Noisy>, QueryError> {
    if plan.channel(subject).is_none() {
        return Ok(None);
    }
    let evaluator = Evaluator::new(Recovery::of(subject, cube.clone(), plan.clone(), values)?);
    let all = Aggregate::rows(Filter::everything(), None);
    let told = evaluator.joint(&[all], &[])?;
    Ok(told.into_iter().next().and_then(|g| Some((*g.estimates.first()?, g.law))))
}

/// How many rows were moved to the ends of each number, where that was measured.
fn moved(
    cube: &Arc<Cube>,
    plan: &Plan,
    values: &Values,
) -> Result<Vec<(Arc<Quantity>, [Noisy; 2])>, QueryError> {
    let mut out = Vec::new();
    for (quantity, _) in plan.summed() {
        let below = in_all(&Subject::Below(quantity.clone()), cube, plan, values)?;
        let above = in_all(&Subject::Above(quantity.clone()), cube, plan, values)?;
        out.extend(below.zip(above).map(|(below, above)| (quantity.clone(), [below, above])));
    }
    Ok(out)
}

/// What is to be said of dimensions whose values beyond their ends were counted at these.
pub(crate) fn ends(cube: &Cube, dimensions: &[String]) -> Vec<Caveat> {
    let named = |d: &&Dimension| dimensions.contains(&d.name);
    let of = |d: &Dimension| {
        let within = d.levels.last()?.within()?;
        Some(Caveat::Ends { dimension: d.name.clone(), within, period: None })
    };
    cube.dimensions.iter().filter(named).filter_map(of).collect()
}
