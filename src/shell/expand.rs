//! Words of the grammar → words as the program gets them: quotes go, known variables are filled
//! in, substitutions are walked, and what cannot be known becomes a [`Hole`].

use std::rc::Rc;

use shuck_ast::{
    BourneParameterExpansion, HeredocBody, HeredocBodyPart, LiteralText, ParameterExpansion,
    ParameterExpansionSyntax, ParameterOp, RedirectKind, RedirectTarget, Span, StmtSeq,
    Word as AstWord, WordPart, WordPartNode,
};

use super::build::{Carried, Ctx, Field, Hole, State, Stdin, has_hole};
use super::grammar::Walker;
use super::{Condition, Redirect, RedirectTo, Tri};

/// Fields of one word under construction.
#[derive(Default)]
struct Fields {
    done: Vec<Field>,
    current: Option<Field>,
}

impl Fields {
    fn open(&mut self) -> &mut Field {
        self.current.get_or_insert_with(|| Field {
            literal: true,
            ..Field::default()
        })
    }

    fn split(&mut self) {
        self.done.extend(self.current.take());
    }
}

impl Walker<'_> {
    /// The words that one written word becomes: mostly one, more when an unquoted variable with a
    /// known value is split.
    pub(super) fn fields(&mut self, word: &AstWord, ctx: &Ctx, state: &mut State) -> Vec<Field> {
        let mut fields = Fields::default();
        if word.has_active_brace_expansion() {
            fields.open().literal = false;
        }
        let raw = word.span.slice(self.src);
        if raw.starts_with('~') {
            fields.open().literal = false;
        }
        for part in &word.parts {
            self.part(part, false, &mut fields, ctx, state);
        }
        fields.split();
        fields.done
    }

    /// A word where nothing is split: the target of a redirection, the value of an assignment.
    pub(super) fn field(&mut self, word: &AstWord, ctx: &Ctx, state: &mut State) -> Field {
        let mut fields = self.fields(word, ctx, state).into_iter();
        let mut first = fields.next().unwrap_or(Field {
            literal: true,
            ..Field::default()
        });
        for more in fields {
            first.text.push(' ');
            first.text.push_str(&more.text);
            first.literal &= more.literal;
            first.quoted |= more.quoted;
        }
        first
    }

    fn part(
        &mut self,
        part: &WordPartNode,
        quoted: bool,
        fields: &mut Fields,
        ctx: &Ctx,
        state: &mut State,
    ) {
        let shown = part.span.slice(self.src);
        match &part.kind {
            WordPart::Literal(text) => self.literal(text, part.span, quoted, fields.open()),
            WordPart::SingleQuoted { value, .. } => {
                let text = value.slice(self.src);
                let field = fields.open();
                field.quoted = true;
                field.quoted_blank |= text.contains(char::is_whitespace);
                field.text.push_str(text);
            }
            WordPart::DoubleQuoted { parts, .. } => {
                let field = fields.open();
                field.quoted = true;
                for part in parts {
                    self.part(part, true, fields, ctx, state);
                }
            }
            WordPart::Variable(name) => {
                self.variable(name.as_str(), shown, quoted, fields, ctx, state);
            }
            WordPart::Parameter(parameter) => {
                self.parameter(parameter, shown, quoted, fields, ctx, state);
            }
            WordPart::CommandSubstitution { body, .. } => {
                let sources = self.substitution(body, true, ctx, state);
                self.unknown(shown, shown, quoted, sources, fields.open(), ctx, state);
            }
            WordPart::ProcessSubstitution { body, is_input } => {
                let sources = self.substitution(body, *is_input, ctx, state);
                self.unknown(shown, shown, quoted, sources, fields.open(), ctx, state);
            }
            WordPart::ParameterExpansion { reference, .. }
            | WordPart::Substring { reference, .. }
            | WordPart::ArraySlice { reference, .. }
            | WordPart::IndirectExpansion { reference, .. }
            | WordPart::Transformation { reference, .. } => {
                let name = reference.name.as_str();
                self.unknown(shown, name, quoted, None, fields.open(), ctx, state);
            }
            WordPart::Length(reference)
            | WordPart::ArrayAccess(reference)
            | WordPart::ArrayLength(reference)
            | WordPart::ArrayIndices(reference) => {
                let name = reference.name.as_str();
                self.unknown(shown, name, quoted, None, fields.open(), ctx, state);
            }
            WordPart::ArithmeticExpansion { .. }
            | WordPart::PrefixMatch { .. }
            | WordPart::ZshQualifiedGlob(_) => {
                self.unknown(shown, shown, quoted, None, fields.open(), ctx, state);
            }
        }
    }

    /// Literal text: the parser keeps some backslashes and drops others, so the source is read
    /// again; only made-up literals (the `1` of `2>&1`) have no source.
    fn literal(&self, text: &LiteralText, span: Span, quoted: bool, field: &mut Field) {
        let raw = match span.slice(self.src) {
            "" => text.as_str(self.src, span),
            raw => raw,
        };
        let mut chars = raw.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '\\' {
                field.literal &= quoted || !matches!(c, '*' | '?' | '[');
                field.quoted_blank |= quoted && c.is_whitespace();
                field.text.push(c);
                continue;
            }
            match chars.peek() {
                Some('\n') => {
                    chars.next();
                }
                Some(&next) if !quoted || matches!(next, '"' | '\\' | '$' | '`') => {
                    chars.next();
                    field.quoted = true;
                    field.quoted_blank |= next.is_whitespace();
                    field.text.push(next);
                }
                _ => field.text.push('\\'),
            }
        }
    }

    fn variable(
        &mut self,
        name: &str,
        shown: &str,
        quoted: bool,
        fields: &mut Fields,
        ctx: &Ctx,
        state: &State,
    ) {
        let known = state.vars.get(name).and_then(|var| var.value.clone());
        let Some(value) = known.filter(|value| self.b.may_copy(value.len())) else {
            let sources = state.vars.get(name).and_then(|var| var.sources);
            self.unknown(shown, name, quoted, sources, fields.open(), ctx, state);
            return;
        };
        if quoted {
            let field = fields.open();
            field.quoted_blank |= value.contains(char::is_whitespace);
            field.text.push_str(&value);
            return;
        }
        let mut parts = value.split([' ', '\t', '\n']).peekable();
        while let Some(part) = parts.next() {
            if !part.is_empty() {
                let field = fields.open();
                field.text.push_str(part);
                field.literal &= !part.contains(['*', '?', '[']);
            }
            if parts.peek().is_some() {
                fields.split();
            }
        }
    }

    fn parameter(
        &mut self,
        parameter: &ParameterExpansion,
        shown: &str,
        quoted: bool,
        fields: &mut Fields,
        ctx: &Ctx,
        state: &mut State,
    ) {
        let ParameterExpansionSyntax::Bourne(bourne) = &parameter.syntax else {
            self.unknown(shown, shown, quoted, None, fields.open(), ctx, state);
            return;
        };
        let name = match bourne {
            BourneParameterExpansion::Access { reference } if reference.subscript.is_none() => {
                self.variable(reference.name.as_str(), shown, quoted, fields, ctx, state);
                return;
            }
            BourneParameterExpansion::Operation {
                reference,
                operator,
                ..
            } if reference.subscript.is_none()
                && matches!(
                    **operator,
                    ParameterOp::UseDefault | ParameterOp::AssignDefault | ParameterOp::Error
                )
                && state
                    .vars
                    .get(reference.name.as_str())
                    .and_then(|var| var.value.as_deref())
                    .is_some_and(|value| !value.is_empty()) =>
            {
                self.variable(reference.name.as_str(), shown, quoted, fields, ctx, state);
                return;
            }
            BourneParameterExpansion::Access { reference }
            | BourneParameterExpansion::Length { reference }
            | BourneParameterExpansion::Indices { reference }
            | BourneParameterExpansion::Indirect { reference, .. }
            | BourneParameterExpansion::Slice { reference, .. }
            | BourneParameterExpansion::Operation { reference, .. }
            | BourneParameterExpansion::Transformation { reference, .. } => reference.name.as_str(),
            BourneParameterExpansion::PrefixMatch { prefix, .. } => prefix.as_str(),
        };
        // The walk of `${X:-$(cmd)}` is for its commands only; the value stays unknown.
        let mut sources = None;
        if let Some(word) = bourne.operand_word_ast() {
            let from = self.b.tree.invocations.len();
            self.fields(word, ctx, state);
            let to = self.b.tree.invocations.len();
            sources = (to > from).then_some((from, to));
        }
        self.unknown(shown, name, quoted, sources, fields.open(), ctx, state);
    }

    /// An expansion whose value cannot be known becomes a hole.
    #[expect(
        clippy::too_many_arguments,
        reason = "one hole is described by all of these"
    )]
    fn unknown(
        &mut self,
        shown: &str,
        name: &str,
        quoted: bool,
        sources: Option<(usize, usize)>,
        field: &mut Field,
        ctx: &Ctx,
        state: &State,
    ) {
        let short: String = name.chars().take(80).collect();
        let mark = self.b.hole(Hole {
            shown: self.b.shown(shown),
            assigned: state.vars.contains_key(name),
            name: self.b.shown(&short),
            shell: ctx.shell,
            quoted,
            sources,
        });
        field.literal = false;
        let named = name.to_ascii_lowercase();
        field.options = !quoted
            && field.text.is_empty()
            && ["opt", "args", "flags"]
                .iter()
                .any(|word| named.contains(word));
        field.text.push_str(&mark);
    }

    /// Walks the commands of `$(…)` or `<(…)`, and tells which invocations they are.
    fn substitution(
        &mut self,
        body: &StmtSeq,
        becomes_words: bool,
        ctx: &Ctx,
        state: &State,
    ) -> Option<(usize, usize)> {
        let from = self.b.tree.invocations.len();
        let inner = Ctx {
            substituted: ctx.substituted || becomes_words,
            background: false,
            condition: ctx.condition,
            asked: false,
            pipe: None,
            more_follows: false,
            compound: true,
            keeper: false,
            piped_out: ctx.piped_out || becomes_words,
            enclosing: Rc::default(),
            stdin: if becomes_words {
                ctx.stdin.clone()
            } else {
                Stdin::Pipe
            },
            ..ctx.clone()
        };
        self.sequence(body, &inner, &mut state.clone());
        let to = self.b.tree.invocations.len();
        (to > from).then_some((from, to))
    }

    /// The redirections of one statement, and what its standard input becomes by them.
    pub(super) fn redirects(
        &mut self,
        redirects: &[shuck_ast::Redirect],
        ctx: &Ctx,
        state: &mut State,
    ) -> (Vec<Carried>, Stdin) {
        let mut out = Vec::new();
        let mut stdin = ctx.stdin.clone();
        for redirect in redirects.iter().take(MAX_REDIRECTS) {
            let output = !matches!(
                redirect.kind,
                RedirectKind::Input
                    | RedirectKind::ReadWrite
                    | RedirectKind::HereDoc
                    | RedirectKind::HereDocStrip
                    | RedirectKind::HereString
                    | RedirectKind::DupInput
            );
            let fd = match redirect.fd {
                Some(fd) => u32::try_from(fd).unwrap_or(u32::MAX),
                None if redirect.fd_var.is_some() => 10,
                None => u32::from(output),
            };
            let mut reads = None;
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => {
                    let body = self.heredoc(&heredoc.body, ctx, state);
                    let to = RedirectTo::Text {
                        body: self.b.shown(&body.text),
                        literal: heredoc.delimiter.quoted || body.literal,
                    };
                    out.push(self.b.carried(Redirect { fd, to }, state));
                    reads = Some(Stdin::Text(Rc::from(body.text)));
                }
                RedirectTarget::Word(word) => {
                    let field = self.field(word, ctx, state);
                    let path = self.b.word(&field);
                    match redirect.kind {
                        RedirectKind::HereString => {
                            let literal = field.literal;
                            let text = format!("{}\n", field.text);
                            let to = RedirectTo::Text {
                                body: self.b.shown(&text),
                                literal,
                            };
                            out.push(self.b.carried(Redirect { fd, to }, state));
                            reads = Some(Stdin::Text(Rc::from(text)));
                        }
                        RedirectKind::Input | RedirectKind::ReadWrite => {
                            let lost = path.text == "/dev/null";
                            reads = Some(if lost { Stdin::Lost } else { Stdin::File });
                            out.push(self.b.carried(
                                Redirect {
                                    fd,
                                    to: RedirectTo::Read { path },
                                },
                                state,
                            ));
                        }
                        RedirectKind::Output | RedirectKind::Clobber => {
                            let to = RedirectTo::Truncate { path };
                            out.push(self.b.carried(Redirect { fd, to }, state));
                        }
                        RedirectKind::Append => {
                            out.push(self.b.carried(
                                Redirect {
                                    fd,
                                    to: RedirectTo::Append { path },
                                },
                                state,
                            ));
                        }
                        RedirectKind::OutputBoth => {
                            let append = redirect.span.slice(self.src).starts_with("&>>");
                            let to = if append {
                                RedirectTo::Append { path }
                            } else {
                                RedirectTo::Truncate { path }
                            };
                            out.push(self.b.carried(Redirect { fd: 1, to }, state));
                            out.push(self.b.carried(
                                Redirect {
                                    fd: 2,
                                    to: RedirectTo::Copy { of: 1 },
                                },
                                state,
                            ));
                        }
                        RedirectKind::DupOutput | RedirectKind::DupInput => {
                            let text = path.text.as_str();
                            if text == "-" {
                                reads = Some(Stdin::Lost);
                                out.push(self.b.carried(
                                    Redirect {
                                        fd,
                                        to: RedirectTo::Close,
                                    },
                                    state,
                                ));
                            } else if let Ok(of) = text.trim_end_matches('-').parse() {
                                out.push(self.b.carried(
                                    Redirect {
                                        fd,
                                        to: RedirectTo::Copy { of },
                                    },
                                    state,
                                ));
                            } else if output {
                                let to = RedirectTo::Truncate { path };
                                out.push(self.b.carried(Redirect { fd, to }, state));
                                if redirect.span.slice(self.src).starts_with(">&") {
                                    let to = RedirectTo::Copy { of: 1 };
                                    out.push(self.b.carried(Redirect { fd: 2, to }, state));
                                }
                            }
                        }
                        RedirectKind::HereDoc | RedirectKind::HereDocStrip => {}
                    }
                }
            }
            if fd == 0
                && let Some(reads) = reads
            {
                stdin = reads;
            }
        }
        (out, stdin)
    }

    /// The body of a here-document as its reader gets it.
    fn heredoc(&mut self, body: &HeredocBody, ctx: &Ctx, state: &mut State) -> Field {
        let mut fields = Fields::default();
        fields.open();
        for part in &body.parts {
            let shown = part.span.slice(self.src);
            match &part.kind {
                HeredocBodyPart::Literal(text) => {
                    let field = fields.open();
                    if body.mode.expands() && !matches!(text, LiteralText::Owned(_)) {
                        unescape_heredoc(shown, &mut field.text);
                    } else {
                        field.text.push_str(text.as_str(self.src, part.span));
                    }
                }
                HeredocBodyPart::Variable(name) => {
                    self.variable(name.as_str(), shown, true, &mut fields, ctx, state);
                }
                HeredocBodyPart::CommandSubstitution { body, .. } => {
                    let sources = self.substitution(body, true, ctx, state);
                    self.unknown(shown, shown, true, sources, fields.open(), ctx, state);
                }
                HeredocBodyPart::ArithmeticExpansion { .. } => {
                    self.unknown(shown, shown, true, None, fields.open(), ctx, state);
                }
                HeredocBodyPart::Parameter(parameter) => {
                    self.parameter(parameter, shown, true, &mut fields, ctx, state);
                }
            }
        }
        fields.split();
        let mut field = fields.done.pop().unwrap_or_default();
        field.literal = !has_hole(&field.text);
        field
    }
}

