package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// A lesson whose text is too long for the session is read in pages.
func TestLongLessonsAreShownWhole(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying(strings.Repeat("word ", 20_000)))
	c, p := withStudent(t, url, "anna")
	s := withLesson(t, c, p.ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3", "lesson1-segment2.mp3")
	require.Eventually(t, func() bool {
		var err error
		s, err = c.Session(t.Context(), s.ID)
		require.NoError(t, err)
		return s.Lessons[0].Truncated
	}, timeout, 100*time.Millisecond)
	b.showStudent(url, p.ID)
	b.until(`() => document.querySelector(".transcript").innerText.length > 290000`, "")
}

// saying returns a recogniser that hears the text in every recording, unless before answers, which
// is called with the number of the recording, from 1.
func saying(text string, before ...func(n int32, w http.ResponseWriter, r *http.Request) bool) http.Handler {
	var count atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			n := count.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			if len(before) > 0 && before[0](n, w, r) {
				return
			}
		}
		fmt.Fprintf(w, `{"text":%q}`, text)
	})
}

// While recordings wait, the page says in words how many are before them and how long it takes.
func TestWaitIsToldInWords(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	t.Cleanup(func() { close(held) })
	second := make(chan struct{})
	url := development(t, saying("Heard.", func(n int32, _ http.ResponseWriter, r *http.Request) bool {
		switch n {
		case 1: // tells the speed
			return false
		case 2:
			close(second)
		}
		select {
		case <-held:
		case <-r.Context().Done():
		}
		return false
	}), "ASR_WORKER_CONCURRENCY", "1")
	other, q := withStudent(t, url, "other")
	withLesson(t, other, q.ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3", "lesson1-segment2.mp3")
	c, p := withStudent(t, url, "anna")
	<-second
	withLesson(t, c, p.ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3")
	b := newBrowser(t)
	b.showStudent(url, p.ID)
	b.until(`() => /text: 2\. Recordings before them: [12]\. All should be there in about \d+ (second|minute)s?\./
		.test(document.body.innerText)`, "")
	b.clickButton("中文")
	b.until(`() => /录音：2 段。 ?前面还有 [12] 段。 ?预计 \d+(秒|分)钟? ?后全部完成/
		.test(document.body.innerText)`, "")
}

func (b *browser) showStudent(url, profile string) {
	b.t.Helper()
	b.visit(url + "/#sign-in=anna/student/" + profile)
	b.waitText("Ming")
}

func TestFailedPartIsRetriedAndLessonIsApplied(t *testing.T) {
	t.Parallel()
	url := development(t, saying("Heard.", func(n int32, w http.ResponseWriter, _ *http.Request) bool {
		switch n {
		case 1:
			fmt.Fprintf(w, `{"text":%q}`, strings.Repeat("Thanks for watching! ", 20)) // as of silence
		case 2:
			http.Error(w, `{"error":{"message":"no speech in it"}}`, http.StatusUnprocessableEntity)
		}
		return n <= 2
	}))
	c, p := withStudent(t, url, "anna")
	s := withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b := newBrowser(t)
	b.showStudent(url, p.ID)
	b.waitText("Parts of this may not have been said.")
	b.addFiles(sample(t, "lesson1-segment1.mp3"))
	b.waitText("Could not be recognised – The recording cannot be used")
	b.clickButton("Try again")
	b.waitText("Heard.")
	require.Equal(t, "1", b.eval(`String(document.body.innerText.split("may not have been said").length - 1)`))
	b.screenshot("doubtful")
	b.clickButton("Finish the lesson")
	b.waitText("Lesson 1 · finished")
	b.waitText("Regenerate")
	_, err := c.MarkApplied(t.Context(), s.Lessons[0].ID)
	require.NoError(t, err)
	b.until(`() => !document.body.innerText.includes("Regenerate")`, "") // an applied lesson is left out
}

func studentsAreFoundAndEdited(t *testing.T, b tab) {
	url := development(t, saying("Heard."))
	c := feedbackclient.Development(url, "anna")
	for _, s := range []struct{ name, grade, subject string }{
		{"Ming", "Grade 1", "Art"}, {"Mia", "Grade 2", "Art"}, {"陈晨", "Grade 2", "Music"},
	} {
		in := feedbackclient.ProfileInput{Name: s.name, Grade: &s.grade, Subject: &s.subject}
		_, err := c.CreateProfile(t.Context(), in)
		require.NoError(t, err)
	}
	b.visit(url + "/#sign-in=anna")
	b.waitText("陈晨")
	shown := func(names string) {
		t.Helper()
		b.until(`(names) => [...document.querySelectorAll("li strong")].map((e) => e.innerText).sort()
			.join() === names`, names)
	}
	fill := func(control, value string) {
		b.eval(fmt.Sprintf(`(() => { const e = document.querySelector("[name=%s]"); e.value = %q;
			e.dispatchEvent(new Event("input", { bubbles: true })); return ""; })()`, control, value))
	}
	fill("query", "mI")
	shown("Mia,Ming")
	fill("query", "grade 2")
	shown("Mia,陈晨")
	fill("query", "晨")
	shown("陈晨")
	fill("query", "晨晨")
	b.waitText("0 found")

	// The defaults fill the fields of a new student that are left empty. What the server says of a
	// field stands beside it. Words to expect are seen and deleted.
	_, err := c.SaveWords(t.Context(), []string{"了教室", "雨桐"})
	require.NoError(t, err)
	b.visit(url + "/#/settings")
	b.until(`() => document.querySelector("[name=words]")?.value === "了教室\n雨桐"`, "")
	submit := func(field string) {
		b.eval(fmt.Sprintf(`document.querySelector("[name=%s]").form.requestSubmit(); ""`, field))
	}
	// What another device saves meanwhile stays, unless the same field is changed here.
	_, err = c.SaveDefaults(t.Context(), feedbackclient.Defaults{Grade: "Grade 8", Subject: "Music",
		LessonDurationMinutes: 60, SummaryInstructions: "Be kind."})
	require.NoError(t, err)
	fill("lesson_duration_minutes", "45")
	fill("grade", "Grade 9")
	submit("grade")
	b.waitText("Saved.")
	defaults, err := c.Defaults(t.Context())
	require.NoError(t, err)
	require.Equal(t, feedbackclient.Defaults{Grade: "Grade 9", Subject: "Music", LessonDurationMinutes: 45,
		SummaryInstructions: "Be kind."}, defaults)
	fill("message_template", "Dear {guardian},")
	submit("message_template")
	b.waitText("Please check: Message to the guardian.")
	said := func(text string) {
		t.Helper()
		b.until(fmt.Sprintf(`() => document.querySelector("textarea + .error")?.innerText === %q`, text), "")
	}
	said("Line 1: In braces, only the names below are known.")
	fill("message_template", "Dear {guardian_title}, all is well.")
	submit("message_template")
	said("{text} is missing: the message would be without the feedback.")
	fill("message_template", strings.Repeat("{text", 401))
	submit("message_template")
	said("At most 2000 characters are allowed.")
	fill("message_template", "{name}: {text}")
	fill("summary_instructions", "Be brief.")
	b.eval(`location.hash = "#/"; ""`) // what is not saved stays here
	b.waitText("All students")
	b.eval(`location.hash = "#/settings"; ""`)
	b.waitText("Not saved yet")
	require.Equal(t, "{name}: {text}", b.eval(`document.querySelector("[name=message_template]").value`))
	b.screenshot("unsaved")
	_, err = c.SaveWords(t.Context(), []string{"了教室", "雨桐", "池塘"})
	require.NoError(t, err)
	submit("message_template")
	b.until(`() => document.querySelector("[name=message_template]").form.innerText.includes("Saved.")`, "")
	require.Empty(t, b.eval(`document.querySelector(".error")?.innerText ?? ""`))
	defaults, err = c.Defaults(t.Context())
	require.NoError(t, err)
	require.NotContains(t, b.eval(`document.body.innerText`), "Not saved yet")
	require.Equal(t, feedbackclient.Defaults{Grade: "Grade 9", Subject: "Music", LessonDurationMinutes: 45,
		MessageTemplate: "{name}: {text}", SummaryInstructions: "Be brief."}, defaults)
	fill("words", "雨桐\n"+strings.Repeat("字", 101))
	submit("words")
	b.until(`() => document.querySelector("[name=words] + .error")?.innerText
		=== "Line 2: At most 100 characters are allowed."`, "")
	fill("words", "雨桐")
	submit("words")
	require.Eventually(t, func() bool {
		words, err := c.Words(t.Context())
		return err == nil && slices.Equal(words, []string{"雨桐", "池塘"})
	}, timeout, 100*time.Millisecond)
	b.visit(url + "/#/edit/")
	b.waitText("Add a student")
	b.until(`() => Boolean(document.querySelector("[name=guardian_title]"))`, "")
	fill("name", "Lena")
	fill("start_time", "09:00")
	b.eval(losesAnswer)
	b.clickButton("Save")
	b.until(`() => document.querySelector("form .error")?.innerText === "The server cannot be reached."`, "")
	b.clickButton("Save")
	b.waitText("Grade 9")
	lenas := 0
	for range c.Profiles(t.Context(), feedbackclient.ProfileFilter{Query: "Lena"}) {
		lenas++
	}
	require.Equal(t, 1, lenas)
	b.eval(`history.back(); ""`) // not to the form, which would add another one
	b.waitText("Speech recognition")
	b.eval(`history.forward(); ""`)
	b.waitText("09:00–09:45")

	// A rule that the browser does not know names the field in the reader's words.
	b.click(`a[href^="#/edit/"]`)
	b.until(`() => document.querySelector("[name=name]")?.value === "Lena"`, "")
	fill("end_time", "08:00")
	b.clickButton("Save")
	b.waitText("Please check: Lesson ends.")
	b.waitText("The lesson must end after it starts.")
	id := strings.TrimPrefix(b.eval(`location.hash`), "#/edit/")
	_, err = c.ReplaceProfile(t.Context(), id, feedbackclient.ProfileInput{Name: "Lena", GuardianTitle: "Ms Li"})
	require.NoError(t, err)
	fill("end_time", "10:00")
	b.clickButton("Save")
	b.waitText("Grade 9 · Music")
	lena, err := c.Profile(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "Ms Li", lena.GuardianTitle, "from another device")
	require.Equal(t, "10:00", lena.EndTime)
	b.click(`a[href^="#/edit/"]`)
	b.clickButton("Delete the student")
	b.waitText("Delete Lena · Grade 9 · Music? The feedback records (0) and all lessons")
	b.clickButton("Cancel")
	b.until(`() => !document.querySelector("dialog")`, "")
	b.clickButton("Delete the student")
	b.until(`() => Boolean(document.querySelector("dialog"))`, "")
	b.eval(`history.back(); ""`) // ends the question
	b.waitText("Recording starts lesson 1")
	b.until(`() => !document.querySelector("dialog")`, "")
	b.click(`a[href^="#/edit/"]`)
	b.clickButton("Delete the student")
	b.eval(`import("/page/outbox.js").then(({ openKey }) => localStorage[openKey("sent-` + id + `")] = "{}")`)
	b.click("dialog .danger")
	shown("Mia,Ming,陈晨")
	require.NotContains(t, b.eval(`Object.keys(localStorage).join()`), id)

	// Where records are, students of one name are told apart.
	_, err = c.CreateProfile(t.Context(), feedbackclient.ProfileInput{Name: "Mia"})
	require.NoError(t, err)
	b.eval(`location.hash = "#/records"; ""`)
	b.until(`() => [...document.querySelectorAll("option")].map((e) => e.textContent).join() ===
		"All,陈晨,Mia · Grade 2 · Art,Mia · Grade 9 · Music,Ming"`, "")
}

func TestMicrophoneThatIsRefusedOrMissingIsExplained(t *testing.T) {
	t.Parallel()
	for text, flag := range map[string]string{
		"The browser does not let this page use the microphone.": "use-fake-device-for-media-stream",
		"There is no microphone.":                                "use-fake-ui-for-media-stream",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			url := development(t, saying("Heard."))
			_, p := withStudent(t, url, "anna")
			b := newBrowser(t, desktop(t), chromedp.Flag(flag, true)) // which answers where nobody is asked
			b.showStudent(url, p.ID)
			b.clickButton("Record")
			b.waitText(text)
			require.Equal(t, "Record", b.eval(`document.querySelector(".record").innerText`))
		})
	}
}

