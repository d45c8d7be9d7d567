package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrhttp"
	"lessonkit.example/asr/command"
	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/feedback/feedbackclient"
)

// listening returns browser options for a microphone that plays the demo's first lesson once, after
// three seconds of silence, in which the recording begins also on a busy machine, and for a user
// who permits its use.
func listening(t *testing.T) []chromedp.ExecAllocatorOption {
	t.Helper()
	installedProgram(t, "ffmpeg")
	file := filepath.Join(t.TempDir(), "speech.wav")
	const speech = "../../internal/demo/speech/lesson1-segment"
	out, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-i", speech+"0.mp3", "-i", speech+"1.mp3",
		"-i", speech+"2.mp3", "-filter_complex", "[0][1][2]concat=n=3:v=0:a=1,adelay=3000",
		"-ar", "48000", "-ac", "1", "-c:a", "pcm_s16le", file).CombinedOutput()
	require.NoError(t, err, string(out))
	return microphone(file)
}

// microphone returns browser options for a microphone that plays the file once, and for a user who
// permits its use.
func microphone(file string) []chromedp.ExecAllocatorOption {
	return []chromedp.ExecAllocatorOption{
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-audio-capture", file+"%noloop"),
	}
}

// recognizing returns the address of a server with a recogniser, for development.
func recognizing(t *testing.T, more ...string) string {
	t.Helper()
	installedProgram(t, "pocketsphinx_continuous")
	recognizer, err := command.New(command.PocketSphinx())
	require.NoError(t, err)
	handler, err := asrhttp.New(asrhttp.Config{Recognizer: recognizer})
	require.NoError(t, err)
	return development(t, handler, more...)
}

// development returns the address of a server for development, whose recogniser is the handler.
func development(t *testing.T, recognizer http.Handler, more ...string) string {
	t.Helper()
	asr := httptest.NewServer(recognizer)
	t.Cleanup(asr.Close)
	more = append([]string{"LOCAL_ASR_URL", asr.URL, "ASR_WORKER_CONCURRENCY", "2"}, more...)
	return "http://" + serve(t, onSQLite(t, server.RoleAll, more...))
}

func withStudent(t *testing.T, url, teacher string) (feedbackclient.Client, feedbackclient.Profile) {
	t.Helper()
	c := feedbackclient.Development(url, teacher)
	p, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)
	return c, p
}

// sample returns the path of a spoken sample, for programs that run elsewhere.
func sample(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../internal/demo/speech/" + name)
	require.NoError(t, err)
	return path
}

// withLesson starts a lesson of the student with the samples, and returns the session.
func withLesson(t *testing.T, c feedbackclient.Client, profile string, samples ...string) feedbackclient.Session {
	t.Helper()
	s, err := c.OpenSession(t.Context(), profile)
	require.NoError(t, err)
	l, err := c.StartLesson(t.Context(), s.ID)
	require.NoError(t, err)
	for i, name := range samples {
		speech, err := os.ReadFile(sample(t, name))
		require.NoError(t, err)
		_, err = c.Upload(t.Context(), l.ID, i, name, speech)
		require.NoError(t, err)
	}
	s, err = c.Session(t.Context(), s.ID)
	require.NoError(t, err)
	return s
}

// The whole main job: sign in, add a student, speak, read the words, generate, edit, save, delete.
// It is done below a path of a proxy, by the keyboard only, without a message in the browser's
// console, a request elsewhere or a violation of the Content-Security-Policy.
func TestTeacherSpeaksAndSavesTheFeedback(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	var messages []string
	require.NoError(t, chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok {
			b.mu.Lock()
			defer b.mu.Unlock()
			messages = append(messages, e.Entry.Text+" "+e.Entry.URL)
		}
	}))
	origin := recognizing(t, "BASE_PATH", "/teach")
	c := feedbackclient.Development(origin+"/teach", "anna")
	press := func(keys ...string) {
		for _, key := range keys {
			b.do(chromedp.KeyEvent(key))
		}
	}
	// tab moves the focus until it is on an element with the text.
	tab := func(text string) {
		t.Helper()
		for range 40 {
			press("\t")
			focused := b.eval(`(() => { const e = document.activeElement;
				return e === document.body ? "" : (e.labels?.[0]?.innerText ?? "") + "|" + e.innerText; })()`)
			if strings.Contains(focused, text) {
				return
			}
		}
		t.Fatalf("the focus does not reach %q", text)
	}
	b.visit(origin + "/teach")
	b.waitText("Sign in with this name")
	tab("Name")
	press("anna", "\r")
	b.waitText("There are no students yet")
	tab("Add a student")
	press("\r")
	b.waitText("How the guardian is addressed")
	tab("Name")
	press("Ming", "\r")
	b.waitText("Recording starts lesson 1")
	press(" ") // the focus is on no control
	b.waitText("good level")
	b.screenshot("recording")
	b.waitRecorded(16)
	press(" ")
	b.waitText("should practice drawing for fifteen minutes every day")
	b.until(`() => document.querySelector("textarea").value.includes("was a very good lesson")`, "") // by itself
	tab("Finish the lesson")
	press("\r")
	b.waitText("Lesson 1 is finished")
	tab("Regenerate")
	press("\r")
	b.until(`() => document.activeElement.value?.includes("was a very good lesson")`, "")
	press(" Well done!")
	b.waitText("Saved.")
	b.screenshot("written")
	tab("Save")
	press("\r")
	b.waitText("The record is saved")
	b.waitText("Recording starts lesson 1") // of a new session
	contents := ""
	for record, err := range c.Records(t.Context(), "") {
		require.NoError(t, err)
		contents += record.Content
	}
	require.Regexp(t, `(?s)^[^!]*was a very good lesson[^!]*Well done![^!]*$`, contents)
	b.until(`() => Boolean(document.querySelector(".entry"))`, "")
	tab("Ming")
	press("\r")
	tab("Delete")
	press("\r")
	b.until(`() => document.activeElement.innerText === "Undo"`, "")
	tab("Records")
	press("\r")
	b.waitText("There are no records")
	for record := range c.Records(t.Context(), "") {
		require.Empty(t, record)
	}
	b.requireOnly(origin)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, messages)
}

