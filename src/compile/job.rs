//! What is made of a spec: tables or a projection, with what a release of either needs at every stage.
//!
//! A [`Job`] is decided before data is seen. A [`Draft`] is a job about to be written: its file up to the integers. What one kind
//! does otherwise than the other is in [`super::tables`] and [`super::projection`], and asked for here.

use super::effort::{self, Effort};
use super::projection::{Designed, Sums, design};
use super::statement::{self, Dialect};
use super::tables::Tables;
use super::{Charge, CompileError};
use crate::audit;
use crate::exact::Rational;
use crate::ledger::{self, Receipt};
use crate::plan::Plan;
use crate::planner::{Choice, Look};
use crate::projection::Seed;
use crate::recover::Recovery;
use crate::release::{
    Account, Amount, Approximate, Currency, Kind, ManifestInput, Release, SealError, SigningKey, Writer,
    claims, file_name, texts, wire,
};
use crate::secret::count::Data;
use crate::secret::ingest::{self, IngestError, Means, Memory, Origin};
use crate::secret::measure::MeasureError;
use crate::secret::noise::Entropy;
use crate::spec::{Format, Spec, Unit};
use crate::watch::{Passing, Watch};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What is made of a spec.
#[derive(Debug, Clone)]
pub enum Job {
    /// Tables: the plan that is taken, and what it was taken from.
    Tables(Box<Choice>),
    /// A projection: its design.
    Projection(Box<Designed>),
}

impl Job {
    /// What a spec asks for. Data is not touched.
    #[cfg(test)]
    pub(crate) fn of(spec: &Spec, look: Look) -> Result<Job, CompileError> {
        Job::watched(spec, look, &Watch::default())
    }

    /// The same, with who hears how far the search is, and may stop it.
    pub(crate) fn watched(spec: &Spec, look: Look, watch: &Watch) -> Result<Job, CompileError> {
        match design(spec) {
            Some(designed) => Ok(Job::Projection(Box::new(designed?))),
            None => Ok(Job::Tables(Box::new(spec.choose(look, watch)?))),
        }
    }

    /// What its release takes. `None` for a projection, which says its size itself.
    pub fn effort(&self, spec: &Spec, memory: Memory) -> Option<Effort> {
        match self {
            Job::Tables(choice) => Some(effort::effort(spec, choice, memory)),
            Job::Projection(_) => None,
        }
    }

    /// What it costs, exactly: all copies together.
    pub(crate) fn cost(&self) -> Rational {
        match self {
            Job::Tables(choice) => choice.copies.as_ref().map_or(choice.planned.cost.total, |c| c.joint),
            Job::Projection(designed) => designed.cost,
        }
    }

    /// The (ε, δ) of that, where it is paid in ρ.
    pub(crate) fn approximate(&self, spec: &Spec) -> Option<Approximate> {
        match self {
            Job::Tables(choice) if choice.copies.is_none() => {
                let (plan, cost) = (&choice.planned.plan, &choice.planned.cost);
                let spec = spec.planned(plan);
                spec.stated(plan, cost, choice.losses(&spec.cube))
            }
            Job::Tables(_) | Job::Projection(_) => {
                spec.privacy.budget.approximate(self.currency(), self.cost())
            }
        }
    }

    /// In what it is paid.
    pub(crate) fn currency(&self) -> Currency {
        match self {
            Job::Tables(choice) => Currency::of_tables(choice.planned.plan.noise),
            Job::Projection(_) => Currency::OF_PROJECTIONS,
        }
    }

    /// What may be spent, on all copies together.
    pub(crate) fn budget(&self) -> Rational {
        match self {
            Job::Tables(choice) => {
                choice.copies.as_ref().map_or(choice.planned.plan.budget, |c| c.joint_budget)
            }
            Job::Projection(designed) => designed.design.budget,
        }
    }

    /// The SQL statement that counts what is needed from the table `from`, where the data lives.
    pub(crate) fn statement(
        &self,
        spec: &Spec,
        dialect: Dialect,
        from: &str,
    ) -> Result<String, CompileError> {
        match self {
            Job::Tables(_) => Draft::new(self, spec, [1; 32])?.statement(dialect, from),
            Job::Projection(_) => {
                Err(CompileError::Statement("a projection is made from rows, not from counts".into()))
            }
        }
    }

