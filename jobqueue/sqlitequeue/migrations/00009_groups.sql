-- +goose Up

-- A job with after_group is held, worker is 0, until no unfinished job has this in_group.
alter table jobqueue_job add column in_group text;
alter table jobqueue_job add column after_group text;
alter table jobqueue_done add column in_group text;
alter table jobqueue_done add column after_group text;

create index jobqueue_job_group on jobqueue_job (in_group) where in_group is not null;
create index jobqueue_job_after on jobqueue_job (after_group) where worker = 0 and after_group is not null;
create index jobqueue_done_group on jobqueue_done (in_group, state) where in_group is not null;
