//! The corpus: each file is well signed, small, and made to crash, stall or bloat a reader, or to lie to its user.

use super::file::{CRITICAL, DOMAIN, EXACT, File, Key, MEASUREMENTS, PLAN, PROJECTION, SPEC, Section, ZERO};
use super::raw::{self, Block, Bytes, Dimension, Pairs, Plan, Projection, Ratio, Told, exact, level, packed};
use margins::cube::Frame;
use margins::plan::{Noise, cost};
use margins::release::Release;
use margins::release::claims::{self, Claims, Words};
use serde_json::{Value, json};

/// One file, and what its refusal says.
pub(crate) struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub why: &'static str,
}

/// A release in parts, before they are put together.
#[derive(Clone)]
pub(crate) struct Made {
    pub domain: Vec<Dimension>,
    pub plan: Plan,
    pub values: Vec<Vec<u8>>,
    pub exact: Vec<Vec<u8>>,
    pub zeros: Vec<Vec<u8>>,
    pub projection: Option<Projection>,
    /// What the manifest says the release costs.
    pub cost: String,
    /// Changes of what was put together.
    pub then: Vec<fn(&mut File)>,
}

const WHOLE: Ratio = (1, 1);

fn table(of: &[(u16, u8)]) -> Block {
    Block::Of(2, of.to_vec())
}

/// Sex by age: one table of six cells, σ² = 1, ρ = 1/2.
pub(crate) fn good() -> Made {
    let both: Pairs = vec![(0, 1), (1, 1)];
    Made {
        domain: vec![Dimension::plain("sex", 2), Dimension::plain("age", 3)],
        plan: Plan {
            noise: 1,
            budget: (1, 2),
            neighbours: 1,
            max_rows: 1,
            measure: 2,
            budgets: 1,
            levels: vec![vec![0, 1]; 2],
            workload: vec![(both.clone(), WHOLE)],
            measurements: vec![(table(&both), (1, 1))],
        },
        values: vec![packed(5, &[3, 1, -4, 1, 5, 9])],
        exact: Vec::new(),
        zeros: Vec::new(),
        projection: None,
        cost: "1/2".into(),
        then: Vec::new(),
    }
}

/// 64 sums of one listed dimension.
pub(crate) fn projected() -> Made {
    let mut made = good();
    made.plan.measurements.clear();
    made.plan.workload.clear();
    made.plan.levels = vec![vec![0]; 2];
    made.plan.measure = 3;
    made.plan.budgets = 2;
    made.values = vec![packed(4, &[1; 64])];
    made.projection = Some(Projection {
        shape: (1, 64, 0),
        key: vec![(1, false)],
        independence: 64,
        seed: [7; 32],
        noise: 1,
        scale: (64, 1),
        budget: (1, 2),
        neighbours: 1,
        max_rows: 1,
        queries: 100,
        failure: (1, 100),
        sparsity: 10,
        norm_bound: 0,
    });
    made
}

impl Made {
    /// Put together, with a manifest that agrees with all of it.
    pub(crate) fn file(&self) -> File {
        let ratio = |(n, d): Ratio| if d == 1 { n.to_string() } else { format!("{n}/{d}") };
        let amount = |text: &str, projection: bool| {
            let currency = if self.plan.noise == 2 && !projection { "epsilon" } else { "rho" };
            json!({ "currency": currency, "amount": text })
        };
        let projects = self.projection.is_some();
        let measure = [
            "residual",
            "queries",
            "base",
            "hierarchy",
            "cluster",
            "tables",
            "given",
            "wavelet",
            "fourier",
            "matrix",
        ];
        let one = json!({ "block": "b", "kind": "table", "scale": "1", "sensitivity": "1", "cost": "1/2" });
        let count = self.plan.measurements.len();
        let texts = |list: &[Vec<u8>]| -> Vec<String> {
            list.iter().map(|z| String::from_utf8_lossy(z).into_owned()).collect()
        };
        let mut manifest = json!({
            "format": 1,
            "created": "2026-01-31",
            "compiler": "a text editor",
            "not_private": false,
            "about": { "name": "hostile", "title": "A file made to harm" },
            "privacy": {
                "unit": "row", "max_rows": self.plan.max_rows,
                "neighbours": if self.plan.neighbours == 2 { "substitute" } else { "add-remove" },
                "budget": amount(&ratio(self.plan.budget), projects), "cost": amount(&self.cost, projects),
                "note": "nobody is protected",
            },
            "plan": {
                "measure": measure.get(usize::from(self.plan.measure).wrapping_sub(1)).unwrap_or(&"base"),
                "budgets": if self.plan.budgets == 2 { "uniform" } else { "optimal" },
                "mechanism": if self.plan.noise == 2 { "laplace" } else { "gaussian" },
                "workload": [], "count": count, "measurements": vec![one; count.min(10_000)],
            },
            "declared": {
                "invariants": self.exact.iter().map(|e| self.declared(e)).collect::<Vec<_>>(),
                "constraints": texts(&self.zeros), "post_processing": [],
            },
            "sources": { "spec": "", "domain": "", "attachments": [] },
        });
        if let Some(p) = &self.projection {
            manifest["projection"] = json!({
                "kind": if p.shape.0 == 1 { "dense" } else { "sketch" },
                "rows": p.shape.1, "independence": p.independence,
                "seed": blake3::Hash::from_bytes(p.seed).to_hex().as_str(),
                "key": ["age"], "queries": p.queries, "failure": ratio(p.failure), "sparsity": p.sparsity,
                "collision": "0", "scale": ratio(p.scale),
            });
            if p.shape.0 == 2 {
                manifest["projection"]["buckets"] = p.shape.2.into();
            }
        }
        let mut file = File { sections: Vec::new(), manifest };
        file.put(DOMAIN, vec![raw::domain(&self.domain)]);
        file.put(PLAN, vec![self.plan.bytes()]);
        file.put(SPEC, vec![self.spec().into_bytes()]);
        file.put(MEASUREMENTS, self.values.clone());
        file.put(EXACT, self.exact.clone());
        file.put(ZERO, self.zeros.clone());
        file.put(PROJECTION, self.projection.iter().map(Projection::bytes).collect());
        // What can be derived is claimed as it is: a case lies where it means to.
        honest(&mut file);
        self.then.iter().for_each(|change| change(&mut file));
        file
    }

