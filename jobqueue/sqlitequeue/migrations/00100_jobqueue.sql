-- +goose Up

-- Times are microseconds since 1970, UTC.

-- One row for each worker process. The leases of its jobs are valid while it exists.
create table jobqueue_worker (
    id         integer primary key autoincrement,
    name       text    not null,
    started_at integer not null,
    expires_at integer not null,
    queues     text    not null default '[]' -- that the worker serves, as JSON
) strict;

-- Unfinished jobs only, so the table stays small.
create table jobqueue_job (
    id            integer primary key autoincrement,
    run_at        integer not null,
    created_at    integer not null,
    claimed_at    integer,
    -- The worker that holds the lease; null: none; 0: the job is held, because others of its
    -- limit key come first, or a member of the group that it waits for has not ended.
    worker        integer,
    fence         integer not null default 0, -- incremented whenever the lease changes
    attempt       integer not null default 0,
    max_attempts  integer not null,           -- negative: unlimited
    priority      integer not null check (priority between 1 and 4),
    cancel        integer not null default 0, -- the running job is to be cancelled
    queue         text    not null,
    kind          text    not null,
    unique_key    text,
    args          text    not null,
    errors        text check (json_type(errors) = 'array'),
    limit_key     text,                       -- at most key_limit jobs of one key have a turn
    key_limit     integer,                    -- from 2; null: one
    turn          integer,                    -- from 0, of a job with a key that is not held
    meta          text,                       -- what the caller attached, a JSON object of texts
    in_group      text,
    after_group   text,                       -- the job starts when this group has no member
    saved         text                        -- what the handler has saved, as JSON
) strict;

-- Claims name the kinds that they look for.
create index jobqueue_job_ready on jobqueue_job (kind, queue, priority, run_at, id) where worker is null;
create unique index jobqueue_job_unique on jobqueue_job (kind, unique_key) where unique_key is not null;
create index jobqueue_job_worker on jobqueue_job (worker, cancel) where worker <> 0;
-- The jobs of a key that are not held have different turns; the next one is found among the others.
create unique index jobqueue_job_turn on jobqueue_job (limit_key, turn)
    where limit_key is not null and (worker is null or worker <> 0);
create index jobqueue_job_held on jobqueue_job (limit_key, id) where worker = 0;
create index jobqueue_job_group on jobqueue_job (in_group) where in_group is not null;
create index jobqueue_job_after on jobqueue_job (after_group) where worker = 0 and after_group is not null;

-- The history.
create table jobqueue_done (
    id            integer primary key,
    state         integer not null, -- 4 succeeded, 5 failed, 6 cancelled
    finished_at   integer not null,
    run_at        integer not null,
    created_at    integer not null,
    claimed_at    integer,
    fence         integer not null,
    attempt       integer not null,
    max_attempts  integer not null,
    priority      integer not null,
    queue         text    not null,
    kind          text    not null,
    unique_key    text,
    args          text    not null,
    errors        text,
    limit_key     text,
    key_limit     integer,
    meta          text,
    in_group      text,
    after_group   text,
    saved         text,
    callback_at   integer           -- when to call the callback of a cancelled job; null: no more
) strict;

create index jobqueue_done_bad on jobqueue_done (state, id) where state <> 4;
create index jobqueue_done_callback on jobqueue_done (kind, callback_at) where callback_at is not null;
create index jobqueue_done_group on jobqueue_done (in_group, state) where in_group is not null;

create table jobqueue_schedule (
    name    text    primary key,
    spec    text    not null,           -- identifies the rule that returns its times
    next_at integer not null,           -- the process that changes it enqueues the job of this time
    last_at integer,
    skipped integer not null default 0, -- times without a job
    paused  integer not null default 0
) strict;

-- What workers did with the jobs of a queue in a minute: see driver.Minute.
create table jobqueue_minute (
    minute   integer not null,
    queue    text    not null,
    finished integer not null,
    failed   integer not null,
    waits    text    not null, -- a JSON array
    primary key (minute, queue)
) strict, without rowid;

-- No job of the queue is claimed until then.
create table jobqueue_pause (
    queue text    primary key,
    until integer not null
) strict;

-- A queue with a limit has a row for each job that may run at a time, in all processes together.
create table jobqueue_slot (
    queue  text    not null,
    n      integer not null,
    worker integer, -- that may run a job; null: none
    primary key (queue, n)
) strict;

-- A queue with a rate may start its next job at this time, less what its burst allows.
create table jobqueue_rate (
    queue text    primary key,
    at    integer not null
) strict;
