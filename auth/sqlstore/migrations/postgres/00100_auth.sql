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
    device     text        not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index auth_sessions_by_user on auth_sessions (user_id, created_at);
create index auth_sessions_by_expiry on auth_sessions (expires_at);

create table auth_devices (
    secret_hash bytea       primary key check (octet_length(secret_hash) = 32),
    code        text        collate "C" not null unique,
    name        text        not null,
    address     text        not null,
    user_id     uuid        references auth_users on delete cascade, -- who has confirmed it
    created_at  timestamptz not null,
    expires_at  timestamptz not null
);
create index auth_devices_by_expiry on auth_devices (expires_at);
create index auth_devices_by_user on auth_devices (user_id);

-- +goose Down
drop table auth_devices;
drop table auth_sessions;
drop table auth_users;
