//! Following the read tables: which documents a command, a note and a finding make.

use tantivy::schema::Field;
use tantivy::{IndexWriter, TantivyDocument, Term};

use super::query::flags_of;
use super::{Index, IndexError};
use crate::event::{Exit, Stream};
use crate::id::{CommandId, SessionId};
use crate::store::{CommandRow, FindingRow, NoteRow, Store, Streams};
use crate::text;
use crate::time::Micros;

/// Text of one document, about.
const CHUNK_BYTES: usize = 8 << 10;
/// Of a longer stream the first and the last of this many bytes are indexed.
const ENDS_BYTES: usize = 1 << 20;
/// Commands read from the store at a time.
const BATCH: u32 = 500;
/// Output that is held in memory for that, about.
const BATCH_BYTES: u64 = 32 << 20;
/// Documents between two commits, while much is new.
const DOCUMENTS_A_COMMIT: usize = 50_000;
/// With more segments than this a writer waits until they are merged.
const MANY_SEGMENTS: usize = 12;

pub(super) struct Update<'a> {
    index: &'a Index,
    writer: IndexWriter,
    pub(super) documents: usize,
    since_commit: usize,
    /// Content was erased: what the index holds of it has to leave the disk as well.
    erased: bool,
    /// Everything is made anew, and seen once all of it is there.
    anew: bool,
}

impl<'a> Update<'a> {
    pub(super) fn new(index: &'a Index, writer: IndexWriter, anew: bool) -> Self {
        Self {
            index,
            writer,
            documents: 0,
            since_commit: 0,
            erased: false,
            anew,
        }
    }

    pub(super) async fn follow(
        &mut self,
        store: &Store,
        from: i64,
        to: i64,
        findings: &[SessionId],
    ) -> Result<(), IndexError> {
        for (session, note) in store.notes_after(from).await? {
            self.note(session, &note)?;
        }
        for session in findings {
            self.forget_findings(*session);
            for finding in store.findings(*session).await? {
                self.finding(&finding, to)?;
            }
        }
        let mut at = from;
        loop {
            let rows = store.commands_changed(at, BATCH).await?;
            let Some(last) = rows.last() else {
                break;
            };
            at = last.last_seq;
            let mut rest = rows.as_slice();
            while !rest.is_empty() {
                let (some, after) = rest.split_at(fitting(rest));
                rest = after;
                let ids: Vec<CommandId> = some.iter().map(|row| row.id).collect();
                let mut outputs = store.outputs_of(&ids).await?;
                for row in some {
                    let streams = outputs.remove(&row.id).unwrap_or_default();
                    self.command(row, &streams)?;
                }
            }
            if self.since_commit >= DOCUMENTS_A_COMMIT && !self.anew {
                self.commit(store, at.min(to)).await?;
            }
        }
        self.commit(store, to).await
    }

    async fn commit(&mut self, store: &Store, seq: i64) -> Result<(), IndexError> {
        let event = store.event_at(seq).await?.unwrap_or_default();
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&format!("{seq} {event}"));
        prepared.commit()?;
        self.since_commit = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), IndexError> {
        let segments = self.index.index.searchable_segment_ids()?;
        if self.erased && !segments.is_empty() {
            // A deleted document's words stay in its segment until that is written anew.
            self.writer.merge(&segments).wait()?;
            self.writer.garbage_collect_files().wait()?;
        }
        if self.erased || segments.len() > MANY_SEGMENTS {
            self.writer.wait_merging_threads()?;
        }
        Ok(())
    }

    fn add(&mut self, document: TantivyDocument) -> Result<(), IndexError> {
        self.writer.add_document(document)?;
        self.documents += 1;
        self.since_commit += 1;
        Ok(())
    }

    fn forget(&self, subject: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.index.fields.subject, subject));
    }

    fn forget_findings(&self, session: SessionId) {
        self.forget(&format!("findings of {session}"));
    }

    fn document(
        &self,
        subject: &str,
        session: SessionId,
        kind: &str,
        at: Micros,
    ) -> TantivyDocument {
        let fields = &self.index.fields;
        let mut document = TantivyDocument::default();
        document.add_text(fields.subject, subject);
        document.add_text(fields.session, session.to_string());
        document.add_text(fields.kind, kind);
        document.add_i64(fields.at, at.0);
        document
    }

    fn note(&mut self, session: SessionId, note: &NoteRow) -> Result<(), IndexError> {
        let fields = self.index.fields;
        let subject = note.event.to_string();
        self.forget(&subject);
        let Some(text) = &note.text else {
            return Ok(());
        };
        let kind = if note.postmortem {
            "postmortem"
        } else {
            "note"
        };
        let mut document = self.document(&subject, session, kind, note.at);
        document.add_u64(fields.seq, u64::try_from(note.seq).unwrap_or(0));
        self.add_text(&mut document, text);
        self.add(document)
    }

    fn finding(&mut self, finding: &FindingRow, seq: i64) -> Result<(), IndexError> {
        let fields = self.index.fields;
        let subject = format!("findings of {}", finding.session);
        let mut document = self.document(&subject, finding.session, "finding", found_at(finding));
        document.add_text(fields.subject, finding.id.to_string());
        document.add_u64(fields.seq, u64::try_from(seq).unwrap_or(0));
        let kind = finding.kind.to_lowercase();
        if let Some((family, _)) = kind.split_once('.') {
            document.add_text(fields.kind, family);
        }
        document.add_text(fields.kind, &kind);
        if let Some(host) = finding.body["scope"]["host"].as_str() {
            add_host(&mut document, fields.host, host);
        }
        self.add_text(&mut document, &finding.title);
        self.add_text(&mut document, &finding.playbook);
        self.add(document)
    }

    fn command(&mut self, row: &CommandRow, streams: &Streams) -> Result<(), IndexError> {
        let subject = row.id.to_string();
        self.forget(&subject);
        let Some(line) = &row.line else {
            self.erased = true;
            self.forget_findings(row.session);
            return Ok(());
        };
        let mut chunks = Vec::new();
        for (stream, bytes) in streams {
            cut_output(*stream, bytes, &mut chunks);
        }
        // The first chunk of each stream goes with the line.
        let (first, rest): (Vec<Chunk>, Vec<Chunk>) =
            chunks.into_iter().partition(|chunk| chunk.first);
        let mut document = self.command_document(row, "command");
        self.add_text(&mut document, line);
        for chunk in &first {
            self.add_text(&mut document, &chunk.text);
        }
        document.add_text(self.index.fields.spans, spans(&first));
        self.add(document)?;
        for chunk in rest {
            let mut document = self.command_document(row, "output");
            self.add_text(&mut document, &chunk.text);
            document.add_text(self.index.fields.spans, spans(&[chunk]));
            self.add(document)?;
        }
        Ok(())
    }

    fn command_document(&self, row: &CommandRow, kind: &str) -> TantivyDocument {
        let fields = &self.index.fields;
        let mut document = self.document(&row.id.to_string(), row.session, kind, row.at);
        document.add_u64(fields.seq, u64::try_from(row.last_seq).unwrap_or(0));
        add_host(&mut document, fields.host, &row.target_host);
        if row.host != row.target_host {
            add_host(&mut document, fields.host, &row.host);
        }
        for program in row.programs.split(' ').filter(|name| !name.is_empty()) {
            document.add_text(fields.program, program.to_lowercase());
        }
        for word in exit_words(row.exit) {
            document.add_text(fields.exit, word);
        }
        document
    }

    fn add_text(&self, document: &mut TantivyDocument, text: &str) {
        document.add_text(self.index.fields.text, text);
        for flag in flags_of(text) {
            document.add_text(self.index.fields.flag, flag);
        }
    }
}

