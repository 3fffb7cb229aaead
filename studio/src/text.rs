//! The text of a spec, and what a form shows and changes of it. The text is the spec: an edit changes what it names, and leaves comments and all
//! else as they are.

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// What the text is no TOML for, and the bytes that are at fault.
#[derive(Debug)]
pub(crate) struct NoToml {
    pub(crate) message: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// A step on the way to a value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Step {
    Key(String),
    At(usize),
}

/// One change: a value for a place, or nothing there any more. A step behind the last entry of a list adds one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    path: Vec<Step>,
    /// Texts, truth values, lists and tables of them.
    set: Option<Json>,
    /// A value as TOML writes it: numbers keep their digits.
    toml: Option<String>,
}

fn document(text: &str) -> Result<DocumentMut, NoToml> {
    text.parse().map_err(|e: toml_edit::TomlError| {
        let span = e.span().unwrap_or(0..0);
        NoToml { message: e.message().to_owned(), from: span.start, to: span.end }
    })
}

/// What is written: tables and lists as they are, truth values, and every other value as a text, numbers with the digits that they are written with.
pub(crate) fn form(text: &str) -> Result<Json, NoToml> {
    Ok(of_table(document(text)?.as_table()))
}

fn of_table(table: &dyn TableLike) -> Json {
    Json::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect::<Map<_, _>>())
}

fn of_item(item: &Item) -> Json {
    match item {
        Item::None => Json::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|t| of_table(t)).collect(),
    }
}

fn of_value(value: &Value) -> Json {
    let mut bare = value.clone();
    bare.decor_mut().clear();
    match &bare {
        Value::String(text) => Json::from(text.value().as_str()),
        Value::Boolean(is) => Json::from(*is.value()),
        Value::Array(list) => list.iter().map(of_value).collect(),
        Value::InlineTable(table) => of_table(table),
        Value::Integer(_) | Value::Float(_) | Value::Datetime(_) => Json::from(bare.to_string().trim()),
    }
}

/// The text after these edits, one after the other.
pub(crate) fn edited(text: &str, edits: &[Edit]) -> Result<String, NoToml> {
    let mut document = document(text)?;
    for edit in edits {
        let value = match (&edit.set, &edit.toml) {
            (_, Some(toml)) => {
                Some(toml.parse::<Value>().map_err(|_| wrong(&format!("`{toml}` is no value")))?)
            }
            (Some(json), None) => Some(value(json).ok_or_else(|| wrong("a value is missing"))?),
            (None, None) => None,
        };
        change(document.as_table_mut(), &edit.path, value)
            .ok_or_else(|| wrong("the text has no such place"))?;
    }
    Ok(document.to_string())
}

fn wrong(message: &str) -> NoToml {
    NoToml { message: message.to_owned(), from: 0, to: 0 }
}

fn value(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(is) => (*is).into(),
        Json::Number(n) => n.as_i64().map(Value::from).or_else(|| n.as_f64().map(Value::from))?,
        Json::String(text) => text.as_str().into(),
        Json::Array(list) => Value::Array(list.iter().map(value).collect::<Option<Array>>()?),
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (key, field) in fields {
                table.insert(key, value(field)?);
            }
            Value::InlineTable(table)
        }
    })
}

/// Puts a value in place of another one, with the blanks and the comment beside it.
fn put(place: &mut Value, mut value: Value) {
    *value.decor_mut() = place.decor().clone();
    *place = value;
}

fn change(table: &mut dyn TableLike, path: &[Step], value: Option<Value>) -> Option<()> {
    let (Step::Key(key), rest) = path.split_first()? else { return None };
    match (rest.first(), value) {
        (None, None) => _ = table.remove(key),
        (None, Some(value)) => match table.get_mut(key) {
            Some(Item::Value(old)) => put(old, value),
            _ => _ = table.insert(key, Item::Value(value)),
        },
        // What is not there is empty.
        (Some(_), None) if table.get(key).is_none() => {}
        (Some(next), value) => {
            if table.get(key).is_none() {
                let fresh = match next {
                    Step::Key(_) => Item::Table(Table::new()),
                    Step::At(_) => Item::ArrayOfTables(ArrayOfTables::new()),
                };
                table.insert(key, fresh);
            }
            inside(table.get_mut(key)?, rest, value)?;
        }
    }
    Some(())
}

