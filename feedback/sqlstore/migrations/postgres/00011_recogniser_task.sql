-- The provider's name of the task that transcribes the recording, so that a restart does not pay twice.

-- +goose Up
alter table feedback_segments add column recogniser_task text not null default '';

-- +goose Down
alter table feedback_segments drop column recogniser_task;
