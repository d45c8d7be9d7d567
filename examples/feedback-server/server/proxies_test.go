package server_test

import (
	"bytes"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/feedback-server/server"
	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/freeport"
)

// installedProgram returns the path of the first program that is installed, and skips the test
// where none is.
func installedProgram(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		for _, candidate := range []string{name, "/usr/sbin/" + name} {
			if path, err := exec.LookPath(candidate); err == nil {
				return path
			}
		}
	}
	t.Skip(strings.Join(names, " or ") + " is not installed")
	return ""
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := freeport.Addr()
	require.NoError(t, err)
	return address
}

// edited returns a configuration of the folder above with replacements for the test's addresses and
// without TLS.
func edited(t *testing.T, name string, replacements ...string) string {
	t.Helper()
	text, err := os.ReadFile("../" + name)
	require.NoError(t, err)
	for i := 0; i < len(replacements); i += 2 {
		require.Contains(t, string(text), replacements[i])
	}
	return strings.NewReplacer(replacements...).Replace(string(text))
}

func runProxy(t *testing.T, address, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an interrupt may be ignored
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, timeout, 20*time.Millisecond)
}

func TestProxiesPassLargeRecordingsAndEvents(t *testing.T) {
	t.Parallel()
	for _, proxy := range []struct {
		name, path string
		start      func(t *testing.T, program, backend string) (address string)
	}{
		{"nginx", "/teach", func(t *testing.T, program, backend string) string {
			address, dir := freeAddress(t), t.TempDir()
			block := edited(t, "nginx.conf", "127.0.0.1:8080", backend, "listen 443 ssl;", "listen "+address+";",
				"ssl_certificate     /etc/ssl/certs/feedback.pem;", "",
				"ssl_certificate_key /etc/ssl/private/feedback.key;", "")
			whole := "error_log stderr;\npid pid;\nevents {}\nhttp {\naccess_log off;\n" + block + "}\n"
			if os.Geteuid() == 0 {
				whole = "user root;\n" + whole // the directory is ours
			}
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				whole = strings.Replace(whole, "access_log off;\n", "access_log off;\n"+kind+"_temp_path temp-"+kind+
					";\n", 1)
			}
			file := filepath.Join(dir, "nginx.conf")
			require.NoError(t, os.WriteFile(file, []byte(whole), 0o600))
			out, err := exec.Command(program, "-t", "-p", dir, "-c", file).CombinedOutput()
			require.NoError(t, err, string(out))
			runProxy(t, address, program, "-p", dir, "-c", file, "-g", "daemon off;")
			return address
		}},
		{"haproxy", "", func(t *testing.T, program, backend string) string {
			address, file := freeAddress(t), filepath.Join(t.TempDir(), "haproxy.cfg")
			text := edited(t, "haproxy.cfg", "127.0.0.1:8080", backend,
				"bind :443 ssl crt /etc/haproxy/feedback.pem", "bind "+address)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := exec.Command(program, "-c", "-f", file).CombinedOutput()
			require.NoError(t, err, string(out))
			runProxy(t, address, program, "-db", "-f", file)
			return address
		}},
	} {
		t.Run(proxy.name, func(t *testing.T) {
			t.Parallel()
			program := installedProgram(t, proxy.name)
			s := onSQLite(t, server.RoleAPI, "BASE_PATH", proxy.path, "TRUSTED_PROXIES", "127.0.0.1")
			address := proxy.start(t, program, serve(t, s))
			c := feedbackclient.Development("http://"+address+proxy.path, "someone")
			require.Eventually(t, func() bool { _, err := c.Me(t.Context()); return err == nil }, timeout,
				50*time.Millisecond, "haproxy first checks the server")
			answer, err := http.Get("http://" + address + proxy.path + "/health")
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, "max-age=31536000", answer.Header.Get("Strict-Transport-Security"))
			p, err := c.EnsureProfile(t.Context(), "Someone")
			require.NoError(t, err)
			session, err := c.OpenSession(t.Context(), p.ID)
			require.NoError(t, err)

			events := make(chan feedbackclient.Event, 1)
			go func() {
				for event, err := range c.Follow(t.Context(), session.ID, "0") {
					if err == nil {
						events <- event
					}
					return
				}
			}()
			lesson, err := c.StartLesson(t.Context(), session.ID)
			require.NoError(t, err)
			select {
			case event := <-events:
				require.Equal(t, lesson.ID, event.Lesson.ID)
			case <-time.After(timeout):
				require.Fail(t, "the proxy keeps events back")
			}

			speech, err := os.ReadFile("../../internal/demo/speech/lesson1-segment1.mp3")
			require.NoError(t, err)
			const largest = 128 << 20
			recording := bytes.Repeat(speech, largest/len(speech)+1)[:largest]
			segment, err := c.Upload(t.Context(), lesson.ID, 0, "a.mp3", recording)
			require.NoError(t, err)
			require.Equal(t, "queued", segment.State)
		})
	}
}

var link = regexp.MustCompile(`(?:href|src|action)="([^"#]+)"`)

