//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/longtest"
)

// Teachers ask for lists of long records over many connections and read nothing. The memory of the
// server stays small, and another teacher is answered.
func TestListsThatNobodyReads(t *testing.T) {
	databases(t, func(t *testing.T, url string) {
		teachers, limit := longtest.Times(1, 3), longtest.Times(200<<20, 256<<20)
		s := newService(t, url, "")
		s.start(t)
		if longtest.Wanted() {
			s.process.limitMemory(t, limit)
		}
		text := strings.Repeat("🎨", 20_000)
		for i := range teachers {
			name := fmt.Sprint("greedy", i)
			p, err := s.as(name).EnsureProfile(t.Context(), "Ming")
			require.NoError(t, err)
			for range 200 {
				_, err := s.as(name).SaveRecord(t.Context(), p.ID, "", "2026-05-31", text)
				require.NoError(t, err)
			}
		}
		before := s.process.peakMemory(t)
		for i := range 64 * teachers {
			s.neverRead(t, "/api/v1/feedback-records?limit=200", fmt.Sprint("greedy", i%teachers))
		}
		eventually(t, "all but eight lists of each teacher are answered", func() bool {
			return strings.Count(s.process.log.String(), `route="GET /api/v1/feedback-records"`) >= 56*teachers
		})
		honest := s.as("honest")
		p, err := honest.EnsureProfile(t.Context(), "Wei")
		require.NoError(t, err)
		_, err = honest.SaveRecord(t.Context(), p.ID, "", "2026-05-31", "Mixed greens.")
		require.NoError(t, err)
		started := time.Now()
		var records []feedbackclient.Record
		for r, err := range honest.Records(t.Context(), "") {
			require.NoError(t, err)
			records = append(records, r)
		}
		took := time.Since(started)
		require.Len(t, records, 1)
		peak := s.process.peakMemory(t)
		sum(t, "%d teachers with 64 unread lists each: peak memory %d MiB (%d before); another's list took %v",
			teachers, peak>>20, before>>20, took)
		require.Less(t, peak, limit)
		require.Less(t, took, 20*time.Second, "it takes milliseconds on an idle machine")
	})
}

// neverRead sends a request of a teacher and does not read the answer until the test ends.
func (s *service) neverRead(t *testing.T, path, teacher string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.value("HTTP_ADDR"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nX-Development-User: %s\r\n\r\n", path, teacher)
	require.NoError(t, err)
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory returns the most memory that the process has had, in bytes.
func (p *process) peakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	require.NoError(t, err)
	kilobytes, err := strconv.Atoi(string(peakLine.FindSubmatch(status)[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

// limitMemory moves the process into a control group of its own. Without the right to do so, the
// process has no limit, and only its peak is compared.
func (p *process) limitMemory(t *testing.T, bytes int) {
	t.Helper()
	root, file := "/sys/fs/cgroup", "memory.max"
	if _, err := os.Stat(root + "/memory"); err == nil { // version 1
		root, file = root+"/memory", "memory.limit_in_bytes"
	}
	dir := filepath.Join(root, fmt.Sprint("lessonkit-", p.cmd.Process.Pid))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Log("without a memory limit:", err)
		return
	}
	t.Cleanup(func() {
		p.kill()
		require.NoError(t, os.Remove(dir))
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(bytes)), 0o600))
	pid := []byte(strconv.Itoa(p.cmd.Process.Pid))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), pid, 0o600))
}
