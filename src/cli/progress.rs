//! A progress bar on a terminal; silence elsewhere. It shows the size of the file and of the plan, never
//! anything that depends on the rows.

use crate::compile::Watcher;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Mutex;

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
            let bar = ProgressBar::new(of);
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
        self.show("reading", "reading   {bar:40} {bytes}/{total_bytes}", done, of);
    }

    fn measuring(&self, done: u64, of: u64) {
        self.show("measuring", "measuring {bar:40} {human_pos}/{human_len} {eta}", done, of);
    }
}
