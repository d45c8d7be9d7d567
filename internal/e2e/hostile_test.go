//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/fleet"
)

// fine requires an answer to a hostile request: in time, not a server error, and with a problem
// document where it is an error.
func (s *secured) fine(t *testing.T, r request, what string) answer {
	t.Helper()
	if len(what) > 100 {
		what = what[:100] + "…"
	}
	began := time.Now()
	a := s.send(t, r)
	if time.Since(began) > 20*time.Second { // the machine may have been busy: is it always slow?
		began = time.Now()
		a = s.send(t, r)
	}
	require.Less(t, a.status, 500, "%s %.200s with %s: %.500s", r.method, r.path, what, a.body)
	require.Less(t, time.Since(began), 20*time.Second, "%s %.200s with %s", r.method, r.path, what)
	if a.status >= 400 {
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), "%s %.200s with %s: %d %.200s",
			r.method, r.path, what, a.status, a.body)
		require.NotEmpty(t, a.text("code"))
	}
	if kind := a.header.Get("Content-Type"); strings.HasPrefix(kind, "audio/") || kind == "application/zip" {
		return a // any bytes: "pgx" has stood in an exported recording
	}
	for _, leak := range []string{"goroutine ", ".go:", "SQLSTATE", "sqlite", "pgx", "no such file", "/tmp/"} {
		require.NotContains(t, a.body, leak, "%s %.200s with %s", r.method, r.path, what)
	}
	return a
}

// hostileStrings are sent wherever a string is accepted.
var hostileStrings = []string{
	"", " ", "\x00", "a\x00b", "\u202egnp.exe", "\r\nSet-Cookie: a=b", "a\nlevel=ERROR msg=forged", "\x1b[31mred",
	"'; drop table feedback_profiles; --", "%00", "../../etc/passwd",
	"{{7*7}}", "${jndi:ldap://127.0.0.1/a}", "<script>alert(1)</script>", strings.Repeat("a", 30_000),
	strings.Repeat("\U0001F600", 300), "\ufeff", "\uffff", "\u0085",
}

func TestHostileBodies(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, url string) {
		s := newSecured(t, url)
		deep := func(open, inner, end string, n int) []byte {
			return []byte(strings.Repeat(open, n) + inner + strings.Repeat(end, n))
		}
		bodies := [][]byte{
			{}, []byte("null"), []byte("[]"), []byte("{"), []byte(`""`), []byte("0"), []byte("{}{}"), []byte("{} x"),
			[]byte("\xef\xbb\xbf{}"),
			[]byte("{\"name\":\"\xff\xfe\"}"), []byte(`{"name":"\ud800"}`), []byte(`{"name":"a","name":"b"}`),
			[]byte(`{"name":1e999}`), []byte(`{"academic_year":99999999999999999999}`), []byte(`{"__proto__":{}}`),
			[]byte(`{"":""}`),
			deep("[", "", "]", 100_000), deep(`{"name":`, "1", "}", 50_000), deep(`{"a":[`, "", "]}", 9_000),
			[]byte(`{"name":"` + strings.Repeat("a", 20<<20) + `"}`),
			[]byte(strings.Repeat(" ", 5<<20)), bytes.Repeat([]byte{0}, 1000), []byte("{\"name\":\"a\"\x00}"),
			[]byte("<xml/>"),
		}
		sent := 0
		for _, r := range s.routes(t) {
			fields, isJSON := r.body.(map[string]any)
			if plain, ok := r.body.(map[string]string); ok {
				fields, isJSON = map[string]any{}, true
				for k, v := range plain {
					fields[k] = v
				}
			}
			if !isJSON {
				continue
			}
			header := bearer(s.owner)
			header.Set("X-Forwarded-For", newAddress())
			for _, body := range bodies {
				for _, contentType := range []string{"application/json", "text/plain",
					"application/json; charset=utf-16", ""} {
					if len(body) > 1<<20 && contentType != "application/json" {
						continue
					}
					a := s.fine(t, request{r.method, r.path, body, contentType, header}, string(body))
					sent++
					optional := strings.HasSuffix(r.template, "/generate") || strings.HasSuffix(r.template, "/retry")
					require.True(t, a.status >= 400 || optional, "%s %s took %.60q: %d %.100s", r.method, r.template,
						body, a.status, a.body)
				}
			}
			for name := range fields {
				values := []any{nil, true, -1, 1.5, 1e300, []any{}, map[string]any{}, []string{"a"}}
				for _, v := range hostileStrings {
					values = append(values, v)
				}
				for _, v := range values {
					changed := maps.Clone(fields)
					changed[name] = v
					body, err := json.Marshal(changed)
					require.NoError(t, err)
					s.fine(t, request{r.method, r.path, body, "application/json", header}, string(body))
					sent++
				}
			}
		}
		sum(t, "%d hostile bodies", sent)
	})
}

