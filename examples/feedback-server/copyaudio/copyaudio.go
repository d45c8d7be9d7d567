// Package copyaudio copies recordings between the directory and the bucket of a service, under the
// same keys.
package copyaudio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/feedback"
)

// Store is a store of recordings, such as those of packages audiodir and audios3.
type Store interface {
	All(ctx context.Context) iter.Seq2[string, error]
	Open(ctx context.Context, key string) (feedback.AudioFile, error)
	Put(ctx context.Context, key string, r io.Reader) (feedback.AudioInfo, error)
	Delete(ctx context.Context, key string) error
}

// Options configures [Run].
type Options struct {
	// BySize compares recordings that are there already by their size only, without reading them.
	// It is for a run after one that compared them and succeeded: a copy whose check failed or was
	// interrupted is there, too.
	BySize bool
	// Progress, if not nil, is called every 5 seconds.
	Progress func(Result)
}

// Result counts recordings.
type Result struct {
	Copied  int
	Present int   // were there already
	Failed  int   // were not copied or are not the same
	Bytes   int64 // of those that were copied
}

func (r Result) String() string {
	return fmt.Sprintf("%d copied (%.1f MB), %d already there, %d failed",
		r.Copied, float64(r.Bytes)/1e6, r.Present, r.Failed)
}

const (
	concurrency      = 8
	maxFailures      = 100 // after which the storage is given up
	progressInterval = 5 * time.Second
)

// Run copies all recordings that to does not have. Each copy is read again and compared with what
// was sent by SHA-256; so is a recording that is there already, which is never replaced. Run can be
// repeated after it was interrupted, and while both stores are in use. Its memory does not depend
// on the number and sizes of recordings.
//
// A recording that cannot be copied does not stop the others: the error names all of them, up to
// 100, after which Run gives up. It also ends when to cannot be written.
func Run(ctx context.Context, from, to Store, o Options) (Result, error) {
	c := &copying{from: from, to: to, bySize: o.BySize}
	if o.Progress != nil {
		done := make(chan struct{})
		var reporting sync.WaitGroup
		reporting.Go(func() { c.report(done, o.Progress) })
		defer reporting.Wait()
		defer close(done)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	var listing error
	for key, err := range from.All(groupCtx) {
		if err != nil {
			listing = fmt.Errorf("list the source: %w", err)
			break
		}
		group.Go(func() error { return c.copy(groupCtx, key) })
		if groupCtx.Err() != nil {
			break
		}
	}
	err := group.Wait()
	if err == nil {
		err = listing // otherwise it may be a consequence
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted, run it again to continue: %w", ctx.Err())
	}
	return c.result(), errors.Join(err, c.failed())
}

// copying is a run.
type copying struct {
	from, to Store
	bySize   bool

	mu       sync.Mutex
	counts   Result
	failures []string
}

func (c *copying) result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

func (c *copying) count(add Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Copied += add.Copied
	c.counts.Present += add.Present
	c.counts.Bytes += add.Bytes
}

func (c *copying) report(done <-chan struct{}, progress func(Result)) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			progress(c.result())
		case <-done:
			return
		}
	}
}

var errTooMany = errors.New("gave up after 100 failures; run it again when the storage is in order")

// fail remembers why a recording was not copied. It returns an error if no more are to be copied.
func (c *copying) fail(ctx context.Context, key, format string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err // which is why it failed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts.Failed++; c.counts.Failed > maxFailures {
		c.counts.Failed = maxFailures
		return errTooMany
	}
	c.failures = append(c.failures, key+": "+fmt.Sprintf(format, args...))
	return nil
}

func (c *copying) failed() error {
	if len(c.failures) == 0 {
		return nil
	}
	slices.Sort(c.failures)
	return fmt.Errorf("%d recordings were not copied, or differ:\n  %s", len(c.failures),
		strings.Join(c.failures, "\n  "))
}

// copy copies a recording, or compares it if it is there. It fails if others would too.
func (c *copying) copy(ctx context.Context, key string) error {
	present, err := c.to.Open(ctx, key)
	if err != nil && !errors.Is(err, feedback.ErrNotFound) {
		return fmt.Errorf("open %s in the destination: %w", key, err)
	}
	if err == nil {
		defer present.Close()
	}
	source, err := c.from.Open(ctx, key)
	if errors.Is(err, feedback.ErrNotFound) {
		return nil // deleted since it was listed
	}
	if err != nil {
		return c.fail(ctx, key, "open the source: %v", err)
	}
	defer source.Close()
	if present == nil {
		return c.send(ctx, key, source)
	}
	if present.Size() != source.Size() {
		return c.fail(ctx, key, "has %d bytes in the source, but %d in the destination; %s",
			source.Size(), present.Size(), advice)
	}
	if c.bySize {
		c.count(Result{Present: 1})
		return nil
	}
	sent, err := digest(source)
	if err != nil {
		return c.fail(ctx, key, "read the source: %v", err)
	}
	kept, err := digest(present)
	if err != nil {
		return c.fail(ctx, key, "read the destination: %v", err)
	}
	if sent != kept {
		return c.fail(ctx, key, "has another content in the destination; %s", advice)
	}
	c.count(Result{Present: 1})
	return nil
}

const advice = "listen to both, and delete the damaged one"

// send copies a recording and compares the copy.
func (c *copying) send(ctx context.Context, key string, source feedback.AudioFile) error {
	info, err := c.to.Put(ctx, key, source)
	switch {
	case errors.Is(err, feedback.ErrUpload), errors.Is(err, feedback.ErrAudioEmpty):
		return c.fail(ctx, key, "read the source: %v", err)
	case errors.Is(err, feedback.ErrAudioTooLarge):
		return c.fail(ctx, key, "%v", err)
	case err != nil:
		return fmt.Errorf("write %s: %w", key, err)
	}
	kept, err := c.to.Open(ctx, key)
	if err != nil {
		return c.fail(ctx, key, "open the copy: %v", err)
	}
	defer kept.Close()
	sum, err := digest(kept)
	if err != nil {
		return c.fail(ctx, key, "read the copy: %v", err)
	}
	if sum != info.SHA256 || info.Size != source.Size() {
		if err := c.to.Delete(ctx, key); err != nil {
			return errors.Join(fmt.Errorf("delete %s: %w", key, err),
				c.fail(ctx, key, "the copy differs and was not deleted; delete it and run it again"))
		}
		return c.fail(ctx, key, "the copy differed and was deleted; run it again")
	}
	c.count(Result{Copied: 1, Bytes: info.Size})
	return nil
}

// digest returns the SHA-256 of a recording in hex.
func digest(f feedback.AudioFile) (string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, f)
	if err == nil && n != f.Size() {
		err = fmt.Errorf("has %d bytes, not %d", n, f.Size())
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}
