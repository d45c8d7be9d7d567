package imagegen

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Config configures a [Client]. Only BaseURL is required.
type Config struct {
	// BaseURL is the http or https address of the service, with or without the path /v1. A query or
	// a user name is not allowed.
	BaseURL string

	// APIKey is sent as bearer token with every request to the service's own origin, and nowhere
	// else.
	APIKey string

	// Timeout limits one attempt of a request for images, from dialing to the last byte. The
	// service recommends at least 300 s. Defaults to 10 minutes. A response that has begun ends
	// sooner when no byte of it arrives for a minute.
	Timeout time.Duration

	// MaxRetries is how often a request for images is sent again, if it cannot have started: see
	// the package documentation. Defaults to 2; negative means none. One with an IdempotencyKey may
	// be repeated by net/http once more. The wait doubles from 0.5 s to 60 s, and is never shorter
	// than Retry-After. When that exceeds 60 s the call fails and [Error.RetryAfter] returns it.
	MaxRetries int

	// FirstPoll is the time before the first poll of a task, plus up to half of it at random.
	// Defaults to 10 s; negative means none, for a Client that only waits for older tasks: it then
	// gives up at once when the service does not know the task.
	FirstPoll time.Duration

	// AllowPrivate permits fetching references and results from private, loopback and other special
	// networks, and through the proxy of the environment, also those networks if NO_PROXY does not
	// name them. They are blocked by default, after name resolution and so without a proxy, except
	// for results on the host of BaseURL and references at its origin.
	AllowPrivate bool

	// HTTPClient sends the requests to the service. Its CheckRedirect is ignored: a paid request
	// never follows a redirect. Defaults to a new client without an overall timeout.
	HTTPClient *http.Client

	// FetchClient fetches references and results from other hosts, and then decides alone which
	// addresses may be reached. Defaults to a new client as AllowPrivate says.
	FetchClient *http.Client

	// Logger receives one line for each request and retry, without prompts, keys and the queries of
	// addresses. If nil, nothing is logged.
	Logger *slog.Logger

	// OnEvent is called, on the goroutine of the call, when something happens. It must return
	// quickly, and be safe for concurrent use if the Client is used concurrently.
	OnEvent func(Event)
}

const (
	minBackoff = 500 * time.Millisecond
	maxBackoff = time.Minute

	pollEvery    = 3 * time.Second // plus up to two thirds of it at random
	idleTimeout  = time.Minute     // of a response that has begun
	pollTimeout  = time.Minute     // of one poll, as the interface's reference client has it
	fetchTimeout = time.Minute     // of fetching one reference, likewise
	maxWait      = 30 * time.Minute

	maxReferences           = 16
	maxReferenceBytes       = 50_000_000
	maxResultBytes    int64 = 1 << 30 // of all images of one call
)

// String describes c without its key.
func (c Config) String() string { return "imagegen.Config{BaseURL: " + redact(c.BaseURL) + "}" }

// LogValue implements [slog.LogValuer], without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Minute)
	c.MaxRetries = max(cmp.Or(c.MaxRetries, 2), 0)
	c.FirstPoll = cmp.Or(c.FirstPoll, 10*time.Second)
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: newTransport(newDialer())}
	}
	if c.FetchClient == nil {
		c.FetchClient = &http.Client{Transport: fetchTransport(c.AllowPrivate)}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}

func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
}

// newTransport has no ResponseHeaderTimeout, because a generation is silent for minutes; keep-alive
// and HTTP/2 pings detect a dead peer in that time.
func newTransport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         d.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
	}
}
