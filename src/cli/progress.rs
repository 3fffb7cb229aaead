//! Progress bars on a terminal; silence elsewhere. They show the size of the file and of the plan, never
//! anything that depends on the rows.

use super::terminal;
use crate::secret::ingest::READING;
use crate::watch::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A stage that has begun, and its bar once it takes long.
struct Shown {
    stage: &'static str,
    of: u64,
    since: Instant,
    bar: Option<ProgressBar>,
}

/// On a terminal every long stage says how far it is, how fast, and how long it will take.
pub(super) fn watch() -> Watch {
    if !terminal::redraws() {
        return Watch::default();
    }
    let shown: Mutex<Option<Shown>> = Mutex::new(None);
    Watch::hearing(move |stage, done, of| {
        let Ok(mut shown) = shown.lock() else { return };
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
    })
}

/// What ends sooner is not spoken of.
const PATIENCE: Duration = Duration::from_millis(500);

fn bar(stage: &str, of: u64, since: Instant) -> ProgressBar {
    let parts = match stage {
        "verifying" | READING => "{bytes}/{total_bytes} {bytes_per_sec}",
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
