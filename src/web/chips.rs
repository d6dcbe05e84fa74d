//! Facts as chips: a short label, all fields on hover, and the lines they came from.

use crate::event::Stream;
use crate::fact::value::Value;
use crate::fact::{Fact, Observed, fact_type};
use crate::time::{Micros, human_duration};

use super::words::shorten;
use crate::diagnosis::words::size;

/// A fact, ready for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// Its type, in words.
    pub name: String,
    /// Its most telling values.
    pub label: String,
    /// What it is in general, for hover.
    pub doc: String,
    /// Its fields, for the command page.
    pub fields: Vec<(String, String)>,
    /// The stream it came from.
    pub stream: Option<Stream>,
    /// First byte in that stream.
    pub from: u64,
    /// One past its last byte.
    pub to: u64,
    /// Ids of the lines it came from, separated by spaces (see [`super::output`]).
    pub lines: String,
    /// The first of these, for a link.
    pub first_line: String,
}

/// The fields that tell most, for types whose first fields do not.
const TELLING: [(&str, &[&str]); 12] = [
    ("process_look", &["pattern", "count", "self_matches"]),
    ("process", &["pid", "comm", "args", "state"]),
    ("gpu_look", &["shown", "most_used_mib", "most_util_pct"]),
    ("gpu", &["index", "memory_used_mib", "util_pct"]),
    ("gpu_process", &["gpu", "pid", "used_mib"]),
    ("file", &["path", "exists", "size_bytes"]),
    ("log_look", &["path", "lines", "empty"]),
    ("line", &["level", "text"]),
    ("traceback", &["exception", "message"]),
    ("progress", &["label", "percent", "done", "total"]),
    ("count", &["of", "count", "pattern"]),
    ("search", &["pattern", "found"]),
];

/// Makes a chip of a fact; its lines are filled in by [`super::output`].
pub fn chip(observed: &Observed) -> Chip {
    let name = observed.fact.name();
    let fields = fields(&observed.fact);
    let telling = TELLING
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, fields)| *fields);
    let label = match telling {
        Some(names) => names
            .iter()
            .filter_map(|name| fields.iter().find(|(field, _)| field == name))
            .map(brief)
            .collect::<Vec<_>>(),
        None => fields.iter().take(3).map(brief).collect(),
    };
    Chip {
        name: name.replace('_', " "),
        label: shorten(&label.join(" · "), 72),
        doc: fact_type(name).map_or_else(String::new, |ty| ty.doc.trim().to_owned()),
        fields: fields
            .into_iter()
            .map(|(field, value)| (words(&field), shorten(&value, 400)))
            .collect(),
        stream: observed.stream,
        from: observed.from,
        to: observed.to,
        lines: String::new(),
        first_line: String::new(),
    }
}

/// A field's name without its unit.
fn words(field: &str) -> String {
    const UNITS: [&str; 8] = ["_mib", "_kib", "_bytes", "_pct", "_s", "_us", "_w", "_c"];
    UNITS
        .iter()
        .find_map(|unit| field.strip_suffix(unit))
        .unwrap_or(field)
        .replace('_', " ")
}

fn brief((field, value): &(String, String)) -> String {
    let value = shorten(value, 48);
    let speaks_for_itself = matches!(
        field.as_str(),
        "path" | "text" | "comm" | "args" | "label" | "exception" | "message" | "level" | "of"
    ) || field.ends_with("_bytes");
    if speaks_for_itself {
        value
    } else {
        format!("{} {value}", words(field))
    }
}

/// The known fields of a fact with their values in words.
fn fields(fact: &Fact) -> Vec<(String, String)> {
    let Some(ty) = fact_type(fact.name()) else {
        return Vec::new();
    };
    ty.fields
        .iter()
        .filter_map(|field| {
            let text = said(field.name, &fact.get(field.name)?)?;
            Some((field.name.to_owned(), text))
        })
        .collect()
}

/// A value in words; `None` where there is nothing to say.
fn said(field: &str, value: &Value) -> Option<String> {
    let number = match value {
        Value::Unknown | Value::Null => return None,
        Value::Bool(false) => return None,
        Value::Bool(true) => return Some("yes".to_owned()),
        Value::Text(text) if text.is_empty() || text == "unknown" => return None,
        Value::Text(text) => return Some(text.clone()),
        Value::List(list) if list.is_empty() => return None,
        Value::List(list) => {
            let texts: Vec<String> = list.iter().filter_map(|v| said("", v)).collect();
            return Some(texts.join(", "));
        }
        #[expect(clippy::cast_precision_loss, reason = "shown rounded")]
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
    };
    let unit = field.rsplit_once('_').map_or("", |(_, unit)| unit);
    Some(match (unit, value) {
        ("bytes", _) => scaled(number, 1.0),
        ("kib", _) => scaled(number, 1024.0),
        ("mib", _) => scaled(number, 1_048_576.0),
        ("pct", _) => format!("{} %", plain(number)),
        ("s", _) => human_duration(number),
        ("w", _) => format!("{} W", plain(number)),
        ("c", _) => format!("{} °C", plain(number)),
        ("us", Value::Int(us)) => Micros(*us).rfc3339(),
        (_, Value::Float(_)) if field == "percent" => format!("{} %", plain(number)),
        (_, Value::Int(whole)) => whole.to_string(),
        _ => plain(number),
    })
}

fn scaled(number: f64, unit: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of floats saturates, and a size is shown rounded"
    )]
    let bytes = (number * unit) as u64;
    size(bytes)
}

fn plain(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Gpu;

    #[test]
    fn a_chip_says_the_telling_fields_with_their_units() {
        let chip = chip(&Observed {
            fact: Fact::Gpu(Gpu {
                index: Some(0),
                name: Some("H200".to_owned()),
                memory_used_mib: Some(1126.4),
                util_pct: Some(0.0),
                ..Gpu::default()
            }),
            place: crate::shell::Place::default(),
            invocation: None,
            stream: Some(Stream::Stdout),
            from: 0,
            to: 10,
        });
        assert_eq!(chip.label, "index 0 · memory used 1.1 GiB · util 0 %");
    }
}