    /// The integers that a release of these rows would publish, of each copy and each measurement, without its file and without a charge: for
    /// audits, which make many releases of made-up rows. The public seed is always the same.
    pub(crate) fn unwritten(
        &self,
        spec: &Spec,
        rows: &ingest::Frame,
        entropy: Entropy,
    ) -> Result<Vec<Vec<Vec<i64>>>, CompileError> {
        let (draft, means) = (Draft::new(self, spec, [1; 32])?, Means::default());
        let data = ingest::read_frame(spec, rows, &means)?.into();
        draft.has_room(&data)?;
        Ok(match &draft {
            Draft::Tables(tables) => tables.unwritten(data, entropy, &means.watch)?,
            Draft::Projection(sums) => vec![vec![sums.unwritten(data, entropy, &means.watch)?]],
        })
    }

    /// A release of it with zeros in place of everything that is measured: how exact its answers are does not depend on that. Of one copy.
    pub(crate) fn of_zeros(&self, spec: &Spec, day: &str, watch: &Watch) -> Result<Release, CompileError> {
        let (folder, _passing) = passing(watch)?;
        let draft = Draft::new(self, spec, [1; 32])?;
        let key = SigningKey::throw_away().map_err(SealError::from)?;
        let mut input = draft.manifest(0, day, false)?;
        input.account = Some(account(spec, &draft.charge(self)?, &nobodys()));
        let mut writer = draft.begin(0, folder.path(), false, watch)?;
        draft.zeros(0, &mut writer)?;
        let sealed = writer.seal(input, &key)?;
        let bytes = fs::read(&sealed.path).map_err(CompileError::Temporary)?;
        Ok(Release::from_bytes(bytes)?)
    }

    /// Writes the whole release once with zeros in place of everything that is measured, reads and verifies it as its readers will, and throws it
    /// away. Whatever would keep a real one from being written or read (a plan its readers refuse, too many sections, a manifest that
    /// is too long) shows here, before data is opened and anything is charged. `day` is `YYYY-MM-DD`.
    ///
    /// Of very many measurements or integers only what speaks of all of them at once is written: domain, plan (whose writer refuses what its
    /// readers would) and spec. Whether each measurement has room, and all their sections, the planner has compared.
    /// `rows` is what they are read from, where they are.
    pub(crate) fn rehearse(
        &self,
        spec: &Spec,
        day: &str,
        rows: Option<Format>,
        means: &Means,
    ) -> Result<(), CompileError> {
        let watch = &means.watch;
        let (folder, _passing) = passing(watch)?;
        let draft = Draft::new(self, spec, [1; 32])?;
        let key = SigningKey::throw_away().map_err(SealError::from)?;
        let account = account(spec, &draft.charge(self)?, &nobodys());
        draft.fits_memory(rows, means.memory)?;
        draft.answerable()?;
        for copy in 0..draft.copies() {
            going(watch)?;
            let mut input = draft.manifest(copy, day, false)?;
            input.account = Some(account.clone());
            let mut writer = draft.begin(copy, folder.path(), false, watch)?;
            if !effort::is_rehearsed(&draft.spec().cube, draft.plan()) {
                continue;
            }
            draft.zeros(copy, &mut writer)?;
            let sealed = writer.seal(input, &key)?;
            let release = Release::open(&sealed.path)?.watched(watch);
            release.plan(&release.cube()?)?;
            // All copies have one spec, one list of recipients and the same blocks.
            let outermost = copy == 0 || copy + 1 == draft.copies();
            // A draft that nobody has confirmed is planned, and never released.
            if outermost
                && spec.confirmed().is_ok()
                && let Some(check) = audit::fails(&release)?
            {
                return Err(CompileError::Unverifiable(check.what, check.detail));
            }
            // Of a thousand copies no folder grows long.
            drop(release);
            let _ = (fs::remove_file(&sealed.path), fs::remove_file(&sealed.minisig));
        }
        Ok(())
    }
}

/// Goes on, unless it is asked to stop.
pub(super) fn going(watch: &Watch) -> Result<(), CompileError> {
    if watch.is_stopped() { Err(CompileError::Stopped(String::new())) } else { Ok(()) }
}

/// A folder that is gone with what holds it, and where the run is interrupted.
pub(super) fn passing(watch: &Watch) -> Result<(TempDir, Passing), CompileError> {
    watch.whole(|| {
        let folder = tempfile::tempdir().map_err(CompileError::Temporary)?;
        let passing = watch.passing(folder.path());
        Ok((folder, passing))
    })
}

/// What a charge that no ledger has would come back with.
pub(super) fn nobodys() -> Receipt {
    Receipt { charge: ledger::ROOT.into(), line: 1 << 30 }
}

