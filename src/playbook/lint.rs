//! Lint: what loads, but is not good enough to keep.
//!
//! [`lint`] looks at one playbook, [`lint_all`] also at how several get on. Faults here are those
//! that an author should mend before anybody relies on the playbook: tests that are missing, steps
//! joined to nothing, hypotheses that nothing can tell apart, words that no look ever says.

use std::collections::{BTreeMap, BTreeSet};

use super::expr::Expr;
use super::known;
use super::nearest::{meant, nearest};
use super::yaml::{self, At, Node};
use super::{
    Claim, Expect, Fault, Form, Guard, HypothesisSpec, Observation, Playbook, ProbeSpec, ScopeKind,
    Step, Template,
};
use crate::shell::safety::{Safety, safety};
use crate::shell::{HopKind, Invocation, Word, parse};

/// What should be mended in a playbook.
pub fn lint(playbook: &Playbook) -> Vec<Fault> {
    let mut lint = Lint::new(playbook);
    lint.kinds();
    lint.claim();
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
            let mut lint = Lint::new(playbook);
            let message = format!("`{}` is the id of {other} too", playbook.id);
            let hint = "give one of them another id, or take one away";
            lint.say(&[Key("id")], message, hint);
            let found = lint.faults.into_iter();
            out.extend(found.map(|fault| (playbook.name.clone(), fault)));
        }
    }
    out
}

struct Lint<'a> {
    playbook: &'a Playbook,
    /// The file as a tree: it knows where everything stands.
    tree: Option<Node>,
    faults: Vec<Fault>,
}

/// A step down a tree.
#[derive(Clone, Copy)]
enum To<'a> {
    Key(&'a str),
    Item(usize),
}

use To::{Item, Key};

impl<'a> Lint<'a> {
    fn new(playbook: &'a Playbook) -> Self {
        Self {
            playbook,
            tree: yaml::parse(&playbook.text).ok(),
            faults: Vec::new(),
        }
    }

