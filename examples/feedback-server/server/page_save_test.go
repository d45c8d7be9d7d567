package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A new text is appended to the teacher's own, or replaces it. The offer ends with the text that it
// is about.
func TestNewTextNeverReplacesTheTeachersUnasked(t *testing.T) {
	t.Parallel()
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b := newBrowser(t)
	b.showStudent(url, p.ID)
	b.waitText("Heard.")
	b.enter("textarea", "Mine.")
	b.waitText("Saved.")
	b.clickButton("Regenerate")
	b.waitText("There is text already.")
	b.clickButton("Append")
	b.until(`() => /^Mine\.\n\n.*heard/is.test(document.querySelector("textarea").value)`, "")
	b.clickButton("Regenerate")
	b.clickButton("Replace")
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
	b.enter("textarea", "More.")
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.eval(`document.querySelector("textarea").focus(); ""`)
	b.waitText("There is text already.") // the text arrives while the teacher types
	b.do(chromedp.KeyEvent(" and more"))
	b.until(`() => document.querySelector("textarea").value.endsWith("More. and more")`, "")
	b.waitText("There is text already.")
	b.addFiles(sample(t, "lesson1-segment2.mp3")) // more is said before one is chosen
	b.until(`() => document.querySelectorAll("li.transcribed").length === 3`, "")
	b.until(allSent, "")
	b.clickButton("Cancel")
	b.waitText("There is text already.")
	b.eval(`location.hash = "#/"; ""`) // and the student is left before one is chosen
	b.waitText("All students")
	b.eval(fmt.Sprintf(`location.hash = "#/student/%s"; ""`, p.ID))
	b.waitText("There is text already.")
	b.clickButton("Save")
	b.waitText("Choose first what happens with the other text.")
	for range c.Records(t.Context(), p.ID) {
		t.Fatal("a record was saved")
	}
	b.clickButton("Cancel")
	b.until(`() => !document.body.innerText.includes("Choose first")`, "")
	b.clickButton("Save")
	b.waitText("The record is saved")
}

// losesAnswer lets the page lose the answer to its next POST.
const losesAnswer = `fetched = fetch; window.fetch = async (...of) => {
	const answer = await fetched(...of);
	if (of[1].method !== "POST") return answer;
	window.fetch = fetched;
	throw new TypeError();
}; ""`

// sayingAfter is a recogniser that hears "Heard." in the first recording when held is closed.
func sayingAfter(held <-chan struct{}) http.Handler {
	return saying("Heard.", func(n int32, _ http.ResponseWriter, r *http.Request) bool {
		if n > 1 {
			return false
		}
		select {
		case <-held:
		case <-r.Context().Done():
		}
		return false
	})
}

// A recording that is not text yet would be in no record. The teacher waits, or it is in the next.
// What is in the record is not in the next: its lesson ends. That holds too if the answer to saving
// it is lost, and the page is loaded again; what is said then is in the next, and a date that is
// corrected then is that of a record.
func TestRecordIsNotSavedUnaskedWithoutARecording(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"arrives", "is lost", "is lost, the date is corrected", "is lost, more is said"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			savesEarly(t, answer)
		})
	}
}

