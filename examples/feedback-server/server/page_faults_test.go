package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
)

// faultyNetwork is between the page and the server. It makes tags weak, as proxies that compress
// do. fault, if set, may answer a request of the interface itself, and reports whether it did. If
// away is true, nothing is answered, the page neither.
type faultyNetwork struct {
	url, backend string

	away  atomic.Bool
	fault atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newFaultyNetwork(t *testing.T, backend string) *faultyNetwork {
	t.Helper()
	to, err := url.Parse(backend)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if tag := r.Header.Get("ETag"); tag != "" {
			r.Header.Set("ETag", "W/"+tag)
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	n := &faultyNetwork{backend: backend}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.away.Load() {
			panic(http.ErrAbortHandler)
		}
		fault := n.fault.Load()
		if fault == nil || !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/health" || !(*fault)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.CloseClientConnections)
	n.url = front.URL
	return n
}

func (n *faultyNetwork) fail(fault func(http.ResponseWriter, *http.Request) bool) {
	n.fault.Store(&fault)
}
func (n *faultyNetwork) recover() { n.fault.Store(nil) }

// unreachable drops every connection.
func unreachable(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

func isUpload(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/segments")
}

// uploads answers uploads with a problem, and counts them.
func uploads(status int, body string, count *atomic.Int32) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !isUpload(r) {
			return false
		}
		count.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

// acceptDialogs answers the browser's question whether to leave the page.
func (b *browser) acceptDialogs() {
	require.NoError(b.t, chromedp.Listen(b.ctx, func(event any) {
		if _, ok := event.(*cdppage.EventJavascriptDialogOpening); ok {
			go func() {
				_ = chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
					answer := cdppage.HandleJavaScriptDialogParams{Accept: true}
					_, err := cdp.Call(ctx, t, cdppage.HandleJavaScriptDialog, answer)
					return err
				}))
			}()
		}
	}))
}

// addFiles chooses files as recordings of the lesson.
func (b *browser) addFiles(paths ...string) {
	b.t.Helper()
	b.do(chromedp.SetUploadFiles(chromedp.CSS("input[type=file]"), paths))
}

// openStudent shows a new student, for whom one can record.
func (b *browser) openStudent(url string) (feedbackclient.Client, feedbackclient.Profile) {
	b.t.Helper()
	c, p := withStudent(b.t, url, "anna")
	b.showStudent(url, p.ID)
	b.waitText("Recording starts lesson 1")
	return c, p
}

// storedParts returns the recordings of the student's session once there are n, and checks that
// each decodes on its own. durations are in seconds, of the decoded audio.
func storedParts(t *testing.T, c feedbackclient.Client, profile string, n int) (files []string, durations []float64) {
	t.Helper()
	var segments []feedbackclient.Segment
	require.Eventually(t, func() bool {
		s, _ := c.ActiveSession(t.Context(), profile) // none before the first recording arrives
		segments = nil
		for _, l := range s.Lessons {
			segments = append(segments, l.Segments...)
		}
		return len(segments) >= n
	}, timeout, 100*time.Millisecond)
	require.Len(t, segments, n)
	for i, s := range segments {
		require.Equal(t, i, s.Sequence)
		audio, err := c.Audio(t.Context(), s.ID)
		require.NoError(t, err)
		var encoded bytes.Buffer
		_, err = encoded.ReadFrom(audio)
		require.NoError(t, err)
		require.NoError(t, audio.Close())
		file := filepath.Join(t.TempDir(), "part")
		require.NoError(t, os.WriteFile(file, encoded.Bytes(), 0o600))
		seconds := float64(len(decoded(t, file))) / sampleRate
		files, durations = append(files, file), append(durations, seconds)
	}
	return files, durations
}

const sampleRate = 16000

// decoded returns the samples of a recording.
func decoded(t *testing.T, file string) []int16 {
	t.Helper()
	pcm, err := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-xerror", "-i", file,
		"-ar", strconv.Itoa(sampleRate), "-ac", "1", "-f", "s16le", "-").Output()
	require.NoError(t, err)
	samples := make([]int16, len(pcm)/2)
	for i := range samples {
		samples[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
	}
	return samples
}

