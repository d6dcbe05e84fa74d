//! The JSON Schema of the playbook language, for editors: written from the tables that the loader
//! reads by (`language`), the fact catalogue and the kinds.
//!
//! What a schema can say is said here: keys, what is needed, words, numbers. Expressions, names and
//! joins are checked when a playbook is loaded.

use serde_json::{Map as Object, Value, json};

use super::known::{KINDS, OWN};
use super::language::{
    ABSENT, CASE_STEP, CHUNK, EXIT, FORMS, HYPOTHESIS, JOINS, Key, LIKELIHOODS, Map, OBSERVATION,
    PLAYBOOK, PROBE, REFERENCE, Role, SERIES, SERIES_COUNT, STEP, Shape, TEST, WHEN, Word,
};
use crate::fact::{CATALOGUE, FactType, FieldType};

/// The dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The maps that others refer to.
const MAPS: &[&Map] = &[
    &WHEN,
    &ABSENT,
    &SERIES,
    &SERIES_COUNT,
    &HYPOTHESIS,
    &OBSERVATION,
    &PROBE,
    &REFERENCE,
    &TEST,
    &CASE_STEP,
    &EXIT,
    &CHUNK,
];

/// The schema of a playbook.
pub fn schema() -> Value {
    let mut root = map(&PLAYBOOK);
    if let Some(root) = root.as_object_mut() {
        root.insert("$schema".to_owned(), json!(DIALECT));
        root.insert("title".to_owned(), json!("casebook playbook"));
        root.insert(
            "description".to_owned(),
            json!("A failure pattern: what makes it fire, what speaks for its explanations, looks that would tell, and its own tests."),
        );
        root.insert("$defs".to_owned(), definitions());
    }
    root
}

fn definitions() -> Value {
    let facts: Vec<(&str, String)> = CATALOGUE.iter().map(|ty| (ty.name, fact_doc(ty))).collect();
    let mut out = json!({
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9_-]*$"},
        "name": {
            "type": "string",
            "pattern": "^[A-Za-z][A-Za-z0-9_]*$",
            "not": {"enum": ["it", "launch", "null", "true", "false", "in"]},
        },
        "kind": {
            "anyOf": [
                words(KINDS.iter().map(|(kind, means)| (*kind, (*means).to_owned()))),
                {"type": "string", "pattern": own_kinds(), "description": "a kind of your own"},
            ],
        },
        "duration": {
            "type": "string",
            "pattern": "^ *([0-9]+([.][0-9]*)?|[.][0-9]+)(ms|s|m|h|d)( *([0-9]+([.][0-9]*)?|[.][0-9]+)(ms|s|m|h|d))* *$",
            "examples": ["30s", "10m", "2h", "1h30m"],
        },
        "expression": {
            "type": ["string", "integer", "boolean"],
            "examples": ["it.code != 0", "K.full && K.hits_own_shell != 'no'", "re(lower(it.text), 'out of memory')"],
        },
        "template": {"type": "string"},
        "fact": words(facts.into_iter()),
        "join": words(JOINS.iter().map(described)),
        "joins": {
            "anyOf": [
                {"$ref": "#/$defs/join"},
                {"$ref": "#/$defs/joined"},
                {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/join"}, {"$ref": "#/$defs/joined"}]}},
            ],
        },
        "joined": {
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/join"},
            "additionalProperties": {"$ref": "#/$defs/expression"},
        },
        "likelihood": {
            "anyOf": [words(LIKELIHOODS.iter().map(described)), {"type": "number"}],
        },
        "step": step(Role::Step),
        "guard": step(Role::Guard),
    });
    if let Some(out) = out.as_object_mut() {
        out.extend(MAPS.iter().map(|of| (map_name(of), map(of))));
    }
    out
}

/// The name of a map's definition: `a step of a test` is `step_of_a_test`.
fn map_name(map: &Map) -> String {
    let name = map.what.trim_start_matches("an ").trim_start_matches("a ");
    name.replace(' ', "_")
}

fn described<T>(word: &Word<T>) -> (&'static str, String) {
    (word.0, word.2.to_owned())
}

