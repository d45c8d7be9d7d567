-- Words that are expected in a teacher's recordings, and the language of recordings.

-- +goose Up
create table feedback_words (
    teacher_id text not null,
    word text not null,
    used_at text not null check (used_at like '____-__-__T__:__:__.______Z'),
    primary key (teacher_id, word)
) strict;
alter table feedback_defaults add column language text not null default '';
alter table feedback_segments add column language text not null default '';

-- +goose Down
alter table feedback_segments drop column language;
alter table feedback_defaults drop column language;
drop table feedback_words;
