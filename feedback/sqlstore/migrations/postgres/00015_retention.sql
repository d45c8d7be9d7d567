-- When the audio of a transcribed segment was deleted because of its age: see Store.ExpireAudio.
-- Each statement commits by itself and can be repeated: reading does not wait for the index.

-- +goose NO TRANSACTION
-- +goose Up
alter table feedback_segments add column if not exists audio_deleted_at timestamptz;
create index if not exists feedback_segments_with_audio on feedback_segments (transcribed_at)
    where state = 'transcribed' and audio_deleted_at is null;

-- +goose Down
drop index if exists feedback_segments_with_audio;
alter table feedback_segments drop column if exists audio_deleted_at;
