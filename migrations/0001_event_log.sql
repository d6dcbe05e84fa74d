-- Why: the event log is the record, and everything else in this file follows from it.
--
-- `events` is append-only: triggers refuse update, delete and replace (a replace deletes without
-- firing delete triggers unless recursive_triggers is on, hence the guard on insert). `contents`
-- holds what people typed and programs printed, so that a secret can be erased: only its bytes and
-- salt go, only after a content_erased event names it, and the event that refers to it stays as it
-- was. The read tables at the end are projections: `rec rebuild` drops their rows and makes them
-- again from the two tables at the top.

create table events (
    seq integer primary key autoincrement,
    id text not null unique,
    session text not null,
    session_version integer not null check (session_version > 0),
    kind text not null,
    version integer not null,
    at_us integer not null,
    body text not null check (json_valid(body)),
    prev_hash blob not null check (length(prev_hash) = 32),
    hash blob not null check (length(hash) = 32),
    command text generated always as (body ->> '$.command') virtual,
    unique (session, session_version)
) strict;

create index events_command on events (command, seq) where command is not null;
create index events_number on events (session, body ->> '$.number')
    where kind = 'command_started';
create index events_erasures on events (seq) where kind = 'content_erased';

create trigger events_refuse_update before update on events
begin
    select raise(abort, 'events are never changed');
end;

create trigger events_refuse_delete before delete on events
begin
    select raise(abort, 'events are never deleted');
end;

create trigger events_refuse_replace before insert on events
when exists (select 1 from events where seq = new.seq)
    or exists (select 1 from events where id = new.id)
    or exists (
        select 1 from events
        where session = new.session and session_version = new.session_version
    )
begin
    select raise(abort, 'events are never replaced');
end;

create table contents (
    id text primary key not null,
    kind text not null,
    len_bytes integer not null check (len_bytes >= 0),
    codec text not null check (codec in ('raw', 'zstd', 'erased')),
    salt blob,
    bytes blob,
    check ((codec = 'erased') = (bytes is null)),
    check ((codec = 'erased') = (salt is null))
) strict;

create trigger contents_refuse_update before update on contents
when new.codec <> 'erased'
    or new.id <> old.id
    or new.kind <> old.kind
    or new.len_bytes <> old.len_bytes
    or not exists (
        select 1 from events, json_each(events.body, '$.contents') as named
        where events.kind = 'content_erased' and named.value = old.id
    )
begin
    select raise(abort, 'content is only ever erased, and only after an event that says so');
end;

create trigger contents_refuse_delete before delete on contents
begin
    select raise(abort, 'content is erased, never deleted');
end;

create trigger contents_refuse_replace before insert on contents
when exists (select 1 from contents where id = new.id)
begin
    select raise(abort, 'content is never replaced');
end;

-- How far each spool has been taken in: written in the same transaction as the events it gave.
create table ingested (
    spool text primary key not null,
    offset_bytes integer not null,
    done integer not null check (done in (0, 1))
) strict, without rowid;

-- Projections from here on. `checkpoints.seq` is the last event each one has seen.

create table checkpoints (
    projection text primary key not null,
    seq integer not null
) strict, without rowid;

create table sessions (
    id text primary key not null,
    title text,
    automatic integer not null,
    relative_time integer not null,
    started_us integer not null,
    last_us integer not null,
    ended_us integer,
    commands integer not null,
    last_seq integer not null
) strict, without rowid;

create index sessions_recent on sessions (last_seq);

create table commands (
    id text primary key not null,
    session text not null,
    number integer not null,
    line text not null,
    host text not null,
    target_host text not null,
    programs text not null,
    user text,
    cwd text,
    parent text,
    recorder text not null,
    at_us integer not null,
    exit text not null,
    duration_us integer,
    stdout_bytes integer not null,
    stderr_bytes integer not null,
    tty_bytes integer not null,
    gap_bytes integer not null,
    last_seq integer not null
) strict, without rowid;

create index commands_order on commands (session, at_us, number);
create index commands_changed on commands (last_seq);

-- The hosts a session went to, so that a list of sessions need not read its commands.
create table session_hosts (
    session text not null,
    host text not null,
    at_us integer not null,
    primary key (session, host)
) strict, without rowid;

create table notes (
    event text primary key not null,
    session text not null,
    kind text not null,
    at_us integer not null,
    text text not null,
    seq integer not null
) strict, without rowid;

create index notes_session on notes (session, at_us);
create index notes_seq on notes (seq);

create table judgements (
    event text primary key not null,
    session text not null,
    finding text not null,
    playbook text not null,
    verdict text not null check (verdict in ('confirmed', 'dismissed')),
    hypothesis text,
    because text,
    at_us integer not null,
    seq integer not null
) strict, without rowid;

create index judgements_finding on judgements (finding, seq);
create index judgements_session on judgements (session, seq);

-- What was read from a command's output, and by which reader: read again when either moves on.
create table readings (
    command text primary key not null,
    session text not null,
    reader text not null,
    seq integer not null,
    complaints text not null check (json_valid(complaints)),
    unclaimed text not null check (json_valid(unclaimed))
) strict, without rowid;

create index readings_session on readings (session);

create table facts (
    command text not null,
    ordinal integer not null,
    fact text not null,
    body text not null check (json_valid(body)),
    primary key (command, ordinal)
) strict, without rowid;

create index facts_by_type on facts (fact, command);

-- Findings as last diagnosed, for lists and for looking one up by the id a person types.
create table findings (
    session text not null,
    id text not null,
    place integer not null,
    playbook text not null,
    version integer not null,
    kind text not null,
    claim text not null,
    severity text not null,
    status text not null,
    title text not null,
    body text not null check (json_valid(body)),
    primary key (session, id)
) strict, without rowid;

create index findings_id on findings (id);
create index findings_playbook on findings (playbook);

create table diagnosed (
    session text primary key not null,
    seq integer not null,
    stamp text not null,
    indexed integer not null default 0 check (indexed in (0, 1))
) strict, without rowid;

pragma user_version = 1;
