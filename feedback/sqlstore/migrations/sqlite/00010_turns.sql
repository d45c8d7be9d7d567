-- The turn of an unfinished recording: see nextTurn. Null: queued by an earlier version.

-- +goose Up
alter table feedback_segments add column turn text;
create index feedback_segments_unfinished on feedback_segments (teacher_id, turn)
    where state in ('queued', 'transcribing');

-- +goose Down
drop index feedback_segments_unfinished;
alter table feedback_segments drop column turn;
