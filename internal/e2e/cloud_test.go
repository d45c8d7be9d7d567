//go:build linux

package e2e

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
	"lessonkit.example/internal/db"
)

const (
	cloudID  = "AKIDEXAMPLE"
	cloudKey = "not-a-real-secret-key"
)

// cloud is a fake of the cloud's tasks, which counts what is paid.
type cloud struct {
	*httptest.Server

	mu      sync.Mutex
	created int
	// fault, if not nil, is called once in place of the next answer to an action.
	fault  func(answer func())
	action string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

// faultAt sets what happens in place of the next answer to an action.
func (c *cloud) faultAt(action string, fault func(answer func())) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.action, c.fault = action, fault
}

// paid returns how many tasks were created.
func (c *cloud) paid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.created
}

func (c *cloud) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	if !strings.Contains(r.Header.Get("Authorization"), "Credential="+cloudID+"/") {
		http.Error(w, "another account", http.StatusForbidden)
		return
	}
	action := r.Header.Get("X-TC-Action")
	answer := func() {
		data := map[string]any{"Status": 2, "Result": "[0:0.000,0:1.000]  Heard.\n", "AudioDuration": 1.0}
		if action == "CreateRecTask" {
			c.mu.Lock()
			c.created++
			data = map[string]any{"TaskId": 4710 + c.created}
			c.mu.Unlock()
		}
		json.NewEncoder(w).Encode(map[string]any{"Response": map[string]any{"RequestId": "r", "Data": data}})
		w.(http.Flusher).Flush()
	}
	c.mu.Lock()
	fault := c.fault
	if c.action != action {
		fault = nil
	}
	if fault != nil {
		c.fault = nil
	}
	c.mu.Unlock()
	if fault != nil {
		fault(answer)
		return
	}
	answer()
}

// lockSegments makes the server wait when it stores something about a segment, and returns the
// transaction that has the lock.
func lockSegments(t *testing.T, url string) *sql.Tx {
	t.Helper()
	opened, err := db.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { opened.Close() })
	tx, err := opened.W.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	if opened.Engine == db.Postgres {
		_, err = tx.ExecContext(t.Context(), `lock table feedback_segments in access exclusive mode`)
		require.NoError(t, err)
	}
	return tx
}

// A server that dies at any step of a task in the cloud pays for it once, except between the
// creation of the task and the storage of its name: then it pays for a second one.
func TestCloudTaskIsPaidOnce(t *testing.T) {
	slow(t)
	for _, step := range []struct {
		name, action  string
		answered      bool // the server gets the answer, and cannot store it
		before, after int  // tasks paid for: when the server dies, in the end
	}{
		{name: "before it is created", action: "CreateRecTask", before: 0, after: 1},
		{name: "before its name is stored", action: "CreateRecTask", answered: true, before: 1, after: 2},
		{name: "while it is awaited", action: "DescribeTaskStatus", before: 1, after: 1},
		{name: "before its result is stored", action: "DescribeTaskStatus", answered: true, before: 1, after: 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			t.Parallel()
			databases(t, func(t *testing.T, url string) {
				c := newCloud(t)
				s := newService(t, url, "")
				s.env = append(s.env, "ASR_PROVIDER=cloud", "CLOUD_ASR_MODE=task", "CLOUD_ASR_APP_ID=1250000000",
					"CLOUD_ASR_SECRET_ID="+cloudID, "CLOUD_ASR_SECRET_KEY="+cloudKey, "CLOUD_ASR_API_URL="+c.URL)
				s.start(t)
				died := make(chan struct{})
				c.faultAt(step.action, func(answer func()) {
					defer close(died)
					if !step.answered {
						s.process.kill()
						return
					}
					tx := lockSegments(t, url)
					answer()
					time.Sleep(200 * time.Millisecond) // likely until the server waits for the lock
					s.process.kill()
					var state, task string
					row := tx.QueryRow(`select state, recognizer_task from feedback_segments`)
					if err := row.Scan(&state, &task); err != nil {
						t.Error(err)
					}
					if state != "transcribing" || strings.HasSuffix(task, "/0") != (step.action == "CreateRecTask") {
						t.Errorf("the server died later: state %s, task %q", state, task)
					}
					tx.Rollback()
				})
				_, session, lesson := openLesson(t, s.client)
				_, err := s.client.Upload(t.Context(), lesson.ID, 0, "a.wav", fleet.NewRecording())
				require.NoError(t, err)
				select {
				case <-died:
				case <-time.After(waitLimit):
					t.Fatal("the step was not reached")
				}
				require.Equal(t, step.before, c.paid())
				s.start(t)
				eventually(t, "the text arrives", func() bool {
					return s.lesson(t, session.ID).Segments[0].State == "transcribed"
				})
				require.Equal(t, "Heard.", s.lesson(t, session.ID).Segments[0].Text)
				require.Equal(t, step.after, c.paid())
				sum(t, "kill -9 of a task in the cloud %s: %d paid", step.name, step.after)
			})
		})
	}
}
