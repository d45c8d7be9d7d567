package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/feedback/feedbackclient"
)

// aClass creates forty students, whose lessons are from 08:00 on, each a quarter after the one
// before, with a record of each student of last month. It returns the students.
func aClass(t *testing.T, c feedbackclient.Client, lastMonth string) []feedbackclient.Profile {
	t.Helper()
	families := strings.Split("张 王 李 赵 陈 林 欧 安 周 黄", " ")
	given := strings.Split("小明 雨桐 晨 Anna", " ")
	var students []feedbackclient.Profile
	for i := range 40 {
		start := fmt.Sprintf("%02d:%02d", 8+i/4, i%4*15)
		end := fmt.Sprintf("%02d:%02d", 8+(i+1)/4, (i+1)%4*15)
		grade, subject := fmt.Sprintf("%d 年级", i%6+1), "美术"
		name := families[i%10] + given[i/10]
		if i == 26 {
			name += strings.Repeat("Anneliese", 8)
		}
		p, err := c.CreateProfile(t.Context(), feedbackclient.ProfileInput{
			Name: name, Grade: &grade, Subject: &subject, StartTime: start, EndTime: &end,
		})
		require.NoError(t, err)
		students = append(students, p)
		_, err = c.SaveRecord(t.Context(), p.ID, "", lastMonth,
			p.Name+"今天认真地完成了水彩练习，颜色搭配得很好。She mixed greens for the pond and was patient with the sky.")
		require.NoError(t, err)
	}
	return students
}

// A note takes three taps from the first view, another sends it, and three find one of last month.
func noteTakesThreeTaps(t *testing.T, b tab) {
	url := development(t, saying("Heard."))
	c := feedbackclient.Development(url, "anna")
	now := time.Now()
	at := time.Date(now.Year(), now.Month(), 15, 14, 20, 0, 0, time.Local)
	students := aClass(t, c, at.AddDate(0, -1, 0).Format(time.DateOnly))
	b.setClock(at)
	b.emulate(screens["phone"])
	b.visit(url + "/#sign-in=anna")
	// The lesson that is now is the first, those that are over are the last.
	b.until(`(name) => document.querySelector(".times li.now strong")?.innerText === name
		&& document.querySelector(".times li").className === "now"`, students[25].Name)
	require.Equal(t, "14:15", b.eval(`document.querySelector(".times .when").firstChild.data`))
	require.Equal(t, students[24].Name, b.eval(`[...document.querySelectorAll(".times strong")].pop().textContent`))
	require.Equal(t, "A,C,H,L,O,W,Z",
		b.eval(`[...document.querySelectorAll("#all ~ div summary")].map((e) => e.firstChild.data).join()`))

	taps := 0
	tap := func(css string) {
		t.Helper()
		taps++
		b.until(`(css) => { // in view, without scrolling, and under nothing else
			const e = document.querySelector(css);
			if (!e?.checkVisibility()) return false;
			const { left, top, width, height } = e.getBoundingClientRect();
			return e.contains(document.elementFromPoint(left + width / 2, top + height / 2));
		}`, css)
		b.click(css)
	}
	tap(".times .start")
	b.until("() => "+recorded(2), "")
	b.screenshot("recording")
	tap(".record")
	b.until(`() => /^heard/i.test(document.querySelector("textarea").value)`, "")
	b.screenshot("heard")
	b.until(allSent, "")
	tap(".bar .primary")
	b.waitText("The record is saved")
	require.Equal(t, 3, taps)
	b.screenshot("saved")
	b.letCopy()
	tap(".saved .primary")
	b.waitText("Copied.")
	require.Equal(t, 4, taps)
	require.Contains(t, b.clipboard(), students[25].Name)

	b.eval(`location.hash = "#/"; ""`)
	b.until(`() => document.querySelector(".times .state.done")?.innerText === "Done today"`, "")
	b.until(`() => /^(No recent record|Last:)/
		.test(document.querySelector(".times li:nth-child(2) .state").innerText)`, "")
	// The page may stay open: an hour later the lesson is over, a day later nothing is done.
	b.eval(`window.ahead += 36e5; ""`)
	b.until(`(name) => document.querySelector(".times li.now strong")?.innerText === name`, students[29].Name)
	b.eval(`window.ahead += 23 * 36e5; ""`)
	b.until(`(name) => document.querySelector(".times li.now strong")?.innerText === name
		&& !document.querySelector(".state.done")`, students[25].Name)
	require.Equal(t, at.AddDate(0, 0, 1).Format("Mon, Jan 2"), b.eval(`document.querySelector("h1 .hint").innerText`))
	b.eval(`window.ahead -= 24 * 36e5; ""`)
	b.until(`() => Boolean(document.querySelector(".state.done"))`, "")
	taps = 0
	tap(`nav a[href="#/records"]`)
	b.waitText("Last month")
	tap(".filters button + button")
	b.until(`() => document.querySelectorAll(".entry").length === 40`, "")
	tap(".entry summary")
	require.Equal(t, 3, taps)
	b.until(`() => document.querySelector(".entry details").open`, "")
	require.Equal(t, "true", b.eval(`import("/page/views/students.js").then(({ letterOf }) => String(
		["安A", "陈C", "曾Z", "单S", "李L", "欧O", "王W", "张Z", "赵Z", "ÉlieE", "minM", "8#", "#"].every(
			(s) => letterOf(s.slice(0, -1)) === s.slice(-1))))`))
}