/// How many of these commands' outputs are read together: at least one's.
fn fitting(rows: &[CommandRow]) -> usize {
    let mut bytes = 0;
    rows.iter()
        .take_while(|row| {
            let fits = bytes < BATCH_BYTES;
            bytes += row.stdout_bytes + row.stderr_bytes + row.tty_bytes;
            fits
        })
        .count()
}

/// When a finding's first event happened.
pub(super) fn found_at(finding: &FindingRow) -> Micros {
    Micros(finding.body["since"].as_i64().unwrap_or(0))
}

/// A host by its name and, where that has a domain, by its first part.
fn add_host(document: &mut TantivyDocument, field: Field, host: &str) {
    let host = host.to_lowercase();
    let is_address = host
        .chars()
        .all(|c| c.is_ascii_hexdigit() || c == '.' || c == ':');
    if let Some((short, _)) = host.split_once('.')
        && !is_address
    {
        document.add_text(field, short);
    }
    document.add_text(field, &host);
}

/// The words an exit is found by.
fn exit_words(exit: Exit) -> Vec<String> {
    let words: &[&str] = match exit {
        Exit::Code(0) => &["0", "ok"],
        Exit::Code(_) => &["fail"],
        Exit::Signal(_) => &["signal", "fail"],
        Exit::Lost => &["lost"],
        Exit::Running => &["running"],
        Exit::Stopped(_) => &["stopped"],
    };
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    match exit {
        Exit::Code(code) if code != 0 => words.push(code.to_string()),
        Exit::Signal(signal) => {
            words.push(format!("signal{signal}"));
            // As a shell would have told it.
            words.push((128 + signal).to_string());
        }
        _ => {}
    }
    words
}

/// A part of a stream, as lines of text.
struct Chunk {
    stream: Stream,
    from: u64,
    to: u64,
    text: String,
    first: bool,
}

fn cut_output(stream: Stream, bytes: &[u8], chunks: &mut Vec<Chunk>) {
    let parts: Vec<(usize, &[u8])> = if bytes.len() <= 2 * ENDS_BYTES {
        vec![(0, bytes)]
    } else {
        let begin = bytes.len() - ENDS_BYTES;
        vec![
            (0, bytes.get(..ENDS_BYTES).unwrap_or_default()),
            (begin, bytes.get(begin..).unwrap_or_default()),
        ]
    };
    let mut first = true;
    for (offset, part) in parts {
        let mut current: Option<Chunk> = None;
        for line in text::lines(part) {
            let (from, to) = (line.from + offset as u64, line.to + offset as u64);
            let chunk = current.get_or_insert_with(|| Chunk {
                stream,
                from,
                to,
                text: String::new(),
                first: std::mem::take(&mut first),
            });
            chunk.from = chunk.from.min(from);
            chunk.to = chunk.to.max(to);
            chunk.text.push_str(&line.text);
            chunk.text.push('\n');
            if chunk.text.len() >= CHUNK_BYTES {
                chunks.extend(current.take());
            }
        }
        chunks.extend(current);
    }
}

/// Spans as the index stores them: `stdout 0 412,stderr 0 80`.
fn spans(chunks: &[Chunk]) -> String {
    let spans: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("{} {} {}", chunk.stream.name(), chunk.from, chunk.to))
        .collect();
    spans.join(",")
}
