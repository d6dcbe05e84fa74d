//! Command lines and what is to be understood of them. A row is a line and its expectation.

use proptest::prelude::{Strategy, any, prop};
use proptest::{prop_assert_eq, prop_oneof, proptest};

use super::quote::join;
use super::safety::safety;
use super::tree::Sink;
use super::{Condition, HopKind, Invocation, Tree, Tri, parse};

pub(super) mod lines;
mod nesting;

fn last_leaf(tree: &Tree) -> &Invocation {
    tree.leaves().last().expect("a leaf")
}

fn words(invocation: &Invocation) -> Vec<&str> {
    invocation
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect()
}

/// Place of an invocation, as `user@host/container`.
fn place(invocation: &Invocation) -> String {
    let place = &invocation.place;
    let user = place
        .user
        .as_ref()
        .map(|user| format!("{user}@"))
        .unwrap_or_default();
    let container = place
        .container
        .as_ref()
        .map(|name| format!("/{name}"))
        .unwrap_or_default();
    format!("{user}{}{container}", place.host.as_deref().unwrap_or("-"))
}

#[test]
fn hops_lead_to_the_innermost_invocation() {
    let rows: &[(&str, &str, &str)] = &[
        ("nvidia-smi -L", "-", "nvidia-smi -L"),
        ("ssh h nvidia-smi", "h", "nvidia-smi"),
        ("ssh -p 2222 root@h 'df -h'", "root@h", "df -h"),
        ("ssh -p2222 -oBatchMode=yes -l root h df", "root@h", "df"),
        ("ssh h -p 22 -- df -h", "h", "df -h"),
        (
            "ssh -ttA -i k.pem ubuntu@10.0.0.7 uptime",
            "ubuntu@10.0.0.7",
            "uptime",
        ),
        ("ssh ssh://me@h:2200 uptime", "me@h", "uptime"),
        ("ssh root@[fe80::1] uptime", "root@fe80::1", "uptime"),
        ("ssh -J jump h uptime", "h", "uptime"),
        ("ssh -o User=me h uptime", "me@h", "uptime"),
        ("/usr/bin/ssh h ls", "h", "ls"),
        ("ssh a 'ssh b \"ls -l\"'", "b", "ls -l"),
        ("ssh h", "h", ""),
        ("timeout 5 ssh h uptime", "h", "uptime"),
        ("sshpass -p x ssh h uptime", "h", "uptime"),
        ("ssh h 'bash -lc \"ls -l\"'", "h", "ls -l"),
        ("ssh h <<EOF\nuptime\nEOF", "h", "uptime"),
        ("ssh h bash -s <<'EOF'\nuptime\nEOF", "h", "uptime"),
        (
            "cat <<'EOF' | ssh h 'sudo bash -s'\nuptime\nEOF",
            "root@h",
            "uptime",
        ),
        ("echo uptime | ssh h bash", "h", "uptime"),
        ("bash <<< 'df -h'", "-", "df -h"),
        (
            "sudo -u www -E A=1 systemctl status x",
            "www@-",
            "systemctl status x",
        ),
        ("su - postgres -c 'psql -l'", "postgres@-", "psql -l"),
        ("su -c 'psql -l' postgres", "postgres@-", "psql -l"),
        ("runuser -u www -- ls -l", "www@-", "ls -l"),
        ("doas -u x ls", "x@-", "ls"),
        ("env -i A=1 B=2 ls -l", "-", "ls -l"),
        ("timeout -s KILL -k 5 10s ls -l", "-", "ls -l"),
        (
            "nohup nice -n 5 ionice -c2 -n7 stdbuf -oL ls -l",
            "-",
            "ls -l",
        ),
        ("time -p ls", "-", "ls"),
        ("exec -a x ls", "-", "ls"),
        ("command ls", "-", "ls"),
        ("eval 'ls -l'", "-", "ls -l"),
        ("find . | xargs -n 1 -I{} ls {}", "-", "ls {}"),
        ("watch -n1 free -h", "-", "free -h"),
        ("flock -n /tmp/l ls", "-", "ls"),
        (
            "docker exec -it -e A=1 -u app c1 sh -c 'ls -l'",
            "app@-/c1",
            "ls -l",
        ),
        (
            "docker run --rm --gpus all -v /a:/b img:1 nvidia-smi -L",
            "-/img:1",
            "nvidia-smi -L",
        ),
        ("docker run -d --name n img serve x", "-/n", "serve x"),
        ("docker -H ssh://me@h exec c ls", "h/c", "ls"),
        ("docker compose -f x.yml exec web ls", "-/web", "ls"),
        ("podman exec c ls", "-/c", "ls"),
        (
            "kubectl -n llm exec -it pod-1 -c main -- nvidia-smi -L",
            "-/pod-1",
            "nvidia-smi -L",
        ),
        ("kubectl exec pod-1 -- sh -c 'ls -l'", "-/pod-1", "ls -l"),
        ("ssh h docker exec c nvidia-smi", "h/c", "nvidia-smi"),
        (
            "time sudo -E env A=1 timeout 5 docker exec -it c bash -lc 'ps aux'",
            "-/c",
            "ps aux",
        ),
        ("tmux new -d -s t 'python train.py'", "-", "python train.py"),
        ("tmux send-keys -t t 'ls -l' Enter", "-", "ls -l"),
        ("screen -dmS s python x.py", "-", "python x.py"),
        ("systemd-run --user --unit x -p A=b ./srv", "-", "./srv"),
        ("srun -N1 --gpus 8 -w n1 nvidia-smi", "n1", "nvidia-smi"),
        ("sbatch --wrap 'python x.py'", "-", "python x.py"),
        ("pdsh -w n[1-3] uptime", "n3", "uptime"),
        (
            "gcloud compute ssh vm-1 --zone z --command 'df -h'",
            "vm-1",
            "df -h",
        ),
        ("script -qc 'python x.py' out.log", "-", "python x.py"),
        ("uv run --with x python y.py", "-", "python y.py"),
        ("H=gpu1; ssh $H df", "gpu1", "df"),
        ("S='ssh -p 22 root@h'; $S df", "root@h", "df"),
        ("for h in a b; do ssh $h df; done", "b", "df"),
        ("for h in $(cat l); do ssh $h df; done", "$h", "df"),
        ("export H=x; bash -c 'ssh $H ls'", "x", "ls"),
    ];
    for (line, at, leaf) in rows {
        let tree = parse(line);
        let last = last_leaf(&tree);
        assert_eq!(
            (place(last).as_str(), last.line().as_str()),
            (*at, *leaf),
            "{line}"
        );
        assert!(tree.complaints.is_empty(), "{line}: {:?}", tree.complaints);
    }
}

