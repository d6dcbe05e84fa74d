//! A playbook's YAML → [`Playbook`], strictly, every fault with its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check;
use super::expr::{self, Names, Ty};
use super::nearest::nearest;
use super::template::{self, Template};
use super::yaml::{self, At, Faults, Fields, Kind, Node, Source};
use super::{
    Claim, Expect, Fault, Guard, HypothesisSpec, Observation, Playbook, ProbeSpec, Reference,
    ScopeKind, Severity, Target, TestCase,
};
use crate::event::Stream;
use crate::fact::{FactType, fact_type};
use crate::playbook::steps::{CaseChunk, CaseExit, CaseStep};

mod when;

const SEVERITIES: &[(&str, Severity)] = &[
    ("info", Severity::Info),
    ("low", Severity::Low),
    ("medium", Severity::Medium),
    ("high", Severity::High),
    ("critical", Severity::Critical),
];

const SCOPES: &[(&str, ScopeKind)] = &[
    ("command", ScopeKind::Command),
    ("launch", ScopeKind::Launch),
    ("host", ScopeKind::Host),
    ("process", ScopeKind::Process),
    ("log", ScopeKind::Log),
    ("endpoint", ScopeKind::Endpoint),
    ("gpu", ScopeKind::Gpu),
    ("container", ScopeKind::Container),
    ("session", ScopeKind::Session),
];

/// How likely a hypothesis makes an observation, in words.
const LIKELIHOODS: &[(&str, f64)] = &[
    ("never", 0.02),
    ("rarely", 0.1),
    ("some", 0.5),
    ("usually", 0.9),
    ("always", 0.98),
];

const KEYS: &[&str] = &[
    "id",
    "version",
    "kind",
    "severity",
    "scope",
    "claim",
    "title",
    "explains",
    "remedy",
    "root_of",
    "when",
    "observations",
    "hypotheses",
    "probes",
    "references",
    "tests",
];

pub(super) fn load(name: &str, text: &str) -> Result<Playbook, Vec<Fault>> {
    let tree = yaml::parse(text).map_err(|fault| vec![fault])?;
    let mut loader = Loader {
        source: Source(text),
        faults: Faults::default(),
        bound: BTreeMap::new(),
    };
    let playbook = loader.playbook(&tree, name, text);
    let mut faults = loader.faults.0;
    faults.sort_by_key(|fault| (fault.line, fault.column));
    match playbook {
        Some(playbook) if faults.is_empty() => Ok(playbook),
        _ => Err(faults),
    }
}

struct Loader<'a> {
    source: Source<'a>,
    faults: Faults,
    /// What the steps read so far bind.
    bound: BTreeMap<Arc<str>, &'static FactType>,
}

