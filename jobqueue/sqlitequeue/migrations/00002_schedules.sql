-- +goose Up

create table jobqueue_schedule (
    name    text    primary key,
    spec    text    not null,            -- identifies the rule that returns its times
    next_at integer not null,            -- whoever changes it enqueues the job of this time
    last_at integer,
    skipped integer not null default 0,  -- times without a job
    paused  integer not null default 0
) strict;
