package authhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
)

// try signs in with a code of no value from an address, and tells whether the
// rate limit let it through.
func try(t *testing.T, b *bench, remote string, forwarded ...string) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, loginPath, strings.NewReader(`{"code":"!"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header["X-Forwarded-For"] = forwarded
	r.RemoteAddr = remote
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	if w.Code == http.StatusTooManyRequests {
		require.Contains(t, []string{"3", "1"}, w.Header().Get("Retry-After"), "a site waits for less")
		require.Contains(t, w.Body.String(), "login_rate_limited")
		return false
	}
	require.Equal(t, http.StatusUnauthorized, w.Code)
	return true
}

// burst is the default of Config.LoginBurst.
const burst = 50

func limited(t *testing.T, trusted ...netip.Prefix) *bench {
	return setup(t, options{http: func(c *authhttp.Config) { c.LoginsPerMinute, c.TrustedProxies = 0, trusted }})
}

func TestLoginsAreLimitedForEachClient(t *testing.T) {
	t.Parallel()
	b := limited(t)
	token := b.signIn(t, "anna")
	for range burst {
		require.True(t, try(t, b, "192.0.2.1:1000"))
	}
	require.False(t, try(t, b, "192.0.2.1:1001"), "the burst is spent")
	require.Equal(t, http.StatusOK, b.me(t, token).StatusCode, "logins alone are limited")
	require.True(t, try(t, b, "192.0.2.2:1000"), "another client")
	for range 20 {
		b.clock.Add(3 * time.Second)
		require.True(t, try(t, b, "192.0.2.1:1000"), "the rate is 20 a minute")
		require.False(t, try(t, b, "192.0.2.1:1000"))
	}
}

func TestBodiesThatAreRefusedCount(t *testing.T) {
	t.Parallel()
	b := limited(t)
	for range burst {
		require.Equal(t, http.StatusBadRequest, do(t, b.handler, http.MethodPost, loginPath, "{").StatusCode)
	}
	do(t, b.handler, http.MethodPost, loginPath, "{").problem(t, http.StatusTooManyRequests, "login_rate_limited")
}

func TestFaultsOfThePlatformDoNotCount(t *testing.T) {
	t.Parallel()
	b := limited(t)
	b.platform.Behave(authtest.Cut)
	for i := range 2 * burst {
		b.login(t, fmt.Sprint("code-", i)).problem(t, http.StatusBadGateway, "login_upstream_error")
	}
	b.platform.Behave(nil)
	b.signIn(t, "anna")
}

func TestIPv6ClientsCountByTheirNetwork(t *testing.T) {
	t.Parallel()
	b := limited(t)
	for i := range burst {
		require.True(t, try(t, b, fmt.Sprintf("[2001:db8:0:1::%d]:1000", i+1)))
	}
	require.False(t, try(t, b, "[2001:db8:0:1:ffff::1]:1000"))
	require.True(t, try(t, b, "[2001:db8:0:2::1]:1000"))
	for i := burst + 1; i < 10*burst; i++ {
		require.True(t, try(t, b, fmt.Sprintf("[2001:db8:0:%x::1]:1000", i+2)))
	}
	require.False(t, try(t, b, "[2001:db8:0:ffff::1]:1000"), "a site has ten times as many")
	require.True(t, try(t, b, "[2001:db8:1::1]:1000"))
	for range burst {
		require.True(t, try(t, b, "192.0.2.1:1000"))
	}
	require.False(t, try(t, b, "[::ffff:192.0.2.1]:1000"), "an IPv4 client is one client in any notation")
}

func TestForwardedAddressesOfTrustedProxies(t *testing.T) {
	t.Parallel()
	b := limited(t, netip.MustParsePrefix("10.0.0.0/8"))
	for i := range burst { // the client may send the header too: the proxy's entry counts
		require.True(t, try(t, b, "10.0.0.1:1000", fmt.Sprintf("203.0.113.%d, 198.51.100.1", i)))
	}
	require.False(t, try(t, b, "10.0.0.2:1000", "203.0.113.77", "198.51.100.1"), "another proxy, two header lines")
	require.True(t, try(t, b, "10.0.0.1:1000", "198.51.100.2"), "another client")
}

// As when the classes of a school sign in behind one address.
func TestSignInsThatSucceedDoNotCount(t *testing.T) {
	t.Parallel()
	b := limited(t)
	for i := range 5 * burst {
		b.signIn(t, fmt.Sprint("user-", i))
	}
}
