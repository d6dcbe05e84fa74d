//! Lines to paste, from trees built by hand: what the parser gives is tested with the parser.

use super::{Target, paste, wrap};
use crate::event::Exit;
use crate::id::CommandId;
use crate::shell::{Condition, HopKind, Invocation, Place, Tree, Word};
use crate::time::Micros;
use crate::timeline::{Command, Timeline};

fn words(line: &str) -> Vec<Word> {
    line.split(' ')
        .map(|text| Word {
            text: text.replace('_', " "),
            literal: !text.contains('$'),
            quoted: false,
        })
        .collect()
}

/// A chain of hops, each carrying the next; the last is the leaf.
fn command(host: &str, chain: &[(Option<HopKind>, &str, Place)]) -> Command {
    let invocations = chain
        .iter()
        .enumerate()
        .map(|(index, (hop, line, place))| Invocation {
            index,
            parent: index.checked_sub(1),
            hop: *hop,
            shell: 0,
            place: place.clone(),
            words: words(line),
            assignments: Vec::new(),
            redirects: Vec::new(),
            own_redirects: 0,
            background: false,
            condition: Condition::Always,
            pipe: None,
            substituted: false,
            cwd: None,
            more_follows: false,
        })
        .collect();
    Command {
        id: CommandId::from_uuid(uuid::Uuid::nil()),
        number: 1,
        line: String::new(),
        host: host.to_owned(),
        at: Micros(0),
        took_s: None,
        exit: Exit::Code(0),
        tree: Tree {
            invocations,
            ..Tree::default()
        },
        facts: Vec::new(),
        stdout_bytes: 0,
        stderr_bytes: 0,
        tty_bytes: 0,
    }
}

fn on(host: &str) -> Place {
    Place {
        host: Some(host.to_owned()),
        ..Place::default()
    }
}

fn in_container(host: Option<&str>, container: &str) -> Place {
    Place {
        host: host.map(str::to_owned),
        user: None,
        container: Some(container.to_owned()),
    }
}

fn session(commands: Vec<Command>) -> Timeline {
    Timeline {
        commands,
        ..Timeline::default()
    }
}

fn ssh(line: &str, host: &str) -> Command {
    command(
        "laptop",
        &[
            (Some(HopKind::Ssh), line, Place::default()),
            (None, "uptime", on(host)),
        ],
    )
}

fn at<'a>(host: &'a str) -> Target<'a> {
    Target {
        host: Some(host),
        container: None,
    }
}

#[test]
fn the_way_in_is_that_of_the_evidence() {
    let timeline = session(vec![
        ssh("ssh -n -p 2222 -o BatchMode=yes root@gpu01 uptime", "gpu01"),
        ssh("ssh gpu01 uptime", "gpu01"),
    ]);
    assert_eq!(
        paste("stat -c '%y' /a; date", at("gpu01"), &timeline, &[0]),
        r#"ssh -n -p 2222 -o BatchMode=yes root@gpu01 "stat -c '%y' /a; date""#
    );
    assert_eq!(
        paste("nvidia-smi", at("gpu01"), &timeline, &[]),
        "ssh gpu01 'nvidia-smi'"
    );
}

#[test]
fn forwarding_and_going_to_the_background_are_not_repeated() {
    let timeline = session(vec![ssh(
        "ssh -fN -tt -L 8000:localhost:8000 -i ~/.ssh/k root@gpu01 uptime",
        "gpu01",
    )]);
    assert_eq!(
        paste("ps aux", at("gpu01"), &timeline, &[]),
        "ssh -tt -i ~/.ssh/k root@gpu01 'ps aux'"
    );
}

#[test]
fn on_the_typists_own_machine_a_line_stays_as_it_is() {
    let timeline = session(vec![command(
        "gpu01",
        &[(None, "uptime", Place::default())],
    )]);
    assert_eq!(paste("free -m", at("gpu01"), &timeline, &[]), "free -m");
}

#[test]
fn a_host_that_nobody_went_to_is_reached_plainly() {
    let timeline = session(vec![ssh("ssh gpu01 uptime", "gpu01")]);
    assert_eq!(
        paste("free -m", at("db-2"), &timeline, &[]),
        "ssh db-2 'free -m'"
    );
}

#[test]
fn what_cannot_be_repeated_safely_is_not() {
    let timeline = session(vec![ssh("ssh $(cat_host) uptime", "gpu01")]);
    assert_eq!(paste("w", at("gpu01"), &timeline, &[]), "ssh gpu01 'w'");
    let timeline = session(vec![ssh("ssh $GPU uptime", "gpu01")]);
    assert_eq!(paste("w", at("gpu01"), &timeline, &[]), "ssh $GPU 'w'");
    let timeline = session(vec![ssh("ssh a;reboot uptime", "gpu01")]);
    assert_eq!(
        paste("w", at("gpu01"), &timeline, &[]),
        "ssh 'a;reboot' 'w'"
    );
}

#[test]
fn containers_are_entered_the_way_they_were() {
    let place = in_container(Some("gpu01"), "trainer");
    let timeline = session(vec![command(
        "laptop",
        &[
            (Some(HopKind::Ssh), "ssh gpu01", Place::default()),
            (Some(HopKind::Wrapper), "sudo docker", on("gpu01")),
            (
                Some(HopKind::Container),
                "docker exec -it trainer bash",
                on("gpu01"),
            ),
            (Some(HopKind::ShellText), "bash -c", place.clone()),
            (None, "uptime", place),
        ],
    )]);
    let target = Target {
        host: Some("gpu01"),
        container: Some("trainer"),
    };
    assert_eq!(
        paste("df -h /dev/shm", target, &timeline, &[]),
        "ssh gpu01 'sudo docker exec trainer df -h /dev/shm'"
    );
    assert_eq!(
        paste("ls | wc -l", target, &timeline, &[]),
        r#"ssh gpu01 "sudo docker exec trainer sh -c 'ls | wc -l'""#
    );
}

#[test]
fn a_container_on_a_known_host_is_entered_by_name() {
    let timeline = session(vec![ssh("ssh -p 22 gpu01 uptime", "gpu01")]);
    let target = Target {
        host: Some("gpu01"),
        container: Some("trainer"),
    };
    assert_eq!(
        paste("df -h", target, &timeline, &[]),
        "ssh -p 22 gpu01 'docker exec trainer df -h'"
    );
}

#[test]
fn a_pod_is_entered_with_its_namespace() {
    let place = in_container(None, "web-0");
    let timeline = session(vec![command(
        "laptop",
        &[
            (
                Some(HopKind::Container),
                "kubectl -n prod exec -it web-0 -c app -- sh",
                Place::default(),
            ),
            (None, "sh", place),
        ],
    )]);
    let target = Target {
        host: Some("laptop"),
        container: Some("web-0"),
    };
    assert_eq!(
        paste("df -h", target, &timeline, &[]),
        "kubectl -n prod exec web-0 -c app -- df -h"
    );
}

#[test]
fn nothing_is_wrapped_twice() {
    let timeline = session(vec![ssh("ssh gpu01 uptime", "gpu01")]);
    assert_eq!(
        paste("ssh gpu01 'w'", at("gpu01"), &timeline, &[]),
        "ssh gpu01 'w'"
    );
    assert_eq!(wrap(&[], "w"), "w");
}
