package authhttp

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"lessonkit.example/auth"
	"lessonkit.example/internal/httpapi"
)

// loginBody is the body of a sign-in.
type loginBody struct {
	Code string `json:"code" minLength:"1" doc:"The one-time login code from the platform."`
}

// loginAnswer is the answer to a sign-in.
type loginAnswer struct {
	Token     string    `json:"token" doc:"The session token. It is shown this once."`
	TokenType string    `json:"token_type" enum:"Bearer" doc:"How to send the token."`
	ExpiresAt time.Time `json:"expires_at" doc:"When the session ends, used or not."`
	UserID    uuid.UUID `json:"teacher_id" format:"uuid" doc:"Who signed in."`
}

// loginState is the sender of a request and the session.
type loginState struct {
	UserID  uuid.UUID     `json:"teacher_id" format:"uuid" doc:"Who is signed in."`
	Method  auth.Method   `json:"method" enum:"session,development" doc:"How the request was authenticated."`
	Session *loginSession `json:"session" doc:"The session; null for the development header."`
}

// loginSession is a session in answers.
type loginSession struct {
	_         struct{}  `nullable:"true"`
	CreatedAt time.Time `json:"created_at" doc:"When the user signed in."`
	ExpiresAt time.Time `json:"expires_at" doc:"When the session ends, used or not."`
}

// tag groups the operations in the OpenAPI document.
const tag = "Sign-in"

// maxLoginBody is the size limit of the body of a sign-in, in bytes: a code has at most 2048, which
// JSON may escape.
const maxLoginBody = 8 << 10

type loginInput struct {
	Authorization string `header:"Authorization" hidden:"true"`
	Body          loginBody
}

// input is a request with a JSON body.
type input[T any] struct{ Body T }

// answer is an answer that is not cached.
type answer[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         T
}

type logoutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

// Register adds the operations to an API, with paths relative to it:
//
//	POST /auth/miniapp/login    GET and DELETE /auth/me    POST /auth/logout    POST /auth/logout-all
//
// With c.Devices also these; a page calls the first two, the phone of a signed-in user the rest:
//
//	POST /auth/device           POST /auth/device/session
//	POST /auth/device/find      POST /auth/device/confirm
//	GET /auth/sessions          DELETE /auth/sessions/{session_id}
//
// With c.OAuth these are in place of the first:
//
//	GET /auth/oauth             GET /auth/oauth/callback
//
// Each call of Register has its own rate limit, in memory. It panics if Devices or OAuth have no
// Cookie.
func Register(api huma.API, c Config) {
	if (c.Devices || c.OAuth != nil) && c.Cookie == nil {
		panic("authhttp: Devices and OAuth need a Cookie")
	}
	o := &operations{Config: c, api: api, limit: NewLimiter(c), starts: NewLimiter(c)}
	if c.OAuth != nil {
		o.registerOAuth()
	} else {
		o.registerLogin()
	}
	o.registerSession()
}

func (o *operations) registerLogin() {
	huma.Register(o.api, o.withCode(huma.Operation{
		OperationID: "login",
		Method:      http.MethodPost,
		Path:        "/auth/miniapp/login",
		Summary:     "Sign in with a login code",
		Description: "Exchanges the one-time code of a mini program for a session. " +
			"If a session of the same user is sent, it ends.",
		Tags:     []string{tag},
		Security: []map[string][]string{}, // none is required
		Errors: []int{
			http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		},
		Middlewares: huma.Middlewares{o.requireService},
	}), o.login)
}

// withCode limits the body and the tries of an operation that takes a code.
func (o *operations) withCode(op huma.Operation) huma.Operation {
	op.MaxBodyBytes = maxLoginBody
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusRequestTimeout,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests)
	op.Middlewares = append(op.Middlewares, o.limited(o.limit))
	return op
}

// registerSession adds the operations of a user who is signed in.
func (o *operations) registerSession() {
	document := o.api.OpenAPI()
	document.Tags = append(document.Tags, &huma.Tag{Name: tag, Description: "Sessions of users."})
	security := []map[string][]string{{"bearer": {}}}
	if o.Cookie != nil {
		security = append(security, map[string][]string{"cookie": {}})
		if document.Components.SecuritySchemes == nil {
			document.Components.SecuritySchemes = map[string]*huma.SecurityScheme{}
		}
		document.Components.SecuritySchemes["cookie"] = &huma.SecurityScheme{
			Type: "apiKey", In: "cookie", Name: o.Cookie.name(), Description: "A session token, which sign-in sets.",
		}
	}
	operation := func(id, method, path, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: id,
			Method:      method,
			Path:        "/auth" + path,
			Summary:     summary,
			Description: description,
			Tags:        []string{tag},
			Security:    security,
			Errors:      []int{http.StatusUnauthorized, http.StatusInternalServerError, http.StatusServiceUnavailable},
			Middlewares: huma.Middlewares{o.requireService, o.requireUser},
		}
	}
	huma.Register(o.api, operation("me", http.MethodGet, "/me", "Who is signed in", ""), o.me)
	o.registerLogout(operation("logout", http.MethodPost, "/logout",
		"Sign out", "Ends the session of the token, at once and everywhere."), o.logout)
	o.registerLogout(operation("logout-all", http.MethodPost, "/logout-all",
		"Sign out everywhere", "Ends all sessions of the user, at once, as when a phone is lost."), o.logoutAll)
	o.registerLogout(operation("erase-me", http.MethodDelete, "/me",
		"Delete the user and everything of the user",
		"Deletes the account with everything that it contains, for good, and ends all sessions. "+
			"Files that belong to it are deleted soon after."), o.erase)
	if o.Devices {
		o.registerDevices(operation)
	}
}