#[test]
fn scripts_and_lookups_are_no_hops() {
    for line in [
        "bash run.sh",
        "command -v python",
        "docker ps",
        "sudo -l",
        "ssh -N -L 1:h:2 h",
    ] {
        let tree = parse(line);
        assert_eq!(tree.invocations.len(), 1, "{line}");
        assert_eq!(tree.invocations[0].hop, None, "{line}");
    }
}

#[test]
fn the_other_side_gets_the_text_as_ssh_sends_it() {
    let tree = parse(r#"ssh h "echo \"a  b\" \$HOME $HOME '$X' \\\\""#);
    let last = last_leaf(&tree);
    assert_eq!(words(last), ["echo", "a  b", "$HOME", "$HOME", "$X", r"\"]);
    assert!(last.words[1].literal && !last.words[2].literal && !last.words[4].literal);
    assert_eq!(tree.early[0].names, ["HOME", "X"]);
    assert_eq!(tree.early[0].how, "double_quotes");
    assert_eq!(
        tree.shells[1].argv.as_deref(),
        Some(r#"bash -c echo "a  b" $HOME $HOME '$X' \\"#)
    );

    let tree = parse("ssh h 'echo $HOME'");
    assert!(tree.early.is_empty());
    assert_eq!(words(last_leaf(&tree)), ["echo", "$HOME"]);

    let tree = parse("ssh h bash -c \"echo Hello\"");
    assert_eq!(words(last_leaf(&tree)), ["echo"]);
    assert_eq!(tree.early[0].how, "lost_quotes");
}

#[test]
fn expansions_on_the_wrong_side_are_named() {
    let rows: &[(&str, &[&str], &str)] = &[
        ("ssh h \"tail $LOG/server.log\"", &["LOG"], "double_quotes"),
        ("ssh h echo $X", &["X"], "unquoted"),
        ("ssh h \"x & echo pid $!\"", &["!"], "double_quotes"),
        (
            "ssh h \"kill $(pgrep -f x)\"",
            &["$(pgrep -f x)"],
            "double_quotes",
        ),
        (
            "ssh h 'cat > f' <<EOF\n--port $PORT \\$Y ${Z}\nEOF",
            &["PORT", "Z"],
            "heredoc",
        ),
        (
            "cat <<EOF | ssh h bash -s\necho $HOME\nEOF",
            &["HOME"],
            "heredoc",
        ),
        (
            "oc exec p -- sh -c \"touch $HOME/x\"",
            &["HOME"],
            "double_quotes",
        ),
    ];
    for (line, names, how) in rows {
        let tree = parse(line);
        let got: Vec<_> = tree
            .early
            .iter()
            .map(|e| (e.names.clone(), e.how.as_str()))
            .collect();
        assert_eq!(
            got,
            [(names.iter().map(|n| (*n).to_owned()).collect(), *how)],
            "{line}"
        );
    }
    for line in [
        "X=1; ssh h \"echo $X\"",
        "for h in a b; do ssh $h \"echo $h\"; done",
        "ssh h 'cat > f' <<'EOF'\n$X\nEOF",
        "P=$(cat p); ssh h \"kill $P\"",
    ] {
        assert!(parse(line).early.is_empty(), "{line}");
    }
}

#[test]
fn a_substitution_of_this_side_is_not_run_on_the_other() {
    let tree = parse("ssh h \"kill $(pgrep -f x)\"");
    let programs: Vec<_> = tree.invocations.iter().map(Invocation::program).collect();
    assert_eq!(programs, ["pgrep", "ssh", "kill"]);
    assert!(tree.invocations[0].substituted && tree.invocations[0].place.host.is_none());
}

#[test]
fn heredocs_are_read_as_their_reader_gets_them() {
    let tree = parse("ssh h 'cat > /x.sh << \"END\"\n#!/bin/bash\npython -m m --port $P\nEND\nls'");
    let cat = &tree.invocations[1];
    let super::RedirectTo::Text { body, literal } = &cat.redirects[1].to else {
        panic!("{:?}", cat.redirects)
    };
    assert_eq!(
        (body.as_str(), *literal),
        ("#!/bin/bash\npython -m m --port $P\n", true)
    );
    let tree = parse("cat <<-E\n\ta \\$X `date`\n\tE\n");
    let date = &tree.invocations[0];
    assert!(date.substituted && date.program() == "date");
    let super::RedirectTo::Text { body, literal } = &tree.invocations[1].redirects[0].to else {
        panic!("no text")
    };
    assert_eq!((body.as_str(), *literal), ("a $X `date`\n", false));
}

#[test]
fn lists_pipelines_and_groups_are_kept() {
    let tree = parse("a && b || c; ! d && e | f |& g; { h; (i); } > o 2>&1 & while j; do k; done");
    let of = |name: &str| {
        tree.invocations
            .iter()
            .find(|one| one.program() == name)
            .expect("there")
    };
    assert_eq!(of("b").condition, Condition::IfOk(of("a").index));
    assert_eq!(of("c").condition, Condition::IfFailed(of("b").index));
    assert_eq!(of("e").condition, Condition::IfFailed(of("d").index));
    assert_eq!(of("j").condition, Condition::Loop);
    assert_eq!(of("k").condition, Condition::Loop);
    let stage = of("f").pipe.expect("in a pipeline");
    assert_eq!((stage.stage, stage.stages, stage.stderr_too), (1, 3, true));
    assert!(of("h").background && of("i").background && !of("j").background);
    assert!(matches!(of("i").sink(2), Sink::File { path, append: false } if path.text == "o"));
    assert!(of("a").more_follows && of("k").more_follows);
    let tree = parse("if a; then b; else c; fi; case x in y) d;; esac; f() { e; }");
    let branches: Vec<_> = tree.invocations.iter().map(|one| one.condition).collect();
    let branch = Condition::Branch;
    assert_eq!(
        branches,
        [Condition::Always, branch, branch, branch, branch]
    );
    let tree = parse("[[ -f x && $a == b ]] && (( n > 1 )) && echo ok");
    assert_eq!(tree.invocations[0].program(), "[[");
    assert_eq!(tree.invocations[2].condition, Condition::IfOk(1));
}

#[test]
fn redirections_lead_where_the_shell_leads_them() {
    let sinks = |line: &str| {
        let tree = parse(line);
        let shown = |fd| match last_leaf(&tree).sink(fd) {
            Sink::Inherited(fd) => format!("&{fd}"),
            Sink::File { path, append } => {
                format!("{}{}", if append { ">>" } else { "" }, path.text)
            }
            Sink::Text => "text".to_owned(),
            Sink::Closed => "-".to_owned(),
        };
        format!("{} {}", shown(1), shown(2))
    };
    assert_eq!(sinks("x > o 2>&1"), "o o");
    assert_eq!(sinks("x 2>&1 > o"), "o &1");
    assert_eq!(sinks("x &> o"), "o o");
    assert_eq!(sinks("x >& o"), "o o");
    assert_eq!(sinks("x &>> o"), ">>o >>o");
    assert_eq!(sinks("x >> o 2>/dev/null"), ">>o /dev/null");
    assert_eq!(sinks("x 2>&-"), "&1 -");
    assert_eq!(sinks("{ x 2>&1; } > o"), "o o");
    assert_eq!(sinks("nohup x > o 2> e"), "o e");
    assert_eq!(sinks("exec > o 2>&1; x"), "o o");
}

#[test]
fn working_directories_are_followed() {
    let rows = [
        ("cd /srv && x", "/srv"),
        ("cd /srv; cd a/../b; x", "/srv/b"),
        ("(cd /tmp); cd /srv; x", "/srv"),
        ("ssh h 'cd ~/a; x'", "~/a"),
        ("ssh h 'cd a; x'", "~/a"),
        ("D=/data; cd $D/x && y", "/data/x"),
        ("cd /srv && sudo -u www x", "/srv"),
        ("cd /srv && bash -c 'cd a; x'", "/srv/a"),
        ("env -C /srv x", "/srv"),
        ("docker exec -w /app c x", "/app"),
    ];
    for (line, cwd) in rows {
        assert_eq!(last_leaf(&parse(line)).cwd.as_deref(), Some(cwd), "{line}");
    }
    assert_eq!(last_leaf(&parse("cd /srv; ssh h x")).cwd, None);
    assert_eq!(last_leaf(&parse("cd /srv; cd -; x")).cwd, None);
}

/// What was measured: does the pattern find the shell that runs it?
#[test]
fn looks_find_their_own_shell_as_measured() {
    let rows = [
        ("ssh h 'pgrep -fa Xy'", Tri::No),
        ("ssh h 'cd /tmp && pgrep -fa Xy'", Tri::No),
        ("ssh h 'cd /tmp; pgrep -fa Xy'", Tri::No),
        ("ssh h 'A=1 pgrep -fa Xy'", Tri::No),
        ("ssh h \"bash -c 'pgrep -fa Xy'\"", Tri::No),
        ("ssh h 'nohup pgrep -fa Xy'", Tri::No),
        ("ssh h 'pgrep -fa Xy; echo'", Tri::Yes),
        ("ssh h 'pgrep -fa Xy || echo none'", Tri::Yes),
        ("ssh h 'pgrep -fa Xy | head'", Tri::Yes),
        ("ssh h 'pgrep -fc Xy || echo 0'", Tri::Yes),
        ("ssh h 'pgrep -fa Xy 2>/dev/null'", Tri::Yes),
        ("ssh h '(pgrep -fa Xy)'", Tri::Yes),
        ("ssh h 'cd /; cd /tmp && pgrep -fa Xy'", Tri::Yes),
        ("ssh h 'sleep 0 & pgrep -fa Xy'", Tri::Yes),
        ("ssh h '! pgrep -fa Xy'", Tri::Yes),
        ("ssh h 'if pgrep -fa Xy; then :; fi'", Tri::Yes),
        ("ssh h 'echo $(pgrep -fa Xy)'", Tri::Yes),
        ("ssh h 'while pgrep -f Xy; do sleep 1; done'", Tri::Yes),
        ("ssh h \"dash -c 'pgrep -fa Xy'\"", Tri::Yes),
        ("ssh h \"sh -c 'pgrep -fa Xy'\"", Tri::Unknown),
        ("ssh h 'timeout 3 pgrep -fa Xy'", Tri::Yes),
        ("ssh h 'sudo pgrep -fa Xy'", Tri::Yes),
        ("ssh h 'sudo pgrep -fa [X]y'", Tri::No),
        ("ssh h 'pgrep -fa \"[X]y\"; echo'", Tri::No),
        ("ssh h 'pgrep -fa \"[X]y\"; echo Xy'", Tri::Yes),
        ("ssh h 'pgrep -fa [7]700; ss -ltn | grep :7700'", Tri::Yes),
        ("ssh h 'pgrep -fx Xy; echo'", Tri::No),
        ("ssh h 'pgrep -fa ^Xy; echo'", Tri::No),
        ("ssh h 'pgrep -fa Xy | grep -v pgrep'", Tri::No),
        ("ssh h 'pgrep -fa Xy | grep -v bash'", Tri::No),
        ("ssh h 'pgrep -f Xy | grep -v bash'", Tri::Yes),
        ("ssh h 'pgrep -fa $P; echo'", Tri::Unknown),
        ("ssh h 'P=abc; pgrep -fa $P; echo'", Tri::Yes),
        ("ssh h 'bash -s' <<EOF\npgrep -fa Xy\necho\nEOF", Tri::No),
        ("pgrep -fa Xy; echo", Tri::No),
        ("ssh localhost 'pgrep -fa Xy'", Tri::Yes),
        ("ssh h 'ps aux | grep Xy | grep -v grep'", Tri::No),
        ("ssh h 'ps aux | grep -v grep | grep Xy'", Tri::No),
        ("ssh h 'ps aux | grep Xy'", Tri::Yes),
        ("ssh h 'ps -ef | grep Xy'", Tri::Yes),
        ("ssh h 'ps -eo pid,args | grep Xy'", Tri::Yes),
        ("ssh h 'ps aux | grep [X]y'", Tri::No),
        ("ssh h 'ps aux | grep [X]y; echo Xy'", Tri::Yes),
        ("ps aux | grep Xy", Tri::Yes),
    ];
    for (line, matches) in rows {
        let tree = parse(line);
        let look = tree
            .looks
            .first()
            .unwrap_or_else(|| panic!("no look: {line}"));
        assert_eq!(look.matches, matches, "{line}");
    }
    for line in [
        "ssh h 'pgrep Xy; echo'",
        "ssh h 'ps -C Xy | grep Xy'",
        "ps -eo pid,comm | grep Xy",
    ] {
        assert!(parse(line).looks.is_empty(), "{line}");
    }
}

#[test]
fn kills_hit_their_own_shell_as_measured() {
    let rows = [
        ("ssh h 'pkill -f Xy'", Tri::No, 15),
        ("ssh h 'pkill -f Xy > /dev/null 2>&1'", Tri::Yes, 15),
        ("ssh h 'pkill -f Xy; sleep 1; ./relaunch'", Tri::Yes, 15),
        (
            "ssh h 'pkill -9 -f Xy; cat > r.sh << \"E\"\nX\nE\nnohup ./r.sh > l 2>&1 &'",
            Tri::Yes,
            9,
        ),
        ("ssh h \"pkill -f '[X]y'; sleep 1\"", Tri::No, 15),
        (
            "ssh h \"pkill -f '[g]un .*wsgi:app'; gun a wsgi:app &\"",
            Tri::Yes,
            15,
        ),
        ("ssh h 'pkill Xy; sleep 1'", Tri::No, 15),
        ("ssh h 'pkill bash; sleep 1'", Tri::Yes, 15),
        ("ssh h 'pkill -KILL -x Xy; sleep 1'", Tri::No, 9),
        ("ssh h 'pkill --signal INT -f Xy; ls'", Tri::Yes, 2),
        ("ssh root@h 'pkill -u svc -f Xy; ls'", Tri::No, 15),
        ("ssh h 'pkill -u svc -f Xy; ls'", Tri::Unknown, 15),
        ("ssh h 'kill $(pgrep -f Xy)'", Tri::Yes, 15),
        ("ssh h 'kill -9 $(pgrep -f [X]y)'", Tri::No, 9),
        ("ssh h 'P=$(pgrep -f Xy); kill $P'", Tri::Yes, 15),
        (
            "ssh h 'for p in $(pgrep -f Xy); do kill -9 $p; done'",
            Tri::Yes,
            9,
        ),
        ("ssh h 'pgrep -f Xy | xargs kill -9'", Tri::Yes, 9),
        (
            "ssh h 'ps aux | grep Xy | grep -v grep | awk \"{print}\" | xargs kill'",
            Tri::No,
            15,
        ),
        ("ssh h 'kill -9 $$'", Tri::Yes, 9),
        ("ssh h 'kill 12 34; ls'", Tri::No, 15),
        ("ssh h 'killall -9 python; ls'", Tri::No, 9),
        ("ssh h 'fuser -k 8000/tcp; ls'", Tri::No, 9),
        ("pkill -f Xy; ls", Tri::No, 15),
        ("ssh h 'sudo pkill -f Xy'", Tri::Unknown, 15),
        ("ssh h 'sudo pkill -f Xy; ls'", Tri::Yes, 15),
    ];
    for (line, hits, signal) in rows {
        let tree = parse(line);
        let kill = tree
            .kills
            .first()
            .unwrap_or_else(|| panic!("no kill: {line}"));
        assert_eq!((kill.hits_own_shell, kill.signal), (hits, signal), "{line}");
    }
    assert_eq!(parse("kill -9 12 34").kills[0].pids, [12, 34]);
    assert_eq!(parse("killall a b").kills.len(), 2);
    for line in [
        "kill -0 12",
        "kill -l",
        "pkill -0 x",
        "fuser -v /dev/nvidia0",
    ] {
        assert!(parse(line).kills.is_empty(), "{line}");
    }
}

#[test]
fn launches_are_seen_with_what_belongs_to_them() {
    // log, script, port, buffered, detached, holds the ssh channel
    type Row<'a> = (&'a str, &'a str, &'a str, u16, Tri, bool, Tri);
    let (yes, no, maybe) = (Tri::Yes, Tri::No, Tri::Unknown);
    let rows: &[Row<'_>] = &[
        (
            "ssh root@h 'nohup ./run.sh > s.log 2>&1 &'",
            "/root/s.log",
            "/root/run.sh",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'cd /s; nohup python3 -u a.py --port 80 > l 2>&1 & echo $!'",
            "/s/l",
            "/s/a.py",
            80,
            no,
            true,
            no,
        ),
        (
            "ssh h 'cd /s && nohup python3 a.py > l 2>&1 &'",
            "/s/l",
            "/s/a.py",
            0,
            yes,
            true,
            yes,
        ),
        (
            "ssh h 'cd /s && (nohup ./a > l 2>&1 &)'",
            "/s/l",
            "/s/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h '(cd /s && nohup ./a) > l 2>&1 &'",
            "~/l",
            "/s/a",
            0,
            maybe,
            true,
            no,
        ),
        ("ssh h 'nohup ./a &'", "", "~/a", 0, maybe, true, yes),
        ("ssh h 'nohup ./a > o &'", "~/o", "~/a", 0, maybe, true, yes),
        ("ssh h './a 2>&1 > o &'", "~/o", "~/a", 0, maybe, false, yes),
        (
            "ssh h 'nohup /x/a >> /v/o 2>> /v/e &'",
            "/v/o",
            "/x/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'nohup ./a > o 2>&1'",
            "~/o",
            "~/a",
            0,
            maybe,
            false,
            no,
        ),
        (
            "ssh h 'PYTHONUNBUFFERED=1 nohup python /a.py > /o 2>&1 &'",
            "/o",
            "/a.py",
            0,
            no,
            true,
            no,
        ),
        (
            "ssh h 'export PYTHONUNBUFFERED=1; nohup python /a.py > /o 2>&1 &'",
            "/o",
            "/a.py",
            0,
            no,
            true,
            no,
        ),
        (
            "ssh h 'nohup stdbuf -oL python /a.py > /o 2>&1 &'",
            "/o",
            "/a.py",
            0,
            no,
            true,
            no,
        ),
        (
            "ssh h 'nohup bash /a.sh --port=81 > /o 2>&1 &'",
            "/o",
            "/a.sh",
            81,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'python -m http.server 8000 > /o 2>&1 &'",
            "/o",
            "",
            8000,
            yes,
            false,
            no,
        ),
        (
            "ssh h 'nohup gunicorn -b 0.0.0.0:8181 w:app > /o 2>&1 &'",
            "/o",
            "",
            8181,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'setsid java -jar /a.jar > /o 2>&1 < /dev/null &'",
            "/o",
            "/a.jar",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'node /a.js > /o 2>&1 & disown'",
            "/o",
            "/a.js",
            0,
            no,
            true,
            no,
        ),
        (
            "ssh h 'tmux new -d -s t \"cd /s; ./a > l 2>&1\"'",
            "/s/l",
            "/s/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'systemd-run --unit u -p StandardOutput=append:/o /x/a'",
            "/o",
            "/x/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'sudo nohup /x/a > /o 2>&1 &'",
            "/o",
            "/x/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'nohup bash -c \"sleep 1; /x/a\" > /o 2>&1 &'",
            "/o",
            "/x/a",
            0,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'nohup bash -c \"/x/a > /o 2>&1\" &'",
            "/o",
            "/x/a",
            0,
            maybe,
            true,
            yes,
        ),
        (
            "ssh h 'nohup /x/a 2>&1 | tee /o &'",
            "/o",
            "/x/a",
            0,
            maybe,
            true,
            yes,
        ),
        (
            "ssh h 'nohup script -qfc \"python3 /q.py\" /q.log >/dev/null 2>&1 &'",
            "/q.log",
            "/q.py",
            0,
            no,
            true,
            no,
        ),
        ("nohup ./a &", "", "", 0, maybe, true, no),
        (
            "docker run -d -p 8000:80 --name n img",
            "",
            "",
            8000,
            maybe,
            true,
            no,
        ),
        (
            "ssh h 'cat > a.sh <<\"E\"\nexec python /a.py --port 9000\nE\nnohup ./a.sh > /o 2>&1 &'",
            "/o",
            "~/a.sh",
            9000,
            yes,
            true,
            no,
        ),
        (
            "ssh h 'redis-server --port 6379 --daemonize yes --logfile /r.log'",
            "/r.log",
            "",
            6379,
            no,
            true,
            no,
        ),
    ];
    for (line, log, script, port, buffered, detached, holds) in rows {
        let tree = parse(line);
        assert_eq!(tree.launches.len(), 1, "{line}: {:?}", tree.launches);
        let launch = &tree.launches[0];
        let got = (
            *line,
            launch.log_resolved.as_deref().unwrap_or(""),
            launch.script_resolved.as_deref().unwrap_or(""),
            launch.port.unwrap_or(0),
            launch.buffered,
            launch.detached,
            launch.holds_channel,
        );
        let wanted = (*line, *log, *script, *port, *buffered, *detached, *holds);
        assert_eq!(got, wanted);
    }
    let local = parse("nohup ./a &");
    assert_eq!(local.launches[0].log.as_deref(), Some("nohup.out"));
    let apart = parse("ssh h 'nohup /x/a >> /v/o 2>> /v/e &'");
    assert_eq!(apart.launches[0].error_log.as_deref(), Some("/v/e"));
    assert!(apart.launches[0].log_append);
}

#[test]
fn waits_and_looks_in_the_background_are_no_launches() {
    for line in [
        "sleep 5 &",
        "nohup sleep 4 &",
        "ssh h 'tail -f x | grep y &'",
        "ssh h 'ps aux | head &'",
        "python a.py",
        "x=$(./run.sh &)",
        "(sleep 60; kill $!) &",
    ] {
        assert!(parse(line).launches.is_empty(), "{line}");
    }
}

#[test]
fn writes_are_seen_and_whether_their_input_arrives() {
    let (yes, no) = (Tri::Yes, Tri::No);
    let rows: &[(&str, &str, &str, Tri)] = &[
        ("ssh h 'cat > /x <<E\na\nE'", "/x", "heredoc", no),
        ("ssh h 'cat > /x' <<E\na\nE", "/x", "heredoc", no),
        ("ssh -n h 'cat > /x' <<E\na\nE", "/x", "redirect", yes),
        ("ssh -n h 'cat > /x' < f", "/x", "redirect", yes),
        (
            "cat <<E | ssh -n h 'cat > /x; chmod +x /x'\na\nE",
            "/x",
            "redirect",
            yes,
        ),
        ("cat <<E | ssh h 'cat > /x'\na\nE", "/x", "heredoc", no),
        ("ssh h 'cat > /x' < /dev/null", "/x", "redirect", yes),
        ("ssh h 'cat > /x'", "/x", "redirect", Tri::Unknown),
        ("ssh h 'cat > /x < f'", "/x", "redirect", no),
        (
            "ssh h 'docker exec c sh -c \"cat > /x\"' < f",
            "/x",
            "redirect",
            yes,
        ),
        ("ssh h 'echo a > /x'", "/x", "redirect", no),
        ("ssh h 'sudo tee /x <<E\na\nE'", "/x", "tee", no),
        ("ssh -n h 'sudo tee /x' < f", "/x", "tee", yes),
        ("scp a.sh u@h:/srv/", "/srv/a.sh", "copy", no),
        ("rsync -avz a.sh h:/srv/b.sh", "/srv/b.sh", "copy", no),
        ("ssh h 'cp a b /srv/'", "/srv/a", "copy", no),
        ("ssh h 'mv /a /b'", "/b", "move", no),
        ("ssh h 'touch /a'", "/a", "touch", no),
        ("ssh h 'mkdir -p /a/b'", "/a/b", "mkdir", no),
        ("ssh h 'sed -i s/a/b/ /x'", "/x", "edit", no),
    ];
    for (line, path, how, lost) in rows {
        let tree = parse(line);
        let write = tree
            .writes
            .first()
            .unwrap_or_else(|| panic!("no write: {line}"));
        let got = (
            write.resolved.as_deref(),
            write.how.as_str(),
            write.input_lost,
        );
        assert_eq!(got, (Some(*path), *how, *lost), "{line}");
        assert_eq!(write.host.as_deref(), Some("h"), "{line}");
    }
    assert_eq!(parse("{ a; b; } > f").writes.len(), 1);
    assert_eq!(parse("sudo sh -c 'a; b' > f").writes.len(), 1);
    assert!(parse("a > /dev/null 2>&1").writes.is_empty());
    assert_eq!(parse("ssh h a > f").writes[0].host, None);
}

#[test]
fn output_comes_in_the_order_of_its_invocations() {
    let order = |line: &str| {
        let tree = parse(line);
        let programs = tree
            .output_order()
            .into_iter()
            .map(|index| tree.invocations[index].program());
        programs.map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order("ssh h 'a; b | head -4; c'"), "a head c");
    assert_eq!(order("ssh h 'a > f; b 2>&1; echo $(c)'"), "b echo");
    assert_eq!(order("ssh h 'a; b' | grep x"), "grep");
    assert_eq!(order("ssh h 'a; b' > f; c"), "c");
    assert_eq!(order("{ a; b | c; } | d"), "d");
    assert_eq!(order("for i in 1 2; do a; b >/dev/null; done"), "a");
    assert_eq!(order("sudo bash -c 'a | b'"), "b");
    assert_eq!(order("tmux new -d 'a'; b"), "b");
    assert_eq!(order("a >&2; b"), "a b");
    let tree = parse("a 2>&1 | b; c >&2; d 2>f");
    assert_eq!(
        tree.outflow(0),
        super::tree::Outflow {
            stdout: None,
            stderr: None
        }
    );
    assert_eq!(tree.outflow(2).stdout, Some(2));
    assert_eq!(
        tree.outflow(3),
        super::tree::Outflow {
            stdout: Some(1),
            stderr: None
        }
    );
    assert_eq!(tree.error_order(), [1, 2]);
}

#[test]
fn helpers_answer() {
    let tree = parse("ssh root@h 'sudo tail -n 5 x'; ssh -p 2 alias df");
    assert_eq!(tree.hop_chain(2), [0, 1]);
    assert_eq!(tree.typed_host_words(), ["root@h", "alias"]);
    let value = |line: &str, names: &[&str]| {
        last_leaf(&parse(line))
            .option_value(names)
            .map(str::to_owned)
    };
    for line in [
        "tail -n 5 x",
        "tail -n5 x",
        "tail --lines 5 x",
        "tail --lines=5 x",
    ] {
        assert_eq!(
            value(line, &["-n", "--lines"]).as_deref(),
            Some("5"),
            "{line}"
        );
    }
    assert_eq!(value("tail x", &["-n"]), None);
    assert!(last_leaf(&parse("pgrep -af x")).has_option(&["-f"]));
    assert_eq!(parse("ssh h x | grep y").target_host(), Some("h"));
    let hops: Vec<_> = tree.invocations.iter().map(|one| one.hop).collect();
    assert_eq!(hops[..2], [Some(HopKind::Ssh), Some(HopKind::Wrapper)]);
}

#[test]
fn lines_have_their_safety() {
    let rows = [
        (
            "read-only",
            "pgrep -fa x; nvidia-smi --query-gpu=memory.used --format=csv | head -3",
        ),
        (
            "read-only",
            "ssh h 'ps aux | grep x; tail -n 5 f 2>/dev/null; ss -ltnp; df -h; stat f'",
        ),
        (
            "read-only",
            "curl -s -m 2 -o /dev/null -w '%{http_code}' localhost:8000/health",
        ),
        ("read-only", "curl -sS -H 'A: b' http://h/x"),
        (
            "read-only",
            "kubectl -n x get pods; docker logs --tail 5 c; systemctl status x",
        ),
        (
            "read-only",
            "cat /proc/1/status; sed -n 1,5p f; awk '{print $1}' f",
        ),
        (
            "read-only",
            "for p in $(pgrep x); do cat /proc/$p/wchan; done",
        ),
        (
            "read-only",
            "journalctl -u x -n 5 --no-pager; dmesg | tail -2",
        ),
        (
            "read-only",
            "ls -l /proc/12/fd; git log -3; pip list; kill -0 12",
        ),
        ("heavy read", "py-spy dump --pid 12"),
        ("heavy read", "ssh h 'sudo strace -p 12'"),
        ("heavy read", "du -sh /"),
        ("heavy read", "find / -name x"),
        ("changes state", "./run.sh"),
        ("changes state", "echo a > f"),
        ("changes state", "ssh h"),
        ("changes state", "curl -X POST http://h/x"),
        ("changes state", "curl -d a=b http://h/x"),
        ("changes state", "wget http://h/x"),
        ("changes state", "systemctl restart x"),
        ("changes state", "nvidia-smi -pm 1"),
        ("changes state", "sed -i s/a/b/ f"),
        ("changes state", "echo 'unterminated"),
        ("changes state", "bash <<< 'make'"),
        ("changes state", "find . -exec touch {} +"),
        ("destructive", "pgrep x; pkill x"),
        ("destructive", "ssh h 'kill -9 12'"),
        ("destructive", "sudo rm -rf x"),
        ("destructive", "find . -delete"),
        ("destructive", "pgrep x | xargs kill"),
        ("destructive", "docker rm -f x"),
        ("destructive", "kubectl delete pod x"),
        ("destructive", "nvidia-smi --gpu-reset -i 0"),
        ("destructive", "echo $(rm x)"),
    ];
    for (class, line) in rows {
        assert_eq!(safety(line).name(), class, "{line}");
    }
}

#[test]
fn the_table_of_safety_holds() {
    let mut class = "";
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("../../tests/fixtures/shell/safety.txt").lines() {
        if let Some(name) = line.strip_prefix("# ") {
            class = name;
            continue;
        }
        count += 1;
        let got = safety(line).name();
        if got != class {
            wrong.push(format!("{got}, not {class}: {line}"));
        }
    }
    assert!(count >= 150 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_nobody_knows_is_never_read_only() {
    for program in [
        "frobnicate",
        "./cat",
        "bin/ls",
        "/opt/x/tail",
        "x-nvidia-smi",
        "ls2",
        "lsx",
    ] {
        for line in [
            program.to_owned(),
            format!("{program} --help-me"),
            format!("ssh h {program} -l"),
            format!("sudo {program}"),
            format!("ls | xargs {program}"),
            format!("find . -exec {program} {{}} +"),
            format!("timeout 5 {program} status"),
        ] {
            assert!(
                safety(&line) >= super::safety::Safety::ChangesState,
                "{line}"
            );
        }
    }
}

#[test]
fn broken_lines_give_what_can_be_read() {
    let rows = [
        ("echo 'unterminated", "echo"),
        ("ssh h 'tail -n 5 x", "tail"),
        ("ssh h 'a'; if true; then x", "x"),
        ("cat << EOF\nno end", "cat"),
        ("ls |", "ls"),
        ("good one; if true; then\nmore", "more"),
        ("x )", "x"),
    ];
    for (line, program) in rows {
        let tree = parse(line);
        assert_eq!(last_leaf(&tree).program(), program, "{line}: {tree:?}");
    }
    for line in [
        "echo 'unterminated",
        "if true; then",
        "a | | b",
        "case x in",
        "ssh h 'a; ('",
    ] {
        assert!(!parse(line).complaints.is_empty(), "{line}");
    }
    for line in ["", " ", "\n", "# only a comment", "\0", "\u{f8f0}0\u{f8f1}"] {
        parse(line);
    }
}

#[test]
fn hostile_input_stays_cheap() {
    // Each level of quoting multiplies the quotes, so few levels are long already.
    let nested = (0..12).fold("ls".to_owned(), |inner, _| {
        join(&["ssh".to_owned(), "h".to_owned(), inner])
    });
    let deep = |open: &str, close: &str, levels: usize, inner: &str| {
        format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
    };
    let scripts = (0..16).fold("ls".to_owned(), |inner, level| {
        format!(
            "bash -s <<'E{level}'\n{}\nE{level}\n",
            deep("{ ", "\n}", 9, &inner)
        )
    });
    let evals = format!("{}ls", "eval ".repeat(100));
    let wide = format!(
        "{{ {} }} <<E\n{}\nE\n",
        "a; ".repeat(15_000),
        "x".repeat(100_000)
    );
    let value = format!(
        "A={}; {}",
        "y".repeat(4000),
        "ssh h \"$A$A$A$A\"; ".repeat(3000)
    );
    for line in [
        "(".repeat(30_000),
        "$(".repeat(30_000),
        "a ".repeat(60_000),
        "a && ".repeat(20_000),
        "a | ".repeat(20_000),
        "pkill -f x; ".repeat(20_000),
        format!("ssh h '{}'", "pkill -f \"[a-z]*x{1,9}y\"; ".repeat(3000)),
        "sudo ".repeat(20_000),
        format!("cat <<E\n{}E\n", "line of text $x\n".repeat(65_536)),
        format!("cd {}; {}", "z".repeat(100_000), "b; ".repeat(20_000)),
        "'".repeat(100_001),
        "`".repeat(1001),
        "<<E$[\t\t".to_owned(),
        "x=".repeat(100_000),
        "a=( ".repeat(20_000),
        nested,
        evals,
        scripts,
        deep("{ ", "; }", 99, "ls"),
        deep("$(echo ", ")", 99, "ls"),
        deep("if ", "; then a; fi", 99, "ls"),
        deep("time ", "", 5000, "ls"),
        deep("! ", "", 5000, "ls"),
        deep("f() { ", "; }", 99, "ls"),
        wide,
        value,
    ] {
        let tree = parse(&line);
        assert!(tree.invocations.len() <= 4096);
    }
}

proptest! {
    #[test]
    fn quoted_words_are_read_back(
        words in prop::collection::vec("[ -~éλ\n\t]{0,12}", 1..6).prop_filter(
            "a first word that is none of ssh's options", |words| {
                !words[0].is_empty() && !words[0].starts_with('-')
            }),
    ) {
        let tree = parse(&join(&words));
        let read: Vec<String> =
            tree.invocations[0].words.iter().map(|word| word.text.clone()).collect();
        prop_assert_eq!(&read, &words);
        assert!(tree.invocations[0].words.iter().all(|word| word.literal));
        // Through one more shell.
        let tree = parse(&join(&["ssh".to_owned(), "h".to_owned(), join(&words)]));
        let read: Vec<String> =
            tree.invocations[1].words.iter().map(|word| word.text.clone()).collect();
        prop_assert_eq!(&read, &words);
    }

    #[test]
    fn token_soup_is_survived(tokens in prop::collection::vec(token(), 0..24)) {
        let line = tokens.concat();
        let tree = parse(&line);
        for (at, invocation) in tree.invocations.iter().enumerate() {
            prop_assert_eq!(invocation.index, at);
            assert!(invocation.parent.is_none_or(|parent| parent < at));
            tree.outflow(at);
        }
        safety(&line);
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        parse(&text);
        parse(&format!("ssh h {text}"));
        parse(&format!("ssh h \"{text}\" <<EOF\n{text}\nEOF"));
    }
}

/// The parser cuts within a letter there: what it is is read crudely, and said to be.
#[test]
fn what_the_parser_falls_on_is_read_crudely() {
    let text = "\\\"𞅀`\"A";
    let line = &format!("ssh h \"{text}\" <<EOF\n{text}\nEOF");
    let tree = parse(line);
    assert!(
        tree.complaints
            .iter()
            .any(|one| one.text.contains("the parser fails on it"))
    );
    assert!(tree.invocations.iter().any(|one| one.program() == "ssh"));
}

/// Pieces of shell, whole programs among them.
fn token() -> impl Strategy<Value = String> {
    let pieces = [
        "'",
        "\"",
        "$(",
        ")",
        "`",
        "<<",
        "EOF",
        "\n",
        "|",
        "&",
        ";",
        "{",
        "}",
        "((",
        "[[",
        "if",
        "then",
        "fi",
        "for",
        "x",
        "=",
        "$",
        "\\",
        "é",
        "<(",
        ">",
        "2>&1",
        "case",
        "esac",
        "in",
        "do",
        "done",
        "${",
        "!",
        "#",
        "~",
        "*",
        "[",
        "]",
        "$[",
        "\t",
        "<<-",
        "<<<",
        "$'",
        " ",
        "ssh ",
        "bash -c ",
        "sudo ",
        "env ",
        "docker exec ",
        "pkill -f ",
        "kill ",
        "ps aux | grep ",
        "-",
        "--",
        "nohup ",
        "tmux send-keys ",
        "xargs ",
        "cat ",
        "eval ",
        "timeout ",
        "cd ",
    ];
    prop_oneof![
        prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        "[ -~]{1,3}",
    ]
}
