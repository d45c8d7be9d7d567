-- The requests that clients may repeat, for a day, and what they were answered.

-- +goose Up
create table feedback_idempotency_keys (
    teacher_id text not null,
    key text not null,
    fingerprint text not null, -- SHA-256 of what the first request asked for, in hex
    record_id text not null references feedback_records (record_id) on delete cascade,
    created integer not null check (created in (0, 1)), -- whether the first request created the record
    used_at text not null,
    primary key (teacher_id, key)
) strict;
create index feedback_idempotency_keys_by_record on feedback_idempotency_keys (record_id);
create index feedback_idempotency_keys_by_time on feedback_idempotency_keys (used_at);

-- +goose Down
drop table feedback_idempotency_keys;
