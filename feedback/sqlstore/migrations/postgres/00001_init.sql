-- +goose Up
create table feedback_defaults (
    teacher_id uuid primary key,
    grade text not null,
    subject text not null,
    lesson_duration_minutes integer not null,
    updated_at timestamptz not null
);

create table feedback_profiles (
    profile_id uuid primary key,
    teacher_id uuid not null,
    name text collate "C" not null,
    name_folded text collate "C" not null, -- for searching whatever the case
    grade text not null,
    subject text not null,
    academic_year integer not null,
    term text not null,
    guardian_title text not null,
    start_time text not null,
    end_time text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index feedback_profiles_by_name on feedback_profiles (teacher_id, name, profile_id);

create table feedback_sessions (
    session_id uuid primary key,
    teacher_id uuid not null,
    profile_id uuid not null references feedback_profiles (profile_id),
    state text not null check (state in ('active', 'completed')),
    feedback_date text collate "C" not null, -- YYYY-MM-DD
    feedback_text text not null,
    generated_text text not null,
    version bigint not null,  -- the teacher's edits
    revision bigint not null, -- all changes, also of lessons and segments
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index feedback_sessions_by_profile on feedback_sessions (profile_id);
create unique index feedback_sessions_one_active on feedback_sessions (profile_id) where state = 'active';

create table feedback_records (
    record_id uuid primary key,
    teacher_id uuid not null,
    profile_id uuid not null references feedback_profiles (profile_id),
    feedback_date text collate "C" not null, -- YYYY-MM-DD
    content text not null,
    session_id uuid references feedback_sessions (session_id),
    created_at timestamptz not null
);
create index feedback_records_by_teacher on feedback_records (teacher_id, feedback_date, created_at, record_id);
create index feedback_records_by_profile on feedback_records (profile_id, feedback_date, created_at, record_id);
create index feedback_records_by_session on feedback_records (session_id) where session_id is not null;

create table feedback_lessons (
    lesson_id uuid primary key,
    session_id uuid not null references feedback_sessions (session_id),
    teacher_id uuid not null,
    number integer not null,
    state text not null check (state in ('recording', 'finished')),
    applied boolean not null,
    started_at timestamptz not null,
    finished_at timestamptz,
    revision bigint not null,
    unique (session_id, number)
);

create table feedback_segments (
    segment_id uuid primary key,
    lesson_id uuid not null references feedback_lessons (lesson_id),
    session_id uuid not null references feedback_sessions (session_id),
    teacher_id uuid not null,
    sequence integer not null,
    state text not null check (state in ('queued', 'transcribing', 'transcribed', 'failed')),
    text text not null,
    error text not null,
    attempts integer not null,
    token text, -- the round, and the try that is transcribing, where there is one
    audio_key text collate "C" not null unique,
    duration_ms bigint not null,
    size_bytes bigint not null,
    sha256 text not null,
    content_type text not null,
    created_at timestamptz not null,
    changed_at timestamptz not null,
    transcribed_at timestamptz,
    revision bigint not null,
    unique (lesson_id, sequence)
);
create index feedback_segments_by_session on feedback_segments (session_id, revision);
create index feedback_segments_transcribing on feedback_segments (changed_at) where state = 'transcribing';

-- +goose Down
drop table feedback_segments, feedback_lessons, feedback_records, feedback_sessions, feedback_profiles, feedback_defaults;
