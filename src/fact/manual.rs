//! `docs/facts.md`, written from the types.

use super::cover::covered;
use super::{CATALOGUE, FactType, Field, FieldType};

const OPENING: &str = "# Facts

What `rec` reads out of commands and their output, and what playbooks bind. Written from the types in
`src/fact/catalogue.rs` (a test compares; CONTRIBUTING.md says how to write it anew): change the types,
not this page. `rec show N` lists the facts of a command with the lines they came from.

A field marked *may be unknown* holds nothing when that look could not tell; unknown is never \"no\".
`tri` is `yes`, `no` or `unknown`, compared as text. Units are in the names: `_mib`, `_kib`, `_bytes`,
`_s` (seconds), `_us` (microseconds since 1970), `_pct` (per cent), `_w` (watts), `_c` (°C).
Beside its fields every fact knows its host, its invocation, its stream and the bytes it was read from.

*Covers* says what a look would have shown, had it been there. Only such a look can show that something
is absent.
";

/// The text of `docs/facts.md`.
pub fn manual() -> String {
    let mut out = String::from(OPENING);
    out.push_str("\n| fact | what it says | from |\n|---|---|---|\n");
    for ty in CATALOGUE {
        out.push_str(&format!(
            "| [`{name}`](#{name}) | {doc} | {source} |\n",
            name = ty.name,
            doc = cell(ty.doc),
            source = cell(ty.source)
        ));
    }
    for ty in CATALOGUE {
        section(ty, &mut out);
    }
    out
}

fn section(ty: &FactType, out: &mut String) {
    out.push_str(&format!(
        "\n## {}\n\n{} From {}.\n\n",
        ty.name,
        prose(ty.doc),
        ty.source
    ));
    if let Some(covers) = covered(ty.name) {
        out.push_str(&format!("Covers {covers}.\n\n"));
    }
    out.push_str("| field | type | unit | meaning |\n|---|---|---|---|\n");
    for field in ty.fields {
        let unknown = if field.optional {
            ", may be unknown"
        } else {
            ""
        };
        out.push_str(&format!(
            "| `{}` | {}{unknown} | {} | {} |\n",
            field.name,
            type_name(field.ty),
            unit(field),
            cell(field.doc)
        ));
    }
}

fn type_name(ty: FieldType) -> &'static str {
    match ty {
        FieldType::Text => "text",
        FieldType::Int => "int",
        FieldType::Float => "float",
        FieldType::Bool => "bool",
        FieldType::Tri => "tri",
        FieldType::TextList => "list of texts",
        FieldType::IntList => "list of ints",
    }
}

/// The unit that a field's name carries.
fn unit(field: &Field) -> &'static str {
    if !matches!(field.ty, FieldType::Int | FieldType::Float) {
        return "";
    }
    let units = [
        ("_per_s", "1/s"),
        ("_kib_s", "KiB/s"),
        ("_gb_s", "GB/s"),
        ("_gbit_s", "Gbit/s"),
        ("_ms", "ms"),
        ("_mhz", "MHz"),
        ("_mib", "MiB"),
        ("_kib", "KiB"),
        ("bytes", "bytes"),
        ("_us", "µs since 1970"),
        ("_s", "s"),
        ("_pct", "%"),
        ("percent", "%"),
        ("_w", "W"),
        ("_c", "°C"),
    ];
    units
        .iter()
        .find(|(end, _)| field.name.ends_with(end))
        .map_or("", |(_, unit)| unit)
}

/// Documentation as one line of prose.
fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// And as a table's cell.
fn cell(doc: &str) -> String {
    prose(doc).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::manual;
    use crate::fact::CATALOGUE;

    #[test]
    fn every_type_and_field_is_told() {
        let text = manual();
        for ty in CATALOGUE {
            assert!(text.contains(&format!("\n## {}\n", ty.name)));
            for field in ty.fields {
                assert!(text.contains(&format!("| `{}` | ", field.name)));
                assert!(!field.doc.trim().is_empty(), "{}.{}", ty.name, field.name);
            }
        }
    }
}
