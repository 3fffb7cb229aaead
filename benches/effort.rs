//! What releases take, beside what `margins plan` says they take: the constants of `src/compile/effort.rs` are calibrated by this.
//!
//! `cargo bench --bench effort` goes through all of the made-up workloads below; `cargo bench --bench effort -- wide100` through one. Of each it prints the
//! file's bytes, the processor seconds and peak memory of planning and making the release, of opening it and one count in its largest table, and of a
//! second answer; `said` is what the plan said. The wide one has a hundred attributes and 166 751 tables. Processor time and peaks come from `/proc`, so Linux only.

use margins::answer::{Answers, Options as Ask};
use margins::compile::effort::{Effort, Takes};
use margins::compile::{self, Options};
use margins::planner::Look;
use margins::release::SigningKey;
use margins::secret::ingest::Means;
use margins::secret::ingest::Memory;
use margins::secret::noise::Entropy;
use margins::spec::{self, Spec};
use std::fmt::Write as _;
use std::path::Path;

const EIGHT: [u32; 8] = [9, 16, 7, 15, 6, 5, 2, 2];
const FOURTEEN: [u32; 14] = [85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2];
const TWELVE: [u32; 12] = [300, 100, 85, 60, 42, 100, 30, 25, 20, 16, 9, 2];
const TRIPLES: &str = "[[table]]\nup_to = 3\n";
/// Groups of different sizes, at a level of their own.
const BANDED: &str = "[[table]]\nup_to = 3\n[[table]]\nof = [\"a00.band\", \"a01.band\"]\n";

/// Name, sizes, tables, strategy, rows, whether there are bands.
type Workload = (&'static str, &'static [u32], &'static str, &'static str, usize, bool);

const WORKLOADS: [Workload; 6] = [
    ("adult8", &EIGHT, "[[table]]\nevery = 2\n", "residual", 32_561, false),
    ("adult14", &FOURTEEN, TRIPLES, "residual", 48_842, false),
    ("adult14-tables", &FOURTEEN, TRIPLES, "queries", 48_842, false),
    ("adult14-rows", &FOURTEEN, TRIPLES, "residual", 1_000_000, false),
    ("unequal", &TWELVE, BANDED, "queries", 50_000, true),
    ("wide100", &[10; 100], TRIPLES, "residual", 100_000, false),
];

fn made_up(folder: &Path, (name, sizes, tables, strategy, rows, bands): Workload) -> Spec {
    let mut text = format!(
        "name = \"{name}\"\ntitle = \"Made up\"\n[data]\npath = \"{name}.csv\"\n[privacy]\nrho = \"1/2\"\nunit = \"row\"\n"
    );
    for (i, n) in sizes.iter().enumerate() {
        let _ = write!(text, "[[dimension]]\nname = \"a{i:02}\"\nrange = [0, {}]\n", n - 1);
        if bands && i < 2 {
            text.push_str("levels = [{ name = \"band\", cuts = [10, 25, 60, 61, 80] }]\n");
        }
    }
    let _ = write!(text, "{tables}[strategy]\nmeasure = \"{strategy}\"\n");
    let names: Vec<String> = (0..sizes.len()).map(|i| format!("a{i:02}")).collect();
    let mut csv = names.join(",") + "\n";
    let mut state = 1u64;
    for _ in 0..rows {
        for (i, &n) in sizes.iter().enumerate() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Skewed towards small codes, as real columns are.
            let (a, b) = ((state >> 33) as u32 % n, (state >> 13) as u32 % n);
            let _ = write!(csv, "{}{}", if i == 0 { "" } else { "," }, a.min(b));
        }
        csv.push('\n');
    }
    let path = folder.join(format!("{name}.toml"));
    std::fs::write(folder.join(format!("{name}.csv")), csv).expect("a temporary file");
    std::fs::write(&path, text).expect("a temporary file");
    spec::load(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// Processor seconds of this process so far.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = behind.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// The most memory since the last time, in bytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kilo: f64 = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0);
    // Where the kernel does not let a process forget its peak, the one before it counts, too.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kilo * 1024.0
}

/// What something took.
fn took<T>(of: impl FnOnce() -> T) -> (T, Takes) {
    peak();
    let before = processor();
    let done = of();
    (done, Takes { seconds: processor() - before, memory: peak() })
}

fn row(what: &str, took: Takes, said: Takes) {
    println!(
        "  {what:<15} {:>8.2} s, said {:>8.2} s ({:>5.2}) {:>8.0} MB, said {:>8.0} MB ({:>5.2})",
        took.seconds,
        said.seconds,
        said.seconds / took.seconds.max(0.01),
        took.memory / 1e6,
        said.memory / 1e6,
        said.memory / took.memory,
    );
}

fn one(folder: &Path, workload: Workload) {
    let (name, rows) = (workload.0, workload.4 as f64);
    let spec = made_up(folder, workload);
    let job = compile::plan(&spec, Look::Needed, "2026-01-01").unwrap_or_else(|e| panic!("{e}"));
    let Effort { work, release, row: each, answer, .. } =
        job.effort(&spec, Memory::default()).expect("tables");
    let key = SigningKey::throw_away().expect("a key");
    let made = || {
        let options = Options {
            out: folder,
            data: None,
            counts: None,
            ledger: &folder.join(format!("{name}.jsonl")),
            key: &key,
            replace: true,
            day: "2026-01-01",
            entropy: Entropy::from_os().expect("randomness"),
        };
        compile::release(&spec, options, &Means::default()).unwrap_or_else(|e| panic!("{e}")).sealed
    };
    drop(job);
    let (sealed, making) = took(made);
    println!(
        "{name}: {:.1} MB, said {:.1} MB ({:.2})",
        sealed.bytes as f64 / 1e6,
        work.file / 1e6,
        work.file / sealed.bytes as f64
    );
    let of_rows = |a: f64, b: f64| a + rows * b;
    let said = Takes {
        seconds: of_rows(release.seconds, each.seconds),
        memory: of_rows(release.memory, each.memory),
    };
    row("release", making, said);
    // One count in the largest table: of whatever is asked together, the dimensions with the most categories.
    let together = if workload.2.contains("up_to = 3") { 3 } else { 2 };
    let mut largest: Vec<usize> = (0..workload.1.len()).collect();
    largest.sort_by_key(|&d| std::cmp::Reverse(workload.1[d]));
    let conditions: Vec<String> = largest[..together].iter().map(|d| format!("a{d:02} = 1")).collect();
    let first = format!("SELECT COUNT(*) FROM \"{name}\" WHERE {}", conditions.join(" AND "));
    let pair = |a: usize, b: usize| {
        format!("SELECT a{a:02}, a{b:02}, COUNT(*) FROM \"{name}\" GROUP BY a{a:02}, a{b:02}")
    };
    let ask = |answers: &Answers, sql: &str| answers.ask(sql, &Ask::at(0.95)).expect("an answer").rows.len();
    let (answers, opening) = took(|| {
        let answers = Answers::open(&sealed.path).expect("a release");
        ask(&answers, &first);
        answers
    });
    row("first answer", opening, answer);
    let started = std::time::Instant::now();
    ask(&answers, &pair(2, 3));
    println!("  another answer  {:>8.1} ms", started.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for workload in WORKLOADS {
        if wanted.is_empty() || wanted.iter().any(|w| w == workload.0) {
            one(folder.path(), workload);
        }
    }
}
