//! Lint: what loads, but is not good enough to keep.
//!
//! [`lint`] looks at one playbook, [`lint_all`] also at how several get on. Faults here are those
//! that an author should mend before anybody relies on the playbook: tests that are missing, steps
//! joined to nothing, hypotheses that nothing can tell apart, words that no look ever says.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::Expr;
use super::{
    Expect, Fault, Form, Guard, Observation, Playbook, ProbeSpec, ScopeKind, Step, Template,
};
use crate::shell::safety::{Safety, safety};

/// What should be mended in a playbook.
pub fn lint(playbook: &Playbook) -> Vec<Fault> {
    let mut lint = Lint {
        playbook,
        faults: Vec::new(),
    };
    lint.tests();
    lint.steps(&playbook.when.steps, true);
    lint.words();
    lint.hypotheses();
    lint.probes();
    lint.faults.sort_by_key(|fault| (fault.line, fault.column));
    lint.faults
}

/// [`lint`] for each, by file, and ids that two of them share.
pub fn lint_all(playbooks: &[Playbook]) -> Vec<(String, Fault)> {
    let mut out = Vec::new();
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    for playbook in playbooks {
        let faults = lint(playbook).into_iter();
        out.extend(faults.map(|fault| (playbook.name.clone(), fault)));
        if let Some(other) = ids.insert(&playbook.id, &playbook.name) {
            let lint = Lint {
                playbook,
                faults: Vec::new(),
            };
            let message = format!("`{}` is the id of {other} too", playbook.id);
            out.push((playbook.name.clone(), lint.fault("id:", message, None)));
        }
    }
    out
}

struct Lint<'a> {
    playbook: &'a Playbook,
    faults: Vec<Fault>,
}