    /// Where a part stands: the deepest that is there, of a top key the key itself.
    fn place(&self, path: &[To<'_>]) -> At {
        let start = At { line: 1, column: 1 };
        let Some(tree) = &self.tree else {
            return start;
        };
        let (mut node, mut at) = (tree, tree.at);
        for (depth, to) in path.iter().enumerate() {
            let next = match to {
                Key(key) => node.key(key).map(|(key, value)| {
                    let whole = depth == 0 && path.len() == 1;
                    (value, if whole { key.at } else { value.at })
                }),
                Item(item) => node.items().get(*item).map(|value| (value, value.at)),
            };
            let Some(next) = next else { break };
            (node, at) = next;
        }
        at
    }

    fn say(&mut self, path: &[To<'_>], message: impl Into<String>, hint: &str) {
        let at = self.place(path);
        self.say_at(at, message, hint);
    }

    fn say_at(&mut self, at: At, message: impl Into<String>, hint: &str) {
        self.faults.push(Fault {
            line: at.line,
            column: at.column,
            message: message.into(),
            hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()),
        });
    }

    fn kinds(&mut self) {
        let hypotheses = self.playbook.hypotheses.iter().enumerate();
        let hypotheses = hypotheses.filter_map(|(at, one)| {
            let path = vec![Key("hypotheses"), Item(at), Key("kind")];
            Some((one.kind.clone()?, path))
        });
        let own = (self.playbook.kind.clone(), vec![Key("kind")]);
        for (kind, path) in std::iter::once(own).chain(hypotheses).collect::<Vec<_>>() {
            if known::is_known(&kind) {
                continue;
            }
            let names = known::KINDS.iter().map(|(kind, _)| *kind);
            let hint = nearest(&kind, names).map_or_else(
                || {
                    let family = kind.split('.').next().unwrap_or_default();
                    let near: Vec<&str> = known::KINDS
                        .iter()
                        .map(|(kind, _)| *kind)
                        .filter(|kind| kind.split('.').next() == Some(family))
                        .collect();
                    let near = if near.is_empty() {
                        String::new()
                    } else {
                        format!("there are {}; ", near.join(", "))
                    };
                    format!("{near}one of your own begins with `{}`", known::OWN)
                },
                meant,
            );
            let mut at = self.place(&path);
            if path.len() == 1
                && let Some((_, value)) = self.tree.as_ref().and_then(|tree| tree.key("kind"))
            {
                at = value.at;
            }
            self.say_at(at, format!("`{kind}` is no known kind"), &hint);
        }
    }

    fn claim(&mut self) {
        let playbook = self.playbook;
        let decided = playbook
            .observations
            .iter()
            .any(|observation| !observation.decisive.is_empty());
        if playbook.claim == Claim::Established && !playbook.hypotheses.is_empty() && !decided {
            let message =
                "established, and no observation is decisive: it is never more than suspected";
            let hint = "mark the observation that settles it (`decisive: HYPOTHESIS`), or claim `suspected`";
            self.say(&[Key("claim")], message, hint);
        }
    }

    fn tests(&mut self) {
        let tests = &self.playbook.tests;
        let healthy = tests.iter().any(|test| test.healthy);
        if !tests.iter().any(|test| test.expect != Expect::Silent) {
            let hint = "a test with `expect: fires`: the shortest session that shows it";
            self.say(&[Key("tests")], "no test fires", hint);
        }
        let silent = |healthy| {
            let mut all = tests.iter();
            all.any(|test| test.expect == Expect::Silent && test.healthy == healthy)
        };
        if !silent(false) {
            let hint = "a test with `expect: silent` that lacks one thing only";
            self.say(&[Key("tests")], "no near miss", hint);
        }
        if !healthy {
            let hint = "a test with `healthy: true`: the same commands when all is well";
            self.say(&[Key("tests")], "no healthy twin", hint);
        }
        let odd = tests
            .iter()
            .position(|test| test.healthy && test.expect == Expect::Fires);
        let kind = &self.playbook.kind;
        let good = kind.ends_with(".healthy") || kind.contains("benign");
        if let Some(test) = odd
            && !good
        {
            self.say(
                &[Key("tests"), Item(test), Key("expect")],
                "a healthy twin that fires",
                "`expect: silent`",
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
                let at = At {
                    line: step.line,
                    column: step.column,
                };
                self.say_at(at, message, hint);
            }
        }
    }

    /// Texts compared with a field that never holds them.
    fn words(&mut self) {
        let mut wrong: Vec<(usize, String, String, String)> = Vec::new();
        let mut each = |line: usize, expr: &Expr| {
            expr.literals(&mut |field, doc, text| {
                if let Some(words) = vocabulary(doc)
                    && !words.contains(text)
                {
                    let message = format!("`{field}` is never '{text}'");
                    let hint = nearest(text, words.iter().copied()).map_or_else(
                        || {
                            let known: Vec<_> = words
                                .iter()
                                .filter(|word| !word.is_empty())
                                .copied()
                                .collect();
                            format!("it is one of {}", known.join(", "))
                        },
                        |near| format!("did you mean '{near}'?"),
                    );
                    wrong.push((line, text.to_owned(), message, hint));
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
        for (line, text, message, hint) in wrong {
            let at = self.literal(line, &text);
            self.say_at(at, message, &hint);
        }
    }

    /// Where a text in quotes stands, from a step's line on.
    fn literal(&self, line: usize, text: &str) -> At {
        let lines = self.playbook.text.lines().enumerate();
        let mut lines = lines.skip(line.saturating_sub(1)).take(40);
        let found = lines.find_map(|(at, row)| {
            let quoted = [format!("'{text}'"), format!("\"{text}\"")];
            let byte = quoted.iter().find_map(|quoted| row.find(quoted.as_str()))?;
            let column = row.get(..byte).map_or(0, |before| before.chars().count());
            Some(At {
                line: at + 1,
                column: column + 1,
            })
        });
        found.unwrap_or(At { line, column: 1 })
    }

    fn hypotheses(&mut self) {
        let playbook = self.playbook;
        let sum: f64 = playbook.hypotheses.iter().map(|one| one.prior).sum();
        if sum > 1.0 {
            let message = format!("priors add up to {sum:.2}");
            self.say(&[Key("hypotheses")], message, "at most .9: *other* has .1");
        }
        if playbook.hypotheses.is_empty() {
            if !playbook.observations.is_empty() {
                self.say(
                    &[Key("observations")],
                    "observations, but no hypothesis that they speak of",
                    "write the competing explanations under `hypotheses`",
                );
            }
            return;
        }
        for (place, hypothesis) in playbook.hypotheses.iter().enumerate() {
            let told = |observation: &Observation| {
                observation.likely.contains_key(&hypothesis.id)
                    || observation.decisive.contains(&hypothesis.id)
            };
            let at = [Key("hypotheses"), Item(place), Key("id")];
            let id = &hypothesis.id;
            if playbook.hypotheses.len() > 1 && !playbook.observations.iter().any(told) {
                let message = format!("no observation speaks for or against `{id}`");
                let hint =
                    format!("`likely: {{ {id}: usually }}` in the observation that tells it");
                self.say(&at, message, &hint);
            } else if let Some(rival) = self.never_beats(hypothesis) {
                let message = format!("`{id}` is never likelier than `{rival}`, whatever is seen");
                let hint = format!("an observation that `{id}` makes likelier than `{rival}` does");
                self.say(&at, message, &hint);
            }
        }
    }

    /// A rival that a hypothesis cannot get past, even when each observation falls as well for it as
    /// it can.
    fn never_beats(&self, hypothesis: &HypothesisSpec) -> Option<&'a str> {
        let playbook = self.playbook;
        let settled = |one: &Observation| one.decisive.contains(&hypothesis.id);
        if playbook.observations.iter().any(settled) {
            return None;
        }
        let rivals = playbook
            .hypotheses
            .iter()
            .filter(|one| one.id != hypothesis.id);
        rivals
            .filter(|rival| {
                let mut best = (hypothesis.prior / rival.prior).ln();
                let mut groups: BTreeMap<&str, f64> = BTreeMap::new();
                for observation in &playbook.observations {
                    let likely = |id: &str| {
                        let named = observation.likely.get(id).copied();
                        named.unwrap_or(0.5).clamp(0.02, 0.98)
                    };
                    let (ours, theirs) = (likely(&hypothesis.id), likely(&rival.id));
                    let most = (ours / theirs)
                        .ln()
                        .max(((1.0 - ours) / (1.0 - theirs)).ln());
                    let most = most.max(0.0);
                    match observation.group.as_deref() {
                        Some(group) => {
                            let known = groups.entry(group).or_insert(0.0);
                            *known = known.max(most);
                        }
                        None => best += most,
                    }
                }
                best += groups.values().sum::<f64>();
                best < -1e-9
            })
            .map(|rival| rival.id.as_str())
            .next()
    }

    fn probes(&mut self) {
        let playbook = self.playbook;
        let observation = |id: &String| playbook.observations.iter().find(|one| one.id == *id);
        for (place, probe) in playbook.probes.iter().enumerate() {
            let part = |key| [Key("probes"), Item(place), Key(key)];
            if probe.yields.is_empty() {
                let message = format!("probe `{}` yields nothing", probe.id);
                let hint = "`yields: [OBSERVATION]`, or the name of a step it may settle";
                self.say(&part("id"), message, hint);
            }
            let yields: Vec<_> = probe.yields.iter().filter_map(observation).collect();
            let steps = probe.yields.len() > yields.len();
            if !yields.is_empty() && !steps && !yields.iter().any(|one| self.separates(one)) {
                let message = format!("probe `{}` separates nothing", probe.id);
                let hint = "what it yields is as likely under each hypothesis: yield one that is not, \
                            or give the observation a `likely`";
                self.say(&part("yields"), message, hint);
            }
            if let Some((message, hint)) = danger(&probe.run) {
                let message = format!("probe `{}`: {message}", probe.id);
                self.say(&part("run"), message, &hint);
            }
            self.safety(probe, &part("run"), &part("safety"));
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
    fn safety(&mut self, probe: &ProbeSpec, run: &[To<'_>], said_at: &[To<'_>]) {
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
        if claimed.unwrap_or(Safety::HeavyRead) >= worst {
            return;
        }
        let worst = worst.name();
        match said {
            Some(said) => {
                let message = format!("probe `{}` is not {said}, its class is `{worst}`", probe.id);
                let hint = format!("a look that only reads is better; else say `safety: {worst}`");
                self.say(said_at, message, &hint);
            }
            None => {
                let message = format!("probe `{}` is not read-only: {worst}", probe.id);
                let hint =
                    format!("a look that only reads is better; else say so: `safety: {worst}`");
                self.say(run, message, &hint);
            }
        }
    }
}

/// What makes a hole of a command line dangerous: it is quoted for one shell, once, as one word.
fn danger(line: &Template) -> Option<(String, String)> {
    if quoted_hole(line) {
        return Some((
            "a hole stands within quotes".to_owned(),
            "write it bare: it is quoted when it is filled".to_owned(),
        ));
    }
    let mut text = String::new();
    for (part, hole) in line.texts() {
        text.push_str(part);
        if hole {
            text.push_str(HOLE);
        }
    }
    let tree = parse(&text);
    for invocation in &tree.invocations {
        let holds = |word: &Word| word.text.contains(HOLE);
        if !invocation.words.iter().any(holds) {
            continue;
        }
        let again = tree.hop_chain(invocation.index).into_iter().any(|hop| {
            let hop = tree.invocations.get(hop).and_then(|hop| hop.hop);
            matches!(
                hop,
                Some(HopKind::Ssh | HopKind::ShellText | HopKind::ShellStdin)
            )
        });
        if again {
            return Some((
                "a second shell reads what fills the hole".to_owned(),
                "run the inner command itself: where it runs is said by `on`".to_owned(),
            ));
        }
        if invocation.words.first().is_some_and(holds) {
            return Some((
                "what fills the hole is run as a command".to_owned(),
                "name the program; holes are for its arguments".to_owned(),
            ));
        }
        if let Some(program) = reads_code(invocation) {
            return Some((
                format!("`{program}` reads what fills the hole as code"),
                "hand it over as an argument or a variable (`awk -v x={{…}}`), or search with grep -F"
                    .to_owned(),
            ));
        }
    }
    None
}

/// A word that no command line holds by itself.
const HOLE: &str = "HoLe7x";

/// The program, when the part of its line that it reads as a program holds a hole.
fn reads_code(invocation: &Invocation) -> Option<String> {
    let words: Vec<&str> = invocation
        .words
        .iter()
        .map(|word| word.text.as_str())
        .collect();
    let (program, args) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let code = match name {
        "python" | "perl" | "ruby" | "node" | "lua" | "php" => args
            .iter()
            .position(|word| matches!(*word, "-c" | "-e" | "-r" | "-pe" | "-ne" | "--eval"))
            .and_then(|at| args.get(at + 1).copied()),
        "awk" | "gawk" | "mawk" | "sed" => {
            let mut rest = args.iter();
            let mut found = None;
            while let Some(word) = rest.next() {
                match *word {
                    "-v" | "-F" => {
                        rest.next();
                    }
                    "-e" | "--expression" => {
                        found = rest.next().copied();
                        break;
                    }
                    option if option.starts_with('-') => {}
                    program => {
                        found = Some(program);
                        break;
                    }
                }
            }
            found
        }
        "eval" => args.first().copied(),
        _ => None,
    };
    code.filter(|code| code.contains(HOLE))
        .map(|_| program.to_owned())
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
    let parts = list.split(',').flat_map(|part| part.split(" or "));
    for part in parts.filter(|part| !part.trim().is_empty()) {
        let word = part.trim().trim_start_matches("or ");
        let word = word.strip_prefix('`')?.strip_suffix('`')?;
        words.insert(word);
    }
    // An empty text stands for "none" in some of them.
    words.insert("");
    (words.len() > 2).then_some(words)
}
