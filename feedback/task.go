package feedback

import "github.com/google/uuid"

// TaskKind says what a [Task] is about.
type TaskKind string

// The kinds of task.
const (
	TaskTranscribe  TaskKind = "transcribe"
	TaskDeleteAudio TaskKind = "delete_audio"
)

// Task is background work. A store hands it to its outbox within the
// transaction that makes it necessary; it comes back through
// [Service.Perform]. Its JSON form is the arguments of a job.
type Task struct {
	Kind      TaskKind  `json:"kind"`
	SegmentID uuid.UUID `json:"segment_id,omitzero"` // with TaskTranscribe
	Round     int64     `json:"round,omitzero"`      // with TaskTranscribe: tells it from tasks of the segment's other rounds
	AudioKey  string    `json:"audio_key,omitempty"` // with TaskDeleteAudio
}

// Attempt is one try of a [Task].
type Attempt struct {
	// Token is unique to this try: the job queue's lease. A try that was
	// superseded by one with another token changes nothing more.
	Token string
	// Number counts the tries that counted, from 1.
	Number int
	// Limit is the number of the last try; 0 means there is none.
	Limit int
}

func (a Attempt) last() bool { return a.Limit > 0 && a.Number >= a.Limit }
