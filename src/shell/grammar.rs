//! The text of one shell → invocations: pipelines, lists with their conditions, groups, loops,
//! branches, functions, substitutions. What another shell will read is handed to `carry.rs`.

use std::rc::Rc;

use shuck_ast::{
    Assignment, AssignmentValue, BinaryOp, BuiltinCommand, Command, CompoundCommand, DeclOperand,
    SimpleCommand, Stmt, StmtSeq, StmtTerminator,
};
use shuck_parser::parser::{ParseStatus, Parser};

use super::build::{Builder, Carried, Ctx, Field, Note, State, Stdin, Var};
use super::expand::{ShellName, after, replaced};
use super::guard::{too_wild, unless_it_falls};
use super::invoke::Simple;
use super::{Condition, HopKind, PipePlace, Tri, Word, crude};

/// Walks the syntax tree of one text.
pub(super) struct Walker<'a> {
    pub b: &'a mut Builder,
    pub src: &'a str,
    /// Where the simple command starts that takes the shell's place.
    pub replacing: Option<usize>,
    pub execs_last: Tri,
}

/// What stands for a statement in `&&` and `||`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub index: usize,
    pub negated: bool,
}

/// Reads a text as a shell does and adds its invocations. `shell` is the index of its
/// [`crate::shell::ShellText`], whose `execs_last` is set here.
pub(super) fn read(b: &mut Builder, text: &str, shell: ShellName, ctx: &Ctx, state: &mut State) {
    if !b.may_parse(text.len()) || !b.enter() {
        return;
    }
    let wild = too_wild(text);
    let parsed = match wild {
        Some(_) => None,
        None => unless_it_falls(|| Parser::new(text).parse()),
    };
    let Some(parsed) = parsed else {
        let reason = wild.unwrap_or("the parser fails on it");
        b.complain(
            0,
            text.len(),
            format!("this is not read as shell: {reason}"),
        );
        let mut walker = Walker {
            b,
            src: text,
            replacing: None,
            execs_last: Tri::No,
        };
        walker.crudely(text, ctx, state);
        walker.b.leave();
        return;
    };
    let body = &parsed.file.body;
    let last = last_command(body, text);
    let execs_last = replaced(shell, last.is_some());
    if let Some(shell) = b.tree.shells.get_mut(ctx.shell) {
        shell.execs_last = execs_last;
    }
    let mut walker = Walker {
        b,
        src: text,
        replacing: last,
        execs_last,
    };
    walker.sequence(body, ctx, state);
    if parsed.status != ParseStatus::Clean {
        let end = body
            .stmts
            .iter()
            .map(|stmt| stmt.span.end.offset())
            .max()
            .unwrap_or(0);
        let told = parsed.diagnostics.first();
        let (from, to) = told.map_or((end, text.len()), |diagnostic| {
            (diagnostic.span.start.offset(), diagnostic.span.end.offset())
        });
        let message = told.map_or("it could not be read", |diagnostic| &diagnostic.message);
        let message = walker.b.shown(message);
        walker
            .b
            .complain(from, to, format!("this is not complete shell: {message}"));
        if let Some(rest) = text.get(end..).filter(|rest| !rest.trim().is_empty()) {
            walker.crudely(rest, ctx, state);
        }
    }
    b.leave();
}

/// Where the simple command starts that bash runs in its own place, if the text has one.
fn last_command(body: &StmtSeq, text: &str) -> Option<usize> {
    if text.trim_start().starts_with("trap ")
        || text.contains("; trap ")
        || text.contains("\ntrap ")
    {
        return None;
    }
    let (last, before) = body.stmts.split_last()?;
    if matches!(last.terminator, Some(StmtTerminator::Background(_))) {
        return None;
    }
    let previous = before.last().filter(|previous| {
        let between = text.get(previous.span.end.offset()..last.span.start.offset());
        !between.is_some_and(|between| between.contains('\n'))
    });
    let plain = |stmt: &Stmt| match &stmt.command {
        Command::Simple(simple) if !stmt.negated && stmt.redirects.is_empty() => {
            Some(simple.span.start.offset())
        }
        _ => None,
    };
    match &last.command {
        Command::Binary(list) if matches!(list.op, BinaryOp::And | BinaryOp::Or) => {
            previous.is_none().then(|| plain(&list.right)).flatten()
        }
        _ => {
            let after_job = previous.is_some_and(|previous| {
                matches!(previous.terminator, Some(StmtTerminator::Background(_)))
            });
            (!after_job || before.len() > 1)
                .then(|| plain(last))
                .flatten()
        }
    }
}

