//! From CEL's tree to ours: names, fields and types checked against the catalogue.

mod syntax;

use std::sync::{Arc, OnceLock};

use cel::common::ast::operators;
use cel::common::ast::{CallExpr, Expr as Cel, IdedExpr, LiteralValue, SelectExpr, SourceInfo};

use super::expr::{
    Comparison, Expr, FieldRef, Names, Node, PSEUDO, Problem, Sum, TextMap, TextTest, Ty, Var,
};
use super::nearest::{meant, nearest};
use super::pattern::Pattern;
use super::tables;
use crate::fact::FactType;
use syntax::{syntax_problems, too_much, unbalanced};

/// Parses and checks an expression.
pub(super) fn compile(text: &str, names: Names<'_>) -> Result<Expr, Vec<Problem>> {
    if let Some(problem) = unbalanced(text) {
        return Err(vec![problem]);
    }
    if let Some(message) = too_much(text) {
        return Err(vec![Problem {
            offset: 0,
            message,
            hint: Some("split it: several steps, or a simpler condition".to_owned()),
        }]);
    }
    let (tree, source) = cel::parser::Parser::new()
        .parse_with_source_info(text)
        .map_err(|errors| syntax_problems(text, &errors))?;
    let mut checker = Checker {
        names,
        text,
        source: &source,
        problems: Vec::new(),
        lost: false,
    };
    let node = checker.check(&tree);
    if !checker.problems.is_empty() {
        return Err(checker.problems);
    }
    if checker.lost {
        return Err(Vec::new()); // it speaks of something that did not read: said there
    }
    let Some((node, ty)) = node else {
        return Err(vec![Problem {
            offset: 0,
            message: "this is no expression of the playbook language".to_owned(),
            hint: None,
        }]);
    };
    Ok(Expr {
        node,
        ty,
        source: Arc::from(text),
        alone: OnceLock::new(),
    })
}

struct Checker<'a> {
    names: Names<'a>,
    text: &'a str,
    source: &'a SourceInfo,
    problems: Vec<Problem>,
    /// It speaks of a name whose step did not read.
    lost: bool,
}

type Checked = Option<(Node, Ty)>;

