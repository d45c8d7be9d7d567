-- +goose Up
create table feedback_defaults (
    teacher_id              uuid        primary key,
    grade                   text        not null,
    subject                 text        not null,
    lesson_duration_minutes integer     not null,
    language                text        not null,
    message_template        text        not null,
    summary_instructions    text        not null,
    updated_at              timestamptz not null
);
comment on table feedback_defaults is 'Default values of a teacher''s new profiles';
comment on column feedback_defaults.language is 'Of the teacher''s recordings, such as en; empty: as configured';
comment on column feedback_defaults.message_template is 'With placeholders such as {text}; empty: by language';
comment on column feedback_defaults.summary_instructions is 'For the form of generated texts; empty: none';

create table feedback_profiles (
    profile_id     uuid        primary key,
    teacher_id     uuid        not null,
    name           text        collate "C" not null,
    name_folded    text        collate "C" not null,
    grade          text        not null,
    subject        text        not null,
    academic_year  integer     not null,
    term           text        not null,
    guardian_title text        not null,
    start_time     time,
    end_time       time,
    created_at     timestamptz not null,
    updated_at     timestamptz not null
);
create index feedback_profiles_by_name on feedback_profiles (teacher_id, name, profile_id);
comment on table feedback_profiles is 'Students, each of one teacher';
comment on column feedback_profiles.name_folded is 'The name for searches that ignore case and width: case-folded, NFKC';
comment on column feedback_profiles.guardian_title is 'How the guardian is addressed; empty: unknown';
comment on column feedback_profiles.start_time is 'When the lesson starts, local time; null: unknown';
comment on column feedback_profiles.end_time is 'When the lesson ends, local time; null: unknown';

create table feedback_sessions (
    session_id     uuid        primary key,
    teacher_id     uuid        not null,
    profile_id     uuid        not null references feedback_profiles (profile_id),
    state          text        not null check (state in ('active', 'completed')),
    feedback_date  date        not null,
    feedback_text  text        not null,
    generated_text text        not null,
    version        bigint      not null,
    revision       bigint      not null,
    created_at     timestamptz not null,
    updated_at     timestamptz not null
);
create index feedback_sessions_by_profile on feedback_sessions (profile_id);
create unique index feedback_sessions_one_active on feedback_sessions (profile_id) where state = 'active';
comment on table feedback_sessions is 'Voice sessions: lessons that become one feedback text';
comment on column feedback_sessions.state is 'active, or completed by a record; a profile has at most one active session';
comment on column feedback_sessions.feedback_text is 'The teacher''s own text';
comment on column feedback_sessions.generated_text is 'The last summary; empty: none';
comment on column feedback_sessions.version is 'Counts the teacher''s edits of text and date';
comment on column feedback_sessions.revision is 'Counts all changes, also of lessons and segments';

create table feedback_records (
    record_id      uuid        primary key,
    teacher_id     uuid        not null,
    profile_id     uuid        not null references feedback_profiles (profile_id),
    feedback_date  date        not null,
    content        text        not null,
    content_folded text        not null,
    academic_year  integer     not null,
    term           text        not null,
    session_id     uuid        references feedback_sessions (session_id),
    created_at     timestamptz not null,
    version        bigint      not null
);
create index feedback_records_by_teacher on feedback_records (teacher_id, feedback_date, created_at, record_id);
create index feedback_records_by_profile on feedback_records (profile_id, feedback_date, created_at, record_id);
create index feedback_records_by_session on feedback_records (session_id) where session_id is not null;
comment on table feedback_records is 'Finished feedback, by date';

-- +goose StatementBegin
create function feedback_pairs(teacher uuid, folded text, singles boolean) returns bigint[]
language plpgsql immutable parallel safe cost 10000 as $$
declare
    seed constant bigint := hashtextextended(teacher::text, 0);
begin
    return array(
        with characters as materialized (
            select c, c || lead(c) over (order by n) as pair
            from unnest(string_to_array(folded, null)) with ordinality as u (c, n)
        )
        select hashtextextended(c, seed) from characters where singles
        union
        select hashtextextended(pair, seed) from characters where pair is not null);
end
$$;
-- +goose StatementEnd
comment on function feedback_pairs is
    'The pairs of the characters of a text, and the characters if singles, hashed with the teacher, for searches';
create index feedback_records_pairs on feedback_records using gin (feedback_pairs(teacher_id, content_folded, true));
-- Without statistics few rows are expected to have a list of pairs, and to analyze it is expensive.
alter index feedback_records_pairs alter column 1 set statistics 0;
comment on column feedback_records.content_folded is
    'The content for searches that ignore case and width: case-folded, NFKC';
comment on column feedback_records.academic_year is 'That of the student when the record was saved; so the term';
comment on column feedback_records.version is 'Counts edits, for If-Match';
comment on column feedback_records.session_id is 'The voice session that the content comes from, if any';

