-- Dates, times of day and times have one format each; a time of day that is not known is null.

-- +goose Up
alter table feedback_profiles alter column start_time drop not null;
alter table feedback_profiles alter column end_time drop not null;
update feedback_profiles set start_time = nullif(start_time, ''), end_time = nullif(end_time, '');
alter table feedback_profiles add constraint start_time_is_a_time_of_day
    check (start_time is null or start_time glob '[01][0-9]:[0-5][0-9]' or start_time glob '2[0-3]:[0-5][0-9]');
alter table feedback_profiles add constraint end_time_is_a_time_of_day
    check (end_time is null or end_time glob '[01][0-9]:[0-5][0-9]' or end_time glob '2[0-3]:[0-5][0-9]');
alter table feedback_sessions add constraint feedback_date_is_a_date check (feedback_date is date(feedback_date));
alter table feedback_records add constraint feedback_date_is_a_date check (feedback_date is date(feedback_date));
alter table feedback_lessons add constraint applied_is_a_boolean check (applied in (0, 1));
alter table feedback_defaults add constraint updated_at_is_a_time
    check (updated_at like '____-__-__T__:__:__.______Z');
alter table feedback_profiles add constraint created_at_is_a_time
    check (created_at like '____-__-__T__:__:__.______Z');
alter table feedback_profiles add constraint updated_at_is_a_time
    check (updated_at like '____-__-__T__:__:__.______Z');
alter table feedback_sessions add constraint created_at_is_a_time
    check (created_at like '____-__-__T__:__:__.______Z');
alter table feedback_sessions add constraint updated_at_is_a_time
    check (updated_at like '____-__-__T__:__:__.______Z');
alter table feedback_records add constraint created_at_is_a_time
    check (created_at like '____-__-__T__:__:__.______Z');
alter table feedback_lessons add constraint started_at_is_a_time
    check (started_at like '____-__-__T__:__:__.______Z');
alter table feedback_lessons add constraint finished_at_is_a_time
    check (finished_at is null or finished_at like '____-__-__T__:__:__.______Z');
alter table feedback_segments add constraint created_at_is_a_time
    check (created_at like '____-__-__T__:__:__.______Z');
alter table feedback_segments add constraint changed_at_is_a_time
    check (changed_at like '____-__-__T__:__:__.______Z');
alter table feedback_segments add constraint transcribed_at_is_a_time
    check (transcribed_at is null or transcribed_at like '____-__-__T__:__:__.______Z');
alter table feedback_idempotency_keys add constraint used_at_is_a_time
    check (used_at like '____-__-__T__:__:__.______Z');

-- +goose Down
alter table feedback_defaults drop constraint updated_at_is_a_time;
alter table feedback_profiles drop constraint created_at_is_a_time;
alter table feedback_profiles drop constraint updated_at_is_a_time;
alter table feedback_sessions drop constraint created_at_is_a_time;
alter table feedback_sessions drop constraint updated_at_is_a_time;
alter table feedback_records drop constraint created_at_is_a_time;
alter table feedback_lessons drop constraint started_at_is_a_time;
alter table feedback_lessons drop constraint finished_at_is_a_time;
alter table feedback_segments drop constraint created_at_is_a_time;
alter table feedback_segments drop constraint changed_at_is_a_time;
alter table feedback_segments drop constraint transcribed_at_is_a_time;
alter table feedback_idempotency_keys drop constraint used_at_is_a_time;
alter table feedback_lessons drop constraint applied_is_a_boolean;
alter table feedback_records drop constraint feedback_date_is_a_date;
alter table feedback_sessions drop constraint feedback_date_is_a_date;
alter table feedback_profiles drop constraint end_time_is_a_time_of_day;
alter table feedback_profiles drop constraint start_time_is_a_time_of_day;
update feedback_profiles set start_time = coalesce(start_time, ''), end_time = coalesce(end_time, '');
alter table feedback_profiles alter column start_time set not null;
alter table feedback_profiles alter column end_time set not null;
