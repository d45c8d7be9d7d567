package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"math"
	"net/http"
	"strconv"

	"lessonkit.example/auth/authhttp"
)

// operator tells who has the operator's password, by HTTP Basic authentication with any user name.
type operator struct {
	password string // if empty, nobody is the operator
	attempts *authhttp.Limiter
	log      *slog.Logger
}

// Wrong passwords of one client, in this process.
const (
	wrongPasswordsPerMinute = 6
	wrongPasswordsAtOnce    = 20
)

func newOperator(c Config, log *slog.Logger) *operator {
	return &operator{password: c.OperatorPassword, log: log, attempts: authhttp.NewLimiter(authhttp.Config{
		LoginsPerMinute: wrongPasswordsPerMinute, LoginBurst: wrongPasswordsAtOnce, TrustedProxies: c.TrustedProxies,
	})}
}

// signIn reports whether a request has the password, and logs a wrong one. A client that has sent
// too many must wait for as many seconds, in which no password is compared. It compares hashes, in
// constant time, so that the time tells neither the password nor its length.
func (o *operator) signIn(r *http.Request) (ok bool, wait int) {
	_, given, sent := r.BasicAuth()
	if !sent || o.password == "" {
		return false, 0
	}
	giveBack, left := o.attempts.Take(r)
	if left > 0 {
		return false, int(math.Ceil(left.Seconds()))
	}
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(o.password))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		o.log.WarnContext(r.Context(), "wrong operator's password", "path", r.URL.Path, "client", o.attempts.Client(r))
		return false, 0
	}
	giveBack()
	return true, 0
}

// require lets the operator's requests through.
func (o *operator) require(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, wait := o.signIn(r)
		if ok {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(wait))
			http.Error(w, "Too many wrong passwords. Try again later.", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="operator", charset="UTF-8"`)
		http.Error(w, "The operator's password is required.", http.StatusUnauthorized)
	})
}