impl Lint<'_> {
    /// A fault at the first line that begins with a text.
    fn fault(&self, at: &str, message: String, hint: Option<&str>) -> Fault {
        let mut lines = self.playbook.text.lines().enumerate();
        let found = lines.find_map(|(line, text)| text.find(at).map(|column| (line, column)));
        let (line, column) = found.unwrap_or((0, 0));
        Fault {
            line: line + 1,
            column: column + 1,
            message,
            hint: hint.map(str::to_owned),
        }
    }

    fn say(&mut self, at: &str, message: impl Into<String>, hint: Option<&str>) {
        let fault = self.fault(at, message.into(), hint);
        self.faults.push(fault);
    }

    fn say_at(&mut self, line: usize, message: impl Into<String>, hint: Option<&str>) {
        self.faults.push(Fault {
            line,
            column: 1,
            message: message.into(),
            hint: hint.map(str::to_owned),
        });
    }

    fn tests(&mut self) {
        let tests = &self.playbook.tests;
        let healthy = tests.iter().any(|test| test.healthy);
        if !tests.iter().any(|test| test.expect != Expect::Silent) {
            let hint = "a test with `expect: fires`: the shortest session that shows it";
            self.say("tests:", "no test fires", Some(hint));
        }
        let silent = |healthy| {
            let mut all = tests.iter();
            all.any(|test| test.expect == Expect::Silent && test.healthy == healthy)
        };
        if !silent(false) {
            let hint = "a test with `expect: silent` that lacks one thing only";
            self.say("tests:", "no near miss", Some(hint));
        }
        if !healthy {
            let hint = "a test with `healthy: true`: the same commands when all is well";
            self.say("tests:", "no healthy twin", Some(hint));
        }
        let odd = tests
            .iter()
            .find(|test| test.healthy && test.expect == Expect::Fires);
        let kind = &self.playbook.kind;
        let good = kind.ends_with(".healthy") || kind.contains("benign");
        if let Some(test) = odd
            && !good
        {
            self.say_at(
                test.line,
                "a healthy twin that fires",
                Some("`expect: silent`"),
            );
        }
    }

    /// Steps that are joined to nothing before them match anything in the session.
    fn steps(&mut self, steps: &[Step], first: bool) {
        for (number, step) in steps.iter().enumerate() {
            let first = first && number == 0;
            let (joined, fact) = match &step.form {
                Form::Fact(bind) => (!bind.on.is_empty(), bind.fact.name),
                Form::Series(series) => (!series.bind.on.is_empty(), series.bind.fact.name),
                Form::Absent(_) => continue,
                Form::Any(steps) => {
                    for step in steps {
                        self.steps(std::slice::from_ref(step), first);
                    }
                    continue;
                }
                Form::All(steps) => {
                    self.steps(steps, first);
                    continue;
                }
            };
            if !first && !joined && self.playbook.scope != ScopeKind::Session {
                let message = format!("this `{fact}` is joined to nothing before it");
                let hint = "`on: [host]`, [launch], [path] …; `on: [session]` if that is meant";
                self.say_at(step.line, message, Some(hint));
            }
        }
    }

    /// Texts compared with a field that never holds them.
    fn words(&mut self) {
        let mut wrong: Vec<(usize, String)> = Vec::new();
        let mut each = |line: usize, expr: &Expr| {
            expr.literals(&mut |field, doc, text| {
                if let Some(words) = vocabulary(doc)
                    && !words.contains(text)
                {
                    let known: Vec<_> = words.iter().copied().collect();
                    let known = known.join(", ");
                    wrong.push((line, format!("`{field}` is never '{text}': {known}")));
                }
            });
        };
        let when = &self.playbook.when;
        for step in &when.steps {
            walk(step, &mut each);
        }
        for guard in when.unless.iter().chain(&when.until) {
            walk(&guard.step, &mut each);
        }
        for observation in &self.playbook.observations {
            for Guard { step, .. } in [Some(&observation.when), observation.not_when.as_ref()]
                .into_iter()
                .flatten()
            {
                walk(step, &mut each);
            }
        }
        for (line, message) in wrong {
            self.say_at(line, message, None);
        }
    }

    fn hypotheses(&mut self) {
        let playbook = self.playbook;
        let sum: f64 = playbook.hypotheses.iter().map(|one| one.prior).sum();
        if sum > 1.0 {
            let message = format!("priors add up to {sum:.2}");
            self.say("hypotheses:", message, Some("at most .9: *other* has .1"));
        }
        if playbook.hypotheses.is_empty() {
            let at = if playbook.observations.is_empty() {
                return;
            } else {
                "observations:"
            };
            self.say(
                at,
                "observations, but no hypothesis that they speak of",
                None,
            );
            return;
        }
        for hypothesis in &playbook.hypotheses {
            let told = |observation: &Observation| {
                observation.likely.contains_key(&hypothesis.id)
                    || observation.decisive.contains(&hypothesis.id)
            };
            if playbook.hypotheses.len() > 1 && !playbook.observations.iter().any(told) {
                let message = format!("no observation speaks for or against `{}`", hypothesis.id);
                self.say(&format!("id: {}", hypothesis.id), message, None);
            }
        }
    }

    fn probes(&mut self) {
        let playbook = self.playbook;
        let observation = |id: &String| playbook.observations.iter().find(|one| one.id == *id);
        for probe in &playbook.probes {
            let at = format!("id: {}", probe.id);
            if probe.yields.is_empty() {
                let message = format!("probe `{}` yields nothing", probe.id);
                let hint = "`yields: [OBSERVATION]`, or the name of a step it may settle";
                self.say(&at, message, Some(hint));
            }
            let yields: Vec<_> = probe.yields.iter().filter_map(observation).collect();
            let steps = probe.yields.len() > yields.len();
            if !yields.is_empty() && !steps && !yields.iter().any(|one| self.separates(one)) {
                let message = format!("probe `{}` separates nothing", probe.id);
                let hint = "what it yields is as likely under each hypothesis";
                self.say(&at, message, Some(hint));
            }
            self.injection(probe, &at);
            self.safety(probe, &at);
        }
    }

    /// Whether an observation is likelier under one hypothesis than under another.
    fn separates(&self, observation: &Observation) -> bool {
        let mut likely = self.playbook.hypotheses.iter().map(|one| {
            let value = observation.likely.get(&one.id).copied();
            value.unwrap_or(0.5)
        });
        let first = likely.next().unwrap_or(0.5);
        // *Other* makes it .5 unless it says otherwise.
        let other = observation.likely.get("other").copied().unwrap_or(0.5);
        !observation.decisive.is_empty()
            || likely
                .chain([other])
                .any(|value| (value - first).abs() > 0.01)
    }

    /// An author may hold a probe to be worse than the shell parser does, never better.
    fn safety(&mut self, probe: &ProbeSpec, at: &str) {
        let worst = safety(&example(&probe.run));
        let said = probe.safety.as_deref();
        let classes = [
            Safety::ReadOnly,
            Safety::HeavyRead,
            Safety::ChangesState,
            Safety::Destructive,
        ];
        let claimed = classes.into_iter().find(|class| Some(class.name()) == said);
        // Without a word of the author's the parser's stands; a look should only look, though.
        if claimed.unwrap_or(Safety::HeavyRead) < worst {
            let message = format!("probe `{}` is not read-only: {}", probe.id, worst.name());
            let hint = "a look that only reads is better; else say so: `safety: …`";
            self.say(at, message, Some(hint));
        }
    }

    /// Holes are quoted when they are filled; quotes of the author's around one undo that.
    fn injection(&mut self, probe: &ProbeSpec, at: &str) {
        if quoted_hole(&probe.run) {
            let message = format!("a hole of probe `{}` stands within quotes", probe.id);
            let hint = "write it bare: it is quoted when it is filled";
            self.say(at, message, Some(hint));
        }
    }
}

