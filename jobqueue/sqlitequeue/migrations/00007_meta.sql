-- +goose Up

-- What the caller attached to a job, a JSON object of texts.
alter table jobqueue_job add column meta text;
alter table jobqueue_done add column meta text;
