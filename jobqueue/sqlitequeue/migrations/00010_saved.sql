-- +goose Up

-- What the handler of the job has saved, as JSON.
alter table jobqueue_job add column saved text;
alter table jobqueue_done add column saved text;
