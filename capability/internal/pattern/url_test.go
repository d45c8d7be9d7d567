package pattern

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestURLVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"https://tauri.app", []string{"https://tauri.app/any/path?q=1#h", "https://user:pw@tauri.app/"},
			[]string{"https://tauri.app:8443/", "http://tauri.app/"}},
		{"https://tauri.app/", []string{"https://tauri.app/any/path"}, nil},
		{"https://*.tauri.app", []string{"https://a.b.tauri.app/x"}, []string{"https://tauri.app/"}},
		{"http://*.tauri.app", []string{"http://api.tauri.app"}, []string{"http://tauri.app"}},
		{"http://*", []string{"http://tauri.app/path?q=1", "http://localhost/path"}, []string{"https://tauri.app"}},
		{"https://*", []string{"https://example.com/x"}, []string{"https://example.com:8080/x"}},
		{"https://*/*", nil, []string{"https://example.com:8080/x"}},
		{"https://*:*", []string{"https://example.com:8080/x", "https://example.com/"}, nil},
		{"http://tauri.*", []string{"http://tauri.studio"}, nil},
		{`https://a.com/\?q=1`, []string{"https://a.com/?q=1"}, []string{"https://a.com/?q=2"}},
		{"http://localhost:*", []string{"http://localhost:1420/x", "http://localhost/x"}, nil},
		{"http://localhost:3000/*", []string{"http://localhost:3000/a/b"}, nil},
		{"http://localhost:3000/**", []string{"http://localhost:3000/a/b"}, nil},
		{"https://mydomain.dev/api/*", []string{"https://mydomain.dev/api/users"},
			[]string{"https://mydomain.dev/api"}},
		{"https://mydomain.dev/api", []string{"https://mydomain.dev/api?x=1"}, []string{"https://mydomain.dev/api/"}},
		{"*://localhost", []string{"custom://localhost/path", "http://localhost/", "https://localhost/"},
			[]string{"http://localhost:1420/"}},
		{"*://*", []string{"http://a.b/"}, []string{"http://a.b:99/"}},
		{"*", []string{"https://x.y/"}, nil},
		{"/path", []string{"https://tauri.app/path"}, []string{"https://tauri.app/other"}},
		{"https://EXAMPLE.com", []string{"https://example.com/"}, nil},
		{"https://exämple.de", []string{"https://xn--exmple-cua.de/"}, nil},
		{"file://*", []string{"file:///etc/passwd"}, nil},
		{"asset://localhost/*", []string{"asset://localhost/a"}, nil},
		{"app://*", []string{"app://anything/x"}, nil},
		{`https://[\:\:1]`, []string{"https://[::1]/x"}, nil},
		{"https://a.com:443", []string{"https://a.com/"}, []string{"https://a.com:8443/"}},
		{"http://127.0.0.1:8080", []string{"http://127.0.0.1:8080/x"}, []string{"http://127.0.0.1/"}},
	} {
		p, err := CompileURL(c.pattern)
		require.NoError(t, err, c.pattern)
		require.Equal(t, c.pattern, p.String())
		for _, url := range c.yes {
			require.True(t, p.Match(address(t, url)), "%s on %s", c.pattern, url)
		}
		for _, url := range c.no {
			require.False(t, p.Match(address(t, url)), "%s on %s", c.pattern, url)
		}
	}
}

func address(t testing.TB, url string) Address {
	t.Helper()
	o, err := ParseAddress(url)
	require.NoError(t, err)
	return o
}

func TestURLErrorsSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"https://[::1]:*/*":    `[\:\:1]`,
		"https://a.com/{b":     "brace",
		"https://a.com/(b":     "parenthesis",
		"https://a.com:99999/": "up to 65535",
		"*0/..":                `".."`,
		"https://a.com/*b/..":  `".."`,
	} {
		_, err := CompileURL(pattern)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "urlpattern.")
	}
	_, err := ParseAddress("nonsense")
	require.ErrorContains(t, err, "https://example.com/page")
}

// The short way and the pattern library agree, on whether a pattern is one and on what it matches.
func TestTheShortWayAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	label := func() string {
		return pick("*", "a", "ab", "a-b", "x1", "1x", "com", "a*", "*a", "a*b", "localhost", "xn--a", "1", "127",
			"0x1f", "é", "A", "-a", "")
	}
	segment := func() string {
		return pick("", "*", "a", "api", "v1.2", "a*", "*b", "**", ".", "..", ".well-known", "%41", "a_b", "a~", "é",
			":id", "a.", "*.x", "a..b")
	}
	simple := 0
	for range 25_000 {
		var host, path []string
		for range 1 + r.IntN(3) {
			host = append(host, label())
		}
		for range r.IntN(4) {
			path = append(path, segment())
		}
		pattern := pick("http", "https", "*", "app") + "://" + strings.Join(host, ".") + pick("", "", ":*", ":80",
			":443", ":8080", ":0", ":080", ":65536", ":1*")
		if len(path) > 0 {
			pattern += "/" + strings.Join(path, "/")
		}
		short := compileSimple(pattern)
		if short == nil {
			continue
		}
		simple++
		full, err := compileFull(pattern)
		require.NoError(t, err, pattern)
		for range 6 {
			fill := func(s string) string {
				for strings.Contains(s, "*") {
					s = strings.Replace(s, "*", pick("", "x", "a.b", "x/y", "%20", "-"), 1)
				}
				return s
			}
			url := pick(fill(short.protocol), "http", "https", "app") + "://" + pick("", "", "u:p@") +
				fill(strings.Join(host, "."))
			if port := pick(short.port, "", "80", "443", "9"); port != "" && port != "*" {
				url += ":" + port
			}
			url += pick("", "/", fill(short.path), "/"+strings.Join(path, "/"), "/api") + pick("", "", "?q=/x", "#h",
				"?q#h")
			o, err := ParseAddress(url)
			if err != nil {
				continue
			}
			require.Equal(t, full.Match(o), short.Match(o), "%s on %s", pattern, url)
		}
	}
	require.Greater(t, simple, 1000)
}
