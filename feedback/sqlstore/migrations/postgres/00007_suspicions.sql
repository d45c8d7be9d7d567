-- How often the recogniser was lost while it had the recording.

-- +goose Up
alter table feedback_segments add column suspicions integer not null default 0;

-- +goose Down
alter table feedback_segments drop column suspicions;
