-- When the audio of a transcribed segment was deleted because of its age: see Store.ExpireAudio.

-- +goose Up
alter table feedback_segments add column audio_deleted_at timestamptz;
create index feedback_segments_with_audio on feedback_segments (transcribed_at)
    where state = 'transcribed' and audio_deleted_at is null;

-- +goose Down
drop index feedback_segments_with_audio;
alter table feedback_segments drop column audio_deleted_at;