// The server is away in the middle of a lesson, then the sign-in page of a network answers an
// upload, a filter does, and the next answer is lost: everything arrives, once.
func TestNothingIsLostWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	n := newFaultyNetwork(t, recognizing(t))
	b.acceptDialogs()
	c, p := b.openStudent(n.url)
	began := time.Now()
	b.clickButton("Record")
	b.waitRecorded(2)
	n.fail(unreachable)
	b.waitRecorded(6)
	b.clickButton("Stop")
	b.waitText("Recordings on this device that are not sent yet: 1. The server cannot be reached.")
	took := time.Since(began)
	b.screenshot("away")
	// Also after a reload, while the server is still away.
	b.reload()
	b.waitText("not sent yet: 1")
	var count atomic.Int32
	n.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if !isUpload(r) || count.Add(1) > 4 {
			return false
		}
		if n := count.Load(); n < 4 {
			w.WriteHeader([]int{0, http.StatusOK, http.StatusForbidden, http.StatusOK}[n])
			fmt.Fprint(w, []string{"", "<!doctype html>", "<!doctype html>", "Blocked"}[n])
			return true
		}
		r.URL.Scheme, r.URL.Host, r.RequestURI = "http", strings.TrimPrefix(n.url, "http://"), ""
		response, err := http.DefaultClient.Do(r.Clone(context.Background())) // comes back here, once
		if err == nil {
			response.Body.Close()
		}
		panic(http.ErrAbortHandler)
	})
	b.until(`() => {
		[...document.querySelectorAll("#banner button")].find((b) => b.innerText === "Send now")?.click();
		return !document.body.innerText.includes("not sent yet");
	}`, "")
	require.Equal(t, int32(6), count.Load())
	_, durations := storedParts(t, c, p.ID, 1)
	requireRecorded(t, 6, took, durations[0])
	b.reload()
	b.waitText("was a very good lesson")
}

// While the server does not answer, a recording begins at once, and a student is left with a text
// that is not saved.
func TestTeacherWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := withStudent(t, n.url, "anna")
	b.visit(n.url + "/#sign-in=anna")
	b.waitText("No recent record")
	held := make(chan struct{})
	var gaveUp atomic.Bool // on what the student's view needs
	n.fail(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-held:
		case <-r.Context().Done():
			gaveUp.Store(gaveUp.Load() || strings.Contains(r.URL.Path, "/profiles/") ||
				strings.Contains(r.URL.Path, "/feedback-sessions"))
		}
		return false
	})
	b.click(".start")
	b.waitRecorded(2)
	require.False(t, gaveUp.Load(), "it is still waited for")
	b.screenshot("recording")
	b.clickButton("Stop")
	b.enter("textarea", "Mine.")
	b.eval(`location.hash = "#/"; ""`)
	b.waitText("All students")
	require.False(t, gaveUp.Load(), "it is still being saved")
	close(held)
	requireStored(t, c, p.ID, "Mine.")
	b.eval(`location.hash = "#/student/` + p.ID + `"; ""`)
	b.until(`() => document.querySelector("textarea")?.value.startsWith("Mine.")`, "")
	b.waitText("Heard.")
	storedParts(t, c, p.ID, 1)
}

// Saving ends the session: a recording that the server does not have yet would be in no lesson. One
// that it refuses for good never gets there.
func TestSavingWaitsForRecordings(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	b.acceptDialogs()
	n := newFaultyNetwork(t, development(t, saying("Heard.")))
	c, p := b.openStudent(n.url)
	var count atomic.Int32
	refuse := func() {
		b.clickButton("Save")
		b.waitText("A recording of this lesson is not sent yet.")
		for range c.Records(t.Context(), p.ID) {
			t.Fatal("a record was saved")
		}
	}
	b.enter("textarea", "Mine.")
	b.waitText("Saved.")
	b.clickButton("Record")
	b.waitRecorded(1)
	refuse()
	n.fail(uploads(http.StatusInsufficientStorage, `{"code":"storage_full","retry_after_seconds":60}`, &count))
	b.clickButton("Stop")
	b.waitText("not sent yet: 1")
	refuse()
	b.screenshot("refused")
	n.fail(uploads(http.StatusUnsupportedMediaType, `{"code":"not_audio"}`, &count))
	b.clickButton("Send now")
	b.waitText("The server did not accept it")
	b.clickButton("Save")
	b.waitText("The record is saved")
}

