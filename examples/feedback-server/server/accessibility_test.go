package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/internal/nodetest"
	"lessonkit.example/jobqueue"
)

// screen is a kind of screen that people use.
type screen struct {
	width, height int64
	scheme        string // of colours
	medium        string // "print", or none
}

var screens = map[string]screen{
	"desktop": {1400, 1000, "light", ""}, "dark": {1400, 1000, "dark", ""},
	"phone": {360, 740, "light", ""},
}

var paper = screen{794, 1123, "light", "print"} // A4

func (b *browser) emulate(s screen) {
	b.t.Helper()
	media := emulation.SetEmulatedMediaParams{
		Media:    s.medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
	}
	setMedia := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return err
	})
	b.do(chromedp.EmulateViewport(s.width, s.height), setMedia)
}

// violations returns what axe-core, whose script is axe, objects to in the page: a line for each
// rule, with the first elements.
func violations(b tab, axe string) string {
	b.eval(axe + "; ''")
	return b.eval(`axe.run(document).then((r) => r.violations.map((v) => [v.id + ": " + v.help,
		...v.nodes.slice(0, 5).map((n) => n.html + " " + n.failureSummary)].join("\n\t")).join("\n"))`)
}

// queuePages returns the pages of a queue with a failed job, by name.
func queuePages(t *testing.T, f *retried) map[string]string {
	t.Helper()
	job := f.waitJob(jobqueue.StateFailed, 1)
	return map[string]string{
		"queues": "/", "failed": "/jobs?state=failed", "none": "/jobs?state=cancelled",
		"retry all": "/bulk/retry?state=failed", "retried": "/jobs?state=failed&changed=3&skipped=1",
		"job":    fmt.Sprintf("/jobs/%d", job.ID),
		"search": "/search?q=" + f.segment, "nothing found": "/search?q=nothing", "no page": "/nowhere",
		"succeeded": "/jobs?state=succeeded", "note": fmt.Sprintf("/jobs/%d?note=retrystate", job.ID),
	}
}

func TestQueuePagesAreAccessible(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	axe := nodetest.Run(t, "testdata/axe", nil, "print.mjs")
	f := withFailedSegment(t)
	base := f.address + "/admin/queue"
	b.visit("http://operator:" + strings.ReplaceAll(operatorPassword, " ", "%20") + "@" + base + "/")
	require.Eventually(t, func() bool { // jobs are counted now and then
		page := get(f.server.Handler(), "/admin/health", basic("operator", operatorPassword))
		return strings.Contains(page.Body.String(), "1 failed")
	}, timeout, 50*time.Millisecond)
	for name, s := range screens {
		b.emulate(s)
		for page, path := range queuePages(t, f) {
			b.visit("http://" + base + path)
			b.waitText("Queues")
			b.screenshot(page + " " + name)
			require.Empty(t, violations(b, axe), "%s, %s", page, name)
		}
		b.visit("http://" + f.address + "/admin/health")
		b.waitText("1 failed")
		b.screenshot("health " + name)
		require.Empty(t, violations(b, axe), "health, %s", name)
	}
}

// The table fits a phone: nobody scrolls sideways to learn why a job has failed.
func TestAttemptsAndErrorAreVisibleOnAPhone(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	f := withFailedSegment(t)
	f.waitJob(jobqueue.StateFailed, 1)
	base := f.address + "/admin/queue"
	b.visit("http://operator:" + strings.ReplaceAll(operatorPassword, " ", "%20") + "@" + base + "/")
	b.waitText("Workers")
	b.emulate(screens["phone"])
	b.visit("http://" + base + "/jobs?state=failed")
	b.waitText("no speech in it")
	for _, text := range []string{"1 of ", "no speech in it"} {
		require.Equal(t, "visible", b.eval(fmt.Sprintf(`(() => {
			const cell = [...document.querySelectorAll("td, td .error")].filter((e) => e.innerText.includes(%q)).pop();
			if (!cell) return "absent";
			const r = cell.getBoundingClientRect();
			return r.width > 0 && r.left >= 0 && r.right <= 360 ? "visible" : r.left + " to " + r.right;
		})()`, text)), text)
	}
	require.Equal(t, "360", b.eval(`String(document.documentElement.scrollWidth)`))
}
