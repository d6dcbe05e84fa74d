//! The language's tables: every key of every map, what stands there, and the words that may.
//!
//! The loader refuses what is not in them and asks for what is needed; the schema
//! (`rec playbook schema`) is written from the same tables, so the two cannot drift apart.

use super::{Claim, Expect, JoinKind, ScopeKind, Severity, SubjectKind, Target, Trend};
use crate::event::Stream;

/// A word that stands for something: the word, the thing, what it means.
pub(super) type Word<T> = (&'static str, T, &'static str);

/// A map of the language.
#[derive(Debug)]
pub(super) struct Map {
    /// What it is, in words (`a playbook`).
    pub(super) what: &'static str,
    /// Its keys, in the order of the manual.
    pub(super) keys: &'static [Key],
}

/// A key of a map.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    /// The map is refused without it.
    pub(super) needed: bool,
    pub(super) shape: Shape,
    pub(super) doc: &'static str,
}

/// What stands under a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Text.
    Text,
    /// Text, or nothing.
    TextOrNothing,
    /// Text with holes.
    Prose,
    /// A command line with holes.
    Line,
    /// An expression.
    Expression,
    /// An id: small letters, digits, dashes.
    Id,
    /// A name that a step binds.
    Name,
    /// Names of things, as text.
    Texts,
    /// One name, or a list of them.
    TextOrTexts,
    /// A kind.
    Kind,
    /// A duration (`30s`).
    Duration,
    /// Any number.
    Number,
    /// A number more than 0.
    Cost,
    /// A number between 0 and 1, neither included.
    Prior,
    /// A whole number, 1 or more.
    Count,
    /// A count of looks, or the form `count`: a step tells by its other keys.
    CountOrForm(&'static Map),
    /// true or false.
    Truth,
    /// One of a few words.
    Words(fn() -> Vec<(&'static str, &'static str)>),
    /// The name of a fact type.
    Fact,
    /// The name of a field of the fact.
    Field,
    /// Joins.
    Joins,
    /// Likelihoods by hypothesis.
    Likely,
    /// A code, or `{ signal: N }`.
    Exit,
    /// A map.
    Map(&'static Map),
    /// A list of maps.
    Maps(&'static Map),
    /// A step, or one that may stand in `unless`, `until` and `when` of an observation.
    Step(Role),
    /// Steps.
    Steps(Role),
}

/// Where a step stands: in the sequence, or as a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Step,
    Guard,
}

const fn need(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        needed: true,
        shape,
        doc,
    }
}

const fn may(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key {
        name,
        needed: false,
        shape,
        doc,
    }
}

/// The words of a table and what they mean.
fn named<T>(words: &[Word<T>]) -> Vec<(&'static str, &'static str)> {
    words.iter().map(|(word, _, doc)| (*word, *doc)).collect()
}

pub(super) const SEVERITIES: &[Word<Severity>] = &[
    ("info", Severity::Info, "good or neutral news"),
    ("low", Severity::Low, "a nuisance"),
    ("medium", Severity::Medium, "something does not work"),
    ("high", Severity::High, "the thing itself does not work"),
    (
        "critical",
        Severity::Critical,
        "data or a machine is at stake",
    ),
];

pub(super) const SCOPES: &[Word<ScopeKind>] = &[
    ("command", ScopeKind::Command, "one command"),
    (
        "launch",
        ScopeKind::Launch,
        "one launch, for as long as its epoch lasts",
    ),
    ("host", ScopeKind::Host, "a host, or a container on it"),
    ("process", ScopeKind::Process, "a process: host and pid"),
    ("log", ScopeKind::Log, "a log or other file: host and path"),
    (
        "endpoint",
        ScopeKind::Endpoint,
        "an address that is asked: host and port",
    ),
    ("gpu", ScopeKind::Gpu, "a GPU: host and index"),
    (
        "container",
        ScopeKind::Container,
        "a container, pod or unit, by name",
    ),
    ("session", ScopeKind::Session, "the session"),
];

pub(super) const CLAIMS: &[Word<Claim>] = &[
    (
        "observed",
        Claim::Observed,
        "it was seen; what it means is open",
    ),
    ("suspected", Claim::Suspected, "likely, not proven"),
    (
        "established",
        Claim::Established,
        "what was seen proves it; with hypotheses a decisive observation is needed",
    ),
];

/// How likely a hypothesis makes an observation.
pub(super) const LIKELIHOODS: &[Word<f64>] = &[
    ("never", 0.02, ".02"),
    ("rarely", 0.1, ".1"),
    ("some", 0.5, ".5, as for one that is not named"),
    ("usually", 0.9, ".9"),
    ("always", 0.98, ".98"),
];

