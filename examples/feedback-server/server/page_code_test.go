package server_test

import (
	"cmp"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
)

// A server that does not answer for a while has its ways to sign in all the same, on the page and
// where it asks for a new sign-in. A code signs in although an answer is lost.
func TestSigningInOutlivesFailures(t *testing.T) {
	t.Parallel()
	n, login := signedIn(t)
	_, c := login()
	b := newBrowser(t)
	failOnce := func(path string) {
		var failed atomic.Bool
		n.fail(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path || failed.Swap(true) {
				return false
			}
			http.Error(w, "", http.StatusBadGateway)
			return true
		})
	}
	confirm := func() {
		b.waitText("Waiting for the confirmation")
		code := map[string]any{"code": b.eval(`document.querySelector(".code").textContent`)}
		require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/confirm", code, nil))
	}
	failOnce("/health")
	b.visit(n.url)
	b.waitText("The server cannot be reached.")
	b.screenshot("away")
	b.clickButton("Try again")
	failOnce("/api/v1/auth/me")
	confirm()
	b.waitText("There are no students yet")

	require.NoError(t, c.LogoutAll(t.Context()))
	_, c = login()
	failOnce("/health")
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("Your sign-in has expired.")
	b.waitText("The server cannot be reached.")
	b.screenshot("expired")
	b.clickButton("Try again")
	confirm()
	b.waitText("· this device")
}

// The page is signed in by its code alone: it stays so over a reload, until the session is ended
// elsewhere.
func signedInByACode(t *testing.T, b tab) {
	n, login := signedIn(t)
	_, c := login()
	_, other := login()
	axe := nodetest.Run(t, "testdata/axe", nil, "print.mjs")
	b.visit(n.url)
	b.eval(`Date.now = () => 0; ""`) // until the page is loaded again, no code expires
	shown := func() string { return b.eval(`document.querySelector(".code").textContent`) }
	first := ""
	for _, view := range [][2]string{{"Waiting for the confirmation", "中文"}, {"等待在手机上确认", "English"}} {
		b.waitText(view[0])
		b.until(`() => document.querySelector(".sign-in img").naturalWidth > 0`, "")
		requireFits(t, b, axe, "code, before "+view[1])
		first = cmp.Or(first, shown())
		b.clickButton(view[1])
	}
	b.waitText("Waiting for the confirmation")
	require.Equal(t, first, shown(), "the phone may have read it already")
	code := map[string]any{"code": first}
	var asking struct {
		Device string `json:"device"`
	}
	require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/find", code, &asking))
	require.Regexp(t, "^(Chrome|Firefox), ", asking.Device)
	require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/confirm", code, nil))
	b.waitText("Sign out")
	require.Empty(t, b.eval(`document.cookie`), "scripts do not see it")
	b.reload()
	b.waitText("Sign out")
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("this device")
	b.click(`[aria-label="Sign out: Mini program"]`)
	b.waitText("Signed out: Mini program.")
	_, err := other.Me(t.Context())
	require.ErrorContains(t, err, "401")
	_, err = c.Me(t.Context())
	require.NoError(t, err, "the newest session is the first")
	p, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
	b.waitText("Recording starts lesson 1")
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("Waiting for recognition") // the events of the session are read with the cookie

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
	// The page asks for a new sign-in in place, and continues.
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("Your sign-in has expired.")
	b.until(`() => Boolean(document.querySelector("#banner .code"))`, "")
	b.screenshot("expired")
	code["code"] = shown()
	require.NotEqual(t, first, code["code"])
	require.NoError(t, c.Call(t.Context(), http.MethodPost, "/api/v1/auth/device/confirm", code, nil))
	b.waitText("· this device")
	b.until(`() => !document.body.innerText.includes("expired")`, "")
}
