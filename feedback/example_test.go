package feedback_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/sqlstore"
)

// recognizer always recognises the same text.
type recognizer struct{}

func (recognizer) Transcribe(context.Context, feedback.Audio) (feedback.Transcript, error) {
	return feedback.Transcript{Text: "Today we mixed greens.", Duration: 3 * time.Second}, nil
}

// newService returns a service in a temporary directory. Instead of adding its tasks to a durable
// queue within the outbox's transaction, it appends them to a slice.
func newService() (service *feedback.Service, tasks *[]feedback.Task, remove func()) {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		log.Fatal(err)
	}
	ctx, tasks := context.Background(), new([]feedback.Task)
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "feedback.db"),
		func(_ context.Context, _ *sql.Tx, t feedback.Task) error { *tasks = append(*tasks, t); return nil })
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	audio, err := audiodir.New(filepath.Join(dir, "audio"))
	if err != nil {
		log.Fatal(err)
	}
	service, err = feedback.New(feedback.Config{Store: store, Audio: audio, Transcriber: recognizer{}})
	if err != nil {
		log.Fatal(err)
	}
	return service, tasks, func() { store.Close(); os.RemoveAll(dir) }
}

// A lesson is recorded, transcribed in the background, and read.
func Example() {
	service, tasks, remove := newService()
	defer remove()
	ctx, teacher := context.Background(), uuid.New()
	profile, _ := service.CreateProfile(ctx, teacher, feedback.ProfileInput{Name: "Ming"})
	session, _, _ := service.OpenSession(ctx, teacher, feedback.SessionInput{ProfileID: profile.ID})
	lesson, _ := service.StartLesson(ctx, teacher, session.ID)
	recording := strings.NewReader("#!AMR\n…")
	if _, _, err := service.AddSegment(ctx, teacher, lesson.ID, recording, feedback.SegmentInput{}); err != nil {
		log.Fatal(err)
	}
	for _, task := range *tasks {
		if err := service.RunTask(ctx, task, feedback.Attempt{LeaseToken: "lease", Number: 1}); err != nil {
			log.Fatal(err)
		}
	}
	lesson, _ = service.FinishLesson(ctx, teacher, lesson.ID)
	fmt.Println(lesson.State, lesson.Transcript())
	// Output: finished Today we mixed greens.
}