/// A template as a command line, a plain word in place of each hole.
fn example(line: &Template) -> String {
    let mut out = String::new();
    for (text, hole) in line.texts() {
        out.push_str(text);
        if hole {
            out.push('1');
        }
    }
    out
}

/// Whether a hole of a command line stands within quotes of the line's own.
fn quoted_hole(line: &Template) -> bool {
    let (mut single, mut double) = (false, false);
    for (text, hole) in line.texts() {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' if !single => {
                    chars.next();
                }
                '\'' if !double => single = !single,
                '"' if !single => double = !double,
                _ => {}
            }
        }
        if hole && (single || double) {
            return true;
        }
    }
    false
}

/// Calls `each` with every condition of a step.
fn walk(step: &Step, each: &mut dyn FnMut(usize, &Expr)) {
    match &step.form {
        Form::Fact(bind) => {
            if let Some(filter) = &bind.filter {
                each(step.line, filter);
            }
        }
        Form::Series(series) => {
            if let Some(filter) = &series.bind.filter {
                each(step.line, filter);
            }
        }
        Form::Absent(absent) => each(step.line, &absent.value),
        Form::All(steps) | Form::Any(steps) => {
            for step in steps {
                walk(step, each);
            }
        }
    }
}

/// The words a field may hold, where its documentation is just their list.
fn vocabulary(doc: &str) -> Option<BTreeSet<&str>> {
    let doc = doc.trim();
    let list = doc.rsplit(": ").next().unwrap_or(doc);
    let list = list
        .split(';')
        .next()
        .unwrap_or(list)
        .trim()
        .trim_end_matches('.');
    let mut words = BTreeSet::new();
    for part in list.split(',') {
        let word = part.trim().trim_start_matches("or ");
        let word = word.strip_prefix('`')?.strip_suffix('`')?;
        words.insert(word);
    }
    // An empty text stands for "none" in some of them.
    words.insert("");
    (words.len() > 2).then_some(words)
}
