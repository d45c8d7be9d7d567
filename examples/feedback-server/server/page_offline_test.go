package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// Without a network the page starts, with the students of the last visit. A recording begins,
// survives a reload, and gets its session and lesson when the network returns. Of the interface
// nothing is cached, and signing out forgets the students.
func TestPageStartsAndRecordsWithoutANetwork(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	b.visit(n.url + "/#sign-in=anna")
	b.waitText("Ming")
	b.eval(`navigator.serviceWorker.ready.then(() => "")`)
	n.fail(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code":"database_unavailable"}`)
		return true
	})
	b.reload()
	b.waitText("The server's database does not answer.")
	b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
	b.waitText("Recording starts lesson 1")
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("All students")
	require.Empty(t, b.eval(`document.querySelector(".state").innerText`), "what is kept may not be the last record")
	n.recover()
	n.away.Store(true)
	b.reload()
	b.waitText("The server cannot be reached. You can record")
	b.waitText("Ming")
	b.screenshot("away")
	b.click(".start")
	b.waitRecorded(3)
	b.clickButton("Stop")
	b.waitText("Stored on this device, not sent yet")
	b.waitText("not sent yet: 1. The server cannot be reached.")
	b.screenshot("recorded")
	b.reload()
	b.waitText("Stored on this device, not sent yet")
	b.clickButton("Record")
	b.waitRecorded(2)
	b.clickButton("Stop")
	b.waitText("not sent yet: 2.")
	b.enter("textarea", "Written without a network. ")
	n.away.Store(false)
	sendNow(b)
	b.until(`() => document.querySelectorAll("li.transcribed").length === 2`, "")
	_, durations := storedParts(t, c, p.ID, 2)
	require.Greater(t, durations[0], 2.0)
	require.Eventually(t, func() bool {
		s, err := c.ActiveSession(t.Context(), p.ID)
		require.NoError(t, err)
		require.Equal(t, time.Now().Format(time.DateOnly), s.FeedbackDate)
		return strings.HasPrefix(s.FeedbackText, "Written without a network.")
	}, timeout, 100*time.Millisecond)
	b.waitText("Saved.") // the page knows, too: signing out asks nothing
	require.Empty(t, b.eval(`caches.keys().then((names) => Promise.all(names.map((name) => caches.open(name)
		.then((cache) => cache.keys())))).then((keys) => keys.flat().map((r) => new URL(r.url).pathname)
		.filter((path) => path !== "/" && !path.startsWith("/page/")).join())`))
	require.Contains(t, b.eval(`JSON.stringify(localStorage)`), "Ming")
	b.clickButton("Sign out")
	b.waitText("Sign in with this name")
	require.NotContains(t, b.eval(`JSON.stringify(localStorage)`), "Ming")
	b.requireOnly(n.url)
}

// The session is opened while it is still being asked whether there is one, and another view, which
// was left, is still being read. What was saved without an answer is no text of another device.
func TestLateAnswerEndsNoSession(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	b.visit(n.url + "/#sign-in=anna")
	b.waitText("Ming")
	held := make(chan struct{})
	n.fail(func(w http.ResponseWriter, r *http.Request) bool {
		isList := strings.HasSuffix(r.URL.Path, "/feedback-records")
		if !r.URL.Query().Has("optional") && !isList { // of the page
			return false
		}
		<-held
		if isList {
			return unreachable(w, r)
		}
		w.WriteHeader(http.StatusNoContent)
		return true
	})
	b.eval(`location.hash = "#/records"; ""`)
	b.waitText("Loading …")
	b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
	b.enter("textarea", "Mine.")
	b.waitText("Saved.")
	b.eval(`document.querySelector(".view").id = "shown"; ""`)
	close(held)
	b.enter("textarea", " More.")
	requireStored(t, c, p.ID, "Mine. More.")
	b.waitText("Saved.")
	b.eval(strings.Replace(losesAnswer, "POST", "PUT", 1))
	b.enter("textarea", " Lost.")
	b.waitText("Not saved; it is kept on this device.")
	b.enter("textarea", " And on.")
	requireStored(t, c, p.ID, "Mine. More. Lost. And on.")
	require.Equal(t, "true", b.eval(`String(Boolean(document.querySelector("#shown")))`))
}

// requireStored waits until the server has the text of a student.
func requireStored(t *testing.T, c feedbackclient.Client, profile, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := c.ActiveSession(t.Context(), profile)
		return err == nil && s.FeedbackText == text
	}, timeout, 100*time.Millisecond)
}

// A text that was begun while the server was away does not replace one that was there, and is still
// there when its student is opened again.
func TestTextWithoutANetworkReplacesNothingAndIsKept(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	s := withLesson(t, c, p.ID)
	theirs := "Theirs"
	_, err := c.SaveSession(t.Context(), s.ID, feedbackclient.SessionEdit{FeedbackText: &theirs})
	require.NoError(t, err)
	b.visit(n.url + "/#sign-in=anna")
	b.waitText("Ming")
	open := func(text string) {
		t.Helper()
		b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
		b.until(`(text) => document.querySelector("textarea")?.value === text`, text)
	}
	write := func(text string) {
		t.Helper()
		b.enter("textarea", text)
		b.eval(`location.hash = "#/"; ""`)
		b.waitText("All students")
	}
	n.away.Store(true)
	open("")
	write("Mine")
	open("Mine")
	b.enter("textarea", ", more")
	n.away.Store(false)
	b.waitText("The text was changed on another device")
	b.waitText("Theirs")
	b.clickButton("Save") // does not choose
	b.waitText("Choose first what happens with the other text.")
	b.clickButton("Keep mine")
	requireStored(t, c, p.ID, "Mine, more")

	b.waitText("Saved.")
	n.away.Store(true) // of a text that the server has, its version is kept too
	write(", again")
	open("Mine, more, again")
	b.enter("textarea", " and again")
	n.away.Store(false)
	requireStored(t, c, p.ID, "Mine, more, again and again")
	require.NotContains(t, b.eval(`document.body.innerText`), "changed on another device")

	// It is of its day. In another session, the version is that of another text.
	b.waitText("Saved.")
	n.away.Store(true)
	b.eval(`(() => { const date = document.querySelector("input[type=date]");
		date.value = "2026-05-31"; date.dispatchEvent(new Event("change")); return ""; })()`)
	write("!")
	b.do(chromedp.Navigate("about:blank"))
	n.away.Store(false)
	s, err = c.ActiveSession(t.Context(), p.ID)
	require.NoError(t, err)
	_, err = c.SaveRecord(t.Context(), p.ID, s.ID, "2026-05-31", "Saved elsewhere")
	require.NoError(t, err)
	for next := (feedbackclient.Session{}); next.ETag != s.ETag; {
		next, err = c.OpenSession(t.Context(), p.ID)
		require.NoError(t, err)
		next, err = c.SaveSession(t.Context(), next.ID, feedbackclient.SessionEdit{FeedbackText: &theirs})
		require.NoError(t, err)
	}
	b.visit(n.url + "/#/student/" + p.ID)
	b.waitText("The text was changed on another device")
	require.Equal(t, "2026-05-31", b.eval(`document.querySelector("input[type=date]").value`))
}
