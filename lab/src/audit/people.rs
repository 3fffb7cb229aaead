//! Made-up people: rows that a spec lets be, chosen by the auditor. Of the spec its text is read, and its public lists.

use margins::cli::Failure;
use margins::{Frame, Held, Spec};
use toml::{Table, Value};

/// What a spec says of rows.
pub(super) struct Domain {
    columns: Vec<String>,
    /// For each dimension its column, and for each finest node a cell that is coded as it.
    dimensions: Vec<(String, usize, Vec<String>)>,
    /// For each amount its column, its bounds, and whether its cells may be empty; weights are at their largest wherever amounts are at an end.
    amounts: Vec<(usize, f64, f64, bool)>,
    /// Columns of products that are 1 in every row, and of weights, with the largest.
    ones: Vec<usize>,
    weights: Option<(usize, f64)>,
    /// The column of the unit, and those that order its rows and say nothing else.
    unit: Option<(usize, Vec<usize>)>,
    pub max_rows: usize,
    pub substitute: bool,
    /// The copies are measured by themselves, around secret centres.
    pub shifted: bool,
    /// ε and δ, where the budget is such.
    pub approximate: Option<(f64, f64)>,
    /// A projection with Laplace noise.
    pub laplace: bool,
}

/// Where the amounts of a row lie among their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Below,
    Low,
    Middle,
    High,
    Beyond,
    /// No value, of amounts that may have none; the others are at their least.
    Missing,
}

impl Size {
    pub(super) const ALL: [Size; 6] =
        [Size::High, Size::Beyond, Size::Below, Size::Low, Size::Middle, Size::Missing];
}

/// A row: for each dimension a finest node, and how large its amounts are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub cell: Vec<usize>,
    pub size: Size,
}

/// A unit, as its rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Person(pub Vec<Row>);

/// Of a dimension of any text there are so many.
const TEXTS: usize = 4;

impl Domain {
    pub(super) fn of(spec: &Spec) -> Result<Domain, Failure> {
        let wrong = |e: toml::de::Error| Failure::Message(format!("the spec is no TOML: {e}"));
        let text: Table = spec.source.parse().map_err(wrong)?;
        let mut columns: Vec<String> = Vec::new();
        let mut column = |name: &str| place(&mut columns, name);
        let privacy = text.get("privacy").and_then(Value::as_table).cloned().unwrap_or_default();
        let unit = privacy.get("unit").and_then(Value::as_table);
        let order = unit.and_then(|u| u.get("order"));
        let mut order: Vec<&str> = match order {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            one => one.and_then(Value::as_str).into_iter().collect(),
        };
        let own = unit.and_then(|u| u.get("column")?.as_str());
        let entries = |key: &str| text.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let named = |entry: &Value| -> Option<String> {
            let name = entry.get("column").or_else(|| entry.get("name"))?;
            Some(name.as_str()?.to_owned())
        };
        let mut dimensions = Vec::new();
        for (entry, dimension) in entries("dimension").iter().zip(&spec.cube.dimensions) {
            let cells = cells(entry, &dimension.levels[dimension.finest()]);
            let name = named(entry).unwrap_or_default();
            dimensions.push((dimension.name.clone(), column(&name), cells));
        }
        let (mut amounts, mut ones) = (Vec::new(), Vec::new());
        for entry in &entries("amount") {
            let bound = |key: &str| entry.get(key).and_then(number).unwrap_or(0.0);
            let factors = entry.get("column").and_then(Value::as_array);
            let mut factors = factors.into_iter().flatten().filter_map(Value::as_str);
            let first = factors.next().map(str::to_owned).or_else(|| named(entry)).unwrap_or_default();
            let missing = entry.get("missing").and_then(Value::as_str);
            let may_miss = matches!(missing, Some("skip" | "zero"));
            amounts.push((column(&first), bound("low"), bound("high"), may_miss));
            ones.extend(factors.map(&mut column));
        }
        ones.retain(|one| amounts.iter().all(|(column, ..)| column != one));
        let weights = text.get("weights").and_then(|w| {
            let own = w.get("column")?.as_str()?;
            Some((column(own), w.get("high").and_then(number).unwrap_or(1.0)))
        });
        // What else a column says of a row stays: rows of a unit may then have one place in its order, and are left out if that is refused.
        let said = columns.clone();
        let said = |name: &str| said.iter().any(|c| c == name);
        if let Some(own) = own.filter(|own| said(own)) {
            return Err(Failure::Message(format!(
                "the unit's own column {own:?} is counted as well: an audit makes up many units that are alike, and here no two are"
            )));
        }
        order.retain(|name| !said(name));
        let mut column = |name: &str| place(&mut columns, name);
        let unit_column = own.map(|own| (column(own), order.iter().map(|name| column(name)).collect()));
        let max_rows = unit.and_then(|u| u.get("max_rows")?.as_integer()).unwrap_or(1);
        let word = |table: Option<&Table>, key: &str, is: &str| {
            table.and_then(|t| t.get(key)?.as_str()).is_some_and(|word| word == is)
        };
        Ok(Domain {
            dimensions,
            amounts,
            ones,
            weights,
            unit: unit_column,
            columns,
            max_rows: usize::try_from(max_rows).unwrap_or(1).max(1),
            substitute: word(Some(&privacy), "neighbours", "substitute"),
            shifted: word(text.get("recipients").and_then(Value::as_table), "mode", "shifted"),
            laplace: word(text.get("projection").and_then(Value::as_table), "noise", "laplace"),
            approximate: privacy.get("epsilon").and_then(number).zip(privacy.get("delta").and_then(number)),
        })
    }

