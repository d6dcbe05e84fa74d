//! Loops: whose input a `read` shares with the body, and lists of places that the line holds, where
//! each turn is walked by itself.

use shuck_ast::StmtSeq;

use super::Condition;
use super::build::{Ctx, Feed, Field, State, Var};
use super::grammar::{Outcome, Walker};

impl Walker<'_> {
    /// `while` and `until`; where the condition is a `read`, the body shares its input.
    pub(super) fn while_loop(
        &mut self,
        condition: &StmtSeq,
        body: &StmtSeq,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let asked = Ctx {
            asked: true,
            ..ctx.clone()
        };
        let from = self.b.tree.invocations.len();
        self.sequence(condition, &asked, state);
        let asks = self.b.tree.invocations.get(from..).unwrap_or_default();
        let reads = asks.iter().find(|one| {
            one.program() == "read"
                && one.option_value(&["-u"]).is_none()
                && !one
                    .redirects
                    .iter()
                    .take(one.own_redirects)
                    .any(|r| r.fd == 0)
        });
        let feed = reads.map(|one| Feed {
            from: one.index,
            script: false,
        });
        let inner = Ctx {
            feed: feed.or(ctx.feed),
            ..ctx.clone()
        };
        self.sequence(body, &inner, state)
    }

    /// A loop over words.
    pub(super) fn each(
        &mut self,
        names: &[&str],
        words: &[shuck_ast::Word],
        body: &StmtSeq,
        (ctx, once): (&Ctx, &Ctx),
        state: &mut State,
    ) -> Option<Outcome> {
        let from = self.b.tree.invocations.len();
        let mut sources = None;
        let mut values: Option<Vec<String>> = Some(Vec::new());
        for word in words {
            let before = Ctx {
                condition: Condition::Always,
                ..ctx.clone()
            };
            let fields = self.fields(word, &before, state);
            let held = fields.iter().flat_map(|field| self.b.holes_in(&field.text));
            sources = sources.or(held.filter_map(|hole| hole.sources).next());
            let written = word.span.slice(self.src);
            if let Some(known) = &mut values {
                match known_turns(written, &fields) {
                    Some(more) if known.len() + more.len() <= MAX_TURNS => known.extend(more),
                    _ => values = None,
                }
            }
        }
        let to = self.b.tree.invocations.len();
        let sources = if to > from { Some((from, to)) } else { sources };
        if let ([name], Some(values)) = (names, &values)
            && !values.is_empty()
            && leads_elsewhere(body.span.slice(self.src), name)
        {
            return self.turns(name, values, body, once, state);
        }
        for name in names {
            state.set(
                name,
                Var {
                    value: None,
                    exported: false,
                    sources,
                },
            );
        }
        self.sequence(body, ctx, state)
    }

    /// A loop whose turns are known, where each leads to another place: one walk a turn.
    fn turns(
        &mut self,
        name: &str,
        values: &[String],
        body: &StmtSeq,
        ctx: &Ctx,
        state: &mut State,
    ) -> Option<Outcome> {
        let text = body.span.slice(self.src);
        let ends_early = ["break", "exit", "return"]
            .iter()
            .any(|word| text.contains(word));
        let mut outcome = None;
        for (number, value) in values.iter().enumerate() {
            state.set(
                name,
                Var {
                    value: Some(value.clone()),
                    ..Var::default()
                },
            );
            let ctx = Ctx {
                condition: if ends_early && number > 0 {
                    Condition::Branch
                } else {
                    ctx.condition
                },
                more_follows: ctx.more_follows || number + 1 < values.len(),
                asked: false,
                ..ctx.clone()
            };
            outcome = self.sequence(body, &ctx, state).or(outcome);
        }
        outcome
    }
}

/// Turns of a loop that are walked one by one.
const MAX_TURNS: usize = 32;

/// The values that a word of a loop's list gives, when the line holds them: a plain word, a brace
/// expansion, `$(seq 1 4)`.
fn known_turns(written: &str, fields: &[Field]) -> Option<Vec<String>> {
    if let Some(inner) = written
        .strip_prefix("$(")
        .and_then(|rest| rest.strip_suffix(')'))
    {
        return seq(inner);
    }
    if fields.iter().all(|field| field.literal) {
        return Some(fields.iter().map(|field| field.text.clone()).collect());
    }
    let [field] = fields else { return None };
    braces(&field.text).filter(|_| !field.quoted)
}

/// `seq 4`, `seq 1 4`, `seq -w 1 2 9`.
fn seq(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (program, rest) = words.split_first()?;
    let wide = rest.first() == Some(&"-w");
    let numbers: Option<Vec<i64>> = rest
        .iter()
        .skip(usize::from(wide))
        .map(|word| word.parse().ok())
        .collect();
    let numbers = numbers.filter(|_| *program == "seq")?;
    let (from, step, to) = match numbers.as_slice() {
        [to] => (1, 1, *to),
        [from, to] => (*from, 1, *to),
        [from, step, to] => (*from, *step, *to),
        _ => return None,
    };
    let width = if wide { to.to_string().len() } else { 1 };
    let step = usize::try_from(step).ok().filter(|step| *step > 0)?;
    (from..=to)
        .step_by(step)
        .take(MAX_TURNS + 1)
        .map(|number| Some(format!("{number:0width$}")))
        .collect()
}

/// `n{1..4}`, `{a,b}-x`: one pair of braces.
fn braces(text: &str) -> Option<Vec<String>> {
    let (head, rest) = text.split_once('{')?;
    let (inner, tail) = rest.split_once('}')?;
    if [head, inner, tail]
        .iter()
        .any(|part| part.contains(['{', '}', '*', '?', '$', '[', '~']))
    {
        return None;
    }
    let middle: Vec<String> = match inner.split_once("..") {
        Some((from, to)) => {
            let width = if from.starts_with('0') { from.len() } else { 1 };
            let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
            let numbers = (from..=to).take(MAX_TURNS + 1);
            numbers.map(|number| format!("{number:0width$}")).collect()
        }
        None if inner.contains(',') => inner.split(',').map(str::to_owned).collect(),
        None => return None,
    };
    let whole = middle.iter().map(|middle| format!("{head}{middle}{tail}"));
    Some(whole.collect())
}

/// The body of a loop uses its variable, and holds a command that leads to another place.
fn leads_elsewhere(body: &str, name: &str) -> bool {
    let used = body.contains(&format!("${name}")) || body.contains(&format!("${{{name}"));
    let hops = [
        "ssh", "scp", "rsync", "docker", "podman", "kubectl", "lxc", "nsenter",
    ];
    used && hops.iter().any(|hop| body.contains(hop))
}
