use super::*;
use crate::answer::Answers;
use crate::secret::ingest::{Frame, Held};
use crate::watch::Watch;
use std::sync::{Arc, OnceLock};

const SPEC: &str = "name = \"shop\"\ntitle = \"A shop\"\n\n[privacy]\nunit = \"row\"\nepsilon = 1\n\n\
    [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n\n[[dimension]]\nname = \"age\"\nrange = [0, 9]\n\n\
    [[table]]\nof = [\"sex\", \"age\"]\n";

fn demo() -> Spec {
    Spec::from_toml(&SPEC.replacen("title", "demo = true\ntitle", 1)).unwrap()
}

fn rows() -> Frame {
    some_rows(400)
}

fn some_rows(n: usize) -> Frame {
    let mut frame = Frame::new(vec![("sex".into(), Held::Text), ("age".into(), Held::Whole)]);
    for row in 0..n {
        frame.cell(if row % 4 == 0 { b"M" } else { b"F" });
        frame.cell((row % 10).to_string().as_bytes());
    }
    frame
}

/// A watch that is stopped when it hears of this stage.
fn stopping(at: &'static str) -> Watch {
    let own = Arc::new(OnceLock::<Watch>::new());
    let heard = own.clone();
    let watch = Watch::hearing(move |stage, _, _| {
        if let (true, Some(watch)) = (stage == at, heard.get()) {
            watch.stop();
        }
    });
    own.set(watch.clone()).unwrap();
    watch
}

#[test]
fn a_spec_is_planned_released_and_asked() {
    let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
    let plan = demo().plan().unwrap();
    assert_eq!(plan.tables().len(), 1);
    assert_eq!(plan.tables()[0].levels, ["sex", "age"]);
    let ledger = folder.path().join("l.jsonl");
    let options = || ReleaseOptions::new().out(folder.path().join("out")).ledger(&ledger).rows(&rows);
    let made = plan.release(options().threads(2)).unwrap();
    assert_eq!((made.cost(), made.currency(), made.name()), (plan.cost(), "epsilon", "shop"));
    let answers = Answers::open(made.path()).unwrap();
    let table = answers.query("SELECT sex, COUNT(*) FROM shop GROUP BY sex", 0.95).unwrap();
    assert_eq!(table.rows.len(), 2);
    assert!(made.extends().is_none() && made.key_file.is_none());
    // Small files are mostly their manifest, which is reckoned roughly.
    let (told, is) =
        (plan.file_bytes().unwrap() as f64, std::fs::metadata(made.path()).unwrap().len() as f64);
    assert!((0.5..2.0).contains(&(told / is)) && plan.memory_bytes().unwrap() > 1_000_000, "{told} {is}");
    // The second is told of, and may be declined.
    assert!(matches!(plan.release(options()), Err(MakeError::Exists(_))));
    let mut heard = Vec::new();
    let declined = plan.release(
        options().replace(true).warn(|text| heard.push(text.to_owned())).consent(|c| c.replaced.is_empty()),
    );
    assert!(matches!(declined, Err(MakeError::Declined)));
    assert!(heard.iter().any(|text| text.contains("charges again: in all ε = 2")), "{heard:?}");
    assert_eq!(crate::ledger::Ledger::read(&ledger).unwrap().charges().count(), 1);
}

#[test]
fn what_is_missing_has_a_name() {
    let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
    let options = || ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
    assert!(matches!(demo().release(options()), Err(MakeError::NoData)));
    let own = Spec::from_toml(SPEC).unwrap();
    assert!(matches!(own.release(options().rows(&rows)), Err(MakeError::NoKey)));
    assert!(matches!(own.release(options().effort(crate::spec::MOST_EFFORT + 1)), Err(MakeError::Effort(_))));
    assert!(matches!(Spec::from_toml("name = 3"), Err(MakeError::Spec(_))));
    assert!(matches!(Spec::load(folder.path().join("none.toml")), Err(MakeError::Spec(_))));
    let little = demo().plan_with(&PlanOptions::new().memory(1000)).unwrap_err().to_string();
    assert!(little.contains("more than the limit of 1000 bytes"), "{little}");
    // A limit is its plan's alone.
    assert!(demo().plan().is_ok());
    let plan = demo().plan().unwrap();
    assert!(plan.statement("duckdb", "rows").unwrap().contains("FROM rows"));
    assert!(plan.statement("cobol", "rows").unwrap_err().to_string().contains("spark, duckdb"));
    assert_eq!(demo().data_columns(), ["age", "sex"]);
}