func TestHostileNames(t *testing.T) {
	slow(t)
	databases(t, func(t *testing.T, address string) {
		s := newSecured(t, address)
		sent := 0
		tricks := append([]string{
			"..", ".", "%2e%2e", "..%2f..%2f..%2fetc%2fpasswd", "..%5c..%5c", "%00", "a%00b",
			"%0d%0aSet-Cookie:%20a=b", "%ff%fe", "{profile_id}", "0", "-1", "null", "undefined", "*", "'%20or%201=1--",
			"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
			"%7B0197a000-0000-7000-8000-000000000000%7D", "urn:uuid:0197a000-0000-7000-8000-000000000000",
			strings.Repeat("a", 10_000), strings.Repeat("%2f", 1_000), "%E2%80%AE",
		}, "0197a000000070008000000000000000")
		for _, r := range s.routes(t) {
			before, _, _ := strings.Cut(r.template, "{")
			if before == r.template {
				continue
			}
			_, after, _ := strings.Cut(r.template, "}")
			for _, trick := range tricks {
				a := s.fine(t, request{r.method, before + trick + after, r.body, r.contentType, bearer(s.owner)},
					trick)
				sent++
				require.GreaterOrEqual(t, a.status, 300, "%s %.200s: %d %.200s", r.method, before+trick+after,
					a.status, a.body)
			}
		}
		for _, r := range s.routes(t) {
			if r.method != http.MethodGet || !r.secured {
				continue
			}
			for _, name := range []string{"limit", "cursor", "query", "grade", "subject", "profile_id", "sequence",
				"unknown"} {
				for _, v := range append(hostileStrings, "-1", "0", "999999999999999999999", "1e9", "AAAA",
					"eyJhIjoxfQ", "\xff") {
					s.fine(t, request{"GET", strings.Split(r.path, "?")[0] + "?" + name + "=" + url.QueryEscape(v),
						nil, "", bearer(s.owner)}, v)
					sent++
				}
			}
		}
		for _, path := range []string{
			"/../../etc/passwd", "//etc/passwd", "/scalar/../../../etc/passwd", "/scalar/%2e%2e/%2e%2e/etc/passwd",
			"/scalar/..%2f..%2fgo.mod", "/api/v1/../../health", "/api/v1//profiles", "/api/v1/auth/../profiles",
			"/api/v1/auth/%2e%2e/profiles", "/API/V1/profiles", "/api/v1/profiles/", "/api/v1/profiles;a=b",
			"/api/v1/profiles%00", "/metrics/../api/v1/profiles", "/debug/pprof/", "/.env", "/.git/config",
		} {
			a := s.fine(t, request{"GET", path, nil, "", nil}, path)
			sent++
			require.NotContains(t, a.body, "root:")
			require.NotContains(t, a.body, `"items"`, "without a token: %s", path)
		}

		// File names of uploads never become part of a path.
		for _, name := range append(hostileStrings, "/etc/cron.d/x", `..\..\x`, "con", "a/../../b.mp3",
			strings.Repeat("../", 2_000)) {
			a := s.fine(t, s.form(t, "file", name, fleet.NewRecording()), name)
			sent++
			require.Contains(t, []int{202, 400, 422}, a.status, a.body)
			s.fine(t, s.form(t, name, "a.wav", fleet.NewRecording()), name)
		}
		for _, path := range s.files(t) {
			require.Regexp(t, `^[0-9a-f]{2}/[0-9a-f-]{36}\.wav$`, path)
		}
		beside, err := os.ReadDir(filepath.Dir(s.audioDir(t)))
		require.NoError(t, err)
		own := `^\d{3}$`
		if s.bucketDir != "" {
			own = `^(school|\.sgwtmp)$` // the latter is versitygw's
		}
		for _, e := range beside {
			require.Regexp(t, own, e.Name(), "something was written beside the audio directory")
		}
		sum(t, "%d hostile names", sent)
	})
}

