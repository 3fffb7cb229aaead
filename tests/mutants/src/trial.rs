//! Tests, each by its name, and what becomes of some of them in a process of their own.

use crate::tree::Tree;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct Test {
    pub program: PathBuf,
    /// The package or the file of tests that the program is.
    pub of: String,
    pub name: String,
}

/// The package that a file is in.
pub fn package_of(path: &str) -> &'static str {
    match path.split('/').next() {
        Some("law") => "margins-law",
        Some("evaluator") => "margins-evaluator",
        _ => "margins",
    }
}

impl Test {
    /// What it is called among all.
    pub fn id(&self) -> String {
        format!("{} {}", self.of, self.name)
    }

    /// Whether it stands beside a file.
    pub fn beside(&self, path: &str) -> bool {
        let inside = path.split_once("src/").map_or(path, |(_, inside)| inside);
        let module = inside.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        self.of == package_of(path).replace('-', "_") && self.name.starts_with(&module)
    }
}

pub enum End {
    Passed,
    /// With the tests that failed, where their program could still say so.
    Failed(Vec<String>),
    /// It took much longer than without a change.
    Endless,
}

/// Megabytes that a process may ask for, so that a change cannot take the machine.
const MEMORY: u64 = 6_000;

/// The tests that were built, by what cargo said of it.
pub fn list(said: &str, tree: &Tree) -> Vec<Test> {
    let mut tests = Vec::new();
    for line in said.lines() {
        let message: Value = serde_json::from_str(line).expect("cargo writes JSON");
        if message["profile"]["test"] != true {
            continue;
        }
        let (Some(program), Some(of)) = (message["executable"].as_str(), message["target"]["name"].as_str())
        else {
            continue;
        };
        let listed = Command::new(program)
            .args(["--list", "--format=terse"])
            .current_dir(&tree.root)
            .output()
            .expect("a test program lists its tests");
        let named = |line: &str| line.strip_suffix(": test").map(str::to_owned);
        let names: Vec<_> = String::from_utf8_lossy(&listed.stdout).lines().filter_map(named).collect();
        let ignored = Command::new(program)
            .args(["--list", "--format=terse", "--ignored"])
            .output()
            .expect("a test program lists its tests");
        let ignored: HashSet<_> =
            String::from_utf8_lossy(&ignored.stdout).lines().filter_map(named).collect();
        let names = names.into_iter().filter(|name| !ignored.contains(name));
        tests.extend(names.map(|name| Test { program: program.into(), of: of.to_owned(), name }));
    }
    tests
}

/// A folder of one worker, where tests leave what they like.
pub struct Room {
    tree: PathBuf,
    folder: PathBuf,
}

impl Room {
    pub fn new(tree: &Path, name: usize) -> Room {
        let folder = tree.with_file_name(format!("room-{name}"));
        Room { tree: tree.to_owned(), folder }
    }

    /// Runs some tests of one program, with a change or with a file for what they reach. `seconds` is what they take as a rule.
    /// How they ended, and how many seconds of a processor they took.
    pub fn run(&self, tests: &[&Test], change: (&str, &str), seconds: f64) -> (End, f64) {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder).expect("a folder can be made");
        let processor = 4 + (5.0 * seconds) as u64;
        let limits = format!("ulimit -c 0; ulimit -v {}; ulimit -t {processor}", MEMORY * 1000);
        let script = format!("{limits}; \"$0\" \"$@\"; ended=$?; times >\"$TMPDIR/times\"; exit $ended");
        let output = fs::File::create(self.folder.join("output")).expect("a file can be made");
        let mut run = Command::new("sh");
        run.args(["-c", &script])
            .arg(&tests[0].program)
            .args(["--exact", "--test-threads=1"])
            .args(tests.iter().map(|test| &test.name));
        let package = match &tests[0].of[..] {
            "margins_law" => self.tree.join("law"),
            "margins_evaluator" => self.tree.join("evaluator"),
            _ => self.tree.clone(),
        };
        // As cargo would (`.cargo/config.toml`).
        run.env("PROPTEST_RNG_SEED", "1")
            .env("TMPDIR", &self.folder)
            .env("RAYON_NUM_THREADS", "2")
            .env(change.0, change.1)
            .current_dir(package);
        run.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).process_group(0);
        let began = Instant::now();
        let mut child = run.spawn().expect("sh runs");
        // What waits for ever takes no processor time. Others may work on this machine, too.
        let patience = Duration::from_secs(60 + 20 * processor);
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break Some(status);
            }
            if began.elapsed() > patience {
                break None;
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        // What it started, too: the process is the first of a group of its own.
        if status.is_none_or(|status| !status.success()) {
            let _ = Command::new("sh")
                .args(["-c", "kill -9 -- -$0 2>/dev/null", &child.id().to_string()])
                .status();
            let _ = child.wait();
        }
        // As `sh` says that a signal ended what it ran: this one, that it took too much time.
        const TOO_MUCH_TIME: i32 = 128 + 24;
        let end = match status {
            Some(status) if status.success() => End::Passed,
            Some(status) if status.code() != Some(TOO_MUCH_TIME) => {
                let said = fs::read(self.folder.join("output")).unwrap_or_default();
                let said = String::from_utf8_lossy(&said).into_owned();
                let failed =
                    said.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
                End::Failed(failed.map(str::to_owned).collect())
            }
            _ => End::Endless,
        };
        // The second line is of what `sh` ran: minutes and seconds of its own, and of the system for it.
        let said = fs::read_to_string(self.folder.join("times")).unwrap_or_default();
        let parts = said.lines().nth(1).unwrap_or_default().split_whitespace();
        let part = |part: &str| {
            let (minutes, seconds) = part.trim_end_matches('s').split_once('m')?;
            Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
        };
        let took = parts.filter_map(part).sum();
        (end, took)
    }
}

/// Does something to everything, two at a time.
pub fn together<T: Sync>(all: &[T], folder: &Path, each: impl Fn(&Room, &T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (next, each) = (&next, &each);
            scope.spawn(move || {
                let room = Room::new(folder, worker);
                while let Some(one) = all.get(next.fetch_add(1, Relaxed)) {
                    each(&room, one);
                }
            });
        }
    });
}
