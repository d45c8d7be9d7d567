package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/miniapp"
	"lessonkit.example/auth/oauth"
	"lessonkit.example/feedback/feedbackhttp"
)

// newExchanger returns what exchanges login codes, nil if nothing is configured, and the sign-in of
// the page if that is at an OAuth 2 server.
func newExchanger(c Config) (auth.Exchanger, *authhttp.OAuth, error) {
	switch {
	case c.MiniappConfigured():
		platform, err := miniapp.New(miniapp.Config{
			AppID:    c.MiniappAppID,
			Secret:   c.MiniappAppSecret,
			Endpoint: c.MiniappAPIURL,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("MINIAPP_API_URL: %w", err)
		}
		return platform, nil, nil
	case c.OAuthConfigured():
		client, err := oauth.New(oauth.Config{
			ClientID: c.OAuthClientID, ClientSecret: c.OAuthClientSecret, AuthURL: c.OAuthAuthURL,
			TokenURL: c.OAuthTokenURL, UserInfoURL: c.OAuthUserInfoURL, RedirectURL: c.OAuthRedirectURL,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("OAUTH_CLIENT_ID and the others of OAUTH_: %w", err)
		}
		return client, &authhttp.OAuth{AuthCodeURL: client.AuthCodeURL, Page: "../../../../"}, nil
	}
	return nil, nil, nil
}

// withCookie accepts the session cookie of the page where the interface is. Operators sign in to
// the other paths by HTTP Basic, which the cookie would replace.
func withCookie(cookie *authhttp.Cookie, next http.Handler) http.Handler {
	api := cookie.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			api.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// logSignIn warns of sign-ins that are open to everybody or to nobody. That the development header
// alone is accepted, auth.New says.
func logSignIn(c Config, log *slog.Logger) {
	if !c.DevelopmentSignIn() && !c.MiniappConfigured() && !c.OAuthConfigured() {
		log.Warn("nobody can sign in: set MINIAPP_APP_ID and MINIAPP_APP_SECRET, or the variables of OAUTH_")
	}
	if c.DevelopmentSignIn() && c.MiniappConfigured() {
		log.Warn("MINIAPP_APP_ID and ALLOW_DEVELOPMENT_USER_HEADER are both set: " +
			"this is for tests with a mini program, " +
			"because everybody who reaches the server signs in without its credentials")
	}
	if c.AllowDevelopmentUser && !c.DevelopmentSignIn() {
		log.Warn("ALLOW_DEVELOPMENT_USER_HEADER is ignored, because APP_ENV is production")
	}
}

// checkDevelopmentHost refuses requests with the development header that are addressed to another
// host than this machine or one of hosts. A page on the web whose name resolves to this machine
// could send them from a developer's browser otherwise.
func checkDevelopmentHost(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(authhttp.DevelopmentHeader) != "" && !isDevelopmentHost(r.Host, hosts) {
			feedbackhttp.WriteError(w, r, feedbackhttp.Error(http.StatusForbidden, "development_host_refused",
				"the development header is accepted at localhost, at loopback addresses and at the hosts in "+
					"DEVELOPMENT_HOSTS", 0))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isDevelopmentHost reports whether a Host header names this machine or one of hosts.
func isDevelopmentHost(header string, hosts []string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.Trim(header, "[]") // there is no port
	}
	return isLoopbackHost(host) ||
		slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}
