//! The relay: a process that stays when the command has ended but something it started still holds
//! its output, so that readers of our output see it end exactly when they would have without us.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};

use crate::capture::keep::{HOLD_TIME, Handover, Keeper};
use crate::capture::pump::{Kind, Source};
use crate::capture::sys::{self, Side, StandardFd};

/// Starts a relay for these sources. Call while this process has one thread; returns at once.
pub fn leave_behind(left: Vec<Source>, spool: Option<Handover>, began: Instant) {
    if left.is_empty() {
        return;
    }
    // Without one more process the late output is lost, which nobody can mend.
    if let Ok(Side::Child) = sys::fork() {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| live(left, spool, began))).ok();
        sys::leave(0)
    }
}

fn live(mut left: Vec<Source>, spool: Option<Handover>, began: Instant) {
    let in_use: Vec<StandardFd> = left
        .iter()
        .filter_map(|source| source.sink.standard())
        .collect();
    for fd in [StandardFd::In, StandardFd::Out, StandardFd::Err] {
        if !in_use.contains(&fd) {
            sys::let_go(fd);
        }
    }
    let mut kept: Vec<_> = left.iter().map(|source| source.from.as_fd()).collect();
    kept.extend(left.iter().filter_map(|source| source.sink.own_fd()));
    kept.extend(spool.as_ref().map(|shared| shared.file.as_fd()));
    sys::close_all_but(&kept);
    std::env::set_current_dir("/").ok();

    let mut keeper = spool.and_then(|shared| Keeper::take_over(shared).ok());
    let mut buffer = vec![0; 64 << 10];
    while !left.is_empty() {
        let mut fds = Vec::new();
        for source in &left {
            if !source.sink.is_waiting() && !source.ended {
                fds.push(PollFd::new(&source.from, PollFlags::IN));
            }
            fds.extend(source.sink.poll_fd());
        }
        // Late output may go on with a secret that it began; for so long it is held back.
        let holds = keeper.as_ref().is_some_and(Keeper::holds);
        let Ok(ready) = poll(&mut fds, holds.then_some(&HOLD_TIME)) else {
            continue;
        };
        drop(fds);
        if let (0, Some(keeper)) = (ready, &mut keeper) {
            keeper.release();
        }
        for source in &mut left {
            if source.sink.is_waiting() {
                source.sink.flush();
                continue;
            }
            if source.sink.has_lost_reader() {
                source.sink.lost_reader();
            }
            if !source.is_readable() {
                continue;
            }
            let bytes = source.read(&mut buffer);
            if let (Some(keeper), false) = (&mut keeper, bytes.is_empty()) {
                let after_us = i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
                keeper.output(source.stream, after_us, bytes);
                keeper.flush();
            }
            source.sink.offer(bytes);
        }
        left.retain(|source| {
            let done = source.is_done();
            if let (true, Kind::Pipe(fds)) = (done, source.kind) {
                fds.iter().for_each(|fd| sys::let_go(*fd));
            }
            !done
        });
    }
    if let Some(keeper) = &mut keeper {
        keeper.finish();
    }
}
