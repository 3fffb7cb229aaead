//! The specs of the sound files, and how they were made.

use super::lies::{LEDGER, agency, released_in};
use super::sound::folder;
use margins::release::forged;
use std::path::Path;

/// The data of all of them: 200 rows of 90 units, no woman in c1.
fn rows() -> String {
    let row = |i: usize| {
        let of = |list: &[&'static str], by: usize| list[i / by % list.len()];
        let (sex, area) = (of(&["F", "M", "M", ""], 1), of(&["a1", "b1", "a2", "b2", "a3", "c1"], 2));
        let day = of(&["2024-02-28", "2024-03-01", "2024-02-29", "2024-03-02", "2024-03-05"], 3);
        let pay = of(&["120", "", "700", "50", "300.5", "301"], 5);
        format!("{},{sex},{area},{day},{pay},{},{}.5\n", i % 90, 10 + i % 40, i % 7)
    };
    std::iter::once("who,sex,area,day,pay,hours,weight\n".to_owned()).chain((0..200).map(row)).collect()
}

/// A file that specs name: groups of unequal size.
const AREAS: &str = "area,district,country\na1,a,x\na2,a,x\na3,a,x\nb1,b,x\nb2,b,x\nc1,c,y\n";

/// A name, what `[privacy]` has beside the unit, and the rest of the spec.
const KINDS: [(&str, &str, &str); 6] = [
    (
        "nested-sums",
        "rho = 2\nmeasure_truncation = true",
        "[[recipient]]\nname = \"near\"\nrho = 2\n[[recipient]]\nname = \"far\"\nrho = \"1/3\"\n[[recipient]]\nname = \"last\"\nrho = \"1/10\"\n\
         [[amount]]\nname = \"pay\"\nlow = 100\nhigh = 600\nstep = 0.5\nsquare = true\nmissing = \"skip\"\nmeasure_clamping = true\n\
         [[table]]\nof = [\"sex\", \"area.district\"]\nsum = [\"pay\"]\n[[table]]\nof = [\"area\"]\n",
    ),
    (
        "shifted-weights",
        "epsilon = 4\nmeasure_truncation = \"1/10\"",
        "[[recipient]]\nname = \"one\"\nepsilon = 4\n[[recipient]]\nname = \"two\"\nepsilon = 1\n[recipients]\nmode = \"shifted\"\ncentres = [-4, 20]\n\
         [weights]\ncolumn = \"weight\"\nhigh = 5\nstep = 0.5\nunweighted = true\nmissing = \"zero\"\n\
         [[amount]]\nname = \"hours\"\nlow = 0\nhigh = 100\nstep = 1\nmissing = \"zero\"\n\
         [[table]]\nof = [\"sex\"]\nsum = [\"hours\"]\n[[table]]\nof = [\"day\"]\n",
    ),
    (
        "asked-of-bases",
        "epsilon = 2\ndelta = 1e-6",
        "[[table]]\nof = [\"sex\", \"day\"]\nask = { day = \"ranges\" }\n[[table]]\nof = [\"area\", \"sex\"]\nask = { day = \"prefixes\" }\n\
         [[query]]\nsql = \"SELECT COUNT(*) FROM asked-of-bases WHERE day >= DATE '2024-02-29' GROUP BY sex\"\nweight = 3\n\
         [[zero]]\nwhere = \"sex = 'F' AND area = 'c1'\"\n[strategy]\nmeasure = \"bases\"\n",
    ),
    (
        "together",
        "rho = 1",
        "[[table]]\nof = [\"area\", \"sex\"]\n[[table]]\nof = [\"area.country\", \"day\"]\nask = { day = [\"2024-02-28\", [\"2024-02-29\", \"2024-03-02\"]] }\n\
         [strategy]\nmeasure = \"together\"\n",
    ),
    (
        "exact-sums",
        "rho = 1",
        "[[amount]]\nname = \"hours\"\nlow = 0\nhigh = 100\nstep = 1\n[[table]]\nof = [\"sex\"]\nsum = [\"hours\"]\nexact = true\nreason = \"it is known\"\n\
         [[table]]\nof = [\"area\", \"sex\"]\nsum = [\"hours\"]\n[strategy]\nmeasure = \"residual\"\n",
    ),
    (
        "asked",
        "epsilon = 1",
        "[asked]\nqueries = [\"SELECT area.district, COUNT(*) FROM asked GROUP BY area.district\", \"SELECT COUNT(*) FROM asked WHERE day < DATE '2024-03-01'\"]\n",
    ),
];

/// Makes those that are not there.
pub(crate) fn freeze(root: &Path) {
    let folder = folder(root);
    std::fs::create_dir_all(&folder).unwrap();
    let key = agency();
    for (name, budget, rest) in KINDS {
        let path = folder.join(format!("{name}.margins"));
        if path.exists() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("areas.csv"), AREAS).unwrap();
        let text = format!(
            "name = \"{name}\"\ntitle = \"All of it\"\n[dataset]\nid = \"all\"\nperiod = \"2026\"\nsnapshot = \"may\"\n\
             [data]\npath = \"rows.csv\"\n\
             [privacy]\nunit = {{ column = \"who\", max_rows = 2 }}\n{budget}\n[[dimension]]\nname = \"sex\"\n\
             categories = [\"F\", \"M\"]\nlabels = {{ F = \"women\", M = \"men\" }}\nmissing = \"unknown\"\n[[dimension]]\nname = \"area\"\nhierarchy = \"areas.csv\"\n\
             [[dimension]]\nname = \"day\"\ndates = [\"2024-02-28\", \"2024-03-02\"]\nother = \"later\"\n{rest}"
        );
        let made = released_in(dir.path(), LEDGER, &text, &rows(), &key);
        std::fs::write(&path, forged::bytes(&made, &key, |_, _| ())).unwrap();
    }
}
