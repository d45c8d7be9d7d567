-- +goose Up
create table auth_users (
    id         uuid        primary key,
    platform   text        collate "C" not null,
    app_id     text        collate "C" not null,
    subject    text        collate "C" not null,
    union_id   text        not null,
    created_at timestamptz not null,
    unique (platform, app_id, subject)
);

create table auth_sessions (
    token_hash bytea       primary key check (octet_length(token_hash) = 32),
    user_id    uuid        not null references auth_users on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index auth_sessions_by_user on auth_sessions (user_id, created_at);
create index auth_sessions_by_expiry on auth_sessions (expires_at);

-- +goose Down
drop table auth_sessions;
drop table auth_users;
