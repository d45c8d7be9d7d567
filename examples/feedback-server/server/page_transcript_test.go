package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// What arrives leaves in place what is unchanged: the recording that plays, the focus and the
// reader's position.
func TestArrivingTextKeepsPlaybackAndFocus(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("autoplay-policy", "no-user-gesture-required"))
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	s := withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b.showStudent(url, p.ID)
	b.waitText("Heard.")
	b.clickButton("Listen")
	b.until(`() => document.querySelector("audio")?.currentTime > 0`, "")
	b.eval(`player = document.querySelector("audio"); player.loop = true; stopped = "";
		player.addEventListener("pause", () => stopped = "paused"); ""`)
	speech, err := os.ReadFile(sample(t, "lesson1-segment1.mp3"))
	require.NoError(t, err)
	_, err = c.Upload(t.Context(), s.Lessons[0].ID, 1, "b.mp3", speech)
	require.NoError(t, err)
	b.until(`() => document.querySelectorAll("li.transcribed").length === 2`, "")
	require.Empty(t, b.eval(`stopped`))
	require.Equal(t, "AUDIO true", b.eval(`document.activeElement.tagName + " " + player.isConnected`))
}

// What was recognised is mended in place and saved as it is typed, without a loss by a lost network
// or another device, and is recognised again in another language.
func TestTranscriptIsMendedAndRecognisedAgain(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseMultipartForm(1 << 20)
		fmt.Fprintf(w, `{"text":"Heard in %s."}`, r.FormValue("language"))
	})))
	c, p := withStudent(t, n.url, "anna")
	s := withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	segment := func() (seg feedbackclient.Segment) {
		s, err := c.Session(t.Context(), s.ID)
		require.NoError(t, err)
		return s.Lessons[0].Segments[0]
	}
	edited := func(text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			seg := segment()
			return seg.EditedText != nil && *seg.EditedText == text
		}, timeout, 100*time.Millisecond)
	}
	const editor, noEditor = ".segments textarea", `() => !document.querySelector(".segments textarea")`
	typed := func(text string) { b.enter(editor, text) }
	edit := func() {
		b.until(`() => { // of the part
			const b = [...document.querySelectorAll(".segments button")].find((b) => b.innerText === "Edit");
			if (b?.checkVisibility()) b.click();
			return Boolean(document.querySelector(".segments textarea"));
		}`, "")
	}
	b.showStudent(n.url, p.ID)
	b.waitText("Heard in .")
	edit()
	typed(" She painted a pond.")
	edited("Heard in . She painted a pond.")
	b.waitText("Saved.")
	n.fail(unreachable)
	typed(" Away.")
	b.waitText("Not saved; it is kept on this device. The server cannot be reached.")
	b.reload()
	b.waitText("Try again") // the banner comes before the view has failed
	n.recover()
	b.clickButton("Try again")
	b.waitText("Heard in . She painted a pond.")
	editElsewhere := func(text string) {
		_, err := c.EditSegment(t.Context(), segment().ID, feedbackclient.SegmentEdit{Text: &text})
		require.NoError(t, err)
	}
	editElsewhere("Theirs.")
	edit()
	b.until(`() => document.querySelector(".segments textarea").value === "Heard in . She painted a pond. Away."`, "")
	typed("!")
	b.waitText("It says: Theirs.")
	require.Equal(t, "Theirs.", *segment().EditedText, "what was typed before it does not replace it")
	b.clickButton("Done")
	edited("Heard in . She painted a pond. Away.!")
	b.until(noEditor, "")
	edit()
	editElsewhere("Later.")
	typed("!")
	b.waitText("It says: Later.")
	typed("!")
	edited("Heard in . She painted a pond. Away.!!!")
	b.clickButton("Done")
	b.until(noEditor, "")
	b.waitText("Heard in . She painted a pond. Away.!!!")
	b.clickButton("Regenerate")
	b.until(`() => document.querySelector("textarea").value.includes("painted")`, "")

	edit()
	b.screenshot("mending")
	n.fail(unreachable)
	b.clickButton("As recognised")
	b.waitText("Not saved; it is kept on this device.")
	n.recover()
	b.clickButton("As recognised")
	b.until(noEditor, "")
	require.Nil(t, segment().EditedText)
	// The text that nobody has touched is made anew; of another, the page tells.
	b.until(`() => !document.querySelector("textarea").value.includes("painted")`, "")
	b.enter(".feedback textarea", " And mine.")
	edit()
	b.eval(`set = Storage.prototype.setItem; // it is full
		Storage.prototype.setItem = () => { throw new DOMException(""); }; ""`)
	typed(" Corrected.")
	b.clickButton("Done")
	edited("Heard in . Corrected.")
	b.eval(`Storage.prototype.setItem = set; ""`)
	b.waitText("What changed in the text of the lessons is not in here.")
	b.screenshot("not mended")
	require.Contains(t, b.eval(`document.querySelector(".feedback textarea").value`), " And mine.")
	edit()
	b.clickButton("As recognised")
	b.until(noEditor, "")
	b.eval(`document.querySelector(".transcript summary").click();
		document.querySelector(".transcript details select").value = "fr"; ""`)
	b.clickButton("Recognise again")
	b.waitText("Heard in fr.")
	b.clickButton("Regenerate")
	b.clickButton("Replace")
	b.until(`() => document.querySelector(".feedback textarea").value === "Heard in fr."`, "")
	b.eval(`document.querySelector(".transcript summary").click();
		document.querySelector(".transcript details select").value = "en"; ""`)
	b.clickButton("Recognise again")
	b.until(`() => document.querySelector(".feedback textarea").value === "Heard in en."`, "")
}

