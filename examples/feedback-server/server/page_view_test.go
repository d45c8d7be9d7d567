package server_test

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/internal/db"
	"lessonkit.example/jobqueue"
)

func TestTextsOfThePageAreInOneLanguage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("lang", "zh-CN"), chromedp.Flag("accept-lang", "zh-CN"))
	url := "http://" + serve(t, onSQLite(t, server.RoleAPI))
	c, p := withStudent(t, url, "anna")
	_, err := c.SaveRecord(t.Context(), p.ID, "", "2026-05-31", "好")
	require.NoError(t, err)
	withLesson(t, c, p.ID, "lesson1-segment1.mp3")
	b.visit(url + "/#sign-in=anna")
	b.waitText("退出登录")
	for path, text := range map[string]string{
		"": "全部学生", "settings": "常用词", "edit/": "家长称呼", "edit/" + p.ID: "删除学生", "records": "上月",
		"student/" + p.ID: "等待识别",
	} {
		b.visit(url + "/#/" + path)
		b.waitText(text)
		// All that is read or spoken, without the names and texts of the test.
		words := b.eval(`[document.title, document.body.innerText,
			...[...document.querySelectorAll("[aria-label], [title]")].flatMap((e) => [e.ariaLabel, e.title])]
			.join("\n").replace(/Ming|Art class|Art|OpenAPI|English|\{\w+\}/g, "")`)
		require.NotRegexp(t, `[A-Za-z]{2,}`, words, path)
	}
	require.Equal(t, "zh-CN", b.eval(`document.documentElement.lang`))
}

// While text is awaited the page says how much waits and how long, and what arrives moves nothing.
func TestWaitingIsANumberAndArrivingTextMovesNothing(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := newFaultyNetwork(t, recognizing(t, "ASR_WORKER_CONCURRENCY", "1"))
	b.openStudent(n.url)
	// The teacher's own action may move things: the lesson that it begins takes room.
	b.addFiles(sample(t, "lesson1-segment0.mp3"), sample(t, "lesson1-segment1.mp3"), sample(t, "lesson1-segment2.mp3"))
	b.waitText("Files added: 3.")
	b.waitText("Recordings waiting to become text: ")
	// What moves, but for the box of the text, which scrolls, and messages, which lie over the
	// page.
	b.eval(`window.moved = ""; new PerformanceObserver((list) => {
		for (const { node, previousRect, currentRect } of list.getEntries().flatMap((e) => e.sources)) {
			const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
			if (element && !element.closest(".transcript, #status")) {
				window.moved += element.outerHTML.slice(0, 100) + JSON.stringify([previousRect, currentRect]);
			}
		}
	}).observe({ type: "layout-shift" }); ""`)
	b.waitText("should practice drawing for fifteen minutes every day")
	b.until(`() => document.querySelector("textarea").value.includes("should practice drawing")
		&& !document.body.innerText.includes("waiting to become text")`, "")
	require.Empty(t, b.eval(`window.moved`))
}

// A server that does not answer is no reason to show nothing: the name is there, and that more is
// read; soon what needs no answer.
func TestSlowStudentIsShownAtOnceAndPausedRecognitionIsTold(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	s := onSQLite(t, server.RoleAPI, "DATABASE_URL", database)
	require.NoError(t, jobqueue.NewClient(queueIn(t, database)).Pause(t.Context(), "speech", time.Time{}))
	n := newFaultyNetwork(t, "http://"+serve(t, s))
	c, p := withStudent(t, n.url, "anna")
	withLesson(t, c, p.ID, "lesson1-segment0.mp3")
	b.visit(n.url + "/#sign-in=anna")
	b.waitText("Ming")
	held := make(chan struct{})
	n.fail(func(http.ResponseWriter, *http.Request) bool {
		<-held
		return false
	})
	// Of what is waited for, the rest is waited for for ever.
	b.eval(`end = AbortSignal.timeout; AbortSignal.timeout = (ms) => end.call(AbortSignal, ms > 3000 ? 1e9 : ms); ""`)
	b.click("#all ~ div a")
	b.until(`() => document.querySelector("h1").innerText === "Ming"
		&& document.body.innerText.includes("Loading …")`, "")
	b.waitText("Recording starts lesson 1")
	close(held)
	b.waitText("Recognition is paused")
	require.NotContains(t, b.eval(`document.body.innerText`), "Regenerate", "there is no text yet")
}

func TestRecordingsThatWereDeletedCannotBeListenedTo(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	s := onSQLite(t, server.RoleAPI, "DATABASE_URL", database)
	url := "http://" + serve(t, s)
	c, p := withStudent(t, url, "anna")
	session := withLesson(t, c, p.ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3")
	store, err := db.Open(database)
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx,
			`update feedback_segments set audio_deleted_at = $1 where sequence = 0 and session_id = $2`,
			db.Time(time.Now()), session.ID)
		return err
	}))
	b.visit(url + "/#sign-in=anna")
	b.waitText("Sign out")
	b.visit(url + "/#/student/" + p.ID)
	b.waitText("Part 2")
	const listens = `[...document.querySelectorAll(".segments li")].map((row) =>
		String([...row.querySelectorAll("button")].some((b) => b.innerText === "Listen" && b.offsetParent))).join()`
	require.Equal(t, "false,true", b.eval(listens))
}