type operations struct {
	Config
	api    huma.API
	limit  *Limiter
	starts *Limiter // of sign-ins by a code
}

func (o *operations) requireService(ctx huma.Context, next func(huma.Context)) {
	if o.Service == nil {
		httpapi.Refuse(o.api, ctx, notConfigured())
		return
	}
	next(ctx)
}

// attempt is a request to an operation with a limit.
type attempt struct {
	client   netip.Addr
	giveBack func()
}

type attemptKey struct{}

// limited refuses a client that has failed too often, and passes the attempt on to the handler.
func (o *operations) limited(l *Limiter) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		client := l.trusted.Client(ctx.RemoteAddr(), httpapi.Header(ctx)["X-Forwarded-For"])
		giveBack, wait := l.take(client)
		if wait > 0 {
			httpapi.Refuse(o.api, ctx, refusal(&auth.ExchangeError{Kind: auth.ErrRateLimited, After: wait}))
			return
		}
		next(huma.WithValue(ctx, attemptKey{}, attempt{client, giveBack}))
	}
}

// countGuess takes the attempt of a request out of the limit, unless err may answer a guess.
func countGuess(ctx context.Context, err error) {
	if !isGuess(err) {
		ctx.Value(attemptKey{}).(attempt).giveBack()
	}
}

func clientOf(ctx context.Context) string {
	return ctx.Value(attemptKey{}).(attempt).client.Unmap().String()
}

type principalKey struct{}

func (o *operations) requireUser(ctx huma.Context, next func(huma.Context)) {
	p, err := authenticate(ctx.Context(), o.Service, httpapi.Header(ctx))
	if err != nil {
		httpapi.Refuse(o.api, ctx, refusal(err))
		return
	}
	annotate(ctx.Context(), p.UserID)
	next(huma.WithValue(ctx, principalKey{}, p))
}

func principal(ctx context.Context) auth.Principal {
	p, _ := ctx.Value(principalKey{}).(auth.Principal)
	return p
}

func (o *operations) login(ctx context.Context, in *loginInput) (*answer[loginAnswer], error) {
	old, _ := bearerToken(http.Header{"Authorization": {in.Authorization}})
	login, err := o.Service.Relogin(ctx, in.Body.Code, old, "")
	countGuess(ctx, err)
	if err != nil {
		return nil, refusal(err)
	}
	return &answer[loginAnswer]{"no-store", loginAnswer{
		Token: login.Token, TokenType: "Bearer", ExpiresAt: login.ExpiresAt, UserID: login.UserID,
	}}, nil
}

func (o *operations) me(ctx context.Context, _ *struct{}) (*answer[loginState], error) {
	p := principal(ctx)
	state := loginState{UserID: p.UserID, Method: p.Method}
	if p.Method == auth.MethodSession {
		state.Session = &loginSession{CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt}
	}
	return &answer[loginState]{"no-store", state}, nil
}

// registerLogout adds a sign-out, which deletes the cookie if there is one.
func (o *operations) registerLogout(op huma.Operation, end func(context.Context) error) {
	op.DefaultStatus = http.StatusNoContent
	if o.Cookie == nil {
		huma.Register(o.api, op, func(ctx context.Context, _ *struct{}) (*struct{}, error) { return nil, end(ctx) })
		return
	}
	huma.Register(o.api, op, func(ctx context.Context, _ *struct{}) (*logoutOutput, error) {
		if err := end(ctx); err != nil {
			return nil, err
		}
		return &logoutOutput{SetCookie: *o.Cookie.deleted()}, nil
	})
}

func (o *operations) logout(ctx context.Context) error {
	p := principal(ctx)
	if p.Method != auth.MethodSession {
		return nil // the development sign-in has no session to end
	}
	if err := o.Service.EndSession(ctx, p.UserID, p.Session); err != nil && !errors.Is(err, auth.ErrNoSession) {
		return refusal(err)
	}
	return nil
}

func (o *operations) logoutAll(ctx context.Context) error {
	if err := o.Service.LogoutAll(ctx, principal(ctx).UserID); err != nil {
		return refusal(err)
	}
	return nil
}

func (o *operations) erase(ctx context.Context) error {
	user := principal(ctx).UserID
	if o.Erase != nil {
		if err := o.Erase(ctx, user); err != nil {
			return eraseRefusal(err)
		}
	}
	if err := o.Service.DeleteUser(ctx, user); err != nil {
		return refusal(err)
	}
	return nil
}