impl Walker<'_> {
    /// Adds the commands of a text that the grammar does not read.
    fn crudely(&mut self, text: &str, ctx: &Ctx, state: &mut State) {
        for command in crude::commands(text) {
            let simple = Simple {
                fields: command.fields,
                stdin: ctx.stdin.clone(),
                ..Simple::default()
            };
            let more_follows = ctx.more_follows || command.more_follows;
            let ctx = Ctx {
                more_follows,
                ..ctx.clone()
            };
            self.run(simple, &ctx, state);
        }
    }

    pub(super) fn sequence(
        &mut self,
        body: &StmtSeq,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        if !self.b.enter() {
            return None;
        }
        let count = body.stmts.len();
        let mut outcome = None;
        for (number, stmt) in body.stmts.iter().enumerate() {
            let ctx = Ctx {
                more_follows: ctx.more_follows || number + 1 < count,
                ..ctx.clone()
            };
            outcome = self.statement(stmt, &ctx, state).or(outcome);
        }
        self.b.leave();
        outcome
    }

    fn statement(&mut self, stmt: &Stmt, ctx: &Ctx, state: &mut State) -> Option<Outcome> {
        let outcome = if matches!(stmt.terminator, Some(StmtTerminator::Background(_))) {
            let waits = background_shell_waits(stmt);
            let inner = Ctx {
                background: true,
                compound: ctx.compound || waits,
                keeper: ctx.keeper || waits && !redirected_away(stmt),
                stdin: if ctx.shell == 0 {
                    ctx.stdin.clone()
                } else {
                    background_stdin(ctx)
                },
                feed: ctx.feed.filter(|_| ctx.shell == 0),
                ..ctx.clone()
            };
            self.command(stmt, &inner, &mut state.clone())
        } else {
            self.command(stmt, ctx, state)
        };
        outcome.map(|outcome| Outcome {
            negated: outcome.negated != stmt.negated,
            ..outcome
        })
    }

    fn command(&mut self, stmt: &Stmt, ctx: &Ctx, state: &mut State) -> Option<Outcome> {
        match &stmt.command {
            Command::Simple(simple) => self.simple(simple, stmt, ctx, state),
            Command::Builtin(builtin) => {
                let (name, first, rest, assignments) = match builtin {
                    BuiltinCommand::Break(c) => ("break", &c.depth, &c.extra_args, &c.assignments),
                    BuiltinCommand::Continue(c) => {
                        ("continue", &c.depth, &c.extra_args, &c.assignments)
                    }
                    BuiltinCommand::Return(c) => ("return", &c.code, &c.extra_args, &c.assignments),
                    BuiltinCommand::Exit(c) => ("exit", &c.code, &c.extra_args, &c.assignments),
                };
                let words: Vec<_> = first.iter().chain(rest).collect();
                self.words(Some(name), &words, assignments, stmt, ctx, state)
            }
            Command::Decl(decl) => self.declaration(decl, stmt, ctx, state),
            Command::Binary(binary) => match binary.op {
                BinaryOp::And | BinaryOp::Or => self.list(stmt, ctx, state),
                BinaryOp::Pipe | BinaryOp::PipeAll => self.pipeline(stmt, ctx, state),
            },
            Command::Compound(compound) => self.compound(compound, stmt, ctx, state),
            Command::Function(function) => {
                let inner = Ctx {
                    condition: Condition::Branch,
                    compound: true,
                    ..ctx.clone()
                };
                self.statement(&function.body, &inner, &mut state.clone())
            }
            Command::AnonymousFunction(function) => self.statement(&function.body, ctx, state),
        }
    }

    /// `a && b || c`: flattened, because the tree leans left as deep as the list is long.
    fn list(&mut self, stmt: &Stmt, ctx: &Ctx, state: &mut State) -> Option<Outcome> {
        let mut items = Vec::new();
        let mut at = stmt;
        while let Command::Binary(binary) = &at.command
            && matches!(binary.op, BinaryOp::And | BinaryOp::Or)
            && (std::ptr::eq(at, stmt) || !at.negated)
        {
            items.push((Some(binary.op), &*binary.right));
            at = &binary.left;
        }
        items.push((None, at));
        items.reverse();
        let count = items.len();
        let mut outcome: Option<Outcome> = None;
        for (number, (op, item)) in items.into_iter().enumerate() {
            let condition = match (op, outcome) {
                (Some(op), Some(before)) => {
                    after(before.index, op == BinaryOp::And, before.negated)
                }
                _ => ctx.condition,
            };
            let inner = Ctx {
                condition,
                more_follows: ctx.more_follows || number + 1 < count,
                ..ctx.clone()
            };
            outcome = self.statement(item, &inner, state).or(outcome);
        }
        outcome
    }

    fn pipeline(&mut self, stmt: &Stmt, ctx: &Ctx, state: &mut State) -> Option<Outcome> {
        let mut stages = Vec::new();
        let mut at = stmt;
        let mut stderr_too = false;
        while let Command::Binary(binary) = &at.command
            && matches!(binary.op, BinaryOp::Pipe | BinaryOp::PipeAll)
        {
            stages.push((&*binary.right, stderr_too));
            stderr_too = binary.op == BinaryOp::PipeAll;
            at = &binary.left;
        }
        stages.push((at, stderr_too));
        stages.reverse();
        let count = stages.len();
        let pipeline = self.b.pipelines;
        self.b.pipelines += 1;
        let mut outcome = None;
        let mut stdin = ctx.stdin.clone();
        for (stage, (stmt, stderr_too)) in stages.into_iter().enumerate() {
            let from = self.b.tree.invocations.len();
            let inner = Ctx {
                pipe: Some(PipePlace {
                    pipeline,
                    stage,
                    stages: count,
                    stderr_too,
                }),
                piped_out: ctx.piped_out || stage + 1 < count,
                feed: ctx.feed.filter(|_| stage == 0),
                stdin,
                ..ctx.clone()
            };
            outcome = self.statement(stmt, &inner, &mut state.clone());
            stdin = self.output_text(from).map_or(Stdin::Pipe, Stdin::Text);
        }
        outcome
    }

    /// The text that a first stage writes, when the line holds it: `cat <<EOF`, `echo …`.
    fn output_text(&self, from: usize) -> Option<Rc<str>> {
        let [invocation] = self.b.tree.invocations.get(from..)? else {
            return None;
        };
        match (invocation.program(), self.b.notes.get(from)) {
            (
                "cat",
                Some(Note {
                    stdin: Stdin::Text(text),
                    ..
                }),
            ) if invocation.args().iter().all(|word| word.text == "-") => Some(text.clone()),
            ("echo" | "printf", _) => {
                let mut words: Vec<_> = invocation.args().iter().collect();
                if words
                    .first()
                    .is_some_and(|word| matches!(&*word.text, "-e" | "-n" | "-en"))
                {
                    words.remove(0);
                }
                let whole = words.iter().all(|word| word.literal);
                let is_format = |word: &&Word| word.text.contains('%');
                if !whole
                    || invocation.program() == "printf" && words.first().is_some_and(is_format)
                {
                    return None;
                }
                let words: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
                Some(Rc::from(words.join(" ").replace("\\n", "\n")))
            }
            _ => None,
        }
    }

    fn compound(
        &mut self,
        compound: &CompoundCommand,
        stmt: &Stmt,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let (redirects, stdin) = self.redirects(&stmt.redirects, ctx, state);
        let mut enclosing = ctx.enclosing.clone();
        if !redirects.is_empty() {
            Rc::make_mut(&mut enclosing).extend(redirects.iter().cloned());
        }
        let own_input = redirects.iter().any(|carried| carried.redirect.fd == 0);
        let inner = Ctx {
            compound: true,
            enclosing,
            feed: ctx.feed.filter(|_| !own_input),
            stdin,
            ..ctx.clone()
        };
        let repeated = Ctx {
            condition: Condition::Loop,
            more_follows: true,
            asked: false,
            ..inner.clone()
        };
        let branch = Ctx {
            condition: Condition::Branch,
            asked: false,
            ..inner.clone()
        };
        match compound {
            CompoundCommand::Subshell(body) => self.sequence(body, &inner, &mut state.clone()),
            CompoundCommand::BraceGroup(body) => self.sequence(body, &inner, state),
            CompoundCommand::If(c) => {
                let asked = Ctx {
                    more_follows: true,
                    asked: true,
                    ..inner.clone()
                };
                self.sequence(&c.condition, &asked, state);
                let mut outcome = self.sequence(&c.then_branch, &branch, state);
                for (condition, body) in &c.elif_branches {
                    let asked = Ctx {
                        more_follows: true,
                        asked: true,
                        ..branch.clone()
                    };
                    self.sequence(condition, &asked, state);
                    outcome = self.sequence(body, &branch, state).or(outcome);
                }
                if let Some(body) = &c.else_branch {
                    outcome = self.sequence(body, &branch, state).or(outcome);
                }
                outcome
            }
            CompoundCommand::For(c) => {
                let names = c.targets.iter().filter_map(|target| target.name.as_ref());
                let names: Vec<_> = names.map(|name| name.as_str()).collect();
                let words = c.words.as_deref().unwrap_or_default();
                self.each(&names, words, &c.body, (&repeated, &inner), state)
            }
            CompoundCommand::Foreach(c) => self.each(
                &[c.variable.as_str()],
                &c.words,
                &c.body,
                (&repeated, &inner),
                state,
            ),
            CompoundCommand::Select(c) => self.each(
                &[c.variable.as_str()],
                &c.words,
                &c.body,
                (&repeated, &repeated),
                state,
            ),
            CompoundCommand::Repeat(c) => self.sequence(&c.body, &repeated, state),
            CompoundCommand::ArithmeticFor(c) => self.sequence(&c.body, &repeated, state),
            CompoundCommand::While(c) => self.while_loop(&c.condition, &c.body, &repeated, state),
            CompoundCommand::Until(c) => self.while_loop(&c.condition, &c.body, &repeated, state),
            CompoundCommand::Case(c) => {
                self.fields(&c.word, ctx, state);
                let mut outcome = None;
                for item in &c.cases {
                    outcome = self.sequence(&item.body, &branch, state).or(outcome);
                }
                outcome
            }
            CompoundCommand::Arithmetic(c) => {
                self.test(c.span.slice(self.src), redirects, ctx, state)
            }
            CompoundCommand::Conditional(c) => {
                self.test(c.span.slice(self.src), redirects, ctx, state)
            }
            CompoundCommand::Time(c) => {
                let simple = Simple {
                    fields: vec![Field::plain("time")],
                    redirects,
                    stdin: inner.stdin.clone(),
                    replaces_shell: Tri::No,
                    ..Simple::default()
                };
                let index = self.push(&simple, ctx, state)?;
                self.b.tree.invocations.get_mut(index)?.hop = Some(HopKind::Wrapper);
                let timed = Ctx {
                    parent: Some(index),
                    ..inner
                };
                match &c.command {
                    Some(stmt) => self.statement(stmt, &timed, state),
                    None => Some(Outcome {
                        index,
                        negated: false,
                    }),
                }
            }
            CompoundCommand::Coproc(c) => {
                let inner = Ctx {
                    background: true,
                    stdin: Stdin::Pipe,
                    piped_out: true,
                    ..inner
                };
                self.statement(&c.body, &inner, &mut state.clone())
            }
            CompoundCommand::Always(c) => {
                self.sequence(&c.body, &inner, state);
                self.sequence(&c.always_body, &inner, state)
            }
        }
    }

    /// `[[ … ]]` and `(( … ))`.
    fn test(
        &mut self,
        source: &str,
        redirects: Vec<Carried>,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let literal = !source.contains(['$', '`']);
        let words = source.split_whitespace();
        let fields = words
            .map(|word| Field {
                literal,
                ..Field::plain(word)
            })
            .collect();
        let simple = Simple {
            fields,
            redirects,
            stdin: ctx.stdin.clone(),
            ..Simple::default()
        };
        let index = self.push(&simple, ctx, state)?;
        Some(Outcome {
            index,
            negated: false,
        })
    }

    fn simple(
        &mut self,
        simple: &SimpleCommand,
        stmt: &Stmt,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let words: Vec<_> = std::iter::once(&simple.name).chain(&simple.args).collect();
        let words = if simple.name.span == shuck_ast::Span::new() {
            &words[1..]
        } else {
            &words
        };
        self.words(None, words, &simple.assignments, stmt, ctx, state)
    }

    fn words(
        &mut self,
        name: Option<&str>,
        words: &[&shuck_ast::Word],
        assignments: &[Assignment],
        stmt: &Stmt,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let from = self.b.tree.invocations.len();
        let assignments = self.assignments(assignments, ctx, state);
        let mut fields: Vec<Field> = name.map(Field::plain).into_iter().collect();
        for word in words {
            fields.extend(self.fields(word, ctx, state));
        }
        let (redirects, stdin) = self.redirects(&stmt.redirects, ctx, state);
        let to = self.b.tree.invocations.len();
        let start = match &stmt.command {
            Command::Simple(simple) => Some(simple.span.start.offset()),
            _ => None,
        };
        let replaces = start.is_some() && start == self.replacing && !ctx.compound;
        let simple = Simple {
            fields,
            assignments,
            redirects,
            stdin,
            substitutions: (to > from).then_some((from, to)),
            replaces_shell: if replaces { self.execs_last } else { Tri::No },
        };
        self.run(simple, ctx, state)
    }

    fn assignments(
        &mut self,
        assignments: &[Assignment],
        ctx: &Ctx,
        state: &mut State,
    ) -> Vec<(String, Field)> {
        let mut out = Vec::new();
        for assignment in assignments {
            let field = match &assignment.value {
                AssignmentValue::Scalar(word) => self.field(word, ctx, state),
                AssignmentValue::Compound(array) => {
                    for element in &array.elements {
                        self.fields(element.value(), ctx, state);
                    }
                    let text = array.span.slice(self.src).to_owned();
                    Field {
                        text,
                        ..Field::default()
                    }
                }
            };
            let plain = assignment.target.subscript.is_none() && !assignment.append;
            let field = Field {
                literal: field.literal && plain,
                ..field
            };
            out.push((assignment.target.name.as_str().to_owned(), field));
        }
        out
    }

    /// `export A=1`, `declare`, `local`.
    fn declaration(
        &mut self,
        decl: &shuck_ast::DeclClause,
        stmt: &Stmt,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let from = self.b.tree.invocations.len();
        let mut assignments = self.assignments(&decl.assignments, ctx, state);
        let mut fields = vec![Field::plain(decl.variant.as_str())];
        let mut exported = decl.variant.as_str() == "export";
        for operand in &decl.operands {
            match operand {
                DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                    let field = self.field(word, ctx, state);
                    exported |= field.text.starts_with('-') && field.text.contains('x');
                    fields.push(field);
                }
                DeclOperand::Name(name) => {
                    let name = name.span.slice(self.src);
                    if exported && let Some(var) = state.vars.get(name).cloned() {
                        state.set(name, Var { exported, ..var });
                    }
                    fields.push(Field::plain(name));
                }
                DeclOperand::Assignment(assignment) => {
                    for (name, field) in
                        self.assignments(std::slice::from_ref(assignment), ctx, state)
                    {
                        self.remember(&name, &field, exported, state);
                        fields.push(Field {
                            text: format!("{name}={}", field.text),
                            ..field
                        });
                    }
                }
            }
        }
        let (redirects, stdin) = self.redirects(&stmt.redirects, ctx, state);
        let to = self.b.tree.invocations.len();
        assignments.retain(|(name, _)| !name.is_empty());
        let simple = Simple {
            fields,
            assignments,
            redirects,
            stdin,
            substitutions: (to > from).then_some((from, to)),
            replaces_shell: Tri::No,
        };
        self.run(simple, ctx, state)
    }
}

