package miniapp

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
)

// Dialect is how a platform wants the exchange to be put.
type Dialect int

const (
	// Query is a GET request with everything in the query string, answered with
	// errcode, errmsg, openid and unionid.
	Query Dialect = iota

	// JSON is a POST request with a JSON body, answered with err_no, err_tips and
	// data, which holds openid and unionid.
	JSON
)

// Addresses of platforms, one for each dialect.
const (
	QueryEndpoint = "https://api.weixin.qq.com/sns/jscode2session"
	JSONEndpoint  = "https://developer.toutiao.com/api/apps/v2/jscode2session"
)

// Config says which program signs users in at which platform. AppID and Secret
// are required. Printing or logging a Config leaves the secret out.
type Config struct {
	// AppID and Secret are the program's credentials at the platform.
	AppID  string
	Secret string `json:"-"`

	// Dialect is how the platform wants the exchange. Defaults to Query.
	Dialect Dialect

	// Endpoint is where codes are exchanged. Anything but https is refused,
	// except for loopback addresses: the secret goes there. Defaults to
	// QueryEndpoint or JSONEndpoint, by Dialect.
	Endpoint string

	// Platform names the platform in the identities of its users; a change makes
	// every user a new one. Defaults to "miniapp" or "miniapp-json", by Dialect.
	Platform string

	// Transport gives proxy, TLS and dialling settings. It is copied, and the
	// copy made to open a connection for each exchange and to speak HTTP/1.1. It
	// is not a http.RoundTripper because whatever wraps requests to trace them
	// records their address, and with it the secret. If nil, as
	// http.DefaultTransport's settings.
	Transport *http.Transport `json:"-"`
}

func (c Config) check() error {
	if c.AppID == "" || c.Secret == "" {
		return errors.New("miniapp: Config.AppID and Config.Secret are both required")
	}
	if c.Dialect != Query && c.Dialect != JSON {
		return fmt.Errorf("miniapp: Config.Dialect is %d, want Query or JSON", c.Dialect)
	}
	u, err := url.Parse(c.endpoint())
	switch {
	case err != nil || u.Host == "":
		return errors.New("miniapp: Config.Endpoint is not an absolute address")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("miniapp: Config.Endpoint has a query, fragment or user, want scheme, host and path")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return fmt.Errorf("miniapp: Config.Endpoint has the scheme %q, want https, for the secret is sent there", u.Scheme)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) endpoint() string {
	switch {
	case c.Endpoint != "":
		return c.Endpoint
	case c.Dialect == JSON:
		return JSONEndpoint
	}
	return QueryEndpoint
}

func (c Config) platform() string {
	switch {
	case c.Platform != "":
		return c.Platform
	case c.Dialect == JSON:
		return "miniapp-json"
	}
	return "miniapp"
}

func (c Config) text() string {
	return fmt.Sprintf("miniapp.Config{AppID: %q, Platform: %q, Endpoint: %q}", c.AppID, c.platform(), c.endpoint())
}

// Format implements fmt.Formatter: every verb prints the configuration without
// its secret.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// LogValue implements slog.LogValuer, without the secret.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.text()) }
