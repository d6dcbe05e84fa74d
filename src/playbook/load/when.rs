//! Decoding of `when`: steps, guards, joins.

use std::sync::Arc;

use super::super::expr::{Expr, Ty};
use super::super::language::{
    ABSENT, FORMS, JOINS, Role, SERIES, SERIES_COUNT, STEP, SUBJECTS, TRENDS, WHEN,
};
use super::super::nearest::{meant, nearest};
use super::super::yaml::{Fields, Kind, Node};
use super::super::{
    Absent, Bind, Form, Guard, Join, JoinTo, Series, Step, SubjectKind, Trend, When,
};
use super::{Loader, duration_s};
use crate::fact::{CATALOGUE, FactType, fact_type};

impl Guard {
    /// The type of the fact it looks at, when it is one fact.
    pub(super) fn fact(&self) -> Option<&'static FactType> {
        match &self.step.form {
            Form::Fact(bind) => Some(bind.fact),
            Form::Series(series) => Some(series.bind.fact),
            _ => None,
        }
    }
}

impl Loader<'_> {
    pub(super) fn when(&mut self, node: &Node) -> Option<When> {
        let fields = self.faults.fields(node, &WHEN);
        let Some(steps_node) = fields.get("steps") else {
            self.lost.all = true;
            return None;
        };
        self.lost.all |= !matches!(steps_node.kind, Kind::List(_));
        let list = self.faults.list(steps_node, "steps");
        let steps: Vec<Step> = list
            .iter()
            .filter_map(|node| self.step(node, Role::Step))
            .collect();
        if list.is_empty() {
            self.faults
                .add(steps_node.at, "a playbook has at least one step");
        }
        if let Some(Form::Absent(_)) = steps.first().map(|step| &step.form) {
            let hint = "say first when its absence matters: a launch, a write, a kill".to_owned();
            let message = "an absence cannot be the first step";
            self.faults.hinted(steps_node.at, message, Some(hint));
        }
        let (unless, until) = (
            self.guards(&fields, "unless"),
            self.guards(&fields, "until"),
        );
        (steps.len() == list.len()).then_some(When {
            steps,
            unless,
            until,
        })
    }

    fn guards(&mut self, fields: &Fields<'_>, key: &str) -> Vec<Guard> {
        let outer = self.bound.clone();
        let list = fields.get(key).map(|node| self.faults.list(node, key));
        let mut guards = Vec::new();
        for node in list.unwrap_or_default() {
            if let Some(mut guard) = self.guard(node) {
                guard.anytime |= key == "unless" && guard.after.is_none();
                guards.push(guard);
            }
            self.bound.clone_from(&outer);
        }
        guards
    }

    pub(super) fn guard(&mut self, node: &Node) -> Option<Guard> {
        let step = self.step(node, Role::Guard)?;
        let Kind::Map(entries) = &node.kind else {
            return None;
        };
        let get = |wanted: &str| {
            let found = entries.iter().find(|(key, _)| key.text == wanted);
            found.map(|(_, node)| node)
        };
        let after = get("after").and_then(|node| {
            let name = self.faults.text(node, "after")?;
            if let Some((name, _)) = self.bound.get_key_value(name) {
                return Some(Arc::clone(name));
            }
            let known = self.bound.keys().map(AsRef::as_ref);
            if self.lost.has(name) {
                return None;
            }
            let hint = nearest(name, known).map(meant);
            let message = format!("nothing named `{name}` is bound by the steps");
            self.faults.hinted(node.at, message, hint);
            None
        });
        let anytime = get("anytime").and_then(|node| self.faults.truth(node, "anytime"));
        Some(Guard {
            step,
            after,
            anytime: anytime.unwrap_or(false),
        })
    }

    fn step(&mut self, node: &Node, role: Role) -> Option<Step> {
        let step = self.step_or_fault(node, role);
        if step.is_none() {
            self.lose(node);
        }
        step
    }

    /// The names that a step would bind if it were right are known, and their types are not.
    fn lose(&mut self, node: &Node) {
        for (key, value) in node.entries() {
            match (key.text.as_str(), &value.kind) {
                ("as" | "first", Kind::Text(name)) if !self.bound.contains_key(name.as_str()) => {
                    self.lost.names.insert(Arc::from(name.as_str()));
                }
                (_, Kind::Map(_)) => self.lose(value),
                (_, Kind::List(list)) => list.iter().for_each(|node| self.lose(node)),
                _ => {}
            }
        }
    }

    fn step_or_fault(&mut self, node: &Node, role: Role) -> Option<Step> {
        let fields = self.faults.fields(node, &STEP);
        if !fields.is_map {
            return None;
        }
        let mut forms: Vec<&str> = FORMS
            .iter()
            .map(|form| form.name)
            .filter(|key| fields.get(key).is_some())
            .collect();
        // `count: 2` beside `unchanged:` is a number of looks, not a form.
        if forms.len() > 1 {
            forms.retain(|form| *form != "count");
        }
        let [form] = forms[..] else {
            let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
            let hint = Some(format!("its form is one of: {}", names.join(", ")));
            let message = if forms.is_empty() {
                "a step says what it looks for".to_owned()
            } else {
                format!("a step has one form, not {}", forms.join(" and "))
            };
            self.faults.hinted(node.at, message, hint);
            return None;
        };
        self.keys_fit(&fields, form, role);
        let inner = match form {
            "fact" => self.bind(&fields).map(Form::Fact),
            "all" => self.group(&fields, form, role).map(Form::All),
            "any" => self.group(&fields, form, role).map(Form::Any),
            "absent" => self.absent(&fields).map(Form::Absent),
            _ => self.series(&fields, form).map(Form::Series),
        };
        let within_s = fields.get("within").and_then(|node| self.duration(node));
        let after_s = match role {
            Role::Step => fields.get("after").and_then(|node| self.duration(node)),
            Role::Guard => None,
        };
        let it = match &inner {
            Some(Form::Fact(bind)) => Some(bind.fact),
            Some(Form::Series(series)) => Some(series.bind.fact),
            _ => None,
        };
        let mut inner = inner?;
        if let Form::All(steps) | Form::Any(steps) = &mut inner {
            // A group's bounds are those of each of its steps.
            tighten(steps, within_s, after_s);
        }
        let says = fields
            .get("says")
            .and_then(|node| self.template_with(node, "says", it));
        Some(Step {
            form: inner,
            within_s,
            after_s,
            says,
            line: node.at.line,
            column: node.at.column,
        })
    }

    /// Keys that mean something for another form only.
    fn keys_fit(&mut self, fields: &Fields<'_>, form: &str, role: Role) {
        let beside = FORMS.iter().find(|known| known.name == form);
        let beside = beside.map_or(&[][..], |known| known.beside);
        let run = TRENDS.iter().any(|(name, ..)| *name == form);
        for name in STEP.names() {
            let fits = name == form
                || beside.contains(&name)
                || (role == Role::Guard && matches!(name, "anytime" | "after"));
            let Some((key, _)) = fields.entry(name).filter(|_| !fits) else {
                continue;
            };
            let hint = match name {
                "as" | "on" | "where" if run => format!("write it within `{form}: {{ … }}`"),
                "at_least" => "how many looks a run has is `count`".to_owned(),
                "count" if form == "fact" => {
                    "several of a fact: `count: { fact: … }, at_least: N`".to_owned()
                }
                "anytime" => "it belongs into `unless`, `until` and `when`".to_owned(),
                _ => format!("beside `{form}` may stand: {}", beside.join(", ")),
            };
            let message = format!("`{name}` does not belong beside `{form}`");
            self.faults.hinted(key.at, message, Some(hint));
        }
    }

    fn duration(&mut self, node: &Node) -> Option<f64> {
        let seconds = match &node.kind {
            Kind::Text(text) => duration_s(text),
            _ => None,
        };
        if seconds.is_none() {
            let hint = "write 30s, 10m, 2h or 1h30m".to_owned();
            self.faults
                .hinted(node.at, "a duration is wanted here", Some(hint));
        }
        seconds
    }

    fn group(&mut self, fields: &Fields<'_>, form: &str, role: Role) -> Option<Vec<Step>> {
        let node = fields.get(form)?;
        let list = self.faults.list(node, form);
        if list.is_empty() {
            self.faults
                .add(node.at, format!("`{form}` holds at least one step"));
        }
        let steps: Vec<Step> = list
            .iter()
            .filter_map(|node| self.step(node, role))
            .collect();
        (steps.len() == list.len()).then_some(steps)
    }

    fn name(&mut self, fields: &Fields<'_>, key: &str) -> Option<Arc<str>> {
        let node = fields.get(key)?;
        let name = self.faults.text(node, "a name")?;
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !fits || matches!(name, "it" | "launch" | "null" | "true" | "false" | "in") {
            let hint = "a letter first, then letters, digits and _; not `it`, not `launch`";
            self.faults.hinted(
                node.at,
                format!("`{name}` is no name"),
                Some(hint.to_owned()),
            );
            return None;
        }
        Some(Arc::from(name))
    }

    /// Binds a name from here on.
    fn declare(&mut self, name: Option<&Arc<str>>, fact: &'static FactType, node: &Fields<'_>) {
        let Some(name) = name else {
            return;
        };
        match self.bound.get(name) {
            Some(had) if had.name != fact.name => {
                let message = format!("`{name}` is a `{}` already", had.name);
                let hint = "one name, one type: take another name".to_owned();
                self.faults.hinted(node.at, message, Some(hint));
            }
            _ => {
                self.bound.insert(Arc::clone(name), fact);
            }
        }
    }

    fn bind(&mut self, fields: &Fields<'_>) -> Option<Bind> {
        let node = fields.get("fact")?;
        let fact_name = self.faults.text(node, "fact")?;
        let fact = fact_type(fact_name);
        if fact.is_none() {
            let known = CATALOGUE.iter().map(|ty| ty.name);
            let hint = nearest(fact_name, known).map_or_else(
                || {
                    let names: Vec<_> = CATALOGUE.iter().map(|ty| ty.name).collect();
                    format!("facts: {}", names.join(", "))
                },
                meant,
            );
            let message = format!("there is no fact `{fact_name}`");
            self.faults.hinted(node.at, message, Some(hint));
        }
        let name = self.name(fields, "as");
        let on = fields.get("on").map(|node| self.joins(node));
        let fact = fact?;
        let filter = fields.get("where");
        let filter = filter.map(|node| self.condition(node, fact, name.as_deref()));
        self.declare(name.as_ref(), fact, fields);
        let filter = match filter {
            Some(None) => return None, // said already
            Some(filter) => filter,
            None => None,
        };
        self.binds += 1;
        Some(Bind {
            name,
            fact,
            on: on.unwrap_or_default(),
            filter,
            slot: self.binds - 1,
        })
    }

    fn joins(&mut self, node: &Node) -> Vec<Join> {
        match &node.kind {
            Kind::List(list) => list.iter().flat_map(|node| self.joins(node)).collect(),
            Kind::Map(entries) => {
                self.faults.twice(entries);
                let mut joins = Vec::new();
                for (key, value) in entries {
                    let word = Node {
                        at: key.at,
                        kind: Kind::Text(key.text.clone()),
                    };
                    let kind = self.faults.word(&word, "join", JOINS);
                    let to = self.join_to(value);
                    if let (Some(kind), Some(to)) = (kind, to) {
                        joins.push(Join { kind, to: Some(to) });
                    }
                }
                joins
            }
            _ => {
                let kind = self.faults.word(node, "join", JOINS);
                kind.map(|kind| Join { kind, to: None })
                    .into_iter()
                    .collect()
            }
        }
    }

    fn join_to(&mut self, node: &Node) -> Option<JoinTo> {
        if let Kind::Text(text) = &node.kind
            && let Some((name, _)) = self.bound.get_key_value(text.as_str())
        {
            return Some(JoinTo::Binding(Arc::clone(name)));
        }
        self.expression(node, None, None).map(JoinTo::Value)
    }

    fn absent(&mut self, fields: &Fields<'_>) -> Option<Absent> {
        let node = fields.get("absent")?;
        let name = self.name(fields, "as");
        let subject = self.faults.fields(node, &ABSENT);
        let mut found = SUBJECTS
            .iter()
            .filter_map(|(key, kind, _)| subject.get(key).map(|node| (*kind, node)));
        let (Some((subject, value)), None) = (found.next(), found.next()) else {
            if subject.is_map {
                let hint = "{ process: … }, { pid: … }, { path: … }, { port: … } or { gpu: … }";
                let message = "`absent` names one subject";
                self.faults.hinted(node.at, message, Some(hint.to_owned()));
            }
            return None;
        };
        let value_node = value;
        let value: Expr = self.expression(value_node, None, None)?;
        let fits = match subject {
            SubjectKind::Process | SubjectKind::Path => value.ty.is_text(),
            SubjectKind::Pid | SubjectKind::Port | SubjectKind::Gpu => value.ty == Ty::Int,
        };
        if !fits {
            let message = format!("this subject cannot be {}", value.ty.name());
            self.faults.add(value_node.at, message);
            return None;
        }
        let looks = match subject {
            SubjectKind::Process | SubjectKind::Pid => "process_look",
            SubjectKind::Path => "file",
            SubjectKind::Port => "port_look",
            SubjectKind::Gpu => "gpu_look",
        };
        if let Some(ty) = fact_type(looks) {
            self.declare(name.as_ref(), ty, fields);
        }
        Some(Absent {
            name,
            subject,
            value,
        })
    }

    fn series(&mut self, fields: &Fields<'_>, form: &str) -> Option<Series> {
        let (_, trend, _) = TRENDS.iter().find(|(name, ..)| *name == form)?;
        let node = fields.get(form)?;
        let map = if *trend == Trend::Count {
            &SERIES_COUNT
        } else {
            &SERIES
        };
        let inner = self.faults.fields(node, map);
        if !inner.is_map {
            return None;
        }
        let bind = self.bind(&inner);
        let first = self.name(&inner, "first");
        let bind = bind?;
        self.declare(first.as_ref(), bind.fact, &inner);
        let numbers = matches!(trend, Trend::Rising | Trend::NotRising);
        let field = match inner.get("field") {
            Some(node) if *trend != Trend::Count => Some(self.field(node, bind.fact, numbers)?),
            None if *trend != Trend::Count => return None,
            _ => None,
        };
        let distinct = match inner.get("distinct") {
            Some(node) if *trend == Trend::Count => Some(self.field(node, bind.fact, false)?),
            _ => None,
        };
        let noise = inner.get("noise");
        let noise = noise.and_then(|node| self.faults.number(node, "noise"));
        let looks = if *trend == Trend::Count {
            "at_least"
        } else {
            "count"
        };
        let count = match fields.get(looks) {
            Some(node) => {
                let count = self.faults.whole(node, looks)?;
                let count = usize::try_from(count).ok().filter(|count| *count > 0);
                if count.is_none() {
                    self.faults.add(node.at, format!("`{looks}` is 1 or more"));
                }
                count?
            }
            None if *trend == Trend::Count => {
                self.faults.add(fields.at, "`count` needs `at_least`");
                return None;
            }
            None => 2,
        };
        let spanning = fields.get("spanning").and_then(|node| self.duration(node));
        Some(Series {
            trend: *trend,
            noise: noise.unwrap_or_else(|| field.map_or(0.0, noise_floor)),
            field,
            bind,
            first,
            distinct,
            count,
            spanning_s: spanning.unwrap_or(0.0),
        })
    }

    fn field(
        &mut self,
        node: &Node,
        fact: &'static FactType,
        number: bool,
    ) -> Option<&'static str> {
        let name = self.faults.text(node, "field")?;
        let Some(field) = fact.field(name) else {
            let known = fact.fields.iter().map(|field| field.name);
            let hint = nearest(name, known).map_or_else(|| fields_of(fact), meant);
            let hint = Some(hint);
            let message = format!("a `{}` has no field `{name}`", fact.name);
            self.faults.hinted(node.at, message, hint);
            return None;
        };
        if number && !Ty::from(field.ty).is_number() {
            let message = format!("`{name}` is {}, no number", Ty::from(field.ty).name());
            self.faults.add(node.at, message);
            return None;
        }
        Some(field.name)
    }
}