    /// How many finest nodes each dimension has.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.dimensions.iter().map(|(.., cells)| cells.len()).collect()
    }

    pub(super) fn has_amounts(&self) -> bool {
        !self.amounts.is_empty() || self.weights.is_some()
    }

    pub(super) fn has_units(&self) -> bool {
        self.unit.is_some()
    }

    /// The rows of some people, each a unit of its own.
    pub(super) fn frame<'p>(&self, people: impl Iterator<Item = &'p Person>) -> Frame {
        let mut frame = Frame::new(self.columns.iter().map(|name| (name.clone(), Held::Text)).collect());
        for (at, person) in people.enumerate() {
            for (number, row) in person.0.iter().enumerate() {
                let mut cells = vec![String::new(); self.columns.len()];
                // Where two dimensions read one column, the first decides.
                for ((_, column, known), &node) in self.dimensions.iter().zip(&row.cell).rev() {
                    cells[*column] = known.get(node).cloned().unwrap_or_default();
                }
                self.ones.iter().for_each(|&column| cells[column] = "1".into());
                if let Some((column, high)) = self.weights {
                    cells[column] = match row.size {
                        Size::Low | Size::High | Size::Missing => high,
                        Size::Middle => 0.5 * high,
                        Size::Below | Size::Beyond => 1000.0 * high,
                    }
                    .to_string();
                }
                for &(column, low, high, may_miss) in &self.amounts {
                    if may_miss && row.size == Size::Missing {
                        continue; // An empty cell.
                    }
                    let far = 1000.0 * (high - low);
                    cells[column] = match row.size {
                        Size::Below => low - far,
                        Size::Low | Size::Missing => low,
                        Size::Middle => 0.5 * (low + high),
                        Size::High => high,
                        Size::Beyond => high + far,
                    }
                    .to_string();
                }
                if let Some((column, order)) = &self.unit {
                    cells[*column] = format!("u{at}");
                    order.iter().for_each(|&column| cells[column] = number.to_string());
                }
                cells.iter().for_each(|cell| frame.cell(cell.as_bytes()));
            }
        }
        frame
    }

    /// In words.
    pub(super) fn described(&self, person: &Person) -> String {
        let cell = |row: &Row| -> String {
            let mut names: Vec<String> = (self.dimensions.iter().zip(&row.cell))
                .map(|((name, _, cells), &node)| format!("{name} = {}", cells.get(node).map_or("", |c| c)))
                .collect();
            if self.has_amounts() {
                let word = match row.size {
                    Size::Below => "far below their bounds",
                    Size::Low => "at their least",
                    Size::Middle => "in the middle",
                    Size::High => "at their largest",
                    Size::Beyond => "far beyond their bounds",
                    Size::Missing => "not known",
                };
                names.push(format!("amounts {word}"));
            }
            names.join(", ")
        };
        let (rows, mut cells) = (person.0.len(), person.0.iter().map(cell).collect::<Vec<_>>());
        cells.dedup();
        match rows {
            0 => "nobody".into(),
            1 => cells.join("; "),
            _ => format!("{rows} rows: {}", cells.join("; ")),
        }
    }
}

/// Where a column stands; at the end, if it is new.
fn place(columns: &mut Vec<String>, name: &str) -> usize {
    columns.iter().position(|c| c == name).unwrap_or_else(|| {
        columns.push(name.to_owned());
        columns.len() - 1
    })
}

/// A cell for each finest node.
fn cells(entry: &Value, level: &margins::cube::Categories) -> Vec<String> {
    if entry.get("text").is_some() {
        return (0..TEXTS).map(|i| format!("text {i}")).collect();
    }
    let format = entry.get("format").and_then(Value::as_str);
    let one = |(node, label): (usize, &String)| match (level.bounds.get(node), format) {
        (Some(Some(bounds)), _) if entry.get("bins").is_some() => bounds.lo.to_string(),
        (_, Some(format)) => dated(label, format),
        _ => label.clone(),
    };
    level.labels.iter().enumerate().map(one).collect()
}

/// `2024-01-31` as the format has it.
fn dated(day: &str, format: &str) -> String {
    let [year, month, date] = [0..4, 5..7, 8..10].map(|part| day.get(part).unwrap_or("1"));
    let open = |text: &str| text.trim_start_matches('0').to_owned();
    let mut text = format.replace("YYYY", year);
    text = if text.contains("MM") { text.replace("MM", month) } else { text.replace('M', &open(month)) };
    if text.contains("DD") { text.replace("DD", date) } else { text.replace('D', &open(date)) }
}

/// A number, also in quotes, also as a ratio.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(n) => Some(*n as f64),
        Value::Float(x) => Some(*x),
        Value::String(text) => match text.split_once('/') {
            Some((a, b)) => Some(a.trim().parse::<f64>().ok()? / b.trim().parse::<f64>().ok()?),
            None => text.trim().parse().ok(),
        },
        _ => None,
    }
}