    /// How an exact table is declared, by what its section says it is.
    fn declared(&self, bytes: &[u8]) -> String {
        let name = |at: usize| {
            let &[low, high, l] = bytes.get(at..at + 3)? else { return None };
            let (d, l) = (usize::from(u16::from_le_bytes([low, high])), usize::from(l));
            let dimension = self.domain.get(d)?;
            match l == dimension.levels.len() {
                true => Some(dimension.name.clone()),
                false => {
                    Some(format!("{}.{}", dimension.name, dimension.levels.get(l.checked_sub(1)?)?.name))
                }
            }
        };
        let names: Option<Vec<String>> =
            (0..bytes.first().copied().unwrap_or(0)).map(|i| name(1 + 3 * usize::from(i))).collect();
        format!("{}: so it was said", names.map_or("exact".into(), |n| n.join(" × ")))
    }

    /// A spec that may be the release's.
    fn spec(&self) -> String {
        let mut text = String::from(
            "name = \"hostile\"\ntitle = \"A file made to harm\"\n\n[privacy]\nunit = \"row\"\nrho = \"1/2\"\n",
        );
        for d in self.domain.iter().take(4) {
            let labels = d.levels.last().map_or(Vec::new(), |l| l.labels.clone());
            text += &format!("\n[[dimension]]\nname = {:?}\ncategories = {labels:?}\n", d.name);
        }
        text + "\n[[table]]\nof = [\"sex\", \"age\"]\n\n[strategy]\nmeasure = \"queries\"\n"
    }
}

/// Writes the claims that follow from the sections into the manifest, where they can be read.
fn honest(file: &mut File) {
    let claims = || {
        let release = Release::from_bytes(file.sealed(&Key::new())).ok()?;
        let cube = release.cube().ok()?;
        let plan = release.plan(&cube).ok()?;
        let words = Words {
            delta: if plan.noise == Noise::Gaussian || release.manifest().projection.is_some() {
                claims::default_delta()
            } else {
                None
            },
            ..Words::of(release.manifest(), &cube, &plan)
        };
        match margins::release::projection::projection(&release, &cube).ok()? {
            Some(projection) => claims::of_projection(1, &cube, &projection, &words).ok(),
            None => {
                let cost = cost::cost(&plan, &Frame::new(&cube, &plan.levels)).ok()?;
                claims::of_tables(1, &cube, &plan, &cost, &words).ok()
            }
        }
    };
    // What costs more than it may must be refused for that, and not for saying so.
    let affordable = |c: &Claims| c.privacy.cost.amount <= c.privacy.budget.amount;
    let found = claims().filter(affordable).map(serde_json::to_value);
    let Some(Ok(Value::Object(claims))) = found else { return };
    for (name, claim) in claims.into_iter().filter(|(_, claim)| !claim.is_null()) {
        file.manifest[name] = claim;
    }
}

/// A list that says it has so many items, and ends.
fn promised(n: u128) -> Vec<u8> {
    let mut b = Bytes::default();
    b.uint(n);
    b.0
}

/// `n` dimensions of `nodes` categories each.
fn many(n: usize, nodes: usize) -> Vec<Dimension> {
    (0..n).map(|i| Dimension::plain(&format!("d{i}"), nodes)).collect()
}

fn first(n: u16) -> Pairs {
    (0..n).map(|d| (d, 1)).collect()
}

/// One measurement over the first `n` of some dimensions.
fn over(dimensions: Vec<Dimension>, block: Block, asked: Pairs, values: Vec<u8>) -> Made {
    let mut made = good();
    made.plan.levels = vec![vec![0, 1]; dimensions.len()];
    made.domain = dimensions;
    made.plan.workload = vec![(asked, WHOLE)];
    made.plan.measurements = vec![(block, (1, 1))];
    made.values = vec![values];
    made
}

