package server_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The page is signed in by its code alone: it stays so over a reload, until the session is ended
// elsewhere.
func TestPageIsSignedInByACode(t *testing.T) {
	t.Parallel()
	n, login := signedIn(t)
	_, c := login()
	b := newBrowser(t, chromedp.Flag("lang", "en-US"))
	b.do(chromedp.Navigate(n.url))
	b.waitText("Waiting for the confirmation")
	b.screenshot("code")
	b.until(`() => document.querySelector(".code-image").naturalWidth > 0`, "")
	code := map[string]any{"code": b.eval(`document.querySelector(".code").textContent`)}
	var asking struct {
		Device string `json:"device"`
	}
	require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/find", code, &asking))
	require.Regexp(t, "^Chrome, ", asking.Device)
	require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/confirm", code, nil))
	b.waitText("Sign out")
	require.Empty(t, b.eval(`document.cookie`), "scripts do not see it")
	b.do(chromedp.Reload())
	b.waitText("Sign out")

	var sessions struct {
		Items []struct {
			ID     string `json:"session_id"`
			Device string `json:"device"`
		} `json:"items"`
	}
	require.NoError(t, c.Call(t.Context(), http.MethodGet, "/api/v1/auth/sessions", nil, &sessions))
	require.Len(t, sessions.Items, 2)
	for _, s := range sessions.Items {
		if s.Device != "" {
			require.NoError(t, c.Call(t.Context(), http.MethodDelete, "/api/v1/auth/sessions/"+s.ID, nil, nil))
		}
	}
	b.do(chromedp.Reload())
	b.waitText("Session token")
}
