package feedback_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/feedback/sqlstore"
)

// recogniser stands for a speech recogniser.
type recogniser struct{}

func (recogniser) Transcribe(context.Context, feedback.Audio) (feedback.Transcript, error) {
	return feedback.Transcript{Text: "today we mixed greens", Duration: 3 * time.Second}, nil
}

// A lesson is recorded, transcribed in the background, and read. A real
// program gives the tasks to a durable queue in the outbox's transaction.
func ExampleService() {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, teacher := context.Background(), uuid.New()

	var queue []feedback.Task
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "feedback.db"),
		func(_ context.Context, _ *sql.Tx, t feedback.Task) error { queue = append(queue, t); return nil })
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	audio, err := audiodir.New(filepath.Join(dir, "audio"))
	if err != nil {
		log.Fatal(err)
	}
	service, err := feedback.New(feedback.Config{Store: store, Audio: audio, Transcriber: recogniser{}})
	if err != nil {
		log.Fatal(err)
	}

	profile, _ := service.CreateProfile(ctx, teacher, feedback.ProfileInput{Name: "Ming", StartTime: "09:00"})
	session, _, _ := service.OpenSession(ctx, teacher, feedback.SessionInput{ProfileID: profile.ID})
	lesson, _ := service.StartLesson(ctx, teacher, session.ID)
	_, _, err = service.AddSegment(ctx, teacher, lesson.ID, bytes.NewReader(feedbacktest.MP3("…")), feedback.SegmentInput{})
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range queue {
		if err := service.RunTask(ctx, task, feedback.Attempt{LeaseToken: uuid.NewString(), Number: 1, MaxAttempts: 5}); err != nil {
			log.Fatal(err)
		}
	}
	lesson, _ = service.FinishLesson(ctx, teacher, lesson.ID)
	fmt.Println(profile.Name, profile.Subject, profile.EndTime)
	fmt.Println(lesson.Transcript(), lesson.Counts().Transcribed)
	// Output:
	// Ming Art 10:30
	// today we mixed greens 1
}
