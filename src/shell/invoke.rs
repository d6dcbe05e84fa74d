//! One simple command → one invocation, and what it leaves behind in its shell.

use std::rc::Rc;

use super::build::{
    Carried, Ctx, Field, MAX_VALUE_BYTES, Note, State, Stdin, Var, has_hole, redirect_bytes,
};
use super::grammar::{Outcome, Walker};
use super::{Invocation, PipePlace, RedirectTo, ShellText, Tri, Word};

/// Everything about a simple command before it becomes an invocation.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub fields: Vec<Field>,
    pub assignments: Vec<(String, Field)>,
    pub redirects: Vec<Carried>,
    pub stdin: Stdin,
    pub substitutions: Option<(usize, usize)>,
    pub replaces_shell: Tri,
}

impl Walker<'_> {
    /// Remembers an assignment for the commands after it.
    pub(super) fn remember(
        &mut self,
        name: &str,
        field: &Field,
        exported: bool,
        state: &mut State,
    ) {
        let known = !has_hole(&field.text)
            && field.text.len() <= MAX_VALUE_BYTES
            && (field.literal || field.text.starts_with("~/") && !field.text.contains(['*', '{']));
        let sources = self.b.holes_in(&field.text).find_map(|hole| hole.sources);
        let value = known.then(|| field.text.clone());
        let exported = exported || state.vars.get(name).is_some_and(|var| var.exported);
        state.set(
            name,
            Var {
                value,
                exported,
                sources,
            },
        );
    }

    /// Adds a simple command, follows the hop it may be, and lets it change the shell's state.
    pub(super) fn run(&mut self, simple: Simple, ctx: &Ctx, state: &mut State) -> Option<Outcome> {
        if simple.fields.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty()
        {
            return None;
        }
        let index = self.push(&simple, ctx, state)?;
        if simple.fields.is_empty() {
            for (name, field) in &simple.assignments {
                self.remember(name, field, false, state);
            }
        } else {
            self.effects(&simple, state);
            self.carry(index, &simple, ctx, state);
        }
        Some(Outcome {
            index,
            negated: false,
        })
    }

    /// Adds the invocation of a simple command.
    pub(super) fn push(&mut self, simple: &Simple, ctx: &Ctx, state: &State) -> Option<usize> {
        let words: Vec<Word> = simple
            .fields
            .iter()
            .map(|field| self.b.word(field))
            .collect();
        let mut assignments: Vec<(String, Word)> = Vec::new();
        let inherited: usize = ctx
            .env
            .iter()
            .map(|(name, word)| name.len() + word.text.len())
            .sum();
        if self.b.may_copy(inherited) {
            assignments.extend(ctx.env.iter().cloned());
        }
        for (name, field) in &simple.assignments {
            assignments.push((name.clone(), self.b.word(field)));
        }
        let mut redirects = Vec::new();
        let mut redirect_ids = Vec::new();
        for carried in &simple.redirects {
            redirects.push(carried.redirect.clone());
            redirect_ids.push(carried.id);
        }
        let own_redirects = redirects.len();
        for carried in state.redirects.iter().chain(ctx.enclosing.iter()) {
            if self.b.may_copy(redirect_bytes(&carried.redirect)) {
                redirects.push(carried.redirect.clone());
                redirect_ids.push(carried.id);
            }
        }
        let stderr_joins = redirects
            .iter()
            .take(own_redirects)
            .any(|redirect| redirect.fd == 2 && redirect.to == RedirectTo::Copy { of: 1 });
        let pipe = ctx.pipe.map(|pipe| PipePlace {
            stderr_too: pipe.stderr_too || stderr_joins && pipe.stage + 1 < pipe.stages,
            ..pipe
        });
        let set = |name: &str| name == "PYTHONUNBUFFERED";
        let unbuffered = assignments
            .iter()
            .any(|(name, word)| set(name) && !word.text.is_empty())
            || state
                .vars
                .iter()
                .any(|(name, var)| set(name) && var.exported && var.value.as_deref() != Some(""));
        let held = simple
            .fields
            .iter()
            .flat_map(|field| self.b.holes_in(&field.text));
        let sources: Vec<_> = held.filter_map(|hole| hole.sources).take(16).collect();
        let own_input = simple
            .redirects
            .iter()
            .any(|carried| carried.redirect.fd == 0);
        let feed = ctx.feed.filter(|_| !own_input);
        let place = (*ctx.place).clone();
        let note = Note {
            stdin: simple.stdin.clone(),
            redirect_ids,
            substitutions: simple.substitutions,
            sources,
            unbuffered,
            keeper: ctx.keeper,
            compound: ctx.compound,
            feed,
            replaces_shell: simple.replaces_shell,
            home: state.home.clone(),
            ..Note::default()
        };
        let cwd = state.cwd.clone().filter(|cwd| self.b.may_copy(cwd.len()));
        let invocation = Invocation {
            index: 0,
            parent: ctx.parent,
            hop: None,
            shell: ctx.shell,
            place,
            words,
            assignments,
            redirects,
            own_redirects,
            background: ctx.background,
            condition: ctx.condition,
            asked: ctx.asked,
            pipe,
            piped_out: ctx.piped_out || ctx.away,
            away: ctx.away,
            substituted: ctx.substituted,
            cwd,
            more_follows: ctx.more_follows,
        };
        self.b.push(invocation, note)
    }

    /// What a builtin leaves behind in its shell.
    fn effects(&mut self, simple: &Simple, state: &mut State) {
        let Some((program, args)) = simple.fields.split_first() else {
            return;
        };
        match program.text.as_str() {
            "cd" | "pushd" => {
                let target = args.iter().find(|arg| {
                    !arg.text.starts_with('-') || arg.text == "-" || arg.text.is_empty()
                });
                let target = target.map(|field| self.b.shown(&field.text));
                state.cwd = super::path::enter(
                    state.cwd.as_deref(),
                    target.as_deref(),
                    state.home.as_deref(),
                )
                .filter(|cwd| cwd.len() <= MAX_VALUE_BYTES);
            }
            "popd" => state.cwd = None,
            "exec" if args.is_empty() => {
                let mut all = (*state.redirects).clone();
                all.extend(simple.redirects.iter().cloned());
                if all.len() <= 32 {
                    state.redirects = Rc::new(all);
                }
            }
            "unset" => {
                for arg in args {
                    if state.vars.contains_key(&arg.text) {
                        Rc::make_mut(&mut state.vars).remove(&arg.text);
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" => {
                for arg in args {
                    let name = arg.text.as_str();
                    if !name.is_empty()
                        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    {
                        state.set(name, Var::default());
                    }
                }
            }
            _ => {}
        }
    }

    /// Starts a text that another shell reads, and gives its index.
    pub(super) fn start_shell(&mut self, shell: ShellText) -> usize {
        self.b.tree.shells.push(shell);
        self.b.tree.shells.len() - 1
    }
}