/// What a background job of a script reads: nothing, unless it is fed.
fn background_stdin(ctx: &Ctx) -> Stdin {
    match &ctx.stdin {
        Stdin::Open | Stdin::Lost => Stdin::Lost,
        other if ctx.pipe.is_some() => other.clone(),
        _ => Stdin::Lost,
    }
}

/// A background list, group or loop keeps a subshell of the shell waiting (measured, bash 5.2);
/// a simple command, a pipeline and a subshell of one simple command do not.
fn background_shell_waits(stmt: &Stmt) -> bool {
    let simple = |stmt: &Stmt| {
        matches!(
            stmt.command,
            Command::Simple(_) | Command::Builtin(_) | Command::Decl(_)
        )
    };
    match &stmt.command {
        Command::Compound(CompoundCommand::Subshell(body)) => match body.stmts.as_slice() {
            [only] => {
                let apart = matches!(only.terminator, Some(StmtTerminator::Background(_)));
                !simple(only) && !apart
            }
            _ => true,
        },
        Command::Binary(binary) => matches!(binary.op, BinaryOp::And | BinaryOp::Or),
        _ => !simple(stmt),
    }
}

/// The statement's own redirections take both output and errors away.
fn redirected_away(stmt: &Stmt) -> bool {
    use shuck_ast::RedirectKind::{Append, Clobber, DupOutput, Output, OutputBoth};
    let mut out = false;
    let mut err = false;
    for redirect in &stmt.redirects {
        match (redirect.kind, redirect.fd) {
            (OutputBoth, _) => (out, err) = (true, true),
            (Output | Clobber | Append, None | Some(1)) => out = true,
            (Output | Clobber | Append, Some(2)) => err = true,
            (DupOutput, Some(2)) => err = out,
            (DupOutput, Some(1)) => out = err,
            (DupOutput, None) => (out, err) = (true, true),
            _ => {}
        }
    }
    out && err
}