fn inside(item: &mut Item, path: &[Step], value: Option<Value>) -> Option<()> {
    let (Step::At(at), rest) = path.split_first()? else {
        return change(item.as_table_like_mut()?, path, value);
    };
    match item {
        Item::ArrayOfTables(tables) => match (rest.is_empty(), value) {
            (true, None) => (*at < tables.len()).then(|| _ = tables.remove(*at)),
            (true, Some(value)) => {
                let mut fresh = value.as_inline_table()?.clone().into_table();
                fresh.decor_mut().set_prefix("\n");
                (*at == tables.len()).then(|| tables.push(fresh))
            }
            (false, value) => change(tables.get_mut(*at)?, rest, value),
        },
        Item::Value(Value::Array(list)) => match (rest.is_empty(), value) {
            (true, None) => (*at < list.len()).then(|| _ = list.remove(*at)),
            (true, Some(value)) if *at == list.len() => {
                list.push(value);
                Some(())
            }
            (true, Some(value)) => {
                put(list.get_mut(*at)?, value);
                Some(())
            }
            (false, value) => change(list.get_mut(*at)?.as_inline_table_mut()?, rest, value),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# of people\nname = 'x' # short\n[privacy]\nrho = \"1/2\" # half\nunit = { column = \"id\", max_rows = 3 }\n\n\
        # first\n[[table]]\nof = [\"a\"]\n\n# second\n[[table]]\nof = []\n\n[strategy]\nexpected = { floor = 1_0 }\n";

    fn after(text: &str, edits: &str) -> String {
        edited(text, &serde_json::from_str::<Vec<Edit>>(edits).unwrap()).unwrap()
    }

    #[test]
    fn an_edit_changes_what_it_names() {
        let text = after(
            TEXT,
            r#"[{"path":["privacy","rho"],"toml":"0.10"},{"path":["table",1,"weight"],"toml":"2"},
                {"path":["privacy","unit","max_rows"],"toml":"4"},{"path":["name"],"set":"y"}]"#,
        );
        let expected = TEXT
            .replace("\"1/2\" # half", "0.10 # half")
            .replace("of = []\n", "of = []\nweight = 2\n")
            .replace("max_rows = 3", "max_rows = 4")
            .replace("'x' # short", "\"y\" # short");
        assert_eq!(text, expected);
    }

    #[test]
    fn entries_come_and_go() {
        let added = after(
            TEXT,
            r#"[{"path":["table",2],"set":{"of":["a","b"]}},{"path":["dimension",0],"set":{"name":"a"}}]"#,
        );
        let form = form(&added).unwrap();
        assert_eq!(form["table"][2]["of"], serde_json::json!(["a", "b"]));
        assert_eq!(form["dimension"][0]["name"], "a");
        assert!(added.contains("# first\n[[table]]\nof = [\"a\"]\n\n# second\n[[table]]\nof = []\n\n[[table]]\nof = [\"a\", \"b\"]\n"), "{added}");
        let fewer =
            after(TEXT, r#"[{"path":["table",0]},{"path":["privacy","delta"]},{"path":["nowhere","x"]}]"#);
        assert_eq!(fewer, TEXT.replace("# first\n[[table]]\nof = [\"a\"]\n\n", ""));
        let strange = [
            r#"[{"path":["table",5],"set":{}}]"#,
            r#"[{"path":["name","x"],"set":"y"}]"#,
            r#"[{"path":["x"],"toml":"1 2"}]"#,
        ];
        for edits in strange {
            assert!(edited(TEXT, &serde_json::from_str::<Vec<Edit>>(edits).unwrap()).is_err(), "{edits}");
        }
    }

    #[test]
    fn a_form_shows_what_is_written() {
        let form = form(TEXT).unwrap();
        assert_eq!(form["privacy"]["rho"], "1/2");
        assert_eq!(form["privacy"]["unit"]["max_rows"], "3");
        assert_eq!(form["strategy"]["expected"]["floor"], "1_0");
        let wrong = super::form("a = 1\nb = = 2").unwrap_err();
        assert!(wrong.from > 6 && !wrong.message.is_empty(), "{wrong:?}");
    }
}