impl Checker<'_> {
    fn problem(&mut self, id: u64, message: impl Into<String>, hint: Option<String>) {
        let offset = self.start(id);
        self.problem_at(offset, message, hint);
    }

    fn problem_at(&mut self, offset: usize, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(Problem {
            offset,
            message: message.into(),
            hint,
        });
    }

    /// The first byte of a part.
    fn start(&self, id: u64) -> usize {
        let (start, _) = self.source.offset_for(id).unwrap_or((0, 0));
        usize::try_from(start).unwrap_or(0).min(self.text.len())
    }

    /// The first byte of an expression: the parser knows a field by its dot.
    fn begin(&self, expr: &IdedExpr) -> usize {
        match &expr.expr {
            Cel::Select(select) => self.begin(&select.operand),
            Cel::Call(CallExpr {
                target: Some(target),
                ..
            }) => self.begin(target),
            Cel::Call(call) => self.function_at(expr.id, &call.func_name),
            _ => self.start(expr.id),
        }
    }

    fn problem_in(&mut self, expr: &IdedExpr, message: impl Into<String>, hint: Option<String>) {
        let at = self.begin(expr);
        self.problem_at(at, message, hint);
    }

    /// Where a field's name stands: behind its operand and a dot.
    fn field_at(&self, operand: u64, name: &str) -> usize {
        let rest = self.text.get(self.start(operand) + name.len()..);
        let rest = rest.unwrap_or("");
        let name = rest
            .trim_start()
            .trim_start_matches(['.', '?'])
            .trim_start();
        self.text.len() - name.len()
    }

    /// Where a function's name stands: the parser knows its bracket.
    fn function_at(&self, id: u64, name: &str) -> usize {
        let start = self.start(id);
        let here = self.text.get(start..).unwrap_or("");
        if here.starts_with(name) {
            return start;
        }
        let before = self.text.get(..start).and_then(|head| head.rfind(name));
        before.unwrap_or(start)
    }

    fn check(&mut self, expr: &IdedExpr) -> Checked {
        match &expr.expr {
            Cel::Literal(literal) => self.literal(expr.id, literal),
            Cel::List(list) => self.list(expr.id, &list.elements),
            Cel::Ident(name) => {
                if self.var(expr.id, name).is_some() {
                    self.problem(
                        expr.id,
                        format!("`{name}` is a whole fact"),
                        Some(format!("name one of its fields: `{name}.FIELD`")),
                    );
                }
                None
            }
            Cel::Select(select) => self.select(expr.id, select),
            Cel::Call(call) => self.call(expr.id, call),
            Cel::Comprehension(_) => {
                self.problem(
                    expr.id,
                    "exists, all, map and filter are not part of this language",
                    Some("use `x in list`, or a step of its own".to_owned()),
                );
                None
            }
            _ => {
                self.problem(
                    expr.id,
                    "maps and structs are not part of this language",
                    None,
                );
                None
            }
        }
    }

    fn literal(&mut self, id: u64, literal: &LiteralValue) -> Checked {
        Some(match literal {
            LiteralValue::Boolean(value) => (Node::Bool(*value.inner()), Ty::Bool),
            LiteralValue::Int(value) => (Node::Int(*value.inner()), Ty::Int),
            LiteralValue::UInt(value) => (
                Node::Int(i64::try_from(*value.inner()).unwrap_or(i64::MAX)),
                Ty::Int,
            ),
            LiteralValue::Double(value) => (Node::Float(*value.inner()), Ty::Float),
            LiteralValue::String(value) => (Node::Text(value.inner().to_owned()), Ty::Text),
            LiteralValue::Null => (Node::Null, Ty::Null),
            LiteralValue::Bytes(_) => {
                self.problem(id, "bytes are not part of this language", None);
                return None;
            }
        })
    }

    fn list(&mut self, id: u64, elements: &[IdedExpr]) -> Checked {
        let mut nodes = Vec::new();
        let mut ty = None;
        for element in elements {
            let (node, item) = self.check(element)?;
            let item = match item {
                Ty::Text | Ty::Tri => Ty::Texts,
                Ty::Int | Ty::Float => Ty::Numbers,
                other => {
                    let message = format!("a list holds texts or numbers, not {}", other.name());
                    self.problem_in(element, message, None);
                    return None;
                }
            };
            if *ty.get_or_insert(item) != item {
                self.problem(id, "a list holds either texts or numbers", None);
                return None;
            }
            nodes.push(node);
        }
        Some((Node::List(nodes), ty.unwrap_or(Ty::Texts)))
    }

    /// What a name stands for; a problem where it stands for nothing.
    fn var(&mut self, id: u64, name: &str) -> Option<(Var, &'static FactType)> {
        if let Some(ty) = self.names.it
            && (name == "it" || self.names.own == Some(name))
        {
            return Some((Var::It, ty));
        }
        if let Some((name, ty)) = self.names.bound.get_key_value(name) {
            return Some((Var::Bound(Arc::clone(name)), ty));
        }
        if self.names.lost.has(name) {
            self.lost = true;
            return None;
        }
        let mut known: Vec<&str> = self.names.bound.keys().map(AsRef::as_ref).collect();
        if self.names.it.is_some() {
            known.push("it");
        }
        known.extend(self.names.own);
        let hint = nearest(name, known.iter().copied()).map_or_else(
            || {
                if known.is_empty() {
                    "nothing is bound here".to_owned()
                } else {
                    format!("names bound here: {}", known.join(", "))
                }
            },
            meant,
        );
        self.problem(
            id,
            format!("nothing named `{name}` is bound before this"),
            Some(hint),
        );
        None
    }

    /// The variable an argument names.
    fn named(&mut self, expr: &IdedExpr) -> Option<Var> {
        let Cel::Ident(name) = &expr.expr else {
            self.problem(expr.id, "the name of a step is wanted here", None);
            return None;
        };
        self.var(expr.id, name).map(|(var, _)| var)
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Checked {
        let Cel::Ident(name) = &select.operand.expr else {
            self.problem(id, "fields of fields do not exist", None);
            return None;
        };
        let (var, fact) = self.var(select.operand.id, name)?;
        let at = self.field_at(select.operand.id, name);
        let (node, ty) = self.field(at, &var, fact, &select.field)?;
        Some(if select.test {
            (Node::IsNull(Box::new(node), false), Ty::Bool)
        } else {
            (node, ty)
        })
    }

    fn field(&mut self, at: usize, var: &Var, fact: &'static FactType, name: &str) -> Checked {
        let mut numbered = fact.fields.iter().enumerate();
        if let Some((number, field)) = numbered.find(|(_, field)| field.name == name) {
            let field_ref = FieldRef {
                fact: fact.name,
                number,
                name: field.name,
                doc: field.doc,
            };
            return Some((Node::Field(var.clone(), field_ref), field.ty.into()));
        }
        if let Some((_, pseudo, ty)) = PSEUDO.iter().find(|(known, ..)| *known == name) {
            return Some((Node::Pseudo(var.clone(), *pseudo), *ty));
        }
        let known = fact.fields.iter().map(|field| field.name);
        let known = known.chain(PSEUDO.iter().map(|(name, ..)| *name));
        let hint = nearest(name, known).map_or_else(
            || {
                let names: Vec<_> = fact.fields.iter().map(|field| field.name).collect();
                format!("its fields: {}", names.join(", "))
            },
            meant,
        );
        let message = format!("a `{}` has no field `{name}`", fact.name);
        self.problem_at(at, message, Some(hint));
        None
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Checked {
        let args: Vec<&IdedExpr> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect();
        match (call.func_name.as_str(), args.as_slice()) {
            (operators::LOGICAL_NOT, [a]) => {
                let a = self.truth(a)?;
                Some((Node::Not(Box::new(a)), Ty::Bool))
            }
            (operators::LOGICAL_AND, [a, b]) => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some((Node::And(Box::new(a?), Box::new(b?)), Ty::Bool))
            }
            (operators::LOGICAL_OR, [a, b]) => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some((Node::Or(Box::new(a?), Box::new(b?)), Ty::Bool))
            }
            (operators::CONDITIONAL, [test, a, b]) => self.choose(id, test, a, b),
            (operators::EQUALS, [a, b]) => self.compare(id, Comparison::Equal, a, b),
            (operators::NOT_EQUALS, [a, b]) => self.compare(id, Comparison::NotEqual, a, b),
            (operators::LESS, [a, b]) => self.compare(id, Comparison::Less, a, b),
            (operators::LESS_EQUALS, [a, b]) => self.compare(id, Comparison::LessEqual, a, b),
            (operators::GREATER, [a, b]) => self.compare(id, Comparison::More, a, b),
            (operators::GREATER_EQUALS, [a, b]) => self.compare(id, Comparison::MoreEqual, a, b),
            (operators::ADD, [a, b]) => self.sum(id, Sum::Add, a, b),
            (operators::SUBSTRACT, [a, b]) => self.sum(id, Sum::Subtract, a, b),
            (operators::MULTIPLY, [a, b]) => self.sum(id, Sum::Multiply, a, b),
            (operators::DIVIDE, [a, b]) => self.sum(id, Sum::Divide, a, b),
            (operators::MODULO, [a, b]) => self.sum(id, Sum::Modulo, a, b),
            (operators::NEGATE, [a]) => {
                let (node, ty) = self.number(a)?;
                Some((Node::Negate(Box::new(node)), ty))
            }
            (operators::IN, [a, b]) => self.within(id, a, b),
            (name, args) => self.function(id, name, args),
        }
    }

    fn truth(&mut self, expr: &IdedExpr) -> Option<Node> {
        let (node, ty) = self.check(expr)?;
        if ty == Ty::Bool {
            return Some(node);
        }
        let hint = match ty {
            Ty::Tri => "compare it: `== 'yes'`, `!= 'no'`",
            Ty::Text => "compare it: `!= ''`",
            Ty::Int | Ty::Float => "compare it: `> 0`",
            _ => "compare it",
        };
        let message = format!("true or false is wanted here, this is {}", ty.name());
        self.problem_in(expr, message, Some(hint.to_owned()));
        None
    }

    fn number(&mut self, expr: &IdedExpr) -> Checked {
        let (node, ty) = self.check(expr)?;
        if ty.is_number() {
            return Some((node, ty));
        }
        let message = format!("a number is wanted here, this is {}", ty.name());
        self.problem_in(expr, message, None);
        None
    }

    fn text(&mut self, expr: &IdedExpr) -> Option<Node> {
        let (node, ty) = self.check(expr)?;
        if ty.is_text() {
            return Some(node);
        }
        let message = format!("a text is wanted here, this is {}", ty.name());
        self.problem_in(expr, message, None);
        None
    }

    fn choose(&mut self, id: u64, test: &IdedExpr, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let (test, a, b) = (self.truth(test), self.check(a), self.check(b));
        let (test, (a, one), (b, other)) = (test?, a?, b?);
        let ty = if one == other || other == Ty::Null {
            one
        } else if one == Ty::Null {
            other
        } else if one.is_number() && other.is_number() {
            Ty::Float
        } else if one.is_text() && other.is_text() {
            Ty::Text
        } else {
            let message = format!("one side is {}, the other {}", one.name(), other.name());
            self.problem(id, message, None);
            return None;
        };
        let node = Node::Choose(Box::new(test), Box::new(a), Box::new(b));
        Some((node, ty))
    }

    fn compare(&mut self, id: u64, how: Comparison, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let (left, right) = (self.check(a), self.check(b));
        let ((left, one), (right, other)) = (left?, right?);
        let equality = matches!(how, Comparison::Equal | Comparison::NotEqual);
        if one == Ty::Null || other == Ty::Null {
            if !equality {
                self.problem(id, "null is compared with `==` and `!=` only", None);
                return None;
            }
            let node = if other == Ty::Null { left } else { right };
            let node = Node::IsNull(Box::new(node), how == Comparison::Equal);
            return Some((node, Ty::Bool));
        }
        for (ty, node, at) in [(one, &right, b), (other, &left, a)] {
            if ty == Ty::Tri
                && let Node::Text(text) = node
                && !matches!(text.as_str(), "yes" | "no" | "unknown")
            {
                let message = format!("this can be 'yes', 'no' or 'unknown', never '{text}'");
                self.problem_in(at, message, None);
                return None;
            }
        }
        let fits = (one.is_number() && other.is_number())
            || (one.is_text() && other.is_text())
            || (one == other && equality);
        if !fits {
            let message = format!("{} cannot be compared with {}", one.name(), other.name());
            let hint = match (one, other) {
                (Ty::Tri, Ty::Bool) | (Ty::Bool, Ty::Tri) => Some("write 'yes' or 'no' in quotes"),
                (Ty::Bool, Ty::Text) | (Ty::Text, Ty::Bool) => {
                    Some("write `true` or `false` without quotes")
                }
                (Ty::Texts | Ty::Numbers, _) | (_, Ty::Texts | Ty::Numbers) => {
                    Some("use `in`, or `size(…)`")
                }
                _ => None,
            };
            self.problem(id, message, hint.map(str::to_owned));
            return None;
        }
        let node = Node::Compare(how, Box::new(left), Box::new(right));
        Some((node, Ty::Bool))
    }

    fn sum(&mut self, id: u64, how: Sum, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let (left, right) = (self.check(a), self.check(b));
        let ((left, one), (right, other)) = (left?, right?);
        let ty = if one.is_number() && other.is_number() {
            match (one, other, how) {
                (_, _, Sum::Divide) | (Ty::Float, ..) | (_, Ty::Float, _) => Ty::Float,
                _ => Ty::Int,
            }
        } else if how == Sum::Add && one.is_text() && other.is_text() {
            Ty::Text
        } else {
            let message = format!("{} and {} do not add up", one.name(), other.name());
            self.problem(id, message, None);
            return None;
        };
        Some((Node::Sum(how, Box::new(left), Box::new(right)), ty))
    }

    fn within(&mut self, id: u64, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let (item, list) = (self.check(a), self.check(b));
        let ((item, one), (list, other)) = (item?, list?);
        let fits = match other {
            Ty::Texts => one.is_text(),
            Ty::Numbers => one.is_number(),
            _ => false,
        };
        if !fits {
            let message = format!("{} cannot be in {}", one.name(), other.name());
            let hint = (one.is_text() && other.is_text())
                .then(|| "a part of a text: `text.contains(part)`".to_owned());
            self.problem(id, message, hint);
            return None;
        }
        Some((Node::In(Box::new(item), Box::new(list)), Ty::Bool))
    }

    fn pattern(&mut self, expr: &IdedExpr) -> Option<Pattern> {
        let Cel::Literal(LiteralValue::String(pattern)) = &expr.expr else {
            self.problem(expr.id, "a pattern is a text in quotes", None);
            return None;
        };
        let pattern = Pattern::new(pattern.inner()).and_then(|pattern| {
            if !self.names.trusted {
                pattern.build()?;
            }
            Ok(pattern)
        });
        match pattern {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.problem(
                    expr.id,
                    format!("bad pattern: {error}"),
                    Some("backslashes are doubled within quotes: '\\\\d+', or r'\\d+'".to_owned()),
                );
                None
            }
        }
    }

    fn function(&mut self, id: u64, name: &str, args: &[&IdedExpr]) -> Checked {
        let test = |how| Some(how);
        let text_test = match name {
            "contains" => test(TextTest::Contains),
            "startsWith" => test(TextTest::StartsWith),
            "endsWith" => test(TextTest::EndsWith),
            "same_path" => test(TextTest::SamePath),
            _ => None,
        };
        if let (Some(how), [a, b]) = (text_test, args) {
            let (a, b) = (self.text(a), self.text(b));
            return Some((Node::Test(how, Box::new(a?), Box::new(b?)), Ty::Bool));
        }
        match (name, args) {
            ("re" | "matches", [text, pattern]) => {
                let (text, pattern) = (self.text(text), self.pattern(pattern));
                Some((Node::Matches(Box::new(text?), pattern?), Ty::Bool))
            }
            ("capture", [text, pattern]) => {
                let (text, pattern) = (self.text(text), self.pattern(pattern));
                let pattern = pattern?;
                if pattern.groups() == 0 {
                    let hint = "put ( ) around the part that is wanted".to_owned();
                    self.problem(id, "this pattern has no group", Some(hint));
                    return None;
                }
                Some((Node::Capture(Box::new(text?), pattern), Ty::Text))
            }
            ("size", [a]) => self.size(a),
            ("lower" | "lowerAscii" | "trim" | "basename" | "dirname", [a]) => {
                let how = match name {
                    "trim" => TextMap::Trim,
                    "basename" => TextMap::BaseName,
                    "dirname" => TextMap::DirName,
                    _ => TextMap::Lower,
                };
                let a = self.text(a)?;
                Some((Node::Map(how, Box::new(a)), Ty::Text))
            }
            ("duration", [a]) => {
                let (a, _) = self.number(a)?;
                Some((Node::Map(TextMap::Duration, Box::new(a)), Ty::Text))
            }
            ("int" | "double" | "string", [a]) => {
                let (a, _) = self.check(a)?;
                let (how, ty) = match name {
                    "int" => (TextMap::Int, Ty::Int),
                    "double" => (TextMap::Float, Ty::Float),
                    _ => (TextMap::Text, Ty::Text),
                };
                Some((Node::Map(how, Box::new(a)), ty))
            }
            ("first", [_, _, ..]) => self.first(id, args),
            ("lookup", [table, key, column]) => self.look_up(table, key, column),
            ("bound", [a]) => {
                let var = self.named(a)?;
                Some((Node::Bound(var), Ty::Bool))
            }
            ("seconds_between", [a, b]) => {
                let (a, b) = (self.named(a), self.named(b));
                Some((Node::SecondsBetween(a?, b?), Ty::Float))
            }
            ("from_after", [a, b]) => {
                let (a, b) = (self.named(a), self.named(b));
                Some((Node::FromAfter(a?, b?), Ty::Bool))
            }
            _ => {
                self.unknown_function(id, name, args.len());
                None
            }
        }
    }

    fn size(&mut self, expr: &IdedExpr) -> Checked {
        let (node, ty) = self.check(expr)?;
        if matches!(ty, Ty::Text | Ty::Texts | Ty::Numbers) {
            return Some((Node::Size(Box::new(node)), Ty::Int));
        }
        self.problem_in(expr, format!("{} has no size", ty.name()), None);
        None
    }

    fn first(&mut self, id: u64, args: &[&IdedExpr]) -> Checked {
        let mut nodes = Vec::new();
        let mut ty: Option<Ty> = None;
        for arg in args {
            let (node, item) = self.check(arg)?;
            nodes.push(node);
            ty = match ty {
                None => Some(item),
                Some(had) if had == item => Some(had),
                Some(had) if had.is_number() && item.is_number() => Some(Ty::Float),
                Some(had) if had.is_text() && item.is_text() => Some(Ty::Text),
                Some(had) => {
                    let message = format!("{} and {} are mixed", had.name(), item.name());
                    self.problem(id, message, None);
                    return None;
                }
            };
        }
        Some((Node::First(nodes), ty?))
    }

    fn look_up(&mut self, table: &IdedExpr, key: &IdedExpr, column: &IdedExpr) -> Checked {
        let (name, column_name) = (self.quoted(table)?, self.quoted(column)?);
        let Some(found) = tables::shipped().iter().find(|one| one.name == name) else {
            let known = || tables::shipped().iter().map(|one| one.name.as_str());
            let hint = nearest(&name, known()).map_or_else(
                || format!("tables: {}", known().collect::<Vec<_>>().join(", ")),
                meant,
            );
            self.problem_in(table, format!("there is no table `{name}`"), Some(hint));
            return None;
        };
        let Some(place) = found.columns.iter().position(|one| *one == column_name) else {
            let known = || found.columns.iter().map(String::as_str);
            let hint = nearest(&column_name, known())
                .map_or_else(|| format!("columns: {}", found.columns.join(", ")), meant);
            let message = format!("the table `{name}` has no column `{column_name}`");
            self.problem_in(column, message, Some(hint));
            return None;
        };
        let (node, ty) = self.check(key)?;
        let fits = match found.key {
            tables::Key::Number => ty == Ty::Int,
            tables::Key::Text => ty.is_text(),
        };
        if !fits {
            let wants = match found.key {
                tables::Key::Number => "a whole number",
                tables::Key::Text => "a text",
            };
            let message = format!("the table `{name}` is by {wants}, this is {}", ty.name());
            self.problem_in(key, message, None);
            return None;
        }
        Some((Node::LookUp(found, Box::new(node), place), Ty::Text))
    }

    /// A text in quotes.
    fn quoted(&mut self, expr: &IdedExpr) -> Option<String> {
        if let Cel::Literal(LiteralValue::String(text)) = &expr.expr {
            return Some(text.inner().to_owned());
        }
        self.problem_in(
            expr,
            "tables and columns are texts in quotes".to_owned(),
            None,
        );
        None
    }

    fn unknown_function(&mut self, id: u64, name: &str, count: usize) {
        const KNOWN: &[(&str, usize)] = &[
            ("contains", 2),
            ("startsWith", 2),
            ("endsWith", 2),
            ("same_path", 2),
            ("re", 2),
            ("matches", 2),
            ("capture", 2),
            ("size", 1),
            ("lower", 1),
            ("trim", 1),
            ("basename", 1),
            ("dirname", 1),
            ("duration", 1),
            ("int", 1),
            ("double", 1),
            ("string", 1),
            ("first", 2),
            ("lookup", 3),
            ("bound", 1),
            ("seconds_between", 2),
            ("from_after", 2),
        ];
        if let Some((_, wants)) = KNOWN.iter().find(|(known, _)| *known == name) {
            let message = format!("`{name}` wants {wants} things, not {count}");
            let at = self.function_at(id, name);
            self.problem_at(at, message, Some(format!("write {}", usage(name))));
            return;
        }
        let near = nearest(name, KNOWN.iter().map(|(known, _)| *known));
        let names: Vec<_> = KNOWN.iter().map(|(known, _)| *known).collect();
        let hint = near.map_or_else(|| format!("functions: {}", names.join(", ")), meant);
        let at = self.function_at(id, name);
        self.problem_at(at, format!("there is no function `{name}`"), Some(hint));
    }
}

/// How a function is called.
fn usage(name: &str) -> &'static str {
    match name {
        "contains" => "`text.contains(part)`",
        "startsWith" => "`text.startsWith(start)`",
        "endsWith" => "`text.endsWith(end)`",
        "same_path" => "`same_path(a, b)`",
        "re" => "`re(text, 'pattern')`",
        "matches" => "`text.matches('pattern')`",
        "capture" => "`capture(text, '…(…)…')`",
        "first" => "`first(a, b)`",
        "lookup" => "`lookup('table', key, 'column')`",
        "bound" => "`bound(NAME)`",
        "seconds_between" => "`seconds_between(A, B)`",
        "from_after" => "`from_after(A, B)`",
        _ => "it with one thing: `f(x)`",
    }
}
