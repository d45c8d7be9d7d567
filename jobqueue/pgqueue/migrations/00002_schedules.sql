-- +goose Up

create table jobqueue_schedule (
    name    text collate "C" primary key,
    spec    text        not null,          -- identifies the rule that returns its times
    next_at timestamptz not null,          -- whoever changes it enqueues the job of this time
    last_at timestamptz,
    skipped bigint      not null default 0, -- times without a job
    paused  boolean     not null default false
);
