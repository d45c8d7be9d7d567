package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/longtest"
)

// tab is a tab of a headless browser, for what a teacher does in Chromium and in Firefox.
type tab interface {
	visit(url string)
	reload()
	until(function, text string)
	waitText(text string)
	eval(expression string) string
	click(css string)
	clickButton(text string)
	enter(css, text string)
	addFiles(paths ...string)
	setClock(at time.Time)
	setCookie(name, value string)
	emulate(s screen)
	letCopy()          // before the clipboard is read
	clipboard() string // what was copied last
	screenshot(name string)
}

// browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // addresses
	faults   []string // exceptions and violations of a Content-Security-Policy
}

// newBrowser starts a browser with a profile of its own, which ends with the test. It skips the
// test where no Chromium is installed. It prefers the headless shell, which is the same engine
// without the rest of a desktop browser and takes half the processor time. Of the tests in a
// browser, only the main one is quick enough for the plain run.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	if t.Name() != "TestTeacherSpeaksAndSavesTheFeedback" {
		longtest.Only(t)
	}
	program := installedProgram(t, append([]string{"chromium-headless-shell"}, desktops...)...)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 1000),
		chromedp.Flag("lang", "en-US"),
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

var desktops = []string{"chromium", "chromium-browser", "google-chrome"}

// desktop is the option for the whole browser, as teachers have it.
func desktop(t *testing.T) chromedp.ExecAllocatorOption {
	t.Helper()
	return chromedp.ExecPath(installedProgram(t, desktops...))
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

func (b *browser) visit(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

func (b *browser) reload() {
	b.t.Helper()
	b.do(chromedp.Reload())
}

// click clicks the first element that the selector finds, once it is visible.
func (b *browser) click(css string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(css)))
}

// enter types the text into an element.
func (b *browser) enter(css, text string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(css), text))
}

// setCookie sets a cookie where the page is.
func (b *browser) setCookie(name, value string) {
	b.t.Helper()
	cookie := network.SetCookieParams{Name: name, Value: value, URL: b.eval("location.origin")}
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.SetCookie, cookie)
		return err
	}))
}

// copies lets the page copy into the variable copied.
const copies = `window.copied = ""; navigator.clipboard.write = async ([item]) => {
	window.copied = await (await item.getType("text/plain")).text();
};`

func (b *browser) letCopy() {
	b.t.Helper()
	b.eval(copies + `""`)
}

func (b *browser) clipboard() string {
	b.t.Helper()
	return b.eval(`copied`)
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

// allSent is a function that tells whether the server has confirmed all recordings: until then the
// page does not save a record, though their text may have arrived.
const allSent = `() => import("/page/outbox.js").then(({ list }) => list()).then((left) => left.length === 0)`

// sendNow taps Send now, unless the page has sent everything by itself just now.
func sendNow(b tab) {
	b.eval(`[...document.querySelectorAll("#banner button")].find((b) => b.innerText === "Send now")?.click(); ""`)
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

// buttonWith is the first visible button that contains the text.
const buttonWith = `[...document.querySelectorAll("button")]
	.find((b) => b.checkVisibility() && b.innerText.includes(text))`

// clickButton waits for a visible button that contains the text and clicks it.
func (b *browser) clickButton(text string) {
	b.t.Helper()
	click := "((text) => { const found = " + buttonWith + "; found?.click(); return String(Boolean(found)) })(" +
		strconv.Quote(text) + ")"
	for clicked := false; !clicked; clicked = b.eval(click) == "true" { // it may have been replaced meanwhile
		b.until("(text) => Boolean("+buttonWith+")", text)
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
	keepPicture(b.t, name, func() []byte {
		ctx, cancel := context.WithTimeout(b.ctx, timeout)
		defer cancel()
		picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(b.t, err)
		return picture
	})
}

func keepPicture(t *testing.T, name string, take func() []byte) {
	t.Helper()
	dir := os.Getenv("BROWSER_SCREENSHOTS")
	if dir == "" {
		return
	}
	name = strings.ReplaceAll(t.Name(), "/", "-") + "-" + name + ".png"
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), take(), 0o644))
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
