-- For Store.LastTranscriptions.
-- Each statement commits by itself and can be repeated: reading does not wait for the index.

-- +goose NO TRANSACTION
-- +goose Up
alter table feedback_segments add column if not exists took_ms bigint not null default 0;
comment on column feedback_segments.took_ms is 'How long the recognition took, in milliseconds; 0: unknown';
create index if not exists feedback_segments_transcribed on feedback_segments (transcribed_at desc)
    where took_ms > 0 and duration_ms > 0;

-- +goose Down
drop index if exists feedback_segments_transcribed;
alter table feedback_segments drop column if exists took_ms;
