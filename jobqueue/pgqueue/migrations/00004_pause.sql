-- +goose Up

-- No job of the queue is claimed until then.
create table jobqueue_pause (
    queue text collate "C" primary key,
    until timestamptz not null
);
