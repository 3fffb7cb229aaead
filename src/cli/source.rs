//! What `margins query` asks: releases of tables, or one of a projection. The same questions; what only one kind can be
//! asked is refused here, before anything is answered.

use super::projection::{self, Opened, Projection};
use super::query::args::Args;
use super::{Failure, output};
use crate::answer::keys::Questions;
use crate::answer::{Answers, Options, Several};
use crate::projection::answer::Estimator;
use crate::release::Release;
use crate::render::ResultTable;
use crate::watch::Watch;
use serde_json::{Map, Value};

/// Opened releases, with how they are asked.
pub(super) enum Source {
    /// Releases of tables.
    Tables(Several, Options),
    /// One release of a projection.
    Projection(Box<Projection>),
}

/// What an answer rests on.
pub(crate) struct Explanation {
    pub json: Value,
    pub text: String,
}

impl Source {
    /// Opens the files, refuses what their kind cannot be asked, and warns of noise that everybody knows.
    pub(super) fn open(args: &Args, files: &[String], watch: &Watch) -> Result<Source, Failure> {
        let opened = files.iter().map(|file| projection::open(file, watch)).collect::<Result<Vec<_>, _>>()?;
        let mut tables = Vec::with_capacity(files.len());
        for (file, opened) in files.iter().zip(opened) {
            match opened {
                Opened::Projection(questions) if files.len() == 1 => {
                    return Source::projection(args, *questions);
                }
                Opened::Projection(_) => {
                    return Err(Failure::Message(format!("{file} is a projection: ask it alone")));
                }
                Opened::Tables(release) => tables.push((file, *release)),
            }
        }
        Source::tables(args, tables)
    }

    fn tables(args: &Args, files: Vec<(&String, Release)>) -> Result<Source, Failure> {
        if let Some(option) = args.for_projections() {
            return Err(Failure::Message(format!(
                "{option} asks one release of a projection, and this is none"
            )));
        }
        let areas = match &args.areas {
            Some(path) => Some((super::query::areas::read(path)?, path)),
            None => None,
        };
        let open = |(file, release): (&String, Release)| -> Result<Answers, Failure> {
            let mut answers = super::answers(release, file.as_ref(), args.cache.as_deref())?;
            if let Some((areas, path)) = &areas {
                let district = areas.district.as_deref();
                answers.among(&areas.level, district, &areas.listed).map_err(|e| output::about(path, &e))?;
            }
            Ok(answers)
        };
        let releases = files.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let known = releases.iter().filter(|r| r.release().manifest().is_not_private());
        known.for_each(|r| warn(r.name()));
        Ok(Source::Tables(crate::face::together(releases)?, args.options()))
    }

    fn projection(args: &Args, questions: Questions) -> Result<Source, Failure> {
        if args.areas.is_some() {
            let why = "--areas is for releases of tables: a projection is asked for keys, by IN or --keys";
            return Err(Failure::Message(why.into()));
        }
        // A single key reads no more than it needs: there is nothing to keep.
        if args.for_tables() {
            let options = "--test and --interval";
            return Err(Failure::Message(format!("{options} are for releases of tables")));
        }
        let more = args.prob.is_some() || args.prior.is_some() || args.joint.is_some();
        if more && args.keys.is_some() {
            let why =
                "--keys writes counts with their intervals: ask single keys with --prob, --prior or --joint";
            return Err(Failure::Message(why.into()));
        }
        if questions.is_not_private() {
            warn(questions.name());
        }
        let estimator = if args.mean { Estimator::Mean } else { Estimator::Best };
        Ok(Source::Projection(Box::new(Projection { questions, options: args.options(), estimator })))
    }

    /// Says so, where something should have been kept for the next time and could not be.
    pub(crate) fn not_kept(&self) {
        if let Source::Tables(several, _) = self {
            several.releases().iter().for_each(super::not_kept);
        }
    }

    /// Answers one SELECT.
    pub(super) fn ask(&self, sql: &str) -> Result<ResultTable, Failure> {
        Ok(match self {
            Source::Tables(several, options) => several.ask(sql, options)?,
            Source::Projection(p) => p.questions.ask_with(sql, &p.options, p.estimator)?,
        })
    }

    /// What the answer rests on.
    pub(super) fn explain(&self, sql: &str) -> Result<Explanation, Failure> {
        Ok(match self {
            Source::Tables(several, _) => {
                let explained = several.explain(sql)?;
                let text = explained.iter().map(|e| format!("\n{e}")).collect();
                Explanation { json: serde_json::to_value(&explained)?, text }
            }
            Source::Projection(p) => {
                let explained =
                    p.questions.explain(sql, p.options.level, p.estimator, crate::face::EXPLAINED)?;
                let text = projection::explained(&p.questions, &explained, p.options.level);
                Explanation { json: serde_json::to_value(&explained)?, text }
            }
        })
    }

    /// Which releases an answer is from, and in which sense, as JSON says it.
    pub(super) fn about(&self) -> Map<String, Value> {
        match self {
            Source::Projection(p) => Map::from_iter([("release".to_owned(), p.questions.name().into())]),
            Source::Tables(several, _) => several.about(),
        }
    }
}

/// Of a release whose noise anybody can draw again.
fn warn(name: &str) {
    output::say(&format!("warning: {name} is NOT PRIVATE: its noise came from a fixed seed"));
}

impl Args {
    /// Whether something is asked that only tables answer.
    fn for_tables(&self) -> bool {
        self.test.is_some() || self.other_way()
    }

    /// The option that only a projection has, if it is used.
    fn for_projections(&self) -> Option<&'static str> {
        match (self.mean, &self.keys) {
            (true, _) => Some("--mean"),
            (false, Some(_)) => Some("--keys"),
            (false, None) => None,
        }
    }
}
