//! The writer thread: takes what the pump read and puts it into the spool, so that a slow disk never
//! slows the command.
//!
//! The pump waits for an append at most [`PATIENCE`] where the disk holds it up, then shows the bytes to the user all the same.
//! When the writer is so far behind that its queue is full, bytes are counted as a gap instead.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::capture::keep::{HOLD, Handover, Keeper};
use crate::capture::spool::{End, Record};
use crate::capture::sys;
use crate::event::Stream;

/// How long the pump waits for an append.
pub const PATIENCE: Duration = Duration::from_millis(20);
/// How long it waits at most for a writer that is at work, and not held up by the disk: on a busy
/// machine it may have to wait for its turn.
const TURN: Duration = Duration::from_secs(1);
/// Bytes that may wait for the writer; with the waiting end and buffers this stays under 64 MiB.
const QUEUE_BYTES: usize = 2 << 20;
/// Output counts as paused after this long without any.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a long-running command's spool is put on the medium.
const SYNC_EVERY: Duration = Duration::from_secs(5);
/// At the end, a writer that appended nothing for this long is left behind.
const STUCK: Duration = Duration::from_millis(200);

enum Job {
    Output {
        stream: Stream,
        after_us: i64,
        from: usize,
        to: usize,
    },
    Gap {
        stream: Stream,
        bytes: u64,
    },
    Record(Record),
}

#[derive(Default)]
struct Queue {
    jobs: Vec<Job>,
    bytes: Vec<u8>,
    /// Jobs given, and jobs done.
    given: u64,
    done: u64,
    past_head: bool,
    closing: bool,
    finished: bool,
    /// Output that found the queue full.
    overflow: Vec<(Stream, u64)>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    progress: Condvar,
    /// The writer's thread, as the kernel numbers it.
    thread: AtomicU32,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A panic of the writer must not become one of the pump.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the writer while something is so, for as long as the disk has patience; true where it
    /// is so still.
    fn wait<'a>(
        &self,
        mut queue: MutexGuard<'a, Queue>,
        so: impl Fn(&Queue) -> bool,
    ) -> (MutexGuard<'a, Queue>, bool) {
        let began = Instant::now();
        loop {
            let (guard, waited) = self
                .progress
                .wait_timeout_while(queue, PATIENCE, |queue| so(queue))
                .unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            if !waited.timed_out() {
                return (queue, false);
            }
            if began.elapsed() > TURN || !self.is_at_work() {
                return (queue, true);
            }
        }
    }

    /// Whether the writer runs or could: what it waits for is a processor, and not the disk.
    fn is_at_work(&self) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        let stat = std::fs::read(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
        let after = stat.iter().rposition(|byte| *byte == b')').map(|at| at + 2);
        after.and_then(|at| stat.get(at)) == Some(&b'R')
    }
}

/// Says, on any way out of the thread, that it is done.
struct Finished<'a>(&'a Shared);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.lock().finished = true;
        self.0.progress.notify_all();
    }
}

/// How recording went.
pub struct Outcome {
    /// What to tell the person, if recording failed or is incomplete.
    pub trouble: Option<String>,
    /// The spool, for a process that goes on with it; none where the writer is stuck.
    pub spool: Option<Handover>,
}

/// The pump's end of the writer thread. Without a spool it takes everything and keeps nothing.
pub struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Keeper>>,
    written: Arc<AtomicU64>,
    /// The last wait was in vain: do not wait again until the writer caught up.
    behind: bool,
}

