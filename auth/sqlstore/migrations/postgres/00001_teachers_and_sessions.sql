-- +goose Up
create table auth_teachers (
    id         uuid        primary key,
    platform   text        collate "C" not null,
    app_id     text        collate "C" not null,
    subject    text        collate "C" not null,
    union_id   text        not null,
    created_at timestamptz not null,
    unique (platform, app_id, subject)
);

create table auth_sessions (
    token_hash   bytea       primary key check (octet_length(token_hash) = 32),
    teacher_id   uuid        not null references auth_teachers on delete cascade,
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    last_used_at timestamptz not null
);
create index auth_sessions_by_teacher on auth_sessions (teacher_id, created_at);
create index auth_sessions_by_expiry on auth_sessions (expires_at);

-- +goose Down
drop table auth_sessions;
drop table auth_teachers;
