-- +goose Up
create table feedback_usage (
    teacher_id uuid primary key,
    day date not null,
    bytes bigint not null,
    segments bigint not null,
    sessions bigint not null,
    summaries bigint not null
);
comment on table feedback_usage is 'what each teacher has used on the last day (UTC) of use, for the daily limits';

-- +goose Down
drop table feedback_usage;
