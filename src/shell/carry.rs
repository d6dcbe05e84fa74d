//! Follows a hop: what the other side gets, in which place, directory and environment.

use std::rc::Rc;

use super::build::{
    Builder, Ctx, Feed, Field, MAX_HOPS, MAX_VALUE_BYTES, State, Stdin, Var, is_one_hole,
};
use super::expand::ShellName;
use super::grammar::{Walker, read};
use super::hops::{self, Branch, Cwd, Hop, Load};
use super::invoke::Simple;
use super::{Condition, EarlyExpansion, HopKind, Place, RedirectTo, ShellText, Tri, Word};

impl Walker<'_> {
    /// If the invocation is a hop, adds what it carries below it.
    pub(super) fn carry(&mut self, index: usize, simple: &Simple, ctx: &Ctx, state: &mut State) {
        self.expanded_heredoc(index, simple, ctx);
        let fed = match &simple.stdin {
            Stdin::Text(text) => Some(text.clone()),
            _ => None,
        };
        let Some(mut hop) = hops::find(&simple.fields, fed.is_some()) else {
            return;
        };
        if hop.kind == HopKind::Container {
            self.engine_host(&mut hop, simple, ctx, state);
        }
        if ctx.hops >= MAX_HOPS {
            self.b.complain(
                0,
                0,
                format!("more than {MAX_HOPS} hops inside each other are not followed"),
            );
            return;
        }
        if let Some(invocation) = self.b.tree.invocations.get_mut(index) {
            invocation.hop = Some(hop.kind);
        }
        if let Some(note) = self.b.notes.get_mut(index) {
            note.tty = hop.tty;
            note.away = hop.away;
            note.log.clone_from(&hop.log);
        }
        if hop.lost_quotes {
            let how = "lost_quotes".to_owned();
            self.b.tree.early.push(EarlyExpansion {
                hop: index,
                names: Vec::new(),
                how,
                meant_inside: Vec::new(),
            });
        }
        for (number, branch) in hop.branches.iter().enumerate() {
            if number == 0
                && let Load::Text {
                    text,
                    same_process: false,
                    ..
                } = &branch.load
            {
                expanded_text(self.b, index, ctx.shell, text);
            }
            self.branch(index, simple, &hop, branch, fed.as_deref(), ctx, state);
        }
    }

    /// `DOCKER_HOST=ssh://h docker exec …`: the engine is on another machine.
    fn engine_host(&self, hop: &mut Hop, simple: &Simple, ctx: &Ctx, state: &State) {
        let own = simple.assignments.iter().rev();
        let own = own.map(|(name, field)| (name.as_str(), field.text.as_str()));
        let handed = ctx.env.iter().rev();
        let handed = handed.map(|(name, word)| (name.as_str(), word.text.as_str()));
        let kept = state.vars.get("DOCKER_HOST").filter(|var| var.exported);
        let kept = kept.and_then(|var| var.value.as_deref());
        let url = own
            .chain(handed)
            .find(|(name, _)| *name == "DOCKER_HOST")
            .map(|(_, value)| value)
            .or(kept);
        let engine = simple.fields.first().is_some_and(|program| {
            ["docker", "podman", "docker-compose"].contains(&program.text.as_str())
        });
        if let Some(host) = url
            .filter(|_| engine)
            .and_then(hops::container::engine_host)
        {
            for branch in &mut hop.branches {
                branch.host = branch.host.take().or_else(|| Some(host.clone()));
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a branch is what its hop and its place make it"
    )]
    fn branch(
        &mut self,
        index: usize,
        simple: &Simple,
        hop: &Hop,
        branch: &Branch,
        fed: Option<&str>,
        ctx: &Ctx,
        state: &mut State,
    ) {
        let same_process = matches!(
            branch.load,
            Load::Text {
                same_process: true,
                ..
            }
        );
        let local = matches!(
            hop.kind,
            HopKind::Wrapper | HopKind::ShellText | HopKind::ShellStdin
        );
        let wrapper = hop.kind == HopKind::Wrapper || same_process;
        let mut enclosing = Vec::new();
        if local {
            if !same_process {
                enclosing.extend(state.redirects.iter().cloned());
            }
            enclosing.extend(ctx.enclosing.iter().cloned());
            enclosing.extend(simple.redirects.iter().cloned());
        }
        let stdin = match (hop.stdin_lost, &branch.load) {
            (true, _) => Stdin::Lost,
            (false, Load::Script { .. }) => Stdin::Open,
            _ => simple.stdin.clone(),
        };
        let own_input = simple
            .redirects
            .iter()
            .any(|carried| carried.redirect.fd == 0);
        let feed = match &branch.load {
            Load::Script { .. } => Some(Feed {
                from: index,
                script: true,
            }),
            _ if hop.stdin_lost || own_input || !local => None,
            _ => ctx.feed,
        };
        let inner = Ctx {
            shell: ctx.shell,
            parent: Some(index),
            place: Rc::new(self.place(branch, ctx)),
            background: local && ctx.background || hop.background,
            condition: if wrapper {
                ctx.condition
            } else {
                Condition::Always
            },
            pipe: if wrapper { ctx.pipe } else { None },
            substituted: ctx.substituted,
            more_follows: wrapper && ctx.more_follows,
            asked: ctx.asked,
            feed,
            compound: wrapper && ctx.compound,
            keeper: wrapper && ctx.keeper,
            piped_out: ctx.piped_out,
            away: ctx.away || hop.away,
            enclosing: Rc::new(enclosing),
            stdin,
            env: Rc::new(self.environment(hop, simple, ctx)),
            hops: ctx.hops + 1,
        };
        if same_process {
            self.load(index, simple, branch, fed, &inner, state);
            return;
        }
        let mut child = match hop.kind {
            HopKind::Wrapper => State {
                redirects: Rc::default(),
                ..state.clone()
            },
            _ if hop.keeps_env => State {
                redirects: Rc::default(),
                ..state.for_child()
            },
            _ => State {
                cwd: state.cwd.clone(),
                home: state.home.clone(),
                ..State::default()
            },
        };
        match &hop.cwd {
            Cwd::Keep => {}
            Cwd::Home => {
                let root = inner.place.user.as_deref() == Some("root");
                let home = if root { "/root" } else { "~" };
                (child.cwd, child.home) = (None, Some(home.to_owned()));
            }
            Cwd::Unknown => (child.cwd, child.home) = (None, None),
            Cwd::At(dir) => {
                let dir = self.b.shown(dir);
                child.cwd =
                    super::path::enter(child.cwd.as_deref(), Some(&dir), child.home.as_deref());
            }
        }
        for (name, word) in inner.env.iter() {
            let value =
                (word.literal && word.text.len() <= MAX_VALUE_BYTES).then(|| word.text.clone());
            child.set(
                name,
                Var {
                    value,
                    exported: true,
                    sources: None,
                },
            );
        }
        self.load(index, simple, branch, fed, &inner, &mut child);
    }

    fn load(
        &mut self,
        index: usize,
        simple: &Simple,
        branch: &Branch,
        fed: Option<&str>,
        ctx: &Ctx,
        state: &mut State,
    ) {
        let stdin = ctx.stdin.clone();
        match &branch.load {
            Load::Words(fields) => {
                let exec = simple
                    .fields
                    .first()
                    .is_some_and(|field| field.text == "exec");
                let replaces_shell = match simple.replaces_shell {
                    Tri::No if exec && !ctx.compound && ctx.pipe.is_none() => Tri::Yes,
                    replaces => replaces,
                };
                let fields = fields.clone();
                self.run(
                    Simple {
                        fields,
                        stdin,
                        replaces_shell,
                        ..Simple::default()
                    },
                    ctx,
                    state,
                );
            }
            Load::Session => {
                self.push(
                    &Simple {
                        stdin,
                        ..Simple::default()
                    },
                    ctx,
                    state,
                );
            }
            Load::Text {
                text, argv, shell, ..
            } => {
                let shown = self.b.shown(text);
                let argv = argv
                    .as_ref()
                    .map(|front| format!("{} {shown}", self.b.shown(front)));
                self.shell(index, text, shown, argv, *shell, ctx, state);
            }
            Load::Script { argv } => {
                let text = fed.unwrap_or_default();
                let shown = self.b.shown(text);
                let argv = argv.as_ref().map(|argv| self.b.shown(argv));
                self.shell(index, text, shown, argv, ShellName::Never, ctx, state);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a shell is all of these")]
    fn shell(
        &mut self,
        index: usize,
        text: &str,
        shown: String,
        argv: Option<String>,
        name: ShellName,
        ctx: &Ctx,
        state: &mut State,
    ) {
        let shell = self.start_shell(ShellText {
            started_by: Some(index),
            text: shown,
            argv,
            execs_last: Tri::No,
        });
        read(
            self.b,
            text,
            name,
            &Ctx {
                shell,
                ..ctx.clone()
            },
            state,
        );
    }

    fn place(&self, branch: &Branch, ctx: &Ctx) -> Place {
        let mut place = (*ctx.place).clone();
        let known = |name: &Option<String>| {
            name.as_ref()
                .filter(|name| name.len() <= MAX_VALUE_BYTES)
                .map(|name| self.b.shown(name))
        };
        if let Some(host) = known(&branch.host) {
            place = Place {
                host: Some(host),
                user: None,
                container: None,
            };
        }
        if let Some(container) = known(&branch.container) {
            place.container = Some(container);
            place.user = None;
        }
        if let Some(user) = known(&branch.user) {
            place.user = Some(user);
        }
        place
    }

    fn environment(&mut self, hop: &Hop, simple: &Simple, ctx: &Ctx) -> Vec<(String, Word)> {
        let mut env = Vec::new();
        if hop.keeps_env {
            let bytes: usize = ctx
                .env
                .iter()
                .map(|(name, word)| name.len() + word.text.len())
                .sum();
            if self.b.may_copy(bytes) {
                env.extend(ctx.env.iter().cloned());
            }
            for (name, field) in &simple.assignments {
                env.push((name.clone(), self.b.word(field)));
            }
        }
        for (name, field) in &hop.env {
            env.push((name.clone(), self.b.word(field)));
        }
        env
    }

    /// What a here-document feeds is read by another shell: it goes through a hop, into a file or
    /// down a pipe.
    fn read_elsewhere(&self, index: usize, simple: &Simple) -> bool {
        let Some(invocation) = self.b.tree.invocations.get(index) else {
            return false;
        };
        let to_file = simple.redirects.iter().any(|carried| {
            matches!(
                carried.redirect.to,
                RedirectTo::Truncate { .. } | RedirectTo::Append { .. }
            )
        });
        let piped = invocation
            .pipe
            .is_some_and(|pipe| pipe.stage + 1 < pipe.stages);
        to_file
            || piped
            || invocation.program() == "tee"
            || hops::find(&simple.fields, true).is_some()
    }

    /// Variables that a here-document's writer may have meant for its reader.
    fn expanded_heredoc(&mut self, index: usize, simple: &Simple, ctx: &Ctx) {
        let holds = simple.redirects.iter().any(|carried| {
            carried.redirect.fd == 0
                && matches!(carried.redirect.to, RedirectTo::Text { literal: false, .. })
        });
        if holds
            && self.read_elsewhere(index, simple)
            && let Stdin::Text(text) = &simple.stdin
        {
            let names = expanded_names(self.b, ctx.shell, text);
            if !names.is_empty() {
                let how = "heredoc".to_owned();
                self.b.tree.early.push(EarlyExpansion {
                    hop: index,
                    names,
                    how,
                    meant_inside: Vec::new(),
                });
            }
        }
    }
}

/// Notes the variables of a text that the shell before it expanded.
fn expanded_text(b: &mut Builder, hop: usize, shell: usize, text: &str) {
    if is_one_hole(text) {
        // The whole text comes from a variable or a command: that is what it is for.
        return;
    }
    let quoted = b
        .holes_in(text)
        .any(|hole| hole.shell == shell && hole.quoted && !hole.assigned);
    let names = expanded_names(b, shell, text);
    if !names.is_empty() {
        let how = if quoted { "double_quotes" } else { "unquoted" }.to_owned();
        b.tree.early.push(EarlyExpansion {
            hop,
            names,
            how,
            meant_inside: Vec::new(),
        });
    }
}

fn expanded_names(b: &Builder, shell: usize, text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for hole in b.holes_in(text) {
        if hole.shell == shell && !hole.assigned && !names.contains(&hole.name) && names.len() < 64
        {
            names.push(hole.name.clone());
        }
    }
    names
}

/// A field for a word that is published already.
pub(super) fn field_of(word: &Word) -> Field {
    Field {
        quoted: word.quoted,
        ..Field::plain(&word.text)
    }
}
