package server_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// clock returns JavaScript that lets a page see the time at.
func clock(at time.Time) string {
	return fmt.Sprintf(`window.ahead = %d;
		window.Date = class Dated extends Date {
			static now() { return super.now() + window.ahead; }
			constructor(...at) { super(...(at.length > 0 ? at : [Dated.now()])); }
		};`, time.Until(at).Milliseconds())
}

// setClock lets the pages that open from now on see the time at.
func (b *browser) setClock(at time.Time) {
	b.t.Helper()
	clock := cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: clock(at)}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, clock)
		return err
	}))
}

// A text that is kept on the device is of its day until the teacher records.
func TestKeptTextIsOfItsDay(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := development(t, saying("Heard."))
	_, p := withStudent(t, url, "anna")
	b.visit(url + "/#sign-in=anna")
	b.waitText("Ming")
	const today = `new Date().toLocaleDateString("sv")`
	isOf := func(day string) {
		t.Helper()
		b.until(`() => document.querySelector("input[type=date]")?.value === `+day, "")
	}
	for _, draft := range []struct{ text, day string }{{"", today}, {"Mine.", `"2026-05-31"`}} {
		b.eval(`location.hash = "#/"; ""`)
		b.waitText("All students")
		b.eval(fmt.Sprintf(`import("/page/outbox.js").then(({ draftKey }) => {
			localStorage[draftKey(%q)] = JSON.stringify({ text: %q, date: "2026-05-31" });
			location.hash = "#/student/%[1]s";
			return "";
		})`, p.ID, draft.text))
		b.waitText("Saved.")
		isOf(draft.day)
	}
	b.clickButton("Record")
	isOf(today)
}

// Where the teacher is, it is late in the evening or early in the morning; where the server is,
// eleven hours away, it is another day.
func TestDayIsThatOfTheTeacher(t *testing.T) {
	t.Parallel()
	for clock, east := range map[string]int{"23:30": -11, "07:30": 11} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, chromedp.Env(fmt.Sprintf("TZ=Etc/GMT%+d", -east)))
			c, p := withStudent(t, development(t, saying("Heard.")), "anna")
			today, tomorrow := time.Now().AddDate(0, 0, east/11), time.Now().AddDate(0, 0, east/11+1)
			day := today.Format(time.DateOnly)
			at, err := time.ParseInLocation("2006-01-02 15:04", day+" "+clock, time.FixedZone("", east*3600))
			require.NoError(t, err)
			b.setClock(at)
			shows := func(day string) {
				t.Helper()
				b.until(`(day) => document.querySelector("input[type=date]")?.value === day`, day)
				session, err := c.ActiveSession(t.Context(), p.ID)
				require.NoError(t, err)
				require.Equal(t, day, session.FeedbackDate)
			}
			b.showStudent(c.Base, p.ID)
			b.waitText("Recording starts lesson 1")
			b.addFiles(sample(t, "lesson1-segment0.mp3")) // opens the session
			b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
			b.waitText("Saved.")
			shows(day)
			b.reload()
			b.waitText("Heard.")
			shows(day)
			b.enter("textarea", "Mine.")
			b.waitText("Saved.")
			shows(day)
			b.clickButton("Save")
			b.waitText("The record is saved")
			for record, err := range c.Records(t.Context(), p.ID) {
				require.NoError(t, err)
				require.Equal(t, day, record.Date)
			}
			b.eval(`ahead += 864e5; ""`) // the page stays open until the next day
			b.enter("textarea", "Next.")
			b.waitText("Saved.")
			shows(tomorrow.Format(time.DateOnly))
		})
	}
}
