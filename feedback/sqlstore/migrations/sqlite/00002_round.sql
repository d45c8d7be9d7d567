-- The column token held "ROUND" or "ROUND TOKEN"; the round gets a column of its own.
-- 0 is the round of segments that an earlier version queued without one.

-- +goose Up
alter table feedback_segments add column round integer not null default 0;
update feedback_segments
set round = cast(token as integer), token = nullif(substr(token, instr(token || ' ', ' ') + 1), '')
where token <> '' and substr(token, 1, instr(token || ' ', ' ') - 1) not glob '*[^0-9]*';

-- +goose Down
update feedback_segments
set token = trim(round || ' ' || coalesce(token, '')) where state in ('queued', 'transcribing');
alter table feedback_segments drop column round;
