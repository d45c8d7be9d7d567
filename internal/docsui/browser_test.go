package docsui

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium with one page, driven over its debugging pipe.
type browser struct {
	t       *testing.T
	out     *os.File
	session string

	mu      sync.Mutex
	next    int
	answers map[int]chan answer
	events  []event
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method string
	Params json.RawMessage
}

// newBrowser starts the browser, or skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the browser's pipe is not passed on this way on Windows")
	}
	if program == "" {
		t.Skip("no Chromium on this machine: the reference page is not tried in a browser")
	}
	profile, err := os.MkdirTemp("", "docsui-browser-")
	require.NoError(t, err)
	fromUs, toBrowser, err := os.Pipe()
	require.NoError(t, err)
	fromBrowser, toUs, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,1000",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // 3 and 4, as Chromium wants them
	require.NoError(t, cmd.Start())
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, out: toBrowser, answers: map[int]chan answer{}}
	go b.read(fromBrowser)
	t.Cleanup(func() {
		toBrowser.Close() // it ends with its pipe
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		fromBrowser.Close()
		// Its helpers end a moment later and write until then.
		for tries := 0; os.RemoveAll(profile) != nil && tries < 100; tries++ {
			<-time.After(50 * time.Millisecond)
		}
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) read(from *os.File) {
	r := bufio.NewReader(from)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID int
			answer
			event
		}
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.answers[m.ID]; c != nil {
			c <- m.answer
		} else {
			b.events = append(b.events, m.event)
		}
		b.mu.Unlock()
	}
}

// call sends one command and waits for its answer.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	a := b.send(method, params)
	require.Nil(b.t, a.Error, "%s: %+v", method, a.Error)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(a.Result, result))
	}
}

func (b *browser) send(method string, params map[string]any) answer {
	b.t.Helper()
	c := make(chan answer, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.answers[id] = c
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	require.NoError(b.t, err)
	_, err = b.out.Write(append(data, 0))
	require.NoError(b.t, err)
	select {
	case a := <-c:
		return a
	case <-time.After(patience):
		b.t.Fatalf("%s: no answer from the browser", method)
	}
	return answer{}
}

// patience is how long a loaded machine may take.
const patience = 40 * time.Second

// eval runs an expression in the page, awaits it, and returns it as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	value, fault := b.try(expression)
	require.Empty(b.t, fault, expression)
	return value
}

func (b *browser) try(expression string) (value, fault string) {
	b.t.Helper()
	a := b.send("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true})
	if a.Error != nil {
		return "", a.Error.Message
	}
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	require.NoError(b.t, json.Unmarshal(a.Result, &r))
	return fmt.Sprint(r.Result.Value), string(r.ExceptionDetails)
}

// until waits for a condition to become true in the page, which may be on its
// way to another address.
func (b *browser) until(condition string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		if value, _ := b.try("Boolean(" + condition + ")"); value == "true" {
			return
		}
		if time.Now().After(end) {
			b.screenshot("failed")
			b.t.Fatalf("never became true in the page: %s", condition)
		}
	}
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until(`document.readyState === "complete" && location.href !== "about:blank"`)
}

// screenshot keeps a picture of the page where DOCSUI_SCREENSHOTS names a folder.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("DOCSUI_SCREENSHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}

// requests lists the addresses that the page asked for.
func (b *browser) requests() (urls []string) {
	for _, params := range b.eventsOf("Network.requestWillBeSent") {
		var p struct{ Request struct{ URL string } }
		require.NoError(b.t, json.Unmarshal(params, &p))
		urls = append(urls, p.Request.URL)
	}
	return urls
}

func (b *browser) eventsOf(method string) (params []json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Method == method {
			params = append(params, e.Params)
		}
	}
	return params
}
