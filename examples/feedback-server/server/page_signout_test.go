package server_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authtest"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
)

// signedIn returns the server's address behind a network, and a function that signs in anew.
func signedIn(t *testing.T) (*faultyNetwork, func() (token string, c feedbackclient.Client)) {
	t.Helper()
	platform := authtest.NewPlatform(t)
	s := newServer(t, server.RoleAPI, map[string]string{
		"DATABASE_URL":   "sqlite:" + filepath.Join(t.TempDir(), "x.db"),
		"MINIAPP_APP_ID": platform.AppID, "MINIAPP_APP_SECRET": platform.Secret,
		"MINIAPP_API_URL": platform.Endpoint(),
	})
	n := newFaultyNetwork(t, "http://"+serve(t, s))
	return n, func() (string, feedbackclient.Client) {
		token := signIn(t, s.Handler(), platform)
		return token, feedbackclient.Client{Base: n.url, Header: http.Header{"Authorization": {"Bearer " + token}}}
	}
}

// signIn signs in with the cookie of a session, where the page is.
func (b *browser) signIn(token string) {
	b.t.Helper()
	b.waitText("Waiting for the confirmation")
	b.setCookie("session", token)
	b.eval(`import("/page/api.js").then(({ account }) => account.signIn({})).then(() => "")`)
}

// kept returns what the device keeps: keys of texts, and the teachers of recordings.
const kept = `import("/page/outbox.js").then(({ list }) => list()).then((recordings) => [
	...Object.keys(localStorage).filter((key) => key !== "lessonkit-language"),
	...recordings.map((r) => r.teacher)].join())`

// A shared computer: nothing of the teacher stays, what is not sent goes only after a question, and
// a session that could not be ended is said to live on, and ended later.
func TestSigningOutLeavesNothing(t *testing.T) {
	t.Parallel()
	n, login := signedIn(t)
	token, c := login()
	p, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b := newBrowser(t, chromedp.Flag("autoplay-policy", "no-user-gesture-required"))
	b.acceptDialogs()
	enter := func(token string) {
		b.signIn(token)
		b.until(`() => location.hash === "#/" && Boolean(document.querySelector("#all"))`, "") // no student of before
		b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
		b.waitText("Part 1")
	}
	b.visit(n.url)
	enter(token)
	b.eval(`localStorage.setItem("lessonkit-draft-other-student", "another teacher's"); ""`)
	n.fail(unreachable)
	b.clickButton("Listen")
	b.until(`() => document.querySelector("p.error")?.innerText === "The server cannot be reached."`, "")
	b.enter("textarea", "Mine.")
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.waitText("not sent yet: 1")
	b.clickButton("Sign out")
	b.waitText("recordings (1) and texts (1)")
	b.screenshot("question")
	b.click("dialog button") // Cancel
	b.until(`() => !document.querySelector("dialog")`, "")
	require.Equal(t, "Mine.", b.eval(`document.querySelector("textarea").value`))
	b.clickButton("Sign out")
	b.click("dialog .danger")
	b.waitText("Your session there ends when")
	b.screenshot("not told")
	b.eval(`document.querySelector("dialog").id = "first"; ""`)
	b.clickButton("Try again")
	b.until(`() => Boolean(document.querySelector("dialog:not(#first)"))`, "")
	n.recover()
	b.clickButton("Try again")
	b.waitText("Waiting for the confirmation")
	b.until(`() => `+kept+`.then((left) => left === "lessonkit-draft-other-student")`, "")
	_, err = c.Me(t.Context())
	require.ErrorContains(t, err, "401")

	// Nothing is unsent: no question. The server cannot be told: this device forgets the teacher.
	token, c = login()
	enter(token)
	n.fail(unreachable)
	b.clickButton("Sign out")
	b.waitText("Your session there ends when")
	b.click("dialog .danger")
	b.until(`() => !document.querySelector("dialog")`, "") // which says so, too
	b.waitText("The server cannot be reached.")
	_, err = feedbackclient.Client{Base: n.backend, Header: c.Header}.Me(t.Context())
	require.NoError(t, err)
	n.recover()
	b.do(chromedp.Navigate(n.url+"/#sign-in"), chromedp.Reload()) // the cookie is still there
	b.waitText("Waiting for the confirmation")
	_, err = c.Me(t.Context())
	require.ErrorContains(t, err, "401", "it is told as soon as it is reached")
}