/// One of a few words, each with what it means (editors show it).
fn words(words: impl Iterator<Item = (&'static str, String)>) -> Value {
    let (names, docs): (Vec<&str>, Vec<String>) = words.unzip();
    json!({"enum": names, "enumDescriptions": docs})
}

fn own_kinds() -> String {
    let start = OWN.trim_end_matches('.');
    format!("^{start}([.][a-z][a-z0-9_]*)+$")
}

fn map(map: &Map) -> Value {
    let mut properties = Object::new();
    for key in map.keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    let needed: Vec<&str> = map
        .keys
        .iter()
        .filter(|key| key.needed)
        .map(|key| key.name)
        .collect();
    let mut out = json!({
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    });
    let by_fact = map.keys.iter().find_map(|key| match key.shape {
        Shape::Field => Some(fields_by_fact(key.name)),
        _ => None,
    });
    if let (Some(by_fact), Some(out)) = (by_fact, out.as_object_mut()) {
        out.insert("allOf".to_owned(), by_fact);
    }
    out
}

/// For each fact type, the fields that a key may name.
fn fields_by_fact(key: &str) -> Value {
    let rules = CATALOGUE.iter().map(|ty| {
        let fields = ty.fields.iter();
        let fields = fields.map(|field| (field.name, field.doc.trim().to_owned()));
        json!({
            "if": {"properties": {"fact": {"const": ty.name}}, "required": ["fact"]},
            "then": {"properties": {key: words(fields)}},
        })
    });
    rules.collect()
}

fn property(key: &Key) -> Value {
    let mut out = shape(key.shape);
    if let Some(out) = out.as_object_mut() {
        out.insert("description".to_owned(), json!(key.doc));
    }
    out
}

fn shape(of: Shape) -> Value {
    let defined = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
    let list = |items: Value| json!({"type": "array", "items": items});
    match of {
        Shape::Text => json!({"type": "string"}),
        Shape::TextOrNothing => json!({"type": ["string", "null"]}),
        Shape::Prose | Shape::Line => defined("template"),
        Shape::Expression => defined("expression"),
        Shape::Id => defined("id"),
        Shape::Name => defined("name"),
        Shape::Texts => list(json!({"type": "string"})),
        Shape::TextOrTexts => {
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
        }
        Shape::Kind => defined("kind"),
        Shape::Duration => defined("duration"),
        Shape::Number => json!({"type": "number"}),
        Shape::Cost => json!({"type": "number", "exclusiveMinimum": 0}),
        Shape::Prior => json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        Shape::Count => json!({"type": "integer", "minimum": 1}),
        Shape::CountOrForm(form) => {
            json!({"anyOf": [{"type": "integer", "minimum": 1}, defined(&map_name(form))]})
        }
        Shape::Truth => json!({"type": "boolean"}),
        Shape::Words(list) => words(list().into_iter().map(|(word, doc)| (word, doc.to_owned()))),
        Shape::Fact => defined("fact"),
        Shape::Field => json!({"type": "string"}),
        Shape::Joins => defined("joins"),
        Shape::Likely => {
            json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/likelihood"}})
        }
        Shape::Exit => json!({"anyOf": [{"type": "integer"}, defined(&map_name(&EXIT))]}),
        Shape::Map(of) => defined(&map_name(of)),
        Shape::Maps(of) => list(defined(&map_name(of))),
        Shape::Step(role) => defined(role_name(role)),
        Shape::Steps(role) => list(defined(role_name(role))),
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Step => "step",
        Role::Guard => "guard",
    }
}

/// A step: its keys, exactly one form, and beside each form only what belongs there.
fn step(role: Role) -> Value {
    let mut properties = Object::new();
    for key in STEP.keys {
        let property = match (key.name, role) {
            ("anytime", Role::Step) => continue,
            ("after", Role::Guard) => json!({
                "$ref": "#/$defs/name",
                "description": "Only what comes after this binding.",
            }),
            ("all" | "any", _) => json!({
                "type": "array",
                "minItems": 1,
                "items": {"$ref": format!("#/$defs/{}", role_name(role))},
                "description": key.doc,
            }),
            ("absent", _) => {
                let mut absent = property(key);
                if let Some(absent) = absent.as_object_mut() {
                    absent.insert("minProperties".to_owned(), json!(1));
                    absent.insert("maxProperties".to_owned(), json!(1));
                }
                absent
            }
            _ => property(key),
        };
        properties.insert(key.name.to_owned(), property);
    }
    // `count` beside another form is a number of looks.
    let others: Vec<&str> = FORMS
        .iter()
        .map(|form| form.name)
        .filter(|name| *name != "count")
        .collect();
    let mut one_of: Vec<Value> = others
        .iter()
        .map(|name| json!({"required": [name]}))
        .collect();
    let any_other: Vec<Value> = one_of.clone();
    one_of.push(json!({
        "required": ["count", "at_least"],
        "properties": {"count": {"type": "object"}},
        "not": {"anyOf": any_other},
    }));
    let mut beside = Object::new();
    for form in FORMS.iter().filter(|form| form.name != "count") {
        beside.insert(
            form.name.to_owned(),
            stands_beside(form.name, form.beside, role),
        );
    }
    let count = FORMS.iter().find(|form| form.name == "count");
    let count = count.map(|form| stands_beside(form.name, form.beside, role));
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "oneOf": one_of,
        "dependentSchemas": beside,
        "if": {"required": ["count"], "properties": {"count": {"type": "object"}}},
        "then": count,
    })
}

/// What may not stand beside a form.
fn stands_beside(form: &str, beside: &[&str], role: Role) -> Value {
    let mut properties = Object::new();
    for name in STEP.names() {
        let guard = role == Role::Guard && matches!(name, "anytime" | "after");
        if name != form && !beside.contains(&name) && !guard {
            properties.insert(name.to_owned(), json!(false));
        }
    }
    if beside.contains(&"count") {
        properties.insert("count".to_owned(), json!({"type": "integer"}));
    }
    json!({"properties": properties})
}

fn fact_doc(ty: &FactType) -> String {
    let mut out = format!("{} (from {})\nFields:", ty.doc.trim(), ty.source);
    for field in ty.fields {
        let kind = match field.ty {
            FieldType::Text => "text",
            FieldType::Int => "whole number",
            FieldType::Float => "number",
            FieldType::Bool => "true or false",
            FieldType::Tri => "yes, no or unknown",
            FieldType::TextList => "texts",
            FieldType::IntList => "whole numbers",
        };
        let doc: Vec<&str> = field.doc.split_whitespace().collect();
        out.push_str(&format!("\n{} ({kind}): {}", field.name, doc.join(" ")));
    }
    out
}
