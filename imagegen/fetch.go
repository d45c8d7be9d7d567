package imagegen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

const (
	fetchTries   = 3 // of one address, for network faults
	maxRedirects = 3
)

// fetchImage stores the image behind the first of addresses that works; the others are its mirrors. Fetching costs nothing, so
// network faults are retried freely, each time from the beginning.
func (c *call) fetchImage(ctx context.Context, sink Sink, info Info, addresses []string, refresh func(context.Context) ([]item, error)) (*incoming, error) {
	var failure error
	expired := false
	for round := 0; ; round++ {
		for _, address := range addresses {
			for try := 1; ; try++ {
				in, e := c.download(ctx, sink, info, address)
				if e == nil {
					return in, nil
				}
				c.log.LogAttrs(ctx, slog.LevelWarn, "fetch failed", slog.Int("try", try), slog.Any("error", e))
				failure = e
				expired = expired || e.Status == 403 || e.Status == 404 || e.Status == 410
				if ctx.Err() != nil || in != nil && in.sinkFailed || errors.Is(e, ErrTooLarge) {
					return nil, e
				}
				if again := e.Status == 0 && !e.permanent || e.Status == 429 || e.Status >= 500; !again || try == fetchTries {
					break
				}
				if err := pause(ctx, min(max(c.config.Retry.backoff(try), e.retryAfter), c.config.Retry.Cap)); err != nil {
					return nil, e
				}
			}
		}
		if !expired || refresh == nil || round > 0 {
			return nil, failure
		}
		images, err := refresh(ctx) // signed addresses have a life; a fresh task answer has fresh ones
		if err != nil || info.Index >= len(images) || len(images[info.Index].URL) == 0 {
			return nil, failure
		}
		addresses = images[info.Index].URL
	}
}

// download stores the image behind address, and commits it.
func (c *call) download(parent context.Context, sink Sink, info Info, address string) (*incoming, *Error) {
	u, err := fetchable(c.base, address)
	if err != nil {
		return nil, &Error{Op: "fetch", TaskID: info.TaskID, Err: err, permanent: true}
	}
	info.URL = redact(u.String())
	fail := func(err error) *Error {
		return &Error{Op: "fetch", TaskID: info.TaskID, Err: fmt.Errorf("%s: %w", info.URL, cause(err)), permanent: hopeless(err)}
	}
	ctx, cancel := context.WithTimeout(parent, c.config.Timeout)
	defer cancel()
	resp, err := c.get(ctx, u, true)
	if err != nil {
		return nil, fail(timeLimit(parent, ctx, c.config.Timeout, err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		e := fail(errors.New(http.StatusText(resp.StatusCode)))
		e.Status, e.retryAfter = resp.StatusCode, retryAfter(resp.Header, c.now())
		return nil, e
	}
	info.Size = max(resp.ContentLength, 0)
	in := c.incoming(ctx, sink, info)
	in.hint, _ = cutText(resp.Header.Get("Content-Type"))
	body := newBodyReader(ctx, resp.Body, c.config.Stall, c.config.Timeout)
	defer body.stop()
	if resp.ContentLength > in.limit {
		in.fail(fmt.Errorf("%w: image of %d bytes, at most %d", ErrTooLarge, resp.ContentLength, in.limit))
	}
	_, err = io.CopyBuffer(in, body, make([]byte, scanBuffer))
	in.finish(err)
	if err := in.commit(); err != nil {
		e := fail(err)
		e.permanent = errors.Is(err, ErrNotImage)
		return in, e
	}
	return in, nil
}

// get follows at most three redirects. Each hop goes through the client that fits it: the service's own for the service's host,
// which the caller named and so trusts, the guarded one for all others. The key goes to the service's very origin only, and only
// for results. References reach the service by its very origin only.
func (c *call) get(ctx context.Context, u *url.URL, result bool) (*http.Response, error) {
	for hop := 0; ; hop++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "image/*")
		client := c.fetcher
		own := origin(u) == origin(c.base)
		if own || result && strings.EqualFold(u.Hostname(), c.base.Hostname()) {
			client = c.service
		}
		if result {
			c.authorize(req)
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			return resp, nil
		}
		resp.Body.Close()
		if hop == maxRedirects {
			return nil, fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if u, err = fetchable(u, location); err != nil {
			return nil, err
		}
	}
}

// attach gets references ready to be sent: fetched or spooled where need be, their sizes and types known. Everything that can be
// wrong with them is found here, before anything is paid.
func (c *call) attach(ctx context.Context, refs []Ref) (files []attachment, free func(), err error) {
	free = func() {
		for _, f := range files {
			if f.free != nil {
				f.free()
			}
		}
	}
	for i, ref := range refs {
		f, err := c.look(ctx, ref, i)
		if err != nil {
			free()
			permanent := slices.ContainsFunc([]error{ErrNotImage, ErrTooLarge, ErrBlockedAddress, errBase64, fs.ErrNotExist, fs.ErrPermission},
				func(target error) bool { return errors.Is(err, target) })
			return nil, nil, &Error{Op: "reference", Err: fmt.Errorf("%d %q: %w", i+1, clean(ref.name, 128), err), permanent: permanent}
		}
		files = append(files, f)
	}
	return files, free, nil
}

// look makes one reference ready.
func (c *call) look(ctx context.Context, ref Ref, index int) (attachment, error) {
	load := ref.load
	if ref.url != "" {
		load = func() (source, error) { return c.fetchRef(ctx, ref.url) }
	}
	if load == nil {
		return attachment{}, fmt.Errorf("%w: it has neither data nor an address", ErrInvalidRequest)
	}
	src, err := load()
	if err != nil {
		return attachment{}, err
	}
	f := attachment{source: src}
	kind, err := f.look(ref, c.config.Limits.RefBytes)
	if err != nil {
		if src.free != nil {
			src.free()
		}
		return attachment{}, err
	}
	f.kind, f.name = kind, partName(ref.name, kind, index)
	return f, nil
}

// look checks size and type: the declared type, else the one the data shows, else the one the name tells.
func (f attachment) look(ref Ref, limit int64) (string, error) {
	if f.size > limit {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, f.size, limit)
	}
	if f.size <= 0 {
		return "", fmt.Errorf("%w: it is empty", ErrNotImage)
	}
	kind := ref.kind
	if kind == "" {
		r, err := f.open()
		if err != nil {
			return "", err
		}
		defer r.Close()
		head, err := io.ReadAll(io.LimitReader(r, sniffBytes))
		if err != nil {
			return "", err
		}
		if kind = sniff(head); kind == unknownType {
			kind = typeByExtension(path.Ext(ref.name))
		}
	}
	if !isImage(kind) || strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("%w: its type is %q", ErrNotImage, clean(kind, 100))
	}
	return kind, nil
}

