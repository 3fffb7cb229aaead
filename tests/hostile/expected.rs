//! What a release says of the counts that its plan expected: changed, missing, or another file.

use super::lies::{agency, released_in};
use margins::audit;
use margins::release::forged::{Bodies, bytes as said};
use margins::release::{Kind, Release};

const EARLIER: &str = "name = \"earlier\"\ntitle = \"T\"\n[dataset]\nid = \"earlier\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
    [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 9]\n[[table]]\nof = [\"sex\", \"age\"]\n";
const NOW: &str = "name = \"now\"\ntitle = \"T\"\n[dataset]\nid = \"now\"\n[privacy]\nunit = \"row\"\nrho = 1\n\
    [[dimension]]\nname = \"sex\"\ncategories = [\"F\", \"M\"]\n[[dimension]]\nname = \"age\"\nrange = [0, 9]\n\
    [[table]]\nof = [\"sex\"]\n[[table]]\nof = [\"age\"]\n[strategy]\nmeasure = \"queries\"\nobjective = \"relative\"\n\
    expected = { file = \"earlier.margins\", floor = 2 }\n";

/// Each is refused, and for its own reason.
pub(crate) fn expected_counts() {
    let (key, dir) = (agency(), tempfile::tempdir().unwrap());
    let rows: String =
        (0..200).map(|i| format!("{},{}\n", ["F", "M"][usize::from(i % 5 == 0)], i % 7)).collect();
    let release = |name: &str, text| {
        released_in(dir.path(), &format!("{name}.jsonl"), text, &format!("sex,age\n{rows}"), &key)
    };
    release("earlier", EARLIER);
    let now = release("now", NOW);
    let verdict = |bytes: Vec<u8>| {
        let audit = audit::audit(&Release::from_bytes(bytes).unwrap(), None).unwrap();
        (audit.verdict().word(), audit.to_text("it").split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let at = |bodies: &Bodies| bodies.iter().position(|(tag, _)| *tag == Kind::Attachment.tag()).unwrap();
    let (word, text) = verdict(said(&now, &key, |_, _| {}));
    assert_eq!(word, "verified", "{text}");
    let with = |change: &dyn Fn(&str) -> Vec<u8>| {
        verdict(said(&now, &key, |_, bodies| {
            let at = at(bodies);
            bodies[at].1 = change(std::str::from_utf8(&bodies[at].1).unwrap());
        }))
    };
    // A remark is no count; the counts are.
    assert_eq!(with(&|text| text.replace("# from", "# not from").into_bytes()).0, "verified");
    for (what, why, change) in [
        (
            "other counts",
            "tables",
            (&|text: &str| {
                let line = text.lines().find(|l| l.ends_with(" sex")).unwrap();
                text.replace(line, "4,9 sex").into_bytes()
            }) as &dyn Fn(&str) -> Vec<u8>,
        ),
        ("no counts", "it says nothing of `age`", &|text: &str| text.replace(" age", " ages").into_bytes()),
        ("another number of counts", "it has no 2 counts for `sex`", &|text: &str| {
            let line = text.lines().find(|l| l.ends_with(" sex")).unwrap();
            text.replace(line, "4*3 sex").into_bytes()
        }),
        ("another floor", "its first line is not", &|text: &str| {
            text.replace("count, 2)", "count, 3)").into_bytes()
        }),
        ("no text", "it is no release, and no text", &|_: &str| vec![0xff; 40]),
        // A reader of sealed specs opens no releases inside of releases.
        ("a release", "does not say what to expect", &|_: &str| {
            std::fs::read(dir.path().join("earlier.margins")).unwrap()
        }),
    ] {
        let (word, text) = with(change);
        assert!(word == "failed" && text.contains(why), "{what}: {text}");
    }
    // None, though the spec refers to it.
    let (word, text) = verdict(said(&now, &key, |m, bodies| {
        bodies.remove(at(bodies));
        m["sources"]["attachments"] = serde_json::json!([]);
    }));
    assert!(word == "failed" && text.contains("cannot read"), "{text}");
}
