-- +goose Up

-- What the handler of the job has saved.
alter table jobqueue_job add column saved json;
alter table jobqueue_done add column saved json;
