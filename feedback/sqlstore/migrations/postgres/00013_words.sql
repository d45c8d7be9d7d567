-- Words that are expected in a teacher's recordings, and the language of recordings.

-- +goose Up
create table feedback_words (
    teacher_id uuid not null,
    word text not null,
    used_at timestamptz not null,
    primary key (teacher_id, word)
);
comment on table feedback_words is 'Names and terms that a recogniser should expect in the teacher''s recordings';
comment on column feedback_words.used_at is 'When the word was last added, corrected to or written in a record';
alter table feedback_defaults add column language text not null default '';
comment on column feedback_defaults.language is 'Of the teacher''s recordings, such as en; empty: as configured';
alter table feedback_segments add column language text not null default '';
comment on column feedback_segments.language is 'Of the speech, such as en; empty: unknown';

-- +goose Down
alter table feedback_segments drop column language;
alter table feedback_defaults drop column language;
drop table feedback_words;
