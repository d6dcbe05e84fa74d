//! Input that a command takes away from what is around it: `ssh` in a `while read` loop, anything
//! that reads in a script which arrives on standard input.

use crate::shell::build::{Builder, Stdin};
use crate::shell::carry::field_of;
use crate::shell::hops::remote::ssh_target;
use crate::shell::{HopKind, InputTaken, Invocation};

pub(super) fn taken(b: &Builder) -> Vec<InputTaken> {
    let mut out = Vec::new();
    for (invocation, note) in b.tree.invocations.iter().zip(&b.notes) {
        let Some(feed) = note.feed else { continue };
        let lost = matches!(note.stdin, Stdin::Lost)
            || matches!(note.stdin, Stdin::Text(_)) && feed.script;
        // A `read` in the body of a loop is meant; at the end of a script nothing is lost.
        let reads = match feed.script {
            true => {
                invocation.more_follows
                    && (reads_input(invocation) || invocation.program() == "read")
            }
            false => reads_input(invocation),
        };
        if reads && !lost && out.len() < 64 {
            let what = if feed.script { "script" } else { "list" };
            out.push(InputTaken {
                invocation: invocation.index,
                from: feed.from,
                what: what.to_owned(),
            });
        }
    }
    out
}

/// It reads its standard input to the end, whatever that is.
fn reads_input(one: &Invocation) -> bool {
    let plain = || one.args().iter().filter(|word| !word.text.starts_with('-'));
    match one.program() {
        "ssh" | "autossh" | "slogin" => {
            let fields: Vec<_> = one.words.iter().map(field_of).collect();
            ssh_target(&fields).is_some_and(|target| !target.no_stdin && !target.no_command)
        }
        "ffmpeg" | "HandBrakeCLI" | "mplayer" => !one.has_option(&["-nostdin"]),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" => {
            one.hop == Some(HopKind::Container)
                && one.has_option(&["-i", "--interactive", "--stdin"])
        }
        "lxc" | "incus" => one.hop == Some(HopKind::Container),
        "mpirun" | "mpiexec" | "srun" | "nc" | "ncat" | "plink" => true,
        "gcloud" => one.hop == Some(HopKind::Ssh),
        "psql" => !one.has_option(&["-c", "-f", "-l"]),
        "mysql" | "mariadb" => !one.has_option(&["-e", "--execute"]),
        "cat" | "sort" | "wc" | "uniq" | "tac" => {
            plain().next().is_none() || plain().any(|word| word.text == "-")
        }
        "tee" | "sponge" | "xargs" => one.option_value(&["-a", "--arg-file"]).is_none(),
        "bash" | "sh" | "python" | "python3" | "perl" => one.words.len() == 1,
        _ => false,
    }
}