#[test]
fn work_stops_where_it_is_asked_to() {
    let text = SPEC.replace("[[table]]", "[strategy]\nmeasure = \"tables\"\neffort = 100000\n\n[[table]]\nof = [\"sex\"]\n\n[[table]]\nof = [\"age\"]\n\n[[table]]");
    let long = Spec::from_toml(&text.replacen("title", "demo = true\ntitle", 1)).unwrap();
    let stopped = long.plan_with(&PlanOptions::new().watch(&stopping("searching")));
    assert!(matches!(stopped, Err(MakeError::Stopped(_))), "{stopped:?}");
    let rows = rows();
    for (at, said, charged) in [
        ("reading", "nothing was charged, and nothing is left behind", false),
        ("charged", "stays charged (line 2 of ", true),
        ("measured", "stays charged (line 2 of ", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (out, ledger) = (folder.path().join("of/it"), folder.path().join("l.jsonl"));
        let options = ReleaseOptions::new().out(&out).ledger(&ledger).rows(&rows).watch(&stopping(at));
        let Err(MakeError::Stopped(note)) = demo().release(options) else { panic!("{at}: it went on") };
        assert!(note.contains(said), "{at}: {note}");
        assert_eq!(ledger.exists(), charged, "{at}");
        assert!(!folder.path().join("of").exists(), "{at}: a folder that it made is left");
    }
    // What goes wrong after the file has its name says what is spent, and that the file is good.
    let folder = tempfile::tempdir().unwrap();
    let (out, ledger) = (folder.path().join("out"), folder.path().join("l.jsonl"));
    let torn = ledger.clone();
    let watch = crate::watch::Watch::hearing(move |stage, _, _| {
        if stage == "sealed" {
            std::fs::write(&torn, "{").unwrap();
        }
    });
    let failed = demo().release(ReleaseOptions::new().out(&out).ledger(&ledger).rows(&rows).watch(&watch));
    let told = failed.unwrap_err().to_string();
    assert!(told.contains("stays charged (line 2 of ") && told.contains("keep it"), "{told}");
    assert!(!told.contains("no release of it") && out.read_dir().unwrap().count() == 2, "{told}");
    // Who stops one stops no other.
    assert!(demo().plan().is_ok());
}

/// What is published without noise of other rows contradicts what is extended: nobody knows it before it is counted, and then it is said.
#[test]
fn an_extension_of_other_rows_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("agency.key");
    std::fs::write(&key, crate::release::keys::keygen(None).unwrap().secret).unwrap();
    let exact = "[[table]]\nof = [\"sex\"]\nexact = true\nreason = \"law\"\n";
    let spec = |name: &str| {
        let text =
            SPEC.replacen("shop", name, 1).replacen("[privacy]", "[dataset]\nid = \"people\"\n[privacy]", 1);
        Spec::from_toml(&(text + exact)).unwrap()
    };
    let options = || {
        let own = ReleaseOptions::new().out(folder.path()).ledger(folder.path().join("l.jsonl"));
        own.key(&key)
    };
    let first = rows();
    let out = spec("shop").release(options().rows(&first)).unwrap();
    for (name, n) in [("same", 400), ("other", 401)] {
        let (rows, mut heard) = (some_rows(n), Vec::new());
        let warned = options().rows(&rows).extends(out.path()).warn(|text| heard.push(text.to_owned()));
        spec(name).release(warned).unwrap();
        let said =
            heard.iter().any(|text| text.contains("cannot be asked together") && text.contains("table sex"));
        assert_eq!(said, n != 400, "{heard:?}");
    }
}

/// A projection is asked alone, so one that extends another release would be paid for and never be of use: it is refused before that release is
/// opened, which here is not even there.
#[test]
fn a_projection_extends_nothing() {
    let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
    let ledger = folder.path().join("l.jsonl");
    let text =
        SPEC.replace("[[table]]\nof", "[projection]\nrows = 64\nsparsity = 2\nof").replace("epsilon", "rho");
    let spec = Spec::from_toml(&text.replacen("title", "demo = true\ntitle", 1)).unwrap();
    let options = ReleaseOptions::new().out(folder.path()).ledger(&ledger).rows(&rows);
    let why = spec.release(options.extends(folder.path().join("none.margins"))).unwrap_err().to_string();
    assert!(why.contains("a projection is asked alone") && !ledger.exists(), "{why}");
}

/// Beside tables with noise an amount may have none: then it is named, for not every table is exact.
#[test]
fn an_amount_without_noise_is_named() {
    let text = SPEC.replacen("title", "demo = true\ntitle", 1)
        + "[[table]]\nof = [\"sex\"]\nsum = [\"pay\"]\nexact = true\nreason = \"law\"\n\
           [[amount]]\nname = \"pay\"\nlow = 0\nhigh = 10\n";
    let why = Spec::from_toml(&text).unwrap().plan().unwrap_err().to_string();
    assert!(why.contains("every table of sums of pay is exact"), "{why}");
}
