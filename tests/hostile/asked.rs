//! What readers ask first of any release, made from what it says of itself.

use margins::{Description, Options, Release, Watch, options, records};

/// Larger tables are not asked for.
const MOST_CELLS: u64 = 256;
/// Nor are more tables, or amounts.
const MOST: usize = 3;

/// Describes it, asks for tables and amounts in several manners, and draws records. What was refused, each on a line.
pub(crate) fn asked(release: &Release) -> Vec<String> {
    let mut refused = Vec::new();
    let about = match release.describe(MOST) {
        Ok(about) => about,
        Err(e) => return vec![e.to_string()],
    };
    let _ = (serde_json::to_string(&about), about.errors(), release.about());
    let plain = Options::at(0.95);
    let joint = Options { joint: Some(options::Simultaneous::Auto), reliability: true, ..plain };
    let posterior = Options {
        prior: Some(options::PriorChoice::Flat),
        prob: "> 10".parse().ok(),
        test: Some(1.0),
        ..plain
    };
    let mut ask = |sql: &str, options: &Options| match release.ask(sql, options) {
        Ok(answer) => drop((answer.to_csv(), answer.to_json(), answer.to_html(), answer.notes())),
        Err(e) => refused.push(e.to_string()),
    };
    let few = |t: &&margins::Table| t.cells.is_some_and(|n| n <= MOST_CELLS);
    for (i, table) in release.tables().iter().filter(few).take(MOST).enumerate() {
        let levels: Vec<&str> = table.levels.iter().map(String::as_str).collect();
        let sql = release.table_sql(&levels);
        ask(&sql, &plain);
        // What takes longer is asked of two cells.
        if i == 0 {
            [&joint, &posterior].into_iter().for_each(|options| ask(&format!("{sql} LIMIT 2"), options));
        }
    }
    amounts(&about).iter().for_each(|sql| ask(sql, &plain));
    about.examples.iter().for_each(|sql| ask(sql, &plain));
    let explained = about.examples.first().map(|sql| release.explain(sql).map(drop));
    refused.extend(explained.and_then(Result::err).map(|e| e.to_string()));
    let ten = records::Options { rows: Some(10), seed: 1, threads: 1 };
    match release.records(&ten, &Watch::default()) {
        Ok(records) => drop((records.csv().count(), records.report().text())),
        Err(e) => refused.push(e.to_string()),
    }
    refused
}

/// Questions for every amount.
fn amounts(about: &Description) -> Vec<String> {
    let of = |name: &str| {
        let (name, from) = (margins::sql::quoted(name), margins::sql::quoted(&about.name));
        [
            format!("SELECT SUM({name}), AVG({name}), COUNT({name}) FROM {from}"),
            format!("SELECT VAR_POP({name}) FROM {from}"),
        ]
    };
    about.amounts.iter().take(MOST).flat_map(|a| of(&a.name)).collect()
}
