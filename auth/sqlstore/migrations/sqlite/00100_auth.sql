-- +goose Up
create table auth_users (
    id         text not null primary key,
    platform   text not null,
    app_id     text not null,
    subject    text not null,
    union_id   text not null,
    created_at text not null,
    unique (platform, app_id, subject)
) strict;

create table auth_sessions (
    token_hash blob not null primary key check (length(token_hash) = 32),
    user_id    text not null references auth_users on delete cascade,
    created_at text not null,
    expires_at text not null
) strict, without rowid;
create index auth_sessions_by_user on auth_sessions (user_id, created_at);
create index auth_sessions_by_expiry on auth_sessions (expires_at);

-- +goose Down
drop table auth_sessions;
drop table auth_users;
