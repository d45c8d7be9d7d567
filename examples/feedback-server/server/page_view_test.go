package server_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/db"
)

// Below a path of a proxy, by the keyboard only, and without a message in the browser's console.
func TestPageWorksBelowAPathAndByKeyboard(t *testing.T) {
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
				return (e.labels?.[0]?.innerText ?? "") + "|" + e.innerText; })()`)
			if strings.Contains(focused, text) {
				return
			}
		}
		t.Fatalf("the focus does not reach %q", text)
	}
	b.do(chromedp.Navigate(origin + "/teach"))
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
	b.waitRecorded(6)
	press(" ")
	b.waitText("was a very good lesson")
	tab("Generate")
	press("\r")
	b.until(`() => document.activeElement.value?.includes("was a very good lesson")`, "")
	press(" Well done!")
	tab("Save as record")
	press("\r")
	b.waitText("The record is saved")
	b.waitText("Copy") // the list of records has it
	tab("Delete")
	press("\r")
	b.waitText("This cannot be undone")
	press("\t", "\r") // from Cancel to Delete
	b.waitText("There are no records")
	for record, err := range feedbackclient.Development(origin+"/teach", "anna").Records(t.Context(), "") {
		require.NoError(t, err)
		require.Empty(t, record.ID)
	}
	b.requireOnly(origin)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, messages)
}

func TestTextsOfThePageAreInOneLanguage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("lang", "zh-CN"), chromedp.Flag("accept-lang", "zh-CN"))
	url := "http://" + serve(t, onSQLite(t, server.RoleAPI))
	c, p := withStudent(t, url, "anna")
	_, err := c.SaveRecord(t.Context(), p.ID, "", "2026-05-31", "好")
	require.NoError(t, err)
	withLesson(t, c, p.ID, "lesson1-segment1.mp3")
	b.do(chromedp.Navigate(url + "/#sign-in=anna"))
	b.waitText("退出登录")
	for path, text := range map[string]string{
		"": "找到", "settings": "常用词", "edit/": "家长称呼", "edit/" + p.ID: "删除学生", "records": "复制",
		"student/" + p.ID: "等待识别",
	} {
		b.do(chromedp.Navigate(url + "/#/" + path))
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
	b := newBrowser(t, chromedp.Flag("lang", "en-US"))
	n := newFaultyNetwork(t, recognizing(t, "ASR_WORKER_CONCURRENCY", "1"))
	_, p := withStudent(t, n.url, "anna")
	b.openStudent(n.url, p.ID)
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
	b.addFiles(sample(t, "lesson1-segment0.mp3"), sample(t, "lesson1-segment1.mp3"), sample(t, "lesson1-segment2.mp3"))
	b.waitText("Recordings waiting to become text: ")
	b.waitText("should practice drawing for fifteen minutes every day")
	b.until(`() => !document.body.innerText.includes("waiting to become text")`, "")
	require.Empty(t, b.eval(`window.moved`))
}

func TestRecordingsThatWereDeletedCannotBeListenedTo(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, chromedp.Flag("lang", "en-US"))
	database := "sqlite:" + filepath.Join(t.TempDir(), "x.db")
	s := newServer(t, server.RoleAPI, map[string]string{
		"DATABASE_URL": database, "ALLOW_DEVELOPMENT_USER_HEADER": "true",
	})
	require.NoError(t, s.Migrate(t.Context()))
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
	b.do(chromedp.Navigate(url + "/#sign-in=anna"))
	b.waitText("Sign out")
	b.do(chromedp.Navigate(url + "/#/student/" + p.ID))
	b.waitText("Part 2")
	const listens = `[...document.querySelectorAll(".segments li")].map((row) =>
		String([...row.querySelectorAll("button")].some((b) => b.innerText === "Listen" && b.offsetParent))).join()`
	require.Equal(t, "false,true", b.eval(listens))
}
