package miniapp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// leaks reports whether text contains any of the secrets, verbatim or escaped.
func leaks(text string, secrets ...string) bool {
	for _, s := range secrets {
		if strings.Contains(text, s) || strings.Contains(text, url.QueryEscape(s)) {
			return true
		}
	}
	return false
}

// Whatever goes wrong, the secret and the code are in no error, no log line and
// no trace.
func TestNeitherSecretNorCodeIsTold(t *testing.T) {
	t.Parallel()
	moods := map[string]http.HandlerFunc{
		"works": nil, "refuses": authtest.ErrorCode(40029), "misconfigured": authtest.ErrorCode(40125),
		"cuts": authtest.Cut, "cuts short": authtest.CutShort, "hangs": authtest.Hang(nil), "echoes": authtest.Echo,
		"echoes as no HTTP": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "%s %s\r\n\r\n", r.URL.RawQuery, r.URL.Query().Get("secret"))
				conn.Close()
			}
		},
		"echoes in a header": func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", r.URL.Query().Get("secret"))
				conn.Close()
			}
		},
		"echoes in a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://[::1]:namedport/?"+r.URL.RawQuery, http.StatusFound)
		},
	}
	for name, mood := range moods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := authtest.NewPlatform(t)
			p.Secret = "sec/ret+" + rand.Text() // changes when it is escaped
			p.Behave(mood)
			c := config(p)
			client := newClient(t, c)
			code := p.Code(authtest.User{OpenID: "the-user"})

			var log, traced bytes.Buffer
			logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
				GetConn:          func(hostPort string) { fmt.Fprint(&traced, hostPort) },
				WroteHeaderField: func(key string, value []string) { fmt.Fprint(&traced, key, value) },
			})
			_, err := client.Exchange(ctx, code)
			text := fmt.Sprintf("%v|%+v|%#v|%s", err, err, err, err)
			for e := err; e != nil; { // each wrapped error by itself
				text += fmt.Sprintf("|%#v", e)
				u, ok := e.(interface{ Unwrap() []error })
				if !ok || len(u.Unwrap()) < 2 {
					break
				}
				e = u.Unwrap()[1]
			}
			logger.Error("failed", "error", err, "client", client, "config", c)
			require.False(t, leaks(text, p.Secret, code), text)
			require.False(t, leaks(log.String(), p.Secret, code), log.String())
			require.False(t, leaks(traced.String(), p.Secret, code), traced.String())
		})
	}
}

func TestPrintingOmitsTheSecret(t *testing.T) {
	t.Parallel()
	c := miniapp.Config{AppID: "the-app", Secret: "TOPSECRET"}
	client := newClient(t, c)
	for _, v := range []any{c, &c, client, *client, []miniapp.Config{c}, struct{ C miniapp.Config }{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, v)
			require.NotContains(t, text, "TOPSECRET", verb)
			require.NotContains(t, strings.ToLower(text), "544f50534543524554", verb)
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("text", "config", c, "client", client)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("JSON", "config", c, "client", client)
	require.NotContains(t, log.String(), "TOPSECRET")
	require.Equal(t, 2, strings.Count(log.String(), "the-app"), log.String())
}

func TestNewRejectsInvalidConfigurations(t *testing.T) {
	t.Parallel()
	good := miniapp.Config{AppID: "a", Secret: "TOPSECRET"}
	for want, change := range map[string]func(*miniapp.Config){
		"AppID and Config.Secret":       func(c *miniapp.Config) { c.AppID = "" },
		"Secret are both required":      func(c *miniapp.Config) { c.Secret = "" },
		"not an absolute URL":           func(c *miniapp.Config) { c.Endpoint = "/sns" },
		"not an absolute":               func(c *miniapp.Config) { c.Endpoint = "https://a b/" },
		"query, fragment or user":       func(c *miniapp.Config) { c.Endpoint = "https://h/?secret=1" },
		"has a query, fragment":         func(c *miniapp.Config) { c.Endpoint = "https://u:p@h/" },
		`scheme "http", must be https`:  func(c *miniapp.Config) { c.Endpoint = "http://platform.example/" },
		`scheme "ftp", must be https`:   func(c *miniapp.Config) { c.Endpoint = "ftp://127.0.0.1/" },
		`scheme "http", must be https:`: func(c *miniapp.Config) { c.Endpoint = "http://127.0.0.1.platform.example/" },
	} {
		c := good
		change(&c)
		_, err := miniapp.New(c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "TOPSECRET")
	}
	for _, endpoint := range []string{"", "https://platform.example/x", "http://127.0.0.1:1/x", "http://[::1]/",
		"http://localhost/"} {
		c := good
		c.Endpoint = endpoint
		_, err := miniapp.New(c)
		require.NoError(t, err, endpoint)
	}
}

// On HTTP/2, net/http sends a request again that a server has refused to process.
func TestHTTP2IsNotOffered(t *testing.T) {
	t.Parallel()
	var offered []string
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		offered = append(hello.SupportedProtos, "anything else")
		return nil, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused certificate is wanted
	server.StartTLS()
	defer server.Close()
	_, err := newClient(t, miniapp.Config{AppID: "a", Secret: "s", Endpoint: server.URL}).Exchange(t.Context(), "code")
	require.ErrorIs(t, err, auth.ErrPlatform, "an unknown certificate is rejected")
	require.ErrorContains(t, err, "certificate")
	server.Close()
	require.Contains(t, offered, "anything else")
	require.NotContains(t, offered, "h2")
}
