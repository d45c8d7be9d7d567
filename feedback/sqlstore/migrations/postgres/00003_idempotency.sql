-- The requests that clients may repeat, for a day, and what they were answered.

-- +goose Up
create table feedback_idempotency_keys (
    teacher_id uuid not null,
    key text collate "C" not null,
    fingerprint text not null,
    record_id uuid not null references feedback_records (record_id) on delete cascade,
    created boolean not null,
    used_at timestamptz not null,
    primary key (teacher_id, key)
);
create index feedback_idempotency_keys_by_record on feedback_idempotency_keys (record_id);
create index feedback_idempotency_keys_by_time on feedback_idempotency_keys (used_at);
comment on table feedback_idempotency_keys is
    'Requests that a client may repeat, by the Idempotency-Key header; kept for a day';
comment on column feedback_idempotency_keys.fingerprint is 'SHA-256 of what the first request asked for, in hex';
comment on column feedback_idempotency_keys.created is
    'Whether the first request created the record (201) or found it (200)';

-- +goose Down
drop table feedback_idempotency_keys;
