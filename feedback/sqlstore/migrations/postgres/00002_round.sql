-- The column token held "ROUND" or "ROUND TOKEN"; the round gets a column of its own.
-- 0 is the round of segments that an earlier version queued without one.

-- +goose Up
alter table feedback_segments add column round bigint not null default 0;
update feedback_segments
set round = cast(split_part(token, ' ', 1) as bigint),
    token = nullif(substr(token, strpos(token || ' ', ' ') + 1), '')
where token ~ '^[0-9]{1,18}( |$)';

-- +goose Down
update feedback_segments
set token = trim(round || ' ' || coalesce(token, '')) where state in ('queued', 'transcribing');
alter table feedback_segments drop column round;
