//! The `margins` command, one verb a file.
//!
//! Exit codes: 0 done; 1 a verification failed, or the ledger's bound refuses; 2 the command, a file or the machine is at fault; 130 (or
//! 143) it was interrupted.

// Everything goes out through `output`, which makes it safe to show.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ask;
mod bases;
mod batch;
mod bounds;
pub mod chart;
mod check;
mod collude;
mod copies;
mod describe;
pub mod export;
pub mod infer;
mod init;
mod inspect;
mod keygen;
mod keys;
mod ledger;
pub mod output;
mod package;
mod page;
pub mod plan;
#[doc(hidden)]
pub mod programs;
mod progress;
mod projection;
pub mod query;
mod records;
mod refusal;
mod release;
mod rows;
mod schema;
mod sign;
mod signing;
mod source;
mod studio;
mod terminal;
mod unit;
mod verify;

use crate::answer::Answers;
use crate::make::today;
use crate::release::Release;
use crate::visible::{visible, visible_lines};
use crate::watch::Watch;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Compiles a private dataset into signed statistical tables with exact margins of error.
#[derive(Parser)]
#[command(
    name = "margins",
    version,
    max_term_width = 80,
    after_help = "Try it on made-up data:\n  \
    margins release specs/town.toml\n  \
    margins query out/town.margins \"SELECT sex, COUNT(*) FROM town GROUP BY sex\""
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What each does, in a line and at length, stands with its words: a comment here would hide it.
#[derive(Subcommand)]
enum Verb {
    Init(init::Args),
    Check(check::Args),
    Bounds(bounds::Args),
    Plan(plan::Args),
    Release(release::Args),
    Keygen(keygen::Args),
    Keys(keys::Args),
    Sign(sign::Args),
    Describe(describe::Args),
    Query(query::Args),
    Ask(ask::Args),
    Collude(collude::Args),
    Infer(infer::Args),
    Export(export::Args),
    Records(records::Args),
    Page(page::Args),
    Studio(studio::Args),
    Verify(verify::Args),
    Inspect(inspect::Args),
    Ledger(ledger::Args),
    /// Print the JSON Schema of the spec, the manifest or a ledger entry
    #[command(after_help = "Example:\n  margins schema spec > spec.schema.json")]
    Schema {
        /// The schema to print
        #[arg(value_enum)]
        of: schema::Of,
    },
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  margins completions bash > ~/.local/share/bash-completion/completions/margins"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the command or of one verb
    #[command(after_help = "Example:\n  margins man release | man -l -")]
    Man {
        /// The verb, such as `release`
        verb: Option<String>,
    },
}

/// Why a verb did not do what it was asked.
pub enum Failure {
    /// A message for the user; exit 2.
    Message(String),
    /// Diagnostics as they are shown, with colours or without; exit 2.
    Rendered(String),
    /// Refused by the ledger's bound: why, and what it would allow; exit 1.
    Refused(String),
    /// Everything has been said; exit 1.
    Refuted,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(e: E) -> Failure {
        // The whole chain of causes, each once.
        let mut text = e.to_string();
        let mut cause = e.source();
        while let Some(c) = cause {
            let more = c.to_string();
            if !text.contains(&more) {
                text.push_str(": ");
                text.push_str(&more);
            }
            cause = c.source();
        }
        Failure::Message(text)
    }
}

/// A release opened for questions; what they go through it for is kept in a folder, where there is one.
fn answers(release: Release, file: &Path, cache: Option<&Path>) -> Result<Answers, Failure> {
    let kept =
        |folder: &Path| crate::release::kept::own_folder(folder).map_err(|e| output::about(folder, &e));
    cache.map(kept).transpose()?;
    let ends = crate::spec::clamped(&release);
    Ok(Answers::kept_in(release, cache).map_err(|e| output::about(file, &e))?.with_ends(&ends))
}

/// Says so, where something should have been kept for the next time and could not be.
fn not_kept(answers: &Answers) {
    if let Some(why) = answers.not_kept() {
        output::say(&format!("warning: nothing was kept for the next time: {}", visible(&why)));
    }
}

/// A size on the command line.
fn size(text: &str) -> Result<u64, String> {
    crate::spec::size(text).ok_or_else(|| "expected a number and a unit, such as \"500 MB\"".into())
}

pub type Outcome = Result<(), Failure>;

/// The words of the command, the first its own name. A bare `margins FILE` describes the file.
fn with_verb(mut words: Vec<OsString>) -> Vec<OsString> {
    let file = words.get(1).is_some_and(|word| {
        let verb = word.to_str().is_some_and(|w| Cli::command().get_subcommands().any(|c| c.get_name() == w));
        !verb && (Path::new(word).is_file() || Path::new(word).extension().is_some_and(|e| e == "margins"))
    });
    if file {
        words.insert(1, "describe".into());
    }
    words
}

