-- +goose Up

-- No job of the queue is claimed until then.
create table jobqueue_pause (
    queue text    primary key,
    until integer not null
) strict;
