package miniapp

import (
	"errors"
	"fmt"
	"net/url"

	"lessonkit.example/auth/internal/transport"
)

const defaultEndpoint = "https://api.weixin.qq.com/sns/jscode2session"

// Config configures a [Client]. AppID and Secret are required. The secret is omitted when a Config
// is printed or logged.
type Config struct {
	// AppID and Secret are the program's credentials at the platform.
	AppID  string
	Secret string `json:"-"`

	// Endpoint is the URL that codes are sent to, together with the secret: it must be https,
	// except for loopback addresses. Defaults to https://api.weixin.qq.com/sns/jscode2session.
	Endpoint string

	// Platform is the name of the platform in the identities of its users; changing it makes every
	// user a new one. Defaults to "miniapp".
	Platform string
}

func (c Config) check() error {
	if c.AppID == "" || c.Secret == "" {
		return errors.New("miniapp: Config.AppID and Config.Secret are both required")
	}
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || u.Host == "":
		return errors.New("miniapp: Config.Endpoint is not an absolute URL")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("miniapp: Config.Endpoint has a query, fragment or user")
	case u.Scheme != "https" && (u.Scheme != "http" || !transport.IsLoopback(u.Hostname())):
		return fmt.Errorf("miniapp: Config.Endpoint has the scheme %q, must be https: the secret is sent there",
			u.Scheme)
	}
	return nil
}

// Format implements fmt.Formatter: every verb prints the configuration without the secret.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "miniapp.Config{AppID: %q, Platform: %q, Endpoint: %q}", c.AppID, c.Platform, c.Endpoint)
}
