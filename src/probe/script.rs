//! What a shell script does that was shown: its simple commands, one fact each.
//!
//! Pure. The text is read by the same grammar as a command line, so that a script tells what a line
//! would: what it puts into the background, and whether that keeps the output of whoever runs it.

use super::line::{MAX_TEXT, Seen};
use crate::fact::ScriptStep;
use crate::shell::{self, Condition, Invocation, Tree};
use crate::text::{self, TextLine};

/// Of one script as many commands are told.
const MOST_STEPS: usize = 80;
/// A longer text is not read.
const MOST_BYTES: usize = 32 * 1024;

/// The simple commands of a script, in the order a shell comes to them.
pub(super) fn read(path: &str, lines: &[&TextLine]) -> Vec<Seen> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Vec::new();
    };
    if lines.iter().map(|line| line.text.len() + 1).sum::<usize>() > MOST_BYTES {
        return Vec::new();
    }
    let written: Vec<&str> = lines.iter().map(|line| line.text.trim_end()).collect();
    let tree = shell::parse(&written.join("\n"));
    let mut from_line = 0;
    tree.leaves()
        .filter(|leaf| !leaf.words.is_empty())
        .take(MOST_STEPS)
        .map(|leaf| {
            // Its place is the next line that names its program.
            let named = lines
                .iter()
                .skip(from_line)
                .position(|line| line.text.contains(leaf.program()));
            let span = match named.and_then(|at| lines.get(from_line + at)) {
                Some(line) => (line.from, line.to),
                None => (first.from, last.to),
            };
            from_line += named.unwrap_or(0);
            Seen {
                fact: step(path, &tree, leaf).into(),
                from: span.0,
                to: span.1,
            }
        })
        .collect()
}

fn step(path: &str, tree: &Tree, leaf: &Invocation) -> ScriptStep {
    let carriers = tree.hop_chain(leaf.index);
    let around = |is: fn(&Invocation) -> bool| {
        is(leaf)
            || carriers
                .iter()
                .filter_map(|hop| tree.invocations.get(*hop))
                .any(is)
    };
    let flow = tree.outflow(leaf.index);
    ScriptStep {
        path: path.to_owned(),
        program: leaf.program().to_owned(),
        line: cut(&leaf.line()),
        pipeline: cut(&pipeline(tree, leaf)),
        background: around(|one| one.background),
        inherits: !leaf.substituted && (flow.stdout.is_some() || flow.stderr.is_some()),
        looped: around(|one| one.condition == Condition::Loop),
    }
}

/// The stages of its pipeline, joined as they are written; the command alone when it is in none.
fn pipeline(tree: &Tree, leaf: &Invocation) -> String {
    let Some(own) = leaf.pipe else {
        return leaf.line();
    };
    let stages: Vec<String> = tree
        .leaves()
        .filter(|other| other.pipe.is_some_and(|at| at.pipeline == own.pipeline))
        .map(Invocation::line)
        .collect();
    stages.join(" | ")
}

fn cut(text: &str) -> String {
    text::cut(text, MAX_TEXT).to_owned()
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::fact::{Fact, ScriptStep};
    use crate::text;

    fn steps(script: &str) -> Vec<ScriptStep> {
        let lines = text::lines(script.as_bytes());
        let lines: Vec<_> = lines.iter().collect();
        read("/srv/x/run.sh", &lines)
            .into_iter()
            .filter_map(|seen| match seen.fact {
                Fact::ScriptStep(step) => Some(step),
                _ => None,
            })
            .collect()
    }

    fn of(script: &str, program: &str) -> ScriptStep {
        let found = steps(script);
        found
            .iter()
            .find(|step| step.program == program)
            .unwrap_or_else(|| panic!("{program} in {found:?}"))
            .clone()
    }

    #[test]
    fn what_is_put_into_the_background_says_whether_it_keeps_the_output() {
        let kept = of(
            "#!/bin/sh\ncd /srv/x\nnohup ruby web.rb &\necho $!\n",
            "ruby",
        );
        assert!(kept.background && kept.inherits, "{kept:?}");
        assert_eq!(kept.line, "ruby web.rb");
        for script in [
            "#!/bin/sh\nnohup ruby web.rb > web.log 2>&1 &\n",
            "#!/bin/bash\nexec > /var/log/x.log 2>&1\nruby web.rb &\n",
            "#!/bin/bash\n(ruby web.rb) &> x.log &\n",
        ] {
            let step = of(script, "ruby");
            assert!(step.background && !step.inherits, "{script}: {step:?}");
        }
        assert!(!of("#!/bin/sh\nruby web.rb\n", "ruby").background);
    }

    #[test]
    fn a_pipeline_is_told_whole_and_a_loop_is_known() {
        let script =
            "#!/bin/sh\nn=`ps ax | grep gauge | wc -l`\nif [ $n -gt 0 ]; then echo up; fi\n";
        assert_eq!(of(script, "grep").pipeline, "ps ax | grep gauge | wc -l");
        let script = "#!/bin/bash\nwhile true; do\n  node poll.js\n  sleep 2\ndone\n";
        assert!(of(script, "node").looped);
        assert_eq!(
            of("#!/bin/bash\nulimit -v 2500000\n", "ulimit").line,
            "ulimit -v 2500000"
        );
    }

    #[test]
    fn what_is_no_script_gives_what_can_be_read() {
        assert!(steps("").is_empty());
        assert!(steps(&"x\n".repeat(40_000)).is_empty());
        steps("#!/bin/sh\nif [ ; do (( \"\n");
    }
}
