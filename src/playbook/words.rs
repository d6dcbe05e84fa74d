//! What an entry says as evidence, where its playbook has no words of its own.

use super::template::prose;
use crate::fact::Fact;
use crate::shell::Tri;
use crate::time::counted;
use crate::timeline::Entry;

/// What an entry says, in one short sentence.
pub(super) fn words(entry: &Entry) -> String {
    let text = match &entry.fact {
        Fact::Exit(exit) => {
            let how = match (exit.signal, exit.code) {
                (Some(signal), _) => format!("ended by signal {signal}"),
                (_, Some(code)) => format!("exit {code}"),
                _ if exit.lost => "nobody saw its end".to_owned(),
                _ => "runs".to_owned(),
            };
            let silent = if exit.silent { ", nothing printed" } else { "" };
            format!("{how}{silent}")
        }
        Fact::Launch(launch) => format!("launches {}", launch.line),
        Fact::Kill(kill) => {
            let target = kill
                .pattern
                .clone()
                .unwrap_or_else(|| format!("{:?}", kill.pids));
            format!("{} with signal {} to {target}", kill.program, kill.signal)
        }
        Fact::ProcessLook(look) => {
            let asked = look.pattern.as_deref().unwrap_or("processes");
            let own = match look.self_matches {
                0 => "",
                _ => " but the look's own",
            };
            match look.count {
                0 => format!("no process for {asked}{own}"),
                1 => format!("1 process for {asked}"),
                count => format!("{count} processes for {asked}"),
            }
        }
        Fact::Process(process) => {
            let state = process.state.as_deref().map(|s| format!(", state {s}"));
            let name = process.comm.as_deref().or(process.args.as_deref());
            let name = name.unwrap_or("process");
            format!(
                "{name} is process {}{}",
                process.pid,
                state.unwrap_or_default()
            )
        }
        Fact::GpuLook(look) => match look.most_used_mib {
            Some(used) => format!(
                "{}, at most {used:.0} MiB in use on one",
                counted(look.shown, "GPU")
            ),
            None => counted(look.shown, "GPU"),
        },
        Fact::File(file) => match (file.exists, file.size_bytes) {
            (Tri::No, _) => format!("{} does not exist", file.path),
            (_, Some(size)) => format!("{} holds {}", file.path, counted(size, "byte")),
            _ => format!("{} exists", file.path),
        },
        Fact::LogLook(look) => match &look.last_line {
            Some(line) => format!("last line of {}: {line}", look.path),
            None => format!("{} shows nothing", look.path),
        },
        Fact::Line(line) => line.text.clone(),
        Fact::ScriptStep(step) => format!("{} runs {}", step.path, step.line),
        Fact::Stage(stage) => stage.text.clone(),
        Fact::NotRun(not_run) => not_run.text.clone(),
        Fact::Traceback(trace) => format!("{}: {}", trace.exception, trace.message),
        Fact::Progress(progress) => format!("{} at {:.0} %", progress.label, progress.percent),
        Fact::Http(http) => match http.status {
            Some(status) if status > 0 => format!("{} answers {status}", http.url),
            _ => format!("{}: {}", http.url, http.outcome),
        },
        Fact::Socket(socket) if socket.listening => match &socket.process {
            Some(process) => format!("{process} listens on port {}", socket.port),
            None => format!("port {} is listened on", socket.port),
        },
        Fact::PortLook(look) => match look.filter_port {
            Some(port) => format!("{} for port {port}", counted(look.count, "socket")),
            None => counted(look.count, "socket"),
        },
        Fact::Count(count) => format!("{} {} in {}", count.count, count.unit, count.of),
        Fact::Search(search) => match search.found {
            Some(found) => format!(
                "{} of {} in {}",
                counted(found, "match"),
                search.pattern,
                search.of
            ),
            None => format!("the search for {} failed", search.pattern),
        },
        Fact::Disk(disk) => match disk.used_pct {
            Some(used) => format!("{} is {used:.0} % full", disk.mount),
            None => format!("{} is a file system", disk.mount),
        },
        Fact::LaunchState(state) => format!(
            "process {}, log {}, GPU memory {}, progress {}",
            state.process, state.log, state.gpu, state.progress
        ),
        Fact::Unit(unit) => format!("{} is {}", unit.name, unit.active),
        Fact::Container(container) => format!("{} is {}", container.name, container.status),
        Fact::Pod(pod) => format!("{} is {}", pod.name, pod.status),
        Fact::PodEvent(event) => format!("{}: {}", event.reason, event.text),
        Fact::Run(run) => format!("runs {}", run.line),
        Fact::FileWrite(write) => format!("writes {}", write.path),
        Fact::EchoedExit(exit) => format!("{} gave exit {}", exit.program, exit.code),
        other => other.name().replace('_', " "),
    };
    prose(&text)
}
