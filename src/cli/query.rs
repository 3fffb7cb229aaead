//! `margins query`: SELECTs answered from one release file, or several of one dataset.

pub(super) mod areas;
pub(crate) mod args;

use super::batch;
use super::output::{self, MOST};
use super::source::Source;
use super::{Failure, Outcome, records, terminal};
use crate::render;
use crate::render::ResultTable;
use crate::watch::Watch;
pub use args::Args;
use std::path::Path;

pub fn run(args: &Args, watch: &Watch) -> Outcome {
    let (files, sql) = match (&args.words[..], &args.batch) {
        (files, _) if args.keys.is_some() => (files, None),
        (files, Some(_)) => (files, None),
        ([files @ .., sql], None) if !files.is_empty() => (files, Some(sql)),
        _ => return Err(Failure::Message("a query wants a release file and a SELECT".into())),
    };
    let source = Source::open(args, files, watch)?;
    if let (Some(records), Some(sql)) = (&args.records, sql) {
        return beside(args, &source, records, sql);
    }
    let answered = match (sql, &args.batch, &args.keys, &source) {
        (_, _, Some(keys), Source::Projection(asked)) => super::projection::keys(asked, keys),
        (Some(sql), ..) => one(args, &source, sql),
        (None, Some(batch), ..) => many(args, &source, batch),
        (None, None, ..) => Ok(()),
    };
    source.not_kept();
    // The process ends: nobody needs the memory of a large release back piece by piece.
    std::mem::forget(source);
    answered
}

/// The same question to records of the release.
fn beside(args: &Args, source: &Source, path: &Path, sql: &str) -> Outcome {
    let Source::Tables(several, options) = source else {
        return Err(Failure::Message("a projection has no records".into()));
    };
    let more = [
        ("--prob", args.prob.is_some()),
        ("--test", args.test.is_some()),
        ("--prior", args.prior.is_some()),
        ("--labels", args.labels.is_some()),
        ("--reliability", args.options().reliability),
    ];
    records::refuse(more.iter().find(|(_, given)| *given).map(|(option, _)| *option))?;
    let shown = match () {
        () if args.csv => records::Print::Csv,
        () if args.json => records::Print::Json,
        () => records::Print::Text,
    };
    records::one(several, options, path, sql, &shown)
}

fn one(args: &Args, source: &Source, sql: &str) -> Outcome {
    let table = source.ask(sql)?;
    if args.csv {
        return output::print_csv(&table);
    }
    let explained = if args.explain { Some(source.explain(sql)?) } else { None };
    if args.json {
        let mut more = source.about();
        more.extend(explained.map(|e| ("explain".into(), e.json)));
        return output::json(&(render::json(&table, &more)? + "\n"));
    }
    output::print(
        &(render::table_within(&table, terminal::width()) + &explained.map_or(String::new(), |e| e.text)),
    )
}

/// A line of a batch and its answer.
struct Reply {
    line: usize,
    sql: String,
    answer: Result<ResultTable, String>,
}

/// What is to be said beside the CSV of a batch: a sentence that is true of many answers is said once.
#[derive(Default)]
struct Told(Vec<Said>);

/// A sentence, the first line whose answer it belongs to, and how many others have it.
struct Said {
    sentence: String,
    line: usize,
    more: usize,
}

impl Told {
    fn take(&mut self, line: usize, table: &ResultTable) {
        for sentence in table.told() {
            match self.0.iter_mut().find(|said| said.sentence == sentence) {
                Some(said) => said.more += 1,
                None => self.0.push(Said { sentence, line, more: 0 }),
            }
        }
    }

    fn say(&self) {
        for Said { sentence, line, more } in &self.0 {
            let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
            output::note(&format!("line {line}{more}: {sentence}"));
        }
    }
}

/// Answers every query of a file, in parallel; answers appear as they are ready. With `--json` they are one array, whatever ends it.
fn many(args: &Args, source: &Source, file: &Path) -> Outcome {
    use rayon::prelude::*;
    let about = source.about();
    let text = crate::files::text(file, MOST)
        .map_err(|e| Failure::Message(format!("cannot read {}: {e}", output::path(file))))?;
    let queries = batch::queries(file, &text)?;
    let print = match () {
        () if args.json || args.jsonl => output::json,
        () if args.csv => output::data,
        () => output::print,
    };
    let mut failed = 0usize;
    let mut first = true;
    let end = |first: bool| match (args.json, first) {
        (true, true) => "[]\n",
        (true, false) => "\n]\n",
        (false, _) => "",
    };
    let mut told = Told::default();
    // In pieces, so that answers appear as they are ready and memory stays small.
    for piece in queries.chunks(4096) {
        let replies: Vec<Reply> = piece
            .par_iter()
            .map(|(line, sql)| Reply {
                line: *line,
                sql: sql.clone(),
                answer: source.ask(sql).map_err(|e| match e {
                    Failure::Message(why) | Failure::Rendered(why) | Failure::Refused(why) => why,
                    Failure::Refuted => "refuted".into(),
                }),
            })
            .collect();
        let mut out = String::new();
        for reply in &replies {
            if let Err(why) = &reply.answer {
                failed += 1;
                if args.strict {
                    print(&(out + end(first)))?;
                    told.say();
                    return Err(Failure::Message(format!("line {}: {why}", reply.line)));
                }
            }
            out.push_str(match (args.json, std::mem::take(&mut first)) {
                (true, true) => "[\n",
                (true, false) => ",\n",
                (false, false) if !args.jsonl => "\n",
                (false, _) => "",
            });
            out.push_str(&reply_text(args, &about, reply)?);
            if let (Ok(table), true) = (&reply.answer, args.csv) {
                told.take(reply.line, table);
            }
        }
        print(&out)?;
        if output::gone() {
            return Ok(());
        }
    }
    print(end(first))?;
    told.say();
    if failed > 0 {
        return Err(Failure::Message(format!("{failed} of {} queries have no answer", queries.len())));
    }
    Ok(())
}

fn reply_text(
    args: &Args,
    about: &serde_json::Map<String, serde_json::Value>,
    reply: &Reply,
) -> Result<String, Failure> {
    let header = format!("-- {}: {}\n", reply.line, reply.sql);
    if args.jsonl || args.json {
        let mut more = about.clone();
        more.insert("line".into(), reply.line.into());
        more.insert("sql".into(), reply.sql.as_str().into());
        return Ok(match &reply.answer {
            Ok(table) => render::json(table, &more)?,
            Err(why) => {
                more.insert("error".into(), why.as_str().into());
                serde_json::to_string(&more)?
            }
        } + if args.json { "" } else { "\n" });
    }
    Ok(match &reply.answer {
        Ok(table) if args.csv => header + &render::csv(table).replace("\r\n", "\n"),
        Ok(table) => header + &render::table_within(table, terminal::width()),
        Err(why) => header + &output::error(why) + "\n",
    })
}