// Another tab, which holds the lock of the recording, keeps this one from recording. A file that is
// added while this one records gets a place of its own in the lesson.
func TestRecordingsDoNotDisturbOneAnother(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	s, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	before := "2026-05-31" // in the session, which was left
	_, err = c.SaveSession(t.Context(), s.ID, feedbackclient.SessionEdit{FeedbackDate: &before})
	require.NoError(t, err)
	b.showStudent(url, p.ID)
	b.until(`(day) => document.querySelector("input[type=date]").value === day`, before)
	b.eval(`navigator.locks.request("lessonkit-recording", () => new Promise((end) => { other = end; })); ""`)
	b.clickButton("Record")
	b.waitText("Another tab is recording. Stop it there first.")
	b.eval(`other(); ""`)
	b.clickButton("Record")
	b.waitRecorded(2)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("Heard.")
	b.clickButton("Stop")
	storedParts(t, c, p.ID, 2)
	require.Eventually(t, func() bool { // what was recorded today is of today
		s, err := c.Session(t.Context(), s.ID)
		return err == nil && s.FeedbackDate == time.Now().Format(time.DateOnly)
	}, timeout, 100*time.Millisecond)
}

// What the server refuses for good is kept, with the reason, until the teacher discards it.
func TestRefusedRecordingsAreKept(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	b.showStudent(n.url, p.ID)
	var count atomic.Int32
	for _, refusal := range []struct {
		status int
		code   string
		words  string
	}{
		{http.StatusRequestEntityTooLarge, "audio_too_large", "It is larger than the server allows."},
		{http.StatusUnsupportedMediaType, "not_audio", "It is not audio that can be recognised."},
	} {
		n.fail(uploads(refusal.status, `{"code":"`+refusal.code+`"}`, &count))
		b.addFiles(sample(t, "lesson1-segment0.mp3"))
		b.waitText("The server did not accept it – " + refusal.words)
		b.reload()
		b.waitText("Recordings that the server did not accept: 1.")
		b.clickButton("Discard")
		b.until(`() => !document.body.innerText.includes("did not accept")`, "")
	}
	require.Equal(t, int32(2), count.Load(), "a refusal is final")
	// A server that is overloaded or out of space takes it later.
	for _, status := range []int{http.StatusInternalServerError, http.StatusInsufficientStorage} {
		n.fail(uploads(status, `{"code":"storage_full","retry_after_seconds":60}`, &count))
		b.addFiles(sample(t, "lesson1-segment0.mp3"))
		b.waitText("not sent yet: 1. The server has no space")
		n.recover()
		b.clickButton("Send now")
		b.until(`() => !document.body.innerText.includes("not sent yet")`, "")
	}
	// A refusal follows a temporary failure: later recordings are not said to wait for the latter.
	n.fail(uploads(http.StatusInsufficientStorage, `{"code":"storage_full","retry_after_seconds":60}`, &count))
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("not sent yet: 1. The server has no space")
	n.fail(uploads(http.StatusUnsupportedMediaType, `{"code":"not_audio"}`, &count))
	b.clickButton("Send now")
	b.waitText("The server did not accept it")
	b.until(`() => import("/page/outbox.js").then(({ outbox }) => outbox.state.problem === null)`, "")
	storedParts(t, c, p.ID, 2)
}

