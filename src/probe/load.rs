//! How busy the machine is: `vmstat`, `iostat`, `mpstat`, `sar`, and the loads that `uptime`, `w`,
//! `top` and `/proc/loadavg` print.
//!
//! Sources: procps-ng 3.3 to 4.0, sysstat 11 to 12; `tests/fixtures/probes/vmstat`, `…/iostat`.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::pattern;
use super::words::{int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, texts};
use crate::fact::{Cpu, DiskIo, Fact, Load};
use crate::shell::Invocation;

/// The loads and the time the machine is up, of a line of `uptime`, `w` or `top`.
///
/// ` 09:01:12 up 12 days,  3:02,  1 user,  load average: 0.10, 0.20, 0.30`
pub(super) fn of_line(text: &str) -> Option<Load> {
    if let Some(rest) = text.strip_prefix("Load average: ") {
        // busybox: `Load average: 0.31 0.28 0.25 2/812 4711`
        let mut loads = rest.split_whitespace().map_while(|one| one.parse().ok());
        return Some(Load {
            load_1m: loads.next()?,
            load_5m: loads.next(),
            load_15m: loads.next(),
            up_s: None,
        });
    }
    let (before, loads) = text
        .split_once("load average: ")
        .or_else(|| text.split_once("load averages: "))?;
    let mut loads = loads
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .map(|word| word.parse::<f64>().ok());
    // `0,10, 0,20`: a comma for a point; then the parts cannot be told apart by commas alone.
    let loads: Vec<f64> = if loads.clone().count() == 3 {
        loads.by_ref().collect::<Option<Vec<f64>>>()?
    } else {
        text.rsplit(": ")
            .next()?
            .split(", ")
            .filter_map(|one| one.trim().replace(',', ".").parse().ok())
            .collect()
    };
    Some(Load {
        load_1m: loads.first().copied()?,
        load_5m: loads.get(1).copied(),
        load_15m: loads.get(2).copied(),
        up_s: before.split_once(" up ").and_then(|(_, up)| up_seconds(up)),
    })
}

/// `12 days,  3:02,  1 user,`, `5 min,`, `1 week, 2 days, 3 hours` in seconds.
fn up_seconds(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    let mut told = false;
    for part in text.split(',').map(str::trim) {
        if let Some((hours, minutes)) = part.split_once(':')
            && let (Some(hours), Some(minutes)) = (number(hours), number(minutes))
        {
            seconds += hours * 3600.0 + minutes * 60.0;
            told = true;
            continue;
        }
        let mut words = part.split_whitespace();
        let (Some(amount), Some(unit)) = (words.next().and_then(number), words.next()) else {
            continue;
        };
        seconds += amount
            * match unit.trim_end_matches('s') {
                "week" => 604_800.0,
                "day" => 86_400.0,
                "hour" | "hr" => 3_600.0,
                "min" | "minute" => 60.0,
                "sec" | "second" => 1.0,
                _ => continue,
            };
        told = true;
    }
    told.then_some(seconds)
}

/// `%Cpu(s):  1.2 us,  0.3 sy,  0.0 ni, 98.4 id,  0.1 wa,  0.0 hi,  0.0 si,  0.0 st`
pub(super) fn top_cpu(text: &str) -> Option<Cpu> {
    static SHARES: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(\d+[.,]\d+)\s*%?\s*(us|sy|ni|id|wa|hi|si|st)\b"));
    let (_, rest) = text.split_once("Cpu(s):")?;
    let of = |name: &str| {
        let found = SHARES
            .captures_iter(rest)
            .find(|found| found.get(2).is_some_and(|own| own.as_str() == name))?;
        found.get(1)?.as_str().replace(',', ".").parse::<f64>().ok()
    };
    Some(Cpu {
        user_pct: of("us"),
        system_pct: of("sy"),
        idle_pct: Some(of("id")?),
        iowait_pct: of("wa"),
        steal_pct: of("st"),
        ..Cpu::default()
    })
}

/// `vmstat`, `iostat`, `mpstat`, `sar`.
pub(super) struct Stats;

/// A table whose head was seen: the names of its columns, the first word of each row apart.
#[derive(Default)]
struct Head {
    names: Vec<String>,
    device: bool,
}

impl Head {
    fn of(&self, words: &[&str], names: &[&str]) -> Option<f64> {
        let at = names
            .iter()
            .find_map(|name| self.names.iter().position(|own| own == name))?;
        words
            .get(at)
            .and_then(|word| word.replace(',', ".").parse().ok())
    }
}

