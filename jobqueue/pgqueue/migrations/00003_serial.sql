-- +goose Up

-- Jobs with the same serial key run one at a time. Those that wait for their turn are held: worker
-- is 0. The first index allows one job of a key that is not held, the second finds the next one.
alter table jobqueue_job add column serial_key text collate "C";
alter table jobqueue_done add column serial_key text collate "C";

create unique index jobqueue_job_turn on jobqueue_job (serial_key)
    where serial_key is not null and worker is distinct from 0;
create index jobqueue_job_held on jobqueue_job (serial_key, id) where worker = 0;

-- Earlier versions release the jobs of workers that do not exist.
insert into jobqueue_worker (id, name, expires_at) overriding system value values (0, 'held', '9999-01-01Z');
