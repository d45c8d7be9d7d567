package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// What the guardian gets is copied from the text that is being written and from the record. A
// browser that refuses, or a page without https, leaves it selected.
func messageIsCopied(t *testing.T, b tab) {
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	_, err := c.SaveDefaults(t.Context(), feedbackclient.Defaults{LessonDurationMinutes: 45,
		MessageTemplate: "About {name}:\n{text}"})
	require.NoError(t, err)
	b.visit(url + "/#sign-in=anna/student/" + p.ID)
	b.waitText("Ming")
	b.letCopy()
	b.until(`() => Boolean(document.querySelector(".row.end .away"))`, "without a text there is no message")
	b.enter("textarea", "She mixed greens.")
	b.clickButton("Copy message") // what was typed a moment ago is in it
	b.waitText("Copied.")
	require.Equal(t, "About Ming:\nShe mixed greens.", b.clipboard())
	b.clickButton("Save")
	b.waitText("The record is saved")
	b.until(`() => !document.body.innerText.includes("About Ming")`, "")
	b.click(".saved .primary")
	b.until(`(message) => document.querySelector(".saved .notice")?.innerText === message`, b.clipboard())
	for _, clipboard := range []string{`{ write: async () => { throw new DOMException("", "NotAllowedError"); } }`,
		"undefined"} {
		b.until(`() => !document.querySelector("[aria-busy=true]")`, "")
		b.eval(`getSelection().removeAllRanges(); Object.defineProperty(navigator, "clipboard",
			{ configurable: true, value: ` + clipboard + ` }); ""`)
		b.click(".saved .primary")
		b.waitText("The browser does not let this page copy.")
		b.until(`(message) => String(getSelection()) === message`, b.clipboard())
	}
}

