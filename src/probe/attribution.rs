//! Whose line is it: aligns the lines of a stream to the invocations that can print there.
//!
//! Each party (an invocation with its probe) offers a grammar; `align` gives each line to one of them,
//! or to nobody; the probes then read their own.

use super::align::{Offer, Owner, align, most_lines, runs};
use super::plan::{self, Speaker};
use super::{
    Claim, Confidence, Ctx, Fit, Grammar, Look, Probe, Reading, Shown, Sink, Span, complaints,
    counts, echo, shellmsg, texts,
};
use crate::event::{Exit, Stream};
use crate::fact::{EchoedPid, Fact, Reach};
use crate::shell::{Condition, HopKind, Tri};

/// A speaker with its probe and what it offers for a stream.
struct Party<'a> {
    speaker: Speaker<'a>,
    probe: &'static dyn Probe,
    /// It said something on standard error.
    complained: bool,
    /// Its exit code, when the line printed it after it (`echo $?`).
    code: Option<i32>,
    lines: Vec<Shown>,
}

/// Reads a command's output. Gives its lines as well, in the order of their streams and places.
pub(super) fn read(
    look: &Look<'_>,
    probes: &'static [&'static dyn Probe],
) -> (Reading, Vec<Shown>) {
    let mut reading = Reading::default();
    // Lines that are nobody's.
    let mut rest: Vec<Shown> = Vec::new();
    let mut parties: Vec<Party<'_>> = plan::speakers(look.tree)
        .into_iter()
        .filter_map(|speaker| {
            let probe = *probes
                .iter()
                .find(|probe| probe.recognises(speaker.invocation))?;
            Some(Party {
                speaker,
                probe,
                complained: false,
                code: None,
                lines: Vec::new(),
            })
        })
        .collect();
    // Standard error first: who complained there need not have printed.
    let mut streams: Vec<_> = look.streams.iter().collect();
    streams.sort_by_key(|(stream, _)| match stream {
        Stream::Stderr => 0,
        Stream::Stdout => 1,
        Stream::Tty => 2,
    });
    for (stream, bytes) in streams {
        let lines = super::shown_lines(*stream, bytes);
        settle(look, *stream, lines, &mut parties, &mut rest, &mut reading);
    }
    for at in 0..parties.len() {
        let Some(party) = parties.get(at) else {
            continue;
        };
        let echo = party.speaker.invocation;
        if matches!(echo.program(), "echo" | "printf") {
            let texts: Vec<&str> = party.lines.iter().map(|line| line.text.as_str()).collect();
            if let Some((index, code)) = echo::code_before(look.tree, echo, &texts)
                && let Some(before) = parties
                    .iter_mut()
                    .find(|one| one.speaker.invocation.index == index)
            {
                before.code = Some(code);
            }
        }
    }
    for at in 0..parties.len() {
        let first = reading.facts.len();
        read_party(look, &parties, at, &mut reading);
        if some_may_be_its(&parties, at, &reading.unclaimed) {
            let mut place = 0;
            reading.facts.retain(|seen| {
                place += 1;
                place <= first || !matches!(&seen.fact, Fact::LogLook(log) if log.empty)
            });
        }
    }
    nobodys(look, &parties, &rest, &mut reading);
    reading
        .unclaimed
        .sort_by_key(|span| (span.stream, span.from));
    reading
        .claims
        .sort_by_key(|claim| (claim.span.stream, claim.span.from));
    in_order(&mut reading);
    let mut lines = rest;
    for mut party in parties {
        // The longer one stays where it is.
        if party.lines.len() > lines.len() {
            std::mem::swap(&mut party.lines, &mut lines);
        }
        lines.append(&mut party.lines);
    }
    lines.sort_by_key(|line| (line.stream, line.from, line.to));
    (reading, lines)
}

