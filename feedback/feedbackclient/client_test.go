package feedbackclient_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// transcriber always understands the same.
type transcriber struct{}

func (transcriber) Transcribe(context.Context, feedback.Audio) (feedback.Transcript, error) {
	return feedback.Transcript{Text: "Today we mixed greens.", Duration: 3 * time.Second}, nil
}

// newServer serves the API from a new directory. Its tasks run as soon as they are committed.
func newServer(dir string) (*httptest.Server, error) {
	tasks := make(chan feedback.Task, 100)
	store, err := sqlstore.Open(context.Background(), "sqlite:"+filepath.Join(dir, "feedback.db"),
		func(_ context.Context, _ *sql.Tx, t feedback.Task) error { tasks <- t; return nil })
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(context.Background()); err != nil {
		return nil, err
	}
	audio, err := audiodir.New(filepath.Join(dir, "audio"))
	if err != nil {
		return nil, err
	}
	zone := time.FixedZone("far away", int((48 * time.Hour).Seconds())) // its day is never the client's
	service, err := feedback.New(feedback.Config{Store: store, Audio: audio, Transcriber: transcriber{},
		Now: func() time.Time { return time.Now().In(zone) }})
	if err != nil {
		return nil, err
	}
	go func() {
		for t := range tasks {
			_ = service.RunTask(context.Background(), t, feedback.Attempt{LeaseToken: uuid.NewString(), Number: 1})
		}
	}()
	teacher := uuid.New()
	server := httptest.NewServer(feedbackhttp.Handler(feedbackhttp.Config{
		Service: service,
		Authenticate: func(_ context.Context, h http.Header) (uuid.UUID, error) {
			if h.Get("X-Development-User") == "" {
				return uuid.Nil, errors.New("not signed in")
			}
			return teacher, nil
		},
	}))
	server.Config.RegisterOnShutdown(func() { store.Close() })
	return server, nil
}

func Example() {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := newServer(dir) // in a program, the URL of a feedback-server
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, client := context.Background(), feedbackclient.Development(server.URL, "lin")
	recording, err := os.ReadFile("../audiotype/testdata/tone.mp3")
	if err != nil {
		log.Fatal(err)
	}

	profile, _ := client.EnsureProfile(ctx, "Ming")
	session, _ := client.OpenSession(ctx, profile.ID)
	lesson, _ := client.StartLesson(ctx, session.ID)
	if _, err := client.Upload(ctx, lesson.ID, 0, "lesson.mp3", recording); err != nil {
		log.Fatal(err)
	}
	for event, err := range client.Follow(ctx, session.ID, "0") { // over lost connections, too
		if err != nil {
			log.Fatal(err)
		}
		if s := event.Segment; s != nil && s.State == "transcribed" {
			fmt.Println(s.Text)
			break
		}
	}
	// Output: Today we mixed greens.
}