impl Writer {
    /// Starts the thread over a spool.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(keeper: Keeper) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let written = keeper.progress();
        let thread = std::thread::Builder::new()
            .name("spool".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                let _finished = Finished(&own);
                own.thread.store(sys::thread_id(), Ordering::Relaxed);
                work(&own, keeper)
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
            written,
            behind: false,
        })
    }

    /// A writer for a command that cannot be recorded.
    pub fn none() -> Self {
        Self {
            shared: Arc::default(),
            thread: None,
            written: Arc::default(),
            behind: false,
        }
    }

    /// Hands over output and waits, within limits, until it is in the spool.
    pub fn output(&mut self, stream: Stream, after_us: i64, bytes: &[u8]) {
        if self.thread.is_none() {
            return;
        }
        let mut queue = self.shared.lock();
        let full = |queue: &Queue| queue.bytes.len() + bytes.len() > QUEUE_BYTES;
        if full(&queue) && !self.behind {
            queue = self.shared.wait(queue, full).0;
        }
        if full(&queue) {
            self.behind = true;
            match queue.overflow.last_mut() {
                Some((last, count)) if *last == stream => *count += bytes.len() as u64,
                _ => queue.overflow.push((stream, bytes.len() as u64)),
            }
            return;
        }
        for (stream, bytes) in std::mem::take(&mut queue.overflow) {
            queue.jobs.push(Job::Gap { stream, bytes });
            queue.given += 1;
        }
        let from = queue.bytes.len();
        queue.bytes.extend_from_slice(bytes);
        let to = queue.bytes.len();
        queue.jobs.push(Job::Output {
            stream,
            after_us,
            from,
            to,
        });
        queue.given += 1;
        let ticket = queue.given;
        self.shared.work.notify_one();
        if queue.past_head {
            return; // it waits in memory anyway: kept or not does not depend on us
        }
        if self.behind {
            self.behind = queue.done + 1 < ticket;
            return;
        }
        let (_queue, behind) = self.shared.wait(queue, |queue| queue.done < ticket);
        self.behind = behind;
    }

    /// Hands over a record that is no output; waits for nothing.
    pub fn record(&mut self, record: Record) {
        if self.thread.is_none() {
            return;
        }
        let mut queue = self.shared.lock();
        queue.jobs.push(Job::Record(record));
        queue.given += 1;
        self.shared.work.notify_one();
    }

    /// Writes the end (none: the command goes on without us), and waits while the writer gets ahead.
    pub fn finish(self, end: Option<&End>) -> Outcome {
        let Some(thread) = self.thread else {
            return Outcome {
                trouble: None,
                spool: None,
            };
        };
        let mut queue = self.shared.lock();
        for (stream, bytes) in std::mem::take(&mut queue.overflow) {
            queue.jobs.push(Job::Gap { stream, bytes });
        }
        queue
            .jobs
            .extend(end.map(|end| Job::Record(Record::End(*end))));
        queue.closing = true;
        self.shared.work.notify_one();
        drop(queue);
        let mut seen = self.written.load(Ordering::Relaxed);
        let mut since = Instant::now();
        let mut queue = self.shared.lock();
        while !queue.finished {
            let (guard, waited) = self
                .shared
                .progress
                .wait_timeout(queue, STUCK)
                .unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            let now = self.written.load(Ordering::Relaxed);
            if now != seen {
                seen = now;
                since = Instant::now();
            } else if waited.timed_out() && since.elapsed() >= STUCK && !queue.finished {
                let trouble = Some("the disk did not take the record in time".to_owned());
                return Outcome {
                    trouble,
                    spool: None,
                };
            }
        }
        drop(queue);
        match thread.join() {
            Ok(keeper) => Outcome {
                trouble: keeper.trouble().map(str::to_owned),
                spool: keeper.share().ok(),
            },
            Err(_) => Outcome {
                trouble: Some("the recorder broke".to_owned()),
                spool: None,
            },
        }
    }
}

fn work(shared: &Shared, mut keeper: Keeper) -> Keeper {
    let mut jobs = Vec::new();
    let mut bytes = Vec::new();
    let mut sync = Sync::default();
    loop {
        let mut queue = shared.lock();
        let mut paused = false;
        let holds = keeper.holds();
        while queue.jobs.is_empty() && !queue.closing {
            let (guard, timeout) = shared
                .work
                .wait_timeout(queue, if holds { HOLD } else { PAUSE })
                .unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            if timeout.timed_out() {
                paused = true;
                break;
            }
        }
        let closing = queue.closing;
        std::mem::swap(&mut queue.jobs, &mut jobs);
        std::mem::swap(&mut queue.bytes, &mut bytes);
        drop(queue);

        let mut end = None;
        let count = jobs.len() as u64;
        for job in jobs.drain(..) {
            match job {
                Job::Output {
                    stream,
                    after_us,
                    from,
                    to,
                } => {
                    keeper.output(stream, after_us, bytes.get(from..to).unwrap_or_default());
                }
                Job::Gap { stream, bytes } => {
                    keeper.gap(stream, bytes, "the disk was too slow");
                }
                Job::Record(Record::End(record)) => end = Some(record),
                Job::Record(record) => keeper.record(&record),
            }
        }
        bytes.clear();
        keeper.flush();

        let mut queue = shared.lock();
        queue.done += count;
        queue.past_head = keeper.is_past_head();
        shared.progress.notify_one();
        let more = !queue.jobs.is_empty();
        drop(queue);

        if closing && !more {
            match end {
                Some(end) => keeper.end(&end),
                None => keeper.finish(),
            }
            return keeper;
        }
        if paused && holds {
            keeper.release();
        } else if paused {
            keeper.pause();
        }
        sync.now_and_then(&keeper, count > 0);
    }
}

/// Puts the spool on the medium now and then, on a thread of its own: it may take seconds.
struct Sync {
    last: Instant,
    dirty: bool,
    running: Option<JoinHandle<()>>,
}

impl Default for Sync {
    fn default() -> Self {
        Self {
            last: Instant::now(),
            dirty: true,
            running: None,
        }
    }
}

impl Sync {
    fn now_and_then(&mut self, keeper: &Keeper, wrote: bool) {
        self.dirty |= wrote;
        let busy = self
            .running
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        if !self.dirty || busy || self.last.elapsed() < SYNC_EVERY {
            return;
        }
        let Ok(file) = keeper.sync_handle() else {
            return;
        };
        self.last = Instant::now();
        self.dirty = false;
        self.running = std::thread::Builder::new()
            .name("sync".to_owned())
            .stack_size(64 << 10)
            .spawn(move || {
                file.sync_data().ok();
            })
            .ok();
    }
}