// Records are found by words and days, page by page, and are printed with the name, edited without
// loss, and deleted with a way back.
func recordsAreFoundAndEdited(t *testing.T, b tab) {
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 60 {
		date := first.AddDate(0, 0, i).Format(time.DateOnly)
		_, err := c.SaveRecord(t.Context(), p.ID, "", date, "Painted on "+date)
		require.NoError(t, err)
	}
	entries := func(n int) {
		t.Helper()
		b.until(`(n) => String(document.querySelectorAll(".entry").length) === n`, fmt.Sprint(n))
	}
	fill := func(control, value string) {
		b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q;
			for (const name of ["input", "change"]) e.dispatchEvent(new Event(name));
			return ""; })()`, control, value))
	}
	b.visit(url + "/#sign-in=anna/records")
	b.waitText("March 2026")
	entries(50)
	require.Equal(t, "2", b.eval(`(() => { // lines that are shown of a text of twenty
		const text = document.querySelector(".entry .text");
		text.textContent = "A line.\n".repeat(20);
		return String(text.clientHeight / parseFloat(getComputedStyle(text).lineHeight));
	})()`))
	b.clickButton("Show more")
	entries(60)
	require.Equal(t, "March 2026,February 2026,January 2026",
		b.eval(`[...document.querySelectorAll(".records h2")].map((e) => e.innerText).join()`))
	fill("[type=search]", "PAINTED on 2026-01-1")
	entries(10)
	fill("[type=search]", "")
	entries(50)
	fill("[type=date]", "2026-02-27")
	entries(3)
	b.clickButton("All")
	entries(50)
	fill("[type=date]", "2026-02-27")
	entries(3)

	// Of several searches only the last is waited for, and none replaces what is being edited.
	b.eval(`window.asked = 0; window.fetched = fetch; window.fetch = async (path, ...more) => {
			if (!path.includes("feedback-records?")) return fetched(path, ...more);
			window.asked++;
			await new Promise((go) => { window.answer = go; });
			return fetched(path, ...more);
		};
		document.querySelector(".entry summary").click(); ""`)
	for _, words := range []string{"p", "pa", "pai"} {
		fill("[type=search]", words)
	}
	b.clickButton("Edit")
	b.until(`() => Boolean(document.querySelector(".entry textarea"))`, "")
	b.eval(`answer(); fetched("api/v1/feedback-records").then(() => "")`)
	b.enter(".entry textarea", "!")
	require.Equal(t, "1", b.eval(`window.fetch = fetched; String(asked)`))
	b.clickButton("Cancel")
	fill("[type=search]", "painted on 2026-03-01")
	entries(1)
	fill("[type=search]", "")
	entries(3)

	b.letCopy()
	b.eval(`window.print = () => {
			const item = document.querySelector(".printed");
			setTimeout(() => item.className = "entry printed"); // until it is read below
		};
		document.querySelector(".entry summary").click(); ""`)
	b.clickButton("Copy message")
	b.waitText("Copied.")
	require.Contains(t, b.clipboard(), "Painted on 2026-03-01", "the newest is first")
	b.clickButton("Print")
	b.until(`() => Boolean(document.querySelector(".printed"))`, "")
	b.emulate(paper)
	require.Equal(t, "Sun, Mar 1 · Ming\nPainted on 2026-03-01", b.eval(`document.body.innerText`))
	require.Equal(t, "true", b.eval(`String(document.documentElement.scrollHeight <= innerHeight)`), "is one page")
	b.emulate(screens["desktop"])
	b.eval(`document.querySelector(".printed").className = "entry"; ""`)

	// What is typed survives leaving; what another device saved is shown before it is replaced.
	b.clickButton("Edit")
	b.enter(".entry textarea", ", well")
	b.eval(`document.querySelector(".entry [type=date]").value = "2026-03-02";
		document.querySelector(".entry textarea").dispatchEvent(new Event("input", { bubbles: true }));
		location.hash = "#/"; ""`)
	b.waitText("All students")
	b.eval(`location.hash = "#/records"; ""`)
	entries(50)
	b.waitText("Not saved yet")
	b.eval(`document.querySelector(".entry summary").click(); ""`)
	b.clickButton("Edit")
	b.until(`() => document.querySelector(".entry textarea")?.value === "Painted on 2026-03-01, well"
		&& document.querySelector(".entry [type=date]").value === "2026-03-02"`, "")
	b.eval(`document.querySelector(".entry [type=date]").value = "2026-03-01"; ""`)
	content := func() (content, id string) {
		for record, err := range c.Records(t.Context(), p.ID) {
			require.NoError(t, err)
			return record.Content, record.ID
		}
		return "", ""
	}
	_, id := content()
	_, err := c.EditRecord(t.Context(), id, feedbackclient.RecordEdit{Date: "2026-03-01", Content: "Theirs"})
	require.NoError(t, err)
	b.clickButton("Save")
	b.waitText("save again. It says: Theirs")
	b.clickButton("Save")
	b.until(`() => document.querySelector(".entry .text")?.innerText === "Painted on 2026-03-01, well"`, "")
	now, _ := content()
	require.Equal(t, "Painted on 2026-03-01, well", now)

	// Each of several can be brought back for ten seconds, also after a search.
	b.eval(`later = setTimeout; setTimeout = (f, ms) => later(f, ms === 10000 ? 1e6 : ms); ""`)
	b.clickButton("Delete")
	b.waitText("Deleted: Sun, Mar 1 · Ming.")
	b.eval(`document.querySelector(".entry summary").click(); ""`)
	b.clickButton("Delete")
	b.waitText("Deleted: Sat, Feb 28 · Ming.")
	fill("[type=search]", "painted on 2026-03-01")
	entries(0)
	b.screenshot("undo")
	b.clickButton("Undo")
	b.clickButton("Undo")
	b.until(`() => [...document.querySelectorAll(".entry .text")].map((e) => e.innerText).sort().join("|") ===
		"Painted on 2026-02-28|Painted on 2026-03-01, well"`, "")
	fill("[type=search]", "")
	entries(50)
	b.eval(`document.querySelector(".entry summary").click(); ""`)
	b.clickButton("Edit")
	b.enter(".entry textarea", "!")
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("All students")
	b.eval(`location.hash = "#/records"; ""`)
	b.waitText("Not saved yet")
	b.eval(`document.querySelector(".entry summary").click(); ""`)
	b.clickButton("Delete")
	b.waitText("Deleted:")
	b.eval(`location.hash = "#/"; ""`) // leaving carries it out
	b.until(`() => !Object.keys(localStorage).some((key) => key.startsWith("lessonkit-draft"))`, "")
	require.Eventually(t, func() bool {
		now, _ := content()
		return now == "Painted on 2026-02-28"
	}, timeout, 100*time.Millisecond)
}
