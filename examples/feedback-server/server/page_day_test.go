package server_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestServerInAnotherZone is the process of inZone.
func TestServerInAnotherZone(t *testing.T) {
	if os.Getenv("IN_ZONE") == "" {
		t.Skip("a test in a browser runs it")
	}
	fmt.Println("\nserves " + development(t, saying("Heard.")))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// inZone returns the address of a server for development in a process whose zone is so many hours
// ahead of UTC.
func inZone(t *testing.T, hours int) string {
	t.Helper()
	header := append([]byte("TZif"), make([]byte, 16+3*8)...) // RFC 9636, version 1: all counts are 0, but
	header[39], header[43] = 1, 4                             // one type, and four bytes of names
	zone := append(binary.BigEndian.AppendUint32(header, uint32(hours*3600)), "\x00\x00FAR\x00"...)
	file := filepath.Join(t.TempDir(), "zone")
	require.NoError(t, os.WriteFile(file, zone, 0o600))
	cmd := exec.Command(os.Args[0], "-test.run=^TestServerInAnotherZone$")
	cmd.Env = append(os.Environ(), "IN_ZONE=1", "TZ="+file)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "serves "); ok {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return url
		}
	}
	t.Fatal("the server in another zone does not start")
	return ""
}

// Where the teacher is, it is late in the evening or early in the morning; where the server is,
// eleven hours away, it is another day.
func TestDayIsThatOfTheTeacher(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ hour, away int }{"evening": {23, 11}, "morning": {7, -11}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soon := time.Now().UTC().Add(10 * time.Minute) // the day does not end during the test
			east := (at.hour-soon.Hour()+36)%24 - 12
			b := newBrowser(t, chromedp.Flag("lang", "en-US"), chromedp.Env(fmt.Sprintf("TZ=Etc/GMT%+d", -east)))
			url := inZone(t, east+at.away)
			c, p := withStudent(t, url, "anna")
			today := time.Now().UTC().Add(time.Duration(east) * time.Hour)
			shows := func(day time.Time) {
				t.Helper()
				b.until(`(day) => document.querySelector("input[type=date]")?.value === day`, day.Format(time.DateOnly))
			}
			b.openStudent(url, p.ID)
			b.addFiles(sample(t, "lesson1-segment0.mp3")) // opens the session
			b.waitText("Heard.")
			session, err := c.ActiveSession(t.Context(), p.ID)
			require.NoError(t, err)
			require.Equal(t, today.Format(time.DateOnly), session.FeedbackDate)
			b.do(chromedp.Reload())
			b.waitText("Heard.")
			shows(today)
			b.do(chromedp.SendKeys(chromedp.CSS("textarea"), "Mine."))
			b.waitText("Saved.")
			b.clickButton("Save as record")
			b.waitText("The record is saved")
			for record, err := range c.Records(t.Context(), p.ID) {
				require.NoError(t, err)
				require.Equal(t, today.Format(time.DateOnly), record.Date)
			}
			// The page stays open until the next day.
			b.eval(`Date = class extends Date {
				constructor(...at) { super(...(at.length > 0 ? at : [Date.now() + 864e5])); } }; ""`)
			b.do(chromedp.SendKeys(chromedp.CSS("textarea"), "Next."))
			b.waitText("Saved.")
			shows(today.AddDate(0, 0, 1))
			session, err = c.ActiveSession(t.Context(), p.ID)
			require.NoError(t, err)
			require.Equal(t, today.AddDate(0, 0, 1).Format(time.DateOnly), session.FeedbackDate)
		})
	}
}
