package authhttp

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// Cookie keeps the session tokens of browsers in a cookie that scripts cannot read, and refuses
// requests by which other sites would use it (CSRF). Its zero value is ready. It is safe for
// concurrent use.
type Cookie struct {
	// Name is the name of the cookie. Defaults to "__Host-session", which browsers accept from this
	// host only, over https, for all of its paths (RFC 6265bis, section 4.1.3.2); with Insecure to
	// "session".
	Name string
	// Insecure sends the cookie over http too. It is for development.
	Insecure bool
}

// Handler returns a handler that passes the token of the cookie on to next as a bearer token, so
// that [Middleware], [Authenticate] and the operations of [Register] accept it. It belongs around
// all handlers that the cookie is for.
//
// A request with a bearer token is passed on as it is, and its cookie is ignored: another site
// cannot add that header, and browsers do not repeat it by themselves, as they do with Basic. A
// cookie replaces another Authorization header. Of all other requests, those that may change data
// (all but GET, HEAD and OPTIONS) are refused with 403 cross_origin_refused unless they come from
// a page of this host or not from a browser, as [http.CrossOriginProtection] determines by
// Sec-Fetch-Site and Origin. So is a sign-in, or another site could sign a user in as somebody
// else. SameSite=Lax is a second line of defence. Handlers must not change anything on a GET.
func (c *Cookie) Handler(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(w.Header().Values("Vary"), "Cookie") { // of another Handler around this one
			w.Header().Add("Vary", "Cookie")
		}
		if _, err := bearerToken(r.Header); !errors.Is(err, errNoToken) {
			next.ServeHTTP(w, r)
			return
		}
		if err := protection.Check(r); err != nil {
			httpapi.WriteError(w, r, problem(http.StatusForbidden, "cross_origin_refused",
				"Requests that may change something must come from a page of this server."))
			return
		}
		if token := c.token(r); token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		next.ServeHTTP(w, r)
	})
}

// token returns the session token in the cookie of a request, or "" without one.
func (c *Cookie) token(r *http.Request) string {
	// Of two cookies of one name, one was set by somebody else.
	if cookies := r.CookiesNamed(c.name()); len(cookies) == 1 {
		return cookies[0].Value
	}
	return ""
}

// Of returns the cookie of a sign-in, for [http.SetCookie] in a program that calls the
// [auth.Service] itself.
func (c *Cookie) Of(login auth.Login) *http.Cookie {
	cookie := c.deleted()
	cookie.Value = login.Token
	cookie.MaxAge = max(1, int(login.ExpiresAt.Sub(login.CreatedAt)/time.Second))
	return cookie
}

// deleted returns the cookie that deletes the one that is set.
func (c *Cookie) deleted() *http.Cookie {
	return &http.Cookie{
		Name: c.name(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: !c.Insecure, SameSite: http.SameSiteLaxMode,
	}
}

func (c *Cookie) name() string {
	if c.Insecure {
		return cmp.Or(c.Name, "session")
	}
	return cmp.Or(c.Name, "__Host-session")
}
