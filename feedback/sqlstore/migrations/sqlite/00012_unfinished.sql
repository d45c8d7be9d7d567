-- For Store.Unfinished.

-- +goose Up
create index feedback_segments_in_turn on feedback_segments (state desc, turn)
    where state in ('queued', 'transcribing');

-- +goose Down
drop index feedback_segments_in_turn;
