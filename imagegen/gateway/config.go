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

// Generator makes images. imagegen.Client is one, and so is draw.Generator. Generate stores n images in sink, by index, and returns
// what is known of them; a *imagegen.PartialError may stand beside the Result. Errors tell by method what to do: Permanent() bool,
// RetryAfter() time.Duration.
type Generator interface {
	Generate(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
}

// Submitter is a Generator whose work can be taken up again by an identifier, as imagegen.Client's can.
type Submitter interface {
	Generator
	Submit(ctx context.Context, req *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error)
	Wait(ctx context.Context, taskID string, sink imagegen.Sink) (*imagegen.Result, error)
}

// Mode is how a gateway answers requests for images.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // image data if they are there within the budget, else a task
	Sync  Mode = "sync"  // image data
	Async Mode = "async" // a task
)

// ParseMode returns the mode s names.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Sync, Async:
		return m, nil
	}
	return "", fmt.Errorf("mode %q: want auto, sync or async", s)
}

// Config says what a Gateway serves. Generator and Keys are required.
type Config struct {
	// Generator makes the images.
	Generator Generator

	// Keys tells who a key belongs to. See [StaticKeys].
	Keys Keys

	// Store keeps tasks, references and images. Defaults to [Memory].
	Store Store

	// Mode defaults to Auto.
	Mode Mode

	// Budget is how long Auto waits before it answers with a task. Defaults to 90 s.
	Budget time.Duration

	// Model is the model a request must name, if it names one. If empty, every name is accepted and passed on.
	Model string

	// PublicURL is the address under which clients reach the gateway, for the addresses of images. Defaults to the host each
	// request was made to.
	PublicURL string

	// Secret signs the addresses of images. Defaults to random bytes, with which addresses end at a restart.
	Secret []byte

	// URLLife is how long such an address is good for; a poll gives a fresh one. Defaults to one hour.
	URLLife time.Duration

	// Retention is how long a task and its images are kept after it ended. Defaults to 24 hours.
	Retention time.Duration

	// Workers is how many generations run at a time. Defaults to 2.
	Workers int

	// Drain is how long Run lets generations finish when it is told to stop. Defaults to 30 s.
	Drain time.Duration

	// Rerun repeats generations that a crash interrupted. Set it only if generating costs nothing.
	Rerun bool

	Limits Limits

	// Logger gets one line for each request and task, without prompts and keys. If nil, nothing is logged.
	Logger *slog.Logger

	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
}

// Limits bound what callers may ask for. What exceeds a rate or a number of tasks is answered 429 with Retry-After.
type Limits struct {
	PerMinute      float64 // requests for images by one caller, on average; defaults to 60
	Burst          int     // how many of them at once; defaults to 10
	Tasks          int     // unfinished tasks of one caller; defaults to 16
	Queue          int     // unfinished tasks of all callers, beyond which requests are answered 503; defaults to 256
	Images         int     // n of one request; defaults to 8
	References     int     // reference images of one request; defaults to 16
	ReferenceBytes int64   // of one reference image; defaults to 50 MB
	PromptBytes    int     // of a prompt; defaults to 32 KiB
}

// Keys tells who a key belongs to; ok is false for a key nobody has. It must take as long for a key that is nearly right as for any
// other. The caller's name goes into tasks and logs; each caller sees its own tasks only.
type Keys func(key string) (caller string, ok bool)

// StaticKeys accepts the given keys, caller to key. It compares digests in constant time, and every key each time. An empty key is
// refused, and so is an empty map: an open gateway must be asked for with [Anyone].
func StaticKeys(keys map[string]string) (Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("no keys")
	}
	type entry struct {
		caller string
		digest [32]byte
	}
	var all []entry
	for caller, key := range keys {
		if key == "" {
			return nil, fmt.Errorf("the key of %q is empty", caller)
		}
		all = append(all, entry{caller, sha256.Sum256([]byte(key))})
	}
	return func(key string) (caller string, ok bool) {
		digest := sha256.Sum256([]byte(key))
		for _, e := range all {
			if subtle.ConstantTimeCompare(digest[:], e.digest[:]) == 1 {
				caller, ok = e.caller, true
			}
		}
		return caller, ok
	}, nil
}

// ParseKeys is StaticKeys for text: NAME:KEY,NAME:KEY, with different names. Errors hold no keys.
func ParseKeys(list string) (Keys, error) {
	keys := map[string]string{}
	for i, entry := range strings.Split(list, ",") {
		caller, key, ok := strings.Cut(strings.TrimSpace(entry), ":")
		switch {
		case !ok || caller == "" || key == "":
			return nil, fmt.Errorf("entry %d: want NAME:KEY", i+1)
		case keys[caller] != "":
			return nil, fmt.Errorf("entry %d: %q comes twice", i+1, caller)
		}
		keys[caller] = key
	}
	return StaticKeys(keys)
}

// Anyone accepts every key, and none, as one caller.
func Anyone(string) (caller string, ok bool) { return "anyone", true }

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Generator == nil:
		return c, errors.New("gateway: no generator")
	case c.Keys == nil:
		return c, errors.New("gateway: no keys; use Anyone for a gateway that is open")
	}
	if c.Mode == "" {
		c.Mode = Auto
	}
	if _, err := ParseMode(string(c.Mode)); err != nil {
		return c, fmt.Errorf("gateway: %w", err)
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
			return c, fmt.Errorf("gateway: public URL %q: want an http or https address without a query", c.PublicURL)
		}
		c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	}
	if c.Store == nil {
		c.Store = Memory()
	}
	if len(c.Secret) == 0 {
		c.Secret = make([]byte, 32)
		_, _ = rand.Read(c.Secret) // never fails
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	now := c.Now
	c.Now = func() time.Time { return now().UTC().Truncate(time.Microsecond) }
	fallback(&c.Budget, 90*time.Second)
	fallback(&c.URLLife, time.Hour)
	fallback(&c.Retention, 24*time.Hour)
	fallback(&c.Workers, 2)
	fallback(&c.Drain, 30*time.Second)
	fallback(&c.Limits.PerMinute, 60)
	fallback(&c.Limits.Burst, 10)
	fallback(&c.Limits.Tasks, 16)
	fallback(&c.Limits.Queue, 256)
	fallback(&c.Limits.Images, 8)
	fallback(&c.Limits.References, 16)
	fallback(&c.Limits.ReferenceBytes, 50_000_000)
	fallback(&c.Limits.PromptBytes, 32<<10)
	return c, nil
}

func fallback[T int | int64 | float64 | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
