package miniapp_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// config is for a client of p.
func config(p *authtest.Platform) miniapp.Config {
	return miniapp.Config{AppID: p.AppID, Secret: p.Secret, Endpoint: p.Endpoint()}
}

func newClient(t testing.TB, c miniapp.Config) *miniapp.Client {
	t.Helper()
	client, err := miniapp.New(c)
	require.NoError(t, err)
	return client
}

func TestACodeBecomesItsUser(t *testing.T) {
	t.Parallel()
	p := authtest.NewPlatform(t)
	client := newClient(t, config(p))
	id, err := client.Exchange(t.Context(), p.Code(authtest.User{OpenID: "o-1", UnionID: "u-1"}))
	require.NoError(t, err)
	require.Equal(t, auth.Identity{Platform: "miniapp", AppID: p.AppID, Subject: "o-1", UnionID: "u-1"}, id)
	id, err = client.Exchange(t.Context(), p.Code(authtest.User{OpenID: "o-2"}))
	require.NoError(t, err)
	require.Equal(t, auth.Identity{Platform: "miniapp", AppID: p.AppID, Subject: "o-2"}, id)

	c := config(p)
	c.Platform = "other"
	id, err = newClient(t, c).Exchange(t.Context(), p.Code(authtest.User{OpenID: "o-1"}))
	require.NoError(t, err)
	require.Equal(t, "other", id.Platform)
}

func requireKind(t *testing.T, err, kind error, platformCode string) *auth.ExchangeError {
	t.Helper()
	var e *auth.ExchangeError
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Equal(t, platformCode, e.PlatformCode)
	return e
}

func TestSuccessIsNoErrorCodeOrZero(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"openid":"o"}`, `{"openid":"o","errcode":0}`, `{"openid":"o","errcode":0,"errmsg":"ok","expires_in":7200}`,
		`{"openid":"o","errcode":null,"unionid":null}`, ` {"openid":"o","session_key":"k","unionid":""} `,
	} {
		p := authtest.NewPlatform(t)
		p.Behave(authtest.Text(200, body))
		id, err := newClient(t, config(p)).Exchange(t.Context(), "code")
		require.NoError(t, err, body)
		require.Equal(t, "o", id.Subject)
	}
}

// A platform that ends a connection it kept open, just as the next request
// comes, is where net/http sends a request twice by itself.
func TestACodeArrivesOnceOverDyingConnections(t *testing.T) {
	t.Parallel()
	var arrived, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if arrived.Load() > 1 { // the connection was good for one answer
			panic(http.ErrAbortHandler)
		}
		w.Write([]byte(`{"openid":"o"}`))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := newClient(t, miniapp.Config{AppID: "a", Secret: "s", Endpoint: server.URL})
	_, err := client.Exchange(t.Context(), "first")
	require.NoError(t, err)
	_, err = client.Exchange(t.Context(), "second")
	requireKind(t, err, auth.ErrPlatform, "")
	require.EqualValues(t, 2, arrived.Load(), "each code is sent once")
	require.EqualValues(t, 2, connections.Load(), "each exchange has a connection")
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		w.Write([]byte(`{"openid":"o"}`))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		p := authtest.NewPlatform(t)
		p.Behave(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		_, err := newClient(t, config(p)).Exchange(t.Context(), "code")
		requireKind(t, err, auth.ErrPlatform, "")
	}
	require.Zero(t, elsewhere.Load(), "code and secret went elsewhere")
}

func TestMalformedCodesAreNotSent(t *testing.T) {
	t.Parallel()
	p := authtest.NewPlatform(t)
	for _, code := range []string{
		"x&appid=other", "a b", "a+c%20", `"},{"`, "ä#?/", "a=b", "a\n", strings.Repeat("a", 129),
	} {
		_, err := newClient(t, config(p)).Exchange(t.Context(), code)
		require.ErrorIs(t, err, auth.ErrCodeRejected, "%q", code)
	}
	require.Zero(t, p.Exchanges())
}

func TestClientIsAnExchanger(t *testing.T) {
	t.Parallel()
	authtest.ExchangerSuite(t, func(t *testing.T) authtest.ExchangerTarget {
		p := authtest.NewPlatform(t)
		return authtest.ExchangerTarget{
			Exchanger: newClient(t, config(p)),
			Code:      func(user string) string { return p.Code(authtest.User{OpenID: user}) },
			Behave:    p.Behave,
			Secrets:   []string{p.Secret},
		}
	})
}