/// A query that begins with a comment is no option: no option has a blank or the end of a line behind its dashes.
fn plain(word: OsString) -> OsString {
    let comment = word.to_str().and_then(|text| text.strip_prefix("--")).is_some_and(|text| {
        text.starts_with(char::is_whitespace)
            || text.lines().nth(1).is_some_and(|line| !line.trim().is_empty())
    });
    match comment {
        true => [std::ffi::OsStr::new(" "), &word].into_iter().collect(),
        false => word,
    }
}

/// The command line. Words of it may come from files, too: `margins verify *`.
fn parse<C: Parser>(words: Vec<OsString>) -> C {
    C::try_parse_from(words.into_iter().map(plain)).unwrap_or_else(|e| {
        let text = e.render().to_string();
        if visible_lines(&text) != text {
            output::say(text.trim_end());
            std::process::exit(2)
        }
        if e.use_stderr() {
            e.exit()
        }
        // Help and the version are what was asked for: that they could not be printed is said.
        match e.print().and_then(|()| std::io::stdout().flush()) {
            Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
                output::say(&output::error(&format!("cannot write to standard output: {why}")));
                std::process::exit(2)
            }
            _ => std::process::exit(0),
        }
    })
}

/// The pages that a program has inside: of `margins page`, and of `margins studio`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pages {
    /// What `explorer/build` makes.
    pub explorer: Option<&'static str>,
    /// What `studio/build` makes.
    pub studio: Option<&'static str>,
}

/// Runs the command, in every program that has it, and returns its exit code: `words` begin with the command's name.
pub fn run(words: Vec<OsString>, pages: Pages) -> u8 {
    serve(with_verb(words), |cli: Cli, watch| verb(cli.verb, pages, watch))
}

/// Reads the words of a command, does what they say, and says how that ended: with its exit code. The work is watched: it shows how far it is, and Ctrl-C ends
/// the process.
pub fn serve<C: Parser>(words: Vec<OsString>, work: impl FnOnce(C, &Watch) -> Outcome) -> u8 {
    let watch = progress::watch();
    crate::interrupt::listen(watch.clone(), |text| {
        // A progress bar may stand in the line.
        let line = if std::io::stderr().is_terminal() { "\n" } else { "" };
        output::say(&output::wrapped(&format!("{line}{text}"), 13));
    });
    match work(parse(words), &watch) {
        Ok(()) => 0,
        Err(Failure::Refuted) => 1,
        Err(Failure::Refused(text)) => {
            output::say(&output::error(&text));
            1
        }
        Err(Failure::Rendered(text)) => {
            output::say_coloured(&text);
            2
        }
        Err(Failure::Message(text)) => {
            output::say(&output::error(&text));
            2
        }
    }
}

fn verb(verb: Verb, pages: Pages, watch: &Watch) -> Outcome {
    match verb {
        Verb::Init(args) => init::run(&args, watch),
        Verb::Check(args) => check::run(&args, watch),
        Verb::Bounds(args) => bounds::run(&args, watch),
        Verb::Plan(args) => plan::run(&args, watch),
        Verb::Release(args) => release::run(&args, watch),
        Verb::Keygen(args) => keygen::run(&args, watch),
        Verb::Keys(args) => keys::run(&args),
        Verb::Sign(args) => sign::run(&args, watch),
        Verb::Describe(args) => describe::run(&args),
        Verb::Query(args) => query::run(&args, watch),
        Verb::Ask(args) => ask::run(&args, watch),
        Verb::Collude(args) => collude::run(&args),
        Verb::Infer(args) => infer::run(&args),
        Verb::Export(args) => export::run(&args, watch),
        Verb::Records(args) => records::run(&args, watch),
        Verb::Page(args) => page::run(&args, pages.explorer, watch),
        Verb::Studio(args) => studio::run(&args, pages.studio),
        Verb::Verify(args) => verify::run(&args, watch),
        Verb::Inspect(args) => inspect::run(&args),
        Verb::Ledger(args) => ledger::run(&args),
        Verb::Schema { of } => schema::run(of),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "margins", &mut script);
            output::data(&String::from_utf8_lossy(&script))
        }
        Verb::Man { verb } => man(verb.as_deref()),
    }
}

fn man(verb: Option<&str>) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let page_of = match verb {
        None => command,
        Some(verb) => {
            let found = command.get_subcommands().find(|c| c.get_name() == verb).cloned();
            let Some(found) = found else {
                let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::Message(format!(
                    "there is no verb `{}`\nthe verbs are: {}",
                    crate::visible::visible(verb),
                    verbs.join(", ")
                )));
            };
            // `build` has named it `margins-release`, as git and cargo name theirs.
            found
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(page_of).render(&mut page)?;
    output::data(&String::from_utf8_lossy(&page))
}
