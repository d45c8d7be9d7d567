package server_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/longtest"
)

// browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // addresses
	faults   []string // exceptions and violations of a Content-Security-Policy
}

// newBrowser starts a browser with a profile of its own, which ends with the test. It skips the
// test where no Chromium is installed. Of the tests in a browser, only the main one is quick enough
// for the plain run.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	if t.Name() != "TestTeacherSpeaksAndSavesTheFeedback" {
		longtest.Only(t)
	}
	if !installed() {
		t.Skip("Chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 1000),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	options = append(options, more...)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: tab}
	require.NoError(t, chromedp.Listen(tab, b.listen))
	return b
}

func installed() bool {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if strings.Contains(e.Entry.Text, "Content Security Policy") {
			b.faults = append(b.faults, e.Entry.Text)
		}
	}
}

// timeout is generous, for loaded machines.
const timeout = 3 * time.Minute

// do performs the actions one after the other. A failed action fails the test.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	err := chromedp.Do(ctx, actions...)
	if err != nil {
		b.screenshot("failed")
	}
	require.NoError(b.t, err)
}

// waitText waits until the page shows the text.
func (b *browser) waitText(text string) {
	b.t.Helper()
	b.until(`(text) => document.body.innerText.includes(text)`, text)
}

// recorded returns JavaScript that tells whether the page has recorded for so many seconds. A busy
// machine may show one of them for too short a time to be seen.
func recorded(seconds int) string {
	return fmt.Sprintf(`(() => {
		const [minutes, seconds] = (document.querySelector("[role=timer]")?.innerText ?? "0:00").split(":");
		return 60 * minutes + Number(seconds) >= %d;
	})()`, seconds)
}

func (b *browser) waitRecorded(seconds int) {
	b.t.Helper()
	b.until("() => "+recorded(seconds), "")
}

// requireRecorded checks that a recording is as long as the page has shown, but for a second, and
// not longer than the time since it began.
func requireRecorded(t *testing.T, shown int, took time.Duration, seconds float64) {
	t.Helper()
	t.Logf("%.1f s of the %d s that the page has shown", seconds, shown)
	require.Greater(t, seconds, float64(shown-1), "seconds are missing")
	require.Less(t, seconds, took.Seconds()+0.5, "seconds are doubled")
}

// clickButton waits for a visible button that contains the text and clicks it.
func (b *browser) clickButton(text string) {
	b.t.Helper()
	const find = `[...document.querySelectorAll("button")]
		.find((b) => b.checkVisibility() && b.innerText.includes(text))`
	click := "((text) => { const found = " + find + "; found?.click(); return String(Boolean(found)) })(" +
		strconv.Quote(text) + ")"
	for clicked := false; !clicked; clicked = b.eval(click) == "true" { // it may have been replaced meanwhile
		b.until("(text) => Boolean("+find+")", text)
	}
}

// until waits until the function returns true in the page, which may be about to be replaced by
// another page.
func (b *browser) until(function, text string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.PollFunction[bool](function, chromedp.WithPollingArgs(text),
			chromedp.WithPollingInterval(100*time.Millisecond)))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			b.screenshot("failed")
			require.NoError(b.t, err, "wait for %q", text)
		}
	}
}

// eval returns the value of a JavaScript expression in the page; of a promise, its result.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	return value
}

// screenshot writes a picture of the page into the folder that the variable BROWSER_SCREENSHOTS
// names. Without the variable it does nothing.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("BROWSER_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	name = strings.ReplaceAll(b.t.Name(), "/", "-") + "-" + name + ".png"
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), picture, 0o644))
}

// requireOnly checks that the pages sent requests to the origin only, threw no exceptions and kept
// to their Content-Security-Policy.
func (b *browser) requireOnly(origin string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.NotEmpty(b.t, b.requests)
	for _, address := range b.requests {
		local := strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:")
		require.True(b.t, local || strings.HasPrefix(address, origin+"/"), address)
	}
	require.Empty(b.t, b.faults)
}
