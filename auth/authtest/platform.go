package authtest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// Platform is a fake mini-program platform. It serves the jscode2session interface on a loopback
// address, checks credentials, and accepts each login code once. It is safe for concurrent use.
type Platform struct {
	// AppID and Secret are the credentials that it accepts.
	AppID, Secret string

	server *httptest.Server

	mu    sync.Mutex
	codes map[string]*issued
	seen  map[string]int
	total int
	mood  http.HandlerFunc
}

type issued struct {
	user User
	used bool
}

// User is the user that a code belongs to.
type User struct {
	OpenID  string
	UnionID string // omitted from the answer if ""
}

// NewPlatform starts a platform that is closed at the end of the test.
func NewPlatform(t testing.TB) *Platform {
	t.Helper()
	p := StartPlatform()
	t.Cleanup(p.Close)
	return p
}

// StartPlatform starts a platform. The caller closes it.
func StartPlatform() *Platform {
	p := &Platform{
		AppID:  "app-" + rand.Text()[:8],
		Secret: "secret-" + rand.Text(),
		codes:  map[string]*issued{},
		seen:   map[string]int{},
	}
	p.server = httptest.NewServer(p)
	return p
}

// Close stops the platform and the requests in progress.
func (p *Platform) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

const path = "/sns/jscode2session"

// Endpoint returns the URL for miniapp.Config.Endpoint.
func (p *Platform) Endpoint() string { return p.server.URL + path }

// Code issues a login code for a user, as the platform does to the mini program.
func (p *Platform) Code(u User) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = &issued{user: u}
	return code
}

// Behave makes the platform answer every exchange by mood, such as [ErrorCode], [Hang], [Cut] or
// [Text]. Nil restores the normal behavior.
func (p *Platform) Behave(mood http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mood = mood
}

// Seen returns how often a code was received.
func (p *Platform) Seen(code string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[code]
}

// Exchanges returns how many requests were received.
func (p *Platform) Exchanges() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// ServeHTTP implements [http.Handler].
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path || r.Method != http.MethodGet {
		http.NotFound(w, r)
		return
	}
	code := r.URL.Query().Get("js_code")
	p.mu.Lock()
	p.total++
	p.seen[code]++
	mood := p.mood
	p.mu.Unlock()
	if mood != nil {
		mood(w, r)
		return
	}
	if wrong := p.wrong(r.URL.Query()); wrong != 0 {
		ErrorCode(wrong)(w, r)
		return
	}
	p.answer(w, r, code)
}

// wrong returns the error code of an invalid exchange, or 0.
func (p *Platform) wrong(query url.Values) int {
	appID, secret := query.Get("appid"), query.Get("secret")
	switch {
	case appID == "":
		return 41002
	case secret == "":
		return 41004
	case query.Get("js_code") == "":
		return 41008
	case query.Get("grant_type") != "authorization_code":
		return 40002
	case appID != p.AppID:
		return 40013
	case secret != p.Secret:
		return 40125
	}
	return 0
}

func (p *Platform) answer(w http.ResponseWriter, r *http.Request, code string) {
	p.mu.Lock()
	c := p.codes[code]
	wasUsed := c != nil && c.used
	if c != nil {
		c.used = true
	}
	p.mu.Unlock()
	switch {
	case c == nil:
		ErrorCode(40029)(w, r)
		return
	case wasUsed:
		ErrorCode(40163)(w, r)
		return
	}
	user := map[string]any{"openid": c.user.OpenID, "session_key": "session-key-not-used"}
	if c.user.UnionID != "" {
		user["unionid"] = c.user.UnionID
	}
	write(w, user)
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "text/plain") // as the real one does
	_ = json.NewEncoder(w).Encode(v)
}
