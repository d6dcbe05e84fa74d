//! The schema says what the loader says: a small validator of the keywords it uses, every shipped
//! playbook, and what becomes of them when a part is spoilt.

use serde_json::{Map, Value, json};

use super::super::known::is_known;
use super::super::schema::schema;
use super::super::{load, shipped_texts};

/// What a value is refused for, one a line.
fn refused(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = match schema {
        Value::Bool(true) => return Vec::new(),
        Value::Object(schema) => schema,
        _ => return vec![format!("{at}: not allowed")],
    };
    let mut out = Vec::new();
    let fits = |schema: &Value, value: &Value| refused(root, schema, value, at).is_empty();
    for (keyword, wants) in schema {
        let list = || wants.as_array().unwrap().iter();
        let so = match keyword.as_str() {
            "$ref" => {
                let name = wants.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                let schema = &root["$defs"][name];
                assert!(!schema.is_null(), "{name}");
                out.extend(refused(root, schema, value, at));
                true
            }
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                };
                wants
                    .as_array()
                    .map_or_else(|| is(wants), |list| list.iter().any(is))
            }
            "enum" => list().any(|word| word == value),
            "const" => wants == value,
            "pattern" => value.as_str().is_none_or(|text| {
                regex::Regex::new(wants.as_str().unwrap())
                    .unwrap()
                    .is_match(text)
            }),
            "minimum" => value.as_f64().is_none_or(|n| n >= wants.as_f64().unwrap()),
            "exclusiveMinimum" => value.as_f64().is_none_or(|n| n > wants.as_f64().unwrap()),
            "exclusiveMaximum" => value.as_f64().is_none_or(|n| n < wants.as_f64().unwrap()),
            "minItems" => value
                .as_array()
                .is_none_or(|list| list.len() as u64 >= wants.as_u64().unwrap()),
            "minProperties" => value
                .as_object()
                .is_none_or(|map| map.len() as u64 >= wants.as_u64().unwrap()),
            "maxProperties" => value
                .as_object()
                .is_none_or(|map| map.len() as u64 <= wants.as_u64().unwrap()),
            "required" => value
                .as_object()
                .is_none_or(|map| list().all(|name| map.contains_key(name.as_str().unwrap()))),
            "properties" => {
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if let Some(schema) = wants.get(name) {
                        out.extend(refused(root, schema, inner, &format!("{at}.{name}")));
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        out.extend(refused(root, wants, inner, &format!("{at}.{name}")));
                    }
                }
                true
            }
            "propertyNames" => value
                .as_object()
                .is_none_or(|map| map.keys().all(|name| fits(wants, &json!(name)))),
            "items" => {
                for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                    out.extend(refused(root, wants, item, &format!("{at}[{place}]")));
                }
                true
            }
            "anyOf" => list().any(|one| fits(one, value)),
            "oneOf" => list().filter(|one| fits(one, value)).count() == 1,
            "allOf" => {
                for one in list() {
                    out.extend(refused(root, one, value, at));
                }
                true
            }
            "not" => !fits(wants, value),
            "if" => {
                if fits(wants, value)
                    && let Some(then) = schema.get("then")
                {
                    out.extend(refused(root, then, value, at));
                }
                true
            }
            "dependentSchemas" => {
                for (name, one) in wants.as_object().unwrap() {
                    if value.get(name).is_some() {
                        out.extend(refused(root, one, value, at));
                    }
                }
                true
            }
            "then" | "$schema" | "$defs" | "title" | "description" | "enumDescriptions"
            | "examples" => true,
            other => panic!("keyword {other}"),
        };
        if !so {
            out.push(format!("{at}: {keyword}"));
        }
    }
    out
}

fn valid(schema: &Value, value: &Value) -> Result<(), Vec<String>> {
    let refused = refused(schema, schema, value, "$");
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}

const FIXTURE: &str = include_str!("../../../tests/fixtures/playbooks/killed-its-own-shell.yaml");

/// As the loader reads it: `N` is a text.
fn yaml(text: &str) -> Value {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).unwrap()
}

