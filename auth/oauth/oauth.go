// Package oauth signs users in at a server of OAuth 2 that tells who they are, as those of OpenID
// Connect do, by an authorization code with PKCE (RFC 6749, RFC 7636). A [Client] is an
// [auth.Exchanger]; authhttp.OAuth sends browsers to the server and receives them back.
//
//	client, err := oauth.New(config)
//	service, err := auth.New(auth.Config{Store: store, Exchanger: client})
//	http.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service, Cookie: cookie,
//		OAuth: &authhttp.OAuth{AuthCodeURL: client.AuthCodeURL, Page: "/"}}))
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"

	"lessonkit.example/auth"
	"lessonkit.example/auth/internal/transport"
)

// Config configures a [Client]. All fields are required. The addresses are https, but for those of
// this machine. A server of OpenID Connect lists its own at /.well-known/openid-configuration.
type Config struct {
	ClientID     string
	ClientSecret string `json:"-"`

	AuthURL     string // where users sign in: the authorization endpoint
	TokenURL    string // exchanges codes; the client authenticates by HTTP Basic
	UserInfoURL string // answers with sub (OpenID Connect Core, section 5.3)
	RedirectURL string // where users come back, as it is registered at the server
}

// Format implements fmt.Formatter: every verb prints the configuration without the secret.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "oauth.Config{ClientID: %q, AuthURL: %q}", c.ClientID, c.AuthURL)
}

// Client exchanges codes for identities. Their Platform is "oauth:" and the host of AuthURL, so
// that users of another server are other users. It is safe for concurrent use.
type Client struct {
	config   func() oauth2.Config // a function because fmt prints the values of fields
	userInfo string
	identity auth.Identity // without the user
	http     *http.Client
}

var _ auth.Exchanger = (*Client)(nil)

// New returns a Client. It fails if the configuration is incomplete or invalid.
func New(c Config) (*Client, error) {
	if c.ClientID == "" || c.ClientSecret == "" {
		return nil, errors.New("oauth: Config.ClientID and Config.ClientSecret are both required")
	}
	var host string
	for _, a := range [][2]string{{"TokenURL", c.TokenURL}, {"UserInfoURL", c.UserInfoURL},
		{"RedirectURL", c.RedirectURL}, {"AuthURL", c.AuthURL}} {
		u, err := url.Parse(a[1])
		if err != nil || u.Host == "" || u.Fragment != "" ||
			u.Scheme != "https" && !(u.Scheme == "http" && transport.IsLoopback(u.Hostname())) {
			return nil, fmt.Errorf("oauth: Config.%s is not an https:// address", a[0])
		}
		host = u.Host // of AuthURL in the end
	}
	id := auth.Identity{Platform: "oauth:" + strings.ToLower(host), AppID: c.ClientID, Subject: "any"}
	if !id.Valid() {
		return nil, errors.New("oauth: Config.ClientID, or the host of Config.AuthURL, is too long or not printable")
	}
	config := oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: c.RedirectURL, Scopes: []string{"openid"},
		// With a style that is found by trying, a code may be sent twice.
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, AuthStyle: oauth2.AuthStyleInHeader},
	}
	return &Client{
		config: func() oauth2.Config { return config }, userInfo: c.UserInfoURL, identity: id,
		http: &http.Client{CheckRedirect: transport.NoRedirects},
	}, nil
}

// AuthCodeURL returns the address at which a user signs in. The browser comes back with the state
// and a code, which is exchanged with the verifier (43 to 128 letters, digits, or -._~).
func (c *Client) AuthCodeURL(state, verifier string) string {
	config := c.config()
	return config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))
}

// Exchange implements [auth.Exchanger]. It takes a verifier, a space and the server's code.
func (c *Client) Exchange(ctx context.Context, verifierAndCode string) (auth.Identity, error) {
	verifier, code, _ := strings.Cut(verifierAndCode, " ")
	if code == "" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrCodeMissing}
	}
	config := c.config()
	token, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, c.http), code,
		oauth2.VerifierOption(verifier))
	if err != nil {
		return auth.Identity{}, refusal(ctx, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.userInfo, nil)
	if err != nil {
		return auth.Identity{}, refusal(ctx, err)
	}
	token.SetAuthHeader(r)
	resp, err := c.http.Do(r)
	if err != nil {
		return auth.Identity{}, refusal(ctx, err)
	}
	defer resp.Body.Close()
	var user map[string]any // a struct would take the claim Sub for sub, which users may be able to set
	err = json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&user)
	if err != nil && ctx.Err() != nil {
		return auth.Identity{}, ctx.Err()
	}
	subject, _ := user["sub"].(string)
	if err != nil || resp.StatusCode != http.StatusOK || subject == "" {
		return auth.Identity{}, &auth.ExchangeError{Kind: auth.ErrPlatform,
			Message: fmt.Sprintf("UserInfoURL answered with status %d, without a user", resp.StatusCode)}
	}
	id := c.identity
	id.Subject = subject
	return id, nil
}

// refusal keeps the status and the error code of the protocol (RFC 6749, section 5.2) only: the
// server's text may contain anything.
func refusal(ctx context.Context, err error) error {
	e := &auth.ExchangeError{Kind: auth.ErrPlatform}
	var answer *oauth2.RetrieveError
	var failed *url.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed):
		return transport.Error(ctx, err)
	case !errors.As(err, &answer):
		e.Message = "TokenURL did not answer with a token"
		return e
	}
	switch answer.ErrorCode {
	case "invalid_grant":
		e.Kind, e.PlatformCode = auth.ErrCodeRejected, answer.ErrorCode
	case "invalid_client", "unauthorized_client":
		e.Kind, e.PlatformCode = auth.ErrMisconfigured, answer.ErrorCode
	case "invalid_request", "invalid_scope", "unsupported_grant_type":
		e.PlatformCode = answer.ErrorCode
		fallthrough
	default:
		e.Message = fmt.Sprintf("TokenURL answered with status %d", answer.Response.StatusCode)
	}
	return e
}