// Where a correction may be misunderstood, the teacher is told to listen again.
func TestSentencesToCheckAreShownFirst(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"text":"He sang well. The fee is thirty, the fee is forty pounds."}`)
	}))
	c, p := withStudent(t, url, "anna")
	withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b.emulate(screens["phone"])
	b.showStudent(url, p.ID)
	b.clickButton("Regenerate")
	b.waitText("Sentences to check: 1")
	b.screenshot("check")
	require.Equal(t, "The fee is thirty, the fee is forty pounds.",
		b.eval(`document.querySelector(".feedback div.notice li").innerText`))
	b.clickButton("Save")
	b.until(`() => document.querySelector(".feedback textarea").value === ""
		&& [...document.querySelectorAll(".feedback div.notice")].every((n) => n.hidden)`, "for the next record")
}

// Each sentence, also of a generated text, leads to its sound, by the keyboard too, and is marked
// while it is spoken. One that nobody said is marked.
func TestGeneratedSentencesLeadToTheirSound(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("autoplay-policy", "no-user-gesture-required"))
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant",
			"content":"He mixed three greens for the water. He won a golden medal in Paris."}}]}`)
	}))
	t.Cleanup(chat.Close)
	url := development(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"text":"He painted a large pond. He mixed three greens for the water.","segments":[
			{"text":"He painted a large pond.","start":0,"end":2},
			{"text":"He mixed three greens for the water.","start":2,"end":4}]}`)
	}), "FEEDBACK_SUMMARY_API_URL", chat.URL, "FEEDBACK_SUMMARY_API_KEY", "key", "FEEDBACK_SUMMARY_MODEL", "model")
	c, p := withStudent(t, url, "anna")
	withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b.showStudent(url, p.ID)
	b.until(`() => document.querySelectorAll(".transcript .sentence").length === 2`, "")
	b.clickButton("Regenerate")
	b.waitText("Sentences to check: 1")
	b.screenshot("sources")
	require.Equal(t, "He won a golden medal in Paris.\nNot found in the recordings. Please check it.",
		b.eval(`document.querySelector(".feedback li.failed").innerText.replace(/\n+/, "\n")`))
	b.click(".feedback details summary")
	b.click(".feedback details .sentence")
	b.until(`() => document.querySelector("[aria-current=true].sentence")?.innerText.startsWith("He mixed three")
		&& document.querySelector("audio").currentTime >= 2`, "")
	b.eval(`document.querySelector(".transcript .sentence").focus(); ""`)
	b.do(chromedp.KeyEvent("\r"))
	b.until(`() => document.querySelector("[aria-current=true].sentence")?.innerText.startsWith("He painted")
		&& document.querySelector("audio").currentTime < 2`, "")
}
