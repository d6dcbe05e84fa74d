//! How right the clock is and since when the machine is up: `timedatectl`, `chronyc`, `ntpq`,
//! `ntpstat`, `who -b`, `last reboot`.
//!
//! Sources: systemd 245 to 257, chrony 3 to 4, ntpsec 1.2; `tests/fixtures/probes/time`.

use super::words::{Args, int, number};
use super::{Ctx, Fit, Grammar, Probe, Shown, Sink, machine, texts};
use crate::fact::{Boot, Clock, TimeSync};
use crate::shell::{Invocation, Tri};

/// `timedatectl`, `chronyc tracking`, `chronyc sources`, `ntpq -p`, `ntpstat`.
pub(super) struct TimeKeepers;

impl Probe for TimeKeepers {
    fn recognises(&self, invocation: &Invocation) -> bool {
        let first = invocation
            .args()
            .iter()
            .map(|word| word.text.as_str())
            .find(|word| !word.starts_with('-'));
        match invocation.program() {
            "timedatectl" => matches!(first, None | Some("status" | "show")),
            "chronyc" => matches!(first, Some("tracking" | "sources")),
            "ntpq" | "ntpstat" => true,
            _ => false,
        }
    }

    fn complains(&self, line: &str, ctx: &Ctx<'_>) -> Fit {
        let bus = ["System has not been booted", "Failed to ", "Warning: "];
        let own = ctx.invocation.program() == "timedatectl"
            && bus.iter().any(|start| line.starts_with(start));
        own.into()
    }

    fn grammar<'a>(&self, ctx: &'a Ctx<'a>) -> Grammar<'a> {
        let program = ctx.invocation.program();
        let shows = ctx.invocation.args().iter().any(|word| word.text == "show");
        let asked: Vec<&str> = Args::of(ctx.invocation, "p property")
            .values(&["p", "property"])
            .flat_map(|names| names.split(','))
            .collect();
        Grammar::any(move |line, _| {
            let own = match program {
                "timedatectl" if shows => line.split_once('=').is_some_and(|(key, _)| {
                    key.chars().all(|c| c.is_ascii_alphanumeric())
                        && (asked.is_empty() || asked.contains(&key))
                }),
                "timedatectl" => line.split_once(": ").is_some_and(|(key, _)| {
                    let key = key.trim();
                    [
                        "time",
                        "zone",
                        "NTP",
                        "RTC",
                        "DST",
                        "timesyncd",
                        "synchronized",
                    ]
                    .iter()
                    .any(|word| key.ends_with(word) || key.starts_with(word))
                }),
                // `Key             : value` and `^* name  2  6  377 …`
                "chronyc" => {
                    line.get(16..18) == Some(": ")
                        || line.starts_with("MS Name")
                        || line.starts_with("====")
                        || matches!(
                            line.as_bytes(),
                            [
                                b'^' | b'=' | b'#',
                                b'*' | b'+' | b'-' | b'?' | b'x' | b'~',
                                b' ',
                                ..
                            ]
                        )
                }
                "ntpstat" => [
                    "synchronised",
                    "unsynchronised",
                    "time correct",
                    "polling server",
                ]
                .iter()
                .any(|start| line.trim_start().starts_with(start)),
                _ => {
                    line.trim_start().starts_with("remote ")
                        || line.starts_with("====")
                        || is_peer(line)
                }
            };
            if own { Fit::Likely } else { Fit::Hardly }
        })
    }

    fn read(&self, lines: &[Shown], ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        let sync = match ctx.invocation.program() {
            "timedatectl" => timedatectl(lines, sink),
            "ntpstat" => ntpstat(lines),
            "ntpq" => peers(lines),
            _ => chrony(lines),
        };
        match sync {
            Some(sync) if sync != TimeSync::default() => sink.lines(lines, sync),
            _ => texts::as_plain(lines, ctx, sink),
        }
    }

    fn is_chatter(&self, _line: &str) -> bool {
        false
    }
}

/// `*10.0.0.1  .GPS.  1 u  44  64  377  0.210  -0.023  0.011`
fn is_peer(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, _, stratum, _, _, _, reach, delay, offset, jitter] = words[..] else {
        return false;
    };
    stratum.parse::<u8>().is_ok()
        && reach.parse::<u16>().is_ok()
        && [delay, offset, jitter]
            .iter()
            .all(|word| word.parse::<f64>().is_ok())
}

