//! What an engine knows of a column's type, where it can be asked: what a file's reader refuses by its type is refused here too, and 32-bit fractions are
//! the numbers that they are written as.

use super::Dialect;
use crate::spec::Coding;

impl Dialect {
    /// That the column `name` is of one of these types. `None` where a statement cannot ask.
    fn is_of(self, name: &str, types: &[&str]) -> Option<String> {
        let quoted = |behind: &str| {
            let types: Vec<String> = types.iter().map(|of| format!("'{of}'{behind}")).collect();
            types.join(", ")
        };
        match self {
            // Behind a bracket are digits of a decimal, or labels.
            Dialect::Duckdb => Some(format!("SPLIT_PART(TYPEOF({name}), '(', 1) IN ({})", quoted(""))),
            Dialect::Spark => Some(format!("SUBSTRING_INDEX(TYPEOF({name}), '(', 1) IN ({})", quoted(""))),
            Dialect::Postgres => Some(format!("PG_TYPEOF({name}) IN ({})", quoted("::regtype"))),
            Dialect::Bigquery | Dialect::Ansi => None,
        }
    }

    /// Its types of days and times.
    fn times(self) -> &'static [&'static str] {
        match self {
            Dialect::Duckdb => &[
                "DATE",
                "TIMESTAMP",
                "TIMESTAMP_S",
                "TIMESTAMP_MS",
                "TIMESTAMP_NS",
                "TIMESTAMP WITH TIME ZONE",
            ],
            Dialect::Spark => &["date", "timestamp", "timestamp_ntz"],
            Dialect::Postgres => &["date", "timestamp", "timestamptz"],
            Dialect::Bigquery | Dialect::Ansi => &[],
        }
    }

    /// That the column `name` holds values of a type that `coding` does not read, though the engine would compare them.
    pub(super) fn misfit(self, name: &str, coding: &Coding) -> Option<String> {
        let only = |types: &[&str]| Some(format!("{name} IS NOT NULL AND NOT {}", self.is_of(name, types)?));
        let neither = |types: &[&str]| {
            let types = [types, self.times()].concat();
            Some(format!("{name} IS NOT NULL AND {}", self.is_of(name, &types)?))
        };
        match (coding, self) {
            (Coding::Labels(_), Dialect::Duckdb) => neither(&["FLOAT", "DOUBLE", "BLOB"]),
            (Coding::Labels(_), Dialect::Spark) => neither(&["float", "double", "binary"]),
            (Coding::Labels(_), Dialect::Postgres) => neither(&["real", "double precision", "bytea"]),
            (Coding::Dates { .. }, Dialect::Duckdb) => only(&["DATE"]),
            (Coding::Dates { .. }, Dialect::Spark) => only(&["date"]),
            (Coding::Dates { .. }, Dialect::Postgres) => only(&["date"]),
            // It makes numbers of them by rules of its own; the others compare no such things.
            (Coding::Range { .. } | Coding::Bins { .. }, Dialect::Spark) => {
                neither(&["string", "boolean", "binary"])
            }
            _ => None,
        }
    }

    /// That the column `name` is of a type that engines and files order alike.
    pub(super) fn ordered(self, name: &str) -> Option<String> {
        let numbers: &[&str] = match self {
            Dialect::Duckdb => &[
                "TINYINT",
                "SMALLINT",
                "INTEGER",
                "BIGINT",
                "HUGEINT",
                "UTINYINT",
                "USMALLINT",
                "UINTEGER",
                "UBIGINT",
                "UHUGEINT",
                "DECIMAL",
            ],
            Dialect::Spark => &["tinyint", "smallint", "int", "bigint", "decimal"],
            Dialect::Postgres => &["smallint", "integer", "bigint", "numeric"],
            Dialect::Bigquery | Dialect::Ansi => &[],
        };
        self.is_of(name, &[numbers, self.times()].concat())
    }

    /// That numbers of the column `name` are summed: whole ones, decimals and, with `doubles`, fractions of 64 bits. Those of 32 are not: no engine but one writes
    /// them as the decimals that they mean.
    pub(super) fn summed(self, name: &str, doubles: bool) -> Option<String> {
        let types: &[&str] = match self {
            Dialect::Duckdb => &[
                "TINYINT",
                "SMALLINT",
                "INTEGER",
                "BIGINT",
                "UTINYINT",
                "USMALLINT",
                "UINTEGER",
                "UBIGINT",
                "DECIMAL",
            ],
            Dialect::Spark => &["tinyint", "smallint", "int", "bigint", "decimal"],
            Dialect::Postgres => &["smallint", "integer", "bigint", "numeric"],
            Dialect::Bigquery | Dialect::Ansi => &[],
        };
        let whole = self.is_of(name, types)?;
        match self.is_double(name).filter(|_| doubles) {
            Some(double) => Some(format!("({whole} OR {double})")),
            None => Some(whole),
        }
    }

    /// That the column `name` holds fractions of 64 bits.
    pub(super) fn is_double(self, name: &str) -> Option<String> {
        let name_of = self.double();
        match self {
            Dialect::Duckdb => self.is_of(name, &[name_of]),
            _ => self.is_of(name, &[&name_of.to_lowercase()]),
        }
    }

    /// The number in a column as a decimal of so many digits, and so many of them behind the point. One engine has decimals without bounds.
    pub(super) fn decimal(self, name: &str, (digits, places): (u32, u32)) -> String {
        match self {
            Dialect::Postgres => format!("CAST({name} AS NUMERIC)"),
            Dialect::Spark => format!("TRY_CAST({name} AS DECIMAL({digits}, {places}))"),
            // It gives products of up to 18 digits no more than 18.
            Dialect::Duckdb => {
                format!("CAST(TRY_CAST({name} AS DECIMAL({digits}, {places})) AS DECIMAL(19, {places}))")
            }
            Dialect::Bigquery | Dialect::Ansi => format!("CAST({name} AS DECIMAL({digits}, {places}))"),
        }
    }

    /// That such a decimal is the number itself, where it may not be.
    pub(super) fn holds(self, name: &str, of: (u32, u32)) -> Option<String> {
        let decimal = self.decimal(name, of);
        (self != Dialect::Postgres).then(|| format!("COALESCE({decimal} = {name}, 1 = 0)"))
    }

    /// The sum of whole numbers, as one of 64 bits; what has no room in them is an error. One engine, as it often stands, would wrap around: there it becomes -1, which `--counts`
    /// refuses.
    pub(super) fn sum(self, of: &str) -> String {
        match self {
            Dialect::Spark => {
                let sum = format!("COALESCE(SUM(CAST({of} AS DECIMAL(20, 0))), 0)");
                format!("CASE WHEN {sum} > {} THEN -1 ELSE CAST({sum} AS BIGINT) END", i64::MAX)
            }
            _ => format!("CAST(COALESCE(SUM({of}), 0) AS BIGINT)"),
        }
    }

    /// Its type of fractions of 64 bits.
    pub(super) fn double(self) -> &'static str {
        match self {
            Dialect::Spark | Dialect::Duckdb => "DOUBLE",
            Dialect::Postgres | Dialect::Bigquery | Dialect::Ansi => "DOUBLE PRECISION",
        }
    }

    /// That the column `name` holds a fraction of 32 bits that is written as `decimal`, where it is known to have that value.
    fn single(self, name: &str, decimal: f64) -> Option<String> {
        match self {
            Dialect::Duckdb => self.is_of(name, &["FLOAT"]),
            Dialect::Spark => self.is_of(name, &["float"]),
            Dialect::Postgres => self.is_of(name, &["real"]),
            // It has none.
            Dialect::Bigquery => None,
            // One of 64 bits of the same value is written with more digits.
            Dialect::Ansi => {
                Some(format!("CAST(CAST({name} AS {}) AS DOUBLE PRECISION) = {decimal:e}", self.text_type()))
            }
        }
    }

    /// The bins of those 32-bit fractions that lie in another by the shortest decimal that means them, which is what a file's reader takes, than as numbers
    /// of 64 bits, which is what engines compare: of 0.7 that is 0.7, and not 0.699999988. Each is the nearest to an edge. As cases, with `other` for
    /// what is outside.
    pub(super) fn singles(self, name: &str, edges: &[f64], other: &str) -> String {
        let node = |value: f64| match edges.iter().rposition(|edge| *edge <= value) {
            Some(last) if last + 1 == edges.len() => edges.last().filter(|e| **e == value).map(|_| last - 1),
            found => found,
        };
        let mut cases = String::new();
        for near in edges.iter().map(|edge| *edge as f32).filter(|near| near.is_finite()) {
            let (taken, written) = (f64::from(near), format!("{near:?}").parse().unwrap_or(0.0));
            if node(taken) != node(written)
                && let Some(single) = self.single(name, written)
            {
                let node = node(written).map_or(other.to_owned(), |node| node.to_string());
                cases += &format!(" WHEN {name} = {taken:e} AND {single} THEN {node}");
            }
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all 32-bit fractions near an edge those that need it are named, and no others.
    #[test]
    fn fractions_of_32_bits() {
        let edges = [0.0, 0.1, 0.25, 0.3, 0.7, 1.1];
        let cases = Dialect::Duckdb.singles("x", &edges, "9");
        let cases = cases.replace("SPLIT_PART(TYPEOF(x), '(', 1) IN ('FLOAT')", "IT");
        let node = |value: f64| {
            let within =
                |at: &usize| edges[*at] <= value && (value < edges[at + 1] || (*at == 4 && value == 1.1));
            (0..5).find(within).unwrap_or(9)
        };
        let mut named = 0;
        for edge in edges {
            for step in -3i32..=3 {
                let near = f32::from_bits((edge as f32).to_bits().wrapping_add_signed(step));
                let (taken, written): (f64, f64) = (near.into(), near.to_string().parse().unwrap_or(0.0));
                let needs = near >= 0.0 && node(taken) != node(written);
                let case = format!("WHEN x = {taken:e} AND IT THEN {}", node(written));
                assert_eq!(cases.contains(&case), needs, "{near} {cases}");
                named += usize::from(needs);
            }
        }
        assert!(named == 2 && cases.matches("WHEN").count() == named, "{cases}");
        assert!(cases.contains("x = 6.99999988079071e-1 AND IT THEN 4"), "{cases}");
        let ansi =
            "x = 6.99999988079071e-1 AND CAST(CAST(x AS VARCHAR(4096)) AS DOUBLE PRECISION) = 7e-1 THEN 4";
        assert!(Dialect::Ansi.singles("x", &edges, "9").contains(ansi));
        assert_eq!(Dialect::Bigquery.singles("x", &edges, "9"), "");
    }
}
