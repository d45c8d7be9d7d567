package imagegen

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Config says how a [Client] reaches a service. Only BaseURL is required.
type Config struct {
	// BaseURL is the address below which the interface's paths /v1/… lie, http or https, without query or user.
	BaseURL string

	// Key is sent as bearer token with every request to the service's own origin, and nowhere else.
	Key string

	// Model is sent when a request names none. Defaults to [DefaultModel].
	Model string

	// Timeout bounds one attempt of a request for images, from dialling to the last byte. The interface asks for at least 300 s.
	// Defaults to 10 minutes.
	Timeout time.Duration

	// Stall ends an answer that has begun when no byte of it comes for so long. Defaults to 60 s.
	Stall time.Duration

	Retry  Retry
	Poll   Poll
	Fetch  Fetch
	Limits Limits

	// HTTPClient sends the requests to the service. Its CheckRedirect is not used: a redirect never carries a paid request along.
	// Defaults to a client of its own without an overall timeout.
	HTTPClient *http.Client

	// Logger gets one line for each request and retry, with neither prompts nor addresses' queries. If nil, nothing is logged.
	Logger *slog.Logger

	// Trace is told what happens, from the goroutine of the call. It must be quick, and safe for concurrent use when the client is
	// used concurrently.
	Trace func(Event)

	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
}

// Retry says when a request for images is sent again. Only network and TLS faults before the first byte of an answer count, and
// refusals (429, and 503 with Retry-After). Waits are doubled from Base, spread by up to a quarter, and end with the context.
type Retry struct {
	// Max is the number of repetitions. Defaults to 2; negative for none.
	Max int

	// Unsent allows a repetition only when the service cannot have seen the request: the connection or its TLS handshake failed.
	Unsent bool

	// Base is the first wait. Defaults to 500 ms.
	Base time.Duration

	// Cap is the longest wait, also when the service asks for a longer one: then the call fails and [Error].RetryAfter says it.
	// Defaults to 60 s.
	Cap time.Duration

	// Key makes the Idempotency-Key header, the same for all attempts of a call. Set it only for a service known to honour it: with
	// this header net/http repeats a request by itself, as often as it finds dead connections.
	Key func(*Request) string
}

// Poll is the schedule for asking about a task. A negative jitter is none. Its defaults keep to the interface: first after 10 to 20 s, then every 3 to 5 s,
// at most 60 s for one poll.
type Poll struct {
	First       time.Duration // defaults to 10 s
	FirstJitter time.Duration // random addition to First; defaults to 5 s
	Every       time.Duration // defaults to 3 s
	Jitter      time.Duration // random addition to Every; defaults to 2 s
	Timeout     time.Duration // of one poll; defaults to 60 s
	Max         time.Duration // for waiting in all; defaults to 30 minutes
}

// Fetch says how addresses are read: references by URL, and results the service gives as addresses.
type Fetch struct {
	// Timeout bounds fetching one reference image. Defaults to 60 s, as the interface's reference client has it. Results are
	// bounded by [Config].Timeout and [Config].Stall.
	Timeout time.Duration

	// AllowPrivate opens private, loopback and special networks. They are closed by default, checked after name resolution, except
	// for results on the host of BaseURL and references at its origin.
	AllowPrivate bool

	// Client fetches from other hosts than the service's, and takes over the responsibility for which addresses may be reached.
	// Defaults to one that uses no proxy and checks each address it connects to.
	Client *http.Client
}

// Limits bound what is sent and received.
type Limits struct {
	Refs       int   // reference images in a request; defaults to 16
	RefBytes   int64 // of one reference; defaults to 50 MB
	ImageBytes int64 // of one image received; defaults to 256 MiB
	MetaBytes  int64 // of an answer beside its images; defaults to 1 MiB
}

// String describes c without its key.
func (c Config) String() string { return "imagegen.Config{BaseURL: " + redact(c.BaseURL) + "}" }

// LogValue implements [slog.LogValuer] without the key.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) withDefaults() Config {
	if c.Model == "" {
		c.Model = DefaultModel
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: newTransport(&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second})}
	}
	c.Timeout = cmp.Or(c.Timeout, 10*time.Minute)
	c.Stall = cmp.Or(c.Stall, time.Minute)
	c.Retry.Max = max(cmp.Or(c.Retry.Max, 2), 0)
	c.Retry.Base = cmp.Or(c.Retry.Base, 500*time.Millisecond)
	c.Retry.Cap = cmp.Or(c.Retry.Cap, time.Minute)
	c.Poll.First = cmp.Or(c.Poll.First, 10*time.Second)
	c.Poll.FirstJitter = cmp.Or(c.Poll.FirstJitter, 5*time.Second)
	c.Poll.Every = cmp.Or(c.Poll.Every, 3*time.Second)
	c.Poll.Jitter = cmp.Or(c.Poll.Jitter, 2*time.Second)
	c.Poll.Timeout = cmp.Or(c.Poll.Timeout, time.Minute)
	c.Poll.Max = cmp.Or(c.Poll.Max, 30*time.Minute)
	c.Fetch.Timeout = cmp.Or(c.Fetch.Timeout, time.Minute)
	if c.Fetch.Client == nil {
		c.Fetch.Client = &http.Client{Transport: fetchTransport(c.Fetch.AllowPrivate)}
	}
	c.Limits.Refs = cmp.Or(c.Limits.Refs, 16)
	c.Limits.RefBytes = cmp.Or(c.Limits.RefBytes, 50_000_000)
	c.Limits.ImageBytes = cmp.Or(c.Limits.ImageBytes, 256<<20)
	c.Limits.MetaBytes = cmp.Or(c.Limits.MetaBytes, 1<<20)
	return c
}

// newTransport has no ResponseHeaderTimeout, because a generation is silent for minutes; keep-alive and HTTP/2 pings notice a
// peer that has gone in that time. It asks for no compression: image data does not shrink, and would be inflated here.
func newTransport(d *net.Dialer) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         d.DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}
}
