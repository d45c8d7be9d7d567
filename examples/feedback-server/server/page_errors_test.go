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

// The next part of a recording cannot start: the recording ends, gives back the microphone and the
// lock, and what was spoken until then arrives.
func TestRecordingEndsWhenItsNextPartCannotStart(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]string{
		"throws": `throw new DOMException("", "NotSupportedError");`,
		"stops":  `this.dispatchEvent(new Event("stop"));`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, listening(t)...)
			url := development(t, saying("Heard."))
			c, p := b.openStudent(url)
			b.eval(`getUserMedia = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
				navigator.mediaDevices.getUserMedia = async (wanted) => stream = await getUserMedia(wanted); ""`)
			b.clickButton("Record")
			b.waitRecorded(2)
			b.eval(fmt.Sprintf(`MediaRecorder.prototype.start = function () { %s };
				now = performance.now.bind(performance); performance.now = () => now() + 61000; ""`, start))
			b.waitText("Recording has stopped.")
			b.until(`() => stream.getTracks().every((track) => track.readyState === "ended")`, "")
			b.untilNobodyRecords()
			storedParts(t, c, p.ID, 1)
			b.until(`() => !document.body.innerText.includes("Being recorded")`, "")
			require.Contains(t, b.eval(`document.querySelector(".bar").innerText`), "Recording has stopped.")
		})
	}
}

// untilNobodyRecords waits until no tab holds the lock of the recording.
func (b *browser) untilNobodyRecords() {
	b.t.Helper()
	b.until(`() => navigator.locks.query().then(({ held }) =>
		!held.some(({ name }) => name === "lessonkit-recording"))`, "")
}

// An error while interrupted recordings are completed keeps nobody from recording, and does not
// delay what is complete.
func TestFailedRecoveryKeepsNobodyFromRecordingAndSending(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	b.showStudent(url, p.ID)
	b.eval(`(async () => {
		const outbox = await import("/page/outbox.js");
		const recording = await outbox.create({ lesson: "l", sequence: 0, type: "audio/webm", name: "",
			teacher: "other", duration: 0, complete: false, refused: null });
		await outbox.append(recording, 0, new Blob(["audio"]));
		failed = false;
		IDBObjectStore.prototype.put = () => { failed = true; throw new Error("the disk is broken"); };
		while (!failed) await outbox.wake(); // does nothing while the page itself is sending
		return "";
	})()`)
	b.untilNobodyRecords()
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("Heard.")
	storedParts(t, c, p.ID, 1)
}

// The browser closes the page's database, as some do in the background. Recordings are stored in it
// again.
func TestRecordingsAreStoredAfterTheDatabaseWasClosed(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	b.showStudent(url, p.ID)
	b.eval(`(async () => {
		const begin = IDBDatabase.prototype.transaction;
		let database;
		IDBDatabase.prototype.transaction = function (...args) {
			database = this;
			return begin.apply(this, args);
		};
		await (await import("/page/outbox.js")).list();
		database.close();
		database.dispatchEvent(new Event("close"));
		return "";
	})()`)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.until(`() => /Heard|cannot store more/.test(document.body.innerText)`, "")
	require.NotContains(t, b.eval(`document.body.innerText`), "cannot store more")
	storedParts(t, c, p.ID, 1)
}

// A teacher who goes to another page while a recording starts is not recorded, whatever the page is
// waiting for.
func TestTeacherWhoLeavesWhileARecordingStartsIsNotRecorded(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := development(t, saying("Heard."))
	c, p := b.openStudent(url)
	b.eval(`reach = async (name) => {
			if (name === step) await new Promise((resolve) => { proceed = resolve; });
		};
		lock = navigator.locks.request.bind(navigator.locks);
		navigator.locks.request = (name, ...args) => reach(name).then(() => lock(name, ...args));
		begin = MediaRecorder.prototype.start;
		MediaRecorder.prototype.start = function (slice) {
			void reach("recorder").then(() => begin.call(this, slice));
		};
		ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
		navigator.mediaDevices.getUserMedia = async (wanted) => {
			await reach("microphone"); // the browser asks the user
			return stream = await ask(wanted);
		}; ""`)
	for _, step := range []string{"microphone", "lessonkit-recording", "recorder"} {
		b.eval(fmt.Sprintf(`step = %q; proceed = stream = null; ""`, step))
		b.clickButton("Record")
		b.until(`() => proceed !== null`, "")
		b.eval(`location.hash = "#/"; ""`)
		b.waitText("Add a student")
		b.eval(`proceed(); ""`)
		b.until(`() => stream?.getTracks().every((track) => track.readyState === "ended")`, "")
		b.untilNobodyRecords()
		stored := b.eval(`import("/page/outbox.js").then(({ list }) => list()).then((l) => String(l.length))`)
		require.Equal(t, "0", stored, step)
		_, err := c.ActiveSession(t.Context(), p.ID)
		require.ErrorContains(t, err, "404", step)
		b.eval(fmt.Sprintf(`location.hash = "#/student/%s"; ""`, p.ID))
		b.waitText("Recording starts lesson 1")
	}
}

