//! JSON and YAML documents, also such as `head` cut: what was shown is read.

use serde_json::{Map, Value};

/// Documents larger than this are not read.
const MOST_BYTES: usize = 4 << 20;
/// Levels read.
const MOST_DEEP: usize = 60;

/// Whether a line can be one of a JSON document that is set out over lines.
pub(super) fn is_json_line(line: &str) -> bool {
    let text = line.trim();
    let bare = text.trim_end_matches(',');
    let closes = !text.is_empty() && bare.chars().all(|c| "{}[]".contains(c));
    let string =
        bare.starts_with('"') && (bare.ends_with(['"', '{', '[']) || bare.contains("\": "));
    let inner = line.starts_with([' ', '\t'])
        && (bare.parse::<f64>().is_ok() || matches!(bare, "true" | "false" | "null"));
    closes || string || inner
}

/// A JSON document; one whose end is missing is closed where it breaks off.
pub(super) fn json(text: &str) -> Option<Value> {
    let start = text.find(['{', '['])?;
    let text = text.get(start..)?.trim_end();
    if text.len() > MOST_BYTES {
        return None;
    }
    serde_json::from_str(text)
        .ok()
        .or_else(|| serde_json::from_str(&closed(text)?).ok())
}

/// A JSON text that breaks off, up to its last whole member, with what is open closed.
fn closed(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    // After a whole member: the bytes so far, and what is open there.
    let mut whole: Option<(usize, Vec<char>)> = None;
    for (at, c) in text.char_indices() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                if open.pop() != Some(c) {
                    return None;
                }
                whole = Some((at + 1, open.clone()));
            }
            ',' => whole = Some((at, open.clone())),
            _ => {}
        }
        if open.len() > MOST_DEEP {
            return None;
        }
    }
    let (to, open) = whole?;
    let mut text = text.get(..to)?.to_owned();
    text.extend(open.iter().rev());
    Some(text)
}

/// A line of YAML: its depth, whether it begins an item, and its text.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    indent: usize,
    text: &'a str,
}

/// The block style of YAML that kubectl prints: mappings, lists, plain and quoted scalars. Text
/// blocks are kept as their first line; what does not fit is passed over.
pub(super) fn yaml(text: &str) -> Option<Value> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let lines: Vec<Line<'_>> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && *line != "---")
        .map(|line| Line {
            indent: line.len() - line.trim_start().len(),
            text: line.trim(),
        })
        .collect();
    let mut at = 0;
    let value = block(&lines, &mut at, lines.first()?.indent, 0);
    value.is_object().then_some(value)
}

/// The documents of a text, parted by `---`.
pub(super) fn yaml_documents(text: &str) -> Vec<Value> {
    text.split("\n---\n").filter_map(yaml).collect()
}

fn block(lines: &[Line<'_>], at: &mut usize, indent: usize, deep: usize) -> Value {
    let Some(first) = lines.get(*at) else {
        return Value::Null;
    };
    if deep > MOST_DEEP {
        *at = lines.len();
        return Value::Null;
    }
    if first.text.starts_with("- ") || first.text == "-" {
        let mut items = Vec::new();
        while let Some(line) = lines.get(*at)
            && line.indent == indent
            && (line.text.starts_with("- ") || line.text == "-")
        {
            items.push(item(lines, at, *line, deep));
        }
        return Value::Array(items);
    }
    let mut map = Map::new();
    while let Some(line) = lines.get(*at) {
        if line.indent < indent || line.text.starts_with("- ") {
            break;
        }
        *at += 1;
        if line.indent > indent {
            continue; // the rest of a text block
        }
        if let Some((name, value)) = entry(line.text) {
            let value = nested(lines, at, value, indent, deep);
            map.insert(name, value);
        }
    }
    Value::Object(map)
}

/// `- name: x`: the entry stands where a line of its own would, two columns in.
fn item(lines: &[Line<'_>], at: &mut usize, line: Line<'_>, deep: usize) -> Value {
    let rest = line.text.get(1..).unwrap_or("").trim_start();
    let indent = line.indent + (line.text.len() - rest.len());
    *at += 1;
    let Some((name, value)) = entry(rest) else {
        return scalar(rest);
    };
    let mut map = Map::new();
    let value = nested(lines, at, value, indent, deep);
    map.insert(name, value);
    if lines.get(*at).is_some_and(|next| next.indent == indent)
        && let Value::Object(more) = block(lines, at, indent, deep + 1)
    {
        map.extend(more);
    }
    Value::Object(map)
}

/// The value of an entry: on its line, or below it.
fn nested(lines: &[Line<'_>], at: &mut usize, value: &str, indent: usize, deep: usize) -> Value {
    if !value.is_empty() {
        return scalar(value);
    }
    match lines.get(*at) {
        Some(next) if next.indent > indent => block(lines, at, next.indent, deep + 1),
        Some(next) if next.indent == indent && next.text.starts_with("- ") => {
            block(lines, at, indent, deep + 1)
        }
        _ => Value::Null,
    }
}

/// `name: value` or `name:`.
fn entry(text: &str) -> Option<(String, &str)> {
    let (name, value) = match text.split_once(": ") {
        Some(pair) => pair,
        None => (text.strip_suffix(':')?, ""),
    };
    let name = name.trim_matches('"');
    (!name.is_empty() && !name.contains(' ')).then(|| (name.to_owned(), value.trim()))
}

fn scalar(text: &str) -> Value {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return Value::String(inner.to_owned());
        }
    }
    match text {
        "null" | "~" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "{}" => Value::Object(Map::new()),
        "[]" => Value::Array(Vec::new()),
        _ => text
            .parse::<i64>()
            .map_or_else(|_| Value::String(text.to_owned()), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_document_is_read_up_to_the_cut() {
        let whole = "{\"a\": [1, {\"b\": \"x, ]\"}], \"c\": {\"d\": 2, \"e\": 3}}";
        assert_eq!(json(whole).unwrap()["c"]["e"], 3);
        let cut = json("{\"a\": [1, {\"b\": \"x\"}],\n \"c\": {\"d\": 2, \"e\": \"br").unwrap();
        assert_eq!(
            (cut["c"]["d"].as_i64(), &cut["c"]["e"]),
            (Some(2), &Value::Null)
        );
        for to in 0..whole.len() {
            let _ = json(&whole[..to]);
        }
        assert_eq!(json("no document"), None);
    }

    #[test]
    fn lists_stand_below_their_name_or_in_its_column() {
        let text = "kind: Pod\nmetadata:\n  name: web\nstatus:\n  conditions:\n  - type: Ready\n    status: \"False\"\n  - type: Init\n    note: |\n      free text: here\n    more: 1\n  phase: Pending\n";
        let value = yaml(text).unwrap();
        assert_eq!(value["metadata"]["name"], "web");
        assert_eq!(value["status"]["conditions"][0]["status"], "False");
        assert_eq!(value["status"]["conditions"][1]["more"], 1);
        assert_eq!(value["status"]["phase"], "Pending");
        for to in 0..text.len() {
            let _ = yaml(&text[..to]);
        }
    }
}
