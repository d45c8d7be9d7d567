//go:build linux

package e2e

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Many phones at once: the server's memory and files do not grow with time.
func TestManyPhones(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		rec := newRecogniser(t)
		s := newService(t, url, rec.url())
		s.env = append(s.env, "ASR_WORKER_CONCURRENCY=8")
		s.start(t)
		phones, long := times(50, 200, 200), times(6*time.Second, 15*time.Second, time.Minute)
		l := startLoad(t, phones, 2*time.Second, s)
		time.Sleep(long / 2)
		half := s.gauges(t)
		time.Sleep(long / 2)
		end := s.gauges(t)
		l.Stop()
		var after gauges
		eventually(t, "files are closed again, but for the streams of events", func() bool {
			after = s.gauges(t)
			return after.files < 100+int64(phones)
		})
		tally := audit(t, l, s, rec)
		require.Empty(t, tally.Failures, "refused")
		sum(t, "%d phones for %v: memory %d MB at half time, %d MB at the end; files %d, %d, %d afterwards",
			phones, long, half.memory>>20, end.memory>>20, half.files, end.files, after.files)
		require.Less(t, end.files, half.files*3/2+50, "files")
		if *faults == "full" { // which has a machine of its own
			require.Less(t, tally.P99, 5*time.Second)
			require.Less(t, end.memory, half.memory*3/2+(32<<20), "memory")
		}
	})
}

// gauges are metrics of a server's process.
type gauges struct{ memory, files int64 }

func (s *service) gauges(t *testing.T) (g gauges) {
	t.Helper()
	g.memory = int64(s.metric(t, "process_resident_memory_bytes"))
	g.files = int64(s.metric(t, "process_open_fds"))
	return g
}

// metric returns a metric without labels, which must be there and positive.
func (s *service) metric(t *testing.T, name string) float64 {
	t.Helper()
	resp, err := http.Get(s.client.Base + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	var number float64
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, value, _ := strings.Cut(lines.Text(), " "); n == name {
			number, _ = strconv.ParseFloat(value, 64)
		}
	}
	require.Positive(t, number, name)
	return number
}
