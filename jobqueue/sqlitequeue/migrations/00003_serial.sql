-- +goose Up

-- Jobs with the same serial key run one at a time. Those that wait for their turn are held: worker
-- is 0. The first index allows one job of a key that is not held, the second finds the next one.
alter table jobqueue_job add column serial_key text;
alter table jobqueue_done add column serial_key text;

create unique index jobqueue_job_turn on jobqueue_job (serial_key)
    where serial_key is not null and (worker is null or worker <> 0);
create index jobqueue_job_held on jobqueue_job (serial_key, id) where worker = 0;

-- Earlier versions release the jobs of workers that do not exist. The time is that of the year 9999.
insert into jobqueue_worker (id, name, started_at, expires_at) values (0, 'held', 0, 253370764800000000);