pub(super) const JOINS: &[Word<JoinKind>] = &[
    ("command", JoinKind::Command, "the same command"),
    ("host", JoinKind::Host, "the same host"),
    (
        "launch",
        JoinKind::Launch,
        "the same launch, within its epoch",
    ),
    ("path", JoinKind::Path, "the same host and file"),
    ("log", JoinKind::Log, "the launch's log"),
    ("script", JoinKind::Script, "the launch's script"),
    ("pid", JoinKind::Pid, "the same host and process id"),
    ("port", JoinKind::Port, "the same host and port"),
    ("gpu", JoinKind::Gpu, "the same host and GPU"),
    (
        "container",
        JoinKind::Container,
        "the same host and container",
    ),
    (
        "name",
        JoinKind::Name,
        "the same host and name of a unit, container or pod",
    ),
    ("session", JoinKind::Session, "anything in the session"),
];

pub(super) const SUBJECTS: &[Word<SubjectKind>] = &[
    (
        "process",
        SubjectKind::Process,
        "a text or pattern of its command line",
    ),
    ("pid", SubjectKind::Pid, "a process id"),
    ("path", SubjectKind::Path, "a file"),
    ("port", SubjectKind::Port, "a listening port"),
    ("gpu", SubjectKind::Gpu, "a GPU's index"),
];

pub(super) const TRENDS: &[Word<Trend>] = &[
    (
        "unchanged",
        Trend::Unchanged,
        "the last looks show the same value",
    ),
    (
        "changed",
        Trend::Changed,
        "the newest look shows another value than the one before",
    ),
    (
        "rising",
        Trend::Rising,
        "the newest look shows more than an earlier one",
    ),
    (
        "not_rising",
        Trend::NotRising,
        "none of the last looks shows more than the first",
    ),
    ("count", Trend::Count, "there are so many of them"),
];

pub(super) const TARGETS: &[Word<Target>] = &[
    (
        "scope",
        Target::Scope,
        "in the scope's container, else on its host",
    ),
    (
        "host",
        Target::Host,
        "on the scope's host, outside any container",
    ),
    (
        "typist",
        Target::Typist,
        "on the machine where the person types",
    ),
];

pub(super) const SAFETIES: &[Word<&str>] = &[
    ("read-only", "read-only", "it only looks"),
    (
        "heavy read",
        "heavy read",
        "it only looks, but weighs on the machine",
    ),
    (
        "changes state",
        "changes state",
        "it changes something, or nobody knows",
    ),
    (
        "destructive",
        "destructive",
        "it ends processes or removes data",
    ),
];

pub(super) const PROVENANCES: &[Word<&str>] = &[
    ("recorded", "recorded", "you saw it yourself"),
    ("quoted", "quoted", "you read it: say of which version"),
    ("manual", "manual", "a manual says so"),
];

pub(super) const EXPECTATIONS: &[Word<Expect>] = &[
    ("fires", Expect::Fires, "it fires and is open"),
    ("silent", Expect::Silent, "it does not fire"),
    ("resolved", Expect::Resolved, "it fires and is resolved"),
];

pub(super) const STREAMS: &[Word<Stream>] = &[
    ("stdout", Stream::Stdout, "standard output"),
    ("stderr", Stream::Stderr, "standard error"),
    ("tty", Stream::Tty, "what a terminal showed"),
];

use Shape::{
    Cost, Count, CountOrForm, Duration, Exit, Expression, Fact, Field, Id, Joins, Kind, Likely,
    Line, Maps, Name, Number, Prior, Prose, Step, Steps, Text, TextOrNothing, TextOrTexts, Texts,
    Truth, Words,
};

pub(super) const PLAYBOOK: Map = Map {
    what: "a playbook",
    keys: &[
        need(
            "id",
            Id,
            "Small letters, digits and dashes. Never changed: findings and judgements hang on it.",
        ),
        need(
            "version",
            Count,
            "Counts from 1; count it up when what is found changes.",
        ),
        need("kind", Kind, "The deepest cause known."),
        need(
            "severity",
            Words(|| named(SEVERITIES)),
            "How bad it is, whatever the belief in it.",
        ),
        need(
            "scope",
            Words(|| named(SCOPES)),
            "What a finding is about: two matches about the same thing are one finding.",
        ),
        may(
            "claim",
            Words(|| named(CLAIMS)),
            "The most it claims by itself (`suspected` where it is not written).",
        ),
        need("title", Prose, "What happened, where, in one sentence."),
        may("explains", Prose, "What follows from it."),
        may("remedy", Prose, "What mends it, with the risk."),
        may(
            "root_of",
            Texts,
            "Ids of playbooks, or kinds, whose findings about the same launch or host follow from this one.",
        ),
        need(
            "when",
            Shape::Map(&WHEN),
            "When it fires, what blocks it, what ends it.",
        ),
        may(
            "hypotheses",
            Maps(&HYPOTHESIS),
            "Competing explanations; *other*, with a prior of .1, is always there and not listed.",
        ),
        may(
            "observations",
            Maps(&OBSERVATION),
            "What speaks for or against the hypotheses.",
        ),
        may("probes", Maps(&PROBE), "Looks that would tell."),
        may(
            "references",
            Maps(&REFERENCE),
            "Where its knowledge comes from.",
        ),
        may(
            "tests",
            Maps(&TEST),
            "Sessions it fires on, a near miss, a healthy twin.",
        ),
    ],
};

