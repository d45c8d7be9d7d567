package feedbackhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver of the database

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

// The interface behind a sign-in of the program: here a single password for one teacher.
func Example() {
	service, remove := exampleService()
	defer remove()
	teacher := uuid.MustParse("0197a000-0000-7000-8000-000000000001")
	handler := feedbackhttp.Handler(feedbackhttp.Config{
		Service: service,
		Authenticate: func(_ context.Context, h http.Header) (uuid.UUID, error) {
			if h.Get("Authorization") != "Bearer open sesame" {
				return uuid.Nil, errors.New("wrong password")
			}
			return teacher, nil
		},
	})

	request := httptest.NewRequest(http.MethodGet, "/api/v1/words", nil)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))

	request.Header.Set("Authorization", "Bearer open sesame")
	answer = httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Print(answer.Code, " ", answer.Body)
	// Output:
	// 401 Bearer
	// 200 {"words":[]}
}

// exampleService returns a service on a temporary directory, and what removes it.
func exampleService() (*feedback.Service, func()) {
	dir, err := os.MkdirTemp("", "feedback")
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "feedback.db"), nil)
	if err != nil {
		panic(err)
	}
	if err := store.Migrate(ctx); err != nil {
		panic(err)
	}
	audio, err := audiodir.New(filepath.Join(dir, "audio"))
	if err != nil {
		panic(err)
	}
	service, err := feedback.New(feedback.Config{Store: store, Audio: audio})
	if err != nil {
		panic(err)
	}
	return service, func() {
		store.Close()
		os.RemoveAll(dir)
	}
}
