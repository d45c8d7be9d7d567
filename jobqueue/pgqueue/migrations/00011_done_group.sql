-- +goose Up

-- Not with the columns: a transaction that adds one excludes even readers, and building this index
-- reads the whole history.
create index jobqueue_done_group on jobqueue_done (in_group, state) where in_group is not null;