/// The whole corpus. Each case changes one thing of a good file, or a few that belong together.
pub(crate) fn corpus(key: &Key) -> Vec<Case> {
    let mut out = Vec::new();
    let with = |change: &dyn Fn(&mut Made)| {
        let mut made = good();
        change(&mut made);
        made
    };

    // The domain: sizes that are not there.
    let cannot = "the domain cannot be decoded";
    let domain_of = |bytes: Vec<u8>| {
        let mut file = good().file();
        file.put(DOMAIN, vec![bytes]);
        file
    };
    for (name, n) in [("2^60", 1u128 << 60), ("2^31", 1 << 31), ("a million", 1_000_000), ("10 000", 10_000)]
    {
        let mut nested = Bytes::default();
        nested.uint(1);
        nested.text("sex");
        nested.uint(n);
        let mut labels = nested.clone();
        labels.0.truncate(5);
        labels.uint(1);
        labels.text("sex");
        let mut text = labels.clone();
        labels.uint(n);
        text.uint(2);
        text.uint(n);
        for (what, bytes) in [
            ("dimensions", promised(n)),
            ("levels", nested.0),
            ("labels", labels.0),
            ("a label's bytes", text.0),
        ] {
            out.push(Case {
                name: format!("{name} {what}"),
                bytes: domain_of(bytes).sealed(key),
                why: cannot,
            });
        }
    }
    let whole = raw::domain(&good().domain);
    let longer = [whole.clone(), vec![0]].concat();
    let mut wide = whole.clone();
    wide.splice(0..1, [251, 2, 0]);
    for (name, bytes) in [
        ("empty domain", Vec::new()),
        ("short domain", whole[..whole.len() / 2].to_vec()),
        ("long domain", longer),
        ("number in more bytes than it needs", wide),
        ("no such mark of a number", vec![255; 40]),
    ] {
        out.push(Case { name: name.into(), bytes: domain_of(bytes).sealed(key), why: cannot });
    }
    let mut add = |name: &str, why: &'static str, made: Made| {
        out.push(Case { name: name.into(), bytes: made.file().sealed(key), why });
    };

    // The domain: texts for the terminal, and trees that are none.
    let plain = "control character, or one that turns";
    add("escape in a dimension's name", plain, with(&|m| m.domain[0].name = "\x1b[2J\x1b[Hsex".into()));
    add("escape in a level's name", plain, with(&|m| m.domain[0].levels[0].name = "\x1b]0;pwned\x07".into()));
    add("escape in a label", plain, with(&|m| m.domain[0].levels[0].labels[0] = "\x1b[31mF".into()));
    add(
        "eight-bit escape in a label",
        plain,
        with(&|m| m.domain[0].levels[0].labels[0] = "\u{9b}31mF".into()),
    );
    add(
        "label that turns the direction",
        plain,
        with(&|m| m.domain[0].levels[0].labels[0] = "F\u{202e}000,1".into()),
    );
    add(
        "isolated direction in a label",
        plain,
        with(&|m| m.domain[0].levels[0].labels[0] = "\u{2067}F".into()),
    );
    add("line end in a label", plain, with(&|m| m.domain[0].levels[0].labels[0] = "F\nM  9,999".into()));
    add("zero byte in a label", plain, with(&|m| m.domain[0].levels[0].labels[0] = "F\0".into()));
    add("very long label", "longer than 4096", with(&|m| m.domain[0].levels[0].labels[0] = "x".repeat(5000)));
    add("very long name", "longer than 4096", with(&|m| m.domain[1].name = "x".repeat(100_000)));
    add("4097 dimensions", "more than 4096 dimensions", with(&|m| m.domain = many(4097, 1)));
    add(
        "64 levels",
        "2 to 64 are possible",
        with(&|m| {
            m.domain[0].levels = (0..64).map(|i| level(&format!("l{i}"), 1, vec![0])).collect();
        }),
    );
    add("no level", "2 to 64 are possible", with(&|m| m.domain[0].levels.clear()));
    add(
        "parent that does not exist",
        "parent does not exist",
        with(&|m| m.domain[0].levels[0].parents[1] = 1),
    );
    add("parent far away", "parent does not exist", with(&|m| m.domain[0].levels[0].parents[1] = u32::MAX));
    add("a label twice", "same label", with(&|m| m.domain[0].levels[0].labels[1] = "0".into()));
    add("a name twice", "same name", with(&|m| m.domain[1].name = "sex".into()));
    add(
        "not a number",
        "above its largest",
        with(&|m| m.domain[0].levels[0].bounds = vec![Some((f64::NAN, 1.0)), None]),
    );
    add("bounds of some", "no entry", with(&|m| m.domain[0].levels[0].bounds = vec![None]));

    // The plan: sizes.
    let more_cells = "more cells than any may have";
    add("2^64 cells", more_cells, over(many(64, 2), table(&first(64)), first(64), packed(0, &[0])));
    add("2^40 cells", more_cells, over(many(40, 2), table(&first(40)), first(40), packed(0, &[0])));
    add(
        "table of all 4096 dimensions",
        more_cells,
        over(many(4096, 2), table(&first(4096)), first(4096), vec![0]),
    );
    let room = "its values take at least";
    add("2^31 cells in a byte", room, over(many(31, 2), table(&first(31)), first(31), vec![0]));
    add("2^24 cells in a byte", room, over(many(24, 2), table(&first(24)), first(24), vec![0]));
    add("64 cells in a byte", room, over(many(6, 2), table(&first(6)), first(6), vec![0]));
    add(
        "64 cells of no width",
        "packed values are malformed",
        over(many(6, 2), table(&first(6)), first(6), vec![0; 9]),
    );
    let parts = "whose other parts are not in the file";
    for (name, tag) in [("component", 1), ("pair", 3), ("coefficient", 4)] {
        let block = Block::Of(tag, first(30));
        add(&format!("one {name} of 2^30 cells"), parts, over(many(30, 2), block, first(30), vec![1, 0]));
    }
    add("2^36 coefficients", "its values take at least", {
        over(many(12, 5), Block::Of(4, first(12)), first(12), vec![1, 0])
    });
    for (name, tag) in [("component", 1), ("pairs", 3), ("coefficients", 4)] {
        let block = Block::Of(tag, first(2));
        let dims = vec![Dimension::plain("sex", 2), Dimension::plain("only", 1)];
        add(&format!("{name} of one category"), "no values", over(dims, block, first(2), vec![0]));
    }
    add("coefficients of one category, with zeros", "no values", {
        let dims = vec![Dimension::plain("sex", 2), Dimension::plain("only", 1)];
        let mut made = over(dims, Block::Of(4, first(2)), first(2), vec![0]);
        made.zeros = vec![b"sex = '0'".to_vec()];
        made
    });
    add("rows over 2^24 cells", more_cells, {
        over(many(24, 2), Block::Rows(first(24), vec![vec![(0, 1)]]), first(24), vec![0])
    });
    let rows = |rows: Vec<Vec<(u32, i32)>>| {
        let n = rows.len();
        over(good().domain, Block::Rows(first(2), rows), first(2), packed(1, &vec![0; n]))
    };
    let bad_row = "a row is empty";
    add("row of a cell that does not exist", bad_row, rows(vec![vec![(6, 1)]]));
    add("row of the last cell there could be", bad_row, rows(vec![vec![(u32::MAX, 1)]]));
    add("row with a factor of zero", bad_row, rows(vec![vec![(1, 0)]]));
    add("row with a cell twice", bad_row, rows(vec![vec![(1, 1), (1, 1)]]));
    add("empty row", bad_row, rows(vec![vec![]]));
    add("no rows", "no values", rows(vec![]));
    add("rows of huge columns", "does not fit", rows(vec![vec![(1, i32::MIN)]; 1000]));
    add("rows of huge columns and owners", "does not fit", {
        let mut made = rows(vec![vec![(1, i32::MIN)]; 1000]);
        made.plan.max_rows = u32::MAX;
        made
    });
    let plan_of = |build: &dyn Fn(&mut Bytes)| {
        let mut b = Bytes::default();
        [1, 1, 2, 1, 1, 2, 1].iter().for_each(|&v| b.byte(v));
        build(&mut b);
        let mut file = good().file();
        file.put(PLAN, vec![b.0]);
        file
    };
    let mut promise = |name: &str, build: &dyn Fn(&mut Bytes)| {
        let why = "the plan cannot be decoded";
        out.push(Case { name: name.into(), bytes: plan_of(build).sealed(key), why });
    };
    for n in [1u128 << 62, 1 << 33, 1 << 20, 10_000] {
        promise(&format!("levels of {n} dimensions"), &|b| b.uint(n));
        promise(&format!("{n} levels in use"), &|b| {
            b.uint(2);
            b.uint(n);
        });
        promise(&format!("{n} tables"), &|b| {
            b.uint(0);
            b.uint(n);
        });
        promise(&format!("{n} measurements"), &|b| {
            b.uint(0);
            b.uint(0);
            b.uint(n);
        });
        promise(&format!("{n} rows"), &|b| {
            [0, 0, 1, 5, 0].iter().for_each(|&v| b.byte(v));
            b.uint(n);
        });
        promise(&format!("{n} factors"), &|b| {
            [0, 0, 1, 5, 0, 1].iter().for_each(|&v| b.byte(v));
            b.uint(n);
        });
    }
    let mut add = |name: &str, why: &'static str, made: Made| {
        out.push(Case { name: name.into(), bytes: made.file().sealed(key), why });
    };

    // The plan: scales, budgets and other numbers.
    let scaled = |scale: Ratio| with(&|m| m.plan.measurements[0].1 = scale);
    let laplace = |scale: Ratio| {
        with(&|m| {
            m.plan.noise = 2;
            m.plan.measurements[0].1 = scale;
        })
    };
    let more = "more noise than can be drawn";
    add("variance 2^104 + 1", more, scaled(((1 << 104) + 1, 1)));
    add("largest variance there is", more, scaled((u128::MAX, 1)));
    add("scale 2^40 + 1", more, laplace(((1 << 40) + 1, 1)));
    add("largest scale there is", more, laplace((u128::MAX, 1)));
    add("no noise", "no noise", scaled((0, 1)));
    add("hardly any noise", "does not fit", scaled((1, u128::MAX)));
    add("hardly any Laplace noise", "does not fit", laplace((1, u128::MAX)));
    add("noise with a great denominator", "privacy cost", scaled((u128::MAX - 1, u128::MAX)));
    add("scale over zero", "lowest terms", scaled((1, 0)));
    add("scale not in lowest terms", "lowest terms", scaled((2, 2)));
    add("zero over zero", "lowest terms", scaled((0, 0)));
    add("weight over zero", "lowest terms", with(&|m| m.plan.workload[0].1 = (1, 0)));
    add("no budget", "cost", with(&|m| m.plan.budget = (0, 1)));
    add("a unit that owns nothing", "own no rows", with(&|m| m.plan.max_rows = 0));
    add("a unit that owns everything", "does not fit", with(&|m| m.plan.max_rows = u32::MAX));
    add("more than the budget", "above the budget", scaled((1, 2)));

    // The plan: indices.
    let not_used = "levels in use";
    add(
        "level in use that does not exist",
        "in use does not exist",
        with(&|m| m.plan.levels[1] = vec![0, 2]),
    );
    add("last level there could be", "in use does not exist", with(&|m| m.plan.levels[1] = vec![0, 1, 255]));
    add("levels in use not ascending", not_used, with(&|m| m.plan.levels[1] = vec![1, 0]));
    add("levels in use without total", not_used, with(&|m| m.plan.levels[1] = vec![1]));
    add("no levels in use", not_used, with(&|m| m.plan.levels[1] = vec![]));
    add("levels of one dimension only", not_used, with(&|m| m.plan.levels.truncate(1)));
    add("levels of three dimensions", not_used, with(&|m| m.plan.levels.push(vec![0])));
    add("table measured at a level not in use", not_used, with(&|m| m.plan.levels[1] = vec![0]));
    add(
        "table asked for at a level not in use",
        not_used,
        with(&|m| {
            m.plan.levels[1] = vec![0];
            m.plan.measurements[0].0 = table(&[(0, 1)]);
        }),
    );
    add(
        "table of a dimension that does not exist",
        "does not exist",
        with(&|m| m.plan.workload[0].0 = vec![(2, 1)]),
    );
    add(
        "table of the last dimension there could be",
        "does not exist",
        with(&|m| {
            m.plan.workload[0].0 = vec![(u16::MAX, 255)];
        }),
    );
    add(
        "measured dimension that does not exist",
        not_used,
        with(&|m| m.plan.measurements[0].0 = table(&[(7, 1)])),
    );
    add(
        "dimensions not ascending",
        "ascending",
        with(&|m| m.plan.measurements[0].0 = table(&[(1, 1), (0, 1)])),
    );
    add("a dimension twice", "ascending", with(&|m| m.plan.measurements[0].0 = table(&[(1, 1), (1, 1)])));
    add("a dimension at total", "ascending", with(&|m| m.plan.measurements[0].0 = table(&[(0, 0)])));
    add(
        "component twice",
        "measured twice",
        with(&|m| {
            m.plan.measurements = vec![(Block::Of(1, first(1)), (1, 1)); 2];
        }),
    );
    let tag = "the plan cannot be decoded";
    add("no such block", tag, with(&|m| m.plan.measurements[0].0 = Block::Of(7, first(2))));
    add("no such noise", tag, with(&|m| m.plan.noise = 3));
    add("no such neighbours", tag, with(&|m| m.plan.neighbours = 0));
    add("no such strategy", tag, with(&|m| m.plan.measure = 77));
    add("no such rule", tag, with(&|m| m.plan.budgets = 255));
    add(
        "pairs of three",
        "groups of more than two",
        with(&|m| m.plan.measurements[0].0 = Block::Of(3, first(2))),
    );
    add("coefficients of several levels", "several levels in use", {
        let mut made = good();
        made.domain[1].levels.push(level("fine", 3, vec![0, 1, 2]));
        made.plan.levels[1] = vec![0, 1, 2];
        made.plan.measurements[0].0 = Block::Of(4, first(2));
        made
    });

    // Bases that determine nothing, or are none.
    let age: Pairs = vec![(1, 1)];
    let basis = |entries: &[i32]| Block::Based(vec![(1, 1)], vec![Told::Basis(entries.to_vec())]);
    let told = |told: Vec<Told>| Block::Based(vec![(1, 1)], told);
    let sound = [1, 0, -1, 0, 1, -1];
    let weights = |runs: &[(u32, u32)]| Block::Based(vec![(1, 1)], vec![Told::Weights(runs.to_vec())]);
    let blocks: Vec<(&str, &'static str, Vec<Block>)> = vec![
        ("a basis that says the total again", "singular", vec![basis(&[1, 1, 1, 1, 0, 0])]),
        ("a basis of zeros", "singular", vec![basis(&[0; 6])]),
        ("a basis with two rows alike", "singular", vec![basis(&[2, 0, 1, 4, 0, 2])]),
        ("a basis with an entry less", "another number of entries", vec![basis(&sound[..5])]),
        ("a basis with a row too many", "another number of entries", vec![basis(&[sound, sound].concat())]),
        ("weights of too few nodes", "another number of factors", vec![weights(&[(2, 5)])]),
        ("weights of too many nodes", "another number of factors", vec![weights(&[(2, 5), (u32::MAX, 6)])]),
        ("weights of no nodes", "another number of factors", vec![weights(&[])]),
        ("an empty run of factors", "run of factors is empty", vec![weights(&[(0, 5), (3, 6)])]),
        ("a run of factors in two", "one with the next", vec![weights(&[(1, 5), (2, 5)])]),
        (
            "more runs of factors than nodes",
            "runs of factors",
            vec![weights(&[(1, 5), (1, 6), (1, 5), (1, 6)])],
        ),
        ("a factor of nothing", "out of range", vec![weights(&[(1, 5), (1, 0), (1, 6)])]),
        ("a huge factor", "out of range", vec![weights(&[(1, 5), (2, 1 << 25)])]),
        (
            "factors without a common multiple",
            "common multiple",
            vec![weights(&[(1, 9_999_991), (1, 9_999_973), (1, 9_999_971)])],
        ),
        (
            "weights given twice",
            "given twice",
            vec![
                weights(&[(3, 5)]),
                Block::Based(first(2), vec![Told::Siblings, Told::Weights(vec![(3, 5)])]),
            ],
        ),
        (
            "a level told by siblings and by weights",
            "told in two ways",
            vec![weights(&[(3, 5)]), Block::Based(first(2), vec![Told::Siblings, Told::Siblings])],
        ),
        ("later weights that no block gave", "a basis is missing", vec![told(vec![Told::Later(1)])]),
        (
            "the first weights by the number of later ones",
            "named in two ways",
            vec![weights(&[(1, 5), (2, 6)]), Block::Based(first(2), vec![Told::Siblings, Told::Later(0)])],
        ),
        (
            "later weights, too few of them",
            "a basis is missing",
            vec![weights(&[(1, 5), (2, 6)]), Block::Based(first(2), vec![Told::Siblings, Told::Later(1)])],
        ),
        (
            "other weights before the first",
            "a basis is missing",
            vec![told(vec![Told::Others(vec![(3, 5)])])],
        ),
        (
            "other weights that are the same",
            "the same weights are given twice",
            vec![
                weights(&[(3, 5)]),
                Block::Based(first(2), vec![Told::Siblings, Told::Others(vec![(3, 5)])]),
            ],
        ),
        (
            "other weights of too few nodes",
            "another number of factors",
            vec![
                weights(&[(3, 5)]),
                Block::Based(first(2), vec![Told::Siblings, Told::Others(vec![(2, 5)])]),
            ],
        ),
        (
            "a level told by a basis and by weights",
            "told in two ways",
            vec![
                basis(&sound),
                Block::Based(first(2), vec![Told::Siblings, Told::Others(vec![(1, 5), (2, 6)])]),
            ],
        ),
        (
            "weights of their own in two dimensions",
            "in two dimensions",
            vec![
                weights(&[(3, 5)]),
                Block::Based(vec![(0, 1)], vec![Told::Weights(vec![(2, 5)])]),
                Block::Based(
                    first(2),
                    vec![Told::Others(vec![(1, 5), (1, 6)]), Told::Others(vec![(1, 5), (2, 6)])],
                ),
            ],
        ),
        (
            "weights of a level that does not exist",
            "not in use",
            vec![Block::Based(vec![(1, 9)], vec![Told::Weights(vec![(3, 5)])])],
        ),
        ("a basis without entries", "another number of entries", vec![basis(&[])]),
        ("a basis with a huge entry", "larger than any", vec![basis(&[i32::MIN, 0, 0, 0, 1, 0])]),
        ("a basis that no block gives", "a basis is missing", vec![told(vec![Told::Known])]),
        (
            "a basis given twice",
            "given twice",
            vec![basis(&sound), Block::Based(first(2), vec![Told::Siblings, Told::Basis(sound.to_vec())])],
        ),
        ("more bases than dimensions", "number of bases", vec![told(vec![Told::Siblings, Told::Siblings])]),
        ("no basis for a dimension", "number of bases", vec![told(Vec::new())]),
        (
            "a level told in two ways",
            "told in two ways",
            vec![basis(&sound), Block::Based(first(2), vec![Told::Siblings, Told::Siblings])],
        ),
        (
            "a level told by siblings and by a basis",
            "told in two ways",
            vec![
                Block::Of(1, age.clone()),
                Block::Based(first(2), vec![Told::Siblings, Told::Basis(sound.to_vec())]),
            ],
        ),
        ("a component told twice", "measured twice", vec![basis(&sound), told(vec![Told::Known])]),
        (
            "a basis of a level that does not exist",
            "not in use",
            vec![Block::Based(vec![(1, 9)], vec![Told::Basis(sound.to_vec())])],
        ),
        (
            "a basis of a dimension that does not exist",
            "not in use",
            vec![Block::Based(vec![(7, 1)], vec![Told::Basis(sound.to_vec())])],
        ),
    ];
    for (name, why, blocks) in blocks {
        add(
            name,
            why,
            with(&|m| m.plan.measurements = blocks.iter().map(|b| (b.clone(), (100, 1))).collect()),
        );
    }
    add("a factor of a node without siblings", "without siblings is not 1", {
        let mut made = good();
        made.domain[1].levels.push(level("fine", 4, vec![0, 1, 2, 2]));
        made.plan.levels[1] = vec![0, 1, 2];
        made.plan.measurements[0].0 = Block::Based(vec![(1, 2)], vec![Told::Weights(vec![(4, 5)])]);
        made
    });
    let weighed = |format: u32, scale: Ratio| {
        let mut made =
            over(good().domain, weights(&[(1, 4), (1, 5), (1, 6)]), vec![(1, 1)], packed(5, &[1, -2]));
        made.plan.measurements =
            vec![(Block::Of(1, Vec::new()), (4, 1)), (made.plan.measurements[0].0.clone(), scale)];
        made.values = vec![[packed(5, &[3]), packed(5, &[1, -2])].concat()];
        if format == 2 {
            made.then.push(|file| file.manifest["format"] = 2.into());
        }
        made
    };
    add("weights in a file of the first version", "format 1 has no weights", weighed(1, (1000, 1)));
    add("weights that cost more than the budget", "above the budget", weighed(2, (30, 1)));
    add("weights with noise beyond all", "noise", weighed(2, (1 << 105, 1)));
    add("weights with Laplace noise", "need Gaussian noise", {
        let mut made = weighed(2, (1000, 1));
        made.plan.noise = 2;
        made
    });
    add("a basis of two thousand nodes", "more nodes than any", {
        let mut made = good();
        made.domain[1] = Dimension::plain("age", 2000);
        made.plan.measurements[0].0 = basis(&[1; 64]);
        made
    });

    // The measurements.
    let sections = "sections of measurements; the plan needs 1";
    add("no measurements", sections, with(&|m| m.values.clear()));
    add("two sections of measurements", sections, with(&|m| m.values.push(packed(1, &[0; 6]))));
    let values = |bytes: Vec<u8>| with(&|m| m.values = vec![bytes.clone()]);
    let malformed = "packed values are malformed";
    add("values of 65 bits", malformed, values([vec![65], vec![0; 60]].concat()));
    add("values of 255 bits", malformed, values([vec![255], vec![0; 200]].concat()));
    add("values that end early", malformed, values(vec![5, 1, 2]));
    add("bits behind the values", malformed, values(vec![1, 0xff]));
    add("bytes behind the values", "bytes too many", values([packed(5, &[0; 6]), vec![0]].concat()));
    add("section without a byte", room, values(vec![]));

    // Exact tables.
    let sure = |bytes: Vec<u8>| with(&|m| m.exact = vec![bytes.clone()]);
    let counts = packed(4, &[1; 6]);
    let both = [(0, 1), (1, 1)];
    add("exact table at a level not in use", "not a table of the release", {
        let mut made = good();
        made.domain[1].levels.insert(0, level("half", 2, vec![0, 0]));
        made.domain[1].levels[1].parents = vec![0, 0, 1];
        made.plan.levels[1] = vec![0, 2];
        made.plan.workload[0].0 = vec![(0, 1), (1, 2)];
        made.plan.measurements[0].0 = table(&[(0, 1), (1, 2)]);
        made.exact = vec![exact(&[(1, 1)], &packed(1, &[0, 0]))];
        made
    });
    add("exact table asked for at a level not in use", not_used, {
        let mut made = good();
        made.domain[1].levels.insert(0, level("half", 2, vec![0, 0]));
        made.domain[1].levels[1].parents = vec![0, 0, 1];
        made.plan.levels[1] = vec![0, 2];
        made.plan.workload = vec![(vec![(0, 1), (1, 2)], WHOLE), (vec![(1, 1)], WHOLE)];
        made.plan.measurements[0].0 = table(&[(0, 1), (1, 2)]);
        made.exact = vec![exact(&[(1, 1)], &packed(1, &[0, 0]))];
        made.then.push(|file| file.manifest["format"] = 2.into());
        made
    });
    add("a table of a level not in use in a file of the first version", "format 1 has no tables", {
        let mut made = good();
        made.domain[1].levels.insert(0, level("half", 2, vec![0, 0]));
        made.domain[1].levels[1].parents = vec![0, 0, 1];
        made.plan.levels[1] = vec![0, 2];
        made.plan.workload = vec![(vec![(0, 1), (1, 2)], WHOLE), (vec![(1, 1)], WHOLE)];
        made.plan.measurements[0].0 = table(&[(0, 1), (1, 2)]);
        made
    });
    add("exact table that does not exist", "cuboid does not exist", sure(exact(&[(0, 9)], &counts)));
    add("exact table of no such dimension", "cuboid does not exist", sure(exact(&[(u16::MAX, 1)], &counts)));
    add("exact table nobody asked for", "not a table of the release", sure(exact(&[(0, 1)], &counts)));
    add("exact dimensions not ascending", "not ascending", sure(exact(&[(1, 1), (0, 1)], &counts)));
    add("exact table that ends in its name", "ends too early", sure(vec![200, 0, 0, 1]));
    add("exact table without a byte", "ends too early", sure(vec![]));
    add("exact table that ends early", malformed, sure(exact(&both, &counts[..2])));
    add("exact table with more bytes", "bytes too many", sure(exact(&both, &[&counts[..], &[0]].concat())));
    add("exact counts below zero", "below zero", sure(exact(&both, &packed(4, &[-1; 6]))));
    add("exact table of 2^24 cells in a byte", malformed, {
        let mut made = over(many(24, 2), table(&first(1)), first(24), packed(2, &[0, 0]));
        made.exact = vec![exact(&first(24), &[0])];
        made
    });
    add("exact table twice", "there twice", with(&|m| m.exact = vec![exact(&both, &counts); 2]));
    add(
        "exact tables that contradict each other",
        "contradict",
        with(&|m| {
            m.plan.workload.push((vec![(0, 1)], WHOLE));
            m.exact = vec![exact(&both, &counts), exact(&[(0, 1)], &packed(4, &[3, 4]))];
        }),
    );
    add("5000 exact tables", "at most 4096", with(&|m| m.exact = vec![exact(&both, &counts); 5000]));
    add("exact table nobody declares", "the manifest declares 0", {
        let mut made = sure(exact(&both, &counts));
        made.then = vec![|f| f.manifest["declared"]["invariants"] = json!([])];
        made
    });

    // Conditions.
    let zero = |text: &str| with(&|m| m.zeros = vec![text.as_bytes().to_vec()]);
    let condition = "a structural zero is invalid";
    for (name, text) in [
        ("empty", ""),
        ("of nothing that exists", "height > 3"),
        ("unfinished", "sex = '0' AND"),
        ("with a second query", "sex = '0'; SELECT 1"),
        ("that hides a query", "sex = '0' GROUP BY age"),
        ("that all cells satisfy", "1 = 1"),
        ("that no cell satisfies", "sex = '0' AND sex = '1'"),
    ] {
        add(&format!("condition {name}"), condition, zero(text));
    }
    let turned = "control characters, or some that turn";
    add("condition with an escape", turned, zero("sex = '0' AND age = '\x1b[2J'"));
    add("condition with a zero byte", turned, zero("sex = '\0'"));
    add("condition of a thousand brackets", condition, zero(&format!("{}sex = '0'", "(".repeat(1000))));
    add("condition of a thousand ORs", condition, zero(&vec!["sex = '0'"; 5000].join(" OR ")));
    add("condition of many bytes", "longer than 65536 bytes", zero(&"x".repeat(70_000)));
    add("condition that is no text", condition, {
        let mut made = with(&|m| m.zeros = vec![b"sex = '\xff'".to_vec()]);
        made.then = vec![|f| f.manifest["declared"]["constraints"] = json!(["sex = '\u{fffd}'"])];
        made
    });
    add("condition nobody declares", condition, {
        let mut made = zero("sex = '0'");
        made.then = vec![|f| f.manifest["declared"]["constraints"] = json!([])];
        made
    });
    add("2000 conditions", "more than 1024", with(&|m| m.zeros = vec![b"sex = '0'".to_vec(); 2000]));
    add("condition that tells 2^20 cells apart, often", "too many cells apart", {
        let dims = many(20, 2);
        let every = (0..20).map(|d| format!("d{d} = '0'")).collect::<Vec<_>>().join(" OR ");
        let mut made = over(dims, table(&first(1)), first(1), packed(2, &[0, 0]));
        made.zeros = vec![vec![every; 40].join(" OR ").into_bytes(); 20];
        made
    });

    // Projections.
    let project = |change: &dyn Fn(&mut Projection)| {
        let mut made = projected();
        change(made.projection.as_mut().unwrap());
        made
    };
    let size = "numbers of rows or buckets are impossible";
    for (rows, buckets) in [(0, 0), (1, 0), (100, 0), (u32::MAX, 0), (1 << 23, 0)] {
        add(&format!("projection of {rows} rows"), size, project(&|p| p.shape = (1, rows, buckets)));
    }
    for (rows, buckets) in [(0, 16), (4, 0), (4, 1), (4, 3), (u32::MAX, 1 << 31), (1 << 20, 8)] {
        add(&format!("sketch of {rows} times {buckets}"), size, project(&|p| p.shape = (2, rows, buckets)));
    }
    add("projection of no shape", "the projection cannot be decoded", project(&|p| p.shape.0 = 3));
    add("projection without its integers", "its size needs 64", project(&|p| p.shape = (1, 1 << 22, 0)));
    add("projection with a byte for each section", "its integers take at least", {
        let mut made = project(&|p| p.shape = (1, 1 << 22, 0));
        made.values = vec![vec![0]; 64];
        made
    });
    add("projection without a seed", "seed is zero", project(&|p| p.seed = [0; 32]));
    for r in [0, 1, 513, u32::MAX] {
        add(&format!("independence {r}"), "impossible independence", project(&|p| p.independence = r));
    }
    let ascending = "not of ascending dimensions";
    add("projection without a key", ascending, project(&|p| p.key.clear()));
    add("key with a dimension twice", ascending, project(&|p| p.key = vec![(1, false), (1, false)]));
    add("key that does not exist", "key does not exist", project(&|p| p.key = vec![(9, true)]));
    add("projection without noise", "no noise", project(&|p| p.scale = (0, 1)));
    add("projection with too much noise", more, project(&|p| p.scale = (u128::MAX, 1)));
    add(
        "projection with too much Laplace noise",
        more,
        project(&|p| {
            (p.noise, p.scale) = (2, (1 << 41, 1));
        }),
    );
    add(
        "projection with hardly any noise",
        "cost cannot be computed",
        project(&|p| p.scale = (1, u128::MAX)),
    );
    add("projection without a budget", "no budget", project(&|p| p.budget = (0, 1)));
    add("projection for no cells", "answers no query", project(&|p| p.sparsity = 0));
    add("projection for too many cells", "answers no query", project(&|p| p.sparsity = u32::MAX));
    add("projection for no query", "no query", project(&|p| p.queries = 0));
    add("projection that never fails", "no probability", project(&|p| p.failure = (0, 1)));
    add("projection that always fails", "no probability", project(&|p| p.failure = (2, 1)));
    add("projection of units without rows", "own no rows", project(&|p| p.max_rows = 0));
    add("projection of units with all rows", "manifest says", project(&|p| p.max_rows = u32::MAX));
    add("projection beside tables", "beside the projection", {
        let mut made = projected();
        made.plan = good().plan;
        made
    });

    // The container.
    let mut change = |name: &str, why: &'static str, change: fn(&mut File)| {
        let mut file = good().file();
        change(&mut file);
        out.push(Case { name: name.into(), bytes: file.sealed(key), why });
    };
    let order = "not in ascending order";
    change("sections in another order", order, |f| f.sections.swap(0, 1));
    change("domain twice", "appears twice", |f| {
        let again = Section { index: 1, ..f.sections[0].clone() };
        f.sections.insert(1, again);
    });
    change("domain twice with one index", order, |f| {
        let again = f.sections[0].clone();
        f.sections.insert(1, again);
    });
    change("no domain", "no section domain", |f| f.sections.retain(|s| s.tag != DOMAIN));
    change("no plan", "no section plan", |f| f.sections.retain(|s| s.tag != PLAN));
    change("no spec", "no section spec", |f| f.sections.retain(|s| s.tag != SPEC));
    change("rows in place of the spec", "spec", |f| {
        let rows: String = (0..300).map(|n| format!("F,{},Malaga\n", n % 90)).collect();
        f.put(SPEC, vec![format!("sex,age,place\n{rows}").into_bytes()]);
    });
    change("nothing at all", "no section domain", |f| f.sections.clear());
    change("index that is not next", "without holes", |f| f.sections[3].index = 1);
    change("last index there could be", "without holes", |f| f.sections[3].index = u32::MAX);
    change("section nobody knows", "is critical", |f| {
        f.sections.push(Section { tag: CRITICAL | 77, index: 0, bytes: vec![1] });
    });
    change("plan without its critical bit", "wrong critical bit", |f| f.sections[1].tag = 2);
    change("spec with a critical bit", "wrong critical bit", |f| f.sections[2].tag = CRITICAL | 3);
    change("plan and domain exchanged", "cannot be decoded", |f| {
        let domain = f.sections[0].bytes.clone();
        f.sections[0].bytes = std::mem::replace(&mut f.sections[1].bytes, domain);
    });
    change("two projections", "", |f| {
        let bytes = projected().projection.unwrap().bytes();
        f.put(PROJECTION, vec![bytes.clone(), bytes]);
    });
    change("66 000 sections", "number of sections", |f| f.put(4, vec![vec![]; 66_000]));

    // The manifest.
    let mut says = |name: &str, why: &'static str, at: &str, value: Value| {
        let mut file = good().file();
        let (above, key_of) = at.rsplit_once('/').unwrap();
        file.manifest.pointer_mut(above).unwrap()[key_of] = value;
        out.push(Case { name: name.into(), bytes: file.sealed(key), why });
    };
    says("name that is a path", "release's name", "/about/name", json!("../../etc/passwd"));
    says("name with an escape", "", "/about/name", json!("a\x1b[2J"));
    says("empty name", "release's name", "/about/name", json!(""));
    let turns = "control characters, or some that turn";
    says("title with an escape", turns, "/about/title", json!("\x1b[2J\x1b[HVERIFIED"));
    says("title that turns the direction", turns, "/about/title", json!("\u{202e}DEIFIREV"));
    says("guarantee that erases its line", turns, "/privacy/note", json!("\r0.1-zCDP"));
    says("unit with an escape", turns, "/privacy/unit", json!("\u{9b}31mrow"));
    says("day that is none", "day of creation", "/created", json!("2026-02-30"));
    says("budget in another currency", "currency", "/privacy/budget/currency", json!("epsilon"));
    says("budget over zero", "the manifest cannot be read", "/privacy/budget/amount", json!("1/0"));
    says(
        "budget of many digits",
        "the manifest cannot be read",
        "/privacy/budget/amount",
        json!("9".repeat(1000)),
    );
    says(
        "budget to the power of much",
        "the manifest cannot be read",
        "/privacy/budget/amount",
        json!("1e2147483647"),
    );
    says("more measurements than listed", "list of measurements", "/plan/count", json!(1u64 << 53));
    says("another format", "", "/format", json!(9));
    // A good signature over what the sealed spec does not say.
    says("another unit than the spec", "spec", "/privacy/unit", json!("person"));
    says("another title than the spec", "spec", "/about/title", json!("Another title"));
    says("licence that the spec does not name", "spec", "/about/licence", json!("CC0-1.0"));
    let mut text = |name: &str, why: &'static str, text: String| {
        out.push(Case { name: name.into(), bytes: good().file().signed(text.as_bytes(), key), why });
    };
    let canonical = "not canonical JSON";
    text("no manifest", canonical, String::new());
    text("manifest of a hundred thousand brackets", canonical, "[".repeat(100_000));
    text("manifest with a number too large", canonical, "{\"a\":1e999}\n".into());
    text("manifest with a name twice", canonical, "{\"a\":1,\"a\":2}\n".into());
    text("manifest that is a list", "the manifest cannot be read", "[]\n".into());

    // Lengths in the header and the table, behind which nothing is.
    for (name, at, value) in [
        ("manifest", 16, 1u64 << 62),
        ("signature", 24, 1 << 62),
        ("first section", 32 + 16, 1 << 62),
        ("first section", 32 + 16, 1 << 30),
    ] {
        let mut bytes = good().file().sealed(key);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        out.push(Case { name: format!("{name} of {value} bytes"), bytes, why: "" });
    }
    out
}