create table feedback_idempotency_keys (
    teacher_id  uuid        not null,
    key         text        collate "C" not null,
    fingerprint text        not null,
    record_id   uuid        references feedback_records (record_id) on delete cascade,
    profile_id  uuid        references feedback_profiles (profile_id) on delete cascade,
    created     boolean     not null,
    used_at     timestamptz not null,
    primary key (teacher_id, key),
    check ((record_id is null) <> (profile_id is null))
);
create index feedback_idempotency_keys_by_record on feedback_idempotency_keys (record_id);
create index feedback_idempotency_keys_by_profile on feedback_idempotency_keys (profile_id);
create index feedback_idempotency_keys_by_time on feedback_idempotency_keys (used_at);
comment on table feedback_idempotency_keys is
    'Requests that a client may repeat, by the Idempotency-Key header; kept for a day';
comment on column feedback_idempotency_keys.fingerprint is 'SHA-256 of what the first request asked for, in hex';
comment on column feedback_idempotency_keys.created is
    'Whether the first request created the record (201) or found it (200)';

create table feedback_lessons (
    lesson_id   uuid        primary key,
    session_id  uuid        not null references feedback_sessions (session_id),
    teacher_id  uuid        not null,
    number      integer     not null,
    state       text        not null check (state in ('recording', 'finished')),
    applied     boolean     not null,
    started_at  timestamptz not null,
    finished_at timestamptz,
    revision    bigint      not null,
    unique (session_id, number)
);
comment on table feedback_lessons is 'Lessons of a session, each recorded in segments';
comment on column feedback_lessons.state is 'recording, then finished';
comment on column feedback_lessons.applied is 'The feedback contains the text already: summaries omit it';
comment on column feedback_lessons.revision is 'The session''s revision at the last change';

create table feedback_segments (
    segment_id       uuid        primary key,
    lesson_id        uuid        not null references feedback_lessons (lesson_id),
    session_id       uuid        not null references feedback_sessions (session_id),
    teacher_id       uuid        not null,
    sequence         integer     not null,
    state            text        not null check (state in ('queued', 'transcribing', 'transcribed', 'failed')),
    text             text        not null,
    details          text        not null,
    edited_text      text,
    retry_language   text        not null,
    version          bigint      not null,
    error            text        not null,
    error_code       text        not null,
    attempts         integer     not null,
    suspicions       integer     not null,
    round            bigint      not null,
    turn             timestamptz not null,
    token            text,
    recognizer_task  text        not null,
    audio_key        text        collate "C" not null unique,
    audio_deleted_at timestamptz,
    duration_ms      bigint      not null,
    size_bytes       bigint      not null,
    sha256           text        not null,
    content_type     text        not null,
    created_at       timestamptz not null,
    changed_at       timestamptz not null,
    transcribed_at   timestamptz,
    took_ms          bigint      not null default 0,
    revision         bigint      not null,
    unique (lesson_id, sequence)
);
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
comment on table feedback_segments is 'Pieces of a lesson''s recording, and their text';
comment on column feedback_segments.state is
    'queued, transcribing, then transcribed or failed; a retry makes these queued';
comment on column feedback_segments.details is 'About the text, as JSON: where its sentences are; empty: unknown';
comment on column feedback_segments.edited_text is 'The teacher''s text in place of the recognised one; null: none';
comment on column feedback_segments.retry_language is
    'The language that the last retry asked for; empty: that of the teacher';
comment on column feedback_segments.version is 'Counts edits of the text, for If-Match';
comment on column feedback_segments.error is 'Why the last attempt failed; empty: it did not';
comment on column feedback_segments.attempts is 'Attempts at the transcription that counted';
comment on column feedback_segments.suspicions is 'Attempts in which the recognizer was lost';
comment on column feedback_segments.round is 'Identifies the newest job of the segment';
comment on column feedback_segments.turn is 'When the newest job counts as queued, so that teachers take turns';
comment on column feedback_segments.token is 'The lease token of the running attempt; null unless transcribing';
comment on column feedback_segments.recognizer_task is 'The task of a recognition that runs elsewhere; empty: none';
comment on column feedback_segments.audio_key is 'Where the recording is in the audio store';
comment on column feedback_segments.audio_deleted_at is 'When the recording was deleted for its age';
comment on column feedback_segments.duration_ms is 'Length in milliseconds; 0: unknown';
comment on column feedback_segments.size_bytes is 'Size as sent';
comment on column feedback_segments.sha256 is 'Of the bytes as sent, in hex';
comment on column feedback_segments.changed_at is 'When the state last changed';
comment on column feedback_segments.took_ms is 'How long the recognition took, in milliseconds; 0: unknown';
comment on column feedback_segments.revision is 'The session''s revision at the last change';

create table feedback_words (
    teacher_id uuid        not null,
    word       text        not null,
    used_at    timestamptz not null,
    primary key (teacher_id, word)
);
comment on table feedback_words is 'Names and terms that a recognizer should expect in the teacher''s recordings';
comment on column feedback_words.used_at is 'When the word was last added, corrected to or written in a record';

create table feedback_usage (
    teacher_id uuid   primary key,
    day        date   not null,
    bytes      bigint not null,
    segments   bigint not null,
    sessions   bigint not null,
    summaries  bigint not null,
    text_bytes bigint not null,
    text_rows  bigint not null
);
comment on table feedback_usage is 'What each teacher has used on the last day (UTC) of use, for the daily limits';

-- +goose Down
drop table feedback_usage, feedback_words, feedback_segments, feedback_lessons, feedback_idempotency_keys,
    feedback_records, feedback_sessions, feedback_profiles, feedback_defaults;
drop function feedback_pairs;
