//! A playbook's YAML → [`Playbook`], strictly, every fault with its place.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::check;
use super::expr::{self, Lost, Names, Ty};
use super::language::{
    CASE_STEP, CHUNK, CLAIMS, EXIT, EXPECTATIONS, HYPOTHESIS, LIKELIHOODS, OBSERVATION, PLAYBOOK,
    PROBE, PROVENANCES, REFERENCE, SAFETIES, SCOPES, SEVERITIES, STREAMS, TARGETS, TEST,
};
use super::nearest::{meant, nearest};
use super::template::{self, Template};
use super::yaml::{self, At, Faults, Fields, Kind, Node, Source};
use super::{
    Claim, Fault, Guard, HypothesisSpec, Observation, Playbook, ProbeSpec, Reference, Target,
    TestCase,
};
use crate::fact::{FactType, fact_type};
use crate::playbook::steps::{CaseChunk, CaseExit, CaseStep};

mod when;

pub(super) fn load(name: &str, text: &str, trusted: bool) -> Result<Playbook, Vec<Fault>> {
    let tree = yaml::parse(text).map_err(|fault| vec![fault])?;
    let mut loader = Loader {
        source: Source(text),
        faults: Faults::default(),
        bound: BTreeMap::new(),
        lost: Lost::default(),
        trusted,
        binds: 0,
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
    /// What they would bind if they were right: a fault has been said, and what follows is none.
    lost: Lost,
    /// Its patterns are known to build.
    trusted: bool,
    /// Facts asked for so far.
    binds: usize,
}

impl Loader<'_> {
    fn playbook(&mut self, tree: &Node, name: &str, text: &str) -> Option<Playbook> {
        let fields = self.faults.fields(tree, &PLAYBOOK);
        if !fields.is_map {
            return None;
        }
        self.bind_launch();
        let id = self.id(&fields);
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
            self.faults.word(node, "claim", CLAIMS)
        });
        // Steps come first: they bind the names that everything else may use.
        let when = self.need(&fields, "when", |this, node| this.when(node));
        self.lost.all |= fields.get("when").is_none();
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
        self.check_names(&fields);
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
        let node = fields.get(key)?;
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

    fn id(&mut self, fields: &Fields<'_>) -> Option<String> {
        let node = fields.get("id")?;
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
            lost: &self.lost,
            trusted: self.trusted,
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
            lost: &self.lost,
            trusted: self.trusted,
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
        let fields = self.faults.fields(node, &HYPOTHESIS);
        let id = self.id(&fields);
        let title = fields.get("title");
        let title = title.and_then(|node| self.template(node, "title"));
        let prior = fields.get("prior").and_then(|node| {
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
        let fields = self.faults.fields(node, &OBSERVATION);
        let id = self.id(&fields);
        // Names bound within `when` may stand in `says`, but nowhere else.
        let outer = self.bound.clone();
        let when = fields.get("when");
        let when = when.and_then(|node| self.guard(node));
        let it = when.as_ref().and_then(Guard::fact);
        let says = fields.get("says").filter(|_| when.is_some());
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
        self.faults.twice(entries);
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
        let fields = self.faults.fields(node, &PROBE);
        let id = self.id(&fields);
        let run = fields.get("run");
        let run = run.and_then(|node| self.template(node, "run"));
        let why = fields.get("why");
        let why = why.and_then(|node| self.template(node, "why"));
        let on = fields.get("on").map_or(Some(Target::Scope), |node| {
            self.faults.word(node, "place", TARGETS)
        });
        let cost = fields.get("cost").map_or(Some(3.0), |node| {
            let cost = self.faults.number(node, "cost")?;
            if cost > 0.0 {
                return Some(cost);
            }
            self.faults.add(node.at, "a cost is more than 0 seconds");
            None
        });
        let safety = fields
            .get("safety")
            .and_then(|node| self.faults.word(node, "safety", SAFETIES));
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
        let fields = self.faults.fields(node, &REFERENCE);
        let text = fields.get("what");
        let text = text.and_then(|node| self.faults.text(node, "what"));
        let version = fields
            .get("version")
            .and_then(|node| self.faults.text(node, "version"));
        let provenance = fields.get("provenance");
        let provenance =
            provenance.and_then(|node| self.faults.word(node, "provenance", PROVENANCES));
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
        let fields = self.faults.fields(node, &TEST);
        let name = fields.get("name");
        let name = name.and_then(|node| self.faults.text(node, "name"));
        let expect = fields.get("expect");
        let expect = expect.and_then(|node| self.faults.word(node, "expectation", EXPECTATIONS));
        let healthy = fields.get("healthy");
        let healthy = healthy.and_then(|node| self.faults.truth(node, "healthy"));
        let steps = fields.get("steps");
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
        let fields = self.faults.fields(node, &CASE_STEP);
        let command = fields.get("command");
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
            let fields = self.faults.fields(node, &EXIT);
            let signal = fields.get("signal")?;
            return number(self, signal).map(|signal| CaseExit::Signal { signal });
        }
        number(self, node).map(CaseExit::Code)
    }

    fn case_chunk(&mut self, node: &Node) -> Option<CaseChunk> {
        let fields = self.faults.fields(node, &CHUNK);
        let at = fields
            .get("at")
            .and_then(|node| self.faults.number(node, "at"));
        let stream = fields.get("stream");
        let stream = stream.and_then(|node| self.faults.word(node, "stream", STREAMS));
        let text = fields.get("text");
        let text = text.and_then(|node| self.faults.text(node, "text"));
        Some(CaseChunk {
            at: at.unwrap_or(0.0),
            stream: stream?,
            text: text?.to_owned(),
        })
    }

    /// Names that refer to other parts of the playbook exist. What did not read otherwise is
    /// there all the same.
    fn check_names(&mut self, fields: &Fields<'_>) {
        let parts = |key: &str| -> &[Node] {
            match fields.get(key).map(|node| &node.kind) {
                Some(Kind::List(list)) => list,
                _ => &[],
            }
        };
        let ids = |key: &str| -> Vec<(&str, At)> {
            let ids = parts(key).iter().filter_map(|part| part.key("id"));
            let ids = ids.filter_map(|(_, id)| Some((id.as_text()?, id.at)));
            ids.collect()
        };
        for key in ["hypotheses", "observations", "probes"] {
            let ids = ids(key);
            for (place, (id, at)) in ids.iter().enumerate() {
                if let Some((_, first)) = ids.iter().take(place).find(|(other, _)| other == id) {
                    let message = format!("two of the {key} are called `{id}`");
                    let hint = format!("the other stands on line {}", first.line);
                    self.faults.hinted(*at, message, Some(hint));
                }
            }
        }
        let known: Vec<&str> = ids("hypotheses").into_iter().map(|(id, _)| id).collect();
        for part in parts("observations") {
            let likely = part.key("likely").into_iter();
            let likely = likely.flat_map(|(_, map)| map.entries());
            let named = likely.map(|(key, _)| (key.text.as_str(), key.at));
            let decisive = part.key("decisive").into_iter();
            let decisive = decisive.flat_map(|(_, node)| node.texts());
            for (id, at) in named.chain(decisive) {
                if id != "other" && !known.contains(&id) {
                    let hint = nearest(id, known.iter().copied()).map_or_else(
                        || {
                            if known.is_empty() {
                                "this playbook has no hypotheses".to_owned()
                            } else {
                                format!("hypotheses: {}", known.join(", "))
                            }
                        },
                        meant,
                    );
                    let message = format!("`{id}` is no hypothesis of this playbook");
                    self.faults.hinted(at, message, Some(hint));
                }
            }
        }
        let observed: Vec<&str> = ids("observations").into_iter().map(|(id, _)| id).collect();
        let steps = self.bound.keys().chain(&self.lost.names);
        let steps: Vec<Arc<str>> = steps.map(Arc::clone).collect();
        let names: Vec<&str> = observed
            .into_iter()
            .chain(steps.iter().map(AsRef::as_ref))
            .filter(|name| *name != "launch")
            .collect();
        for part in parts("probes").iter().filter(|_| !self.lost.all) {
            let yields = part.key("yields").into_iter();
            for (id, at) in yields.flat_map(|(_, node)| node.texts()) {
                if !names.contains(&id) && id != "launch" {
                    let message = format!("`{id}` is neither an observation nor a step");
                    let hint = nearest(id, names.iter().copied())
                        .map_or_else(|| format!("there are: {}", names.join(", ")), meant);
                    self.faults.hinted(at, message, Some(hint));
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
