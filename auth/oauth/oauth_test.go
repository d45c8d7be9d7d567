package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/oauth"
	"lessonkit.example/internal/oauthtest"
)

const verifier = "a-verifier-of-at-least-43-letters-._~0123456789"

// newClient returns a client of a server, whose addresses change may replace.
func newClient(t *testing.T, change ...func(*oauth.Config)) (*oauthtest.Server, *oauth.Client) {
	t.Helper()
	s := oauthtest.New()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	s.RedirectURL = "https://school.example/back"
	c := oauth.Config{ClientID: s.ClientID, ClientSecret: s.Secret, AuthURL: s.URL + "/authorize",
		TokenURL: s.URL + "/token", UserInfoURL: s.URL + "/userinfo", RedirectURL: s.RedirectURL}
	for _, f := range change {
		f(&c)
	}
	client, err := oauth.New(c)
	require.NoError(t, err)
	return s, client
}

func TestClientIsAnExchanger(t *testing.T) {
	t.Parallel()
	authtest.ExchangerSuite(t, func(t *testing.T) authtest.ExchangerTarget {
		s, client := newClient(t)
		return authtest.ExchangerTarget{
			Exchanger: client,
			Code: func(user string) string {
				return verifier + " " + s.Issue(oauthtest.Challenge(verifier), user)
			},
			Behave:  s.Behave,
			Secrets: []string{s.Secret, url.QueryEscape(s.Secret), verifier},
		}
	})
}

func TestCodeIsOfNoUseWithoutItsVerifier(t *testing.T) {
	t.Parallel()
	s, client := newClient(t)
	for _, other := range []string{"", verifier + "x", oauthtest.Challenge(verifier)} {
		_, err := client.Exchange(t.Context(), other+" "+s.Issue(oauthtest.Challenge(verifier), "Anna"))
		require.ErrorIs(t, err, auth.ErrCodeRejected, other)
	}
}

func TestRefusedCredentialsAreTheOperators(t *testing.T) {
	t.Parallel()
	s, client := newClient(t, func(c *oauth.Config) { c.ClientSecret = "old" })
	_, err := client.Exchange(t.Context(), verifier+" "+s.Issue(oauthtest.Challenge(verifier), "Anna"))
	require.ErrorIs(t, err, auth.ErrMisconfigured)
	require.NotContains(t, fmt.Sprintf("%v %+v", err, client), "old")
}

// An operator learns why nobody can sign in, without what the server says in its own words.
func TestOtherRefusalsAreExplained(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for want, mood := range map[string]http.HandlerFunc{
		"(platform code invalid_request): TokenURL answered with status 400": answer(400,
			`{"error":"invalid_request","error_description":"secret words"}`),
		"valid answer: TokenURL answered with status 500":      answer(500, `{"error":"secret words"}`),
		"TokenURL did not answer with a token":                 answer(200, `{"id_token":"secret words"}`),
		"UserInfoURL answered with status 200, without a user": answer(200, `{"access_token":"secret words"}`),
		"cannot reach the platform: dial tcp 127.0.0.1:1":      nil,
	} {
		s, client := newClient(t, func(c *oauth.Config) {
			if mood == nil {
				c.TokenURL = "http://127.0.0.1:1/token"
			}
		})
		s.Behave(mood)
		_, err := client.Exchange(t.Context(), verifier+" code")
		require.ErrorIs(t, err, auth.ErrPlatform)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret words")
	}
}

// What breaks off because the call ends is not an answer without a user.
func TestAnAnswerThatBreaksOffIsNoRefusal(t *testing.T) {
	t.Parallel()
	s, client := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Behave(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"x","token_type":"Bearer"`)
		if r.URL.Path == "/userinfo" {
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		}
		fmt.Fprint(w, "}")
	})
	_, err := client.Exchange(ctx, verifier+" code")
	require.ErrorIs(t, err, context.Canceled)
}

// Users may be able to set other claims of their own.
func TestTheUserIsTheClaimSub(t *testing.T) {
	t.Parallel()
	for claims, want := range map[string]string{
		`"sub":"u-1"`:             "u-1",
		`"sub":"u-1","Sub":"u-2"`: "u-1",
		`"SUB":"u-2","sub":"u-1"`: "u-1",
		`"Sub":"u-2"`:             "",
		`"sub":1`:                 "",
		`"sub":null`:              "",
	} {
		s, client := newClient(t)
		s.Behave(func(w http.ResponseWriter, _ *http.Request) { // of both endpoints
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":"x","token_type":"Bearer",%s}`, claims)
		})
		id, err := client.Exchange(t.Context(), verifier+" code")
		require.Equal(t, want, id.Subject, claims)
		require.Equal(t, want == "", errors.Is(err, auth.ErrPlatform), claims)
	}
}

func TestUsersOfAnotherServerAreOthers(t *testing.T) {
	t.Parallel()
	var found []auth.Identity
	for range 2 {
		s, client := newClient(t)
		id, err := client.Exchange(t.Context(), verifier+" "+s.Issue(oauthtest.Challenge(verifier), "Anna"))
		require.NoError(t, err)
		found = append(found, id)
	}
	require.Equal(t, found[0].Subject, found[1].Subject)
	require.NotEqual(t, found[0].Platform, found[1].Platform)
}

func TestPrintingOmitsTheSecret(t *testing.T) {
	t.Parallel()
	c := oauth.Config{ClientID: "the-client", ClientSecret: "TOPSECRET"}
	var text, out bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("text", "config", c)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("JSON", "config", c)
	for _, text := range []string{text.String(), out.String(), fmt.Sprintf("%v %+v %#v %x", c, &c, c, c)} {
		require.Contains(t, text, "the-client")
		require.NotContains(t, text, "TOPSECRET")
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := oauth.Config{ClientID: "lessons", ClientSecret: "secret", AuthURL: "https://id.example/a",
		TokenURL: "https://id.example/t", UserInfoURL: "https://id.example/u",
		RedirectURL: "http://localhost:8080/back"}
	_, err := oauth.New(good)
	require.NoError(t, err)
	for message, change := range map[string]func(*oauth.Config){
		"ClientSecret":            func(c *oauth.Config) { c.ClientSecret = "" },
		"AuthURL is not":          func(c *oauth.Config) { c.AuthURL = "http://id.example/a" },
		"TokenURL is not":         func(c *oauth.Config) { c.TokenURL = "id.example/t" },
		"UserInfoURL is not":      func(c *oauth.Config) { c.UserInfoURL = "" },
		"RedirectURL is not":      func(c *oauth.Config) { c.RedirectURL = "https://school.example/#back" },
		"too long or not printab": func(c *oauth.Config) { c.ClientID = "two words" },
	} {
		bad := good
		change(&bad)
		_, err := oauth.New(bad)
		require.ErrorContains(t, err, message)
	}
}
