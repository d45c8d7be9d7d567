package server_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
)

// A sound whose pitch rises steadily tells at which second of it a part begins and ends: no time is
// missing where one part follows another, and little is doubled.
func TestPartsFollowOneAnotherWithoutAGap(t *testing.T) {
	t.Parallel()
	installedProgram(t, "ffmpeg")
	sound := filepath.Join(t.TempDir(), "rising.wav")
	// From 500 Hz, 100 Hz more each second; a pause at 21.5 s is where the parts should meet.
	out, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
		"aevalsrc='0.3*sin(2*PI*(500*t+50*t*t))*not(between(t,21.5,22.3))':s=48000:d=40",
		"-c:a", "pcm_s16le", sound).CombinedOutput()
	require.NoError(t, err, string(out))
	b := newBrowser(t, chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-audio-capture", sound+"%noloop"), chromedp.Flag("lang", "en-US"))
	s := onSQLite(t, server.RoleAPI)
	url := "http://" + serve(t, s)
	c, p := withStudent(t, url, "anna")
	b.openStudent(url, p.ID)
	b.clickButton("Record")
	b.waitText("0:26")
	b.clickButton("Stop")
	files, durations := parts(t, c, p.ID, 2)
	require.InDelta(t, 21.5, durations[0], 1.5, "the parts meet in the pause")

	first, second := secondsOf(t, files[0]), secondsOf(t, files[1])
	overlap := first + durations[0] - second
	t.Logf("the parts overlap by %.0f ms", overlap*1000)
	require.Greater(t, overlap, -0.005, "seconds are missing")
	require.Less(t, overlap, 0.25, "seconds are doubled")
}

// secondsOf returns the second of the rising sound at which a recording of it begins: the median of
// what its pitch says.
func secondsOf(t *testing.T, file string) float64 {
	t.Helper()
	const window = sampleRate / 10
	samples := decoded(t, file)
	var starts []float64
	for from := 0; from+window < len(samples); from += window {
		part := samples[from : from+window]
		first, last, periods := -1.0, -1.0, 0
		for i := 1; i < len(part); i++ {
			if part[i-1] < 0 && part[i] >= 0 { // where the line between the two crosses zero
				last = float64(i-1) + float64(part[i-1])/(float64(part[i-1])-float64(part[i]))
				if first < 0 {
					first = last
				} else {
					periods++
				}
			}
		}
		if slices.Max(part) < 2000 || periods < 20 {
			continue // silence
		}
		pitch := float64(periods) * sampleRate / (last - first)
		middle := (float64(from) + (first+last)/2) / sampleRate
		starts = append(starts, (pitch-500)/100-middle)
	}
	require.Greater(t, len(starts), 20)
	slices.Sort(starts)
	median := starts[len(starts)/2]
	require.Less(t, math.Abs(starts[len(starts)/4]-median), 0.02, "the sound is not the rising one")
	return median
}

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
	b.waitText("0:06")
	press(" ")
	b.waitText("this was a very good lesson")
	tab("Generate")
	press("\r")
	b.until(`() => document.activeElement.value?.includes("this was a very good lesson")`, "")
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
	s, err := c.OpenSession(t.Context(), p.ID)
	require.NoError(t, err)
	l, err := c.StartLesson(t.Context(), s.ID)
	require.NoError(t, err)
	speech, err := os.ReadFile("../../internal/demo/speech/lesson1-segment1.mp3")
	require.NoError(t, err)
	_, err = c.Upload(t.Context(), l.ID, 0, "a.mp3", speech)
	require.NoError(t, err)
	b.do(chromedp.Navigate(url + "/#sign-in=anna"))
	b.waitText("退出登录")
	for path, text := range map[string]string{
		"": "找到", "edit/": "家长称呼", "edit/" + p.ID: "删除学生", "records": "复制",
		"student/" + p.ID: "等待识别",
	} {
		b.do(chromedp.Navigate(url + "/#/" + path))
		b.waitText(text)
		// All that is read or spoken, without the names and texts of the test.
		words := b.eval(`[document.title, document.body.innerText,
			...[...document.querySelectorAll("[aria-label], [title]")].flatMap((e) => [e.ariaLabel, e.title])]
			.join("\n").replace(/Ming|Art class|Art|OpenAPI|English/g, "")`)
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
	var files []string
	for _, name := range []string{"lesson1-segment0.mp3", "lesson1-segment1.mp3", "lesson1-segment2.mp3"} {
		path, err := filepath.Abs("../../internal/demo/speech/" + name)
		require.NoError(t, err)
		files = append(files, path)
	}
	b.do(chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), files))
	b.waitText("Recordings waiting to become text: ")
	b.waitText("she should practice drawing for fifteen minutes every day")
	b.until(`() => !document.body.innerText.includes("waiting to become text")`, "")
	require.Empty(t, b.eval(`window.moved`))
}

func TestFirstPaintIsFast(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	url := "http://" + serve(t, onSQLite(t, server.RoleAPI))
	b.do(chromedp.Navigate(url + "/"))
	b.waitText("Session token")
	paint := b.eval(`String(performance.getEntriesByName("first-contentful-paint")[0].startTime)`)
	size := b.eval(`String([...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
		.reduce((sum, e) => sum + e.decodedBodySize, 0))`)
	t.Logf("first contentful paint after %s ms, %s bytes", paint, size)
	bytes, err := strconv.Atoi(size)
	require.NoError(t, err)
	require.Less(t, bytes, 100_000)
	ms, err := strconv.ParseFloat(paint, 64)
	require.NoError(t, err)
	require.Less(t, ms, 3000.0, "generous, for loaded machines")
}