// requireFits checks the view on every width and in both colour schemes: axe objects to nothing,
// nothing is wider than the screen, and what is tapped is high enough.
func requireFits(t *testing.T, b tab, axe, view string) {
	t.Helper()
	// The colours do not depend on the width.
	for _, s := range []screen{{360, 900, "light", ""}, {768, 900, "dark", ""}, {1440, 900, "light", ""}} {
		b.emulate(s)
		name := fmt.Sprintf("%s %d %s", view, s.width, s.scheme)
		b.screenshot(name)
		require.Empty(t, violations(b, axe), name)
		for _, size := range []string{"200%", ""} { // of text
			b.eval(`document.documentElement.style.fontSize = "` + size + `"; ""`)
			require.Equal(t, "true", b.eval(`String(document.documentElement.scrollWidth <= innerWidth)`), name+size)
		}
		require.Equal(t, "1", b.eval(`(() => {
			const range = document.createRange();
			range.selectNodeContents(document.querySelector("h1").firstChild);
			return String(range.getClientRects().length);
		})()`), "%s: a title of one word is on one line", name)
		// A sentence is as high as its line.
		require.Empty(t, b.eval(`
			[...document.querySelectorAll("button:not(.sentence), main a, nav a, input, select")]
			.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44)
			.map((e) => e.outerHTML).join("\n")`), name)
	}
}

// The states of the page that everyViewFitsEveryScreen does not have.
func TestPageIsAccessible(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	b.acceptDialogs()
	axe := nodetest.Run(t, "testdata/axe", nil, "print.mjs")
	url := recognizing(t)
	c, p := withStudent(t, url, "anna")
	_, err := c.SaveRecord(t.Context(), p.ID, "", "2026-05-31", "She mixed greens.")
	require.NoError(t, err)
	session := withLesson(t, c, p.ID, "lesson1-segment1.mp3")

	check := func(view string) { requireFits(t, b, axe, view) }
	b.visit(url + "/#sign-in=anna")
	b.waitText("Sign out")
	for _, language := range []struct{ name, words, other, record, stop, saved, conflict, keep string }{
		{"en", "finished the picture", "中文", "Record", "Stop", "Saved.", "changed on another device", "Keep mine"},
		{"zh", "反馈记录", "English", "录音", "停止", "已保存。", "已在其他设备", "保留我的"},
	} {
		b.visit(url + "/#/edit/" + p.ID)
		b.until(`() => Boolean(document.querySelector("input[name=guardian_title]"))`, "")
		check("edit " + language.name)
		b.click("main button.danger")
		b.until(`() => Boolean(document.querySelector("dialog[open]"))`, "")
		check("question " + language.name)
		b.click("dialog button")
		b.visit(url + "/#/student/" + p.ID)
		b.waitText("She mixed greens.")
		b.waitText(language.words)
		b.eval(`[...document.querySelectorAll(".segments .quiet")].pop().click(); ""`)
		b.until(`() => Boolean(document.querySelector(".segments textarea"))`, "")
		check("mending " + language.name)
		b.eval(`document.querySelector(".segments .primary").click(); ""`)
		b.clickButton(language.record)
		b.waitRecorded(1)
		check("recording " + language.name)
		b.clickButton(language.stop)
		b.untilNobodyRecords()
		b.enter("textarea", "Mine")
		b.waitText(language.saved)
		theirs := "Theirs " + language.name
		_, err = c.SaveSession(t.Context(), session.ID, feedbackclient.SessionEdit{FeedbackText: &theirs})
		require.NoError(t, err)
		b.enter("textarea", ", longer")
		b.waitText(language.conflict)
		check("conflict " + language.name)
		b.clickButton(language.keep)
		b.waitText(language.saved)
		b.visit(url + "/#/records")
		b.until(`() => Boolean(document.querySelector(".filters ~ .records summary"))`, "")
		b.eval(`document.querySelector(".entry summary").click();
			document.querySelector(".entry .primary").click(); ""`)
		b.waitText("Ming's lesson feedback")
		check("records " + language.name)
		b.clickButton(language.other)
		b.until(`(text) => !document.querySelector("header").innerText.includes(text)`, language.other)
	}
	b.requireOnly(url)
}