// A file is on the device whole or not at all: no other tab takes it for an interrupted recording.
func TestFileIsNeverOnTheDeviceInParts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	b.showStudent(url, p.ID)
	b.eval(`full = true; for (const method of ["add", "put"]) {
		const store = IDBObjectStore.prototype[method];
		IDBObjectStore.prototype[method] = function (value) {
			if (full && this.name === "chunks") throw new DOMException("", "QuotaExceededError");
			return store.call(this, value);
		};
	}
	navigator.locks.request("lessonkit-recording", () => new Promise(() => {})); ""`)
	b.addFiles(sample(t, "lesson1-segment0.mp3"))
	b.waitText("this device cannot store more")
	require.Equal(t, "0", b.eval(`import("/page/outbox.js").then(({ list }) => list()).then((l) => String(l.length))`))
	b.eval(`full = false; ""`)
	b.waitText("Heard.")
	storedParts(t, c, p.ID, 1)
}

// A student that cannot be shown is not recorded by the space bar either.
func TestStudentThatCannotBeShownIsNotRecorded(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	_, p := withStudent(t, n.url, "anna")
	const space = `String(!document.body.dispatchEvent(
		new KeyboardEvent("keydown", { code: "Space", bubbles: true, cancelable: true })))`
	for _, path := range []string{"/feedback-sessions/active", "/feedback-records"} {
		n.fail(func(w http.ResponseWriter, r *http.Request) bool {
			fails := strings.HasSuffix(r.URL.Path, path)
			if fails {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return fails
		})
		b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(n.url+"/#sign-in=anna/student/"+p.ID))
		b.waitText("Try again")
		require.Equal(t, "false", b.eval(space))
		require.NotContains(t, b.eval(`document.body.innerText`), "Recording starts lesson 1")
		n.recover()
		b.clickButton("Try again")
		b.waitText("Recording starts lesson 1")
	}
	changesInput := strings.Replace(space, "code:", "ctrlKey: true, code:", 1)
	require.Equal(t, "false", b.eval(changesInput))
	require.Equal(t, "true", b.eval(space), "the space bar records")
}

// While a record is being saved, nothing can be typed that would be in no record. A text that
// begins today is of today, also in a session of before that has none.
func TestTextIsNotLostWhileARecordIsSaved(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	s, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	before := "2026-05-31"
	_, err = c.SaveSession(t.Context(), s.ID, feedbackclient.SessionEdit{FeedbackDate: &before})
	require.NoError(t, err)
	b.showStudent(n.url, p.ID)
	b.until(`(day) => document.querySelector("input[type=date]").value === day`, before)
	editor := chromedp.CSS("textarea")
	day := time.Now().Format(time.DateOnly)
	b.do(chromedp.SendKeys(editor, "Mine."))
	b.waitText("Saved.")
	arrived, answer := make(chan struct{}), make(chan struct{})
	n.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/feedback-records") {
			close(arrived)
			<-answer
		}
		return false
	})
	b.clickButton("Save")
	<-arrived
	b.do(chromedp.SendKeys(editor, " Lost."))
	typed := b.eval(`document.querySelector("textarea").value`)
	close(answer)
	require.Equal(t, "Mine.", typed)
	b.until(`() => document.querySelector("textarea").value === ""`, "")
	n.recover()
	b.do(chromedp.SendKeys(editor, "Next."))
	require.Equal(t, "Next.", b.eval(`document.querySelector("textarea").value`))
	content := ""
	for record, err := range c.Records(t.Context(), p.ID) {
		require.NoError(t, err)
		content += record.Content + record.Date
	}
	require.Equal(t, "Mine."+day, content)
}
