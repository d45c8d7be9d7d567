-- Dates become dates and times of day become times, with null for none. Each statement commits by
-- itself and can be repeated: it locks one table while it rewrites it.

-- +goose NO TRANSACTION
-- +goose Up
alter table feedback_profiles
    alter column start_time drop not null,
    alter column end_time drop not null,
    alter column start_time type time using cast(nullif(cast(start_time as text), '') as time),
    alter column end_time type time using cast(nullif(cast(end_time as text), '') as time);
alter table feedback_sessions alter column feedback_date type date using cast(feedback_date as date);
alter table feedback_records alter column feedback_date type date using cast(feedback_date as date);

comment on table feedback_defaults is 'Default values of a teacher''s new profiles';
comment on table feedback_profiles is 'Students, each of one teacher';
comment on column feedback_profiles.name_folded is 'The name for searches that ignore case: case-folded, NFC';
comment on column feedback_profiles.guardian_title is 'How the guardian is addressed; empty: unknown';
comment on column feedback_profiles.start_time is 'When the lesson starts, local time; null: unknown';
comment on column feedback_profiles.end_time is 'When the lesson ends, local time; null: unknown';
comment on table feedback_sessions is 'Voice sessions: lessons that become one feedback text';
comment on column feedback_sessions.state is 'active, or completed by a record; a profile has at most one active session';
comment on column feedback_sessions.feedback_text is 'The teacher''s own text';
comment on column feedback_sessions.generated_text is 'The last summary; empty: none';
comment on column feedback_sessions.version is 'Counts the teacher''s edits of text and date';
comment on column feedback_sessions.revision is 'Counts all changes, also of lessons and segments';
comment on table feedback_records is 'Finished feedback, by date';
comment on column feedback_records.session_id is 'The voice session that the content comes from, if any';
comment on table feedback_lessons is 'Lessons of a session, each recorded in segments';
comment on column feedback_lessons.state is 'recording, then finished';
comment on column feedback_lessons.applied is 'The feedback contains the text already: summaries omit it';
comment on column feedback_lessons.revision is 'The session''s revision at the last change';
comment on table feedback_segments is 'Pieces of a lesson''s recording, and their text';
comment on column feedback_segments.state is
    'queued, transcribing, then transcribed or failed; a retry makes a failed segment queued';
comment on column feedback_segments.error is 'Why the last attempt failed; empty: it did not';
comment on column feedback_segments.attempts is 'Attempts at the transcription that counted';
comment on column feedback_segments.round is 'Identifies the newest job of the segment; 0: queued by a version before it';
comment on column feedback_segments.token is 'The lease token of the running attempt; null unless transcribing';
comment on column feedback_segments.audio_key is 'Where the recording is in the audio store';
comment on column feedback_segments.duration_ms is 'Length in milliseconds; 0: unknown';
comment on column feedback_segments.size_bytes is 'Size as sent';
comment on column feedback_segments.sha256 is 'Of the bytes as sent, in hex';
comment on column feedback_segments.changed_at is 'When the state last changed';
comment on column feedback_segments.revision is 'The session''s revision at the last change';

-- +goose Down
alter table feedback_profiles
    alter column start_time type text using coalesce(to_char(start_time, 'HH24:MI'), ''),
    alter column end_time type text using coalesce(to_char(end_time, 'HH24:MI'), ''),
    alter column start_time set not null,
    alter column end_time set not null;
alter table feedback_sessions
    alter column feedback_date type text collate "C" using to_char(feedback_date, 'YYYY-MM-DD');
alter table feedback_records
    alter column feedback_date type text collate "C" using to_char(feedback_date, 'YYYY-MM-DD');