// followLinks fetches a page and everything that it links to, one step away, all of which must be
// there.
func followLinks(t *testing.T, h http.Handler, page string, visit func(path string)) {
	t.Helper()
	base, err := url.Parse(page)
	require.NoError(t, err)
	operator := basic("operator", operatorPassword)
	answer := get(h, base.Path, operator)
	require.Equal(t, http.StatusOK, answer.Code, page)
	links := link.FindAllStringSubmatch(answer.Body.String(), -1)
	require.NotEmpty(t, links)
	for _, l := range links {
		to, err := base.Parse(html.UnescapeString(l[1]))
		require.NoError(t, err)
		if to.Scheme == "data" {
			continue
		}
		visit(to.Path)
		status := get(h, to.RequestURI(), operator).Code // a form may be refused without its fields
		require.True(t, status == http.StatusOK || status == http.StatusBadRequest, "%s: %d", to, status)
	}
}

func TestEverythingWorksBelowAPath(t *testing.T) {
	t.Parallel()
	s := onSQLite(t, server.RoleAll, "OPERATOR_PASSWORD", operatorPassword, "BASE_PATH", "/teach")
	answer := get(s.Handler(), "/teach")
	require.Equal(t, http.StatusPermanentRedirect, answer.Code)
	require.Equal(t, "/teach/", answer.Header().Get("Location"))

	passedOn := s.Handler()
	removed := http.StripPrefix("/teach", s.Handler())
	for name, proxy := range map[string]http.Handler{"passed on": passedOn, "removed": removed} {
		var visited []string
		followLinks(t, proxy, "http://host/teach/", func(path string) {
			require.True(t, strings.HasPrefix(path, "/teach/"), "%s: %s leaves the path", name, path)
			visited = append(visited, path)
		})
		followLinks(t, proxy, "http://host/teach/admin/queue/", func(path string) {
			require.True(t, strings.HasPrefix(path, "/teach/admin/queue/"), "%s: %s leaves the path", name, path)
			visited = append(visited, path)
		})
		for _, path := range []string{"/teach/scalar", "/teach/openapi.json"} { // to which no page leads
			require.Equal(t, http.StatusOK, get(proxy, path).Code, path)
		}
		followLinks(t, proxy, "http://host/teach/scalar", func(path string) {
			require.True(t, strings.HasPrefix(path, "/teach/"), "%s: %s leaves the path", name, path)
		})
		require.Contains(t, visited, "/teach/admin/queue/style.css")
		for from, to := range map[string]string{"/teach/admin/queue": "queue/", "/teach/scalar/": "../scalar"} {
			answer := get(proxy, from, basic("operator", operatorPassword))
			require.Equal(t, http.StatusPermanentRedirect, answer.Code)
			require.Equal(t, to, answer.Header().Get("Location"))
		}
		require.Contains(t, get(proxy, "/teach/openapi.json").Body.String(), `"servers":[{"url":"/teach"}]`)
		require.Equal(t, http.StatusOK, get(proxy, "/teach/api/v1/auth/me").Code)
	}
}

func TestOpsAddrTakesMetricsAndQueueAway(t *testing.T) {
	t.Parallel()
	ops := freeAddress(t)
	s := newServer(t, server.RoleAll, map[string]string{
		"DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "x.db"), "OPERATOR_PASSWORD": operatorPassword,
		"OPS_ADDR": ops, "BASE_PATH": "/teach",
	})
	address := serve(t, s)
	fetch := func(url, password string) (status int, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.SetBasicAuth("operator", password)
		require.Eventually(t, func() bool {
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			defer resp.Body.Close()
			content, err := io.ReadAll(resp.Body)
			status, body = resp.StatusCode, string(content)
			return err == nil
		}, timeout, 10*time.Millisecond, url)
		return status, body
	}
	statusOf := func(url string) int {
		status, _ := fetch(url, operatorPassword)
		return status
	}
	for _, path := range []string{"/metrics", "/admin/queue/", "/admin/queue/style.css"} {
		require.Equal(t, http.StatusOK, statusOf("http://"+ops+path), path)
		require.Equal(t, http.StatusNotFound, statusOf("http://"+address+path), path)
	}
	require.Equal(t, http.StatusNotFound, statusOf("http://"+ops+"/api/v1/profiles"))
	_, state := fetch("http://"+address+"/teach/health", operatorPassword)
	require.NotContains(t, state, "free_bytes", "details are not for the address that everybody reaches")
	require.Contains(t, state, "speech_available")
	requireSlowed(t, func(password string) bool {
		status, state := fetch("http://"+ops+"/health", password)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, state, "speech_available")
		return strings.Contains(state, "free_bytes")
	})
	require.Equal(t, http.StatusTooManyRequests, statusOf("http://"+ops+"/admin/queue/"))

	taken := newServer(t, server.RoleAll, map[string]string{"OPS_ADDR": ops})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.ErrorContains(t, taken.Run(t.Context(), l), "OPS_ADDR: ")
	for _, bad := range []string{"nonsense", "127.0.0.1:8080"} {
		_, err = server.ParseConfig(map[string]string{"OPS_ADDR": bad})
		require.ErrorContains(t, err, "OPS_ADDR: must be", bad)
	}
	for _, bad := range []string{"teach", "/teach/", "//", "/a b", `/a"b`} {
		_, err = server.ParseConfig(map[string]string{"BASE_PATH": bad})
		require.ErrorContains(t, err, "BASE_PATH: must be", bad)
	}
}