/// The whole numbers that a row begins with.
fn whole_figures<'r, 'w>(words: &'r [&'w str]) -> &'r [&'w str] {
    let count = words.iter().take_while(|word| int(word).is_some()).count();
    words.get(..count).unwrap_or(&[])
}

/// How well a line fits as a row of figures: of `vmstat` all words are numbers; of the others all but
/// a name or a time, and a CPU, in front.
fn figures_fit(line: &str, vmstat: bool) -> Fit {
    let plain = |word: &str| {
        (word == "-" || word.contains(|c: char| c.is_ascii_digit()))
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'))
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let named = if vmstat {
        0
    } else {
        let time = words
            .first()
            .is_some_and(|word| word.len() == 8 && word.contains(':'));
        let half = words
            .get(1)
            .is_some_and(|word| matches!(*word, "AM" | "PM"));
        let cpu = words
            .get(usize::from(time) + usize::from(half))
            .is_some_and(|word| !plain(word));
        usize::from(time) + usize::from(half) + usize::from(cpu)
    };
    let figures = words.get(named..).unwrap_or(&[]);
    // vmstat has 17 columns or so, all whole; the others name what a row is of, or show decimals.
    let own = if vmstat {
        let whole = whole_figures(&words);
        // `-t` puts a day and a time behind them.
        return if (16..=18).contains(&whole.len()) && words.len() <= whole.len() + 2 {
            Fit::Surely
        } else {
            Fit::No
        };
    } else {
        figures.len() >= 4 && (named > 0 || figures.iter().all(|word| word.contains(['.', ','])))
    };
    if own && figures.iter().all(|word| plain(word)) {
        Fit::Surely
    } else {
        Fit::No
    }
}

impl Probe for Stats {
    fn recognises(&self, invocation: &Invocation) -> bool {
        matches!(invocation.program(), "vmstat" | "iostat" | "mpstat" | "sar")
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let vmstat = ctx.invocation.program() == "vmstat";
        Grammar::any(move |line, _| {
            let known = ["procs ", "avg-cpu:", "Device ", "Device:", "Average: "];
            let machine = line.starts_with("Linux ") && line.contains(" CPU)");
            let heads = line.contains(" r  b ") && vmstat
                || line.contains(" CPU ") && line.contains('%')
                || line.contains("%idle")
                || line.contains("rxpck/s")
                || line.contains("kbmemfree");
            let own =
                |start: &&&str| line.starts_with(**start) && (start.starts_with('p') == vmstat);
            if known.iter().any(|start| own(&start)) || machine && !vmstat || heads {
                Fit::Surely
            } else if line.trim().is_empty() {
                Fit::Perhaps
            } else {
                figures_fit(line, vmstat)
            }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        if !ctx.filter.keeps_lines() {
            texts::as_plain(lines, ctx, sink);
            return;
        }
        if ctx.invocation.program() == "vmstat" {
            vmstat(lines, sink);
        } else {
            // The first report of `iostat 1 2` is the mean since the machine's start.
            let first_is_old = ctx.invocation.program() == "iostat";
            sysstat(lines, first_is_old, sink);
        }
    }

    fn is_chatter(&self, _line: &str) -> bool {
        true
    }
}

fn vmstat(lines: &[Shown], sink: &mut Sink<'_>) {
    let usual: Vec<String> = [
        "r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy",
        "id", "wa", "st",
    ]
    .iter()
    .map(|name| (*name).to_owned())
    .collect();
    let mut head = Head {
        names: usual,
        device: false,
    };
    let mut rows = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        if words.first() == Some(&"r") {
            head.names = words.iter().map(|name| (*name).to_owned()).collect();
        } else if whole_figures(&words).len() + 2 >= head.names.len()
            && words.len() <= whole_figures(&words).len() + 2
            && !words.is_empty()
        {
            let of = |name: &str| head.of(&words, &[name]);
            let whole = |name: &str| of(name).and_then(super::words::whole);
            let cpu = Cpu {
                user_pct: of("us"),
                system_pct: of("sy"),
                idle_pct: of("id"),
                iowait_pct: of("wa"),
                steal_pct: of("st"),
                runnable: whole("r"),
                blocked: whole("b"),
                swap_in_kib_s: of("si"),
                swap_out_kib_s: of("so"),
            };
            rows.push((line, cpu));
        }
    }
    // The first row is the mean since the machine's start: where others follow, it says nothing of
    // now.
    let skip = usize::from(rows.len() > 1);
    for (line, cpu) in rows.into_iter().skip(skip) {
        sink.line(line, cpu);
    }
}

fn sysstat(lines: &[Shown], first_is_old: bool, sink: &mut Sink<'_>) {
    let mut head = Head::default();
    let mut found: Vec<(&Shown, String, Fact)> = Vec::new();
    for line in lines {
        let text = line.text.trim();
        let mut words: Vec<&str> = text.split_whitespace().collect();
        // `09:01:12 AM` in front of each line of mpstat and sar.
        if words
            .first()
            .is_some_and(|word| word.matches(':').count() == 2)
        {
            words.remove(0);
            if words
                .first()
                .is_some_and(|word| matches!(*word, "AM" | "PM"))
            {
                words.remove(0);
            }
        }
        if words.first() == Some(&"Average:") {
            words.remove(0);
        }
        let Some(first) = words.first().copied() else {
            continue;
        };
        if first == "avg-cpu:" {
            head = Head {
                names: words
                    .iter()
                    .skip(1)
                    .map(|name| (*name).to_owned())
                    .collect(),
                device: false,
            };
        } else if matches!(first, "Device" | "Device:" | "DEV" | "CPU") && words.len() > 2 {
            head = Head {
                names: words.iter().map(|name| (*name).to_owned()).collect(),
                device: first != "CPU",
            };
        } else if head.device && words.len() > 2 && words.len() <= head.names.len() {
            if let Some(io) = disk(first, &head, &words) {
                found.push((line, io.device.clone(), io.into()));
            }
        } else if !head.names.is_empty() && !head.device {
            let of_all = head.names.first().is_none_or(|name| name != "CPU") || first == "all";
            if of_all && let Some(idle) = head.of(&words, &["%idle"]) {
                let cpu = Cpu {
                    user_pct: head.of(&words, &["%user", "%usr"]),
                    system_pct: head.of(&words, &["%system", "%sys"]),
                    idle_pct: Some(idle),
                    iowait_pct: head.of(&words, &["%iowait"]),
                    steal_pct: head.of(&words, &["%steal"]),
                    ..Cpu::default()
                };
                found.push((line, String::new(), cpu.into()));
            }
        }
    }
    for (at, (line, key, fact)) in found.iter().enumerate() {
        let before = found.get(..at).unwrap_or(&[]);
        let after = found.get(at + 1..).unwrap_or(&[]);
        let same = |other: &(&Shown, String, Fact)| other.1 == *key;
        if first_is_old && !before.iter().any(same) && after.iter().any(same) {
            continue;
        }
        sink.line(line, fact.clone());
    }
}

fn disk(name: &str, head: &Head, words: &[&str]) -> Option<DiskIo> {
    let mib = |names: &[&str]| head.of(words, names).map(|mib| mib * 1024.0);
    let longest = [
        head.of(words, &["await"]),
        head.of(words, &["r_await"]),
        head.of(words, &["w_await"]),
    ]
    .into_iter()
    .flatten()
    .fold(None, |most: Option<f64>, one| {
        Some(most.map_or(one, |most| most.max(one)))
    });
    let read_kib_s = head
        .of(words, &["kB_read/s", "rkB/s"])
        .or_else(|| mib(&["MB_read/s", "rMB/s"]));
    let util_pct = head.of(words, &["%util"]);
    (read_kib_s.is_some() || util_pct.is_some()).then(|| DiskIo {
        device: name.trim_end_matches(':').to_owned(),
        read_kib_s,
        write_kib_s: head
            .of(words, &["kB_wrtn/s", "wkB/s"])
            .or_else(|| mib(&["MB_wrtn/s", "wMB/s"])),
        await_ms: longest,
        util_pct,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_times_come_in_several_spellings() {
        let load = of_line(" 09:01:12 up 12 days,  3:02,  1 user,  load average: 0.10, 0.20, 0.30");
        assert_eq!(
            load,
            Some(Load {
                load_1m: 0.1,
                load_5m: Some(0.2),
                load_15m: Some(0.3),
                up_s: Some(1_047_720.0)
            })
        );
        let comma = of_line("top - 09:01:12 up 5 min,  2 users,  load average: 0,52, 0,31, 0,12");
        assert_eq!(
            comma.map(|load| (load.load_1m, load.up_s)),
            Some((0.52, Some(300.0)))
        );
        assert_eq!(of_line("load average"), None);
        let cpu = top_cpu("%Cpu(s):  0,3 us,  0.1 sy,  0.0 ni,100.0 id,  0.2 wa,  0.0 st");
        assert_eq!(
            cpu.map(|cpu| (cpu.user_pct, cpu.idle_pct)),
            Some((Some(0.3), Some(100.0)))
        );
    }
}
