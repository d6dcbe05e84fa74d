//! Launches and postconditions as they are shown.

use super::findings::shown;
use super::paste::{Target, paste};
use super::{LaunchView, PostconditionView, Sources, Suggestion, next};
use crate::fact::Fact;
use crate::shell::Tri;
use crate::time::human_duration;
use crate::timeline::{LaunchRecord, Met};

/// The launches, in order.
pub(super) fn launches(sources: Sources<'_>) -> Vec<LaunchView> {
    sources
        .timeline
        .launches
        .iter()
        .filter_map(|launch| view(sources, launch))
        .collect()
}

fn view(sources: Sources<'_>, launch: &LaunchRecord) -> Option<LaunchView> {
    let timeline = sources.timeline;
    let command = timeline.commands.get(launch.command)?;
    let started = match &timeline.entries.get(launch.entry)?.fact {
        Fact::Launch(started) => Some(started),
        _ => None,
    };
    let state = launch
        .state
        .and_then(|entry| timeline.entries.get(entry))
        .and_then(|entry| match &entry.fact {
            Fact::LaunchState(state) => Some(state),
            _ => None,
        });
    let unknown = || "unknown".to_owned();
    Some(LaunchView {
        id: format!("l-{}", command.number),
        command_id: command.id,
        number: command.number,
        line: command.line.clone(),
        target_host: launch.host.clone(),
        log: started.and_then(|started| started.log.clone()),
        port: started.and_then(|started| started.port),
        process: state.map_or_else(unknown, |state| state.process.clone()),
        gpu: state.map_or_else(unknown, |state| state.gpu.clone()),
        log_state: state.map_or_else(unknown, |state| state.log.clone()),
        progress: state.map_or_else(unknown, progress),
        stage: state.and_then(|state| state.stage.clone()),
        reached: state.map_or_else(
            || started.map_or(Tri::Unknown, |started| started.reached),
            |state| state.reached,
        ),
        since: (!sources.relative_time).then(|| command.at.rfc3339()),
    })
}

/// Progress in words: `44 %, still for 40 s`.
fn progress(state: &crate::fact::LaunchState) -> String {
    let Some(percent) = state.percent else {
        return state.progress.clone();
    };
    match (state.progress.as_str(), state.progress_still_s) {
        ("still", Some(still_s)) => {
            format!("{percent:.0} %, still for {}", human_duration(still_s))
        }
        (word, _) => format!("{percent:.0} %, {word}"),
    }
}

/// The postconditions, in order.
pub(super) fn postconditions(sources: Sources<'_>) -> Vec<PostconditionView> {
    let timeline = sources.timeline;
    timeline
        .postconditions
        .iter()
        .filter_map(|condition| {
            let command = timeline.commands.get(condition.command)?;
            let evidence = condition
                .evidence
                .iter()
                .filter_map(|entry| {
                    let says = match condition.state {
                        Met::Met => "it is so",
                        Met::Unmet => "it is not so",
                        Met::Unchecked => "says nothing of it",
                    };
                    shown(sources, *entry, says)
                })
                .collect();
            let entry = timeline.entries.get(condition.entry)?;
            let target = Target {
                host: Some(&entry.host),
                container: entry.container.as_deref(),
            };
            let line = paste(&condition.probe, target, timeline, &[condition.command]);
            let masked = if crate::redact::holds_mask(&line) {
                "; a secret in it is masked and must be typed anew"
            } else {
                ""
            };
            Some(PostconditionView {
                command_id: command.id,
                number: command.number,
                line: command.line.clone(),
                text: condition.text.clone(),
                state: condition.state,
                evidence,
                probe: Suggestion {
                    id: next::suggestion_id(&line),
                    safety: "read-only".to_owned(),
                    why: format!("would show whether {}{masked}", condition.text),
                    cost: 5.0,
                    playbook: String::new(),
                    line,
                },
            })
        })
        .collect()
}