// A shared computer, on which another tab still shows a student.
func TestSigningOutEndsOtherTabs(t *testing.T) {
	t.Parallel()
	url := development(t, saying("Heard."))
	_, p := withStudent(t, url, "anna")
	b := newBrowser(t)
	b.showStudent(url, p.ID)
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	other := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, other.listen))
	other.visit(url + "/#/student/" + p.ID)
	other.waitText("Ming")
	b.clickButton("Sign out")
	other.waitText("Sign in with this name")
	require.NotContains(t, other.eval(`document.body.innerText`), "Ming")
	require.Equal(t, "#/", other.eval(`location.hash`), "the next teacher has other students")
}

// While the server is not told of a sign-out nobody signs in: it would end that session instead.
func TestSignOutThatIsToldLaterEndsNoOtherSession(t *testing.T) {
	t.Parallel()
	n, login := signedIn(t)
	token, c := login()
	b := newBrowser(t)
	b.visit(n.url)
	b.signIn(token)
	n.fail(func(w http.ResponseWriter, r *http.Request) bool {
		fails := strings.HasSuffix(r.URL.Path, "/logout")
		if fails {
			http.Error(w, "", http.StatusInternalServerError)
		}
		return fails
	})
	b.clickButton("Sign out")
	b.waitText("Your session there ends when")
	b.click("dialog .danger")
	b.waitText("The server has a problem: HTTP 500")
	n.recover()
	b.clickButton("Try again")
	b.waitText("Waiting for the confirmation")
	_, err := c.Me(t.Context())
	require.ErrorContains(t, err, "401")
	token, c = login()
	b.signIn(token)
	b.waitText("There are no students yet")
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("this device")
	_, err = c.Me(t.Context())
	require.NoError(t, err)
}

// The account is taken along as a file, and deleted with everything after a question.
func accountIsExportedAndDeleted(t *testing.T, b tab) {
	n, login := signedIn(t)
	token, c := login()
	_, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	b.visit(n.url)
	b.waitText("Waiting for the confirmation")
	b.setCookie("session", token)
	b.visit(n.url + "/#sign-in/settings")
	b.waitText("Export everything")
	b.eval(`window.saved = ""; HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }; ""`)
	b.clickButton("Export everything")
	b.until(`() => /^feedback-\d{4}-\d\d-\d\d\.zip$/.test(saved)`, "")
	n.fail(unreachable)
	b.clickButton("Delete the account")
	b.waitText("Delete your account with all students")
	b.click("dialog .danger")
	// The message stands beside the button, and goes when the teacher leaves.
	b.until(`() => document.querySelector("section .row + .error")?.innerText === "The server cannot be reached."`, "")
	require.Equal(t, 1, strings.Count(b.eval(`document.body.innerText`), "中文"), "is in one place")
	// On a phone what the head has no room for is in the settings, also without a network.
	b.emulate(screens["phone"])
	b.eval(`location.hash = "#/"; ""`)
	b.until(`() => !document.body.innerText.includes("Export everything")`, "")
	b.click(`nav [href="#/settings"]`)
	b.waitText("Sign out")
	b.waitText("The server cannot be reached.")
	require.NotContains(t, b.eval(`document.body.innerText`), "Export everything")
	b.emulate(screens["desktop"])
	n.recover()
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("Ming")
	require.NotContains(t, b.eval(`document.body.innerText`), "cannot be reached")
	b.eval(`location.hash = "#/settings"; ""`)
	b.clickButton("Delete the account")
	b.click("dialog .danger")
	b.waitText("Waiting for the confirmation")
	_, err = c.Me(t.Context())
	require.ErrorContains(t, err, "401")
}

// What is no view, or names no student, shows today. No path is made of it.
func TestUnknownAddressesLeadHome(t *testing.T) {
	t.Parallel()
	url := development(t, saying("Heard."))
	b := newBrowser(t)
	b.visit(url + "/#sign-in=anna")
	b.waitText("Add a student")
	b.mu.Lock()
	b.requests = nil
	b.mu.Unlock()
	for _, address := range []string{
		"constructor", "__proto__", "toString", "nothing", "student", "student/", "student/1", "edit",
		`edit/..\auth\me`, "student/../auth/me", "student/..%2Fauth%2Fme", "edit/?x",
	} {
		b.eval(`document.querySelector("main").replaceChildren(); location.hash = ` + "`#/" + strings.ReplaceAll(
			address, `\`, `\\`) + "`; ''")
		b.until(`() => location.hash === "#/" && document.querySelector("h1")?.innerText.startsWith("Today")`, address)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests {
		require.NotContains(t, request, "auth")
		require.NotContains(t, request, "/profiles/")
	}
}
