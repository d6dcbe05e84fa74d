//! Stages of a start: how far a server or job has come, by what it prints.
//!
//! The table `stages.txt` says which line means which stage; it is data. Lines of several workers at
//! the same stage count once, but a stage that is reached again later (after a restart into the
//! same log) is given again.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use super::fingerprint::blanked;
use super::line::{self, Context, Seen, entries, read_head};
use super::marks::{Marked, Marks};
use crate::fact::Stage;
use crate::shell::Tri;
use crate::text;

/// Of one output as many stages are kept from its start, and from its end.
const KEPT: usize = 60;
/// A stage is looked for in no more of a line than this.
const MAX_BYTES: usize = 400;

struct Table {
    stages: Vec<&'static str>,
    patterns: RegexSet,
    /// The same with what they ask of a message's beginning found anywhere: whatever stands before a
    /// message, one of these is found in the whole line.
    loose: RegexSet,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rows: Vec<(&str, &str)> = entries(include_str!("stages.txt"))
        .filter_map(|row| row.split_once(' '))
        .map(|(stage, pattern)| (stage, pattern.trim_start()))
        .collect();
    let set = |patterns: Vec<String>| {
        RegexSetBuilder::new(patterns)
            .case_insensitive(true)
            .size_limit(64 << 20)
            .dfa_size_limit(16 << 20)
            .build()
            .unwrap_or_else(|error| panic!("stages.txt: {error}"))
    };
    let said = rows.iter().filter(|(stage, _)| *stage != "none");
    Table {
        loose: set(said.map(|(_, pattern)| unanchored(pattern)).collect()),
        patterns: set(rows
            .iter()
            .map(|(_, pattern)| (*pattern).to_owned())
            .collect()),
        stages: rows.into_iter().map(|(stage, _)| stage).collect(),
    }
});

