package gateway

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Mode is how a gateway responds to requests for images.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // with image data if it is ready within the budget, else with a task
	Sync  Mode = "sync"  // with image data
	Async Mode = "async" // with a task
)

// Config configures a [Gateway]. Tasks, Files and Keys are required.
type Config struct {
	// Tasks performs the requests.
	Tasks Tasks

	// Files receives references and has the images: those of the Performer of Tasks.
	Files *Files

	// Keys identifies callers by their API keys. See [ParseKeys].
	Keys Keys

	// Mode defaults to Auto.
	Mode Mode

	// Budget is how long Auto waits before it responds with a task. Defaults to 90 s.
	Budget time.Duration

	// PerMinute is the average number of requests for images of one caller, of which he may send
	// those of ten seconds, and at least 10, at once; more receive status 429. Defaults to 60.
	PerMinute float64

	// PublicURL is the address of the gateway in image URLs. Defaults to the host of each request.
	PublicURL string

	// Secret signs image URLs. Defaults to random bytes, so that URLs become invalid at a restart.
	Secret []byte

	// Logger receives one line for each request, without prompts and keys. If nil, nothing is
	// logged.
	Logger *slog.Logger
}

const (
	urlLifetime       = time.Hour  // of image URLs; a poll returns new ones
	maxImages         = 8          // of one request
	maxReferences     = 16         // of one request
	maxReferenceBytes = 50_000_000 // of one reference
	maxPromptBytes    = 32 << 10
	maxUploads        = 16 // requests of one caller that are being read
)

// Keys returns the caller that an API key belongs to, and false for an unknown key. It must take as
// long for an almost correct key as for any other. The caller's name is stored in tasks and logged.
// Callers see their own tasks only.
type Keys func(key string) (caller string, ok bool)

// ParseKeys returns the Keys for a list NAME:KEY,NAME:KEY with distinct names and keys of callers.
// They compare digests in constant time, and always all of them. Errors do not contain keys.
func ParseKeys(list string) (Keys, error) {
	digests := map[string][sha256.Size]byte{}
	for i, entry := range strings.Split(list, ",") {
		caller, key, ok := strings.Cut(strings.TrimSpace(entry), ":")
		_, duplicate := digests[caller]
		digest := sha256.Sum256([]byte(key))
		switch {
		case !ok || caller == "" || key == "":
			return nil, fmt.Errorf("entry %d is not NAME:KEY", i+1)
		case duplicate:
			return nil, fmt.Errorf("entry %d: duplicate name %q", i+1, caller)
		case slices.Contains(slices.Collect(maps.Values(digests)), digest):
			return nil, fmt.Errorf("entry %d: another caller has the same key", i+1)
		}
		digests[caller] = digest
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

// Anyone accepts every key, and requests without one, as a single caller. Like every Keys that
// accepts the empty key, it keeps web pages out: requests for a host name that is neither localhost
// nor in Config.PublicURL are refused, and so is every POST for a page of another site.
func Anyone(string) (caller string, ok bool) { return "anyone", true }

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Tasks == nil || c.Files == nil:
		return c, errors.New("gateway: no tasks or no files")
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
	if len(c.Secret) == 0 {
		c.Secret = make([]byte, 32)
		_, _ = rand.Read(c.Secret) // does not fail
	}
	c.Logger = logger(c.Logger)
	c.Budget = cmp.Or(c.Budget, 90*time.Second)
	c.PerMinute = cmp.Or(c.PerMinute, 60)
	return c, nil
}

func logger(l *slog.Logger) *slog.Logger { return cmp.Or(l, slog.New(slog.DiscardHandler)) }
