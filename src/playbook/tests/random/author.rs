//! Steps written at random.

use std::fmt::Write as _;

use super::{ASKED, Dice, NUMBERS, SHARED, WORDS};

pub(super) struct Author<'a> {
    pub(super) dice: &'a mut Dice,
    pub(super) types: Vec<&'static str>,
    /// Names bound by steps, with their types.
    pub(super) bound: Vec<(String, &'static str)>,
    pub(super) names: usize,
}

impl Author<'_> {
    pub(super) fn step(&mut self, first: bool, depth: usize) -> String {
        let form = self.dice.below(100);
        let mut step = match form {
            0..=49 => self.fact(first),
            50..=59 if !first => self.absent(),
            60..=77 => self.series(first),
            78..=88 if depth == 0 => self.group("any", first),
            89..=99 if depth == 0 => self.group("all", first),
            _ => self.fact(first),
        };
        if !first && depth == 0 {
            if self.dice.chance(15) {
                let seconds = self.dice.number(40);
                step.insert_str(step.len() - 2, &format!(", within: {seconds}s"));
            }
            if self.dice.chance(12) {
                let seconds = self.dice.number(15);
                step.insert_str(step.len() - 2, &format!(", after: {seconds}s"));
            }
        }
        step
    }

    pub(super) fn guard(&mut self) -> String {
        let outer = self.bound.len();
        let mut step = match self.dice.below(100) {
            0..=69 => self.fact(false),
            70..=79 => self.absent(),
            80..=89 => self.series(false),
            90..=94 => self.group("any", false),
            _ => self.group("all", false),
        };
        self.bound.truncate(outer);
        if self.dice.chance(30) && outer > 0 {
            let name = self.bound[self.dice.below(outer)].0.clone();
            step.insert_str(step.len() - 2, &format!(", after: {name}"));
        } else if self.dice.chance(20) {
            step.insert_str(step.len() - 2, ", anytime: true");
        }
        step
    }

    fn name(&mut self, ty: &'static str) -> String {
        let name = format!("N{}", self.names);
        self.names += 1;
        self.bound.push((name.clone(), ty));
        name
    }

    fn ty(&mut self) -> &'static str {
        // What was asked for before is asked for again, often.
        let again = (self.dice.chance(35) && !self.types.is_empty())
            .then(|| *self.dice.pick(&self.types))
            .filter(|ty| *ty != "dir_look");
        let ty = again.unwrap_or_else(|| self.dice.pick(ASKED).0);
        self.types.push(ty);
        ty
    }

    fn fact(&mut self, first: bool) -> String {
        let ty = self.ty();
        let mut out = format!("{{ fact: {ty}");
        out.push_str(&self.on(first));
        out.push_str(&self.condition(ty, 50));
        if self.dice.chance(20) {
            out.push_str(", says: \"it was {{it.host}}\"");
        }
        let name = self.name(ty);
        let _ = write!(out, ", as: {name}");
        out.push_str(" }");
        out
    }

    fn on(&mut self, first: bool) -> String {
        if first || self.dice.chance(30) {
            return String::new();
        }
        let kinds = [
            "command",
            "host",
            "host",
            "launch",
            "launch",
            "path",
            "log",
            "script",
            "pid",
            "port",
            "gpu",
            "container",
            "name",
            "session",
        ];
        let kind = *self.dice.pick(&kinds);
        if self.dice.chance(12) && !self.bound.is_empty() {
            let name = &self.bound[self.dice.below(self.bound.len())].0;
            return format!(", on: [{{ {kind}: {name} }}]");
        }
        let value = match kind {
            "host" => "\"'h'\"",
            "port" => "8000",
            "pid" => "1",
            "path" => "\"'/srv/run.log'\"",
            "gpu" => "0",
            _ => "",
        };
        if !value.is_empty() && self.dice.chance(12) {
            return format!(", on: [{{ {kind}: {value} }}]");
        }
        if self.dice.chance(15) {
            return format!(", on: [{kind}, container]");
        }
        format!(", on: [{kind}]")
    }

    fn condition(&mut self, ty: &str, percent: usize) -> String {
        if !self.dice.chance(percent) {
            return String::new();
        }
        let one = self.predicate(ty);
        let whole = match self.dice.below(10) {
            0 => format!("!({one})"),
            1 => format!("{one} || {}", self.predicate(ty)),
            2 | 3 => format!("({one}) && ({})", self.predicate(ty)),
            _ => one,
        };
        format!(", where: \"{whole}\"")
    }

    fn predicate(&mut self, ty: &str) -> String {
        if self.dice.chance(30) && !self.bound.is_empty() {
            let (name, other) = self.bound[self.dice.below(self.bound.len())].clone();
            let both = |types: &[&str]| types.contains(&ty) && types.contains(&other);
            let shared = SHARED.iter().find(|(_, types)| both(types));
            return match (self.dice.below(5), shared) {
                (0..=2, Some((field, _))) => format!("it.{field} == {name}.{field}"),
                (3, _) => format!("seconds_between({name}, it) > 5.0"),
                (4, _) => format!("from_after(it, {name})"),
                _ => format!("it.on_host == {name}.on_host"),
            };
        }
        if self.dice.chance(3) {
            return "launch.port == 8000".to_owned();
        }
        let asked = ASKED.iter().find(|(name, _)| *name == ty);
        (*self.dice.pick(asked.unwrap().1)).to_owned()
    }

    fn absent(&mut self) -> String {
        let field = |bound: &[(String, &str)], field: &str, types: &[&str]| {
            let found = bound.iter().rev().find(|(_, ty)| types.contains(ty));
            found.map(|(name, _)| format!("{name}.{field}"))
        };
        let (subject, value, look, other) = match self.dice.below(5) {
            0 => (
                "process",
                field(&self.bound, "pattern", &["kill"]).unwrap_or_else(|| "\"'serve'\"".into()),
                "process_look",
                "process",
            ),
            1 => (
                "pid",
                field(&self.bound, "pid", &["process"]).unwrap_or_else(|| "1".into()),
                "process_look",
                "process_look",
            ),
            2 => (
                "path",
                field(&self.bound, "log", &["launch"])
                    .unwrap_or_else(|| "\"'/srv/run.log'\"".into()),
                "file",
                "dir_look",
            ),
            3 => (
                "port",
                field(&self.bound, "port", &["launch"]).unwrap_or_else(|| "8000".into()),
                "port_look",
                "socket",
            ),
            _ => (
                "gpu",
                field(&self.bound, "index", &["gpu"]).unwrap_or_else(|| "0".into()),
                "gpu_look",
                "gpu",
            ),
        };
        self.types.extend([look, look, other]);
        let name = self.name(look);
        format!("{{ absent: {{ {subject}: {value} }}, as: {name} }}")
    }

    fn series(&mut self, first: bool) -> String {
        let form = *self
            .dice
            .pick(&["unchanged", "changed", "rising", "not_rising", "count"]);
        let (ty, field) = match form {
            "rising" | "not_rising" => *self.dice.pick(NUMBERS),
            "unchanged" | "changed" if self.dice.chance(60) => *self.dice.pick(WORDS),
            "unchanged" | "changed" => *self.dice.pick(NUMBERS),
            _ => {
                let all: Vec<_> = NUMBERS.iter().chain(WORDS).copied().collect();
                *self.dice.pick(&all)
            }
        };
        self.types.extend([ty, ty]);
        let mut inner = format!("fact: {ty}");
        inner.push_str(&self.on(first));
        inner.push_str(&self.condition(ty, 25));
        let count = 1 + self.dice.below(3);
        let looks = match form {
            "count" => format!(", at_least: {count}"),
            "changed" => String::new(),
            _ if self.dice.chance(50) => format!(", count: {count}"),
            _ => String::new(),
        };
        if form != "count" {
            let _ = write!(inner, ", field: {field}");
            if self.dice.chance(15) {
                inner.push_str(", noise: 45");
            }
        } else if self.dice.chance(40) {
            let _ = write!(inner, ", distinct: {field}");
        }
        let spanning = match self.dice.below(3) {
            0 => format!(", spanning: {}s", self.dice.number(15)),
            _ => String::new(),
        };
        let (first, last) = (self.name(ty), self.name(ty));
        format!("{{ {form}: {{ {inner}, first: {first}, as: {last} }}{looks}{spanning} }}")
    }

    fn group(&mut self, form: &str, first: bool) -> String {
        let steps: Vec<String> = (0..2).map(|_| self.step(first, 1)).collect();
        format!("{{ {form}: [{}] }}", steps.join(", "))
    }
}
