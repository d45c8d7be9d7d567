-- +goose Up

-- A queue with a limit has a row for each job that may run at a time, in all processes together.
create table jobqueue_slot (
    queue  text collate "C",
    n      integer,
    worker bigint, -- that may run a job; null: nobody yet
    primary key (queue, n)
);