/// The stages that the lines say were reached, in order.
pub(super) fn read(lines: &[Marked<'_>], context: &Context<'_>) -> Vec<Seen> {
    let mut stages: Vec<Seen> = Vec::new();
    let mut recent: Vec<(&'static str, String)> = Vec::new();
    // What lines of one shape say is the same.
    let mut alike: HashMap<u32, Option<(&'static str, String)>> = HashMap::new();
    for marked in lines.iter().filter(|line| line.marks.has(Marks::STAGE)) {
        let (text, from, to) = marked.line.last_written();
        let key = || of_line(text).map(|stage| (stage, blanked(text)));
        let own;
        let key = match marked.alike {
            Some(number) => alike.entry(number).or_insert_with(key),
            None => {
                own = key();
                &own
            }
        };
        // The workers of one run say the same within a few lines.
        let Some(key) = key.as_ref().filter(|key| !recent.contains(key)) else {
            continue;
        };
        let stage = key.0;
        if recent.last().is_some_and(|(last, _)| *last != stage) && recent.len() >= 4 {
            recent.remove(0);
        }
        recent.push(key.clone());
        if recent.len() > 8 {
            recent.remove(0);
        }
        let fact = Stage {
            path: context.path.to_owned(),
            stage: stage.to_owned(),
            text: text::cut(text.trim(), line::MAX_TEXT).to_owned(),
            time_us: line::time_of(text, context.year),
            old: Tri::Unknown,
        };
        stages.push(Seen {
            fact: fact.into(),
            from,
            to,
        });
        if stages.len() > 2 * KEPT {
            stages.remove(KEPT);
        }
    }
    stages
}

/// Whether a line may say that a stage was reached: it would with some digits, or with another
/// beginning.
pub(super) fn may(line: &str) -> bool {
    TABLE.loose.is_match(text::cut(line, MAX_BYTES).trim())
}

/// A pattern without its anchors to the beginning.
fn unanchored(pattern: &str) -> String {
    let mut loose = String::with_capacity(pattern.len());
    let mut before = ' ';
    for ch in pattern.chars() {
        // Within brackets, or escaped, it is something else.
        if ch != '^' || matches!(before, '[' | '\\') {
            loose.push(ch);
        }
        before = ch;
    }
    loose
}

/// The stage that a line says was reached.
pub fn of_line(line: &str) -> Option<&'static str> {
    let line = text::cut(line, MAX_BYTES);
    let body = line.get(read_head(line).body..).unwrap_or(line).trim();
    if body.len() < 4 {
        return None;
    }
    let table = &*TABLE;
    let first = table.patterns.matches(body).iter().next()?;
    table
        .stages
        .get(first)
        .copied()
        .filter(|stage| *stage != "none")
}

#[cfg(test)]
mod tests {
    use super::{of_line, read};
    use crate::fact::Fact;
    use crate::probe::line::Context;
    use crate::probe::marks;
    use crate::text::{self, TextLine};

    #[test]
    fn lines_say_how_far_it_came() {
        let cases = [
            (
                "[2026-11-30 10:41:27 TP0] Init torch distributed begin.",
                "distributed",
            ),
            (
                "[2026-11-30 10:41:28 TP0] Load weight begin. avail mem=138.37 GB",
                "load_begin",
            ),
            (
                "[2026-11-30 10:42:53 TP0] Load weight end. type=X, avail mem=131.86 GB",
                "load_end",
            ),
            (
                "[2026-11-30 10:47:28 TP0] Memory pool end. avail mem=114.37 GB",
                "memory_pool",
            ),
            (
                "[2026-11-30 10:47:28 TP1] Capture cuda graph end.",
                "graphs",
            ),
            ("The server is fired up and ready to roll!", "ready"),
            (
                "[2026-11-30 10:42:39] Received sigquit from a child process. It usually means the child failed. exitcode=1",
                "stopping",
            ),
            (
                "(EngineCore pid=1) INFO 05-20 20:36:30 [backends.py:378] Cache the graph of compile range (1, 8192) for later use",
                "compile",
            ),
            (
                "(EngineCore pid=1) INFO 05-20 20:36:30 [gpu.py:3] Model loading took 13.5 GiB and 12 s",
                "load_end",
            ),
            ("INFO:     Application startup complete.", "ready"),
            (
                "INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)",
                "listening",
            ),
            ("INFO:     Shutting down", "stopping"),
            ("INFO:     Finished server process [93]", "stopped"),
            (
                "[2026-11-30 12:03:44 +0000] [108] [INFO] Listening at: http://0.0.0.0:8181 (108)",
                "listening",
            ),
            (
                "[2026-11-30 12:03:44 +0000] [109] [INFO] Booting worker with pid: 109",
                "ready",
            ),
            (
                "89:M 30 Nov 2026 11:53:11.314 * Ready to accept connections",
                "ready",
            ),
            (
                "2026-11-30 11:58:07.235 UTC [136] LOG:  database system is shut down",
                "stopped",
            ),
            (
                "2026-11-30 11:58:07.235 UTC [136] LOG:  database system is ready to accept connections",
                "ready",
            ),
            (" * Running on http://10.40.2.28:5055", "listening"),
            ("Nov 30 12:07:41 rerank[3615]: serving on :9019", "serving"),
            (
                "Nov 30 12:07:41 rerank[3615]: loaded 80 layers, 5760 MiB",
                "load_end",
            ),
            (
                "Nov 30 12:07:34 rerank[3579]: boot, weights=weights",
                "starting",
            ),
            (
                "INFO     11-30 12:04:22 ocr_serve.py:32] listening on 0.0.0.0:8200",
                "listening",
            ),
            ("[2026-11-30 12:08:07] worker 1: engine ready", "ready"),
            (
                "[2026-11-30 12:08:08] api: ready, listening on 30000",
                "ready",
            ),
            ("badge listening on 8081", "listening"),
            ("gateway on 8765", "listening"),
            ("2026-11-30 11:53:22 listening on 8444", "listening"),
            (
                "load_tensors: loading model tensors, this can take a while... (mmap = true)",
                "load_begin",
            ),
            (
                "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
                "ready",
            ),
            (
                "2026-11-30 10:00:00.000  INFO 1 --- [main] c.a.App : Started App in 3.2 seconds (process running for 4)",
                "",
            ),
            ("Server listening on http://localhost:3000", "listening"),
            (
                "11-30 11:56:59.835 [rank 1] INFO: process group up, world_size=2, probe all_reduce ok",
                "distributed",
            ),
            (
                "11-30 11:56:59.901 [rank 0] INFO: warmup: prefill 8192 tokens",
                "warmup",
            ),
            (
                "11:58:51 building extension asr_ops in /home/app/.cache/asr_ext",
                "compile",
            ),
        ];
        for (line, stage) in cases {
            if !stage.is_empty() {
                assert_eq!(of_line(line), Some(stage), "{line}");
            }
        }
    }

    #[test]
    fn what_only_sounds_like_a_stage_is_none() {
        for line in [
            "launcher: waiting for workers to report ready",
            "103:M 30 Nov 2026 12:09:32.430 # Failed listening on port 6379 (TCP), aborting.",
            "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8080): address already in use",
            "Is the server running on host \"x\" and accepting connections? could not connect",
            "step 20 loss 2.113",
            "nohup: ignoring input",
        ] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }

    #[test]
    fn workers_count_once_and_restarts_again() {
        let run = "[2026-11-30 10:00:00 TP0] Load weight begin.\n[2026-11-30 10:00:00 TP1] Load weight begin.\n[2026-11-30 10:00:09 TP1] Load weight end.\n[2026-11-30 10:00:09] Capture cuda graph begin.\n[2026-11-30 10:00:09] Capture cuda graph end.\nThe server is fired up and ready to roll!\nINFO:     Shutting down\n";
        let output = run.repeat(2);
        let lines = text::lines(output.as_bytes());
        let lines: Vec<&TextLine> = lines.iter().collect();
        let stages: Vec<String> = read(&marks::of(&lines), &Context::default())
            .into_iter()
            .map(|seen| match seen.fact {
                Fact::Stage(stage) => stage.stage,
                other => panic!("{other:?}"),
            })
            .collect();
        let one = [
            "load_begin",
            "load_end",
            "graphs",
            "graphs",
            "ready",
            "stopping",
        ];
        assert_eq!(stages, [one, one].concat());
    }
}