fn fields_of(fact: &FactType) -> String {
    let names: Vec<_> = fact.fields.iter().map(|field| field.name).collect();
    format!("its fields: {}", names.join(", "))
}

/// Gives the bounds in time of a group to its steps, where theirs are wider.
fn tighten(steps: &mut [Step], within_s: Option<f64>, after_s: Option<f64>) {
    for step in steps {
        step.within_s = match (step.within_s, within_s) {
            (Some(own), Some(group)) => Some(own.min(group)),
            (own, group) => own.or(group),
        };
        step.after_s = match (step.after_s, after_s) {
            (Some(own), Some(group)) => Some(own.max(group)),
            (own, group) => own.or(group),
        };
        if let Form::All(steps) | Form::Any(steps) = &mut step.form {
            tighten(steps, within_s, after_s);
        }
    }
}

/// Differences that mean nothing, by a field's unit.
fn noise_floor(field: &'static str) -> f64 {
    match field {
        // A context that is made or freed, and the driver's own use, move a GPU by this much.
        "memory_used_mib" | "most_used_mib" | "all_used_mib" | "used_mib" => 16.0,
        _ if field.ends_with("util_pct") || field == "cpu_pct" => 5.0,
        "power_w" => 5.0,
        "temp_c" => 3.0,
        "rss_kib" => 1_024.0,
        "cpu_time_s" => 0.5,
        _ => 0.0,
    }
}
