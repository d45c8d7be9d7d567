package authhttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// OAuth configures the sign-in of browsers at a server of OAuth 2, by an authorization code with
// PKCE. GET /auth/oauth sends the browser there; GET /auth/oauth/callback, the redirect URI, takes
// it back, if it is the browser that began.
type OAuth struct {
	// AuthCodeURL returns the address at which the user signs in, for a state and a PKCE verifier.
	// It is that of the oauth.Client which is the Exchanger of the service.
	AuthCodeURL func(state, verifier string) string

	// Page is where the browser goes in the end, an address that may be relative to the callback's.
	// "#sign-in" is appended, or "#sign-in-failed=" and the code of a problem document. Defaults to
	// "/".
	Page string
}

// pendingSeconds is how long a sign-in at the server may take.
const pendingSeconds = 600

type redirectOutput struct {
	Location     string        `header:"Location"`
	CacheControl string        `header:"Cache-Control"`
	SetCookie    []http.Cookie `header:"Set-Cookie"`
}

type callbackInput struct {
	Code      string `query:"code" doc:"From the server."`
	State     string `query:"state" doc:"What the sign-in began with."`
	Error     string `query:"error" doc:"In place of a code."`
	UserAgent string `header:"User-Agent" hidden:"true"`

	header http.Header
	remote string
}

// Resolve implements huma.Resolver.
func (in *callbackInput) Resolve(ctx huma.Context) []error {
	in.header, in.remote = httpapi.Header(ctx), ctx.RemoteAddr()
	return nil
}

func (o *operations) registerOAuth() {
	operation := func(id, path, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: "/auth" + path, Tags: []string{tag},
			Summary: summary, Description: description, DefaultStatus: http.StatusSeeOther,
			Security: []map[string][]string{}, SkipValidateParams: true, // the server may add some
		}
	}
	huma.Register(o.api, operation("oauth", "/oauth", "Sign in at the OAuth 2 server",
		"For browsers: leads to the server, which leads back to the callback."), o.oauthStart)
	huma.Register(o.api, operation("oauth-callback", "/oauth/callback", "Where the OAuth 2 server leads back to",
		"Sets the session cookie and leads to the page, with `#sign-in`, or with `#sign-in-failed=` and a code."),
		o.oauthCallback)
}

// pending returns the cookie of a sign-in that has begun; without a value, it deletes that.
func (o *operations) pending(value string) http.Cookie {
	cookie := *o.Cookie.deleted()
	cookie.Name, cookie.Value = "__Host-sign-in", value
	if o.Cookie.Insecure {
		cookie.Name = "sign-in"
	}
	if value != "" {
		cookie.MaxAge = pendingSeconds
	}
	return cookie
}

func (o *operations) oauthStart(context.Context, *struct{}) (*redirectOutput, error) {
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	return &redirectOutput{
		Location: o.OAuth.AuthCodeURL(state, verifier), CacheControl: "no-store",
		SetCookie: []http.Cookie{o.pending(state + "." + verifier)},
	}, nil
}

func (o *operations) oauthCallback(ctx context.Context, in *callbackInput) (*redirectOutput, error) {
	page := cmp.Or(o.OAuth.Page, "/") // with "" the callback would lead to itself
	out := &redirectOutput{Location: page + "#sign-in", CacheControl: "no-store"}
	if err := o.oauthLogin(ctx, in, out); err != nil {
		code := refusal(err).Code
		httpapi.Annotate(ctx, slog.String("code", code)) // the status does not show it
		out.Location = page + "#sign-in-failed=" + code
	}
	return out, nil
}

func (o *operations) oauthLogin(ctx context.Context, in *callbackInput, out *redirectOutput) error {
	if o.Service == nil {
		return notConfigured()
	}
	begun := (&http.Request{Header: in.header}).CookiesNamed(o.pending("").Name)
	if len(begun) != 1 || in.State == "" || !strings.HasPrefix(begun[0].Value, in.State+".") {
		return auth.ErrCodeRejected // another browser began, or none
	}
	_, verifier, _ := strings.Cut(begun[0].Value, ".")
	out.SetCookie = append(out.SetCookie, o.pending("")) // it is used once
	if in.Error != "" {
		return oauthRefusal(ctx, in.Error)
	}
	giveBack, wait := o.limit.take(o.limit.trusted.Client(in.remote, in.header["X-Forwarded-For"]))
	if wait > 0 {
		return &auth.ExchangeError{Kind: auth.ErrRateLimited, After: wait}
	}
	old, _ := bearerToken(in.header)
	login, err := o.Service.Relogin(ctx, verifier+" "+in.Code, old, browser(in.UserAgent))
	if !isGuess(err) {
		giveBack()
	}
	if err != nil {
		return err
	}
	annotate(ctx, login.UserID)
	out.SetCookie = append(out.SetCookie, *o.Cookie.Of(login))
	return nil
}

// oauthRefusal returns the error of an error answer (RFC 6749, section 4.1.2.1), which it logs with
// the request if it is one of those.
func oauthRefusal(ctx context.Context, code string) error {
	kind, known := map[string]error{
		"access_denied": auth.ErrBlocked, "temporarily_unavailable": auth.ErrPlatformBusy,
		"server_error": auth.ErrPlatform, "invalid_request": auth.ErrMisconfigured,
		"unauthorized_client": auth.ErrMisconfigured, "unsupported_response_type": auth.ErrMisconfigured,
		"invalid_scope": auth.ErrMisconfigured,
	}[code]
	if !known {
		kind, code = auth.ErrPlatform, "unknown"
	}
	httpapi.Annotate(ctx, slog.String("oauth_error", code))
	return &auth.ExchangeError{Kind: kind, PlatformCode: code}
}