// A reload in the middle of a recording, as after a crash: what was spoken until then arrives, and
// the lesson continues.
func TestReloadInTheMiddleOfARecordingLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := recognizing(t)
	b.acceptDialogs()
	c, p := b.openStudent(url)
	began := time.Now()
	b.eval(`Storage.prototype.setItem = () => { throw new DOMException("", "QuotaExceededError"); }; // it is full
		record = document.querySelector(".record"); // is tapped twice
		new MutationObserver(() => setTimeout(() => record.click(), 200)).observe(record, { childList: true }); ""`)
	b.clickButton("Record")
	b.waitRecorded(6)
	b.reload()
	took := time.Since(began)
	b.waitText("Lesson 1 is open")
	_, durations := storedParts(t, c, p.ID, 1)
	requireRecorded(t, 6, took, durations[0]) // all but the last half second
	b.waitText("was a very good lesson")
}

// Writing takes four times as long as recording what is written: chunks wait for the last ones, but
// not for each other.
func TestSlowDeviceStoresTogetherWhatWaits(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := recognizing(t)
	b.acceptDialogs()
	c, p := b.openStudent(url)
	b.eval(`(() => { // the first step of writing a chunk
		const fast = Blob.prototype.arrayBuffer;
		Blob.prototype.arrayBuffer = async function () {
			await new Promise((resolve) => setTimeout(resolve, 2000));
			return fast.call(this);
		};
		return "";
	})()`)
	b.clickButton("Record")
	b.waitRecorded(16)
	b.reload()
	b.waitText("Lesson 1 is open")
	_, durations := storedParts(t, c, p.ID, 1)
	require.Greater(t, durations[0], 8.0, "one after the other, 4 s of the chunks would be written")
}

// A device without space stops the recording and says so; what was recorded arrives.
func TestFullDeviceStopsTheRecordingLoudly(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, listening(t)...)
	url := recognizing(t)
	c, p := b.openStudent(url)
	quota := func(bytes *float64) {
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, storage.OverrideQuotaForOrigin,
				storage.OverrideQuotaForOriginParams{Origin: url, QuotaSize: bytes})
			return err
		}))
	}
	small := 100_000.0
	quota(&small)
	b.clickButton("Record")
	b.waitText("this device cannot store more")
	b.until(`() => document.querySelector(".record").innerText === "Record"`, "")
	b.screenshot("full")
	quota(nil)
	_, durations := storedParts(t, c, p.ID, 1)
	require.Greater(t, durations[0], 0.2)
}

func TestServersRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	n, client := signedIn(t)
	token, c := client()
	p, err := c.EnsureProfile(t.Context(), "Ming")
	require.NoError(t, err)

	b := newBrowser(t)
	b.acceptDialogs()
	b.visit(n.url + "/")
	b.signIn(token)
	b.waitText("Ming")
	b.visit(n.url + "/#/student/" + p.ID)
	b.waitText("Recording starts lesson 1")
	add := func(file string) { b.addFiles(sample(t, file)) }

	// 429 is repeated when the server says so, without another request before.
	var refused atomic.Int32
	refuse := uploads(http.StatusTooManyRequests, `{"code":"daily_limit_reached","retry_after_seconds":5}`, &refused)
	uploaded := make(chan time.Time, 100)
	n.fail(func(w http.ResponseWriter, r *http.Request) bool {
		if isUpload(r) {
			uploaded <- time.Now()
		}
		return refused.Load() == 0 && refuse(w, r)
	})
	add("lesson1-segment0.mp3")
	b.waitText("limit for one day is reached. It continues at")
	storedParts(t, c, p.ID, 1)
	n.recover()
	require.Equal(t, int32(1), refused.Load())
	first, second := <-uploaded, <-uploaded
	require.Greater(t, second.Sub(first), 4900*time.Millisecond)
	require.Empty(t, uploaded)

	// 401 keeps the recording and asks for a new sign-in, in place.
	require.NoError(t, c.Logout(t.Context()))
	add("lesson1-segment1.mp3")
	b.waitText("Your sign-in has expired. Recordings are kept on this device")
	b.screenshot("expired")
	token, c = client()
	b.signIn(token)
	storedParts(t, c, p.ID, 2)
	b.until(`() => !document.body.innerText.includes("expired")`, "")
}
