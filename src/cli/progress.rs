//! Progress bars on a terminal; silence elsewhere. They show the size of the file and of the plan, never
//! anything that depends on the rows.

use super::terminal;
use crate::compile::Watcher;
use crate::progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};

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

/// A stage that has begun, and its bar once it takes long.
struct Shown {
    stage: &'static str,
    of: u64,
    since: Instant,
    bar: Option<ProgressBar>,
}

/// On a terminal every long stage says how far it is, how fast, and how long it will take.
pub fn stages() {
    static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);
    if !terminal::redraws() {
        return;
    }
    progress::listen(|stage, done, of| {
        let Ok(mut shown) = SHOWN.lock() else { return };
        if shown.as_ref().is_none_or(|s| s.stage != stage || s.of != of) {
            *shown = Some(Shown { stage, of, since: Instant::now(), bar: None });
        }
        let Some(own) = &mut *shown else { return };
        if done >= of {
            own.bar.take().inspect(|bar| bar.finish_and_clear());
            *shown = None;
        } else if own.since.elapsed() > PATIENCE {
            own.bar.get_or_insert_with(|| bar(stage, of, own.since)).set_position(done);
        }
    });
}

/// What ends sooner is not spoken of.
const PATIENCE: Duration = Duration::from_millis(500);

fn bar(stage: &str, of: u64, since: Instant) -> ProgressBar {
    let parts = match stage {
        "verifying" => "{bytes}/{total_bytes} {bytes_per_sec}",
        "searching" => "{percent} %, {elapsed} so far,",
        _ => "{human_pos}/{human_len} {per_sec}",
    };
    let bar =
        ProgressBar::with_draw_target(Some(of), ProgressDrawTarget::stderr()).with_elapsed(since.elapsed());
    if let Ok(style) = ProgressStyle::with_template(&format!("{stage:<10}{{bar:40}} {parts} {{eta}}")) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}
