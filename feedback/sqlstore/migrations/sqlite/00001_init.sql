-- +goose Up
create table feedback_defaults (
    teacher_id text primary key,
    grade text not null,
    subject text not null,
    lesson_duration_minutes integer not null,
    updated_at text not null
) strict;

create table feedback_profiles (
    profile_id text primary key,
    teacher_id text not null,
    name text not null,
    name_folded text not null, -- for searching whatever the case
    grade text not null,
    subject text not null,
    academic_year integer not null,
    term text not null,
    guardian_title text not null,
    start_time text not null,
    end_time text not null,
    created_at text not null,
    updated_at text not null
) strict;
create index feedback_profiles_by_name on feedback_profiles (teacher_id, name, profile_id);

create table feedback_sessions (
    session_id text primary key,
    teacher_id text not null,
    profile_id text not null references feedback_profiles (profile_id),
    state text not null check (state in ('active', 'completed')),
    feedback_date text not null, -- YYYY-MM-DD
    feedback_text text not null,
    generated_text text not null,
    version integer not null,  -- the teacher's edits
    revision integer not null, -- all changes, also of lessons and segments
    created_at text not null,
    updated_at text not null
) strict;
create index feedback_sessions_by_profile on feedback_sessions (profile_id);
create unique index feedback_sessions_one_active on feedback_sessions (profile_id) where state = 'active';

create table feedback_records (
    record_id text primary key,
    teacher_id text not null,
    profile_id text not null references feedback_profiles (profile_id),
    feedback_date text not null, -- YYYY-MM-DD
    content text not null,
    session_id text references feedback_sessions (session_id),
    created_at text not null
) strict;
create index feedback_records_by_teacher on feedback_records (teacher_id, feedback_date, created_at, record_id);
create index feedback_records_by_profile on feedback_records (profile_id, feedback_date, created_at, record_id);
create index feedback_records_by_session on feedback_records (session_id) where session_id is not null;

create table feedback_lessons (
    lesson_id text primary key,
    session_id text not null references feedback_sessions (session_id),
    teacher_id text not null,
    number integer not null,
    state text not null check (state in ('recording', 'finished')),
    applied integer not null,
    started_at text not null,
    finished_at text,
    revision integer not null,
    unique (session_id, number)
) strict;

create table feedback_segments (
    segment_id text primary key,
    lesson_id text not null references feedback_lessons (lesson_id),
    session_id text not null references feedback_sessions (session_id),
    teacher_id text not null,
    sequence integer not null,
    state text not null check (state in ('queued', 'transcribing', 'transcribed', 'failed')),
    text text not null,
    error text not null,
    attempts integer not null,
    token text, -- the round, and the try that is transcribing, where there is one
    audio_key text not null unique,
    duration_ms integer not null,
    size_bytes integer not null,
    sha256 text not null,
    content_type text not null,
    created_at text not null,
    changed_at text not null,
    transcribed_at text,
    revision integer not null,
    unique (lesson_id, sequence)
) strict;
create index feedback_segments_by_session on feedback_segments (session_id, revision);
create index feedback_segments_transcribing on feedback_segments (changed_at) where state = 'transcribing';

-- +goose Down
drop table feedback_segments;
drop table feedback_lessons;
drop table feedback_records;
drop table feedback_sessions;
drop table feedback_profiles;
drop table feedback_defaults;
