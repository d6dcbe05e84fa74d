-- Why: "seen before" asks which sessions showed an error of the same fingerprint. Without this index
-- that would read every fact on record. Only errors are in it: the other lines never ask.

create index facts_errors on facts (
    case when fact = 'traceback'
              or (fact = 'line' and body ->> '$.fields.level' in ('error', 'fatal'))
         then body ->> '$.fields.fingerprint' end
)
where case when fact = 'traceback'
              or (fact = 'line' and body ->> '$.fields.level' in ('error', 'fatal'))
         then body ->> '$.fields.fingerprint' end is not null;

pragma user_version = 2;