fn texts() -> Vec<(String, String)> {
    let mut texts = shipped_texts();
    texts.push(("fixture".to_owned(), FIXTURE.to_owned()));
    texts
}

#[test]
fn every_playbook_fits_the_schema() {
    let schema = schema();
    for (name, text) in texts() {
        let value: Value = yaml(&text);
        assert_eq!(valid(&schema, &value), Ok(()), "{name}");
    }
}

#[test]
fn an_unknown_key_does_not() {
    let schema = schema();
    let value: Value = yaml(FIXTURE);
    let mut spoilt = value.clone();
    spoilt["severty"] = json!("high");
    assert!(valid(&schema, &spoilt).is_err());
    let mut spoilt = value;
    spoilt["when"]["steps"][0]["wher"] = json!("true");
    assert!(valid(&schema, &spoilt).is_err());
}

/// Calls `each` with the value once for every part of it that is taken out, renamed or replaced.
fn spoil(value: &Value, each: &mut dyn FnMut(Value, String)) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let with = |new: Option<(String, Value)>| {
                    let mut map: Map<String, Value> = map.clone();
                    map.remove(key);
                    map.extend(new);
                    Value::Object(map)
                };
                each(with(None), format!("{key} is gone"));
                each(
                    with(Some((format!("{key}_x"), inner.clone()))),
                    format!("{key}_x"),
                );
                for other in [
                    json!(-7),
                    json!(0.5),
                    json!("Xy z"),
                    json!([]),
                    json!({}),
                    json!(true),
                ] {
                    let said = format!("{key}: {other}");
                    each(with(Some((key.clone(), other))), said);
                }
                spoil(inner, &mut |inner, said| {
                    each(with(Some((key.clone(), inner))), format!("{key}.{said}"));
                });
            }
        }
        Value::Array(list) => {
            for (place, inner) in list.iter().enumerate() {
                spoil(inner, &mut |inner, said| {
                    let mut list = list.clone();
                    list[place] = inner;
                    each(Value::Array(list), format!("[{place}].{said}"));
                });
            }
        }
        _ => {}
    }
}

/// Faults that a schema cannot see: they are about names, expressions and how parts belong together.
fn beyond_a_schema(message: &str) -> bool {
    [
        "nothing named",
        "no hypothesis of this playbook",
        "neither an observation nor a step",
        "are called",
        "an absence cannot be the first step",
        "a playbook has at least one step",
        "this subject cannot be",
        "syntax:",
        "`where` is true or false",
        "no expression of",
        "is a whole fact",
        "has no field",
        "version counts from 1",
        "a `",
        "no number",
    ]
    .iter()
    .any(|part| message.contains(part))
}

#[test]
fn schema_and_loader_agree_on_what_is_spoilt() {
    let schema = schema();
    let value: Value = yaml(FIXTURE);
    let (mut both, mut loader_only) = (0, 0);
    spoil(&value, &mut |spoilt, said| {
        // JSON is YAML.
        let text = serde_json::to_string_pretty(&spoilt).unwrap();
        let loaded = load("spoilt", &text);
        let fits = valid(&schema, &spoilt);
        match (&loaded, &fits) {
            (Ok(_), Ok(())) => {}
            (Ok(playbook), Err(refused)) => {
                let kinds = playbook
                    .hypotheses
                    .iter()
                    .filter_map(|one| one.kind.as_ref());
                let odd = kinds.chain([&playbook.kind]).any(|kind| !is_known(kind));
                assert!(odd, "{said}: only the schema refuses it: {refused:#?}");
            }
            (Err(faults), Ok(())) => {
                let seen: Vec<_> = faults
                    .iter()
                    .filter(|fault| !beyond_a_schema(&fault.message))
                    .collect();
                assert!(
                    seen.is_empty(),
                    "{said}: only the loader refuses it: {seen:#?}"
                );
                loader_only += 1;
            }
            (Err(_), Err(_)) => both += 1,
        }
    });
    assert!(both > 500 && loader_only > 5, "{both} {loader_only}");
}
