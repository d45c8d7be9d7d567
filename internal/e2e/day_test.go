//go:build linux

package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// The server runs where it is another day: that of a session and of a record is the client's.
func TestTheDayIsTheClients(t *testing.T) {
	t.Parallel()
	zone := "Etc/GMT-12" // twelve hours ahead
	if time.Now().UTC().Hour() < 12 {
		zone = "Etc/GMT+12" // behind
	}
	databases(t, func(t *testing.T, url string) {
		s := newService(t, url, "")
		s.start(t, "TZ="+zone)
		c, today := s.client, time.Now().UTC().Format(time.DateOnly)
		ming, err := c.EnsureProfile(t.Context(), "Ming")
		require.NoError(t, err)
		session, err := c.OpenSessionWith(t.Context(),
			feedbackclient.SessionInput{ProfileID: ming.ID, FeedbackDate: today})
		require.NoError(t, err)
		require.Equal(t, today, session.FeedbackDate)
		text := map[string]string{"feedback_text": "Mixed greens."} // an edit without a day keeps it
		require.NoError(t,
			c.Call(t.Context(), http.MethodPut, "/api/v1/feedback-sessions/"+session.ID, text, &session))
		require.Equal(t, today, session.FeedbackDate)
		_, err = c.SaveRecord(t.Context(), ming.ID, session.ID, today, "Mixed greens.")
		require.NoError(t, err)
		for r, err := range c.Records(t.Context(), ming.ID) {
			require.NoError(t, err)
			require.Equal(t, today, r.Date)
		}
		wei, err := c.EnsureProfile(t.Context(), "Wei")
		require.NoError(t, err)
		session, err = c.OpenSessionWith(t.Context(), feedbackclient.SessionInput{ProfileID: wei.ID})
		require.NoError(t, err)
		require.NotEqual(t, today, session.FeedbackDate, "of a client that does not tell")
	})
}
