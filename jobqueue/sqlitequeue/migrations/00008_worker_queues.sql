-- +goose Up

alter table jobqueue_worker add column queues text not null default '[]'; -- that the worker serves, as JSON
