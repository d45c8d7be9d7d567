package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"lessonkit.example/imagegen"
)

// Generator generates images; imagegen.Client and draw.Generator implement it. Generate stores n
// images in sink, by index, and returns what is known of them, possibly beside a
// *imagegen.PartialError. Its errors may have the methods Permanent() bool and RetryAfter()
// time.Duration. If Generate panics, its task fails with code "internal" (status 500 in the modes
// that wait), the stack is logged, and the task is not repeated; a panic in a goroutine that it has
// started ends the process, as in any program.
type Generator interface {
	Generate(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
}

// Submitter is a Generator whose work can be resumed by an identifier, as imagegen.Client's can. If
// Submit returns a Result without images, Wait returns those of its TaskID.
type Submitter interface {
	Generator
	Submit(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
	Wait(ctx context.Context, taskID string, sink imagegen.Sink) (*imagegen.Result, error)
}

// Mode is how a gateway responds to requests for images.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // with image data if it is ready within the budget, else with a task
	Sync  Mode = "sync"  // with image data
	Async Mode = "async" // with a task
)

// Config configures a [Gateway]. Generator and Keys are required.
type Config struct {
	// Generator generates the images.
	Generator Generator

	// Keys identifies callers by their API keys. See [StaticKeys].
	Keys Keys

	// Store stores tasks, references and images. Defaults to [Memory].
	Store Store

	// Mode defaults to Auto.
	Mode Mode

	// Budget is how long Auto waits before it responds with a task. Defaults to 90 s.
	Budget time.Duration

	// Model is the only model that requests may name. If empty, any name is passed on.
	Model string

	// PublicURL is the address of the gateway in image URLs. Defaults to the host of each request.
	PublicURL string

	// Secret signs image URLs. Defaults to random bytes, so that URLs become invalid at a restart.
	Secret []byte

	// Retention is how long a task and its images are kept after the task ended. Defaults to 24
	// hours.
	Retention time.Duration

	// MaxWorkers is the number of concurrent generations. Defaults to 2.
	MaxWorkers int

	// Rerun repeats generations that were interrupted by a crash. Set it only if generating is
	// free. A task that the end of the process has interrupted three times, the last time while it
	// ran alone, fails with code "internal", since it is probably the cause, unless it only waits
	// for a service's own task.
	Rerun bool

	Limits Limits

	// Logger receives one line for each request and task, without prompts and keys. If nil, nothing
	// is logged.
	Logger *slog.Logger
}

const (
	urlLifetime     = time.Hour        // of image URLs; a poll returns new ones
	shutdownTimeout = 30 * time.Second // for generations to finish when Run is stopped
)

// Limits limits requests. Those above a rate or a number of tasks receive status 429 with
// Retry-After.
type Limits struct {
	PerMinute      float64 // average rate of requests for images by one caller; defaults to 60
	Burst          int     // requests for images at once by one caller; defaults to 10
	Tasks          int     // unfinished tasks of one caller; defaults to 16
	Queue          int     // unfinished tasks of all callers, above which the status is 503; defaults to 256
	Images         int     // images per request; defaults to 8
	References     int     // reference images per request; defaults to 16
	ReferenceBytes int64   // bytes of one reference image; defaults to 50 MB
	PromptBytes    int     // bytes of a prompt; defaults to 32 KiB

	// StoredBytes limits the references and images in the store. References may take half of it,
	// and those of one caller a quarter; more are refused with status 429 or 503. For images, the
	// oldest tasks of the caller who stores most are deleted before their retention has passed.
	// Defaults to 256 MB if Store is nil, and to 16 GB otherwise.
	StoredBytes int64
}

// Keys returns the caller that an API key belongs to, and false for an unknown key. It must take as
// long for an almost correct key as for any other. The caller's name is stored in tasks and logged.
// Callers see their own tasks only.
type Keys func(key string) (caller string, ok bool)

// StaticKeys accepts the given keys, by caller. It compares digests in constant time, and always
// all of them. An empty key is an error, and so is an empty map: see [Anyone] for an open gateway.
func StaticKeys(keys map[string]string) (Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("no keys")
	}
	digests := map[string][sha256.Size]byte{}
	for caller, key := range keys {
		if key == "" {
			return nil, fmt.Errorf("the key of %q is empty", caller)
		}
		digests[caller] = sha256.Sum256([]byte(key))
	}
	return func(key string) (found string, ok bool) {
		digest := sha256.Sum256([]byte(key))
		for caller, d := range digests {
			if subtle.ConstantTimeCompare(digest[:], d[:]) == 1 {
				found, ok = caller, true
			}
		}
		return found, ok
	}, nil
}

// ParseKeys is StaticKeys for a list NAME:KEY,NAME:KEY with distinct names. Errors do not contain
// keys.
func ParseKeys(list string) (Keys, error) {
	keys := map[string]string{}
	for i, entry := range strings.Split(list, ",") {
		caller, key, ok := strings.Cut(strings.TrimSpace(entry), ":")
		switch {
		case !ok || caller == "" || key == "":
			return nil, fmt.Errorf("entry %d is not NAME:KEY", i+1)
		case keys[caller] != "":
			return nil, fmt.Errorf("entry %d: duplicate name %q", i+1, caller)
		}
		keys[caller] = key
	}
	return StaticKeys(keys)
}

// Anyone accepts every key, and requests without one, as a single caller. Like every Keys that
// accepts the empty key, it keeps web pages out. Requests for a host name that is neither localhost
// nor in Config.PublicURL are refused, and so is every POST that a browser sends for a page of
// another site, by its Sec-Fetch-Site or Origin. A GET of such a page is answered, but browsers do
// not let the page read the answer: it changes nothing and has no CORS headers.
func Anyone(string) (caller string, ok bool) { return "anyone", true }

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Generator == nil:
		return c, errors.New("gateway: no generator")
	case c.Keys == nil:
		return c, errors.New("gateway: no keys; use Anyone for an open gateway")
	}
	switch c.Mode {
	case "":
		c.Mode = Auto
	case Auto, Sync, Async:
	default:
		return c, fmt.Errorf("gateway: unknown mode %q: use auto, sync or async", c.Mode)
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
			return c, fmt.Errorf("gateway: public URL %q is not an http or https address without a query", c.PublicURL)
		}
		c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	}
	if c.Store == nil {
		c.Store = Memory()
		fallback(&c.Limits.StoredBytes, 256_000_000)
	}
	if len(c.Secret) == 0 {
		c.Secret = make([]byte, 32)
		_, _ = rand.Read(c.Secret) // does not fail
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	fallback(&c.Budget, 90*time.Second)
	fallback(&c.Retention, 24*time.Hour)
	fallback(&c.MaxWorkers, 2)
	fallback(&c.Limits.PerMinute, 60)
	fallback(&c.Limits.Burst, 10)
	fallback(&c.Limits.Tasks, 16)
	fallback(&c.Limits.Queue, 256)
	fallback(&c.Limits.Images, 8)
	fallback(&c.Limits.References, 16)
	fallback(&c.Limits.ReferenceBytes, 50_000_000)
	fallback(&c.Limits.PromptBytes, 32<<10)
	fallback(&c.Limits.StoredBytes, 16_000_000_000)
	return c, nil
}

func fallback[T int | int64 | float64 | time.Duration](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}

// now returns the time as it is stored: UTC, in microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
