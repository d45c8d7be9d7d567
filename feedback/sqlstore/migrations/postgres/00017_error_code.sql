-- What the error of a segment is for programs. Earlier versions of this package leave it as it is; it
-- means nothing while the error is ''.

-- +goose Up
alter table feedback_segments add column if not exists error_code text not null default '';

-- +goose Down
alter table feedback_segments drop column if exists error_code;
