-- +goose Up

-- Times are microseconds since 1970, UTC.

-- One row for each worker process. The leases of its jobs are valid while it exists.
create table jobqueue_worker (
    id         integer primary key autoincrement,
    name       text    not null,
    started_at integer not null,
    expires_at integer not null
) strict;

-- Unfinished jobs only, so the table stays small.
create table jobqueue_job (
    id            integer primary key autoincrement,
    run_at        integer not null,
    created_at    integer not null,
    claimed_at    integer,
    worker        integer,                      -- holds the lease; null: none
    fence         integer not null default 0,   -- incremented whenever the lease changes
    attempt       integer not null default 0,
    max_attempts  integer not null,             -- negative: unlimited
    priority      integer not null check (priority between 1 and 4),
    cancel        integer not null default 0,   -- the running job is to be cancelled
    until_started integer not null default 0,   -- the claim frees unique_key
    queue         text    not null,
    kind          text    not null,
    unique_key    text,
    args          text    not null,
    errors        text
) strict;

create index jobqueue_job_ready on jobqueue_job (queue, priority, run_at, id) where worker is null;
create unique index jobqueue_job_unique on jobqueue_job (kind, unique_key) where unique_key is not null;
create index jobqueue_job_cancel on jobqueue_job (worker) where cancel = 1;

-- The history.
create table jobqueue_done (
    id            integer primary key,
    state         integer not null,             -- 4 succeeded, 5 failed, 6 cancelled
    finished_at   integer not null,
    run_at        integer not null,
    created_at    integer not null,
    claimed_at    integer,
    fence         integer not null,
    attempt       integer not null,
    max_attempts  integer not null,
    priority      integer not null,
    until_started integer not null,
    queue         text    not null,
    kind          text    not null,
    unique_key    text,
    args          text    not null,
    errors        text
) strict;

create index jobqueue_done_time on jobqueue_done (finished_at);
create index jobqueue_done_bad on jobqueue_done (state, id) where state <> 4;
