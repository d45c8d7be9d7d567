-- +goose Up

-- What the caller attached to a job, an object of texts.
alter table jobqueue_job add column meta json;
alter table jobqueue_done add column meta json;
