//! Lines to paste, from command lines as people type them.

use super::{Target, paste, wrap};
use crate::event::Exit;
use crate::id::CommandId;
use crate::shell;
use crate::time::Micros;
use crate::timeline::{Command, Timeline};

fn typed(host: &str, line: &str) -> Command {
    Command {
        id: CommandId::from_uuid(uuid::Uuid::nil()),
        number: 1,
        line: line.to_owned(),
        host: host.to_owned(),
        at: Micros(0),
        took_s: None,
        exit: Exit::Code(0),
        tree: shell::parse(line),
        facts: Vec::new(),
        stdout_bytes: 0,
        stderr_bytes: 0,
        tty_bytes: 0,
    }
}

fn session(commands: Vec<Command>) -> Timeline {
    Timeline {
        commands,
        ..Timeline::default()
    }
}

fn ssh(line: &str) -> Command {
    typed("laptop", line)
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
        ssh("ssh -n -p 2222 -o BatchMode=yes root@gpu01 uptime"),
        ssh("ssh gpu01 uptime"),
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
        "ssh -fT -tt -L 8000:localhost:8000 -i ~/.ssh/k root@gpu01 uptime",
    )]);
    assert_eq!(
        paste("ps aux", at("gpu01"), &timeline, &[]),
        "ssh -tt -i ~/.ssh/k root@gpu01 'ps aux'"
    );
}

#[test]
fn on_the_typists_own_machine_a_line_stays_as_it_is() {
    let timeline = session(vec![typed("gpu01", "uptime")]);
    assert_eq!(paste("free -m", at("gpu01"), &timeline, &[]), "free -m");
}

#[test]
fn a_host_that_nobody_went_to_is_reached_plainly() {
    let timeline = session(vec![ssh("ssh gpu01 uptime")]);
    assert_eq!(
        paste("free -m", at("db-2"), &timeline, &[]),
        "ssh db-2 'free -m'"
    );
}

#[test]
fn what_cannot_be_repeated_safely_is_not() {
    let timeline = session(vec![ssh("ssh $(cat host) uptime")]);
    assert_eq!(paste("w", at("gpu01"), &timeline, &[]), "ssh gpu01 'w'");
    let timeline = session(vec![ssh("ssh $GPU uptime")]);
    assert_eq!(paste("w", at("$GPU"), &timeline, &[]), "ssh $GPU 'w'");
    let timeline = session(vec![ssh("ssh 'a;reboot' uptime")]);
    assert_eq!(
        paste("w", at("a;reboot"), &timeline, &[]),
        "ssh 'a;reboot' 'w'"
    );
}

#[test]
fn containers_are_entered_the_way_they_were() {
    let timeline = session(vec![ssh(
        "ssh gpu01 'sudo docker exec -it trainer bash -c \"uptime\"'",
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
    let timeline = session(vec![ssh("ssh -p 22 gpu01 uptime")]);
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
    let timeline = session(vec![ssh(
        "kubectl -n prod exec -it web-0 -c app -- sh -c uptime",
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
    let timeline = session(vec![ssh("ssh gpu01 uptime")]);
    assert_eq!(
        paste("ssh gpu01 'w'", at("gpu01"), &timeline, &[]),
        "ssh gpu01 'w'"
    );
    assert_eq!(wrap(&[], "w"), "w");
}