// A recording whose student was deleted meanwhile has no lesson to be shown with.
func TestRecordingOfADeletedStudentIsDiscarded(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	withLesson(t, c, p.ID)
	b.showStudent(n.url, p.ID)
	b.waitText("Lesson 1 is open")
	var count atomic.Int32
	n.fail(uploads(http.StatusInsufficientStorage, `{"code":"storage_full","retry_after_seconds":60}`, &count))
	b.addFiles(sample(t, "lesson1-segment0.mp3"), sample(t, "lesson1-segment1.mp3"))
	b.waitText("not sent yet: 2")
	require.NoError(t, c.DeleteProfile(t.Context(), p.ID))
	n.recover()
	b.do(chromedp.Navigate(n.url+"/#/"), chromedp.Reload())
	b.waitText("There are no students yet")
	b.waitText("Recordings that the server did not accept: 2.")
	b.waitText("lesson1-segment1.mp3 – It no longer exists.")
	b.screenshot("refused")
	b.eval(`saved = ""; address = URL.createObjectURL; size = 0;
		URL.createObjectURL = (file) => { size = file.size; return address(file); };
		HTMLAnchorElement.prototype.click = function () { saved = this.download; }; ""`)
	b.clickButton("Download")
	b.until(`() => saved === "lesson1-segment0.mp3"`, "")
	speech, err := os.ReadFile(sample(t, "lesson1-segment0.mp3"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(len(speech)), b.eval(`String(size)`))
	for _, left := range []string{"did not accept: 1.", "no students yet"} {
		b.clickButton("Discard")
		b.waitText(left)
	}
	b.until(`() => !document.body.innerText.includes("did not accept")`, "")
}