// Where the device can share, the message is shared.
func TestMessageIsShared(t *testing.T) {
	t.Parallel()
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	_, err := c.SaveRecord(t.Context(), p.ID, "", "2026-05-31", "She mixed greens.")
	require.NoError(t, err)
	b := newBrowser(t)
	b.visit(url + "/#sign-in=anna")
	b.waitText("Ming")
	b.eval(copies + `shared = ""; outcome = ""; navigator.share = async ({ text }) => {
		shared = text;
		if (outcome) throw new DOMException("", outcome);
	}; location.hash = "#/records"; ""`)
	b.waitText("She mixed greens.")
	b.eval(`document.querySelector(".entry summary").click(); ""`)
	for _, outcome := range []string{"", "AbortError", "NotAllowedError"} {
		b.eval(fmt.Sprintf(`shared = copied = ""; outcome = %q; ""`, outcome))
		b.clickButton("Send to the guardian")
		b.until(`() => shared.includes("She mixed greens.") && !document.querySelector("[aria-busy=true]")`, outcome)
		require.Equal(t, outcome == "NotAllowedError", b.eval(`copied`) != "", outcome)
	}
}

// Every view in both languages, on every screen.
func everyViewFitsEveryScreen(t *testing.T, b tab) {
	axe := nodetest.Run(t, "testdata/axe", nil, "print.mjs")
	url := development(t, saying("今天的课上得很好，他画了一片池塘。"))
	c := feedbackclient.Development(url, "anna")
	now := time.Now()
	at := time.Date(now.Year(), now.Month(), 15, 14, 20, 0, 0, time.Local)
	students := aClass(t, c, at.AddDate(0, 0, -7).Format(time.DateOnly))
	s := withLesson(t, c, students[25].ID, "lesson1-segment0.mp3", "lesson1-segment1.mp3")
	text := "小明今天画了一片池塘，用了三种绿色。"
	_, err := c.SaveSession(t.Context(), s.ID, feedbackclient.SessionEdit{FeedbackText: &text})
	require.NoError(t, err)
	b.setClock(at)
	b.visit(url)
	b.waitText("Sign in with this name")
	requireFits(t, b, axe, "sign-in en")
	b.clickButton("中文")
	b.waitText("用此名称登录")
	requireFits(t, b, axe, "sign-in zh")
	b.visit(url + "/#sign-in=anna")
	b.until(`() => Boolean(document.querySelector(".now"))`, "")
	for _, language := range []string{"zh", "en"} {
		for _, view := range [][2]string{
			{"records", ".entry"}, {"settings", "[name=words]"}, {"edit/", "[name=name]"},
			{"student/" + students[25].ID, "li.transcribed + li.transcribed"}, {"", ".now .state:not(:empty)"},
		} {
			b.eval(`document.querySelector("main").replaceChildren(); location.hash = "#/` + view[0] + `"; ""`)
			b.until(`(css) => Boolean(document.querySelector("main " + css))`, view[1])
			requireFits(t, b, axe, strings.Split(view[0], "/")[0]+" "+language)
		}
		if language == "zh" {
			b.eval(`location.hash = "#/settings"; ""`)
			b.clickButton("English")
			b.waitText("Sign out")
		}
	}
}

// The records of a term become one text, which the teacher changes and sends.
func termIsReported(t *testing.T, b tab) {
	url := development(t, saying("Heard."))
	c, p := withStudent(t, url, "anna")
	for i, content := range []string{
		"Ming was unsure how to mix greens.", "Ming mixed two greens with some help.",
		"Ming now mixes her own greens with confidence.",
	} {
		_, err := c.SaveRecord(t.Context(), p.ID, "", fmt.Sprintf("2026-03-%02d", i+1), content)
		require.NoError(t, err)
	}
	b.visit(url + "/#sign-in=anna/student/" + p.ID)
	b.waitText("with confidence.")
	b.letCopy()
	b.clickButton("Term report")
	b.waitText("Made from the records: 3.")
	b.screenshot("report")
	b.enter(".past textarea", " See you in September.")
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("All students")
	b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
	b.until(`() => document.querySelector(".past textarea")?.value.includes("See you in September.")`, "")
	b.clickButton("Term report")
	b.waitText("There is text already.")
	b.clickButton("Cancel")
	b.until(`() => !document.querySelector("dialog")`, "")
	b.letCopy()
	b.click(".past .primary")
	b.waitText("Copied.")
	require.Contains(t, b.clipboard(), "greens")
	require.Contains(t, b.clipboard(), "See you in September.")
}