/// What a manifest says of the account, after a charge.
pub(super) fn account(spec: &Spec, charge: &ledger::Charge, receipt: &Receipt) -> Account {
    Account {
        name: spec.account_name(),
        charged: Amount { currency: charge.currency, amount: charge.charged },
        line: receipt.line,
        head: receipt.charge.clone(),
    }
}

/// A job about to be written.
pub(super) enum Draft<'a> {
    Tables(Box<Tables<'a>>),
    Projection(Box<Sums<'a>>),
}

impl<'a> Draft<'a> {
    /// `seed` is public: that of a projection's signs, and what tells the copies of one measuring from those of another.
    pub(super) fn new(job: &'a Job, spec: &'a Spec, seed: Seed) -> Result<Draft<'a>, CompileError> {
        Ok(match job {
            Job::Tables(choice) => Draft::Tables(Box::new(Tables::new(spec, choice, &seed)?)),
            Job::Projection(designed) => Draft::Projection(Box::new(Sums::new(spec, designed, seed)?)),
        })
    }

    /// The spec over the levels that the plan speaks of.
    fn spec(&self) -> &Spec {
        match self {
            Draft::Tables(tables) => &tables.spec,
            Draft::Projection(sums) => sums.spec,
        }
    }

    /// What the plan section says: with several copies the most precise one's plan.
    fn plan(&self) -> &Plan {
        match self {
            Draft::Tables(tables) => tables.plan(),
            Draft::Projection(sums) => sums.plan(),
        }
    }

    /// Refuses declared zeros that no reader would impose.
    fn answerable(&self) -> Result<(), CompileError> {
        let (plan, cube) = (self.plan(), &self.spec().cube);
        if !plan.zeros.is_empty() {
            // Of no values: none is read.
            Recovery::new(cube.clone(), plan.clone(), Vec::new())?.check_zeros()?;
        }
        Ok(())
    }

    /// How many files it becomes: one for each recipient.
    pub(super) fn copies(&self) -> usize {
        match self {
            Draft::Tables(tables) => tables.copies(),
            Draft::Projection(_) => 1,
        }
    }

    /// Everything the writer of a copy is told: what the spec says, and what follows from the plan.
    pub(super) fn manifest(
        &self,
        copy: usize,
        day: &str,
        not_private: bool,
    ) -> Result<ManifestInput, CompileError> {
        let spec = self.spec();
        let words = spec.words();
        let claims = match self {
            Draft::Tables(tables) => tables.claims(copy, &words)?,
            Draft::Projection(sums) => sums.claims(&words)?,
        };
        let input = ManifestInput {
            created: day.into(),
            compiler: format!("margins {}", env!("CARGO_PKG_VERSION")),
            not_private,
            about: words.about,
            dataset: words.dataset,
            privacy: claims.privacy,
            account: None,
            plan: claims.plan,
            projection: claims.projection,
            recipient: claims.recipient,
            declared: claims.declared,
            legends: words.legends,
            attachments: spec.attachments.iter().map(|(name, _)| name.clone()).collect(),
        };
        texts::check_texts(&input)?;
        Ok(input)
    }

    /// Starts a copy's file: the sections that every release has and that need no data.
    pub(super) fn begin(
        &self,
        copy: usize,
        out: &Path,
        replace: bool,
        watch: &Watch,
    ) -> Result<Writer, CompileError> {
        let (spec, plan) = (self.spec(), self.plan());
        let own = match self {
            Draft::Tables(tables) => tables.sections(),
            Draft::Projection(sums) => sums.sections(),
        };
        let sections = 3 + spec.attachments.len() + own;
        let too_many = |_| SealError::Sections(format!("{sections} sections"));
        let sections = u32::try_from(sections).map_err(too_many)?;
        let recipient = match self {
            Draft::Tables(tables) => tables.recipient(copy),
            Draft::Projection(_) => None,
        };
        let mut writer = Writer::watched(out, &file_name(&spec.name, recipient), sections, replace, watch)?;
        writer.write_section(Kind::Domain, 0, &wire::encode_domain(&spec.cube)?)?;
        writer.write_section(Kind::Plan, 0, &wire::encode_plan(plan, &spec.cube)?)?;
        writer.write_section(Kind::Spec, 0, spec.source.as_bytes())?;
        for (i, (_, bytes)) in spec.attachments.iter().enumerate() {
            writer.write_section(Kind::Attachment, i as u32, bytes)?;
        }
        Ok(writer)
    }

    /// What is charged, and for what.
    pub(crate) fn charge(&self, job: &Job) -> Result<ledger::Charge, CompileError> {
        let spec = self.spec();
        let unit_of = spec.account.unit_of;
        let cost = Amount { currency: job.currency(), amount: job.cost() };
        let charged = claims::charged(cost, unit_of).ok_or(CompileError::TooDear)?;
        let snapshot = spec.dataset.as_ref().and_then(|d| d.snapshot.as_ref());
        let cells = match snapshot {
            None => None,
            Some(_) => {
                let domain = blake3::hash(&wire::encode_domain(&spec.cube)?).to_hex().to_string();
                ledger::cells::Cells::of(spec, self.plan(), &spec.cube, &domain)
            }
        };
        Ok(ledger::Charge {
            neighbours: self.plan().neighbours,
            invariants: match self {
                Draft::Tables(tables) => tables.invariants(),
                Draft::Projection(_) => Vec::new(),
            },
            alone: match unit_of {
                1 => job.approximate(spec).and_then(|a| ledger::Alone::of(&a)),
                _ => None,
            },
            cells,
            ..ledger::Charge::of(spec, charged.currency, charged.amount)
        })
    }

    /// Reads the data as the spec says.
    pub(super) fn read(&self, spec: &Spec, from: Origin<'_>, means: &Means) -> Result<Data, IngestError> {
        match self {
            Draft::Tables(tables) => tables.read(spec, from, means),
            Draft::Projection(_) => Ok(ingest::read(spec, from, means)?.into()),
        }
    }

    /// Takes counts in place of the data.
    pub(super) fn given(&self, spec: &Spec, counts: &Path) -> Result<Data, CompileError> {
        match self {
            Draft::Tables(tables) => Ok(tables.given(spec, counts)?),
            Draft::Projection(_) => {
                Err(CompileError::Statement("a projection is made from rows, not from counts".into()))
            }
        }
    }

    /// The statement that counts what is needed where the data lives.
    pub(crate) fn statement(&self, dialect: Dialect, from: &str) -> Result<String, CompileError> {
        statement::statement(self.spec(), self.plan(), dialect, from)
    }

    /// Refuses to begin with less memory than may be taken. `rows` is what they are read from, where they are.
    fn fits_memory(&self, rows: Option<Format>, memory: Memory) -> Result<(), CompileError> {
        let Some(limit) = memory.limit() else { return Ok(()) };
        let threads = rayon::current_num_threads();
        let least = |memory: Memory| match self {
            Draft::Tables(tables) => tables.memory(memory),
            Draft::Projection(_) => ingest::least_memory(threads),
        };
        let units = match (&self.spec().privacy.unit, rows) {
            (Unit::Row, _) | (_, None) => 0,
            // And some for rows of them.
            (Unit::Column { .. }, Some(format)) => {
                ingest::least_for_units(threads, format) + ((threads as u64) << 20)
            }
        };
        let needs = |memory: Memory| least(memory).saturating_add(units);
        let mut needed = needs(memory);
        if limit >= needed {
            return Ok(());
        }
        // Whoever may take more holds more at once: what is said is enough, when it is the limit.
        for _ in 0..8 {
            needed = needed.max(needs(Memory::at_most(needed.next_multiple_of(1_000_000))));
        }
        Err(CompileError::Memory { needs: needed, limit })
    }

    /// Refuses rows so many that integers might not fit. To be asked before anything is charged.
    pub(crate) fn has_room(&self, data: &Data) -> Result<(), MeasureError> {
        match self {
            Draft::Tables(tables) => tables.has_room(data),
            // Its sums are of counts and signs, so no larger than the number of rows.
            Draft::Projection(_) => Ok(()),
        }
    }

    /// Writes the sections of a copy that are measured, with zeros.
    fn zeros(&self, copy: usize, writer: &mut Writer) -> Result<(), CompileError> {
        match self {
            Draft::Tables(tables) => tables.zeros(copy, writer),
            Draft::Projection(sums) => sums.zeros(writer),
        }
    }

    /// Charges, measures, and writes the sections, each copy's with its own writer; returns the charge and the number of a copy's
    /// integers.
    pub(crate) fn measure(
        &self,
        data: Data,
        charge: Charge<'_>,
        entropy: Entropy,
        watch: &Watch,
        writers: &mut [Writer],
    ) -> Result<(Receipt, u64), CompileError> {
        match (self, writers) {
            (Draft::Tables(tables), writers) => tables.measure(data, charge, entropy, watch, writers),
            (Draft::Projection(sums), [writer]) => sums.measure(data, charge, entropy, watch, writer),
            (Draft::Projection(_), _) => Err(MeasureError::NotCopies.into()),
        }
    }
}