// fetchRef reads a reference behind an address, without the key.
func (c *call) fetchRef(parent context.Context, address string) (source, error) {
	u, err := fetchable(nil, address)
	if err != nil {
		return source{}, fmt.Errorf("%w: %v", ErrInvalidRequest, err)
	}
	ctx, cancel := context.WithTimeout(parent, c.config.Fetch.Timeout)
	defer cancel()
	for try := 1; ; try++ {
		src, err := c.tryRef(ctx, u)
		if err == nil {
			return src, nil
		}
		err = timeLimit(parent, ctx, c.config.Fetch.Timeout, cause(err))
		var passing interface{ Temporary() bool }
		if ctx.Err() != nil || try == fetchTries || hopeless(err) || errors.Is(err, ErrTooLarge) || errors.As(err, &passing) && !passing.Temporary() {
			return source{}, fmt.Errorf("%s: %w", redact(address), err)
		}
		if pause(ctx, c.config.Retry.backoff(try)) != nil {
			return source{}, fmt.Errorf("%s: %w", redact(address), err)
		}
	}
}

func (c *call) tryRef(ctx context.Context, u *url.URL) (source, error) {
	resp, err := c.get(ctx, u, false)
	if err != nil {
		return source{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return source{}, statusError(resp.StatusCode)
	}
	limit := c.config.Limits.RefBytes
	if resp.ContentLength > limit {
		return source{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength, limit)
	}
	src, err := spool(io.LimitReader(resp.Body, limit+1))
	if err == nil && resp.ContentLength >= 0 && src.size < resp.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return src, err
}

// statusError is the status of a reference that could not be fetched.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("status %d %s", int(s), http.StatusText(int(s)))
}

// Temporary reports whether another try may bring it.
func (s statusError) Temporary() bool { return s == 429 || s >= 500 }