func savesEarly(t *testing.T, answer string) {
	isLost := answer != "arrives"
	held := make(chan struct{})
	url := development(t, sayingAfter(held))
	c, p := withStudent(t, url, "anna")
	b := newBrowser(t)
	b.showStudent(url, p.ID)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("waiting to become text")
	b.clickButton("Finish the lesson")
	b.waitText("Lesson 1 is finished")
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.until(`() => Boolean(document.querySelector("li.transcribed"))`, "")
	b.until(allSent, "")
	b.enter("textarea", "Mine.")
	b.clickButton("Save")
	b.waitText("A recording is still becoming text.")
	b.screenshot("question")
	b.clickButton("Wait")
	b.until(`() => !document.querySelector("dialog")`, "")
	for range c.Records(t.Context(), p.ID) {
		t.Fatal("a record was saved")
	}
	if isLost {
		b.eval(losesAnswer)
	}
	b.clickButton("Save")
	b.clickButton("Save without it")
	if isLost {
		b.waitText("The server cannot be reached.")
	} else {
		b.waitText("The record is saved")
		b.until(`() => document.querySelector("textarea").value === ""`, "")
	}
	switch answer {
	case "is lost":
		b.reload()
		b.waitText("Lesson 2 · open")
	case "is lost, the date is corrected":
		b.eval(`(() => { const date = document.querySelector("input[type=date]");
			date.value = "2026-05-31"; date.dispatchEvent(new Event("change")); return ""; })()`)
		b.clickButton("Save")
		b.clickButton("Save without it")
		b.until(`() => document.querySelector("textarea").value === ""`, "")
		dates := ""
		for record, err := range c.Records(t.Context(), p.ID) {
			require.NoError(t, err)
			dates += record.Date
		}
		require.Contains(t, dates, "2026-05-31")
		close(held)
		return
	case "is lost, more is said":
		b.addFiles(sample(t, "lesson1-segment2.mp3"))
		b.until(allSent, "")
		close(held)
		b.waitText("There is text already.")
		s, err := c.ActiveSession(t.Context(), p.ID)
		require.NoError(t, err)
		require.False(t, s.Lessons[1].Applied)
		b.clickButton("Cancel")
		b.clickButton("Save")
		b.waitText("The record is saved")
		return
	}
	close(held)
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)
		|| !document.querySelector(".feedback .notice").hidden`, "")
	require.Equal(t, "Heard.", b.eval(`document.querySelector("textarea").value`), "of the other lesson")
	s, err := c.ActiveSession(t.Context(), p.ID)
	require.NoError(t, err)
	require.Equal(t, "finished", s.Lessons[1].State)
	require.True(t, s.Lessons[1].Applied)
	b.clickButton("Save")
	b.until(`() => document.querySelectorAll(".entry").length === 2`, "")
	b.waitText("Recording starts lesson 1") // of a new session
}

// The rest becomes text while an early record is being saved, which is sent once.
func TestEarlyRecordIsSentOnce(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	held, arrived, answer := make(chan struct{}), make(chan struct{}, 9), make(chan struct{})
	n := newFaultyNetwork(t, development(t, sayingAfter(held)))
	_, p := withStudent(t, n.url, "anna")
	b.showStudent(n.url, p.ID)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.until(allSent, "")
	b.enter("textarea", "Mine.")
	n.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feedback-records") {
			arrived <- struct{}{}
			<-answer
		}
		return false
	})
	b.clickButton("Save")
	b.clickButton("Save without it")
	<-arrived
	close(held)
	b.until(`() => [...document.querySelectorAll("button")].find((e) => e.innerText === "Regenerate")
		?.getAttribute("aria-busy") === "true"`, "")
	close(answer)
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
	require.Empty(t, arrived)
}

// A recording of a page whose session was saved elsewhere begins the next session, with what was
// typed there and not saved.
func TestRecordSavedElsewhereLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	saveElsewhere := func() {
		t.Helper()
		s, err := c.ActiveSession(t.Context(), p.ID)
		require.NoError(t, err)
		_, err = c.SaveRecord(t.Context(), p.ID, s.ID, "2026-05-31", "Saved elsewhere.")
		require.NoError(t, err)
	}
	b.showStudent(url, p.ID)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
	b.waitText("Saved.")
	saveElsewhere()
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.waitText("The record was saved elsewhere. This is the next one.")
	b.until(`() => document.querySelectorAll("li.transcribed").length === 1
		&& /^heard/i.test(document.querySelector("textarea").value)`, "")
	b.waitText("Saved.")
	storedParts(t, c, p.ID, 1)

	saveElsewhere()
	b.enter("textarea", " And mine.")
	b.until(`() => document.querySelectorAll(".entry").length === 2`, "")
	require.Contains(t, b.eval(`document.querySelector("textarea").value`), " And mine.")
	b.waitText("Saved.")
	saveElsewhere()
	b.clickButton("Save")
	b.until(`() => document.querySelectorAll(".entry").length === 3`, "")
	require.Empty(t, b.eval(`document.querySelector("textarea").value`))
}

// A recording without speech, or a text that was emptied, is nothing to save.
func TestNothingIsNotSaidToBeUnsaved(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying("Heard.", func(n int32, w http.ResponseWriter, _ *http.Request) bool {
		if n == 1 {
			fmt.Fprint(w, `{"text":""}`)
		}
		return n == 1
	}))
	_, p := withStudent(t, url, "anna")
	isUnsaved := func(want string) {
		t.Helper()
		b.eval(`location.hash = "#/"; ""`)
		b.until(`() => Boolean(document.querySelector(".state")?.innerText)`, "")
		require.Equal(t, want, b.eval(`String(document.querySelector(".state").innerText === "Not in a record yet")`))
		b.eval(fmt.Sprintf(`location.hash = "#/student/%s"; ""`, p.ID))
		b.waitText("Lesson 1 is open")
	}
	b.showStudent(url, p.ID)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("No speech was recognised.")
	b.until(allSent, "")
	isUnsaved("false")
	b.enter("textarea", "x")
	isUnsaved("true")
	b.until(`() => document.querySelector("textarea").value === "x"`, "")
	const empty = `(() => { const e = document.activeElement.closest(".segments textarea")
		?? document.querySelector("textarea"); e.value = "";
		e.dispatchEvent(new Event("input")); return ""; })()`
	b.eval(empty)
	isUnsaved("false")
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
	b.eval(empty)
	isUnsaved("true") // what was said is in no record
	b.click(".segments li:last-child .quiet:last-child")
	b.until(`() => Boolean(document.activeElement.closest(".segments textarea"))`, "")
	b.eval(empty)
	b.clickButton("Done")
	b.until(`() => !document.querySelector(".segments textarea")`, "")
	isUnsaved("false") // it was of another student
	b.click(".segments li:last-child .quiet:last-child")
	b.clickButton("As recognised")
	b.until(`() => !document.querySelector(".segments textarea")`, "")
	isUnsaved("true")
}

// More is said while a text is being made: it is made into a text though the first one fails.
func TestTextIsMadeAfterOneThatFails(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	_, p := withStudent(t, n.url, "anna")
	asked, fails := make(chan struct{}), make(chan struct{})
	var count atomic.Int32
	n.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/generate") || count.Add(1) > 1 {
			return false
		}
		close(asked)
		<-fails
		http.Error(w, "", http.StatusInternalServerError)
		return true
	})
	b.showStudent(n.url, p.ID)
	b.eval(`import("/page/work.js").then(({ Work }) => { heard = 0;
		const tell = Work.prototype.dispatchEvent;
		Work.prototype.dispatchEvent = function (event) {
			heard += event.type === "heard";
			return tell.call(this, event);
		};
		return "";
	})`)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	<-asked
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.until(`() => heard === 2`, "")
	close(fails)
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
}

// A teacher who leaves a student is told that the recording has stopped, sees where something
// waits, and finds its text on return.
func TestWorkOnAStudentIsFoundAgain(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	held := make(chan struct{})
	url := development(t, sayingAfter(held))
	c, p := withStudent(t, url, "anna")
	b.showStudent(url, p.ID)
	b.clickButton("Record")
	b.waitRecorded(1)
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("Recording has stopped.")
	b.until(`() => document.querySelector(".state")?.innerText === "Not in a record yet"`, "")
	b.screenshot("left")
	storedParts(t, c, p.ID, 1)
	close(held)
	require.Eventually(t, func() bool {
		s, err := c.ActiveSession(t.Context(), p.ID)
		return err == nil && s.Lessons[0].Segments[0].Text != ""
	}, timeout, 100*time.Millisecond)
	b.eval(fmt.Sprintf(`location.hash = "#/student/%s"; ""`, p.ID))
	b.until(`() => /^heard/i.test(document.querySelector("textarea")?.value)`, "")
}
