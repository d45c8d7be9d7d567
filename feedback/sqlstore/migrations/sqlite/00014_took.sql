-- For Store.LastTranscriptions.

-- +goose Up
alter table feedback_segments add column took_ms integer not null default 0;
create index feedback_segments_transcribed on feedback_segments (transcribed_at desc)
    where took_ms > 0 and duration_ms > 0;

-- +goose Down
drop index feedback_segments_transcribed;
alter table feedback_segments drop column took_ms;