// form returns an upload with the given name and file name of the part.
func (s *secured) form(t *testing.T, part, file string, audio []byte) request {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	quote := strings.NewReplacer("\\", "\\\\", `"`, "\\\"", "\r", "%0D", "\n", "%0A").Replace
	disposition := fmt.Sprintf(`form-data; name="%s"; filename="%s"`, quote(part), quote(file))
	p, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
	require.NoError(t, err)
	p.Write(audio)
	require.NoError(t, w.Close())
	return request{"POST", "/api/v1/feedback-lessons/" + s.ids["lesson_id"] + "/segments", body.Bytes(),
		w.FormDataContentType(), bearer(s.owner)}
}

// Nothing that a client sends begins a line of the log or a header of a response.
func TestNothingIsInjected(t *testing.T) {
	slow(t)
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, "sqlite:"+filepath.Join(t.TempDir(), "lessonkit.db"), "LOG_FORMAT="+format,
				"LOG_LEVEL=debug")
			evil := []string{"x forged=1", "x\" forged=1", "x\tforged=1", "x\x1b[2Jforged",
				strings.Repeat("forged", 100), "x, forged", "x;forged", "\xff forged", "forged\x7f"}
			for _, v := range evil {
				for _, name := range []string{"X-Request-Id", "User-Agent", "X-Forwarded-For", "Referer",
					"Traceparent", "Last-Event-ID", "If-Match", "Range"} {
					got := s.raw(t, "GET /api/v1/profiles HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+name+": "+v+
						"\r\nAuthorization: Bearer "+s.owner+"\r\n\r\n")
					require.NotContains(t, got, "forged", "%s: %q", name, v)
				}
			}
			for _, target := range []string{"/api/v1/profiles/x%0alevel=ERROR%20msg=forged", "/%0d%0aX-Forged:%201",
				"/api/v1/profiles?query=%0d%0aforged", "/%1b[2Jforged"} {
				got := s.raw(t, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+
					s.owner+"\r\n\r\n")
				require.NotContains(t, got, "\nX-Forged")
			}
			for _, head := range []string{
				"GET /health HTTP/1.1\r\nHost: x\r\nX-A: b\r\n folded: forged\r\nConnection: close\r\n\r\n",
				"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" +
					"Connection: close\r\n\r\n0\r\n\r\nGET /forged HTTP/1.1\r\nHost: x\r\n\r\n",
				"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n" +
					"Connection: close\r\n\r\nabcde",
				"GET /health HTTP/1.1\r\nHost : x\r\nConnection: close\r\n\r\n",
				"GET /health\r\n\r\n",
				"forged level=ERROR\r\n\r\n",
				"GET http://127.0.0.1:1/forged HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
				"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n",
			} {
				s.raw(t, head)
			}
			require.NoError(t, s.process.stop(t))
			line := regexp.MustCompile(`^time=\S+ level=[A-Z]+ msg=`)
			for text := range strings.Lines(s.process.log.String()) {
				if format == "json" {
					require.True(t, json.Valid([]byte(text)), "not a log line: %q", text)
				} else {
					require.Regexp(t, line, text)
				}
				require.NotContains(t, text, "level=ERROR")
				require.NotContains(t, text, "\x1b")
			}
		})
	}
}

// raw sends bytes unchanged and returns everything received.
func (s *secured) raw(t *testing.T, text string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.value("HTTP_ADDR"), 15*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(15*time.Second)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	got, _ := io.ReadAll(conn)
	return string(got)
}