impl Loader<'_> {
    fn playbook(&mut self, tree: &Node, name: &str, text: &str) -> Option<Playbook> {
        let fields = self.faults.fields(tree, "a playbook", KEYS);
        if !fields.is_map {
            return None;
        }
        self.bind_launch();
        let id = self.id(&fields, "a playbook");
        let version = self.need(&fields, "version", |this, node| {
            let version = this.faults.whole(node, "version")?;
            let positive = u32::try_from(version).ok().filter(|version| *version > 0);
            if positive.is_none() {
                this.faults.add(node.at, "version counts from 1");
            }
            positive
        });
        let kind = self.need(&fields, "kind", |this, node| this.kind(node));
        let severity = self.need(&fields, "severity", |this, node| {
            this.faults.word(node, "severity", SEVERITIES)
        });
        let scope = self.need(&fields, "scope", |this, node| {
            this.faults.word(node, "scope", SCOPES)
        });
        let claim = fields.get("claim").map_or(Some(Claim::Suspected), |node| {
            let words = [
                ("observed", Claim::Observed),
                ("suspected", Claim::Suspected),
                ("established", Claim::Established),
            ];
            self.faults.word(node, "claim", &words)
        });
        // Steps come first: they bind the names that everything else may use.
        let when = self.need(&fields, "when", |this, node| this.when(node));
        let title = self.need(&fields, "title", |this, node| this.template(node, "title"));
        let explains = self.optional_template(&fields, "explains");
        let remedy = self.optional_template(&fields, "remedy");
        let hypotheses = self.each(&fields, "hypotheses", Self::hypothesis);
        let observations = self.each(&fields, "observations", Self::observation);
        let probes = self.each(&fields, "probes", Self::probe);
        let references = self.each(&fields, "references", Self::reference);
        let root_of = fields
            .get("root_of")
            .map(|node| self.texts(node, "root_of"));
        let tests = self.each(&fields, "tests", Self::test);
        self.check_names(&fields, &hypotheses, &observations, &probes);
        Some(Playbook {
            id: id?,
            version: version?,
            kind: kind?,
            severity: severity?,
            scope: scope?,
            claim: claim?,
            title: title?,
            explains,
            remedy,
            when: when?,
            observations,
            hypotheses,
            probes,
            root_of: root_of.unwrap_or_default(),
            references,
            tests,
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }

    /// `launch` stands for the launch that the finding is about, everywhere but in steps.
    fn bind_launch(&mut self) {
        if let Some(ty) = fact_type("launch") {
            self.bound.insert(Arc::from("launch"), ty);
        }
    }

    fn need<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node) -> Option<T>,
    ) -> Option<T> {
        let node = fields.need(key, "a playbook", &mut self.faults)?;
        read(self, node)
    }

    fn each<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl Fn(&mut Self, &Node) -> Option<T>,
    ) -> Vec<T> {
        let Some(node) = fields.get(key) else {
            return Vec::new();
        };
        let list = self.faults.list(node, key);
        list.iter().filter_map(|node| read(self, node)).collect()
    }

    fn texts(&mut self, node: &Node, what: &str) -> Vec<String> {
        let list = self.faults.list(node, what);
        let texts = list.iter().filter_map(|node| self.faults.text(node, what));
        texts.map(str::to_owned).collect()
    }

    fn id(&mut self, fields: &Fields<'_>, what: &str) -> Option<String> {
        let node = fields.need("id", what, &mut self.faults)?;
        let id = self.faults.text(node, "id")?;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if id.is_empty()
            || !id.chars().all(word)
            || !id.starts_with(|c: char| c.is_ascii_lowercase())
        {
            let message = format!("`{id}` is no id");
            let hint = "small letters, digits, dashes; a letter first".to_owned();
            self.faults.hinted(node.at, message, Some(hint));
            return None;
        }
        Some(id.to_owned())
    }

    fn kind(&mut self, node: &Node) -> Option<String> {
        let kind = self.faults.text(node, "kind")?;
        let part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        let parts: Vec<_> = kind.split('.').collect();
        if parts.len() < 2 || !parts.iter().all(|word| part(word)) {
            let message = format!("`{kind}` is no kind");
            let hint = "two words with a dot between, as `process.self_match`".to_owned();
            self.faults.hinted(node.at, message, Some(hint));
            return None;
        }
        Some(kind.to_owned())
    }

    fn optional_template(&mut self, fields: &Fields<'_>, key: &str) -> Template {
        let node = fields.get(key);
        node.and_then(|node| self.template(node, key))
            .unwrap_or_default()
    }

    fn template(&mut self, node: &Node, what: &str) -> Option<Template> {
        self.template_with(node, what, None)
    }

    fn template_with(
        &mut self,
        node: &Node,
        what: &str,
        it: Option<&'static FactType>,
    ) -> Option<Template> {
        let text = self.faults.text(node, what)?;
        let names = Names {
            it,
            own: None,
            bound: &self.bound,
        };
        match template::parse(text, names) {
            Ok(template) => Some(template),
            Err(problems) => {
                self.problems(node.at, text, problems);
                None
            }
        }
    }

    fn problems(&mut self, at: At, text: &str, problems: Vec<expr::Problem>) {
        for problem in problems {
            let at = self.source.within(at, text, problem.offset);
            self.faults.hinted(at, problem.message, problem.hint);
        }
    }

    /// An expression that gives true or false.
    fn condition(
        &mut self,
        node: &Node,
        it: &'static FactType,
        own: Option<&str>,
    ) -> Option<expr::Expr> {
        let expr = self.expression(node, Some(it), own)?;
        if expr.ty == Ty::Bool {
            return Some(expr);
        }
        let message = format!("`where` is true or false, this is {}", expr.ty.name());
        self.faults.add(node.at, message);
        None
    }

    fn expression(
        &mut self,
        node: &Node,
        it: Option<&'static FactType>,
        own: Option<&str>,
    ) -> Option<expr::Expr> {
        let text = match &node.kind {
            // `pid: 4711` and `where: true` are written without quotes.
            Kind::Int(value) => value.to_string(),
            Kind::Bool(value) => value.to_string(),
            _ => self.faults.text(node, "an expression")?.to_owned(),
        };
        let names = Names {
            it,
            own,
            bound: &self.bound,
        };
        match check::compile(&text, names) {
            Ok(expr) => Some(expr),
            Err(problems) => {
                self.problems(node.at, &text, problems);
                None
            }
        }
    }

    fn hypothesis(&mut self, node: &Node) -> Option<HypothesisSpec> {
        const KEYS: &[&str] = &["id", "title", "prior", "kind", "severity", "remedy"];
        let what = "a hypothesis";
        let fields = self.faults.fields(node, what, KEYS);
        let id = self.id(&fields, what);
        let title = fields.need("title", what, &mut self.faults);
        let title = title.and_then(|node| self.template(node, "title"));
        let prior = fields
            .need("prior", what, &mut self.faults)
            .and_then(|node| {
                let prior = self.faults.number(node, "prior")?;
                if prior > 0.0 && prior < 1.0 {
                    return Some(prior);
                }
                self.faults.add(node.at, "a prior lies between 0 and 1");
                None
            });
        let kind = fields.get("kind").and_then(|node| self.kind(node));
        let severity = fields
            .get("severity")
            .and_then(|node| self.faults.word(node, "severity", SEVERITIES));
        let remedy = fields
            .get("remedy")
            .and_then(|node| self.template(node, "remedy"));
        if id.as_deref() == Some("other") {
            self.faults
                .add(fields.at, "`other` is always there and not listed");
        }
        Some(HypothesisSpec {
            id: id?,
            title: title?,
            prior: prior?,
            kind,
            severity,
            remedy,
        })
    }

    fn observation(&mut self, node: &Node) -> Option<Observation> {
        const KEYS: &[&str] = &[
            "id", "says", "when", "not_when", "group", "likely", "decisive",
        ];
        let what = "an observation";
        let fields = self.faults.fields(node, what, KEYS);
        let id = self.id(&fields, what);
        // Names bound within `when` may stand in `says`, but nowhere else.
        let outer = self.bound.clone();
        let when = fields.need("when", what, &mut self.faults);
        let when = when.and_then(|node| self.guard(node));
        let it = when.as_ref().and_then(Guard::fact);
        let says = fields.need("says", what, &mut self.faults);
        let says = says.and_then(|node| self.template_with(node, "says", it));
        self.bound.clone_from(&outer);
        let not_when = fields.get("not_when").and_then(|node| self.guard(node));
        self.bound = outer;
        let group = fields
            .get("group")
            .and_then(|node| self.faults.text(node, "group"));
        let group = group.map(str::to_owned);
        let likely = fields.get("likely").map(|node| self.likely(node));
        let decisive = match fields.get("decisive") {
            None => Vec::new(),
            Some(node) if matches!(node.kind, Kind::List(_)) => self.texts(node, "decisive"),
            Some(node) => {
                let one = self.faults.text(node, "decisive");
                one.map(str::to_owned).into_iter().collect()
            }
        };
        Some(Observation {
            id: id?,
            says: says?,
            when: when?,
            not_when,
            group,
            likely: likely.unwrap_or_default(),
            decisive,
        })
    }

    fn likely(&mut self, node: &Node) -> BTreeMap<String, f64> {
        let mut out = BTreeMap::new();
        let Kind::Map(entries) = &node.kind else {
            let message = format!("likely is a map, this is {}", node.kind.name());
            let hint = Some("HYPOTHESIS: usually".to_owned());
            self.faults.hinted(node.at, message, hint);
            return out;
        };
        for (key, value) in entries {
            let number = match value.kind {
                Kind::Int(_) | Kind::Float(_) => self
                    .faults
                    .number(value, "likelihood")
                    .map(|number| number.clamp(0.02, 0.98)),
                _ => self.faults.word(value, "likelihood", LIKELIHOODS),
            };
            if let Some(number) = number {
                out.insert(key.text.clone(), number);
            }
        }
        out
    }

    fn probe(&mut self, node: &Node) -> Option<ProbeSpec> {
        const KEYS: &[&str] = &["id", "run", "on", "cost", "safety", "why", "yields"];
        let what = "a probe";
        let fields = self.faults.fields(node, what, KEYS);
        let id = self.id(&fields, what);
        let run = fields.need("run", what, &mut self.faults);
        let run = run.and_then(|node| self.template(node, "run"));
        let why = fields.need("why", what, &mut self.faults);
        let why = why.and_then(|node| self.template(node, "why"));
        let on = fields.get("on").map_or(Some(Target::Scope), |node| {
            let words = [
                ("scope", Target::Scope),
                ("host", Target::Host),
                ("typist", Target::Typist),
            ];
            self.faults.word(node, "place", &words)
        });
        let cost = fields.get("cost").map_or(Some(3.0), |node| {
            let cost = self.faults.number(node, "cost")?;
            if cost > 0.0 {
                return Some(cost);
            }
            self.faults.add(node.at, "a cost is more than 0 seconds");
            None
        });
        let safety = fields.get("safety").and_then(|node| {
            let words = [
                ("read-only", "read-only"),
                ("heavy read", "heavy read"),
                ("changes state", "changes state"),
                ("destructive", "destructive"),
            ];
            self.faults.word(node, "safety", &words)
        });
        let yields = fields.get("yields").map(|node| self.texts(node, "yields"));
        Some(ProbeSpec {
            id: id?,
            run: run?,
            on: on?,
            cost: cost?,
            safety: safety.map(str::to_owned),
            why: why?,
            yields: yields.unwrap_or_default(),
        })
    }

    fn reference(&mut self, node: &Node) -> Option<Reference> {
        const KEYS: &[&str] = &["what", "version", "provenance", "url"];
        let what = "a reference";
        let fields = self.faults.fields(node, what, KEYS);
        let text = fields.need("what", what, &mut self.faults);
        let text = text.and_then(|node| self.faults.text(node, "what"));
        let version = fields
            .get("version")
            .and_then(|node| self.faults.text(node, "version"));
        let provenance = fields.need("provenance", what, &mut self.faults);
        let provenance = provenance.and_then(|node| {
            let words = ["recorded", "quoted", "manual"].map(|word| (word, word));
            self.faults.word(node, "provenance", &words)
        });
        let url = fields
            .get("url")
            .and_then(|node| self.faults.text(node, "url"));
        Some(Reference {
            what: text?.to_owned(),
            version: version.unwrap_or("").to_owned(),
            provenance: provenance?.to_owned(),
            url: url.map(str::to_owned),
        })
    }

    fn test(&mut self, node: &Node) -> Option<TestCase> {
        const KEYS: &[&str] = &["name", "expect", "healthy", "steps"];
        let what = "a test";
        let fields = self.faults.fields(node, what, KEYS);
        let name = fields.need("name", what, &mut self.faults);
        let name = name.and_then(|node| self.faults.text(node, "name"));
        let expect = fields.need("expect", what, &mut self.faults);
        let expect = expect.and_then(|node| {
            let words = [
                ("fires", Expect::Fires),
                ("silent", Expect::Silent),
                ("resolved", Expect::Resolved),
            ];
            self.faults.word(node, "expectation", &words)
        });
        let healthy = fields.get("healthy");
        let healthy = healthy.and_then(|node| self.faults.truth(node, "healthy"));
        let steps = fields.need("steps", what, &mut self.faults);
        let steps = steps.map(|node| {
            let list = self.faults.list(node, "steps");
            list.iter()
                .filter_map(|node| self.case_step(node))
                .collect::<Vec<_>>()
        });
        Some(TestCase {
            name: name?.to_owned(),
            expect: expect?,
            healthy: healthy.unwrap_or(false),
            steps: steps?,
            line: node.at.line,
        })
    }

    fn case_step(&mut self, node: &Node) -> Option<CaseStep> {
        const KEYS: &[&str] = &[
            "at", "took", "host", "command", "exit", "stdout", "stderr", "tty", "chunks",
        ];
        let what = "a step of a test";
        let fields = self.faults.fields(node, what, KEYS);
        let command = fields.need("command", what, &mut self.faults);
        let command = command.and_then(|node| self.faults.text(node, "command"));
        let number = |this: &mut Self, key: &str| {
            fields
                .get(key)
                .and_then(|node| this.faults.number(node, key))
        };
        let (at, took) = (number(self, "at"), number(self, "took"));
        let text = |this: &mut Self, key: &str| {
            let node = fields.get(key)?;
            if matches!(node.kind, Kind::Null) {
                return None;
            }
            this.faults.text(node, key).map(str::to_owned)
        };
        let (host, tty) = (text(self, "host"), text(self, "tty"));
        let (stdout, stderr) = (text(self, "stdout"), text(self, "stderr"));
        let exit = fields.get("exit").and_then(|node| self.case_exit(node));
        let chunks = fields.get("chunks").map(|node| {
            let list = self.faults.list(node, "chunks");
            list.iter()
                .filter_map(|node| self.case_chunk(node))
                .collect()
        });
        Some(CaseStep {
            at: at.unwrap_or(0.0),
            took,
            host,
            command: command?.to_owned(),
            exit,
            stdout,
            stderr,
            tty,
            chunks: chunks.unwrap_or_default(),
        })
    }

    fn case_exit(&mut self, node: &Node) -> Option<CaseExit> {
        let number = |this: &mut Self, node: &Node| {
            let number = this.faults.whole(node, "exit")?;
            i32::try_from(number).ok()
        };
        if matches!(node.kind, Kind::Map(_)) {
            let fields = self.faults.fields(node, "an exit", &["signal"]);
            let signal = fields.need("signal", "an exit", &mut self.faults)?;
            return number(self, signal).map(|signal| CaseExit::Signal { signal });
        }
        number(self, node).map(CaseExit::Code)
    }

    fn case_chunk(&mut self, node: &Node) -> Option<CaseChunk> {
        let what = "a chunk";
        let fields = self.faults.fields(node, what, &["at", "stream", "text"]);
        let at = fields
            .get("at")
            .and_then(|node| self.faults.number(node, "at"));
        let stream = fields.need("stream", what, &mut self.faults);
        let stream = stream.and_then(|node| {
            let words = [Stream::Stdout, Stream::Stderr, Stream::Tty];
            let words = words.map(|stream| (stream.name(), stream));
            self.faults.word(node, "stream", &words)
        });
        let text = fields.need("text", what, &mut self.faults);
        let text = text.and_then(|node| self.faults.text(node, "text"));
        Some(CaseChunk {
            at: at.unwrap_or(0.0),
            stream: stream?,
            text: text?.to_owned(),
        })
    }

    /// Names that refer to other parts of the playbook exist.
    fn check_names(
        &mut self,
        fields: &Fields<'_>,
        hypotheses: &[HypothesisSpec],
        observations: &[Observation],
        probes: &[ProbeSpec],
    ) {
        let at = |key: &str| fields.get(key).map_or(fields.at, |node| node.at);
        let known: Vec<&str> = hypotheses.iter().map(|one| one.id.as_str()).collect();
        let twice = |ids: &[&str]| {
            let mut seen = std::collections::BTreeSet::new();
            ids.iter()
                .find(|id| !seen.insert(**id))
                .map(|id| (*id).to_owned())
        };
        let observed: Vec<&str> = observations.iter().map(|one| one.id.as_str()).collect();
        let looks: Vec<&str> = probes.iter().map(|one| one.id.as_str()).collect();
        for (key, ids) in [
            ("hypotheses", &known),
            ("observations", &observed),
            ("probes", &looks),
        ] {
            if let Some(id) = twice(ids) {
                self.faults
                    .add(at(key), format!("two of the {key} are called `{id}`"));
            }
        }
        for observation in observations {
            let named = observation.likely.keys().chain(&observation.decisive);
            for id in named.filter(|id| id.as_str() != "other" && !known.contains(&id.as_str())) {
                let message = format!(
                    "observation `{}` speaks of `{id}`, which is no hypothesis",
                    observation.id
                );
                let hint = nearest(id, known.iter().copied());
                let hint = hint.map(|near| format!("did you mean `{near}`?"));
                self.faults.hinted(at("observations"), message, hint);
            }
        }
        let steps: Vec<String> = self.bound.keys().map(ToString::to_string).collect();
        let all = || {
            observed
                .iter()
                .copied()
                .chain(steps.iter().map(String::as_str))
        };
        for probe in probes {
            for id in &probe.yields {
                if !all().any(|known| known == id) {
                    let message = format!(
                        "probe `{}` yields `{id}`, which is neither an observation nor a step",
                        probe.id
                    );
                    let hint = nearest(id, all()).map(|near| format!("did you mean `{near}`?"));
                    self.faults.hinted(at("probes"), message, hint);
                }
            }
        }
    }
}

/// Seconds of a duration as people write it: `90s`, `10m`, `2h`, `1h30m`, `1d`, or a number.
pub(super) fn duration_s(text: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let end = unit
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        total += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3_600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = after.trim_start();
    }
    Some(total)
}