pub(super) const WHEN: Map = Map {
    what: "when",
    keys: &[
        need(
            "steps",
            Steps(Role::Step),
            "What must be seen, each step after the one before it.",
        ),
        may(
            "unless",
            Steps(Role::Guard),
            "What blocks the finding when true.",
        ),
        may(
            "until",
            Steps(Role::Guard),
            "What ends it: a finding that was complete before is resolved.",
        ),
    ],
};

/// All keys that a step may have; [`FORMS`] says which stand beside which form.
pub(super) const STEP: Map = Map {
    what: "a step",
    keys: &[
        may(
            "as",
            Name,
            "The name it is bound to, for everything that follows.",
        ),
        may("fact", Fact, "The fact that must be seen."),
        may("on", Joins, "How it belongs to what was bound before."),
        may(
            "where",
            Expression,
            "What must be true of it; within it the fact is `it`, or its own name.",
        ),
        may("says", Prose, "What its entry says as evidence."),
        may("within", Duration, "At most so long after the step before."),
        may("after", Duration, "At least so long after the step before."),
        may("all", Steps(Role::Step), "All of these, in any order."),
        may("any", Steps(Role::Step), "One of these."),
        may(
            "absent",
            Shape::Map(&ABSENT),
            "A look that covers the subject was taken, and did not show it.",
        ),
        may(
            "unchanged",
            Shape::Map(&SERIES),
            "The last looks show the same value, nothing else in between.",
        ),
        may(
            "changed",
            Shape::Map(&SERIES),
            "The newest look shows another value than the one before.",
        ),
        may(
            "rising",
            Shape::Map(&SERIES),
            "The newest look shows more than an earlier one.",
        ),
        may(
            "not_rising",
            Shape::Map(&SERIES),
            "None of the last looks shows more than the first.",
        ),
        may(
            "count",
            CountOrForm(&SERIES_COUNT),
            "Beside a run of looks: at least so many of them. As a form: there are `at_least` so many facts.",
        ),
        may("at_least", Count, "Beside `count`: how many."),
        may(
            "spanning",
            Duration,
            "The least time between the first and the newest look.",
        ),
        may(
            "anytime",
            Truth,
            "It also counts before the first step (in `unless` that is so anyway).",
        ),
    ],
};

/// A form of a step and the keys that may stand beside it.
#[derive(Debug)]
pub(super) struct FormKeys {
    pub(super) name: &'static str,
    pub(super) beside: &'static [&'static str],
}

const RUN: &[&str] = &["count", "spanning", "says", "within", "after"];

pub(super) const FORMS: &[FormKeys] = &[
    FormKeys {
        name: "fact",
        beside: &["as", "on", "where", "says", "within", "after"],
    },
    FormKeys {
        name: "all",
        beside: &["within", "after"],
    },
    FormKeys {
        name: "any",
        beside: &["within", "after"],
    },
    FormKeys {
        name: "absent",
        beside: &["as", "says", "within", "after"],
    },
    FormKeys {
        name: "unchanged",
        beside: RUN,
    },
    FormKeys {
        name: "changed",
        beside: RUN,
    },
    FormKeys {
        name: "rising",
        beside: RUN,
    },
    FormKeys {
        name: "not_rising",
        beside: RUN,
    },
    FormKeys {
        name: "count",
        beside: &["at_least", "spanning", "says", "within", "after"],
    },
];

pub(super) const ABSENT: Map = Map {
    what: "absent",
    keys: &[
        may(
            "process",
            Expression,
            "A text or pattern of its command line; `[x]yz` means `xyz`.",
        ),
        may("pid", Expression, "A process id."),
        may("path", Expression, "A file."),
        may("port", Expression, "A listening port."),
        may("gpu", Expression, "A GPU's index."),
    ],
};

