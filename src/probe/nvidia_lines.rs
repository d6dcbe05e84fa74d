//! What the lines of nvidia-smi's answers look like.

use super::Fit;
use super::nvidia::{cells, field_name, is_header, is_unknown};
use super::words::{int, number};

/// A row of `dmon` or `pmon`: an index, then numbers, dashes and, of a process, its type and name.
pub(super) fn monitor_fit(line: &str) -> Fit {
    if line.starts_with("# ") {
        let head = ["# gpu", "# Idx", "# GPU", "# Date", "#Date", "# YYYY"];
        return head.iter().any(|start| line.starts_with(start)).into();
    }
    let mut words = line.split_whitespace();
    let index = words.next().is_some_and(|one| int(one).is_some());
    let rest: Vec<&str> = words.collect();
    let plain = |word: &str| {
        word == "-" || number(word).is_some() || matches!(word, "C" | "G" | "C+G" | "M+C" | "M")
    };
    if index && rest.len() >= 2 && rest.iter().take(2).all(|word| plain(word)) {
        Fit::Likely
    } else {
        Fit::No
    }
}

/// The name of a section of `-q`: `FB Memory Usage`, `Max Clocks`, `ECC Mode`.
fn is_section(text: &str) -> bool {
    text.len() < 60
        && text.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " -_/.()".contains(c))
        && !text.contains("()")
}

/// A line of `-q`.
pub(super) fn report_fit(line: &str) -> Fit {
    let text = line.trim();
    // At the margin stand a few names only; what begins with a digit is a time, and of a log.
    let margin = [
        "====",
        "Timestamp ",
        "Driver Version ",
        "CUDA Version ",
        "Attached GPUs ",
        "GPU ",
    ];
    if !line.starts_with(' ')
        && !line.is_empty()
        && !margin.iter().any(|name| line.starts_with(name))
    {
        return Fit::No;
    }
    if text.starts_with("==============NVSMI LOG")
        || text.starts_with("GPU 0000")
        || text.starts_with("GPU 00000000:")
        || line.contains("  : ")
        || line
            .split_once(" : ")
            .is_some_and(|(key, _)| key.ends_with(' '))
    {
        Fit::Surely
    } else if text.is_empty() {
        Fit::Perhaps
    } else if line
        .split_once(" : ")
        .is_some_and(|(key, _)| is_section(key.trim()))
        || line.starts_with("    ") && is_section(text)
    {
        Fit::Likely
    } else {
        Fit::No
    }
}

/// A part of a row, as awk or cut left it: of columns that all hold numbers it is a number or a unit.
pub(super) fn picked_fit(line: &str, fields: &[String]) -> Fit {
    let figures = fields.iter().all(|field| {
        let name = field_name(field);
        name == "index"
            || name == "pid"
            || name == "used_memory"
            || name.starts_with("memory.")
            || name.starts_with("utilization")
            || name.starts_with("temperature")
            || name.starts_with("power.")
    });
    let part = |word: &str| {
        let word = word.trim_matches([',', '[', ']']);
        word.is_empty()
            || word.parse::<f64>().is_ok()
            || matches!(word, "MiB" | "%" | "W" | "N/A" | "Not" | "Supported")
    };
    let head = line.split([' ', ',']).any(|word| {
        fields
            .iter()
            .any(|field| !word.is_empty() && field_name(field).starts_with(word))
    });
    match line.split_whitespace().all(part) || head {
        true if figures => Fit::Likely,
        false if figures => Fit::No,
        _ => Fit::Perhaps,
    }
}

/// A cell that holds a number, with its unit or without.
fn is_quantity(cell: &str) -> bool {
    let mut words = cell.split_whitespace();
    let figure = words.next().is_some_and(|word| {
        let word = word.trim_end_matches('%');
        !word.is_empty() && word.parse::<f64>().is_ok()
    });
    let unit = words.next();
    figure
        && words.next().is_none()
        && unit.is_none_or(|unit| matches!(unit, "MiB" | "GiB" | "KiB" | "%" | "W" | "MHz" | "C"))
}

/// What NVIDIA calls its products.
fn is_gpu_name(cell: &str) -> bool {
    let known = [
        "NVIDIA",
        "Tesla",
        "GeForce",
        "Quadro",
        "GRID",
        "TITAN",
        "RTX",
        "GTX",
        "Graphics Device",
        "Orin",
        "Thor",
        "Xavier",
        "DGX",
        "GH200",
        "GB200",
    ];
    known.iter().any(|word| cell.contains(word))
}

/// A row of a query's answer, or its header.
pub(super) fn csv_fit(line: &str, nth: usize, fields: &[String], header: bool) -> Fit {
    if is_header(line, fields) {
        return if header && nth == 0 {
            Fit::Surely
        } else {
            Fit::Likely
        };
    }
    if header && nth == 0 {
        return Fit::No;
    }
    let cells = cells(line);
    let named = fields
        .iter()
        .any(|field| matches!(field_name(field), "name" | "clocks_throttle_reasons.active"));
    if cells.len() != fields.len() && !(named && cells.len() > fields.len()) {
        return Fit::No;
    }
    // Of a query about processes it is theirs.
    let of_process = fields.iter().any(|field| field_name(field) == "pid");
    let good = cells
        .iter()
        .zip(fields)
        .all(|(cell, field)| match field_name(field) {
            "index" | "pid" | "count" => int(cell).is_some() || is_unknown(cell),
            field
                if field.starts_with("memory.")
                    || field.starts_with("utilization")
                    || field.starts_with("power.")
                    || field.starts_with("temperature")
                    || field == "used_memory"
                    || field == "fan.speed"
                    || field.starts_with("ecc.errors")
                    || field.starts_with("clocks.") =>
            {
                is_quantity(cell) || is_unknown(cell)
            }
            "pstate" => cell.starts_with('P') || is_unknown(cell),
            "pci.bus_id" | "gpu_bus_id" => cell.contains(':'),
            "name" if !of_process => is_gpu_name(cell) || is_unknown(cell),
            "driver_version" => cell.starts_with(|c: char| c.is_ascii_digit()) || is_unknown(cell),
            "uuid" => cell.starts_with("GPU-") || cell.starts_with("MIG-") || is_unknown(cell),
            _ => true,
        });
    let known = fields.iter().any(|field| {
        let name = field_name(field);
        name.contains('.')
            || matches!(name, "index" | "pid" | "uuid" | "name" | "count" | "pstate")
            || matches!(
                name,
                "used_memory" | "process_name" | "driver_version" | "timestamp"
            )
    });
    if good && !known {
        return Fit::Perhaps; // no field that it knows
    }
    if !good {
        Fit::No
    } else if cells.len() > 1
        || line.ends_with("MiB")
        || line.ends_with('%')
        || line.ends_with(" W")
    {
        Fit::Surely
    } else {
        Fit::Likely
    }
}