/// Redirections kept of one command.
const MAX_REDIRECTS: usize = 256;

/// Takes the backslashes out that an unquoted here-document takes out.
fn unescape_heredoc(raw: &str, out: &mut String) {
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some(&next)) if matches!(next, '$' | '`' | '\\') => {
                chars.next();
                out.push(next);
            }
            _ => out.push(c),
        }
    }
}

/// The condition of a command that runs when another one succeeded or failed.
pub(super) fn after(index: usize, wants_success: bool, negated: bool) -> Condition {
    if wants_success == negated {
        Condition::IfFailed(index)
    } else {
        Condition::IfOk(index)
    }
}

/// Whether bash replaces itself with the last command of a text (measured, bash 5.2): a simple
/// command without redirections, alone or at the right end of `&&`, `||` or `;`, and no trap.
pub(super) fn replaced(shell: ShellName, by_bash_rules: bool) -> Tri {
    match shell {
        ShellName::Bash => by_bash_rules.into(),
        ShellName::Never => Tri::No,
        ShellName::Other if by_bash_rules => Tri::Unknown,
        ShellName::Other => Tri::No,
    }
}

/// The shells whose ways are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellName {
    /// bash, and a login shell of which nothing is known.
    Bash,
    /// dash, and every shell that reads its commands from elsewhere: never replaces itself.
    Never,
    /// `sh`, zsh, ksh, busybox.
    Other,
}