macro_rules! run_keys {
    ($($more:expr,)*) => {
        &[
            may("as", Name, "The name bound to the run's newest look."),
            may("first", Name, "The name bound to the run's first look."),
            need("fact", Fact, "What is looked at."),
            may("on", Joins, "How it belongs to what was bound before."),
            may("where", Expression, "Which looks count."),
            $($more,)*
        ]
    };
}

pub(super) const SERIES: Map = Map {
    what: "a run of looks",
    keys: run_keys![
        need("field", Field, "The field that is compared."),
        may(
            "noise",
            Number,
            "Differences up to this are none; there is a floor by unit."
        ),
    ],
};

pub(super) const SERIES_COUNT: Map = Map {
    what: "a count",
    keys: run_keys![may(
        "distinct",
        Field,
        "Distinct values of this field are counted, of whatever thing."
    ),],
};

pub(super) const HYPOTHESIS: Map = Map {
    what: "a hypothesis",
    keys: &[
        need("id", Id, "Its id within the playbook; judgements name it."),
        need("title", Prose, "The explanation, in words."),
        need(
            "prior",
            Prior,
            "Belief before any observation; all of a playbook's are scaled to sum to .9.",
        ),
        may("kind", Kind, "Its own kind."),
        may("severity", Words(|| named(SEVERITIES)), "Its own severity."),
        may("remedy", Prose, "Its own remedy."),
    ],
};

pub(super) const OBSERVATION: Map = Map {
    what: "an observation",
    keys: &[
        need("id", Id, "Its id within the playbook; probes name it."),
        need("says", Prose, "What it says, in words, when it is so."),
        need("when", Step(Role::Guard), "When it is so."),
        may(
            "not_when",
            Step(Role::Guard),
            "When it is known not to be so.",
        ),
        may(
            "group",
            Text,
            "Observations of one group are correlated and count once.",
        ),
        may(
            "likely",
            Likely,
            "How likely each hypothesis makes it; one not named makes it `some`.",
        ),
        may(
            "decisive",
            TextOrTexts,
            "The hypotheses it settles when it is so.",
        ),
    ],
};

pub(super) const PROBE: Map = Map {
    what: "a probe",
    keys: &[
        need("id", Id, "Its id within the playbook."),
        need(
            "run",
            Line,
            "The command line; holes are quoted when they are filled: write them bare.",
        ),
        may("on", Words(|| named(TARGETS)), "Where it runs."),
        may("cost", Cost, "Seconds of a person's time."),
        may(
            "safety",
            Words(|| named(SAFETIES)),
            "Its safety class, where you hold it to be worse than the shell parser does.",
        ),
        need("why", Prose, "Why it is worth running."),
        may(
            "yields",
            Texts,
            "Observations, or names of steps, that it may settle.",
        ),
    ],
};

pub(super) const REFERENCE: Map = Map {
    what: "a reference",
    keys: &[
        need("what", Text, "What is said."),
        may("version", Text, "Of which version."),
        need(
            "provenance",
            Words(|| named(PROVENANCES)),
            "How it is known.",
        ),
        may("url", Text, "Where to read on."),
    ],
};

pub(super) const TEST: Map = Map {
    what: "a test",
    keys: &[
        need("name", Text, "What it shows."),
        need(
            "expect",
            Words(|| named(EXPECTATIONS)),
            "What should come of it.",
        ),
        may(
            "healthy",
            Truth,
            "A healthy twin: what it looks like when all is well.",
        ),
        need("steps", Maps(&CASE_STEP), "Commands and what came of them."),
    ],
};

pub(super) const CASE_STEP: Map = Map {
    what: "a step of a test",
    keys: &[
        may("at", Number, "Seconds since the case began."),
        may("took", Number, "How long it ran, in seconds."),
        may("host", TextOrNothing, "The machine it was typed on."),
        need("command", Text, "The line as typed."),
        may("exit", Exit, "Its code, or `{ signal: N }`."),
        may("stdout", TextOrNothing, "Standard output."),
        may("stderr", TextOrNothing, "Standard error."),
        may(
            "tty",
            TextOrNothing,
            "What a terminal showed, in place of the two.",
        ),
        may(
            "chunks",
            Maps(&CHUNK),
            "Output in the order it came, in place of the three.",
        ),
    ],
};

pub(super) const EXIT: Map = Map {
    what: "an exit",
    keys: &[need("signal", Count, "The signal that ended it.")],
};

pub(super) const CHUNK: Map = Map {
    what: "a chunk",
    keys: &[
        may("at", Number, "Seconds since the case began."),
        need("stream", Words(|| named(STREAMS)), "Its stream."),
        need("text", Text, "Its text."),
    ],
};

impl Map {
    /// The names of its keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|key| key.name)
    }
}
