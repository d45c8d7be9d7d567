package queueui_test

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/queueui"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// The pages are mounted below a prefix, behind a password.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitequeue.Open(filepath.Join(dir, "queue.db"), sqlitequeue.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	pages := queueui.New(jobqueue.NewClient(store), queueui.Config{Prefix: "/admin/jobs"})

	const password = "correct horse battery" // from the configuration, in a real program
	mux := http.NewServeMux()
	mux.HandleFunc("/admin/jobs/", func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(given), []byte(password)) != 1 {
			http.Error(w, "a password is needed", http.StatusUnauthorized)
			return
		}
		pages.ServeHTTP(w, r)
	})
	r := httptest.NewRequest(http.MethodGet, "/admin/jobs/", nil)
	for range 2 {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
		r.SetBasicAuth("operator", password)
	}
	// Output:
	// 401
	// 200
}
