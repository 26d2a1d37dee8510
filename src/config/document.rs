//! What is made of the declarations: `config/default.toml`, the JSON Schema, and the README's table of keys.

use serde_json::{Map, Value, json};

use super::keys::{FREE, sections};
use crate::declare::{Key, Presence, Section, inline};
use crate::engine::Registry;
use crate::ingest::format::STANDARD;

/// The width of generated text.
const COLUMNS: usize = 118;

/// Every key with its unit and reason, as a configuration file.
pub fn default_text(registry: &Registry) -> String {
    let mut text = String::new();
    for section in sections(registry) {
        let note = match section.path.as_str() {
            "engine" => note(registry.iter().map(|engine| (engine.name, engine.about))),
            "feed" => note(STANDARD.iter().map(|format| (format.name, format.about))),
            _ => String::new(),
        };
        comment(&mut text, &section.about);
        text.push_str(&note);
        if !section.path.is_empty() {
            text.push_str(&format!("[{}]\n", section.path));
        }
        for key in &section.keys {
            comment(&mut text, &key.about);
            text.push_str(&key_line(key));
        }
        if section.path == FREE {
            text.push_str("# \"security.protocol\" = \"SASL_SSL\"\n# \"sasl.password_file\" = \"kafka.password\"\n");
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// Names that a key of this section may have, one a line.
fn note(choices: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let mut text = String::new();
    for (name, about) in choices {
        comment(&mut text, &format!("{name}: {about}"));
    }
    text
}

fn key_line(key: &Key) -> String {
    match &key.presence {
        Presence::Default(value) => format!("{} = {}\n", key.name, inline(value)),
        Presence::Required(example) => {
            format!("# {} = {}   (required)\n", key.name, inline(example))
        }
        Presence::Optional(example) => format!("# {} = {}\n", key.name, inline(example)),
    }
}

/// Words as comment lines of at most [`COLUMNS`].
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// JSON Schema (2020-12) of a configuration, for editors.
pub fn schema(registry: &Registry) -> Value {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tapveil configuration, version 2",
        "type": "object",
        "additionalProperties": false,
        "properties": {},
    });
    for section in sections(registry) {
        let table = table(&mut root, &section.path);
        describe(table, &section, registry);
    }
    root
}

/// The schema of the table at this path; made on the way if it is not there yet.
fn table<'a>(root: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').filter(|name| !name.is_empty()).fold(root, |table, name| {
        let empty = json!({ "type": "object", "additionalProperties": false, "properties": {} });
        let below = table["properties"].as_object_mut().expect("every table has properties");
        below.entry(name.to_owned()).or_insert(empty)
    })
}

fn describe(table: &mut Value, section: &Section, registry: &Registry) {
    table["description"] = json!(section.about);
    if section.path == FREE {
        table["additionalProperties"] = json!(true);
    }
    let mut required = Vec::new();
    for key in &section.keys {
        let mut schema: Map<String, Value> = match &key.schema {
            Value::Object(schema) => schema.clone(),
            other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        schema.insert("description".to_owned(), json!(key.about));
        match &key.presence {
            Presence::Default(value) => drop(schema.insert("default".to_owned(), value.clone())),
            Presence::Required(example) => {
                required.push(key.name);
                schema.insert("examples".to_owned(), json!([example]));
            }
            Presence::Optional(example) => {
                schema.insert("examples".to_owned(), json!([example]));
            }
        }
        if section.path == "engine" && key.name == "name" {
            schema.insert("enum".to_owned(), json!(registry.names()));
        }
        table["properties"][key.name] = Value::Object(schema);
    }
    if !required.is_empty() {
        table["required"] = json!(required);
    }
}

/// The words up to the first end of a clause, and no more than so many columns.
fn shortened(words: &str, columns: usize) -> String {
    let ends = [". ", "; ", ": ", " ("];
    // A first clause of a word or two says too little.
    let found = |end: &&str| words.match_indices(*end).map(|(at, _)| at).find(|&at| at >= 24);
    let end = ends.iter().filter_map(found).min().unwrap_or(words.len());
    let clause = &words[..end];
    if clause.chars().count() <= columns {
        return clause.to_owned();
    }
    let mut short = String::new();
    for word in clause.split_whitespace() {
        if short.chars().count() + word.chars().count() + 2 > columns {
            break;
        }
        short.push_str(word);
        short.push(' ');
    }
    short.trim_end().to_owned() + " …"
}

/// Every key with its default, as a table for the README. Longer reasons stand in the file of defaults.
pub fn key_table(registry: &Registry) -> String {
    let mut text = String::from("| key | default | what |\n|---|---|---|\n");
    for section in sections(registry) {
        for key in &section.keys {
            let name = match section.path.as_str() {
                "" => key.name.to_owned(),
                path => format!("{path}.{}", key.name),
            };
            let default = match &key.presence {
                Presence::Default(value) => format!("`{}`", inline(value)),
                Presence::Required(_) => "required".to_owned(),
                Presence::Optional(_) => "–".to_owned(),
            };
            let row = format!("| `{name}` | {default} | ");
            let about = shortened(&key.about.replace('|', "·"), COLUMNS - row.chars().count() - 2);
            text.push_str(&format!("{row}{about} |\n"));
        }
    }
    text
}
