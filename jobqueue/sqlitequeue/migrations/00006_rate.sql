-- +goose Up

-- A queue with a rate may start its next job at this time, less what its burst allows.
create table jobqueue_rate (
    queue text    primary key,
    at    integer not null
) strict;
