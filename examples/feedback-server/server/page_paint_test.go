package server_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var paint = flag.Int("paint", 0, "measure the first paint so many times")

// On a processor four times slower: after how many milliseconds the page is painted, and shows the
// students, in a browser that has never been there and in one whose service worker has the page.
func TestFirstPaintOnASlowDevice(t *testing.T) {
	if *paint == 0 {
		t.Skip("only with -paint")
	}
	url := development(t, saying("Heard."))
	c, _ := withStudent(t, url, "anna")
	for i := range 39 {
		_, err := c.EnsureProfile(t.Context(), fmt.Sprint("Student ", i))
		require.NoError(t, err)
	}
	measured := map[string][]int{}
	for range *paint {
		b := newBrowser(t, chromedp.Flag("lang", "zh-CN"))
		b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			slower := emulation.SetCPUThrottlingRateParams{Rate: 4}
			_, err := cdp.Call(ctx, target, emulation.SetCPUThrottlingRate, slower)
			require.NoError(t, err)
			_, err = cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument,
				cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: `new MutationObserver(() => {
					const list = document.querySelector(".list strong, details .list");
					if (list) globalThis.students ??= performance.now();
				}).observe(document, { childList: true, subtree: true });`})
			return err
		}))
		for _, from := range []string{"cold", "service worker"} {
			b.do(chromedp.Navigate(url + "/#sign-in=anna"))
			b.until(`() => Boolean(globalThis.students)`, "")
			for name, value := range map[string]string{
				"paint":    `performance.getEntriesByName("first-contentful-paint")[0].startTime`,
				"students": `students`,
			} {
				ms, err := strconv.Atoi(b.eval("String(Math.round(" + value + "))"))
				require.NoError(t, err)
				measured[from+", "+name] = append(measured[from+", "+name], ms)
			}
			b.eval(`navigator.serviceWorker.ready.then(() => "")`)
			b.do(chromedp.Navigate("about:blank"))
		}
	}
	for name, times := range measured {
		slices.Sort(times)
		t.Logf("%s: median %d ms of %v", name, times[len(times)/2], times)
	}
}
