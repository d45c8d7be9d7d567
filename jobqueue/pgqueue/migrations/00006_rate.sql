-- +goose Up

-- A queue with a rate may start its next job at this time, less what its burst allows.
create table jobqueue_rate (
    queue text collate "C" primary key,
    at    timestamptz not null
);
