package server_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/pgtest"
)

// PgBouncer 1.18 does not support prepared statements in transaction mode.
func TestPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	postgres := pgtest.Start(t, pgtest.Options{})
	newServer(t, server.RoleAPI, map[string]string{"DATABASE_URL": postgres.URL()}) // migrates
	pooled := postgres.PgBouncer(t, postgres.URL())
	for name, c := range map[string]struct {
		address string
		misused bool
	}{
		"address as of PostgreSQL itself": {pooled, true},
		"address with the parameter":      {pooled + "&default_query_exec_mode=exec", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := newUnmigrated(t, server.RoleAll, map[string]string{
				"DATABASE_URL": c.address, "ALLOW_DEVELOPMENT_USER_HEADER": "true", "LIMIT_REQUESTS": "16",
				"LOCAL_ASR_URL": asrtest.NewServer(t, asrtest.WhisperCPP).URL,
			})

			var mu sync.Mutex
			statuses := map[int]int{}
			var clients sync.WaitGroup
			for range 16 {
				clients.Go(func() {
					for i := range 20 {
						w := get(s.Handler(), fmt.Sprintf("/api/v1/profiles?limit=%d", i+1))
						mu.Lock()
						statuses[w.Code]++
						mu.Unlock()
					}
				})
			}
			clients.Wait()
			t.Log("statuses: ", statuses)
			require.Zero(t, statuses[http.StatusInternalServerError])
			report := health(t, s.Handler())
			require.Equal(t, c.misused, report.Database.PoolerMisused)
			const advice = "default_query_exec_mode=exec"
			if c.misused {
				require.Equal(t, "degraded", report.Status)
				require.Positive(t, statuses[http.StatusServiceUnavailable])
				require.Len(t, log.grep(advice), 1)
				require.Equal(t, "ERROR", log.grep(advice)[0]["level"])
				return
			}
			require.Equal(t, map[int]int{http.StatusOK: 320}, statuses)
			require.Empty(t, log.grep(advice))

			// The queue works without notifications, too.
			client := feedbackclient.Development("http://"+serve(t, s), "someone")
			waitState(t, client, uploadSegment(t, client).ID, "transcribed")
			require.False(t, health(t, s.Handler()).Database.PoolerMisused)
		})
	}
}