fn timedatectl(lines: &[Shown], sink: &mut Sink<'_>) -> Option<TimeSync> {
    let mut sync = TimeSync::default();
    for line in lines {
        let (name, value) = line
            .text
            .split_once(": ")
            .or_else(|| line.text.split_once('='))?;
        let value = value.trim();
        match name.trim() {
            "Universal time" => {
                // `Tue 2025-03-04 09:01:12 UTC`
                let rest = value.split_once(' ').map_or(value, |(_, rest)| rest);
                let bare = rest.trim_end_matches(" UTC");
                if let Some(time_us) = machine::iso_with_zone(&format!("{bare} +0000")) {
                    sink.line(
                        line,
                        Clock {
                            time_us,
                            day_unknown: false,
                        },
                    );
                }
            }
            "Time zone" => sync.zone = value.split_whitespace().next().map(str::to_owned),
            "Timezone" => sync.zone = Some(value.to_owned()),
            "System clock synchronized" | "NTP synchronized" | "NTPSynchronized" => {
                sync.synchronized = (value == "yes").into();
            }
            _ => {}
        }
    }
    Some(sync)
}

fn chrony(lines: &[Shown]) -> Option<TimeSync> {
    let mut sync = TimeSync::default();
    for line in lines {
        let text = line.text.trim();
        if let Some((name, value)) = text.split_once(": ") {
            let value = value.trim();
            match name.trim() {
                "Reference ID" => {
                    sync.source = value
                        .split_once('(')
                        .map(|(_, name)| name.trim_end_matches(')').to_owned())
                        .filter(|name| !name.is_empty());
                }
                // `0.000012 seconds slow of NTP time`
                "System time" => {
                    let sign = if value.contains("slow") { -1.0 } else { 1.0 };
                    sync.offset_s = number(value).map(|offset| offset * sign);
                }
                "Leap status" => {
                    sync.synchronized = (value != "Not synchronised").into();
                }
                _ => {}
            }
        } else if text.starts_with("^*") || text.starts_with("#*") {
            sync.source = text
                .get(2..)
                .and_then(|rest| rest.split_whitespace().next())
                .map(str::to_owned);
            sync.synchronized = Tri::Yes;
        } else if text.starts_with("^?") && sync.synchronized == Tri::Unknown {
            sync.synchronized = Tri::No;
        }
    }
    Some(sync)
}

/// `*ntp1.example.org  .GPS.  1 u  33  64  377  0.512  -0.023  0.011`: the offset is in milliseconds.
fn peers(lines: &[Shown]) -> Option<TimeSync> {
    let mut sync = TimeSync::default();
    let mut any = false;
    for line in lines {
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let row = words.len() >= 9 && words.get(2).is_some_and(|stratum| int(stratum).is_some());
        any |= row;
        if row && line.text.starts_with(['*', 'o']) {
            sync.synchronized = Tri::Yes;
            sync.source = words
                .first()
                .map(|name| name.trim_start_matches(['*', 'o']).to_owned());
            sync.offset_s = words
                .get(8)
                .and_then(|offset| offset.parse::<f64>().ok())
                .map(|ms| ms / 1000.0);
        }
    }
    if any && sync.synchronized == Tri::Unknown {
        sync.synchronized = Tri::No;
    }
    Some(sync)
}

fn ntpstat(lines: &[Shown]) -> Option<TimeSync> {
    let first = lines.first()?.text.as_str();
    let synchronized = if first.starts_with("synchronised") {
        Tri::Yes
    } else if first.starts_with("unsynchronised") {
        Tri::No
    } else {
        return None;
    };
    Some(TimeSync {
        synchronized,
        ..TimeSync::default()
    })
}

/// `who -b`, `last reboot`.
pub(super) struct Boots;

impl Probe for Boots {
    fn recognises(&self, invocation: &Invocation) -> bool {
        let args = Args::of(invocation, "n f s t p");
        match invocation.program() {
            "who" => args.has(&["b", "boot"]),
            "last" => args.texts().any(|word| word == "reboot"),
            _ => false,
        }
    }

    fn grammar<'a>(&self, _ctx: &'a Ctx<'a>) -> Grammar<'a> {
        Grammar::any(|line, _| {
            (line.contains("system boot") || line.starts_with("wtmp begins")).into()
        })
    }

    fn read(&self, lines: &[Shown], _ctx: &Ctx<'_>, sink: &mut Sink<'_>) {
        for line in lines {
            let Some((_, rest)) = line.text.split_once("system boot") else {
                continue;
            };
            // `2025-03-04 09:01` of who; last names no year, unless asked for (-F).
            let rest = rest.trim();
            let time_us = machine::iso_with_zone(&format!("{rest} +0000")).or_else(|| {
                let words: Vec<&str> = rest.split_whitespace().collect();
                let at = words.iter().position(|word| {
                    matches!(*word, "Mon" | "Tue" | "Wed" | "Thu" | "Fri" | "Sat" | "Sun")
                })?;
                machine::ctime(&words.get(at..at + 5)?.join(" "))
            });
            sink.line(
                line,
                Boot {
                    time_us,
                    text: rest.to_owned(),
                },
            );
        }
    }
}
