//! A release that was made.

use super::charging::Charging;
use super::options::ReleaseOptions;
use super::words::currency;
use super::{MakeError, account, extended, place, signer, today};
use crate::compile::{self, CompileError, Job, Options, Released, extending};
use crate::ledger::{Chain, Charge};
use crate::release::keys::SigningKey;
use crate::release::{SealError, SignerKind};
use crate::secret::ingest::{Means, Origin};
use crate::secret::noise::Entropy;
use crate::spec::Spec;
use crate::visible::visible;
use std::path::{Path, PathBuf};

/// A signed release that was made, or the copies of one for several recipients.
#[derive(Debug)]
pub struct MadeRelease {
    pub(crate) released: Released,
    pub(crate) spec: Spec,
    /// What an extended release tells well enough.
    pub(crate) known: Vec<String>,
    pub(crate) extends: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) signer: SignerKind,
    pub(crate) public_key: String,
}

impl MadeRelease {
    /// Where it is; with several recipients where the most precise copy is.
    pub fn path(&self) -> &Path {
        &self.released.sealed.path
    }

    /// Where all copies are, the most precise first.
    pub fn paths(&self) -> Vec<&Path> {
        let all = std::iter::once(&self.released.sealed).chain(&self.released.further);
        all.map(|sealed| sealed.path.as_path()).collect()
    }

    /// Its name, as FROM wants it.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What it cost, exactly, as a ratio or a decimal; all copies together, where there are several.
    pub fn cost(&self) -> String {
        self.released.job.cost().to_string()
    }

    /// In what it was paid: `rho` or `epsilon`.
    pub fn currency(&self) -> &'static str {
        currency(self.released.job.currency())
    }

    /// The ledger that was charged.
    pub fn ledger(&self) -> &Path {
        &self.released.ledger
    }

    /// The release that it [extends](ReleaseOptions::extends), and the tables that are told well enough by that one.
    pub fn extends(&self) -> Option<(&Path, &[String])> {
        Some((self.extends.as_deref()?, &self.known))
    }

    /// The public key that its signature verifies with, one line of base64.
    pub fn public_key(&self) -> &str {
        &self.public_key
    }
}

/// Makes a release of a spec, and of what was planned of it, where that is so.
pub(super) fn make(
    spec: Spec,
    planned: Option<Job>,
    mut options: ReleaseOptions<'_>,
) -> Result<MadeRelease, MakeError> {
    spec.confirmed()?;
    spec.names()?;
    spec.part()?;
    spec.warnings().iter().for_each(|text| (options.warn)(text));
    let (entropy, key) = signer::of(&mut options, &spec)?;
    match options.threads {
        None => make_signed(spec, planned, options, entropy, &key),
        Some(threads) => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|_| MakeError::Wrong(format!("{threads} threads cannot be started")))?;
            pool.install(|| make_signed(spec, planned, options, entropy, &key))
        }
    }
}

fn make_signed(
    spec: Spec,
    planned: Option<Job>,
    mut options: ReleaseOptions<'_>,
    entropy: Entropy,
    key: &SigningKey,
) -> Result<MadeRelease, MakeError> {
    let (spec, planned, known) = match &options.extends {
        None => (spec, planned, Vec::new()),
        Some(file) => {
            let (spec, planned, known) = extended::extended(&spec, file, key, &options.watch)?;
            // Said before it is spent: nothing is left out.
            if planned.is_some() && known.is_empty() {
                (options.warn)(&format!(
                    "note: beside sums a table is left out only if {} keeps all its margins, of counts and of sums, and the spec has neither queries, exact tables nor zeros: here all are measured again",
                    visible(&file.display().to_string())
                ));
            } else if known.is_empty()
                && spec.strategy.rows.is_none()
                && let Some(why) = extending::leaves_nothing_out(&spec)
            {
                (options.warn)(&format!(
                    "note: {why}: here all are measured, whatever {} tells of them",
                    visible(&file.display().to_string())
                ));
            }
            (spec, planned, known)
        }
    };
    let out = options.out.as_path();
    let _made = options.watch.folders(out).map_err(|e| {
        MakeError::Wrong(format!("cannot make the folder {}: {e}", visible(&out.display().to_string())))
    })?;
    let ledger = account::file(&spec, options.ledger.as_deref())?;
    if let Some(file) = &options.extends {
        account::charged(file, &ledger, &spec)?;
    }
    account::all_charged(out, &ledger, &spec.account_name().id, options.extends.is_some())?;
    account::not_forgotten(out).iter().for_each(|text| (options.warn)(text));
    let own = spec
        .data
        .as_ref()
        .map(|d| d.path.as_path())
        .filter(|_| options.rows.is_none() && options.piped.is_none());
    let data = options.counts.as_deref().or(options.data.as_deref()).or(own);
    let extended = options.extends.as_deref();
    let needed = [Some(ledger.as_path()), spec.file.as_deref(), options.key.as_deref(), data, extended];
    let names = place::names(&spec);
    for name in &names {
        for path in needed.into_iter().flatten() {
            place::stays(out, name, path)?;
        }
    }
    let day = today();
    let engine = Options {
        out,
        data: options.piped.as_ref().map(Origin::Piped).or(options.data.as_deref().map(Origin::Path)),
        counts: options.counts.as_deref(),
        ledger: &ledger,
        key,
        replace: options.replace,
        day: &day,
        entropy,
    };
    let there = names.iter().map(|name| out.join(format!("{name}.margins")));
    let replaced: Vec<PathBuf> = there.filter(|file| options.replace && file.exists()).collect();
    let account = spec.account_name();
    let (warn, asks) = (&mut options.warn, &mut options.consent);
    let mut consent = |chain: &Chain, charge: &Charge| {
        match account::elsewhere(out, &ledger, &account.id) {
            Ok(files) => files.iter().for_each(|(file, why)| {
                let file = visible(&file.display().to_string()).into_owned();
                warn(&format!("warning: {file} was not charged in this ledger: {why}"));
            }),
            Err(e) => {
                warn(&format!("warning: whether all releases were charged in this ledger is not known: {e}"))
            }
        }
        let charging = Charging { chain, charge, replaced: &replaced };
        let remarks = account::remark(chain, &spec.account).into_iter().chain(charging.note());
        remarks.for_each(|text| warn(&text));
        asks(&charging)
    };
    let means = Means { watch: options.watch.clone(), memory: options.memory };
    let released = compile::release_with(&spec, planned, engine, options.rows, &means, &mut consent);
    if let Err(CompileError::Seal(SealError::Exists(_))) = &released {
        account::unfinished(&ledger, &spec.name).iter().for_each(|text| (options.warn)(text));
    }
    let released = released?;
    let (signer, public_key) = (key.kind(), key.public_key().to_string());
    let (extends, key_file) = (options.extends, options.key);
    if let Some(why) = extends.as_deref().and_then(|file| extended::apart(file, &released.sealed.path)) {
        (options.warn)(&format!("warning: these two cannot be asked together: {why}"));
    }
    Ok(MadeRelease { released, spec, known, extends, key_file, signer, public_key })
}
