package feedbackhttp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is a server in another module: its own sign-in, routes and
// queue, and nothing of internal/.
const program = `package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	_ "modernc.org/sqlite"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/audiodir"
	"lessonkit.example/feedback/feedbackhttp"
	"lessonkit.example/feedback/sqlstore"
)

func main() {
	ctx, dir := context.Background(), os.Args[1]
	outbox := func(context.Context, *sql.Tx, feedback.Task) error { return nil }
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "f.db"), outbox)
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
	service, err := feedback.New(feedback.Config{Store: store, Audio: audio})
	if err != nil {
		log.Fatal(err)
	}
	me := uuid.New()
	mux := http.NewServeMux()
	mux.Handle("/teach/", http.StripPrefix("/teach", feedbackhttp.Handler(feedbackhttp.Config{
		Service: service, BasePath: "/teach",
		Authenticate: func(context.Context, http.Header) (uuid.UUID, error) { return me, nil },
	})))
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	for _, request := range []string{
		"GET /hello", "POST /teach/api/v1/profiles {\"name\":\"Ming\"}", "GET /teach/api/v1/profiles",
	} {
		part := append(strings.SplitN(request, " ", 3), "")
		r := httptest.NewRequest(part[0], part[1], strings.NewReader(part[2]))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(part[0], part[1], w.Code)
	}
}
`

// TestMountedInAnotherModule builds and runs a program outside of this module.
func TestMountedInAnotherModule(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	theirs := strings.Replace(string(mod), "module lessonkit.example", "module example.org/school", 1) +
		"\nrequire lessonkit.example v0.0.0\n\nreplace lessonkit.example => " + root + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	for name, content := range map[string]string{"go.mod": theirs, "go.sum": string(sum), "main.go": program} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "school", ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	run := exec.CommandContext(t.Context(), "./school", dir)
	run.Dir = dir
	out, err = run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "GET /hello 200\nPOST /teach/api/v1/profiles 201\nGET /teach/api/v1/profiles 200\n", string(out))
}
