-- +goose Up

-- Times are text of 27 bytes, UTC, which sorts by time. The columns are described in the schema for
-- PostgreSQL.

create table feedback_defaults (
    teacher_id              text    primary key,
    grade                   text    not null,
    subject                 text    not null,
    lesson_duration_minutes integer not null,
    language                text    not null,
    message_template        text    not null,
    summary_instructions    text    not null,
    updated_at              text    not null check (updated_at like '____-__-__T__:__:__.______Z')
) strict;

create table feedback_profiles (
    profile_id     text    primary key,
    teacher_id     text    not null,
    name           text    not null,
    name_folded    text    not null,
    grade          text    not null,
    subject        text    not null,
    academic_year  integer not null,
    term           text    not null,
    guardian_title text    not null,
    start_time     text    check (start_time glob '[01][0-9]:[0-5][0-9]' or start_time glob '2[0-3]:[0-5][0-9]'),
    end_time       text    check (end_time glob '[01][0-9]:[0-5][0-9]' or end_time glob '2[0-3]:[0-5][0-9]'),
    created_at     text    not null check (created_at like '____-__-__T__:__:__.______Z'),
    updated_at     text    not null check (updated_at like '____-__-__T__:__:__.______Z')
) strict;
create index feedback_profiles_by_name on feedback_profiles (teacher_id, name, profile_id);

create table feedback_sessions (
    session_id     text    primary key,
    teacher_id     text    not null,
    profile_id     text    not null references feedback_profiles (profile_id),
    state          text    not null check (state in ('active', 'completed')),
    feedback_date  text    not null check (feedback_date is date(feedback_date)),
    feedback_text  text    not null,
    generated_text text    not null,
    version        integer not null,
    revision       integer not null,
    created_at     text    not null check (created_at like '____-__-__T__:__:__.______Z'),
    updated_at     text    not null check (updated_at like '____-__-__T__:__:__.______Z')
) strict;
create index feedback_sessions_by_profile on feedback_sessions (profile_id);
create unique index feedback_sessions_one_active on feedback_sessions (profile_id) where state = 'active';

create table feedback_records (
    number         integer primary key, -- that of the row in feedback_record_pairs
    record_id      text    not null unique,
    teacher_id     text    not null,
    profile_id     text    not null references feedback_profiles (profile_id),
    feedback_date  text    not null check (feedback_date is date(feedback_date)),
    content        text    not null,
    content_folded text    not null,
    academic_year  integer not null,
    term           text    not null,
    session_id     text    references feedback_sessions (session_id),
    created_at     text    not null check (created_at like '____-__-__T__:__:__.______Z'),
    version        integer not null
) strict;
create index feedback_records_by_teacher on feedback_records (teacher_id, feedback_date, created_at, record_id);
create index feedback_records_by_profile on feedback_records (profile_id, feedback_date, created_at, record_id);
create index feedback_records_by_session on feedback_records (session_id) where session_id is not null;

-- The characters of content_folded and the pairs of them, hashed with the teacher, for searches.
create virtual table feedback_record_pairs using fts5(
    pairs, tokenize = ascii, detail = none, content = '', contentless_delete = 1
);
-- +goose StatementBegin
create trigger feedback_record_pairs_deleted after delete on feedback_records begin
    delete from feedback_record_pairs where rowid = old.number;
end;
-- +goose StatementEnd

create table feedback_idempotency_keys (
    teacher_id  text    not null,
    key         text    not null,
    fingerprint text    not null,
    record_id   text    references feedback_records (record_id) on delete cascade,
    profile_id  text    references feedback_profiles (profile_id) on delete cascade,
    created     integer not null check (created in (0, 1)),
    used_at     text    not null check (used_at like '____-__-__T__:__:__.______Z'),
    primary key (teacher_id, key),
    check ((record_id is null) <> (profile_id is null))
) strict;
create index feedback_idempotency_keys_by_record on feedback_idempotency_keys (record_id);
create index feedback_idempotency_keys_by_profile on feedback_idempotency_keys (profile_id);
create index feedback_idempotency_keys_by_time on feedback_idempotency_keys (used_at);

create table feedback_lessons (
    lesson_id   text    primary key,
    session_id  text    not null references feedback_sessions (session_id),
    teacher_id  text    not null,
    number      integer not null,
    state       text    not null check (state in ('recording', 'finished')),
    applied     integer not null check (applied in (0, 1)),
    started_at  text    not null check (started_at like '____-__-__T__:__:__.______Z'),
    finished_at text    check (finished_at like '____-__-__T__:__:__.______Z'),
    revision    integer not null,
    unique (session_id, number)
) strict;

create table feedback_segments (
    segment_id       text    primary key,
    lesson_id        text    not null references feedback_lessons (lesson_id),
    session_id       text    not null references feedback_sessions (session_id),
    teacher_id       text    not null,
    sequence         integer not null,
    state            text    not null check (state in ('queued', 'transcribing', 'transcribed', 'failed')),
    text             text    not null,
    details          text    not null,
    edited_text      text,
    retry_language   text    not null,
    version          integer not null,
    error            text    not null,
    error_code       text    not null,
    attempts         integer not null,
    suspicions       integer not null,
    round            integer not null,
    turn             text    not null check (turn like '____-__-__T__:__:__.______Z'),
    token            text,
    recognizer_task  text    not null,
    audio_key        text    not null unique,
    audio_deleted_at text    check (audio_deleted_at like '____-__-__T__:__:__.______Z'),
    duration_ms      integer not null,
    size_bytes       integer not null,
    sha256           text    not null,
    content_type     text    not null,
    created_at       text    not null check (created_at like '____-__-__T__:__:__.______Z'),
    changed_at       text    not null check (changed_at like '____-__-__T__:__:__.______Z'),
    transcribed_at   text    check (transcribed_at like '____-__-__T__:__:__.______Z'),
    took_ms          integer not null default 0,
    revision         integer not null,
    unique (lesson_id, sequence)
) strict;
create index feedback_segments_by_session on feedback_segments (session_id, revision);
create index feedback_segments_transcribing on feedback_segments (changed_at) where state = 'transcribing';
create index feedback_segments_unfinished on feedback_segments (teacher_id, turn)
    where state in ('queued', 'transcribing');
create index feedback_segments_in_turn on feedback_segments (state desc, turn)
    where state in ('queued', 'transcribing');
create index feedback_segments_transcribed on feedback_segments (transcribed_at desc)
    where took_ms > 0 and duration_ms > 0;
create index feedback_segments_with_audio on feedback_segments (transcribed_at)
    where state = 'transcribed' and audio_deleted_at is null;

create table feedback_words (
    teacher_id text not null,
    word       text not null,
    used_at    text not null check (used_at like '____-__-__T__:__:__.______Z'),
    primary key (teacher_id, word)
) strict;

create table feedback_usage (
    teacher_id text    primary key,
    day        text    not null check (day is date(day)),
    bytes      integer not null,
    segments   integer not null,
    sessions   integer not null,
    summaries  integer not null,
    text_bytes integer not null,
    text_rows  integer not null
) strict;

-- +goose Down
drop table feedback_usage;
drop table feedback_words;
drop table feedback_segments;
drop table feedback_lessons;
drop table feedback_idempotency_keys;
drop table feedback_records;
drop table feedback_record_pairs;
drop table feedback_sessions;
drop table feedback_profiles;
drop table feedback_defaults;