/// Sound files of every kind, small: what mutations and fuzzing start from.
pub(crate) fn bases() -> Vec<(&'static str, Made)> {
    let sex_age = good().domain;
    let blocks = |tag: u8, of: &[Pairs]| -> Vec<(Block, Ratio)> {
        of.iter().map(|p| (Block::Of(tag, p.clone()), (100, 1))).collect()
    };
    let all: Vec<Pairs> = vec![vec![], vec![(0, 1)], vec![(1, 1)], vec![(0, 1), (1, 1)]];
    let made = |domain: &[Dimension], measure: u8, measurements: Vec<(Block, Ratio)>, lengths: &[usize]| {
        let mut made = good();
        made.domain = domain.to_vec();
        made.plan.levels = domain.iter().map(|d| (0..=d.levels.len() as u8).collect()).collect();
        made.plan.measure = measure;
        made.plan.measurements = measurements;
        let counts = |n: usize| (0..n as i64).map(|i| 40 + 7 * i).collect::<Vec<_>>();
        made.values = vec![lengths.iter().flat_map(|&n| packed(9, &counts(n))).collect()];
        made
    };
    let mut levels = sex_age.clone();
    levels[1].levels.insert(0, level("half", 2, vec![0, 0]));
    levels[1].levels[1].parents = vec![0, 0, 1];
    let halves = [vec![(0, 1), (1, 1)], vec![(1, 2)]];
    let mut unequal = made(&levels, 2, blocks(2, &halves), &[4, 3]);
    unequal.plan.workload = halves.iter().map(|p| (p.clone(), WHOLE)).collect();
    let mut constrained = unequal.clone();
    constrained.zeros = vec![b"sex = '0' AND age = '2'".to_vec()];
    let mut known = made(&sex_age, 1, blocks(1, &all[2..]), &[2, 2]);
    known.plan.workload.push((vec![(0, 1)], WHOLE));
    known.exact = vec![exact(&[(0, 1)], &packed(9, &[70, 80]))];
    known.zeros = vec![b"sex = '0' AND age = '2'".to_vec()];
    let rows: Vec<Vec<(u32, i32)>> = vec![
        vec![(0, 1), (1, 1)],
        vec![(1, 2)],
        vec![(2, 1)],
        vec![(3, -1), (4, 1)],
        vec![(4, 3)],
        vec![(5, 1)],
    ];
    let rows = vec![(Block::Rows(vec![(0, 1), (1, 1)], rows), (100, 1))];
    let mut sketch = projected();
    sketch.values = vec![packed(4, &[1; 64])];
    if let Some(p) = &mut sketch.projection {
        (p.shape, p.scale, p.key) = ((2, 4, 16), (4, 1), vec![(0, true), (1, false)]);
    }
    vec![
        ("table", good()),
        ("components", made(&sex_age, 1, blocks(1, &all), &[1, 1, 2, 2])),
        ("coefficients", made(&sex_age, 9, blocks(4, &all), &[1, 1, 3, 3])),
        (
            "pairs",
            made(
                &many(2, 2)
                    .into_iter()
                    .zip(["sex", "age"])
                    .map(|(d, name)| Dimension { name: name.into(), ..d })
                    .collect::<Vec<_>>(),
                8,
                blocks(3, &all),
                &[1, 1, 1, 1],
            ),
        ),
        ("rows", made(&sex_age, 10, rows, &[6])),
        ("levels", unequal),
        ("levels and zeros", constrained),
        ("exact and zeros", known),
        ("dense", projected()),
        ("sketch", sketch),
    ]
}
