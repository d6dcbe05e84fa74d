//! `kill -9` of the recorder at any moment: what was shown is on record, and the store opens.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use casebook::capture::spool::{SpoolState, list_spools, read_spool};
use casebook::event::Stream;
use casebook::id::CommandId;
use casebook::projection::{Patience, ingest, mend};
use casebook::store::block_on;
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Bench, DEADLINE, lives, output_of, until, wait};
use crate::pty::{ALL, Screen};

/// In the gate; with `CASEBOOK_LONG` as many as the design asks for.
const ROUNDS: u64 = 30;
const ROUNDS_LONG: u64 = 1_000;
/// Rounds between two ingests.
const TURN: u64 = 10;
/// The latest moment after its start at which a recorder is killed.
const LATEST: Duration = Duration::from_millis(30);

/// Prints ordinary text in pieces of many sizes, for longer than a round takes, and less than what is
/// kept of an output without a gap (32 MiB): the middle of more than that is lost by design.
const PRINTS: &str = "i=0; while [ $i -lt 60000 ]; do echo line $i of what it prints; i=$((i+1)); \
                      [ $((i % 50)) = 0 ] && seq $i $((i + 700)); done; exec sleep 20";

/// Numbers that look random, from a seed that a failure names.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// What a terminal shows is what was printed, whoever made the line ends.
fn plain(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .filter(|byte| *byte != b'\r')
        .collect()
}

/// Whether all that was shown is on record, in its order. What was on record and not yet shown when
/// the recorder died was never shown; on a terminal the shim goes on after it, to the end.
fn holds(kept: &[u8], shown: &[u8]) -> bool {
    let same = kept.iter().zip(shown).take_while(|(a, b)| a == b).count();
    let (before, after) = (&kept[same..], &shown[same..]);
    before.ends_with(after)
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

/// Waits for the moment, which is the test's subject: there is nothing to wait for.
fn pass(moment: Duration) {
    let began = Instant::now();
    while began.elapsed() < moment {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// When a recorder is killed.
#[derive(Debug, Clone, Copy)]
struct Moment {
    after: Duration,
    /// It counts from when something was first shown, not from the start.
    from_first: bool,
}

/// A round over a pipe; what came through.
fn over_a_pipe(bench: &Bench, moment: Moment) -> Vec<u8> {
    let mut child: Child = bench
        .recorded(&["sh", "-c", PRINTS])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let (first, came) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut shown = vec![0];
        let count = pipe.read(&mut shown).unwrap();
        shown.truncate(count);
        first.send(()).ok();
        pipe.read_to_end(&mut shown).unwrap();
        shown
    });
    if moment.from_first {
        came.recv_timeout(DEADLINE).unwrap();
    }
    pass(moment.after);
    child.kill().unwrap();
    wait(&mut child);
    reader.join().unwrap()
}

/// A round on a terminal; what it showed.
fn on_a_terminal(bench: &Bench, moment: Moment) -> Vec<u8> {
    let mut screen = Screen::start(bench.recorded(&["sh", "-c", PRINTS]), ALL);
    if moment.from_first {
        until("something is shown", || screen.look());
    }
    let began = Instant::now();
    while began.elapsed() < moment.after {
        screen.look();
    }
    let recorder = screen.pid();
    let children = format!("/proc/{recorder}/task/{recorder}/children");
    let shim = std::fs::read_to_string(children).unwrap_or_default();
    kill(recorder);
    screen.end();
    if let Ok(shim) = shim.trim().parse() {
        until("the shim is gone", || {
            screen.look();
            !lives(shim)
        });
    }
    while screen.look() {}
    std::mem::take(&mut screen.seen)
}

#[test]
fn killed_at_any_moment_what_was_shown_is_on_record_and_the_store_opens() {
    let long = std::env::var_os("CASEBOOK_LONG").is_some();
    let rounds = if long { ROUNDS_LONG } else { ROUNDS };
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let mut dice = Dice(u64::from(seed));
    // A disk that takes longer than the recorder waits for it is another matter.
    let bench = Bench::in_memory();
    bench.home().prepare().unwrap();
    let mut known = BTreeSet::new();
    let mut waiting: Vec<(CommandId, Stream, Vec<u8>)> = Vec::new();
    let (mut silent, mut bytes) = (0, 0);
    for round in 0..rounds {
        let moment = Moment {
            after: LATEST * u32::try_from(dice.below(1_000)).unwrap() / 1_000,
            from_first: dice.below(3) > 0,
        };
        let (stream, shown) = if dice.below(2) == 0 {
            (Stream::Stdout, over_a_pipe(&bench, moment))
        } else {
            (Stream::Tty, plain(&on_a_terminal(&bench, moment)))
        };
        let at = format!("round {round} of seed {seed}, {stream:?} after {moment:?}");
        let new: Vec<_> = list_spools(&bench.home())
            .unwrap()
            .into_iter()
            .filter(|(id, _)| !known.contains(id))
            .collect();
        assert!(new.len() <= 1, "{at}");
        let Some((id, path)) = new.into_iter().next() else {
            assert!(shown.is_empty(), "{at}: shown, and no record");
            silent += 1;
            continue;
        };
        known.insert(id);
        until("the record is known to be lost", || {
            read_spool(&path, 0).unwrap().state != SpoolState::Running
        });
        let kept = plain(&output_of(&read_spool(&path, 0).unwrap(), stream));
        assert!(
            holds(&kept, &shown),
            "{at}: {} shown, {} kept",
            shown.len(),
            kept.len()
        );
        bytes += shown.len();
        waiting.push((id, stream, kept));
        if round % TURN == TURN - 1 || round + 1 == rounds {
            let home = bench.home();
            block_on(async {
                let store = mend::open(&home).await.unwrap();
                let taken = ingest(&home, &store, Patience::Wait).await.unwrap();
                assert_eq!(taken.broken, [], "{at}");
                for (id, stream, kept) in waiting.drain(..) {
                    let stored = store.output(id, stream).await.unwrap();
                    assert!(plain(&stored) == kept, "{at}: {id} in the store");
                }
                store.close().await;
            })
            .unwrap();
        }
    }
    assert_eq!(mend::mishaps(&bench.home()), []);
    assert_eq!(bench.json(&["verify", "--json"])["ok"], true);
    eprintln!("{rounds} rounds, {silent} before there was a record, {bytes} bytes shown");
    assert!(bytes > 0);
}
