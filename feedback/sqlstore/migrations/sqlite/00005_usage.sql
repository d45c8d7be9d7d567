-- +goose Up
create table feedback_usage ( -- on the last day (UTC) of use, for the daily limits
    teacher_id text primary key,
    day text not null, -- YYYY-MM-DD
    bytes integer not null,
    segments integer not null,
    sessions integer not null,
    summaries integer not null
) strict;

-- +goose Down
drop table feedback_usage;
