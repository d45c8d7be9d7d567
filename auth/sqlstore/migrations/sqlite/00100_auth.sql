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
    device     text not null,
    created_at text not null,
    expires_at text not null
) strict, without rowid;
create index auth_sessions_by_user on auth_sessions (user_id, created_at);
create index auth_sessions_by_expiry on auth_sessions (expires_at);

create table auth_devices (
    secret_hash blob not null primary key check (length(secret_hash) = 32),
    code        text not null unique,
    name        text not null,
    address     text not null,
    user_id     text references auth_users on delete cascade, -- who has confirmed it
    created_at  text not null,
    expires_at  text not null
) strict;
create index auth_devices_by_expiry on auth_devices (expires_at);
create index auth_devices_by_user on auth_devices (user_id);

-- +goose Down
drop table auth_devices;
drop table auth_sessions;
drop table auth_users;
