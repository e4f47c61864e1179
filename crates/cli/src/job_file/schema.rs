//! The keys of job files as a JSON schema, for editors: `inrush job schema`.

use serde_json::{Map, Value, json};

use super::arguments::options;
use super::keys::{self, Key, Kind};

/// The schema.
pub(crate) fn schema() -> Value {
    let mut schema = section(keys::ROOT);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Job file of inrush");
    schema
}

fn section(keys: &'static [Key]) -> Value {
    let mut properties = Map::new();
    for Key { name, kind: of, help } in keys {
        let mut value = kind(of);
        value["description"] = json!(format!("{help}."));
        properties.insert((*name).to_owned(), value);
    }
    if keys::are_of_input(keys) {
        for (name, takes_value) in options() {
            let described = format!("As --{name} of inrush load.");
            let mut value = match takes_value {
                true => json!({ "type": ["string", "number", "boolean", "array"] }),
                false => json!({ "type": "boolean" }),
            };
            value["description"] = json!(described);
            properties.insert(name.replace('-', "_"), value.clone());
            properties.insert(name, value);
        }
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn kind(of: &'static Kind) -> Value {
    match of {
        Kind::Text => json!({ "type": "string" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::List(of) => json!({ "type": "array", "items": kind(of) }),
        Kind::Section(keys) => section(keys),
        Kind::Named(of) => json!({ "type": "object", "additionalProperties": kind(of) }),
        Kind::Either(kinds) => {
            let any: Vec<Value> = kinds.iter().map(kind).collect();
            json!({ "anyOf": any })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::super::node::Node;
    use super::*;

    /// All keys of the schema's tables, by the keys that lead there.
    fn keys_of(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
        if let Some(properties) = schema["properties"].as_object() {
            for (name, value) in properties {
                found.push((path.to_owned(), name.clone()));
                keys_of(value, &format!("{path}/{name}"), found);
            }
        }
        keys_of_any(schema, path, found);
    }

    fn keys_of_any(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
        for any in schema["anyOf"].as_array().into_iter().flatten() {
            keys_of(any, path, found);
        }
        for inner in [&schema["items"], &schema["additionalProperties"]] {
            if inner.is_object() {
                keys_of(inner, path, found);
            }
        }
    }

    /// A job file with one more line in the section that a path names.
    fn with(path: &str, line: &str) -> String {
        let of = |section: &str, inner: &str| format!("{section}\n{inner}\n");
        match path {
            "" => line.to_owned(),
            "/input" => of("[input]", line),
            "/table" => of("[[table]]", line),
            "/table/entity" => of("[[table]]\n[table.entity]", line),
            "/table/columns" => of("[[table]]\n[table.columns.c]", line),
            "/table/columns/concat" => {
                of("[[table]]", &format!("columns.c.concat = [{{ {line} }}]"))
            }
            "/table/when" => of("[[table]]\n[table.when.f]", line),
            "/rule" => of("[[rule]]", line),
            "/rule/when" => of("[[rule]]\n[rule.when.f]", line),
            path => panic!("the test knows no section {path}"),
        }
    }

    #[test]
    fn the_schema_and_the_parser_have_the_same_keys() {
        let mut found = Vec::new();
        keys_of(&schema(), "", &mut found);
        let options = |of: &[Key]| match keys::are_of_input(of) {
            true => options().into_iter().map(|(name, _)| name).collect(),
            false => Vec::new(),
        };
        let check = |text: &str| {
            let root = Node::parse(text, Path::new("job.toml")).unwrap();
            Kind::Section(keys::ROOT).check(&root, "", &options)
        };
        let is_unknown =
            |text: &str| check(text).is_err_and(|(_, what)| what.contains(" has no key "));
        for (path, name) in &found {
            let known = with(path, &format!("{name} = 1"));
            assert!(!is_unknown(&known), "{path}/{name} is known:\n{known}");
            let other = with(path, &format!("{name}_not = 1"));
            assert!(is_unknown(&other), "{path}/{name}_not is unknown:\n{other}");
        }
        for key in ["into", "header", "null_token", "null-token", "id_of", "on_conflict", "regex"] {
            assert!(found.iter().any(|(_, name)| name == key), "{key}");
        }
        assert!(found.len() > 80, "{}", found.len());
    }
}