/// Puts facts in the order of the invocations and, within one, of its output.
pub(super) fn in_order(reading: &mut Reading) {
    reading.facts.sort_by_key(|seen| {
        (
            seen.invocation.is_none(),
            seen.invocation,
            seen.stream,
            seen.from,
        )
    });
}

/// What the lines say that no invocation claims: whoever said it, it was said.
fn nobodys(look: &Look<'_>, parties: &[Party<'_>], rest: &[Shown], reading: &mut Reading) {
    let mut places = parties
        .iter()
        .filter(|party| party.speaker.invocation.hop.is_none())
        .map(|party| &party.speaker.invocation.place);
    let common = places
        .next()
        .filter(|first| places.all(|other| other == *first))
        .cloned();
    let place = common.unwrap_or_default();
    for (stream, _) in look.streams {
        let spans: Vec<Span> = reading
            .unclaimed
            .iter()
            .filter(|span| span.stream == *stream)
            .copied()
            .collect();
        let Some(at) = spans.iter().min_by_key(|span| span.from).copied() else {
            continue;
        };
        let mut sink = Sink {
            place: &place,
            invocation: None,
            at,
            reading,
        };
        texts::content(*stream, rest, "", &mut sink);
    }
}

/// Gives the lines of one stream to their parties.
fn settle(
    look: &Look<'_>,
    stream: Stream,
    lines: Vec<Shown>,
    parties: &mut [Party<'_>],
    rest: &mut Vec<Shown>,
    reading: &mut Reading,
) {
    let mixed = shares_one_pipe(look, stream, &lines);
    let owners = owners(look, stream, mixed, &lines, parties);
    let mut open: Option<Span> = None;
    for (line, owner) in lines.iter().zip(&owners) {
        let span = Span {
            stream,
            from: line.from,
            to: line.to,
        };
        match *owner {
            Some((party, confidence)) => {
                let Some(party) = parties.get(party) else {
                    continue;
                };
                let invocation = party.speaker.invocation.index;
                match reading.claims.last_mut() {
                    Some(last)
                        if last.invocation == invocation
                            && last.confidence == confidence
                            && last.span.stream == stream
                            && last.span.to == span.from =>
                    {
                        last.span.to = span.to;
                    }
                    _ => reading.claims.push(Claim {
                        invocation,
                        span,
                        confidence,
                    }),
                }
                reading.unclaimed.extend(open.take());
            }
            None if line.is_blank() => {}
            None => match &mut open {
                Some(open) => open.to = span.to,
                None => open = Some(span),
            },
        }
    }
    reading.unclaimed.extend(open);
    for (owner, mut lines) in runs(lines, &owners) {
        let to = match owner.and_then(|(party, _)| parties.get_mut(party)) {
            Some(party) => {
                party.complained |= stream == Stream::Stderr || mixed;
                &mut party.lines
            }
            None => &mut *rest,
        };
        if to.is_empty() {
            *to = lines;
        } else {
            to.append(&mut lines);
        }
    }
}

/// Whether standard error went the way of standard output (`2>&1` around the recorder): ssh failed,
/// standard error is silent, and all that was printed are ssh's own words.
fn shares_one_pipe(look: &Look<'_>, stream: Stream, lines: &[Shown]) -> bool {
    let silent = |(other, bytes): &(Stream, &[u8])| {
        *other != Stream::Stderr || bytes.iter().all(u8::is_ascii_whitespace)
    };
    look.exit == Exit::Code(255)
        && stream == Stream::Stdout
        && look.streams.iter().all(silent)
        && lines
            .iter()
            .filter(|line| !line.text.trim().is_empty())
            .all(|line| shellmsg::is_ssh_line(&line.text))
}

/// Who each line is of. With `mixed`, standard error came the same way.
fn owners(
    look: &Look<'_>,
    stream: Stream,
    mixed: bool,
    lines: &[Shown],
    parties: &[Party<'_>],
) -> Vec<Owner> {
    let mut owners: Vec<Owner> = vec![None; lines.len()];
    // What ssh and container engines say themselves is nobody else's.
    let mut left: Vec<usize> = (0..lines.len()).collect();
    for (hop, party) in parties.iter().enumerate() {
        let invocation = party.speaker.invocation;
        let own: fn(&str) -> bool = match (invocation.hop, invocation.program()) {
            (Some(HopKind::Ssh), _) | (_, "ssh" | "scp" | "sftp" | "rsync") => {
                shellmsg::is_ssh_line
            }
            (Some(HopKind::Container), _) => shellmsg::is_engine_line,
            _ => continue,
        };
        if stream == Stream::Stdout && party.speaker.err != Some(stream) && !mixed {
            continue;
        }
        left.retain(|at| {
            let own = lines.get(*at).is_some_and(|line| own(&line.text));
            if own && let Some(owner) = owners.get_mut(*at) {
                *owner = Some((hop, Confidence::Sure));
            }
            !own
        });
    }
    if left.is_empty() {
        return owners;
    }
    let contexts: Vec<Ctx<'_>> = parties.iter().map(|party| context(look, party)).collect();
    let mut offers = offers(stream, parties, &contexts);
    for offer in &mut offers {
        // Who should print, and whose lines look like anybody's, must not take another's for its own.
        let Some(fit) = offer.fit.as_ref().filter(|_| offer.min > 0) else {
            continue;
        };
        let own = |line: &Shown| (0..2).any(|nth| fit(&line.text, nth) >= Fit::Likely);
        if !left.iter().filter_map(|at| lines.get(*at)).any(own) {
            offer.usual = offer.usual.max(offer.min);
            offer.min = 0;
        }
    }
    let printing: Vec<&Offer<'_>> = offers.iter().filter(|offer| offer.fit.is_some()).collect();
    if let [only] = printing.as_slice()
        && stream == Stream::Stdout
    {
        for at in left {
            if let Some(owner) = owners.get_mut(at) {
                *owner = Some((only.party, Confidence::Sure));
            }
        }
        return owners;
    }
    let half = most_lines(&offers) / 2;
    let window: Vec<usize> = if left.len() > 2 * half {
        left.iter()
            .take(half)
            .chain(left.iter().skip(left.len() - half))
            .copied()
            .collect()
    } else {
        left.clone()
    };
    let texts: Vec<&str> = window
        .iter()
        .filter_map(|at| lines.get(*at).map(|line| line.text.as_str()))
        .collect();
    let programs: Vec<&str> = offers
        .iter()
        .map(|offer| {
            let party = parties
                .get(offer.party)
                .filter(|_| stream == Stream::Stderr);
            party.map_or("", |party| party.speaker.invocation.program())
        })
        .collect();
    let aligned = align(&texts, &offers, &programs);
    for (at, owner) in window.iter().zip(&aligned) {
        if let Some(slot) = owners.get_mut(*at) {
            *slot = *owner;
        }
    }
    if window.len() < left.len() {
        bridge(&left, half, &aligned, &mut owners);
    }
    // What runs in the background prints whenever it likes.
    let mut behind = printing.iter().filter(|offer| {
        parties
            .get(offer.party)
            .is_some_and(|party| party.speaker.invocation.background)
    });
    if let (Some(only), None) = (behind.next(), behind.next()) {
        for at in &left {
            let text = lines.get(*at).map_or("", |line| line.text.as_str());
            if let Some(slot @ None) = owners.get_mut(*at)
                && only.fit.as_ref().is_some_and(|fit| fit(text, 1) != Fit::No)
            {
                *slot = Some((only.party, Confidence::Likely));
            }
        }
    }
    // The only program there is says what nobody else can have said.
    let leaves: Vec<usize> = offers
        .iter()
        .filter(|offer| {
            parties.get(offer.party).is_some_and(|party| {
                let invocation = party.speaker.invocation;
                let speaks =
                    stream != Stream::Stderr || !matches!(invocation.program(), "echo" | "printf");
                invocation.hop.is_none() && speaks && !offer.by_shell && !plan::is_quiet(invocation)
            })
        })
        .map(|offer| offer.party)
        .collect();
    if let [only] = leaves.as_slice() {
        for at in left {
            if let Some(slot @ None) = owners.get_mut(at) {
                *slot = Some((*only, Confidence::Sure));
            }
        }
    }
    owners
}

/// The lines between two windows: they belong to whoever has the lines on both sides.
fn bridge(left: &[usize], half: usize, aligned: &[Owner], owners: &mut [Owner]) {
    let before = aligned.get(half - 1).copied().flatten();
    let after = aligned.get(half).copied().flatten();
    let (Some((one, _)), Some((other, _))) = (before, after) else {
        return;
    };
    if one == other {
        for at in left.get(half..left.len() - half).unwrap_or(&[]) {
            if let Some(owner) = owners.get_mut(*at) {
                *owner = Some((one, Confidence::Likely));
            }
        }
    }
}

fn offers<'a>(stream: Stream, parties: &'a [Party<'_>], contexts: &'a [Ctx<'a>]) -> Vec<Offer<'a>> {
    let meets = |to: Option<Stream>| to.is_some_and(|to| to == stream || stream == Stream::Tty);
    let mut offers: Vec<Offer<'a>> = Vec::new();
    let mut group = 0;
    let mut was_in_loop = false;
    for (at, (party, ctx)) in parties.iter().zip(contexts).enumerate() {
        let speaker = &party.speaker;
        let (prints, complains) = (meets(speaker.out), meets(speaker.err));
        // The shell speaks of a redirection that fails before it is made.
        let by_shell = !complains && !speaker.invocation.away && stream != Stream::Stdout;
        if speaker.in_loop && !was_in_loop {
            group += 1;
        }
        was_in_loop = speaker.in_loop;
        if !prints && !complains && !by_shell {
            continue;
        }
        let mut offer = Offer {
            party: at,
            min: 0,
            usual: 0,
            max: Some(0),
            fit: None,
            err: None,
            group: speaker.in_loop.then_some(group),
            by_shell,
            reluctance: reluctance(party),
        };
        if prints {
            let grammar = through_filter(party.probe.grammar(ctx), ctx, party.complained);
            offer.min = if speaker.optional || party.complained {
                0
            } else {
                grammar.min
            };
            offer.usual = grammar.usual;
            offer.max = grammar.max;
            if grammar.max != Some(0) {
                offer.fit = Some(grammar.fit);
            }
        }
        if complains {
            // With `2>&1 | grep x` what it complains of goes the same way.
            let filtered = !speaker.later.is_empty()
                && speaker.err == Some(Stream::Stdout)
                && speaker.out == speaker.err;
            offer.err = Some(Box::new(move |line| {
                if filtered && ctx.filter.passes(line) == Some(false) && !ctx.filter.numbered {
                    return Fit::No;
                }
                complaints::fit(line, &party.speaker, party.probe, ctx)
            }));
        } else if by_shell {
            offer.err = Some(Box::new(move |line| {
                let of_shell = shellmsg::after_shell_prefix(line).is_some();
                if of_shell {
                    complaints::fit(line, &party.speaker, party.probe, ctx)
                } else {
                    Fit::No
                }
            }));
        }
        offers.push(offer);
    }
    offers
}

/// What speaks against the printing of what only runs when something failed.
const FALLBACK: f32 = 0.6;

/// What speaks against a party's printing, before any line is looked at.
fn reluctance(party: &Party<'_>) -> f32 {
    let invocation = party.speaker.invocation;
    // Who could not read its one file, or reach its host, has nothing to print.
    let all_or_nothing = matches!(
        invocation.program(),
        "curl" | "cat" | "tail" | "head" | "grep" | "stat" | "readlink" | "wc" | "ls" | "du" | "df"
    ) && invocation
        .args()
        .iter()
        .filter(|word| !word.text.starts_with('-'))
        .count()
        <= 2;
    // What stands behind `||` runs when something failed only.
    let fallback = matches!(invocation.condition, Condition::IfFailed(_));
    let cost = if party.complained && all_or_nothing {
        3.0
    } else {
        0.0
    };
    if fallback { cost + FALLBACK } else { cost }
}

/// A grammar as the later stages of the pipeline leave it.
fn through_filter<'a>(grammar: Grammar<'a>, ctx: &'a Ctx<'a>, complained: bool) -> Grammar<'a> {
    let filter = ctx.filter;
    if filter.counted.is_some() {
        return counts::grammar(filter);
    }
    let limit = match (filter.head, filter.tail) {
        (Some(head), Some(tail)) => Some(head.min(tail)),
        (one, other) => one.or(other),
    };
    let max = match (grammar.max, limit) {
        (Some(max), Some(limit)) => Some(max.min(limit)),
        (one, other) => one.or(other),
    };
    let min = if filter.patterns.is_empty() && !filter.chosen {
        grammar.min
    } else {
        0
    };
    let fit = grammar.fit;
    let usual = if complained {
        0
    } else if filter.patterns.is_empty() && !filter.chosen {
        limit.map_or(grammar.usual, |limit| limit.min(grammar.usual))
    } else {
        0
    };
    Grammar {
        min: max.map_or(min, |max| min.min(max)),
        usual,
        max,
        fit: Box::new(move |line, nth| {
            if nth == 0
                && let Some(opens) = &filter.opens
                && opens.passes(line) == Some(false)
            {
                return Fit::No;
            }
            let nth = if filter.may_lose_start() {
                nth.saturating_add(1)
            } else {
                nth
            };
            let mut own = fit(line, nth);
            // `grep -n`, `uniq -c`, `cat -n`: a number stands in front.
            let number = line.trim_start();
            if filter.numbered
                && !filter.reshaped
                && !filter.opaque
                && !number.starts_with(|c: char| c.is_ascii_digit())
                && !matches!(number, "" | "--")
            {
                return Fit::No;
            }
            if filter.numbered && own < Fit::Likely {
                let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
                own = own.max(fit(rest.trim_start_matches([':', '-', '\t', ' ']), nth));
            }
            match filter.passes(line) {
                Some(false) if !filter.numbered => Fit::No,
                Some(true) if filter.wanted().is_some() && own >= Fit::Perhaps => own,
                Some(true) if filter.wanted().is_some() && !filter.keeps_lines() => Fit::Perhaps,
                Some(true) if filter.wanted().is_some() => Fit::Hardly,
                Some(_) => own,
                None => own.max(Fit::Perhaps),
            }
        }),
    }
}

fn context<'a>(look: &'a Look<'a>, party: &'a Party<'_>) -> Ctx<'a> {
    Ctx {
        look,
        invocation: party.speaker.invocation,
        later: &party.speaker.later,
        filter: &party.speaker.filter,
        exit: exit_of(look, party),
        failed: Tri::Unknown,
        ran: Tri::Unknown,
    }
}

/// The command's own exit code, when it must be this invocation's.
fn exit_of(look: &Look<'_>, party: &Party<'_>) -> Option<i32> {
    if party.code.is_some() {
        return party.code;
    }
    let Exit::Code(code) = look.exit else {
        return None;
    };
    let invocation = party.speaker.invocation;
    let over_ssh = plan::ancestors(look.tree, invocation).any(|hop| hop.hop == Some(HopKind::Ssh));
    if invocation.background || (over_ssh && code == 255) || !party.speaker.later.is_empty() {
        return None;
    }
    let last = look
        .tree
        .invocations
        .iter()
        .rev()
        .find(|one| one.hop.is_none() && !one.substituted)?;
    (last.index == invocation.index).then_some(code)
}

/// Lets the probe of a party read its lines.
fn read_party(look: &Look<'_>, parties: &[Party<'_>], at: usize, reading: &mut Reading) {
    let Some(party) = parties.get(at) else { return };
    let speaker = &party.speaker;
    let (ran, failed) = (ran(look, parties, at), failed(look, parties, at));
    let mut ctx = context(look, party);
    ctx.ran = ran;
    ctx.failed = failed;
    let here = parties
        .iter()
        .take(at)
        .flat_map(|party| party.lines.iter())
        .filter(|line| line.stream != Stream::Stderr)
        .map(|line| line.to)
        .max()
        .unwrap_or(0);
    let stream = look
        .streams
        .iter()
        .map(|(stream, _)| *stream)
        .find(|stream| *stream != Stream::Stderr)
        .unwrap_or(Stream::Stdout);
    let place = &speaker.invocation.place;
    let mut sink = Sink {
        place,
        invocation: Some(speaker.invocation.index),
        at: Span {
            stream,
            from: here,
            to: here,
        },
        reading,
    };
    let lines = party.lines.as_slice();
    said_by_shell(look, party, lines, &mut sink);
    if speaker.invocation.hop != Some(HopKind::Ssh) {
        let talk: Vec<Shown> = lines
            .iter()
            .filter(|line| line.stream == Stream::Stderr)
            .filter(|line| !party.probe.is_chatter(&line.text))
            .cloned()
            .collect();
        let first = sink.reading.facts.len();
        texts::content(
            Stream::Stderr,
            &talk,
            speaker.invocation.program(),
            &mut sink,
        );
        // A shell that cannot open the file of a redirection names that file, not the command.
        let mut at = 0;
        sink.reading.facts.retain(|seen| {
            at += 1;
            let of_file = matches!(&seen.fact, Fact::NotRun(not_run)
                if !speaker.invocation.words.iter().any(|word| word.text == not_run.program)
                    && complaints::names_redirect(&not_run.program, speaker.invocation)
                    && not_run.why != "redirect");
            at <= first || !of_file
        });
    }
    if speaker.invocation.hop.is_some() {
        return;
    }
    if speaker.out.is_none() && lines.is_empty() {
        // Its output went elsewhere: only its code can speak.
        if speaker.swallowed || !party.probe.reads_silence() {
            return;
        }
        ctx.ran = Tri::Unknown;
    }
    if speaker.filter.counted.is_some() && !party.probe.counts_itself() {
        counts::read_counted(lines, &ctx, &mut sink);
        return;
    }
    if !speaker.in_loop || lines.is_empty() {
        party.probe.read(lines, &ctx, &mut sink);
        return;
    }
    for block in lines.chunk_by(|one, next| one.stream == next.stream && one.to == next.from) {
        party.probe.read(block, &ctx, &mut sink);
    }
}

/// Whether one that was given no lines may have printed some of those that nobody claims: then it is
/// not known that it showed nothing.
fn some_may_be_its(parties: &[Party<'_>], at: usize, unclaimed: &[Span]) -> bool {
    let printed = |party: &Party<'_>| {
        let lines = party.lines.iter();
        let mut lines = lines.filter(|line| line.stream != Stream::Stderr);
        let first = lines.next()?;
        Some((first.from, lines.next_back().unwrap_or(first).to))
    };
    if parties.get(at).and_then(printed).is_some() {
        return false;
    }
    let before = parties.get(..at).unwrap_or_default().iter();
    let after = parties.get(at + 1..).unwrap_or_default().iter();
    let from = before.filter_map(printed).map(|(_, to)| to).max();
    let to = after.filter_map(printed).map(|(from, _)| from).min();
    unclaimed.iter().any(|span| {
        span.stream != Stream::Stderr
            && from.is_none_or(|from| span.from >= from)
            && to.is_none_or(|to| span.to <= to)
    })
}

/// Facts from what shells, wrappers and ssh say about commands they could not run.
fn said_by_shell(look: &Look<'_>, party: &Party<'_>, lines: &[Shown], sink: &mut Sink<'_>) {
    let speaker = &party.speaker;
    for line in lines {
        // What a hop itself has on standard output are its own words, down one pipe with the rest.
        let complains = line.stream != Stream::Stdout
            || speaker.err == Some(Stream::Stdout)
            || speaker.invocation.hop == Some(HopKind::Ssh);
        if !complains {
            continue;
        }
        if let Some(pid) = shellmsg::job_pid(&line.text) {
            sink.line(line, EchoedPid { pid });
            continue;
        }
        if let Some(not_run) = complaints::redirect_failed(&line.text, speaker.invocation) {
            sink.line(line, not_run);
            continue;
        }
        match shellmsg::read_line(&line.text) {
            Some(Fact::Reach(mut reach)) => {
                if reach.host.is_empty() {
                    reach.host = ssh_target(look, party).unwrap_or_default();
                }
                sink.line(line, Reach { ..reach });
            }
            // On standard error, and of programs nobody knows, it is read with all else.
            Some(fact) if line.stream == Stream::Tty && !party.probe.counts_itself() => {
                sink.line(line, fact);
            }
            _ => {}
        }
    }
}

/// The host an ssh invocation leads to.
fn ssh_target(look: &Look<'_>, party: &Party<'_>) -> Option<String> {
    let index = party.speaker.invocation.index;
    look.tree
        .invocations
        .iter()
        .find(|one| one.parent == Some(index))
        .and_then(|child| child.place.host.clone())
        .or_else(|| look.tree.target_host().map(str::to_owned))
}

/// Whether a party is known to have run.
fn ran(look: &Look<'_>, parties: &[Party<'_>], at: usize) -> Tri {
    let Some(party) = parties.get(at) else {
        return Tri::Unknown;
    };
    let invocation = party.speaker.invocation;
    let said = |party: &Party<'_>| party.lines.iter().any(|line| line.stream != Stream::Stderr);
    if said(party) {
        return Tri::Yes;
    }
    let hop_spoke = plan::ancestors(look.tree, invocation).any(|hop| {
        parties
            .iter()
            .any(|party| party.speaker.invocation.index == hop.index && party.complained)
    });
    if party.complained || hop_spoke || party.speaker.err.is_none() {
        return Tri::Unknown;
    }
    if !plan::certain(look.tree, invocation, true) {
        return Tri::Unknown;
    }
    let over_ssh = plan::ancestors(look.tree, invocation).any(|hop| hop.hop == Some(HopKind::Ssh));
    let reached_end = match look.exit {
        Exit::Code(code) => !(code == 255 && over_ssh) && code < 126,
        _ => false,
    };
    let later_spoke = parties.iter().skip(at + 1).any(|later| {
        said(later)
            && later.speaker.invocation.shell == invocation.shell
            && !later.speaker.in_loop
            && !later.speaker.invocation.background
    });
    if reached_end || later_spoke {
        Tri::Yes
    } else {
        Tri::Unknown
    }
}

/// Whether a party failed, as its code or what hangs on it by `&&` and `||` shows.
fn failed(look: &Look<'_>, parties: &[Party<'_>], at: usize) -> Tri {
    let Some(party) = parties.get(at) else {
        return Tri::Unknown;
    };
    if let Some(code) = exit_of(look, party) {
        return (code != 0).into();
    }
    let invocation = party.speaker.invocation;
    let mut names = vec![invocation.index];
    names.extend(party.speaker.later.iter().map(|stage| stage.index));
    names.extend(plan::ancestors(look.tree, invocation).map(|hop| hop.index));
    for later in parties.iter().skip(at + 1) {
        if later.lines.is_empty() {
            continue;
        }
        match later.speaker.invocation.condition {
            Condition::IfOk(on) if names.contains(&on) => return Tri::No,
            Condition::IfFailed(on) if names.contains(&on) => return Tri::Yes,
            _ => {}
        }
    }
    Tri::Unknown
}
