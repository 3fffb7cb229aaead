//! A progress bar on a terminal; silence elsewhere. It shows the size of the file and of the plan, never
//! anything that depends on the rows.

use super::{output, terminal};
use crate::compile::Watcher;
use crate::planner;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// One bar, used for one stage after the other.
pub struct Bar(Mutex<Option<(&'static str, ProgressBar)>>);

impl Bar {
    /// No stage yet.
    pub fn new() -> Bar {
        Bar(Mutex::new(None))
    }

    fn show(&self, stage: &'static str, template: &str, done: u64, of: u64) {
        let Ok(mut current) = self.0.lock() else { return };
        if current.as_ref().is_none_or(|(name, _)| *name != stage) {
            let target =
                if terminal::redraws() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
            let bar = ProgressBar::with_draw_target(Some(of), target);
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("━╸ "));
            }
            *current = Some((stage, bar));
        }
        if let Some((_, bar)) = &*current {
            bar.set_position(done);
            if done >= of {
                bar.finish_and_clear();
            }
        }
    }
}

impl Watcher for Bar {
    fn reading(&self, done: u64, of: u64) {
        self.show("reading", "reading   {bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}", done, of);
    }

    fn measuring(&self, done: u64, of: u64) {
        self.show("measuring", "measuring {bar:40} {human_pos}/{human_len} {per_sec} {eta}", done, of);
    }
}

/// On a terminal a long search for tables says how far it is, and how long it will take.
pub fn searches() {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now);
    if terminal::redraws() {
        planner::progress::listen(|done, of| {
            let spent = BEGUN.get_or_init(Instant::now).elapsed().as_secs();
            let left = spent * u64::from(of - done.min(of)) / u64::from(done.max(1));
            let text =
                format!("searching for tables: {done} of {of} rounds after {spent} s, about {left} s to go");
            output::say(&text);
        });
    }
}
