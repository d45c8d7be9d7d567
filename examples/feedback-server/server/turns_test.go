package server_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// A teacher's only recording starts within three jobs although hundreds of another teacher wait.
func TestTeachersTakeTurns(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "postgres": pgtest.URL(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const waiting = 500
			starts, finish := make(chan uint32, 2*waiting), make(chan struct{}, 2*waiting)
			speech := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					return // the check of its health
				}
				f, _, err := r.FormFile("file")
				if err != nil {
					http.Error(w, "no file", http.StatusBadRequest)
					return
				}
				b, _ := io.ReadAll(f)
				starts <- binary.LittleEndian.Uint32(b[len(b)-4:])
				<-finish
				_, _ = io.WriteString(w, `{"text":"heard"}`)
			}))
			t.Cleanup(speech.Close)
			t.Cleanup(func() { close(finish) })
			s := newServer(t, server.RoleAll, map[string]string{
				"DATABASE_URL": database, "ALLOW_DEVELOPMENT_USER_HEADER": "true", "LOCAL_ASR_URL": speech.URL,
			})
			url := "http://" + serve(t, s)
			// upload returns a function that uploads a recording of a new lesson of the teacher.
			upload := func(teacher string) func(number uint32) {
				c := feedbackclient.Development(url, teacher)
				_, _, lesson := openLesson(t, c, "Someone")
				return func(number uint32) {
					audio := asrtest.WAV(10 * time.Millisecond)
					binary.LittleEndian.PutUint32(audio[len(audio)-4:], number)
					_, err := c.Upload(t.Context(), lesson.ID, int(number), "a.wav", audio)
					require.NoError(t, err)
				}
			}
			first := upload("first")
			for i := range uint32(waiting) {
				first(i)
			}
			const only = 9999
			for i := range uint32(5) { // that the first waits gets them started before the others again
				require.Less(t, <-starts, uint32(waiting))
				finish <- struct{}{}
				require.Less(t, <-starts, uint32(waiting))
				upload(fmt.Sprint("second", i))(only)
				jobs := 0
				for started := uint32(0); started != only; jobs++ {
					finish <- struct{}{}
					started = <-starts
				}
				require.LessOrEqual(t, jobs, 3)
				finish <- struct{}{}
			}
		})
	}
}
